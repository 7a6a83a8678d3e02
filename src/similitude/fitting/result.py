"""What a fit gives: a linear function of landmark features, or a cascade of them, and how rows left out were scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from similitude.evaluation import Trial
from similitude.fitting.cascade import Cascade, CascadeInfluence
from similitude.fitting.influence import FitInfluence
from similitude.fitting.training_set import Design
from similitude.fitting.uncertainty import OpenVariance
from similitude.landmarks import LandmarkFeatures, Landmarks, Representation, SampleFeatures
from similitude.linear import LinearModel
from similitude.similarity import Similarity
from similitude.support import ESTIMATE, Curve, Guarantee

if TYPE_CHECKING:
    from similitude.fitting.plan import Plan
    from similitude.kernel_learning import LearnedSummary


@dataclass(frozen=True, eq=False)
class Judged:
    """Rows that were scored by models of other rows.

    `groups` numbers equal rows, or the rows of a group, which were in the same fold; without groups it is None if the
    rows were held out from one model.
    `positions` are those of the rows in X, if all rows were scored.
    `left_out` are the same rows left out one by one, by models that see nearly all rows; but these had their choices
    made on the same rows. `folds` numbers the models that scored the rows; None if it was one.
    `within` are the scores by each of these models for the rows that made its choices, each left out alone, and the
    targets of these: how much better they are than those of other folds is what choices make scores look better.
    """

    trial: Trial
    Y: np.ndarray
    weights: np.ndarray
    groups: np.ndarray | None = None
    positions: np.ndarray | None = None
    left_out: Trial | None = None
    folds: np.ndarray | None = None
    within: tuple[tuple[np.ndarray, np.ndarray], ...] | None = None

    def evaluate(self) -> Judged:
        """Return these rows: they were scored in the fit."""
        return self


class Evaluation(Protocol):
    """How the error on new rows is estimated; it may fit again in folds."""

    def evaluate(self) -> Judged:
        """Return rows that were scored by models of other rows."""


@dataclass(frozen=True)
class LandmarkCurve(Curve):
    """The held-out loss by the number of landmarks, and why there are not more.

    Attributes
    ----------
    x : array
        Numbers of landmarks.
    y, low, high : array
        The mean squared error on rows that the model was not fitted to, with normal intervals.
    level, grade
    reason : str
        Why the last number is the last.
    """

    reason: str

    @classmethod
    def of(cls, sizes: Sequence[int], trials: Sequence[Trial], limit: str, largest: int | None = None) -> LandmarkCurve:
        """Return the curve of some trials; `limit` says what prevents more landmarks than the largest possible number.

        `largest` is that number; by default the last one that was tried.
        """
        x, y = np.array(sizes, dtype=float), np.array([one.loss for one in trials])
        spread = 1.96 * np.array([one.deviation for one in trials])
        slow = largest is not None and sizes[-1] < largest
        reason = "the last doubling gained less than one standard error" if slow else limit
        if len(trials) > 1 and trials[-1].loss > trials[-2].loss:
            reason = f"with {sizes[-1]:,} the held-out loss was no better"
        return cls.of_losses(x, y, spread, reason)

    @classmethod
    def of_losses(cls, x: np.ndarray, y: np.ndarray, spread: np.ndarray, reason: str) -> LandmarkCurve:
        """Return the curve of losses, given half the length of their intervals."""
        return cls(x, y, y - spread, y + spread, 0.95, ESTIMATE, reason)

    def __str__(self) -> str:
        return f"{super().__str__()}\n  not more, because {self.reason}"


UNPROMISED = Guarantee.none("the theorems were not applied to this fit")
"""The guarantee of a fit before it is looked for."""


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A fitted model, and what is known about it.

    Attributes
    ----------
    features : tuple of LandmarkFeatures
        One for each similarity.
    representations : tuple of Representation
    linear : LinearModel
        Of the features.
    trial : Trial
        The scores of rows that were left out of the fit; choices may have been made on them.
    held_out : tuple of arrays
        The targets and weights of these rows.
    curve : LandmarkCurve
    influence : FitInfluence, CascadeInfluence or None
        What training rows add to the scores, by the features; None if it is not known.
    evaluation : Evaluation or None
        How the error on new rows is estimated; None if it is by the rows of the trial.
    guarantee : Guarantee
    chosen : str
        Which similarity was chosen, and by what, in a sentence; empty if it was given.
    notes : sequence of str
        What the plan does not tell.
    learned : LearnedSummary or None
    tried : array or None
        The features of the rows of the trial, if they are in memory.
    at : array of int, or None
        Which landmarks the rows of the trial are, in an exact fit.
    open_variance : OpenVariance or None
        What rows leave open of a Gaussian process, if a kernel is projected and numbers are predicted.
    cascade : Cascade or None
        The model of a frugal fit, whose predictions stop early.
    mean_calls : float
        Mean comparisons of a prediction by the cascade.
    groups : array of int, or None
        The groups of the rows of the trial.
    scores : tuple of (str, float)
        Candidates that were compared, with their losses on rows that they were not fitted to.
    landmarks : Landmarks or None
        Those that were drawn; the features may use fewer.
    samples : sequence of SampleFeatures
        What was computed to choose among models on landmarks, one for each similarity.
    design : tuple of arrays, or None
        Features, targets and weights of all rows, if they are in memory.
    plan : Plan or None
        The plan that was run, with what was chosen.
    """

    features: tuple[LandmarkFeatures, ...]
    representations: tuple[Representation, ...]
    linear: LinearModel
    trial: Trial
    held_out: tuple[np.ndarray, np.ndarray]
    curve: LandmarkCurve
    influence: FitInfluence | CascadeInfluence | None = None
    evaluation: Evaluation | None = None
    guarantee: Guarantee = UNPROMISED
    chosen: str = ""
    notes: Sequence[str] = ()
    learned: LearnedSummary | None = None
    tried: np.ndarray | None = None
    at: np.ndarray | None = None
    open_variance: OpenVariance | None = None
    cascade: Cascade | None = None
    mean_calls: float = 0.0
    groups: np.ndarray | None = None
    scores: tuple[tuple[str, float], ...] = ()
    landmarks: Landmarks | None = None
    samples: Sequence[SampleFeatures] = ()
    design: Design | None = None
    plan: Plan | None = None

    @property
    def similarities(self) -> tuple[Similarity, ...]:
        """Resolved or learned."""
        return tuple([one.similarity for one in self.features])

    def evaluate(self) -> Judged:
        """Return the scores of rows by models that did not see them in training."""
        if self.evaluation is None:
            return Judged(self.trial, *self.held_out, self.groups)
        return self.evaluation.evaluate()
