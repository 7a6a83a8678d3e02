"""Any convex loss, any regularizer: the minimum, its certificate, its coincidences, and the rules of learners."""

import pickle
import warnings

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from grids import thin
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.kernel_ridge import KernelRidge as SklearnRidge
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVC

from similitude import FromPairs, Precomputed, Similarity
from similitude.engines import LocalEngine
from similitude.errors import NotAKernelError
from similitude.kernels import Gaussian, Laplace, Linear, Polynomial
from similitude.learners.losses import EpsilonInsensitive, Huber, Logistic, OwnLoss, Quantile
from similitude.learners.representer import (
    Norm,
    OwnRegularizer,
    RepresenterClassifier,
    RepresenterRegressor,
)
from similitude.learners.svm import KernelSVC, KernelSVR
from similitude.linear.own_loss import as_loss

rng = np.random.default_rng(0)
X = rng.standard_normal((40, 3))
SIGN = np.where(X[:, 0] + 0.5 * rng.standard_normal(40) > 0, 1.0, -1.0)
LABELS = np.where(SIGN > 0, "yes", "no")
TARGETS = np.sin(2 * X[:, 0]) + 0.2 * rng.standard_normal(40)
WORDS = ["kernel", "kern", "kernels", "colonel", "map", "maps", "mapping", "amp"]
GRAPHS = [nx.path_graph(n) for n in range(2, 6)] + [nx.cycle_graph(n) for n in range(3, 7)]
HALVES = ["a"] * 4 + ["b"] * 4
OF_LABELS = ["hinge", "squared_hinge", "logistic", "squared"]
OF_NUMBERS = ["squared", "huber", "quantile", "epsilon_insensitive", Quantile(0.9), Huber(0.1), EpsilonInsensitive(0.3)]


def shared_letters(s, t):
    return float(len(set(s) & set(t)))


def degrees(graph):
    return np.bincount([d for _, d in graph.degree()], minlength=4)[:4].astype(float)


def own_hinge(y, f):
    return np.maximum(0, 1 - y * f)


def own_hinge_slope(y, f):
    return np.where(y * f < 1, -y, 0.0)


def log_cosh(y, f):
    return np.logaddexp(y - f, f - y) - np.log(2)


def log_cosh_slope(y, f):
    return np.tanh(f - y)


OWN_HINGE, LOG_COSH = (own_hinge, own_hinge_slope), (log_cosh, log_cosh_slope)


def naive_loss(loss, y, f):
    r = y - f
    return {
        "hinge": lambda: np.maximum(0, 1 - y * f),
        "squared_hinge": lambda: np.maximum(0, 1 - y * f) ** 2,
        "logistic": lambda: np.log(1 + np.exp(-y * f)),
        "squared": lambda: r**2,
        "huber": lambda: np.where(np.abs(r) <= 1, r**2 / 2, np.abs(r) - 0.5),
        "quantile": lambda: np.abs(r) / 2,
        "epsilon_insensitive": lambda: np.maximum(0, np.abs(r) - 0.1),
        "log_cosh": lambda: log_cosh(y, f),
    }[loss]()


def naive_minimum(loss, G, y, lam, R=lambda s: s**2):
    """The least value of mean loss + lam R(sqrt(a'Ga)) that generic minimizers find, smoothed or not."""
    n = len(y)
    L = np.linalg.cholesky(G + 1e-12 * np.eye(n))

    def objective(w):
        return naive_loss(loss, y, L @ w).mean() + lam * R(np.sqrt(w @ w))

    best = objective(np.zeros(n))
    w = 1e-3 * np.random.default_rng(0).standard_normal(n)
    for _ in range(3):
        for method in ("BFGS", "Powell"):
            found = minimize(objective, w, method=method, options={"maxiter": 4000})
            if found.fun < objective(w):
                w = found.x
    return min(best, objective(w))


# Coincidences.


@pytest.mark.parametrize("lam", [0.1, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("loss", ["hinge", OWN_HINGE])
def test_two_points_by_hand(lam, loss):
    model = RepresenterClassifier("linear", loss=loss, lam=lam, tol=1e-10).fit([[1.0], [-1.0]], [1, -1])
    w = min(1, 1 / (2 * lam))
    assert model.decision_function([[1.0]]) == pytest.approx(w, abs=1e-6)
    assert model.objective_ == pytest.approx(lam * w**2 + 1 - w)
    assert model.norm_ == pytest.approx(w, abs=1e-6)


def test_two_points_of_the_notes():
    assert RepresenterClassifier("linear", loss="hinge", lam=1.0).fit([[1.0], [-1.0]], [1, -1]).objective_ == 0.75


@pytest.mark.parametrize("lam", [1e-4, 1e-2, 1.0])
def test_the_squared_error_is_ridge(lam):
    model = RepresenterRegressor(Gaussian(1.0), lam=lam).fit(X, TARGETS)
    G, new = Gaussian(1.0).gram(X), rng.standard_normal((9, 3))
    a = np.linalg.solve(G + lam * 40 * np.eye(40), TARGETS)
    assert np.allclose(model.predict(new), Gaussian(1.0).cross(new, X) @ a, atol=1e-9)
    peer = SklearnRidge(alpha=lam * 40, kernel="rbf", gamma=0.5).fit(X, TARGETS)
    assert np.allclose(model.predict(new), peer.predict(new), atol=1e-9)
    assert model.optimality_.value < 1e-12


def test_the_hinge_is_the_support_vector_machine():
    lam, G = 0.02, Gaussian(1.0).gram(X)
    model = RepresenterClassifier(Gaussian(1.0), loss="hinge", lam=lam).fit(X, LABELS)
    # libsvm has an intercept: with every point beside its mirror image it is zero by symmetry
    H = G * np.outer(SIGN, SIGN)
    svc = SVC(kernel="precomputed", C=1 / (4 * lam * 40), tol=1e-10).fit(
        np.block([[H, -H], [-H, H]]), np.repeat([1, -1], 40)
    )
    dual = np.zeros(80)
    dual[svc.support_] = svc.dual_coef_[0]
    a = SIGN * (dual[:40] - dual[40:])
    assert abs(svc.intercept_[0]) < 1e-6
    assert model.objective_ == pytest.approx(lam * a @ G @ a + np.maximum(0, 1 - SIGN * (G @ a)).mean(), abs=1e-8)
    assert np.allclose(model.decision_function(X), G @ a, atol=1e-3)


def test_learners_of_their_own_coincide():
    lam, new = 0.02, rng.standard_normal((9, 3))
    hinge = RepresenterClassifier(Gaussian(1.0), loss="hinge", lam=lam, tol=1e-10).fit(X, LABELS)
    svc = KernelSVC(Gaussian(1.0), lam=lam, fit_intercept=False, tol=1e-8).fit(X, LABELS)
    assert np.allclose(hinge.decision_function(new), svc.decision_function(new), atol=1e-4)
    tube = RepresenterRegressor(Gaussian(1.0), loss=EpsilonInsensitive(0.1), lam=lam, tol=1e-10).fit(X, TARGETS)
    svr = KernelSVR(Gaussian(1.0), lam=lam, epsilon=0.1, fit_intercept=False, tol=1e-8).fit(X, TARGETS)
    assert np.allclose(tube.predict(new), svr.predict(new), atol=1e-4)


@pytest.mark.parametrize("lam", [1e-3, 0.1])
def test_logistic_is_logistic_regression(lam):
    peer = LogisticRegression(fit_intercept=False, C=1 / (2 * lam * 40), tol=1e-10, solver="newton-cholesky")
    peer.fit(X, LABELS)
    model = RepresenterClassifier("linear", lam=lam).fit(X, LABELS)
    new = rng.standard_normal((9, 3))
    assert np.allclose(model.decision_function(new), peer.decision_function(new), atol=1e-6)
    assert np.allclose(model.predict_proba(new), peer.predict_proba(new), atol=1e-6)


def test_the_constant_of_the_kernel_is_a_feature():
    Z = np.column_stack([X, np.ones(40)])
    with_constant = RepresenterClassifier(Linear() + 1.0, lam=0.01).fit(X, LABELS)
    assert np.allclose(
        with_constant.decision_function(X),
        RepresenterClassifier("linear", lam=0.01).fit(Z, LABELS).decision_function(Z),
    )


@pytest.mark.parametrize("loss", [*OF_LABELS, OWN_HINGE])
def test_singular_gram_matrices_give_the_same_scores(loss):
    doubled, twice = np.vstack([X, X]), np.concatenate([LABELS, LABELS])
    single = RepresenterClassifier(Polynomial(2), loss=loss, lam=0.01, tol=1e-9).fit(X, LABELS)
    model = RepresenterClassifier(Polynomial(2), loss=loss, lam=0.01, tol=1e-9).fit(doubled, twice)
    assert model.objective_ == pytest.approx(single.objective_, abs=1e-8)
    assert np.allclose(model.decision_function(X), single.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("loss", [*OF_LABELS, OWN_HINGE])
def test_weights_are_repetitions(loss):
    weights = rng.integers(0, 4, 40)
    weighted = RepresenterClassifier(Gaussian(1.0), loss=loss, lam=0.01, tol=1e-10)
    repeated = clone(weighted).fit(np.repeat(X, weights, axis=0), np.repeat(LABELS, weights))
    weighted.fit(X, LABELS, sample_weight=weights)
    assert weighted.objective_ == pytest.approx(repeated.objective_, abs=1e-8)
    assert np.allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-4)


def test_spans_agree():
    """A straight loss by its dual and by its envelopes, a smooth one by Newton steps and by envelopes."""
    for name, own in (
        ("hinge", OWN_HINGE),
        ("quantile", (lambda y, f: abs(y - f) / 2, lambda y, f: np.sign(f - y) / 2)),
    ):
        make, y = (RepresenterClassifier, LABELS) if name == "hinge" else (RepresenterRegressor, TARGETS)
        one, other = (make(loss=loss, lam=1e-3, tol=1e-9).fit(X, y) for loss in (name, own))
        assert one.objective_ == pytest.approx(other.objective_, abs=1e-9)
        assert one.optimality_.met and other.optimality_.met
    squared = (lambda y, f: (y - f) ** 2, lambda y, f: 2 * (f - y))
    smooth = RepresenterRegressor(loss=(*squared, lambda y, f: np.full(len(y), 2.0))).fit(X, TARGETS)
    assert smooth.objective_ == pytest.approx(RepresenterRegressor(loss=squared).fit(X, TARGETS).objective_, abs=1e-9)
    assert smooth.objective_ == pytest.approx(RepresenterRegressor().fit(X, TARGETS).objective_, abs=1e-12)


# The minimum, and the certificate.

FEW = rng.standard_normal((6, 2))
FEW_SIGNS, FEW_NUMBERS = np.array([1.0, -1, 1, 1, -1, -1]), np.array([0.5, -1.0, 2.0, 0.1, 0.0, -0.7])
CASES = [(loss, True) for loss in OF_LABELS]
CASES += [(loss, False) for loss in ("squared", "huber", "quantile", "epsilon_insensitive", "log_cosh")]


@pytest.mark.parametrize(("case", "regularizer"), thin(CASES, ["squared_norm", "norm", "cube"]))
def test_certificates_bound_the_gap_to_a_naive_minimum(case, regularizer):
    loss, labels = case
    R = {"squared_norm": lambda s: s**2, "norm": lambda s: s, "cube": lambda s: s**3}[regularizer]
    given_one = (R, lambda s: 3 * s**2) if regularizer == "cube" else regularizer
    make, y = (RepresenterClassifier, FEW_SIGNS) if labels else (RepresenterRegressor, FEW_NUMBERS)
    model = make(
        Gaussian(1.0), loss=LOG_COSH if loss == "log_cosh" else loss, lam=0.05, regularizer=given_one, tol=1e-9
    ).fit(FEW, y)
    G = Gaussian(1.0).gram(FEW)
    f = model.decision_function(FEW) if labels else model.predict(FEW)
    a = np.zeros(6)
    a[model.support_] = model.dual_coef_
    assert model.norm_ == pytest.approx(np.sqrt(a @ G @ a), abs=1e-7)
    assert model.objective_ == pytest.approx(naive_loss(loss, y, f).mean() + 0.05 * R(model.norm_), abs=1e-9)
    assert model.optimality_.name == "duality gap" and model.optimality_.met
    least = naive_minimum(loss, G, y, 0.05, R)
    assert model.objective_ - model.optimality_.value <= least + 1e-9  # a lower bound of every value
    assert model.objective_ <= least + 1e-9  # and nobody finds a lower one


@settings(max_examples=25, deadline=None)
@given(
    st.integers(2, 12),
    st.integers(0, 2**32 - 1),
    st.floats(1e-4, 10),
    st.sampled_from(OF_NUMBERS),
    st.sampled_from(["squared_norm", "norm"]),
)
def test_no_other_coefficients_are_better(n, seed, lam, loss, regularizer):
    local = np.random.default_rng(seed)
    Z, y = local.standard_normal((n, 2)), local.standard_normal(n)
    model = RepresenterRegressor(Gaussian(1.0), loss=loss, lam=lam, regularizer=regularizer).fit(Z, y)
    G, L = Gaussian(1.0).gram(Z), as_loss(loss)
    a = np.zeros(n)
    a[model.support_] = model.dual_coef_
    for size in (1e-4, 1e-2, 1.0):
        b = a + size * local.standard_normal((200, n)) * np.abs(a).max(initial=1e-3)
        norms = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", b, G, b), 0))
        values = L.value(np.tile(y, (200, 1)), b @ G).mean(axis=1) + lam * (
            norms if regularizer == "norm" else norms**2
        )
        assert values.min() >= model.objective_ - model.optimality_.value - 1e-12


def test_a_loose_tolerance_is_certified_too():
    strict = RepresenterClassifier(loss="hinge", lam=1e-3, tol=1e-10).fit(X, LABELS)
    for tol in (1e-1, 1e-2, 1e-4):
        loose = RepresenterClassifier(loss="hinge", lam=1e-3, tol=tol).fit(X, LABELS)
        assert loose.objective_ - loose.optimality_.value <= strict.objective_ + 1e-12
        assert loose.optimality_.value <= tol


@pytest.mark.parametrize("loss", ["quantile", "epsilon_insensitive", "huber", LOG_COSH])
def test_hard_problems_reach_their_tolerance(loss):
    """Little regularization, equal objects with different targets."""
    Z, y = np.vstack([X, X]), np.concatenate([TARGETS, -TARGETS])
    assert RepresenterRegressor(loss=loss, lam=1e-6).fit(Z, y).optimality_.met


@pytest.mark.parametrize("loss", ["logistic", "hinge", OWN_HINGE])
def test_too_few_steps_are_said(loss):
    hard = RepresenterClassifier(loss=loss, lam=1e-7, max_iter=1, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="the minimum was not reached: duality gap"):
        hard.fit(X, LABELS)
    assert not hard.optimality_.met and "above the tolerance" in str(hard.optimality_)
    best = RepresenterClassifier(loss="hinge" if loss is OWN_HINGE else loss, lam=1e-7).fit(X, LABELS)
    assert hard.objective_ - hard.optimality_.value <= best.objective_


def test_the_norm_alone_leaves_nothing_from_some_lambda_on():
    G = Gaussian(1.0).gram(X)
    pull = SIGN / 40 / 2  # minus the derivative of the mean logistic loss at f = 0
    edge = np.sqrt(pull @ G @ pull)
    above = RepresenterClassifier(Gaussian(1.0), lam=1.01 * edge, regularizer="norm").fit(X, LABELS)
    assert above.norm_ == 0 and len(above.support_) == 0 and above.optimality_.met
    assert (above.decision_function(X) == 0).all() and above.objective_ == pytest.approx(np.log(2))
    below = RepresenterClassifier(Gaussian(1.0), lam=0.99 * edge, regularizer=Norm()).fit(X, LABELS)
    assert below.norm_ > 0 and below.optimality_.met and below.objective_ < np.log(2)


def test_a_ball_is_a_regularizer_with_a_kink():
    ball = (lambda s: max(0.0, s - 1), lambda s: 1.0 if s > 1 else 0.0)
    model = RepresenterClassifier(Gaussian(1.0), loss="squared_hinge", lam=10.0, regularizer=ball).fit(X, LABELS)
    assert model.norm_ == pytest.approx(1, abs=1e-6) and model.optimality_.met
    free = RepresenterRegressor(
        Gaussian(1.0), lam=10.0, regularizer=(lambda s: max(0.0, s - 9), lambda s: float(s > 9))
    )
    free.fit(FEW, 0.01 * FEW_NUMBERS)  # short enough as it is
    assert np.allclose(free.predict(FEW), 0.01 * FEW_NUMBERS, atol=1e-6)


def test_a_regularizer_that_is_not_convex_is_searched_and_says_so():
    R = (lambda s: np.log1p(s**2), lambda s: 2 * s / (1 + s**2))
    model = RepresenterRegressor(Gaussian(1.0), lam=0.1, regularizer=R).fit(FEW, FEW_NUMBERS)
    assert model.optimality_.name == "stationarity" and model.optimality_.met
    least = naive_minimum("squared", Gaussian(1.0).gram(FEW), FEW_NUMBERS, 0.1, R[0])
    assert model.objective_ <= least + 1e-7


def test_a_falling_regularizer_is_refused():
    with pytest.raises(ValueError, match="non-decreasing"):
        RepresenterRegressor(regularizer=(lambda s: -s, lambda s: -1.0)).fit(X, TARGETS)


def test_nothing_to_learn():
    model = RepresenterRegressor(regularizer="norm").fit(X, np.zeros(40))
    assert model.norm_ == model.objective_ == 0 and (model.predict(X) == 0).all() and model.optimality_.met
    nothing = RepresenterClassifier(0.0 * Linear(), lam=0.1).fit(X, LABELS)
    assert nothing.objective_ == pytest.approx(np.log(2)) and set(nothing.predict(X)) == {"yes"}


# Losses at work.


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.8])
def test_quantiles_cover_their_share(tau):
    Z = rng.uniform(-2, 2, (300, 1))
    y = np.sin(Z[:, 0]) + 0.3 * rng.standard_normal(300)
    model = RepresenterRegressor(Gaussian(1.0) + 1.0, loss=Quantile(tau), lam=1e-4).fit(Z, y)
    assert np.mean(y < model.predict(Z)) == pytest.approx(tau, abs=0.03)


def test_huber_and_log_cosh_shrug_off_an_outlier():
    Z = np.linspace(-2, 2, 60)[:, None]
    clean = np.sin(Z[:, 0])
    dirty = clean.copy()
    dirty[30] += 50
    error = {
        name: np.abs(RepresenterRegressor(Gaussian(1.0), loss=loss, lam=1e-4).fit(Z, dirty).predict(Z) - clean).max()
        for name, loss in {"squared": "squared", "huber": Huber(0.1), "own": LOG_COSH}.items()
    }
    assert error["huber"] < 0.05 * error["squared"] and error["own"] < 0.3 * error["squared"]


def test_own_losses_as_objects():
    class LogCosh:
        def value(self, y, f):
            return log_cosh(y, f)

        def derivative(self, y, f):
            return log_cosh_slope(y, f)

    one, other = (RepresenterRegressor(loss=loss).fit(X, TARGETS) for loss in (LogCosh(), LOG_COSH))
    assert np.array_equal(one.predict(X), other.predict(X))
    exponential = RepresenterClassifier(loss=(lambda y, f: np.exp(-y * f), lambda y, f: -y * np.exp(-y * f)), lam=0.01)
    assert exponential.fit(X, LABELS).optimality_.met
    G = exponential.kernel_.gram(X)
    f = exponential.decision_function(X)
    a = SIGN * np.exp(-SIGN * f) / (2 * 0.01 * 40)  # the condition of optimality
    assert np.allclose(G @ a, f, atol=1e-3)


def test_models_with_lambdas_are_pickled_when_wrapped():
    loss = OwnLoss((lambda y, f: (y - f) ** 2, lambda y, f: 2 * (f - y)))
    model = RepresenterRegressor(loss=loss, regularizer=OwnRegularizer((lambda s: s**4, lambda s: 4 * s**3)))
    again = pickle.loads(pickle.dumps(model.fit(X, TARGETS)))
    assert np.array_equal(again.predict(X), model.predict(X)) and clone(again).fit(X, TARGETS).optimality_.met


def test_probabilities_never_contradict_predictions():
    model = RepresenterClassifier(lam=1e-7).fit(X, LABELS)
    P = model.predict_proba(X)
    assert np.allclose(P.sum(axis=1), 1) and np.array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))
    labels = np.array(["a", "b", "c"])[rng.integers(3, size=40)]
    three = RepresenterClassifier(lam=1e-9, loss=Logistic()).fit(X, labels)
    P = three.predict_proba(X)
    assert np.allclose(P.sum(axis=1), 1) and np.array_equal(three.classes_[P.argmax(axis=1)], three.predict(X))
    nothing = RepresenterClassifier(0.0 * Linear()).fit(X, LABELS)  # every score is 0
    assert np.array_equal(nothing.classes_[nothing.predict_proba(X).argmax(axis=1)], nothing.predict(X))
    assert not hasattr(RepresenterClassifier(loss="hinge"), "predict_proba")


def test_several_classes_are_one_against_the_rest():
    labels = np.array(["a", "b", "c"])[rng.integers(3, size=40)]
    model = RepresenterClassifier(loss="squared_hinge", lam=0.01).fit(X, labels)
    for column, label in enumerate("abc"):
        single = RepresenterClassifier(loss="squared_hinge", lam=0.01).fit(X, labels == label)
        assert np.allclose(model.decision_function(X)[:, column], single.decision_function(X))
        assert model.objective_[column] == pytest.approx(single.objective_)
    assert model.optimality_.met and model.norm_.shape == (3,)


def test_several_targets_are_learned_one_by_one():
    Y = np.column_stack([TARGETS, X[:, 1], np.zeros(40)])
    model = RepresenterRegressor(loss="huber").fit(X, Y)
    for column in range(3):
        single = RepresenterRegressor(loss="huber").fit(X, Y[:, column])
        assert np.allclose(model.predict(X)[:, column], single.predict(X))
    assert model.objective_.shape == (3,)
    assert RepresenterRegressor().fit(X, Y[:, :1]).predict(X).shape == (40, 1)


# Landmarks.


@pytest.mark.parametrize(("loss", "regularizer"), thin(["logistic", "hinge", OWN_HINGE], ["squared_norm", "norm"]))
def test_landmarks_that_span_everything_change_nothing(loss, regularizer):
    Z, y = make_classification(120, 4, n_redundant=0, random_state=0)
    common = {"loss": loss, "lam": 0.01, "regularizer": regularizer, "tol": 1e-9}
    exact = RepresenterClassifier(Polynomial(2), **common).fit(Z, y)  # 15 features
    few = RepresenterClassifier(Polynomial(2), n_landmarks=40, **common).fit(Z, y)
    assert "15 landmarks among 120" in few.solver_ and "all 120" in exact.solver_
    method = {"logistic": "; Newton steps", "hinge": "the dual"}.get(loss if isinstance(loss, str) else "", "envelopes")
    assert method in few.solver_ and ("multiplier" in few.solver_) == (regularizer == "norm")
    assert few.objective_ == pytest.approx(exact.objective_, abs=1e-7)
    assert np.allclose(few.decision_function(Z), exact.decision_function(Z), atol=1e-3)
    assert len(few.support_) <= 15 and few.optimality_.met


def test_many_objects_take_landmarks():
    Z, y = make_regression(2300, 3, random_state=0)
    y = np.tanh(y / 100)
    model = RepresenterRegressor(loss="huber", lam=1e-4).fit(Z, y)
    assert "landmarks among 2,300 objects" in model.solver_ and len(model.support_) <= 500
    assert model.optimality_.met and model.score(Z, y) > 0.9
    again = RepresenterRegressor(loss="huber", lam=1e-4).fit(Z, y)
    assert np.array_equal(model.predict(Z[:50]), again.predict(Z[:50]))
    assert "all" in RepresenterRegressor(n_landmarks=None).fit(Z[:100], y[:100]).solver_
    assert "all" in RepresenterRegressor(n_landmarks=100).fit(Z[:100], y[:100]).solver_


# The rules of learners.

VECTORS = rng.standard_normal((8, 3))
OBJECTS = {
    "vectors": (Gaussian(), VECTORS),
    "float32": (Laplace(), VECTORS.astype(np.float32)),
    "sparse": (Gaussian(), sp.csr_array(VECTORS)),
    "sparse32": (Gaussian(), sp.csr_array(VECTORS.astype(np.float32))),
    "pandas": (Gaussian(), pd.DataFrame(VECTORS, columns=["a", "b", "c"])),
    "polars": (Gaussian(), pl.DataFrame(VECTORS, schema=["a", "b", "c"])),
    "strings": (FromPairs(shared_letters), WORDS),
    "function": (shared_letters, WORDS),
    "graphs": (Gaussian().pullback(degrees), GRAPHS),
    "ragged": (lambda a, b: float(a[0] * b[0]), [rng.standard_normal(n) for n in range(1, 9)]),
    "dicts": (lambda a, b: float(a["n"] * b["n"]), [{"n": i - 3.5} for i in range(8)]),
    "indices": (Precomputed(VECTORS @ VECTORS.T), np.arange(8)),
    "matrix": ("precomputed", VECTORS @ VECTORS.T),
}


@pytest.mark.parametrize("n_landmarks", ["auto", 5])
@pytest.mark.parametrize("kind", OBJECTS)
def test_every_kind_of_object(kind, n_landmarks):
    kernel, objects = OBJECTS[kind]
    model = RepresenterClassifier(kernel, loss="hinge", lam=0.01, n_landmarks=n_landmarks).fit(objects, HALVES)
    scores = model.decision_function(objects)
    assert np.array_equal(model.predict(objects), np.where(scores >= 0, "b", "a"))
    assert np.array_equal(clone(model).fit(objects, HALVES).decision_function(objects), scores)
    if kind not in ("function", "ragged", "dicts", "strings"):
        assert np.array_equal(pickle.loads(pickle.dumps(model)).decision_function(objects), scores)
    numbers = RepresenterRegressor(kernel, lam=0.01, n_landmarks=n_landmarks).fit(objects, np.arange(8.0))
    assert np.isfinite(numbers.predict(objects)).all()


def test_single_precision_is_solved_in_double():
    single = RepresenterRegressor(Gaussian(1.0), lam=1e-6).fit(X.astype(np.float32), TARGETS)
    double = RepresenterRegressor(Gaussian(1.0), lam=1e-6).fit(X.astype(np.float32).astype(float), TARGETS)
    assert single.objective_ == pytest.approx(double.objective_, rel=1e-9)
    assert np.allclose(single.predict(X.astype(np.float32)), double.predict(X), atol=1e-3)


def test_grid_search_into_kernels_and_losses():
    grid = {"kernel__sigma": [0.5, 2.0], "loss__tau": [0.2, 0.5], "lam": [0.1]}
    search = GridSearchCV(RepresenterRegressor(loss=Quantile()), grid, cv=3).fit(X, TARGETS)
    assert search.best_estimator_.loss == Quantile(search.best_params_["loss__tau"])
    own = GridSearchCV(RepresenterClassifier(), {"loss": ["hinge", OwnLoss(OWN_HINGE), OWN_HINGE]}, cv=3).fit(X, LABELS)
    assert np.ptp(own.cv_results_["mean_test_score"]) == 0


def test_precomputed_cross_validation():
    scores = cross_val_score(RepresenterClassifier("precomputed", lam=0.01), Gaussian(1.0).gram(X), LABELS, cv=3)
    assert np.array_equal(scores, cross_val_score(RepresenterClassifier(Gaussian(1.0), lam=0.01), X, LABELS, cv=3))


@pytest.mark.parametrize(("factor", "loss"), thin([1e-300, 1e300], ["hinge", "logistic", OWN_HINGE]))
def test_tiny_and_huge_kernel_values(factor, loss):
    plain = RepresenterClassifier(Gaussian(1.0), loss=loss, lam=0.01).fit(X, LABELS)
    scaled = RepresenterClassifier(factor * Gaussian(1.0), loss=loss, lam=0.01 * factor).fit(X, LABELS)
    assert np.allclose(plain.decision_function(X), scaled.decision_function(X))
    assert scaled.objective_ == pytest.approx(plain.objective_)
    extreme = RepresenterClassifier(factor * Gaussian(1.0), loss=loss, lam=0.01, max_iter=100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # 1e300: practically no regularizer
        extreme.fit(X, LABELS)
    assert np.isfinite(extreme.decision_function(X)).all()


@pytest.mark.parametrize(
    ("params", "error", "words"),
    [
        ({"lam": 0.0}, ValueError, "lam must be a positive number"),
        ({"lam": np.nan}, ValueError, "lam must be a positive number"),
        ({"tol": True}, ValueError, "tol must be a positive number"),
        ({"tol": -1.0}, ValueError, "tol must be a positive number"),
        ({"max_iter": 0}, ValueError, "max_iter must be an integer"),
        ({"max_iter": 1.5}, ValueError, "max_iter must be an integer"),
        ({"n_landmarks": "many"}, ValueError, "n_landmarks must be an integer"),
        ({"n_landmarks": 0}, ValueError, "n_landmarks must be an integer"),
        ({"loss": "hing"}, ValueError, "did you mean 'hinge'"),
        ({"loss": 3}, TypeError, "loss must be a name"),
        ({"loss": (lambda y, f: -abs(f - y), lambda y, f: -np.sign(f - y))}, ValueError, "negative"),
        ({"regularizer": "l2"}, ValueError, "no regularizer called"),
        ({"regularizer": 3}, TypeError, "regularizer must be"),
    ],
)
def test_bad_parameters_are_refused_before_the_first_kernel_call(params, error, words):
    with pytest.raises(error, match=words):
        RepresenterClassifier(never, **params).fit(X, LABELS)


def never(x, z):
    raise AssertionError("called")


@pytest.mark.parametrize(
    ("labels", "weights", "words"),
    [
        (["yes"] * 40, None, "one class only"),
        ([1.0, np.nan] * 20, None, "NaN"),
        (["a", "b"], None, "inconsistent numbers"),
        (LABELS, np.zeros(40), "every weight in sample_weight is zero"),
        (LABELS, SIGN > 0, "has examples of weight zero only"),
        (LABELS, -np.ones(40), "must not be negative"),
        (LABELS, np.ones(3), "shape"),
    ],
)
def test_bad_labels_are_refused_before_the_first_kernel_call(labels, weights, words):
    with pytest.raises(ValueError, match=words):
        RepresenterClassifier(never).fit(X, labels, sample_weight=weights)


@pytest.mark.parametrize(
    ("targets", "weights", "words"),
    [
        (np.full(40, np.nan), None, "NaN"),
        (np.arange(3.0), None, "inconsistent numbers"),
        (TARGETS, np.zeros(40), "every weight in sample_weight is zero"),
        (np.ones((40, 2, 2)), None, "one row per example|dim"),
    ],
)
def test_bad_targets_are_refused_before_the_first_kernel_call(targets, weights, words):
    with pytest.raises(ValueError, match=words):
        RepresenterRegressor(never).fit(X, targets, sample_weight=weights)


def test_losses_of_labels_are_refused_for_numbers():
    with pytest.raises(ValueError, match="use RepresenterClassifier"):
        RepresenterRegressor(loss="hinge").fit(X, TARGETS)
    with pytest.raises(ValueError, match="divide the targets"):
        RepresenterRegressor().fit(X, 1e200 * TARGETS)


def test_memory_is_looked_at_before_the_first_kernel_call():
    with pytest.raises(MemoryError, match="memory budget"):
        RepresenterClassifier(never, engine=LocalEngine(memory="10kB")).fit(X, LABELS)
    with pytest.raises(MemoryError, match="memory budget"):
        RepresenterClassifier(never, n_landmarks=39, engine=LocalEngine(memory="10kB")).fit(X, LABELS)


def test_indefinite_kernels_are_refused_with_their_witness():
    for n_landmarks in (None, 10):
        with pytest.raises(NotAKernelError) as caught:
            RepresenterClassifier(-1.0 * Linear(), n_landmarks=n_landmarks).fit(X, LABELS)
        assert caught.value.witness is not None


class HiddenFlaw(Similarity):
    """The identity, but for two objects far apart that are too alike."""

    objects = "vectors"

    def encode(self, objects):
        return np.asarray(objects)[:, 0]

    def block(self, A, B):
        K = (A[:, None] == B).astype(float)
        return K + 2.0 * ((A[:, None] + B == 0) & (A[:, None] != B))


def test_a_flaw_beyond_the_sample_is_found():
    Z = np.append(np.arange(1.0, 800.0), -7.0)[:, None]
    with pytest.raises(NotAKernelError) as caught:
        RepresenterRegressor(HiddenFlaw(), n_landmarks=None).fit(Z, Z[:, 0])
    assert sorted(caught.value.witness.indices) == [6, 799]


def test_a_fit_that_fails_leaves_it_as_it_was():
    def interrupted(x, z):
        raise KeyboardInterrupt

    model = RepresenterClassifier(interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, LABELS)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_certificates_are_results():
    certificate = RepresenterClassifier().fit(X, LABELS).optimality_
    assert certificate.to_dict()["name"] == "duality gap" and certificate.met
