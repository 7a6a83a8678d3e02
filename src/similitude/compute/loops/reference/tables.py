"""Loops over the rows of tables: Gower's coefficient."""

import numpy as np
from numpy.typing import ArrayLike

from similitude.compute.loops.arguments import Array


def gower(out: Array, A: tuple[Array, Array], B: tuple[Array, Array]) -> None:
    """Write Gower's coefficient of the rows a_i and b_j into `out`.

    Each column in which both rows have a value adds a similarity: 1 - |a - b| for numbers (float64, NaN if missing), 1
    or 0 for equal or different keys (int64, 0 if missing). The result is the mean of these, and 0 if there are none.
    """
    weighted_gower(out, A, B, np.ones(A[0].shape[1]), np.ones(A[1].shape[1]))


def weighted_gower(
    out: Array, A: tuple[Array, Array], B: tuple[Array, Array], of_numbers: ArrayLike, of_keys: ArrayLike
) -> None:
    """Write Gower's coefficient with a weight for each column of numbers, and for each of keys."""
    known = np.zeros(out.shape)
    out[...] = 0
    for weight, a, b in zip(np.asarray(of_numbers), A[0].T, B[0].T, strict=True):
        gaps = np.abs(a[:, np.newaxis] - b)
        out += weight * np.where(np.isnan(gaps), 0, 1 - gaps)
        known += weight * ~np.isnan(gaps)
    for weight, a, b in zip(np.asarray(of_keys), A[1].T, B[1].T, strict=True):
        both = (a[:, np.newaxis] != 0) & (b != 0)
        out += weight * (both & (a[:, np.newaxis] == b))
        known += weight * both
    out /= np.where(known > 0, known, 1.0)
