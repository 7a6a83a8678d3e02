"""Cholesky factors of a Gram matrix for a range of penalties."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from similitude.compute.encodings import as_numpy, namespace

GRID = 4.0
"""Ratio of the shifts for which a matrix is factored: the nearest one serves for all between."""

MOST_FACTORS = 4
"""Factors kept at a time."""

EPS = float(np.finfo(np.float64).eps)


class Factors:
    """The inverses of gram + shift I, for shifts on a geometric grid; the last few factors are kept.

    Where rounding leaves the matrix indefinite (copies of a feature and a tiny shift), its diagonal grows by the least
    power of 100 times the rounding error that helps: who divides by it as a preconditioner loses nothing but steps.

    Parameters
    ----------
    gram : array or tensor of shape (d, d)
        Of an array the upper triangle counts.
    """

    def __init__(self, gram: Any) -> None:
        self.gram = gram
        self.scale = max(float(gram.diagonal().max()), 0.0) or 1.0
        self._kept: dict[int, Any] = {}

    def solve(self, shifts: Any, B: Any) -> Any:
        """Return (gram + shift I)^-1 b for each column of B and its shift, as near as the grid goes."""
        relative = np.clip(as_numpy(shifts) / self.scale, EPS, 1e100)
        places = np.rint(np.log(relative) / math.log(GRID)).astype(int)
        answer = namespace(B).empty_like(B)
        for place in np.unique(places):
            mine, factor = np.flatnonzero(places == place), self._factor(int(place))
            answer[:, mine] = divided(factor, B[:, mine])
        return answer

    def _factor(self, place: int) -> Any:
        """Return the upper factor for one place on the grid."""
        factor = self._kept.pop(place, None)
        if factor is None:
            factor = factored(self.gram, self.scale * GRID**place)
        self._kept[place] = factor
        while len(self._kept) > MOST_FACTORS:
            del self._kept[next(iter(self._kept))]
        return factor


def factored(gram: Any, more: Any) -> Any:
    """Return the upper Cholesky factor of gram + diag(more), or of one a little larger where rounding asks for it."""
    diagonal = gram.diagonal().clip(0.0) + more
    diagonal[diagonal == 0] = 1.0
    growth = 0.0
    while True:
        factor = _cholesky(gram, diagonal * (1 + growth))
        if factor is not None:
            return factor
        growth = 100 * max(growth, EPS)


def _cholesky(gram: Any, diagonal: Any) -> Any:
    """Return the upper factor of a matrix with another diagonal; None where it has none."""
    if isinstance(gram, np.ndarray):
        matrix = gram.copy(order="F")
        np.fill_diagonal(matrix, diagonal)
        try:
            return cholesky(matrix, overwrite_a=True, check_finite=False)
        except LinAlgError:
            return None
    there = gram.clone()
    there.diagonal().copy_(diagonal)
    factor, failed = namespace(gram).linalg.cholesky_ex(there, upper=True)
    return None if bool(failed) else factor


def divided(factor: Any, B: Any) -> Any:
    """Return the inverse of the factored matrix times B."""
    if isinstance(factor, np.ndarray):
        half = solve_triangular(factor, B, trans="T", check_finite=False)
        return solve_triangular(factor, half, overwrite_b=True, check_finite=False)
    solve = namespace(factor).linalg.solve_triangular
    columns = B if B.ndim == 2 else B[:, None]
    found = solve(factor, solve(factor.T, columns, upper=False), upper=True)
    return found.reshape(B.shape)
