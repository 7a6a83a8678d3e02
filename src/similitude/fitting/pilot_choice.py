r"""Scale, penalty and number of landmarks of a kernel, chosen on pilot rows by Cholesky factors.

The kernel has a unit diagonal. A trial is exact ridge regression on p pilot rows. It is judged by the second half of
these, or by all if there are few, each left out alone, and by the other pilot rows. With
:math:`G = K + \lambda \operatorname{diag}(1/w) = L L^\top` the residual of row i in a fit without it is
:math:`(G^{-1} y)_i / (G^{-1})_{ii}`, for which the last block of L suffices; and the first block is the factor of the
first half of the rows, so that the losses of models of p/2 and of p rows come from one factor. (An unpenalized constant
is added.) With n rows, a narrower scale or another penalty may be better than with p. So both are
compared by losses that are extrapolated to n rows: these are expected to fall as fast with each further doubling as
with the last. The last step is a parabola through the losses at neighbors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import LinAlgError

from similitude.fitting.choices import scaled
from similitude.landmarks import Factor, factor_of_landmarks, solve_rows, solver
from similitude.linear import (
    PENALTIES,
    ByCholesky,
    GramFactor,
    Moments,
    Ridge,
    between_penalties,
    downhill,
    gram_precision,
    nearest_place,
    vertex,
)
from similitude.similarity import Similarity, remembered_images

PILOT_STAGES = (500, 1_000, 1_500)
"""Most rows that are fitted to compare scales, then those near the best one, and then penalties."""

LANDMARK_STAGES = ((200, 1_600), (800, 3_200))
"""Landmarks and rows of the fits that compare scales, and then those near the best one."""

PILOT_MULTIPLES = 2.0 ** np.arange(-4.0, 2.01, 0.25)
MEDIAN_SCALE = 16
OCTAVE = 4
"""Multiples of the median scale, the position of the median among them, and the stride of trials: a factor of 2."""

FIRST_SCALES = MEDIAN_SCALE, MEDIAN_SCALE - 2 * OCTAVE, MEDIAN_SCALE + 2 * OCTAVE
"""Positions of the scales that are tried first."""

MOST_PREDICTED = 1_800
"""Most pilot rows that are predicted besides."""

JUDGED_OUTPUTS = 32
"""Columns of targets up to which each is fitted; of more, as many random combinations."""

FIRST_PLACE = nearest_place(1e-2)
"""The position of the penalty that is tried first."""

LANDMARKS_FACTOR = 2
"""The number of landmarks that is tried first, and how many times the number that suffices for the pilot is used."""


@dataclass(frozen=True)
class PilotChoice:
    """What pilot rows decide.

    Attributes
    ----------
    similarity : Similarity
        At the best scale.
    penalty : float
    n_scales : int
        How many scales were compared.
    sizes, losses, deviations : list
        Numbers of landmarks that were compared, the last of which are all fitted pilot rows, with the loss of each and
        its standard error.
    enough : int or None
        The first number that does as well as all pilot rows; None if none does.
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

    Parameters
    ----------
    k : Similarity
        A kernel with a unit diagonal, resolved.
    scales : list of str
        The parameters that are multiplied; none if the scale was given.
    objects : sequence
        The pilot rows.
    Y, weights : array
        Their targets and weights.
    n : int
        The number of rows of the fit.
    exact : bool
        Whether every fitted pilot row is a landmark.
    """
    rows = PilotTargets(few_outputs(Y), weights, n)
    kind: type[Trials] = PenaltyTrials if exact else LandmarkTrials
    first, second, *last = [partial(kind.of, objects=objects, rows=rows, size=size) for size in kind.stages]
    with remembered_images():
        if scales:
            few = ScaleTrials(k, scales, first, 2)
            best = few.best(FIRST_SCALES)
            more = ScaleTrials(k, scales, second, kind.second_step, few.penalties)
            trials, place = more.found[more.between(more.best((best,)))]
            for final in last:
                trials = final(trials.k)
                place = trials.best(place, 1)
        else:
            trials = [second, *last][-1](k)
            place = trials.best(trials.best(FIRST_PLACE, 2), 1)
    n_scales = 1
    if scales:
        n_scales = len(PILOT_MULTIPLES)
    return PilotChoice(trials.k, trials.final_penalty(place), n_scales, *trials.numbers(place))


def few_outputs(Y: np.ndarray) -> np.ndarray:
    """Return targets, or, if there are many, their components in random directions.

    The squared length of a residual is that of its components in expectation, so that what is chosen takes the same
    time for any number of classes.
    """
    if Y.shape[1] <= JUDGED_OUTPUTS:
        return Y
    directions = np.random.default_rng(0).standard_normal((Y.shape[1], JUDGED_OUTPUTS))
    return np.asarray(Y @ directions) / np.sqrt(JUDGED_OUTPUTS)


@dataclass(eq=False)
class ScaleTrials:
    """The best penalty, and its loss, at each scale.

    `trials_of` makes the trials of a similarity, `step` is the stride between penalties, and `penalties` are positions
    from which to start, by scale, if known.
    """

    k: Similarity
    scales: list[str]
    trials_of: Callable[[Similarity], Trials]
    step: int
    penalties: dict[int, int] = field(default_factory=dict)
    found: dict[int, tuple[Trials, int]] = field(default_factory=dict)

    def loss(self, i: int) -> float:
        """Return the extrapolated loss at a scale, given its position; infinite if there is none there."""
        if not 0 <= i < len(PILOT_MULTIPLES):
            return np.inf
        if i not in self.found:
            trials = self.trials_of(scaled(self.k, self.scales, float(PILOT_MULTIPLES[i])))
            nearest = min(self.penalties, key=lambda j: abs(j - i), default=None)
            start = FIRST_PLACE if nearest is None else self.penalties[nearest]
            place = trials.best(start, self.step)
            self.found[i] = (trials, place)
            self.penalties = self.penalties | {i: place}
        trials, place = self.found[i]
        return trials.extrapolated(place)

    def best(self, starts: tuple[int, ...]) -> int:
        """Return the position of a scale better than half and twice as much, downhill from the best of some."""
        return downhill(self.loss, min(starts, key=self.loss), OCTAVE)

    def between(self, i: int) -> int:
        """Return the position of a scale near the i-th, where the parabola through its neighbors is least, or i."""
        j = i + round(OCTAVE * vertex(*(self.loss(i + by) for by in (-OCTAVE, 0, OCTAVE))))
        return min((i, j), key=self.loss)


@dataclass(frozen=True, eq=False)
class PilotTargets:
    """Targets and weights of pilot rows, and the number of rows of the fit."""

    Y: np.ndarray
    weights: np.ndarray
    n: int

    def first(self, n: int) -> PilotTargets:
        """Return those of the first rows."""
        return PilotTargets(self.Y[:n], self.weights[:n], self.n)

    @cached_property
    def mean(self) -> np.ndarray:
        """The weighted mean of the targets."""
        return np.asarray(np.average(self.Y, axis=0, weights=self.weights))

    @property
    def inverse_weights(self) -> np.ndarray:
        """What the penalty is multiplied by for each row."""
        return np.asarray(self.weights.mean() / self.weights)

    def loss(self, residuals: np.ndarray) -> float:
        """Return the weighted mean of the squared errors of the last rows."""
        return float(np.average(np.square(residuals).sum(axis=1), weights=self.weights[-len(residuals) :]))


class Trials:
    """The errors of pilot rows by penalty, under a model of all fitted rows and under one of half of them.

    A subclass computes them for a penalty (`_residuals`). Losses are extrapolated over at most `most_doublings`
    doublings of the rows, each of which leaves the share `steepest` of the loss at least. At the smallest penalty they
    are not extrapolated: the loss may fall only because a still smaller penalty would be better.
    """

    # doublings over which the loss is extrapolated at most, and the least share of it that may remain after each
    steepest = 0.6
    most_doublings = 2.0
    little = 0.0  # the part of the loss that landmarks may lose besides
    k: Similarity
    rows: PilotTargets
    n_fitted: int
    most_landmarks: int
    tried: dict[int, tuple[np.ndarray, np.ndarray]]
    stages: ClassVar[tuple[Any, ...]]
    second_step = 1  # the stride between penalties near the best scale

    @classmethod
    def of(cls, k: Similarity, objects: Any, rows: PilotTargets, size: Any) -> Trials:
        """Compute the similarities of a stage."""
        raise NotImplementedError

    def final_penalty(self, start: int) -> float:
        """Return the penalty of the fit, from the position of the best one on."""
        raise NotImplementedError

    def loss(self, place: int) -> float:
        """Return the loss at a penalty, given its position; infinite if there is none there."""
        if 0 <= place < len(PENALTIES):
            return self.rows.loss(self.residuals(place)[0])
        return np.inf

    def best(self, start: int, step: int) -> int:
        """Return the position of the best penalty, downhill from a start; of ties it is the largest."""
        # A larger penalty is preferred if its loss is at most this many times the smallest
        return downhill(self.loss, start, step, 1.001)

    def _further(self, place: int) -> float:
        """Return the loss at a position, extrapolated over half of the doublings; infinite if there is none there.

        With all of them small penalties would gain too much: under these, models of few rows overfit.
        """
        there = 0 <= place < len(PENALTIES)
        if there:
            return float(np.sqrt(self.loss(place) * self.extrapolated(place, 0.0)))
        return np.inf

    def extrapolated(self, place: int, steepest: float | None = None) -> float:
        """Return the loss at a penalty, extrapolated to the number of rows of the fit."""
        left, without = self.residuals(place)
        whole = self.rows.loss(left[-len(without) :])
        half = self.rows.loss(without)
        if steepest is None:  # at the best penalties of both
            steepest = self.steepest
            half = min([self.rows.loss(one) for _, one in self.tried.values()])
        if not 0 < half < np.inf or place == 0:
            return self.loss(place)
        doublings = min(np.log2(self.rows.n / self.n_fitted), self.most_doublings)
        return self.loss(place) * float(np.clip(whole / half, steepest, 1.0) ** doublings)

    def residuals(self, place: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the residuals at a penalty under models of all fitted rows and of half of them."""
        if place not in self.tried:
            self.tried[place] = self._residuals(float(PENALTIES[place]))
        return self.tried[place]

    def numbers(self, place: int) -> tuple[list[int], list[float], list[float], int | None]:
        """Return numbers of landmarks with their losses and standard errors, and the first one that is enough."""
        residuals = [self.residuals(place)[0]]
        most = self.most_landmarks
        sizes = [most]
        # standard errors of the loss, had it been that of all rows, that landmarks may lose against all pilot rows
        allowed = 0.1 * float(np.std(np.square(residuals[0]).sum(axis=1))) / np.sqrt(self.rows.n)
        allowed = max(allowed, self.little * self.rows.loss(residuals[0]))
        # the number of landmarks that is tried first, and how many times the number that suffices for the pilot is
        # used
        m = 100
        enough = None
        while enough is None and 2 * m <= most:
            residuals.insert(-1, self._with_landmarks(m, float(PENALTIES[place])))
            sizes.insert(-1, m)
            enough = None
            if self.rows.loss(residuals[-2]) <= self.rows.loss(residuals[-1]) + allowed:
                enough = m
            m *= 2
        losses = [self.rows.loss(one) for one in residuals]
        deviations = [float(np.std(np.square(one).sum(axis=1))) / np.sqrt(len(one)) for one in residuals]
        return sizes, losses, deviations, enough

    def _residuals(self, penalty: float) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError

    def _with_landmarks(self, m: int, penalty: float) -> np.ndarray:
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class PenaltyTrials(Trials):
    """Trials of exact ridge regression on pilot rows; see the module."""

    k: Similarity
    K: np.ndarray  # of all pilot rows with those that are fitted
    rows: PilotTargets
    tried: dict[int, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    stages = PILOT_STAGES

    @classmethod
    def of(cls, k: Similarity, objects: Any, rows: PilotTargets, size: int) -> PenaltyTrials:
        """Compute the similarities to the rows that are fitted."""
        A = np.asarray(k.encode(objects), dtype=np.float64)[: size + MOST_PREDICTED]
        return cls(k, np.asarray(k.block(A, A[:size])), rows.first(len(A)))

    def final_penalty(self, start: int) -> float:
        """Return the penalty with the smallest extrapolated loss, between positions by a parabola, from a start.

        The penalty that is best for the pilot rows may be too small or too large for all rows.
        """
        return between_penalties(self._further, downhill(self._further, start, 1))

    @property
    def n_fitted(self) -> int:  # type: ignore[override]
        """The number of fitted rows."""
        return self.K.shape[1]

    most_landmarks = n_fitted

    @property
    def start(self) -> int:
        """The first row that judges: of few rows all do, of many the second half of those that are fitted."""
        p = self.n_fitted
        if len(self.K) - p >= p // 2:
            return p // 2
        return 0

    def _residuals(self, penalty: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the residuals under a model of all fitted rows, each left out alone, and of the first half of them."""
        p = self.K.shape[1]
        rows = self.rows
        half = p // 2
        G: np.ndarray = self.K[:p].astype(gram_precision(penalty))
        factor = GramFactor.of(G, penalty * rows.inverse_weights[:p])
        Y = rows.Y - rows.mean
        whole, left = factor.fit(Y[:p], constant=True, n=p - self.start)
        first, _ = factor.first(half).fit(Y[:half], constant=True)
        others = Y[p:] - whole.scores(self.K[p:])
        return np.concatenate([left, others]), Y[half:] - first.scores(self.K[half:, :half])

    def _with_landmarks(self, m: int, penalty: float) -> np.ndarray:
        """Return the residuals of the same rows with the first of the fitted rows as landmarks."""
        p = self.n_fitted
        rows = self.rows
        start = self.start
        factor = factor_of_landmarks(self.K[:m, :m], False)
        assert factor is not None
        F = solve_rows(np.ascontiguousarray(self.K[:, factor.pivots]), solver(factor.U, factor.U.dtype))
        lam = penalty * float(rows.weights.mean())
        ridge = Ridge(Moments.of(F[:p], rows.Y[:p], rows.weights[:p]), lam)
        left = ridge.left_out(F[start:p], rows.Y[start:p], rows.weights[start:p])(lam)
        if left is None:
            return np.full((len(F) - start, rows.Y.shape[1]), np.inf)
        return np.concatenate([left.scores, ridge.fit(lam).scores(F[p:])]) - rows.Y[start:]


SINGLE_PIVOT = 1e-4
"""The smallest squared length that a landmark may add to the span of others if single precision is to be used."""

ROWS_IN_BOTH = 100
"""Rows whose similarities are computed in both precisions, and by how much these may differ."""


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
    some = A[:ROWS_IN_BOTH]
    single = A[:ROWS_IN_BOTH].astype(np.float32)
    lost = np.abs(k.block(some, some) - k.block(single, single)).max()
    # rows whose similarities are computed in both precisions, and by how much these may differ
    if lost <= 1e-6 and float(U.diagonal().min()) ** 2 >= SINGLE_PIVOT:
        return np.float32
    return np.float64


@dataclass(frozen=True, eq=False)
class LandmarkTrials(Trials):
    """Trials of ridge regression on the features of landmarks, judged by rows that are not fitted."""

    k: Similarity
    judged: np.ndarray  # features of the rows that judge
    half: Moments
    whole: Moments
    rows: PilotTargets  # of the rows that judge
    n_fitted: int
    tried: dict[int, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    # the least share of the loss that may remain when landmarks and rows double
    steepest = 0.25
    most_doublings = 1.0
    # the part of the loss that landmarks may lose against all that are tried: twice as many are used
    little = 0.005
    stages = LANDMARK_STAGES
    second_step = 2

    @classmethod
    def of(cls, k: Similarity, objects: Any, rows: PilotTargets, size: tuple[int, int]) -> LandmarkTrials:
        """Compute the features, and the sums over half of the fitted rows and over all of them."""
        m, n = size
        A = np.asarray(k.encode(objects), dtype=np.float64)[: n + MOST_PREDICTED]
        factor = factor_of_distinct(np.asarray(k.block(A[:m], A[:m])))
        A = A.astype(working_precision(k, A, factor.U), copy=False)
        F = solve_rows(np.asarray(k.block(A, A[factor.pivots])), solver(factor.U, A.dtype))
        Y = rows.Y - rows.mean
        weights = rows.weights
        first = slice(n // 2)
        rest = slice(n // 2, n)
        half = Moments.of(F[first], Y[first], weights[first])
        whole = half + Moments.of(F[rest], Y[rest], weights[rest])
        judging = PilotTargets(Y[n : len(A)], weights[n : len(A)], rows.n)
        return cls(k, F[n:], half, whole, judging, n)

    def final_penalty(self, start: int) -> float:
        """Return the best penalty, between positions by a parabola."""
        return between_penalties(self.loss, start)

    @property
    def most_landmarks(self) -> int:  # type: ignore[override]
        """The number of features."""
        return self.judged.shape[1]

    def _residuals(self, penalty: float) -> tuple[np.ndarray, np.ndarray]:
        most = self.judged.shape[1]
        return self._without(self.whole, most, penalty), self._without(self.half, most // 2, penalty)

    def _without(self, moments: Moments, m: int, penalty: float) -> np.ndarray:
        """Return the residuals of the rows that judge, by a fit of the first m features to the rows of the moments."""
        some = moments.first(m)
        mean = some.features / some.weight
        constant = some.targets / some.weight
        lam = penalty * moments.weight / self.n_fitted * (2 if moments is self.half else 1)
        try:
            W = ByCholesky(*some.centered()).solve(lam)
        except LinAlgError:  # the penalty is below rounding
            return np.full_like(self.rows.Y, np.inf)
        constant = constant - mean @ W
        return np.asarray(self.rows.Y - constant - self.judged[:, :m] @ W.astype(self.judged.dtype))

    def _with_landmarks(self, m: int, penalty: float) -> np.ndarray:
        return self._without(self.whole, m, penalty)
