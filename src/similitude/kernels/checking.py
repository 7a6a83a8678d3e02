"""Ranges of parameters, refused by name."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any


def check_number(name: str, value: Any) -> float:
    """Return a finite real number, or raise naming the parameter."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number, got {value!r}")
    return float(value)


def check_positive(name: str, value: Any) -> float:
    """Return a positive number, or raise naming the parameter."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < math.inf:
        raise ValueError(f"{name} must be a positive number, got {value!r}")
    return float(value)


def check_scale(name: str, value: Any) -> None:
    """Refuse a scale that is neither "median" nor a positive number."""
    if not isinstance(value, str):
        if not 1e-150 <= check_positive(name, value) <= 1e150:
            raise ValueError(f"{name} = {value!r} is too small or too large to compute with")
    elif value != "median":
        raise ValueError(f"{name} must be a positive number or 'median', got {value!r}")


def check_whole(name: str, value: Any, least: int) -> int:
    """Return a whole number, at least `least`, or raise naming the parameter."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be a whole number >= {least}, got {value!r}")
    return int(value)
