"""Bags of features: what kernels of strings turn objects into, and dot products of their counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude import loops
from similitude.loops import CSR, Patterns

NO_LETTERS = np.zeros(0, np.uint32)
NO_INTEGERS = np.zeros(0, np.int64)


class Bags:
    """Features of objects with their counts, one bag per object; sliced like an array.

    Two features are the same if their codes agree and, for codes that are digests, if the windows do: so a bag keeps
    the letters it was made from as long as it has such codes.

    Parameters
    ----------
    bags : similitude.loops.Bags
    """

    def __init__(self, bags: loops.Bags) -> None:
        self.codes, self.counts, self.starts = bags.codes, bags.counts, bags.starts
        digests = bool((bags.codes >> np.uint64(63)).any()) if len(bags.places) else False
        self.places = bags.places if digests else NO_INTEGERS
        self.text = bags.text if digests else NO_LETTERS
        self.text_starts = bags.text_starts if digests else NO_INTEGERS

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, which: Any) -> Bags:
        features, starts = picked(self.starts, which)
        letters, text_starts = picked(self.text_starts, which) if len(self.places) else (slice(0, 0), NO_INTEGERS)
        chosen = self.codes[features], self.counts[features], self.places[features if len(self.places) else slice(0, 0)]
        return Bags(loops.Bags(*chosen, starts, self.text[letters], text_starts))

    @property
    def parts(self) -> loops.Bags:
        """The arrays, as the loops take them."""
        return loops.Bags(self.codes, self.counts, self.places, self.starts, self.text, self.text_starts)

    def squares(self, counted: bool) -> np.ndarray:
        """Return the dot product of each bag with itself."""
        if not counted:
            return np.diff(self.starts).astype(float)
        sums = np.concatenate([[0], np.cumsum(self.counts * self.counts)])
        return np.diff(sums[self.starts]).astype(float)


def picked(starts: np.ndarray, which: Any) -> tuple[Any, np.ndarray]:
    """Return where the entries of some rows are, and where each row starts among them."""
    if isinstance(which, slice) and which.step in (None, 1):
        begin, end, _ = which.indices(len(starts) - 1)
        kept = starts[begin : max(begin, end) + 1]
        return slice(int(kept[0]), int(kept[-1])), kept - kept[0]
    rows = np.arange(len(starts) - 1)[which]
    lengths = np.diff(starts)[rows]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    return np.arange(ends[-1]) + np.repeat(starts[rows] - ends[:-1], lengths), ends


def bag_products(A: Bags, B: Bags, patterns: Patterns, counted: bool, out: Any = None) -> np.ndarray:
    """Return the dot products of the counts of shared features; where not `counted`, how many features are shared.

    Features that only one of the two blocks has are left out first; then the cheapest of three ways is taken: bit sets
    of what is left, lists of the bags that have a feature, or the product of two full matrices.
    """
    out = np.empty((len(A), len(B))) if out is None else out
    a, b, width = loops.shared_features(A.parts, B.parts, patterns)
    if width == 0:
        out[...] = 0
        return out
    way = _cheapest(len(A) * len(B), a, b, width, counted)
    if way == "bits":
        loops.common_bits(out, _bits(a, A.starts, width), _bits(b, B.starts, width))
    elif way == "full":
        kind = np.float32 if A.squares(counted).max() * B.squares(counted).max() < 2.0**48 else np.float64  # exact
        out[...] = _full(a, A, width, kind) @ _full(b, B, width, kind).T
    else:
        transposed = _sparse(b, B, width, counted).T.tocsr()
        loops.sparse_products(out, _csr(_sparse(a, A, width, counted)), _csr(transposed))
    return out


def _cheapest(pairs: int, a: np.ndarray, b: np.ndarray, width: int, counted: bool) -> str:
    """Return the way that takes the least time, by nanoseconds as measured."""
    meetings = float(np.bincount(a[a >= 0], minlength=width) @ np.bincount(b[b >= 0], minlength=width))
    costs = {"lists": 1.0 * meetings + 1.5 * pairs}
    if counted:
        costs["full"] = pairs * (1.0 + 0.03 * width)
    else:
        costs["bits"] = pairs * (2.0 + 0.15 * (width // 64 + 1))
    return min(costs, key=costs.__getitem__)


def _bits(numbers: np.ndarray, starts: np.ndarray, width: int) -> np.ndarray:
    bits = np.zeros((len(starts) - 1, (width + 63) // 64), np.uint64)
    loops.set_bits(bits, numbers, starts)
    return bits


def _full(numbers: np.ndarray, bags: Bags, width: int, kind: type) -> np.ndarray:
    full: np.ndarray = np.zeros((len(bags), width), kind)
    kept = numbers >= 0
    full[np.repeat(np.arange(len(bags)), np.diff(bags.starts))[kept], numbers[kept]] = bags.counts[kept]
    return full


def _sparse(numbers: np.ndarray, bags: Bags, width: int, counted: bool) -> Any:
    from scipy.sparse import csr_array

    kept = numbers >= 0
    columns = numbers[kept]
    values = bags.counts[kept].astype(float) if counted else np.ones(len(columns))
    starts = np.concatenate([[0], np.cumsum(kept)])[bags.starts]
    return csr_array((values, columns, starts), shape=(len(bags), width))


def _csr(matrix: Any) -> CSR:
    return matrix.data, matrix.indices, matrix.indptr
