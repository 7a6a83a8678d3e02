"""Losses by name, and losses that a user supplies: wrapped as a Loss, and probed before they are trusted."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

import numpy as np

from similitude.linear.losses import LOSSES, Loss
from similitude.support import brief

LOSS_FUNCTIONS = ("value", "derivative", "second_derivative")
"""The functions of a user's loss, in the order of a tuple."""


def named_function(given: Any, name: str) -> Any:
    """Return a function of a user's object or tuple of functions; None if it is missing."""
    if isinstance(given, (tuple, list)):
        return dict(zip(LOSS_FUNCTIONS, given, strict=False)).get(name)
    return getattr(given, name, None)


class OwnLoss(Loss):
    """A user's own convex loss.

    Parameters
    ----------
    given : object or sequence of functions
        An object with ``value(y, f)`` and ``derivative(y, f)``, or these two functions; an optional third,
        ``second_derivative(y, f)``, enables Newton steps. Each takes two arrays and returns one.
    """

    def __init__(self, given: Any) -> None:
        self.given = given

    @property
    def smooth(self) -> bool:  # type: ignore[override]
        """Whether a second derivative was given."""
        return named_function(self.given, "second_derivative") is not None

    def check_params(self) -> None:
        """Validate that there are two or three functions."""
        value, derivative, second = (named_function(self.given, name) for name in LOSS_FUNCTIONS)
        too_many = isinstance(self.given, (tuple, list)) and len(self.given) > len(LOSS_FUNCTIONS)
        if too_many or not (callable(value) and callable(derivative)):
            raise TypeError(
                f"loss must be a name, a Loss, an object with value(y, f) and derivative(y, f), or a pair of such "
                f"functions, got {brief(self.given)}"
            )
        if second is not None and not callable(second):
            raise TypeError(f"second_derivative of the loss is not a function: {brief(self.given)}")

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the user's L(y, f)."""
        return self._call("value", y, f)

    def derivative(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the user's derivative."""
        return self._call("derivative", y, f)

    def second_derivative(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the user's second derivative, at least zero."""
        return np.maximum(self._call("second_derivative", y, f), 0.0)

    def _call(self, name: str, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):  # non-finite values are refused where they matter
            values = np.asarray(named_function(self.given, name)(y, f), dtype=np.float64)
        if values.shape != np.shape(f):
            raise ValueError(f"{name} of the loss gave shape {values.shape} for arrays of shape {np.shape(f)}")
        return values


def as_loss(loss: Any) -> Loss:
    """Return the loss for a name, a Loss, or a user's functions, with validated parameters.

    >>> as_loss("huber")
    Huber(delta=1.0)
    >>> own = as_loss((lambda y, f: np.cosh(y - f) - 1, lambda y, f: np.sinh(f - y)))
    >>> own.value(np.array([1.0]), np.array([1.0]))
    array([0.])
    """
    made: Loss = as_instance("loss", loss, LOSSES, Loss, OwnLoss)
    return made


def as_instance(what: str, given: Any, named: Mapping[str, type], base: type, own: type) -> Any:
    """Return an instance of `base` for a name, such an instance, or a user's functions, which `own` wraps."""
    if isinstance(given, str):
        if given not in named:
            hint = f"known: {', '.join(named)}"
            for near in difflib.get_close_matches(given, named, n=1):
                hint = f"did you mean {near!r}?"
            raise ValueError(f"there is no {what} called {str(given)!r}; {hint}")
        return named[given]()
    if isinstance(given, type):
        raise TypeError(f"{what} must be an object, {given.__name__} is a class: make one with {given.__name__}(...)")
    made: Any = given if isinstance(given, base) else own(given)
    made.check_params()
    return made


def check_convex(loss: Loss, y: np.ndarray) -> None:
    """Probe a user's loss on some targets and scores; refuse values that are not finite, negative or not convex."""
    if isinstance(loss, tuple(LOSSES.values())):
        return
    targets = np.quantile(y, np.linspace(0, 1, 25), method="nearest")
    size = float(np.abs(y).max(initial=0.0)) or 1.0
    scores = np.linspace(-3 * size, 3 * size, 41)
    Y, F = (part.ravel() for part in np.meshgrid(np.unique(targets), scores, indexing="ij"))
    value, slope = (what(Y, F).reshape(-1, len(scores)) for what in (loss.value, loss.derivative))
    if not (np.isfinite(value).all() and np.isfinite(slope).all()):
        raise ValueError(f"{loss!r} or its derivative is not finite for scores within {3 * size:g}")
    if value.min() < 0:
        raise ValueError(f"{loss!r} is negative, {value.min():g}: a loss must be >= 0 (add a constant)")
    step = np.diff(scores)
    rise = np.diff(value, axis=1)
    slack = 1e-6 * (np.abs(value).max() + np.abs(slope).max() * size)
    if (np.diff(slope, axis=1) < -slack / size).any():
        raise ValueError(f"{loss!r} is not convex: its derivative in f decreases, so that minima cannot be certified")
    if (rise < slope[:, :-1] * step - slack).any() or (rise > slope[:, 1:] * step + slack).any():
        raise ValueError(f"the derivative of {loss!r} does not match its value: it must be the derivative in f")
