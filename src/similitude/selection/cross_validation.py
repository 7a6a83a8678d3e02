"""Cross-validation of ridge regression: all folds and all penalties from moments of the features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

import numpy as np

from similitude.evaluation import TaskTargets
from similitude.linear import PENALTIES, Moments, Ridge, smallest
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
    total, of_folds = folds.moments(F, targets.Y)
    of_outer = of_folds if outer is None or outer is folds else outer.moments(F, targets.Y)[1]
    centered = float(np.trace(total.centered()[0]))
    plain = float(np.trace(total.gram))
    penalties = PENALTIES * (centered if centered > np.finfo(float).eps * plain else 1.0)

    def tried(which: Folds, left: tuple[int, ...]) -> list[TriedPenalties]:
        ridge = Ridge((of_folds if which is folds else of_outer)(*left))
        return [_held_out(F, targets, test, ridge, penalties) for test in _tests(which, left)]

    return _on_folds(tried, folds, outer, penalties, len(F))


def cross_validate_learned(
    features: Callable[[np.ndarray], np.ndarray], targets: TaskTargets, folds: Folds, outer: Folds | None
) -> tuple[HeldOutErrors, list[OuterFold]]:
    """Return what `cross_validate` does, with features that are learned from the training examples of each model.

    Penalties are multiples of the sum of squares of the centered features, which differ between models.
    """

    def tried(which: Folds, left: tuple[int, ...]) -> list[TriedPenalties]:
        train = reduce(np.intersect1d, [which.pairs[fold][0] for fold in left])
        F = features(train)
        moments = Moments.of(F[train], targets.Y[train], np.ones(len(train)))
        penalties = PENALTIES * (float(np.trace(moments.centered()[0])) or 1.0)
        ridge = Ridge(moments)
        return [_held_out(F, targets, test, ridge, penalties) for test in _tests(which, left)]

    return _on_folds(tried, folds, outer, PENALTIES, len(targets))


def _on_folds(
    tried: Callable[[Folds, tuple[int, ...]], list[TriedPenalties]],
    folds: Folds,
    outer: Folds | None,
    penalties: np.ndarray,
    n: int,
) -> tuple[HeldOutErrors, list[OuterFold]]:
    """Return the errors of all folds and of every outer fold; `tried` leaves out a fold, or two, and tests on each."""

    def each(which: Folds) -> list[TriedPenalties]:
        return [tried(which, (fold,))[0] for fold in range(len(which))]

    single = each(folds)
    found, _ = _combined(single, penalties, n)
    if outer is None:
        return found, []
    single = single if outer is folds else each(outer)
    inner: list[list[TriedPenalties]] = [[] for _ in outer.pairs]
    for pair in combinations(range(len(outer)), 2):
        for fold, result in zip(pair, tried(outer, pair), strict=True):
            inner[fold].append(result)
    judged = []
    for outside, several in zip(single, inner, strict=True):
        inside, best = _combined(several, penalties, n)
        judged.append(OuterFold(inside, outside.errors[best]))
    return found, judged


def _tests(folds: Folds, left: tuple[int, ...]) -> list[np.ndarray]:
    """Return the test examples of a fold, or of two, on behalf of each: those of the other that it trains on."""
    if len(left) == 1:
        return [folds.pairs[left[0]][1]]
    return [np.intersect1d(folds.pairs[i][0], folds.pairs[j][1]) for i, j in (left, left[::-1])]


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
        best = smallest((sums if len(tried) == 1 else np.delete(sums, place, axis=0)).sum(axis=0))
        losses[fold.test] += fold.losses[best]
        errors[fold.test] += fold.errors[best]
        times[fold.test] += 1
    tested, best = np.flatnonzero(times), smallest(sums.sum(axis=0))
    return HeldOutErrors(float(penalties[best]), losses[tested] / times[tested], errors[tested] / times[tested]), best
