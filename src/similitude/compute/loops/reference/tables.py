"""Loops over the rows of tables: Gower's coefficient."""

import numpy as np

from similitude.compute.loops.arguments import Array


def gower(out: Array, A: tuple[Array, Array], B: tuple[Array, Array]) -> None:
    """Write Gower's coefficient of the rows a_i and b_j into `out`.

    Each column in which both rows have a value adds a similarity: 1 - |a - b| for numbers (float64, NaN if missing), 1
    or 0 for equal or different keys (int64, 0 if missing). The result is the mean of these, and 0 if there are none.
    """
    known = np.zeros(out.shape)
    out[...] = 0
    for a, b in zip(A[0].T, B[0].T, strict=True):
        gaps = np.abs(a[:, np.newaxis] - b)
        out += np.where(np.isnan(gaps), 0, 1 - gaps)
        known += ~np.isnan(gaps)
    for a, b in zip(A[1].T, B[1].T, strict=True):
        both = (a[:, np.newaxis] != 0) & (b != 0)
        out += both & (a[:, np.newaxis] == b)
        known += both
    out /= np.maximum(known, 1)
