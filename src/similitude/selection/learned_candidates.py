"""Candidates that are learned from labels: in every fold from its training examples alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from similitude.compute import take
from similitude.compute.engines import Engine
from similitude.evaluation import TaskTargets
from similitude.kernel_learning import learn_from_targets
from similitude.landmarks import Representation
from similitude.selection.candidate_features import features_of
from similitude.selection.landmark_similarities import LandmarkSimilarities, SampledData
from similitude.similarity import Similarity

LEARNING_SEED = 0
"""Seed of the pilot rows: the same examples give the same kernel."""


@dataclass(eq=False)
class FoldLearner:
    """Learns a similarity from some examples, and returns the features of all examples under it."""

    k: Similarity
    data: SampledData
    targets: TaskTargets
    engine: Engine
    groups: np.ndarray | None = None
    n_calls: int = 0

    def features(self, train: np.ndarray) -> np.ndarray:
        """Return the features of all examples under the similarity learned from those at some positions."""
        return self._learned(train)[2]

    def of_all(self) -> tuple[Similarity, Representation, float]:
        """Return the similarity learned from all examples, its features, and the sum of squares of these, centered."""
        k, representation, F = self._learned(np.arange(len(self.targets)))
        return k, representation, float(((F - F.mean(axis=0)) ** 2).sum())

    def _learned(self, train: np.ndarray) -> tuple[Similarity, Representation, np.ndarray]:
        objects = take(self.data.objects(self.k), train)
        groups = None if self.groups is None else self.groups[train]
        Y = self.targets.Y[train]
        k = learn_from_targets(self.k, objects, Y, random_state=LEARNING_SEED, groups=groups).similarity
        similarities = LandmarkSimilarities(k, self.data, self.engine)
        representation, F = features_of(k, similarities)
        self.n_calls += similarities.n_calls
        return k, representation, F
