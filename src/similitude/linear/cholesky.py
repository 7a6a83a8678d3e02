"""Cholesky factors of positive semi-definite matrices, on NumPy or on a device."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpotri, dpotrs

from similitude.compute import as_numpy, namespace
from similitude.linear.lapack import upper_cholesky

EPS = float(np.finfo(np.float64).eps)

SHIFT_RATIO = 4.0
"""Ratio of neighboring shifts for which a matrix is factored: the nearest one serves for all between."""

MOST_FACTORS = 4
"""Factors kept at a time."""


class ShiftedFactors:
    """Approximate inverses of gram + shift I, for shifts on a geometric grid; the last few factors are kept.

    Of a matrix that is an array, the upper triangle is read.
    """

    def __init__(self, gram: Any) -> None:
        self.gram = gram
        self.scale = max(float(gram.diagonal().max()), 0.0) or 1.0
        self._kept: dict[int, Any] = {}

    def solve(self, shifts: Any, B: Any) -> Any:
        """Return (gram + shift I)^-1 b for each column b of B and its shift, rounded to the grid."""
        relative = np.clip(as_numpy(shifts) / self.scale, EPS, 1e100)
        places = np.rint(np.log(relative) / math.log(SHIFT_RATIO)).astype(int)
        answer = namespace(B).empty_like(B)
        for place in np.unique(places):
            mine = np.flatnonzero(places == place)
            answer[:, mine] = solve(self._factor(int(place)), B[:, mine])
        return answer

    def _factor(self, place: int) -> Any:
        """Return the factor for one point of the grid."""
        factor = self._kept.pop(place, None)
        if factor is None:
            factor = factorize(self.gram, self.scale * SHIFT_RATIO**place)
        self._kept[place] = factor
        while len(self._kept) > MOST_FACTORS:
            del self._kept[next(iter(self._kept))]
        return factor


def factorize(gram: Any, shift: Any) -> Any:
    """Return the upper Cholesky factor of gram + diag(shift), of which an array's upper triangle is read.

    If rounding leaves the matrix indefinite (duplicate features and a tiny shift), its diagonal grows by the smallest
    power of 100 times the rounding error that helps: for a preconditioner this costs only a few more steps.
    """
    diagonal = gram.diagonal().clip(0.0) + shift
    diagonal[diagonal == 0] = 1.0
    growth = 0.0
    while True:
        factor = upper_factor(gram, diagonal * (1 + growth))
        if factor is not None:
            return factor
        growth = 100 * max(growth, EPS)


def upper_factor(matrix: Any, diagonal: Any) -> Any:
    """Return the upper Cholesky factor of a matrix with its diagonal replaced; None if it is not positive definite."""
    if isinstance(matrix, np.ndarray):
        changed = matrix.copy(order="F")
        np.fill_diagonal(changed, diagonal)
        try:
            return upper_cholesky(changed)
        except LinAlgError:
            return None
    there = matrix.clone()
    there.diagonal().copy_(diagonal)
    factor, failed = namespace(matrix).linalg.cholesky_ex(there, upper=True)
    return None if bool(failed) else factor


def solve(factor: Any, B: Any) -> Any:
    """Return the inverse of U'U times B, for an upper factor U."""
    if isinstance(factor, np.ndarray):
        return dpotrs(factor, B)[0].reshape(B.shape)  # SciPy's checks would take longer than small systems
    triangular = namespace(factor).linalg.solve_triangular
    columns = B if B.ndim == 2 else B[:, None]
    found = triangular(factor, triangular(factor.T, columns, upper=False), upper=True)
    return found.reshape(B.shape)


def inverse(factor: np.ndarray) -> np.ndarray:
    """Return the inverse of U'U, for an upper factor U.

    >>> inverse(np.array([[2.0, 0.0], [0.0, 1.0]]))
    array([[0.25, 0.  ],
           [0.  , 1.  ]])
    """
    upper = dpotri(factor)[0]  # zero below the diagonal, as the factor is
    whole: np.ndarray = upper + upper.T
    np.fill_diagonal(whole, upper.diagonal())
    return whole
