"""Cholesky factors of a Gram matrix for a range of penalties."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

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
    gram : array of shape (d, d)
        Its upper triangle counts.
    """

    def __init__(self, gram: np.ndarray) -> None:
        self.gram = gram
        self.scale = float(gram.diagonal().max(initial=0.0)) or 1.0
        self._kept: dict[int, np.ndarray] = {}

    def solve(self, shifts: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return (gram + shift I)^-1 b for each column of B and its shift, as near as the grid goes."""
        relative = np.clip(shifts / self.scale, EPS, 1e100)
        places = np.rint(np.log(relative) / math.log(GRID)).astype(int)
        answer = np.empty_like(B)
        for place in np.unique(places):
            mine, factor = places == place, self._factor(int(place))
            answer[:, mine] = divided(factor, B[:, mine])
        return answer

    def _factor(self, place: int) -> np.ndarray:
        """Return the upper factor for one place on the grid."""
        factor = self._kept.pop(place, None)
        if factor is None:
            factor = factored(self.gram, self.scale * GRID**place)
        self._kept[place] = factor
        while len(self._kept) > MOST_FACTORS:
            del self._kept[next(iter(self._kept))]
        return factor


def factored(gram: np.ndarray, more: np.ndarray | float) -> np.ndarray:
    """Return the upper Cholesky factor of gram + diag(more), or of one a little larger where rounding asks for it."""
    diagonal = np.maximum(gram.diagonal(), 0.0) + more
    diagonal[diagonal == 0] = 1.0
    growth = 0.0
    while True:
        matrix = gram.copy(order="F")
        np.fill_diagonal(matrix, diagonal * (1 + growth))
        try:
            return cholesky(matrix, overwrite_a=True, check_finite=False)
        except LinAlgError:
            growth = 100 * max(growth, EPS)


def divided(factor: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the inverse of the factored matrix times B."""
    half = solve_triangular(factor, B, trans="T", check_finite=False)
    return solve_triangular(factor, half, overwrite_b=True, check_finite=False)
