"""Folds: which examples are fitted to and which are judged, and the parts that the fitted ones are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.linear import Moments
from similitude.selection.reading import Targets
from similitude.support.errors import brief

MOST_PARTS = 24
"""Parts of examples at most whose moments are kept."""


@dataclass(frozen=True, eq=False)
class Folds:
    """Folds of a cross-validation.

    Attributes
    ----------
    pairs : list of (array of int, array of int)
        For each fold the examples that are fitted to, and those that are judged.
    described : str
    """

    pairs: list[tuple[np.ndarray, np.ndarray]]
    described: str

    def __len__(self) -> int:
        return len(self.pairs)

    def moments(self, F: np.ndarray, Y: np.ndarray) -> tuple[Moments, Iterator[Moments]]:
        """Return the moments of all that is ever fitted to, and those of each fold.

        Examples that belong to the same folds make a part. The moments of a fold are the sum over its parts: nothing
        is subtracted, so nothing cancels. Where there are too many parts to keep, each fold is summed alone.
        """
        fitted = np.zeros((len(Y), len(self)), dtype=bool)
        for fold, (train, _) in enumerate(self.pairs):
            fitted[train, fold] = True
        members, part = np.unique(fitted, axis=0, return_inverse=True)

        def of(which: np.ndarray) -> Moments:
            return Moments.of(F[which], Y[which], np.ones(len(which)))

        if len(members) > MOST_PARTS:
            return of(np.flatnonzero(fitted.any(axis=1))), (of(train) for train, _ in self.pairs)
        parts = [of(np.flatnonzero(part.ravel() == p)) for p in range(len(members))]
        total = _sum(parts, np.flatnonzero(members.any(axis=1)))
        return total, (_sum(parts, np.flatnonzero(column)) for column in members.T)


def _sum(parts: list[Moments], which: np.ndarray) -> Moments:
    total = parts[which[0]]
    for place in which[1:]:
        total = total + parts[place]
    return total


def check_cv(cv: Any, targets: Targets) -> Any:
    """Return cv; refuse a number of folds that makes no sense, before anything is computed."""
    if isinstance(cv, str) or not (hasattr(cv, "split") or isinstance(cv, (Iterable, int, np.integer))):
        raise TypeError(
            f"cv must be a number of folds, a splitter of scikit-learn, or pairs (train, test) of positions, "
            f"got {brief(cv)}"
        )
    if hasattr(cv, "split") or isinstance(cv, Iterable):
        return cv
    if isinstance(cv, bool) or cv < 2:
        raise ValueError(f"cv must be 2 folds at least, got {cv!r}")
    if cv > len(targets):
        raise ValueError(f"cv = {cv} folds of {len(targets)} examples: there must be one for each fold")
    if targets.numbers is not None and targets.classes is not None:
        sizes = np.bincount(targets.numbers)
        if sizes.min() < cv:
            smallest = targets.classes[sizes.argmin()].item()
            raise ValueError(
                f"cv = {cv} folds, but class {smallest!r} has only {sizes.min()}: use cv={max(2, int(sizes.min()))} or "
                f"leave small classes out. If these are whole numbers to be predicted rather than classes, give y + 0.5"
            )
    return int(cv)


def read_folds(cv: Any, targets: Targets, which: np.ndarray, rng: np.random.Generator) -> Folds:
    """Return folds of the examples looked at.

    Parameters
    ----------
    cv : int, splitter, or iterable of (train, test)
    targets : Targets
        Of all examples.
    which : array of int
        Positions of the examples looked at; folds that were given name positions among all.
    rng : numpy.random.Generator
        Shuffles, where cv is a number.
    """
    here = targets.only(which)
    if hasattr(cv, "split"):
        pairs = list(cv.split(np.zeros((len(which), 1)), here.values))
        folds = Folds([_pair(p, pair, len(which)) for p, pair in enumerate(pairs)], f"{cv}")
    elif isinstance(cv, Iterable):
        place = np.full(len(targets), -1)
        place[which] = np.arange(len(which))
        pairs = [_pair(p, pair, len(targets)) for p, pair in enumerate(cv)]
        kept = [(place[train][place[train] >= 0], place[test][place[test] >= 0]) for train, test in pairs]
        folds = Folds(kept, f"{len(kept)} given folds")
    else:
        folds = Folds(_shuffled(int(cv), here, rng), f"{cv} folds{'' if here.numbers is None else ', stratified'}")
    _check(folds, here)
    return folds


def _shuffled(cv: int, targets: Targets, rng: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
    from sklearn.model_selection import KFold, StratifiedKFold

    splitter = KFold if targets.numbers is None else StratifiedKFold
    seed = int(rng.integers(2**31))
    return list(splitter(cv, shuffle=True, random_state=seed).split(np.zeros((len(targets), 1)), targets.numbers))


def _pair(place: int, pair: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return positions to fit to and to judge, checked."""
    try:
        train, test = (np.asarray(one) for one in pair)
    except (TypeError, ValueError) as error:
        raise ValueError(f"fold {place} of cv must be a pair (train, test) of positions, got {brief(pair)}") from error
    train, test = (np.flatnonzero(one) if one.dtype == bool and one.shape == (n,) else one for one in (train, test))
    for name, one in (("trains", train), ("tests", test)):
        if one.ndim != 1 or one.dtype.kind not in "iu" or not len(one):
            raise ValueError(f"fold {place} of cv {name} on {brief(one)}: positions of some examples are needed")
        if one.min() < 0 or one.max() >= n:
            raise IndexError(f"fold {place} of cv {name} on example {one.min() if one.min() < 0 else one.max()} of {n}")
        if len(np.unique(one)) < len(one):
            raise ValueError(f"fold {place} of cv {name} twice on the same example")
    both = np.intersect1d(train, test)
    if len(both):
        raise ValueError(f"fold {place} of cv tests on example {both[0]}, which it also trains on")
    return train, test


def _check(folds: Folds, targets: Targets) -> None:
    if not len(folds):
        raise ValueError("cv holds no folds")
    for place, (train, test) in enumerate(folds.pairs):
        if not len(train) or not len(test):
            raise ValueError(f"fold {place} of cv holds none of the examples looked at: give fewer folds")
        if targets.numbers is not None and targets.classes is not None:
            missing = np.setdiff1d(np.arange(len(targets.classes)), targets.numbers[train])
            if len(missing):
                name = targets.classes[missing[0]].item()
                raise ValueError(f"fold {place} of cv trains on no example of class {name!r}: use stratified folds")
