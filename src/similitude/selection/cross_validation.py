"""Candidates compared by ridge regression: all folds and all penalties from moments of their features."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from typing import Any

import numpy as np

from similitude.compute import take
from similitude.compute.engines import Engine, on_workers
from similitude.evaluation import PENALTIES, Folds, TaskTargets, error_of_classes, smallest
from similitude.kernel_learning import learn_from_targets
from similitude.landmarks import SIMILARITIES, Representation, lengths
from similitude.linear import Moments, Ridge
from similitude.selection.candidates import NamedSimilarity, naming
from similitude.selection.landmark_similarities import ComparedExamples, SampledData, families
from similitude.selection.limits import MAX_PARTS
from similitude.similarity import Learnable, Similarity
from similitude.support import ESTIMATE, Estimate
from similitude.theory import LEVEL, clopper_pearson


@dataclass(frozen=True, eq=False)
class HeldOutErrors:
    """The held-out errors of ridge regression, with the penalty that is best for all folds together."""

    penalty: float
    losses: np.ndarray  # the squared error of the scores of each test example; the mean over folds, if of several
    errors: np.ndarray  # its `TaskTargets.errors`

    @property
    def rank(self) -> tuple[float, float]:
        """The mean error, and the loss, which decides between equal errors."""
        return float(self.errors.mean()), float(self.losses.mean())

    def clearly_better(self, other: HeldOutErrors) -> bool:
        """Return whether the loss is smaller than the other one by more than the standard error of that."""
        return bool(self.losses.mean() < other.losses.mean() - other.losses.std() / np.sqrt(len(other.losses)))


OuterFold = tuple[HeldOutErrors, np.ndarray]
"""The errors inside the training examples of a fold that takes no part in a choice, and those of its test examples."""

HeldOut = tuple[np.ndarray, np.ndarray]
"""Test examples, and their losses and errors: an array of shape (2, penalties, examples)."""


def cross_validate(
    F: np.ndarray, targets: TaskTargets, folds: Folds, outer: Folds | None
) -> tuple[HeldOutErrors, list[OuterFold]]:
    """Return the held-out errors of ridge regression in all folds, and those of every outer fold."""
    sums = {which: moments_of_folds(F, targets.Y, which) for which in {folds, outer or folds}}
    total = sums[folds][0]
    unit = float(np.trace(total.centered()[0]))
    if unit <= np.finfo(float).eps * float(np.trace(total.gram)):
        unit = 1.0
    errors, found = nested_errors(lambda which, left: (F, sums[which][1](*left), unit), targets, folds, outer)
    return replace(errors, penalty=errors.penalty * unit), found


def nested_errors(
    fit: Callable[[Folds, tuple[int, ...]], tuple[np.ndarray, Moments, float]],
    targets: TaskTargets,
    folds: Folds,
    outer: Folds | None,
) -> tuple[HeldOutErrors, list[OuterFold]]:
    """Return the errors of all folds and of every outer fold.

    Without a fold or without two, `fit` returns the features of all examples, the moments of the training examples, and
    the unit of penalties. Every fold is solved by one eigendecomposition for all penalties, and so is every pair of
    outer folds: the model of what both train on is tested by the examples of each on behalf of the other.
    """

    def held_out(which: Folds, *left: int) -> list[HeldOut]:
        F, moments, unit = fit(which, left)
        ridge = Ridge(moments)
        tests = [which.pairs[fold][1] for fold in left]
        if len(left) == 2:  # those of each fold that the other trains on
            tests = [np.intersect1d(which.pairs[i][0], which.pairs[j][1]) for i, j in (left, left[::-1])]
        found = []
        for test in tests:
            scores = ridge.predictions(F[test], (PENALTIES * unit).tolist())
            losses = ((scores - targets.Y[test]) ** 2).sum(axis=2)
            found.append((test, np.stack([losses, targets.errors(scores, test)])))
        return found

    single = [held_out(folds, fold)[0] for fold in range(len(folds))]
    errors, _ = _combined(single, len(targets))
    if outer is None:
        return errors, []
    if outer is not folds:
        single = [held_out(outer, fold)[0] for fold in range(len(outer))]
    inner: list[list[HeldOut]] = [[] for _ in outer.pairs]
    for pair in combinations(range(len(outer)), 2):
        for fold, result in zip(pair, held_out(outer, *pair), strict=True):
            inner[fold].append(result)
    evaluated = []
    for (_, outside), several in zip(single, inner, strict=True):
        inside, best = _combined(several, len(targets))
        evaluated.append((inside, outside[1, best]))
    return errors, evaluated


def moments_of_folds(F: np.ndarray, Y: np.ndarray, folds: Folds) -> tuple[Moments, Callable[..., Moments]]:
    """Return the moments of all training examples, and a function of folds: those of what all of them train on.

    They are sums over parts of the examples that are in the same training sets; of many parts, each sum is taken alone.
    """
    fitted = np.zeros((len(Y), len(folds)), dtype=bool)
    for fold, (train, _) in enumerate(folds.pairs):
        fitted[train, fold] = True
    members, part = np.unique(fitted, axis=0, return_inverse=True)
    if len(members) > MAX_PARTS:
        everything = moments_at(F, Y, np.flatnonzero(fitted.any(axis=1)))
        return everything, lambda *of: moments_at(F, Y, np.flatnonzero(fitted[:, of].all(axis=1)))
    parts = [moments_at(F, Y, np.flatnonzero(part.ravel() == p)) for p in range(len(members))]

    def summed(which: Any) -> Moments:
        return reduce(operator.add, [parts[place] for place in np.flatnonzero(which)])

    return summed(members.any(axis=1)), lambda *of: summed(members[:, of].all(axis=1))


def moments_at(F: np.ndarray, Y: np.ndarray, rows: np.ndarray) -> Moments:
    """Return the moments of some rows."""
    return Moments.of(F[rows], Y[rows], np.ones(len(rows)))


def _combined(several: Sequence[HeldOut], n: int) -> tuple[HeldOutErrors, int]:
    """Return the errors of several folds, each with the penalty that is best for the others; and the best for all.

    No example is tested with a penalty that it helped to choose, except with a single fold.
    """
    sums = np.stack([both[0].sum(axis=1) for _, both in several])
    totals = np.zeros((2, n))
    times = np.zeros(n)
    for place, (test, both) in enumerate(several):
        others = sums
        if len(several) > 1:
            others = np.delete(sums, place, axis=0)
        totals[:, test] += both[:, smallest(others.sum(axis=0))]
        times[test] += 1
    tested = np.flatnonzero(times)
    best = smallest(sums.sum(axis=0))
    return HeldOutErrors(float(PENALTIES[best]), *(totals[:, tested] / times[tested])), best


@dataclass(frozen=True, eq=False)
class TestedCandidate:
    """A candidate with its held-out errors."""

    position: int
    named: NamedSimilarity
    representation: Representation
    errors: HeldOutErrors
    outer: list[OuterFold]
    seconds: float
    n_calls: int
    shared: bool  # whether its distances were shared with others


@dataclass(frozen=True, eq=False)
class Comparison:
    """The candidates, and the examples, targets and folds on which they are compared."""

    named: Sequence[NamedSimilarity]
    data: SampledData
    targets: TaskTargets
    folds: Folds
    outer: Folds | None  # the folds that evaluate the choice
    together: np.ndarray  # the same number for examples that folds keep together: copies, and those of one group
    grouped: bool

    def tested(self, engine: Engine) -> Iterator[list[TestedCandidate]]:
        """Yield the tested candidates of each family."""
        for one in self.named:
            with naming(one.name):
                self.data.objects(one.similarity)  # an error in an object is raised here, with its position in X
        positions = families([one.similarity for one in self.named])
        yield from on_workers(engine, Comparison.test_family, self, positions)

    def test_family(self, positions: Sequence[int], engine: Engine) -> list[TestedCandidate]:
        """Test the candidates at these positions, which share distances."""
        began = time.perf_counter()
        first = self.named[positions[0]]
        if isinstance(first.similarity, Learnable):
            with naming(first.name):
                return [self._test_learned(positions[0], first.similarity, engine)]
        with naming(first.name):
            compared = ComparedExamples([self.named[position].similarity for position in positions], self.data, engine)
            if compared.shared:
                compared.values  # noqa: B018
        common = (time.perf_counter() - began) / len(positions)
        tested = []
        for position in positions:
            began = time.perf_counter()
            one = self.named[position]
            with naming(one.name):
                representation, F, n_calls = compared.features(one.similarity, one.side)
                found = self._test(representation, F)
            seconds = common + time.perf_counter() - began
            tested.append(TestedCandidate(position, one, *found, seconds, n_calls, compared.shared))
        return tested

    def _test(
        self, representation: Representation, F: np.ndarray
    ) -> tuple[Representation, HeldOutErrors, list[OuterFold]]:
        """Test a candidate; similarities as features are normalized if that is clearly better, also in outer folds."""
        errors, outer = cross_validate(F, self.targets, self.folds, self.outer)
        if representation.name != SIMILARITIES:
            return representation, errors, outer
        normalized, others = cross_validate(F / lengths(F)[:, None], self.targets, self.folds, self.outer)
        outer = [b if b[0].clearly_better(a[0]) else a for a, b in zip(outer, others, strict=True)]
        if normalized.clearly_better(errors):
            return replace(representation, normalized=True), normalized, outer
        return representation, errors, outer

    def _test_learned(self, position: int, k: Learnable, engine: Engine) -> TestedCandidate:
        """Test a candidate that is learned from the training examples of each fold."""
        began = time.perf_counter()
        n_calls = 0

        def learned(train: np.ndarray) -> tuple[Similarity, Representation, np.ndarray]:
            nonlocal n_calls
            objects = take(self.data.objects(k), train)
            groups = None
            if self.grouped:
                groups = self.together[train]
            # the seed of the pilot rows is fixed: the same examples give the same kernel
            found = learn_from_targets(k, objects, self.targets.Y[train], random_state=0, groups=groups).similarity
            representation, F, calls = ComparedExamples([found], self.data, engine).features(found)
            n_calls += calls
            return found, representation, F

        def fit(folds: Folds, left: tuple[int, ...]) -> tuple[np.ndarray, Moments, float]:
            train = reduce(np.intersect1d, [folds.pairs[fold][0] for fold in left])
            F = learned(train)[2]
            moments = moments_at(F, self.targets.Y, train)
            return F, moments, float(np.trace(moments.centered()[0])) or 1.0

        errors, outer = nested_errors(fit, self.targets, self.folds, self.outer)
        found, representation, F = learned(np.arange(len(self.targets)))
        errors = replace(errors, penalty=errors.penalty * float(((F - F.mean(axis=0)) ** 2).sum()))
        named = NamedSimilarity(self.named[position].name, found)
        seconds = time.perf_counter() - began
        return TestedCandidate(position, named, representation, errors, outer, seconds, n_calls, False)

    def independent(self, errors: np.ndarray) -> np.ndarray:
        """Return the errors of tested examples as independent numbers: one for each group, if there are groups."""
        if not self.grouped:
            return errors
        rows = np.unique(np.concatenate([test for _, test in self.folds.pairs]))
        return _means_of_groups(errors, self.together[rows])

    def held_out_error(self, tested: Sequence[TestedCandidate]) -> Estimate | None:
        """Return the error of the choice on new rows: it is made again without each of the outer folds."""
        if self.outer is None:
            return None
        found = []
        for fold in range(len(self.outer)):
            best = min(tested, key=lambda one: (*one.outer[fold][0].rank, one.position))
            found.append(best.outer[fold][1])
        errors = np.concatenate(found)
        groups = self.together[np.concatenate([test for _, test in self.outer.pairs])]
        if self.targets.n_classes:
            return error_of_classes(errors, self.targets.n_classes, groups)
        return error_of(_means_of_groups(errors, groups), False, self.outer.widening)  # copies count as one


def _means_of_groups(errors: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return a number for each group, in proportion to its sum of errors, with the same mean as all errors."""
    sums = np.bincount(np.unique(groups, return_inverse=True)[1], errors)
    return np.asarray(sums * (len(sums) / len(errors)))


def error_of(errors: np.ndarray, of_classes: bool, wider: float = 1.0) -> Estimate:
    """Return the mean error: of zeros and ones with the interval of Clopper and Pearson, else that of `around_mean`."""
    if of_classes:
        low, high = map(float, clopper_pearson(errors.sum() / wider**2, len(errors) / wider**2))
    else:
        low, high = around_mean(errors, wider * student(len(errors)))
    return Estimate(float(errors.mean()), max(0.0, low), high, LEVEL, ESTIMATE)


def student(n: int) -> float:
    """Return the quantile of Student's t for the mean of n numbers."""
    from scipy.stats import t

    return float(t.ppf((1 + LEVEL) / 2, max(n - 1, 1)))


def around_mean(values: np.ndarray, steps: float) -> tuple[float, float]:
    r"""Return an interval for the mean: `steps` standard errors on both sides, and more for skewed numbers.

    With :math:`T = \sqrt n (\bar x - \mu) / s` and skewness g, :math:`T + \frac{g}{3 \sqrt n} T^2 + \frac{g^2}{27 n}
    T^3 + \frac{g}{6 \sqrt n}` is nearer to normal; an end moves to where this is `steps` from zero if that is farther
    out. (Hall, "On the Removal of Skewness by Transformation", 1992.)
    """
    n = len(values)
    mean = float(values.mean())
    centered = values - mean
    variance = float((centered**2).mean())
    if n < 2 or variance == 0.0:
        return mean, mean
    skewness = float((centered**3).mean()) / variance**1.5
    error = float(np.sqrt(variance / (n - 1)))
    below = _untransformed(steps, skewness, n)
    above = -_untransformed(-steps, skewness, n)
    return mean - error * max(steps, below), mean + error * max(steps, above)


def _untransformed(x: float, skewness: float, n: int) -> float:
    """Return the T whose transformed value is x."""
    if abs(skewness) < 1e-6:
        return x
    root = float(np.cbrt(1 + skewness * (x / np.sqrt(n) - skewness / (6 * n))))
    return float(3 * np.sqrt(n) / skewness * (root - 1))


def differences(errors: np.ndarray, best: int, of_classes: bool, wider: float = 1.0) -> list[Estimate]:
    r"""Return by how much each candidate is worse than `best`, with simultaneous intervals for all pairs.

    Errors, a column for each candidate, are paired by example. An interval is the mean :math:`\pm c` standard errors,
    where c is the quantile of the largest standardized difference between any two candidates whose errors have this
    covariance. (Hothorn, Bretz and Westfall, "Simultaneous Inference in General Parametric Models", 2008.)
    """
    steps = wider * _steps(errors)
    around = around_proportions if of_classes else around_mean
    found = []
    for j, column in enumerate(errors.T):
        worse = column - errors[:, best]
        value = float(worse.mean())
        low = high = 0.0
        if j != best:
            low, high = around(worse, steps)
        found.append(Estimate(value, min(low, value), max(high, value), LEVEL, ESTIMATE))
    return found


def around_proportions(differing: np.ndarray, steps: float) -> tuple[float, float]:
    """Return an interval for the difference of two proportions, from -1, 0 or 1 for each example.

    Two pseudo-examples disagree, once each way. (Agresti and Min, "Simple Improved Confidence Intervals for Comparing
    Matched Proportions", 2005.)
    """
    n = len(differing) + 2
    center = float(differing.sum()) / n
    spread = steps * float(np.sqrt(((differing**2).sum() + 1 - n * center**2) / n / (n - 1)))
    return center - spread, center + spread


def _steps(errors: np.ndarray) -> float:
    """Return the quantile of the largest standardized difference between two candidates."""
    n, candidates = errors.shape
    one = student(n)
    if candidates < 3:
        return one
    rng = np.random.default_rng(0)
    covariance = np.eye(candidates)
    if n > 1:
        covariance = np.cov(errors, rowvar=False)
    values, vectors = np.linalg.eigh(covariance)
    n_draws = 4000
    draws = rng.standard_normal((n_draws, candidates)) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    largest = np.zeros(n_draws)
    tiny = 1e-12 * float(covariance.diagonal().max())
    for i in range(candidates - 1):
        variance = covariance[i, i] + covariance.diagonal()[i + 1 :] - 2 * covariance[i, i + 1 :]
        gaps = np.abs(draws[:, [i]] - draws[:, i + 1 :])[:, variance > tiny] / np.sqrt(variance[variance > tiny])
        largest = np.maximum(largest, gaps.max(axis=1, initial=0.0))
    largest /= np.sqrt(rng.chisquare(max(n - 1, 1), n_draws) / max(n - 1, 1))
    return max(one, float(np.quantile(largest, LEVEL)))
