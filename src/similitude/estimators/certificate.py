"""Certificates: bounds on the error of a model from rows that were kept out of everything."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from similitude.compute import Encoding, keys
from similitude.support import NONE, PROVEN, Estimate, generator
from similitude.theory import LEVEL, clopper_pearson

NOT_CERTIFIED = Estimate(math.nan, 0.0, 1.0, LEVEL, NONE)
"""Without `certify` nothing is known for certain."""


def set_apart(encoding: Encoding, share: float, random_state: Any) -> np.ndarray:
    """Tell for each row whether it is kept for the certificate: a random share of those that occur once.

    A row that occurs several times is not new to a model that was fitted to a copy of it.

    >>> set_apart(["a", "b", "a", "c"], 0.5, 0)
    array([False,  True, False,  True])
    """
    _, groups, sizes = np.unique(keys(encoding), return_inverse=True, return_counts=True)
    single = np.flatnonzero(sizes[groups] == 1)
    kept = np.zeros(len(groups), dtype=bool)
    kept[generator(random_state).permutation(single)[: max(1, round(share * len(groups)))]] = True
    return kept


def upper_bound(wrong: int, n: int, level: float = LEVEL) -> Estimate:
    """Return an upper bound on a probability, by the exact binomial distribution, given n independent rows.

    >>> print(upper_bound(3, 100))
    0.03 [0, 0.07571] (95 %, PROVEN)
    """
    _, high = clopper_pearson(wrong, n, 2 * level - 1)
    return Estimate(wrong / n, 0.0, float(high), level, PROVEN)
