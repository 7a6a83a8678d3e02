"""What the two machines share: from objects and targets to a weighted sum of similarities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from similitude.compute.encodings import Encoding, as_numpy, as_objects, itemsize, rows, take
from similitude.compute.engines.distributed import is_spread
from similitude.data.sources import Source, about, looks_like_source
from similitude.estimators.distributed import fit_spread
from similitude.estimators.explanation import Explanation
from similitude.estimators.guarantees import promised
from similitude.estimators.landmark_count import LandmarkCurve, Setting
from similitude.estimators.landmarking import check_landmarks, find_landmarks
from similitude.estimators.order import Drawn, seed_of
from similitude.estimators.products import takes_map
from similitude.estimators.scales import open_scales
from similitude.estimators.sourced import Targets, fit_source, objects_of, scores_of
from similitude.estimators.streams import Model, scored
from similitude.estimators.training import PILOT, Examples, Fitted, fit_ridge, n_choices, with_scales
from similitude.landmarks.features import Together, Weighted
from similitude.landmarks.representation import Representation
from similitude.linear import Linear, Trial
from similitude.scikit.estimator import SimilarityEstimator
from similitude.similarity import Similarity
from similitude.similarity.adapters import Precomputed, as_similarity
from similitude.similarity.base import remembered_images
from similitude.support.results import Guarantee

SIDES = ("auto", "left", "right", "both")
PENALTIES = ("l2", "l1")


class LandmarkEstimator(SimilarityEstimator):
    """A linear model of similarities to landmarks. A subclass reads targets, and names its losses."""

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
    random_state: Any

    similarity_: Any
    landmarks_: Any
    landmark_indices_: Any
    loss_: str
    penalty_: str
    representation_: Representation | tuple[Representation, ...]
    guarantee_: Guarantee
    landmark_curve_: LandmarkCurve
    lam_: float
    n_similarity_calls_: int
    intercept_: np.ndarray
    _model: Model

    def _similarities(self) -> list[Similarity]:
        """Return what was given, as similarities."""
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
        if self._precomputed:
            return "matrix"
        try:
            kinds = {one.objects for one in self._similarities()}
        except (TypeError, ValueError):  # refused with its reason when it is used
            return "any"
        return next(iter(kinds - {"any"}), "any")

    def _check_params(self) -> None:
        """Refuse what makes no sense, before the first kernel call."""
        if not self._precomputed:
            for k in self._similarities():
                k.check_params()
        if self.loss not in ("auto", *self._losses):
            raise ValueError(f"loss must be 'auto', {', '.join(map(repr, self._losses))}, got {self.loss!r}")
        if self.penalty not in PENALTIES:
            raise ValueError(f"penalty must be 'l2' or 'l1', got {self.penalty!r}")
        if self.penalty == "l1" and self.loss == "logistic":
            raise ValueError("penalty='l1' needs loss='squared_hinge' or 'squared', got loss='logistic'")
        if self.side not in SIDES:
            raise ValueError(f"side must be one of {', '.join(map(repr, SIDES))}, got {self.side!r}")
        if self._precomputed and self.side not in ("auto", "left"):
            raise ValueError("K(new, train) holds no K(train, new): with a precomputed matrix side must be 'left'")
        check_landmarks(self)

    def _examples(
        self, X: Any, Y: np.ndarray, weights: np.ndarray, sample_weight: Any, drawn: Drawn
    ) -> tuple[Any, Any, Examples]:
        """Return the similarities as given, the objects, and the examples encoded."""
        if self._precomputed:
            given: list[Similarity] = [Precomputed(X)]
            X = np.arange(len(X))
        else:
            given = self._similarities()
        order = drawn.order(np.flatnonzero(weights > 0))
        prepared = [self._prepared(k, X, sample_weight, order) for k in given]
        self._note_engine([resolved for resolved, _ in prepared])
        similarities, encodings = zip(*prepared, strict=True)
        return given, X, Examples(similarities, encodings, Y, weights, order, drawn.places, drawn.rest)

    def _prepared(self, k: Similarity, X: Any, sample_weight: Any, order: np.ndarray) -> tuple[Similarity, Encoding]:
        """Return a similarity with what data must fix, and the objects encoded; medians are those of a sample."""
        k.check_params()
        if len(order) <= PILOT or not k.unresolved() or len(open_scales(k)) < len(k.unresolved()):
            return k.prepare(X, self.random_state, sample_weight)
        some = np.sort(order[:PILOT])
        weighted = None if sample_weight is None else np.asarray(sample_weight)[some]
        with remembered_images():
            resolved = k.resolve(take(X, some), self.random_state, weighted)
            return resolved, resolved._encoded(X, "X")

    def _train(
        self,
        X: Any,
        Y: np.ndarray,
        weights: np.ndarray,
        sample_weight: Any,
        labels: Any,
        drawn: Drawn | None = None,
    ) -> Fitted:
        """Choose scale, landmarks and penalty, fit by least squares, and keep what prediction needs."""
        drawn = drawn or Drawn(seed_of(self.random_state))
        given, X, examples = self._examples(X, Y, weights, sample_weight, drawn)
        if len(examples.order) < 2:
            raise ValueError("two examples with a weight are needed at least, there is 1 sample")
        loss, penalty = self._objective()
        found = find_landmarks(self, X, examples, labels)
        X, examples = found.X, found.examples
        side = "left" if self._precomputed and self.side == "auto" else self.side
        ask = Setting(found.sizes, side, loss, penalty, self._engine, found.limit)
        examples = with_scales(examples, given, X, found.landmarks, ask, found.pilot)
        fitted = fit_ridge(examples, found.landmarks, ask, found.pilot)
        fitted = self._fit_features(loss, penalty, fitted, examples)
        self.loss_, self.penalty_, self.landmark_curve_ = loss, penalty, fitted.growth
        self.representation_ = fitted.representations[0] if len(fitted.representations) == 1 else fitted.representations
        used = found.landmarks.only(fitted.n_landmarks)
        units, n_classes = [one.unit for one in fitted.coordinates], None if labels is None else max(2, Y.shape[1])
        self.guarantee_ = promised(fitted.representations, used, n_classes, n_choices(found.sizes, given), units)
        self._keep(fitted, examples.similarities)
        return fitted

    def _forget_batches(self) -> None:
        """Drop what `partial_fit` learned."""
        for name in ("_so_far", "_coordinates"):
            self.__dict__.pop(name, None)

    def _objective(self) -> tuple[str, str]:
        """Return the loss and the penalty; ``auto`` is the squared loss, or with l1 the last of those offered."""
        auto = self._losses[0] if self.penalty == "l2" else self._losses[-1]
        return auto if self.loss == "auto" else self.loss, self.penalty

    def _fit_features(self, loss: str, penalty: str, fitted: Fitted, examples: Examples) -> Fitted:
        """Return the fit by another loss or penalty in the same coordinates."""
        if (loss, penalty) == ("squared", "l2"):
            return fitted
        features = fitted.features
        if features is None:
            together = Together.of(fitted.coordinates, np.float32 if examples.itemsize == 4 else np.float64)
            features = examples.features(together, self._engine)
        F, Y, weights = features
        named = "penalty='l1'" if penalty == "l1" else f"loss={loss!r}"
        F = as_numpy(F) if penalty == "l1" else self._engine.here(F)
        if isinstance(F, np.ndarray):
            self._note_cpu(f"the model with {named} was fitted")
        with self._engine.algebra(f"{named} on {F.shape[0]:,} x {F.shape[1]:,} features"):
            linear, trial, judged = self._fit_all(loss, penalty, F, Y, weights)
        told = Y[judged], weights[judged]
        return replace(fitted, linear=linear, trial=trial, judged=told)

    def _fit_all(
        self, loss: str, penalty: str, F: Any, Y: np.ndarray, weights: np.ndarray
    ) -> tuple[Linear, Trial, np.ndarray]:
        """Fit a loss that needs all features at once; a subclass writes it."""
        raise NotImplementedError

    # Sources.

    def _source(self, X: Any, y: Any = None, sample_weight: Any = None) -> Source | None:
        """Return X as a source where it is read in batches; None where it is in memory."""
        if self._precomputed or not looks_like_source(X):
            return None
        if isinstance(X, np.memmap) and self.landmark_indices is not None:
            return None
        if not isinstance(X, Source):
            return Source(X, y, sample_weight)
        if y is not None or sample_weight is not None:
            raise TypeError("a Source brings its labels and weights along: give them where it is made")
        return X

    def _fit_apart(self, X: Any, y: Any, sample_weight: Any) -> Fitted | None:
        """Fit to what is read in batches or lives on workers; None where X is in memory."""
        if is_spread(X):
            return fit_spread(self, X, y, sample_weight)
        source = None if takes_map(self, X, y) else self._source(X, y, sample_weight)
        return None if source is None else fit_source(self, source)

    def _reading(self) -> Targets:
        """Return what reads targets batch by batch; a subclass writes it."""
        raise NotImplementedError

    def _keep(self, fitted: Fitted, similarities: tuple[Similarity, ...]) -> None:
        """Keep the landmarks that have a weight, and nothing else of the training objects."""
        self._set_linear(fitted.coordinates, fitted.linear)
        self.lam_ = fitted.trial.lam
        if self._precomputed:
            self.similarity_ = "precomputed"
            self._model = Model(
                tuple(replace(one, view=replace(one.view, similarity=None)) for one in self._model.parts)
            )
        elif isinstance(self.similarity, (list, tuple)):
            self.similarity_ = list(similarities)
        else:
            self.similarity_ = similarities[0]

    def _set_linear(self, coordinates: Any, linear: Linear) -> None:
        """Make a linear function of the coordinates the model."""
        edges = np.cumsum([one.view.width if one.factor is None else len(one.factor) for one in coordinates])
        pieces = np.split(linear.weights, edges[:-1])
        parts = tuple(Weighted.of(one, W) for one, W in zip(coordinates, pieces, strict=True))
        self._model = Model(parts)
        self.intercept_ = linear.intercept
        chosen = [part.view.landmarks for part in parts]
        alone = len(parts) == 1
        self.landmarks_ = chosen[0].objects if alone else [one.objects for one in chosen]
        self.landmark_indices_ = chosen[0].positions if alone else [one.positions for one in chosen]
        self.n_similarity_calls_ = sum(part.n_used for part in parts)

    # Prediction.

    def _asked(self, X: Any) -> tuple[Model, tuple[Encoding, ...]]:
        """Return the model and new objects encoded for each of its parts."""
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        if self._precomputed:
            k: Similarity = Precomputed(X)
            if X.shape[1] != self.n_features_in_:
                raise ValueError(f"X has {X.shape[1]} columns, the model was fitted on {self.n_features_in_} objects")
            parts = tuple(replace(one, view=replace(one.view, similarity=k)) for one in self._model.parts)
            return Model(parts), (k.encode(np.arange(len(X))),)
        return self._model, tuple(part.view.similarity._encoded(X, "X") for part in self._model.parts)

    def _scores(self, X: Any) -> np.ndarray:
        """Return the scores, one column per output, in float64."""
        check_is_fitted(self)
        source = self._source(X)
        if source is not None:
            return scores_of(self, source)
        model, encodings = self._asked(X)
        scores = scored(model, encodings, self._engine, itemsize(encodings[0]))
        return as_numpy(scores).astype(np.float64, copy=False) + self.intercept_

    def predict(self, X: Any) -> np.ndarray:
        """Return the prediction for every object; a subclass writes it."""
        raise NotImplementedError

    def predict_batches(self, X: Any) -> Iterator[np.ndarray]:
        """Yield predictions batch after batch, where even these are more than memory holds.

        Parameters
        ----------
        X : source
            See :class:`similitude.sources.Source`; an iterator that can be read only once will do.
        """
        check_is_fitted(self)
        source = self._source(X)
        if source is None:
            raise TypeError(f"predict_batches reads a source, got {type(X).__name__} in memory: use predict")
        for batch in objects_of(self, source):
            with about(batch):
                yield self.predict(batch.objects)

    def _explain(self, X: Any, predictions: np.ndarray, columns: np.ndarray) -> list[Explanation]:
        """Return for each object what its landmarks add to the score in its column."""
        if looks_like_source(X) and not isinstance(X, np.ndarray):
            raise TypeError("explain takes objects in memory, some of a source: a batch of it, for instance")
        model, encodings = self._asked(X)
        used = [part.view.landmarks.objects for part in model.parts if part.view.n_landmarks]
        objects = [one for landmarks in used for one in as_objects(landmarks)]
        each = [rows(encodings, slice(i, i + 1)) for i in range(len(columns))]
        return [
            _explained(model, objects, A, prediction, int(column), self.intercept_)
            for A, prediction, column in zip(each, predictions, columns, strict=True)
        ]


def _explained(
    model: Model, objects: list[Any], encodings: Any, prediction: Any, column: int, intercept: np.ndarray
) -> Explanation:
    """Return one prediction as a sum over landmarks, those that count most first."""
    alike, added, positions = [], [], []
    for part, A in zip(model.parts, encodings, strict=True):
        values, contributions = part.contributions(A)
        alike.append(values)
        added.append(contributions[:, column])
        places = part.view.landmarks.positions
        positions.append(places if places is not None else np.full(part.view.n_landmarks, -1))
    contributions, places = np.concatenate(added), np.concatenate(positions)
    order = np.argsort(-np.abs(contributions), kind="stable")
    return Explanation(
        prediction.item() if isinstance(prediction, np.generic) else prediction,
        float(contributions.sum() + intercept[column]),
        float(intercept[column]),
        [objects[i] for i in order],
        None if (places < 0).any() else places[order],
        np.concatenate(alike)[order],
        contributions[order],
    )
