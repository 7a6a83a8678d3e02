"""The model on held-out examples: error, confusions, residuals and calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.evaluation import groups_of_classes
from similitude.report.findings.baselines import Neighbors, compared
from similitude.report.findings.columns import ColumnValues
from similitude.report.findings.held_out import LEVEL, HeldOutPredictions, Split
from similitude.report.findings.inputs import Inputs
from similitude.report.findings.scores import EXPLAINED, ClassScores, Scores, class_scores_of, confusion
from similitude.support import Curve, Estimate, Guarantee, Result
from similitude.theory import clopper_pearson


@dataclass(frozen=True)
class Confused(Result):
    """Examples of one class predicted to be of another.

    ``count`` is the mean over repeats of cross-validation, ``share`` is relative to the held-out examples of this
    label.
    """

    label: Any
    predicted: Any
    count: float
    share: float

    def __str__(self) -> str:
        return f"{self.label} taken for {self.predicted}: {self.count:g} ({100 * self.share:.0f} % of {self.label})"


@dataclass(frozen=True, eq=False)
class Residuals(Result):
    """Held-out predictions of numbers, and the positions of their examples in X."""

    indices: np.ndarray
    labels: np.ndarray
    predicted: np.ndarray

    @property
    def values(self) -> np.ndarray:
        """Predicted minus true."""
        return self.predicted - self.labels

    def reach(self, level: float = 0.9) -> float | None:
        r"""Return the half-width of intervals around predictions that cover a new number with this probability.

        It is the :math:`\lceil (n + 1) \cdot \text{level} \rceil`-th smallest error of the n held-out examples: if new
        examples come from the same source, the number lies within it with probability at least `level` (split
        conformal prediction; Lei, G'Sell, Rinaldo, Tibshirani and Wasserman, 2018). None if n is too small.

        >>> Residuals(np.arange(9), np.zeros(9), np.arange(9.0)).reach()
        8.0
        """
        errors = np.sort(np.abs(self.values))
        rank = int(np.ceil((len(errors) + 1) * level - 1e-9))
        return float(errors[rank - 1]) if rank <= len(errors) else None

    def __str__(self) -> str:
        low, middle, high = np.quantile(self.values, [0.05, 0.5, 0.95])
        return f"predicted minus true: median {middle:.4g}, 90 % lie between {low:.4g} and {high:.4g}"


@dataclass(frozen=True, eq=False)
class Calibration(Curve):
    """How often predicted events happened, in bins of their predicted probability.

    Attributes
    ----------
    x : array
        The mean predicted probability in each bin.
    y, low, high : array
        The share of events that happened, with an exact interval.
    level, grade
    counts : array of int
        Number of examples in each bin.
    event : str
        The event that the probability refers to.
    predicted : array
        The predicted probability of each held-out example.
    happened : array of bool
        Whether the event happened.
    """

    counts: np.ndarray
    event: str
    predicted: np.ndarray
    happened: np.ndarray


@dataclass(frozen=True, eq=False)
class ModelFindings(Result):
    """The model and its quality on held-out examples.

    Attributes
    ----------
    task : {"classification", "regression"}
    estimator : str
        Its repr.
    similarity : str
        With data-dependent parameters resolved.
    representation : str
        What the features are, and why.
    representation_name : {"projection", "similarities"}
    loss : str
        The loss that the linear model minimizes.
    n_landmarks : int
        Landmarks with a nonzero weight: similarity evaluations per prediction.
    measure : {"error rate", "root mean squared error"}
    held_out : Estimate
        The error on held-out examples.
    explained : Estimate or None
        R², for regression.
    baseline : float
        The error of the best constant prediction.
    n_learned, n_tested : int
        Number of examples that the model was fitted to, and tested on.
    rounds, folds : int
        Number of repeats, and of folds in each; 1 and 1 if a part was held out once.
    classes : tuple
        Empty for regression.
    confusion : array of shape (classes, classes) or None
        Number of examples of each true class (rows) by predicted class (columns); the mean over rounds.
    worst : tuple of Confused
        The most confused pairs of classes.
    residuals : Residuals or None
        For regression.
    calibration : Calibration or None
        For classification.
    scores : tuple of Scores
        Accuracy and beyond, of the model and then of the baselines, on the same held-out examples.
    missed_by_all : array of int
        Positions in X of the held-out examples that neither the model nor any baseline predicts correctly.
    by_class : tuple of ClassScores
        Recall and precision of each class; empty for regression.
    guarantee : Guarantee
        What theory promises about the features.
    """

    task: str
    estimator: str
    similarity: str
    representation: str
    representation_name: str
    loss: str
    n_landmarks: int
    measure: str
    held_out: Estimate
    explained: Estimate | None
    baseline: float
    n_learned: int
    n_tested: int
    rounds: int
    folds: int
    classes: tuple[Any, ...]
    confusion: np.ndarray | None
    worst: tuple[Confused, ...]
    residuals: Residuals | None
    calibration: Calibration | None
    scores: tuple[Scores, ...]
    missed_by_all: np.ndarray
    by_class: tuple[ClassScores, ...]
    guarantee: Guarantee

    def __repr__(self) -> str:
        return f"ModelFindings({self.measure} {self.held_out})"

    def __str__(self) -> str:
        lines = [
            f"{self.measure} {self.held_out} on {self.n_tested:,} examples",
            f"constant prediction: {self.baseline:.4g}",
            "" if self.explained is None else f"R² {self.explained}",
            "" if self.residuals is None else str(self.residuals),
            f"{self.n_landmarks:,} landmarks, {self.loss} loss, {self.representation}",
            *[f"  {one}" for one in self.scores],
            *[f"  {pair}" for pair in self.worst],
            str(self.guarantee),
        ]
        return "\n".join(line for line in lines if line)


def evaluate(
    inputs: Inputs,
    parts: Split,
    model: Any,
    predictions: HeldOutPredictions,
    columns: Sequence[ColumnValues],
    neighbors: Neighbors,
) -> ModelFindings:
    """Evaluate a model by its held-out predictions."""
    found, missed = compared(inputs, parts, model, predictions, columns, neighbors)
    representation = model.representation_
    if isinstance(representation, tuple):  # of a blend, all of them are the same
        representation = representation[0]
    counts = residuals = explained = None
    if inputs.of_classes:
        counts = confusion(predictions, len(inputs.classes))
    else:
        residuals = Residuals(predictions.tested, predictions.targets, predictions.mean_scores)
        r_squared = found[0].values[EXPLAINED]
        explained = r_squared if np.isfinite(r_squared.value) else None
    return ModelFindings(
        task=inputs.task,
        estimator=" ".join(repr(model).split()),
        similarity=repr(model.similarity_),
        representation=str(representation),
        representation_name=representation.name,
        loss=model.loss_,
        n_landmarks=model.n_similarity_calls_,
        measure=predictions.measure,
        held_out=predictions.error(inputs.seed),
        explained=explained,
        baseline=_baseline(inputs, parts, predictions),
        n_learned=len(parts.learned),
        n_tested=len(predictions.tested),
        rounds=len(predictions.scores),
        folds=len(parts.rounds[0]),
        classes=tuple(inputs.classes.tolist()),
        confusion=counts,
        worst=() if counts is None else _worst(inputs, counts),
        residuals=residuals,
        calibration=_calibration(inputs, predictions),
        scores=found,
        missed_by_all=missed,
        by_class=class_scores_of(inputs, predictions) if inputs.of_classes else (),
        guarantee=model.guarantee_,
    )


def _worst(inputs: Inputs, counts: np.ndarray) -> tuple[Confused, ...]:
    """Return the ten most confused pairs of classes."""
    wrong = counts * ~np.eye(len(counts), dtype=bool)
    names = inputs.classes.tolist()
    order = np.argsort(-wrong.ravel(), kind="stable")[:10]
    pairs = [divmod(place, len(names)) for place in order.tolist() if wrong.flat[place]]
    return tuple(
        Confused(names[a], names[b], float(wrong[a, b]), float(wrong[a, b] / counts[a].sum())) for a, b in pairs
    )


def _baseline(inputs: Inputs, parts: Split, predictions: HeldOutPredictions) -> float:
    """Return the error of the best constant prediction, fitted to the examples that the model was fitted to."""
    learned = inputs.targets[parts.learned]
    if inputs.of_classes:
        return float((predictions.targets != np.bincount(learned).argmax()).mean())
    return float(np.sqrt(((predictions.targets - learned.mean()) ** 2).mean()))


def _calibration(inputs: Inputs, predictions: HeldOutPredictions) -> Calibration | None:
    """Compare probabilities with outcomes: of the second of two classes, or of the predicted class."""
    if predictions.probabilities is None:
        return None
    if len(inputs.classes) == 2:
        predicted = predictions.probabilities[:, 1]
        happened = predictions.targets == 1
        event = f"the label is {inputs.classes[1]}"
    else:
        predicted = predictions.probabilities.max(axis=1)
        happened = predictions.probabilities.argmax(axis=1) == predictions.targets
        event = "the predicted class is right"
    n_bins = int(np.clip(len(predicted) // 10, 2, 10))
    bins = np.minimum((predicted * n_bins).astype(int), n_bins - 1)
    counts = np.bincount(bins, minlength=n_bins)
    some = np.flatnonzero(counts)
    events = np.bincount(bins, happened, minlength=n_bins)[some]
    trials = counts[some] if predictions.groups is None else groups_of_classes(bins, predictions.groups)[some]
    low, high = clopper_pearson(events / counts[some] * trials, trials, LEVEL)
    x = np.bincount(bins, predicted, minlength=n_bins)[some] / counts[some]
    return Calibration(
        x, events / counts[some], low, high, LEVEL, predictions.grade, counts[some], event, predicted, happened
    )
