"""How the norm is punished: a non-decreasing function R of |w|."""

from __future__ import annotations

import math
from typing import Any

from similitude.similarity import Parametric
from similitude.support.errors import brief


class Regularizer(Parametric):
    """A non-decreasing function of the norm. A subclass writes `value` and `derivative` of a number.

    Attributes
    ----------
    convex : bool or None
        Whether it is convex; None where that is not known.
    """

    convex: bool | None = None

    def value(self, norm: float) -> float:
        """Return R(norm)."""
        raise NotImplementedError

    def derivative(self, norm: float) -> float:
        """Return R'(norm); at 0, that from the right."""
        raise NotImplementedError


class SquaredNorm(Regularizer):
    """R = |w|^2."""

    convex = True

    def value(self, norm: float) -> float:
        """Return the square."""
        return norm**2

    def derivative(self, norm: float) -> float:
        """Return twice the norm."""
        return 2 * norm


class Norm(Regularizer):
    """R = |w|: from some lam on, w = 0."""

    convex = True

    def value(self, norm: float) -> float:
        """Return the norm itself."""
        return norm

    def derivative(self, norm: float) -> float:
        """Return 1."""
        return 1.0


class OwnRegularizer(Regularizer):
    """A user's non-decreasing function of the norm.

    Parameters
    ----------
    given : object or pair of functions
        An object with ``value(norm)`` and ``derivative(norm)``, or these two functions, of one number each.
    """

    def __init__(self, given: Any) -> None:
        self.given = given

    def _function(self, place: int, name: str) -> Any:
        pair = isinstance(self.given, (tuple, list))
        return self.given[place] if pair and len(self.given) == 2 else getattr(self.given, name, None)

    def check_params(self) -> None:
        """Refuse what is not a pair of functions."""
        if not all(callable(self._function(*what)) for what in ((0, "value"), (1, "derivative"))):
            raise TypeError(
                f"regularizer must be 'squared_norm', 'norm', an object with value(norm) and derivative(norm), or a "
                f"pair of such functions, got {brief(self.given)}"
            )

    def value(self, norm: float) -> float:
        """Return what the user's function says."""
        return self._asked(0, "value", norm)

    def derivative(self, norm: float) -> float:
        """Return what the user's function says; it must not be negative."""
        slope = self._asked(1, "derivative", norm)
        if slope < 0:
            raise ValueError(f"the regularizer falls at norm {norm:g}: it must be non-decreasing")
        return slope

    def _asked(self, place: int, name: str, norm: float) -> float:
        answer = float(self._function(place, name)(norm))
        if not math.isfinite(answer):
            raise ValueError(f"{name} of the regularizer is {answer} at norm {norm:g}, not a finite number")
        return answer


REGULARIZERS: dict[str, type[Regularizer]] = {"norm": Norm, "squared_norm": SquaredNorm}
"""Regularizers that can be called by name."""


def as_regularizer(given: Any) -> Regularizer:
    """Return the regularizer for a name, a Regularizer, or what a user brings.

    >>> as_regularizer("norm").derivative(3.0)
    1.0
    """
    if isinstance(given, str):
        if given not in REGULARIZERS:
            raise ValueError(f"there is no regularizer called {given!r}; known: {', '.join(REGULARIZERS)}")
        return REGULARIZERS[given]()
    if isinstance(given, type):
        raise TypeError(f"regularizer must be an object, {given.__name__} is a class: make one with {given.__name__}()")
    if isinstance(given, Regularizer):
        return given
    own = OwnRegularizer(given)
    own.check_params()
    return own
