"""Similarities of sets: how many items two of them share, which share of all, or whether any at all.

A set is a Python set, frozenset, list or tuple of hashable items; a row of a boolean or 0/1 array, where each column
stands for an item; or a row of a scipy sparse matrix, which holds the columns whose entry is not zero. A list is always
a list of items: ``[0, 1, 1]`` is the set {0, 1}, ``np.array([0, 1, 1])`` is a row of bits. Items enter as 64-bit
digests (equal for equal items, the same in every process); two different ones of a million are confused with
probability 3e-8.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute.encodings import Encoding
from similitude.kernels.set_encodings import as_sets, compare, demand_alike
from similitude.similarity import BOUNDED, PSD, SYMMETRIC, UNIT_DIAGONAL, Similarity


class SetSimilarity(Similarity):
    """A similarity of sets."""

    objects = "sets"

    def encode(self, objects: Any) -> Encoding:
        """Return the sets as sorted keys of their items, or as words of bits."""
        return as_sets(objects)


class Intersection(SetSimilarity):
    r"""How many items two sets share, :math:`K(x, z) = |x \cap z|`.

    Counting what is shared is a kernel where asking whether anything is shared (`SharesAny`) is not.
    (Balcan and Blum, On a Theory of Learning with Similarity Functions, 2006, footnote 1.)

    Examples
    --------
    >>> from similitude.kernels import Intersection
    >>> Intersection().gram([{"ann", "svm"}, {"svm", "pac"}, {"pac", "bob"}])
    array([[2., 1., 0.],
           [1., 2., 1.],
           [0., 1., 2.]])
    """

    claims = frozenset({SYMMETRIC, PSD})
    finite = True
    reason = "the number of shared items is the dot product of the indicators of the items"

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> np.ndarray:
        """Return the numbers of shared items."""
        return compare(A, B, "count", out)

    def diagonal(self, A: Encoding) -> np.ndarray:
        """Return the numbers of items."""
        return np.asarray(A.sizes, float)

    def features(self, objects: Any, like: Any = None) -> Any:
        """Return a sparse matrix of 0 and 1: a column per item that `like` has, and the norm of all others."""
        A = self.encode(objects)
        known = A if like is None else self.encode(like)
        demand_alike(A, known)
        return A.as_items().histograms().features(known.as_items().histograms())


class Jaccard(SetSimilarity):
    r"""The items that two sets share, out of all that they have, :math:`K(x, z) = |x \cap z| / |x \cup z|`.

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

    claims = frozenset({SYMMETRIC, PSD, UNIT_DIAGONAL, BOUNDED})
    finite = True
    reason = (
        "the chance that the first item of x and of z is the same one when all items are put in random order: a mean "
        "of equality kernels, the empty set having a first item of its own (Broder 1997; Gower 1971; Bouchard et al. "
        "2013)"
    )

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> np.ndarray:
        """Return the shares of items that are in both."""
        return compare(A, B, "share", out)

    def diagonal(self, A: Encoding) -> np.ndarray:
        """Return ones."""
        return np.ones(len(A))


class SharesAny(SetSimilarity):
    r"""Whether two sets share an item: 1 or 0. Natural, and no kernel.

    Two documents are alike if they have an author or a keyword in common: the first may share an author with the
    second and the second a keyword with the third, while the first and the third share nothing. The Gram matrix of
    such three has a negative eigenvalue, 1 - sqrt(2). (Balcan and Blum, On a Theory of Learning with Similarity
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
    finite = True
    reason = (
        "{a, b}, {b, c} and {c, d} have a Gram matrix with the eigenvalue 1 - sqrt(2) < 0 (Balcan and Blum 2006); the "
        "number of shared items, Intersection(), is a kernel"
    )

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> np.ndarray:
        """Return 1 where an item is shared, 0 elsewhere."""
        return compare(A, B, "any", out)

    def diagonal(self, A: Encoding) -> np.ndarray:
        """Return 1, or 0 for an empty set."""
        return np.minimum(np.asarray(A.sizes, float), 1.0)
