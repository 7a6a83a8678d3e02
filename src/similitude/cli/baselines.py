"""Baselines: models without similarities, suited to a kind of objects, and the folds in which all are judged."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

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
from similitude.support import Result, brief, plain

COMPARED_FOLDS = 5
"""Number of folds, fewer if a class is smaller."""

CLEAR_DIFFERENCE = 2.0
"""A difference of more than this many standard errors is taken for real."""

MANY_CATEGORIES = 200
"""Rarer categories of a column with more than this many are taken together."""


@dataclass(frozen=True)
class ComparedModel(Result):
    """A model and its error in the folds.

    Attributes
    ----------
    name : str
    error : float
        The share of wrong predictions, or the mean squared error, of rows that it was not fitted to.
    standard_error : float
        Of the error; `difference_error` is that of the difference.
    difference : float
        How much larger the error of the first model is, row by row: below 0, the first is better.
    difference_error : float
    seconds : float
        Time of all fits and predictions.
    """

    name: str
    error: float
    standard_error: float
    difference: float
    difference_error: float
    seconds: float

    @property
    def is_better(self) -> bool:
        """Whether the error is smaller than that of the first model by more than chance explains."""
        return self.difference > CLEAR_DIFFERENCE * self.difference_error

    @property
    def is_worse(self) -> bool:
        """Whether the error is larger than that of the first model by more than chance explains."""
        return self.difference < -CLEAR_DIFFERENCE * self.difference_error


Maker = Callable[[], Any]
"""Makes an estimator with `fit` and `predict`."""


def judged(
    makers: dict[str, Maker],
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
    from sklearn.utils.validation import has_fit_parameter  # loads slowly

    groups = None if given is None else check_groups(given, len(y))
    folds, described = _folds(y, classes, seed, groups)
    wider = np.sqrt(1 + len(y) / np.mean([len(train) for train, _ in folds]))
    losses, seconds = np.zeros((len(makers), len(y))), np.zeros(len(makers))
    for number, (train, test) in enumerate(folds, 1):
        for place, (name, make) in enumerate(makers.items()):
            say(f"fold {number} of {len(folds)}: {name}")
            start = time.perf_counter()
            with warnings.catch_warnings():
                if place:
                    warnings.simplefilter("ignore")  # of solvers that stop early
                model, together = make(), groups_for_fit(groups, train)
                told = {} if together is None or not has_fit_parameter(model, "groups") else {"groups": together}
                predicted = model.fit(take(X, train), y[train], **told).predict(take(X, test))
            seconds[place] += time.perf_counter() - start
            losses[place, test] = predicted != y[test] if classes else (predicted - y[test]) ** 2
    apart = losses[0] - losses

    def deviation(values: np.ndarray) -> np.ndarray:
        if groups is not None:
            sums = np.stack([np.bincount(groups, one) for one in values])
            values = sums * (sums.shape[1] / len(y))
        return np.asarray(wider * values.std(axis=1, ddof=1) / np.sqrt(values.shape[1]))

    rows = zip(makers, losses.mean(1), deviation(losses), apart.mean(1), deviation(apart), seconds, strict=True)
    return [ComparedModel(*plain(row)) for row in rows], described


def verdict(models: list[ComparedModel], classes: bool) -> str:
    """Say in a sentence whether the first model is better than the best of the others.

    >>> models = [ComparedModel("a", 0.1, 0.01, 0.0, 0.0, 1.0), ComparedModel("b", 0.12, 0.01, -0.02, 0.015, 1.0)]
    >>> verdict(models, classes=True)
    'a is not shown to be better than b: 10.0 % error and 12.0 %, a difference of 2.0 % with a standard error of 1.5 %'
    """
    first, best = models[0], min(models[1:], key=lambda one: one.error)
    number = (lambda value: f"{100 * value:.1f} %") if classes else figure
    what = "no better than" if first.error >= best.error else "not shown to be better than"
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
    y: np.ndarray, classes: bool, seed: int, groups: np.ndarray | None = None
) -> tuple[list[tuple[np.ndarray, np.ndarray]], str]:
    if groups is not None:
        return _folds_of_groups(y, classes, seed, groups)
    smallest = int(np.unique(y, return_counts=True)[1].min()) if classes else len(y)
    n_folds = min(COMPARED_FOLDS, max(smallest, 2), len(y))
    if classes and smallest < 2:
        label = brief(plain(np.unique(y)[np.unique(y, return_counts=True)[1].argmin()]))
        raise ValueError(f"class {label} has a single row, and none is left to test: leave such rows out")
    pairs = shuffled_pairs(len(y), n_folds, y if classes else None, seed)
    return pairs, f"{n_folds} folds{', stratified' if classes else ''}, seed {seed}"


def _folds_of_groups(
    y: np.ndarray, classes: bool, seed: int, groups: np.ndarray
) -> tuple[list[tuple[np.ndarray, np.ndarray]], str]:
    codes = np.unique(y, return_inverse=True)[1] if classes else np.zeros(len(y), dtype=np.intp)
    fewest = groups_of_classes(codes, groups)
    if fewest.min() < 2:
        label = brief(plain(np.unique(y)[fewest.argmin()]))
        raise ValueError(f"class {label} is found in one group only, and none is left to test: leave such rows out")
    n_folds = min(COMPARED_FOLDS, int(fewest.min()) if classes else int(groups.max()) + 1)
    folds = assign_folds(groups, rarest_in_group(codes, groups), seed, n_folds)
    return fold_pairs(folds), f"{n_folds} folds{', stratified' if classes else ''}, groups together, seed {seed}"


def baselines(kind: str, X: Any, classes: bool, seed: int) -> dict[str, Maker]:
    """Return baselines that suit a kind of objects, by name."""
    from sklearn.dummy import DummyClassifier, DummyRegressor

    constant = "always the most frequent class" if classes else "always the mean"
    found: dict[str, Maker] = {constant: DummyClassifier if classes else DummyRegressor}
    return {**found, **dict(_suited(kind, X, classes, seed))}


def _suited(kind: str, X: Any, classes: bool, seed: int) -> Iterator[tuple[str, Maker]]:
    linear = "logistic regression" if classes else "ridge regression"
    if kind == "vectors":
        yield linear, lambda: _piped(*_scaled(is_sparse(X)), _linear(classes))
        if not is_sparse(X):
            yield "gradient boosting", lambda: _boosting(classes, seed)
    elif kind == "table":
        yield f"{linear}, one-hot", lambda: _piped(_cells(), _one_hot(), _linear(classes))
        yield "gradient boosting", lambda: _piped(_cells(), _codes(), _boosting(classes, seed))
    elif kind == "strings":
        machine = "linear SVM" if classes else "ridge regression"
        if sum(" " in text for text in map(str, X)) > len(X) / 2:
            yield f"TF-IDF of words, {machine}", lambda: _piped(_tf_idf("word"), _margin(classes, seed))
        yield f"TF-IDF of 1 to 4 letters, {machine}", lambda: _piped(_tf_idf("char"), _margin(classes, seed))
    elif kind == "series":
        yield "nearest neighbor by DTW", lambda: _nearest(classes)
        if len({np.shape(one) for one in X}) == 1:
            yield f"{linear} on the values", lambda: _piped(_flat(), *_scaled(), _linear(classes))
    elif kind in ("sets", "graphs"):
        counts, what = (_items, "items") if kind == "sets" else (_graph_parts, "counts of nodes, edges and labels")
        yield f"{linear} on {what}", lambda: _piped(*_counted(counts), _linear(classes))


def _piped(*steps: Any) -> Any:
    from sklearn.pipeline import make_pipeline

    return make_pipeline(*steps)


def _scaled(sparse: bool = False) -> list[Any]:
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import StandardScaler

    return [StandardScaler(with_mean=False)] if sparse else [SimpleImputer(keep_empty_features=True), StandardScaler()]


def _linear(classes: bool) -> Any:
    from sklearn.linear_model import LogisticRegression, RidgeCV

    return LogisticRegression(max_iter=1000) if classes else RidgeCV(np.logspace(-3, 3, 13))


def _margin(classes: bool, seed: int) -> Any:
    from sklearn.linear_model import Ridge
    from sklearn.svm import LinearSVC

    return LinearSVC(random_state=seed) if classes else Ridge()


def _boosting(classes: bool, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    make = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    return make(random_state=seed, categorical_features="from_dtype")


def _tf_idf(analyzer: str) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    letters = {"ngram_range": (1, 4), "lowercase": False} if analyzer == "char" else {}
    return TfidfVectorizer(analyzer=analyzer, sublinear_tf=True, **letters)


def _nearest(classes: bool) -> Any:
    from similitude.kernels import DTW
    from similitude.learners import SimilarityKNeighborsClassifier, SimilarityKNeighborsRegressor

    return (SimilarityKNeighborsClassifier if classes else SimilarityKNeighborsRegressor)(DTW(), n_neighbors=1)


def _function(function: Callable[[Any], Any]) -> Any:
    from sklearn.preprocessing import FunctionTransformer

    return FunctionTransformer(function)


def _flat() -> Any:
    return _function(lambda X: np.stack([np.ravel(one) for one in X]).astype(float))


def _cells() -> Any:
    """Return a step that makes every column one of floats or of texts; missing cells are NaN and an empty text."""
    import pandas as pd  # type: ignore[import-untyped]

    def cells(frame: Any) -> Any:
        def converted(column: Any) -> Any:
            if pd.api.types.is_datetime64_any_dtype(column):
                return column.astype("int64").astype(float).where(column.notna())
            if pd.api.types.is_numeric_dtype(column):
                return column.astype("Float64").to_numpy(dtype=float, na_value=np.nan)
            return column.astype(object).where(column.notna(), "").astype(str)

        return pd.DataFrame({str(name): converted(frame[name]) for name in frame.columns}, index=frame.index)

    return _function(cells)


def _one_hot() -> Any:
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.preprocessing import OneHotEncoder

    few = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=MANY_CATEGORIES, sparse_output=False)
    return make_column_transformer(
        (_piped(*_scaled()), make_column_selector(dtype_include="number")),
        (few, make_column_selector(dtype_exclude="number")),
    )


def _codes() -> Any:
    """Return a step that makes texts categories, as trees take them; those that no training row has are missing."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.preprocessing import OrdinalEncoder

    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, max_categories=MANY_CATEGORIES - 1)
    texts = _piped(codes, _function(lambda frame: frame.astype("category"))).set_output(transform="pandas")
    return make_column_transformer(
        (texts, make_column_selector(dtype_exclude="number")), remainder="passthrough"
    ).set_output(transform="pandas")


def _counted(counts: Callable[[Any], dict[str, float]]) -> list[Any]:
    from sklearn.feature_extraction import DictVectorizer

    return [_function(lambda X: [counts(one) for one in as_objects(X)]), DictVectorizer(), *_scaled(sparse=True)]


def _items(items: Any) -> dict[str, float]:
    return {f"{type(one).__name__} {one}": 1.0 for one in items}


def _graph_parts(graph: Any) -> dict[str, float]:
    """Return the numbers of nodes and edges of a graph, and of nodes of each degree and each label.

    >>> _graph_parts(([[0, 1], [1, 2]], ["C", "C", "O"]))
    {'nodes': 3.0, 'edges': 2.0, 'label C': 2.0, 'label O': 1.0, 'degree 1': 2.0, 'degree 2': 1.0}
    """
    edges, nodes = np.asarray(graph[0], dtype=int).reshape(-1, 2), graph[1]
    count = nodes if isinstance(nodes, int) else len(nodes)
    found = {"nodes": float(count), "edges": float(len(edges))}
    names = [] if isinstance(nodes, int) else [f"label {one}" for one in nodes]
    names += [f"degree {one}" for one in np.bincount(edges.ravel(), minlength=count).tolist()]
    return found | {name: float(names.count(name)) for name in dict.fromkeys(names)}
