"""A frugal fit for similarities that cost money: few landmarks, those that explain most, and a cascade of models.

A *column* is a landmark with a direction: K(x, l), or K(l, x), which is called turned. Columns are bought in stages,
and compared with all rows first. Candidates are compared with a few rows, and those that explain most of what is still
unexplained are bought. Once the budget would not double their number, and if the class of most rows is certain, only
the others are compared further. Then the columns are ordered by what they explain, a cascade of models asks for them in
this order, and stops where the rest would change too little. A tenth of the rows takes no part in any choice: they go
through the cascade as new objects do, and evaluate it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute import Encoding, count, take
from similitude.compute.engines import format_bytes
from similitude.evaluation import FEWEST_GROUPS_APART, Trial, at_rows, interleaved, last_groups
from similitude.fitting import limits
from similitude.fitting.automatic import EVERY_ROW
from similitude.fitting.cascade import Cascade, CascadeInfluence, Stage, ValueRange, decided, margins, stopping_margins
from similitude.fitting.model import FittedModel, LandmarkCurve, ScoredRows
from similitude.fitting.profile_ridge import fit_profiles
from similitude.landmarks import LandmarkFeatures, Landmarks, Representation
from similitude.linear import LinearModel
from similitude.similarity import SYMMETRIC, Meter, Similarity, calls_per_pair
from similitude.support import BudgetError, Guarantee


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
        return np.asarray(known[back.ravel()])

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
        return np.asarray(i.astype(np.int64) * self.n + j)

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
        return np.asarray(self.active[self.active < self.n])

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
        return np.asarray(shuffled[np.argsort(turn, kind="stable")])

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
        return np.asarray(self.active[margins(self.scores[self.active]) < margin])

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
    return np.asarray(((Q.T @ residuals) ** 2).sum(axis=1) / ((Q**2).sum(axis=0) + damping))


FIRST_STAGE = 5
GROWTH = 1.5
MOST_LANDMARKS = 320
"""Columns of the first stage, unless there are more classes; by what their number grows; and the most of them."""

SPENT = "the budget of calls is spent"
ALL_CERTAIN = "hardly any row is uncertain"
MOST_TRIED = "their number reached the most that is tried"
"""Why no further columns are bought."""


def fit_frugally(task: FrugalTask) -> tuple[FittedModel, list[FrugalStep]]:
    """Buy landmarks in stages, and fit a cascade; also return a step for each purchase for all rows."""
    check_budget(task)
    bought = Purchases(task.k, task.A)
    directions, symmetry = _directions(task, bought)
    rows = FrugalRows(task, bought, directions)
    steps, trials, reason = _buy_for_all(rows)
    # the columns that explain most of the scores that all of them give to rows left out come first
    order = most_telling(rows.profiles[: rows.n], rows.scores[: rows.n], len(rows.landmarks))
    rows.profiles = rows.profiles[:, order]
    rows.landmarks = rows.landmarks[order]
    rows.turned = rows.turned[order]
    built = _Built(rows)
    if reason in (SPENT, EVERY_ROW):  # the uncertain rows alone may be compared further
        reason = ""
    while not reason:
        reason = built.go_on()
    stages, scores, calls = built.stopped()
    used = stages[-1].n
    last = rows.evaluating
    steps[-1] = FrugalStep(used, scores[last], float((calls[last] * bought.price).mean()), bought.calls)
    turned = rows.turned[:used]
    positions = rows.places[rows.landmarks[:used]]
    labels = at_rows(task.numbers, positions)
    landmarks = Landmarks(take(task.X, positions), positions, None, labels, "frugal").encoded(task.k, task.A)
    side = {(False,): "left", (True,): "right"}.get(tuple(np.unique(turned)), "both")
    features = LandmarkFeatures(task.k, landmarks.relocated(task.located), side)
    values = ValueRange.of(task.k, rows.profiles, rows.profiles[rows.landmarks[:used], :used])
    blind = "landmarks were chosen by labels, the theorems are about landmarks drawn blindly"

    def scored(which: np.ndarray) -> ScoredRows:
        Y = rows.Y[which]
        weights = rows.weights[which]
        trial = Trial.of(stages[-1].ridge.lam, scores[which], Y, weights)
        return ScoredRows(trial, Y, weights, at_rows(rows.groups, which))

    left_out = scored(np.arange(rows.n))
    outputs = rows.Y.shape[1]
    fit = FittedModel(
        features=(features,),
        linear=LinearModel(np.empty((0, outputs)), np.zeros(outputs)),
        cascade=Cascade(features, tuple(stages), turned, values, task.numbers is not None),
        mean_calls=steps[-1].calls,
        influence=CascadeInfluence.of(stages[0], rows.Y, rows.numbers),
        trial=left_out.trial,
        held_out=(left_out.Y, left_out.weights),
        groups=left_out.groups,
        evaluation=scored(last),
        curve=LandmarkCurve.of([(step.n, trial) for step, trial in zip(steps, trials, strict=False)], reason),
        representations=(
            Representation(
                "similarities", f"a function that may be costly is compared with few landmarks; {symmetry}", side
            ),
        ),
        guarantee=Guarantee.none(blind),
    )
    return fit, steps


def _buy_for_all(rows: FrugalRows) -> tuple[list[FrugalStep], list[Trial], str]:
    """Buy columns for all rows; return a step and a trial for each purchase, and why no more are bought."""
    steps: list[FrugalStep] = []
    trials: list[Trial] = []
    # one of each class at least, as far as the budget allows for two
    affordable = rows.left // max(1, rows.price(len(rows.directions)))
    new = rows.first(min(max(2, min(max(FIRST_STAGE, rows.task.n_classes), affordable)), rows.n))
    while True:
        try:
            rows.compare(*new)
        except BudgetError:  # calls that failed and were repeated count, too
            if not steps:
                raise
            return steps, trials, SPENT
        _, trial, rows.scores = rows.fit(len(rows.landmarks))
        steps.append(rows.step())
        trials.append(trial)
        reason = _enough(rows, trials)
        if reason:
            return steps, trials, reason
        wanted = min(math.floor(GROWTH * len(rows.landmarks) + 0.5), MOST_LANDMARKS) - len(rows.landmarks)
        found = _affordable(rows, wanted)
        if found is None:
            return steps, trials, _why_no_more(rows)
        new = found


def _enough(rows: FrugalRows, trials: list[Trial]) -> str:
    """Return why no further columns are bought for all rows, or nothing."""
    if len(rows.landmarks) >= MOST_LANDMARKS:
        return MOST_TRIED
    if len(trials) > 1 and not any(_wrong(rows, one) for one in trials[-2:]):
        return ALL_CERTAIN
    if len(trials) > 4:  # four purchases make the columns five times as many
        before = trials[-5]
        now = trials[-1]
        if now.loss >= before.loss and _wrong(rows, now) >= _wrong(rows, before):
            return "five times as many gained nothing"
    if rows.numbers is None or rows.price(len(rows.landmarks)) <= rows.left:
        return ""
    certain = 1 - len(rows.uncertain(rows.certain_margin())) / len(rows.active)
    return _why_no_more(rows) if certain >= 0.5 else ""  # what is left goes to the uncertain rows


def _wrong(rows: FrugalRows, trial: Trial) -> float:
    """Return the number of rows left out of the fit that get another class; for numbers, their loss."""
    if rows.numbers is None:
        return trial.loss
    return float((decided(trial.scores) != rows.numbers[: rows.n]).sum())


def _affordable(rows: FrugalRows, wanted: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return up to as many new columns as wanted for the active rows; None if there are none within the budget."""
    left = rows.left
    if rows.price(wanted) > left / (1 + SCREENING):
        wanted = int(left / (1 + SCREENING) / max(1, rows.price(1)))
    if wanted < 1 or not len(rows.candidates()[0]):
        return None
    try:
        return rows.screen(wanted, min(SCREENING * rows.price(wanted), left - rows.price(wanted)))
    except BudgetError:
        return None


def _why_no_more(rows: FrugalRows) -> str:
    """Return why no column can be bought."""
    return EVERY_ROW if len(rows.landmarks) == rows.n * len(rows.directions) else SPENT


def check_memory(n: int, memory: int) -> None:
    """Refuse rows whose equations and similarities, in both directions, do not fit into a memory budget."""
    rows = limits.rows_compared(n)
    needed = 8 * rows * (2 * rows + 2 * MOST_LANDMARKS)
    if needed > memory:
        raise MemoryError(
            f"comparing {rows:,} rows with landmarks takes {format_bytes(needed)}, the memory budget is "
            f"{format_bytes(memory)}: give fewer rows, or a larger budget"
        )


def check_budget(task: FrugalTask) -> None:
    """Refuse a budget that does not suffice for two landmarks of each class."""
    rows = limits.rows_compared(len(task.order)) + task.later
    needed = 2 * max(2, task.n_classes) * rows * calls_per_pair(task.k)
    if task.budget < needed:
        raise BudgetError(
            f"max_calls = {task.budget:,} does not suffice: comparing {rows:,} rows with two landmarks of each class "
            f"takes {needed:,} calls; raise it, or give fewer rows"
        )


class _Built:
    """The stages of a cascade, with the scores of all rows after each, and the margin up to which rows went on."""

    def __init__(self, rows: FrugalRows) -> None:
        self.rows = rows
        n = len(rows.landmarks)
        fits = [rows.fit(size) for size in ([n] if rows.numbers is None else _sizes(rows.task.n_classes, n))]
        self.stages = [stage for stage, _, _ in fits]
        self.scores = [scores for _, _, scores in fits]
        self.latest = [np.inf] * len(fits)

    def go_on(self) -> str:
        """Compare the uncertain rows with further columns; return why that is not done, or nothing."""
        rows = self.rows
        self.latest[-1] = rows.certain_margin()
        if rows.numbers is None:
            return _why_no_more(rows)
        active = rows.uncertain(self.latest[-1])
        learned = active[active < rows.n]
        # A cascade ends when fewer rows than this are uncertain
        if len(learned) < 20 or not rows.can_learn_from(learned):
            return ALL_CERTAIN
        rows.active = active
        new = _affordable(rows, max(2, len(rows.landmarks) // 2))
        if new is None:
            return _why_no_more(rows)
        try:
            rows.compare(*new)
        except BudgetError:
            return SPENT
        stage, _, rows.scores = rows.fit(len(rows.landmarks), adds=True)
        self.stages.append(stage)
        self.scores.append(rows.scores)
        self.latest.append(np.inf)
        return "" if len(rows.landmarks) < MOST_LANDMARKS else MOST_TRIED

    def stopped(self) -> tuple[list[Stage], np.ndarray, np.ndarray]:
        """Return the stages with the margins at which they stop, and the scores and comparisons of all rows."""
        n = [stage.n for stage in self.stages]
        rows = self.rows
        at = [0.0] * len(n)
        if rows.numbers is not None:
            at = stopping_margins([scores[: rows.n] for scores in self.scores], self.latest, rows.gain())
        scores = self.scores[0].copy()
        calls = np.full(len(rows.places), n[0])
        going = np.arange(len(rows.places))
        for k in range(1, len(n)):
            going = going[margins(scores[going]) < at[k - 1]]
            scores[going] = self.scores[k][going]
            calls[going] = n[k]
        used = n.index(int(calls.max()))
        stages = [replace(stage, threshold=margin) for stage, margin in zip(self.stages, at, strict=True)][: used + 1]
        stages[-1] = replace(stages[-1], threshold=0.0)
        return stages, scores, calls


def _sizes(n_classes: int, most: int) -> list[int]:
    """Return the numbers of columns after each stage.

    >>> _sizes(2, 30), _sizes(10, 12), _sizes(2, 4)
    ([5, 8, 12, 18, 27, 30], [10, 12], [4])
    """
    sizes = [max(FIRST_STAGE, n_classes)]
    while sizes[-1] < most:
        sizes.append(math.floor(GROWTH * sizes[-1] + 0.5))
    return [*sizes[:-1], most]


def _directions(task: FrugalTask, bought: Purchases) -> tuple[tuple[bool, ...], str]:
    """Return which directions are bought, and why; asymmetry is looked for on a sample of pairs."""
    named = {"left": (False,), "right": (True,), "both": (False, True)}
    if task.side != "auto":
        return named[task.side], "as asked for"
    if SYMMETRIC in task.k.claims:
        return named["left"], "the similarity is claimed to be symmetric"
    n = len(task.order)
    # pairs that are compared in both directions to see whether a similarity is symmetric, relative to the rows
    pairs = int(min(max(0.25 * n, 10), 200, n // 2))
    i = task.order[:pairs]
    j = task.order[pairs : 2 * pairs]
    with task.meter.spending_on("looking for asymmetry"):
        there = bought.pairs(i, j)
        back = bought.pairs(j, i)
    different = int((np.abs(there - back) > 1e-9 * np.maximum(np.abs(there), np.abs(back))).sum())
    if different:
        return named["both"], f"K(x, z) differs from K(z, x) for {different:,} of {pairs:,} pairs"
    bought.symmetric = True  # of a pair of landmarks, one direction is bought
    return named["left"], f"K(x, z) = K(z, x) for all of {pairs:,} pairs that were tried"
