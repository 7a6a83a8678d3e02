"""The folds of cross-validation, and sums of features over their training examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.linear import Moments
from similitude.selection.targets import SelectionTargets
from similitude.support import brief, check_integer

MAX_PARTS = 24
"""Largest number of parts of the examples whose sums are kept."""


@dataclass(frozen=True, eq=False)
class Folds:
    """The folds of a cross-validation: the positions of training and of test examples for each, and a description."""

    pairs: list[tuple[np.ndarray, np.ndarray]]
    description: str

    def __len__(self) -> int:
        return len(self.pairs)

    def moments(self, F: np.ndarray, Y: np.ndarray) -> tuple[Moments, Iterator[Moments]]:
        """Return the moments of all training examples, and those of each fold.

        Examples that are in the training set of the same folds form a part, and the moments of a fold are the sum over
        its parts: nothing is subtracted, so nothing cancels. If there are too many parts, each fold is summed alone.
        """
        fitted = np.zeros((len(Y), len(self)), dtype=bool)
        for fold, (train, _) in enumerate(self.pairs):
            fitted[train, fold] = True
        members, part = np.unique(fitted, axis=0, return_inverse=True)

        def of(which: np.ndarray) -> Moments:
            return Moments.of(F[which], Y[which], np.ones(len(which)))

        if len(members) > MAX_PARTS:
            return of(np.flatnonzero(fitted.any(axis=1))), (of(train) for train, _ in self.pairs)
        parts = [of(np.flatnonzero(part.ravel() == p)) for p in range(len(members))]
        total = _sum(parts, np.flatnonzero(members.any(axis=1)))
        return total, (_sum(parts, np.flatnonzero(column)) for column in members.T)


def _sum(parts: list[Moments], which: np.ndarray) -> Moments:
    total = parts[which[0]]
    for place in which[1:]:
        total = total + parts[place]
    return total


def check_cv(cv: Any, targets: SelectionTargets) -> Any:
    """Validate cv before anything is computed."""
    if isinstance(cv, str) or not (hasattr(cv, "split") or isinstance(cv, (Iterable, int, np.integer))):
        raise TypeError(
            f"cv must be a number of folds, a splitter of scikit-learn, or pairs (train, test) of positions, "
            f"got {brief(cv)}"
        )
    if hasattr(cv, "split") or isinstance(cv, Iterable):
        return cv
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


def make_folds(cv: Any, targets: SelectionTargets, rows: np.ndarray, rng: np.random.Generator) -> Folds:
    """Return the folds of the sampled examples, at these rows; `cv` was validated by `check_cv`.

    Given pairs (train, test) hold positions among all examples; the generator shuffles if cv is a number.
    """
    here = targets.at(rows)
    if hasattr(cv, "split"):
        pairs = list(cv.split(np.zeros((len(rows), 1)), here.values))
        folds = Folds([_pair(p, pair, len(rows)) for p, pair in enumerate(pairs)], f"{cv}")
    elif isinstance(cv, Iterable):
        place = np.full(len(targets), -1)
        place[rows] = np.arange(len(rows))
        pairs = [_pair(p, pair, len(targets)) for p, pair in enumerate(cv)]
        kept = [(place[train][place[train] >= 0], place[test][place[test] >= 0]) for train, test in pairs]
        folds = Folds(kept, f"{len(kept)} given folds")
    else:
        folds = Folds(_shuffled(int(cv), here, rng), f"{cv} folds{'' if here.codes is None else ', stratified'}")
    _check(folds, here)
    return folds


def _shuffled(cv: int, targets: SelectionTargets, rng: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
    from sklearn.model_selection import KFold, StratifiedKFold

    splitter = KFold if targets.codes is None else StratifiedKFold
    seed = int(rng.integers(2**31))
    return list(splitter(cv, shuffle=True, random_state=seed).split(np.zeros((len(targets), 1)), targets.codes))


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


def _check(folds: Folds, targets: SelectionTargets) -> None:
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
