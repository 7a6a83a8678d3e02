"""Predictions and explanations by similarities to landmarks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from similitude.compute import (
    Encoding,
    as_numpy,
    in_memory,
    in_precision,
    is_distributed,
    is_tensor,
    itemsize,
    moved,
    namespace,
)
from similitude.compute.engines import Engine, LocalEngine, distributed_engine
from similitude.data.sources import Source, errors_in_batch, looks_like_source
from similitude.estimators.explanation import Asked, Explanations, explain_by_examples, explain_by_landmarks
from similitude.fitting import (
    Cascade,
    CascadeInfluence,
    DelayedInfluence,
    FitInfluence,
    LandmarkCurve,
    LandmarkModel,
    WeightedLandmarks,
    batches_to_predict,
    partition_prediction,
)
from similitude.landmarks import Representation
from similitude.scikit import SimilarityEstimator
from similitude.similarity import Precomputed
from similitude.support import (
    ESTIMATE,
    PROVEN,
    Estimate,
    Guarantee,
    Result,
    check_choice,
)

if TYPE_CHECKING:
    from similitude.kernel_learning import LearnedSummary


@dataclass(frozen=True)
class EarlyStops(Result):
    """Where predictions stopped, and on what ground.

    Attributes
    ----------
    calls : array of int
        Landmarks that each object was compared with; one counts twice if both directions are asked for.
    most : int
        All of them.
    settled : array of bool
        Whether no further similarity within its bounds can change the class that the object got.
    grade : str
        PROVEN if the bounds follow from claims of the similarity, ESTIMATE if they are those of the values seen.
    reason : str
        Why the bounds hold.
    """

    calls: np.ndarray
    most: int
    settled: np.ndarray
    grade: str
    reason: str

    @property
    def grades(self) -> np.ndarray:
        """For each object: PROVEN or ESTIMATE if it stopped early, an empty text if it was compared with all."""
        ground = np.where(self.settled & (self.grade == PROVEN), PROVEN, ESTIMATE)
        return np.asarray(np.where(self.calls < self.most, ground, ""))

    def __str__(self) -> str:
        early = self.calls < self.most
        settled = int((self.settled & early).sum())
        return (
            f"{early.sum():,} of {len(early):,} predictions stopped early, after {self.calls.mean():.1f} of "
            f"{self.most:,} landmarks on average:\n"
            f"{settled:,} because the others cannot change the class ({self.grade}: {self.reason}),\n"
            f"{early.sum() - settled:,} because the others would hardly ever change it ({ESTIMATE}: training rows left "
            "out of the fit)"
        )


def fitted_parts(model: LandmarkPredictor) -> tuple[WeightedLandmarks, ...] | None:
    """Return the weighted landmarks of each similarity of a fitted model; None of a frugal fit, which has none."""
    if isinstance(model._model, LandmarkModel):
        return model._model.parts
    return None


class LandmarkPredictor(SimilarityEstimator):
    """The parameters of a fit on landmarks and, once it is fitted, predictions and what explains them."""

    _losses: tuple[str, ...]
    _takes_tensors = True
    similarity_: Any
    landmarks_: Any
    landmark_indices_: Any
    loss_: str
    penalty_: str
    representation_: Representation | tuple[Representation, ...]
    guarantee_: Guarantee
    certificate_: Estimate
    landmark_curve_: LandmarkCurve
    learned_: LearnedSummary | None
    lam_: float
    n_similarity_calls_: int
    intercept_: np.ndarray
    _model: LandmarkModel | Cascade
    _influence: FitInfluence | CascadeInfluence | None = None  # models of versions without influences have none
    _mean_calls: float

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

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if isinstance(self._influence, DelayedInfluence):
            state["_influence"] = self._influence.found
        return state

    @property
    def landmark_weights_(self) -> Any:
        """The weights of the similarities to ``landmarks_``, a column per output; a list for several similarities.

        With both sides, the weights of K(x, l) come first and those of K(l, x) second.
        """
        weights = [part.weights for part in self._model.parts]
        if len(weights) == 1:
            return weights[0]
        return weights

    def _source(self, X: Any, y: Any = None, sample_weight: Any = None) -> Source | None:
        """Return X as a source if it is read in batches; None if it is in memory."""
        if self._precomputed or not looks_like_source(X):
            return None
        if isinstance(X, np.memmap) and self.landmark_indices is not None:
            return None
        if not isinstance(X, Source):
            return Source(X, y, sample_weight)
        if y is not None or sample_weight is not None:
            raise TypeError("a Source brings its labels and weights along: give them where it is made")
        return X

    def _predictions(self, X: Any, method: str, of_scores: Callable[[np.ndarray], np.ndarray]) -> Any:
        """Return what a method says of every object: a tensor for a tensor, a lazy array for a Dask collection."""
        if "_model" not in vars(self):
            check_is_fitted(self)
        if in_memory(X):
            return of_scores(as_numpy(self._scores_in_memory(X)))
        if is_distributed(X):
            engine = distributed_engine(self._engine)
            helper = cast(Any, object.__new__(type(self)))
            local = LocalEngine(threads=1, memory=engine.memory)
            vars(helper).update(vars(self), engine=local, landmarks="auto", unlabeled=None, _influence=None)
            like = of_scores(np.zeros((1, len(self.intercept_))))
            return engine.lazy_array(partition_prediction, (helper, method, like), X, like)
        if not is_tensor(X):
            return of_scores(self._scores(X))
        scores = moved(self._scores_in_memory(X), lambda array: namespace(X).asarray(array, device=X.device))
        return of_scores(scores)

    def _asked(self, X: Any) -> tuple[LandmarkModel | Cascade, tuple[Encoding, ...]]:
        """Return the model, and new objects encoded for each of its parts."""
        X = self._checked(X, reset=False)
        if not self._precomputed:
            return self._encoded(X)
        k = Precomputed(X)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} columns, the model was fitted on {self.n_features_in_} objects")
        return self._model.with_similarity(k), (k.encode(np.arange(len(X))),)

    def _encoded(self, X: Any) -> tuple[LandmarkModel | Cascade, tuple[Encoding, ...]]:
        """Return the model, and validated objects encoded for each of its parts."""
        return self._model, tuple([part.features.similarity.encode_checked(X, "X") for part in self._model.parts])

    def _scores(self, X: Any) -> np.ndarray:
        """Return the scores, one column per output, in float64."""
        source = None
        if not in_memory(X):
            source = self._source(X)
        if source is None:
            return as_numpy(self._scores_in_memory(X))
        return self._scores_of_source(source)

    def _scores_in_memory(self, X: Any) -> Any:
        """Return the scores, one column per output, in float64: a tensor if they were computed on tensors."""
        model, encodings = self._asked(X)
        scores = model.scores(encodings, self._engine, itemsize(encodings[0]))
        if isinstance(scores, np.ndarray):
            return scores.astype(np.float64, copy=False) + self.intercept_
        xp = namespace(scores)
        return in_precision(scores, xp.float64) + xp.asarray(self.intercept_, device=scores.device)

    def _scores_of_source(self, source: Source) -> np.ndarray:
        scores = None
        if source.n is not None:
            scores = np.empty((source.n, len(self.intercept_)))
        parts = []
        for batch in batches_to_predict(source, getattr(self, "n_features_in_", None), self._engine):
            with errors_in_batch(batch):
                model, encodings = self._asked(batch.objects)
            part = model.scores(encodings, self._engine.without_progress(), itemsize(encodings[0])) + self.intercept_
            if scores is None:
                parts.append(part)
            else:
                scores[batch.start : batch.stop] = part
        if scores is None:
            return np.concatenate(parts)
        return scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the prediction for every object; a subclass writes it."""
        raise NotImplementedError

    def early_stops(self, X: Any) -> EarlyStops:
        """Predict objects, and return after how many landmarks each prediction stopped, and on what ground.

        A stop is PROVEN if the similarity claims bounds (``BOUNDED``, or a kernel with ``UNIT_DIAGONAL``) and no values
        within them could change the class that comparing with all landmarks gives. It is an ESTIMATE otherwise.

        Parameters
        ----------
        X : sequence of objects

        Returns
        -------
        EarlyStops
        """
        check_is_fitted(self)
        model, encodings = self._asked(X)
        if not isinstance(model, Cascade):
            raise ValueError("predictions stop early after frugal fits only: this model compares with all landmarks")
        _, calls, settled = model.scored(encodings[0])
        return EarlyStops(calls, model.stages[-1].n, settled, model.values.grade, model.values.reason)

    def predict_batches(self, X: Any) -> Iterator[np.ndarray]:
        """Yield predictions batch by batch, for sources whose predictions do not fit into memory.

        Parameters
        ----------
        X : source
            See :class:`similitude.sources.Source`; an iterator that can be read only once will do.
        """
        check_is_fitted(self)
        source = self._source(X)
        if source is None:
            raise TypeError(f"predict_batches reads a source, got {type(X).__name__} in memory: use predict")
        for batch in batches_to_predict(source, getattr(self, "n_features_in_", None), self._engine):
            with errors_in_batch(batch):
                yield self.predict(batch.objects)

    def _explain(self, X: Any, by: str, asked: Asked, classes: np.ndarray | None = None) -> Explanations:
        """Explain the predictions for some objects; see `explain` of the subclasses. Targets may number classes."""
        check_choice("by", by, ("auto", "examples", "landmarks"))
        if looks_like_source(X) and not isinstance(X, np.ndarray):
            raise TypeError("explain takes objects in memory: give it one batch of a source, for instance")
        model, encodings = self._asked(X)
        if by == "landmarks":
            if isinstance(model, Cascade):
                raise ValueError(
                    "a frugal fit has no weights of landmarks: explain(X) explains by groups of training examples"
                )
            return explain_by_landmarks(model, encodings, self.intercept_, asked)
        if self._influence is None:
            raise ValueError(
                "this model keeps no influence of training examples: it was saved by a version without influences; "
                "explain(X, by='landmarks') shows weights of landmarks"
            )
        influence = self._influence.found if isinstance(self._influence, DelayedInfluence) else self._influence
        return explain_by_examples(model, encodings, influence, asked, classes, together=by == "auto")
