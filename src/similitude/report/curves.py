"""How many landmarks are enough, and do probabilities mean what they say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.goodness import Goodness
from similitude.report.about import CLASSIFICATION, Subject
from similitude.report.trials import LEVEL, Parts, Trial, attempt
from similitude.support.results import ESTIMATE, NONE, Curve, Result
from similitude.theory import bounds
from similitude.theory.intervals import clopper_pearson

SIZES = 7
"""Numbers of landmarks at most that are tried."""

EPSILON = 0.1
"""The error that theorem sizes are stated for."""

BINS = 10
"""Bins of probabilities at most."""


@dataclass(frozen=True)
class TheoremSize(Result):
    """A number of landmarks that a theorem asks for if a margin or gap were what the sample shows.

    Attributes
    ----------
    name : str
        A few words.
    size : int
        Landmarks in all.
    grade : str
        ESTIMATE: a theorem at an estimated margin. NONE: a rule of thumb.
    statement : str
        What would hold, and by which theorem.
    """

    name: str
    size: int
    grade: str
    statement: str

    def __str__(self) -> str:
        return f"{self.name}: {self.size:,} ({self.grade}). {self.statement}"


@dataclass(frozen=True, eq=False)
class LearningCurve(Result):
    """The held-out error by the number of landmarks.

    Attributes
    ----------
    landmarks : array of int
        Numbers of landmarks; the last is that of the model.
    error : Curve
        Over these: the share of errors, or the root mean squared error.
    measure : str
        Which of the two.
    theorem_sizes : tuple of TheoremSize
    chosen : int
        The number that the model has.
    reason : str
        Why the model has not more.
    """

    landmarks: np.ndarray
    error: Curve
    measure: str
    theorem_sizes: tuple[TheoremSize, ...]
    chosen: int
    reason: str

    def __str__(self) -> str:
        points = zip(self.landmarks.tolist(), self.error.y, self.error.low, self.error.high, strict=True)
        lines = [f"  {n:6,} landmarks: {y:.4g} [{low:.4g}, {high:.4g}]" for n, y, low, high in points]
        sizes = [f"  {size}" for size in self.theorem_sizes]
        head = f"{self.measure} on held-out examples ({100 * self.error.level:g} %, {self.error.grade})"
        return "\n".join([head, *lines, f"  not more, because {self.reason}", *sizes])


@dataclass(frozen=True, eq=False)
class Calibration(Curve):
    """How often what was said with a probability came true, in bins of that probability.

    Attributes
    ----------
    x : array
        The mean probability in each bin.
    y, low, high : array
        The share that came true, with an exact interval.
    level, grade
    counts : array of int
        Examples in each bin.
    event : str
        What the probability is of.
    """

    counts: np.ndarray
    event: str


def learning_curve(
    subject: Subject, parts: Parts, model: Any, trial: Trial, goodness: Goodness | None
) -> LearningCurve:
    """Try fewer landmarks than the model has, each time half as many."""
    chosen = max(1, model.n_similarity_calls_)
    sizes = _halved(chosen, max(2, len(subject.classes)))
    tried = [_with(subject, parts, model, size) for size in sizes[:-1]] + [trial]
    errors = [one.error(subject.seed) for one in tried]
    y, low, high = (np.array([getattr(one, name) for one in errors]) for name in ("value", "low", "high"))
    error = Curve(np.array(sizes, float), y, low, high, LEVEL, errors[0].grade)
    measure = "share of errors" if subject.task == CLASSIFICATION else "root mean squared error"
    theorem_sizes = () if goodness is None else _theorem_sizes(goodness)
    return LearningCurve(np.array(sizes), error, measure, theorem_sizes, chosen, model.landmark_curve_.reason)


def _halved(chosen: int, least: int) -> list[int]:
    """Return numbers of landmarks, each about twice the one before, up to the chosen.

    >>> _halved(100, 3)
    [3, 6, 12, 25, 50, 100]
    """
    sizes = [chosen]
    while len(sizes) < SIZES and sizes[-1] // 2 >= least:
        sizes.append(sizes[-1] // 2)
    return sizes[::-1]


def _with(subject: Subject, parts: Parts, model: Any, size: int) -> Trial:
    """Judge the same model with so many landmarks, drawn by the same rule."""
    smaller = {"similarity": model.similarity_, "n_landmarks": size}
    return attempt(subject, parts, lambda: type(model)(**{**model.get_params(deep=False), **smaller}))[0]


def _theorem_sizes(goodness: Goodness) -> tuple[TheoremSize, ...]:
    """Return what theorems ask for at the gaps and margins that were seen."""
    found = []
    for size in goodness.sizes:
        if size.needed is None or "landmarks" not in size.what:
            continue
        k = len(goodness.classes_) if size.what.endswith("of each class") else 1
        name, gap = ("as a similarity", "gap") if k > 1 else ("as a kernel", "margin")
        statement = f"{size.what}: {size.needed:,} if the {gap} is {size.gamma:.3g}, as estimated; {size.theorem}"
        found.append(TheoremSize(name, size.needed * k, ESTIMATE, statement))
    gamma = goodness.margin.value
    if gamma is not None and gamma > 1e-9:
        gamma = min(gamma, 1.0)
        rule = f"0.5 / (epsilon gamma²) for error {EPSILON:g} at margin {gamma:.3g}, as estimated; no theorem"
        found.append(TheoremSize("rule of thumb", bounds.practical_landmarks(EPSILON, gamma), NONE, rule))
    return tuple(sorted(found, key=lambda one: one.size))


def calibration(subject: Subject, trial: Trial) -> Calibration | None:
    """Return how often probabilities came true: of the second of two classes, or of the class decided on."""
    if trial.chances is None:
        return None
    if len(subject.classes) == 2:
        said, came_true = trial.chances[:, 1], trial.targets == 1
        event = f"the label is {subject.classes[1]}"
    else:
        said, came_true = trial.chances.max(axis=1), trial.chances.argmax(axis=1) == trial.targets
        event = "the predicted class is right"
    n_bins = int(np.clip(len(said) // 10, 2, BINS))
    bins = np.minimum((said * n_bins).astype(int), n_bins - 1)
    counts = np.bincount(bins, minlength=n_bins)
    some = np.flatnonzero(counts)
    true = np.bincount(bins, came_true, minlength=n_bins)[some]
    low, high = clopper_pearson(true, counts[some], LEVEL)
    x = np.bincount(bins, said, minlength=n_bins)[some] / counts[some]
    return Calibration(x, true / counts[some], low, high, LEVEL, trial.grade, counts[some], event)
