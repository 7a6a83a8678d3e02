"""The parts of linear solvers, each against its definition: products, steps, line searches, preconditioners."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from similitude.linear import features, l1_penalty, l2_penalty, lapack, moments
from similitude.linear.features import Features
from similitude.linear.l1_penalty import L1Objective, l1_path, largest_penalty, newton_on_active_set, row_norms
from similitude.linear.l2_penalty import l2_path
from similitude.linear.losses import Logistic, MultinomialLogistic, Squared, SquaredHinge
from similitude.linear.moments import LinearModel
from similitude.linear.newton_step import LEAST_CURVATURE, _curvatures, is_coupled, newton_step
from similitude.linear.weighted_loss import WeightedLoss, _between, line_minimum


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


# Cholesky factors.


def test_the_last_factors_are_kept_and_the_oldest_is_forgotten(monkeypatch):
    made = []
    factored = lapack.factorize
    monkeypatch.setattr(lapack, "factorize", lambda gram, shift: made.append(shift) or factored(gram, shift))
    factors = lapack.ShiftedFactors(np.diag([1.0, 8.0]))
    B = np.ones((2, 1))

    def asked(place):
        factors.solve(np.array([8.0 * 4.0**place]), B)
        return len(made)

    assert [asked(place) for place in (0, 1, 2, 3)] == [1, 2, 3, 4]
    assert asked(0) == 4  # and is now the youngest
    assert asked(4) == 5 and asked(0) == 5 and asked(1) == 6
    np.testing.assert_allclose(made, 8.0 * 4.0 ** np.array([0, 1, 2, 3, 4, 1]))
    exact = B / (np.array([[1.0], [8.0]]) + 8.0 * 4.0)
    np.testing.assert_allclose(factors.solve(np.array([8.0 * 4.0]), B), exact)
    assert lapack.ShiftedFactors(np.zeros((2, 2))).scale == 1.0
    assert lapack.ShiftedFactors(-np.eye(2)).scale == 1.0


def test_a_matrix_that_rounding_made_indefinite_grows_by_little_until_it_has_a_factor(monkeypatch):
    A = np.array([[1.0, 1.0], [1.0, 1.0 - 1e-12]])
    tried, factor = [], lapack.upper_factor
    monkeypatch.setattr(lapack, "upper_factor", lambda M, d: tried.append(d.copy()) or factor(M, d))
    U = lapack.factorize(np.asfortranarray(A), 0.0)
    growths = [float(d[0]) - 1.0 for d in tried]
    np.testing.assert_allclose(growths, [0.0, 100 * lapack.EPS, 1e4 * lapack.EPS], rtol=1e-2)
    np.testing.assert_allclose(U.T @ U, A, atol=1e-11)
    np.testing.assert_array_equal(lapack.factorize(np.zeros((2, 2)), 0.0), np.eye(2))
    np.testing.assert_allclose(lapack.factorize(np.diag([-1.0, 3.0]), 1.0), np.diag([1.0, 2.0]))
    assert lapack.upper_factor(A, np.array([1.0, -1.0])) is None
    M = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
    U = lapack.factorize(np.asfortranarray(M), np.zeros(3))
    np.testing.assert_allclose(lapack.inverse(U), np.linalg.inv(M), atol=1e-14)
    np.testing.assert_allclose(lapack.solve(U, np.arange(3.0)), np.linalg.solve(M, np.arange(3.0)))


# Searches along lines.


def test_a_bracket_is_cut_in_half_or_left_at_its_finite_end():
    low, high = np.array([1.0, -np.inf, 2.0, -np.inf]), np.array([4.0, -3.0, np.inf, np.inf])
    np.testing.assert_array_equal(_between(low, high)[:3], [2.5, -7.0, 5.0])


@pytest.mark.parametrize("root", [-100.0, -3.3, 0.25, 100.0])
def test_a_minimum_beyond_flat_parts_is_found_in_few_trials(root):
    """Without curvature the distance doubles until the root is passed, then the bracket is halved."""
    trials = []

    def along(t):
        trials.append(float(t[0]))
        error = t - root
        return np.clip(error, -1.0, 1.0), np.where(np.abs(error) < 1.0, 1.0, 0.0)

    found = line_minimum(along, np.zeros(2), 1e-9)
    np.testing.assert_allclose(found, root)
    here, expected, ends = 0.0, [0.0], [-np.inf, np.inf]
    while here != root:
        ends[0 if here < root else 1] = here
        if abs(here - root) < 1:
            here = root
        elif np.isinf(ends).any():
            here = 2 * here + np.sign(root)
        else:
            here = sum(ends) / 2
        expected.append(here)
    np.testing.assert_allclose(trials, expected)


def test_lines_that_need_no_search_stay_and_others_go_on():
    asked = []

    def along(t):
        asked.append(t)
        return np.array([0.0, 2.0, 2.0]) * (t - np.array([5.0, 1.0, -3.0])), np.array([0.0, 2.0, 2.0])

    np.testing.assert_array_equal(line_minimum(along, np.zeros(3), 0.0), [0.0, 1.0, -3.0])
    assert len(asked) == 2
    loose = line_minimum(along, np.array([0.0, 1.5, 9.0]), 0.0, np.array([0.0, 1.0, 1.0]))  # a slope of one will do
    np.testing.assert_array_equal(loose, [0.0, 1.5, -3.0])
    asked.clear()
    line_minimum(lambda t: (asked.append(t) or np.sign(t + 0.1), np.zeros(1)), np.zeros(1), 0.0)
    assert len(asked) <= 60  # a kink has no slope of zero


# Conjugate gradients.


def test_few_outputs_wait_longer_for_hessians_of_their_own_and_too_large_ones_forever(monkeypatch):
    F, Y, s = problem(d=5)
    for loss, outputs, more in ((SquaredHinge(), 3, 1), (MultinomialLogistic(), 3, 3), (MultinomialLogistic(), 7, 5)):
        wide = Features(np.tile(F, (1, 18)), s)
        objective = l2_penalty.L2Objective(wide, WeightedLoss.of(loss, Y, s), 1.0)
        objective.level = np.ones(outputs)
        assert objective.patience == 10 + 3 * more
        monkeypatch.setattr(l2_penalty, "MOST_HESSIAN_ENTRIES", outputs * 90 * 90)
        assert objective.patience == 10 + 3 * more
        monkeypatch.setattr(l2_penalty, "MOST_HESSIAN_ENTRIES", outputs * 90 * 90 - 1)
        assert objective.patience == l2_penalty.MOST_DESCENT_STEPS
        monkeypatch.undo()


def test_hessians_are_renewed_five_times_as_often_once_they_are_used():
    for patience, expected in ((10, [10, 12, 14, 16, 18]), (3, [3, *range(4, 20)])):
        objective, renewed = SimpleNamespace(patience=patience, hessians=None), []

        def update(Z, objective=objective):
            objective.hessians = [Z]

        objective.update_hessians = update
        descent = l2_penalty.Descent(objective, np.zeros((3, 2)), np.zeros((4, 2)), rough=False)
        for step in range(20):
            descent.best[:], descent.idle[:] = 1.0, 5.0
            descent._renew_hessians(step)
            if np.isinf(descent.best).all():
                renewed.append(step)
                assert not descent.idle.any()
        assert renewed == expected


def test_an_output_goes_on_until_it_is_close_or_makes_no_progress(monkeypatch):
    monkeypatch.setattr(l2_penalty, "MOST_IDLE", 2)
    descent = l2_penalty.Descent(SimpleNamespace(), np.zeros((3, 4)), np.zeros((4, 4)), rough=False)
    descent.left, enough = np.array([0, 2, 3]), np.array([1.0, 9.0, 1.0, 1.0])
    seen = [[4.0, 4.0, 1.0], [3.0, 4.0, 0.5], [2.0, 5.0, 0.1], [2.0, 3.0, 0.1], [1.5, 3.0, 3.0]]
    going = [descent._unconverged(np.array(gap), enough).tolist() for gap in seen]
    assert [one[0] for one in going] == [True] * 5
    assert [one[1] for one in going] == [True, True, False, True, True]
    assert [one[2] for one in going] == [False, False, False, False, False]
    np.testing.assert_array_equal(descent.gaps, [1.5, np.inf, 3.0, 3.0])
    np.testing.assert_array_equal(descent.best, [1.5, np.inf, 3.0, 0.1])


def test_directions_are_those_of_polak_and_ribiere():
    rng = np.random.default_rng(0)
    objective = SimpleNamespace(dots=lambda A, B: (A * B).sum(axis=0))
    descent = l2_penalty.Descent(objective, np.zeros((3, 5)), np.zeros((4, 5)), rough=False)
    P = old = None
    for step in range(4):
        g = rng.standard_normal((3, 5))
        z = g * np.array([[1.0], [2.0], [0.5]])  # as a preconditioner would give it
        if step == 2:
            g[:, 4] = z[:, 4] = 0.0  # an output at its minimum
        descent._turn(g, z, (g * z).sum(axis=0))
        if old is None:
            P = -z
        else:
            for j in range(5):
                size = float(old[0][:, j] @ old[1][:, j])
                beta = max(float((g - old[0])[:, j] @ z[:, j]) / size, 0.0) if size > 0 else 0.0
                new = beta * P[:, j] - z[:, j]
                P[:, j] = new if new @ g[:, j] < 0 else -z[:, j]
        np.testing.assert_allclose(descent.P, P, atol=1e-13)
        old = g, z


def test_the_first_preconditioner_is_the_gram_matrix_times_the_average_curvature(monkeypatch):
    monkeypatch.setattr(lapack, "SHIFT_RATIO", 1.0001)  # no rounding of shifts
    F, Y, s = problem(n=60)
    made, loss = Features(F, s), WeightedLoss.of(SquaredHinge(), Y, s)
    objective = l2_penalty.L2Objective(made, loss, 3.0)
    Z = np.random.default_rng(0).standard_normal((60, 3))
    objective.update_level(Z)
    level = 2.0 * (s[:, None] * (Y * Z < 1)).sum(axis=0) / s.sum()
    np.testing.assert_allclose(objective.level, level)
    R = np.random.default_rng(1).standard_normal((6, 3))
    found, C = objective.precondition(R), F - made.mean
    for j in range(3):
        H = np.zeros((6, 6))
        H[:5, :5] = level[j] * C.T @ (s[:, None] * C) + 2 * 3.0 * np.eye(5)
        H[5, 5] = level[j] * s.sum()
        np.testing.assert_allclose(found[:, j], np.linalg.solve(H, R[:, j]), rtol=1e-3)
    objective.update_level(np.full((60, 3), 1e9) * Y)  # nothing is left of the curvature
    np.testing.assert_array_equal(objective.level, np.full(3, lapack.EPS))
    np.testing.assert_allclose(l2_penalty._total_dot(R, R), np.full(3, (R**2).sum()))


def steps_taken(monkeypatch, loss, Y, dtype=np.float64, tolerance=1e-9):
    """Return how many outputs each step of a path of penalties moved."""
    F, _, s = problem(3, n=200, d=12, dtype=dtype)
    taken, turn = [], l2_penalty.Descent._turn

    def counted(self, *given):
        taken.append(self.V.shape[1])
        turn(self, *given)

    monkeypatch.setattr(l2_penalty.Descent, "_turn", counted)
    for found in l2_path(F, Y, s, [100.0, 10.0, 1.0, 0.1], loss, tolerance=tolerance):
        assert found.gap <= tolerance
    return taken


@pytest.mark.parametrize(("name", "most"), [("hinge", 43), ("logistic", 31), ("softmax", 76), ("single", 43)])
def test_steps_along_a_path_are_few_and_outputs_drop_out(name, most, monkeypatch):
    _, Y, _ = problem(3, n=200, d=12)
    loss = {"logistic": Logistic(), "softmax": MultinomialLogistic()}.get(name, SquaredHinge())
    Y = np.eye(3)[(Y[:, 0] > 0).astype(int) + (Y[:, 1] > 0)] if name == "softmax" else Y
    taken = steps_taken(monkeypatch, loss, Y, np.float32 if name == "single" else np.float64)
    assert len(taken) <= most and sum(taken) < 3 * len(taken) + (name == "softmax")


def test_only_the_first_gradient_of_rough_steps_is_exact(monkeypatch):
    F, Y, s = problem(3, n=200, d=12, dtype=np.float32)
    asked, combine = [], Features.combine

    def combined(self, R, *, rough=False):
        asked.append(rough)
        return combine(self, R, rough=rough)

    monkeypatch.setattr(Features, "combine", combined)
    list(l2_path(F, Y, s, [1.0], SquaredHinge(), tolerance=1e-6))
    roughly = sum(asked)
    assert asked == [False] + [True] * roughly + [False] * (len(asked) - roughly - 1)  # then exact ones check
    assert roughly > 3 and not asked[-1]


# Sparse models.


def sparse_problem(loss, outputs=2, part=0.2, n=60, d=8):
    """Return the objective of a sparse model, its features, and its minimizer as a point."""
    F, Y, s = problem(4, n=n, d=d, outputs=outputs)
    if isinstance(loss, Squared):
        Y = Y + F[:, :1]
        Y = Y - s @ Y / s.sum()
    made, whole = Features(F, s), WeightedLoss.of(loss, Y, s)
    lam = part * largest_penalty(F, Y, s, loss)
    *_, found = l1_path(F, Y, s, [2 * lam, lam], loss, tolerance=1e-14)
    objective = L1Objective(made, whole, lam)
    V = np.vstack([found.weights, found.intercept + made.mean @ found.weights])
    return objective, objective.at(V, made.scores(V))


LOSSES = [Squared(), SquaredHinge()]


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_minimum_stays_where_it_is_under_steps(loss, outputs, monkeypatch):
    objective, best = sparse_problem(loss, outputs)
    assert 0 < np.count_nonzero(best.V[:-1].any(axis=1)) < 8
    for inverted in (500, 7):
        monkeypatch.setattr(l1_penalty, "INVERTED", inverted)
        method = l1_penalty.ADMM(objective, best, l1_penalty.Rho(0.7, 0.3))
        assert method.rho.scores == (2.0 if isinstance(loss, Squared) else 0.3)
        for ratio in (1.0, 1.7, 0.2, 1e9):
            for _ in range(3):
                fitted, before = method._step()
                np.testing.assert_allclose(fitted[:-1], best.V[:-1], atol=2e-5)
                np.testing.assert_allclose(method.sparse, best.V[:-1], atol=2e-5)
                np.testing.assert_allclose(before, best.V[:-1], atol=2e-5)
            method._sums = method._scored = None
            rho = method.rho.weights
            method._adapt(ratio, best, 1.5)
            assert method.rho.weights / rho == pytest.approx(min(max(ratio, 1 / 1.5), 1.5))
        _, there = method._round()
        assert there.objective == pytest.approx(best.objective, rel=1e-9)
        np.testing.assert_allclose(there.V, best.V, atol=2e-5)
        assert objective.gap(there, objective.features.combine(there.R)) <= 1e-6 * best.objective


def test_rho_of_scores_goes_to_twice_the_squared_part_of_the_rows_with_curvature(monkeypatch):
    objective, best = sparse_problem(SquaredHinge(), 2)
    weights = objective.features.weights
    part = weights @ (best.R != 0).mean(axis=1) / weights.sum()
    method = l1_penalty.ADMM(objective, best, l1_penalty.Rho(1.0, 1.0))
    dual = method.score_dual.copy()
    method._adapt(1.0, best, 1e9)
    assert method.rho.scores == pytest.approx(2 * part**2)
    np.testing.assert_allclose(method.score_dual * method.rho.scores, dual)
    method._adapt(1.0, best, 1e9)
    assert method.rho.scores == pytest.approx(2 * part**2) and method.rho.weights == 1.0
    method._adapt(1.0, replace(best, R=np.zeros_like(best.R)), 1e9)
    assert method.rho.scores == pytest.approx(2 * l1_penalty.FEWEST_ACTIVE**2)
    method._adapt(1.0, best, 1.25)
    assert method.rho.scores == pytest.approx(2 * l1_penalty.FEWEST_ACTIVE**2 * 1.25)


def test_residuals_are_compared_relative_to_what_they_are_residuals_of():
    rng = np.random.default_rng(0)
    fitted, new, old, dual = rng.standard_normal((4, 6, 2))
    norm = np.linalg.norm
    expected = (norm(fitted - new) / norm(fitted)) / (norm(new - old) / norm(dual))
    assert l1_penalty._residual_ratio(fitted, new, old, dual) == pytest.approx(expected**0.5)
    assert l1_penalty._residual_ratio(fitted, new, new, dual) == np.inf
    assert l1_penalty._residual_ratio(new, new, new, dual) == 1.0
    W = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    np.testing.assert_allclose(l1_penalty._limited(W, np.array([1.0, 1.0, 2.0])), [[0.6, 0.8], [0.3, 0.4], [0.0, 0.0]])


def test_newton_steps_are_tried_after_four_rounds_and_twice_as_many_each_time(monkeypatch):
    objective, best = sparse_problem(SquaredHinge(), 1)
    monkeypatch.setattr(l1_penalty, "MOST_ROUNDS", 19)
    monkeypatch.setattr(l1_penalty.ADMM, "_gap", lambda self, point: next(gaps))
    gaps, rounds, tried, most = iter(range(1000, 0, -1)), [], [], []
    moved, adapt = l1_penalty.ADMM._round, l1_penalty.ADMM._adapt

    def polished(objective, point, goal):
        tried.append(len(rounds))
        return point

    def adapted(self, ratio, point, limit):
        most.append(limit)
        adapt(self, ratio, point, limit)

    monkeypatch.setattr(l1_penalty.ADMM, "_round", lambda self: rounds.append(0) or moved(self))
    monkeypatch.setattr(l1_penalty.ADMM, "_adapt", adapted)
    monkeypatch.setattr(l1_penalty, "newton_on_active_set", polished)
    l1_penalty.ADMM(objective, best, l1_penalty.Rho(1.0, 1.0)).minimize(0.0)
    assert tried == [4, 8, 16] and len(rounds) == 19
    np.testing.assert_allclose(most, [1 + 1 / (1 + k / 20) ** 2 for k in range(1, 20)])


def test_the_best_round_counts_and_a_round_that_meets_the_goal_is_the_last(monkeypatch):
    objective, best = sparse_problem(SquaredHinge(), 1)
    points = [replace(best, objective=float(place)) for place in range(9)]
    for seen, goal, expected, rounds in (
        ([5.0, 2.0, 3.0], 0.0, 1, 3),
        ([5.0, 2.0, 3.0], 2.0, 1, 2),
        ([5.0, 5.0, 5.0], 1.0, 0, 3),
    ):
        asked = []
        monkeypatch.setattr(l1_penalty, "MOST_ROUNDS", 3)
        monkeypatch.setattr(l1_penalty.ADMM, "_round", lambda self, asked=asked: (1.0, points[len(asked)]))
        monkeypatch.setattr(
            l1_penalty.ADMM, "_gap", lambda self, point, asked=asked, seen=seen: asked.append(0) or seen[len(asked) - 1]
        )
        found = l1_penalty.ADMM(objective, best, l1_penalty.Rho(1.0, 1.0)).minimize(goal)
        assert found.objective == expected and len(asked) == rounds


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


@pytest.mark.parametrize("outputs", [1, 3])
def test_the_hessian_of_a_sparse_objective_is_that_of_differences(outputs):
    objective, best = sparse_problem(Squared(), outputs)
    active = np.flatnonzero(best.V[:-1].any(axis=1))
    part = L1Objective(objective.features.columns(active), objective.loss, objective.penalty)
    V = best.V[[*active, -1]] + 0.1

    def gradient(v):
        W = v.reshape(V.shape)
        found = part.features.combine(part.loss.slopes(part.features.scores(W)))
        found[:-1] += part.penalty * W[:-1] / np.linalg.norm(W[:-1], axis=1)[:, None]
        return found.ravel()

    curvatures = objective.loss.curvatures(part.features.scores(V))
    expected = approx_fprime(V.ravel(), gradient, 1e-7)
    found = l1_penalty._hessian(part, V[:-1], curvatures)
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_newton_steps_from_nearby_end_at_the_minimum(loss, monkeypatch):
    objective, best = sparse_problem(loss)
    start = best.V * 1.05
    start = objective.at(start, objective.features.scores(start))
    steps, step = [], l1_penalty._newton_step
    monkeypatch.setattr(l1_penalty, "_newton_step", lambda *given: steps.append(0) or step(*given))
    found = newton_on_active_set(objective, start, 1e-9 * best.objective)
    assert found.objective == pytest.approx(best.objective, rel=1e-9)
    np.testing.assert_allclose(found.Z, objective.features.scores(found.V), atol=1e-9)
    assert len(steps) <= 5
    for most, taken in ((3 * np.count_nonzero(best.V[:-1].any(axis=1)), 0), (len(start.V) * 2, len(steps))):
        steps.clear()
        monkeypatch.setattr(l1_penalty, "MOST_UNKNOWNS", most // 2 if taken == 0 else most)
        newton_on_active_set(objective, start, 1e-9 * best.objective)
        assert len(steps) == taken
    none = np.zeros_like(best.V)
    none = objective.at(none, objective.features.scores(none))
    assert newton_on_active_set(objective, none, 0.0) is none


def test_a_weight_that_a_step_would_take_past_zero_stops_there():
    F = np.array([[1.0, 0.1], [-1.0, 0.1], [2.0, -0.1], [-2.0, -0.1]])
    objective = L1Objective(Features(F, np.ones(4)), WeightedLoss.of(Squared(), F[:, 0], np.ones(4)), 0.5)
    V = np.array([[0.5], [-0.01], [0.0]])
    start = objective.at(V, objective.features.scores(V))
    there, t = l1_penalty._newton_step(objective, start, 0.0)
    assert t == 1.0 and there.V[1, 0] == 0.0 and there.V[0, 0] == pytest.approx(1 - 0.5 / 20)
    assert there.objective < start.objective


def test_damping_falls_after_full_steps_and_grows_after_others(monkeypatch):
    objective, best = sparse_problem(SquaredHinge())
    lengths, damped = [1, 1, 0.5, 0.25, 0.5, 0.5, 0.5, 0.5] + [1] * 30, []
    gaps = iter(0.5 ** np.arange(100.0))

    def stepped(part, point, damping):
        damped.append(damping)
        return point, lengths[len(damped) - 1]

    monkeypatch.setattr(l1_penalty, "_newton_step", stepped)
    monkeypatch.setattr(L1Objective, "gap", lambda self, point, gradient: float(next(gaps)))
    newton_on_active_set(objective, best, 0.0)
    expected = [1e-2]
    for length in lengths:
        expected.append(min(max(expected[-1] * (0.1 if length == 1 else 4.0), lapack.EPS), 1.0))
    assert len(damped) == 20
    np.testing.assert_allclose(damped, expected[:20])
    for length, seen, goal, steps in ((1, [8.0, 4.0, 2.1, 0.1], 0.0, 3), (1, [8.0, 4.0, 2.0], 4.0, 3), (0, [], 0.0, 1)):
        lengths, gaps = [length] * 30, iter(seen)
        damped.clear()
        newton_on_active_set(objective, best, goal)
        assert len(damped) == steps


def test_features_join_a_working_set_in_the_order_of_their_gradients(monkeypatch):
    monkeypatch.setattr(l1_penalty, "FEWEST_CANDIDATES", 2)
    sets = SimpleNamespace(gradient=np.array([[3.0], [-5.0], [4.0], [4.0], [1.0], [0.0], [0.0], [0.0], [0.0]]))
    join = l1_penalty.WorkingSets._join
    working = np.zeros(8, dtype=bool)
    assert join(sets, working, np.array([True] * 4 + [False] * 4))
    assert np.flatnonzero(working).tolist() == [1, 2]
    assert not join(sets, working, working.copy())
    assert np.flatnonzero(working).tolist() == [1, 2]
    assert join(sets, working, np.array([True, True, True, True, True, False, False, False]))
    assert np.flatnonzero(working).tolist() == [0, 1, 2, 3]  # of eight, half
    assert join(sets, working, np.array([False] * 4 + [True] + [False] * 3)) and working.all()


# The last step.


def test_only_logistic_regression_of_several_outputs_couples_them():
    assert is_coupled("logistic", 2) is True
    assert is_coupled("logistic", 1) is is_coupled("squared_hinge", 3) is False


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


def test_rows_count_up_to_a_slack_beyond_the_margin_or_the_first_row_of_their_class():
    scores = np.array([[0.5], [1.05], [1.1], [1.2], [-3.0], [-3.05], [-3.3], [-2.0]])
    Y, s = np.sign(scores), np.array([1.0, 2.0, 1.0, 1.0, 1.0, 3.0, 1.0, 0.0])
    data = WeightedLoss.of(SquaredHinge(), Y, s)
    expected = {0.0: [1, 0, 0, 0, 1, 0, 0, 0], 0.07: [1, 2, 0, 0, 1, 3, 0, 0], np.inf: [1, 2, 1, 1, 1, 3, 1, 0]}
    for slack, weights in expected.items():
        found = _curvatures(data, scores, slack)[:, 0]
        np.testing.assert_array_equal(found, 2.0 * np.array(weights))
    flat = _curvatures(WeightedLoss.of(Logistic(), Y, s), 1e3 * scores, 0.0)
    np.testing.assert_allclose(flat[:, 0], LEAST_CURVATURE * s)


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
