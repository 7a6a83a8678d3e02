"""Fits with choices on pilot rows: exact or with landmarks, judged by rows that took part in no choice."""

import numpy as np
import pytest
from fits import run_fit

from similitude import SimilarityClassifier, SimilarityRegressor
from similitude.engines import LocalEngine
from similitude.evaluation import PENALTIES, equal_rows
from similitude.fitting import pilot_choice
from similitude.kernels import Gaussian, GlobalAlignment
from similitude.similarity import Hints

ONE = LocalEngine(threads=1)


def wavy(n, seed=0, noise=0.1):
    """Return rows whose targets need many landmarks."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 6))
    return X, np.sin(3 * X[:, :3]).sum(axis=1) + noise * rng.normal(size=n)


@pytest.fixture(scope="module")
def exact():
    X, y = wavy(1100)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=len(y))
    model = SimilarityRegressor(Gaussian(), random_state=0, engine=ONE)
    fitted = run_fit(model, X, y[:, None], weights, weights)
    return model, X, y, weights, fitted, fitted.evaluation.evaluate()


def smoother(model, X, y, weights, keep):
    """Return predictions for all rows by ridge regression on some, without any shortcut."""
    K = model.similarity_.gram(X)
    a, b = with_constant(K[np.ix_(keep, keep)] + np.diag(model.lam_ / weights[keep]), y[keep])
    return b + K[:, keep] @ a


def with_constant(G, y):
    """Return a and b with G a + b = y, where a sums to zero: ridge regression with an unpenalized constant."""
    solved = np.linalg.solve(np.block([[G, np.ones((len(y), 1))], [np.ones(len(y)), 0.0]]), np.append(y, 0.0))
    return solved[:-1], solved[-1]


def test_a_function_of_many_waves_is_fitted_exactly(exact):
    model, X, y, weights, fitted, _ = exact
    assert len(model.landmarks_) == len(y) == model.n_similarity_calls_
    assert "every row is a landmark" in str(model.landmark_curve_) and "exact" in model.representation_.reason
    expected = smoother(model, X, y, weights, np.arange(len(y)))
    assert np.allclose(
        fitted.linear.scores(model.similarity_.block(X, fitted.features[0].landmarks.objects))[:, 0], expected
    )


def test_rows_that_judge_are_left_out_one_by_one(exact):
    model, X, y, weights, _, judged = exact
    assert len(judged.Y) == 300 and judged.groups is None
    for which in (0, 123, 299):
        row = judged.positions[which]
        expected = smoother(model, X, y, weights, np.delete(np.arange(len(y)), row))[row]
        assert judged.trial.scores[which, 0] == pytest.approx(expected, abs=1e-4)  # of a factor in float32
        assert judged.Y[which, 0] == y[row]


def test_rows_that_judge_take_part_in_no_choice(exact):
    model, X, y, weights, _, judged = exact
    other = y.copy()
    other[judged.positions] = np.random.default_rng(2).normal(size=300)
    again = SimilarityRegressor(Gaussian(), random_state=0, engine=ONE)
    scored = run_fit(again, X, other[:, None], weights, weights).evaluation.evaluate()
    assert again.similarity_ == model.similarity_ and again.lam_ == model.lam_
    assert np.array_equal(again.landmark_curve_.y[:-1], model.landmark_curve_.y[:-1])
    assert np.array_equal(scored.positions, judged.positions)


def test_rows_that_evaluate_have_no_copies():
    X, y = wavy(1000)
    X, y = np.r_[X, X[:100]], np.r_[y, y[:100]]
    model = SimilarityRegressor(Gaussian(), random_state=0, engine=ONE)
    scored = run_fit(model, X, y[:, None]).evaluation.evaluate()
    assert ((scored.positions >= 100) & (scored.positions < 1000)).all()


def test_noise_needs_few_landmarks_and_influences_sum_to_the_score():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    y = np.where(X[:, 0] + rng.normal(size=1500) > 0, "yes", "no")
    model = SimilarityClassifier("gaussian", random_state=0, engine=ONE).fit(X, y)
    assert len(model.landmarks_) <= 400 and "pilot rows" in model.landmark_curve_.reason
    new = rng.normal(size=(4000, 4))
    truth = np.where(new[:, 0] + rng.normal(size=4000) > 0, "yes", "no")
    error = 1 - model.score(new, truth)
    assert model.held_out_error_.low <= error <= model.held_out_error_.high and error < 0.29
    for explanation in model.explain(new[:3]):
        assert str(explanation)


def test_single_precision_gives_the_same_model():
    X, y = wavy(1000, noise=0.5)
    new = wavy(200, seed=5)[0]
    first, second = (
        SimilarityRegressor("gaussian", random_state=0, engine=ONE).fit(X.astype(kind), y) for kind in (float, "f4")
    )
    assert np.allclose(first.predict(new), second.predict(new.astype("f4")), atol=2e-3)


def test_losses_of_pilot_rows_are_those_of_models_without_them():
    X, y = wavy(300, noise=0.3)
    rows = pilot_choice.PilotTargets(y[:, None], np.ones(300), 1000)
    trials = pilot_choice.PenaltyTrials.of(Gaussian(0.7), X, rows, 120)
    left, half = trials.search[14]
    K, lam = Gaussian(0.7).gram(X), PENALTIES[14]

    def residual(row, keep):
        a, b = with_constant(K[np.ix_(keep, keep)] + lam * np.eye(len(keep)), y[keep])
        return y[row] - b - K[row, keep] @ a

    assert trials.start == 60 and len(left) == len(half) == 240
    assert left[10, 0] == pytest.approx(residual(70, np.delete(np.arange(120), 70)), rel=1e-3)
    assert left[-1, 0] == pytest.approx(residual(299, np.arange(120)), rel=1e-3)
    assert half[10, 0] == pytest.approx(residual(70, np.arange(60)), rel=1e-3)


def test_a_scale_far_from_the_median_is_found_between_two_octaves():
    """A wave along one column that all others, wider but without meaning, hide from the median distance."""
    rng = np.random.default_rng(0)
    X = np.c_[rng.uniform(size=(1000, 1)), 0.01 * rng.normal(size=(1000, 3))]
    y = np.sin(60 * X[:, 0])[:, None]
    k = Gaussian().resolve(X)
    chosen = pilot_choice.choose_on_pilot(k, ["sigma"], X, y, np.ones(1000), 1000, exact=True)
    multiple = chosen.similarity.sigma / k.sigma
    assert multiple <= 0.25 and np.isclose(pilot_choice.PILOT_MULTIPLES, multiple).any()
    assert chosen.losses[-1] < 0.02


def test_many_outputs_are_judged_by_random_combinations_of_them():
    Y = np.random.default_rng(3).normal(size=(400, 100))
    few = pilot_choice.few_outputs(Y)
    assert few.shape == (400, pilot_choice.FITTED_OUTPUTS)
    assert np.square(few).sum() == pytest.approx(np.square(Y).sum(), rel=0.05)


def test_rows_are_equal_up_to_the_sign_of_zero():
    A = np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]])
    first, second, third = equal_rows(A).tolist()
    assert first == second != third


def test_a_costly_similarity_is_computed_for_one_scale_only():
    rng = np.random.default_rng(0)
    series = [np.cumsum(rng.normal(size=12)) for _ in range(30)]
    labels = [one[-1] > 0 for one in series]
    model = SimilarityClassifier(GlobalAlignment(), random_state=0, engine=ONE).fit(series, labels)
    assert model.similarity_ == GlobalAlignment().resolve(series, 0)
    assert "median scale" in str(model.plan_)


@pytest.mark.parametrize("n", [90, 60, 20])
def test_each_pair_of_series_is_compared_once(n, monkeypatch):
    series = np.random.default_rng(0).standard_normal((90, 6)).cumsum(1)
    labels = series[:, 3] > series.mean(1)
    compared, block = [], GlobalAlignment.block

    def counted(self, A, B):
        compared.append(len(A) * (len(A) + 1) // 2 if A is B else len(A) * len(B))
        return block(self, A, B)

    def fitted():
        return SimilarityClassifier(GlobalAlignment(5.0), n_landmarks=n, random_state=0, engine=ONE).fit(series, labels)

    monkeypatch.setattr(GlobalAlignment, "block", counted)
    once = fitted()
    assert sum(compared) == n * (n + 1) // 2 + n * (90 - n)
    monkeypatch.setattr(GlobalAlignment, "hints", Hints())  # not costly: from both sides
    compared.clear()
    twice = fitted()
    assert sum(compared) >= 90 * n
    np.testing.assert_allclose(once.decision_function(series), twice.decision_function(series), atol=1e-6)
