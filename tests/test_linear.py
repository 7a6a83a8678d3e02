"""Linear models on plain arrays: independent solvers, optimality, invariances, limits, degenerate input, errors."""

import math

import numpy as np
import pytest
from grids import thin
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.linear_model import Lasso, LogisticRegression, MultiTaskLasso
from sklearn.svm import LinearSVC

from similitude.linear import LinearModel, l2_penalty, newton_step
from similitude.linear.features import FEWEST_NARROW, Features
from similitude.linear.l1_penalty import l1_path, largest_penalty
from similitude.linear.l2_penalty import L2_TOLERANCE, l2_path
from similitude.linear.losses import Logistic, MultinomialLogistic, Squared, SquaredHinge

TIGHT = 1e-15
PATH = [30.0, 3.0, 0.3]
LOSSES = {"squared": Squared(), "squared_hinge": SquaredHinge()}


def problem(seed=0, n=80, d=6, classes=3):
    """Features with unequal means and scales, classes that overlap, weights with a zero."""
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((n, d)) * rng.uniform(0.3, 3, d) + rng.normal(0, 2, d)
    codes = (F[:, :classes] - F[:, :classes].mean(0) + rng.normal(0, 2, (n, classes))).argmax(axis=1)
    weights = rng.integers(0, 4, n).astype(float)
    return F, codes, weights


def against_rest(codes, classes):
    return np.where(codes[:, None] == np.arange(classes), 1.0, -1.0)


# The objectives as they are written, one output at a time.


def hinge_objective(F, y, s, lam, w, b):
    return s @ np.maximum(0, 1 - y * (F @ w + b)) ** 2 + lam * w @ w


def logistic_objective(F, codes, classes, s, lam, W, b):
    Z = F @ W + b
    if classes == 2:
        Z = np.hstack([np.zeros((len(F), 1)), Z])
    own = Z[np.arange(len(F)), codes]
    return s @ (logsumexp(Z, axis=1) - own) + lam * (W**2).sum()


def sparse_objective(F, Y, s, lam, W, b, loss):
    Z = F @ W + b
    losses = (Y - Z) ** 2 if loss == "squared" else np.maximum(0, 1 - Y * Z) ** 2
    return s @ losses.sum(axis=1) + lam * np.sqrt((W**2).sum(axis=1)).sum()


def squared_hinge(F, signs, s, penalties, **options):
    return l2_path(F, signs, s, penalties, SquaredHinge(), **options)


def logistic(F, codes, classes, s, penalties, **options):
    if classes == 2:
        return l2_path(F, np.where(codes == 1, 1.0, -1.0), s, penalties, Logistic(), **options)
    return l2_path(F, np.eye(classes)[codes], s, penalties, MultinomialLogistic(), **options)


def sparse(F, Y, s, penalties, loss="squared_hinge", **options):
    return l1_path(F, Y, s, penalties, LOSSES[loss], **options)


def largest(F, Y, s, loss="squared_hinge"):
    return largest_penalty(F, Y, s, LOSSES[loss])


def as_fit(model, F, codes, s, penalties, classes=3, **options):
    """Any model on the same classes."""
    if model == "hinge":
        return list(squared_hinge(F, against_rest(codes, classes), s, penalties, **options))
    if model == "binary":
        return list(logistic(F, (codes > 0).astype(int), 2, s, penalties, **options))
    if model == "softmax":
        return list(logistic(F, codes, classes, s, penalties, **options))
    if model == "sparse":
        return list(sparse(F, against_rest(codes, classes), s, penalties, **options))
    return list(sparse(F, against_rest(codes, classes), s, penalties, loss="squared", **options))


MODELS = ["hinge", "binary", "softmax", "sparse", "sparse squares"]
DENSE = MODELS[:3]


def same(found, expected, atol=1e-6):
    np.testing.assert_allclose(found.weights, expected.weights, atol=atol, rtol=atol)
    np.testing.assert_allclose(found.intercept, expected.intercept, atol=atol, rtol=atol)


# Scores.


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_scores_in_strips(kind, monkeypatch):
    monkeypatch.setattr("similitude.linear.moments.STRIP_BYTES", 8 * 3 * 7)
    rng = np.random.default_rng(0)
    F, W, b = rng.standard_normal((100, 3)).astype(kind), rng.standard_normal((3, 4)), rng.standard_normal(4)
    scores = LinearModel(W, b).scores(F)
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores, F.astype(float) @ W + b, rtol=1e-13, atol=1e-13)
    assert LinearModel(W, b).scores(F[:0]).shape == (0, 4)


# The minimum by other solvers.


def test_squared_hinge_by_a_general_solver():
    F, codes, s = problem()
    Y = against_rest(codes, 3)
    for lam, found in zip(PATH, squared_hinge(F, Y, s, PATH, tolerance=TIGHT), strict=True):
        assert found.gap <= TIGHT
        for j in range(3):
            best = minimize(
                lambda v, y=Y[:, j], lam=lam: hinge_objective(F, y, s, lam, v[:-1], v[-1]), np.zeros(7), tol=1e-12
            )
            assert hinge_objective(F, Y[:, j], s, lam, found.weights[:, j], found.intercept[j]) <= best.fun * (1 + 1e-9)
            np.testing.assert_allclose(np.append(found.weights[:, j], found.intercept[j]), best.x, atol=2e-5)


def test_squared_hinge_by_liblinear():
    F, codes, s = problem(1)
    F = F - np.average(F, axis=0, weights=s)
    y = np.where(codes == 0, 1, -1)
    for lam, found in zip(PATH, squared_hinge(F, y, s, PATH, tolerance=TIGHT), strict=True):
        peer = LinearSVC(C=1 / (2 * lam), dual=False, tol=1e-12, max_iter=10**5, intercept_scaling=1e3)
        peer.fit(F, y, sample_weight=s)
        np.testing.assert_allclose(found.weights[:, 0], peer.coef_[0], atol=1e-5)
        np.testing.assert_allclose(found.intercept, peer.intercept_, atol=1e-5)


@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_by_scikit_learn(classes):
    F, codes, s = problem(2)
    codes = np.minimum(codes, classes - 1)
    for lam, found in zip(PATH, logistic(F, codes, classes, s, PATH, tolerance=TIGHT), strict=True):
        peer = LogisticRegression(C=1 / (2 * lam), tol=1e-10, max_iter=10**4, solver="newton-cholesky")
        peer.fit(F, codes, sample_weight=s)
        np.testing.assert_allclose(found.weights.T, peer.coef_, atol=1e-6)
        np.testing.assert_allclose(found.intercept, peer.intercept_, atol=1e-6)


def test_logistic_by_a_general_solver():
    F, codes, s = problem(3, n=40, d=3)
    for lam, found in zip(PATH, logistic(F, codes, 3, s, PATH, tolerance=TIGHT), strict=True):
        best = minimize(
            lambda v, lam=lam: logistic_objective(F, codes, 3, s, lam, v[:9].reshape(3, 3), v[9:]),
            np.zeros(12),
            tol=1e-10,
        )
        assert logistic_objective(F, codes, 3, s, lam, found.weights, found.intercept) <= best.fun * (1 + 1e-10)
        np.testing.assert_allclose(found.weights.sum(axis=1), 0, atol=1e-12)
        np.testing.assert_allclose(found.intercept.sum(), 0, atol=1e-12)


@pytest.mark.parametrize("n", [100, 12])
def test_sparse_squares_by_scikit_learn(n):
    F, _, _ = problem(4, n=n, d=20)
    rng = np.random.default_rng(0)
    y = F[:, :3] @ [1.0, -2.0, 0.5] + rng.standard_normal(n) + 5
    lams = largest(F, y, np.ones(n), loss="squared") * np.array([0.5, 0.1, 0.01])
    for lam, found in zip(lams, sparse(F, y, np.ones(n), lams, loss="squared", tolerance=1e-12), strict=True):
        peer = Lasso(alpha=lam / (2 * n), tol=1e-13, max_iter=10**6).fit(F, y)
        np.testing.assert_allclose(found.weights[:, 0], peer.coef_, atol=1e-6)
        np.testing.assert_allclose(found.intercept[0], peer.intercept_, atol=1e-5)
        assert ((found.weights[:, 0] != 0) == (peer.coef_ != 0)).all()


def test_grouped_squares_by_scikit_learn():
    F, codes, _ = problem(5, n=100, d=20)
    Y, s = against_rest(codes, 3), np.ones(100)
    lams = largest(F, Y, s, loss="squared") * np.array([0.5, 0.1, 0.01])
    for lam, found in zip(lams, sparse(F, Y, s, lams, loss="squared", tolerance=1e-12), strict=True):
        peer = MultiTaskLasso(alpha=lam / 200, tol=1e-13, max_iter=10**6).fit(F, Y)
        np.testing.assert_allclose(found.weights.T, peer.coef_, atol=1e-6)
        assert (found.weights.any(axis=1) == peer.coef_.any(axis=0)).all()


def test_sparse_hinge_by_a_general_solver():
    """With w = p - q and p, q >= 0 the objective is smooth."""
    F, codes, s = problem(6, n=100, d=20)
    y = np.where(codes == 0, 1, -1)
    lams = largest(F, y, s) * np.array([0.5, 0.1, 0.03])
    for lam, found in zip(lams, sparse(F, y, s, lams, tolerance=1e-12), strict=True):

        def value_and_slope(v, lam=lam):
            short = np.maximum(0, 1 - y * (F @ (v[:20] - v[20:40]) + v[40]))
            slopes = -2 * s * y * short
            down = F.T @ slopes
            return s @ short**2 + lam * v[:40].sum(), np.concatenate([down + lam, lam - down, [slopes.sum()]])

        bounds = [(0, None)] * 40 + [(None, None)]
        tight = {"ftol": 1e-16, "gtol": 1e-10, "maxiter": 10**5, "maxfun": 10**6, "maxcor": 40}
        best = minimize(value_and_slope, np.zeros(41), jac=True, method="L-BFGS-B", bounds=bounds, options=tight)
        value = sparse_objective(F, y[:, None], s, lam, found.weights, found.intercept, "squared_hinge")
        assert value <= best.fun * (1 + 1e-9)
        np.testing.assert_allclose(found.weights[:, 0], best.x[:20] - best.x[20:40], atol=1e-4)
        assert ((found.weights[:, 0] != 0) == (np.abs(best.x[:20] - best.x[20:40]) > 1e-6)).all()


# What only the minimum has.


def slopes(model, F, codes, s, found):
    """The gradient of the losses in the weights and intercepts, in plain words."""
    Z = F @ found.weights + found.intercept
    if model in ("hinge", "sparse"):
        Y = against_rest(codes, 3)
        R = -2 * s[:, None] * Y * np.maximum(0, 1 - Y * Z)
    elif model == "sparse squares":
        R = 2 * s[:, None] * (Z - against_rest(codes, 3))
    elif model == "binary":
        R = s[:, None] * (1 / (1 + np.exp(-Z)) - (codes > 0)[:, None])
    else:
        R = s[:, None] * (np.exp(Z - logsumexp(Z, axis=1)[:, None]) - (against_rest(codes, 3) > 0))
    return F.T @ R, R.sum(axis=0)


@pytest.mark.parametrize("model", DENSE)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(5, 60), d=st.integers(1, 30), power=st.floats(-3, 3))
def test_the_gradient_vanishes(model, seed, n, d, power):
    F, codes, s = problem(seed, n, max(d, 3))
    F, s = F[:, :d], s + 1
    lam = 10**power
    found = as_fit(model, F, codes, s, [lam], tolerance=1e-12)[0]
    of_weights, of_intercepts = slopes(model, F, codes, s, found)
    scale = np.abs(F).max() * s.sum()
    assert np.abs(of_weights + 2 * lam * found.weights).max() <= 1e-4 * scale
    assert np.abs(of_intercepts).max() <= 1e-4 * s.sum()


@pytest.mark.parametrize("model", MODELS[3:])
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(8, 60), d=st.integers(1, 30), part=st.floats(0.01, 1))
def test_conditions_of_karush_kuhn_and_tucker(model, seed, n, d, part):
    F, codes, s = problem(seed, n, max(d, 3))
    F, s = F[:, :d], s + 1
    kind = "squared_hinge" if model == "sparse" else "squared"
    lam = part * largest(F, against_rest(codes, 3), s, loss=kind)
    found = as_fit(model, F, codes, s, [lam], tolerance=1e-10)[0]
    gradient, of_intercepts = slopes(model, F, codes, s, found)
    size, W = np.linalg.norm(gradient, axis=1), found.weights
    length = np.linalg.norm(W, axis=1)
    assert found.gap <= 1e-10
    assert size.max() <= lam * (1 + 1e-3)
    moving = length > 0
    assert np.abs(gradient[moving] + lam * W[moving] / length[moving, None]).max(initial=0) <= 1e-2 * lam
    assert np.abs(of_intercepts).max() <= 1e-8 * s.sum()


@pytest.mark.parametrize(
    ("loss", "classes", "kind"), thin(["squared", "squared_hinge"], [2, 3], [np.float32, np.float64])
)
def test_many_features_that_resemble_each_other(loss, classes, kind):
    """Similarities to 400 landmarks, most of which never enter a working set."""
    rng = np.random.default_rng(29)
    X = rng.standard_normal((600, 2))
    F = np.exp(-((X[:, None] - X[None, :400]) ** 2).sum(axis=2)).astype(kind)
    codes = (np.arctan2(X[:, 1], X[:, 0]) + 0.2 * rng.standard_normal(600) > 0).astype(int) + (X[:, 0] > 1)
    Y, s = against_rest(np.minimum(codes, classes - 1), classes), rng.integers(1, 3, 600).astype(float)
    Y = Y[:, 1:] if classes == 2 else Y
    lams = largest(F, Y, s, loss=loss) * 10.0 ** -np.arange(0.5, 2.6, 0.5)
    counts, F64 = [], F.astype(float)
    for lam, found in zip(lams, sparse(F, Y, s, lams, loss=loss), strict=True):
        assert found.gap <= 1e-3
        Z = F64 @ found.weights + found.intercept
        short = Y - Z if loss == "squared" else Y * np.maximum(0, 1 - Y * Z)
        assert np.linalg.norm(F64.T @ (-2 * s[:, None] * short), axis=1).max() <= 1.2 * lam
        counts.append(int(found.weights.any(axis=1).sum()))
    assert counts[0] < 10 and max(counts) < 200
    assert counts[-1] > counts[0]


def test_the_gap_is_a_certificate():
    F, codes, s = problem(7, n=100, d=20)
    Y = against_rest(codes, 3)
    for loss in ("squared", "squared_hinge"):
        lam = 0.05 * largest(F, Y, s, loss=loss)
        best = next(sparse(F, Y, s, [lam], loss=loss, tolerance=1e-13))
        least_value = sparse_objective(F, Y, s, lam, best.weights, best.intercept, loss)
        mean = s @ Y / s.sum()
        null = sparse_objective(F, Y, s, lam, np.zeros((20, 3)), mean, loss)
        for tolerance in (1e-1, 1e-2, 1e-4):
            found = next(sparse(F, Y, s, [lam], loss=loss, tolerance=tolerance))
            above = sparse_objective(F, Y, s, lam, found.weights, found.intercept, loss) - least_value
            assert -1e-12 * null <= above <= found.gap * null + 1e-12 * null <= tolerance * null


@pytest.mark.parametrize("loss", ["squared", "squared_hinge"])
def test_the_largest_penalty_is_where_the_first_weight_appears(loss):
    F, codes, s = problem(8)
    Y = against_rest(codes, 3)
    top = largest(F, Y, s, loss=loss)
    none, one = sparse(F, Y, s, [1.0001 * top, 0.99 * top], loss=loss, tolerance=1e-9)
    assert not none.weights.any()
    assert np.count_nonzero(one.weights.any(axis=1)) == 1
    np.testing.assert_allclose(none.intercept, s @ Y / s.sum())


def test_the_largest_penalty_is_one_where_every_penalty_leaves_no_weight():
    F, _, s = problem(8)
    assert largest(F, np.ones((len(F), 2)), s, loss="squared") == 1.0


def test_a_feature_goes_for_all_outputs_at_once():
    F, codes, s = problem(9, n=200, d=30)
    lam = 0.2 * largest(F, against_rest(codes, 3), s)
    found = next(sparse(F, against_rest(codes, 3), s, [lam]))
    kept = (found.weights != 0).sum(axis=1)
    assert set(kept) == {0, 3}


def test_without_penalty_squares_are_least_squares():
    F, codes, s = problem(10)
    y = F @ np.arange(6) + codes
    found = next(sparse(F, y, s, [1e-9], loss="squared", tolerance=1e-12))
    root = np.sqrt(s)[:, None]
    expected = np.linalg.lstsq(root * np.column_stack([F, np.ones(len(F))]), root[:, 0] * y, rcond=None)[0]
    np.testing.assert_allclose(np.append(found.weights, found.intercept), expected, rtol=1e-5, atol=1e-6)


# What must not matter.


@pytest.mark.parametrize("model", MODELS)
def test_the_way_to_a_penalty(model):
    F, codes, s = problem(11)
    down = as_fit(model, F, codes, s, PATH, tolerance=TIGHT)
    up = as_fit(model, F, codes, s, PATH[::-1], tolerance=TIGHT)[::-1]
    for lam, one, other in zip(PATH, down, up, strict=True):
        cold = as_fit(model, F, codes, s, [lam], tolerance=TIGHT)[0]
        for another in (cold, other):
            same(another, one, 2e-5)


@pytest.mark.parametrize("model", MODELS)
def test_weights_are_repetitions(model):
    F, codes, s = problem(12)
    F[s == 0] = 1e3  # as if they were not there
    again = np.repeat(np.arange(len(F)), s.astype(int))
    weighted = as_fit(model, F, codes, s, PATH, tolerance=TIGHT)
    repeated = as_fit(model, F[again], codes[again], np.ones(len(again)), PATH, tolerance=TIGHT)
    for one, other in zip(weighted, repeated, strict=True):
        same(one, other, 1e-5)


@pytest.mark.parametrize("model", MODELS)
def test_precision_of_the_features(model):
    F, codes, s = problem(13, n=300, d=20)
    F = F.astype(np.float32)
    narrow = as_fit(model, F, codes, s, PATH, tolerance=1e-12)
    wide = as_fit(model, F.astype(np.float64), codes, s, PATH, tolerance=1e-12)
    for one, other in zip(narrow, wide, strict=True):
        assert one.weights.dtype == one.intercept.dtype == np.float64
        same(one, other, 1e-4)
        assert one.gap <= 1e-12


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_strips(model, kind, monkeypatch):
    F, codes, s = problem(14)
    F = F.astype(kind)
    whole = as_fit(model, F, codes, s, PATH, tolerance=1e-12)
    monkeypatch.setattr("similitude.linear.moments.STRIP_BYTES", 8 * 6 * 7)
    for one, other in zip(as_fit(model, F, codes, s, PATH, tolerance=1e-12), whole, strict=True):
        same(one, other, 2e-5)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1e-10, 1e10])
def test_the_unit_of_the_features(model, kind, scale):
    F, codes, s = problem(16)
    F, scale = F.astype(kind), float(kind(scale))
    power = 1 if model in MODELS[3:] else 2
    plain = as_fit(model, F, codes, s, PATH, tolerance=1e-10)
    scaled = as_fit(model, F * kind(scale), codes, s, np.array(PATH) * scale**power, tolerance=1e-10)
    for one, other in zip(scaled, plain, strict=True):
        np.testing.assert_allclose(one.weights * scale, other.weights, atol=1e-3)
        np.testing.assert_allclose(one.intercept, other.intercept, atol=1e-3)


@pytest.mark.parametrize("model", MODELS)
def test_features_of_different_units(model):
    F, codes, s = problem(17)
    F = F * 10.0 ** np.array([-8, 6, 0, 2, -3, 0])
    for found in as_fit(model, F, codes, s, PATH, tolerance=1e-8):
        assert np.isfinite(found.weights).all()
        assert found.gap <= 1e-8


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("kind", "far"), [(np.float32, 2.0**10), (np.float64, 2.0**20)])
def test_where_the_origin_is(model, kind, far):
    F, codes, s = problem(18)
    F = (np.round(F * 2**8) / 2**8).astype(kind)  # so that nothing is rounded when it is moved
    plain = as_fit(model, F, codes, s, PATH, tolerance=1e-10)
    for one, other in zip(as_fit(model, F + kind(far), codes, s, PATH, tolerance=1e-10), plain, strict=True):
        np.testing.assert_allclose(one.weights, other.weights, atol=1e-3)
        np.testing.assert_allclose(one.scores(F + kind(far)), other.scores(F), atol=1e-2)


@pytest.mark.parametrize("most", [1, 2, 64])
def test_outputs_together_or_apart(most, monkeypatch):
    F, codes, s = problem(19)
    Y = against_rest(codes, 3)
    monkeypatch.setattr("similitude.linear.l2_penalty.MOST_OUTPUTS", most)
    for step, found in enumerate(squared_hinge(F, Y, s, PATH, tolerance=TIGHT)):
        for j in range(3):
            one = list(squared_hinge(F, Y[:, j], s, PATH, tolerance=TIGHT))[step]
            np.testing.assert_allclose(found.weights[:, j], one.weights[:, 0], atol=1e-5)
            np.testing.assert_allclose(found.intercept[j], one.intercept[0], atol=1e-5)


def test_the_default_tolerance_settles_predictions():
    rng = np.random.default_rng(20)
    X, new = rng.standard_normal((600, 2)), rng.standard_normal((2000, 2))
    codes = ((X**2).sum(axis=1) + 0.5 * rng.standard_normal(600) > 1.4).astype(int)
    near = [np.exp(-((A[:, None] - X[None, :200]) ** 2).sum(axis=2)).astype(np.float32) for A in (X, new)]
    lams = [10.0, 1.0, 0.1, 0.01]
    for fit in (
        lambda **options: logistic(near[0], codes, 2, np.ones(600), lams, **options),
        lambda **options: squared_hinge(near[0], 2 * codes - 1, np.ones(600), lams, **options),
    ):
        for loose, tight in zip(fit(), fit(tolerance=1e-10), strict=True):
            one, other = loose.scores(near[1]), tight.scores(near[1])
            assert ((one > 0) == (other > 0)).mean() > 0.99
            assert np.sqrt(((one - other) ** 2).mean()) < 0.05 * other.std()


# Degenerate input.


DEGENERATE = {
    "zero features": lambda F, codes: (0 * F, codes),
    "constant features": lambda F, codes: (np.full_like(F, 3.7), codes),
    "a constant feature": lambda F, codes: (np.column_stack([F, np.full(len(F), 1e5)]), codes),
    "copies of features": lambda F, codes: (np.hstack([F, F, F]), codes),
    "copies of rows": lambda F, codes: (np.repeat(F[:3], 10, axis=0), np.repeat([0, 1, 2], 10)),
    "contradictory rows": lambda F, codes: (np.ones((6, 2)), np.array([0, 1, 2, 0, 1, 2])),
    "one class": lambda F, codes: (F, np.ones(len(F), int)),
    "a class is absent": lambda F, codes: (F, np.minimum(codes, 1)),
    "one row": lambda F, codes: (F[:1], codes[:1]),
    "two rows": lambda F, codes: (F[:2], np.array([0, 2])),
    "more features than rows": lambda F, codes: (np.random.default_rng(0).standard_normal((10, 200)), codes[:10]),
}


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_input(name, model, kind):
    F, codes = DEGENERATE[name](*problem(21)[:2])
    F, s = F.astype(kind), np.ones(len(F))
    for lam, found in zip([1.0, 1e-6], as_fit(model, F, codes, s, [1.0, 1e-6]), strict=True):
        assert np.isfinite(found.weights).all() and np.isfinite(found.intercept).all()
        assert np.abs(found.weights).max() < 1e6
        assert found.gap <= 1e-3
        gradient, of_intercepts = slopes(model, F.astype(float), codes, s, found)
        assert np.abs(of_intercepts).max() <= 0.03 * len(F)
        if model in DENSE:
            centered = gradient - np.outer(F.mean(axis=0, dtype=float), of_intercepts)
            assert np.abs(centered + 2 * lam * found.weights).max() <= 0.03 * np.abs(F).max() * len(F)
    assert largest(F, against_rest(codes, 3), s) > 0


def test_constant_features_get_no_weight():
    F, codes, s = problem(22)
    F[:, 2] = 5.0
    for model in MODELS:
        found = as_fit(model, F, codes, s, [0.1], tolerance=1e-10)[0]
        assert np.abs(found.weights[2]).max() <= 1e-7 * np.abs(found.weights).max()


def test_copies_share_a_weight():
    F, codes, s = problem(23)
    for model, half in (("hinge", 0.5), ("binary", 0.5), ("softmax", 0.5)):
        one = as_fit(model, np.hstack([F, F]), codes, s, [1.0], tolerance=TIGHT)[0]
        other = as_fit(model, F, codes, s, [half], tolerance=TIGHT)[0]
        np.testing.assert_allclose(one.weights[:6], one.weights[6:], atol=1e-6)
        np.testing.assert_allclose(2 * one.weights[:6], other.weights, atol=1e-5)


def test_one_sign_only():
    F, _, s = problem(24)
    found = next(squared_hinge(F, np.column_stack([np.ones(len(F)), -np.ones(len(F))]), s, [1.0]))
    assert not found.weights.any()
    np.testing.assert_allclose(found.intercept, [1, -1])
    assert found.gap == 0


@pytest.mark.parametrize("classes", [2, 3])
def test_separable_classes_with_hardly_a_penalty(classes):
    rng = np.random.default_rng(25)
    codes = np.arange(60) % classes
    F = rng.standard_normal((60, 4))
    F[:, :classes] += 20 * np.eye(classes)[codes]
    largest = 0.0
    for found in logistic(F, codes, classes, np.ones(60), [1.0, 1e-4, 1e-8, 1e-12]):
        scores = found.scores(F)
        assert np.isfinite(scores).all()
        right = scores.argmax(axis=1) == codes if classes > 2 else (scores[:, 0] > 0) == codes
        assert right.all()
        assert np.abs(found.weights).max() > largest
        largest = np.abs(found.weights).max()


def test_an_absent_class_is_improbable():
    F, codes, s = problem(26)
    found = next(logistic(F, np.minimum(codes, 1), 3, s, [1.0]))
    Z = found.scores(F)
    assert np.exp(Z[:, 2] - logsumexp(Z, axis=1)).max() < 0.01


def test_huge_scores_do_not_overflow():
    F = np.array([[-1.0], [1.0], [1e6], [-1e6]])
    for classes in (2, 3):
        found = next(logistic(F, np.array([0, 1, 1, 0]), classes, np.ones(4), [1e-8]))
        assert np.isfinite(found.scores(F)).all()


# Parts.


def weighted_least_squares(F, z, c, penalty):
    """The minimizer of sum_i c_i (z_i - w'x_i - b)^2 + penalty |w|^2 by its normal equations."""
    A = np.hstack([F, np.ones((len(F), 1))])
    return np.linalg.solve(A.T @ (c[:, None] * A) + np.diag([penalty] * F.shape[1] + [0.0]), A.T @ (c * z))


@pytest.mark.parametrize("own_apart", [False, True])
@pytest.mark.parametrize(("loss", "classes"), [("squared_hinge", 2), ("squared_hinge", 3), ("logistic", 2)])
def test_the_last_step_is_least_squares_and_a_sum_over_groups(loss, classes, own_apart):
    F, codes, s = problem(7, n=90, d=5, classes=classes)
    s = s / 4  # weights below one, and some of zero
    Y = against_rest(codes, classes)[:, : 1 if classes == 2 else None]
    [before] = l2_path(F, Y, s, [2.0], {"logistic": Logistic(), "squared_hinge": SquaredHinge()}[loss], tolerance=1e-8)
    members = None if own_apart else np.eye(4)[np.arange(90) % 4]
    step = newton_step(loss, "l2", F, Y, s, before, 2.0, members)
    same(step.model, before, atol=1e-3)
    margins = Y * before.scores(F)
    if loss == "squared_hinge":
        np.testing.assert_allclose(step.weights, np.where(margins <= 1.1, 2.0 * s[:, None], 0.0), rtol=1e-6)
    assert (step.weights[s == 0] == 0).all()
    np.testing.assert_allclose(step.group_weights.sum(axis=1), step.model.weights, atol=1e-12)
    np.testing.assert_allclose(step.group_constants.sum(axis=0) + step.base, step.model.intercept, atol=1e-12)
    for j in range(Y.shape[1]):
        c, sums = step.weights[:, j], step.sums[:, j]
        z = np.divide(sums, c, out=np.zeros(90), where=c > 0)
        assert step.base[j] == pytest.approx(np.average(z, weights=c))
        W = weighted_least_squares(F, z, c, 2 * 2.0)
        np.testing.assert_allclose(step.model.weights[:, j], W[:-1], atol=1e-9)
        assert step.model.intercept[j] == pytest.approx(W[-1], abs=1e-9)
        groups = np.stack([Y[:, j] > 0, Y[:, j] < 0], axis=1) if own_apart else members
        for g in range(groups.shape[1]):  # the fit where all other rows have the mean response, less its own mean
            responses = np.where(groups[:, g] > 0, z, step.base[j])
            alone = weighted_least_squares(F, responses, c, 2 * 2.0)
            np.testing.assert_allclose(step.group_weights[:, g, j], alone[:-1], atol=1e-9)
            assert step.group_constants[g, j] == pytest.approx(alone[-1] - np.average(responses, weights=c), abs=1e-9)


def test_steps_are_few():
    """A step costs two products with the features: the preconditioner must earn its factor."""
    rng = np.random.default_rng(28)
    X = rng.standard_normal((1500, 3))
    F = np.exp(-((X[:, None] - X[None, :300]) ** 2).sum(axis=2) / 2).astype(np.float32)  # condition 1e9 and more
    codes = (np.sin(2 * X[:, 0]) + X[:, 1] ** 2 > 0.7).astype(int)
    steps = []
    turn = l2_penalty.Descent._turn

    def counted(self, *args):
        steps.append(self.V.shape[1])
        turn(self, *args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(l2_penalty.Descent, "_turn", counted)
        for found in squared_hinge(F, 2 * codes - 1, np.ones(1500), [10.0, 1.0, 0.1]):
            assert found.gap <= L2_TOLERANCE
    assert len(steps) <= 120


# What is refused.


@pytest.mark.parametrize("penalties", [[1.0, 0.0], [math.inf], [math.nan]])
def test_penalties_that_are_not_positive_are_refused(penalties):
    for fit in (squared_hinge, sparse):
        with pytest.raises(ValueError, match="positive"):
            list(fit(np.ones((4, 2)), np.array([-1, 1, 1, -1]), np.ones(4), penalties))


@pytest.mark.parametrize("path", [l1_path, l2_path])
def test_a_tolerance_for_each_penalty(path):
    F, codes, s = problem(n=60)
    lams, y = [30.0, 10.0, 3.0], against_rest(codes, 3)
    *_, wanted = path(F, y, s, lams, SquaredHinge(), tolerance=1e-10)
    roughly, _, closely = path(F, y, s, lams, SquaredHinge(), tolerance=np.array([0.5, 0.5, 1e-10]))
    assert closely.gap <= 1e-10 < roughly.gap
    np.testing.assert_allclose(closely.weights, wanted.weights, atol=1e-4)


def test_rough_products_of_many_rows_are_in_single_precision():
    rng = np.random.default_rng(0)
    F, V, R = (rng.standard_normal(shape) for shape in ((400, 200), (201, 3), (400, 3)))
    assert F.size >= FEWEST_NARROW
    features = Features(F, rng.uniform(0.5, 2.0, 400))
    for product, argument in ((features.scores, V), (features.combine, R)):
        exact, rough = product(argument), product(argument, rough=True)
        assert exact.dtype == rough.dtype == np.float64
        error = np.abs(exact - rough).max() / np.abs(exact).max()
        assert 1e-9 < error < 1e-5
