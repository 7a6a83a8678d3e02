r"""Logistic regression: the scores are log odds, the losses minus the logarithm of the true class's probability."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from similitude.compute.encodings import moved, namespace
from similitude.linear.conjugate import TOLERANCE, Loss, Move, apart, minimizers
from similitude.linear.line_search import Along
from similitude.linear.linear import Linear, check_weights
from similitude.linear.tensors import features_of

PRIOR = 1e-3
"""What each class's part of the weights grows by before its logarithm is where the intercept starts."""


def logistic(
    F: Any,
    codes: np.ndarray,
    n_classes: int,
    weights: np.ndarray,
    penalties: object,
    *,
    gram: np.ndarray | None = None,
    start: Linear | None = None,
    tolerance: float = TOLERANCE,
) -> Iterator[Linear]:
    r"""Yield the minimizer of :math:`-\sum_i s_i \log p_{c_i}(x_i) + \lambda |w|^2` for each penalty.

    Two classes have one output, the log odds of the second: :math:`p_1 = 1 / (1 + e^{-f})`. More have one output
    each, :math:`p_c = e^{f_c} / \sum_k e^{f_k}` (multinomial), which add up to zero. The intercepts are free.

    Parameters
    ----------
    F : array or tensor of shape (n, d), float32 or float64
        A tensor: the work is done on its device.
    codes : array of shape (n,)
        c, the class of each row: 0 to `n_classes` - 1. A class without a row is allowed: where there is no minimizer
        (some intercept would fall for ever), the one returned is within the tolerance of the infimum.
    n_classes : int
    weights : array of shape (n,)
        s, not negative: 2 is the same as the row twice, 0 the same as no row.
    penalties : sequence of float
        Positive; from large to small is fastest, as each minimizer is sought from the one before.
    gram : array of shape (d, d), optional
        The sum of s_i x_i x_i', where it is known; it only serves to take fewer steps.
    start : Linear, optional
        Where to start.
    tolerance : float
        How far the objective may be above its minimum, by an estimate, over its value at w = 0.

    Yields
    ------
    Linear
        Its `gap` is the estimate.

    Examples
    --------
    >>> import numpy as np
    >>> F = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> few, many = logistic(F, np.array([0, 1, 0, 1]), 2, np.ones(4), [1.0, 0.1])
    >>> bool(few.weights[0, 0] < many.weights[0, 0])
    True
    """
    features = features_of(F, weights, gram)
    numbers = check_codes(codes, len(F), n_classes)
    loss: Loss
    s = check_weights(weights, len(F))
    if n_classes == 2:
        loss = Binary(np.where(numbers[:, None] == 1, 1.0, -1.0), s)
    else:
        loss = Multinomial((np.arange(len(F)), numbers), n_classes, s)
    for found in minimizers(features, loss, penalties, start, tolerance):
        yield found if n_classes == 2 else _centered(found)


def check_codes(codes: np.ndarray, n: int, n_classes: int) -> np.ndarray:
    """Return the classes of n rows, or raise if one is not among them."""
    numbers = np.asarray(codes)
    if n_classes < 2:
        raise ValueError(f"n_classes must be at least 2, got {n_classes}")
    if numbers.shape != (n,) or numbers.dtype.kind not in "iub":
        raise ValueError(f"{n} rows need {n} whole numbers as codes, got shape {numbers.shape} of {numbers.dtype}")
    numbers = numbers.astype(np.intp)
    if numbers.min() < 0 or numbers.max() >= n_classes:
        raise ValueError(f"codes must be from 0 to {n_classes - 1}, got {numbers.min()} to {numbers.max()}")
    return numbers


def _centered(found: Linear) -> Linear:
    """Return the same probabilities from outputs that add up to zero."""
    weights = found.weights - found.weights.mean(axis=1, keepdims=True)
    return Linear(weights, found.intercept - found.intercept.mean(), found.gap)


def _log_parts(sums: np.ndarray) -> np.ndarray:
    """Return the logarithms of the classes' parts of the weights, none of them -inf."""
    return np.log(sums / sums.sum() + PRIOR)


@dataclass(frozen=True)
class Binary:
    """Two classes, -1 and +1 (n, 1): log(1 + exp(-y f))."""

    signs: np.ndarray
    weights: np.ndarray
    pooled = False

    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the log odds, and the loss there."""
        sums = np.array([self.weights @ (self.signs[:, 0] < 0), self.weights @ (self.signs[:, 0] > 0)])
        log_odds = np.diff(_log_parts(sums))
        return log_odds, self.weights @ np.logaddexp(0.0, -self.signs * log_odds)

    def slopes(self, Z: np.ndarray) -> np.ndarray:
        """Return -s y / (1 + exp(y f))."""
        return -self.weights[:, None] * self.signs * _expit(-self.signs * Z)

    def seconds(self, Z: np.ndarray) -> np.ndarray:
        """Return s p (1 - p)."""
        return self.weights[:, None] * (_expit(Z) * _expit(-Z))

    def along(self, Z: np.ndarray, D: np.ndarray) -> Along:
        """Return the derivatives along D."""
        u, v = self.signs * Z, self.signs * D
        sv = self.weights[:, None] * v

        def derivatives(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            wrong = _expit(-(u + t * v))
            steep = wrong * sv
            return -steep.sum(0), apart(steep, (1.0 - wrong) * v)

        return derivatives

    def part(self, columns: np.ndarray) -> Binary:
        """Return itself: there is one output."""
        return self

    def moved(self, move: Move) -> Binary:
        """Return the same with its arrays passed through `move`."""
        return Binary(move(self.signs), move(self.weights))


@dataclass(frozen=True)
class Multinomial:
    """Several classes, one output each: the logarithm of the sum of exp(f_k), less f of the own class.

    `own` holds the number of every row, and that of its class.
    """

    own: tuple[np.ndarray, np.ndarray]
    n_classes: int
    weights: np.ndarray
    pooled = True

    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the logarithms of the classes' parts, and the loss there."""
        codes = self.own[1]
        logs = _log_parts(np.bincount(codes, self.weights, self.n_classes))
        logs -= np.log(np.exp(logs).sum())
        return logs, np.full(self.n_classes, -(self.weights @ logs[codes]))

    def slopes(self, Z: np.ndarray) -> np.ndarray:
        """Return s (p - 1) for the own class, s p for others."""
        P = _probabilities(Z)
        P[self.own] -= 1.0
        P *= self.weights[:, None]
        return P

    def seconds(self, Z: np.ndarray) -> np.ndarray:
        """Return s p (1 - p), the diagonal of the second derivative."""
        P = _probabilities(Z)
        return self.weights[:, None] * (P - P * P)

    def along(self, Z: np.ndarray, D: np.ndarray) -> Along:
        """Return the derivatives along D: how the mean of D under p exceeds that of the own class; its variance."""
        xp, own = namespace(D), D[self.own]

        def derivatives(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            P = _probabilities(Z + t * D)
            P *= D
            mean = P.sum(1)
            square = xp.einsum("ij,ij->i", P, D)
            slope = self.weights @ (mean - own)
            curve = self.weights @ (square - mean**2).clip(0.0)
            return slope.repeat(D.shape[1]), curve.repeat(D.shape[1])

        return derivatives

    def part(self, columns: np.ndarray) -> Multinomial:
        """Return itself: the outputs stay together."""
        return self

    def moved(self, move: Move) -> Multinomial:
        """Return the same with its arrays passed through `move`."""
        return Multinomial(moved(self.own, move), self.n_classes, move(self.weights))


def _expit(Z: Any) -> Any:
    """Return 1 / (1 + exp(-Z))."""
    return expit(Z) if isinstance(Z, np.ndarray) else namespace(Z).sigmoid(Z)


def _probabilities(Z: np.ndarray) -> np.ndarray:
    """Return exp(Z) over its sums along rows, without overflow."""
    xp = namespace(Z)
    P = Z - xp.max(Z, axis=1, keepdims=True)
    xp.exp(P, out=P)
    P /= P.sum(1)[:, None]
    return P
