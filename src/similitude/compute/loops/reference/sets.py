"""Loops over sets: common bits, and similarities of sets; see `named_functions`."""

import numpy as np
from numpy.typing import NDArray

from similitude.compute.loops.argument_types import Array
from similitude.compute.loops.domains import checked


@checked
def shared_bits(out: Array, A: Array, B: Array, a: Array, b: Array, value: str) -> None:
    """Write the value of each pair of rows of bits into `out`; `a` and `b` are their numbers of bits that are set."""
    common_bits(out, A, B)
    of_shared(out, a, b, value)


@checked
def of_shared(out: Array, a: Array, b: Array, value: str) -> None:
    """Replace numbers of common items by a value, in place."""
    if value == "any":
        np.minimum(out, 1.0, out=out)
    if value == "share":
        items = a[:, np.newaxis] + b - out
        out[...] = (out + (items == 0)) / (items + (items == 0))


@checked
def common_bits(out: Array, A: NDArray[np.uint64], B: NDArray[np.uint64]) -> None:
    """Write the number of bits that are set in both a_i and b_j, rows of 64-bit words, into `out`."""
    for i, row in enumerate(A):
        out[i] = count_bits(row & B)


@checked
def count_bits(A: NDArray[np.uint64]) -> Array:
    """Return the number of bits that are set in each row of 64-bit words."""
    return np.unpackbits(np.ascontiguousarray(A).view(np.uint8), axis=1).sum(axis=1, dtype=np.int64)
