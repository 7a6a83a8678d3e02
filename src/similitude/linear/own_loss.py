"""A loss that the user brings: made a Loss, and tried before it is trusted."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

import numpy as np

from similitude.linear.losses import LOSSES, Loss
from similitude.support.errors import brief

PROBED_TARGETS, PROBED_SCORES = 25, 41
"""How many targets and scores a user's own loss is tried on."""


class OwnLoss(Loss):
    """A user's own convex loss.

    Parameters
    ----------
    given : object or sequence of functions
        An object with ``value(y, f)`` and ``derivative(y, f)``, or these two functions; a ``second_derivative(y, f)``
        where there is one makes Newton steps possible. Each takes two arrays and returns one.
    """

    def __init__(self, given: Any) -> None:
        self.given = given

    def _function(self, place: int, name: str) -> Callable[..., Any] | None:
        if isinstance(self.given, (tuple, list)):
            return self.given[place] if place < len(self.given) else None
        return getattr(self.given, name, None)

    @property
    def smooth(self) -> bool:  # type: ignore[override]
        """Whether a second derivative was given."""
        return self._function(2, "second_derivative") is not None

    def check_params(self) -> None:
        """Refuse what is neither an object with both methods nor two or three functions."""
        few = isinstance(self.given, (tuple, list)) and len(self.given) > 3
        if few or not all(callable(self._function(*what)) for what in ((0, "value"), (1, "derivative"))):
            raise TypeError(
                f"loss must be a name, a Loss, an object with value(y, f) and derivative(y, f), or a pair of such "
                f"functions, got {brief(self.given)}"
            )
        if self.smooth and not callable(self._function(2, "second_derivative")):
            raise TypeError(f"second_derivative of the loss is not a function: {brief(self.given)}")

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return what the user's function says."""
        return self._asked(0, "value", y, f)

    def derivative(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return what the user's function says."""
        return self._asked(1, "derivative", y, f)

    def second_derivative(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return what the user's function says, zero at least."""
        return np.maximum(self._asked(2, "second_derivative", y, f), 0.0)

    def _asked(self, place: int, name: str, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        function: Any = self._function(place, name)
        with np.errstate(over="ignore"):  # what is not finite is refused where it matters
            values = np.asarray(function(y, f), dtype=np.float64)
        if values.shape != np.shape(f):
            raise ValueError(f"{name} of the loss gave shape {values.shape} for arrays of shape {np.shape(f)}")
        return values


def as_loss(loss: Any) -> Loss:
    """Return the loss for a name, a Loss, or what a user brings; its parameters are checked.

    Examples
    --------
    >>> as_loss("huber")
    Huber(delta=1.0)
    >>> own = as_loss((lambda y, f: np.cosh(y - f) - 1, lambda y, f: np.sinh(f - y)))
    >>> own.value(np.array([1.0]), np.array([1.0]))
    array([0.])
    """
    if isinstance(loss, str):
        if loss not in LOSSES:
            near = difflib.get_close_matches(loss, LOSSES, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(LOSSES)}"
            raise ValueError(f"there is no loss called {loss!r}; {hint}")
        return LOSSES[loss]()
    if isinstance(loss, type):
        raise TypeError(f"loss is the class {loss.__name__}: make one with {loss.__name__}(...)")
    made = loss if isinstance(loss, Loss) else OwnLoss(loss)
    made.check_params()
    return made


def check_convex(loss: Loss, y: np.ndarray) -> None:
    """Try a user's loss on some targets and scores: refuse what is not finite, negative, not convex, or at odds.

    Between scores a < b a convex loss rises by L'(a) (b - a) at least and by L'(b) (b - a) at most.
    """
    if isinstance(loss, tuple(LOSSES.values())):
        return
    targets = np.quantile(y, np.linspace(0, 1, PROBED_TARGETS), method="nearest")
    size = float(np.abs(y).max(initial=0.0)) or 1.0
    scores = np.linspace(-3 * size, 3 * size, PROBED_SCORES)
    Y, F = (part.ravel() for part in np.meshgrid(np.unique(targets), scores, indexing="ij"))
    value, slope = (what(Y, F).reshape(-1, PROBED_SCORES) for what in (loss.value, loss.derivative))
    if not (np.isfinite(value).all() and np.isfinite(slope).all()):
        raise ValueError(f"{loss!r} or its derivative is not finite for scores within {3 * size:g}")
    if value.min() < 0:
        raise ValueError(f"{loss!r} is negative, {value.min():g}: a loss must be >= 0 (add a constant)")
    step, rise = np.diff(scores), np.diff(value, axis=1)
    slack = 1e-6 * (np.abs(value).max() + np.abs(slope).max() * size)
    if (np.diff(slope, axis=1) < -slack / size).any():
        raise ValueError(f"{loss!r} is not convex: its derivative in f falls, and minima cannot be certified")
    if (rise < slope[:, :-1] * step - slack).any() or (rise > slope[:, 1:] * step + slack).any():
        raise ValueError(f"the derivative of {loss!r} does not belong to its value: it is to be that in f")
