"""Loops over matrices: transposition, Hadamard transforms, sines and cosines, and the worst triple."""

import numpy as np

from similitude.compute.loops.arguments import Array, Doubles


def mirror(out: Array, values: Array) -> None:
    """Write the transposed matrix into `out`, which must not overlap with it."""
    out[...] = values.T


def hadamard(values: Array, signs: Array, size: int) -> None:
    """Replace every piece v of `size` entries of a row by H D_k ... H D_1 v, in place.

    D_i has row i of `signs` on its diagonal; H is the Walsh-Hadamard matrix: ``H[i, j]`` is -1 if i and j have an odd
    number of binary digits 1 in common, and 1 otherwise. `size` is a power of two that divides the number of columns.
    """
    for sign in signs:
        values *= sign
        h = 1
        while h < size:
            pairs = values.reshape(len(values), values.shape[1] // (2 * h), 2, h)  # of entries that are h apart
            left = pairs[:, :, 0]
            right = pairs[:, :, 1]
            left[...], right[...] = left + right, left - right
            h *= 2


def cos_sin(turns: Array, sines: Array, scale: float = 1.0) -> None:
    """Replace angles, in quarter turns, by their cosines and write their sines into `sines`; both times `scale`."""
    angles = np.remainder(turns, 4) * (np.pi / 2)  # a small angle loses few digits
    sines[...] = scale * np.sin(angles)
    turns[...] = scale * np.cos(angles)


def worst_triple(K: Doubles) -> tuple[int, int, int, float]:
    """Find the three items i < j < k with the smallest 3 x 3 determinant; return them (the first of equal ones) and it.

    A symmetric matrix with unit diagonal is positive semi-definite only if each of its 3 x 3 principal minors ``1 + 2 a
    b c - a**2 - b**2 - c**2`` is at least 0, where ``a = K[i, j]``, ``b = K[i, k]`` and ``c = K[j, k]``. K is
    C-contiguous; only the entries above the diagonal are read.
    """
    worst = (0, 0, 0, np.inf)
    for i in range(len(K) - 2):
        a = K[i, i + 1 :, np.newaxis]
        b = K[i, np.newaxis, i + 1 :]
        c = K[i + 1 :, i + 1 :]
        determinants = 1.0 + 2.0 * a * b * c - a * a - b * b - c * c
        determinants[np.tril_indices_from(determinants)] = np.inf
        j, k = divmod(int(determinants.argmin()), len(determinants))
        value = float(determinants[j, k])
        if value < worst[3]:
            worst = (i, i + 1 + j, i + 1 + k, value)
    return worst
