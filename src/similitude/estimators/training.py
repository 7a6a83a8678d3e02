"""Training on rows in memory: on landmarks, or exactly with kernels that are learned."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from similitude.compute import (
    Encoding,
    as_numpy,
    take,
)
from similitude.compute.engines import LocalEngine, phase
from similitude.estimators.frugal_trainer import FrugalTrainer
from similitude.evaluation import LEAVE_ONE_OUT, Trial, equals_judged_together, groups_of_equals
from similitude.fitting import (
    LEARNED_KINDS,
    MEDIAN_KEPT,
    PILOT,
    RIDGE,
    ExactFit,
    FitOptions,
    Fitted,
    Judged,
    Sampling,
    SizedRows,
    SpreadFit,
    TrainingRows,
    all_features,
    best_alone,
    can_learn,
    choose_landmarks,
    choose_scales,
    draw_seed,
    fit_by_pilot,
    fit_exactly,
    fit_ridge,
    fits_exactly,
    guarantee_of_fit,
    guarantee_of_learned,
    in_words,
    influence_in_refit,
    judged_by_folds,
    keeps_median,
    learn_on_pilot,
    learn_similarities,
    open_scales,
    try_family,
)
from similitude.linear import LinearModel
from similitude.similarity import Learnable, Precomputed, Similarity, remembered_images

if TYPE_CHECKING:
    from similitude.kernel_learning import AutoChoice

SERIES_SUGGESTED = (
    "neighboring columns are alike, as in series and spectra: if rows are series, similarity=Auto(kind='series') "
    "compares them as such"
)
"""What is noted where an array was taken for vectors, and its rows may be series."""


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
    ) -> Callable[[], Judged]:
        """Fit to rows, note if they look like series, and return a function that judges the fit."""
        judge = self._fitted_suitably(X, Y, weights, sample_weight, labels, sampling)
        if self._is_automatic and self._kind() == "vectors" and isinstance(X, np.ndarray):
            from similitude.kernels import neighbors_are_alike  # loads all kernels

            if SERIES_SUGGESTED not in self.notes_ and neighbors_are_alike(X):
                self.notes_.append(SERIES_SUGGESTED)
        return judge

    def _fitted_suitably(
        self,
        X: Any,
        Y: np.ndarray,
        weights: np.ndarray,
        sample_weight: Any,
        labels: np.ndarray | None,
        sampling: Sampling,
    ) -> Callable[[], Judged]:
        """Fit exactly to few rows if the similarity is automatic, frugally if it may be costly, else to landmarks.

        Return a function that judges the fit.
        """
        judge = self._fit_exactly(X, Y, weights, labels, sampling)
        if judge is None:
            judge = self._fit_frugally(X, Y, weights, labels, sampling)
        if judge is not None:
            return judge
        chosen, why = self._chosen_on_pilot(X, Y, weights, sampling), self._why_no_cells(sampling)
        if chosen is not None and why is None:
            from similitude.fitting.cells import fit_in_cells  # loads all kernels

            choice, order = chosen
            with phase("solving in cells of rows"):
                fit = fit_in_cells(X, Y, weights, labels, choice, order, self._engine.budget, sampling.places)
            if isinstance(fit, ExactFit):
                return self._keep_exact(fit, labels)
            why = fit
        _, judge = self._train(X, Y, weights, sample_weight, labels, sampling, chosen, why, by_pilot=True)
        return judge

    def _fit_exactly(
        self, X: Any, Y: np.ndarray, weights: np.ndarray, labels: np.ndarray | None, sampling: Sampling
    ) -> Callable[[], Judged] | None:
        """Learn kernels and fit to every row, if the similarity is automatic and the rows are few; otherwise None."""
        weighted = np.flatnonzero(weights > 0)
        few = sampling.all_rows is None and len(weighted) <= LEAVE_ONE_OUT
        exact = few and self._chooses_landmarks and fits_exactly(len(weighted), self._engine.budget)
        if not exact or not self._learns(X, Y, weighted):
            return None
        order = sampling.order(weighted)
        seed, names = self.random_state, self._column_names()
        fit = fit_exactly(X, Y, weights, labels, order, seed, self._kind(), sampling.places, names)
        return self._keep_exact(fit, labels)

    @property
    def _chooses_landmarks(self) -> bool:
        """Whether neither landmarks nor a rule or a number of them was asked for."""
        return self.n_landmarks == "auto" and isinstance(self.landmarks, str) and self.landmarks == "auto"

    def _keep_exact(self, fit: ExactFit, labels: np.ndarray | None) -> Callable[[], Judged]:
        """Make an exact fit the model, and return what judges it."""
        self.loss_, self.penalty_, self.lam_ = *RIDGE, fit.trial.lam
        self.landmark_curve_, self.notes_, self.learned_ = fit.curve, [fit.note], fit.learned
        self.guarantee_ = guarantee_of_learned(labels)
        self._set_model(fit.features, fit.linear, fit.influence)
        alone = len(fit.features) == 1
        self.representation_ = fit.representation if alone else (fit.representation,) * len(fit.features)
        self.similarity_ = fit.kernels[0] if alone else fit.kernels
        self._calibrate(fit.trial, *fit.tried, fit.at)
        return fit.judge

    def _learns(self, X: Any, Y: np.ndarray, weighted: np.ndarray) -> bool:
        """Tell whether a kernel is to be learned: an automatic similarity of enough vectors or rows of a table."""
        vectors = self._is_automatic and self._kind() in LEARNED_KINDS
        if not vectors or not can_learn(X, len(weighted), self._engine.budget):
            return False
        plain = self._objective() == RIDGE and self.side in ("auto", "left") and self.unlabeled is None
        choosing = isinstance(self.landmarks, str) and self.landmark_indices is None
        return plain and choosing and bool((Y[weighted] != Y[weighted[:1]]).any())

    def _column_names(self) -> list[str] | None:
        """Return the names of the columns, if X was a data frame of numbers."""
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else list(map(str, names))

    def _chosen_on_pilot(
        self, X: Any, Y: np.ndarray, weights: np.ndarray, sampling: Sampling
    ) -> tuple[AutoChoice, np.ndarray] | None:
        """Return the kernels that many rows chose, and the order of these; None if nothing is to be learned."""
        weighted = np.flatnonzero(weights > 0)
        if len(weighted) <= LEAVE_ONE_OUT or not self._learns(X, Y, weighted):
            return None
        together = len(weighted) <= PILOT and sampling.all_rows is None
        return learn_on_pilot(X, Y, sampling.order(weighted), self._kind(), together, self._column_names())

    def _why_no_cells(self, sampling: Sampling) -> str | None:
        """Return why many rows are not fitted exactly in cells; None if they may be."""
        if sampling.all_rows is not None:
            return "exact fits in cells need all rows in memory"
        if not isinstance(self._engine, LocalEngine):
            return "exact fits in cells are those of LocalEngine"
        return None if self._chooses_landmarks else "landmarks were asked for"

    def _learned(
        self,
        X: Any,
        Y: np.ndarray,
        weights: np.ndarray,
        sampling: Sampling,
        chosen: tuple[AutoChoice, np.ndarray] | None,
        why: str | None,
    ) -> tuple[tuple[Similarity, ...], str | None, tuple[Similarity, ...]]:
        """Return kernels learned from the rows, a note on them, and what folds learn anew; nothing if none is learned.

        `chosen` was chosen on pilot rows, if that is done; `why` says why there are landmarks instead of cells.
        """
        self.learned_ = None
        weighted = np.flatnonzero(weights > 0)
        given = [] if self._precomputed else self._similarities()
        if any(isinstance(k, Learnable) for k in given):
            together = LEAVE_ONE_OUT < len(weighted) <= PILOT and sampling.all_rows is None
            found, note = learn_similarities(
                given, X, Y, sampling.order(weighted), together, self.random_state, self._column_names()
            )
            return found, note, tuple(given)
        if self._is_automatic and self._kind() not in LEARNED_KINDS:
            from similitude.kernels import kind_in_words  # loads all kernels

            together = LEAVE_ONE_OUT < len(weighted) <= PILOT and sampling.all_rows is None
            order, kind = sampling.order(weighted), self._kind()
            family = try_family(X, order, kind, together, self.random_state, self._engine)
            choice = family.chosen(Y, weights)
            note = f"similarity='auto' chose for {kind_in_words(kind, family.members)} {choice.reason}"
            return (choice.similarity,), note, (family.with_params(taken=choice.similarity),)
        if chosen is None:
            return (), None, ()
        from similitude.kernel_learning import summarize

        self.learned_ = summarize(chosen[0])
        note = f"{in_words(self.learned_)}; landmarks use the kernel that is best alone"
        return (best_alone(chosen[0]),), note if why is None else f"{note}: {why}", tuple(given)

    def _train(
        self,
        X: Any,
        Y: np.ndarray,
        weights: np.ndarray,
        sample_weight: Any,
        labels: np.ndarray | None,
        sampling: Sampling | None = None,
        chosen: tuple[AutoChoice, np.ndarray] | None = None,
        why: str | None = None,
        by_pilot: bool = False,
    ) -> tuple[Fitted, Callable[[], Judged]]:
        """Choose scale, landmarks and penalty, fit the linear model, and keep what prediction needs.

        Return the fit, and a function that judges it. For `chosen` and `why` see `_learned`. With `by_pilot`, choices
        for a kernel of vectors are made on pilot rows, and every row of a few thousand may become a landmark.
        """
        sampling = sampling or Sampling(draw_seed(self.random_state))
        precomputed = self._precomputed
        with phase("choosing the similarity"):
            learned, note, anew = self._learned(X, Y, weights, sampling, chosen, why)
        similarities = (Precomputed(X),) if precomputed else learned or tuple(self._similarities())
        X = np.arange(len(X)) if precomputed else X
        data = self._rows(X, Y, weights, sample_weight, similarities, sampling)
        again = learned and len(data.order) <= LEAVE_ONE_OUT  # in the folds that judge the fit
        options = self._options(X, anew if again else similarities, labels)
        with phase("choosing scale and penalty on a sample"):
            piloted = fit_by_pilot(X, data, labels, options) if by_pilot and not learned else None
        if piloted is not None:
            self._complete(piloted.fitted, options, labels, piloted.n_choices)
            return piloted.fitted, lambda: piloted.judged
        with phase("choosing landmarks"):
            choice = choose_landmarks(X, data, labels, options)
        self.notes_ += [one for one in (choice.note, note) if one is not None]
        data, n_scales = choice.rows, 1
        if not all(map(operator.is_, similarities, data.similarities)):  # one of them was resolved on the data
            with phase("choosing the scale"):
                data, n_scales = choose_scales(data, choice, options)
            pairs = zip(options.similarities, data.similarities, strict=True)
            self.notes_ += [MEDIAN_KEPT.format(now) for k, now in pairs if keeps_median(k, now)]
        with phase("computing similarities to landmarks, and solving"):
            fitted = fit_ridge(data, choice, options)
            if (options.loss, options.penalty) != RIDGE:
                fitted = self._refit(fitted, data, options)
        self._complete(fitted, options, labels, n_scales * len(choice.sizes))
        if learned:
            self.guarantee_ = guarantee_of_learned(labels)
        return fitted, partial(judged_by_folds, X, data, labels, options, choice, fitted, self._fit_linear)

    def _complete(self, fitted: Fitted, options: FitOptions, labels: np.ndarray | None, n_choices: int) -> None:
        """Keep a fit: what it is, what is promised of it, and what predictions and probabilities need."""
        self.loss_, self.penalty_, self.landmark_curve_ = options.loss, options.penalty, fitted.curve
        self.representation_ = fitted.representations[0] if len(fitted.representations) == 1 else fitted.representations
        n_classes = max(2, fitted.held_out[0].shape[1])
        self.guarantee_ = guarantee_of_fit(fitted, options, labels, n_classes, n_choices)
        found = self._fit_sizes(fitted)
        noise = self._keep(fitted, tuple(one.similarity for one in fitted.features), found)
        self._calibrate(fitted.trial, *fitted.held_out, fitted.at, None if found is None else found.sized(noise))

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
        tried = as_numpy(F[judged])
        found = replace(fitted, linear=linear, trial=trial, held_out=held_out, influence=influence, tried=tried)
        return replace(found, open_variance=None)

    def _fit_linear(
        self, options: FitOptions, F: Any, Y: np.ndarray, weights: np.ndarray
    ) -> tuple[LinearModel, Trial, np.ndarray]:
        """Fit a loss or penalty that needs all features at once; a subclass writes it."""
        raise NotImplementedError

    def _keep(
        self, fitted: Fitted, similarities: tuple[Similarity, ...], found: SpreadFit | None
    ) -> tuple[np.ndarray, ...] | None:
        """Keep the landmarks that have a weight, and nothing else of the training objects.

        Return the weights of similarities in the size of errors, if it is a function of these.
        """
        sizes = None if found is None or found.noise is None else found.noise.weights
        noise = self._set_model(fitted.features, fitted.linear, fitted.influence, sizes)
        self.lam_ = fitted.trial.lam
        if self._precomputed:
            self.similarity_, self._model = "precomputed", self._model.with_similarity(None)
        elif isinstance(self.similarity, (list, tuple)):
            self.similarity_ = list(similarities)
        else:
            self.similarity_ = similarities[0]
        return noise

    def _fit_sizes(self, fitted: Fitted) -> SpreadFit | None:
        """Fit the size of errors as a function of landmark features; a regressor writes it."""
        return None

    def _calibrate(
        self,
        trial: Trial,
        Y: np.ndarray,
        weights: np.ndarray,
        at: np.ndarray | None = None,
        sized: SizedRows | None = None,
    ) -> None:
        """Keep what probabilities, intervals and sets of classes need, given rows left out of the fit or held out.

        `at` tells which landmarks the rows are, in an exact fit, and `sized` which errors are expected for them. A
        subclass writes it.
        """
