"""SeparatorLP: a linear separator without training errors, by linear programming."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from similitude.compute import as_numpy, is_sparse, is_tensor
from similitude.learners.kernel_learner import without_single_column
from similitude.learners.limits import FEASIBILITY_TOLERANCE
from similitude.learners.svm.hard_margin import inseparable, smallest_conflict
from similitude.scikit import ScoreClassifier, check_labels, tensors_for_tensors
from similitude.support import check_flag, naming_parameters


@naming_parameters
class SeparatorLP(ScoreClassifier, BaseEstimator):
    r"""A linear separator without training errors, or an error that names conflicting examples.

    With two classes it solves, by linear programming (HiGHS),

    .. math:: \max_{t, v}\ t \quad\text{such that}\quad y_i\,\langle v, z_i\rangle \ge t\,\lVert z_i\rVert_2
              \ \text{ for all } i, \qquad \lVert v\rVert_\infty \le 1,

    where :math:`z_i` is the example with each feature divided by its largest magnitude (rounded up to a power of
    two) and, with an intercept, an additional feature that is constantly 1. The solution has the largest
    :math:`\min_i y_i \langle v, z_i\rangle / (\lVert v\rVert_\infty \lVert z_i\rVert_2)`. In D features (including the
    constant) its Euclidean margin on the :math:`z_i` is at least :math:`1/\sqrt D` of the largest. Several classes are
    one linear program too, with :math:`\langle v_{y_i} - v_c, z_i\rangle \ge t \lVert z_i\rVert_2` for every other
    class c.

    Any such separator can be used after a map that keeps the classes separable (Balcan, Blum and Vempala, "On Kernels,
    Margins, and Low-dimensional Mappings", section 1: learn a linear separator without errors in the mapped space).

    Parameters
    ----------
    fit_intercept : bool
        False: the separator passes through the origin.

    Attributes
    ----------
    coef_ : array of shape (1, n_features), or (n_classes, n_features) for several classes
    intercept_ : array of shape (1,) or (n_classes,)
        Zero without an intercept.
    classes_ : array
        The labels in sorted order.
    margin_ : float
        The Euclidean normalized margin attained on the training data as given,
        ``min y_i (<w, x_i> + b) / (|(w, b)| |(x_i, 1)|)``, or without an intercept
        ``min y_i <w, x_i> / (|w| |x_i|)``. For several classes, the minimum over all pairs of classes.
    n_features_in_ : int

    Raises
    ------
    InseparableError
        In ``fit``, if no separator has a margin above about 1e-9; it names conflicting examples.

    Examples
    --------
    >>> from similitude.learners import SeparatorLP
    >>> model = SeparatorLP().fit([[0.0, 1.0], [1.0, 3.0], [4.0, 2.0], [5.0, 0.0]], ["a", "a", "b", "b"])
    >>> model.predict([[0.0, 0.0], [6.0, 1.0]])
    array(['a', 'b'], dtype='<U1')
    >>> round(model.margin_, 3)
    0.268
    """

    def __init__(self, *, fit_intercept: bool = True) -> None:
        self.fit_intercept = fit_intercept

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any) -> SeparatorLP:
        """Find the separator.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, n_features)
        y : array of shape (n,)
            Labels of two or more classes.
        """
        check_flag("fit_intercept", self.fit_intercept)
        X, y = (as_numpy(one) if is_tensor(one) else one for one in (X, y))
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        X = sparse.csr_array(X)
        self.classes_, codes = check_labels(self, X, y)
        features = self._features(X)
        largest = abs(features).max(axis=0).toarray().ravel()
        scale = 2.0 ** np.ceil(np.log2(np.where(largest > 0, largest, 1.0)))
        rows, examples = _constraints(features @ sparse.diags_array(1 / scale), codes, len(self.classes_))
        v, duals = _largest_margin(rows)
        if not (rows @ v).min() > 0:
            what = "a hyperplane" + " through the origin" * (not self.fit_intercept)
            if len(self.classes_) > 2:
                what = "a linear score for each class" + " without an intercept" * (not self.fit_intercept)
            raise inseparable(what, _conflict(X, codes, rows, examples, duals), y)
        w = v.reshape(-1, len(scale)) / scale
        self.coef_ = w[:, : X.shape[1]]
        self.intercept_ = np.zeros(len(w))
        if self.fit_intercept:
            self.intercept_ = w[:, -1]
        self.margin_ = self._margin(features, codes, w)
        return self

    @tensors_for_tensors
    def decision_function(self, X: Any) -> np.ndarray:
        """Return <w, x> + b of each example: of shape (n,) with two classes, (n, n_classes) with more."""
        check_is_fitted(self)
        X = as_numpy(X) if is_tensor(X) else X
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return without_single_column(X @ self.coef_.T + self.intercept_)

    def _features(self, X: sparse.csr_array) -> sparse.csr_array:
        """Return X, with a constant feature for the intercept."""
        if not self.fit_intercept:
            return X
        return sparse.hstack([X, np.ones((X.shape[0], 1))], format="csr")

    def _margin(self, features: sparse.csr_array, codes: np.ndarray, W: np.ndarray) -> float:
        if len(self.classes_) == 2:
            W = np.concatenate([0 * W, W])
        scores = features @ W.T
        norms = row_norms(features)
        margins = []
        for c in range(len(W)):
            others = np.flatnonzero(codes != c)
            lead = scores[others, codes[others]] - scores[others, c]
            margins.append(lead / norms[others] / row_norms(W[codes[others]] - W[c]))
        return float(np.concatenate(margins).min())


def _constraints(Z: Any, codes: np.ndarray, n_classes: int) -> tuple[Any, np.ndarray]:
    """Return constraints ``rows @ v > 0`` on a separator, <v_own - v_other, z> / |z|, and the example of each."""
    norms = row_norms(Z)
    units = sparse.diags_array(1 / np.where(norms > 0, norms, 1)) @ Z
    if n_classes == 2:
        return (sparse.diags_array(2.0 * codes - 1) @ units).tocsr(), np.arange(len(codes))
    examples = [np.flatnonzero(codes != other) for other in range(n_classes)]
    rows = [_against(other, units[some], codes[some], n_classes) for other, some in enumerate(examples)]
    return sparse.vstack(rows, format="csr"), np.concatenate(examples)


def _against(other: int, units: Any, own: np.ndarray, n_classes: int) -> Any:
    """Return rows with z in the block of v_own and -z in that of v_other, for each example."""
    units = units.tocoo()
    d = units.shape[1]
    values = np.concatenate([units.data, -units.data])
    columns = np.concatenate([units.col + d * own[units.row], units.col + d * other])
    shape = (len(own), n_classes * d)
    return sparse.csr_array((values, (np.concatenate([units.row, units.row]), columns)), shape=shape)


def _largest_margin(rows: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return v with |v|_inf <= 1 and the largest min(rows @ v), and the dual variable of each row."""
    n, d = rows.shape
    program = {
        "c": np.append(np.zeros(d), -1.0),
        "A_ub": sparse.hstack([-rows, np.ones((n, 1))], format="csr"),
        "b_ub": np.zeros(n),
        "bounds": [(-1, 1)] * d + [(0, None)],
    }
    exact = {"primal_feasibility_tolerance": FEASIBILITY_TOLERANCE, "dual_feasibility_tolerance": FEASIBILITY_TOLERANCE}
    for method in ("highs-ipm", "highs-ds"):
        found = linprog(**program, method=method, options=exact)
        if found.status == 0:
            return found.x[:d], -found.ineqlin.marginals
    raise RuntimeError(f"HiGHS did not solve the linear program: {found.message}")


def _conflict(X: Any, codes: np.ndarray, rows: Any, examples: np.ndarray, duals: np.ndarray) -> np.ndarray:
    """Return a few examples in conflict: by Farkas' lemma, rows with positive dual variables combine to zero."""
    zero = examples[row_norms(rows) == 0]
    if len(zero):
        return np.unique(zero)
    first: dict[tuple[bytes, bytes], int] = {}
    for i in range(X.shape[0]):
        row = X[[i]]
        row.sum_duplicates()
        row.eliminate_zeros()
        j = first.setdefault((row.indices.tobytes(), row.data.tobytes()), i)
        if codes[i] != codes[j]:
            return np.array([j, i])
    points = np.unique(examples[duals > FEASIBILITY_TOLERANCE])

    def separator(some: np.ndarray) -> np.ndarray | None:
        if not len(some):
            return np.zeros(rows.shape[1])
        inside = rows[np.isin(examples, some)]
        v = _largest_margin(inside)[0]
        if (inside @ v).min() > 0:
            return v
        return None

    while len(points) < len(codes):  # rounding may hide a positive dual variable: add the worst example
        v = separator(points)
        if v is None:
            break
        points = np.union1d(points, examples[(rows @ v).argmin()])
    return smallest_conflict(points, lambda some: separator(some) is None)


def row_norms(X: Any) -> np.ndarray:
    """Return the Euclidean length of each row, dense or sparse."""
    largest = float(abs(X).max()) or 1.0
    if is_sparse(X):
        return largest * np.sqrt(np.asarray((X / largest).power(2).sum(axis=1)).ravel())
    return largest * np.linalg.norm(X / largest, axis=1)
