"""What all estimators on landmarks share: fit is a plan and its run, on rows in memory, in batches or on a cluster."""

from __future__ import annotations

import copy
import functools
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from importlib import import_module
from operator import attrgetter
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from similitude.compute import as_numpy, check_objects, in_memory, is_distributed, itemsize, take
from similitude.compute.engines import Display, Engine, display_for, distributed_engine, one_scipy_thread, use_engine
from similitude.data.sources import Source
from similitude.estimators.prediction import LandmarkPredictor
from similitude.evaluation import (
    at_rows,
    check_groups,
    copies,
    enough_for_folds,
    equal_rows,
    fewest_groups,
    groups_with_copies,
    one_of_each,
    set_apart,
)
from similitude.fitting import (
    MOST_OF_STREAM,
    RIDGE,
    Cascade,
    Facts,
    FitInfluence,
    FitOptions,
    FittedModel,
    LandmarkModel,
    Plan,
    Sampled,
    Sampling,
    ScoredRows,
    Spent,
    SpreadFit,
    Stream,
    Targets,
    TrainingSet,
    Uncertainty,
    draw_seed,
    evaluating,
    first_rows,
    held_out_of_batch,
    open_scales,
    plan_fit,
    reads_memory_map,
    run,
    sample_collection,
    sample_source,
    similarity_without_labels,
    weighted_landmarks,
)
from similitude.landmarks import RULES, LandmarkFeatures, Landmarks, check_positions, refuse_function
from similitude.linear import LinearModel
from similitude.scikit import AUTO, InputCheck, all_or_nothing
from similitude.similarity import (
    Auto,
    Calls,
    Learnable,
    Meter,
    Precomputed,
    Similarity,
    as_similarity,
    check_max_calls,
    cost_per_call,
    metered,
    phase,
    progress_line,
)
from similitude.support import NONE, PROVEN, Estimate, brief, check_integer, check_share, error_prefix, number_of
from similitude.theory import LEVEL, clopper_pearson

NOT_CERTIFIED = Estimate(math.nan, 0.0, 1.0, LEVEL, NONE)
"""Without `certify` nothing is known for certain."""


def upper_bound(wrong: int, n: int, level: float = LEVEL) -> Estimate:
    """Return an upper bound on a probability, by the exact binomial distribution, given n independent rows.

    >>> print(upper_bound(3, 100))
    0.03 [0, 0.07571] (95 %, PROVEN)
    """
    _, high = clopper_pearson(wrong, n, 2 * level - 1)
    return Estimate(wrong / n, 0.0, float(high), level, PROVEN)


SIDES = ("auto", "left", "right", "both")


def similarities_of(given: Any, kind: str = "vectors") -> tuple[Similarity, ...]:
    """Return what was given, as similarities; `kind` is that of the objects, where the choice is left to the fit.

    They are validated, before the first similarity is computed.
    """
    if isinstance(given, Auto) or (isinstance(given, str) and given == AUTO):
        if isinstance(given, Auto):
            given.check_params()
        return (similarity_without_labels(kind),)
    parts = _listed(given) if isinstance(given, (list, tuple)) else (as_similarity(given),)
    for k in parts:
        k.check_params()
        if isinstance(k, Learnable):
            from similitude.kernel_learning import check_learnable

            check_learnable(k)
    return parts


def _listed(given: Sequence[Any]) -> tuple[Similarity, ...]:
    """Return several similarities of one kind of objects."""
    if not given:
        raise ValueError("similarity is an empty list: give one similarity at least")
    if any(isinstance(one, str) and one == "precomputed" for one in given):
        raise ValueError("'precomputed' stands alone: in a list use Precomputed(M), with indices as objects")
    parts = tuple(map(as_similarity, given))
    kinds = {one.objects for one in parts} - {"any"}
    if len(kinds) > 1:
        raise ValueError(f"the similarities take objects of different kinds: {', '.join(sorted(kinds))}")
    return parts


class LandmarkEstimator(LandmarkPredictor):
    """Landmark features and a linear model of them. A subclass reads targets, and names its losses."""

    _targets_are = "output"
    calls_: Calls
    plan_: Plan
    uncertainty_: Uncertainty

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

    def _check_params(self) -> None:
        """Refuse contradictory or unknown parameters before the first similarity is computed."""
        precomputed = self._precomputed
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
        own = not isinstance(self.landmarks, str)
        if own:
            refuse_function(self.landmarks)
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
        if self.certify is not None:
            check_share("certify", self.certify)
            if precomputed or self.landmark_indices is not None:
                raise ValueError("certify keeps rows out of everything: give objects in X, and landmarks themselves")
        if self.max_calls is not None:
            check_max_calls(self.max_calls, self._engine)

    def _set_model(
        self,
        features: tuple[LandmarkFeatures, ...],
        linear: LinearModel,
        influence: FitInfluence | None,
        noise: np.ndarray | None = None,
    ) -> tuple[np.ndarray, ...] | None:
        """Make a linear function of the features the model, and keep what training rows add to it.

        `noise` are weights of the features in the size of errors; return those of the similarities.
        """
        W = linear.weights if noise is None else np.hstack([linear.weights, noise])
        parts, self._influence = weighted_landmarks(features, W, influence)
        self._model = LandmarkModel(parts)
        self.intercept_ = linear.intercept
        by_similarities = None
        if noise is not None:
            self._model, by_similarities = self._model.split(linear.weights.shape[1])
        self.n_similarity_calls_ = 0
        kept = []
        for part in self._model.parts:
            self.n_similarity_calls_ += part.n_used
            kept.append(part.features.landmarks)
        self.landmarks_ = kept[0].objects
        self.landmark_indices_ = kept[0].positions
        if len(kept) > 1:
            self.landmarks_ = [one.objects for one in kept]
            self.landmark_indices_ = [one.positions for one in kept]
        return by_similarities

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Any:
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
        groups : sequence, optional
            What each row belongs to, such as a patient or a document. Rows of a group stay together: where a choice is
            made or the error is estimated, no row is predicted by a model of others of its group. Intervals of the
            error count groups, and `certify` takes one row of each group that it sets apart. It needs rows in memory.
        """
        self._check_params()
        if hasattr(self, "_stream"):
            del self._stream
        began = time.perf_counter()
        with (
            self._counting() as meter,
            one_scipy_thread,
            self._training_rows(X, y, sample_weight, groups, meter) as (data, options),
        ):
            if self.certify is None:
                fit = self._fit_rows(data, options)
                self.certificate_ = NOT_CERTIFIED
                if evaluating.get():
                    with phase("evaluating the fit on rows left out"):
                        self._evaluate(fit.evaluate())
            else:
                self._fit_and_certify(data, options, groups)
        self.plan_ = replace(self.plan_, spent=Spent(time.perf_counter() - began, meter.spent))
        return self

    def plan(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Plan:
        """Return how a fit to these rows is made, what it compares and what it costs, without fitting.

        After a fit, ``plan_`` is the same with what was chosen and what it took.

        Parameters
        ----------
        X, y, sample_weight, groups
            As for :meth:`fit`. Of a source, or of a collection on a cluster, only the first rows are read.

        Examples
        --------
        >>> from similitude import SimilarityClassifier
        >>> from similitude.datasets import iris
        >>> print(SimilarityClassifier().plan(*iris()).evaluation)
        3 folds, in each of which every choice is made again
        """
        model = copy.copy(self)
        model._check_params()
        if is_distributed(X):
            raise TypeError("plan reads rows in memory or in batches: give it one partition, X.partitions[0].compute()")
        source = None
        if not in_memory(X):
            source = model._source(X, y, sample_weight)
        if source is not None:
            _refuse_groups(groups)
            return plan_fit(Facts(*model._first_rows(source)))
        data, options = model._dataset(X, y, sample_weight, Meter(0), groups)
        if self.certify is not None:
            apart = self._apart(data, groups)
            data = data.only(np.flatnonzero(~apart), int(apart.sum()))
        return model._planned(Facts(data, options))

    def report(self, X: Any, y: Any, **options: Any) -> Any:
        """Investigate how well models with these parameters do, and why: a notebook shows the report as a page.

        It is the report of :func:`similitude.report.investigate`. A quarter of the rows is held out, or each row is
        predicted in cross-validation, by models that are fitted to other rows; this model stays as it is.

        Parameters
        ----------
        X : sequence of objects
        y : sequence of labels or targets
        **options
            See :func:`similitude.report.investigate`: ``title``, ``names``, ``compare`` and others.

        Returns
        -------
        Findings
            ``save("report.html")`` writes the page to a file, ``print`` shows it as text.
        """
        findings = import_module("similitude.report")  # a room above this one, for those who ask for it
        return findings.investigate(self, X, y, **{"engine": self.engine, **options})

    def _objective(self) -> tuple[str, str]:
        """Return loss and penalty; ``auto`` is the squared loss, or with l1 the last loss of those offered."""
        auto = self._losses[0] if self.penalty == "l2" else self._losses[-1]
        return auto if self.loss == "auto" else self.loss, self.penalty

    def _options(self, X: Any, labels: np.ndarray | None, meter: Meter, stream: bool = False) -> FitOptions:
        """Return the description of the fit to validated objects X, or to a precomputed matrix X of them."""
        loss, penalty = self._objective()
        kind = self._kind()
        side = self.side
        if kind == "matrix":
            similarities: tuple[Similarity, ...] = (Precomputed(X),)
            X = np.arange(len(X))
            side = "left"
        else:
            similarities = similarities_of(self.similarity, kind)
        given = None
        if self.landmark_indices is not None:
            positions = check_positions(self.landmark_indices, check_objects(X))
            given = Landmarks(take(X, positions), positions, None, None if labels is None else labels[positions])
        elif not isinstance(self.landmarks, str):
            given = Landmarks(self._checked_as("landmarks", self.landmarks))
        names = getattr(self, "feature_names_in_", None)
        return FitOptions(
            similarities=similarities,
            automatic=self._is_automatic,
            kind=kind,
            rule=self.landmarks if isinstance(self.landmarks, str) else "given",
            n_landmarks=self.n_landmarks,
            given=given,
            unlabeled=None if self.unlabeled is None else self._checked_as("unlabeled", self.unlabeled),
            side=side,
            loss=loss,
            penalty=penalty,
            is_ridge=(loss, penalty) == RIDGE,
            classes=labels is not None,
            random_state=self.random_state,
            engine=self._engine,
            meter=meter,
            max_calls=self.max_calls,
            names=None if names is None else list(map(str, names)),
            stream=stream,
            targets=self._targets_are,
        )

    def _checked_as(self, name: str, objects: Any) -> Any:
        """Validate objects other than X; an error says which parameter they are."""
        with error_prefix(name):
            return self._checked(objects, reset=False)

    @contextmanager
    def _counting(self) -> Iterator[Meter]:
        """Count calls of the user's functions, refuse those beyond the budget, and keep the count."""
        progress = self._engine.progress
        display = display_for(progress) if progress else None
        meter = Meter(self.max_calls, None if display is None else functools.partial(_show, display))
        try:
            with metered(meter):
                yield meter
        finally:
            if display is not None:
                display.end()
        if isinstance(self.similarity_, str):  # a precomputed matrix
            return
        given = self.similarity_ if isinstance(self.similarity_, list) else [self.similarity_]
        each = list(map(attrgetter("calls"), self.plan_.sizes.used))  # calls of the user's functions by a pair
        if not any(each):
            self.calls_ = Calls.of(meter, None, 0.0, 0)
            return
        place = int(np.flatnonzero(each)[0])
        most = self.n_similarity_calls_ * each[place]
        mean: float = most
        if isinstance(self._model, Cascade):  # which counts directions one by one
            mean = self._mean_calls
        elif "both" in map(attrgetter("features.side"), self._model.parts):
            most *= 2
            mean = most
        self.calls_ = Calls.of(meter, cost_per_call(given[place]), float(mean), most)
        if meter.spent:
            self.notes_ = [*self.notes_, f"calls of your function: {self.calls_}"]

    def _dataset(
        self, X: Any, y: Any, sample_weight: Any, meter: Meter, groups: Any = None
    ) -> tuple[TrainingSet, FitOptions]:
        """Validate rows in memory; return them and the description of the fit."""
        X = self._checked(X, reset=True)
        Y, weights, labels = self._read(X, y, sample_weight)
        together = self._groups_of(X, groups, weights)
        options = self._options(X, labels, meter)
        objects = np.arange(len(X)) if options.kind == "matrix" else X
        sampling = Sampling(draw_seed(self.random_state))
        data = TrainingSet(objects, Y, weights, sample_weight, labels, sampling, together)
        return data.with_copies(), options

    def _groups_of(self, X: Any, groups: Any, weights: np.ndarray) -> np.ndarray | None:
        """Validate groups; return them with copies together, or None if each row is a group."""
        given = check_groups(groups, len(weights))
        if given is None:
            return None
        n = int(np.count_nonzero(weights))
        n_groups = len(np.unique(given[weights > 0]))
        fewest = fewest_groups(n)
        if n_groups < fewest:
            raise ValueError(f"{n:,} rows with a weight are in {number_of(n_groups, 'group')}: need at least {fewest}")
        rows = np.arange(len(X)) if self._precomputed else X
        return groups_with_copies(given, copies(rows, equal_rows(rows)), fewest)

    def _planned(self, facts: Facts) -> Plan:
        """Return the plan of all that the estimator does; a subclass may fit several times."""
        return plan_fit(facts)

    def _fit_rows(self, data: TrainingSet, options: FitOptions) -> FittedModel:
        """Fit as planned, and make the fit the model; a subclass may compare several fits."""
        facts = Facts(data, options)
        fit = run(self._planned(facts), facts)
        self._keep(fit)
        return fit

    def _keep(self, fit: FittedModel, sizes: SpreadFit | None = None) -> None:
        """Make a fit the model: keep the landmarks that have a weight, and what predictions and probabilities need.

        `sizes` is the size of errors as a function of the features, if that was fitted.
        """
        assert fit.plan is not None
        self.plan_ = fit.plan
        self.loss_, self.penalty_ = self._objective()
        similarities = list(map(attrgetter("similarity"), fit.features))
        self.lam_ = fit.trial.lam
        self.landmark_curve_ = fit.curve
        self.learned_ = fit.learned
        self.guarantee_ = fit.guarantee
        self.notes_ = list(fit.notes)
        self.representation_ = fit.representations[0] if len(fit.representations) == 1 else fit.representations
        several = isinstance(self.similarity, (list, tuple)) or len(similarities) > 1
        self.similarity_ = similarities if several else similarities[0]
        left_out = ScoredRows(fit.trial, *fit.held_out, fit.groups)
        if fit.cascade is not None:
            self._keep_cascade(fit.cascade, fit)
            self._calibrate(left_out)
            return
        noise = None if sizes is None else sizes.noise
        influence: Any = fit.influence
        by_similarities = self._set_model(fit.features, fit.linear, influence, noise)
        if fit.plan.sizes.kind == "matrix":
            self.similarity_ = "precomputed"
            self._model = self._model.with_similarity(None)
        sized = None
        if sizes is not None:
            sized = sizes.sized(by_similarities)
        self._calibrate(left_out, fit.at, sized)

    def _keep_cascade(self, cascade: Cascade, fit: FittedModel) -> None:
        """Make a cascade the model."""
        self._model = cascade
        self._influence = fit.influence
        self._mean_calls = fit.mean_calls
        self.intercept_ = fit.linear.intercept
        landmarks = cascade.features.landmarks
        self.landmarks_ = landmarks.objects
        self.landmark_indices_ = landmarks.positions
        self.n_similarity_calls_ = len(landmarks)

    def _calibrate(self, rows: ScoredRows, at: np.ndarray | None = None, sized: SpreadFit | None = None) -> None:
        """Keep what probabilities, intervals and sets of classes need, given rows left out of the fit or held out.

        `at` tells which landmarks the rows are, in an exact fit, and `sized` which errors are expected for them. A
        subclass writes it.
        """
        raise NotImplementedError

    def _predicted_by_others(
        self,
        data: TrainingSet,
        matrix: Any,
        scaled: dict[int, Any],
        fold: int,
        train: np.ndarray,
        test: np.ndarray,
        y: np.ndarray,
    ) -> np.ndarray:
        """Return predictions for the rows of a fold by a model of others, with the squared loss; it is not evaluated.

        The scale of a similarity that was left at ``"median"`` is chosen once for each fold, and kept in `scaled`.
        """
        similarity = scaled.get(fold, self.similarity)
        model = clone(self).set_params(loss="squared", landmark_indices=None, similarity=similarity)
        if matrix is None:
            known = take(data.X, train)
            new = take(data.X, test)
        else:
            known = matrix[train][:, train]
            new = matrix[test][:, train]
        with model._counting() as meter:
            model._fit_rows(*model._dataset(known, y, data.weights[train], meter, data.groups_of(train)))
        if self._leaves_scale_open:
            scaled[fold] = model.similarity_
        return np.reshape(model.predict(new), (len(test), -1))

    @property
    def _leaves_scale_open(self) -> bool:
        """Whether a similarity that is not learned has its scale chosen."""
        if self._is_automatic or self._precomputed:
            return False
        given = similarities_of(self.similarity)
        return any(map(open_scales, given)) and not any(isinstance(k, Learnable) for k in given)

    def _apart(self, data: TrainingSet, groups: Any) -> np.ndarray:
        """Return which rows are kept for the certificate: a random sample of those with a weight, or of groups."""
        assert self.certify is not None
        apart = np.zeros(len(data.weights), dtype=bool)
        known = at_rows(check_groups(groups, len(data.weights)), data.weighted)
        apart[data.weighted] = set_apart(len(data.weighted), self.certify, self.random_state, known)
        return apart

    def _fit_and_certify(self, data: TrainingSet, options: FitOptions, groups: Any) -> None:
        """Fit to a part of the rows in memory, and bound the error by the others, which are used for nothing else."""
        labels = data.labels
        apart = self._apart(data, groups)
        inside = np.flatnonzero(~apart)
        outside = np.flatnonzero(apart)
        known = check_groups(groups, len(apart))
        if known is not None:  # rows of a group are no independent draws: one of each certifies
            outside = outside[one_of_each(known[outside], self.random_state)]
        if not len(outside):
            raise ValueError(f"certify={self.certify} leaves no row with a weight to certify by: give more rows")
        if labels is not None and len(np.unique(labels[inside])) < len(np.unique(labels)):
            lost = self.classes_.tolist()[np.setdiff1d(labels, labels[inside])[0]]
            raise ValueError(
                f"no row of class {lost!r} is left to learn from: certify a smaller share, or give more rows"
            )
        self._evaluate(self._fit_rows(data.only(inside, len(outside)), options).evaluate())
        new = take(data.X, outside)
        model, encodings = self._encoded(new)
        scores = as_numpy(model.scores(encodings, self._engine, itemsize(encodings[0]))) + self.intercept_
        self.certificate_ = self._certified(scores, data.Y[outside])
        self._calibrate_apart(new, scores, data.Y[outside])

    def _certified(self, scores: np.ndarray, Y: np.ndarray) -> Estimate:
        """Bound the error, given scores and targets of rows that were used for nothing else; a subclass writes it."""
        raise NotImplementedError

    def _calibrate_apart(self, X: Any, scores: np.ndarray, Y: np.ndarray) -> None:
        """Calibrate intervals or sets of classes by rows that were used for nothing else; a subclass writes it."""
        raise NotImplementedError

    def _check_calibrated(self, level: float | None = None) -> None:
        """Refuse a model that is not fitted or too old, and a level that is none or too high for its rows."""
        check_is_fitted(self)
        if "uncertainty_" not in vars(self):
            raise ValueError("this model keeps no errors of left-out rows: it was saved by a version without them")
        if level is not None:
            self.uncertainty_.check_level(level)

    def _check_in_memory(self, X: Any, method: str) -> None:
        """Refuse a Dask collection and a source."""
        if is_distributed(X) or (not in_memory(X) and self._source(X) is not None):
            raise TypeError(f"{method} takes objects in memory, got {type(X).__name__}: give it a batch at a time")

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return targets as columns, weights, and class numbers if there are classes; a subclass writes it."""
        raise NotImplementedError

    def _evaluate(self, scored: ScoredRows) -> None:
        """Keep what the predictions for rows of other folds, or held-out rows, show; a subclass writes it."""
        raise NotImplementedError

    @contextmanager
    def _training_rows(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, meter: Meter
    ) -> Iterator[tuple[TrainingSet, FitOptions]]:
        """Return a context with the rows in memory, or with a sample of rows in batches or on workers."""
        if in_memory(X):
            yield self._dataset(X, y, sample_weight, meter, groups)
            return
        source = None
        if not is_distributed(X):
            source = self._source(X, y, sample_weight)
            if source is None:
                yield self._dataset(X, y, sample_weight, meter, groups)
                return
        _refuse_groups(groups)
        if self.certify is not None:
            raise ValueError("certify needs rows in memory: fit without it, and try the model on rows of your own")
        if source is None:
            with self._sampled_collection(X, y, sample_weight, meter) as sampled:
                yield sampled
        elif reads_memory_map(X, y, self._objective() == RIDGE, self.n_landmarks, self._engine):
            yield self._dataset(X, y, sample_weight, meter, groups)
        else:
            self._check_before_reading("source")
            targets = self._targets()
            seed = draw_seed(self.random_state)
            drawn = sample_source(source, targets, self._checked, self._engine, self.n_landmarks, seed)
            yield self._of_sample(drawn, targets, meter)

    @contextmanager
    def _sampled_collection(
        self, X: Any, y: Any, sample_weight: Any, meter: Meter
    ) -> Iterator[tuple[TrainingSet, FitOptions]]:
        """Return a context in which workers hold a collection, with a sample of its rows."""
        self._check_before_reading("collection")
        engine = distributed_engine(self._engine)
        check_max_calls(self.max_calls, engine)
        with engine.session(), use_engine(engine) if self.engine is None else nullcontext():
            columns = engine.partitions(X, y, sample_weight)
            check = InputCheck(self, engine.memory)
            targets = self._targets()
            seed = draw_seed(self.random_state)
            sampled, inputs = sample_collection(columns, targets, check, engine, self.n_landmarks, seed)
            for name, value in inputs.items():  # the attributes that validation in memory sets
                setattr(self, name, value)
            yield self._of_sample(sampled, targets, meter)

    def _first_rows(self, source: Source) -> tuple[TrainingSet, FitOptions]:
        """Return the first rows of a source, and the description of a fit to all of them."""
        self._check_before_reading("source")
        targets = self._targets()
        sampled = first_rows(source, targets, self._checked, self._engine, draw_seed(self.random_state))
        with error_prefix("first rows"):
            targets.close()
        return self._of_sample(sampled, targets, Meter(0))

    def _check_before_reading(self, what: str) -> None:
        """Refuse positions as landmarks, and a similarity that rows in memory would refuse."""
        if not self._precomputed:
            similarities_of(self.similarity)
        if self.landmark_indices is not None:
            raise ValueError(f"landmark_indices are positions in memory: for a {what} give the landmarks themselves")

    def _of_sample(self, sampled: Sampled, targets: Targets, meter: Meter) -> tuple[TrainingSet, FitOptions]:
        """Return a sample of rows, and the description of the fit to all rows of which it is one."""
        self._learn_targets(targets)
        Y, weights = targets.read(sampled.labels, sampled.weights)
        given = None
        if sampled.weighted:
            given = sampled.weights
        labels = targets.numbers(sampled.labels)
        data = TrainingSet(sampled.objects, Y, weights, given, labels, sampled.sampling)
        return data, self._options(sampled.objects, labels, meter)

    def _targets(self) -> Targets:
        """Return what reads targets batch by batch; a subclass writes it."""
        raise NotImplementedError

    def _learn_targets(self, targets: Targets) -> None:
        """Keep what all targets together tell; a subclass writes it."""
        raise NotImplementedError

    def _partial_train(
        self, X: Any, Y: np.ndarray, weights: np.ndarray, sample_weight: Any, labels: np.ndarray | None
    ) -> ScoredRows:
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
            enough = enough_for_folds(int(np.count_nonzero(weights)))
            chosen_on = np.where(held, 0.0, weights) if enough else weights
            data = TrainingSet(X, Y, chosen_on, sample_weight, labels, Sampling(draw_seed(self.random_state)))
            fitted = self._fit_rows(data, self._options(X, labels, Meter(None), stream=True))
            stream = Stream.begin(fitted.features, Y.shape[1], labels is not None)
        stream = stream.learn(X, Y, weights, held, self._engine)
        linear, influence, trial, targets = stream.solve()
        self._stream = stream
        self._set_model(stream.features, linear, influence)
        self.lam_ = trial.lam
        scored = ScoredRows(trial, targets, np.ones(len(targets)))
        self._calibrate(scored)
        return scored


def _refuse_groups(groups: Any) -> None:
    """Refuse groups of rows that are not in memory."""
    if groups is not None:
        raise ValueError("groups need rows in memory: leave them out, or fit to a sample of the rows")


def _show(display: Display, meter: Meter) -> None:
    """Show how many calls were made."""
    display.update(meter.spent, meter.limit, lambda: progress_line(meter))
