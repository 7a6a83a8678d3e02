"""The parts of linear solvers, each against its definition: products, steps, line searches, preconditioners."""

import numpy as np
import pytest

from similitude.linear import features, l1_penalty, moments
from similitude.linear.features import Features
from similitude.linear.l1_penalty import l1_path, largest_penalty, row_norms
from similitude.linear.l2_penalty import l2_path
from similitude.linear.losses import MultinomialLogistic, Squared, SquaredHinge
from similitude.linear.moments import LinearModel
from similitude.linear.newton_step import newton_step


def problem(seed=0, n=40, d=5, outputs=3, dtype=np.float64):
    """Features with unequal means, signs of overlapping classes, weights of which some are zero."""
    rng = np.random.default_rng(seed)
    F = (rng.standard_normal((n, d)) + rng.standard_normal(d)).astype(dtype)
    Y = np.where(F @ rng.standard_normal((d, outputs)) + rng.standard_normal((n, outputs)) > 0, 1.0, -1.0)
    return F, Y, rng.integers(0, 3, n).astype(float)


# Products with features.


@pytest.mark.parametrize("far", [0.0, 1e4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("way", ["at once", "narrow", "strips"])
def test_products_of_features_are_those_of_centered_rows(way, dtype, far, monkeypatch):
    if way == "strips":
        monkeypatch.setattr(moments, "STRIP_BYTES", 8 * 5 * 3)
        monkeypatch.setattr(features, "STRIP_BYTES", 8 * 5 * 3)
    monkeypatch.setattr(features, "FEWEST_NARROW", 200 if way == "narrow" else 201)
    F, R, s = problem(dtype=dtype)
    F = (np.round(F * 64) / 64 + far * np.eye(5)[1]).astype(dtype)
    made, few = Features(F, s), Features(F, s).columns(np.array([3, 1]))
    mean = s @ F.astype(float) / s.sum()
    C, V, c = F - mean, np.random.default_rng(1).standard_normal((6, 2)), s * np.random.default_rng(2).uniform(size=40)
    assert made.total == s.sum() and made.single == (dtype == np.float32)
    assert (made.centered is None) == (way == "strips") and (made.narrow is None) == (way != "narrow")
    assert (made.off_center is None) == (far == 0 or (dtype == np.float64 and far < 1e3))
    np.testing.assert_allclose(made.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(made.spread, s @ C**2, rtol=1e-7)
    np.testing.assert_allclose(np.triu(made.gram), np.triu(C.T @ (s[:, None] * C)), atol=1e-6)
    np.testing.assert_allclose(made.spread, Features(F, s).gram.diagonal(), rtol=1e-7)
    ones = np.hstack([C, np.ones((40, 1))])
    np.testing.assert_allclose(np.triu(made.hessian(c)), np.triu(ones.T @ (c[:, None] * ones)), atol=1e-6)
    np.testing.assert_allclose(few.hessian(c)[:2, 2], ones[:, [3, 1]].T @ c, atol=1e-6)
    for rough in (False, True):
        near = 1e-8 if not rough or (dtype == np.float64 and way != "narrow") else 1e-4
        np.testing.assert_allclose(made.scores(V, rough=rough), ones @ V, atol=near)
        np.testing.assert_allclose(made.combine(R, rough=rough), ones.T @ R, atol=10 * near)
        np.testing.assert_allclose(few.scores(V[[3, 1, 5]], rough=rough), ones[:, [3, 1, 5]] @ V[[3, 1, 5]], atol=near)
        np.testing.assert_allclose(few.combine(R, rough=rough), ones[:, [3, 1, 5]].T @ R, atol=10 * near)
    model = made.model(V, 0.25)
    np.testing.assert_allclose(model.scores(F), ones @ V, atol=1e-7 * max(far, 1))
    assert model.gap == 0.25


@pytest.mark.parametrize(("dtype", "ratio"), [(np.float32, 100.0), (np.float64, 1e6)])
def test_rows_are_centered_before_products_where_the_mean_dwarfs_the_spread(dtype, ratio):
    F, s = np.array([[-1.0], [1.0]]), np.array([2.0, 2.0])  # of variance one
    for share, centered in ((0.9, False), (1.1, True)):
        moved = (F + np.sqrt(share * ratio)).astype(dtype)
        found = Features(np.hstack([F.astype(dtype), moved]), s).off_center
        assert (found is not None) == centered
        if centered:
            np.testing.assert_allclose(found, [0.0, np.sqrt(share * ratio)], rtol=1e-6)


@pytest.mark.parametrize("rows", [0, 1, 6, 7, 8, 20])
@pytest.mark.parametrize("rough", [False, True])
def test_strips_are_all_rows_once(rows, rough, monkeypatch):
    monkeypatch.setattr(moments, "STRIP_BYTES", 8 * 2 * 7)
    F, mean = np.arange(2.0 * rows).reshape(rows, 2).astype(np.float32), np.array([1.0, -2.0])
    found = [(cut, strip.copy()) for cut, strip in moments.strips(F, mean, rough=rough)]
    assert [(cut.start, cut.stop) for cut, _ in found] == [(a, min(a + 7, rows)) for a in range(0, rows, 7)]
    for cut, strip in found:
        np.testing.assert_array_equal(strip, F[cut] - mean)
        assert strip.dtype == (np.float32 if rough else np.float64)
    assert all(np.shares_memory(strip, F) for _, strip in moments.strips(F, rough=True))  # nothing is copied


# Sparse models.


@pytest.mark.parametrize(
    ("loss", "outputs", "most"),
    [(Squared(), 1, (27, 15)), (SquaredHinge(), 1, (27, 15)), (Squared(), 3, (112, 43)), (SquaredHinge(), 3, (96, 42))],
    ids=repr,
)
def test_rounds_on_features_that_resemble_each_other_are_few(loss, outputs, most, monkeypatch):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((150, 2))
    F = np.exp(-((X[:, None] - X[None, :60]) ** 2).sum(axis=2) / 2)
    Y = np.where(np.sin(2 * X[:, :1] + np.arange(outputs)) + 0.3 * rng.standard_normal((150, outputs)) > 0, 1.0, -1.0)
    s, rounds, newton = rng.integers(0, 3, 150).astype(float), [], []
    moved, step = l1_penalty.ADMM._round, l1_penalty._newton_step
    monkeypatch.setattr(l1_penalty.ADMM, "_round", lambda self: rounds.append(0) or moved(self))
    monkeypatch.setattr(l1_penalty, "_newton_step", lambda *given: newton.append(0) or step(*given))
    monkeypatch.setattr(l1_penalty, "FEWEST_CANDIDATES", 10)
    lams = largest_penalty(F, Y, s, loss) * np.array([0.5, 0.2, 0.1, 0.05])
    for found in l1_path(F, Y, s, lams, loss, tolerance=1e-8):
        assert found.gap <= 1e-8
    assert len(rounds) <= most[0] and len(newton) <= most[1]


# The last step.


@pytest.mark.parametrize("own_apart", [False, True])
def test_the_last_step_of_multinomial_regression_sums_to_zero_and_over_groups(own_apart):
    F, Y, s = problem(6, n=60, d=4)
    numbers = (Y[:, 0] > 0).astype(int) + (Y[:, 1] > 0)
    codes = np.where(np.eye(3)[numbers] > 0, 1.0, -1.0)
    [model] = l2_path(F, codes > 0, s, [2.0], MultinomialLogistic(), tolerance=1e-10)
    members = None if own_apart else np.eye(4)[np.arange(60) % 4]
    step = newton_step("logistic", "l2", F, codes, s, model, 2.0, members)
    Z = np.exp(model.scores(F))
    P = Z / Z.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(step.weights, s[:, None] * P, rtol=1e-6)
    np.testing.assert_allclose(step.sums, s[:, None] * (P * model.scores(F) + (codes > 0) - P), atol=1e-5)
    np.testing.assert_allclose(step.model.weights, model.weights, atol=1e-4)
    np.testing.assert_allclose(step.group_weights.sum(axis=1), step.model.weights, atol=1e-12)
    np.testing.assert_allclose(step.group_constants.sum(axis=0) + step.base, step.model.intercept, atol=1e-12)
    for total in (step.model.weights.sum(axis=1), step.model.intercept.sum(), step.base.sum()):
        np.testing.assert_allclose(total, 0.0, atol=1e-12)
    if not own_apart:
        np.testing.assert_allclose(step.group_weights.sum(axis=2), 0.0, atol=1e-12)
        np.testing.assert_allclose(step.group_constants.sum(axis=1), 0.0, atol=1e-12)
        return
    C = np.hstack([F, np.ones((60, 1))])
    for k in range(3):  # of each output, the rows of its own class are left as they are
        c = step.weights[:, k]
        T = np.where(numbers == k, step.sums[:, k] - c * (step.sums[:, k].sum() / c.sum()), 0.0)
        w = np.linalg.solve(C.T @ (c[:, None] * C) + np.diag([4.0] * 4 + [0.0]), C.T @ T)
        np.testing.assert_allclose(step.group_weights[:, 0, k], w[:-1], atol=1e-9)
        assert step.group_constants[0, k] == pytest.approx(w[-1] - T.sum() / c.sum(), abs=1e-9)


@pytest.mark.parametrize("outputs", [1, 2])
def test_a_sparse_model_keeps_its_features_and_is_least_squares_on_them(outputs):
    F, Y, s = problem(7, n=80, d=6, outputs=outputs)
    lam = 0.55 * largest_penalty(F, Y, s, SquaredHinge())
    [model] = l1_path(F, Y, s, [lam], SquaredHinge(), tolerance=1e-13)
    step = newton_step("squared_hinge", "l1", F, Y, s, model, lam, np.ones((80, 1)))
    used = np.flatnonzero(model.weights.any(axis=1))
    assert 0 < len(used) < 6 and step.model is model
    assert not np.delete(step.group_weights, used, axis=0).any()
    np.testing.assert_allclose(step.group_weights[:, 0], model.weights, atol=1e-4)
    np.testing.assert_allclose(step.group_constants[0] + step.base, model.intercept, atol=1e-4)
    none = LinearModel(np.zeros((6, outputs)), s @ Y / s.sum())
    alone = newton_step("squared_hinge", "l1", F, Y, s, none, lam, np.ones((80, 1)))
    assert not alone.group_weights.any() and not alone.group_constants.any()


def test_a_step_that_would_not_help_is_not_taken():
    F, Y, s = problem(8, n=60, d=3, outputs=1)
    [model] = l2_path(F, Y, s, [2.0], SquaredHinge(), tolerance=1e-13)
    far = LinearModel(-5.0 * model.weights, model.intercept)
    for start in (far, model):
        step = newton_step("squared_hinge", "l2", F, Y, s, start, 2.0, None)
        value = {
            one: s @ np.maximum(0, 1 - Y * two.scores(F))[:, 0] ** 2 + 2.0 * (two.weights**2).sum()
            for one, two in (("before", start), ("after", step.model))
        }
        assert value["after"] <= value["before"] * (1 + 1e-12)
    assert row_norms(step.model.weights - model.weights).max() < 1e-4


def test_a_sparse_model_of_many_features_is_the_same_without_an_inverse(monkeypatch):
    F, Y, s = problem(4, n=60, d=8, outputs=2)
    lams = largest_penalty(F, Y, s, Squared()) * np.array([0.4, 0.2])
    wanted = list(l1_path(F, Y, s, lams, Squared(), tolerance=1e-10))
    monkeypatch.setattr(l1_penalty, "INVERTED", 0)
    for one, other in zip(wanted, l1_path(F, Y, s, lams, Squared(), tolerance=1e-10), strict=True):
        np.testing.assert_allclose(other.weights, one.weights, atol=1e-4)
