"""Importance of columns: by how much a model errs more when a column is permuted, or how steep its score is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from similitude.compute import is_table
from similitude.kernel_learning import model_gradients
from similitude.kernels import Gaussian, Laplace, Linear, Matern, RationalQuadratic
from similitude.support import ESTIMATE, Result, bar, check_choice, check_integer, generator, table

MOST_PRINTED = 20
"""Columns that are printed; the others are counted."""

STEEP = (Gaussian, Laplace, Linear, Matern, RationalQuadratic)
"""Kernels whose derivative is known."""


@dataclass(frozen=True, eq=False)
class Importance(Result):
    """How much a model depends on each column.

    Attributes
    ----------
    names : list of str
    values : array of float
        By permutation: by how much more often the model errs (for numbers: the increase of the mean squared error, as a
        share of the variance) if the column is permuted. By derivative: how much the score changes, root mean square,
        if the column changes by one standard deviation.
    low, high : array of float
        Intervals at 95 % for other rows, by the normal approximation; the model is taken as it is.
    by : {"permutation", "derivative"}
    grade : str
    """

    names: list[str]
    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    by: str
    grade: str = ESTIMATE

    @property
    def order(self) -> np.ndarray:
        """The columns by their number, the most important first."""
        return np.argsort(-self.values, kind="stable")

    @property
    def title(self) -> str:
        """What is measured, and the grade of the intervals."""
        what = "Change of the score per standard deviation of a column"
        if self.by == "permutation":
            what = "Increase of the error if a column is permuted"
        return f"{what} (95 %, {self.grade})"

    def __str__(self) -> str:
        width = max(map(len, self.names))
        shares = self._shares()
        lines = [self.title]
        for i in self.order[:MOST_PRINTED]:
            bar = "█" * round(20 * max(float(shares[i]), 0.0))
            interval = f"[{self.low[i]:.3g}, {self.high[i]:.3g}]"
            lines.append(f"  {self.names[i]:{width}}  {self.values[i]:9.3g}  {interval:20}  {bar}".rstrip())
        if len(self.names) > MOST_PRINTED:
            lines.append(f"  and {len(self.names) - MOST_PRINTED} more columns")
        return "\n".join(lines)

    def html_parts(self) -> Sequence[object]:
        """Return the columns with bars, the most important first."""
        cells = zip(self.names, map(bar, self._shares()), self.values, self.low, self.high, strict=True)
        columns = [(name, share, f"{x:.3g}", f"{low:.3g} to {high:.3g}") for name, share, x, low, high in cells]
        heads = ("column", "", "importance", "interval")
        rows = [columns[i] for i in self.order]
        return self.title, table(heads, rows, numbers=(2, 3), noun="columns", most=MOST_PRINTED)

    def _shares(self) -> list[float]:
        return (self.values / max(float(np.abs(self.values).max(initial=0.0)), 1e-300)).tolist()


def importance(
    model: Any, X: Any, y: Any, *, n_repeats: int = 10, by: str = "permutation", random_state: Any = None
) -> Importance:
    r"""Return how much a fitted model depends on each column of vectors or of a table.

    By permutation, column q is permuted among the rows, so that it says nothing about the label any more, but keeps its
    distribution; the importance is the mean increase of the loss,
    :math:`\frac1n \sum_i L(y_i, f(x_i^{\pi})) - L(y_i, f(x_i))`, over rows and `n_repeats` permutations (Breiman,
    "Random Forests", 2001). The loss is 1 for a wrong class, or the squared error over the variance of y. Columns that
    repeat each other stand in for each other, so that each of them may seem unimportant. Use rows that the model was
    not fitted to.

    By derivative, it is :math:`\sigma_q \sqrt{\frac1n \sum_i (\partial_q f(x_i))^2}`, from the derivative of the kernel
    (Gaussian, Laplace, linear, Matern, rational quadratic); the standard deviation :math:`\sigma_q` makes columns in
    different units comparable. Labels are not used. Of several classes, the mean square over their scores is taken.

    Parameters
    ----------
    model : estimator
        Fitted to vectors or a table.
    X : array, data frame, or list of dicts
    y : sequence
        Labels or numbers; by derivative they may be None.
    n_repeats : int
        Permutations of each column.
    by : {"permutation", "derivative"}
    random_state : int, optional

    Returns
    -------
    Importance

    Examples
    --------
    >>> import numpy as np
    >>> from similitude import SimilarityClassifier, importance
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 3))
    >>> y = X[:, 1] > 0                                     # only the second column matters
    >>> model = SimilarityClassifier(random_state=0).fit(X[:150], y[:150])
    >>> found = importance(model, X[150:], y[150:], random_state=0)
    >>> int(found.order[0]), bool(found.low[1] > 0.2)
    (1, True)
    >>> int(importance(model, X, None, by="derivative").order[0])
    1
    """
    check_choice("by", by, ("permutation", "derivative"))
    check_integer("n_repeats", n_repeats)
    check_is_fitted(model)
    names = column_labels(model, X)
    if by == "derivative":
        samples = _steepness(model, X)
        roots = np.sqrt(samples.mean(axis=0))
        spread = 1.96 * samples.std(axis=0) / np.sqrt(len(samples)) / np.maximum(2 * roots, 1e-300)
        return Importance(names, roots, np.maximum(roots - spread, 0.0), roots + spread, by)
    losses = _loss_of(model, y)
    rng = generator(random_state)
    before = losses(X)
    after = [np.mean([losses(one) for one in _permuted(X, q, n_repeats, rng)], axis=0) for q in range(len(names))]
    rises = np.array(after) - before
    values = rises.mean(axis=1)
    spread = 1.96 * rises.std(axis=1) / np.sqrt(len(before))
    return Importance(names, values, values - spread, values + spread, by)


def column_labels(model: Any, X: Any) -> list[str]:
    """Return the names of the columns, or their numbers."""
    if is_table(X):
        return [str(name) for name in X.columns]
    if isinstance(X, (list, tuple)) and X and isinstance(X[0], dict):
        return [str(name) for name in X[0]]
    if not hasattr(X, "shape") or len(X.shape) != 2:
        raise TypeError("importance is that of columns: X must be an array of vectors, a data frame or a list of dicts")
    known = getattr(model, "feature_names_in_", None)
    return [str(name) for name in known] if known is not None else [f"column {q}" for q in range(X.shape[1])]


def _loss_of(model: Any, y: Any) -> Any:
    """Return a function of rows: the loss of the prediction for each."""
    truth = np.asarray(y)
    if hasattr(model, "classes_"):
        return lambda X: (np.asarray(model.predict(X)) != truth).astype(float)
    scale = float(np.mean((truth - truth.mean(axis=0)) ** 2)) or 1.0
    axes = tuple(range(1, truth.ndim))
    return lambda X: ((np.asarray(model.predict(X)) - truth) ** 2).mean(axis=axes) / scale


def _permuted(X: Any, q: int, times: int, rng: np.random.Generator) -> Iterator[Any]:
    """Yield copies of X with column q permuted."""
    n = len(X) if not hasattr(X, "shape") else X.shape[0]
    for _ in range(times):
        order = rng.permutation(n)
        if is_table(X):
            name = X.columns[q]
            values = X[name].iloc[order].set_axis(X.index) if hasattr(X, "iloc") else X[name].gather(order)
            yield X.assign(**{name: values}) if hasattr(X, "iloc") else X.with_columns(values.alias(name))
        elif isinstance(X, (list, tuple)):
            name = list(X[0])[q]
            yield [{**row, name: X[i][name]} for row, i in zip(X, order, strict=True)]
        else:
            copy: Any = X.tolil(copy=True) if hasattr(X, "tolil") else np.array(X)
            copy[:, q] = copy[order, q]
            yield copy.tocsr() if hasattr(X, "tolil") else copy


def _steepness(model: Any, X: Any) -> np.ndarray:
    """Return the squared derivatives of the score at each row, per standard deviation of each column."""
    several = isinstance(getattr(model, "similarity_", None), (list, tuple))
    names = ("similarity_", "representation_", "landmarks_", "landmark_weights_")
    parts = [getattr(model, name, None) if several else [getattr(model, name, None)] for name in names]
    for k, representation in zip(*parts[:2], strict=True):
        if not isinstance(k, STEEP) or getattr(representation, "normalized", True):
            raise ValueError(
                f"the derivative of {k!r} is not known: by='derivative' takes a model of the kernels "
                f"{', '.join(kernel.__name__ for kernel in STEEP)}; by='permutation' takes any"
            )
    rows = np.asarray(X, dtype=float)
    terms = [_gradients(k, rows, np.asarray(near, float), weights) for k, _, near, weights in zip(*parts, strict=True)]
    gradients = np.sum(terms, axis=0)
    squares: np.ndarray = (gradients**2).mean(axis=1) * rows.var(axis=0)
    return squares


def _gradients(k: Any, rows: np.ndarray, landmarks: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the gradients of a weighted sum of similarities to landmarks, of shape (rows, outputs, columns)."""
    if isinstance(k, Linear):
        return np.broadcast_to((landmarks.T @ weights).T, (len(rows), weights.shape[1], rows.shape[1]))
    gradients = model_gradients(k, k.encode(rows), k.encode(landmarks), weights)
    metric = getattr(k, "metric", None)
    if metric is None:
        return gradients
    T = np.asarray(metric, dtype=float)  # the chain rule: gradients are those in the coordinates under the metric
    return gradients * T if T.ndim == 1 else gradients @ T.T
