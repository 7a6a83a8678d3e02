r"""Conjugate gradients for convex losses of linear scores, with a penalty :math:`\lambda |w|^2` and a free intercept.

Directions are those of Polak and Ribiere, preconditioned: where the losses bend by c on the average, the objective
bends like :math:`c\, F' S F + 2 \lambda`, whichever rows bend, and that matrix is factored once for many steps. The
scores along a direction are known after one product with the features, so that each step goes to the minimum along
it. All outputs move at once: products with the features are products of matrices. (Newton's method with conjugate
gradients inside takes about three times as many products, as it starts anew after each change of the active rows.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from similitude.compute.encodings import as_numpy, namespace
from similitude.linear.factors import EPS, divided, factored
from similitude.linear.line_search import Along, least
from similitude.linear.linear import Linear, check_penalties
from similitude.linear.tensors import AnyFeatures

TOLERANCE = 3e-6
"""How far the objective may be above its minimum, by an estimate, over its value at w = 0."""

ROUGHLY = 1e-8
"""The same for products in float32, which are followed by a look in float64."""

SAFELY = 0.8
"""The part of the tolerance aimed at roughly, so that the look finds it kept."""

MOST_STEPS = 500
"""Steps at most for one penalty; some twenty are usual."""

MOST_IDLE = 20
"""Steps without progress after which rounding is taken to be the reason."""

MOST_OWN = 2**24
"""Entries at most of the factors that outputs have of their own."""

FRESH = 10
"""Steps after which it is looked again how the losses bend."""

FEWER = 0.75
"""The part of the outputs on their way, from which on down the others are left out of products."""

FLAT = 0.05
"""The part of the slope along a direction that may be left at the end of a step."""

Dots = Callable[[np.ndarray, np.ndarray], np.ndarray]

Move = Callable[[np.ndarray], Any]
"""Takes an array to where the features are."""


class Loss(Protocol):
    """The weighted losses of all rows as a function of their scores (n, outputs)."""

    @property
    def pooled(self) -> bool:
        """Whether outputs belong together; where not, each is a problem of its own."""

    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """Return intercepts to start from, and the loss there of each output (or of all, for each)."""

    def slopes(self, Z: np.ndarray) -> np.ndarray:
        """Return the derivative in each score."""

    def seconds(self, Z: np.ndarray) -> np.ndarray:
        """Return the second derivative in each score."""

    def along(self, Z: np.ndarray, D: np.ndarray) -> Along:
        """Return a function of t, one for each output: first and second derivative in t of the loss at Z + t D."""

    def part(self, columns: np.ndarray) -> Loss:
        """Return that of some outputs."""

    def moved(self, move: Move) -> Loss:
        """Return the same with its arrays passed through `move`."""


def apart(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the inner product of each column of A with that of B."""
    return namespace(A).einsum("ij,ij->j", A, B)


def together(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the inner product of A and B, once for each column."""
    return apart(A, B).sum().repeat(A.shape[1])


def minimizers(
    features: AnyFeatures, loss: Loss, penalties: object, start: Linear | None = None, tolerance: float = TOLERANCE
) -> Iterator[Linear]:
    """Yield the minimizer for each penalty, each sought from the one before and the way it came.

    The estimate on which it stops is half the squared gradient in the norm of the preconditioner: what a Newton step
    would gain if all rows bent alike. It is noted on the host; all else is where the features are.
    """
    lams = check_penalties(penalties)
    intercepts, reference = loss.start()
    loss = loss.moved(features.placed)
    V = np.vstack([np.zeros((features.F.shape[1], len(intercepts))), intercepts])
    V = features.placed(V) if start is None else features.stacked(start)
    Z, enough = features.scores(V), np.maximum(tolerance, 4 * EPS) * reference
    before: tuple[np.ndarray, np.ndarray] | None = None
    for lam in lams:
        problem = Problem(features, loss, float(lam))
        last, before = before, (V, Z)
        if last is not None:
            V, Z = problem.moved(V, Z, V - last[0], Z - last[1])
        V, Z, gap = problem.solved(V, Z, enough, reference)
        whole = np.divide(gap, reference, out=np.zeros_like(gap), where=reference > 0)
        yield features.linear(V, float(whole.max()))


class Problem:
    """The objective for one penalty.

    Parameters
    ----------
    features : Features or TensorFeatures
    loss : Loss
    penalty : float
    """

    def __init__(self, features: AnyFeatures, loss: Loss, penalty: float) -> None:
        self.features, self.loss, self.penalty = features, loss, penalty
        self.dots: Dots = together if loss.pooled else apart
        self.level = np.ones(0)
        self.own: list[Any] | None = None

    def solved(
        self, V: np.ndarray, Z: np.ndarray, enough: np.ndarray, reference: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the minimum near V, its scores, and the estimates of what is left."""
        V, Z = V + 0.0, Z + 0.0
        if self.features.single:
            Walk(self, V, Z, rough=True).to(np.maximum(SAFELY * enough, ROUGHLY * reference))
            Z = self.features.scores(V)
        return V, Z, Walk(self, V, Z, rough=False).to(enough)

    def part(self, columns: np.ndarray) -> Problem:
        """Return that of some outputs."""
        answer = Problem(self.features, self.loss.part(columns), self.penalty)
        answer.level = self.level[columns]
        answer.own = None if self.own is None else [self.own[j] for j in columns]
        return answer

    @property
    def patience(self) -> int:
        """Steps that cost about as much as the factors of each output's own second derivative."""
        d, outputs = self.features.F.shape[1], len(self.level)
        if outputs * d * d > MOST_OWN:
            return MOST_STEPS
        return 10 + d * (min(outputs, 5) if self.loss.pooled else 1) // 30

    def look(self, Z: np.ndarray) -> None:
        """Note how much the losses bend on the average at some scores."""
        self.level = (self.loss.seconds(Z).sum(0) / self.features.total).clip(EPS)

    def look_closely(self, Z: np.ndarray) -> None:
        """Factor the second derivative of each output by itself."""
        more = np.full(self.features.F.shape[1] + 1, 2 * self.penalty)
        more[-1] = 0.0
        more = self.features.placed(more)
        self.own = [factored(self.features.bent(c), more) for c in self.loss.seconds(Z).T]

    def precondition(self, R: np.ndarray) -> np.ndarray:
        """Return R divided by c F' S F + 2 lam, or by the second derivative where it was looked at closely."""
        xp = namespace(R)
        if self.own is not None:
            return xp.stack([divided(factor, R[:, j]) for j, factor in enumerate(self.own)], axis=1)
        answer = xp.empty_like(R)
        answer[:-1] = self.features.factors.solve(2 * self.penalty / self.level, R[:-1])
        answer[-1] = R[-1] / self.features.total
        answer /= self.level
        return answer

    def moved(self, V: np.ndarray, Z: np.ndarray, P: np.ndarray, D: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the minimum along P, whose scores are D, and its scores."""
        t = self._length(V, Z, P, D)
        return V + t * P, Z + t * D

    def _length(self, V: np.ndarray, Z: np.ndarray, P: np.ndarray, D: np.ndarray) -> np.ndarray:
        """Return how far to go along P for each output."""
        along = self.loss.along(Z, D)
        rise, bend = (2 * self.penalty * self.dots(A[:-1], P[:-1]) for A in (V, P))

        def derivatives(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            slope, curve = along(t)
            return slope + rise + t * bend, curve + bend

        return least(derivatives, namespace(P).zeros_like(P[0]), FLAT)


class Walk:
    """The way from V down to the minimum; outputs that have arrived leave it, some at a time.

    Parameters
    ----------
    problem : Problem
    V, Z : array
        Where it starts, and the scores there; both are moved.
    rough : bool
        Whether what a step adds to scores and gradients is computed in the precision of the features.
    """

    def __init__(self, problem: Problem, V: np.ndarray, Z: np.ndarray, *, rough: bool) -> None:
        self.problem, self.rough = problem, rough
        self.whole = V, Z
        self.V, self.Z, self.left = V, Z, np.arange(V.shape[1])
        self.gaps, self.best, self.idle = (np.full(V.shape[1], value) for value in (np.inf, np.inf, 0.0))
        xp = namespace(V)
        self.R, self.pull, self.seen = xp.zeros_like(Z), xp.zeros_like(V), 0
        self.P, self.old, self.rho = xp.zeros_like(V), xp.zeros_like(V), xp.full_like(V[0], np.inf)

    def to(self, enough: np.ndarray) -> np.ndarray:
        """Go on until the estimates are small enough for each output; return them."""
        for step in range(MOST_STEPS):
            gradient = self._gradient(rough=self.rough and step > 0)
            if step % FRESH == 0 and self.problem.own is None:
                self.problem.look(self.Z)
            self._look_closely(step)
            steepest = self.problem.precondition(gradient)
            rho = self.problem.dots(gradient, steepest)
            going = self._noted(as_numpy(rho) / 2, enough)
            if not going.any():
                break
            self._turn(gradient, steepest, rho)
            if going.mean() <= FEWER:
                self._leave(np.flatnonzero(going))
            D = self.problem.features.scores(self.P, rough=self.rough)
            self.V, self.Z = self.problem.moved(self.V, self.Z, self.P, D)
        self._write()
        return self.gaps

    def _write(self) -> None:
        """Write where the outputs on their way are by now."""
        for whole, mine in zip(self.whole, (self.V, self.Z), strict=True):
            if mine is not whole:
                whole[:, self.left] = mine

    def _look_closely(self, step: int) -> None:
        """Where it takes long, make each output's own second derivative the preconditioner, and keep it up to date."""
        wait = self.problem.patience
        if self.problem.own is not None:
            wait = max(1, wait // 5)
        if step >= self.seen + wait:
            self.problem.look_closely(self.Z)
            self.seen, self.best[:], self.idle[:] = step, np.inf, 0  # estimates now mean something else

    def _gradient(self, *, rough: bool) -> np.ndarray:
        """Return the gradient; roughly, what the last step added to it."""
        R = self.problem.loss.slopes(self.Z)
        change = self.problem.features.combine(R - self.R if rough else R, rough=rough)
        self.R, self.pull = R, self.pull + change if rough else change
        gradient = self.pull + 0.0
        gradient[:-1] += 2 * self.problem.penalty * self.V[:-1]
        return gradient

    def _noted(self, gap: np.ndarray, enough: np.ndarray) -> np.ndarray:
        """Note the estimates; return which outputs go on."""
        left = self.left
        self.gaps[left] = gap
        self.idle[left] = np.where(gap < self.best[left], 0, self.idle[left] + 1)
        self.best[left] = np.minimum(gap, self.best[left])
        return (gap > enough[left]) & (self.idle[left] < MOST_IDLE)

    def _turn(self, gradient: np.ndarray, steepest: np.ndarray, rho: np.ndarray) -> None:
        """Take the next direction: down the gradient, and conjugate to the last."""
        xp, dots = namespace(rho), self.problem.dots
        along = rho - dots(self.old, steepest)
        beta = xp.where(self.rho > 0, along / xp.where(self.rho > 0, self.rho, 1.0), 0.0)
        P = beta.clip(0.0) * self.P - steepest
        self.P = xp.where(dots(P, gradient) < 0, P, -steepest)
        self.old, self.rho = gradient, rho

    def _leave(self, going: np.ndarray) -> None:
        """Go on with some outputs only."""
        self._write()
        self.left, self.problem, self.rho = self.left[going], self.problem.part(going), self.rho[going]
        self.V, self.Z, self.R = self.V[:, going], self.Z[:, going], self.R[:, going]
        self.pull, self.P, self.old = self.pull[:, going], self.P[:, going], self.old[:, going]
