"""A frugal fit for similarities that cost money: few landmarks, the most telling ones, and a cascade of models.

Landmarks are bought in stages, and compared with all rows first. Candidates are compared with a few rows, and those
that explain most of what is still unexplained are bought. Once the budget would not double their number, and if the
class of most rows is certain, only the others are compared further. Then the columns are ordered by what they tell, a
cascade of models asks for them in this order, and stops where the rest would change too little. A tenth of the rows
takes no part in any choice: they go through the cascade as new objects do, and judge it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from similitude.compute import take
from similitude.compute.engines import format_bytes
from similitude.evaluation import Trial, at_rows
from similitude.fitting import limits
from similitude.fitting.automatic import EVERY_ROW
from similitude.fitting.cascade import Cascade, CascadeInfluence, Stage, ValueRange, decided, margins, stopping_margins
from similitude.fitting.frugal_rows import SCREENING, FrugalRows, FrugalStep, FrugalTask, Purchases
from similitude.fitting.model import LandmarkCurve
from similitude.landmarks import LandmarkFeatures, Landmarks
from similitude.similarity import SYMMETRIC, calls_per_pair
from similitude.support import BudgetError

FIRST_STAGE = 5
GROWTH = 1.5
MOST_LANDMARKS = 320
"""Columns of the first stage, unless there are more classes; by what their number grows; and the most of them."""

PATIENCE = 4
"""Purchases, which make the columns five times as many: if they gain nothing, no more are bought."""

SPENT = "the budget of calls is spent"
GAINED_NOTHING = "five times as many gained nothing"
ALL_CERTAIN = "hardly any row is uncertain"
"""Why no further columns are bought."""


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


def fit_frugally(task: FrugalTask) -> FrugalFit:
    """Buy landmarks in stages, and fit a cascade."""
    check_budget(task)
    bought = Purchases(task.k, task.A)
    directions, symmetry = _directions(task, bought)
    people = FrugalRows(task, bought, directions)
    steps, trials, reason = _buy_for_all(task, people)
    people.reorder()
    built = _Built(people, task.n_classes)
    if reason in (SPENT, EVERY_ROW):  # the uncertain rows alone may be compared further
        reason = ""
    while not reason:
        reason = built.go_on()
    return _fitted(task, people, built, trials, steps, reason, symmetry)


def _buy_for_all(task: FrugalTask, people: FrugalRows) -> tuple[list[FrugalStep], list[Trial], str]:
    """Buy columns for all rows; return how rows fared after each purchase, and why no more are bought."""
    steps: list[FrugalStep] = []
    trials: list[Trial] = []
    new = people.first(min(_first_landmarks(task, people), people.n))
    while True:
        try:
            people.compare(*new)
        except BudgetError:  # calls that failed and were repeated count, too
            if not steps:
                raise
            return steps, trials, SPENT
        _, trial, people.scores = people.fit_all(len(people.landmarks))
        steps.append(people.step())
        trials.append(trial)
        reason = _enough(people, trials)
        if reason:
            return steps, trials, reason
        wanted = min(math.floor(GROWTH * len(people.landmarks) + 0.5), MOST_LANDMARKS) - len(people.landmarks)
        found = _affordable(people, wanted)
        if found is None:
            return steps, trials, _why_no_more(people)
        new = found


def _first_landmarks(task: FrugalTask, people: FrugalRows) -> int:
    """Return the number of the first landmarks: one of each class at least, as far as the budget allows for two."""
    affordable = people.left // max(1, people.price(len(people.directions)))
    return max(2, min(max(FIRST_STAGE, task.n_classes), affordable))


def _enough(people: FrugalRows, trials: list[Trial]) -> str:
    """Return why no further columns are bought for all rows, or nothing."""
    if len(people.landmarks) >= MOST_LANDMARKS:
        return "their number reached the most that is tried"
    if len(trials) > 1 and not any(_wrong(people, one) for one in trials[-2:]):
        return ALL_CERTAIN
    if len(trials) > PATIENCE and not _gained(people, trials[-1 - PATIENCE], trials[-1]):
        return GAINED_NOTHING
    if people.numbers is None or people.price(len(people.landmarks)) <= people.left:
        return ""
    certain = 1 - len(people.uncertain(people.certain_margin())) / len(people.active)
    if certain >= 0.5:
        return _why_no_more(people)
    return ""  # what is left goes to the uncertain rows


def _gained(people: FrugalRows, before: Trial, now: Trial) -> bool:
    """Tell whether fewer rows are wrong than before, or scores are closer."""
    return now.loss < before.loss or _wrong(people, now) < _wrong(people, before)


def _wrong(people: FrugalRows, trial: Trial) -> float:
    """Return the number of rows left out of the fit that get another class; for numbers, their loss."""
    if people.numbers is None:
        return trial.loss
    return float((decided(trial.scores) != people.numbers[: people.n]).sum())


def _affordable(people: FrugalRows, wanted: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return up to as many new columns as wanted for the active rows; None if there are none within the budget."""
    left = people.left
    if people.price(wanted) > left / (1 + SCREENING):
        wanted = int(left / (1 + SCREENING) / max(1, people.price(1)))
    if wanted < 1 or not len(people.candidates()[0]):
        return None
    try:
        return people.screen(wanted, min(SCREENING * people.price(wanted), left - people.price(wanted)))
    except BudgetError:
        return None


def _why_no_more(people: FrugalRows) -> str:
    """Return why no column can be bought."""
    if len(people.landmarks) == people.n * len(people.directions):
        return EVERY_ROW
    return SPENT


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

    def __init__(self, people: FrugalRows, n_classes: int) -> None:
        self.people = people
        sizes = _sizes(n_classes, len(people.landmarks)) if people.numbers is not None else [len(people.landmarks)]
        fits = [people.fit_all(size) for size in sizes]
        self.stages: list[Stage] = [stage for stage, _, _ in fits]
        self.scores: list[np.ndarray] = [scores for _, _, scores in fits]
        self.latest: list[float] = [np.inf] * len(fits)

    def go_on(self) -> str:
        """Compare the uncertain rows with further columns; return why that is not done, or nothing."""
        people = self.people
        self.latest[-1] = people.certain_margin()
        active = people.uncertain(self.latest[-1])
        learned = active[active < people.n]
        if people.numbers is None:
            return _why_no_more(people)
        # A cascade ends when fewer rows than this are uncertain
        if len(learned) < 20 or not people.can_learn_from(learned):
            return ALL_CERTAIN
        people.active = active
        new = _affordable(people, max(2, len(people.landmarks) // 2))
        if new is None:
            return _why_no_more(people)
        try:
            people.compare(*new)
        except BudgetError:
            return SPENT
        stage, people.scores = people.fit_active()
        self.stages.append(stage)
        self.scores.append(people.scores)
        self.latest.append(np.inf)
        if len(people.landmarks) < MOST_LANDMARKS:
            return ""
        return "their number reached the most that is tried"

    def stopped(self) -> tuple[list[Stage], np.ndarray, np.ndarray]:
        """Return the stages with the margins at which they stop, and the scores and comparisons of all rows."""
        n = [stage.n for stage in self.stages]
        people = self.people
        at = [0.0] * len(n)
        if people.numbers is not None:
            left_out = [scores[: people.n] for scores in self.scores]
            at = stopping_margins(left_out, self.latest, people.gain(people.scores))
        scores = self.scores[0].copy()
        calls = np.full(len(people.places), n[0])
        going = np.arange(len(people.places))
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


def _fitted(
    task: FrugalTask,
    people: FrugalRows,
    built: _Built,
    trials: list[Trial],
    steps: list[FrugalStep],
    reason: str,
    symmetry: str,
) -> FrugalFit:
    """Return the cascade, and how rows fared."""
    stages, scores, calls = built.stopped()
    used = stages[-1].n
    calls = calls * calls_per_pair(task.k)
    steps = [*steps[:-1], FrugalStep(used, scores, calls, people.bought.calls)]
    positions = people.places[people.landmarks[:used]]
    turned = people.turned[:used]
    labels = at_rows(task.numbers, positions)
    landmarks = Landmarks(take(task.X, positions), positions, None, labels, "frugal").encoded(task.k, task.A)
    side = "both"
    if not (turned.any() and not turned.all()):
        side = "left"
        if turned.all():
            side = "right"
    learned = np.arange(people.n)
    judges = np.arange(people.n, len(people.places))
    Y = people.Y
    weights = people.weights
    lam = stages[-1].ridge.lam
    judged = judges if len(judges) else learned
    values = ValueRange.of(task.k, people.profiles, people.profiles[people.landmarks[:used], :used])
    return FrugalFit(
        Cascade(LandmarkFeatures(task.k, landmarks, side), tuple(stages), turned, values, task.numbers is not None),
        CascadeInfluence.of(stages[0], Y, people.numbers),
        LandmarkCurve.of([(step.n, trial) for step, trial in zip(steps, trials, strict=False)], reason),
        Trial.of(lam, scores[judged], Y[judged], weights[judged]),
        people.places[judged],
        Trial.of(lam, scores[learned], Y[learned], weights[learned]),
        people.places[learned],
        float(calls[judged].mean()),
        symmetry,
        steps,
        judged,
    )
