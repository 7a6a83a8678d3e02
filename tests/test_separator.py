"""The zero-noise separator: scikit-learn's contract, the margin it maximizes, conflicts where there is none."""

import math
import pickle

import numpy as np
import pytest
import sklearn
from grids import thin
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version
from sklearn.utils.validation import validate_data

from similitude import margin
from similitude.errors import InseparableError
from similitude.learners import SeparatorLP

INSEPARABLE = "this check fits data that no hyperplane separates, and SeparatorLP says so"
EXPECTED_FAILURES = dict.fromkeys(
    [
        "check_classifier_data_not_an_array",
        "check_classifiers_train",
        *(["check_dtype_object"] if parse_version(sklearn.__version__) >= parse_version("1.8") else []),
        "check_estimator_sparse_array",
        "check_estimator_sparse_matrix",
        "check_estimator_sparse_tag",
        "check_estimators_dtypes",
        "check_estimators_nan_inf",
        "check_fit_check_is_fitted",
        "check_fit_idempotent",
        "check_fit_score_takes_y",
        "check_n_features_in",
        "check_n_features_in_after_fitting",
        "check_positive_only_tag_during_fit",
        "check_supervised_y_2d",
    ],
    INSEPARABLE,
)


@pytest.mark.deep  # the checks that it passes are those of the next test too
@parametrize_with_checks([SeparatorLP()], expected_failed_checks=lambda estimator: EXPECTED_FAILURES)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


class Forgiving(SeparatorLP):
    """Where the examples cannot be separated, separates the means of their classes."""

    def fit(self, X, y):
        try:
            return super().fit(X, y)
        except InseparableError:
            X, y = validate_data(self, X, y, accept_sparse="csr")
            classes = np.unique(y)
            return super().fit([np.asarray(X[np.flatnonzero(y == c)].mean(axis=0)).ravel() for c in classes], classes)


@parametrize_with_checks([Forgiving()])
def test_with_separable_data_the_whole_contract_holds(estimator, check):
    check(estimator)


def separable(rng, n, d, n_classes=2, gap=0.1, intercept=True):
    X = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-3, 4, d)
    scores = (X / abs(X).max(axis=0)) @ rng.standard_normal((d, n_classes)) + intercept * rng.random(n_classes)
    best = np.sort(scores, axis=1)
    clear = best[:, -1] - best[:, -2] > gap
    return X[clear], scores.argmax(axis=1)[clear]


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_no_training_error(n_classes, fit_intercept):
    rng = np.random.default_rng(n_classes)
    X, y = separable(rng, 150, 6, n_classes, 0.1, fit_intercept)
    model = SeparatorLP(fit_intercept=fit_intercept).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.coef_.shape == ((1, 6) if n_classes == 2 else (n_classes, 6))
    assert model.intercept_.shape == ((1,) if n_classes == 2 else (n_classes,))
    assert fit_intercept or not model.intercept_.any()
    assert 0 < model.margin_ <= 1
    of_sparse = SeparatorLP(fit_intercept=fit_intercept).fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(of_sparse.margin_, model.margin_, rtol=1e-6)
    np.testing.assert_array_equal(of_sparse.predict(sparse.csr_array(X)), y)


def naive_margin(model, X, y):
    """The smallest cosine between w_own - w_other and the example, an intercept as one more feature."""
    codes = [list(model.classes_).index(label) for label in y]
    W = [list(w) + ([b] if model.fit_intercept else []) for w, b in zip(model.coef_, model.intercept_, strict=True)]
    W = [[0.0] * len(W[0]), *W] if len(model.classes_) == 2 else W
    cosines = []
    for x, own in zip(X, codes, strict=True):
        x = list(x) + ([1.0] if model.fit_intercept else [])
        for other in set(range(len(W))) - {own}:
            w = [a - b for a, b in zip(W[own], W[other], strict=True)]
            cosines.append(sum(a * b for a, b in zip(w, x, strict=True)) / math.hypot(*w) / math.hypot(*x))
    return min(cosines)


@pytest.mark.parametrize(("n_classes", "fit_intercept"), [(2, True), (2, False), (3, True), (3, False)])
def test_margin_attained(n_classes, fit_intercept):
    X, y = separable(np.random.default_rng(1), 60, 3, n_classes, 0.05, fit_intercept)
    model = SeparatorLP(fit_intercept=fit_intercept).fit(X, y)
    assert model.margin_ == pytest.approx(naive_margin(model, X, y))


def test_margin_maximized_is_the_one_that_is_documented():
    """In the plane: try every direction on the square |v|_inf = 1."""
    rng = np.random.default_rng(5)
    for _ in range(5):
        X, y = separable(rng, 30, 2, 2, 0.1, False)
        scale = 2.0 ** np.ceil(np.log2(abs(X).max(axis=0)))
        Z, signs = X / scale, 2 * y - 1
        edge = np.linspace(-1, 1, 2001)
        square = [*((s, e) for s in (-1, 1) for e in edge), *((e, s) for s in (-1, 1) for e in edge)]
        best = max(min(signs * (Z @ v) / np.linalg.norm(Z, axis=1)) for v in np.array(square))
        v = SeparatorLP(fit_intercept=False).fit(X, y).coef_[0] * scale
        assert abs(v).max() == pytest.approx(1.0)
        attained = min(signs * (Z @ v) / np.linalg.norm(Z, axis=1))
        assert best - 1e-9 <= attained <= best + 2e-3


@pytest.mark.parametrize("d", [2, 5, 20])
def test_euclidean_margin_is_near_the_largest(d):
    rng = np.random.default_rng(d)
    X, y = separable(rng, 80, d, 2, 0.05, False)
    Z = X / 2.0 ** np.ceil(np.log2(abs(X).max(axis=0)))
    largest = margin("linear", Z, y).value
    found = SeparatorLP(fit_intercept=False).fit(Z, y).margin_
    assert largest / math.sqrt(d) <= found * (1 + 1e-9) <= largest * (1 + 2e-9)


def test_ties_and_signs():
    model = SeparatorLP().fit([[-1.0], [1.0]], ["no", "yes"])
    assert model.intercept_[0] == pytest.approx(0.0)
    assert model.decision_function([[2.0]]) > 0
    model.coef_, model.intercept_ = np.zeros((1, 1)), np.zeros(1)
    np.testing.assert_array_equal(model.predict([[3.0]]), ["yes"])
    several = SeparatorLP().fit([[-1.0], [0.0], [1.0]], [3, 1, 2])
    several.coef_, several.intercept_ = np.zeros((3, 1)), np.zeros(3)
    np.testing.assert_array_equal(several.predict([[3.0]]), [1])


@pytest.mark.parametrize("size", [1e-9, 1e-6, 1e-3])
def test_small_margins_are_found(size):
    rng = np.random.default_rng(0)
    w = np.array([1.0, 2.0, -1.0]) / math.sqrt(6)
    X = rng.standard_normal((50, 3))
    side = X @ w > 0
    X += np.outer(np.where(side, size, -size) - X @ w, w)
    model = SeparatorLP(fit_intercept=False).fit(X, side)
    assert model.score(X, side) == 1.0
    assert 0 < model.margin_ < 10 * size


@given(st.integers(-30, 30), st.integers(-30, 30))
def test_units_of_features_do_not_matter(a, b):
    X, y = separable(np.random.default_rng(2), 40, 2, 2, 0.1)
    units = np.array([2.0**a, 2.0**b])
    model, other = SeparatorLP().fit(X, y), SeparatorLP().fit(X * units, y)
    np.testing.assert_allclose(other.coef_ * units, model.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(other.predict(X * units), y)


def can_be_separated(X, y, **params):
    try:
        SeparatorLP(**params).fit(X, y)
    except InseparableError:
        return False
    return True


@pytest.mark.parametrize(
    ("store", "problem"),
    thin([np.asarray, sparse.csr_matrix], [(1, 2, True), (2, 2, False), (4, 2, True), (3, 4, True)]),
)
def test_conflicts_are_few_and_every_one_is_needed(store, problem):
    d, n_classes, fit_intercept = problem
    rng = np.random.default_rng(d)
    for _ in range(2):
        X, y = rng.standard_normal((60, d)), rng.integers(0, n_classes, 60)
        with pytest.raises(InseparableError) as caught:
            SeparatorLP(fit_intercept=fit_intercept).fit(store(X), y)
        conflicts = list(caught.value.conflicts)
        assert len(conflicts) <= (d + 1) * (n_classes - 1) + 1
        codes = np.unique(y[conflicts], return_inverse=True)[1]
        assert not can_be_separated(X[conflicts], codes, fit_intercept=fit_intercept)
        for i in conflicts:
            rest = [j for j in conflicts if j != i]
            if len(set(y[rest])) == n_classes:
                assert can_be_separated(X[rest], y[rest], fit_intercept=fit_intercept)


def test_a_contradiction_is_named_first():
    X = np.random.default_rng(0).standard_normal((100, 3))
    y = (X[:, 0] > 0).astype(int)
    X[70], y[70] = X[20], 1 - y[20]
    X[70, 1] = X[20, 1] = 0.0
    X[70, 1] *= -1.0  # -0.0 equals 0.0
    with pytest.raises(InseparableError, match=r"20 .*, 70 ") as caught:
        SeparatorLP().fit(X, y)
    assert caught.value.conflicts == (20, 70)
    assert pickle.loads(pickle.dumps(caught.value)).conflicts == (20, 70)


def test_exclusive_or():
    X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], ["even", "even", "odd", "odd"]
    with pytest.raises(InseparableError, match="'even'") as caught:
        SeparatorLP().fit(X, y)
    assert caught.value.conflicts == (0, 1, 2, 3)
    assert isinstance(caught.value, ValueError)


def test_the_origin_is_on_no_side_of_a_separator_through_it():
    with pytest.raises(InseparableError, match="through the origin") as caught:
        SeparatorLP(fit_intercept=False).fit([[1.0], [0.0], [-1.0]], [1, 1, 0])
    assert caught.value.conflicts == (1,)
    assert SeparatorLP().fit([[1.0], [0.0], [-1.0]], [1, 1, 0]).margin_ > 0


def test_long_conflicts_are_cut_short_in_the_message():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((120, 20)), rng.integers(0, 2, 120)
    with pytest.raises(InseparableError, match=r"and \d+ more") as caught:
        SeparatorLP().fit(X, y)
    assert 10 < len(caught.value.conflicts) <= 22


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0], [2.0]], [1, 1], "one class"),
        ([[1.0], [2.0]], [0.5, 1.5], "Unknown label type"),
        ([[1.0], [2.0]], [1, 0, 1], "inconsistent"),
        ([[1.0], [np.nan]], [1, 0], "NaN"),
        ([[1.0], [2.0]], [1.0, np.nan], "NaN"),
    ],
)
def test_bad_input(X, y, message):
    with pytest.raises(ValueError, match=message):
        SeparatorLP().fit(X, y)


def test_constant_and_empty_features_and_clone():
    X = np.array([[0.0, 3.0, -1.0], [0.0, 3.0, 1.0]])
    model = clone(SeparatorLP(fit_intercept=True)).fit(X, [0, 1])
    assert model.score(X, [0, 1]) == 1.0
    assert np.isfinite(model.coef_).all()
