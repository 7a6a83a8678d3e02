"""Ridge regression on landmark features by conjugate gradients, and the fits of many rows that use it."""

import pickle

import numpy as np
import pytest
from fits import run_fit

from similitude import SimilarityClassifier, SimilarityRegressor
from similitude.engines import LocalEngine
from similitude.evaluation import PENALTIES
from similitude.fitting import pilot
from similitude.fitting.influence import DelayedInfluence, GroupInfluence
from similitude.fitting.pilot import PilotTargets
from similitude.kernels import Gaussian, Laplace
from similitude.landmarks import factor_of_landmarks, solve_rows, solver
from similitude.linear import (
    GroupMoments,
    IteratedRidge,
    LinearModel,
    Members,
    Moments,
    Ridge,
)

ONE = LocalEngine(threads=1)
LAM = 0.3


def problem(n=900, m=80):
    """Return rows with two targets and weights, their similarities to landmarks, the factor of these, and features."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(n, 4))
    Y = np.column_stack([np.sin(3 * X[:, 0]) * X[:, 1], X[:, 2]]) + 0.1 * rng.normal(size=(n, 2))
    k = Gaussian(0.6)
    factor = factor_of_landmarks(k.gram(X[:m]), False)
    K = k.cross(X, X[:m][factor.pivots])
    assert np.array_equal(factor.pivots, np.arange(m))
    return K, factor.U, solve_rows(K.copy(), solver(factor.U, K.dtype)), Y, rng.uniform(0.5, 2.0, size=n)


def by_steps(K, U, F, weights, lam, n=200):
    """Return ridge regression by steps, preconditioned by the first n rows, of which the first are the landmarks."""
    own, others = np.arange(len(U)), np.arange(len(U), n)
    return IteratedRidge(K, U, own, others, F[others].astype(K.dtype), weights, lam)


@pytest.mark.parametrize(("dtype", "atol"), [(np.float64, 1e-6), (np.float32, 1e-4)])
@pytest.mark.parametrize("first_penalty", [LAM, 3 * LAM])
def test_steps_end_at_ridge_regression(dtype, atol, first_penalty):
    K, U, F, Y, weights = problem()
    ridge = by_steps(K.astype(dtype), U, F, weights, first_penalty)
    found = ridge.fit(Y, weights, LAM, tolerance=1e-13)
    expected = Ridge(Moments.of(F, Y, weights)).fit(LAM)
    assert np.allclose(found.scores(F), expected.scores(F), atol=atol)
    some_weights = np.where(np.arange(len(Y)) < 600, weights, 0.0)
    part = ridge.fit(Y, some_weights, LAM, found, tolerance=1e-13)
    without = Ridge(Moments.of(F[:600], Y[:600], weights[:600])).fit(LAM)
    assert np.allclose(part.scores(F), without.scores(F), atol=atol)


def test_with_all_rows_in_the_preconditioner_one_step_is_enough(monkeypatch):
    monkeypatch.setattr("similitude.linear.iterated_ridge.MOST_STEPS", 1)
    K, U, F, Y, weights = problem()
    found = by_steps(K, U, F, weights, LAM, n=len(Y)).fit(Y, weights, LAM)
    assert np.allclose(found.scores(F), Ridge(Moments.of(F, Y, weights)).fit(LAM).scores(F), atol=1e-8)


def test_with_many_outputs_products_are_those_of_matrices():
    K, U, F, Y, weights = problem()
    Y = Y @ np.random.default_rng(1).normal(size=(2, 7))
    ridge = by_steps(K, U, F, weights, LAM)
    expected = Ridge(Moments.of(F, Y, weights)).fit(LAM)
    assert np.allclose(ridge.fit(Y, weights, LAM, tolerance=1e-14).scores(F), expected.scores(F), atol=1e-6)


@pytest.mark.parametrize("first_penalty", [LAM, 3 * LAM])
def test_what_groups_add_sums_to_the_model(first_penalty):
    K, U, F, Y, weights = problem()
    members = Members(np.random.default_rng(2).integers(0, 5, len(Y)), 5, Y)
    ridge = by_steps(K, U, F, weights, first_penalty)
    model = ridge.fit(Y, weights, LAM)
    added = ridge.of_groups(model, Y, weights, LAM, members)
    total = added.scores(F).reshape(len(Y), 5, 2).sum(axis=1) + np.average(Y, axis=0, weights=weights)
    assert np.allclose(total, model.scores(F), atol=1e-10)


def test_groups_add_what_they_do_in_ridge_regression():
    K, U, F, Y, weights = problem()
    members = Members(np.random.default_rng(2).integers(0, 5, len(Y)), 5, Y)
    exact, base = Ridge(Moments.of(F, Y, weights)), np.average(Y, axis=0, weights=weights)
    exact.moments.groups = GroupMoments.precisely(F, members, weights)
    W = exact.of_groups(LAM).weights.reshape(-1, 3, 5)
    expected = (W[:, 1:] - base[:, None] * W[:, :1]).transpose(0, 2, 1).reshape(len(W), -1)
    ridge = by_steps(K, U, F, weights, LAM)
    found = ridge.of_groups(exact.fit(LAM), Y, weights, LAM, members, tolerance=1e-14)
    assert np.allclose(F @ found.weights, F @ expected, atol=1e-6)


def test_the_default_accuracy_is_relative_to_what_the_model_leaves():
    """Targets without noise are fitted closely, so that steps which suffice for others would lose most of the fit."""
    K, U, F, _, weights = problem()
    Y = F @ np.random.default_rng(3).normal(size=(F.shape[1], 1))
    exact, ridge = Ridge(Moments.of(F, Y, weights)), by_steps(K, U, F, weights, 1e-4)

    def objective(model):
        return float(weights @ (Y - model.scores(F))[:, 0] ** 2 + 1e-4 * np.square(model.weights).sum())

    assert objective(exact.fit(1e-4)) < 1e-3 * float(weights @ Y[:, 0] ** 2)
    assert objective(ridge.fit(Y, weights, 1e-4)) < 1.005 * objective(exact.fit(1e-4))


def test_a_preconditioner_below_rounding_still_serves():
    K, U, F, Y, weights = problem()
    ridge = by_steps(K.astype("f4"), U, F, weights, 1e-9, n=len(U))
    assert np.isfinite(ridge.fit(Y, weights, LAM).weights).all()


def test_losses_of_landmarks_are_those_of_ridge_regression_without_the_rows_that_judge():
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, size=(500, 3))
    y = np.sin(4 * X[:, :1]) + 0.1 * rng.normal(size=(500, 1))
    rows = PilotTargets(y, rng.uniform(0.5, 2.0, 500), 5_000)
    trials = pilot.LandmarkTrials.of(Gaussian(0.7), X, rows, (40, 300))
    penalty = PENALTIES[14]
    for m, n, found in [(40, 300, trials.search[14][0]), (20, 150, trials.search[14][1])]:
        factor = factor_of_landmarks(Gaussian(0.7).gram(X[:m]), False)
        F = solve_rows(Gaussian(0.7).cross(X, X[:m][factor.pivots]), solver(factor.U, factor.U.dtype))
        fit = Ridge(Moments.of(F[:n], y[:n], rows.weights[:n])).fit(penalty * rows.weights[:n].mean())
        assert np.allclose(found, y[300:] - fit.scores(F[300:]), atol=1e-4)


def test_landmarks_that_nearly_repeat_others_are_left_out():
    X = np.random.default_rng(5).normal(size=(40, 5))
    M = Gaussian(1.0).gram(np.r_[X, X[:3] + 1e-4])
    factor = pilot.factor_of_distinct(M)
    assert np.array_equal(factor.pivots, np.arange(40)) and np.allclose(factor.U.T @ factor.U, M[:40, :40])
    wide = Gaussian(50.0).gram(X)  # too many of them: all stay
    assert len(pilot.factor_of_distinct(wide).pivots) == 40


def test_single_precision_is_used_where_it_has_the_digits():
    X = np.random.default_rng(6).normal(size=(50, 5))
    k = Gaussian(1.0)
    U = pilot.factor_of_distinct(k.gram(X)).U
    assert pilot.working_precision(k, X, U) is np.float32
    assert pilot.working_precision(k, X + 1e5, U) is np.float64  # the rows would be rounded
    assert pilot.working_precision(k, X, 1e-3 * U) is np.float64


def rippled(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 4))
    return X, np.sin(2 * X[:, :3]).sum(axis=1) + 0.2 * rng.normal(size=n)


@pytest.fixture(scope="module")
def small_pilots():
    """The pilots and numbers of landmarks of fits to many rows are half as large."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pilot.LandmarkTrials, "stages", ((100, 800), (400, 1_600)))
        yield


@pytest.fixture(scope="module")
def many(small_pilots):
    X, y = rippled(5_100)
    model, judged = SimilarityRegressor("gaussian", random_state=0, engine=ONE), []
    with pytest.MonkeyPatch.context() as patched:
        judge = SimilarityRegressor._evaluate
        patched.setattr(SimilarityRegressor, "_evaluate", lambda self, one: judged.append(one) or judge(self, one))
        model.fit(X, y)
    return X, y, model, judged[0]


def test_many_rows_are_fitted_by_steps(many):
    _, _, model, judged = many
    new, truth = rippled(2_000, seed=1)
    error = ((model.predict(new) - truth) ** 2).mean()
    assert error < 1.35 * 0.04 and judged.trial.loss == pytest.approx(error, rel=0.25)


def test_rows_that_judge_many_take_part_in_no_choice(many):
    X, y, model, judged = many
    other = y.copy()
    other[judged.positions] = np.random.default_rng(2).normal(size=len(judged.positions))
    again = SimilarityRegressor("gaussian", random_state=0, engine=ONE)
    scored = run_fit(again, X, other[:, None]).evaluate()
    assert again.similarity_ == model.similarity_ and again.lam_ == model.lam_
    assert np.array_equal(scored.trial.scores, judged.trial.scores)  # and not in the model that they judge


@pytest.mark.parametrize("n_classes", [pytest.param(2, marks=pytest.mark.deep), 3])
@pytest.mark.deep
def test_influences_in_a_classifier_of_many_rows_sum_to_the_score(small_pilots, n_classes):
    X, y = rippled(5_100)
    labels = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    model = SimilarityClassifier("gaussian", random_state=0, engine=ONE).fit(X, labels)
    scores = model.decision_function(X[:20])
    for explanation in model.explain(X[:20]):
        assert np.isclose(explanation.base + sum(explanation.influences), explanation.score, atol=1e-9)
    assert scores.shape == ((20,) if n_classes == 2 else (20, 3))


def test_influences_wait_until_they_are_asked_for_and_are_those_of_ridge_regression(many):
    X, y, model, _ = many
    new = rippled(30, seed=3)[0]
    assert isinstance(model._influence, DelayedInfluence)
    influence, L = model._influence.found, np.asarray(model.landmarks_)
    found = model.similarity_.cross(new, L) @ influence.weights[0] + influence.constants
    factor = factor_of_landmarks(model.similarity_.gram(L), False)
    features = [model.similarity_.cross(rows, L)[:, factor.pivots] for rows in (X, new)]
    F, F_new = (solve_rows(K, solver(factor.U, K.dtype)) for K in features)
    group = influence.heads[model.similarity_.cross(X, L[influence.heads]).argmax(axis=1)]
    apart = (group[:, None] == influence.heads) * (y - y.mean())[:, None]
    expected = Ridge(Moments.of(F, apart, np.ones(len(y)))).fit(model.lam_).scores(F_new) - apart.mean(axis=0)
    assert np.abs(found - expected).max() < 0.015 * np.abs(expected).max()
    assert np.array_equal(influence.counts, (group[:, None] == influence.heads).sum(axis=0))


def test_a_pickled_model_has_its_influences_and_no_rows(many):
    X, _, model, _ = many
    assert len(pickle.dumps(model)) < X.nbytes + 120 * len(model.landmarks_) * 8
    again = pickle.loads(pickle.dumps(model))
    assert isinstance(again._influence, GroupInfluence)
    pairs = zip(model.explain(X[:5]), again.explain(X[:5]), strict=True)
    assert all(np.array_equal(here.influences, there.influences) for here, there in pairs)


def small(n=23, m=6, outputs=2, dtype=np.float64):
    """Return a problem with weights of which some are zero, in strips of a few rows."""
    K, U, F, Y, weights = problem(n, m)
    weights[3], Y = 0.0, Y @ np.random.default_rng(1).normal(size=(2, outputs))
    return K.astype(dtype), U, F, Y, weights


@pytest.mark.parametrize("outputs", [1, 2, 5])
def test_what_each_group_adds_is_the_minimizer_for_its_targets(outputs):
    K, U, F, Y, weights = small(outputs=outputs)
    group, mean = np.arange(23) % 3, weights @ Y / weights.sum()
    ridge = by_steps(K, U, F, weights, LAM, n=10)
    model = ridge.fit(Y, weights, LAM, tolerance=1e-15)
    added = ridge.of_groups(model, Y, weights, LAM, Members(group, 3), tolerance=1e-15)
    found = added.scores(F).reshape(23, 3, outputs)
    assert added.intercept.shape == (3 * outputs,)
    for g in range(3):
        T = np.where((group == g)[:, None], Y - mean, 0.0)
        expected = Ridge(Moments.of(F, T, weights)).fit(LAM).scores(F) - weights @ T / weights.sum()
        assert np.allclose(found[:, g], expected, atol=1e-7)
    other = LinearModel(model.weights + 1.0, model.intercept + 2.0)  # what is left goes to groups by their weights
    moved = ridge.of_groups(other, Y, weights, LAM, Members(group, 3), tolerance=1e-15)
    share = np.bincount(group, weights) / weights.sum()
    more = (moved.scores(F) - added.scores(F)).reshape(23, 3, outputs)
    assert np.allclose(more, ((F.sum(axis=1) + 2.0)[:, None] * share)[:, :, None], atol=1e-7)


def test_a_wide_kernel_of_many_rows_predicts_as_well_as_its_held_out_error():
    """Rounding in single precision, divided by a small penalty, led to ten times the variance of the targets."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5_200, 4))
    y = X[:, 0] * X[:, 1] + 0.05 * rng.normal(size=5_200)
    model = SimilarityRegressor(Laplace(), random_state=0, engine=ONE).fit(X, y)
    new = rng.normal(size=(500, 4))
    error = np.mean((model.predict(new) - new[:, 0] * new[:, 1]) ** 2)
    assert error < model.held_out_error_.high < 0.02 * y.var()
