"""Ridge regression and classification: against explicit features, brute force, and scikit-learn."""

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge as ScikitKernelRidge
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_predict

from similitude import FromPairs, Precomputed
from similitude.engines import LocalEngine
from similitude.errors import NotAKernelError
from similitude.kernels import Gaussian, Linear, Polynomial
from similitude.learners.ridge import KernelRidge, KernelRidgeClassifier

rng = np.random.default_rng(0)
X = rng.standard_normal((25, 3))
Y = np.stack([np.sin(2 * X[:, 0]) + 0.3 * X[:, 1], X[:, 2] ** 2 - 3], axis=1) + 0.1 * rng.standard_normal((25, 2))
WEIGHTS = rng.uniform(0.1, 3.0, 25)
LAMS = [0.0, 1e-4, 0.03, 1.0, 50.0]
WORDS = ["kernel", "colonel", "kern", "lek", "margin", "map", "maps", "gram", "grammar", "", "kernel"]


def features(K):
    """Vectors whose inner products are K."""
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0))


def explicit_ridge(F, y, s, lam, intercept):
    """The minimizer over explicit features: w and b; the shortest w for lam = 0."""
    center_F, center_y = np.zeros(F.shape[1]), np.zeros(y.shape[1])
    if intercept:
        center_F, center_y = s @ F / s.sum(), s @ y / s.sum()
    A, t = np.sqrt(s)[:, None] * (F - center_F), np.sqrt(s)[:, None] * (y - center_y)
    inverse = np.linalg.pinv(A, rcond=1e-7) if lam == 0 else np.linalg.inv(A.T @ A + lam * np.eye(A.shape[1])) @ A.T
    w = inverse @ t
    return w, center_y - center_F @ w


def left_out_by_force(F, y, s, lam, intercept):
    """The residual of every example under the fit to all others."""
    residuals = np.empty_like(y)
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        w, b = explicit_ridge(F[others], y[others], s[others], lam, intercept)
        residuals[i] = y[i] - F[i] @ w - b
    return residuals


def pairs_of_coordinates(x):
    """The features of (1 + <x, z>)^2."""
    return np.concatenate([[1.0], np.sqrt(2) * x, np.outer(x, x).ravel()])


KERNELS = {
    "gaussian": (Gaussian(1.0), features(rbf_kernel(X, gamma=0.5))),
    "linear": (Linear(), X),
    "polynomial": (Polynomial(2), np.array([pairs_of_coordinates(x) for x in X])),
    "offset": (Linear() + 100.0, np.hstack([X, np.full((25, 1), 10.0)])),
}


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("name", KERNELS)
def test_every_lam_and_its_leave_one_out_error_are_those_of_refits(name, weighted, intercept):
    (k, F), s = KERNELS[name], WEIGHTS if weighted else np.ones(25)
    model = KernelRidge(k, lam=LAMS, fit_intercept=intercept).fit(X, Y, WEIGHTS if weighted else None)
    for row, lam in enumerate(LAMS):
        errors = s @ left_out_by_force(F, Y, s, lam, intercept) ** 2 / s.sum()
        assert model.loo_errors_[row] == pytest.approx(errors, rel=1e-6)
        w, b = explicit_ridge(F, Y, s, lam, intercept)
        for given_lam in (lam, [lam]):
            one = KernelRidge(k, lam=given_lam, fit_intercept=intercept).fit(X, Y, s)
            assert one.lam_ == lam
            assert one.predict(X) == pytest.approx(F @ w + b, rel=1e-6, abs=1e-6)
            assert one.intercept_ == pytest.approx(b, rel=1e-5, abs=1e-6)
    assert model.lam_ == LAMS[model.loo_errors_.sum(axis=1).argmin()]
    assert model.loo_errors_.shape == (5, 2) and (model.lams_ == LAMS).all()


def test_the_oracle_of_the_theory():
    x, y = [[1.0], [2.0], [3.0]], [1.0, 2.0, 2.0]
    model = KernelRidge("linear", lam=1.0, fit_intercept=False).fit(x, y)
    assert model.predict([[4.0]]) == pytest.approx(4 * 11 / 15)
    assert model.dual_coef_ == pytest.approx(np.linalg.solve(np.outer([1, 2, 3], [1, 2, 3]) + np.eye(3), y))
    assert model.intercept_ == 0.0 and not hasattr(model, "loo_errors_")


def test_without_intercept_it_is_that_of_scikit_learn():
    peer = ScikitKernelRidge(alpha=0.3, kernel="rbf", gamma=0.5).fit(X, Y, WEIGHTS)
    model = KernelRidge(Gaussian.from_gamma(0.5), lam=0.3, fit_intercept=False).fit(X, Y, WEIGHTS)
    assert model.dual_coef_ == pytest.approx(peer.dual_coef_)
    assert model.predict(X + 0.1) == pytest.approx(peer.predict(X + 0.1))


def test_on_the_linear_kernel_it_is_ridge_and_linear_regression():
    model = KernelRidge("linear", lam=0.7).fit(X, Y, WEIGHTS)
    peer = Ridge(alpha=0.7).fit(X, Y, WEIGHTS)
    assert model.predict(X) == pytest.approx(peer.predict(X))
    assert model.intercept_ == pytest.approx(peer.intercept_)
    plain = KernelRidge("linear", lam=0).fit(X, Y)
    assert plain.predict(X + 1) == pytest.approx(LinearRegression().fit(X, Y).predict(X + 1))


def test_lam_zero_interpolates_where_it_can():
    model = KernelRidge(Gaussian(1.0), lam=0.0).fit(X, Y)
    assert model.predict(X) == pytest.approx(Y, abs=1e-8)
    twice = KernelRidge(Gaussian(1.0), lam=0.0).fit(np.repeat(X, 2, axis=0), np.repeat(Y, 2, axis=0))
    assert twice.predict(X + 0.1) == pytest.approx(model.predict(X + 0.1), abs=1e-6)


@pytest.mark.parametrize("lam", [0.0, 1e-14, 1e-3, 1.0])
def test_duplicates_and_a_singular_gram(lam):
    doubled, targets = np.repeat(X, 3, axis=0), np.repeat(Y, 3, axis=0)
    targets = targets + rng.standard_normal(targets.shape)
    means = targets.reshape(25, 3, 2).mean(axis=1)
    model = KernelRidge(Gaussian(1.0), lam=lam).fit(doubled, targets)
    weighted = KernelRidge(Gaussian(1.0), lam=lam).fit(X, means, np.full(25, 3.0))
    assert model.predict(X) == pytest.approx(weighted.predict(X), abs=1e-5)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=25, max_size=25).filter(any), st.booleans(), st.sampled_from([0.0, 0.5]))
def test_a_weight_is_a_repetition(counts, intercept, lam):
    counts = np.array(counts)
    make = KernelRidge(Gaussian(), lam=lam, fit_intercept=intercept)
    weighted = clone(make).fit(X, Y, counts)
    repeated = clone(make).fit(np.repeat(X, counts, axis=0), np.repeat(Y, counts, axis=0))
    assert weighted.kernel_.sigma == pytest.approx(repeated.kernel_.sigma)
    assert weighted.predict(X) == pytest.approx(repeated.predict(X), rel=1e-4, abs=1e-4)
    assert not np.isin(weighted.support_, np.flatnonzero(counts == 0)).any()


def test_auto_finds_a_good_penalty():
    x = np.linspace(-3, 3, 80)[:, None]
    y = np.sin(2 * x[:, 0]) + 0.3 * np.random.default_rng(0).standard_normal(80)
    model = KernelRidge(Gaussian(0.3), lam="auto").fit(x, y)
    K = model.kernel_.gram(x)
    centered = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    assert len(model.lams_) == 45 and model.loo_errors_.shape == (45,)
    assert model.lams_[0] == pytest.approx(1e-10 * np.trace(centered))
    assert model.lam_ == model.lams_[model.loo_errors_.argmin()]
    assert model.loo_errors_.min() < 0.12 < 0.3 < min(model.loo_errors_[0], model.loo_errors_[-1])
    assert model.lams_[0] < model.lam_ < model.lams_[-1]


def test_the_choice_does_not_depend_on_the_scale_of_kernel_weights_or_targets():
    small = KernelRidge(Gaussian(1.0), lam="auto").fit(X, Y[:, 0])
    for kernel, weights, scale in ((1e-3, 7.0, 1e-5), (2e80, 1e-9, 1e90)):
        other = KernelRidge(kernel * Gaussian(1.0), lam="auto").fit(X, Y[:, 0] * scale, np.full(25, weights))
        assert other.lam_ == pytest.approx(small.lam_ * kernel * weights)
        assert other.predict(X) == pytest.approx(small.predict(X) * scale, rel=1e-6)


@pytest.mark.parametrize("lam", [1e290, 0.0, [1e280, 1e300], "auto"])
def test_huge_values_do_not_overflow(lam):
    model = KernelRidge(1e300 * Gaussian(1.0), lam=lam).fit(X, 1e250 * Y)
    assert np.isfinite(model.predict(X)).all()
    if lam == 0.0:
        assert model.predict(X) == pytest.approx(1e250 * Y, rel=1e-6)
    unproven = KernelRidge(FromPairs(lambda x, z: 1e300 * float(x @ z)), lam=lam).fit(X, 1e250 * Y)
    assert np.isfinite(unproven.predict(X)).all()


@pytest.mark.parametrize("lam", [0.0, 1.0, [0.0, 1.0], "auto"])
@pytest.mark.parametrize("intercept", [True, False])
def test_constant_targets_and_kernels(lam, intercept):
    model = KernelRidge(lam=lam).fit(X, np.full(25, 0.1))
    assert (model.predict(X) == 0.1).all() and len(model.support_) == 0
    flat = KernelRidge(Linear() * 0.0 + 3.0, lam=lam, fit_intercept=True).fit(X, Y[:, 0])
    assert flat.predict(X) == pytest.approx(np.full(25, Y[:, 0].mean()))
    nothing = KernelRidge(Linear() * 0.0, lam=lam, fit_intercept=intercept).fit(X, Y)
    assert nothing.predict(X) == pytest.approx(np.tile(Y.mean(axis=0) * intercept, (25, 1)))


def test_one_example_and_one_target_column():
    for lam in (0.0, 1.0):
        assert KernelRidge(lam=lam).fit([[1.0, 2.0]], [3.0]).predict([[5.0, 5.0]]) == pytest.approx(3.0)
    assert KernelRidge(lam=0, fit_intercept=False).fit([[1.0]], [3.0]).predict([[1.0]]) == pytest.approx(3.0)
    assert KernelRidge(lam=[1.0, 2.0]).fit(X, Y[:, :1]).loo_errors_.shape == (2, 1)
    assert KernelRidge().fit(X, Y[:, :1]).predict(X).shape == (25, 1)
    with pytest.raises(ValueError, match="n_samples = 1"):
        KernelRidge(lam="auto").fit(X, Y, np.eye(25)[3])
    again = KernelRidge(lam="auto").fit(X, Y[:, 0]).set_params(lam=1.0).fit(X, Y[:, 0])
    assert not hasattr(again, "loo_errors_") and not hasattr(again, "lams_")


def shared_letters(s, t):
    return float(len(set(s) & set(t)))


def degrees(graph):
    return np.bincount([d for _, d in graph.degree()], minlength=4)[:4].astype(float)


OBJECTS = {
    "float32": (Gaussian(), X.astype(np.float32)),
    "sparse": (Gaussian(), sp.csr_matrix(X)),
    "pandas": (Gaussian(), pd.DataFrame(X, columns=["a", "b", "c"])),
    "polars": (Gaussian(), pl.DataFrame(X, schema=["a", "b", "c"])),
    "strings": (FromPairs(shared_letters), WORDS),
    "graphs": (Gaussian().pullback(degrees), [nx.path_graph(n) for n in range(2, 8)]),
    "ragged": (lambda a, b: float(a[0] * b[0]), [rng.standard_normal(n) for n in range(1, 12)]),
    "dicts": (lambda r, s: r["a"] * s["a"], [{"a": float(a)} for a in range(6)]),
    "indices": (Precomputed(X @ X.T), np.arange(25)),
}


@pytest.mark.parametrize("kind", OBJECTS)
def test_objects_of_every_kind(kind):
    kernel, objects = OBJECTS[kind]
    n = objects.shape[0] if hasattr(objects, "shape") else len(objects)
    y, labels = np.arange(n) % 3 - 0.5, np.array(["no", "yes", "perhaps"])[np.arange(n) % 3]
    model = KernelRidge(kernel, lam=[0.1, 1.0]).fit(objects, y)
    K = np.asarray(model.kernel_.gram(objects), dtype=float)
    F = features(K)
    w, b = explicit_ridge(F, y[:, None], np.ones(n), model.lam_, True)
    assert model.predict(objects) == pytest.approx((F @ w + b)[:, 0], abs=1e-4)
    sorter = KernelRidgeClassifier(kernel, lam=0.1).fit(objects, labels)
    assert set(sorter.predict(objects)) <= {"no", "perhaps", "yes"}
    assert sorter.decision_function(objects).shape == (n, 3)


def test_a_precomputed_matrix_is_the_kernel_it_came_from():
    K = rbf_kernel(X, gamma=0.5)
    by_matrix = cross_val_predict(KernelRidge("precomputed", lam="auto"), K, Y[:, 0], cv=5)
    by_kernel = cross_val_predict(KernelRidge(Gaussian(1.0), lam="auto"), X, Y[:, 0], cv=5)
    assert by_matrix == pytest.approx(by_kernel)
    with pytest.raises(ValueError, match="square"):
        KernelRidge("precomputed").fit(K[:5], Y[:5])


def test_grid_search_reaches_into_the_kernel():
    search = GridSearchCV(KernelRidge(), {"kernel__sigma": [1e-3, 1.0], "lam": ["auto", 1.0]}, cv=3).fit(X, Y[:, 0])
    assert search.best_params_["kernel__sigma"] == 1.0


def test_two_classes_are_regression_on_signs():
    y = np.where(X[:, 0] > 0.2, "yes", "no")
    model = KernelRidgeClassifier(Gaussian(1.0), lam=0.5).fit(X, y, WEIGHTS)
    peer = KernelRidge(Gaussian(1.0), lam=0.5).fit(X, np.where(y == "yes", 1.0, -1.0), WEIGHTS)
    assert model.decision_function(X) == pytest.approx(peer.predict(X))
    assert (model.predict(X) == np.where(peer.predict(X) >= 0, "yes", "no")).all()
    assert not hasattr(model, "predict_proba")
    tie = KernelRidgeClassifier(Linear() * 0.0).fit([[0.0], [1.0]], [True, False])
    assert (tie.predict([[0.0], [5.0]]) == [True, True]).all()


def test_several_classes_are_one_column_each():
    y = (3 * X[:, 0]).round().clip(-1, 1).astype(int)
    codes = np.where(y[:, None] == [-1, 0, 1], 1.0, -1.0)
    model = KernelRidgeClassifier(Gaussian(1.0), lam=LAMS).fit(X, y)
    peer = KernelRidge(Gaussian(1.0), lam=LAMS).fit(X, codes)
    assert model.lam_ == peer.lam_ and model.decision_function(X) == pytest.approx(peer.predict(X))
    assert (model.predict(X) == model.decision_function(X).argmax(axis=1) - 1).all()
    tie = KernelRidgeClassifier(Linear() * 0.0, fit_intercept=False).fit([[0.0], [1.0], [2.0]], ["b", "a", "c"])
    assert (tie.predict([[0.0]]) == ["a"]).all()


def test_class_weights_multiply_the_weights():
    y = (X[:, 0] > 0.8).astype(int)
    counts = np.arange(25) % 3 + 1
    by_dict = KernelRidgeClassifier(lam=1.0, class_weight={1: 4.0}).fit(X, y)
    by_hand = KernelRidgeClassifier(Gaussian(by_dict.kernel_.sigma), lam=1.0).fit(X, y, np.where(y == 1, 4.0, 1.0))
    assert by_dict.decision_function(X) == pytest.approx(by_hand.decision_function(X))
    balanced = KernelRidgeClassifier(Gaussian(1.0), class_weight="balanced")
    weighted = clone(balanced).fit(X, y, counts).decision_function(X)
    repeated = clone(balanced).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts)).decision_function(X)
    assert weighted == pytest.approx(repeated)
    share = 25 / 2 / np.bincount(y)
    assert clone(balanced).fit(X, y).intercept_ == pytest.approx(
        KernelRidgeClassifier(Gaussian(1.0)).fit(X, y, share[y]).intercept_
    )


@pytest.mark.parametrize("lam", [-1.0, np.nan, np.inf, "often", None, [], [1.0, -1.0], [[1.0]], True, {"a": 1}, [None]])
def test_a_bad_lam_is_refused_before_the_kernel_is_called(lam):
    with pytest.raises(ValueError, match="lam must be"):
        KernelRidge(not_to_be_called, lam=lam).fit(WORDS, np.arange(11))
    with pytest.raises(ValueError, match="lam must be"):
        KernelRidgeClassifier(not_to_be_called, lam=lam).fit(WORDS, np.arange(11) % 2)


def not_to_be_called(s, t):
    raise AssertionError("the kernel was called")


@pytest.mark.parametrize(
    ("y", "weights", "message"),
    [
        (np.full(11, np.nan), None, "NaN"),
        (np.arange(10), None, "inconsistent"),
        (None, None, "requires y"),
        (np.arange(11.0), np.zeros(11), "zero"),
        (np.arange(11.0), -np.ones(11), "negative"),
        (np.arange(11.0), np.ones(3), "shape"),
        (np.zeros((11, 2, 2)), None, "shape|dim"),
    ],
)
def test_bad_targets_and_weights_are_refused_before_the_kernel_is_called(y, weights, message):
    with pytest.raises(ValueError, match=message):
        KernelRidge(not_to_be_called).fit(WORDS, y, weights)


def test_classifiers_refuse_what_they_cannot_learn_from():
    with pytest.raises(ValueError, match="one class"):
        KernelRidgeClassifier(not_to_be_called).fit(WORDS, ["a"] * 11)
    with pytest.raises(ValueError, match="examples of weight zero only"):
        KernelRidgeClassifier(not_to_be_called).fit(WORDS, ["a"] * 5 + ["b"] * 6, [1] * 5 + [0] * 6)


def test_memory_is_checked_before_the_kernel_is_called():
    with pytest.raises(MemoryError, match="budget"):
        KernelRidge(not_to_be_called, engine=LocalEngine(memory=900)).fit(WORDS, np.arange(11))


def test_a_user_function_is_called_once_per_pair():
    calls = []

    def counted(s, t):
        calls.append((s, t))
        return shared_letters(s, t)

    KernelRidge(counted).fit(WORDS, np.arange(11))
    assert len(calls) == 121
    calls.clear()
    KernelRidge(FromPairs(counted, claims=["SYMMETRIC"])).fit(WORDS, np.arange(11))
    assert len(calls) == 66


def test_an_indefinite_similarity_is_refused_with_its_witness():
    overlap = lambda x, z: float(bool(set(x) & set(z)))  # noqa: E731
    with pytest.raises(NotAKernelError) as caught:
        KernelRidge(overlap).fit(["ab", "bc", "cd"], [1.0, 2.0, 3.0])
    assert caught.value.witness.indices == (0, 1, 2)
    with pytest.raises(NotAKernelError, match="not symmetric"):
        KernelRidge(lambda s, t: float(len(s))).fit(WORDS, np.arange(11))


def test_what_the_first_look_misses_is_refused_when_it_is_met(monkeypatch):
    monkeypatch.setattr("similitude.learners.kernel_learner.CHECKED_OBJECTS", 10)
    unseen = np.setdiff1d(np.arange(60), np.random.default_rng(0).permutation(60)[:10])[[3, 20, 40]]
    K = np.eye(60)
    K[np.ix_(unseen, unseen)] = [[1, 1, 0], [1, 1, 1], [0, 1, 1]]  # each pair alone would do
    for lam in ("auto", 0.0, 1e-3):
        with pytest.raises(NotAKernelError) as caught:
            KernelRidge("precomputed", lam=lam).fit(K, np.arange(60))
        assert caught.value.witness.indices == tuple(unseen)
    K[unseen[0], unseen[1]] = K[unseen[1], unseen[0]] = 2.0
    with pytest.raises(NotAKernelError) as caught:
        KernelRidge("precomputed").fit(K, np.arange(60))
    assert caught.value.witness.indices == tuple(unseen[:2])
    K[unseen[1], unseen[0]] = 0.0
    with pytest.raises(NotAKernelError, match="not symmetric"):
        KernelRidge("precomputed").fit(K, np.arange(60))


def test_a_failed_fit_leaves_the_estimator_as_it_was():
    model = KernelRidge(FromPairs(lambda s, t: 1 / 0))
    with pytest.raises(ValueError, match="ZeroDivision"):
        model.fit(WORDS, np.arange(11))
    assert not [name for name in vars(model) if name.endswith("_")]
