"""Baselines, scored on the same held-out examples as the model: constant, nearest neighbor, linear model, boosting."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from similitude.compute import take
from similitude.report.findings.columns import CATEGORY, FLAG, ColumnFinding
from similitude.report.findings.held_out import Fold, HeldOutPredictions, Predictor, out_of_fold, similarity_of
from similitude.report.findings.inputs import Inputs
from similitude.report.findings.scores import Scores, ahead_of, scores
from similitude.report.limits import MAX_NEIGHBORS, MAX_TREES, MIN_EXAMPLES
from similitude.support import pairs_at

MODEL = "this model"


def compared(
    inputs: Inputs,
    model: Any,
    predictions: HeldOutPredictions,
    columns: Sequence[ColumnFinding],
    neighbors: Neighbors,
) -> tuple[tuple[Scores, ...], np.ndarray]:
    """Return the scores of the model and of the baselines, and which examples all but the constant one miss."""
    own = f"a linear model on similarities to {model.n_similarity_calls_:,} landmarks"
    found = [Scores(MODEL, own, scores(inputs, predictions))]
    missed = _missed(predictions)
    for name, about, predict in _baselines(inputs, columns, neighbors):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of solvers that stop early
            baseline = out_of_fold(inputs, predict)
        found.append(Scores(name, about, scores(inputs, baseline), ahead_of(baseline, predictions, inputs.seed)))
        if len(found) > 2:
            missed &= _missed(baseline)
    return tuple(found), inputs.tested[missed & inputs.of_classes]


def _missed(predictions: HeldOutPredictions) -> np.ndarray:
    return np.asarray((predictions.predicted != predictions.targets).all(axis=0))


def _baselines(
    inputs: Inputs, columns: Sequence[ColumnFinding], neighbors: Neighbors
) -> Iterator[tuple[str, str, Predictor]]:
    """Yield names, descriptions and predictors."""
    constant = "mean"
    kind = "ridge regression"
    if inputs.of_classes:
        constant = "most frequent class"
        kind = "logistic regression"
    yield constant, "the same prediction for all examples", lambda train, test: _constant(inputs, train, test)
    few = f" of {MAX_NEIGHBORS:,} of them" * (inputs.n > MAX_NEIGHBORS)
    about = f"the label of the most similar example that was fitted to{few}, by the same similarity"
    yield "nearest neighbor", about, neighbors.predict
    used = [one for one in columns if one.is_feature]
    if not used:
        return
    left_out = [one.name for one in columns if not one.is_feature]
    without = f" (without {', '.join(left_out)})" * bool(left_out)
    yield "linear model", f"scikit-learn's {kind} on scaled columns{without}", _of_columns(inputs, used, _linear)
    if inputs.n >= MIN_EXAMPLES:
        yield "gradient boosting", f"scikit-learn's HistGradientBoosting{without}", _of_columns(inputs, used, _boosting)


def _constant(inputs: Inputs, train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    learned = inputs.targets[train]
    if not inputs.of_classes:
        return np.full(len(test), learned.mean()), None
    shares = np.bincount(learned, minlength=len(inputs.classes)) / len(learned)
    return (np.tile(shares, (len(test), 1)),) * 2


def _of_columns(inputs: Inputs, columns: Sequence[ColumnFinding], make: Any) -> Predictor:
    """Return a predictor that fits a scikit-learn estimator to the columns; rare categories count as missing."""
    categorical = np.array([one.kind in (CATEGORY, FLAG) for one in columns])
    values = np.column_stack([one.values for one in columns])
    values[:, categorical] = np.where(values[:, categorical] < 40, values[:, categorical], np.nan)

    def predict(train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        fitted = make(inputs, len(train), categorical).fit(values[train], inputs.targets[train])
        if not inputs.of_classes:
            return fitted.predict(values[test]), None
        probabilities = np.zeros((len(test), len(inputs.classes)))
        probabilities[:, fitted.classes_] = fitted.predict_proba(values[test])
        return probabilities, probabilities

    return predict


def _linear(inputs: Inputs, n_rows: int, categorical: np.ndarray) -> Any:
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression, RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler())
    groups = make_column_transformer(
        (numbers, np.flatnonzero(~categorical)),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), np.flatnonzero(categorical)),
    )
    last = LogisticRegression(max_iter=500) if inputs.of_classes else RidgeCV(np.logspace(-3, 3, 13))
    return make_pipeline(groups, last)


def _boosting(inputs: Inputs, n_rows: int, categorical: np.ndarray) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    estimator = HistGradientBoostingClassifier if inputs.of_classes else HistGradientBoostingRegressor
    rounds = int(np.clip(MAX_TREES // max(len(inputs.classes), 1), 10, 100))
    early = n_rows >= 1000  # enough for a tenth of them to tell when to stop
    return estimator(max_iter=rounds, early_stopping=early, categorical_features=categorical, random_state=inputs.seed)


class Neighbors:
    """Similarities of held-out examples to examples fitted to, by the models' own similarities, computed once.

    They are a baseline, and a second opinion on the labels of held-out examples.
    """

    def __init__(self, inputs: Inputs, folds: Sequence[Fold]) -> None:
        self.inputs = inputs
        self.folds = folds
        self._compared: dict[int, tuple[np.ndarray, np.ndarray]] = {}  # by the place of the fold

    def predict(self, train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Predict the label of the most similar example; the score of a class is the largest similarity to it."""
        inputs = self.inputs
        chosen, K = self._similarities(train, test)
        targets = inputs.targets[chosen]
        if not inputs.of_classes:
            return targets[K.argmax(axis=1)], None
        best = np.full((len(test), len(inputs.classes)), K.min() - 1.0)
        for code in np.unique(targets):
            best[:, code] = K[:, targets == code].max(axis=1)
        return best, np.eye(len(inputs.classes))[best.argmax(axis=1)]

    def _similarities(self, train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the examples that tested ones are compared with, and the similarities."""
        place = next(place for place, fold in enumerate(self.folds) if fold[-1] is test)
        if place not in self._compared:
            X = self.inputs.X
            chosen = train
            if len(train) > MAX_NEIGHBORS:
                chosen = np.sort(self.inputs.rng().choice(train, MAX_NEIGHBORS, replace=False))
            k = similarity_of(self.folds[place][0])
            with pairs_at(test, chosen):
                self._compared[place] = chosen, np.asarray(k.cross(take(X, test), take(X, chosen)), dtype=np.float64)
        return self._compared[place]
