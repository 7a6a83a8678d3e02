"""The model on held-out examples: error, confusions, residuals and calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.evaluation import groups_of_classes
from similitude.report.findings.baselines import Neighbors, compared
from similitude.report.findings.columns import ColumnFinding
from similitude.report.findings.held_out import HeldOutPredictions
from similitude.report.findings.inputs import Inputs
from similitude.report.findings.scores import EXPLAINED, ClassScores, Scores, class_scores_of, confusion
from similitude.support import Curve, Estimate, Guarantee, Result
from similitude.theory import LEVEL, clopper_pearson, conformal_quantile


@dataclass(frozen=True)
class Confused(Result):
    """Examples of one class predicted to be of another."""

    label: Any
    predicted: Any
    count: float  # the mean over repeats of cross-validation
    share: float  # of the held-out examples of this label

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
        """Return the half-width of intervals around predictions that cover a new number with this probability.

        This is split conformal prediction (Lei, G'Sell, Rinaldo, Tibshirani and Wasserman, 2018); None if there are too
        few errors.
        """
        reach = conformal_quantile(np.abs(self.values), level)
        return reach if np.isfinite(reach) else None

    def __str__(self) -> str:
        low, middle, high = np.quantile(self.values, [0.05, 0.5, 0.95])
        return f"predicted minus true: median {middle:.4g}, 90 % lie between {low:.4g} and {high:.4g}"


@dataclass(frozen=True, eq=False)
class Calibration(Curve):
    """How often predicted events happened (y) in bins of their predicted probability (x), with exact intervals."""

    counts: np.ndarray  # examples in each bin
    event: str
    predicted: np.ndarray  # the probability of each held-out example
    happened: np.ndarray  # whether the event happened, of each


@dataclass(frozen=True, eq=False)
class ModelFindings(Result):
    """The model and its quality on held-out examples."""

    task: str
    estimator: str  # its repr
    similarity: str  # with data-dependent parameters resolved
    representation: str  # what the features are, and why
    representation_name: str  # "projection" or "similarities"
    loss: str  # that the linear model minimizes
    n_landmarks: int  # with a nonzero weight: similarity evaluations per prediction
    measure: str  # "error rate" or "root mean squared error"
    held_out: Estimate  # the error on held-out examples
    explained: Estimate | None  # R², for regression
    baseline: float  # the error of the best constant prediction
    n_learned: int  # examples that the model was fitted to
    n_tested: int
    rounds: int  # repeats of cross-validation; 1 if a part was held out once
    folds: int  # in each round
    classes: tuple[Any, ...]  # empty for regression
    confusion: np.ndarray | None  # examples by true (rows) and predicted class (columns), the mean over rounds
    worst: tuple[Confused, ...]  # the most confused pairs of classes
    residuals: Residuals | None  # for regression
    calibration: Calibration | None  # for classification
    scores: tuple[Scores, ...]  # of the model and then of the baselines, on the same held-out examples
    missed_by_all: np.ndarray  # positions in X of examples that neither the model nor any baseline predicts correctly
    by_class: tuple[ClassScores, ...]  # empty for regression
    guarantee: Guarantee  # what theory promises about the features

    def __repr__(self) -> str:
        return f"ModelFindings({self.measure} {self.held_out})"

    def __str__(self) -> str:
        lines = [
            f"{self.measure} {self.held_out} on {self.n_tested:,} examples",
            f"constant prediction: {self.baseline:.4g}",
            f"R² {self.explained}" * (self.explained is not None),
            str(self.residuals) * (self.residuals is not None),
            f"{self.n_landmarks:,} landmarks, {self.loss} loss, {self.representation}",
            *[f"  {one}" for one in self.scores],
            *[f"  {pair}" for pair in self.worst],
            str(self.guarantee),
        ]
        return "\n".join(line for line in lines if line)


def evaluate(
    inputs: Inputs,
    model: Any,
    predictions: HeldOutPredictions,
    columns: Sequence[ColumnFinding],
    neighbors: Neighbors,
) -> ModelFindings:
    """Evaluate a model by its held-out predictions."""
    found, missed = compared(inputs, model, predictions, columns, neighbors)
    representation = model.representation_
    if isinstance(representation, tuple):  # of a blend, all of them are the same
        representation = representation[0]
    learned = inputs.targets[inputs.learned]
    targets = predictions.targets
    counts = residuals = explained = None
    worst: tuple[Confused, ...] = ()
    by_class: tuple[ClassScores, ...] = ()
    if inputs.of_classes:
        counts = confusion(predictions, len(inputs.classes))
        worst = _worst(inputs, counts)
        by_class = class_scores_of(inputs, predictions)
        baseline = (targets != np.bincount(learned).argmax()).mean()
    else:
        residuals = Residuals(predictions.tested, targets, predictions.mean_scores)
        explained = found[0].values[EXPLAINED]
        if not np.isfinite(explained.value):
            explained = None
        baseline = np.sqrt(((targets - learned.mean()) ** 2).mean())
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
        baseline=float(baseline),
        n_learned=len(learned),
        n_tested=len(targets),
        rounds=len(predictions.scores),
        folds=len(inputs.rounds[0]),
        classes=tuple(inputs.classes.tolist()),
        confusion=counts,
        worst=worst,
        residuals=residuals,
        calibration=_calibration(inputs, predictions),
        scores=found,
        missed_by_all=missed,
        by_class=by_class,
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


def _calibration(inputs: Inputs, predictions: HeldOutPredictions) -> Calibration | None:
    """Compare probabilities with outcomes: of the second of two classes, or of the predicted class."""
    if predictions.probabilities is None:
        return None
    predicted = predictions.probabilities.max(axis=1)
    happened = predictions.probabilities.argmax(axis=1) == predictions.targets
    event = "the predicted class is right"
    if len(inputs.classes) == 2:
        predicted = predictions.probabilities[:, 1]
        happened = predictions.targets == 1
        event = f"the label is {inputs.classes[1]}"
    n_bins = int(np.clip(len(predicted) // 10, 2, 10))
    bins = np.minimum((predicted * n_bins).astype(int), n_bins - 1)
    counts = np.bincount(bins, minlength=n_bins)
    some = np.flatnonzero(counts)
    events = np.bincount(bins, happened, minlength=n_bins)[some]
    trials = groups_of_classes(bins, predictions.groups)[some]
    low, high = clopper_pearson(events / counts[some] * trials, trials, LEVEL)
    x = np.bincount(bins, predicted, minlength=n_bins)[some] / counts[some]
    return Calibration(
        x, events / counts[some], low, high, LEVEL, predictions.grade, counts[some], event, predicted, happened
    )
