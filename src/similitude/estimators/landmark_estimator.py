"""What SimilarityClassifier and SimilarityRegressor share: landmark features and a linear model."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from similitude.compute import (
    Encoding,
    as_numpy,
    as_objects,
    check_objects,
    in_memory,
    is_distributed,
    is_tensor,
    itemsize,
    moved,
    namespace,
    take,
)
from similitude.compute.engines import Engine, LocalEngine, distributed_engine, use_engine
from similitude.data.sources import Source, errors_in_batch, looks_like_source
from similitude.estimators.automatic import (
    AUTO,
    can_learn,
    default_similarity,
    fit_exactly,
    fits_exactly,
    kind_of_objects,
    learned_kernel,
)
from similitude.estimators.batches import Sampled, batches_to_predict, sample_source
from similitude.estimators.certificate import NOT_CERTIFIED, set_apart
from similitude.estimators.choose_landmarks import choose_landmarks
from similitude.estimators.distributed import sample_collection
from similitude.estimators.explanation import Asked, Explanations, explain_by_examples, explain_by_landmarks
from similitude.estimators.fit import Fitted, all_features, fit_ridge
from similitude.estimators.guarantee import guarantee_of_fit, guarantee_of_learned
from similitude.estimators.influence import Influence, influence_in_refit, weighted_landmarks
from similitude.estimators.landmark_count import LandmarkCurve
from similitude.estimators.learned_similarities import learn_similarities
from similitude.estimators.model import LandmarkModel
from similitude.estimators.nested_folds import FEWEST_NESTED_ROWS, Judged, judged_by_folds
from similitude.estimators.options import RIDGE, FitOptions
from similitude.estimators.partial_fit import MOST_OF_STREAM, Stream, held_out_of_batch
from similitude.estimators.partitions import Prediction, partition_prediction
from similitude.estimators.products import reads_memory_map
from similitude.estimators.rows import (
    PILOT,
    Sampling,
    TrainingRows,
    draw_seed,
    equals_judged_together,
    groups_of_equals,
)
from similitude.estimators.scales import choose_scales, open_scales
from similitude.estimators.targets import Targets
from similitude.kernel_learning import check_learnable
from similitude.landmarks import (
    RULES,
    LandmarkFeatures,
    Landmarks,
    Representation,
    check_positions,
)
from similitude.linear import LEAVE_ONE_OUT, LinearModel, Trial
from similitude.scikit import InputCheck, SimilarityEstimator, all_or_nothing
from similitude.similarity import Learnable, Precomputed, Similarity, as_similarity, remembered_images
from similitude.support import Estimate, Guarantee, check_choice, check_integer, check_share, error_prefix

SIDES = ("auto", "left", "right", "both")


class LandmarkEstimator(SimilarityEstimator):
    """Landmark features and a linear model of them. A subclass reads targets, and names its losses."""

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
    random_state: Any

    similarity_: Any
    landmarks_: Any
    landmark_indices_: Any
    loss_: str
    penalty_: str
    representation_: Representation | tuple[Representation, ...]
    guarantee_: Guarantee
    certificate_: Estimate
    landmark_curve_: LandmarkCurve
    lam_: float
    n_similarity_calls_: int
    intercept_: np.ndarray
    _model: LandmarkModel
    _influence: Influence | None

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
        self.random_state = random_state
        self.engine = engine

    # Parameters.

    def _similarities(self) -> list[Similarity]:
        """Return what was given, as similarities."""
        if self._is_automatic:
            return [default_similarity(self._kind())]
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

    def set_params(self, **params: Any) -> Any:
        """Set parameters by name; a parameter inside of an automatic similarity is that of a Gaussian kernel."""
        inside = any(path.startswith("similarity__") for path in params)
        if inside and self._is_automatic and "similarity" not in params:
            self.similarity = default_similarity("vectors")
        return super().set_params(**params)

    @property
    def _is_automatic(self) -> bool:
        return isinstance(self.similarity, str) and self.similarity == AUTO

    def _checked(self, X: Any, *, reset: bool) -> Any:
        if reset and self._is_automatic and not is_distributed(X):
            self._objects = kind_of_objects(X)
        return super()._checked(X, reset=reset)

    def _kind(self) -> str:
        if self._is_automatic:
            return str(self.__dict__.get("_objects", "vectors"))
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
        if not precomputed:
            for k in self._similarities():
                k.check_params()
                if isinstance(k, Learnable):
                    check_learnable(k)
        if self.loss not in ("auto", *self._losses):
            raise ValueError(f"loss must be 'auto', {', '.join(map(repr, self._losses))}, got {self.loss!r}")
        if self.penalty not in ("l2", "l1"):
            raise ValueError(f"penalty must be 'l2' or 'l1', got {self.penalty!r}")
        if self.penalty == "l1" and self.loss == "logistic":
            raise ValueError("penalty='l1' needs loss='squared_hinge' or 'squared', got loss='logistic'")
        if self.side not in SIDES:
            raise ValueError(f"side must be one of {', '.join(map(repr, SIDES))}, got {self.side!r}")
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
        if own:
            check_objects(self.landmarks, "landmarks")
        if self.unlabeled is not None:
            check_objects(self.unlabeled, "unlabeled")
        if own + (self.landmark_indices is not None) + (self.unlabeled is not None) > 1:
            raise ValueError("give landmarks, landmark_indices or an unlabeled pool, not several of them")
        if not own and self.landmarks not in ("auto", *RULES):
            raise ValueError(
                f"landmarks must be 'auto', a rule ({', '.join(RULES)}) or objects, got {self.landmarks!r}"
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

    # Fitting.

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn from objects and their labels or targets.

        Parameters
        ----------
        X : sequence of objects, or source
            A source (see :class:`similitude.sources.Source`: a memory map, a path, a dataset, a function of batches)
            is read twice: once to count its rows and to draw a sample of 20,000, on which all choices are made, and
            once to compute similarities. A Dask array, dataframe or bag stays on its workers (see
            :class:`similitude.engines.DaskEngine`); its predictions are a lazy array.
        y : sequence of labels, or array of targets of shape (n,) or (n, outputs)
            For a source also the name of a column; None if the source brings them along.
        sample_weight : sequence of float, optional
            Multiplies the loss of each row.
        """
        self._check_params()
        self.__dict__.pop("_stream", None)
        judged = None if in_memory(X) else self._fit_elsewhere(X, y, sample_weight)
        if judged is None:
            X = self._checked(X, reset=True)
            Y, weights, labels = self._read(X, y, sample_weight)
            if self.certify is not None:
                return self._fit_and_certify(X, Y, weights, sample_weight, labels)
            judged = self._fitted(X, Y, weights, sample_weight, labels, Sampling(draw_seed(self.random_state)))
        self._judge(judged)
        self.certificate_ = NOT_CERTIFIED
        return self

    def _learns(self, X: Any, Y: np.ndarray, order: np.ndarray) -> bool:
        """Tell whether a kernel is to be learned: an automatic similarity of enough vectors or rows of a table."""
        vectors = self._is_automatic and self._kind() in ("vectors", "table")
        if not vectors or not can_learn(X, len(order), self._engine.budget):
            return False
        plain = self._objective() == RIDGE and self.side in ("auto", "left") and self.unlabeled is None
        choosing = isinstance(self.landmarks, str) and self.landmark_indices is None
        return plain and choosing and bool((Y[order] != Y[order[:1]]).any())

    def _learned(
        self, X: Any, Y: np.ndarray, weights: np.ndarray, sampling: Sampling
    ) -> tuple[tuple[Similarity, ...], str | None]:
        """Return kernels learned from the rows, and a note on them; nothing if none is learned."""
        order = sampling.order(np.flatnonzero(weights > 0))
        given = () if self._precomputed else self._similarities()
        if any(isinstance(k, Learnable) for k in given):
            together = LEAVE_ONE_OUT < len(order) <= PILOT and sampling.all_rows is None
            return learn_similarities(given, X, Y, order, together, self.random_state)
        if len(order) <= LEAVE_ONE_OUT or not self._learns(X, Y, order):
            return (), None
        together = len(order) <= PILOT and sampling.all_rows is None
        kernel, note = learned_kernel(X, Y, order, self._kind(), together)
        return (kernel,), note

    def _fitted(
        self,
        X: Any,
        Y: np.ndarray,
        weights: np.ndarray,
        sample_weight: Any,
        labels: np.ndarray | None,
        sampling: Sampling,
    ) -> Judged:
        """Fit exactly to few rows if the similarity is automatic, otherwise to landmarks, and judge the fit."""
        judged = self._fit_exactly(X, Y, weights, labels, sampling)
        if judged is None:
            _, judge = self._train(X, Y, weights, sample_weight, labels, sampling)
            judged = judge()
        return judged

    def _fit_exactly(
        self, X: Any, Y: np.ndarray, weights: np.ndarray, labels: np.ndarray | None, sampling: Sampling
    ) -> Judged | None:
        """Learn kernels and fit to every row, if the similarity is automatic and the rows are few; otherwise None."""
        order = sampling.order(np.flatnonzero(weights > 0)) if sampling.all_rows is None else np.empty(0, np.intp)
        automatic = self.n_landmarks == "auto" and isinstance(self.landmarks, str) and self.landmarks == "auto"
        few = len(order) <= LEAVE_ONE_OUT and fits_exactly(len(order), self._engine.budget)
        if not few or not automatic or not self._learns(X, Y, order):
            return None
        fit = fit_exactly(X, Y, weights, labels, order, self.random_state, self._kind(), sampling.places)
        self.loss_, self.penalty_, self.lam_ = *RIDGE, fit.trial.lam
        self.landmark_curve_, self.notes_ = fit.curve, [fit.note()]
        self.guarantee_ = guarantee_of_learned(labels)
        self._set_model(fit.features, fit.linear, fit.influence)
        alone = len(fit.features) == 1
        self.representation_ = fit.representation if alone else (fit.representation,) * len(fit.features)
        self.similarity_ = fit.kernels[0] if alone else fit.kernels
        self._calibrate(fit.trial, *fit.tried)
        return fit.judged

    def _fit_and_certify(
        self, X: Any, Y: np.ndarray, weights: np.ndarray, sample_weight: Any, labels: np.ndarray | None
    ) -> Any:
        """Fit to a part of the rows in memory, and bound the error by the others, which are used for nothing else."""
        assert self.certify is not None
        apart = set_apart(as_objects(X), self.certify, self.random_state) & (weights > 0)
        inside, outside = np.flatnonzero(~apart), np.flatnonzero(apart)
        if labels is not None and len(np.unique(labels[inside])) < len(np.unique(labels)):
            lost = self.classes_.tolist()[np.setdiff1d(labels, labels[inside])[0]]
            raise ValueError(
                f"no row of class {lost!r} is left to learn from: certify a smaller share, or give more rows"
            )
        some = None if sample_weight is None else np.asarray(sample_weight)[inside]
        known = None if labels is None else labels[inside]
        sampling = Sampling(draw_seed(self.random_state), inside)
        self._judge(self._fitted(take(X, inside), Y[inside], weights[inside], some, known, sampling))
        model, encodings = self._encoded(take(X, outside))
        scores = as_numpy(model.scores(encodings, self._engine, itemsize(encodings[0]))) + self.intercept_
        self.certificate_ = self._certified(scores, Y[outside])
        return self

    def _certified(self, scores: np.ndarray, Y: np.ndarray) -> Estimate:
        """Bound the error, given scores and targets of rows that were used for nothing else; a subclass writes it."""
        raise NotImplementedError

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return targets as columns, weights, and class numbers if there are classes; a subclass writes it."""
        raise NotImplementedError

    def _calibrate(self, trial: Trial, Y: np.ndarray, weights: np.ndarray) -> None:
        """Keep what probabilities need, given rows left out of the fit or held out; a classifier writes it."""

    def _judge(self, judged: Judged) -> None:
        """Keep what the predictions for rows of other folds, or held-out rows, show; a subclass writes it."""
        raise NotImplementedError

    def _fit_elsewhere(self, X: Any, y: Any, sample_weight: Any) -> Judged | None:
        """Fit to rows read in batches or held by workers; None if X is in memory after all."""
        if self.certify is not None and (is_distributed(X) or self._source(X) is not None):
            raise ValueError("certify needs rows in memory: fit without it, and try the model on rows of your own")
        if is_distributed(X):
            return self._fit_collection(X, y, sample_weight)
        one_pass = self._objective() == RIDGE
        if reads_memory_map(X, y, one_pass, self.n_landmarks, self._engine):
            return None
        source = self._source(X, y, sample_weight)
        if source is None:
            return None
        self._refuse_indices("source")
        targets, seed = self._targets(), draw_seed(self.random_state)
        return self._fit_sampled(
            sample_source(source, targets, self._checked, self._engine, self.n_landmarks, seed), targets
        )

    def _fit_collection(self, X: Any, y: Any, sample_weight: Any) -> Judged:
        self._refuse_indices("collection")
        engine = distributed_engine(self._engine)
        with engine.session(), use_engine(engine) if self.engine is None else nullcontext():
            columns, check = engine.partitions(X, y, sample_weight), InputCheck(self, engine.memory)
            targets, seed = self._targets(), draw_seed(self.random_state)
            sampled, inputs = sample_collection(columns, targets, check, engine, self.n_landmarks, seed)
            self.__dict__.update(inputs)
            return self._fit_sampled(sampled, targets)

    def _refuse_indices(self, what: str) -> None:
        if self.landmark_indices is not None:
            raise ValueError(f"landmark_indices are positions in memory: for a {what} give the landmarks themselves")

    def _fit_sampled(self, sampled: Sampled, targets: Targets) -> Judged:
        """Fit to a sample, and then to all rows of which it is one."""
        self._learn_targets(targets)
        Y, weights = targets.read(sampled.labels, sampled.weights)
        given = sampled.weights if sampled.weighted else None
        numbers = targets.numbers(sampled.labels)
        return self._fitted(sampled.objects, Y, weights, given, numbers, sampled.sampling)

    def _targets(self) -> Targets:
        """Return what reads targets batch by batch; a subclass writes it."""
        raise NotImplementedError

    def _learn_targets(self, targets: Targets) -> None:
        """Keep what all targets together tell; a subclass writes it."""
        raise NotImplementedError

    def _train(
        self,
        X: Any,
        Y: np.ndarray,
        weights: np.ndarray,
        sample_weight: Any,
        labels: np.ndarray | None,
        sampling: Sampling | None = None,
    ) -> tuple[Fitted, Callable[[], Judged]]:
        """Choose scale, landmarks and penalty, fit the linear model, and keep what prediction needs.

        Return the fit, and a function that judges it by nested folds.
        """
        sampling = sampling or Sampling(draw_seed(self.random_state))
        precomputed = self._precomputed
        learned, note = self._learned(X, Y, weights, sampling)
        similarities = (Precomputed(X),) if precomputed else learned or tuple(self._similarities())
        X = np.arange(len(X)) if precomputed else X
        data = self._rows(X, Y, weights, sample_weight, similarities, sampling)
        few = len(data.order) <= LEAVE_ONE_OUT and learned
        options = self._options(X, tuple(self._similarities()) if few else similarities, labels)
        choice = choose_landmarks(X, data, labels, options)
        self.notes_ += [one for one in (choice.note, note) if one is not None]
        data, n_scales = choice.rows, 1
        if not all(map(operator.is_, similarities, data.similarities)):  # one of them was resolved on the data
            data, n_scales = choose_scales(data, choice, options)
        fitted = fit_ridge(data, choice, options)
        if (options.loss, options.penalty) != RIDGE:
            fitted = self._refit(fitted, data, options)
        self.loss_, self.penalty_, self.landmark_curve_ = options.loss, options.penalty, fitted.curve
        self.representation_ = fitted.representations[0] if len(fitted.representations) == 1 else fitted.representations
        self.guarantee_ = guarantee_of_fit(fitted, options, labels, max(2, Y.shape[1]), n_scales * len(choice.sizes))
        if learned:
            self.guarantee_ = guarantee_of_learned(labels)
        self._keep(fitted, data.similarities)
        self._calibrate(fitted.trial, *fitted.held_out)
        return fitted, partial(judged_by_folds, X, data, labels, options, choice, fitted, self._fit_linear)

    def _rows(
        self,
        X: Any,
        Y: np.ndarray,
        weights: np.ndarray,
        sample_weight: Any,
        similarities: tuple[Similarity, ...],
        sampling: Sampling,
    ) -> TrainingRows:
        """Return the training rows, with similarities resolved and objects encoded."""
        order = sampling.order(np.flatnonzero(weights > 0))
        if len(order) < 2:
            raise ValueError("two examples with a weight are needed at least, there is 1 sample")
        if len(order) <= PILOT:
            prepared = [k.prepare(X, self.random_state, sample_weight) for k in similarities]
        else:
            prepared = [self._prepared(k, X, sample_weight, order) for k in similarities]
        resolved, encodings = zip(*prepared, strict=True)
        self._note_engine(resolved)
        if LEAVE_ONE_OUT < len(order) <= PILOT and sampling.all_rows is None:
            order = equals_judged_together(order, groups_of_equals(encodings[0], order))
        return TrainingRows(resolved, encodings, Y, weights, order, sampling)

    def _prepared(self, k: Similarity, X: Any, sample_weight: Any, order: np.ndarray) -> tuple[Similarity, Encoding]:
        """Return a similarity resolved on many rows, and X encoded; medians are those of a sample."""
        if not k.unresolved() or len(open_scales(k)) < len(k.unresolved()):
            return k.prepare(X, self.random_state, sample_weight)
        k.check_params()
        some = np.sort(order[:PILOT])
        weighted = None if sample_weight is None else np.asarray(sample_weight)[some]
        with remembered_images():
            resolved = k.resolve(take(X, some), self.random_state, weighted)
            return resolved, resolved.encode_checked(X, "X")

    def _refit(self, fitted: Fitted, data: TrainingRows, options: FitOptions) -> Fitted:
        """Return the fit by another loss or penalty on the same features."""
        F, Y, weights = all_features(fitted, data, options)
        named = "penalty='l1'" if options.penalty == "l1" else f"loss={options.loss!r}"
        if isinstance(F, np.ndarray):
            self._note_cpu(f"the model with {named} was fitted")
        with self._engine.linear_algebra(f"{named} on {F.shape[0]:,} x {F.shape[1]:,} features"):
            linear, trial, judged = self._fit_linear(options, F, Y, weights)
            places = None if fitted.design is None else data.located_at(fitted.samples[0].places)
            linear, influence = influence_in_refit(options, linear, trial.lam, fitted.features, (F, Y, weights), places)
        held_out = Y[judged], weights[judged]
        return replace(fitted, linear=linear, trial=trial, held_out=held_out, influence=influence)

    def _fit_linear(
        self, options: FitOptions, F: Any, Y: np.ndarray, weights: np.ndarray
    ) -> tuple[LinearModel, Trial, np.ndarray]:
        """Fit a loss or penalty that needs all features at once; a subclass writes it."""
        raise NotImplementedError

    def _partial_train(
        self, X: Any, Y: np.ndarray, weights: np.ndarray, sample_weight: Any, labels: np.ndarray | None
    ) -> Judged:
        """Learn from a further batch, and return how all rows held out so far fare."""
        if self._precomputed:
            raise ValueError("a stream has no matrix of all pairs: partial_fit needs objects in X")
        if self._objective() != RIDGE:
            raise ValueError(
                f"loss={self.loss!r} with penalty={self.penalty!r} goes over the examples several times: "
                "partial_fit needs loss='squared' and penalty='l2'"
            )
        stream: Stream | None = getattr(self, "_stream", None)
        held = held_out_of_batch(weights, 0 if stream is None else stream.n_held_out, self.random_state)
        if stream is None:
            if self.n_landmarks != "auto" and self.n_landmarks >= MOST_OF_STREAM:
                few = f"fewer than {MOST_OF_STREAM:,} landmarks"
                raise ValueError(f"a stream sums over features: give partial_fit {few}")
            if len(Y) < 2:
                raise ValueError(
                    "the first batch of a stream decides landmarks and scale: it needs two examples at least"
                )
            enough = np.count_nonzero(weights) >= FEWEST_NESTED_ROWS
            chosen_on = np.where(held, 0.0, weights) if enough else weights
            fitted, _ = self._train(X, Y, chosen_on, sample_weight, labels)
            stream = Stream.begin(fitted.features, Y.shape[1], labels is not None)
        stream = stream.learn(X, Y, weights, held, self._engine)
        linear, influence, trial, targets = stream.solve()
        self._stream = stream
        self._set_model(stream.features, linear, influence)
        self.lam_ = trial.lam
        judged = Judged(trial, targets, np.ones(len(targets)))
        self._calibrate(trial, targets, judged.weights)
        return judged

    def _keep(self, fitted: Fitted, similarities: tuple[Similarity, ...]) -> None:
        """Keep the landmarks that have a weight, and nothing else of the training objects."""
        self._set_model(fitted.features, fitted.linear, fitted.influence)
        self.lam_ = fitted.trial.lam
        if self._precomputed:
            self.similarity_, self._model = "precomputed", self._model.with_similarity(None)
        elif isinstance(self.similarity, (list, tuple)):
            self.similarity_ = list(similarities)
        else:
            self.similarity_ = similarities[0]

    def _set_model(
        self, features: tuple[LandmarkFeatures, ...], linear: LinearModel, influence: Influence | None
    ) -> None:
        """Make a linear function of the features the model, and keep what training rows add to it."""
        edges = np.cumsum([len(one) if one.factor is None else len(one.factor) for one in features])
        pieces = np.split(linear.weights, edges[:-1])
        parts, self._influence = weighted_landmarks(features, pieces, influence)
        self._model, self.intercept_ = LandmarkModel(parts), linear.intercept
        kept = [part.features.landmarks for part in parts]
        alone = len(parts) == 1
        self.landmarks_ = kept[0].objects if alone else [one.objects for one in kept]
        self.landmark_indices_ = kept[0].positions if alone else [one.positions for one in kept]
        self.n_similarity_calls_ = sum([part.n_used for part in parts])

    @property
    def landmark_weights_(self) -> Any:
        """The weights of the similarities to ``landmarks_``, a column per output; a list for several similarities.

        With both sides, the weights of K(x, l) come first and those of K(l, x) second.
        """
        weights = [part.weights for part in self._model.parts]
        return weights[0] if len(weights) == 1 else weights

    # Prediction.

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
        """Return what a method says of every object: a tensor for a tensor, a lazy array for a Dask collection.

        Parameters
        ----------
        X : sequence of objects, source or collection
        method : str
            The name of the method, which workers call.
        of_scores : callable
            Turns scores into predictions.
        """
        if "_model" not in vars(self):
            check_is_fitted(self)
        if is_distributed(X):
            engine, helper = distributed_engine(self._engine), copy.copy(self)
            helper.engine = LocalEngine(threads=1, memory=engine.memory)
            helper.landmarks, helper.unlabeled = "auto", None
            asked = Prediction(helper, method, of_scores(np.zeros((1, len(self.intercept_)))))
            return engine.lazy_array(partition_prediction, asked, X, asked.like)
        values = of_scores(self._scores(X))
        if not is_tensor(X):
            return values
        return moved(values, lambda array: namespace(X).asarray(array, device=X.device))

    def _asked(self, X: Any) -> tuple[LandmarkModel, tuple[Encoding, ...]]:
        """Return the model, and new objects encoded for each of its parts."""
        X = self._checked(X, reset=False)
        if not self._precomputed:
            return self._encoded(X)
        k = Precomputed(X)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} columns, the model was fitted on {self.n_features_in_} objects")
        return self._model.with_similarity(k), (k.encode(np.arange(len(X))),)

    def _encoded(self, X: Any) -> tuple[LandmarkModel, tuple[Encoding, ...]]:
        """Return the model, and validated objects encoded for each of its parts."""
        return self._model, tuple([part.features.similarity.encode_checked(X, "X") for part in self._model.parts])

    def _scores(self, X: Any) -> np.ndarray:
        """Return the scores, one column per output, in float64."""
        source = None if in_memory(X) else self._source(X)
        if source is not None:
            return self._scores_of_source(source)
        model, encodings = self._asked(X)
        scores = model.scores(encodings, self._engine, itemsize(encodings[0]))
        return as_numpy(scores).astype(np.float64, copy=False) + self.intercept_

    def _scores_of_source(self, source: Source) -> np.ndarray:
        scores = None if source.n is None else np.empty((source.n, len(self.intercept_)))
        parts = []
        for batch in batches_to_predict(source, getattr(self, "n_features_in_", None), self._engine):
            with errors_in_batch(batch):
                model, encodings = self._asked(batch.objects)
            part = model.scores(encodings, self._engine.without_progress(), itemsize(encodings[0])) + self.intercept_
            if scores is None:
                parts.append(part)
            else:
                scores[batch.start : batch.stop] = part
        return np.concatenate(parts) if scores is None else scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the prediction for every object; a subclass writes it."""
        raise NotImplementedError

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

    def _explain(self, X: Any, by: str, asked: Asked) -> Explanations:
        """Explain the predictions for some objects; see `explain` of the subclasses."""
        check_choice("by", by, ("examples", "landmarks"))
        if looks_like_source(X) and not isinstance(X, np.ndarray):
            raise TypeError("explain takes objects in memory: give it one batch of a source, for instance")
        model, encodings = self._asked(X)
        classes = getattr(self, "classes_", None)
        if by == "landmarks":
            return explain_by_landmarks(model, encodings, self.intercept_, asked)
        if self._influence is None:
            raise ValueError(
                "a model of many rows that was fitted by products keeps no influence of training examples: "
                "explain(X, by='landmarks') shows weights of landmarks"
            )
        return explain_by_examples(model, encodings, self._influence, asked, classes)
