"""``held_out_error_`` is the error of the model on new rows: its interval covers the truth where that is known."""

from types import SimpleNamespace

import numpy as np
import pytest
from fits import run_fit
from grids import thin

from similitude import SimilarityClassifier, SimilarityRegressor
from similitude.engines import LocalEngine
from similitude.estimators import without_evaluation
from similitude.evaluation import (
    LEAVE_ONE_OUT,
    MOST_HELD_OUT,
    assign_folds,
    error_of_classes,
    error_of_numbers,
    n_evaluating,
    n_fitted,
    n_held_out,
)
from similitude.fitting import automatic
from similitude.kernels import Gaussian
from similitude.similarity import FromBlocks

ONE = LocalEngine(threads=1)
PROBLEMS = [12, pytest.param(200, marks=pytest.mark.deep)]


def labeled(n, rng, noise, n_classes):
    X = rng.normal(size=(n, 3))
    scores = X[:, :n_classes] if n_classes == 3 else np.stack([np.zeros(n), X[:, 0]], axis=1)
    y = (scores + noise * rng.normal(size=scores.shape)).argmax(axis=1)
    return X, y if noise < np.inf else rng.integers(n_classes, size=n)


def fewest(problems, level):
    """Return how many intervals of this level cover at least, but for one chance in ten thousand."""
    from scipy.stats import binom

    return binom.ppf(1e-4, problems, level)


def test_rows_are_left_to_fit_to_however_few_there_are():
    for n in (*range(1, 40), 4_999, 5_000, 5_001, 24_999, 25_000, 25_001, 10**9):
        assert 0 <= n_held_out(n) < n and n_held_out(n) <= MOST_HELD_OUT
        assert n_held_out(n) >= min(2, n - 1) and 0 <= n_evaluating(n_held_out(n)) <= n_held_out(n) / 2
        assert n_fitted(n) == n if n <= LEAVE_ONE_OUT else n_fitted(n) + round(0.2 * n) == n
    assert [n_held_out(n) for n in (2, 3, 5, 12)] == [1, 2, 2, 2]  # one to choose by and one to judge by, if possible
    assert n_held_out(100) == n_held_out(98) == 20 and n_held_out(10**6) == MOST_HELD_OUT and n_evaluating(7) == 3


@pytest.mark.parametrize("problems", PROBLEMS)
@pytest.mark.parametrize(
    ("n", "noise", "n_classes", "copies", "loss"),
    [
        (60, np.inf, 2, 1, "squared"),
        (60, 1.0, 2, 1, "squared"),
        (90, np.inf, 3, 3, "squared"),
        pytest.param(60, 0.2, 3, 1, "logistic", marks=pytest.mark.deep),
        pytest.param(120, 1.0, 2, 3, "squared_hinge", marks=pytest.mark.deep),
    ],
)
def test_errors_of_classifiers_are_covered(n, noise, n_classes, copies, loss, problems):
    covered = 0
    for seed in range(problems):
        rng = np.random.default_rng([seed, n])
        X, y = labeled(n // copies, rng, noise, n_classes)
        model = SimilarityClassifier(Gaussian(1.0), loss=loss, random_state=seed, engine=ONE)
        model.fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
        new, truth = labeled(3000, rng, noise, n_classes)
        error, found = (model.predict(new) != truth).mean(), model.held_out_error_
        covered += found.low - 0.01 <= error <= found.high + 0.01
    assert covered >= fewest(problems, 0.93)


@pytest.mark.parametrize(
    ("estimator", "similarity"), thin([SimilarityClassifier, SimilarityRegressor], ["gaussian", "auto"])
)
def test_models_that_are_not_judged_predict_the_same(estimator, similarity):
    X, y = labeled(60, np.random.default_rng(0), 0.5, 2)
    judged = estimator(similarity, random_state=0, engine=ONE).fit(X, y)
    with without_evaluation():
        other = estimator(similarity, random_state=0, engine=ONE).fit(X, y)
    assert np.array_equal(other.predict(X), judged.predict(X))
    assert hasattr(judged, "held_out_error_") and not hasattr(other, "held_out_error_")
    assert hasattr(estimator(similarity, engine=ONE).fit(X, y), "held_out_error_")


def test_balanced_noise_is_not_predicted_wrongly_on_purpose():
    """Leaving one row out of two balanced classes makes its own class the rarer one."""
    errors = []
    for seed in range(12):
        X = np.random.default_rng(seed).normal(size=(40, 3))
        errors.append(SimilarityClassifier(Gaussian(1.0), random_state=seed).fit(X, np.arange(40) % 2).held_out_error_)
    assert 0.42 < np.mean([one.value for one in errors]) < 0.58
    assert all(one.low <= 0.5 for one in errors)


def test_copies_do_not_vouch_for_each_other():
    rng = np.random.default_rng(0)
    X, y = np.repeat(rng.normal(size=(30, 3)), 3, axis=0), np.repeat(np.arange(30) % 2, 3)
    found = SimilarityClassifier(Gaussian(0.3), random_state=0).fit(X, y).held_out_error_
    assert found.low <= 0.5 <= found.high and found.value > 0.25


@pytest.mark.parametrize("problems", PROBLEMS)
@pytest.mark.parametrize("heavy", [False, True])
def test_errors_of_regressors_are_covered(heavy, problems):
    def noise(rng, n):
        return rng.standard_t(3, size=n) if heavy else rng.normal(size=n)

    covered = 0
    for seed in range(problems):
        rng = np.random.default_rng(seed)
        X, new = rng.normal(size=(80, 2)), rng.normal(size=(2000, 2))
        model = SimilarityRegressor(Gaussian(1.0), random_state=seed, engine=ONE).fit(X, X[:, 0] + noise(rng, 80))
        truth = ((model.predict(new) - new[:, 0]) ** 2).mean() + (3.0 if heavy else 1.0)
        covered += model.held_out_error_.low <= truth <= model.held_out_error_.high
    assert covered >= fewest(problems, 0.88 if heavy else 0.92)


def test_rows_are_scored_without_their_own_targets():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)

    def judged(targets):
        model = SimilarityRegressor(Gaussian(1.0), n_landmarks=20, random_state=0, engine=ONE)
        evaluation = run_fit(model, X, targets[:, None]).evaluation
        return evaluation.fitted.samples[0].places, evaluation.evaluate()

    places, first = judged(y)
    folds = assign_folds(first.groups, None, 0)
    other = y.copy()
    other[places[folds == 1]] = rng.normal(size=np.sum(folds == 1))
    again, second = judged(other)
    assert np.array_equal(places, again)
    same = np.isclose(first.trial.scores[:, 0], second.trial.scores[:, 0], atol=1e-12)
    assert same[folds == 1].all() and not same[folds != 1].any()


def test_folds_keep_groups_together_and_classes_in_proportion():
    rng = np.random.default_rng(0)
    groups, labels = np.repeat(np.arange(40), 3), np.repeat(np.arange(40) % 4, 3)
    folds = assign_folds(groups, labels, rng)
    assert all(len(set(folds[groups == one])) == 1 for one in range(40))
    counts = np.array([[np.sum((folds == fold) & (labels == label)) for label in range(4)] for fold in range(3)])
    assert np.ptp(counts, axis=0).max() <= 3


def test_intervals_by_hand():
    from scipy.stats import binom

    wrong = np.arange(50) < 10
    once, folded = error_of_classes(wrong, 2, None), error_of_classes(wrong, 2, np.arange(50))
    assert binom.cdf(10, 50, once.high) == pytest.approx(0.025) and binom.sf(9, 50, once.low) == pytest.approx(0.025)
    assert folded.low < once.low and folded.high > once.high and folded.value == once.value == 0.2
    losses, ones = np.array([1.0, 3.0] * 50), np.ones(100)
    spread = np.log(error_of_numbers(losses, ones, None).high / 2) / 2.0
    assert spread == pytest.approx(1.96 * 0.1 / 2)
    assert error_of_numbers(losses, ones, np.arange(100) // 4).high == pytest.approx(2.0)  # groups have equal means
    assert error_of_numbers(np.zeros(50), np.ones(50), None).high == 0.0
    uneven = np.r_[np.zeros(25, int), np.arange(1, 26)]  # the large group makes 50 rows worth 2,500 / 650 groups
    assert error_of_classes(wrong, 2, uneven).high > error_of_classes(wrong, 2, np.arange(50) // 12).high


def test_fewer_than_ten_rows_bound_no_error():
    assert error_of_classes(np.zeros(9, bool), 2, None).high == 1.0
    assert error_of_numbers(np.ones(9), np.ones(9), None).high == np.inf


def test_no_similarity_is_computed_for_the_folds():
    calls = []

    def f(x, z):
        calls.append((x, z))
        return float(np.exp(-((x - z) ** 2)))

    points = list(np.linspace(0, 3, 60))
    model = SimilarityClassifier(f, n_landmarks=10, random_state=0).fit(points, [x > 1.5 for x in points])
    assert len(calls) <= 60 * 10 + 10 * 10 and model.held_out_error_.high < 0.4


@pytest.mark.parametrize("loss", ["squared", pytest.param("logistic", marks=pytest.mark.deep)])
def test_rows_that_judge_a_large_fit_take_part_in_no_choice(loss):
    """Their labels decide neither scale nor number of landmarks nor penalty: only the fit to all rows sees them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5200, 2))
    y = (X[:, 0] + 0.5 * rng.normal(size=5200) > 0).astype(int)

    def fitted(labels):
        model = SimilarityClassifier(Gaussian(), landmarks="uniform", loss=loss, random_state=0, engine=ONE)
        return model.fit(X, labels)

    first = fitted(y)
    found = run_fit(first, X, np.where(y, 1.0, -1.0)[:, None], labels=y)
    judged = found.samples[0].places[-520:]
    other = y.copy()
    other[judged] = 1 - y[judged]
    second = fitted(other)
    assert first.lam_ == second.lam_ and first.similarity_ == second.similarity_
    assert np.array_equal(first.landmark_curve_.y, second.landmark_curve_.y)
    assert len(found.evaluate().Y) == 520
    assert first.held_out_error_.value == pytest.approx(1 - second.held_out_error_.value)


def test_copies_of_many_rows_do_not_vouch_for_each_other():
    rng = np.random.default_rng(0)
    X, y = np.repeat(rng.normal(size=(1300, 3)), 4, axis=0), np.repeat(rng.integers(2, size=1300), 4)
    found = SimilarityClassifier(Gaussian(0.1), n_landmarks=1300, random_state=0).fit(X, y).held_out_error_
    assert found.low <= 0.5 <= found.high


def test_a_stream_is_judged_by_rows_that_it_made_no_choice_on():
    """With labels drawn at random half of the predictions for new rows are wrong, whatever was chosen."""
    errors = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        model = SimilarityClassifier(random_state=seed, engine=ONE)
        model.partial_fit(rng.normal(size=(150, 3)), rng.integers(2, size=150), classes=[0, 1])
        errors.append(model.held_out_error_)
    assert 0.4 < np.mean([one.value for one in errors]) < 0.6
    assert all(one.low <= 0.5 <= one.high for one in errors)


@pytest.mark.usefixtures("without_evaluation")
@pytest.mark.parametrize("times", [2, pytest.param(4, marks=pytest.mark.deep)])
@pytest.mark.parametrize(("n", "n_classes", "largest"), [(400, 3, 0.03), (100, 2, 0.055)])
def test_probabilities_are_calibrated(n, n_classes, largest, times):
    """The mean distance of the printed probability from the share of predictions that are right, by tenths."""
    distances = []
    for seed in range(times):
        rng = np.random.default_rng(seed)
        model = SimilarityClassifier(random_state=seed, engine=ONE).fit(*labeled(n, rng, 0.6, n_classes))
        X, y = labeled(20_000, rng, 0.6, n_classes)
        P = model.predict_proba(X)
        confidence, right = P.max(axis=1), P.argmax(axis=1) == y
        parts = [confidence.round(1) == one for one in np.unique(confidence.round(1))]
        distances.append(sum(part.mean() * abs(confidence[part].mean() - right[part].mean()) for part in parts))
    assert np.mean(distances) < largest


def test_folds_learn_a_kernel_anew(monkeypatch):
    """A kernel that knows the labels of the rows it was learned from says nothing of others: half are wrong."""
    importance = SimpleNamespace(named=lambda names: SimpleNamespace(in_short=lambda: "labels"))

    def learn_by_heart(k, X, Y, random_state, groups):
        known = dict(zip(np.asarray(X)[:, 0], np.sign(Y[:, 0]).astype(float), strict=True))

        def same(A, B):
            return np.outer(*([known.get(x, 0.0) for x in np.asarray(part)[:, 0]] for part in (A, B)))

        return SimpleNamespace(similarity=FromBlocks(same), reason="by heart", importance=importance)

    monkeypatch.setattr(automatic, "_learned", learn_by_heart)
    rng = np.random.default_rng(0)
    model = SimilarityClassifier(Gaussian(1.0).learned(), random_state=0, engine=ONE)
    model.fit(rng.normal(size=(80, 2)), np.arange(80) % 2)
    assert model.held_out_error_.value > 0.3
