r"""Linear models with a smooth loss and an l2 penalty: squared hinge, logistic and multinomial logistic regression.

The solver is nonlinear conjugate gradients. The directions are those of Polak and Ribiere, preconditioned: if the
losses have average curvature c, the Hessian is roughly :math:`c\, F' S F + 2 \lambda`, and that matrix is factored once
for many steps. The scores along a direction are known after one product with the features, so that each step goes to
the minimum along it. All outputs move at once: products with the features are products of matrices. (Newton's method
with conjugate gradients inside takes about three times as many products, as it starts over after each change of the
active rows.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from similitude.compute import as_numpy, namespace
from similitude.linear.features import Features
from similitude.linear.lapack import EPS, factorize, solve
from similitude.linear.losses import Loss, column_dots
from similitude.linear.moments import LinearModel
from similitude.linear.weighted_loss import WeightedLoss, line_minimum
from similitude.support import brief

L2_TOLERANCE = 3e-6
"""How far the objective may be above its minimum, by an estimate, relative to its value at w = 0."""

MOST_OUTPUTS = 64
"""Outputs solved together: enough for products of matrices, few enough for the memory of their scores."""


MOST_DESCENT_STEPS = 500
"""Maximum number of steps for one penalty; about twenty are usual."""


def l2_path(
    F: Any, targets: Any, weights: Any, penalties: object, loss: Loss, *, tolerance: float | np.ndarray = L2_TOLERANCE
) -> Iterator[LinearModel]:
    r"""Yield the minimizer of :math:`\sum_i s_i L(y_i, f(x_i)) + \lambda |w|^2` for each penalty.

    The intercepts are not penalized. Outputs (one against the rest, for several classes) are separate problems, except
    for multinomial logistic regression, whose outputs add up to zero. If a class has no row, there may be no minimizer
    (an intercept would fall forever), and the result is within the tolerance of the infimum. Decreasing penalties are
    fastest, as each minimizer is found starting from the previous one. If F is a tensor, so is the work.

    The tolerance, of all penalties or of each, is how far the objective of an output may be above its minimum, by an
    estimate, relative to its value at w = 0; the `gap` of a model is the largest such estimate.

    >>> from similitude.linear.losses import SquaredHinge
    >>> F, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([-1, -1, 1, 1])
    >>> strong, weak = l2_path(F, y, np.ones(4), [8.0, 1e-6], SquaredHinge())
    >>> strong.weights.round(3), weak.weights.round(3)
    (array([[0.333]]), array([[1.]]))
    """
    features = Features(F, weights)
    whole = WeightedLoss.of(loss, targets, weights)
    lams = check_penalties(penalties)
    outputs = whole.targets.shape[1]
    if loss.couples_outputs:
        for found in minimize_path(features, whole, lams, tolerance):
            centered = found.weights - found.weights.mean(axis=1, keepdims=True)
            yield LinearModel(centered, found.intercept - found.intercept.mean(), found.gap)
        return
    blocks = [whole.columns(slice(first, first + MOST_OUTPUTS)) for first in range(0, outputs, MOST_OUTPUTS)]
    for parts in zip(*(minimize_path(features, block, lams, tolerance) for block in blocks), strict=True):
        intercept = np.concatenate([part.intercept for part in parts])
        yield LinearModel(np.hstack([part.weights for part in parts]), intercept, max(part.gap for part in parts))


def check_penalties(penalties: object) -> np.ndarray:
    """Validate positive penalties."""
    path = np.atleast_1d(np.asarray(penalties, dtype=np.float64))
    if path.ndim != 1 or not (np.isfinite(path).all() and (path > 0).all()):
        raise ValueError(f"penalties must be positive numbers, got {brief(penalties)}")
    return path


def minimize_path(
    features: Features, loss: WeightedLoss, penalties: np.ndarray, tolerance: float | np.ndarray
) -> Iterator[LinearModel]:
    """Yield the minimizer for each penalty, starting from the previous one, extrapolated.

    The stopping criterion, kept on the host, is half the squared gradient in the norm of the preconditioner.
    """
    intercepts, reference = loss.start()
    loss = loss.moved(features.placed)
    V = features.placed(np.vstack([np.zeros((features.F.shape[1], len(intercepts))), intercepts]))
    Z = features.scores(V)
    before: tuple[Any, Any] | None = None
    for lam, gap_allowed in zip(penalties, np.broadcast_to(tolerance, penalties.shape), strict=True):
        enough = np.maximum(gap_allowed, 4 * EPS) * reference
        objective = L2Objective(features, loss, float(lam))
        last = before
        before = (V, Z)
        if last is not None:
            V, Z = objective.stepped(V, Z, V - last[0], Z - last[1])
        V, Z, gap = objective.minimize(V, Z, enough, reference)
        relative = np.divide(gap, reference, out=np.zeros_like(gap), where=reference > 0)
        yield features.model(V, float(relative.max()))


class L2Objective:
    """A loss plus a penalty on the squared weights, and its preconditioner."""

    def __init__(self, features: Features, loss: WeightedLoss, penalty: float) -> None:
        self.features = features
        self.loss = loss
        self.penalty = penalty
        self.dots: Callable[[Any, Any], Any] = _total_dot if loss.loss.couples_outputs else column_dots
        self.level: Any = np.ones(0)
        self.hessians: list[Any] | None = None

    def minimize(self, V: Any, Z: Any, enough: np.ndarray, reference: np.ndarray) -> tuple[Any, Any, np.ndarray]:
        """Return the minimizer, starting at V, its scores, and the stopping criterion of each output."""
        V = V + 0.0
        Z = Z + 0.0
        if self.features.single:
            # roughly, a part of the tolerance is aimed at, so that the check in float64 finds it met
            Descent(self, V, Z, rough=True).run(np.maximum(0.8 * enough, 1e-8 * reference))
            Z = self.features.scores(V)
        return V, Z, Descent(self, V, Z, rough=False).run(enough)

    def columns(self, which: np.ndarray) -> L2Objective:
        """Return the objective of some outputs."""
        answer = L2Objective(self.features, self.loss.columns(which), self.penalty)
        answer.level = self.level[which]
        answer.hessians = self.hessians and [self.hessians[j] for j in which]
        return answer

    @property
    def patience(self) -> int:
        """The number of steps that cost about as much as factoring the Hessian of each output."""
        d = self.features.F.shape[1]
        outputs = len(self.level)
        if outputs * d * d > 2**24:  # values of all Hessians together
            return MOST_DESCENT_STEPS
        if not self.loss.loss.couples_outputs:
            outputs = 1
        return 10 + d * min(outputs, 5) // 30

    def update_level(self, Z: Any) -> None:
        """Set the average curvature to that at some scores."""
        self.level = (self.loss.curvatures(Z).sum(0) / self.features.total).clip(EPS)

    def update_hessians(self, Z: Any) -> None:
        """Factor the Hessian of each output at some scores."""
        shift = np.full(self.features.F.shape[1] + 1, 2 * self.penalty)
        shift[-1] = 0.0
        shift = self.features.placed(shift)
        self.hessians = [factorize(self.features.hessian(c), shift) for c in self.loss.curvatures(Z).T]

    def precondition(self, R: Any) -> Any:
        """Return (c F' S F + 2 lam)^-1 R, or the inverse Hessians times R where these are known."""
        xp = namespace(R)
        if self.hessians is not None:
            return xp.stack([solve(factor, R[:, j]) for j, factor in enumerate(self.hessians)], axis=1)
        answer = xp.empty_like(R)
        answer[:-1] = self.features.factors.solve(2 * self.penalty / self.level, R[:-1])
        answer[-1] = R[-1] / self.features.total
        answer /= self.level
        return answer

    def stepped(self, V: Any, Z: Any, P: Any, D: Any) -> tuple[Any, Any]:
        """Return the minimum along the direction P, whose scores are D, and its scores."""
        along = self.loss.along(Z, D)
        rise, bend = (2 * self.penalty * self.dots(A[:-1], P[:-1]) for A in (V, P))

        def derivatives(t: Any) -> tuple[Any, Any]:
            slope, curve = along(t)
            return slope + rise + t * bend, curve + bend

        # the part of the slope along a direction that may remain at the end of a step
        t = line_minimum(derivatives, namespace(P).zeros_like(P[0]), 0.05)
        return V + t * P, Z + t * D


class Descent:
    """Conjugate gradient steps, which overwrite V and its scores Z; outputs that have converged drop out."""

    def __init__(self, objective: L2Objective, V: Any, Z: Any, *, rough: bool) -> None:
        self.objective = objective
        self.rough = rough
        self.result = (V, Z)
        self.V = V
        self.Z = Z
        self.left = np.arange(V.shape[1])
        self.gaps = np.full(V.shape[1], np.inf)
        self.best = self.gaps.copy()
        self.idle = np.zeros(V.shape[1])
        xp = namespace(V)
        self.slopes = xp.zeros_like(Z)
        self.sums = xp.zeros_like(V)
        self.renewed = 0
        self.P = xp.zeros_like(V)
        self.last_gradient = xp.zeros_like(V)
        self.rho = xp.full_like(V[0], np.inf)

    def run(self, enough: np.ndarray) -> np.ndarray:
        """Take steps until the stopping criterion of each output is small enough; return the criteria."""
        for step in range(MOST_DESCENT_STEPS):
            gradient = self._gradient(rough=self.rough and step > 0)
            # steps after which the average curvature is updated
            if step % 10 == 0 and self.objective.hessians is None:
                self.objective.update_level(self.Z)
            self._renew_hessians(step)
            steepest = self.objective.precondition(gradient)
            rho = self.objective.dots(gradient, steepest)
            going = self._unconverged(as_numpy(rho) / 2, enough)
            if not going.any():
                break
            self._turn(gradient, steepest, rho)
            # when at most this part of the outputs is still unconverged, the others are left out of products
            if going.mean() <= 0.75:
                self._drop_others(np.flatnonzero(going))
            D = self.objective.features.scores(self.P, rough=self.rough)
            self.V, self.Z = self.objective.stepped(self.V, self.Z, self.P, D)
        self._write()
        return self.gaps

    def _write(self) -> None:
        """Write the current point into the result."""
        for whole, mine in zip(self.result, (self.V, self.Z), strict=True):
            if mine is not whole:
                whole[:, self.left] = mine

    def _renew_hessians(self, step: int) -> None:
        """After many steps, use the Hessian of each output as its preconditioner, and keep it up to date."""
        wait = self.objective.patience
        if self.objective.hessians is not None:
            wait = max(1, wait // 5)
        if step >= self.renewed + wait:
            self.objective.update_hessians(self.Z)
            self.renewed = step
            self.best[:] = np.inf
            self.idle[:] = 0  # the criterion is now in another norm

    def _gradient(self, *, rough: bool) -> Any:
        """Return the gradient; roughly, by the change since the last step."""
        slopes = self.objective.loss.slopes(self.Z)
        if rough:
            self.sums = self.sums + self.objective.features.combine(slopes - self.slopes, rough=True)
        else:
            self.sums = self.objective.features.combine(slopes)
        self.slopes = slopes
        gradient = self.sums + 0.0
        gradient[:-1] += 2 * self.objective.penalty * self.V[:-1]
        return gradient

    def _unconverged(self, gap: np.ndarray, enough: np.ndarray) -> np.ndarray:
        """Record the stopping criterion; return which outputs need more steps."""
        left = self.left
        self.gaps[left] = gap
        self.idle[left] = np.where(gap < self.best[left], 0, self.idle[left] + 1)
        self.best[left] = np.minimum(gap, self.best[left])
        # steps without progress after which rounding is assumed to be the reason
        return (gap > enough[left]) & (self.idle[left] < 20)

    def _turn(self, gradient: Any, steepest: Any, rho: Any) -> None:
        """Set the next direction: a descent direction, conjugate to the last one."""
        xp = namespace(rho)
        dots = self.objective.dots
        change = rho - dots(self.last_gradient, steepest)
        beta = xp.where(self.rho > 0, change / xp.where(self.rho > 0, self.rho, 1.0), 0.0)
        P = beta.clip(0.0) * self.P - steepest
        self.P = xp.where(dots(P, gradient) < 0, P, -steepest)
        self.last_gradient = gradient
        self.rho = rho

    def _drop_others(self, going: np.ndarray) -> None:
        """Continue with some outputs only."""
        self._write()
        self.left = self.left[going]
        self.objective = self.objective.columns(going)
        self.rho = self.rho[going]
        for name in ("V", "Z", "slopes", "sums", "P", "last_gradient"):
            setattr(self, name, getattr(self, name)[:, going])


def _total_dot(A: Any, B: Any) -> Any:
    """Return the inner product of A and B, repeated for each column."""
    return column_dots(A, B).sum().repeat(A.shape[1])
