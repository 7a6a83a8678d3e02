r"""Scale, penalty and number of landmarks of a kernel, chosen on pilot rows by Cholesky factors.

The kernel has a unit diagonal. A trial is exact ridge regression on p pilot rows. It is evaluated on the second half of
these, or on all if there are few, each left out alone, and on the other pilot rows. With
:math:`G = K + \lambda \operatorname{diag}(1/w) = L L^\top` the residual of row i in a fit without it is
:math:`(G^{-1} y)_i / (G^{-1})_{ii}`, for which the last block of L suffices; and the first block is the factor of the
first half of the rows, so that the losses of models of p/2 and of p rows come from one factor. (An unpenalized constant
is added.) With n rows, a narrower scale or another penalty may be better than with p. So both are
compared by losses that are extrapolated to n rows: these are expected to fall as fast with each further doubling as
with the last. The last step is a parabola through the losses at neighbors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import LinAlgError

from similitude.evaluation import PENALTIES, Search, between_penalties, downhill, nearest_place, vertex
from similitude.fitting.choices import scaled
from similitude.landmarks import Factor, factor_of_landmarks, solve_rows, solver
from similitude.linear import ByCholesky, GramFactor, Moments, Ridge, gram_precision
from similitude.similarity import Similarity, remembered_images

PILOT_STAGES = (500, 1_000, 1_500)
"""Most rows that are fitted to compare scales, then those near the best one, and then penalties."""

PILOT_MULTIPLES = 2.0 ** np.arange(-4.0, 2.01, 0.25)
MEDIAN_SCALE = 16
OCTAVE = 4
"""Multiples of the median scale, the position of the median among them, and the stride of trials: a factor of 2."""

MOST_PREDICTED = 1_800
"""Most pilot rows that are predicted besides."""

FITTED_OUTPUTS = 32
"""Columns of targets up to which each is fitted; of more, as many random combinations."""

LANDMARKS_FACTOR = 2
"""How many times the number of landmarks that suffices for the pilot is used."""


@dataclass(frozen=True)
class PilotChoice:
    """What pilot rows decide.

    The last of the compared numbers of landmarks is that of all fitted pilot rows. `enough` is the first one that does
    as well, if any does.
    """

    similarity: Similarity
    penalty: float
    n_scales: int
    sizes: list[int]
    losses: list[float]
    deviations: list[float]
    enough: int | None


def choose_on_pilot(
    k: Similarity, scales: list[str], objects: Any, Y: np.ndarray, weights: np.ndarray, n: int, exact: bool
) -> PilotChoice:
    """Choose by the mean squared error of pilot rows, each predicted without its own target.

    The kernel is resolved, and has a unit diagonal; `scales` are the parameters that are multiplied. In an `exact` fit
    of n rows every fitted pilot row is a landmark.
    """
    rows = PilotTargets(few_outputs(Y), weights, n)
    kind: type[Trials] = PenaltyTrials if exact else LandmarkTrials
    first, second, *last = [partial(kind.of, objects=objects, rows=rows, size=size) for size in kind.stages]
    with remembered_images():
        if scales:
            few = _scale_search(k, scales, first, 2, {})
            starts = (MEDIAN_SCALE, MEDIAN_SCALE - 2 * OCTAVE, MEDIAN_SCALE + 2 * OCTAVE)
            at = downhill(few.loss, min(starts, key=few.loss), OCTAVE)
            known = {i: place for i, (_, place) in few.tried.items()}
            more = _scale_search(k, scales, second, kind.second_step, known)
            at = downhill(more.loss, min((at,), key=more.loss), OCTAVE)
            near = at + round(OCTAVE * vertex(*(more.loss(at + by) for by in (-OCTAVE, 0, OCTAVE))))
            trials, place = more[min((at, near), key=more.loss)]
            for final in last:
                trials = final(trials.k)
                place = trials.best(place, 1)
        else:
            trials = [second, *last][-1](k)
            place = trials.best(trials.best(nearest_place(1e-2), 2), 1)
    n_scales = len(PILOT_MULTIPLES) if scales else 1
    return PilotChoice(trials.k, trials.final_penalty(place), n_scales, *trials.numbers(place))


def few_outputs(Y: np.ndarray) -> np.ndarray:
    """Return targets, or, if there are many, their components in random directions.

    The squared length of a residual is that of its components in expectation, so that a choice takes the same time for
    any number of classes.
    """
    if Y.shape[1] <= FITTED_OUTPUTS:
        return Y
    directions = np.random.default_rng(0).standard_normal((Y.shape[1], FITTED_OUTPUTS))
    return np.asarray(Y @ directions) / np.sqrt(FITTED_OUTPUTS)


def _scale_search(
    k: Similarity, scales: list[str], trials_of: Callable[[Similarity], Trials], step: int, known: dict[int, int]
) -> Search:
    """Return a search over scales for the trials of each, and the place of its best penalty.

    Penalties are searched with a stride, from that of the nearest scale whose best place is known.
    """

    def make(i: int) -> tuple[Trials, int]:
        trials = trials_of(scaled(k, scales, float(PILOT_MULTIPLES[i])))
        nearest = min(known, key=lambda j: abs(j - i), default=None)
        known[i] = trials.best(nearest_place(1e-2) if nearest is None else known[nearest], step)
        return trials, known[i]

    return Search(make, range(len(PILOT_MULTIPLES)), lambda found: found[0].extrapolated(found[1]))


@dataclass(frozen=True, eq=False)
class PilotTargets:
    """Targets and weights of pilot rows, and the number of rows of the fit."""

    Y: np.ndarray
    weights: np.ndarray
    n: int

    @cached_property
    def mean(self) -> np.ndarray:
        """The weighted mean of the targets."""
        return np.asarray(np.average(self.Y, axis=0, weights=self.weights))

    def loss(self, residuals: np.ndarray) -> float:
        """Return the weighted mean of the squared errors of the last rows."""
        return float(np.average(np.square(residuals).sum(axis=1), weights=self.weights[-len(residuals) :]))


class Trials:
    """The errors of pilot rows by penalty, under a model of all fitted rows and under one of half of them.

    A subclass computes them for a penalty (`_residuals`). Losses are extrapolated over at most `most_doublings`
    doublings of the rows, each of which leaves the share `steepest` of the loss at least. At the smallest penalty they
    are not extrapolated: the loss may fall only because a still smaller penalty would be better.
    """

    steepest = 0.6
    most_doublings = 2.0
    little = 0.0  # the part of the loss that landmarks may lose besides
    stages: ClassVar[tuple[Any, ...]]
    second_step = 1  # the stride between penalties near the best scale

    def __init__(self, k: Similarity, rows: PilotTargets, n_fitted: int, most_landmarks: int) -> None:
        self.k = k
        self.rows = rows
        self.n_fitted = n_fitted
        self.most_landmarks = most_landmarks
        self.search = Search(lambda place: self._residuals(float(PENALTIES[place])), loss=lambda one: rows.loss(one[0]))
        self.loss = self.search.loss

    @classmethod
    def of(cls, k: Similarity, objects: Any, rows: PilotTargets, size: Any) -> Trials:
        """Compute the similarities of a stage."""
        raise NotImplementedError

    def final_penalty(self, start: int) -> float:
        """Return the penalty of the fit, from the position of the best one on."""
        raise NotImplementedError

    def best(self, start: int, step: int) -> int:
        """Return the position of the best penalty, downhill from a start; of ties, within 0.1 %, the largest."""
        return downhill(self.loss, start, step, 1.001)

    def further(self, place: int) -> float:
        """Return the loss at a position, extrapolated over half of the doublings; infinite if there is none there.

        With all of them small penalties would gain too much: under these, models of few rows overfit.
        """
        loss = self.loss(place)
        return float(np.sqrt(loss * self.extrapolated(place, 0.0))) if np.isfinite(loss) else loss

    def extrapolated(self, place: int, steepest: float | None = None) -> float:
        """Return the loss at a penalty, extrapolated to the number of rows of the fit."""
        left, without = self.search[place]
        whole = self.rows.loss(left[-len(without) :])
        half = self.rows.loss(without)
        if steepest is None:  # at the best penalties of both
            steepest = self.steepest
            half = min([self.rows.loss(one) for _, one in self.search.tried.values()])
        if not 0 < half < np.inf or place == 0:
            return self.loss(place)
        doublings = min(np.log2(self.rows.n / self.n_fitted), self.most_doublings)
        return self.loss(place) * float(np.clip(whole / half, steepest, 1.0) ** doublings)

    def numbers(self, place: int) -> tuple[list[int], list[float], list[float], int | None]:
        """Return numbers of landmarks with their losses and standard errors, and the first one that is enough."""
        everything = self.search[place][0]
        tried = []
        # standard errors of the loss, had it been that of all rows, that landmarks may lose against all pilot rows
        allowed = 0.1 * float(np.std(np.square(everything).sum(axis=1))) / np.sqrt(self.rows.n)
        allowed = self.loss(place) + max(allowed, self.little * self.loss(place))
        enough = None
        m = 100
        while enough is None and 2 * m <= self.most_landmarks:
            tried.append((m, self._with_landmarks(m, float(PENALTIES[place]))))
            if self.rows.loss(tried[-1][1]) <= allowed:
                enough = m
            m *= 2
        sizes, residuals = zip(*tried, (self.most_landmarks, everything), strict=True)
        deviations = [float(np.std(np.square(one).sum(axis=1))) / np.sqrt(len(one)) for one in residuals]
        return list(sizes), [self.rows.loss(one) for one in residuals], deviations, enough

    def _residuals(self, penalty: float) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError

    def _with_landmarks(self, m: int, penalty: float) -> np.ndarray:
        raise NotImplementedError


class PenaltyTrials(Trials):
    """Trials of exact ridge regression on pilot rows, from the similarities of all to those that are fitted."""

    stages = PILOT_STAGES

    def __init__(self, k: Similarity, K: np.ndarray, rows: PilotTargets) -> None:
        super().__init__(k, rows, K.shape[1], K.shape[1])
        self.K = K

    @classmethod
    def of(cls, k: Similarity, objects: Any, rows: PilotTargets, size: int) -> PenaltyTrials:
        """Compute the similarities to the rows that are fitted."""
        A = np.asarray(k.encode(objects), dtype=np.float64)[: size + MOST_PREDICTED]
        return cls(k, np.asarray(k.block(A, A[:size])), PilotTargets(rows.Y[: len(A)], rows.weights[: len(A)], rows.n))

    def final_penalty(self, start: int) -> float:
        """Return the penalty with the smallest extrapolated loss, between positions by a parabola, from a start.

        The penalty that is best for the pilot rows may be too small or too large for all rows.
        """
        return between_penalties(self.further, downhill(self.further, start))

    @property
    def start(self) -> int:
        """The first row that is evaluated: of few rows all are, of many the second half of those that are fitted."""
        p = self.n_fitted
        return p // 2 if len(self.K) - p >= p // 2 else 0

    def _residuals(self, penalty: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the residuals under a model of all fitted rows, each left out alone, and of the first half of them."""
        p = self.n_fitted
        half = p // 2
        weights = self.rows.weights
        G: np.ndarray = self.K[:p].astype(gram_precision(penalty))
        factor = GramFactor.of(G, penalty * np.asarray(weights.mean() / weights)[:p])
        Y = self.rows.Y - self.rows.mean
        whole, left = factor.fit(Y[:p], constant=True, n=p - self.start)
        first, _ = factor.first(half).fit(Y[:half], constant=True)
        others = Y[p:] - whole.scores(self.K[p:])
        return np.concatenate([left, others]), Y[half:] - first.scores(self.K[half:, :half])

    def _with_landmarks(self, m: int, penalty: float) -> np.ndarray:
        """Return the residuals of the same rows with the first of the fitted rows as landmarks."""
        p = self.n_fitted
        Y = self.rows.Y
        weights = self.rows.weights
        evaluated = slice(self.start, p)
        factor = factor_of_landmarks(self.K[:m, :m], False)
        assert factor is not None
        F = solve_rows(np.ascontiguousarray(self.K[:, factor.pivots]), solver(factor.U, factor.U.dtype))
        lam = penalty * float(weights.mean())
        ridge = Ridge(Moments.of(F[:p], Y[:p], weights[:p]), lam)
        (left,) = ridge.left_out(F[evaluated], Y[evaluated], weights[evaluated])([lam])
        if np.isnan(left.loss):
            return np.full_like(Y[self.start :], np.inf)
        return np.concatenate([left.scores, ridge.fit(lam).scores(F[p:])]) - Y[self.start :]


SINGLE_PIVOT = 1e-4
"""The smallest squared length that a landmark may add to the span of others if single precision is to be used."""


def factor_of_distinct(M: np.ndarray) -> Factor:
    """Return the factor of the Gram matrix of landmarks, without the few that nearly repeat others."""
    factor = factor_of_landmarks(M, False)
    assert factor is not None
    distinct = factor.U.diagonal() ** 2 >= SINGLE_PIVOT
    # the part of the landmarks that may be left out because they add less than this
    if distinct.all() or np.count_nonzero(~distinct) > 0.1 * len(M):
        return factor
    kept = np.sort(factor.pivots[distinct])
    again = factor_of_landmarks(M[np.ix_(kept, kept)], False)
    assert again is not None
    return Factor(again.U, kept[again.pivots], again.residual)


def working_precision(k: Similarity, A: np.ndarray, U: np.ndarray) -> type:
    """Return single precision if it leaves enough digits: of the rows, and of what each landmark adds to the span."""
    # rows whose similarities are computed in both precisions, and by how much these may differ
    some = A[:100]
    single = some.astype(np.float32)
    lost = np.abs(k.block(some, some) - k.block(single, single)).max()
    enough = lost <= 1e-6 and float(U.diagonal().min()) ** 2 >= SINGLE_PIVOT
    return np.float32 if enough else np.float64


class LandmarkTrials(Trials):
    """Trials of ridge regression on the features of landmarks, evaluated on rows that are not fitted.

    `F` are the features of these, and `half` and `whole` the moments of half of the fitted rows and of all.
    """

    # the least share of the loss that may remain when landmarks and rows double
    steepest = 0.25
    most_doublings = 1.0
    # the part of the loss that landmarks may lose against all that are tried: twice as many are used
    little = 0.005
    # landmarks and rows of the fits that compare scales, and then those near the best one
    stages = ((200, 1_600), (800, 3_200))
    second_step = 2

    def __init__(
        self, k: Similarity, F: np.ndarray, half: Moments, whole: Moments, rows: PilotTargets, n_fitted: int
    ) -> None:
        super().__init__(k, rows, n_fitted, F.shape[1])
        self.F = F
        self.half = half
        self.whole = whole

    @classmethod
    def of(cls, k: Similarity, objects: Any, rows: PilotTargets, size: tuple[int, int]) -> LandmarkTrials:
        """Compute the features, and the sums over half of the fitted rows and over all of them."""
        m, n = size
        A = np.asarray(k.encode(objects), dtype=np.float64)[: n + MOST_PREDICTED]
        factor = factor_of_distinct(np.asarray(k.block(A[:m], A[:m])))
        A = A.astype(working_precision(k, A, factor.U), copy=False)
        F = solve_rows(np.asarray(k.block(A, A[factor.pivots])), solver(factor.U, A.dtype))
        Y = rows.Y - rows.mean
        half, rest = [Moments.of(F[part], Y[part], rows.weights[part]) for part in (slice(n // 2), slice(n // 2, n))]
        return cls(k, F[n:], half, half + rest, PilotTargets(Y[n : len(A)], rows.weights[n : len(A)], rows.n), n)

    def final_penalty(self, start: int) -> float:
        """Return the best penalty, between positions by a parabola."""
        return between_penalties(self.loss, start)

    def _residuals(self, penalty: float) -> tuple[np.ndarray, np.ndarray]:
        half = self._without(self.half, self.most_landmarks // 2, 2 * penalty)
        return self._with_landmarks(self.most_landmarks, penalty), half

    def _with_landmarks(self, m: int, penalty: float) -> np.ndarray:
        return self._without(self.whole, m, penalty)

    def _without(self, moments: Moments, m: int, penalty: float) -> np.ndarray:
        """Return the residuals of rows that are not fitted, by the first m features."""
        some = moments.first(m)
        try:
            W = ByCholesky(*some.centered()).solve(penalty * moments.weight / self.n_fitted)
        except LinAlgError:  # the penalty is below rounding
            return np.full_like(self.rows.Y, np.inf)
        constant = some.targets / some.weight - some.features / some.weight @ W
        return np.asarray(self.rows.Y - constant - self.F[:, :m] @ W.astype(self.F.dtype))
