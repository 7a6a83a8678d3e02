"""Validation of parameters: numbers, integers, shares and choices, each with one wording."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

from similitude.support.errors import brief


def is_integer(value: Any) -> bool:
    """Tell whether a value is an integer; True and False are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Tell whether a value is a finite real number; True and False are not, nor integers that no float can hold."""
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def check_integer(name: str, value: Any, low: int = 1, high: int | None = None, *, otherwise: str = "") -> int:
    """Validate an integer; `otherwise` names the other values that the caller accepts.

    >>> check_integer("n_landmarks", 2.5, otherwise="'auto'")
    Traceback (most recent call last):
        ...
    ValueError: n_landmarks must be an integer >= 1 or 'auto', got 2.5
    """
    if not is_integer(value) or value < low or (high is not None and value > high):
        limits = f">= {low}" if high is None else f"from {low} to {high}"
        raise _out_of_range(name, f"an integer {limits}", value, otherwise)
    return int(value)


def check_number(name: str, value: Any, within: str = "(-inf, inf)") -> float:
    """Validate a number in an interval, by default any finite number.

    >>> check_number("epsilon", 1.0, "[0, 1)")
    Traceback (most recent call last):
        ...
    ValueError: epsilon must be a number in [0, 1), got 1.0
    """
    low, high = map(float, within[1:-1].split(","))
    number = float(value) if is_number(value) else math.nan
    if low < number < high or (number == low and within[0] == "[") or (number == high and within[-1] == "]"):
        return number
    raise _out_of_range(name, "a finite number" if math.isinf(high - low) else f"a number in {within}", value)


def check_positive(name: str, value: Any, *, otherwise: str = "") -> float:
    """Validate a positive number."""
    if not is_number(value) or value <= 0:
        raise _out_of_range(name, "a positive number", value, otherwise)
    return float(value)


def check_nonnegative(name: str, value: Any, *, otherwise: str = "") -> float:
    """Validate a number that is not negative."""
    if not is_number(value) or value < 0:
        raise _out_of_range(name, "a number >= 0", value, otherwise)
    return float(value)


def check_share(name: str, value: Any) -> float:
    """Validate a share or probability strictly between 0 and 1."""
    return check_number(name, value, "(0, 1)")


def check_flag(name: str, value: Any) -> bool:
    """Validate True or False."""
    if type(value).__name__ not in ("bool", "bool_"):  # that of NumPy has another name in each of its versions
        raise ValueError(f"{name} must be True or False, got {brief(value)}")
    return bool(value)


def check_choice(name: str, value: Any, choices: Iterable[str], *, otherwise: str = "") -> None:
    """Validate one of a few strings.

    >>> check_choice("how", "average", ("mean", "sum"))
    Traceback (most recent call last):
        ...
    ValueError: how must be one of 'mean', 'sum', got 'average'
    """
    choices = list(choices)
    if not isinstance(value, str) or value not in choices:
        raise _out_of_range(name, f"one of {', '.join(map(repr, choices))}", value, otherwise)


def _out_of_range(name: str, expected: str, value: Any, otherwise: str = "") -> ValueError:
    return ValueError(f"{name} must be {expected}{f' or {otherwise}' if otherwise else ''}, got {brief(value)}")
