"""Repair of indefinite similarities: kernels made by changing the spectrum of a Gram matrix.

(Chen, Garcia, Gupta, Rahimi and Cazzanti, Similarity-based Classification, JMLR 2009, section 3.1.)
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from similitude.compute import Blocks, Encoding, check_fits, check_objects, keys, namespace
from similitude.compute.engines import current_engine
from similitude.similarity import KERNEL, SYMMETRIC, Hints, Similarity, Wrapped, as_similarity, hints_of_parts
from similitude.support import check_choice, check_number, interruptibly
from similitude.validity.elimination import Tolerance, asymmetric_pair

_CHANGES: dict[str, tuple[Callable[[np.ndarray], np.ndarray], str]] = {
    "clip": (lambda w: np.maximum(w, 0.0), "set to zero"),
    "flip": (np.abs, "replaced by their absolute values"),
    "square": (np.square, "squared, and all others with them"),
}


class Repaired(Wrapped):
    r"""A kernel made from an indefinite similarity: the dot product of features, which are linear in its values.

    With the sample's Gram matrix :math:`S = U \Lambda U'` and :math:`k(x) = (K(x, x_1), …, K(x, x_n))`, the features
    are :math:`F(x) = k(x) W`; the Gram matrix of the sample becomes :math:`U f(\Lambda) U'`.
    """

    claims = KERNEL
    reason = "the dot product of explicit features: a linear map of the similarities to a sample"

    def __init__(self, k: Similarity, sample: Any, W: np.ndarray, changes: str) -> None:
        self.k = k
        self.sample = sample
        self.W = W
        self.changes = changes

    @property
    def hints(self) -> Hints:
        """Threads may share the work, because encoded objects are vectors; on a device if the similarity is."""
        return Hints(on_tensors=self.k.hints.on_tensors)

    def premises(self) -> tuple[Similarity, ...]:
        """Return nothing: it is a kernel for any similarity."""
        return ()

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> Similarity:
        """Return self: the repair has fixed all parameters."""
        return self

    def encode(self, objects: Any) -> Encoding:
        """Return the features: the similarities to the sample, times W."""
        similarities = self.k.blocks(self.k.encode(objects), self._encoded_sample).whole()
        return np.asarray(similarities, dtype=np.float64) @ self.W

    @functools.cached_property
    def _encoded_sample(self) -> Encoding:
        return self.k.encode(self.sample)

    def block(self, A: Encoding, B: Encoding) -> Any:
        """Return the dot products of features."""
        return A @ B.T

    def diagonal(self, A: Encoding) -> Any:
        """Return the squared norms of features."""
        return (A * A).sum(1)

    def __repr__(self) -> str:
        return f"Repaired({self.k!r}: {self.changes})"


class RaisedDiagonal(Wrapped):
    """K(x, z), plus an amount if x and z are equal objects: the repair "shift", which says nothing of new objects."""

    def __init__(self, k: Similarity, amount: float, changes: str) -> None:
        self.k = k
        self.amount = amount
        self.changes = changes

    _checks: ClassVar = {"amount": check_number}
    reason = "the diagonal was raised enough for the sample, which proves nothing for other objects"
    hints = hints_of_parts()

    def counterexamples(self) -> list[Any]:
        """Return none: it was made for the sample, and only data can refute it."""
        return []

    @property
    def claims(self) -> frozenset[str]:
        """Symmetry, if the similarity claims it."""
        return self.k.claims & {SYMMETRIC}

    def encode(self, objects: Any) -> Encoding:
        """Return the encoding, and a key that is equal for equal objects."""
        encoded = self.k.encode(objects)
        return encoded, keys(encoded)

    def block(self, A: Encoding, B: Encoding) -> Any:
        """Return the similarities, raised for equal objects."""
        (a, key_a), (b, key_b) = A, B
        values = self.k.block(a, b)
        equal = namespace(values).asarray(key_a[:, None] == key_b[None, :], dtype=values.dtype)
        return values + float(self.amount) * equal

    def __repr__(self) -> str:
        return f"RaisedDiagonal({self.k!r}: {self.changes})"


def repair(similarity: Any, X: Any, *, how: str = "clip") -> Similarity:
    """Turn an indefinite similarity into a kernel, using its Gram matrix on a sample.

    ``.changes`` and the repr of the result describe what was changed. An asymmetric similarity is refused: use
    ``k.symmetrized()`` first if its symmetric part is what you mean.

    Parameters
    ----------
    similarity : Similarity, str, callable or array
        See `as_similarity`.
    X : sequence of objects
        The sample; for a matrix, its indices: ``repair(Precomputed(M), range(n))``.
    how : {"clip", "flip", "shift", "square"}
        What happens to the eigenvalues: negative ones are set to zero; all are replaced by their absolute values;
        raised by the magnitude of the smallest; or squared. For clip, flip and square, the linear map of the sample
        also applies to new objects; shift changes only the similarity of an object to itself.

    Returns
    -------
    Similarity

    Examples
    --------
    >>> import numpy as np
    >>> from similitude import Precomputed, repair
    >>> k = repair(Precomputed(np.array([[1., 1., 0.], [1., 1., 1.], [0., 1., 1.]])), range(3))
    >>> print(k.changes)
    clip: 1 of 3 eigenvalues was negative (smallest -0.4142, 11 % of the spectrum); set to zero
    >>> bool(np.linalg.eigvalsh(k.gram(range(3)))[0] > -1e-12)
    True
    """
    k = as_similarity(similarity)
    check_choice("how", how, (*_CHANGES, "shift"))
    n = check_objects(X)
    check_fits(n, n, 8, current_engine())
    k, A = k.prepare(X)
    S = np.asarray(Blocks(k, A).whole(), dtype=np.float64)
    asymmetry, pair = asymmetric_pair(S, Tolerance.of(S, float(np.finfo(np.float64).eps)))
    if pair is not None:
        raise ValueError(
            f"{k!r} is not symmetric (objects {pair[0]} and {pair[1]} differ by {asymmetry:.4g}): repair needs a "
            f"symmetric similarity, for instance k.symmetrized()"
        )
    w, U = interruptibly(np.linalg.eigh, (S + S.T) / 2)
    zero = 1e-10 * np.abs(w).max()  # up to which eigenvalues are negligible
    negative = w[w < -zero]
    changes = f"{how}: none of {n} eigenvalues was negative"
    if len(negative):
        were = "was" if len(negative) == 1 else "were"
        of_all = f"smallest {w[0]:.4g}, {100 * np.abs(negative).sum() / np.abs(w).sum():.0f} % of the spectrum"
        changes = f"{how}: {len(negative)} of {n} eigenvalues {were} negative ({of_all})"
    if how == "shift":
        amount = float(max(-w[0], 0.0))
        return RaisedDiagonal(k, amount, f"{changes}; all eigenvalues raised by {amount:.4g}")
    change, done = _CHANGES[how]
    if not len(negative) and how != "square":
        done = "nothing to change"
    new = change(w)
    kept = (np.abs(w) > zero) & (new > 0)
    W = U[:, kept] * (np.sqrt(new[kept]) / w[kept])  # S W W' S = U f(w) U'
    return Repaired(k, copy.copy(X), W, f"{changes}; {done}")
