"""The folds of cross-validation, and sums of features over their training examples."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from typing import Any

import numpy as np

from similitude.evaluation import (
    TaskTargets,
    assign_folds,
    fold_pairs,
    groups_of_classes,
    joined_groups,
    rarest_in_group,
    shuffled_pairs,
)
from similitude.linear import Moments
from similitude.support import brief, check_integer

MAX_PARTS = 24
"""Largest number of parts of the examples whose sums are kept."""

OUTER_FOLDS = 5
"""Largest number of folds by which a choice is judged."""


@dataclass(frozen=True, eq=False)
class Folds:
    """The folds of a cross-validation: the positions of training and of test examples for each, and a description."""

    pairs: list[tuple[np.ndarray, np.ndarray]]
    description: str

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def widening(self) -> float:
        r"""The factor by which intervals of errors are wider than those of independent errors.

        Models of several folds share training examples, so that their errors are correlated: the variance of their mean
        is multiplied by :math:`1 + n_{test} / n_{train}`. (Nadeau and Bengio, "Inference for the Generalization Error",
        2003, section 3, with the variance of single examples in place of that of folds.)

        >>> Folds([(np.arange(80), np.arange(80, 180))], "").widening
        1.5
        """
        n_test = len(np.unique(np.concatenate([test for _, test in self.pairs])))
        return float(np.sqrt(1 + n_test / np.mean([len(train) for train, _ in self.pairs])))

    def apart(self, groups: np.ndarray) -> bool:
        """Return whether no group is in both the training and the test examples of a fold."""
        return not any(np.isin(groups[train], groups[test]).any() for train, test in self.pairs)

    def moments(self, F: np.ndarray, Y: np.ndarray) -> tuple[Moments, Callable[..., Moments]]:
        """Return the moments of all training examples, and a function of folds: those of what all of them train on.

        Examples that are in the training set of the same folds form a part, and the moments of folds are the sum over
        their parts: nothing is subtracted, so nothing cancels. If there are too many parts, each sum is taken alone.
        """
        fitted = np.zeros((len(Y), len(self)), dtype=bool)
        for fold, (train, _) in enumerate(self.pairs):
            fitted[train, fold] = True
        members, part = np.unique(fitted, axis=0, return_inverse=True)

        def of(which: np.ndarray) -> Moments:
            return Moments.of(F[which], Y[which], np.ones(len(which)))

        if len(members) > MAX_PARTS:
            everything = of(np.flatnonzero(fitted.any(axis=1)))
            return everything, lambda *folds: of(np.flatnonzero(fitted[:, folds].all(axis=1)))
        parts = [of(np.flatnonzero(part.ravel() == p)) for p in range(len(members))]
        total = _sum(parts, np.flatnonzero(members.any(axis=1)))
        return total, lambda *folds: _sum(parts, np.flatnonzero(members[:, folds].all(axis=1)))


def _sum(parts: list[Moments], which: np.ndarray) -> Moments:
    total = parts[which[0]]
    for place in which[1:]:
        total = total + parts[place]
    return total


def check_cv(cv: Any, targets: TaskTargets, groups: np.ndarray | None = None) -> Any:
    """Validate cv before anything is computed."""
    if isinstance(cv, str) or not (hasattr(cv, "split") or isinstance(cv, (Iterable, int, np.integer))):
        raise TypeError(
            f"cv must be a number of folds, a splitter of scikit-learn, or pairs (train, test) of positions, "
            f"got {brief(cv)}"
        )
    if hasattr(cv, "split") or isinstance(cv, Iterable):
        return cv
    if groups is not None:
        _check_groups_suffice(check_integer("cv", cv, 2), targets, groups)
        return int(cv)
    if check_integer("cv", cv, 2) > len(targets):
        raise ValueError(f"cv = {cv} folds of {len(targets)} examples: each fold needs an example")
    if targets.codes is not None and targets.classes is not None:
        sizes = np.bincount(targets.codes)
        if sizes.min() < cv:
            smallest = targets.classes[sizes.argmin()].item()
            raise ValueError(
                f"cv = {cv} folds, but class {smallest!r} has only {sizes.min()}: use cv={max(2, int(sizes.min()))} or "
                f"leave small classes out. If these are integers to predict, not classes, use task='regression'"
            )
    return int(cv)


def _check_groups_suffice(n_folds: int, targets: TaskTargets, groups: np.ndarray) -> None:
    """Require as many groups as folds, and two groups with examples of each class: one to train on, one to test."""
    n_groups = len(np.unique(groups))
    if n_folds > n_groups:
        raise ValueError(f"cv = {n_folds} folds of {n_groups} groups: each fold needs a group")
    if targets.codes is not None and targets.classes is not None:
        found = groups_of_classes(targets.codes, groups)
        if found.min() < 2:
            alone = targets.classes[found.argmin()].item()
            raise ValueError(f"class {alone!r} is found in one group only: no other group is left to learn it from")


def join_copies(groups: np.ndarray, copies: np.ndarray, targets: TaskTargets, n_folds: int) -> np.ndarray:
    """Return groups that keep copies together too, unless too few would be left to learn every class from."""
    joined = joined_groups(groups, copies)
    fewest = 2 if targets.codes is None else groups_of_classes(targets.codes, joined).min()
    return joined if fewest >= 2 and joined.max() + 1 >= max(n_folds, 3) else groups


def make_folds(
    cv: Any, targets: TaskTargets, rows: np.ndarray, copies: np.ndarray, seed: int, groups: np.ndarray | None = None
) -> Folds:
    """Return the folds of the sampled examples, at these rows; `cv` was validated by `check_cv`.

    Given pairs (train, test) hold positions among all examples. If cv is a number, they are shuffled, and examples with
    the same number in `copies` are in the same fold. No fold may separate `groups`.
    """
    here = targets.at(rows)
    if hasattr(cv, "split"):
        known = () if groups is None else (groups,)
        pairs = list(cv.split(np.zeros((len(rows), 1)), here.values, *known))
        folds = Folds([_pair(p, pair, len(rows)) for p, pair in enumerate(pairs)], f"{cv}")
    elif isinstance(cv, Iterable):
        place = np.full(len(targets), -1)
        place[rows] = np.arange(len(rows))
        pairs = [_pair(p, pair, len(targets)) for p, pair in enumerate(cv)]
        kept = [(place[train][place[train] >= 0], place[test][place[test] >= 0]) for train, test in pairs]
        folds = Folds(kept, f"{len(kept)} given folds")
    else:
        folds = _shuffled(int(cv), here, copies, seed, groups is not None)
    _check(folds, here)
    if groups is not None and not folds.apart(groups):
        raise ValueError("cv trains and tests on examples of one group: give a number of folds, or a GroupKFold")
    return folds


def _shuffled(n_folds: int, targets: TaskTargets, copies: np.ndarray, seed: int, grouped: bool) -> Folds:
    """Return random folds, stratified for classes; copies stay together unless a fold had no class to learn from."""
    described = f"{n_folds} folds{'' if targets.codes is None else ', stratified'}"
    if grouped:
        return Folds(_by_groups(n_folds, targets, copies, seed), f"{described}, groups together")
    _, first = np.unique(copies, return_index=True)
    if len(first) < len(targets):
        fewest = 2 if targets.codes is None else np.bincount(targets.codes[first], minlength=targets.n_classes).min()
        if len(first) >= n_folds and fewest >= 2:
            folds = assign_folds(copies, targets.codes, seed, n_folds)
            return Folds(fold_pairs(folds), f"{described}, copies together")
    return Folds(shuffled_pairs(len(targets), n_folds, targets.codes, seed), described)


def _by_groups(
    n_folds: int, targets: TaskTargets, groups: np.ndarray, seed: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    labels = None if targets.codes is None else rarest_in_group(targets.codes, groups)
    return fold_pairs(assign_folds(groups, labels, seed, n_folds))


def outer_folds(
    cv: Any, folds: Folds, targets: TaskTargets, copies: np.ndarray, seed: int, grouped: bool = False
) -> Folds | None:
    """Return at most five disjoint folds by which a choice is judged: given ones are merged, a few are replaced.

    The choice is made by the others of them, among what both train on; None if the given folds leave nothing there.
    """
    if isinstance(cv, int):
        separate, n_groups = len(folds) >= OUTER_FOLDS and folds.apart(copies), len(np.unique(copies))
        if separate and len(folds) == OUTER_FOLDS:
            return folds
        if not separate:
            if n_groups < 3:
                return None
            if grouped:
                return Folds(_by_groups(OUTER_FOLDS, targets, copies, seed), "")
            return Folds(fold_pairs(assign_folds(copies, targets.codes, seed, OUTER_FOLDS)), "")
    disjoint, tested = [], np.zeros(len(targets), dtype=bool)
    for train, test in folds.pairs:
        if not tested[test].any():
            disjoint.append((train, test))
            tested[test] = True
    merged = []
    for which in np.array_split(
        np.random.default_rng(seed).permutation(len(disjoint)), min(OUTER_FOLDS, len(disjoint))
    ):
        trains, tests = zip(*(disjoint[one] for one in which), strict=True)
        merged.append((reduce(np.intersect1d, trains), np.sort(np.concatenate(tests))))
    return None if len(merged) < 3 or not _nested(merged) else Folds(merged, "")


def _nested(pairs: list[tuple[np.ndarray, np.ndarray]]) -> bool:
    """Return whether any two folds have examples that both train on, and each trains on test examples of the other."""
    return all(
        np.intersect1d(train, other).size
        and np.intersect1d(train, other_test).size
        and np.intersect1d(other, test).size
        for (train, test), (other, other_test) in combinations(pairs, 2)
    )


def _pair(place: int, pair: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Validate the training and test positions of a fold."""
    try:
        train, test = (np.asarray(one) for one in pair)
    except (TypeError, ValueError) as error:
        raise ValueError(f"fold {place} of cv must be a pair (train, test) of positions, got {brief(pair)}") from error
    train, test = (np.flatnonzero(one) if one.dtype == bool and one.shape == (n,) else one for one in (train, test))
    for name, one in (("trains", train), ("tests", test)):
        if one.ndim != 1 or one.dtype.kind not in "iu" or not len(one):
            raise ValueError(f"fold {place} of cv {name} on {brief(one)}: it must hold positions of examples")
        if one.min() < 0 or one.max() >= n:
            raise IndexError(f"fold {place} of cv {name} on example {one.min() if one.min() < 0 else one.max()} of {n}")
        if len(np.unique(one)) < len(one):
            raise ValueError(f"fold {place} of cv {name} twice on the same example")
    both = np.intersect1d(train, test)
    if len(both):
        raise ValueError(f"fold {place} of cv tests on example {both[0]}, which it also trains on")
    return train, test


def _check(folds: Folds, targets: TaskTargets) -> None:
    if not len(folds):
        raise ValueError("cv holds no folds")
    for place, (train, test) in enumerate(folds.pairs):
        if not len(train) or not len(test):
            raise ValueError(f"fold {place} of cv holds none of the sampled examples: use fewer folds")
        if targets.codes is not None and targets.classes is not None:
            missing = np.setdiff1d(np.arange(len(targets.classes)), targets.codes[train])
            if len(missing):
                name = targets.classes[missing[0]].item()
                raise ValueError(f"fold {place} of cv trains on no example of class {name!r}: use stratified folds")
