r"""Convex losses of a score: value, derivatives, conjugate, and what particular solvers use.

A loss L(y, f) says how bad the score f is where y is the target. It is convex in f and non-negative. For labels, y is
+1 or -1. Conjugates are taken in f: :math:`L^*(y, g) = \sup_f (g f - L(y, f))`, infinite where no line of slope g lies
below the loss. All formulas work elementwise on arrays; those that a device uses work on tensors too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from similitude.compute import namespace
from similitude.similarity import Parametric
from similitude.support import check_nonnegative, check_positive, check_share

PRIOR = 1e-3
"""Added to each class frequency before its logarithm becomes the starting intercept."""

Piece = tuple[np.ndarray, np.ndarray, np.ndarray]

Line = Callable[[Any], tuple[Any, Any]]
"""First and second derivative, in t, of a function on each of several lines."""


class Loss(Parametric):
    """A convex loss. A subclass implements `value` and `derivative` elementwise on arrays.

    Attributes
    ----------
    smooth : bool
        Whether `second_derivative` is implemented (almost everywhere, for a continuous derivative), so that Newton
        steps work.
    for_labels : bool
        Whether y must be +1 or -1.
    couples_outputs : bool
        Whether the loss of a row depends on all of its scores together, rather than being a sum over them.
    """

    smooth = False
    for_labels = False
    couples_outputs = False

    def value(self, y: Any, f: Any) -> Any:
        """Return L(y, f)."""
        raise NotImplementedError

    def derivative(self, y: Any, f: Any) -> Any:
        """Return the derivative in f; at a kink, any slope between the one-sided derivatives."""
        raise NotImplementedError

    def second_derivative(self, y: Any, f: Any) -> Any:
        """Return the second derivative in f, for a smooth loss."""
        raise NotImplementedError

    def conjugate(self, y: Any, g: Any) -> Any:
        """Return L*(y, g), where it has a closed form."""
        raise NotImplementedError

    def proximal(self, y: Any, z: Any, rho: float) -> Any:
        """Return the f that minimizes L(y, f) + rho / 2 (f - z)^2, where it has a closed form."""
        raise NotImplementedError

    def best_constant(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the constant score of each output where solvers start: by default the weighted mean of the targets."""
        return weights @ y / weights.sum()

    def along(self, y: Any, weights: Any, Z: Any, D: Any) -> Line:
        """Return the derivatives in t of the weighted loss of the scores Z + t D, for line searches."""
        sD = weights[:, None] * D

        def derivatives(t: Any) -> tuple[Any, Any]:
            f = Z + t * D
            return column_dots(self.derivative(y, f), sD), column_dots(self.second_derivative(y, f) * sD, D)

        return derivatives

    def pieces(self, y: np.ndarray) -> list[Piece] | None:
        """Return the dual variables of a piecewise linear loss; None for other losses.

        The negative slope -g of each example is the sum of one variable per piece, each given by its target, its lower
        and its upper bound; L*(y, g) is minus the sum of targets times variables.
        """
        return None

    def check_params(self) -> None:
        """Raise ValueError if a parameter is out of range."""


class Hinge(Loss):
    """The hinge, max(0, 1 - y f): zero beyond the margin.

    (Baros, Kernel Methods, equation 10.)
    """

    for_labels = True

    def value(self, y: Any, f: Any) -> Any:
        """Return max(0, 1 - y f)."""
        return np.maximum(0.0, 1.0 - y * f)

    def derivative(self, y: Any, f: Any) -> Any:
        """Return -y where y f < 1, else 0."""
        return np.where(y * f < 1.0, -y, 0.0)

    def pieces(self, y: np.ndarray) -> list[Piece]:
        """Return one variable, between 0 and y."""
        return [(y, np.minimum(y, 0.0), np.maximum(y, 0.0))]


class SquaredHinge(Loss):
    """The squared hinge, max(0, 1 - y f)^2."""

    smooth = True
    for_labels = True

    def value(self, y: Any, f: Any) -> Any:
        """Return max(0, 1 - y f)^2."""
        return (1.0 - y * f).clip(0.0) ** 2

    def derivative(self, y: Any, f: Any) -> Any:
        """Return -2 y max(0, 1 - y f)."""
        return -2.0 * y * (1.0 - y * f).clip(0.0)

    def second_derivative(self, y: Any, f: Any) -> Any:
        """Return 2 where y f < 1, else 0."""
        return namespace(f).where(y * f < 1.0, 2.0, 0.0)

    def conjugate(self, y: Any, g: Any) -> Any:
        """Return y g + g^2 / 4 for y g <= 0."""
        return np.where(y * g <= 0, y * g + g**2 / 4, np.inf)

    def proximal(self, y: Any, z: Any, rho: float) -> Any:
        """Return z beyond the margin, else a weighted mean of z and y."""
        margins = y * z
        return np.where(margins < 1.0, y * (2.0 + rho * margins) / (2.0 + rho), z)

    def along(self, y: Any, weights: Any, Z: Any, D: Any) -> Line:
        """Return 2 s u v and 2 s v^2, where 1 - y f = u + t v is positive, summed over rows."""
        xp = namespace(D)
        v = -y * D
        u = 1.0 - y * Z
        sv = 2.0 * weights[:, None] * v

        def derivatives(t: Any) -> tuple[Any, Any]:
            short = u + t * v
            active = xp.where(short > 0, sv, 0.0)
            return column_dots(short, active), column_dots(active, v)

        return derivatives


class Logistic(Loss):
    """The logistic loss, log(1 + exp(-y f)): the score is the log odds of +1."""

    smooth = True
    for_labels = True

    def value(self, y: Any, f: Any) -> Any:
        """Return log(1 + exp(-y f)), without overflow."""
        return np.logaddexp(0.0, -y * f)

    def derivative(self, y: Any, f: Any) -> Any:
        """Return -y / (1 + exp(y f))."""
        return -y * sigmoid(-y * f)

    def second_derivative(self, y: Any, f: Any) -> Any:
        """Return p (1 - p) with p = 1 / (1 + exp(-f))."""
        return sigmoid(f) * sigmoid(-f)

    def best_constant(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the log odds of +1, finite even if a class is missing."""
        positive = weights @ (y > 0)
        negative = weights @ (y < 0)
        total = positive + negative
        return np.log(positive / total + PRIOR) - np.log(negative / total + PRIOR)

    def along(self, y: Any, weights: Any, Z: Any, D: Any) -> Line:
        """Return -s v p and s v^2 p (1 - p) with p = 1 / (1 + exp(u + t v)), summed over rows."""
        u = y * Z
        v = y * D
        sv = weights[:, None] * v

        def derivatives(t: Any) -> tuple[Any, Any]:
            p = sigmoid(-(u + t * v))
            steep = p * sv
            return -steep.sum(0), column_dots(steep, (1.0 - p) * v)

        return derivatives


class MultinomialLogistic(Loss):
    """The logistic loss of several classes, log(sum_k exp(f_k)) - f_c for the true class c; y is one-hot."""

    smooth = True
    for_labels = True
    couples_outputs = True

    def value(self, y: Any, f: Any) -> Any:
        """Return minus the log probability of the true class of each row, shape (n, 1)."""
        top = f.max(axis=1, keepdims=True)
        own = (y * f).sum(axis=1, keepdims=True)
        return np.log(np.exp(f - top).sum(axis=1, keepdims=True)) + top - own

    def derivative(self, y: Any, f: Any) -> Any:
        """Return p - y."""
        P = softmax(f)
        P -= y
        return P

    def second_derivative(self, y: Any, f: Any) -> Any:
        """Return p (1 - p), the diagonal of the second derivative."""
        P = softmax(f)
        return P - P * P

    def best_constant(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the logarithms of the class frequencies, all finite."""
        sums = np.bincount(y.argmax(axis=1), weights, y.shape[1])
        logs = np.log(sums / sums.sum() + PRIOR)
        logs -= np.log(np.exp(logs).sum())
        return logs

    def along(self, y: Any, weights: Any, Z: Any, D: Any) -> Line:
        """Return the mean of D under p less that of the true class, and its variance; one value for all outputs."""
        xp = namespace(D)
        own = xp.einsum("ij,ij->i", y, D)

        def derivatives(t: Any) -> tuple[Any, Any]:
            P = softmax(Z + t * D)
            P *= D
            mean = P.sum(1)
            square = xp.einsum("ij,ij->i", P, D)
            slope = weights @ (mean - own)
            curve = weights @ (square - mean**2).clip(0.0)
            return slope.repeat(D.shape[1]), curve.repeat(D.shape[1])

        return derivatives


class Squared(Loss):
    """The squared error, (y - f)^2, without the factor 1/2."""

    smooth = True

    def value(self, y: Any, f: Any) -> Any:
        """Return (y - f)^2."""
        return (y - f) ** 2

    def derivative(self, y: Any, f: Any) -> Any:
        """Return 2 (f - y)."""
        return 2.0 * (f - y)

    def second_derivative(self, y: Any, f: Any) -> Any:
        """Return 2."""
        return np.full(np.shape(f), 2.0)

    def conjugate(self, y: Any, g: Any) -> Any:
        """Return y g + g^2 / 4."""
        return y * g + g**2 / 4

    def along(self, y: Any, weights: Any, Z: Any, D: Any) -> Line:
        """Return the derivatives of a parabola."""
        slopes = 2.0 * weights[:, None] * D
        first = column_dots(Z - y, slopes)
        second = column_dots(D, slopes)
        return lambda t: (first + t * second, second)


class Huber(Loss):
    """The Huber loss: (y - f)^2 / 2 up to an error of delta, then linear, delta (abs(y - f) - delta / 2).

    Parameters
    ----------
    delta : float
        Larger errors count as outliers.
    """

    smooth = True

    def __init__(self, delta: float = 1.0) -> None:
        self.delta = delta

    def check_params(self) -> None:
        """Validate delta."""
        check_positive("delta", self.delta)

    def value(self, y: Any, f: Any) -> Any:
        """Return the loss."""
        error = np.abs(y - f)
        inner = np.minimum(np.abs(y - f), self.delta)
        return inner * (error - inner / 2)

    def derivative(self, y: Any, f: Any) -> Any:
        """Return the error f - y, clipped at delta."""
        return np.clip(f - y, -self.delta, self.delta)

    def second_derivative(self, y: Any, f: Any) -> Any:
        """Return 1 where the error is at most delta, else 0."""
        return np.where(np.abs(f - y) <= self.delta, 1.0, 0.0)


class Quantile(Loss):
    """The pinball loss, whose minimizer is a quantile: tau (y - f) where y >= f, (1 - tau) (f - y) elsewhere.

    (Koenker and Bassett, 1978.)

    Parameters
    ----------
    tau : float
        Which quantile, between 0 and 1.
    """

    def __init__(self, tau: float = 0.5) -> None:
        self.tau = tau

    def check_params(self) -> None:
        """Validate tau."""
        check_share("tau", self.tau)

    def value(self, y: Any, f: Any) -> Any:
        """Return the loss."""
        return np.maximum(self.tau * (y - f), (1 - self.tau) * (f - y))

    def derivative(self, y: Any, f: Any) -> Any:
        """Return -tau below y, else 1 - tau."""
        return np.where(f < y, -self.tau, 1 - self.tau)

    def pieces(self, y: np.ndarray) -> list[Piece]:
        """Return one variable, between tau - 1 and tau."""
        return [(y, np.full(len(y), self.tau - 1.0), np.full(len(y), float(self.tau)))]


class SmoothQuantile(Loss):
    r"""The pinball loss, rounded near zero so that Newton steps work: :math:`H_h(u) + h (2 \tau - 1) u`, u = y - f.

    :math:`H_h` is Huber's loss with threshold h. Beyond h it is 2 h times the pinball loss, up to a constant; its
    minimizer differs from the quantile by what the density of the errors changes within h. (Fernandes, Guerre and
    Horta, "Smoothing Quantile Regressions", 2021.)

    Parameters
    ----------
    tau : float
        Which quantile, between 0 and 1.
    width : float
        The threshold h, small compared with errors.
    """

    smooth = True

    def __init__(self, tau: float, width: float) -> None:
        self.tau = tau
        self.width = width

    @property
    def _tilt(self) -> float:
        return self.width * (2.0 * self.tau - 1.0)

    def value(self, y: Any, f: Any) -> Any:
        """Return the loss, which is 0 at its least."""
        error = y - f
        inner = error.clip(-self.width, self.width)
        return inner * (error - inner / 2) + self._tilt * error + self._tilt**2 / 2

    def derivative(self, y: Any, f: Any) -> Any:
        """Return the error f - y, clipped at the width, less the tilt."""
        return (f - y).clip(-self.width, self.width) - self._tilt

    def second_derivative(self, y: Any, f: Any) -> Any:
        """Return the curvature of the widest parabola above the loss that touches it at f: steps never go too far.

        It is 1 where the error is at most the width, as that of the loss, and not quite 0 elsewhere.
        """
        return self.width / abs(f - y).clip(self.width)

    def best_constant(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the weighted quantile of each output."""
        return weighted_quantile(y, weights, self.tau)


class EpsilonInsensitive(Loss):
    """The loss of support vector regression, max(0, abs(y - f) - epsilon).

    Parameters
    ----------
    epsilon : float
        Errors up to epsilon cost nothing.
    """

    def __init__(self, epsilon: float = 0.1) -> None:
        self.epsilon = epsilon

    def check_params(self) -> None:
        """Validate epsilon."""
        check_nonnegative("epsilon", self.epsilon)

    def value(self, y: Any, f: Any) -> Any:
        """Return max(0, abs(y - f) - epsilon)."""
        return np.maximum(0.0, np.abs(y - f) - self.epsilon)

    def derivative(self, y: Any, f: Any) -> Any:
        """Return the sign of f - y outside the tube, else 0."""
        return np.where(np.abs(f - y) > self.epsilon, np.sign(f - y), 0.0)

    def pieces(self, y: np.ndarray) -> list[Piece]:
        """Return two variables: one pulls up from below the tube, one pulls down from above."""
        none = np.zeros(len(y))
        one = np.ones(len(y))
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
"""Losses by name, with their default parameters."""


def weighted_quantile(values: np.ndarray, weights: np.ndarray, share: float) -> np.ndarray:
    """Return for each column the smallest value that at least a share of the weight does not exceed.

    >>> weighted_quantile(np.array([[3.0], [1.0], [2.0]]), np.array([1.0, 1.0, 2.0]), 0.5)
    array([2.])
    """
    order = np.argsort(values, axis=0, kind="stable")
    reached = np.cumsum(weights[order], axis=0) >= share * weights.sum() * (1 - 1e-12)
    first = reached.argmax(axis=0)
    columns = np.arange(values.shape[1])
    return np.asarray(values[order[first, columns], columns])


def column_dots(A: Any, B: Any) -> Any:
    """Return the inner product of each column of A with that of B."""
    return namespace(A).einsum("ij,ij->j", A, B)


def sigmoid(Z: Any) -> Any:
    """Return 1 / (1 + exp(-Z)) of an array or tensor."""
    if not isinstance(Z, np.ndarray):
        return namespace(Z).sigmoid(Z)
    from scipy.special import expit

    return expit(Z)


def softmax(Z: Any) -> Any:
    """Return exp(Z) over its row sums, without overflow."""
    xp = namespace(Z)
    P = Z - xp.max(Z, axis=1, keepdims=True)
    xp.exp(P, out=P)
    P /= P.sum(1)[:, None]
    return P
