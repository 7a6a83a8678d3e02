"""A frugal fit for similarities that cost money: few landmarks, the most telling ones, and a cascade of models.

Landmarks are bought in stages. Candidates are compared with a few rows first, and those that explain most of what the
last stage left unexplained are compared with all rows. Once half of the budget is spent, rows whose class is certain
are compared no further, and predictions stop in the same way. A tenth of the rows takes no part in any choice: they go
through the cascade as new objects do, and judge it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute import Encoding, take
from similitude.compute.engines import format_bytes
from similitude.estimators.cascade import Cascade, CascadeInfluence, Stage, decided, margins
from similitude.estimators.landmark_count import LandmarkCurve
from similitude.estimators.profile_ridge import fit_profiles
from similitude.estimators.purchases import Purchases
from similitude.landmarks import LandmarkFeatures, Landmarks, interleaved
from similitude.linear import Trial
from similitude.similarity import SYMMETRIC, Meter, Similarity, calls_per_pair
from similitude.support import BudgetError

FIRST_STAGE, GROWTH, MOST_LANDMARKS = 5, 1.5, 320
"""Landmarks of the first stage, unless there are more classes; by what their number grows; and the most of them."""

MOST_COMPARED_ROWS = 2_000
"""Most rows that a frugal fit compares: the equations of a stage take the third power of their number."""

JUDGING, MOST_JUDGING = 0.1, 300
"""The share of rows that judge the model, and the most of them."""

SCREENING, CANDIDATES, FEWEST_SCREENED = 0.3, 4, 15
"""What is spent on choosing the landmarks of a stage relative to comparing rows with them, candidates for each
landmark, and the fewest rows on which candidates are compared."""

COMPARED_SHARE, FEWEST_COMPARED, MOST_COMPARED = 0.25, 10, 200
"""Pairs that are compared in both directions to see whether a similarity is symmetric, relative to the rows."""

CERTAIN = 0.004
"""The share of all rows that may be wrong among those whose class is taken as certain at one stage. Of fewer than 125
rows none is certain: too few were seen to be right."""

DOUBLING = 2
"""Stages that about double the number of landmarks: if they gain nothing and most predictions would pay for them, the
last one is left away."""

ALL_ROWS = 0.5
"""The share of the budget from which on only rows without a certain class are compared."""

FEWEST_UNCERTAIN = 10
"""A cascade ends when fewer rows than this are uncertain."""

GAINED_NOTHING = "twice as many gained nothing"

SHORT_COLUMNS = 0.01
"""What is added to the squared length of a column, relative to the longest, when columns are compared."""


@dataclass(frozen=True, eq=False)
class FrugalStep:
    """How rows fared after a stage: their scores and the calls for each, and the calls that were spent in all."""

    n: int
    scores: np.ndarray
    calls: np.ndarray
    spent: int


@dataclass(frozen=True, eq=False)
class FrugalFit:
    """What a frugal fit found.

    Attributes
    ----------
    model : Cascade
    influence : CascadeInfluence
    curve : LandmarkCurve
    trial : Trial
        Rows that took part in no choice, predicted as new objects are.
    judges : array of int
        Their positions.
    left_out : Trial
        The other rows, each left out of its stages.
    learned : array of int
        The positions of these.
    calls : float
        Mean comparisons of a prediction.
    symmetry : str
        What is known about the symmetry, in words.
    steps : list of FrugalStep
        How rows fared after each stage.
    judged : array of int
        The judges, by their positions in the steps.
    """

    model: Cascade
    influence: CascadeInfluence
    curve: LandmarkCurve
    trial: Trial
    judges: np.ndarray
    left_out: Trial
    learned: np.ndarray
    calls: float
    symmetry: str
    steps: list[FrugalStep]
    judged: np.ndarray


@dataclass(frozen=True, eq=False)
class FrugalTask:
    """What a frugal fit is given.

    Attributes
    ----------
    X, k, A
        Objects, the similarity, and the objects encoded by it.
    Y, weights : array
    numbers : array of int, or None
        Class numbers; None for numbers to predict, where every row goes through every stage.
    order : array of int
        The rows with a weight, in random order.
    side : str
    budget : int
        Most calls.
    meter : Meter
        Counts them.
    rng : Generator
    judging : float
        The share of rows that judge.
    """

    X: Any
    k: Similarity
    A: Encoding
    Y: np.ndarray
    weights: np.ndarray
    numbers: np.ndarray | None
    order: np.ndarray
    side: str
    budget: int
    meter: Meter
    rng: np.random.Generator
    judging: float = JUDGING

    @property
    def n_classes(self) -> int:
        """The number of classes, or 1 for numbers."""
        return 1 if self.numbers is None else len(np.unique(self.numbers))


def fit_frugally(task: FrugalTask) -> FrugalFit:
    """Buy landmarks in stages, and fit a cascade."""
    check_budget(task)
    bought = Purchases(task.k, task.A)
    side, symmetry = _side(task, bought)
    people = FrugalRows(task, bought, side)
    stages: list[Stage] = []
    trials: list[Trial] = []
    passed: list[FrugalStep] = []
    ended, reason = "", "their number reached the most that is tried"
    for size in _sizes(task.n_classes):
        left = task.budget - bought.calls  # as if nothing were cached, so that a repeated fit makes the same choices
        new, spare = _affordable(people, size - len(people.landmarks), left)
        if new < (2 if stages else task.n_classes):
            reason = "the budget of calls is spent"
            break
        try:
            people.compare(people.screen(new, spare))
        except BudgetError:
            if not stages:
                raise
            reason = "the budget of calls is spent"
            break
        stage, trial = people.learn()
        stages.append(stage)
        trials.append(trial)
        passed.append(people.step(bought.calls))
        ended = _ended(task, people, stage, trials)
        if ended:
            reason = ended
            break
    if ended == GAINED_NOTHING:
        del stages[-1]
    return _fitted(task, people, stages, trials, passed, reason, symmetry)


def check_memory(n: int, memory: int) -> None:
    """Refuse rows whose equations and similarities, in both directions, do not fit into a memory budget."""
    rows = min(n, MOST_COMPARED_ROWS)
    needed = 8 * rows * (2 * rows + 2 * MOST_LANDMARKS)
    if needed > memory:
        raise MemoryError(
            f"comparing {rows:,} rows with landmarks takes {format_bytes(needed)}, the memory budget is "
            f"{format_bytes(memory)}: give fewer rows, or a larger budget"
        )


def check_budget(task: FrugalTask) -> None:
    """Refuse a budget that does not suffice for two landmarks of each class."""
    rows = min(len(task.order), MOST_COMPARED_ROWS)
    needed = 2 * max(2, task.n_classes) * rows * calls_per_pair(task.k)
    if task.budget < needed:
        raise BudgetError(
            f"max_calls = {task.budget:,} does not suffice: comparing {rows:,} rows with two landmarks of each class "
            f"takes {needed:,} calls; raise it, or give fewer rows"
        )


def _side(task: FrugalTask, bought: Purchases) -> tuple[str, str]:
    """Return which similarities are used, and why; asymmetry is looked for on a sample of pairs."""
    if task.side != "auto":
        return task.side, "as asked for"
    if SYMMETRIC in task.k.claims:
        return "left", "the similarity is claimed to be symmetric"
    n = len(task.order)
    pairs = int(min(max(COMPARED_SHARE * n, FEWEST_COMPARED), MOST_COMPARED, n // 2))
    i, j = task.order[:pairs], task.order[pairs : 2 * pairs]
    with task.meter.spending_on("looking for asymmetry"):
        there, back = bought.pairs(i, j), bought.pairs(j, i)
    different = int((np.abs(there - back) > 1e-9 * np.maximum(np.abs(there), np.abs(back))).sum())
    if different:
        return "both", f"K(x, z) differs from K(z, x) for {different:,} of {pairs:,} pairs"
    bought.symmetric = True  # of a pair of landmarks, one direction is bought
    return "left", f"K(x, z) = K(z, x) for all of {pairs:,} pairs that were tried"


def _sizes(n_classes: int) -> list[int]:
    """Return the numbers of landmarks after each stage.

    >>> _sizes(2)
    [5, 8, 12, 18, 27, 41, 62, 93, 140, 210, 315]
    """
    sizes = [max(FIRST_STAGE, n_classes)]
    while GROWTH * sizes[-1] < MOST_LANDMARKS:
        sizes.append(math.floor(GROWTH * sizes[-1] + 0.5))
    return sizes


def _affordable(people: FrugalRows, wanted: int, left: int) -> tuple[int, float]:
    """Return how many landmarks can be bought, and the calls that are spare for choosing them."""
    wanted = min(wanted, people.n - len(people.landmarks))
    if people.price(wanted) > left:
        wanted = int(left / (1 + SCREENING) / max(1, people.price(1)))
    return wanted, min(SCREENING * people.price(wanted), left - people.price(wanted))


def _ended(task: FrugalTask, people: FrugalRows, stage: Stage, trials: list[Trial]) -> str:
    """Let certain rows leave, and return why no further stage is needed, or nothing."""
    costly = 2 * np.count_nonzero(people.active < people.n) > people.n  # for most predictions
    if costly and len(trials) > DOUBLING and not people.gained(trials[-1 - DOUBLING], trials[-1]):
        return GAINED_NOTHING
    if task.numbers is None:
        return ""
    people.advance(stage.threshold, people.bought.calls >= ALL_ROWS * task.budget)
    learned = people.active[people.active < people.n]
    if len(learned) < FEWEST_UNCERTAIN or len(np.unique(task.numbers[people.places[learned]])) < 2:
        return "hardly any row is uncertain"
    return ""


def _fitted(
    task: FrugalTask,
    people: FrugalRows,
    stages: list[Stage],
    trials: list[Trial],
    passed: list[FrugalStep],
    reason: str,
    symmetry: str,
) -> FrugalFit:
    """Return the cascade of the stages that are kept, and how rows fared."""
    last = passed[len(stages) - 1]
    positions = people.places[people.landmarks[: stages[-1].n]]
    labels = None if task.numbers is None else task.numbers[positions]
    landmarks = Landmarks(take(task.X, positions), positions, None, labels, "frugal").encoded(task.k, task.A)
    side = "both" if people.profiles.shape[1] == 2 else "right" if task.side == "right" else "left"
    stages[-1] = replace(stages[-1], threshold=0.0)
    learned, judges = np.arange(people.n), np.arange(people.n, len(people.places))
    Y, weights, lam = people.Y, people.weights, trials[-1].lam
    judged = judges if len(judges) else learned
    return FrugalFit(
        Cascade(LandmarkFeatures(task.k, landmarks, side), tuple(stages)),
        CascadeInfluence.of(stages[0], Y, people.numbers),
        LandmarkCurve.of(people.sizes, trials, reason),
        Trial.of(lam, last.scores[judged], Y[judged], weights[judged]),
        people.places[judged],
        Trial.of(lam, last.scores[learned], Y[learned], weights[learned]),
        people.places[learned],
        float(last.calls[judged].mean()),
        symmetry,
        passed,
        judged,
    )


class FrugalRows:
    """Rows on their way through the stages of a cascade, and what was bought about them.

    Parameters
    ----------
    task : FrugalTask
    bought : Purchases
    side : str
    """

    def __init__(self, task: FrugalTask, bought: Purchases, side: str) -> None:
        self.bought, self.side, self.meter, self.rng = bought, side, task.meter, task.rng
        numbers, order = task.numbers, task.order
        some = order if numbers is None else order[interleaved(numbers[order], task.rng)]
        some = some[:MOST_COMPARED_ROWS]
        n_judges = min(MOST_JUDGING, int(task.judging * len(some)))
        self.places, self.n = some, len(some) - n_judges
        self.Y, self.weights = task.Y[self.places].astype(np.float64), task.weights[self.places]
        self.numbers = None if numbers is None else numbers[self.places]
        self.scores = np.tile(np.average(self.Y[: self.n], axis=0, weights=self.weights[: self.n]), (len(some), 1))
        self.active = np.arange(len(some))
        self.compared = np.arange(len(some))
        self.landmarks = np.empty(0, dtype=np.intp)
        self.profiles = np.empty((len(some), 2 if side == "both" else 1, 0))
        self.calls = np.zeros(len(some), dtype=np.intp)
        self.sizes: list[int] = []

    @property
    def per_landmark(self) -> int:
        """Calls for one row and landmark."""
        return self.profiles.shape[1] * calls_per_pair(self.bought.k)

    def price(self, n_landmarks: int) -> int:
        """Return the most calls that comparing with further landmarks takes."""
        return n_landmarks * len(self.compared) * self.per_landmark

    def screen(self, n: int, spare: float) -> np.ndarray:
        """Return n further landmarks: those that explain most of what is unexplained, if enough calls are spare."""
        pool = np.setdiff1d(np.arange(self.n), self.landmarks)
        pool = pool[self._mixed(pool)]
        candidates = pool[: CANDIDATES * n]
        learned = self.active[self.active < self.n]
        n_rows = min(len(learned), int(spare / (len(candidates) * self.per_landmark)))
        if n_rows < FEWEST_SCREENED or len(candidates) <= n:
            return pool[:n]
        some = learned[self._mixed(learned)[:n_rows]]
        with self.meter.spending_on("choosing landmarks"):
            C = self.bought.block(self.places[some], self.places[candidates], self.side)
        return candidates[most_telling(C, self.Y[some] - self.scores[some], n)]

    def _mixed(self, which: np.ndarray) -> np.ndarray:
        """Return an order of rows in which classes take turns."""
        if self.numbers is None:
            return self.rng.permutation(len(which))
        shuffled = self.rng.permutation(len(which))
        numbers = self.numbers[which[shuffled]]
        turn = np.empty(len(which), dtype=np.intp)
        for one in np.unique(numbers):
            at = np.flatnonzero(numbers == one)
            turn[at] = np.arange(len(at))
        mixed: np.ndarray = shuffled[np.argsort(turn, kind="stable")]
        return mixed

    def compare(self, new: np.ndarray) -> None:
        """Compare rows with further landmarks."""
        with self.meter.spending_on("comparing with landmarks"):
            K = self.bought.block(self.places[self.compared], self.places[new], self.side)
        wider = np.full((len(self.places), K.shape[1], len(new)), np.nan)
        wider[self.compared] = K
        self.profiles = np.concatenate([self.profiles, wider], axis=2)
        self.landmarks = np.concatenate([self.landmarks, new])
        self.sizes.append(len(self.landmarks))
        self.calls[self.active] = self.profiles.shape[1] * len(self.landmarks)

    def step(self, spent: int) -> FrugalStep:
        """Return how rows fare now."""
        calls = self.calls * calls_per_pair(self.bought.k)
        return FrugalStep(len(self.landmarks), self.scores.copy(), calls, spent)

    def profile(self, at: np.ndarray) -> np.ndarray:
        """Return all similarities of some rows."""
        found: np.ndarray = self.profiles[at].reshape(len(at), math.prod(self.profiles.shape[1:]))
        return found

    def learn(self) -> tuple[Stage, Trial]:
        """Fit a stage to the rows that were compared; return it with the judges, and the trial of the others so far."""
        learned, judges = self.compared[self.compared < self.n], self.compared[self.compared >= self.n]
        adds = len(learned) < self.n
        targets = self.Y - self.scores if adds else self.Y
        noise = self.meter.noise or 0.0
        ridge, trial = fit_profiles(self.profile(learned), targets[learned], self.weights[learned], noise)
        found = trial.scores + self.scores[learned] if adds else trial.scores
        threshold = np.inf
        if self.numbers is not None:
            at = learned[np.isin(learned, self.active)]
            threshold = self._certain(at, found[np.isin(learned, at)])
        stage = Stage(len(self.landmarks), ridge, self.compared, adds, threshold)
        everyone = ridge.refitted(self.profile(self.compared), targets[self.compared], self.weights[self.compared])
        judges = judges[np.isin(judges, self.active)]
        self.scores[judges] = stage.scores(self.profile(judges), self.scores[judges])
        self.scores[learned] = found
        n = self.n
        now = Trial.of(trial.lam, self.scores[:n].copy(), self.Y[:n], self.weights[:n])
        return replace(stage, ridge=everyone), now

    def gained(self, before: Trial, now: Trial) -> bool:
        """Tell whether fewer rows are wrong than before; or numbers are closer by more than one standard error."""
        if self.numbers is None:
            return now.loss < before.loss - before.deviation
        numbers = self.numbers[: self.n]
        return int((decided(now.scores) != numbers).sum()) < int((decided(before.scores) != numbers).sum())

    def _certain(self, at: np.ndarray, scores: np.ndarray) -> float:
        """Return the margin from which on the class is certain: hardly any row left out of the fit is wrong there."""
        assert self.numbers is not None
        ahead = margins(scores)
        order = np.argsort(-ahead, kind="stable")
        wrong = np.cumsum(decided(scores)[order] != self.numbers[at][order])
        certain = np.flatnonzero(wrong + 0.5 <= CERTAIN * self.n)
        return float(ahead[order[certain[-1]]]) if len(certain) else np.inf

    def advance(self, threshold: float, drop: bool) -> None:
        """Let rows with a certain class leave; with `drop` they are not compared any more."""
        self.active = self.active[margins(self.scores[self.active]) < threshold]
        if drop:
            self.compared = self.active


def most_telling(C: np.ndarray, residuals: np.ndarray, n: int) -> np.ndarray:
    """Return the n candidates that explain most of the residuals, one after the other (matching pursuit).

    `C` has the shape (rows, sides, candidates).

    >>> rng = np.random.default_rng(0)
    >>> C = rng.standard_normal((50, 1, 8))
    >>> most_telling(C, 2 * C[:, 0, [3]] + C[:, 0, [6]], 2)
    array([3, 6])
    """
    Q = C - C.mean(axis=0)
    left = residuals - residuals.mean(axis=0)
    damping = SHORT_COLUMNS * float((Q**2).sum(axis=0).max(initial=0.0)) or 1.0
    chosen: list[int] = []
    for _ in range(min(n, C.shape[2])):
        lengths = (Q**2).sum(axis=0)
        explained = np.einsum("isc,io->sco", Q, left) ** 2
        gains = (explained.sum(axis=2) / (lengths + damping)).sum(axis=0)
        gains[chosen] = -1.0
        best = int(gains.argmax())
        chosen.append(best)
        for side in range(Q.shape[1]):
            length = float(np.linalg.norm(Q[:, side, best]))
            if length > 0:
                unit = Q[:, side, best] / length
                Q = Q - unit[:, None, None] * np.einsum("i,isc->sc", unit, Q)
                left = left - np.outer(unit, unit @ left)
    return np.array(chosen, dtype=np.intp)
