"""Findings: everything a report shows, as plain numbers and results; and `investigate`, which collects them."""

from __future__ import annotations

import math
import re
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute import as_objects, take
from similitude.compute.engines import Engine, current_engine, one_scipy_thread, use_engine
from similitude.estimators import EVERY_ROW
from similitude.evaluation import suspicious_labels
from similitude.goodness import Goodness, assess, stratified
from similitude.kernel_learning import LearnedSummary
from similitude.report.findings.alternatives import Alternative, alternative, named_similarities
from similitude.report.findings.baselines import Neighbors
from similitude.report.findings.columns import ColumnFinding, columns_of, component_names, with_importance
from similitude.report.findings.data_summary import About, summarize
from similitude.report.findings.examples import ExampleFinding, choose_examples
from similitude.report.findings.gram_matrix import Eigenvalues, GramSample, gram_of_sample
from similitude.report.findings.held_out import Fold, HeldOutPredictions, fitted, predict_held_out, similarity_of, split
from similitude.report.findings.inputs import Inputs, validated, within_budget
from similitude.report.findings.landmark_curve import LearningCurve, learning_curve
from similitude.report.findings.landmarks import LandmarkBlocks, LandmarkFinding, important_landmarks
from similitude.report.findings.model_quality import ModelFindings, evaluate
from similitude.report.findings.object_map import PCA, ObjectMap, object_map
from similitude.report.findings.reproduction import Reproduce, how_to_reproduce
from similitude.report.limits import MAX_CHECKED
from similitude.similarity import budgeted, check_max_calls
from similitude.support import Result, brief, frame, notes, pairs_at, plain
from similitude.validity import Validity, check_kernel

KEPT = "The same page in a file of its own: save('report.html')."


@dataclass(frozen=True, eq=False)
class Findings(Result):
    """Everything a report shows.

    Attributes
    ----------
    about : About
        A summary of the data.
    validity : Validity
        Whether the similarity is a kernel.
    spectrum : Eigenvalues
        Eigenvalues of the Gram matrix of a sample.
    goodness : Goodness or None
        How good the similarity is for the labels.
    no_goodness : str
        Why goodness is None, or empty.
    gap_labels : array
        The label of each example in ``goodness.used``, whose gap is in ``goodness.strong.gaps``; empty without it.
    doubted : array of int
        Positions in X of the held-out examples whose labels look wrong to the models that did not see them, by the rule
        of ``suspects_`` of :class:`similitude.SimilarityClassifier`.
    columns : tuple of ColumnFinding
        Of a table, or the components of vectors; empty for other objects.
    gram : GramSample
        Similarities of a sample, sorted by class.
    map : ObjectMap
        All objects in the plane.
    alternatives : tuple of Alternative
        Other similarities, evaluated on the same held-out examples.
    landmark_curve : LearningCurve
        Held-out error by the number of landmarks.
    model : ModelFindings
        The model and its quality on held-out examples.
    learned : LearnedSummary or None
        What ``similarity="auto"`` learned from the examples that the model was fitted to.
    importance : str
        What the importance of a landmark measures.
    landmarks : tuple of LandmarkFinding
        The most important ones, in decreasing order of importance.
    examples : tuple of ExampleFinding
        The hardest, mistakes, close calls and typical ones.
    reproduce : Reproduce
        How to reproduce the findings.
    """

    about: About
    validity: Validity
    spectrum: Eigenvalues
    goodness: Goodness | None
    no_goodness: str
    gap_labels: np.ndarray
    doubted: np.ndarray
    columns: tuple[ColumnFinding, ...]
    gram: GramSample
    map: ObjectMap
    alternatives: tuple[Alternative, ...]
    landmark_curve: LearningCurve
    model: ModelFindings
    learned: LearnedSummary | None
    importance: str
    landmarks: tuple[LandmarkFinding, ...]
    examples: tuple[ExampleFinding, ...]
    reproduce: Reproduce

    def __repr__(self) -> str:
        return f"Findings({self.about.n} {self.about.kind}, {self.model.measure} {self.model.held_out.value:.4g})"

    def __str__(self) -> str:
        from similitude.report.render.text import as_text

        return as_text(self)

    def save(self, path: Any, format: str | None = None) -> None:
        """Write the findings to a file: as one HTML page, as text or as JSON, by the suffix of its name or `format`."""
        from similitude.report.report_file import save_findings

        save_findings(self, path, format)

    def html_parts(self) -> Sequence[object]:
        """Return the whole page, in a frame of its own; without the libraries that it needs, the text."""
        try:
            from similitude.report.render.page import as_html
        except ImportError as error:
            return *super().html_parts(), notes([str(error)])
        return "Report", frame(as_html(self), f"Report: {self.about.title}"), notes([KEPT])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dicts, lists, strings and finite numbers; numbers that are not finite are None."""
        found: dict[str, Any] = plain(super().to_dict(), finite=True)
        return found


def investigate(
    similarity: Any,
    X: Any,
    y: Any,
    *,
    names: Sequence[str] | None = None,
    title: str | None = None,
    task: str | None = None,
    groups: Any = None,
    command: str | None = None,
    compare: Any = (),
    embedding: str = PCA,
    image_shape: tuple[int, int] | None = None,
    max_calls: int | None = None,
    random_state: Any = None,
    engine: Engine | None = None,
) -> Findings:
    """Find out whether a similarity is a kernel, how good it is for these labels, and how well a model does with it.

    A quarter of each class is held out and used for nothing but the final test; with fewer than 500 examples, each is
    predicted in cross-validation by a model that was not fitted to it (repeated with fewer than 40). Validity is
    checked on at most 500 examples and goodness on at most 500; the Gram matrix shown has at most 300.

    Parameters
    ----------
    similarity : Similarity, str or callable
        Any similarity function of two objects; with ``"precomputed"``, X is the square matrix of all pairs; with
        ``"auto"``, the model learns one, which is then investigated. A `SimilarityClassifier` or `SimilarityRegressor`,
        fitted or not, stands for its similarity: models with its parameters are fitted to the given objects.
    X : sequence of objects
    y : sequence of labels
        Classes, or numbers to predict.
    names : sequence of str, optional
        Names of the components of vectors; a table has its own.
    title : str, optional
    task : {"classification", "regression"}, optional
        Default: text, booleans and categories are classes, and so are integers with at most 20 distinct values and two
        examples of each on average; other numbers are to be predicted. A note says which.
    groups : sequence, optional
        What each example belongs to, such as a patient or a document: no model is tested on examples of a group that
        others were fitted to, and intervals count groups, not examples.
    command : str, optional
        The command line that asked for the findings, to be shown where they say how to reproduce them.
    compare : sequence or mapping of similarities, optional
        Other similarities of the same objects (a mapping: by name), each scored in the same folds by its own model.
    embedding : {"pca", "neighbors"}, default="pca"
        How objects are placed on the map: by kernel principal components, or by t-SNE, which keeps near objects near.
    image_shape : (int, int), optional
        Draw vectors as images with this many rows and columns. Default: guessed.
    max_calls : int, optional
        The most calls of your own functions. As many examples are investigated as can be compared with each other for
        four fifths of it; each pair is paid for once. The library's similarities are free.
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
    inputs = validated(similarity, X, y, task, random_state, groups)
    if image_shape is not None:
        _check_image_shape(image_shape, inputs.X)
    engine = engine or current_engine()
    check_max_calls(max_calls, engine)
    inputs, others = within_budget(inputs, named_similarities(compare), max_calls)
    about = summarize(inputs, title, names, image_shape)
    with use_engine(engine), budgeted(max_calls, engine) as meter, one_scipy_thread:
        found = _findings(inputs, about, command, embedding, others)
    if max_calls is None or not meter.spent:
        return found
    spent = f"calls of your functions: {meter.spent:,} of {max_calls:,}"
    return replace(found, about=replace(found.about, notes=(*found.about.notes, spent)))


def _findings(inputs: Inputs, about: About, command: str | None, embedding: str, others: dict[str, Any]) -> Findings:
    seconds: dict[str, float] = {}

    @contextmanager
    def timed(step: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        seconds[step] = time.perf_counter() - start

    with timed("Gram matrix"):  # first: similarities that are too large to compute with are refused
        known = None if inputs.automatic else gram_of_sample(inputs)
    with timed("model"):
        inputs, predictions, folds = _model(inputs)
        model = folds[-1][0]
        if inputs.automatic:
            inputs = replace(inputs, similarity=similarity_of(model))
    with timed("is it a kernel"):
        validity = _validity(inputs)
        gram, spectrum = known or gram_of_sample(inputs)
    with timed("goodness"):
        goodness, no_goodness = _goodness(inputs)
    with timed("other similarities"):
        compared = tuple(alternative(inputs, gram, predictions, name, k) for name, k in others.items())
    with timed("landmarks"):
        blocks = _landmark_blocks(inputs, folds)
        curve = learning_curve(inputs, model, blocks[:-1] or blocks, predictions, goodness)
        landmarks, measure = important_landmarks(inputs, model, next(iter(blocks[-1:]), None))
    with timed("columns"):
        columns: Sequence[ColumnFinding] = columns_of(inputs, about.kind, about.names)
        few_permuted: list[str] = []
        if about.image_shape is None:
            columns, few_permuted = with_importance(inputs, columns, folds)
    with timed("map"):
        placed = object_map(inputs, gram, predictions, columns, embedding)
    with timed("baselines"):
        neighbors = Neighbors(inputs, folds)
        evaluated = evaluate(inputs, model, predictions, columns, neighbors)
    with timed("examples"):
        doubted = _doubted(inputs, predictions)
        examples = choose_examples(inputs, folds, predictions, goodness, doubted, about.names)
    notes = [f"column {one.name} {one.remark}" for one in columns if one.remark]
    notes += _notes(inputs, about, gram, goodness, model)
    notes += few_permuted
    attributed = sum(one.decision.attribution is not None for one in examples)
    if 0 < attributed < len(examples):
        notes.append(
            f"what parts of the object add is shown for {attributed:,} of {len(examples):,} examples: for more, your "
            f"function would be called too often"
        )
    if blocks:
        notes += blocks[-1].notes()
    return Findings(
        about=replace(about, notes=tuple(notes)),
        validity=validity,
        spectrum=spectrum,
        goodness=goodness,
        no_goodness=no_goodness,
        gap_labels=inputs.y[:0] if goodness is None else inputs.y[goodness.used],
        doubted=doubted,
        columns=tuple(columns),
        gram=gram,
        map=placed,
        alternatives=compared,
        landmark_curve=curve,
        model=evaluated,
        learned=_learned(model, about),
        importance=measure,
        landmarks=landmarks,
        examples=examples,
        reproduce=how_to_reproduce(inputs, seconds, command),
    )


def _check_image_shape(shape: tuple[int, int], X: Any) -> None:
    """Validate that vectors are as long as images of this shape."""
    width = X.shape[1] if len(getattr(X, "shape", ())) == 2 else len(as_objects(take(X, np.array([0])))[0])
    if len(shape) != 2 or math.prod(shape) != width:
        raise ValueError(f"image_shape={shape!r} does not fit: X has vectors of {width} numbers")


def _validity(inputs: Inputs) -> Validity:
    """Check the similarity on a sample; a witness is given by positions in X."""
    chosen = inputs.sample(MAX_CHECKED)
    with pairs_at(chosen, chosen):
        found = check_kernel(inputs.resolved, take(inputs.X, chosen), random_state=inputs.seed)
    if found.witness is None or not found.witness.indices:
        return found
    indices = tuple(int(chosen[i]) for i in found.witness.indices)
    return replace(found, witness=replace(found.witness, indices=indices))


def _goodness(inputs: Inputs) -> tuple[Goodness | None, str]:
    """Assess the similarity on a sample, or say why that is not possible; its warnings are in its notes."""
    if not inputs.of_classes:
        return None, "goodness is defined for classes, and y holds numbers"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        size = max(MAX_CHECKED, 2 * len(inputs.classes))
        if inputs.n <= size:
            return assess(inputs.resolved, inputs.X, inputs.y, random_state=inputs.seed), ""
        some = stratified(inputs.codes, size, inputs.rng())
        few = max(40, len(inputs.classes))
        X, y = take(inputs.X, some), inputs.y[some]
        with pairs_at(some, some):
            found = assess(inputs.resolved, X, y, landmarks=few, random_state=inputs.seed)
        return found.of_sample(some, inputs.n), ""


def _doubted(inputs: Inputs, predictions: HeldOutPredictions) -> np.ndarray:
    """Return the held-out examples whose labels look wrong."""
    if predictions.probabilities is None:
        return np.empty(0, dtype=np.intp)
    wrong = suspicious_labels(predictions.probabilities, predictions.targets, np.ones(len(predictions.targets)))
    return np.sort(inputs.tested[wrong])


def _model(inputs: Inputs) -> tuple[Inputs, HeldOutPredictions, tuple[Fold, ...]]:
    """Predict held-out examples; return the models that did, last the reported one (fitted to all after folds)."""
    inputs = split(inputs)
    predictions, folds = predict_held_out(inputs, inputs.new_model)
    if not inputs.held_out:
        everything = np.arange(inputs.n)
        folds = (*folds, (fitted(inputs, inputs.new_model, everything), everything, everything[:0]))
    return inputs, predictions, folds


def _landmark_blocks(inputs: Inputs, folds: Sequence[Fold]) -> list[LandmarkBlocks]:
    """Return similarities to landmarks with weights: of the models of the first round, last of the reported one."""
    for model, _, _ in folds:
        is_frugal = model.n_similarity_calls_ and not len(model.landmark_weights_)
        if is_frugal or model.landmark_curve_.reason == EVERY_ROW:
            return []
    reported = (folds[-1][0], inputs.learned, inputs.tested)
    others = () if inputs.held_out else folds[: len(inputs.rounds[0])]
    return [LandmarkBlocks(inputs, one) for one in (*others, reported)]


def _learned(model: Any, about: About) -> LearnedSummary | None:
    """Return what the model learned, with the names of columns, if it has a similarity of its own making."""
    found: LearnedSummary | None = model.learned_
    if found is None or about.kind != "vectors":
        return found
    names = component_names(about.names, len(found.importance.names))
    named = dict(zip(found.importance.names, names, strict=True))
    directions = tuple(replace(one, columns=tuple(named[name] for name in one.columns)) for one in found.directions)
    return replace(found, importance=replace(found.importance, names=names), directions=directions)


def _notes(inputs: Inputs, about: About, gram: GramSample, goodness: Goodness | None, model: Any) -> list[str]:
    """Return what a reader must know about how the findings were obtained."""
    notes = list(inputs.notes)
    if about.image_shape is not None:
        notes.insert(0, f"vectors are drawn as images of {about.image_shape[0]} x {about.image_shape[1]} pixels")
    if inputs.n > MAX_CHECKED:
        notes.append(f"a counterexample was searched among {MAX_CHECKED:,} examples, stratified by class")
    if len(gram.matrix) < inputs.n:
        notes.append(f"the Gram matrix and its eigenvalues are those of {len(gram.matrix):,} examples")
    if goodness is not None:
        notes += [f"goodness: {note}" for note in goodness.notes]
        if inputs.groups is not None:
            notes.append("goodness also compares examples of one group, which look better than new ones would")
    if inputs.similarity.unresolved():
        checked, chosen = (
            re.sub(r"\d+\.\d{4,}", lambda found: f"{float(found[0]):.4g}", brief(one))
            for one in (inputs.resolved, model.similarity_)
        )
        notes.append(
            f"open parameters were resolved from data: {checked} was checked and assessed, {chosen} was chosen for the "
            f"model"
        )
    return notes
