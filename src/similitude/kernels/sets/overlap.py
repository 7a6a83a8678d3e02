"""Similarities of sets: the number of common items, their share of all items, or whether there is any.

A set is a Python set, frozenset, list or tuple of hashable items; a row of a boolean or 0/1 array, where each column
represents an item; or a row of a scipy sparse matrix, the set of columns with a nonzero entry. A list is always a list
of items: ``[0, 1, 1]`` is the set {0, 1}, ``np.array([0, 1, 1])`` is a row of bits. Items are represented by 64-bit
digests, equal for equal items and in all processes; two of a million different items collide with probability 3e-8.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute import Encoding, Hints
from similitude.kernels.sets.encoding import as_sets, check_comparable, compare
from similitude.similarity import BOUNDED, KERNEL, SYMMETRIC, UNIT_KERNEL, Similarity


class SetSimilarity(Similarity):
    """A similarity of sets."""

    objects = "sets"

    def encode(self, objects: Any) -> Encoding:
        """Return the sets as sorted keys of their items, or as rows of bits."""
        return as_sets(objects)


class Intersection(SetSimilarity):
    r"""The number of common items, :math:`K(x, z) = |x \cap z|`.

    The number of common items is a kernel; whether there is any (`SharesAny`) is not.
    (Balcan and Blum, On a Theory of Learning with Similarity Functions, 2006, footnote 1.)

    Examples
    --------
    >>> from similitude.kernels import Intersection
    >>> Intersection().gram([{"ann", "svm"}, {"svm", "pac"}, {"pac", "bob"}])
    array([[2., 1., 0.],
           [1., 2., 1.],
           [0., 1., 2.]])
    """

    claims = KERNEL
    hints = Hints(finite=True)
    reason = "the number of shared items is the dot product of the indicators of the items"

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> np.ndarray:
        """Return the numbers of common items."""
        return compare(A, B, "count", out)

    def diagonal(self, A: Encoding) -> np.ndarray:
        """Return the numbers of items."""
        return np.asarray(A.sizes, float)

    def features(self, objects: Any, like: Any = None) -> Any:
        """Return a sparse matrix of 0 and 1 with a column per item of `like`, and one for the norm of all others."""
        A = self.encode(objects)
        known = A if like is None else self.encode(like)
        check_comparable(A, known)
        return A.as_items().histograms().features(known.as_items().histograms())


class Jaccard(SetSimilarity):
    r"""The share of common items among all items of two sets, :math:`K(x, z) = |x \cap z| / |x \cup z|`.

    Also called Tanimoto similarity. Two empty sets have the value 1, an empty and another set 0. (Jaccard 1901; a
    kernel by Gower 1971 and Bouchard, Jousselme and Doré 2013.) Sets are Python sets, or lists of their items, or rows
    of a 0/1 array or of a sparse matrix.

    Examples
    --------
    >>> from similitude.kernels import Jaccard
    >>> Jaccard()({"a", "b", "c"}, {"b", "c", "d"}), Jaccard()(set(), set())
    (0.5, 1.0)
    >>> import numpy as np
    >>> Jaccard().gram(np.array([[1, 1, 0], [0, 1, 1]]))
    array([[1.        , 0.33333333],
           [0.33333333, 1.        ]])
    """

    claims = UNIT_KERNEL
    hints = Hints(finite=True)
    reason = (
        "the probability that x and z have the same first item when all items are put in random order: a mean of "
        "equality kernels, where the empty set has a first item of its own (Broder 1997; Gower 1971; Bouchard et al. "
        "2013)"
    )

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> np.ndarray:
        """Return the shares of common items."""
        return compare(A, B, "share", out)

    def diagonal(self, A: Encoding) -> np.ndarray:
        """Return ones."""
        return np.ones(len(A))


class SharesAny(SetSimilarity):
    r"""Whether two sets have a common item: 1 or 0. Natural, but not a kernel.

    Two documents are similar if they have a common author or keyword. The first may share an author with the second
    and the second a keyword with the third, while the first and the third share nothing; the Gram matrix of these
    three has the negative eigenvalue 1 - sqrt(2). (Balcan and Blum, On a Theory of Learning with Similarity
    Functions, 2006.) An empty set shares nothing, not even with itself.

    Examples
    --------
    >>> from similitude import check_kernel, datasets
    >>> from similitude.kernels import SharesAny
    >>> SharesAny().gram([{"ann", "svm"}, {"svm", "pac"}, {"pac", "bob"}])
    array([[1., 1., 0.],
           [1., 1., 1.],
           [0., 1., 1.]])

    Papers that share an author or a keyword:

    >>> share = SharesAny().pullback(lambda paper: paper.authors | paper.keywords)
    >>> check_kernel(share, datasets.papers().objects).verdict
    'INVALID'
    """

    claims = frozenset({SYMMETRIC, BOUNDED})
    hints = Hints(finite=True)
    reason = (
        "{a, b}, {b, c} and {c, d} have a Gram matrix with the eigenvalue 1 - sqrt(2) < 0 (Balcan and Blum 2006); the "
        "number of shared items, Intersection(), is a kernel"
    )

    def counterexamples(self) -> list[Any]:
        """Return the three sets of the reason."""
        return [[{"a", "b"}, {"b", "c"}, {"c", "d"}]]

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> np.ndarray:
        """Return 1 for pairs with a common item, 0 for others."""
        return compare(A, B, "any", out)

    def diagonal(self, A: Encoding) -> np.ndarray:
        """Return 1, or 0 for an empty set."""
        return np.minimum(np.asarray(A.sizes, float), 1.0)
