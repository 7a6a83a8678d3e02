"""The most similar examples of those fitted to: a baseline, and a second opinion on the labels of held-out examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from similitude.compute import take
from similitude.goodness import suspicious_labels
from similitude.report.findings.held_out import FoldModel, similarity_of
from similitude.report.findings.inputs import Inputs
from similitude.report.limits import MAX_NEIGHBORS
from similitude.similarity import Similarity
from similitude.support import pairs_at


class _Compared(NamedTuple):
    """Tested examples, those they are compared with, and the similarities."""

    test: np.ndarray
    chosen: np.ndarray
    K: np.ndarray


class Neighbors:
    """Similarities of held-out examples to examples fitted to, by the models' own similarities, computed once.

    Parameters
    ----------
    inputs : Inputs
    models : sequence of FoldModel
        The models of all folds.
    """

    def __init__(self, inputs: Inputs, models: Sequence[FoldModel]) -> None:
        self.inputs, self.models = inputs, models
        self._compared: list[_Compared] = []

    def predict(self, train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Predict the label of the most similar example; the score of a class is the largest similarity to it."""
        _, chosen, K = self._similarities(train, test)
        inputs, targets = self.inputs, self.inputs.targets[chosen]
        if not inputs.of_classes:
            return targets[K.argmax(axis=1)], None
        best = np.full((len(test), len(inputs.classes)), K.min() - 1.0)
        for code in np.unique(targets):
            best[:, code] = K[:, targets == code].max(axis=1)
        return best, np.eye(len(inputs.classes))[best.argmax(axis=1)]

    def suspects(self, among: np.ndarray) -> np.ndarray:
        """Return which of some held-out examples have labels that look wrong to those they were compared with."""
        found = [np.empty(0, dtype=np.intp)]
        for one in self._compared:
            rows = np.flatnonzero(np.isin(one.test, among))
            if len(rows):
                found.append(one.test[rows[self._suspicious(one, rows)]])
        return np.unique(np.concatenate(found))

    def _suspicious(self, one: _Compared, rows: np.ndarray) -> np.ndarray:
        """Return which of some tested examples look wrong; large objects are not taken for similar to all."""
        sizes = np.asarray(self._similarity(one.test).diag(take(self.inputs.X, one.chosen)), dtype=np.float64)
        K = one.K[rows] / np.sqrt(sizes) if (sizes > 0).all() else one.K[rows]
        return suspicious_labels(K, self.inputs.codes[one.chosen], self.inputs.codes[one.test[rows]])

    def _similarity(self, test: np.ndarray) -> Similarity:
        """Return the similarity of the model that was tested on some examples."""
        return similarity_of(next(one.model for one in self.models if one.test is test))

    def _similarities(self, train: np.ndarray, test: np.ndarray) -> _Compared:
        known = next((one for one in self._compared if one.test is test), None)
        if known is not None:
            return known
        inputs, few = self.inputs, len(train) <= MAX_NEIGHBORS
        chosen = train if few else np.sort(inputs.rng().choice(train, MAX_NEIGHBORS, replace=False))
        with pairs_at(test, chosen):
            K = np.asarray(self._similarity(test).cross(take(inputs.X, test), take(inputs.X, chosen)), dtype=np.float64)
        self._compared.append(_Compared(test, chosen, K))
        return self._compared[-1]
