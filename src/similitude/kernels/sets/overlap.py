"""Similarities of sets: the number of common items, their share of all items, or whether there is any.

A list is always a list of items: ``[0, 1, 1]`` is the set {0, 1}, ``np.array([0, 1, 1])`` is a row of bits. Items are
represented by 64-bit digests; two of a million different items collide with probability 3e-8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from itertools import chain
from typing import Any

import numpy as np

from similitude.compute import Encoding, Hints, as_objects, check_columns, is_column, is_sparse, is_table, loops, take
from similitude.kernels.feature_weights import FeatureTable, WeightedFeatures, proof_with_weights, roots_of_weights
from similitude.kernels.ragged import Histograms, item_keys, starts_of, starts_of_kept
from similitude.kernels.signatures_of_sets import Items, SetBounds
from similitude.kernels.tables.cells import is_missing
from similitude.similarity import BOUNDED, KERNEL, SYMMETRIC, UNIT_KERNEL, Bounds, Similarity
from similitude.support import brief, is_integer


class ItemSets(Items):
    """Sets as sorted 64-bit keys with the roots of their weights, if these are given.

    `width` is the number of columns if the keys are column numbers, and None if they represent items.
    """

    of_entries = ("keys", "roots")
    roots: Any

    def __init__(self, starts: np.ndarray, keys: np.ndarray, width: int | None = None, roots: Any = None) -> None:
        super().__init__(starts, keys, roots)
        self.width = width

    @classmethod
    def of(cls, keys: np.ndarray, sizes: np.ndarray, width: int | None = None) -> ItemSets:
        """Return the sets with these keys, which may be unsorted and repeated."""
        owner = np.repeat(np.arange(len(sizes)), sizes)
        keys = _sorted_within(keys, owner, sizes)
        new = np.ones(len(keys), bool)
        new[1:] = (keys[1:] != keys[:-1]) | (owner[1:] != owner[:-1])
        return cls(starts_of(np.bincount(owner[new], minlength=len(sizes))), keys[new], width)

    @property
    def sizes(self) -> np.ndarray:
        """The number of items of each set, or the sum of their weights."""
        return self.lengths if self.roots is None else self.histograms().squared_norms()

    def as_items(self) -> ItemSets:
        """Return itself."""
        return self

    def histograms(self) -> Histograms:
        """Return the indicators of the items, or the roots of their weights, as histograms."""
        return Histograms(self.starts, self.keys, np.ones(len(self.keys)) if self.roots is None else self.roots)


class BitSets:
    """Sets as rows of 64-bit words, with a bit per column."""

    def __init__(self, words: np.ndarray, width: int) -> None:
        self.words = words
        self.width = width

    @classmethod
    def of(cls, bits: np.ndarray) -> BitSets:
        """Return the rows of a boolean matrix."""
        words = np.zeros((len(bits), max(1, -(-bits.shape[1] // 64)) * 8), np.uint8)
        packed = np.packbits(bits, axis=1, bitorder="little")
        words[:, : packed.shape[1]] = packed
        return cls(words.view(np.uint64), bits.shape[1])

    @property
    def sizes(self) -> np.ndarray:
        """The number of bits that are set in each row."""
        return loops.count_bits(np.ascontiguousarray(self.words))

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, which: Any) -> BitSets:
        return BitSets(self.words[which], self.width)

    def as_items(self) -> ItemSets:
        """Return the same sets as sorted column numbers."""
        bits = np.unpackbits(np.ascontiguousarray(self.words).view(np.uint8), axis=1, bitorder="little")
        owner, keys = np.nonzero(bits)
        return ItemSets(starts_of(np.bincount(owner, minlength=len(self))), keys.astype(np.uint64), self.width)


def _sorted_within(keys: np.ndarray, owner: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    widest = int(sizes.max(initial=0))
    if len(sizes) * widest > 4 * len(keys):  # some sets are far larger than the others
        return keys[np.lexsort((keys, owner))]
    table = np.full((len(sizes), widest), np.iinfo(np.uint64).max)
    filled = np.arange(widest) < sizes[:, None]
    table[filled] = keys
    table.sort(axis=1)
    return table[filled]


def as_sets(X: Any) -> Any:
    """Return sets as keys or bits."""
    if is_sparse(X):
        return _sparse(X)
    if is_table(X) and len(check_columns(X)) > 1:
        return _bits(X.to_numpy())
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf":
        return _bits(X)
    objects = as_objects(X)
    if all(is_sparse(one) for one in objects):
        from scipy.sparse import vstack

        return _sparse(vstack(objects, format="csr"))
    if all(isinstance(one, np.ndarray) and one.dtype.kind in "biuf" for one in objects):
        first = objects[0].shape
        for i, row in enumerate(objects):
            if row.ndim != 1 or row.shape != first:
                raise ValueError(
                    f"rows of bits must all have the same length: object {i} has shape {row.shape}, object 0 has shape "
                    f"{first}"
                )
        return _bits(np.stack(objects))
    unique = [_unique(one, i) for i, one in enumerate(objects)]
    items = list(chain.from_iterable(unique))
    if not set(map(type, items)) <= {str, int}:
        for i, some in enumerate(unique):
            if any(is_missing(item) and item is not None for item in some):
                raise ValueError(f"object {i} holds NaN or NA, which equals nothing, not even itself: leave it out")
    return ItemSets.of(item_keys(items), np.fromiter(map(len, unique), np.int64, len(unique)))


def _bits(X: np.ndarray) -> BitSets:
    if X.dtype == bool:
        return BitSets.of(X)
    of_objects = np.frompyfunc(lambda one: not is_missing(one) and bool(one == 0 or one == 1), 1, 1)
    bad = np.argwhere(~of_objects(X).astype(bool)) if X.dtype == object else np.argwhere((X != 0) & (X != 1))
    if len(bad):
        i, j = (int(place) for place in bad[0])
        raise ValueError(
            f"row {i}, column {j} is {X[i, j]}: an array of sets holds 0 and 1 (or False and True), a column "
            f"per item; give sets of items as Python sets or lists"
        )
    return BitSets.of(X != 0)


def _sparse(X: Any) -> ItemSets:
    X = X.tocsr()
    bad = np.flatnonzero(X.data != X.data)
    if len(bad):
        row = int(np.searchsorted(X.indptr, bad[0], side="right")) - 1
        raise ValueError(f"row {row}, column {X.indices[bad[0]]} is nan: it is unclear whether the set has the item")
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    sizes = np.diff(starts_of_kept(X.indptr, X.data != 0))
    return ItemSets.of(X.indices[X.data != 0].astype(np.uint64), sizes, int(X.shape[1]))


def _unique(one: Any, i: int) -> Set[Any]:
    if isinstance(one, (set, frozenset)):
        return one
    if not (isinstance(one, (Set, list, tuple)) or is_column(one) or (isinstance(one, np.ndarray) and one.ndim == 1)):
        hint = ", for instance set(text) for its letters" * isinstance(one, (str, bytes))
        hint += "; a set without items is set()" * is_missing(one)
        what = "a set is a Python set, a list or tuple of its items, or a row of bits"
        raise TypeError(f"object {i} is {brief(one)}: {what}{hint}")
    try:
        return set(one)
    except TypeError as error:
        raise TypeError(f"object {i} holds an item that cannot be in a set: {error}") from error


def compare(A: Any, B: Any, value: str, out: Any = None) -> np.ndarray:
    """Return what sets of A and B share: the ``count`` of common items, their ``share`` of all, or ``any``."""
    if out is None:
        out = np.empty((len(A), len(B)))
    check_comparable(A, B)
    a, b = (np.asarray(one.sizes, float) for one in (A, B))
    if isinstance(A, BitSets) and isinstance(B, BitSets):
        loops.shared_bits(out, np.ascontiguousarray(A.words), np.ascontiguousarray(B.words), a, b, value)
        return out
    x, z = (one.as_items().histograms() for one in (A, B))
    x.products(z, out)
    if value != "count":
        loops.of_shared(out, a, b, value)
    return out


def check_comparable(A: Any, B: Any) -> None:
    """Refuse to compare sets of items with rows of bits, and rows of different lengths."""
    if A.width != B.width:
        x, z = (
            "sets of items" if one.width is None else f"rows of {one.width} bits or sparse entries" for one in (A, B)
        )
        raise ValueError(f"X holds {x} and Z holds {z}: they cannot share items")


class WeightedSets(WeightedFeatures):
    """A similarity of sets whose items have weights."""

    objects = "sets"

    def __init__(self, weights: Mapping[Any, float] | str | None = None, default_weight: float = 1.0) -> None:
        self.weights = weights
        self.default_weight = default_weight

    def check_key(self, key: Any) -> None:
        """Accept any item: what it is may depend on the objects."""

    def encode(self, objects: Any) -> Encoding:
        """Return the sets as keys of their items or rows of bits; with weights, as keys with the roots of these."""
        sets = as_sets(objects)
        if not isinstance(self.weights, Mapping):
            return sets
        items = sets.as_items()
        items.roots = roots_of_weights(self, items.keys, lambda: self._known_items(sets), sets.width)
        return items.only(items.roots > 0)

    def _known_items(self, sets: Any) -> np.ndarray:
        """Return the keys of the items that have a weight: digests, or numbers of columns."""
        given: Any = self.weights
        if sets.width is None:
            return item_keys(given)
        for key in given:
            if not is_integer(key) or not 0 <= key < sets.width:
                columns = f"columns, from 0 to {sets.width - 1}, as the sets are rows of {sets.width} bits"
                raise ValueError(f"weights name {brief(key)}: they must name {columns}")
        return np.fromiter(given, np.uint64, len(given))

    def feature_table(self, objects: Any) -> FeatureTable:
        """Return which items each set has, and the items, or the numbers of columns."""
        sets = as_sets(objects).as_items()
        found, keys = sets.histograms().table()
        if sets.width is not None:
            return FeatureTable(found, keys.tolist())
        items = list(dict.fromkeys(item for one in as_objects(objects) for item in one))
        names = dict(zip(item_keys(items).tolist(), items, strict=True))
        return FeatureTable(found, [names[key] for key in keys.tolist()])

    def feature_names(self, objects: Any, keys: Sequence[Any]) -> list[str]:
        """Return the items as text, or the columns."""
        if is_table(objects) and len(objects.columns) > 1:
            return [str(objects.columns[key]) for key in keys]
        bits = as_sets(take(objects, np.arange(1))).width is not None
        return [f"column {key}" if bits else str(key) for key in keys]


class Intersection(WeightedSets):
    r"""The number of common items, :math:`K(x, z) = |x \cap z|`, or the sum of their weights.

    The number of common items is a kernel; whether there is any (`SharesAny`) is not.
    (Balcan and Blum, On a Theory of Learning with Similarity Functions, 2006, footnote 1.)

    Parameters
    ----------
    weights : dict, "idf" or None
        A number >= 0 for some items, which they then count for; for rows of bits, keys are the numbers of columns.
        ``"idf"``: on the sets it is resolved on, the square of :math:`\ln\frac{1 + n}{1 + n_u} + 1`, where :math:`n_u`
        of n sets have the item.
        `learn_kernel` learns weights from labels.
    default_weight : float
        The weight of all other items; ``"idf"`` sets it to that of an item that no set has.

    Examples
    --------
    >>> from similitude.kernels import Intersection
    >>> Intersection().gram([{"ann", "svm"}, {"svm", "pac"}, {"pac", "bob"}])
    array([[2., 1., 0.],
           [1., 2., 1.],
           [0., 1., 2.]])
    >>> Intersection(weights={"svm": 0.25})({"ann", "svm"}, {"svm", "ann"})
    1.25
    """

    claims = KERNEL
    hints = Hints(finite=True)
    reason = proof_with_weights("the number of shared items is the dot product of the indicators of the items")

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> np.ndarray:
        """Return the numbers of common items, or the sums of their weights."""
        return compare(A, B, "count", out)

    def diagonal(self, A: Encoding) -> np.ndarray:
        """Return the numbers of items, or the sums of their weights."""
        return np.asarray(A.sizes, float)

    def features(self, objects: Any, like: Any = None) -> Any:
        """Return a sparse matrix of 0 and 1, or of roots of weights.

        It has a column per item of `like`, and one for the norm of all others.
        """
        A = self.encode(objects)
        known = A if like is None else self.encode(like)
        check_comparable(A, known)
        return A.as_items().histograms().features(known.as_items().histograms())


class Jaccard(WeightedSets):
    r"""The share of common items among all items of two sets, :math:`K(x, z) = |x \cap z| / |x \cup z|`.

    With weights it is the share of their weights, :math:`\sum_{u \in x \cap z} w_u / \sum_{u \in x \cup z} w_u`.

    Also called Tanimoto similarity. Two empty sets have the value 1, an empty and another set 0. (Jaccard 1901; a
    kernel by Gower 1971 and Bouchard, Jousselme and Doré 2013.) Sets are Python sets, or lists of their items, or rows
    of a 0/1 array or of a sparse matrix.

    Parameters
    ----------
    weights : dict, "idf" or None
        A number >= 0 for some items; for rows of bits, keys are the numbers of columns. ``"idf"``: on the sets it is
        resolved on, the square of :math:`\ln\frac{1 + n}{1 + n_u} + 1`, where :math:`n_u` of n sets have the item.
        `learn_kernel` learns weights from labels.
    default_weight : float
        The weight of all other items; ``"idf"`` sets it to that of an item that no set has.

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

    @property
    def reason(self) -> str:
        """The proof: a mean of equality kernels."""
        order = "all items are put in random order"
        if self.weights is not None:
            order = "items arrive at random times, at rates equal to their weights (those of weight 0 never)"
        return (
            f"the probability that x and z have the same first item when {order}: a mean of equality kernels, where "
            f"the empty set has a first item of its own (Broder 1997; Gower 1971; Bouchard et al. 2013)"
        )

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> np.ndarray:
        """Return the shares of common items, or of their weights."""
        return compare(A, B, "share", out)

    def bounds(self, A: Encoding) -> Bounds | None:
        """Return bounds by the sizes of the sets and rows of bits; none with weights."""
        return None if isinstance(self.weights, Mapping) else SetBounds(A, type(A).as_items, "share_of_all")

    def diagonal(self, A: Encoding) -> np.ndarray:
        """Return ones."""
        return np.ones(len(A))


class SharesAny(Similarity):
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

    objects = "sets"
    claims = frozenset({SYMMETRIC, BOUNDED})
    hints = Hints(finite=True)
    reason = (
        "{a, b}, {b, c} and {c, d} have a Gram matrix with the eigenvalue 1 - sqrt(2) < 0 (Balcan and Blum 2006); the "
        "number of shared items, Intersection(), is a kernel"
    )

    def counterexamples(self) -> list[Any]:
        """Return the three sets of the reason."""
        return [[{"a", "b"}, {"b", "c"}, {"c", "d"}]]

    def encode(self, objects: Any) -> Encoding:
        """Return the sets as sorted keys of their items, or as rows of bits."""
        return as_sets(objects)

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> np.ndarray:
        """Return 1 for pairs with a common item, 0 for others."""
        return compare(A, B, "any", out)

    def diagonal(self, A: Encoding) -> np.ndarray:
        """Return 1, or 0 for an empty set."""
        return np.minimum(np.asarray(A.sizes, float), 1.0)
