"""What SimilarityClassifier and SimilarityRegressor share: fits to rows in memory, in batches or on a cluster."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from similitude.compute import (
    as_numpy,
    as_objects,
    in_memory,
    is_distributed,
    itemsize,
    take,
)
from similitude.compute.engines import distributed_engine, one_scipy_thread, phase, use_engine
from similitude.estimators.certificate import NOT_CERTIFIED
from similitude.estimators.training import LandmarkTrainer
from similitude.evaluation import set_apart
from similitude.fitting import (
    FEWEST_NESTED_ROWS,
    MOST_OF_STREAM,
    RIDGE,
    Judged,
    Sampled,
    Sampling,
    Stream,
    Targets,
    Uncertainty,
    draw_seed,
    held_out_of_batch,
    judges,
    open_scales,
    reads_memory_map,
    sample_collection,
    sample_source,
)
from similitude.scikit import InputCheck, all_or_nothing
from similitude.similarity import Learnable, check_max_calls
from similitude.support import Estimate


class LandmarkEstimator(LandmarkTrainer):
    """Landmark features and a linear model of them. A subclass reads targets, and names its losses."""

    uncertainty_: Uncertainty

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
        with self._counting(), one_scipy_thread:
            self._fit_anywhere(X, y, sample_weight)
        return self

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

    def _fit_anywhere(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Fit to rows in memory, in batches or on workers."""
        judged = None if in_memory(X) else self._fit_elsewhere(X, y, sample_weight)
        if judged is None:
            X = self._checked(X, reset=True)
            Y, weights, labels = self._read(X, y, sample_weight)
            if self.certify is not None:
                self._fit_and_certify(X, Y, weights, sample_weight, labels)
                return
            sampling = Sampling(draw_seed(self.random_state))
            judge = self._fitted_in_memory(X, Y, weights, sample_weight, labels, sampling)
            with phase("judging the fit on rows left out"):
                judged = judge() if judges() else None
        if judged is not None:
            self._judge(judged)
        self.certificate_ = NOT_CERTIFIED

    def _fitted_in_memory(
        self,
        X: Any,
        Y: np.ndarray,
        weights: np.ndarray,
        sample_weight: Any,
        labels: np.ndarray | None,
        sampling: Sampling,
    ) -> Callable[[], Judged]:
        """Fit to rows in memory, and return a function that judges the fit; a classifier may try other weights."""
        return self._fitted(X, Y, weights, sample_weight, labels, sampling)

    def _predicted_by_others(
        self,
        X: Any,
        weights: np.ndarray,
        scaled: dict[int, Any],
        fold: int,
        train: np.ndarray,
        test: np.ndarray,
        y: np.ndarray,
    ) -> np.ndarray:
        """Return predictions for the rows of a fold by a model of others, with the squared loss; it is not judged.

        The scale of a similarity that was left at ``"median"`` is chosen once for each fold, and kept in `scaled`.
        """
        similarity = scaled.get(fold, self.similarity)
        model = clone(self).set_params(loss="squared", landmark_indices=None, similarity=similarity)
        known, new = (X[train][:, train], X[test][:, train]) if self._precomputed else (take(X, train), take(X, test))
        with model._counting():
            known = model._checked(known, reset=True)
            Y, some, labels = model._read(known, y, weights[train])
            model._fitted(known, Y, some, weights[train], labels, Sampling(draw_seed(self.random_state)))
        if self._leaves_scale_open:
            scaled[fold] = model.similarity_
        return np.reshape(model.predict(new), (len(test), -1))

    @property
    def _leaves_scale_open(self) -> bool:
        """Whether a similarity that is not learned has its scale chosen."""
        if self._is_automatic or self._precomputed:
            return False
        given = self._similarities()
        return any(map(open_scales, given)) and not any(isinstance(k, Learnable) for k in given)

    def _fit_and_certify(
        self, X: Any, Y: np.ndarray, weights: np.ndarray, sample_weight: Any, labels: np.ndarray | None
    ) -> None:
        """Fit to a part of the rows in memory, and bound the error by the others, which are used for nothing else."""
        assert self.certify is not None
        apart = set_apart(as_objects(X), self.certify, self.random_state) & (weights > 0)
        inside, outside = np.flatnonzero(~apart), np.flatnonzero(apart)
        if not (len(inside) and len(outside)):
            raise ValueError(
                f"certify={self.certify} leaves {'nothing to learn from' if len(outside) else 'no row to judge by'}: "
                f"equal rows stay together, and too few differ; give more rows, or another share"
            )
        if labels is not None and len(np.unique(labels[inside])) < len(np.unique(labels)):
            lost = self.classes_.tolist()[np.setdiff1d(labels, labels[inside])[0]]
            raise ValueError(
                f"no row of class {lost!r} is left to learn from: certify a smaller share, or give more rows"
            )
        some = None if sample_weight is None else np.asarray(sample_weight)[inside]
        known = None if labels is None else labels[inside]
        sampling = Sampling(draw_seed(self.random_state), inside, later=len(outside))
        self._judge(self._fitted_in_memory(take(X, inside), Y[inside], weights[inside], some, known, sampling)())
        model, encodings = self._encoded(take(X, outside))
        scores = as_numpy(model.scores(encodings, self._engine, itemsize(encodings[0]))) + self.intercept_
        self.certificate_ = self._certified(scores, Y[outside])
        self._calibrate_apart(take(X, outside), scores, Y[outside])

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
        check_max_calls(self.max_calls, engine)
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
        return self._fitted(sampled.objects, Y, weights, given, numbers, sampled.sampling)()

    def _targets(self) -> Targets:
        """Return what reads targets batch by batch; a subclass writes it."""
        raise NotImplementedError

    def _learn_targets(self, targets: Targets) -> None:
        """Keep what all targets together tell; a subclass writes it."""
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
            sampling = Sampling(draw_seed(self.random_state))
            chosen = self._chosen_on_pilot(X, Y, chosen_on, sampling)
            fitted, _ = self._train(X, Y, chosen_on, sample_weight, labels, sampling, chosen)
            stream = Stream.begin(fitted.features, Y.shape[1], labels is not None)
        stream = stream.learn(X, Y, weights, held, self._engine)
        linear, influence, trial, targets = stream.solve()
        self._stream = stream
        self._set_model(stream.features, linear, influence)
        self.lam_ = trial.lam
        judged = Judged(trial, targets, np.ones(len(targets)))
        self._calibrate(trial, targets, judged.weights)
        return judged
