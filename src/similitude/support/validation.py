"""Validation of parameters: numbers, integers, shares and choices, each with one wording; and their names."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Iterable
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any, TypeVar

from similitude.support.errors import brief

Class = TypeVar("Class", bound=type)

OF_THE_KERNEL = "a parameter of the kernel, which is the first argument: "
SCIKIT_LEARN_NAMES = {
    "Gaussian": {
        "gamma": "Gaussian.from_gamma(gamma), which is sigma = 1/sqrt(2 gamma)",
        "length_scale": "sigma = length_scale",
    },
    "Laplace": {"gamma": "Laplace(1/gamma, norm=1, squared_scale=False)"},
    "Matern": {"length_scale": "length = length_scale"},
    "RationalQuadratic": {"length_scale": "length = length_scale"},
    "Polynomial": {"gamma": "scale = gamma"},
    "Sigmoid": {"gamma": "scale = gamma"},
    "LeastSquares": {"alpha": "lam = alpha, with fit_intercept=False"},
    "KernelSVC": {"probability": "not needed: predict_proba works without"},
    "KernelSGDSVC": {"C": "lam = 1/(2 C n) for n rows", "alpha": "lam = alpha/2"},
    "LandmarkEstimator": dict.fromkeys(("C", "alpha"), "chosen from the data: penalty='l2' or 'l1' says of which kind"),
    "SimilarityEstimator": {
        "gamma": f"{OF_THE_KERNEL}Gaussian.from_gamma(gamma)",
        "length_scale": f"{OF_THE_KERNEL}Gaussian(length_scale)",
        "degree": f"{OF_THE_KERNEL}Polynomial(degree, coef0, scale)",
        "coef0": f"{OF_THE_KERNEL}Polynomial(degree, coef0, scale)",
        "metric": "a similarity, a function of two objects or 'precomputed', as the first argument",
        "n_jobs": "engine=LocalEngine(threads=n_jobs)",
        "verbose": "engine=LocalEngine(progress=True)",
        "cache_size": "engine=LocalEngine(memory='2GiB')",
    },
    "Engine": {"n_jobs": "threads = n_jobs, or processes = n_jobs", "verbose": "progress = True"},
}
"""What scikit-learn calls a parameter that has another name here, or another place, by class."""

ROLES = {"kernel": "similarity", "similarity": "kernel"}
"""How estimators call what they compare objects by: a kernel where it has to be one."""


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
    """Validate an integer; `otherwise` names the other values that the caller accepts."""
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_whole or value < low or (high is not None and value > high):
        limits = f">= {low}" if high is None else f"from {low} to {high}"
        raise _out_of_range(name, f"an integer {limits}", value, otherwise)
    return int(value)


def check_number(name: str, value: Any, within: str = "(-inf, inf)", *, otherwise: str = "") -> float:
    """Validate a number in an interval, by default any finite number."""
    low, high = map(float, within[1:-1].split(","))
    number = float(value) if is_number(value) else math.nan
    if low < number < high or (number == low and within[0] == "[") or (number == high and within[-1] == "]"):
        return number
    known = {"(-inf, inf)": "a finite number", "(0, inf)": "a positive number", "[0, inf)": "a number >= 0"}
    raise _out_of_range(name, known.get(within, f"a number in {within}"), value, otherwise)


check_positive = functools.partial(check_number, within="(0, inf)")
check_nonnegative = functools.partial(check_number, within="[0, inf)")
check_share = functools.partial(check_number, within="(0, 1)")


def check_flag(name: str, value: Any) -> bool:
    """Validate True or False."""
    if type(value).__name__ not in ("bool", "bool_"):  # that of NumPy has another name in each of its versions
        raise ValueError(f"{name} must be True or False, got {brief(value)}")
    return bool(value)


def check_choice(name: str, value: Any, choices: Iterable[str], *, otherwise: str = "") -> None:
    """Validate one of a few strings."""
    choices = list(choices)
    if not isinstance(value, str) or value not in choices:
        raise _out_of_range(name, f"one of {', '.join(map(repr, choices))}", value, otherwise)


def _out_of_range(name: str, expected: str, value: Any, otherwise: str = "") -> ValueError:
    expected = " or ".join(filter(None, (expected, otherwise)))
    return ValueError(f"{name} must be {expected}, got {brief(value)}")


# Names of parameters.


def naming_parameters(cls: Class) -> Class:
    """Decorate a class: if its constructor is called with an unknown parameter, the error names those that it has."""
    init: Any = vars(cls)["__init__"]

    @functools.wraps(init)
    def named(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            init(self, *args, **kwargs)
        except TypeError as error:
            text = _misfit(type(self), init, args, kwargs)
            if text is None:
                raise
            raise TypeError(text) from error

    cls.__init__ = named  # type: ignore[misc]
    return cls


def unknown_parameter(cls: type, name: str, known: Iterable[str]) -> str:
    """Return what is wrong with a parameter that a class does not have."""
    names = list(known)
    hint = parameter_hint(cls, name, names)
    return f"{cls.__name__} has no parameter {name!r}; it has: {', '.join(names) or 'none'}{hint and '; '}{hint}"


def parameter_hint(cls: Any, name: str, known: Iterable[str]) -> str:
    """Return what to write instead of an unknown parameter: what scikit-learn's is here, or the nearest name."""
    for base in getattr(cls, "__mro__", ()):
        if name in SCIKIT_LEARN_NAMES.get(base.__name__, ()):
            return f"for scikit-learn's {name}: {SCIKIT_LEARN_NAMES[base.__name__][name]}"
    names = list(known)
    near = [ROLES[name]] if ROLES.get(name) in names else get_close_matches(name, names, n=1)
    return f"did you mean {near[0]!r}?" if near else ""


def _misfit(cls: type, init: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """Return why arguments do not fit a constructor: an unknown name, or too many without one; None if they fit."""
    parameters = list(inspect.signature(init).parameters.values())[1:]
    names = [one.name for one in parameters]
    unknown = [name for name in kwargs if name not in names]
    if any(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in parameters):
        return None
    if unknown:
        return unknown_parameter(cls, unknown[0], names)
    by_place = [one.name for one in parameters if one.kind is not one.KEYWORD_ONLY]
    if len(args) > len(by_place):
        others = names[len(by_place) :]
        hint = f": give {', '.join(others)} by name" * bool(others)
        return f"{cls.__name__} takes {len(by_place)} without a name, got {len(args)}{hint}"
    return None
