"""Certificates: bounds on the error of a model from rows that were kept out of everything."""

from __future__ import annotations

import math

from similitude.support import NONE, PROVEN, Estimate
from similitude.theory import LEVEL, clopper_pearson

NOT_CERTIFIED = Estimate(math.nan, 0.0, 1.0, LEVEL, NONE)
"""Without `certify` nothing is known for certain."""


def upper_bound(wrong: int, n: int, level: float = LEVEL) -> Estimate:
    """Return an upper bound on a probability, by the exact binomial distribution, given n independent rows.

    >>> print(upper_bound(3, 100))
    0.03 [0, 0.07571] (95 %, PROVEN)
    """
    _, high = clopper_pearson(wrong, n, 2 * level - 1)
    return Estimate(wrong / n, 0.0, float(high), level, PROVEN)
