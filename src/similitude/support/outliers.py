"""Outliers: a few numbers that are far beyond all others."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def outlier_limits(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for each column of numbers the limits beyond which entries are outliers.

    Without the 2 % largest and smallest entries (at least 3 each), a column has a range; limits are 3 times that range
    farther out. A column whose other entries are all equal has no outliers.
    """
    import numpy as np

    n = len(numbers)
    apart = min(max(3, math.ceil(0.02 * n)), n // 4)
    ordered = np.sort(numbers, axis=0)
    low = ordered[apart]
    high = ordered[n - 1 - apart]
    spread = 3.0 * (high - low)
    some = spread > 0
    return np.where(some, low - spread, ordered[0]), np.where(some, high + spread, ordered[-1])


def outlying_rows(numbers: np.ndarray) -> np.ndarray:
    """Return the positions of the rows with an outlier in some column."""
    import numpy as np

    low, high = outlier_limits(numbers)
    return np.flatnonzero(((numbers < low) | (numbers > high)).any(axis=1))
