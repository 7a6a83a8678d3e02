r"""Few landmarks: a penalty :math:`\lambda \sum_j |w_j|_2` that leaves most features without weight.

(Balcan, Blum and Srebro, "Improved Guarantees for Learning via Similarity Functions", 2008: a linear separator of
bounded L1 norm on similarities to landmarks; here penalized, and with the squared hinge for the hinge. For several
outputs the norms of the features' weights are added, so that a landmark is dropped for all of them at once: Yuan and
Lin, "Model Selection and Estimation in Regression with Grouped Variables", 2006.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from similitude.linear.factors import EPS
from similitude.linear.hinge import SquaredHinge, check_signs
from similitude.linear.line_search import Along
from similitude.linear.linear import Features, Linear, check_penalties
from similitude.linear.objective import TINY, Loss, Objective, lengths
from similitude.linear.splitting import Splitting, Ties

TOLERANCE = 1e-3
"""The duality gap at most, over the objective at w = 0."""

MOST_SETS = 30
"""Working sets at most for one penalty; one to three are usual."""

FEWEST = 50
"""Features that may join a working set, if there are not more in it already."""

SCALING = 1.5
"""The power of the penalty with which the ties between weights change along a path: a rule of thumb."""


def sparse(
    F: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
    penalties: object,
    *,
    loss: str = "squared_hinge",
    gram: np.ndarray | None = None,
    start: Linear | None = None,
    tolerance: float = TOLERANCE,
) -> Iterator[Linear]:
    r"""Yield the minimizer of :math:`\sum_i s_i L(y_i, f(x_i)) + \lambda \sum_j |w_j|_2` for each penalty.

    w_j holds the weights of feature j for all outputs; the intercepts are free. Weights are exactly zero where the
    minimizer says so.

    Parameters
    ----------
    F : array of shape (n, d), float32 or float64
    targets : array of shape (n,) or (n, outputs)
        y: -1 or +1 for ``"squared_hinge"``, numbers for ``"squared"``.
    weights : array of shape (n,)
        s, not negative: 2 is the same as the row twice, 0 the same as no row.
    penalties : sequence of float
        Positive; from large to small is fastest, as each minimizer is sought from the one before, on the features
        that it or the gradient proposes.
    loss : {"squared_hinge", "squared"}
        L: max(0, 1 - y f)^2 or (y - f)^2, summed over outputs.
    gram : array of shape (d, d), optional
        The sum of s_i x_i x_i', where it is known in the precision of float64: with less, the gap may stay larger.
    start : Linear, optional
        Where to start.
    tolerance : float
        The duality gap at most, over the objective at w = 0.

    Yields
    ------
    Linear
        Its `gap` is a certificate: the objective less that of a feasible point of the dual, in float64.

    Examples
    --------
    >>> import numpy as np
    >>> F = np.array([[-2.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [2.0, 1.0]])
    >>> largest = largest_penalty(F, F[:, 0], np.ones(4), loss="squared")
    >>> none, one = sparse(F, F[:, 0], np.ones(4), [largest, largest / 2], loss="squared", tolerance=1e-9)
    >>> none.weights.ravel(), one.weights.ravel().round(6)
    (array([0., 0.]), array([0.5, 0. ]))
    """
    features = Features(F, weights, gram)
    made, shift = _loss(loss, targets, features)
    path = Path(features, made, start, shift, tolerance)
    for lam in check_penalties(penalties):
        yield path.after(float(lam))


def largest_penalty(F: np.ndarray, targets: np.ndarray, weights: np.ndarray, *, loss: str = "squared_hinge") -> float:
    """Return the least penalty at which :func:`sparse` leaves no weight; 1 where no penalty leaves any.

    It is the largest norm of a feature's gradient at w = 0 and the best intercepts.
    """
    features = Features(F, weights)
    made, _ = _loss(loss, targets, features)
    Z = np.tile(made.constant()[0], (len(F), 1))
    sizes = lengths(features.combine(made.slopes(Z))[:-1])
    rounding = 8 * EPS * np.sqrt(features.total * features.spread) * lengths(made.slopes(Z)).max()
    largest = float(np.where(sizes > rounding, sizes, 0.0).max())
    return largest if largest > 0 else 1.0


def _loss(name: str, targets: np.ndarray, features: Features) -> tuple[Loss, np.ndarray | float]:
    """Return a loss, and what its scores lack."""
    n, s = len(features.F), features.weights
    if name == "squared_hinge":
        return SquaredHinge(check_signs(targets, n), s), 0.0
    if name != "squared":
        raise ValueError(f"loss must be 'squared_hinge' or 'squared', got {name!r}")
    Y = np.asarray(targets, dtype=np.float64)
    Y = Y[:, None] if Y.ndim == 1 else Y
    if Y.ndim != 2 or len(Y) != n or Y.shape[1] == 0 or not np.isfinite(Y).all():
        raise ValueError(f"{n} rows need finite targets of shape ({n}, outputs), got shape {np.shape(targets)}")
    mean = s @ Y / s.sum()
    centered = Y - mean
    return Squared(np.where(np.abs(centered) > 8 * EPS * np.abs(mean), centered, 0.0), s), mean


@dataclass(frozen=True)
class Squared:
    """The weighted squared error of each output, whose targets have mean zero."""

    targets: np.ndarray
    weights: np.ndarray
    quadratic = True

    def constant(self) -> tuple[np.ndarray, float]:
        """Return 0 for each output, and the loss there."""
        return np.zeros(self.targets.shape[1]), self.value(np.zeros_like(self.targets))

    def value(self, Z: np.ndarray) -> float:
        """Return the sum of s (y - f)^2 over rows and outputs."""
        return float(self.weights @ ((self.targets - Z) ** 2).sum(axis=1))

    def slopes(self, Z: np.ndarray) -> np.ndarray:
        """Return 2 s (f - y)."""
        return 2.0 * self.weights[:, None] * (Z - self.targets)

    def seconds(self, Z: np.ndarray) -> np.ndarray:
        """Return 2 s."""
        return np.tile(2.0 * self.weights[:, None], (1, Z.shape[1]))

    def along(self, Z: np.ndarray, D: np.ndarray) -> Along:
        """Return the derivatives along D."""
        slopes = 2.0 * self.weights[:, None] * D
        first, second = np.einsum("ij,ij->j", Z - self.targets, slopes), np.einsum("ij,ij->j", D, slopes)
        return lambda t: (first + t * second, second)

    def nearest(self, Z: np.ndarray, tie: float) -> np.ndarray:
        """Return the f with the least (y - f)^2 + tie / 2 (f - z)^2."""
        return (2.0 * self.targets + tie * Z) / (2.0 + tie)


class Path:
    """Where a path of penalties has come to.

    Parameters
    ----------
    features : Features
    loss : Loss
    start : Linear or None
    shift : array or float
        What is added to intercepts at the end.
    tolerance : float
    """

    def __init__(
        self, features: Features, loss: Loss, start: Linear | None, shift: np.ndarray | float, tolerance: float
    ) -> None:
        self.features, self.loss, self.shift = features, loss, shift
        intercepts, self.reference = loss.constant()
        self.goal = max(tolerance, 4 * EPS) * self.reference
        V = np.vstack([np.zeros((features.F.shape[1], len(intercepts))), intercepts])
        Z = np.tile(intercepts, (len(features.F), 1))
        self.gradient = features.combine(loss.slopes(Z))
        self.last = float(lengths(self.gradient[:-1]).max())
        self.ties = Ties(10.0, 1.0)
        if start is not None:
            V = features.stacked(start)
            V[-1] -= shift
            Z = features.scores(V)
            self.gradient = features.combine(loss.slopes(Z))
        self.V, self.Z = V, Z

    def after(self, lam: float) -> Linear:
        """Go on to the minimizer for the next penalty and return it."""
        objective = Objective(self.features, self.loss, lam)
        self.ties.weights *= min(max(lam / max(self.last, TINY), 1e-6), 1e6) ** SCALING
        point = objective.at(self.V, self.Z)
        self.V, self.Z = point.V, point.Z
        gap, working = objective.gap(point, self.gradient), self._proposed(lam)
        for _ in range(MOST_SETS):
            if gap <= self.goal:
                break
            gap = self._solve(objective, working)
            if not self._join(working, lengths(self.gradient[:-1]) > lam):
                break
        self.last = lam
        found = self.features.linear(self.V, gap / self.reference if self.reference > 0 else 0.0)
        return Linear(found.weights, found.intercept + self.shift, found.gap)

    def _proposed(self, lam: float) -> np.ndarray:
        """Return which features to work on first: those with weight, and those that soon may have some.

        (Tibshirani et al., "Strong Rules for Discarding Predictors in Lasso-Type Problems", 2012.)
        """
        working: np.ndarray = lengths(self.V[:-1]) > 0
        self._join(working, lengths(self.gradient[:-1]) >= 2 * lam - self.last)
        return working

    def _join(self, working: np.ndarray, wanted: np.ndarray) -> bool:
        """Let the wanted features with the largest gradients join; return whether there were any."""
        size = lengths(self.gradient[:-1])
        more = np.flatnonzero(wanted & ~working)
        most = max(FEWEST, int(working.sum()))
        working[more[np.argsort(-size[more], kind="stable")][:most]] = True
        if 2 * working.sum() > len(working):  # a copy of so many would save little
            working[:] = True
        return len(more) > 0

    def _solve(self, objective: Objective, working: np.ndarray) -> float:
        """Minimize over the working set; return the duality gap of the whole."""
        chosen = np.flatnonzero(working)
        rows = np.append(chosen, len(self.V) - 1)
        few = objective.features if working.all() else objective.features.columns(chosen)
        part = Objective(few, self.loss, objective.penalty)
        found = Splitting(part, part.at(self.V[rows], self.Z), self.ties).solved(self.goal / 2)
        self.V = np.zeros_like(self.V)
        self.V[rows] = found.V
        point = objective.at(self.V, self.features.scores(self.V))
        self.V, self.Z = point.V, point.Z
        self.gradient = self.features.combine(point.R)
        return objective.gap(point, self.gradient)
