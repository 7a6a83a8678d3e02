r"""Scale, penalty and number of landmarks of a kernel, chosen on pilot rows by Cholesky factors.

The kernel has a unit diagonal. A trial is exact ridge regression on p pilot rows. It is evaluated on the second half of
these, or on all if there are few, each left out alone, and on the other pilot rows. With
:math:`G = K + \lambda \operatorname{diag}(1/w) = L L^\top` the residual of row i in a fit without it is
:math:`(G^{-1} y)_i / (G^{-1})_{ii}`, for which the last block of L suffices; and the first block is the factor of the
first half of the rows, so that the losses of models of p/2 and of p rows come from one factor. (An unpenalized constant
is added.) With n rows, a narrower scale or another penalty may be better than with p. So both are
compared by losses that are extrapolated to n rows: these are expected to fall as fast with each further doubling as
with the last. The last step is a parabola through the losses at neighbors.

A fit is exact, or has landmarks where these suffice. Rows that are held out take part in no choice, and equal no other
row. Of up to 5,000 rows each is left out alone, which takes the last block of the Cholesky factor of the Gram matrix if
they are its last rows. Of more they are predicted by a model of the others, from which that of all rows starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import LinAlgError

from similitude.compute import Blocks, take
from similitude.compute.engines import one_scipy_thread
from similitude.evaluation import (
    PENALTIES,
    Search,
    Trial,
    at_rows,
    between_penalties,
    downhill,
    first_minimum,
    nearest_place,
    vertex,
)
from similitude.fitting import limits
from similitude.fitting.automatic import EVERY_ROW, in_double_precision
from similitude.fitting.choices import scaled
from similitude.fitting.facts import Facts, FitOptions, open_scales
from similitude.fitting.influence import (
    BlendInfluence,
    DelayedInfluence,
    GroupInfluence,
    influence_in_ridge,
    solved_groups,
)
from similitude.fitting.model import FittedModel, LandmarkCurve, ScoredRows
from similitude.fitting.passes import FeatureUnion, features_of
from similitude.fitting.spread import MOST_NOISE_FEATURES, open_variance_of, variances
from similitude.fitting.training_set import TrainingSet
from similitude.landmarks import (
    PROJECTION,
    Factor,
    LandmarkFeatures,
    Landmarks,
    Representation,
    factor_of_landmarks,
    solve_rows,
    solver,
)
from similitude.linear import (
    ByCholesky,
    GramFactor,
    IteratedRidge,
    LinearModel,
    Moments,
    Ridge,
    exact_ridge,
    factorize,
    gram_precision,
)
from similitude.similarity import Similarity, remembered_images
from similitude.support import ESTIMATE

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


@dataclass(frozen=True)
class PilotChoice:
    """What pilot rows decide; the first of the compared numbers of landmarks that is `enough`, if any is."""

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
    """Choose a kernel's scale, penalty and landmarks by errors of pilot rows without their own targets."""
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
    """Return targets, or, if there are many, components in random directions, whose squared length is that expected."""
    if Y.shape[1] <= FITTED_OUTPUTS:
        return Y
    directions = np.random.default_rng(0).standard_normal((Y.shape[1], FITTED_OUTPUTS))
    return np.asarray(Y @ directions) / np.sqrt(FITTED_OUTPUTS)


def _scale_search(
    k: Similarity, scales: list[str], trials_of: Callable[[Similarity], Trials], step: int, known: dict[int, int]
) -> Search:
    """Return a search over scales, for the trials of each and the place of its best penalty."""

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
        """Return the penalty with the smallest extrapolated loss, between positions by a parabola, from a start."""
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
    """Trials of ridge regression on features of landmarks, by moments of half and all fitted rows."""

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


def rounding_of_sums(k: Similarity, A: np.ndarray, weights: np.ndarray) -> float:
    """Return the rounding error of sums in single precision, in units of the penalty: largest along the mean."""
    # rows whose mean similarity stands for that of all
    some = A[:200]
    return float(np.finfo(np.float32).eps * weights.sum() * np.abs(k.block(some, some)).mean())


@dataclass(frozen=True, eq=False)
class RowsOfSteps:
    """All rows of a fit in steps; the preconditioner takes the rows `own`, the landmarks, and `others`."""

    features: LandmarkFeatures
    A: np.ndarray
    Y: np.ndarray
    weights: np.ndarray
    own: np.ndarray
    others: np.ndarray
    options: FitOptions

    def fit(self, n: int, lam: float) -> tuple[LinearModel, Trial, DelayedInfluence]:
        """Choose a penalty, fit to all rows but the last n, which are those of the trial, and from there to all."""
        Y = self.Y
        weights = self.weights
        ridge = self.ridge(self.similarities(lam), lam)
        first, last = slice(len(Y) - 2 * n, len(Y) - n), slice(len(Y) - n, None)
        fitted = weights.copy()
        fitted[len(Y) - 2 * n :] = 0.0

        def trial(lam: float, model: LinearModel, rows: slice) -> Trial:
            return Trial.of(lam, ridge.scores(model, rows), Y[rows], weights[rows])

        def tried() -> Iterator[tuple[float, tuple[float, LinearModel]]]:
            lam = ridge.lam
            model = None
            while True:
                model = ridge.fit(Y, fitted, lam, model, 2e-3)
                yield trial(lam, model, first).loss, (lam, model)
                lam = lam / 10.0**0.5

        _, (lam, without) = first_minimum(tried())
        linear = ridge.fit(Y, weights, lam, without)
        if self.options.classes and Y.shape[1] > 1:  # codes of classes have the same sum for each row, as have scores
            W = linear.weights
            b = linear.intercept
            linear = LinearModel(W - W.mean(axis=1, keepdims=True), b - b.mean() + self.base.mean())
        by_similarities = LinearModel(self.features.similarity_weights(linear.weights), linear.intercept)
        kept = replace(self, features=replace(self.features, factor=None))
        influence = DelayedInfluence(self.base, lambda: kept.influence(by_similarities, lam))
        return linear, trial(lam, without, last), influence

    @property
    def base(self) -> np.ndarray:
        """The weighted mean of the targets."""
        return np.asarray(self.weights @ self.Y / self.weights.sum())

    @property
    def factor(self) -> np.ndarray:
        """The factor of the features."""
        assert self.features.factor is not None
        return self.features.factor

    def similarities(self, lam: float) -> np.ndarray:
        """Return the similarities of all rows to the landmarks, in the precision that leaves enough digits."""
        k = self.features.similarity
        dtype = np.dtype(np.float64)
        # how far the penalty must be above the rounding of sums over all rows if single precision is to be used.
        # Along a direction in which features hardly vary, rounding of the gradient is divided by the penalty: of 22
        # fits to 7,000 and 15,000 rows of five data sets, errors rose 24-fold to 10^9-fold in eight of the eleven
        # below 2.7, and by less than 0.2 % in the eleven above 4.6
        if lam >= 4.0 * rounding_of_sums(k, self.A, self.weights):
            dtype = np.dtype(working_precision(k, self.A, self.factor))
        A = self.A.astype(dtype, copy=False)
        return Blocks(k, A, A[self.own], engine=self.options.engine, itemsize=dtype.itemsize).whole()

    def ridge(self, K: np.ndarray, lam: float) -> IteratedRidge:
        """Return ridge regression on the features of similarities, preconditioned for a penalty."""
        F = solve_rows(K[self.others], solver(self.factor, K.dtype))
        return IteratedRidge(K, self.factor, self.own, self.others, F, self.weights, lam)

    def influence(self, model: LinearModel, lam: float) -> GroupInfluence:
        """Return what groups of rows add to the scores of a model by similarities, which has minimized a penalty."""
        with one_scipy_thread:
            L = self.A[self.own]
            U = factorize(self.features.similarity.block(L, L), 0.0)
            linear = LinearModel(U @ model.weights, model.intercept)
            rows = replace(self, features=replace(self.features, factor=U))
            groups = solved_groups(self.features.landmarks, self.Y.shape[1], self.options.classes)
            K = rows.similarities(lam)
            # the nearest landmark is the most similar one
            members = groups.members(*groups.nearness(replace(self.features, factor=None)), K, self.Y)

            def added() -> LinearModel:
                return rows.ridge(K, lam).of_groups(linear, self.Y, self.weights, lam, members)

            found = GroupInfluence.of_solution(groups, linear, members.group, self.Y, self.weights, added)
            return found.by_similarities(rows.features)


class PilotedFit:
    """A fit to all rows with a weight; the last ones are held out from what pilot rows choose, and equal no other."""

    def __init__(self, data: TrainingSet, options: FitOptions, facts: Facts) -> None:
        order = data.order
        units = data.units(order)
        last = np.flatnonzero(np.bincount(units)[units] == 1)[-facts.n_outside_pilot :]
        n = len(order) - len(last)
        self.data = data
        self.options = options
        self.facts = facts
        self.rows = np.concatenate([np.delete(order, last), order[last]])
        self.last = np.arange(n, len(order))
        self.Y = data.Y[self.rows]
        self.weights = data.weights[self.rows]
        pilot = take(data.X, self.rows[:n]), self.Y[:n], self.weights[:n]
        scales = open_scales(options.similarities[0])
        self.choice = choose_on_pilot(data.similarities[0], scales, *pilot, len(order), facts.few)

    def run(self) -> tuple[FittedModel, int]:
        """Return the fit, and how many choices there were."""
        fit = self.with_landmarks
        if self.facts.few and self.choice.enough is None:
            fit = self.exact
        found = fit()
        return found, self.choice.n_scales * len(found.curve.x)

    def exact(self) -> FittedModel:
        """Fit to all rows, each of which is a landmark."""
        landmarks = self._landmarks(self.rows)
        k = self.choice.similarity
        penalty = self.choice.penalty
        mean = np.average(self.Y, axis=0, weights=self.weights)
        model, alone = exact_ridge(
            k, landmarks.encoding, self.Y - mean, self.weights, penalty, self.last, constant=True
        )
        constant = mean + model.intercept
        trial = Trial.of(self.lam, mean + alone, self.Y[self.last], self.weights[self.last])
        influence = BlendInfluence(self.data.known[self.rows], self.weights, constant, (penalty,), (1.0,))
        linear = LinearModel(model.weights, constant)
        curve = self._curve([*self.choice.sizes, len(self.rows)], trial, EVERY_ROW)
        return replace(self._fit(LandmarkFeatures(k, landmarks), linear, trial, curve, influence), at=self.last)

    def with_landmarks(self) -> FittedModel:
        """Fit to all rows by the features of the first of them."""
        enough = self.choice.enough
        sizes = self.choice.sizes
        n = limits.landmarks_after_pilot(len(self.rows), enough)
        reason = f"{n:,} are the most tried"
        if enough is not None:
            reason = f"{enough:,} did as well as all pilot rows, and 2 times as many are used"
            sizes = sizes[: sizes.index(enough) + 1]
        k = self.choice.similarity
        landmarks = self._landmarks(self.rows[:n])
        sample = self.options.sample(k, landmarks.encoding, self.rows[:n], landmarks)
        factor = factor_of_distinct(sample.gram(n))
        own = factor.pivots
        features = LandmarkFeatures(k, landmarks.only(own), factor=factor.U)
        # number of outputs up to which conjugate gradients are faster than the Gram matrix of the features
        if not self.facts.few and self.Y.shape[1] <= 32:
            # rows per landmark of the preconditioner
            some = min(int(2.0 * len(own)), len(self.Y) - 2 * len(self.last))
            others = np.setdiff1d(np.arange(some), own)
            steps = RowsOfSteps(features, self._encoded(), self.Y, self.weights, own, others, self.options)
            linear, trial, influence = steps.fit(len(self.last), self.lam)
        else:
            linear, trial, influence = self._directly(features)
        return self._fit(features, linear, trial, self._curve([*sizes, n], trial, reason), influence)

    def _directly(self, features: LandmarkFeatures) -> tuple[LinearModel, Trial, Any]:
        """Return the model on given features, the trial of rows that are left out alone, and the influence of rows."""
        F = features_of(FeatureUnion.of((features,), 8), (self._encoded(),), self.options.engine)
        ridge = Ridge(Moments.of(F, self.Y, self.weights), self.lam)
        (left,) = ridge.left_out(F[self.last], self.Y[self.last], self.weights[self.last])([self.lam])
        targets = (F, self.Y, self.weights)
        places = self.data.located_at(self.rows)
        influence = influence_in_ridge(ridge, self.lam, (features,), targets, places, self.options.classes)
        return ridge.fit(self.lam), left, influence

    def _encoded(self) -> Any:
        """Return all rows, encoded."""
        return self.choice.similarity.encode(in_double_precision(take(self.data.X, self.rows)))

    @property
    def lam(self) -> float:
        """The penalty, as a sum over rows with their weights has it."""
        return self.choice.penalty * float(self.weights.mean())

    def _landmarks(self, rows: np.ndarray) -> Landmarks:
        """Return rows as landmarks, encoded."""
        objects = in_double_precision(take(self.data.X, rows))
        encoded = self.choice.similarity.encode(objects)
        return Landmarks(objects, self.data.located_at(rows), encoded, at_rows(self.data.labels, rows), "uniform")

    def _curve(self, sizes: list[int], last: Trial, reason: str) -> LandmarkCurve:
        """Return the losses of pilot rows by the number of landmarks, and that of the fit, on held-out rows."""
        tried = len(sizes) - 1
        y = np.array([*self.choice.losses[:tried], last.loss])
        spread = 1.96 * np.array([*self.choice.deviations[:tried], last.deviation])
        return LandmarkCurve(np.array(sizes, dtype=float), y, y - spread, y + spread, 0.95, ESTIMATE, reason)

    def _fit(
        self, features: LandmarkFeatures, linear: LinearModel, trial: Trial, curve: LandmarkCurve, influence: Any
    ) -> FittedModel:
        """Return the fit with what belongs to it."""
        landmarks = features.landmarks
        held_out = self.Y[self.last], self.weights[self.last]
        places = self.rows[: len(landmarks)]
        located = replace(landmarks, positions=places)
        sample = self.options.sample(features.similarity, landmarks.encoding, places, located)
        reason = sample.representation.reason
        if len(landmarks) == len(self.rows):
            reason = f"{reason}, and {EVERY_ROW}: the fit is exact"
        tried = left_open = None
        if features.factor is not None and not self.options.classes:
            some = np.arange(min(len(landmarks), MOST_NOISE_FEATURES))
            first = replace(features.only(some), factor=features.factor[: len(some), : len(some)])
            A = self._encoded()
            F = features_of(FeatureUnion.of((first,), 8), (A,), self.options.engine.without_progress())
            moments = Moments.of(F, self.Y, self.weights)
            tried = F[self.last]
            squares = variances(self.Y, self.weights)
            left_open = open_variance_of((features,), moments, trial.lam, A[self.last], tried, held_out[1], squares)
        return FittedModel(
            features=(features,),
            representations=(Representation(PROJECTION, reason),),
            linear=linear,
            trial=trial,
            held_out=held_out,
            curve=curve,
            influence=influence,
            evaluation=ScoredRows(trial, *held_out, positions=self.data.located_at(self.rows[self.last])),
            tried=tried,
            open_variance=left_open,
            landmarks=landmarks,
            samples=[sample],
        )
