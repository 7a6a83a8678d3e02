"""How good the model is on examples that it was not fitted to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.report.about import CLASSIFICATION, Subject
from similitude.report.curves import Calibration, calibration
from similitude.report.trials import Parts, Trial
from similitude.support.results import Estimate, Guarantee, Result

WORST = 10
"""Pairs of classes named that are confused most."""


@dataclass(frozen=True)
class Confused(Result):
    """Two classes, one taken for the other.

    Attributes
    ----------
    label, predicted : label
    count : float
        How often; the mean over repeats of cross-validation.
    share : float
        Of the held-out examples with this label.
    """

    label: Any
    predicted: Any
    count: float
    share: float

    def __str__(self) -> str:
        return f"{self.label} taken for {self.predicted}: {self.count:g} ({100 * self.share:.0f} % of {self.label})"


@dataclass(frozen=True, eq=False)
class Residuals(Result):
    """Held-out predictions of numbers.

    Attributes
    ----------
    indices : array of int
        Positions in X.
    labels, predicted : array
    """

    indices: np.ndarray
    labels: np.ndarray
    predicted: np.ndarray

    @property
    def values(self) -> np.ndarray:
        """Predicted less true."""
        return self.predicted - self.labels

    def __str__(self) -> str:
        low, middle, high = np.quantile(self.values, [0.05, 0.5, 0.95])
        return f"predicted less true: median {middle:.4g}, 90 % lie between {low:.4g} and {high:.4g}"


@dataclass(frozen=True, eq=False)
class ModelFindings(Result):
    """How good the model is.

    Attributes
    ----------
    task : str
        classification or regression.
    estimator : str
        As Python writes it.
    similarity : str
        With what data had to fix.
    representation : str
        What the features are, and why.
    representation_name : str
        projection or landmarks.
    loss : str
        How the linear function was found.
    n_landmarks : int
        Landmarks with a weight: what one prediction costs.
    measure : str
        What the error is: share of errors, or root mean squared error.
    held_out : Estimate
        The error on examples that the model was not fitted to.
    explained : Estimate or None
        R², for regression.
    baseline : float
        The error of always giving the same answer.
    n_learned, n_tested : int
        Examples that the model was fitted to, and that it was judged by.
    rounds : int
        1, or how often cross-validation was repeated.
    classes : tuple
        Empty for regression.
    confusion : array of shape (classes, classes) or None
        How many examples of each class, a row, were taken for each, a column; the mean over rounds.
    worst : tuple of Confused
        The pairs of classes confused most.
    residuals : Residuals or None
        For regression.
    calibration : Calibration or None
        Whether probabilities came true, for classification.
    guarantee : Guarantee
        What theory promises of the features.
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
    classes: tuple[Any, ...]
    confusion: np.ndarray | None
    worst: tuple[Confused, ...]
    residuals: Residuals | None
    calibration: Calibration | None
    guarantee: Guarantee

    def __repr__(self) -> str:
        return f"ModelFindings({self.measure} {self.held_out})"

    def __str__(self) -> str:
        lines = [
            f"{self.measure} {self.held_out} on {self.n_tested:,} examples",
            f"always the same answer: {self.baseline:.4g}",
            "" if self.explained is None else f"R² {self.explained}",
            "" if self.residuals is None else str(self.residuals),
            f"{self.n_landmarks:,} landmarks, {self.loss} loss, {self.representation}",
            *[f"  {pair}" for pair in self.worst],
            str(self.guarantee),
        ]
        return "\n".join(line for line in lines if line)


def judge(subject: Subject, parts: Parts, model: Any, trial: Trial) -> ModelFindings:
    """Return what held-out examples say of a model."""
    classes = subject.task == CLASSIFICATION
    confusion = _confusion(trial, len(subject.classes)) if classes else None
    return ModelFindings(
        task=subject.task,
        estimator=" ".join(repr(model).split()),
        similarity=repr(model.similarity_),
        representation=str(model.representation_),
        representation_name=model.representation_.name,
        loss=model.loss_,
        n_landmarks=model.n_similarity_calls_,
        measure="share of errors" if classes else "root mean squared error",
        held_out=trial.error(subject.seed),
        explained=trial.explained(subject.seed),
        baseline=_baseline(subject, parts, trial),
        n_learned=len(parts.learned),
        n_tested=len(trial.tested),
        rounds=len(trial.scores),
        classes=tuple(subject.classes.tolist()),
        confusion=confusion,
        worst=() if confusion is None else _worst(subject, confusion),
        residuals=None if classes else Residuals(trial.tested, trial.targets, trial.mean_scores),
        calibration=calibration(subject, trial),
        guarantee=model.guarantee_,
    )


def _confusion(trial: Trial, n_classes: int) -> np.ndarray:
    pairs = trial.targets * n_classes + trial.decided
    return np.bincount(pairs.ravel(), minlength=n_classes**2).reshape(n_classes, n_classes) / len(trial.scores)


def _worst(subject: Subject, confusion: np.ndarray) -> tuple[Confused, ...]:
    apart = confusion * ~np.eye(len(confusion), dtype=bool)
    names, totals = subject.classes.tolist(), confusion.sum(axis=1)
    order = np.argsort(-apart.ravel(), kind="stable")[:WORST]
    places = [divmod(int(place), len(names)) for place in order]
    return tuple(
        Confused(names[a], names[b], float(apart[a, b]), float(apart[a, b] / totals[a]))
        for a, b in places
        if apart[a, b]
    )


def _baseline(subject: Subject, parts: Parts, trial: Trial) -> float:
    """Return the error of the best answer that is always the same, learned from where the model learned."""
    learned = subject.codes[parts.learned] if subject.task == CLASSIFICATION else subject.y[parts.learned]
    if subject.task == CLASSIFICATION:
        most = int(np.bincount(learned).argmax())
        return float((trial.targets != most).mean())
    return float(np.sqrt(((trial.targets - learned.mean()) ** 2).mean()))
