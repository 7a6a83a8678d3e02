"""Loops over sets: common bits, and similarities of sets; see `arguments`."""

import numpy as np
from numpy.typing import NDArray

from similitude.compute.loops.arguments import Array


def shared_bits(out: Array, A: Array, B: Array, a: Array, b: Array, value: str) -> None:
    """Write the value of each pair of rows of bits into `out`; `a` and `b` are their numbers of bits that are set."""
    common_bits(out, A, B)
    of_shared(out, a, b, value)


def of_shared(out: Array, a: Array, b: Array, value: str) -> None:
    """Replace numbers of common items by a value, in place."""
    if value == "any":
        np.minimum(out, 1.0, out=out)
    if value == "share":
        items = a[:, np.newaxis] + b - out
        out[...] = (out + (items == 0)) / (items + (items == 0))


def common_bits(out: Array, A: NDArray[np.uint64], B: NDArray[np.uint64]) -> None:
    """Write the number of bits that are set in both a_i and b_j, rows of 64-bit words, into `out`."""
    for i, row in enumerate(A):
        out[i] = count_bits(row & B)


def count_bits(A: NDArray[np.uint64]) -> Array:
    """Return the number of bits that are set in each row of 64-bit words."""
    return np.unpackbits(np.ascontiguousarray(A).view(np.uint8), axis=1).sum(axis=1, dtype=np.int64)


def candidates(
    A: Array, a: Array, spare_a: Array, B: Array, b: Array, spare_b: Array, floors: Array, bound: str
) -> tuple[Array, Array, Array]:
    """Return the pairs of sets whose similarity may reach floors[i], and the largest value that each can have.

    Rows of 64-bit words stand for the sets; several items may share a bit. `a` and `b` are the numbers of items, and
    `spare_a` and `spare_b` those of items beyond the bits: two sets share at most as many items as bits, and the spare
    ones of either. See `arguments` for the bounds.
    """
    common = np.empty((len(A), len(B)))
    common_bits(common, A, B)
    common += np.minimum(spare_a[:, np.newaxis], spare_b)
    total = np.maximum(a[:, np.newaxis], b) if bound == "share_of_larger" else a[:, np.newaxis] + b - common
    values = np.where(total > 0, common / np.where(total > 0, total, 1.0), 1.0)
    i, j = np.nonzero(values >= np.fmax(floors, 0.0)[:, np.newaxis] * (1 - 1e-12))
    return i, j, values[i, j]
