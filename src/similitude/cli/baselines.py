"""Baselines: models without similarities, suited to a kind of objects, and the folds in which all are compared."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.validation import has_fit_parameter

from similitude.compute import as_objects, is_sparse, take
from similitude.evaluation import (
    assign_folds,
    check_groups,
    fold_pairs,
    groups_for_fit,
    groups_of_classes,
    rarest_in_group,
    shuffled_pairs,
)
from similitude.kernels import DTW
from similitude.learners import SimilarityKNeighborsClassifier, SimilarityKNeighborsRegressor
from similitude.support import Result, brief, plain

COMPARED_FOLDS = 5
"""Number of folds, fewer if a class is smaller."""

MANY_CATEGORIES = 200
"""Rarer categories of a column with more than this many are taken together."""


@dataclass(frozen=True)
class ComparedModel(Result):
    """A model and its error in the folds."""

    name: str
    error: float  # the share of wrong predictions, or the mean squared error, of rows that it was not fitted to
    standard_error: float
    difference: float  # how much larger the error of the first model is, row by row: below 0, the first is better
    difference_error: float
    seconds: float  # of all fits and predictions

    @property
    def is_better(self) -> bool:
        """Whether the error is smaller than that of the first model by more than two standard errors."""
        return self.difference > 2 * self.difference_error

    @property
    def is_worse(self) -> bool:
        """Whether the error is larger than that of the first model by more than two standard errors."""
        return self.difference < -2 * self.difference_error


def judged(
    models: dict[str, Any],
    X: Any,
    y: np.ndarray,
    classes: bool,
    seed: int,
    say: Callable[[str], None],
    given: np.ndarray | None = None,
) -> tuple[list[ComparedModel], str]:
    """Return the models with their errors in the same folds, the first one first, and a description of the folds.

    No fold separates given groups, and standard errors then count groups, not rows. They allow for models that share
    training rows: they are larger by the root of one plus the number of rows over the number of training rows. (Nadeau
    and Bengio, "Inference for the Generalization Error", 2003.)
    """
    groups = check_groups(given, len(y))
    folds, described = _folds(y, classes, seed, groups)
    wider = np.sqrt(1 + len(y) / np.mean([len(train) for train, _ in folds]))
    losses = np.zeros((len(models), len(y)))
    seconds = np.zeros(len(models))
    for number, (train, test) in enumerate(folds, 1):
        for place, (name, model) in enumerate(models.items()):
            say(f"fold {number} of {len(folds)}: {name}")
            start = time.perf_counter()
            with warnings.catch_warnings():
                if place:
                    warnings.simplefilter("ignore")  # of solvers that stop early
                options = {}
                if groups is not None and has_fit_parameter(model, "groups"):
                    options["groups"] = groups_for_fit(groups, train)
                predicted = model.fit(take(X, train), y[train], **options).predict(take(X, test))
            seconds[place] += time.perf_counter() - start
            losses[place, test] = predicted != y[test] if classes else (predicted - y[test]) ** 2
    differences = losses[0] - losses

    def deviation(values: np.ndarray) -> np.ndarray:
        if groups is not None:
            sums = np.stack([np.bincount(groups, one) for one in values])
            values = sums * (sums.shape[1] / len(y))
        return np.asarray(wider * values.std(axis=1, ddof=1) / np.sqrt(values.shape[1]))

    means = (losses.mean(1), deviation(losses), differences.mean(1), deviation(differences))
    return [ComparedModel(*plain(row)) for row in zip(models, *means, seconds, strict=True)], described


def verdict(models: list[ComparedModel], classes: bool) -> str:
    """Say in a sentence whether the first model is better than the best of the others."""
    first = models[0]
    best = min(models[1:], key=lambda one: one.error)
    number = (lambda value: f"{100 * value:.1f} %") if classes else figure
    what = "not shown to be better than"
    if first.error >= best.error:
        what = "no better than"
    if best.is_worse:
        what = "better than every baseline; the best is" if len(models) > 2 else "better than"
    elif best.is_better:
        what = "worse than"
    error = "error" if classes else "squared error"
    return (
        f"{first.name} is {what} {best.name}: {number(first.error)} {error} and {number(best.error)}, a difference of "
        f"{number(abs(best.difference))} with a standard error of {number(best.difference_error)}"
    )


def figure(value: float) -> str:
    """Return a number with three digits, or without decimals if it is large.

    >>> figure(0.012345), figure(-45_901.7)
    ('0.0123', '-45,902')
    """
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def _folds(
    y: np.ndarray, classes: bool, seed: int, groups: np.ndarray | None
) -> tuple[list[tuple[np.ndarray, np.ndarray]], str]:
    """Return the rows of each fold, and a description of the folds."""
    stratified = ", stratified" if classes else ""
    names = np.array(["numbers"])
    codes = np.zeros(len(y), dtype=np.intp)
    if classes:
        names, codes = np.unique(y, return_inverse=True)
    counts = np.bincount(codes) if groups is None else groups_of_classes(codes, groups)
    if counts.min() < 2:
        label = brief(plain(names[counts.argmin()]))
        few = "has a single row" if groups is None else "is found in one group only"
        raise ValueError(f"class {label} {few}, and none is left to test: leave such rows out")
    n_folds = min(COMPARED_FOLDS, int(counts.min()))
    if groups is None:
        pairs = shuffled_pairs(len(y), n_folds, y if classes else None, seed)
        return pairs, f"{n_folds} folds{stratified}, seed {seed}"
    folds = assign_folds(groups, rarest_in_group(codes, groups), seed, n_folds)
    return fold_pairs(folds), f"{n_folds} folds{stratified}, groups together, seed {seed}"


def baselines(kind: str, X: Any, classes: bool, seed: int) -> dict[str, Any]:
    """Return unfitted baselines that suit a kind of objects, by name."""
    if classes:
        return {"always the most frequent class": DummyClassifier(), **dict(_suited(kind, X, True, seed))}
    return {"always the mean": DummyRegressor(), **dict(_suited(kind, X, False, seed))}


def _suited(kind: str, X: Any, classes: bool, seed: int) -> Iterator[tuple[str, Any]]:
    named = machine = "ridge regression"
    linear = RidgeCV(np.logspace(-3, 3, 13))
    of_texts = Ridge()
    boosting = HistGradientBoostingRegressor
    nearest = SimilarityKNeighborsRegressor
    if classes:
        named = "logistic regression"
        machine = "linear SVM"
        linear = LogisticRegression(max_iter=1000)
        of_texts = LinearSVC(random_state=seed)
        boosting = HistGradientBoostingClassifier
        nearest = SimilarityKNeighborsClassifier
    trees = boosting(random_state=seed, categorical_features="from_dtype")
    if kind == "vectors" and is_sparse(X):
        yield named, make_pipeline(StandardScaler(with_mean=False), linear)
    elif kind == "vectors":
        yield named, make_pipeline(*_imputed(), linear)
        yield "gradient boosting", trees
    elif kind == "table":
        yield f"{named}, one-hot", make_pipeline(FunctionTransformer(_cells), _one_hot(), linear)
        yield "gradient boosting", make_pipeline(FunctionTransformer(_cells), _codes(), trees)
    elif kind == "strings":
        if sum(" " in text for text in map(str, X)) > len(X) / 2:
            yield f"TF-IDF of words, {machine}", make_pipeline(TfidfVectorizer(sublinear_tf=True), of_texts)
        letters = TfidfVectorizer(sublinear_tf=True, analyzer="char", ngram_range=(1, 4), lowercase=False)
        yield f"TF-IDF of 1 to 4 letters, {machine}", make_pipeline(letters, of_texts)
    elif kind == "series":
        yield "nearest neighbor by DTW", nearest(DTW(), n_neighbors=1)
        if len({np.shape(one) for one in X}) == 1:
            yield f"{named} on the values", make_pipeline(FunctionTransformer(_flat), *_imputed(), linear)
    elif kind == "sets":
        yield f"{named} on items", _on_counts(_items, linear)
    elif kind == "graphs":
        yield f"{named} on counts of nodes, edges and labels", _on_counts(_graph_parts, linear)


def _imputed() -> list[Any]:
    return [SimpleImputer(keep_empty_features=True), StandardScaler()]


def _flat(X: Any) -> np.ndarray:
    return np.stack([np.ravel(one) for one in X]).astype(float)


def _on_counts(counts: Callable[[Any], dict[str, float]], model: Any) -> Any:
    counted = FunctionTransformer(lambda X: [counts(one) for one in as_objects(X)])
    return make_pipeline(counted, DictVectorizer(), StandardScaler(with_mean=False), model)


def _cells(frame: Any) -> Any:
    """Return a table with columns of floats or of texts; missing cells are NaN and an empty text."""
    import pandas as pd  # type: ignore[import-untyped]

    def converted(column: Any) -> Any:
        if pd.api.types.is_datetime64_any_dtype(column):
            return column.astype("int64").astype(float).where(column.notna())
        if pd.api.types.is_numeric_dtype(column):
            return column.astype("Float64").to_numpy(dtype=float, na_value=np.nan)
        return column.astype(object).where(column.notna(), "").astype(str)

    return pd.DataFrame({str(name): converted(frame[name]) for name in frame.columns}, index=frame.index)


def _one_hot() -> Any:
    few = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=MANY_CATEGORIES, sparse_output=False)
    return make_column_transformer(
        (make_pipeline(*_imputed()), make_column_selector(dtype_include="number")),
        (few, make_column_selector(dtype_exclude="number")),
    )


def _codes() -> Any:
    """Return a step that makes texts categories, as trees take them; those that no training row has are missing."""
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, max_categories=MANY_CATEGORIES - 1)
    texts = make_pipeline(codes, FunctionTransformer(lambda frame: frame.astype("category")))
    return make_column_transformer(
        (texts.set_output(transform="pandas"), make_column_selector(dtype_exclude="number")), remainder="passthrough"
    ).set_output(transform="pandas")


def _items(items: Any) -> dict[str, float]:
    return {f"{type(one).__name__} {one}": 1.0 for one in items}


def _graph_parts(graph: Any) -> dict[str, float]:
    """Return the numbers of nodes and edges of a graph, and of nodes of each degree and each label."""
    edges = np.asarray(graph[0], dtype=int).reshape(-1, 2)
    count = graph[1]
    labels: Any = ()
    if not isinstance(count, int):
        labels = graph[1]
        count = len(labels)
    found = {"nodes": float(count), "edges": float(len(edges))}
    names = [f"label {one}" for one in labels]
    names += [f"degree {one}" for one in np.bincount(edges.ravel(), minlength=count).tolist()]
    return found | {name: float(names.count(name)) for name in dict.fromkeys(names)}
