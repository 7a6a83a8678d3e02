"""A kernel of samples: the mean of a kernel over all pairs of their elements."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from similitude.compute import Encoding, as_numpy, as_objects, count, is_column, is_table
from similitude.kernels.ragged import Ragged, starts_of
from similitude.kernels.vectors.pairwise import repeated
from similitude.similarity import BOUNDED, PSD, SYMMETRIC, Similarity
from similitude.support import brief

MOST_BASE_VALUES = 2**22
"""The largest number of values of the base kernel that are held at once, unless one row of elements has more."""


class Samples(Ragged):
    """Encoded samples: the encoded elements of all of them, one after the other, and the start of each sample."""

    of_entries = ("elements",)
    elements: Encoding


class MeanOf(Similarity):
    r"""The kernel of two samples: the mean of a kernel over all pairs of an element of each.

    :math:`K(P, Q) = \frac{1}{|P||Q|} \sum_{x \in P} \sum_{z \in Q} k(x, z)` is the dot product of the mean embeddings
    of two samples. `distance` is then the maximum mean discrepancy (MMD), which is 0 only for equal distributions if k
    is characteristic, as the Gaussian is. (Gretton et al., 2012; Muandet, Fukumizu, Sriperumbudur and Schölkopf, 2017.)

    An object is a sample: an array of vectors, or a list of any objects that the kernel takes. Samples may differ in
    size, and none may be empty.

    Parameters
    ----------
    k : Similarity
        The kernel of two elements; its data-dependent parameters are fixed on the elements of all samples.

    Examples
    --------
    >>> from similitude.kernels import Gaussian, MeanOf
    >>> samples = [[[0.0], [1.0]], [[0.0], [1.0], [0.0], [1.0]], [[5.0], [6.0], [7.0]]]
    >>> MeanOf(Gaussian(sigma=1.0)).distance(samples).round(2)
    array([[0. , 0. , 1.2],
           [0. , 0. , 1.2],
           [1.2, 1.2, 0. ]])
    """

    objects = "any"
    reason = "the dot product of the mean features of two samples"

    def __init__(self, k: Similarity) -> None:
        self.k = k

    @property
    def claims(self) -> frozenset[str]:
        """Symmetry, PSD and the range of the part; the mean over a sample's own pairs is less than 1."""
        return self.k.claims & {SYMMETRIC, PSD, BOUNDED}

    def counterexamples(self) -> list[Any]:
        """Return samples of one element each, on which the part is known not to be a kernel."""
        return [[[one] for one in objects] for objects in self.k.counterexamples()]

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> Similarity:
        """Resolve the part on the elements of all samples."""
        if not self.k.unresolved():
            return self
        elements, starts = _elements(X)
        weight = repeated(sample_weight, np.diff(starts))
        return self.with_params(k=self.k.resolve(elements, random_state, weight))

    def encode(self, objects: Any) -> Encoding:
        """Return the encoded elements of all samples, and the start of each sample."""
        elements, starts = _elements(objects)
        return Samples(starts, self.k.encode(elements))

    def block(self, A: Encoding, B: Encoding) -> Any:
        """Return the means, some samples of A after the others."""
        at_once = max(1, MOST_BASE_VALUES // max(1, count(B.elements)))
        out = []
        first = 0
        while first < len(A):
            last = max(first + 1, int(np.searchsorted(A.starts, A.starts[first] + at_once, side="right")) - 1)
            some = A[first:last]
            values = as_numpy(self.k.block(some.elements, B.elements))
            sums = np.add.reduceat(np.add.reduceat(values, some.starts[:-1], axis=0), B.starts[:-1], axis=1)
            out.append(sums / np.outer(some.lengths, B.lengths).astype(values.dtype))
            first = last
        return np.concatenate(out) if out else np.zeros((0, len(B)))


def _elements(samples: Any) -> tuple[Any, np.ndarray]:
    listed = as_objects(samples)
    for i, sample in enumerate(listed):
        if isinstance(sample, (str, bytes, dict, set)) or not hasattr(sample, "__len__"):
            expected = "MeanOf compares samples, each an array or a list of objects"
            raise TypeError(f"{expected}; sample {i} is {brief(sample)}")
        if count(sample) == 0:
            raise ValueError(f"sample {i} is empty: it has no mean, so every sample needs at least one element")
    starts = starts_of([count(sample) for sample in listed])
    if all(isinstance(sample, np.ndarray) and sample.ndim == 2 for sample in listed):
        widths = sorted({sample.shape[1] for sample in listed})
        if len(widths) > 1:
            raise ValueError(f"the elements of all samples need the same dimension, got {widths[0]} and {widths[-1]}")
        return np.concatenate(listed), starts
    each = (as_objects(sample) if is_table(sample) or is_column(sample) else sample for sample in listed)
    return list(chain.from_iterable(each)), starts
