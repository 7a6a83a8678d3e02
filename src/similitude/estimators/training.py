"""Training on rows in memory: on landmarks, or exactly with kernels that are learned."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from similitude.compute import (
    Encoding,
    take,
)
from similitude.estimators.automatic import (
    can_learn,
    fit_exactly,
    fits_exactly,
    learned_kernel,
)
from similitude.estimators.choose_landmarks import choose_landmarks
from similitude.estimators.fit import Fitted, all_features, fit_ridge
from similitude.estimators.frugal_trainer import FrugalTrainer
from similitude.estimators.guarantee import guarantee_of_fit, guarantee_of_learned
from similitude.estimators.influence import influence_in_refit
from similitude.estimators.learned_similarities import learn_similarities
from similitude.estimators.nested_folds import Judged, judged_by_folds
from similitude.estimators.options import RIDGE, FitOptions
from similitude.estimators.rows import (
    PILOT,
    Sampling,
    TrainingRows,
    draw_seed,
    equals_judged_together,
    groups_of_equals,
)
from similitude.estimators.scales import choose_scales, open_scales
from similitude.linear import LEAVE_ONE_OUT, LinearModel, Trial
from similitude.similarity import Learnable, Precomputed, Similarity, remembered_images


class LandmarkTrainer(FrugalTrainer):
    """Fits landmark features and a linear model of them to rows in memory, or to a sample of rows elsewhere."""

    def _fitted(
        self,
        X: Any,
        Y: np.ndarray,
        weights: np.ndarray,
        sample_weight: Any,
        labels: np.ndarray | None,
        sampling: Sampling,
    ) -> Judged:
        """Fit exactly to few rows if the similarity is automatic, frugally if it may be costly, else to landmarks."""
        judged = self._fit_exactly(X, Y, weights, labels, sampling)
        if judged is None:
            judged = self._fit_frugally(X, Y, weights, labels, sampling)
        if judged is None:
            _, judge = self._train(X, Y, weights, sample_weight, labels, sampling)
            judged = judge()
        return judged

    def _fit_exactly(
        self, X: Any, Y: np.ndarray, weights: np.ndarray, labels: np.ndarray | None, sampling: Sampling
    ) -> Judged | None:
        """Learn kernels and fit to every row, if the similarity is automatic and the rows are few; otherwise None."""
        weighted = np.flatnonzero(weights > 0)
        few = sampling.all_rows is None and len(weighted) <= LEAVE_ONE_OUT
        automatic = self.n_landmarks == "auto" and isinstance(self.landmarks, str) and self.landmarks == "auto"
        exact = few and automatic and fits_exactly(len(weighted), self._engine.budget)
        if not exact or not self._learns(X, Y, weighted):
            return None
        order = sampling.order(weighted)
        fit = fit_exactly(X, Y, weights, labels, order, self.random_state, self._kind(), sampling.places)
        self.loss_, self.penalty_, self.lam_ = *RIDGE, fit.trial.lam
        self.landmark_curve_, self.notes_, self.learned_ = fit.curve, [fit.note()], fit.learned
        self.guarantee_ = guarantee_of_learned(labels)
        self._set_model(fit.features, fit.linear, fit.influence)
        alone = len(fit.features) == 1
        self.representation_ = fit.representation if alone else (fit.representation,) * len(fit.features)
        self.similarity_ = fit.kernels[0] if alone else fit.kernels
        self._calibrate(fit.trial, *fit.tried)
        return fit.judged

    def _learns(self, X: Any, Y: np.ndarray, weighted: np.ndarray) -> bool:
        """Tell whether a kernel is to be learned: an automatic similarity of enough vectors or rows of a table."""
        vectors = self._is_automatic and self._kind() in ("vectors", "table")
        if not vectors or not can_learn(X, len(weighted), self._engine.budget):
            return False
        plain = self._objective() == RIDGE and self.side in ("auto", "left") and self.unlabeled is None
        choosing = isinstance(self.landmarks, str) and self.landmark_indices is None
        return plain and choosing and bool((Y[weighted] != Y[weighted[:1]]).any())

    def _learned(
        self, X: Any, Y: np.ndarray, weights: np.ndarray, sampling: Sampling
    ) -> tuple[tuple[Similarity, ...], str | None]:
        """Return kernels learned from the rows, and a note on them; nothing if none is learned."""
        self.learned_ = None
        weighted = np.flatnonzero(weights > 0)
        given = [] if self._precomputed else self._similarities()
        if any(isinstance(k, Learnable) for k in given):
            together = LEAVE_ONE_OUT < len(weighted) <= PILOT and sampling.all_rows is None
            return learn_similarities(given, X, Y, sampling.order(weighted), together, self.random_state)
        if len(weighted) <= LEAVE_ONE_OUT or not self._learns(X, Y, weighted):
            return (), None
        together = len(weighted) <= PILOT and sampling.all_rows is None
        order = sampling.order(weighted)
        kernel, note, self.learned_ = learned_kernel(X, Y, order, self._kind(), together)
        return (kernel,), note

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
        again = learned and len(data.order) <= LEAVE_ONE_OUT  # in the folds that judge the fit
        options = self._options(X, tuple(self._similarities()) if again else similarities, labels)
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

    def _calibrate(self, trial: Trial, Y: np.ndarray, weights: np.ndarray) -> None:
        """Keep what probabilities need, given rows left out of the fit or held out; a classifier writes it."""
