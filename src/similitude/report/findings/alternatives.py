"""Other similarities on the same objects, judged on the same held-out examples as the one that a report is about."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute import take
from similitude.estimators import SimilarityClassifier, SimilarityRegressor
from similitude.report.findings.gram_matrix import GramSample
from similitude.report.findings.held_out import HeldOutPredictions, Split, predict_held_out, similarity_of
from similitude.report.findings.inputs import Inputs
from similitude.report.findings.scores import Scores, ahead_of, scores
from similitude.scikit import AUTO
from similitude.similarity import Similarity, as_similarity
from similitude.support import Result, brief, pairs_at
from similitude.validity import check_kernel


@dataclass(frozen=True, eq=False)
class Alternative(Result):
    """A similarity, and a model with it.

    Attributes
    ----------
    name : str
    verdict : {"VALID", "INVALID", "UNKNOWN"}
        Whether it is a kernel.
    scores : Scores
        Of the model, on the held-out examples; ``ahead`` compares it with the similarity that the report is about.
    n_landmarks : int
    seconds : float
        To fit the model and to predict.
    sample : GramSample
        Similarities of some of the objects of the report's Gram matrix, in the same order.
    """

    name: str
    verdict: str
    scores: Scores
    n_landmarks: int
    seconds: float
    sample: GramSample

    def __str__(self) -> str:
        return f"{self.name} (kernel: {self.verdict}): {self.scores}"


def named_similarities(given: Any) -> dict[str, Any]:
    """Return similarities by name, from a mapping or a sequence of anything that `as_similarity` takes, or "auto"."""
    pairs: Iterable[tuple[Any, Any]]
    if isinstance(given, Mapping):
        pairs = given.items()
    else:
        pairs = [(one if isinstance(one, str) else None, one) for one in given]
    found: dict[str, Any] = {}
    for name, one in pairs:
        k = one if isinstance(one, str) and one == AUTO else as_similarity(one)
        if isinstance(k, Similarity):
            k.check_params()
        found[str(name) if name else brief(k)] = k
    return found


def alternatives(
    inputs: Inputs,
    parts: Split,
    gram: GramSample,
    predictions: HeldOutPredictions,
    others: Mapping[str, Any],
) -> tuple[Alternative, ...]:
    """Judge other similarities in the same folds, each with a model of its own."""
    return tuple(_judged(inputs, parts, gram, predictions, name, k) for name, k in others.items())


def _judged(
    inputs: Inputs, parts: Split, gram: GramSample, predictions: HeldOutPredictions, name: str, k: Any
) -> Alternative:
    estimator = SimilarityClassifier if inputs.of_classes else SimilarityRegressor
    start = time.perf_counter()
    predicted, folds = predict_held_out(inputs, parts, lambda: estimator(k, random_state=inputs.seed))
    seconds = time.perf_counter() - start
    own = replace(inputs, similarity=k if isinstance(k, Similarity) else similarity_of(folds[-1].model))
    few = inputs.sample(100)
    with pairs_at(few, few):
        verdict = check_kernel(own.resolved, take(inputs.X, few), random_state=inputs.seed).verdict
    judged = Scores(name, repr(k), scores(inputs, predicted), ahead_of(predicted, predictions, inputs.seed))
    n_landmarks = folds[-1].model.n_similarity_calls_
    return Alternative(name, verdict, judged, n_landmarks, seconds, _some_of(own.resolved, inputs, gram))


def _some_of(k: Similarity, inputs: Inputs, gram: GramSample) -> GramSample:
    """Return similarities of evenly chosen rows of a Gram matrix, in its order."""
    rows = np.unique(np.linspace(0, len(gram.indices) - 1, 120).astype(int))
    chosen = gram.indices[rows]
    with pairs_at(chosen, chosen):
        K = np.asarray(k.gram(take(inputs.X, chosen)), dtype=np.float32)
    edges = np.searchsorted(rows, gram.boundaries)
    return GramSample(K, chosen, gram.labels[rows], gram.classes, edges)
