"""SimilarityRegressor: numbers from similarities to landmarks."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from similitude.compute import is_tensor, namespace
from similitude.compute.engines import Engine
from similitude.estimators.base import LandmarkEstimator, upper_bound
from similitude.estimators.explanation import Asked, Explanations
from similitude.evaluation import FEWEST_GROUPS_APART, FEWEST_NESTED_ROWS, Trial, enough_for_folds, error_of_numbers
from similitude.fitting import (
    FAR_TARGET,
    HUBER_THRESHOLD,
    LIMITING_FITS,
    ErrorCalibration,
    Facts,
    FitOptions,
    FittedModel,
    NumberTargets,
    Plan,
    PlanStep,
    ScoredRows,
    SpreadFit,
    TrainingSet,
    Uncertainty,
    limit_targets,
    plan_fit,
    scores_and_sizes,
    spread_of_fit,
)
from similitude.linear import Quantile, weighted_quantile
from similitude.scikit import all_or_nothing, check_targets, check_weights
from similitude.similarity import Meter
from similitude.support import Estimate, brief, check_share, number_of, outlying_rows

HUBER = "huber"
QUANTILES = ("absolute", "quantile")


class SimilarityRegressor(RegressorMixin, LandmarkEstimator):
    """Predict numbers for objects of any kind by landmark features and a linear model.

    As :class:`SimilarityClassifier`, with the squared error: landmarks are chosen, objects are described by their
    similarities to them, and a linear model of these features is fitted. Kernels are projected onto the landmarks; any
    other similarity is used as it is.

    Parameters
    ----------
    similarity, landmark_indices, side, unlabeled, certify, max_calls, random_state, engine
        See :class:`SimilarityClassifier`.
    landmarks : str or sequence of objects
        A rule (``uniform kmeans++ rpcholesky leverage diverse``) or the objects themselves. ``"auto"``: uniform.
    n_landmarks : int or "auto"
        ``"auto"``: starts at 100 and doubles while the held-out loss falls by more than one standard error, up to
        2,400, up to half of the rows if there are many, and up to what fits into memory; for kernels of vectors and
        1,000 to 20,000 rows on pilot rows, as :class:`SimilarityClassifier` says.
    loss : {"auto", "squared", "huber", "absolute", "quantile"}
        ``"auto"``: squared; with ``penalty="l2"`` it takes one pass over the similarities. ``"huber"``: targets count
        as at most 1.345 robust standard deviations away from predictions by other rows, so that outliers have little
        influence (Huber's loss by modified residuals). It takes seven to twelve times as long, for rows in memory.
        ``"absolute"``: the absolute error, so that medians are predicted. ``"quantile"``: the pinball loss of one
        output, so that the given quantile is predicted (Koenker and Bassett, 1978); its intercept is such that this
        share of the rows that were left out is below their prediction. Both take ``penalty="l2"``, and ``"auto"`` is
        then a Gaussian kernel for vectors.
    penalty : {"l2", "l1"}
        ``"l2"``: the squared length of the weights. ``"l1"``: the sum over landmarks of the length of their weights,
        so that few landmarks are kept.
    quantile : float
        The share of targets below their prediction, with ``loss="quantile"``.

    Attributes
    ----------
    similarity_, landmarks_, landmark_indices_, landmark_weights_, loss_, penalty_, representation_, guarantee_, \
landmark_curve_, learned_, lam_, intercept_, n_similarity_calls_, calls_
        See :class:`SimilarityClassifier`.
    held_out_error_ : Estimate
        The mean squared error (summed over outputs) on new rows, estimated as in :class:`SimilarityClassifier`. With
        ``loss="huber"`` that of targets at most 3 robust standard deviations from the median, by three folds. With
        ``"absolute"`` and ``"quantile"`` the mean pinball loss, which for medians is half of the absolute error.
    constant_error_ : float
        The mean squared error of the mean on the same rows; 1 - `held_out_error_` / `constant_error_` is R². With
        ``"absolute"`` and ``"quantile"`` the pinball loss of the quantile of all targets.
    shift_ : array of shape (outputs,)
        The part of ``intercept_`` that makes quantiles agree with rows left out; 0 for other losses.
    certificate_ : Estimate
        With `certify`: an upper bound on the share of new rows with an error above `certified_size_`, from rows that
        were used for nothing else. Its grade is PROVEN, or NONE without `certify`.
    certified_size_ : float
        With `certify`: twice the root of `held_out_error_`.
    uncertainty_ : Uncertainty
        How :meth:`predict_interval` is calibrated: the method, its grade, and the number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from similitude import SimilarityRegressor
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = SimilarityRegressor().fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.0]])[0] - np.sin(1.0)) < 0.01)
    True
    """

    _errors: ErrorCalibration
    _losses = ("squared", HUBER, *QUANTILES)

    def __init__(
        self,
        similarity: Any = "auto",
        *,
        landmarks: Any = "auto",
        landmark_indices: Any = None,
        n_landmarks: int | str = "auto",
        loss: str = "auto",
        quantile: float = 0.5,
        penalty: str = "l2",
        side: str = "auto",
        unlabeled: Any = None,
        certify: float | None = None,
        max_calls: int | None = None,
        random_state: Any = None,
        engine: Engine | None = None,
    ) -> None:
        super().__init__(
            similarity,
            landmarks=landmarks,
            landmark_indices=landmark_indices,
            n_landmarks=n_landmarks,
            loss=loss,
            penalty=penalty,
            side=side,
            unlabeled=unlabeled,
            certify=certify,
            max_calls=max_calls,
            random_state=random_state,
            engine=engine,
        )
        self.quantile = quantile

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> SimilarityRegressor:
        """Learn from a further batch of a stream; see :meth:`SimilarityClassifier.partial_fit`.

        Parameters
        ----------
        X : sequence of objects
        y : array of shape (n,) or (n, outputs)
        sample_weight : sequence of float, optional
        """
        self._check_params()
        if self.loss == HUBER:
            raise ValueError("loss='huber' needs predictions by other rows: use loss='squared' with partial_fit")
        first = not hasattr(self, "_stream")
        X = self._checked(X, reset=first)
        Y = self._columns(X, y, first)
        weights = check_weights(sample_weight, len(Y))
        self._evaluate(self._partial_train(X, Y, weights, sample_weight, None))
        return self

    def _columns(self, X: Any, y: Any, first: bool) -> np.ndarray:
        """Return the targets as columns."""
        y = check_targets(self, X, y)
        if self.loss in QUANTILES and y.ndim == 2:
            raise ValueError(
                f"loss={self.loss!r} predicts quantiles of one output, y has shape {y.shape}: fit a model for each "
                "(sklearn.multioutput.MultiOutputRegressor)"
            )
        if first:
            self._one_output = y.ndim == 1
        elif self._one_output != (y.ndim == 1) or (y.ndim == 2 and y.shape[1] != len(self.intercept_)):
            raise ValueError(f"y has shape {y.shape}, earlier batches had {len(self.intercept_)} outputs")
        if y.ndim == 1:
            return y[:, None]
        return y

    def _objective(self) -> tuple[str, str]:
        """Return the loss and the penalty; Huber's loss is the squared one of limited targets."""
        return self.loss if self.loss in QUANTILES else "squared", self.penalty

    def _check_params(self) -> None:
        super()._check_params()
        check_share("quantile", self.quantile)
        if self.loss in QUANTILES and self.penalty != "l2":
            raise ValueError(f"loss={self.loss!r} needs penalty='l2', got {brief(self.penalty)}")
        if self.loss in QUANTILES and self.certify is not None:
            raise ValueError(f"certify bounds errors of means, and loss={self.loss!r} predicts quantiles: choose one")
        if self.loss == HUBER and self.certify is not None:
            raise ValueError("certify bounds errors of targets as they are, and loss='huber' limits them: choose one")

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray, None]:
        Y = self._columns(X, y, first=True)
        return Y, check_weights(sample_weight, len(Y)), None

    def _options(self, X: Any, labels: np.ndarray | None, meter: Meter, stream: bool = False) -> FitOptions:
        options = super()._options(X, labels, meter, stream)
        if self.loss in QUANTILES:
            return replace(options, quantile=self._pinball.tau)
        return options

    def _planned(self, facts: Facts) -> Plan:
        plan = plan_fit(facts)
        if self.loss != HUBER or not enough_for_folds(len(facts.data.weighted)):
            return plan
        why = "targets are limited twice by predictions of 3 folds, which also evaluate the model"
        return replace(plan.repeated(1 + LIMITING_FITS, why), evaluation=PlanStep("3 folds", ""))

    def _fit_rows(self, data: TrainingSet, options: FitOptions) -> FittedModel:
        """Fit; with Huber's loss to targets that are limited first, and evaluated by the folds that limit them."""
        few = not enough_for_folds(len(data.weighted))
        if self.loss != HUBER or few:
            fit = super()._fit_rows(data, options)
            self.notes_ += _notes_on_outliers(data)
            if self.loss == HUBER:
                self.notes_.append(f"loss='huber' needs {FEWEST_NESTED_ROWS} rows: the squared loss was used")
            return fit
        Y = data.Y
        weights = data.weights
        given: Any = options.similarities[0]
        matrix = None
        if self._precomputed:
            matrix = given.M
        groups = data.groups
        if groups is not None and len(np.unique(groups[data.weighted])) < FEWEST_GROUPS_APART:
            raise ValueError(f"loss='huber' needs at least {FEWEST_GROUPS_APART} groups")
        predict = partial(self._predicted_by_others, data, matrix, {})
        limited, near, predicted = limit_targets(predict, Y, weights, self.random_state, groups)
        fit = super()._fit_rows(replace(data, Y=limited), options)
        self.loss_ = HUBER
        n_limited = int(((limited != Y).any(axis=1) & (weights > 0)).sum())
        self.notes_.append(
            f"loss='huber' limited {n_limited:,} of {len(Y):,} targets to {HUBER_THRESHOLD} robust standard "
            "deviations from predictions by other rows; the held-out error is that of targets at most "
            f"{FAR_TARGET:g} robust standard deviations from their median"
        )
        self._calibrate(ScoredRows(Trial.of(self.lam_, predicted, Y, weights), Y, weights, groups))
        trial = Trial.of(self.lam_, predicted, near, weights)
        together = np.arange(len(Y)) if groups is None else groups
        return replace(fit, evaluation=ScoredRows(trial, near, weights, together))

    def _targets(self) -> NumberTargets:
        if self.loss == HUBER:
            raise ValueError("loss='huber' compares targets with predictions by other rows, which it needs in memory")
        return NumberTargets(type(self).__name__)

    def _learn_targets(self, targets: Any) -> None:
        self._one_output = targets.one_output

    @property
    def _pinball(self) -> Quantile:
        """The loss whose minimizer is the quantile, or the median, that is asked for."""
        return Quantile(self.quantile if self.loss == "quantile" else 0.5)

    def _quantile_of(self, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return weighted_quantile(values, weights, self._pinball.tau)

    def _evaluate(self, scored: ScoredRows) -> None:
        """Keep what rows of other folds show: the mean squared error, or pinball loss, and that of a constant."""
        Y = scored.Y
        weights = scored.weights
        if self.loss in QUANTILES:
            constant = self._pinball.value(Y, self._quantile_of(Y, weights))[:, 0]
            self.constant_error_ = float(np.average(constant, weights=weights))
            losses = self._pinball.value(Y, scored.trial.scores)[:, 0]
            self.held_out_error_ = error_of_numbers(losses, weights, scored.groups)
            return
        squares = ((Y - np.average(Y, axis=0, weights=weights)) ** 2).sum(axis=1)
        self.constant_error_ = float(np.average(squares, weights=weights))
        self.held_out_error_ = error_of_numbers(scored.trial.losses, weights, scored.groups, scored.left_out)
        if scored.within is not None:
            self._errors = self._errors.enlarged(Y - scored.trial.scores, [y - scores for scores, y in scored.within])

    def verdict(self) -> str:
        """Say in one sentence how well numbers are predicted, as far as new rows show.

        Examples
        --------
        >>> import numpy as np
        >>> from similitude import SimilarityRegressor
        >>> X = np.linspace(0, 6, 200)[:, None]
        >>> said = SimilarityRegressor(random_state=0).fit(X, np.sin(X[:, 0])).verdict()
        >>> said.startswith("similar objects have similar values: 100 % of the variance of new rows")
        True
        """
        check_is_fitted(self)
        error = self.held_out_error_
        most = self.constant_error_
        if not error.value < most:
            return "no sign that similar objects have similar values: a constant predicts new rows as well"
        if self.loss in QUANTILES:
            return (
                f"similar objects have similar quantiles: the pinball loss of new rows is "
                f"{100 * (1 - error.value / most):.0f} % below that of one quantile for all, by comparing with "
                f"{number_of(self.n_similarity_calls_, 'landmark')}"
            )
        how = "have somewhat similar values"
        if error.high < most:
            how = "have similar values"
        return (
            f"similar objects {how}: {100 * (1 - error.value / most):.0f} % of the variance of new rows is explained "
            f"by comparing with {number_of(self.n_similarity_calls_, 'landmark')} (a typical error is "
            f"{math.sqrt(error.value):.3g})"
        )

    def _certified(self, scores: np.ndarray, Y: np.ndarray) -> Estimate:
        self.certified_size_ = 2 * math.sqrt(self.held_out_error_.value)
        sizes = np.sqrt(((scores - Y) ** 2).sum(axis=1))
        return upper_bound(int((sizes > self.certified_size_).sum()), len(Y))

    def _keep(self, fit: FittedModel, sizes: SpreadFit | None = None) -> None:
        super()._keep(fit, sizes or spread_of_fit(fit))

    def _calibrate(self, rows: ScoredRows, at: np.ndarray | None = None, sized: SpreadFit | None = None) -> None:
        """Keep the errors of rows left out, which calibrate intervals; quantiles are shifted by theirs first."""
        errors = rows.Y - rows.trial.scores
        self.shift_ = np.zeros(errors.shape[1])
        if self.loss in QUANTILES:
            self.shift_ = self._quantile_of(errors, rows.weights)
            self.intercept_ = self.intercept_ + self.shift_
            errors = errors - self.shift_
        self.uncertainty_ = Uncertainty.left_out(len(errors))
        self._errors = ErrorCalibration.of(errors, rows.weights, at, sized, rows.groups)

    def _calibrate_apart(self, X: Any, scores: np.ndarray, Y: np.ndarray) -> None:
        self._errors = self._errors.completed(self._model, self._influence)
        spread = self._errors.spread
        sizes = np.ones(Y.shape)
        assert spread is not None
        if spread.adaptive:
            _, sizes = scores_and_sizes(*self._encoded(X), self._influence, spread, self._engine)
        self._errors = self._errors.calibrated(Y - scores, sizes)
        self.uncertainty_ = Uncertainty.split(len(Y))

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the prediction for every object.

        Parameters
        ----------
        X : sequence of objects
        return_std : bool
            Also return a standard deviation of the error for each prediction: in an exact fit, and in one of a kernel
            on landmarks, that of a Gaussian process with this kernel, of the function and the noise together, which
            grows away from the data; where errors are clearly larger for some objects than for others, in proportion to
            that; otherwise the same for all. It is an estimate: the variances are those under which left-out rows, or
            all targets, are most likely. :meth:`predict_interval` says what is proven.

        Returns
        -------
        array of shape (n,) or (n, outputs), or a tuple of two of these
        """
        if return_std:
            scores, sizes, _ = self._scores_and_sizes(X, "predict(X, return_std=True)")
            return like_input(X, self._shaped(scores)), like_input(X, self._shaped(sizes))
        return self._predictions(X, "predict", self._shaped)

    def predict_interval(self, X: Any, level: float = 0.9) -> Any:
        """Return an interval for every object that holds its target with a given probability.

        With ``certify=share`` the rows set apart calibrate the intervals (split conformal), and the level is PROVEN for
        independent rows. Otherwise rows of the fit do, each predicted by a model without it, and the level is an
        ESTIMATE: ``uncertainty_`` says which. See ``docs/theory/uncertainty.md``.

        Parameters
        ----------
        X : sequence of objects
        level : float
            Strictly between 0 and 1. m rows calibrate levels up to m / (m + 1); a higher one is refused.

        Returns
        -------
        array of shape (n, 2) or (n, outputs, 2)
            The ends of the intervals; those of each output hold by themselves.

        Examples
        --------
        >>> import numpy as np
        >>> from similitude import SimilarityRegressor
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(-2, 2, size=(400, 1))
        >>> y = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=400)
        >>> model = SimilarityRegressor(certify=0.25, random_state=0).fit(X, y)
        >>> print(model.uncertainty_)
        split conformal on 100 rows, levels up to 0.9901 (PROVEN): rows were set apart by certify
        >>> model.predict_interval([[1.0]], level=0.9).round(1)
        array([[0. , 0.3]])
        """
        self._check_calibrated(level)
        scores, sizes, errors = self._scores_and_sizes(X, "predict_interval")
        half = errors.half_widths(level, sizes)
        ends = np.stack([scores - half, scores + half], axis=-1)
        return like_input(X, ends[:, 0] if self._one_output else ends)

    def _shaped(self, values: Any) -> Any:
        """Return one column for a single output as it was given."""
        if self._one_output:
            return values[:, 0]
        return values

    def _scores_and_sizes(self, X: Any, method: str) -> tuple[np.ndarray, np.ndarray, ErrorCalibration]:
        """Return predictions, standard deviations, and the errors that calibrate, for objects in memory."""
        self._check_calibrated()
        self._check_in_memory(X, method)
        errors = self._errors.completed(self._model, self._influence)
        assert errors.spread is not None
        scores, sizes = scores_and_sizes(*self._asked(X), self._influence, errors.spread, self._engine)
        return scores + self.intercept_, sizes, errors

    def explain(self, X: Any, output: int = 0, *, by: str = "auto") -> Explanations:
        """Return for every object which training examples decided the predicted number, with their numbers.

        See :meth:`SimilarityClassifier.explain`.

        Parameters
        ----------
        X : sequence of objects
        output : int
            Which output, if there are several.
        by : {"auto", "examples", "landmarks"}

        Returns
        -------
        Explanations
        """
        check_is_fitted(self)
        scores = self._scores(X)
        if not 0 <= output < scores.shape[1]:
            raise ValueError(f"output must be from 0 to {scores.shape[1] - 1}, got {brief(output)}")
        directions = np.zeros_like(scores)
        directions[:, output] = 1.0
        asked = Asked(scores[:, output], scores, directions, [None] * len(scores), getattr(self, "shift_", 0.0))
        return self._explain(X, by, asked)


def like_input(X: Any, values: np.ndarray) -> Any:
    """Return an array as a tensor on the same device, if X is one."""
    if is_tensor(X):
        return namespace(X).asarray(values, device=X.device)
    return values


def _notes_on_outliers(data: TrainingSet) -> list[str]:
    """Return a note that names targets far beyond all others; none where there are none."""
    far = outlying_rows(data.Y)
    if not len(far):
        return []
    named = ", ".join([*map(str, data.located_at(far)[:3]), *["..."] * (len(far) > 3)])
    sample = ""
    if not data.all_in_memory:
        sample = f" of a sample of {len(data.Y):,}"
    return [
        f"{number_of(len(far), 'target')}{sample} far beyond all others (row {named}), and squared errors let few such "
        "rows decide: loss='huber' gives them little influence"
    ]
