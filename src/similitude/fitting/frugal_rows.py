"""The rows of a frugal fit: what was bought about them, and which similarities are bought next.

A *column* is a landmark with a direction: K(x, l), or K(l, x), which is called turned. Directions are bought one by
one, because one of them may say much and the other nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute import Encoding, count
from similitude.evaluation import FEWEST_GROUPS_APART, Trial, at_rows, interleaved, last_groups
from similitude.fitting import limits
from similitude.fitting.cascade import Stage, decided, margins
from similitude.fitting.profile_ridge import fit_profiles
from similitude.similarity import SYMMETRIC, Meter, Similarity, calls_per_pair


@dataclass(frozen=True, eq=False)
class FrugalTask:
    """What a frugal fit is given."""

    X: Any
    k: Similarity
    A: Encoding  # the objects, encoded by the similarity
    Y: np.ndarray
    weights: np.ndarray
    numbers: np.ndarray | None  # class numbers; None for numbers to predict: every row goes through every stage
    order: np.ndarray  # the rows with a weight, in random order
    side: str
    budget: int  # most calls
    meter: Meter  # counts them
    rng: np.random.Generator
    share_evaluating: float = 0.1  # of the rows
    later: int = 0  # other rows that are predicted within the same budget
    groups: np.ndarray | None = None  # no split separates one
    located: np.ndarray | None = None  # the positions of the rows among all rows; None if these are all rows

    @property
    def n_classes(self) -> int:
        """The number of classes, or 1 for numbers."""
        return 1 if self.numbers is None else len(np.unique(self.numbers))


class Purchases:
    """Similarities K(x, l) and K(l, x) of training rows to candidates for landmarks, which are rows as well."""

    def __init__(self, k: Similarity, A: Encoding) -> None:
        self.k = k
        self.A = A
        self.n = count(A)
        self.symmetric = SYMMETRIC in k.claims  # whether K(x, z) stands for K(z, x) as well
        self.price = calls_per_pair(k)
        self.calls = 0  # that were made, or that a cache saved
        self._known: dict[int, np.ndarray] = {}

    def pairs(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Return K(x_i, x_j) for pairs of positions."""
        keys = self._keys(i, j)
        different, first, back = np.unique(keys, return_index=True, return_inverse=True)
        known = self._lookup(different)
        new = np.flatnonzero(np.isnan(known))
        if len(new):
            at = first[new]
            order = np.argsort(at)  # rows in the order in which they were asked for
            known[new[order]] = self.k.values_at(self.A, self.A, i[at[order]], j[at[order]])
            self._store(different[new], known[new])
            self.calls += len(new) * self.price
        found: np.ndarray = known[back.ravel()]
        return found

    def columns(self, rows: np.ndarray, landmarks: np.ndarray, turned: np.ndarray) -> np.ndarray:
        """Return the similarities of rows to landmarks: K(x, l), or K(l, x) where a landmark is turned."""
        i, j = _directed(rows, landmarks, turned)
        return self.pairs(i.ravel(), j.ravel()).reshape(i.shape)

    def known(self, rows: np.ndarray, landmarks: np.ndarray, turned: np.ndarray) -> np.ndarray:
        """Return those of these similarities that were bought, and NaN for the others."""
        i, j = _directed(rows, landmarks, turned)
        return self._lookup(self._keys(i.ravel(), j.ravel())).reshape(i.shape)

    def _keys(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        if self.symmetric:
            i, j = np.minimum(i, j), np.maximum(i, j)
        keys: np.ndarray = i.astype(np.int64) * self.n + j
        return keys

    def _lookup(self, keys: np.ndarray) -> np.ndarray:
        found = np.full(len(keys), np.nan)
        row, column = np.divmod(keys, self.n)
        for one in np.unique(row).tolist():
            if one in self._known:
                at = row == one
                found[at] = self._known[one][column[at]]
        return found

    def _store(self, keys: np.ndarray, values: np.ndarray) -> None:
        row, column = np.divmod(keys, self.n)
        for one in np.unique(row).tolist():
            at = row == one
            known = self._known.setdefault(one, np.full(self.n, np.nan))
            known[column[at]] = values[at]


def _directed(rows: np.ndarray, landmarks: np.ndarray, turned: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and second objects of all pairs of a row and a landmark."""
    here, there = np.broadcast_arrays(rows[:, None], landmarks[None])
    return np.where(turned, there, here), np.where(turned, here, there)


SCREENING = 0.3
"""What is spent on choosing columns relative to comparing rows with them."""


@dataclass(frozen=True, eq=False)
class FrugalStep:
    """The rows that evaluate, after a purchase, and the calls that were spent in all."""

    n: int  # columns
    scores: np.ndarray
    calls: float  # of a prediction, on average
    spent: int


class FrugalRows:
    """Rows on their way through a cascade, and what was bought: K(x, l), or K(l, x) in direction True."""

    def __init__(self, task: FrugalTask, bought: Purchases, directions: tuple[bool, ...]) -> None:
        self.task = task
        self.bought = bought
        self.directions = directions
        order = task.order
        some = order if task.numbers is None else order[interleaved(task.numbers[order], task.rng)]
        some = some[: limits.rows_compared(len(some))]
        n_evaluating = limits.rows_evaluating(len(some), task.share_evaluating)
        if task.groups is not None:
            if len(np.unique(task.groups[some])) < FEWEST_GROUPS_APART:
                raise ValueError(f"need at least {FEWEST_GROUPS_APART} groups where similarities are bought")
            some, n_evaluating = last_groups(some, task.groups[some], n_evaluating, kept=2)
        self.places = some
        self.n = len(some) - n_evaluating  # rows that choices are made on, the first ones
        self.Y = task.Y[some].astype(np.float64)
        self.weights = task.weights[some]
        self.numbers = at_rows(task.numbers, some)
        self.groups = at_rows(task.groups, some)
        self.scores = np.tile(np.average(self.Y[: self.n], axis=0, weights=self.weights[: self.n]), (len(some), 1))
        self.active = np.arange(len(some))
        self.landmarks = np.empty(0, dtype=np.intp)
        self.turned = np.empty(0, dtype=bool)
        self.profiles = np.empty((len(some), 0))

    @property
    def learned(self) -> np.ndarray:
        """The active rows that choices are made on."""
        found: np.ndarray = self.active[self.active < self.n]
        return found

    @property
    def evaluating(self) -> np.ndarray:
        """The rows that evaluate: those that took part in no choice, if there are any."""
        return np.arange(self.n % len(self.places), len(self.places))

    @property
    def left(self) -> int:
        """The calls left for further columns, none set aside for later predictions; pairs in a cache count."""
        return self.task.budget - self.bought.calls - self.task.later * len(self.landmarks) * self.bought.price

    def price(self, n_columns: int) -> int:
        """Return the most calls that comparing the active rows, and those predicted later, with columns takes."""
        pairs = n_columns * (len(self.active) + self.task.later)
        if self.bought.symmetric and len(self.active) == len(self.places):  # all landmarks are among them
            pairs -= n_columns * len(self.landmarks) + n_columns * (n_columns - 1) // 2
        return pairs * self.bought.price

    def candidates(self) -> tuple[np.ndarray, np.ndarray]:
        """Return all columns that were not bought, as landmarks and whether they are turned, in mixed order."""
        pools = [np.setdiff1d(np.arange(self.n), self.landmarks[self.turned == one]) for one in self.directions]
        at = np.concatenate(pools)
        turned = np.repeat(np.array(self.directions), [len(pool) for pool in pools])
        order = self._mixed(at)
        return at[order], turned[order]

    def first(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the first columns: n landmarks, classes in turn, in every direction."""
        at = self._mixed(np.arange(self.n))[:n]
        return np.tile(at, len(self.directions)), np.repeat(np.array(self.directions), len(at))

    def screen(self, n: int, spare: float) -> tuple[np.ndarray, np.ndarray]:
        """Return n further columns that explain most on a few rows: of candidates drawn, and of the likely ones."""
        at, turned = self.candidates()
        if len(at) <= n:
            return at, turned
        drawn = 4 * n
        likely = np.argsort(-self._known_gains(at, turned), kind="stable")
        likely = likely[likely >= drawn][:drawn]
        some = np.concatenate([np.arange(min(drawn, len(at))), likely])
        n_rows = min(len(self.learned), int(spare / (len(some) * self.bought.price)))
        if n_rows < 8 or len(some) <= n:  # too few rows to compare candidates on
            best = np.concatenate([likely, np.arange(drawn)])[:n]
            return at[best], turned[best]
        rows = self.learned[self._mixed(self.learned)[:n_rows]]
        with self.task.meter.spending_on("choosing landmarks"):
            C = self.bought.columns(self.places[rows], self.places[at[some]], turned[some])
        chosen = some[most_telling(C, self.Y[rows] - self.scores[rows], n)]
        return at[chosen], turned[chosen]

    def _known_gains(self, at: np.ndarray, turned: np.ndarray) -> np.ndarray:
        """Return how much of the residuals each column explains on the landmarks, as far as these pairs are known."""
        rows = np.unique(self.landmarks)
        C = self.bought.known(self.places[rows], self.places[at], turned)
        known = ~np.isnan(C)
        means = np.where(known, C, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        C = np.where(known, C - means, 0.0)
        residuals = self.Y[rows] - self.scores[rows]
        return _gains(C, residuals - residuals.mean(axis=0), _damping(C))

    def _mixed(self, which: np.ndarray) -> np.ndarray:
        """Return an order of rows in which classes take turns."""
        shuffled = self.task.rng.permutation(len(which))
        if self.numbers is None:
            return shuffled
        numbers = self.numbers[which[shuffled]]
        turn = np.empty(len(which), dtype=np.intp)
        for one in np.unique(numbers):
            same = np.flatnonzero(numbers == one)
            turn[same] = np.arange(len(same))
        mixed: np.ndarray = shuffled[np.argsort(turn, kind="stable")]
        return mixed

    def compare(self, at: np.ndarray, turned: np.ndarray) -> None:
        """Compare the active rows with further columns."""
        with self.task.meter.spending_on("comparing with landmarks"):
            K = self.bought.columns(self.places[self.active], self.places[at], turned)
        wider = np.full((len(self.places), len(at)), np.nan)
        wider[self.active] = K
        self.profiles = np.concatenate([self.profiles, wider], axis=1)
        self.landmarks = np.concatenate([self.landmarks, at])
        self.turned = np.concatenate([self.turned, turned])

    def fit(self, n_columns: int, adds: bool = False) -> tuple[Stage, Trial, np.ndarray]:
        """Fit columns to active rows, or to what is unexplained; return the stage, its trial, and all scores."""
        F = self.profiles[:, :n_columns]
        active = self.active
        learned = self.learned
        others = active[active >= self.n]
        before = self.scores if adds else np.zeros_like(self.scores)
        Y = self.Y - before
        groups = at_rows(self.groups, learned)
        noise = self.task.meter.noise or 0.0
        ridge, trial = fit_profiles(F[learned], Y[learned], self.weights[learned], noise, groups)
        scores = before.copy()
        scores[learned] += trial.scores
        scores[others] += ridge.scores(F[others])
        everyone = ridge.refitted(F[active], Y[active], self.weights[active])
        return Stage(n_columns, everyone, active, adds, np.inf), trial, scores

    def can_learn_from(self, rows: np.ndarray) -> bool:
        """Whether rows are of several classes, and of several groups if there are groups."""
        assert self.numbers is not None
        several = self.groups is None or len(np.unique(self.groups[rows])) > 1
        return several and len(np.unique(self.numbers[rows])) > 1

    def reorder(self) -> None:
        """Put the columns first that explain most of the scores that all of them give to rows left out."""
        order = most_telling(self.profiles[: self.n], self.scores[: self.n], len(self.landmarks))
        self.profiles = self.profiles[:, order]
        self.landmarks = self.landmarks[order]
        self.turned = self.turned[order]

    def gain(self) -> float:
        """Return how many more of the rows with choices are right than by the most frequent class, as a share."""
        assert self.numbers is not None
        numbers = self.numbers[: self.n]
        most = np.bincount(numbers).max()
        return max(0.0, float((decided(self.scores[: self.n]) == numbers).sum() - most) / self.n)

    def certain_margin(self) -> float:
        """Return the margin from which on a class is certain: too few rows left out of the fit are wrong to matter."""
        if self.numbers is None:
            return np.inf
        learned = self.learned
        ahead = margins(self.scores[learned])
        order = np.argsort(-ahead, kind="stable")
        wrong = np.cumsum(decided(self.scores[learned])[order] != self.numbers[learned][order])
        # errors among the rows whose class is taken as certain, relative to the gain over the most frequent class
        certain = np.flatnonzero(wrong + 0.5 <= 0.05 * self.gain() * self.n)
        # fewer rows than this are too few to tell that their class is certain
        if len(certain) and certain[-1] + 1 + self.n - len(learned) >= 100:
            return float(ahead[order[certain[-1]]])
        return np.inf

    def uncertain(self, margin: float) -> np.ndarray:
        """Return the active rows whose margin is smaller."""
        found: np.ndarray = self.active[margins(self.scores[self.active]) < margin]
        return found

    def step(self) -> FrugalStep:
        """Return the rows that evaluate, if a prediction asks for all columns."""
        n = len(self.landmarks)
        return FrugalStep(n, self.scores[self.evaluating], float(n * self.bought.price), self.bought.calls)


def most_telling(C: np.ndarray, residuals: np.ndarray, n: int) -> np.ndarray:
    """Return the n columns that explain most of the residuals, one after the other (matching pursuit).

    >>> rng = np.random.default_rng(0)
    >>> C = rng.standard_normal((50, 8))
    >>> most_telling(C, 2 * C[:, [3]] + C[:, [6]], 2)
    array([3, 6])
    """
    Q = C - C.mean(axis=0)
    left = residuals - residuals.mean(axis=0)
    damping = _damping(Q)
    chosen: list[int] = []
    for _ in range(min(n, C.shape[1])):
        gains = _gains(Q, left, damping)
        gains[chosen] = -1.0
        best = int(gains.argmax())
        chosen.append(best)
        length = float(np.linalg.norm(Q[:, best]))
        if length > 0:
            unit = Q[:, best] / length
            Q = Q - np.outer(unit, unit @ Q)
            left = left - np.outer(unit, unit @ left)
    return np.array(chosen, dtype=np.intp)


def _damping(Q: np.ndarray) -> float:
    """Return what is added to the squared lengths of centered columns: a hundredth of the largest."""
    return 0.01 * float((Q**2).sum(axis=0).max(initial=0.0)) or 1.0


def _gains(Q: np.ndarray, residuals: np.ndarray, damping: float) -> np.ndarray:
    """Return the squares of residuals that each centered column explains alone."""
    explained: np.ndarray = ((Q.T @ residuals) ** 2).sum(axis=1) / ((Q**2).sum(axis=0) + damping)
    return explained
