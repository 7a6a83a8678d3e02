"""A frugal fit for similarities that cost money: few landmarks, those that explain most, and a cascade of models.

Landmarks are bought in stages, and compared with all rows first. Candidates are compared with a few rows, and those
that explain most of what is still unexplained are bought. Once the budget would not double their number, and if the
class of most rows is certain, only the others are compared further. Then the columns are ordered by what they explain,
a cascade of models asks for them in this order, and stops where the rest would change too little. A tenth of the rows
takes no part in any choice: they go through the cascade as new objects do, and evaluate it.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from similitude.compute import take
from similitude.compute.engines import format_bytes
from similitude.evaluation import Trial, at_rows
from similitude.fitting import limits
from similitude.fitting.automatic import EVERY_ROW
from similitude.fitting.cascade import Cascade, CascadeInfluence, Stage, ValueRange, decided, margins, stopping_margins
from similitude.fitting.frugal_rows import SCREENING, FrugalRows, FrugalStep, FrugalTask, Purchases
from similitude.fitting.model import FittedModel, LandmarkCurve, ScoredRows
from similitude.landmarks import LandmarkFeatures, Landmarks, Representation
from similitude.linear import LinearModel
from similitude.similarity import SYMMETRIC, calls_per_pair
from similitude.support import BudgetError, Guarantee

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
    rows.reorder()
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
