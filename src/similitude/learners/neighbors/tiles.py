"""Distances in the feature space of a kernel, and the nearest of them, computed in tiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute import Encoding, as_numpy, beside, count, itemsize, namespace
from similitude.compute.engines import Tile
from similitude.similarity import Similarity
from similitude.support import PairError, check_integer


class SquaredLengths:
    """K(x, x) of the training objects, the squared lengths of their feature vectors."""

    def __init__(self, k: Similarity, A: Encoding) -> None:
        values = as_numpy(k.diagonal(A))
        single = values.dtype == np.float32 or itemsize(A) == 4
        self.eps = float(np.finfo(np.float32 if single else np.float64).eps)
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
        return -K if self.equal else beside(self.values[columns], K) / 4 - K / 2

    def distances(self, own: np.ndarray, far: np.ndarray, which: np.ndarray, single: bool) -> np.ndarray:
        """Return the distances of the nearest, given `ranked` values and K(x, x); quarters avoid overflow."""
        eps = float(np.finfo(np.float32).eps) if single else self.eps
        theirs = self.values[which] / 4
        apart = theirs + far / 2 if self.equal else far
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


def check_wanted(name: str, wanted: Any, n: int, without_itself: bool = False) -> int:
    """Validate how many of n objects to return, which may leave out the query itself."""
    wanted = check_integer(name, wanted)
    if wanted > n - without_itself:
        others = " besides the object itself" if without_itself else ""
        raise ValueError(f"{name} = {wanted} is more than there are objects{others} (n_samples = {n}): ask for fewer")
    return wanted


def leave_out_itself(far: Any, tile: Tile) -> None:
    """Set the distance of every object from itself to infinity."""
    down, right = tile
    here = np.arange(max(down.start, right.start), min(down.stop, right.stop))
    far[here - down.start, here - right.start] = np.inf


def keep_nearest(
    far: np.ndarray, which: np.ndarray, row: np.ndarray, new_far: np.ndarray, new_which: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Let candidates enter the nearest of their rows, in place; ties by number.

    Returns the rows that have candidates, and for each of their places the position in what these rows held, followed
    by the candidates.
    """
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
        row, column = self._candidates(self.far[down, -1], far)
        keep_nearest(self.far[down], self.which[down], row, far[row, column], column + right.start)

    def _candidates(self, bound: np.ndarray, far: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return rows and columns of a tile that may be among the k nearest."""
        k = self.far.shape[1]
        if np.isfinite(bound).all():
            return np.nonzero(far < bound[:, None])
        if far.shape[1] <= k:
            return np.nonzero(far < np.inf)
        return np.nonzero(far <= np.partition(far, k - 1, axis=1)[:, k - 1 : k])


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
