"""Least squares from moments against refitting by hand, and a penalty chosen on a path against its definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import LinAlgError

from similitude.evaluation import PENALTIES, Trial
from similitude.linear import (
    Gram,
    GramFactor,
    GroupMoments,
    LinearModel,
    Members,
    Moments,
    Ridge,
    fit_numbers,
    gram,
    moments,
    penalty_choice,
)
from similitude.linear import ridge as ridge_module
from similitude.linear.losses import Squared
from similitude.linear.moments import DIVIDED_AT_ONCE, divide_both_sides
from similitude.linear.penalty_choice import FOLDS
from similitude.linear.ridge import ByCholesky, ByEigenvectors

FACTORIZATIONS = {"eigenvectors": 10_000, "cholesky": 0}


@pytest.fixture(params=FACTORIZATIONS)
def factorized(request, monkeypatch):
    """Every test that asks for it runs with either factorization."""
    monkeypatch.setattr(ridge_module, "BY_EIGENVECTORS", FACTORIZATIONS[request.param])
    return request.param


def problem(seed, n=12, d=4, k=2, weighted=True, dtype=np.float64):
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((n, d)) + rng.standard_normal(d)
    Y = rng.standard_normal((n, k)) + F[:, :1]
    weights = rng.uniform(0.2, 3.0, n) if weighted else np.ones(n)
    return F.astype(dtype), Y, weights


def naive(F, Y, weights, lam):
    """The minimizer of sum_i s_i |y_i - w'f_i - b|^2 + lam |w|^2, as one least-squares problem; w, b."""
    d = F.shape[1]
    root = np.sqrt(weights)[:, None]
    rows = np.hstack([root * F, root])
    penalty = np.hstack([np.sqrt(lam) * np.eye(d), np.zeros((d, 1))])
    targets = np.vstack([root * Y, np.zeros((d, Y.shape[1]))])
    found = np.linalg.lstsq(np.vstack([rows, penalty]), targets, rcond=None)[0]
    return found[:-1], found[-1]


def naive_left_out(F, Y, weights, lam):
    """The score of each example by a model that is fitted to all others."""
    scores = np.empty_like(Y)
    for i in range(len(F)):
        others = np.arange(len(F)) != i
        w, b = naive(F[others], Y[others], weights[others], lam)
        scores[i] = F[i] @ w + b
    return scores


# Moments.


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 9), st.integers(1, 4), st.integers(1, 3), st.integers(0, 2**32 - 1), st.booleans())
def test_moments_are_the_sums_that_they_say(n, d, k, seed, weighted):
    F, Y, s = problem(seed, n, d, k, weighted)
    found = Moments.of(F, Y, s)
    assert found.weight == pytest.approx(sum(s))
    np.testing.assert_allclose(found.features, sum(s[i] * F[i] for i in range(n)))
    np.testing.assert_allclose(found.targets, sum(s[i] * Y[i] for i in range(n)))
    np.testing.assert_allclose(found.gram, sum(s[i] * np.outer(F[i], F[i]) for i in range(n)), atol=1e-12)
    np.testing.assert_allclose(found.cross, sum(s[i] * np.outer(F[i], Y[i]) for i in range(n)), atol=1e-12)
    mean, middle = np.average(F, axis=0, weights=s), np.average(Y, axis=0, weights=s)
    gram, cross = found.centered()
    np.testing.assert_allclose(gram, (s[:, None] * (F - mean)).T @ (F - mean), atol=1e-10)
    np.testing.assert_allclose(cross, (s[:, None] * (F - mean)).T @ (Y - middle), atol=1e-10)


@pytest.mark.parametrize(("low", "high"), [(-1.0, 1.0), (0.0, 1.0), (-0.5, 2.0)])
def test_moments_of_codes_of_many_classes_are_sums_over_classes(low, high, monkeypatch):
    F, _, weights = problem(3, n=90, d=5)
    summed, calls = moments.sums_of_groups, []
    monkeypatch.setattr(moments, "sums_of_groups", lambda *args: calls.append(args) or summed(*args))
    codes = np.where(np.arange(40) == np.random.default_rng(0).integers(40, size=90)[:, None], high, low)
    found = moments._cross_of_codes(F, codes, weights, weights @ F)
    np.testing.assert_allclose(found, F.T @ (weights[:, None] * codes), atol=1e-11)
    np.testing.assert_array_equal(Moments.of(F, codes, weights).cross, found)
    assert len(calls) == 2
    Moments.of(F, codes[:, :31], weights)  # of few classes, products are quicker
    assert len(calls) == 2
    codes[3] = 0.5  # no code of a class: the sums would be wrong
    np.testing.assert_allclose(Moments.of(F, codes, weights).cross, F.T @ (weights[:, None] * codes), atol=1e-11)
    assert len(calls) == 2


@settings(max_examples=15, deadline=None)
@given(st.integers(2, 12), st.integers(0, 2**32 - 1))
def test_moments_of_parts_add_up_to_those_of_the_whole(n, seed):
    F, Y, s = problem(seed, n)
    cut = 1 + seed % (n - 1)
    first, second = Moments.of(F[:cut], Y[:cut], s[:cut]), Moments.of(F[cut:], Y[cut:], s[cut:])
    whole, both = Moments.of(F, Y, s), first + second
    before = first.gram.copy()
    for name in ("weight", "features", "targets", "gram", "cross"):
        np.testing.assert_allclose(getattr(both, name), getattr(whole, name), rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(first.gram, before)  # + makes something new
    first += second
    np.testing.assert_allclose(first.gram, whole.gram)
    np.testing.assert_allclose(first.weight, whole.weight)


def test_a_weight_of_zero_is_no_example_and_two_are_two():
    F, Y, _ = problem(3)
    s = np.array([0, 1, 2] * 4, dtype=float)
    repeated = np.repeat(np.arange(12), s.astype(int))
    weighted, plain = Moments.of(F, Y, s), Moments.of(F[repeated], Y[repeated], np.ones(len(repeated)))
    np.testing.assert_allclose(weighted.gram, plain.gram)
    np.testing.assert_allclose(weighted.cross, plain.cross)
    assert weighted.weight == plain.weight


def test_moments_of_single_precision_are_kept_in_double():
    F, Y, s = problem(0, n=500, dtype=np.float32)
    found, exact = Moments.of(F, Y, s), Moments.of(F.astype(np.float64), Y, s)
    for name in ("features", "targets", "gram", "cross"):
        assert getattr(found, name).dtype == np.float64
        np.testing.assert_allclose(getattr(found, name), getattr(exact, name), rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_features_far_from_zero_lose_no_digits_in_single_precision_whatever_their_unit(unit):
    F = (unit * (1000.0 + np.random.default_rng(0).normal(size=(400, 3)))).astype(np.float32)
    found = Moments.of(F, np.ones((400, 1)), np.ones(400))
    centered = F.astype(np.float64) - F.astype(np.float64).mean(axis=0)
    spread = found.gram - np.outer(found.features, found.features) / found.weight
    np.testing.assert_allclose(spread, centered.T @ centered, rtol=1e-3, atol=1e-2 * unit**2)


# The minimizer.


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 10), st.integers(1, 12), st.integers(1, 3), st.integers(0, 2**32 - 1), st.floats(1e-3, 1e3))
def test_the_minimizer_is_that_of_a_naive_solver(n, d, k, seed, lam):
    F, Y, s = problem(seed, n, d, k)
    w, b = naive(F, Y, s, lam)
    found = Ridge(Moments.of(F, Y, s)).fit(lam)
    np.testing.assert_allclose(found.weights, w, atol=1e-7)
    np.testing.assert_allclose(found.intercept, b, atol=1e-7)
    np.testing.assert_allclose(found.scores(F), F @ w + b, atol=1e-7)
    once = Ridge(Moments.of(F, Y, s), lam)
    assert isinstance(once.factorization, ByCholesky)
    np.testing.assert_allclose(once.fit(lam).weights, w, atol=1e-7)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 8), st.integers(1, 3), st.integers(0, 2**32 - 1), st.floats(1e-6, 1e3))
def test_both_factorizations_agree(d, k, seed, lam):
    F, Y, s = problem(seed, 10, d, k)
    gram, cross = Moments.of(F, Y, s).centered()
    one, other = ByEigenvectors(gram, cross), ByCholesky(gram, cross)
    np.testing.assert_allclose(one.solve(lam), other.solve(lam), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(one.solve(lam), np.linalg.solve(gram + lam * np.eye(d), cross), rtol=1e-6, atol=1e-9)
    for G in (F, F.astype(np.float32)):
        exact = np.einsum("ij,ij->i", F, np.linalg.solve(gram + lam * np.eye(d), F.T).T)
        close = {"rtol": 1e-6, "atol": 1e-9} if G is F else {"rtol": 5e-3, "atol": 1e-3}
        ((scores,), (leverages,)) = one.of_rows(G, [lam])
        ((others,), (other_leverages,)) = other.of_rows(G, [lam])
        np.testing.assert_allclose(leverages, exact, **close)
        np.testing.assert_allclose(other_leverages, exact, **close)
        np.testing.assert_allclose(scores, others, **close)


# Predicted by a model of all others.


@pytest.mark.parametrize("lam", [1e-3, 0.3, 30.0])
@pytest.mark.parametrize(("n", "d", "k"), [(12, 4, 1), (9, 3, 3), (8, 15, 2), (2, 3, 1)])
@pytest.mark.parametrize("weighted", [True, False])
def test_leaving_one_out_is_refitting(factorized, n, d, k, lam, weighted):
    F, Y, s = problem(n + d, n, d, k, weighted)
    ridge = Ridge(Moments.of(F, Y, s))
    trial = ridge.left_out(F, Y, s)([lam])[0]
    scores = naive_left_out(F, Y, s, lam)
    np.testing.assert_allclose(trial.scores, scores, rtol=1e-7, atol=1e-8)
    losses = ((scores - Y) ** 2).sum(axis=1)
    np.testing.assert_allclose(trial.losses, losses, rtol=1e-6, atol=1e-10)
    assert trial.lam == lam
    assert trial.loss == pytest.approx(np.average(losses, weights=s), rel=1e-6)


@settings(max_examples=20, deadline=None)
@given(st.integers(3, 9), st.integers(1, 10), st.integers(0, 2**32 - 1), st.floats(1e-2, 1e2))
def test_leaving_one_out_is_refitting_whatever_the_examples(n, d, seed, lam):
    F, Y, s = problem(seed, n, d)
    F[:, 0] = np.round(F[:, 0])
    F[-1] = F[0]
    trial = Ridge(Moments.of(F, Y, s)).left_out(F, Y, s)([lam])[0]
    np.testing.assert_allclose(trial.scores, naive_left_out(F, Y, s, lam), rtol=1e-5, atol=1e-6)


def test_examples_without_a_weight_are_judged_by_all_others(factorized):
    F, Y, s = problem(5)
    s[[2, 7]] = 0.0
    trial = Ridge(Moments.of(F, Y, s)).left_out(F, Y, s)([0.5])[0]
    np.testing.assert_allclose(trial.scores, naive_left_out(F, Y, s, 0.5), atol=1e-8)
    counted = s > 0
    assert trial.loss == pytest.approx(np.average(trial.losses[counted], weights=s[counted]))


def test_an_example_that_decides_alone_gives_no_verdict(factorized):
    F, Y, s = np.vstack([np.eye(3), np.zeros((3, 3))]), np.ones((6, 1)), np.ones(6)
    ridge = Ridge(Moments.of(F, Y, s))
    assert np.isnan(ridge.left_out(F, Y, s)([1e-12])[0].loss)  # each of the first three has a feature of its own
    assert np.isfinite(ridge.left_out(F, Y, s)([1.0])[0].loss)


@pytest.mark.parametrize("lam", [1e-2, 1.0, 100.0])
def test_examples_held_out_are_judged_by_the_model(factorized, lam):
    F, Y, s = problem(1, n=20)
    ridge = Ridge(Moments.of(F[:14], Y[:14], s[:14]))
    trial = ridge.held_out(F[14:], Y[14:], s[14:])([lam])[0]
    w, b = naive(F[:14], Y[:14], s[:14], lam)
    np.testing.assert_allclose(trial.scores, F[14:] @ w + b, atol=1e-9)
    assert trial.loss == pytest.approx(np.average(((F[14:] @ w + b - Y[14:]) ** 2).sum(axis=1), weights=s[14:]))


def test_single_precision_is_close_to_double(factorized):
    F, Y, s = problem(2, n=300, d=20)
    for lam in (1.0, 100.0):
        exact = Ridge(Moments.of(F, Y, s)).left_out(F, Y, s)([lam])[0]
        G = F.astype(np.float32)
        ridge = Ridge(Moments.of(G, Y, s))
        np.testing.assert_allclose(ridge.left_out(G, Y, s)([lam])[0].scores, exact.scores, atol=2e-4)
        assert ridge.left_out(G, Y, s)([lam])[0].loss == pytest.approx(exact.loss, rel=1e-4)
        np.testing.assert_allclose(ridge.fit(lam).weights, Ridge(Moments.of(F, Y, s)).fit(lam).weights, atol=2e-4)


# Features that tell nothing.


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, -1 / 3, 1e6, 1e-9, 1e15])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_constant_features_leave_the_mean(factorized, value, dtype):
    _, Y, s = problem(0, n=40)
    F = np.full((40, 3), value, dtype=dtype)
    ridge = Ridge(Moments.of(F, Y, s))
    best = ridge.best(ridge.left_out(F, Y, s))
    middle = np.average(Y, axis=0, weights=s)
    loose = 1e-4 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(ridge.fit(best.lam).scores(F), np.tile(middle, (40, 1)), atol=loose)
    np.testing.assert_allclose(best.scores, naive_left_out(np.zeros((40, 0)), Y, s, 1.0), atol=10 * loose)


def test_a_constant_feature_beside_others_changes_nothing(factorized):
    F, Y, s = problem(4)
    for value in (0.0, 1.0, 1e3):
        more = np.hstack([F, np.full((12, 1), value)])
        for lam in (0.1, 10.0):
            expected = Ridge(Moments.of(F, Y, s)).left_out(F, Y, s)([lam])[0]
            found = Ridge(Moments.of(more, Y, s)).left_out(more, Y, s)([lam])[0]
            np.testing.assert_allclose(found.scores, expected.scores, atol=1e-7)


def test_a_feature_that_comes_twice_is_penalized_half(factorized):
    F, Y, s = problem(6, d=1)
    twice = np.hstack([F, F])
    once, both = Ridge(Moments.of(F, Y, s)), Ridge(Moments.of(twice, Y, s))
    np.testing.assert_allclose(both.fit(2.0).weights, np.tile(once.fit(1.0).weights / 2, (2, 1)), atol=1e-10)
    np.testing.assert_allclose(both.fit(2.0).scores(twice), once.fit(1.0).scores(F), atol=1e-10)
    trials = both.left_out(twice, Y, s)([2.0])[0], once.left_out(F, Y, s)([1.0])[0]
    np.testing.assert_allclose(trials[0].scores, trials[1].scores, atol=1e-9)


# The best penalty.


def with_losses(Y):
    """Turn a function that returns the loss of a penalty into the trials of rows with that loss."""

    def decorate(loss):
        def trials(lams):
            return Trial.of_path(lams, [Y + np.sqrt(loss(lam) / Y.shape[1]) for lam in lams], Y, np.ones(len(Y)))

        return trials

    return decorate


@pytest.mark.parametrize("seed", range(4))
def test_the_best_penalty_is_the_best_of_all(factorized, seed):
    F, Y, s = problem(seed, n=25, d=6)
    Y[:, 0] = F[:, 0] + 0.3 * Y[:, 0]
    ridge = Ridge(Moments.of(F, Y, s))
    mean = np.average(F, axis=0, weights=s)
    trace = float(s @ ((F - mean) ** 2).sum(axis=1))
    losses = [np.average(((naive_left_out(F, Y, s, trace * p) - Y) ** 2).sum(axis=1), weights=s) for p in PENALTIES]
    found = ridge.best(ridge.left_out(F, Y, s))
    away = np.abs(np.log(found.lam / (trace * PENALTIES)))
    place = int(away.argmin())
    assert away[place] < 1e-9  # one of those on offer
    assert found.loss == pytest.approx(losses[place], rel=1e-6)
    rivals = losses if factorized == "eigenvectors" else losses[place % 2 :: 2]  # whole decades where each costs a lot
    assert found.loss <= min(rivals) * (1 + 1e-6)


def test_a_walk_from_a_penalty_nearby_ends_where_neighbors_are_no_better(monkeypatch):
    monkeypatch.setattr(ridge_module, "BY_EIGENVECTORS", 0)
    F, Y, s = problem(0)
    ridge = Ridge(Moments.of(F, Y, s))
    asked = []

    @with_losses(Y)
    def judge(lam):
        asked.append(lam)
        return (np.log10(lam / ridge.unit) + 3.0) ** 2

    for near, most in ((1e-3, 3), (1e-7, 11), (None, 8), (1e3, 13)):
        asked.clear()
        assert ridge.best(judge, near).lam == pytest.approx(1e-3 * ridge.unit)
        assert len(asked) <= most
        assert len(set(asked)) == len(asked)  # none is judged twice


def test_penalties_without_a_verdict_are_passed_over(factorized):
    F, Y, s = problem(0)
    ridge = Ridge(Moments.of(F, Y, s))
    limit = ridge.unit * 1e-4

    @with_losses(Y)
    def judge(lam):
        if lam < limit and factorized == "cholesky":
            raise LinAlgError("singular")
        return np.nan if lam < limit else lam

    assert limit <= ridge.best(judge).lam < 10 * limit
    with pytest.raises(ValueError, match="more examples"):
        ridge.best(with_losses(Y)(lambda lam: np.nan))


def test_a_tie_goes_to_the_larger_penalty():
    F, Y, s = problem(0)
    ridge = Ridge(Moments.of(F, Y, s))
    assert ridge.best(with_losses(Y)(lambda lam: 1.0)).lam == pytest.approx(ridge.unit * PENALTIES[-1])


def test_a_singular_matrix_is_refused_by_the_triangular_factor():
    with pytest.raises(LinAlgError):
        ByCholesky(np.diag([1.0, -1e-3]), np.ones((2, 1))).solve(1e-6)


def test_a_trial_is_a_weighted_mean_with_its_standard_error():
    rng = np.random.default_rng(0)
    Y, scores = rng.standard_normal((50, 2)), rng.standard_normal((50, 2))
    losses = ((scores - Y) ** 2).sum(axis=1)
    plain = Trial.of(1.0, scores, Y, np.ones(50))
    assert plain.loss == pytest.approx(losses.mean())
    assert plain.deviation == pytest.approx(losses.std() / np.sqrt(50))
    s = rng.uniform(0, 2, 50)
    weighted = Trial.of(1.0, scores, Y, s)
    assert weighted.loss == pytest.approx(np.average(losses, weights=s))
    assert weighted.deviation == pytest.approx(np.sqrt(((s * (losses - weighted.loss)) ** 2).sum()) / s.sum())
    np.testing.assert_allclose(Trial.of(1.0, scores, Y, 7 * s).deviation, weighted.deviation)


# A path of penalties.


class Recorded:
    """Ridge regression as the solver of a path, that remembers its training rows and penalties."""

    def __init__(self, monkeypatch, F, Y, weights, path, fitted):
        self.F, self.Y, self.weights, self.path, self.fits = F, Y, weights, path, []
        monkeypatch.setattr(penalty_choice, "L1_PENALTIES", path)
        monkeypatch.setattr(penalty_choice, "largest_penalty", lambda *given: 1.0)
        monkeypatch.setattr(penalty_choice, "l1_path", self.fit)
        monkeypatch.setattr(penalty_choice, "n_fitted", lambda n: fitted)

    def fit(self, F, Y, weights, penalties, loss, tolerance=None):
        rows = np.array([int(np.flatnonzero((one == self.F).all(axis=1))[0]) for one in F])
        np.testing.assert_array_equal(self.weights[rows], weights)
        self.fits.append((rows, []))
        for lam in penalties:
            self.fits[-1][1].append(lam)
            yield LinearModel(*naive(F, Y, weights, lam))

    def chosen(self):
        model, trial, judged = fit_numbers(Squared(), "l1", self.F, self.Y, self.weights, 0)
        losses = ((trial.scores - self.Y[judged]) ** 2).sum(axis=1)
        np.testing.assert_allclose(trial.losses, losses)
        assert trial.loss == pytest.approx(np.average(losses, weights=self.weights[judged]))
        return model, trial.lam, judged, trial.scores


PATH = 10.0 ** np.arange(4.0, -5.0, -1.0)


@pytest.mark.parametrize("n", [3, 12, 23])
def test_the_path_is_judged_on_folds(n, monkeypatch):
    F, Y, s = problem(n, n, 3, 1)
    recorded = Recorded(monkeypatch, F, Y, s, PATH, n)
    linear, lam, judged, scores = recorded.chosen()
    assert sorted(judged.tolist()) == list(range(n))  # everybody once
    folds, last = recorded.fits[:-1], recorded.fits[-1]
    assert len(folds) == min(FOLDS, n)
    held = [np.setdiff1d(np.arange(n), rows) for rows, _ in folds]
    sizes = [len(one) for one in held]
    assert max(sizes) - min(sizes) <= 1
    losses = np.zeros(len(PATH))
    expected = np.empty_like(Y)
    for (rows, _), out in zip(folds, held, strict=True):
        for p, penalty in enumerate(PATH):
            w, b = naive(F[rows], Y[rows], s[rows], penalty)
            losses[p] += s[out] @ ((F[out] @ w + b - Y[out]) ** 2).sum(axis=1)
            if penalty == lam:
                expected[out] = F[out] @ w + b
    assert lam == PATH[losses.argmin()]
    np.testing.assert_allclose(scores, expected[judged])
    assert sorted(last[0].tolist()) == list(range(n))
    np.testing.assert_allclose(linear.weights, naive(F, Y, s, lam)[0])


def test_rows_that_judge_a_path_take_no_part_in_its_choice(monkeypatch):
    F, Y, s = problem(1, 60, 3, 1)
    Y[45:54], Y[54:] = F[45:54, :1], 1e4 * F[54:, :1]  # which would want other penalties
    chosen = []
    for sign in (1.0, -1.0):
        Y[54:] *= sign
        chosen.append(Recorded(monkeypatch, F, Y, s, PATH, 45).chosen()[1])
    losses = []
    for penalty in PATH:
        w, b = naive(F[:45], Y[:45], s[:45], penalty)
        losses.append(s[45:54] @ ((F[45:54] @ w + b - Y[45:54]) ** 2).sum(axis=1))
    assert chosen == [PATH[int(np.argmin(losses))]] * 2


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_a_class_of_one_row_does_not_decide_the_penalty(loss):
    """In the fold of that row its class is unknown: its loss is the larger the smaller the penalty is."""
    from similitude.linear import fit_classes

    rng = np.random.default_rng(0)
    F, numbers = rng.standard_normal((100, 3)), np.arange(100) % 3
    F[np.arange(100), numbers] += 4.0
    numbers[0] = 3
    model, trial, judged = fit_classes(loss, "l2", F, numbers, 4, np.ones(100), 0)
    assert (model.scores(F).argmax(axis=1) == numbers)[1:].mean() > 0.95
    held = numbers[judged] < 3
    assert (trial.scores.argmax(axis=1) == numbers[judged])[held].mean() > 0.95


@pytest.mark.parametrize("d", [3, DIVIDED_AT_ONCE + 1, 3 * DIVIDED_AT_ONCE])
def test_a_symmetric_matrix_divided_by_a_triangle_on_both_sides(d):
    rng = np.random.default_rng(d)
    U = np.triu(rng.standard_normal((d, d))) / np.sqrt(d) + 2 * np.eye(d)
    S = rng.standard_normal((d, d))
    S = S + S.T
    G = U.T @ S @ U
    divide_both_sides(G, U)
    np.testing.assert_allclose(G, S, atol=1e-11 * np.abs(S).max() * d)


# Sums over groups of rows, shifted rows, and moments as arrays.


def naive_groups(F, group, n_groups, weights, numbers):
    """The sums of s f and of s, then of s f y and s y, over the rows of each group, and its rows with a weight."""
    columns = [weights] + ([] if numbers is None else [weights * one for one in numbers.T])
    cross = [
        sum((c[i] * F[i] for i in range(len(F)) if group[i] == g), np.zeros(F.shape[1]))
        for c in columns
        for g in range(n_groups)
    ]
    targets = [sum(c[i] for i in range(len(F)) if group[i] == g) for c in columns for g in range(n_groups)]
    counts = [sum(weights[i] > 0 for i in range(len(F)) if group[i] == g) for g in range(n_groups)]
    return np.array(cross).T, np.array(targets), np.array(counts)


@pytest.mark.parametrize("way", ["dense", "sparse", "strips", "tensors"])
@pytest.mark.parametrize("outputs", [0, 2])
def test_sums_over_groups_are_those_of_a_loop(way, outputs, monkeypatch):
    F, Y, s = problem(5, n=17, d=3, k=2)
    s[[2, 5]] = 0.0
    group = np.random.default_rng(1).integers(0, 3, 17)
    group[group == 1] = 3  # a group without any row, and one with rows after it
    numbers = Y if outputs else None
    monkeypatch.setattr(moments, "FEW_GROUPED_ROWS", 17 if way == "sparse" else 18)
    expected = naive_groups(F, group, 4, s, numbers)
    if way == "tensors":
        torch = pytest.importorskip("torch")
        tensor = None if numbers is None else torch.from_numpy(numbers)
        found = GroupMoments.of(torch.from_numpy(F), Members(torch.from_numpy(group), 4, tensor), torch.from_numpy(s))
    elif way == "strips":
        monkeypatch.setattr("similitude.linear.moments.STRIP_BYTES", 8 * 3 * 5)
        found = GroupMoments.precisely(F, Members(group, 4, numbers), s)
    else:
        found = GroupMoments.of(F, Members(group, 4, numbers), s)
    for name, wanted in zip(("cross", "targets", "counts"), expected, strict=True):
        np.testing.assert_allclose(getattr(found, name), wanted, atol=1e-12)
    shift = np.array([1.0, -2.0, 0.5])
    if way != "tensors":
        np.testing.assert_allclose(
            found.about(shift).cross, naive_groups(F + shift, group, 4, s, numbers)[0], atol=1e-11
        )


def same_moments(found, expected, **close):
    for name in ("weight", "features", "targets", "gram", "cross"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), **close)
    assert (found.groups is None) == (expected.groups is None)
    for name in ("cross", "targets", "counts") if found.groups is not None else ():
        np.testing.assert_allclose(getattr(found.groups, name), getattr(expected.groups, name), **close)


@pytest.mark.parametrize("grouped", [False, True])
def test_features_far_from_zero_are_shifted(grouped):
    F, Y, s = problem(6, n=17, d=3)
    F = (np.round(64 * F) / 64 + [0.0, 300.0, 0.0]).astype(np.float32)
    members = Members(np.arange(17) % 3, 3, Y) if grouped else None
    found, exact = Moments.of(F, Y, s, members), Moments.of(F.astype(np.float64), Y, s, members)
    same_moments(found, exact, rtol=1e-5, atol=1e-3)
    np.testing.assert_allclose(found.centered()[0], exact.centered()[0], rtol=1e-4, atol=1e-3)
    assert found.eps == np.finfo(np.float32).eps and exact.eps == np.finfo(np.float64).eps
    np.testing.assert_array_equal(moments._shift(F)[[0, 2]], 0.0)
    assert moments._shift(F)[1] == pytest.approx(F[:, 1].mean(), rel=1e-6)
    spread = np.array([[-1.0], [1.0]] * 4)  # of variance one
    for mean, far in ((9.9, False), (10.1, True)):
        assert moments._shift((spread + mean).astype(np.float32)).any() == far
    both = found + exact
    assert both.eps == (exact + found).eps == found.eps
    same_moments(
        both,
        Moments.of(
            np.r_[F, F].astype(float),
            np.r_[Y, Y],
            np.r_[s, s],
            members and Members(np.r_[members.group, members.group], 3, np.r_[Y, Y]),
        ),
        rtol=1e-5,
        atol=1e-2,
    )
    same_moments(Moments.from_arrays({name: np.asarray(one) for name, one in found.to_arrays().items()}), found)
    assert all(name.startswith("group_") for name in found.to_arrays().keys() - vars(found).keys())


@pytest.mark.parametrize("columns", [slice(1, 4), slice(0, 3), slice(2, 5), slice(0, 5)])
def test_moments_divided_by_a_triangle_are_those_of_divided_features(columns):
    F, Y, s = problem(8, n=20, d=5)
    size = len(range(5)[columns])
    U = np.triu(np.random.default_rng(0).uniform(0.5, 1.0, (size, size))) + np.eye(size)
    members = Members(np.arange(20) % 3, 3, Y)
    G = F.copy()
    G[:, columns] = F[:, columns] @ np.linalg.inv(U)
    for grouped in (members, None):
        whole = Moments.of(F, Y, s, grouped)
        same_moments(whole.divided(U, columns), Moments.of(G, Y, s, grouped), atol=1e-10)
        same_moments(whole, Moments.of(F, Y, s, grouped), atol=0)  # untouched


# Ridge regression: groups, and how penalties are looked for.


def test_groups_add_up_to_the_score_less_the_mean(factorized):
    F, Y, s = problem(10, n=20, d=4)
    group = np.arange(20) % 3
    ridge = Ridge(Moments.of(F, Y, s, Members(group, 3, Y)))
    added, base = ridge.of_groups(0.7), np.average(Y, axis=0, weights=s)
    ones, *numbers = added.scores(F).reshape(20, 3, 3).transpose(1, 0, 2)
    total = np.stack([one - mean * ones for one, mean in zip(numbers, base, strict=True)], axis=1)
    np.testing.assert_allclose(total.sum(axis=2) + base, ridge.fit(0.7).scores(F), atol=1e-10)
    for g in range(3):
        w, b = naive(F, np.where((group == g)[:, None], Y - base, 0.0), s, 0.7)
        level = np.average(np.where((group == g)[:, None], Y - base, 0.0), axis=0, weights=s)
        np.testing.assert_allclose(total[:, :, g], F @ w + b - level, atol=1e-10)


# The form of a Gram matrix.

NAIVE_CASES = {
    "plain": {},
    "weights": {"weighted": True},
    "one row more than outputs": {"n": 3},
    "wide": {"d": 15},
    "copies": {"copies": True},
    "tiny": {"scale": 1e-120},
    "huge": {"scale": 1e120},
    "offset": {"offset": 1e3},
}


def gram_problem(n=9, d=3, weighted=False, copies=False, scale=1.0, offset=0.0):
    """Features, targets and weights: the Gram matrix of the features is in units of the squared scale."""
    F, Y, s = problem(n + d, n, d, 2, weighted)
    if copies:
        F[-2:] = F[0]
    return (F + offset) * scale, Y, s


def naive_ridge(F, Y, s, lam, constant):
    """Weights and constant by the normal equations, in units in which nothing overflows."""
    unit = np.abs(F).max()
    G = F / unit
    if constant:
        w, b = naive(G, Y, s, lam / unit**2)
    else:
        w = np.linalg.solve(G.T @ (s[:, None] * G) + lam / unit**2 * np.eye(F.shape[1]), G.T @ (s[:, None] * Y))
        b = np.zeros(Y.shape[1])
    return w / unit, b


def naive_residuals(F, Y, s, lam, constant):
    """The residual of each example under the model of all others."""
    found = np.empty_like(Y)
    for i in range(len(F)):
        others = np.arange(len(F)) != i
        w, b = naive_ridge(F[others], Y[others], s[others], lam, constant)
        found[i] = Y[i] - F[i] @ w - b
    return found


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("name", NAIVE_CASES)
@pytest.mark.parametrize("strip", [3, 512])
def test_a_gram_matrix_gives_the_models_and_residuals_of_refits(name, constant, strip, monkeypatch):
    monkeypatch.setattr(gram, "GRAM_STRIP", strip)
    F, Y, s = gram_problem(**NAIVE_CASES[name])
    K = F @ F.T
    ridge = Gram(K.copy(), Y, s, constant=constant)
    centered = F - constant * np.average(F, axis=0, weights=s)
    assert ridge.unit == pytest.approx(float(s @ (centered**2).sum(axis=1)), rel=1e-6)
    lams = ridge.unit * np.array([1e-3, 3.0, 0.1])
    expected = np.stack([naive_residuals(F, Y, s, lam, constant) for lam in lams], axis=1)
    close = {"rtol": 1e-5, "atol": 1e-7}
    np.testing.assert_allclose(ridge.left_out(lams), expected, **close)
    errors = np.einsum("n,nlt->lt", s, expected**2) / s.sum()
    best, found = ridge.best(lams)
    np.testing.assert_allclose(found, errors, rtol=1e-5)
    assert best == lams[errors.sum(axis=1).argmin()]
    for lam in lams:
        w, b = naive_ridge(F, Y, s, lam, constant)
        for model in (ridge.fit(lam), Gram(K.copy(), Y, s, constant=constant).fit(lam)):
            np.testing.assert_allclose(K @ model.weights + model.intercept, F @ w + b, **close)
            np.testing.assert_allclose(model.intercept, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize(("dtype", "atol"), [(np.float64, 1e-7), (np.float32, 2e-3)])
@pytest.mark.parametrize("name", ["plain", "weights", "wide", "copies"])
def test_a_factor_gives_the_model_and_residuals_of_refits(name, dtype, atol, constant):
    F, Y, s = gram_problem(**NAIVE_CASES[name])
    lam, n = 0.5, len(F)
    factor = GramFactor.of((F @ F.T).astype(dtype), lam / s)
    for m in (n, n // 2):
        ridge = factor if m == n else factor.first(m)
        assert ridge.dtype == dtype
        model, _ = ridge.fit(Y[:m], constant)
        w, b = naive_ridge(F[:m], Y[:m], s[:m], lam, constant)
        np.testing.assert_allclose(F @ F[:m].T @ model.weights + model.intercept, F @ w + b, atol=atol)
        expected = naive_residuals(F[:m], Y[:m], s[:m], lam, constant)
        for last in (m, 2, 0):
            np.testing.assert_allclose(ridge.fit(Y[:m], constant, last)[1], expected[m - last :], atol=5 * atol)
    G = F @ F.T + np.diag(lam / s)
    np.testing.assert_allclose(
        np.square(factor.halves(Y.astype(dtype))).sum(axis=0), (Y * np.linalg.solve(G, Y)).sum(axis=0), atol=10 * atol
    )

    def rest(targets, coefficients):
        return targets - G @ coefficients

    w, b = naive_ridge(F, Y, s, lam, constant)
    refined, _ = factor.fit(Y, constant, rest=rest)
    np.testing.assert_allclose(F @ F.T @ refined.weights + refined.intercept, F @ w + b, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_matrix_that_rounding_leaves_indefinite_is_factorized_with_a_larger_penalty(dtype):
    """The factor overwrites the matrix, so that a second try starts from what the first one left of it."""
    A = np.random.default_rng(0).normal(size=(30, 3)).astype(dtype)
    K = A @ A.T - 1e-5 * np.eye(30, dtype=dtype)
    L = np.tril(GramFactor.of(K.copy(), 1e-12).L).astype(float)
    difference = L @ L.T - K
    added = difference.diagonal().copy()
    np.fill_diagonal(difference, 0.0)
    assert np.abs(difference).max() < 100 * np.finfo(dtype).eps
    assert added.min() > 1e-5
    assert added.max() < 1e-3


@pytest.mark.parametrize("lam", [0.5, 0.0])
def test_constant_targets_are_fitted_exactly(lam):
    F, _, s = problem(1, n=7)
    ridge = Gram(F @ F.T, np.full((7, 2), [0.1, -1 / 3]), s)
    found = ridge.fit(lam)
    assert not found.weights.any()
    np.testing.assert_array_equal(found.intercept, [0.1, -1 / 3])
    best, errors = ridge.best(ridge.path())
    assert best == ridge.path().max() and not errors.any()


def test_directions_below_rounding_are_left_out_of_the_pseudo_inverse():
    K, Y = np.diag([0.6, 8e-4, 5e-4]), np.ones((3, 1))
    ridge = Gram(K.copy(), Y, np.ones(3), constant=False, eps=1e-3)
    np.testing.assert_allclose(ridge.fit(0.0).weights[:, 0], [1 / 0.6, 1250.0, 0.0])
    np.testing.assert_allclose(ridge.best(np.array([0.0, 1.0]))[1], 1.0)  # no row helps another
    huge = Gram(1e-10 * K, Y, np.ones(3), constant=False).fit(1e305)
    assert np.isfinite(huge.weights).all() and np.abs(huge.weights).max() < 1e-200


def test_an_eigenvector_of_a_negative_eigenvalue_is_shown_unless_it_is_rounding():
    Y, s, shown = np.ones((4, 1)), np.array([1.0, 2.0, 1.0, 3.0]), []
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
    root = np.sqrt(s)

    def decompose(K, constant, eps=1e-15):
        Gram(K, Y, s, constant=constant, eps=eps, refuse_negative=shown.append).left_out(np.array([1.0]))

    for size, refused in ((0.9e-3, False), (1.1e-3, True)):
        M = Q @ np.diag([1.0, 0.5, 0.2, -size]) @ Q.T
        decompose(M / np.outer(root, root), False, eps=1e-6)
        assert bool(shown) == refused
    v = shown[0]
    assert abs(v @ (root * Q[:, 3])) == pytest.approx(np.linalg.norm(v) * np.linalg.norm(root * Q[:, 3]))
    shown.clear()
    K = Q @ np.diag([1.0, 0.5, 0.2, -0.3]) @ Q.T
    decompose(K.copy(), True)
    assert shown[0] @ K @ shown[0] < 0 and abs(shown[0].sum()) < 1e-12  # constants take no part
    shown.clear()
    decompose(-K * 4, True)
    assert len(shown) == 1
