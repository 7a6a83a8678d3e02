"""What examples get from models that were not fitted to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute.encodings import take
from similitude.learners.calibration import probabilities
from similitude.report.about import CLASSIFICATION, Subject
from similitude.support.errors import pairs_at
from similitude.support.results import ESTIMATE, HELD_OUT, Estimate
from similitude.theory.intervals import clopper_pearson

FEWEST = 40
"""Examples from which on a part is held out; with fewer, cross-validation is repeated."""

SHARE = 0.25
"""The part of each class that is held out."""

ROUNDS, FOLDS = 5, 5
"""How often cross-validation is repeated, and in how many folds."""

LEVEL, REPLICATES = 0.95, 1000


@dataclass(frozen=True, eq=False)
class Parts:
    """Who is learned from and who is held out.

    Attributes
    ----------
    rounds : tuple
        For each round its folds: positions learned from, positions held out. One round of one fold where a part is
        held out.
    tested : array of int
        Positions of all that are held out some time, in order.
    said : tuple of str
    """

    rounds: tuple[tuple[tuple[np.ndarray, np.ndarray], ...], ...]
    tested: np.ndarray
    said: tuple[str, ...]

    @property
    def held_out(self) -> bool:
        """Whether one part was held out, and nothing else was done with it."""
        return len(self.rounds) == 1

    @property
    def learned(self) -> np.ndarray:
        """Positions that the model shown is fitted to: those not held out, or all after cross-validation."""
        train, test = self.rounds[0][0]
        return train if self.held_out else np.sort(np.concatenate([train, test]))


def split(subject: Subject) -> Parts:
    """Hold out a quarter of each class; of few examples, all in turn, several times."""
    sizes = np.bincount(subject.codes)
    alone = np.flatnonzero(sizes[subject.codes] == 1) if subject.task == CLASSIFICATION else np.empty(0, int)
    rest, rng = np.setdiff1d(np.arange(subject.n), alone), subject.rng()
    said = []
    if len(alone):
        named = ", ".join(map(str, alone[:10].tolist())) + (", …" if len(alone) > 10 else "")
        said.append(f"alone in their classes, and so learned from but never held out: examples {named}")
    if subject.n >= FEWEST:
        test = rest[_turns(subject.codes[rest], rng) < SHARE]
        train = np.setdiff1d(np.arange(subject.n), test)
        said.append(
            f"{len(test):,} examples, a quarter of each class, rounded up, were held out: the model was fitted to the "
            f"other {len(train):,} and judged by these"
        )
        return Parts((((train, test),),), test, tuple(said))
    rounds = tuple(_folds(subject, rest, rng) for _ in range(ROUNDS))
    said.append(
        f"{subject.n} examples are too few to hold a part out: in {ROUNDS} repeats of cross-validation in "
        f"{len(rounds[0])} folds each was judged by models that had not seen it, and the model shown was fitted to all"
    )
    return Parts(rounds, rest, tuple(said))


def _turns(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return for each example its place in a random order of its class, from 0 to below 1."""
    turns = np.empty(len(codes))
    for c in np.unique(codes):
        members = np.flatnonzero(codes == c)
        turns[members] = rng.permutation(len(members)) / len(members)
    return turns


def _folds(subject: Subject, rest: np.ndarray, rng: np.random.Generator) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """Return folds in which every class has its share, and is always learned from."""
    codes = subject.codes[rest]
    order = rng.permutation(len(rest))
    order = order[np.argsort(codes[order], kind="stable")]
    n_folds = min(FOLDS, len(rest))
    places = np.empty(len(rest), int)
    places[order] = np.arange(len(rest)) % n_folds
    tests = [rest[places == fold] for fold in range(n_folds)]
    return tuple((np.setdiff1d(np.arange(subject.n), test), test) for test in tests)


@dataclass(frozen=True, eq=False)
class Trial:
    """What the tested examples got, each from models that had not seen it.

    Attributes
    ----------
    tested : array of int
        Their positions in X.
    scores : array of shape (rounds, n, classes) or (rounds, n)
        Scores of classes, or predicted numbers.
    chances : array of shape (n, classes) or None
        Probabilities of classes, the mean over rounds.
    targets : array
        Class numbers, or numbers to predict.
    grade : str
        HELD-OUT or ESTIMATE.
    """

    tested: np.ndarray
    scores: np.ndarray
    chances: np.ndarray | None
    targets: np.ndarray
    grade: str

    @property
    def decided(self) -> np.ndarray:
        """The class numbers decided on, or the numbers predicted, a row for each round."""
        return self.scores.argmax(axis=2) if self.scores.ndim == 3 else self.scores

    @property
    def mean_scores(self) -> np.ndarray:
        """The mean over rounds."""
        means: np.ndarray = self.scores.mean(axis=0)
        return means

    def error(self, seed: int) -> Estimate:
        """Return the share of errors with an exact interval, or the root mean squared error with a bootstrap one."""
        if self.chances is not None:
            return share(float((self.decided != self.targets).sum(axis=1).mean()), len(self.targets), self.grade)
        losses = ((self.decided - self.targets) ** 2).mean(axis=0)
        drawn = np.random.default_rng(seed).integers(len(losses), size=(REPLICATES, len(losses)))
        return bootstrap(float(np.sqrt(losses.mean())), np.sqrt(losses[drawn].mean(axis=1)))

    def explained(self, seed: int) -> Estimate | None:
        """Return R², the part of the variance that is explained, with a bootstrap interval; None for classes."""
        if self.chances is not None:
            return None
        losses, spread = ((self.decided - self.targets) ** 2).mean(axis=0), self.targets - self.targets.mean()
        drawn = np.random.default_rng(seed).integers(len(losses), size=(REPLICATES, len(losses)))
        variances = self.targets[drawn].var(axis=1)
        some = variances > 0
        values = 1 - losses[drawn].mean(axis=1)[some] / variances[some]
        total = float((spread**2).mean())
        return None if not total or not some.any() else bootstrap(1 - float(losses.mean()) / total, values)


def share(wrong: float, n: int, grade: str) -> Estimate:
    """Return a share of errors with Clopper and Pearson's interval."""
    low, high = clopper_pearson(wrong, n, LEVEL)
    return Estimate(wrong / n, float(low), float(high), LEVEL, grade)


def bootstrap(value: float, values: np.ndarray) -> Estimate:
    """Return an estimate with the interval that replicates leave between their tails."""
    low, high = (float(end) for end in np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]))
    return Estimate(value, min(low, value), max(high, value), LEVEL, ESTIMATE)


def attempt(subject: Subject, parts: Parts, make: Callable[[], Any]) -> tuple[Trial, Any]:
    """Judge an estimator by held-out examples; return also the model fitted in the last fold."""
    rounds, chances, model = [], [], None
    at = np.searchsorted(parts.tested, np.arange(subject.n))
    for folds in parts.rounds:
        scores = np.zeros((len(parts.tested), max(1, len(subject.classes))))
        likely = np.zeros_like(scores)
        for train, test in folds:
            with pairs_at(train, train):
                model = make().fit(take(subject.X, train), subject.y[train])
            scores[at[test]], likely[at[test]] = _answers(subject, model, test)
        rounds.append(scores)
        chances.append(likely)
    grade = HELD_OUT if parts.held_out else ESTIMATE
    stacked = np.stack(rounds)
    if subject.task == CLASSIFICATION:
        return Trial(parts.tested, stacked, np.mean(chances, axis=0), subject.codes[parts.tested], grade), model
    return Trial(parts.tested, stacked[:, :, 0], None, subject.y[parts.tested], grade), model


def _answers(subject: Subject, model: Any, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a score and a probability for each class, or the prediction twice."""
    X = take(subject.X, test)
    if subject.task != CLASSIFICATION:
        predicted = model.predict(X)[:, None]
        return predicted, predicted
    return class_scores(subject, model, X)


def class_scores(subject: Subject, model: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return a score and a probability for each class of the subject, whatever the model knows of them."""
    known = np.searchsorted(subject.classes, model.classes_)
    raw = model.decision_function(X)
    both = np.stack([-raw / 2, raw / 2], axis=1) if raw.ndim == 1 else raw
    both = _settled(both, raw)
    scores = np.full((len(both), len(subject.classes)), both.min() - 1.0)
    chances = np.zeros_like(scores)
    scores[:, known], chances[:, known] = both, probabilities(raw, model._temperature)
    return scores, chances


def _settled(both: np.ndarray, raw: np.ndarray) -> np.ndarray:
    """Let a score of exactly 0 speak for the second of two classes, as models decide."""
    if raw.ndim == 1:
        both[raw == 0, 1] = np.finfo(float).tiny
    return both
