"""Sets encoded as sorted 64-bit keys or as rows of bits, and the items that two of them share."""

from __future__ import annotations

from collections.abc import Callable, Set
from itertools import chain
from typing import Any

import numpy as np

from similitude.compute import as_objects, check_columns, is_column, is_sparse, is_table, loops
from similitude.kernels.item_keys import item_keys
from similitude.kernels.ragged import Histograms, Ragged, ragged_rows, starts_of
from similitude.kernels.tables.cells import is_missing
from similitude.support import brief


class ItemSets(Ragged):
    """Sets as sorted 64-bit keys, stored consecutively: set i is ``keys[starts[i]:starts[i + 1]]``.

    `width` is the number of columns if the keys are column numbers, and None if they represent items. `roots` are those
    of the weights of items, none of which is zero; None without weights.
    """

    def __init__(
        self, keys: np.ndarray, starts: np.ndarray, width: int | None = None, roots: np.ndarray | None = None
    ) -> None:
        self.keys = keys
        self.starts = starts
        self.width = width
        self.roots = roots

    @classmethod
    def of(cls, keys: np.ndarray, sizes: np.ndarray, width: int | None = None) -> ItemSets:
        """Return the sets with these keys, which may be unsorted and repeated."""
        owner = np.repeat(np.arange(len(sizes)), sizes)
        keys = _sorted_within(keys, owner, sizes)
        new = np.ones(len(keys), bool)
        new[1:] = (keys[1:] != keys[:-1]) | (owner[1:] != owner[:-1])
        return cls(keys[new], starts_of(np.bincount(owner[new], minlength=len(sizes))), width)

    @property
    def sizes(self) -> np.ndarray:
        """The number of items of each set, or the sum of their weights."""
        return self.lengths if self.roots is None else self.histograms().squared_norms()

    def __getitem__(self, which: Any) -> ItemSets:
        starts, items = ragged_rows(self.starts, which)
        return ItemSets(self.keys[items], starts, self.width, None if self.roots is None else self.roots[items])

    def weighted(self, roots_of: Callable[[np.ndarray], np.ndarray]) -> ItemSets:
        """Return the sets with the roots of weights, given as a function of keys, without items of weight 0."""
        made = self.histograms().scaled(roots_of(self.keys))
        return ItemSets(made.keys, made.starts, self.width, made.counts)

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
        return ItemSets(keys.astype(np.uint64), starts_of(np.bincount(owner, minlength=len(self))), self.width)


Sets = ItemSets | BitSets


def _sorted_within(keys: np.ndarray, owner: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the keys sorted within each set."""
    widest = int(sizes.max(initial=0))
    if len(sizes) * widest > 4 * len(keys):  # some sets are far larger than the others
        return keys[np.lexsort((keys, owner))]
    table = np.full((len(sizes), widest), np.iinfo(np.uint64).max)
    filled = np.arange(widest) < sizes[:, None]
    table[filled] = keys
    table.sort(axis=1)
    return table[filled]


def as_sets(X: Any) -> Sets:
    """Return sets as keys or bits.

    A row of an array or table of numbers is a row of bits; a sparse row is the set of columns with a nonzero entry; a
    set, list, tuple or column is the set of its items.
    """
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
        return _bits(_stacked(objects))
    return _items(objects)


def _stacked(rows: list[np.ndarray]) -> np.ndarray:
    for i, row in enumerate(rows):
        if row.ndim != 1 or row.shape != rows[0].shape:
            raise ValueError(
                f"rows of bits must all have the same length: object {i} has shape {row.shape}, object 0 has shape "
                f"{rows[0].shape}"
            )
    return np.stack(rows)


def _bits(X: np.ndarray) -> BitSets:
    if X.dtype == bool:
        return BitSets.of(X)
    is_bit = np.frompyfunc(_is_bit, 1, 1)(X).astype(bool) if X.dtype == object else (X == 0) | (X == 1)
    bad = np.argwhere(~is_bit)
    if len(bad):
        i, j = (int(place) for place in bad[0])
        raise ValueError(
            f"row {i}, column {j} is {X[i, j]}: an array of sets holds 0 and 1 (or False and True), a column "
            f"per item; give sets of items as Python sets or lists"
        )
    return BitSets.of(X != 0)


def _is_bit(value: Any) -> bool:
    return not is_missing(value) and bool(value == 0 or value == 1)


def _sparse(X: Any) -> ItemSets:
    X = X.tocsr()
    bad = np.flatnonzero(X.data != X.data)
    if len(bad):
        row = int(np.searchsorted(X.indptr, bad[0], side="right")) - 1
        raise ValueError(f"row {row}, column {X.indices[bad[0]]} is nan: it is unclear whether the set has the item")
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    owner = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[X.data != 0]
    return ItemSets.of(
        X.indices[X.data != 0].astype(np.uint64), np.bincount(owner, minlength=X.shape[0]), int(X.shape[1])
    )


def _items(objects: list[Any]) -> ItemSets:
    unique = [_unique(one, i) for i, one in enumerate(objects)]
    items = list(chain.from_iterable(unique))
    if not set(map(type, items)) <= {str, int}:
        _refuse_nan(unique)
    return ItemSets.of(item_keys(items), np.fromiter(map(len, unique), np.int64, len(unique)))


def _unique(one: Any, i: int) -> Set[Any]:
    """Return the different items of an object."""
    if isinstance(one, (set, frozenset)):
        return one
    if not (isinstance(one, (Set, list, tuple)) or is_column(one) or (isinstance(one, np.ndarray) and one.ndim == 1)):
        hint = ", for instance set(text) for its letters" if isinstance(one, (str, bytes)) else ""
        missing = "; a set without items is set()" if is_missing(one) else ""
        raise TypeError(
            f"object {i} is {brief(one)}: a set is a Python set, a list or tuple of its items, or a row of bits{hint}"
            f"{missing}"
        )
    try:
        return set(one)
    except TypeError as error:
        raise TypeError(f"object {i} holds an item that cannot be in a set: {error}") from error


def _refuse_nan(sets: list[Set[Any]]) -> None:
    for i, items in enumerate(sets):
        if any(is_missing(item) and item is not None for item in items):
            raise ValueError(f"object {i} holds NaN or NA, which equals nothing, not even itself: leave it out")


def compare(A: Sets, B: Sets, value: str, out: Any = None) -> np.ndarray:
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


def check_comparable(A: Sets, B: Sets) -> None:
    """Refuse to compare sets of items with rows of bits, and rows of different lengths."""
    if A.width != B.width:
        x, z = (
            "sets of items" if one.width is None else f"rows of {one.width} bits or sparse entries" for one in (A, B)
        )
        raise ValueError(f"X holds {x} and Z holds {z}: they cannot share items")
