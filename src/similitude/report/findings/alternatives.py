"""Other similarities on the same objects, evaluated on the same held-out examples as the one that a report is about."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute import take
from similitude.report.findings.gram_matrix import GramSample
from similitude.report.findings.held_out import HeldOutPredictions, predict_held_out, similarity_of
from similitude.report.findings.inputs import Inputs
from similitude.report.findings.scores import Scores, ahead_of, scores
from similitude.scikit import AUTO
from similitude.similarity import Similarity, as_similarity
from similitude.support import Result, brief, pairs_at
from similitude.validity import check_kernel


@dataclass(frozen=True, eq=False)
class Alternative(Result):
    """A similarity, and a model with it."""

    name: str
    verdict: str  # whether it is a kernel: VALID, INVALID or UNKNOWN
    scores: Scores  # of the model; `ahead` compares it with the similarity that the report is about
    n_landmarks: int
    seconds: float  # to fit the model and to predict
    sample: GramSample  # some of the objects of the report's Gram matrix, in the same order

    def __str__(self) -> str:
        return f"{self.name} (kernel: {self.verdict}): {self.scores}"


def named_similarities(given: Any) -> dict[str, Any]:
    """Return similarities by name, from a mapping or a sequence of anything that `as_similarity` takes, or "auto"."""
    pairs = [(None, one) for one in given]
    if isinstance(given, Mapping):
        pairs = list(given.items())
    found: dict[str, Any] = {}
    for name, k in pairs:
        if isinstance(k, str):
            name = name or k
        if not (isinstance(k, str) and k == AUTO):
            k = as_similarity(k)
            k.check_params()
        found[str(name or brief(k))] = k
    return found


def alternative(inputs: Inputs, gram: GramSample, predictions: HeldOutPredictions, name: str, k: Any) -> Alternative:
    """Evaluate another similarity in the same folds, with a model of its own."""
    start = time.perf_counter()
    predicted, folds = predict_held_out(inputs, lambda: inputs.usual_model(k))
    seconds = time.perf_counter() - start
    model = folds[-1][0]
    if not isinstance(k, Similarity):
        k = similarity_of(model)
    own = replace(inputs, similarity=k).resolved
    few = inputs.sample(100)
    with pairs_at(few, few):
        verdict = check_kernel(own, take(inputs.X, few), random_state=inputs.seed).verdict
    found = Scores(name, repr(k), scores(inputs, predicted), ahead_of(predicted, predictions, inputs.seed))
    rows = np.unique(np.linspace(0, len(gram.indices) - 1, 120).astype(int))
    chosen = gram.indices[rows]
    with pairs_at(chosen, chosen):
        K = np.asarray(own.gram(take(inputs.X, chosen)), dtype=np.float32)
    edges = np.searchsorted(rows, gram.boundaries)
    sample = GramSample(K, chosen, gram.labels[rows], gram.classes, edges)
    return Alternative(name, verdict, found, model.n_similarity_calls_, seconds, sample)
