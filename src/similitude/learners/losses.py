r"""Convex losses of a score: value, derivative, and what solvers gain from knowing more.

A loss L(y, f) says how bad the score f is where y was right. It is convex in f and never negative. For labels, y is +1
or -1. Conjugates are in f: :math:`L^*(y, g) = \sup_f (g f - L(y, f))`, infinite where no line of slope g lies below.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from similitude.similarity import Parametric

Piece = tuple[np.ndarray, np.ndarray, np.ndarray]


class Loss(Parametric):
    """A convex loss. A subclass writes `value` and `derivative` on arrays, element by element.

    Attributes
    ----------
    smooth : bool
        Whether `second_derivative` is written (almost everywhere, for a derivative without jumps): Newton steps then
        work.
    for_labels : bool
        Whether y must be +1 or -1.
    """

    smooth = False
    for_labels = False

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return L(y, f)."""
        raise NotImplementedError

    def derivative(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the derivative in f; at a kink, any slope between those of the two sides."""
        raise NotImplementedError

    def second_derivative(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the second derivative in f, where the loss is smooth."""
        raise NotImplementedError

    def conjugate(self, y: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Return L*(y, g) where it is simple."""
        raise NotImplementedError

    def pieces(self, y: np.ndarray) -> list[Piece] | None:
        """Return a loss made of straight lines as a box problem, None for other losses.

        The negative slope -g of each example is the sum of one variable per piece, each given by its target, its
        lowest and its highest value, and L*(y, g) is minus the sum of targets times variables.
        """
        return None

    def check_params(self) -> None:
        """Raise ValueError if a parameter is out of range."""


class Hinge(Loss):
    """The hinge, max(0, 1 - y f): zero beyond the margin.

    (Baros, Kernel Methods, equation 10.)
    """

    for_labels = True

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return max(0, 1 - y f)."""
        return np.maximum(0.0, 1.0 - y * f)

    def derivative(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return -y where y f < 1, else 0."""
        return np.where(y * f < 1.0, -y, 0.0)

    def conjugate(self, y: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Return y g for -1 <= y g <= 0."""
        return np.where((y * g <= 0) & (y * g >= -1), y * g, np.inf)

    def pieces(self, y: np.ndarray) -> list[Piece]:
        """Return one variable, between 0 and y."""
        return [(y, np.minimum(y, 0.0), np.maximum(y, 0.0))]


class SquaredHinge(Loss):
    """The squared hinge, max(0, 1 - y f)^2."""

    smooth = True
    for_labels = True

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return max(0, 1 - y f)^2."""
        return np.maximum(0.0, 1.0 - y * f) ** 2

    def derivative(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return -2 y max(0, 1 - y f)."""
        return -2.0 * y * np.maximum(0.0, 1.0 - y * f)

    def second_derivative(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return 2 where y f < 1, else 0."""
        return np.where(y * f < 1.0, 2.0, 0.0)

    def conjugate(self, y: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Return y g + g^2 / 4 for y g <= 0."""
        return np.where(y * g <= 0, y * g + g**2 / 4, np.inf)


class Logistic(Loss):
    """The logistic loss, log(1 + exp(-y f)): the score is the log odds of +1."""

    smooth = True
    for_labels = True

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return log(1 + exp(-y f)), without overflow."""
        return np.logaddexp(0.0, -y * f)

    def derivative(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return -y / (1 + exp(y f))."""
        from scipy.special import expit

        return -y * expit(-y * f)

    def second_derivative(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return p (1 - p) with p = 1 / (1 + exp(-f))."""
        from scipy.special import expit

        return expit(f) * expit(-f)

    def conjugate(self, y: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Return minus the entropy of p = -y g, for 0 <= p <= 1."""
        from scipy.special import xlogy

        p = np.clip(-y * g, 0.0, 1.0)
        return np.where(p == -y * g, xlogy(p, p) + xlogy(1 - p, 1 - p), np.inf)


class Squared(Loss):
    """The squared error, (y - f)^2, without the factor 1/2."""

    smooth = True

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return (y - f)^2."""
        return (y - f) ** 2

    def derivative(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return 2 (f - y)."""
        return 2.0 * (f - y)

    def second_derivative(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return 2."""
        return np.full(np.shape(f), 2.0)

    def conjugate(self, y: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Return y g + g^2 / 4."""
        return y * g + g**2 / 4


class Huber(Loss):
    """The loss of Huber: (y - f)^2 / 2 up to an error of delta, then straight, delta (|y - f| - delta / 2).

    Parameters
    ----------
    delta : float
        Errors beyond it count as outliers.
    """

    smooth = True

    def __init__(self, delta: float = 1.0) -> None:
        self.delta = delta

    def check_params(self) -> None:
        """Refuse a delta that is not positive."""
        _demand(_is_number(self.delta) and self.delta > 0, "delta", "a positive number", self.delta)

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the loss."""
        error, inner = np.abs(y - f), np.minimum(np.abs(y - f), self.delta)
        return inner * (error - inner / 2)

    def derivative(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the error f - y, cut off at delta."""
        return np.clip(f - y, -self.delta, self.delta)

    def second_derivative(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return 1 where the error is at most delta, else 0."""
        return np.where(np.abs(f - y) <= self.delta, 1.0, 0.0)

    def conjugate(self, y: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Return y g + g^2 / 2 for |g| <= delta."""
        return np.where(np.abs(g) <= self.delta, y * g + g**2 / 2, np.inf)


class Quantile(Loss):
    """The loss whose minimizer is a quantile: tau (y - f) where y >= f, (1 - tau) (f - y) elsewhere.

    (Koenker and Bassett, 1978.)

    Parameters
    ----------
    tau : float
        Which quantile, between 0 and 1.
    """

    def __init__(self, tau: float = 0.5) -> None:
        self.tau = tau

    def check_params(self) -> None:
        """Refuse a tau that is not between 0 and 1."""
        _demand(_is_number(self.tau) and 0 < self.tau < 1, "tau", "a number between 0 and 1", self.tau)

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the loss."""
        return np.maximum(self.tau * (y - f), (1 - self.tau) * (f - y))

    def derivative(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return -tau below y, 1 - tau above."""
        return np.where(f < y, -self.tau, 1 - self.tau)

    def conjugate(self, y: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Return y g for -tau <= g <= 1 - tau."""
        return np.where((g >= -self.tau) & (g <= 1 - self.tau), y * g, np.inf)

    def pieces(self, y: np.ndarray) -> list[Piece]:
        """Return one variable, between tau - 1 and tau."""
        return [(y, np.full(len(y), self.tau - 1.0), np.full(len(y), float(self.tau)))]


class EpsilonInsensitive(Loss):
    """The loss of support vector regression, max(0, |y - f| - epsilon).

    Parameters
    ----------
    epsilon : float
        Errors up to it cost nothing.
    """

    def __init__(self, epsilon: float = 0.1) -> None:
        self.epsilon = epsilon

    def check_params(self) -> None:
        """Refuse a negative epsilon."""
        _demand(_is_number(self.epsilon) and self.epsilon >= 0, "epsilon", "a number >= 0", self.epsilon)

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return max(0, |y - f| - epsilon)."""
        return np.maximum(0.0, np.abs(y - f) - self.epsilon)

    def derivative(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the sign of f - y outside of the tube, else 0."""
        return np.where(np.abs(f - y) > self.epsilon, np.sign(f - y), 0.0)

    def conjugate(self, y: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Return y g + epsilon |g| for |g| <= 1."""
        return np.where(np.abs(g) <= 1, y * g + self.epsilon * np.abs(g), np.inf)

    def pieces(self, y: np.ndarray) -> list[Piece]:
        """Return two variables: one that pulls up from below the tube, one that pulls down from above."""
        none, one = np.zeros(len(y)), np.ones(len(y))
        return [(y - self.epsilon, none, one), (y + self.epsilon, -one, none)]


LOSSES: dict[str, type[Loss]] = {
    "epsilon_insensitive": EpsilonInsensitive,
    "hinge": Hinge,
    "huber": Huber,
    "logistic": Logistic,
    "quantile": Quantile,
    "squared": Squared,
    "squared_hinge": SquaredHinge,
}
"""Losses that can be called by name, with their usual parameters."""


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and bool(np.isfinite(float(value)))


def _demand(holds: bool, name: str, what: str, value: Any) -> None:
    if not holds:
        raise ValueError(f"{name} must be {what}, got {value!r}")
