"""What a fit gives: a linear function of landmark features, or a cascade of them, and how rows left out were scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from similitude.evaluation import Trial
from similitude.fitting.cascade import Cascade, CascadeInfluence
from similitude.fitting.influence import FitInfluence
from similitude.fitting.landmark_count import LandmarkCurve
from similitude.fitting.uncertainty import OpenVariance
from similitude.landmarks import LandmarkFeatures, Representation
from similitude.linear import LinearModel
from similitude.similarity import Similarity
from similitude.support import Guarantee

if TYPE_CHECKING:
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


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A fitted model, and what is known about it.

    Attributes
    ----------
    similarities : tuple of Similarity
        Resolved or learned.
    features : tuple of LandmarkFeatures
        One for each similarity.
    linear : LinearModel
        Of the features.
    influence : FitInfluence, CascadeInfluence or None
        What training rows add to the scores, by the features; None if it is not known.
    trial : Trial
        The scores of rows that were left out of the fit; choices may have been made on them.
    held_out : tuple of arrays
        The targets and weights of these rows.
    evaluation : Evaluation
        How the error on new rows is estimated.
    curve : LandmarkCurve
    representations : tuple of Representation
    guarantee : Guarantee
    chosen : str
        Which similarity was chosen, and by what, in a sentence; empty if it was given.
    notes : list of str
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
    """

    similarities: tuple[Similarity, ...]
    features: tuple[LandmarkFeatures, ...]
    linear: LinearModel
    influence: FitInfluence | CascadeInfluence | None
    trial: Trial
    held_out: tuple[np.ndarray, np.ndarray]
    evaluation: Evaluation
    curve: LandmarkCurve
    representations: tuple[Representation, ...]
    guarantee: Guarantee
    chosen: str = ""
    notes: Sequence[str] = field(default_factory=list)
    learned: LearnedSummary | None = None
    tried: np.ndarray | None = None
    at: np.ndarray | None = None
    open_variance: OpenVariance | None = None
    cascade: Cascade | None = None
    mean_calls: float = 0.0
    groups: np.ndarray | None = None
    scores: tuple[tuple[str, float], ...] = ()
