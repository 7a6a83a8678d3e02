"""Findings: all that a report shows, as plain numbers and results."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute.encodings import take
from similitude.compute.engines import Engine, current_engine, use_engine
from similitude.estimators import SimilarityClassifier, SimilarityRegressor
from similitude.goodness import Goodness, assess
from similitude.report.about import CLASSIFICATION, About, ClassCounts, Item, NumberSummary, Subject, describe, read
from similitude.report.curves import Calibration, LearningCurve, TheoremSize, learning_curve
from similitude.report.examples import ExampleFinding, Near, show
from similitude.report.landmarks import LandmarkFinding, roles
from similitude.report.matrix import GramSample, Spectrum, gram_sample
from similitude.report.model import Confused, ModelFindings, Residuals, judge
from similitude.report.reproduce import Clock, Reproduce, reproduce
from similitude.report.trials import Parts, Trial, attempt, split
from similitude.support.errors import brief, pairs_at
from similitude.support.results import Result
from similitude.validity import Validity, check_kernel

__all__ = [
    "About",
    "Calibration",
    "ClassCounts",
    "Confused",
    "ExampleFinding",
    "Findings",
    "GramSample",
    "Item",
    "LandmarkFinding",
    "LearningCurve",
    "ModelFindings",
    "Near",
    "NumberSummary",
    "Reproduce",
    "Residuals",
    "Spectrum",
    "TheoremSize",
    "investigate",
]

CHECKED = 500
"""Examples at most among which a counterexample is sought."""


@dataclass(frozen=True, eq=False)
class Findings(Result):
    """All that a report shows.

    Attributes
    ----------
    about : About
        What the data is.
    validity : Validity
        Whether the similarity is a kernel.
    spectrum : Spectrum
        Eigenvalues of the Gram matrix of a sample.
    goodness : Goodness or None
        How good the similarity is for the labels.
    no_goodness : str
        Why there is none, or empty.
    gap_labels : array
        The label of each example in ``goodness.used``, whose gap is in ``goodness.strong.gaps``; empty without it.
    gram : GramSample
        Similarities of a sample, sorted by class.
    growth : LearningCurve
        How many landmarks are enough.
    model : ModelFindings
        How good the model is on examples that it was not fitted to.
    importance : str
        What the importance of a landmark is.
    landmarks : tuple of LandmarkFinding
        The most important first, and those that some example is most like.
    examples : tuple of ExampleFinding
        The hardest, mistakes, close calls and typical ones.
    reproduce : Reproduce
        How to get the same findings again.
    """

    about: About
    validity: Validity
    spectrum: Spectrum
    goodness: Goodness | None
    no_goodness: str
    gap_labels: np.ndarray
    gram: GramSample
    growth: LearningCurve
    model: ModelFindings
    importance: str
    landmarks: tuple[LandmarkFinding, ...]
    examples: tuple[ExampleFinding, ...]
    reproduce: Reproduce

    def __repr__(self) -> str:
        return f"Findings({self.about.n} {self.about.kind}, {self.model.measure} {self.model.held_out.value:.4g})"

    def __str__(self) -> str:
        from similitude.report.text import as_text

        return as_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dicts, lists, strings and finite numbers; None stands for what is not finite."""
        plain: dict[str, Any] = _finite(super().to_dict())
        return plain


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return {key: _finite(one) for key, one in value.items()} if isinstance(value, dict) else value


def investigate(
    similarity: Any,
    X: Any,
    y: Any,
    *,
    names: Sequence[str] | None = None,
    title: str | None = None,
    task: str | None = None,
    command: str | None = None,
    random_state: Any = None,
    engine: Engine | None = None,
) -> Findings:
    """Find out whether a similarity is a kernel, whether it is good for these labels, and what a model makes of it.

    A quarter of each class is held out, seen by nothing but the last judgment (below 40 examples cross-validation is
    repeated instead). Validity is checked on 500 examples at most, goodness on 2,000, the Gram matrix shown has 400.

    Parameters
    ----------
    similarity : Similarity, str or callable
        Anything that says how alike two objects are; ``"precomputed"``: X is the square matrix of all pairs.
    X : sequence of objects
    y : sequence of labels
        Classes, or numbers to predict.
    names : sequence of str, optional
        Of the components of vectors; a table has its own.
    title : str, optional
    task : {"classification", "regression"}, optional
        Default: text is classes; up to 100 different whole numbers are classes, two examples of each on average; other
        numbers are to be predicted.
    command : str, optional
        The command line that asked for this, to be named where the findings say how to reproduce them.
    random_state : int, optional
    engine : Engine, optional

    Returns
    -------
    Findings

    Examples
    --------
    >>> from similitude.data.datasets import iris
    >>> from similitude.report import investigate
    >>> found = investigate("gaussian", *iris())
    >>> found.validity.verdict, found.model.held_out.value < 0.15
    ('VALID', True)
    """
    subject = read(similarity, X, y, task, random_state)
    about = describe(subject, title, names, ())
    with use_engine(current_engine() if engine is None else engine):
        return _investigated(subject, about, command)


def _investigated(subject: Subject, about: About, command: str | None) -> Findings:
    clock = Clock()
    with clock.part("is it a kernel"):
        validity = _validity(subject)
    with clock.part("Gram matrix"):
        gram, spectrum = gram_sample(subject)
    with clock.part("goodness"):
        goodness, no_goodness = _goodness(subject)
    with clock.part("model"):
        parts, model, trial = _model(subject)
    with clock.part("learning curve"):
        growth = learning_curve(subject, parts, model, trial, goodness)
    with clock.part("landmarks and examples"):
        found = roles(subject, parts, model)
        examples, landmarks = show(subject, model, trial, goodness, found)
    return Findings(
        about=replace(about, said=_said(subject, gram, goodness, parts, model)),
        validity=validity,
        spectrum=spectrum,
        goodness=goodness,
        no_goodness=no_goodness,
        gap_labels=subject.y[:0] if goodness is None else subject.y[goodness.used],
        gram=gram,
        growth=growth,
        model=judge(subject, parts, model, trial),
        importance=found.measure,
        landmarks=landmarks,
        examples=examples,
        reproduce=reproduce(subject, clock, command),
    )


def _validity(subject: Subject) -> Validity:
    """Return the verdict on a sample; a witness is named by positions in X."""
    chosen = subject.sample(CHECKED)
    with pairs_at(chosen, chosen):
        found = check_kernel(subject.resolved, take(subject.X, chosen), random_state=subject.seed)
    if found.witness is None or not found.witness.indices:
        return found
    indices = tuple(int(chosen[i]) for i in found.witness.indices)
    return replace(found, witness=replace(found.witness, indices=indices))


def _goodness(subject: Subject) -> tuple[Goodness | None, str]:
    """Return how good the similarity is, or why that cannot be said; what is left out stands in its notes."""
    if subject.task != CLASSIFICATION:
        return None, "goodness is about classes, and y holds numbers"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return assess(subject.resolved, subject.X, subject.y, random_state=subject.seed), ""


def _model(subject: Subject) -> tuple[Parts, Any, Trial]:
    """Return who was held out, the model, and what the held-out examples got."""
    machine = SimilarityClassifier if subject.task == CLASSIFICATION else SimilarityRegressor
    parts = split(subject)

    def make() -> Any:
        return machine(subject.similarity, random_state=subject.seed)

    trial, model = attempt(subject, parts, make)
    return parts, model if parts.held_out else make().fit(subject.X, subject.y), trial


def _said(subject: Subject, gram: GramSample, goodness: Goodness | None, parts: Parts, model: Any) -> tuple[str, ...]:
    """Return what a reader must know of how the findings came about."""
    said = [*subject.said, *parts.said]
    if subject.n > CHECKED:
        said.append(f"a counterexample was sought among {CHECKED:,} examples, of each class its share")
    if len(gram.matrix) < subject.n:
        said.append(f"the Gram matrix and its eigenvalues are those of {len(gram.matrix):,} examples")
    if goodness is not None:
        said += [f"goodness: {note}" for note in goodness.notes]
    if subject.similarity.unresolved():
        said.append(
            f"open parameters were fixed from data: {brief(subject.resolved)} was checked and assessed, "
            f"{brief(model.similarity_)} was chosen for the model"
        )
    return tuple(said)
