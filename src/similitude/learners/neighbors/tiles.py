"""Distances in the feature space of a kernel, and the nearest objects: in tiles of all pairs, or by bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import numpy as np

from similitude.compute import Blocks, Encoding, as_numpy, beside, count, is_tensor, itemsize, namespace, rows
from similitude.compute.engines import Engine, Tile
from similitude.learners.kernel_learner import rounding_error
from similitude.similarity import Bounds, Similarity
from similitude.support import PairError


class SquaredLengths:
    """K(x, x) of the training objects, the squared lengths of their feature vectors."""

    def __init__(self, k: Similarity, A: Encoding) -> None:
        values = as_numpy(k.diagonal(A))
        self.eps = rounding_error(min(itemsize(values), itemsize(A)))
        self.values = _checked(values)
        self.equal = float(np.ptp(self.values)) <= 32 * self.eps * float(self.values.max())

    def of_new(self, k: Similarity, A: Encoding, precomputed: bool, instead: str) -> np.ndarray:
        """Return K(x, x) of new objects; for a precomputed matrix the value that all training objects share."""
        if not precomputed:
            return squared_lengths(k, A)
        if self.equal:
            return np.full(count(A), self.values[0])
        raise ValueError(
            f"K(x, x) of new objects is not in the matrix K(new, train), and it differs between the training objects, "
            f"so distances are unknown: {instead}, or use the kernel Precomputed(M) on indices"
        )

    def ranked(self, K: Any, columns: slice) -> Any:
        """Return values that increase with the distance from a query: -K(x, z), or K(z, z) / 4 - K(x, z) / 2."""
        if self.equal:
            return -K
        return beside(self.values[columns], K) / 4 - K / 2

    def distances(self, own: np.ndarray, far: np.ndarray, which: np.ndarray, size: int) -> np.ndarray:
        """Return the distances of the nearest, given `ranked` values and K(x, x); quarters avoid overflow."""
        eps = max(self.eps, rounding_error(size))
        theirs = self.values[which] / 4
        apart = far
        if self.equal:
            apart = theirs + far / 2
        squares = own[:, None] / 4 + apart
        scale = own[:, None] / 4 + theirs + np.abs(apart - theirs)
        bad = np.argwhere(squares < -max(1e-12, 32 * eps) * scale)
        if len(bad):
            i, place = bad[0]
            below = f"K(x, x) + K(z, z) - 2 K(x, z) = {4 * squares[i, place]:.6g} < 0"
            raise PairError(int(i), int(which[i, place]), f"{below}: K is not a kernel and defines no distance")
        squares[squares <= 8 * eps * scale] = 0.0  # rounding
        return 2 * np.sqrt(squares)


def squared_lengths(k: Similarity, A: Encoding) -> np.ndarray:
    """Return K(x, x) of encoded objects in float64; negative and infinite values are refused."""
    return _checked(as_numpy(k.diagonal(A)))


def _checked(values: np.ndarray) -> np.ndarray:
    values = values.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(values) | (values < -1e-12 * np.abs(values).max()))
    if len(bad):
        i = int(bad[0])
        raise PairError(i, i, f"K(x, x) = {values[i]:.6g} is not a squared length: K is not a kernel")
    return np.maximum(values, 0.0)


def nearest_in_tiles(
    blocks: Blocks, n: int, wanted: int, ranked: Callable[[Any, slice], Any], without_itself: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ranks and numbers of the nearest columns of n rows; `ranked` gives ranks for values and columns."""
    nearest: NearestColumns | NearestOnDevice | None = None
    with closing(blocks.tiles()) as tiles:
        for tile, values in tiles:
            down, right = tile
            far = ranked(values, right)
            if without_itself:
                here = np.arange(max(down.start, right.start), min(down.stop, right.stop))
                far[here - down.start, here - right.start] = np.inf
            if nearest is None and is_tensor(far):
                nearest = NearestOnDevice(n, wanted, far)
            nearest = nearest or NearestColumns(n, wanted)
            nearest.look_at(tile, far)
    assert nearest is not None
    return as_numpy(nearest.far), as_numpy(nearest.which)


def keep_nearest(
    far: np.ndarray, which: np.ndarray, row: np.ndarray, new_far: np.ndarray, new_which: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Let candidates enter the nearest of their rows, in place, ties by number; return these rows and what came in."""
    touched, group = np.unique(row, return_inverse=True)
    k = far.shape[1]
    group = np.concatenate([np.repeat(np.arange(len(touched)), k), group])
    values = np.concatenate([far[touched].ravel(), new_far])
    numbers = np.concatenate([which[touched].ravel(), new_which])
    order = np.lexsort((numbers, values, group))
    best = order[np.searchsorted(group[order], np.arange(len(touched)))[:, None] + np.arange(k)]
    far[touched] = values[best]
    which[touched] = numbers[best]
    return touched, best


class NearestColumns:
    """The k nearest of the columns seen so far, for every one of n rows; ties in the order of the columns."""

    def __init__(self, n: int, k: int) -> None:
        self.far = np.full((n, k), np.inf)
        self.which = np.full((n, k), np.iinfo(np.int64).max)

    def look_at(self, tile: Tile, far: np.ndarray) -> None:
        """Take in a tile of distances, or of values that increase with them; tiles of a row come left to right."""
        down, right = tile
        k = self.far.shape[1]
        bound = self.far[down, -1:]
        if np.isfinite(bound).all():
            row, column = np.nonzero(far < bound)
        elif far.shape[1] <= k:
            row, column = np.nonzero(far < np.inf)
        else:
            row, column = np.nonzero(far <= np.partition(far, k - 1, axis=1)[:, k - 1 : k])
        keep_nearest(self.far[down], self.which[down], row, far[row, column], column + right.start)


class NearestOnDevice:
    """The same for tiles that are tensors on the device of `like`."""

    def __init__(self, n: int, k: int, like: Any) -> None:
        self.k = k
        self.far = beside(np.full((n, k), np.inf), like)
        self.which = beside(np.full((n, k), np.iinfo(np.int64).max), like)

    def look_at(self, tile: Tile, far: Any) -> None:
        """Take in a tile of distances; tiles of a row come left to right."""
        down, right = tile
        xp = namespace(far)
        values, which = _smallest(far, min(self.k, far.shape[1]))
        values = xp.concat([self.far[down], xp.astype(values, xp.float64)], axis=1)
        which = xp.concat([self.which[down], which + right.start], axis=1)
        best = xp.argsort(values, axis=1, stable=True)[:, : self.k]
        self.far[down] = values.gather(1, best)
        self.which[down] = which.gather(1, best)


def _smallest(far: Any, k: int) -> tuple[Any, Any]:
    """Return the k smallest values in each row of a tensor and their columns; ties in the order of the columns."""
    xp = namespace(far)
    values, which = xp.topk(far, k, dim=1, largest=False)
    tied = (far <= xp.max(values, axis=1, keepdims=True)).sum(1) > k  # topk leaves open which of the tied are returned
    if bool(tied.any()):
        which[tied] = xp.argsort(far[tied], axis=1, stable=True)[:, :k]
    which = xp.sort(which, axis=1)
    values = far.gather(1, which)
    order = xp.argsort(values, axis=1, stable=True)
    return values.gather(1, order), which.gather(1, order)


# Searches that evaluate only pairs whose bounds say that they may matter.


def parts(n: int, size: int, first: int = 0) -> Iterator[slice]:
    """Yield consecutive slices of at most `size` of n objects."""
    for start in range(first, n, size):
        yield slice(start, min(n, start + size))


class BoundedSearch:
    """Objects with the bounds of their similarity `k`, which `k.bounds` returns for them."""

    def __init__(self, k: Similarity, B: Encoding, bounds: Bounds, engine: Engine) -> None:
        self.k = k
        self.B = B
        self.bounds = bounds
        self.sketch = bounds.sketch(B)
        self.n = count(B)
        cells = max(1, engine.budget // 256)  # in a quarter of the memory; a bound, and what follows, take 64 bytes
        self.width = min(self.n, 65_536, cells)
        self.height = max(1, min(256, cells // self.width))

    def nearest(
        self, A: Encoding, wanted: int, own: np.ndarray | None = None, most: int | None = None
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """Return the numbers of the nearest objects of encoded queries, their similarities, and the pairs evaluated.

        Pairs are evaluated in the order of their bounds, until no bound is above the similarities that were found. If
        at most `most` pairs may be evaluated for one query, the result may be inexact. `own` has for each query an
        object that does not count: the query itself.
        """
        n = count(A)
        far = np.full((n, wanted), np.inf)
        which = np.full((n, wanted), self.n)
        evaluated = 0
        for part in parts(n, self.height):
            few = rows(A, part)
            sketch = self.bounds.sketch(few)
            for right in parts(self.n, self.width):
                upper = np.array(self.bounds.upper(sketch, rows(self.sketch, right)), np.float64)
                if own is not None:
                    here = np.flatnonzero((own[part] >= right.start) & (own[part] < right.stop))
                    upper[here, own[part][here] - right.start] = -np.inf
                evaluated += self._search_tile(few, right, upper, far[part], which[part], most)
        return which, -far, evaluated

    def _search_tile(
        self, A: Encoding, right: slice, upper: np.ndarray, far: np.ndarray, which: np.ndarray, most: int | None
    ) -> int:
        """Evaluate pairs in the order of their bounds, three times as many of each query every time; count them."""
        wanted = far.shape[1]
        width = upper.shape[1]
        B = rows(self.B, right)
        step = max(wanted, 8)
        most = max(step, (most or self.n) * width // self.n)
        top = np.argpartition(-upper, min(step, width) - 1, axis=1)[:, :step]
        i = np.repeat(np.arange(len(upper)), top.shape[1])
        j = np.sort(top, axis=1).ravel()
        needed = (upper[i, j] >= -far[i, -1]) & (upper[i, j] > -np.inf)
        evaluated = self._evaluate(A, B, right.start, i[needed], j[needed], far, which)
        upper[i, j] = -np.inf
        i, j = np.nonzero((upper >= -far[:, -1:]) & (upper > -np.inf))
        order = np.lexsort((j, -upper[i, j], i))
        i = i[order]
        j = j[order]
        limits = upper[i, j]
        place = step + np.arange(len(i)) - np.searchsorted(i, i)
        end = step
        while len(i) and end < most:
            end = min(3 * end, most)
            needed = limits >= -far[i, -1]
            needed &= place < end
            evaluated += self._evaluate(A, B, right.start, i[needed], j[needed], far, which)
            left = (place >= end) & (limits >= -far[i, -1])
            i, j, limits, place = (part[left] for part in (i, j, limits, place))
        return evaluated

    def _evaluate(
        self, A: Encoding, B: Encoding, start: int, i: np.ndarray, j: np.ndarray, far: np.ndarray, which: np.ndarray
    ) -> int:
        """Compute the similarities of pairs, sorted by i, and keep the best of each query; return their number."""
        if len(i):
            keep_nearest(far, which, i, -self.bounds.values(self.k, A, B, i, j, -far[i, -1]), j + start)
        return len(i)

    def most_promising(self, each: int) -> np.ndarray:
        """Return for every object the others with the largest bounds, in any order."""
        which = np.empty((self.n, each), np.int64)
        for down in parts(self.n, self.height):
            best = np.empty((down.stop - down.start, 0), np.int64)
            limits: np.ndarray = np.empty((len(best), 0))
            for right in parts(self.n, self.width):
                upper = np.array(self.bounds.upper(rows(self.sketch, down), rows(self.sketch, right)), np.float64)
                here = np.arange(max(down.start, right.start), min(down.stop, right.stop))
                upper[here - down.start, here - right.start] = -np.inf
                limits = np.concatenate([limits, upper], axis=1)
                best = np.concatenate([best, np.broadcast_to(np.arange(right.start, right.stop), upper.shape)], axis=1)
                if limits.shape[1] > each:
                    top = np.argpartition(-limits, each - 1, axis=1)[:, :each]
                    best = np.take_along_axis(best, top, 1)
                    limits = np.take_along_axis(limits, top, 1)
            which[down] = best[:, :each]
        return which

    def pairs(self, threshold: float) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, int]]:
        """Yield the pairs i < j of objects with a similarity of at least the threshold, and the number evaluated."""
        for down in parts(self.n, 4096):
            A = rows(self.B, down)
            sketch = rows(self.sketch, down)
            floors = np.full(down.stop - down.start, threshold)
            for right in parts(self.n, self.width, down.start):
                i, j, _ = self.bounds.candidates(sketch, rows(self.sketch, right), floors)
                order = np.lexsort((j, i))
                order = order[j[order] + right.start > i[order] + down.start]
                i = i[order]
                j = j[order]
                found = self.bounds.values(self.k, A, rows(self.B, right), i, j, np.full(len(i), threshold))
                close = found >= threshold
                yield i[close] + down.start, j[close] + right.start, found[close], len(i)
