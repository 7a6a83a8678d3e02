"""The parameters of SimilarityClassifier and SimilarityRegressor, and what they must satisfy."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute import (
    check_objects,
    take,
)
from similitude.compute.engines import Engine
from similitude.fitting import FitOptions, similarity_without_labels
from similitude.landmarks import (
    RULES,
    Landmarks,
    check_positions,
    refuse_function,
)
from similitude.scikit import SimilarityEstimator
from similitude.similarity import Learnable, Similarity, as_similarity
from similitude.support import brief, check_integer, check_share, error_prefix

SIDES = ("auto", "left", "right", "both")


class LandmarkParameters(SimilarityEstimator):
    """Parameters of landmark features and a linear model of them."""

    _losses: tuple[str, ...]
    _takes_tensors = True
    similarity: Any
    landmarks: Any
    landmark_indices: Any
    n_landmarks: Any
    loss: str
    penalty: str
    side: str
    unlabeled: Any
    certify: float | None
    max_calls: int | None
    random_state: Any

    def __init__(
        self,
        similarity: Any = "auto",
        *,
        landmarks: Any = "auto",
        landmark_indices: Any = None,
        n_landmarks: int | str = "auto",
        loss: str = "auto",
        penalty: str = "l2",
        side: str = "auto",
        unlabeled: Any = None,
        certify: float | None = None,
        max_calls: int | None = None,
        random_state: Any = None,
        engine: Engine | None = None,
    ) -> None:
        self.similarity = similarity
        self.landmarks = landmarks
        self.landmark_indices = landmark_indices
        self.n_landmarks = n_landmarks
        self.loss = loss
        self.penalty = penalty
        self.side = side
        self.unlabeled = unlabeled
        self.certify = certify
        self.max_calls = max_calls
        self.random_state = random_state
        self.engine = engine

    def _similarities(self) -> list[Similarity]:
        """Return what was given, as similarities."""
        if self._is_automatic:
            return [similarity_without_labels(self._kind())]
        if not isinstance(self.similarity, (list, tuple)):
            return [as_similarity(self.similarity)]
        if not self.similarity:
            raise ValueError("similarity is an empty list: give one similarity at least")
        if any(isinstance(one, str) and one == "precomputed" for one in self.similarity):
            raise ValueError("'precomputed' stands alone: in a list use Precomputed(M), with indices as objects")
        parts = [as_similarity(one) for one in self.similarity]
        kinds = {one.objects for one in parts} - {"any"}
        if len(kinds) > 1:
            raise ValueError(f"the similarities take objects of different kinds: {', '.join(sorted(kinds))}")
        return parts

    def _kind(self) -> str:
        if not isinstance(self.similarity, (list, tuple)):
            return super()._kind()
        try:
            kinds = {one.objects for one in self._similarities()} - {"any"}
        except (TypeError, ValueError):  # refused with its reason when it is used
            return "any"
        return kinds.pop() if kinds else "any"

    def _check_params(self) -> None:
        """Refuse contradictory or unknown parameters before the first similarity is computed."""
        precomputed = self._precomputed
        if isinstance(self.similarity, Similarity):
            self.similarity.check_params()
        if not precomputed:
            for k in self._similarities():
                k.check_params()
                if isinstance(k, Learnable):
                    from similitude.kernel_learning import check_learnable

                    check_learnable(k)
        if self.loss not in ("auto", *self._losses):
            raise ValueError(f"loss must be 'auto', {', '.join(map(repr, self._losses))}, got {brief(self.loss)}")
        if self.penalty not in ("l2", "l1"):
            raise ValueError(f"penalty must be 'l2' or 'l1', got {brief(self.penalty)}")
        if self.penalty == "l1" and self.loss == "logistic":
            raise ValueError("penalty='l1' needs loss='squared_hinge' or 'squared', got loss='logistic'")
        if self.side not in SIDES:
            raise ValueError(f"side must be one of {', '.join(map(repr, SIDES))}, got {brief(self.side)}")
        if precomputed and self.side not in ("auto", "left"):
            raise ValueError("K(new, train) holds no K(train, new): with a precomputed matrix side must be 'left'")
        self._check_landmarks(precomputed)
        if self.certify is not None:
            check_share("certify", self.certify)
            if precomputed or self.landmark_indices is not None:
                raise ValueError("certify keeps rows out of everything: give objects in X, and landmarks themselves")

    def _check_landmarks(self, precomputed: bool) -> None:
        """Refuse contradictions between the parameters that name landmarks."""
        own = not isinstance(self.landmarks, str)
        refuse_function(self.landmarks)
        if own:
            check_objects(self.landmarks, "landmarks")
        if self.unlabeled is not None:
            check_objects(self.unlabeled, "unlabeled")
        if own + (self.landmark_indices is not None) + (self.unlabeled is not None) > 1:
            raise ValueError("give landmarks, landmark_indices or an unlabeled pool, not several of them")
        if not own and self.landmarks not in ("auto", *RULES):
            raise ValueError(
                f"landmarks must be 'auto', a rule ({', '.join(RULES)}) or objects, got {brief(self.landmarks)}"
            )
        if precomputed and (own or self.unlabeled is not None):
            raise ValueError("with a precomputed matrix landmarks are columns: name them by landmark_indices")
        if not (isinstance(self.n_landmarks, str) and self.n_landmarks == "auto"):
            check_integer("n_landmarks", self.n_landmarks, otherwise="'auto'")

    def _objective(self) -> tuple[str, str]:
        """Return loss and penalty; ``auto`` is the squared loss, or with l1 the last loss of those offered."""
        auto = self._losses[0] if self.penalty == "l2" else self._losses[-1]
        return auto if self.loss == "auto" else self.loss, self.penalty

    def _options(self, X: Any, similarities: tuple[Similarity, ...], labels: np.ndarray | None) -> FitOptions:
        """Return the description of the fit to validated objects X."""
        loss, penalty = self._objective()
        rule, given = self.landmarks if isinstance(self.landmarks, str) else "given", None
        if self.landmark_indices is not None:
            positions = check_positions(self.landmark_indices, check_objects(X))
            given = Landmarks(take(X, positions), positions, None, None if labels is None else labels[positions])
        elif not isinstance(self.landmarks, str):
            given = Landmarks(self._checked_as("landmarks", self.landmarks))
        pool = None if self.unlabeled is None else self._checked_as("unlabeled", self.unlabeled)
        side = "left" if self._precomputed and self.side == "auto" else self.side
        return FitOptions(
            similarities,
            rule,
            self.n_landmarks,
            given,
            pool,
            side,
            loss,
            penalty,
            labels is not None,
            self.random_state,
            self._engine,
        )

    def _checked_as(self, name: str, objects: Any) -> Any:
        """Validate objects other than X; an error says which parameter they are."""
        with error_prefix(name):
            return self._checked(objects, reset=False)
