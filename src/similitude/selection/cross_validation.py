"""Cross-validation of ridge regression: all folds and all penalties from moments of the features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from similitude.evaluation import TaskTargets
from similitude.linear import PENALTIES, Moments, Ridge
from similitude.selection.folds import Folds


@dataclass(frozen=True, eq=False)
class HeldOutErrors:
    """The held-out errors of ridge regression, with the penalty that is best for all folds together.

    ``losses`` and ``errors`` of each test example are the squared error of its scores, and `TaskTargets.errors`;
    means over folds, if it is a test example of several.
    """

    penalty: float
    losses: np.ndarray
    errors: np.ndarray

    @property
    def loss(self) -> float:
        """The mean squared error of the scores."""
        return float(self.losses.mean())

    @property
    def deviation(self) -> float:
        """The standard error of the loss."""
        return float(self.losses.std() / np.sqrt(len(self.losses)))

    @property
    def rank(self) -> tuple[float, float]:
        """The mean error, and the loss, which decides between equal errors."""
        return float(self.errors.mean()), self.loss

    def clearly_better(self, other: HeldOutErrors) -> bool:
        """Return whether the loss is smaller than the other one by more than the standard error of that."""
        return self.loss < other.loss - other.deviation


@dataclass(frozen=True, eq=False)
class OuterFold:
    """A fold that takes no part in a choice: the errors inside its training examples, and those of its test examples.

    The test examples are predicted by the model whose penalty is the best one inside.
    """

    inside: HeldOutErrors
    outside: np.ndarray


@dataclass(frozen=True, eq=False)
class TriedPenalties:
    """Losses and errors of test examples, a row for each penalty."""

    test: np.ndarray
    losses: np.ndarray
    errors: np.ndarray


def cross_validate(
    F: np.ndarray, targets: TaskTargets, folds: Folds, outer: Folds | None
) -> tuple[HeldOutErrors, list[OuterFold]]:
    """Return the held-out errors of ridge regression in all folds, and those of every outer fold.

    The penalty of a fold is the one with the smallest squared loss on the test examples of the other folds, so that no
    example is tested with a penalty that it helped to choose (with a single fold, on its own). Ties go to the larger
    penalty. Every fold is solved by one eigendecomposition for all penalties, and so is every pair of outer folds: the
    model of what both train on is tested by the examples of each on behalf of the other.
    """
    total, moments = folds.moments(F, targets.Y)
    centered, plain = float(np.trace(total.centered()[0])), float(np.trace(total.gram))
    penalties = PENALTIES * (centered if centered > np.finfo(float).eps * plain else 1.0)

    def tried(test: np.ndarray, ridge: Ridge) -> TriedPenalties:
        return _held_out(F, targets, test, ridge, penalties)

    single = [tried(test, Ridge(moments(fold))) for fold, (_, test) in enumerate(folds.pairs)]
    found, _ = _combined(single, penalties, len(F))
    if outer is None:
        return found, []
    if outer is not folds:
        moments = outer.moments(F, targets.Y)[1]
        single = [tried(test, Ridge(moments(fold))) for fold, (_, test) in enumerate(outer.pairs)]
    inner: list[list[TriedPenalties]] = [[] for _ in outer.pairs]
    for one, other in combinations(range(len(outer)), 2):
        ridge = Ridge(moments(one, other))
        for left, right in ((one, other), (other, one)):
            inner[left].append(tried(np.intersect1d(outer.pairs[left][0], outer.pairs[right][1]), ridge))
    judged = []
    for outside, several in zip(single, inner, strict=True):
        inside, best = _combined(several, penalties, len(F))
        judged.append(OuterFold(inside, outside.errors[best]))
    return found, judged


def cross_validate_learned(
    features: Callable[[np.ndarray], np.ndarray], targets: TaskTargets, folds: Folds, outer: Folds | None
) -> tuple[HeldOutErrors, list[OuterFold]]:
    """Return what `cross_validate` does, with features that are learned from the training examples of each model.

    Penalties are multiples of the sum of squares of the centered features, which differ between models.
    """

    def tried(train: np.ndarray, *tests: np.ndarray) -> list[TriedPenalties]:
        F = features(train)
        moments = Moments.of(F[train], targets.Y[train], np.ones(len(train)))
        ridge, size = Ridge(moments), float(np.trace(moments.centered()[0]))
        return [_held_out(F, targets, test, ridge, PENALTIES * (size or 1.0)) for test in tests]

    def each(pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> list[TriedPenalties]:
        return [tried(train, test)[0] for train, test in pairs]

    n, single = len(targets), each(folds.pairs)
    found, _ = _combined(single, PENALTIES, n)
    if outer is None:
        return found, []
    single = single if outer is folds else each(outer.pairs)
    inner: list[list[TriedPenalties]] = [[] for _ in outer.pairs]
    for one, other in combinations(range(len(outer)), 2):
        (left, left_test), (right, right_test) = outer.pairs[one], outer.pairs[other]
        tests = np.intersect1d(left, right_test), np.intersect1d(right, left_test)
        for place, result in zip((one, other), tried(np.intersect1d(left, right), *tests), strict=True):
            inner[place].append(result)
    judged = []
    for outside, several in zip(single, inner, strict=True):
        inside, best = _combined(several, PENALTIES, n)
        judged.append(OuterFold(inside, outside.errors[best]))
    return found, judged


def _held_out(
    F: np.ndarray, targets: TaskTargets, test: np.ndarray, ridge: Ridge, penalties: np.ndarray
) -> TriedPenalties:
    """Return losses and errors of test examples under every penalty."""
    scores_of, Y = ridge.predictions(F[test]), targets.Y[test]
    scores = np.stack([scores_of(float(lam)) for lam in penalties])
    return TriedPenalties(test, ((scores - Y) ** 2).sum(axis=2), targets.errors(scores, test))


def _combined(tried: Sequence[TriedPenalties], penalties: np.ndarray, n: int) -> tuple[HeldOutErrors, int]:
    """Return the errors of several folds, each with the penalty that is best for the others; and the best for all."""
    sums = np.stack([fold.losses.sum(axis=1) for fold in tried])
    losses, errors, times = np.zeros((3, n))
    for place, fold in enumerate(tried):
        best = _smallest((sums if len(tried) == 1 else np.delete(sums, place, axis=0)).sum(axis=0))
        losses[fold.test] += fold.losses[best]
        errors[fold.test] += fold.errors[best]
        times[fold.test] += 1
    tested, best = np.flatnonzero(times), _smallest(sums.sum(axis=0))
    return HeldOutErrors(float(penalties[best]), losses[tested] / times[tested], errors[tested] / times[tested]), best


def _smallest(sums: np.ndarray) -> int:
    """Return the position of the minimum, the last one in case of ties."""
    return len(sums) - 1 - int(sums[::-1].argmin())
