"""Validation of numeric parameters."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

from similitude.support.errors import brief


def positive_integer(name: str, value: Any) -> int:
    """Validate a positive integer.

    >>> positive_integer("n_neighbors", 5)
    5
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} must be a positive integer, got {brief(value)}")
    return int(value)


def finite_number(name: str, value: Any, *, zero: bool = False) -> float:
    """Validate a finite positive number; with `zero`, a finite number that is not negative.

    >>> finite_number("tol", 0.5)
    0.5
    """
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if not (0 <= number < math.inf if zero else 0 < number < math.inf):
        raise ValueError(f"{name} must be a {'number >= 0' if zero else 'positive number'}, got {brief(value)}")
    return number
