"""Bags of features with counts, the encoding of substring kernels, and their dot products."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute import loops
from similitude.compute.loops import BagArrays, Patterns
from similitude.kernels.ragged import Ragged, starts_of, starts_of_kept, with_norm_of_others
from similitude.kernels.strings.letters import Letters
from similitude.kernels.vectors.pairwise import csr


class Bags(Ragged):
    """Features of strings with their counts; `values` are these (or ones) times roots of weights, if there are any.

    Two features are equal if their codes are and, for codes that are digests, if the windows are. Therefore bags with
    digests keep the letters that they were made from.
    """

    of_entries = ("codes", "counts", "windows", "values")
    of_rows = ("letters",)
    described_by = ("codes", "counts")
    codes: np.ndarray
    counts: np.ndarray
    windows: Any
    values: Any
    letters: Letters | None

    @classmethod
    def of(cls, bags: BagArrays, values: np.ndarray | None = None) -> Bags:
        """Return bags as the loops give them, without letters if no code is a digest."""
        if not len(bags.places) or not (bags.codes >> np.uint64(63)).any():
            return cls(bags.starts, bags.codes, bags.counts, None, values)
        return cls(bags.starts, bags.codes, bags.counts, bags.places, values, Letters(bags.text_starts, bags.text))

    def _with_rows(self, starts: np.ndarray, entries: Any, which: Any) -> Bags:
        found: Bags = super()._with_rows(starts, entries, which)
        return Bags.of(found.arrays, found.values)

    @property
    def arrays(self) -> BagArrays:
        """The arrays, as the loops take them."""
        none = np.zeros(0, np.int64)
        if self.letters is None:
            return BagArrays(self.codes, self.counts, none, self.starts, np.zeros(0, np.uint32), none)
        return BagArrays(self.codes, self.counts, self.windows, self.starts, self.letters.text, self.letters.starts)

    def compact(self) -> Bags:
        """Return the bags with copies of their features: the loops reserve more room than they fill."""
        return self.only(np.ones(len(self.codes), bool))

    def squared_norms(self, counted: bool) -> np.ndarray:
        """Return the dot product of each bag with itself."""
        if self.values is not None:
            return np.bincount(self.owners, self.values * self.values, minlength=len(self))
        if not counted:
            return self.lengths.astype(float)
        sums = np.concatenate([[0], np.cumsum(self.counts * self.counts)])
        return np.diff(sums[self.starts]).astype(float)

    def numbers(self, counted: bool) -> np.ndarray:
        """Return what each feature counts."""
        if self.values is not None:
            return self.values
        return self.counts.astype(float) if counted else np.ones(len(self.codes))


def joined_bags(parts: list[Bags]) -> Bags:
    """Return the bags of all parts, one after the other; the parts are emptied on the way, which saves memory."""
    if any(part.letters is not None for part in parts):
        for part in parts:
            if part.letters is None:
                part.windows = np.zeros(len(part.codes), np.int64)
                part.letters = Letters(np.zeros(len(part) + 1, np.int64), np.zeros(0, np.uint32))
    whole: Any = Bags(starts_of(np.concatenate([part.lengths for part in parts])))
    for name in Bags.of_entries:
        columns = [vars(part).pop(name) for part in parts]
        if columns[0] is not None:
            setattr(whole, name, np.concatenate(columns))
    if parts[0].letters is not None:
        letters: Any = [part.letters for part in parts]
        starts = starts_of(np.concatenate([one.lengths for one in letters]))
        whole.letters = Letters(starts, np.concatenate([one.text for one in letters]))
    return whole


def bag_products(A: Bags, B: Bags, patterns: Patterns, counted: bool, out: Any = None) -> np.ndarray:
    """Return the dot products of the counts of shared features; if not `counted`, the numbers of shared features.

    Frequent features are summed for all pairs at once, by bit sets or (`counted`) by the product of two dense matrices;
    for each rare one only the pairs that have it are visited.
    """
    if out is None:
        out = np.empty((len(A), len(B)))
    counted = counted or A.values is not None
    a, b, width = loops.shared_features(A.arrays, B.arrays, patterns)
    order, frequent = _by_frequency(len(A) * len(B), a, b, width, counted)
    a = order[a]  # -1 stays -1
    b = order[b]
    if frequent:
        _write_frequent(a, A, b, B, frequent, counted, out)
    if frequent < width or not width:
        rest = np.empty(out.shape) if frequent else out
        transposed = _rare(b, B, frequent, width, counted).T.tocsr()
        loops.sparse_products(rest, csr(_rare(a, A, frequent, width, counted)), csr(transposed))
        if frequent:
            out += rest
    return out


def _by_frequency(pairs: int, a: np.ndarray, b: np.ndarray, width: int, counted: bool) -> tuple[np.ndarray, int]:
    """Return new numbers of features, frequent ones first, and the number of frequent ones; -1 is last and stays.

    The costs are in nanoseconds, as measured: a frequent feature costs something for every pair, a rare one for each
    pair that has it; to do both costs another pass over all pairs and over the entries of the bags.
    """
    meetings = np.bincount(a[a >= 0], minlength=width) * np.bincount(b[b >= 0], minlength=width)
    each, entry = {True: (0.025, 12.0), False: (0.0014, 2.0)}[counted]
    some = meetings > each * pairs
    entries = len(a) + len(b)
    costs = [
        pairs * (each * np.count_nonzero(some) + 3.0) + (entry + 15.0) * entries + float(meetings[~some].sum()),
        pairs * (each * width + 1.0) + entry * entries,
        pairs + 10.0 * entries + float(meetings.sum()),
    ]
    frequent = (some, np.ones(width, bool), np.zeros(width, bool))[int(np.argmin(costs))]
    order = np.full(width + 1, -1, np.int32)
    order[np.argsort(~frequent, kind="stable")] = np.arange(width)
    return order, int(np.count_nonzero(frequent))


def _write_frequent(a: np.ndarray, A: Bags, b: np.ndarray, B: Bags, width: int, counted: bool, out: np.ndarray) -> None:
    """Write the sums over the features with numbers below `width`."""
    a, b = (np.where(numbers < width, numbers, -1) for numbers in (a, b))
    if not counted:
        loops.common_bits(out, _bits(a, A.starts, width), _bits(b, B.starts, width))
        return
    exact = A.values is None and A.squared_norms(True).max() * B.squared_norms(True).max() < 2.0**48  # in float32
    dtype = (np.float64, np.float32)[bool(exact)]
    out[...] = _dense(a, A, width, dtype) @ _dense(b, B, width, dtype).T


def _bits(numbers: np.ndarray, starts: np.ndarray, width: int) -> np.ndarray:
    bits = np.zeros((len(starts) - 1, (width + 63) // 64), np.uint64)
    loops.set_bits(bits, numbers, starts)
    return bits


def _dense(numbers: np.ndarray, bags: Bags, width: int, dtype: type) -> np.ndarray:
    counts: np.ndarray = np.zeros((len(bags), width), dtype)
    kept = numbers >= 0
    counts[bags.owners[kept], numbers[kept]] = bags.numbers(True)[kept]
    return counts


def _rare(numbers: np.ndarray, bags: Bags, first: int, width: int, counted: bool) -> Any:
    """Return the counts of features with numbers from `first` on as a sparse matrix."""
    from scipy.sparse import csr_array

    kept = numbers >= first
    columns = numbers[kept] - np.int32(first)
    values = bags.numbers(counted)[kept]
    return csr_array((values, columns, starts_of_kept(bags.starts, kept)), shape=(len(bags), width - first))


def bag_features(A: Bags, known: Bags, patterns: Patterns, counted: bool) -> Any:
    """Return the counts as a sparse matrix: a column per feature of `known`, and one for the norm of all others."""
    _, numbers, width = loops.shared_features(known.arrays, known.arrays, patterns)
    a, b, _ = loops.shared_features(A.arrays, known.arrays, patterns)
    columns = np.zeros(int(b.max(initial=-1)) + 2, np.int64)
    columns[b] = numbers  # -1 is the last one
    columns[-1] = width
    return with_norm_of_others(A.numbers(counted), columns[a], A.starts, width)
