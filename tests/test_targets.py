"""Targets of other kinds than one class or one number: quantiles, several labels, grades, and orders."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import norm
from sklearn.linear_model import QuantileRegressor
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.utils import estimator_checks

from similitude import (
    SimilarityClassifier,
    SimilarityMultilabelClassifier,
    SimilarityOrdinalClassifier,
    SimilarityRegressor,
)
from similitude.kernels import Gaussian, Linear, Spectrum
from similitude.learners import KernelRanker, KernelRidge, KernelSVC, KernelSVR
from similitude.linear import SmoothQuantile, fit_numbers, l2_path, newton_step, weighted_quantile

rng = np.random.default_rng(0)
WORDS = [a + b + c for a in "abc" for b in "abc" for c in "abc"]


@pytest.fixture
def counted():
    """A function of pairs that counts its calls."""

    def similarity(s, t):
        similarity.calls += 1
        return 1.0

    similarity.calls = 0
    return similarity


# Quantiles


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.8])
def test_the_rounded_pinball_loss_is_convex_with_these_slopes_and_lies_below_its_parabolas(tau):
    loss, y, f, h = SmoothQuantile(tau, 0.3), np.zeros(81), np.linspace(-2, 2, 81), 1e-6
    slopes = (loss.value(y, f + h) - loss.value(y, f - h)) / (2 * h)
    np.testing.assert_allclose(loss.derivative(y, f), slopes, atol=1e-6)
    assert (np.diff(loss.derivative(y, f)) >= 0).all() and loss.value(y, f).min() >= 0
    far = np.abs(f) > 0.3
    pinball = np.maximum(-tau * f, (1 - tau) * f)
    np.testing.assert_allclose(np.ptp(loss.value(y, f)[far] - 0.6 * pinball[far]), 0, atol=1e-12)
    step = f[:, None] - f
    above = loss.value(y, f) + loss.derivative(y, f) * step + loss.second_derivative(y, f) * step**2 / 2
    assert (above >= loss.value(y, f)[:, None] - 1e-12).all()


def test_a_narrow_rounding_gives_the_exact_quantile_regression():
    F = rng.normal(size=(60, 3))
    y = F @ [1.0, -1.0, 0.5] + rng.standard_t(2, size=60)
    loss = SmoothQuantile(0.7, 1e-4)
    *_, model = l2_path(F, y, np.ones(60), 10.0 ** -np.arange(0.0, 13.0), loss, tolerance=1e-12)
    exact = QuantileRegressor(quantile=0.7, alpha=0, solver="highs").fit(F, y)
    np.testing.assert_allclose(model.weights[:, 0], exact.coef_, atol=5e-3)
    np.testing.assert_allclose(model.intercept, exact.intercept_, atol=5e-3)


def test_influences_of_rows_on_a_quantile_sum_to_the_score():
    F, weights = rng.normal(size=(40, 4)), rng.uniform(0.5, 2, 40)
    y = (F[:, 0] + rng.normal(size=40))[:, None]
    loss = SmoothQuantile(0.9, 0.1)
    model, trial, _ = fit_numbers(loss, "l2", F, y, weights, 0)
    done = newton_step(loss, "l2", F, y, weights, model, trial.lam, np.ones((40, 1)))
    summed = F @ done.group_weights.sum(axis=1) + done.group_constants.sum(axis=0) + done.base
    np.testing.assert_allclose(summed, done.model.scores(F), atol=1e-10)
    np.testing.assert_allclose(done.model.scores(F), model.scores(F), atol=0.05)


def test_quantiles_of_noise_that_varies(without_evaluation):
    def sample(n):
        X = rng.uniform(-2, 2, size=(n, 1))
        return X, np.sin(X[:, 0]) + (0.2 + 0.5 * (X[:, 0] > 0)) * rng.normal(size=n)

    X, y = sample(400)
    Z, _ = sample(200)
    for share in (0.1, 0.9):
        model = SimilarityRegressor("gaussian", loss="quantile", quantile=share, n_landmarks=30, random_state=0)
        error = model.fit(X, y).predict(Z) - np.sin(Z[:, 0]) - (0.2 + 0.5 * (Z[:, 0] > 0)) * norm.ppf(share)
        assert np.abs(error).mean() < 0.12 and model.loss_ == "quantile"
        assert abs(np.mean(y < model.predict(X)) - share) < 0.05
        why = model.explain(Z[:3])
        for i in range(3):
            assert why[i].base + np.sum(why[i].influences) == pytest.approx(why[i].score)


def test_medians_ignore_outliers_and_are_judged_by_absolute_errors():
    X = rng.uniform(-1, 1, size=(90, 1))
    y = X[:, 0] + 0.1 * rng.normal(size=90)
    y[::9] += 50.0
    model = SimilarityRegressor(Linear(), loss="absolute", random_state=0).fit(X, y)
    assert np.abs(model.predict(X) - X[:, 0]).max() < 0.3
    half = np.abs(y - np.median(y)).mean() / 2
    assert model.constant_error_ == pytest.approx(half, rel=0.05) and model.held_out_error_.value < half
    assert "pinball" in model.verdict()
    with pytest.raises(ValueError, match="one output"):
        model.fit(X, np.stack([y, y], axis=1))


def test_a_constant_similarity_gives_the_quantile_of_all_targets(without_evaluation):
    y = rng.normal(size=50)
    model = SimilarityRegressor(lambda s, t: 1.0, loss="quantile", quantile=0.3).fit(list("abcde" * 10), y)
    assert model.predict(["a"])[0] == pytest.approx(np.quantile(y, 0.3), abs=0.1)


def test_weighted_quantiles_are_those_of_repeated_values():
    values, counts = rng.normal(size=(30, 2)), rng.integers(1, 4, 30)
    repeated = np.repeat(values, counts, axis=0)
    for share in (0.05, 0.5, 0.9):
        expected = np.quantile(repeated, share, axis=0, method="inverted_cdf")
        np.testing.assert_array_equal(weighted_quantile(values, counts.astype(float), share), expected)


# Several labels


def test_one_model_of_several_labels_is_as_good_as_one_of_each(without_evaluation):
    Y = np.array([["a" in word, word[0] == word[-1], "cc" in word] for word in WORDS]) * 1
    model = SimilarityMultilabelClassifier(Spectrum(2), n_landmarks=27, random_state=0).fit(WORDS, Y)
    assert (model.predict(WORDS) == Y).mean() > 0.85 and model.classes_.tolist() == [0, 1, 2]
    chances = model.predict_proba(WORDS)
    np.testing.assert_array_equal(chances >= 0.5, model.predict(WORDS) == 1)
    np.testing.assert_array_equal(model.decision_function(WORDS) >= 0, model.predict(WORDS) == 1)
    alone = SimilarityMultilabelClassifier(Spectrum(2), landmarks=WORDS, random_state=0).fit(WORDS, Y[:, :1])
    assert alone.predict(["abc"]).shape == (1, 1)
    why = model.explain(["abc"], label=2)[0]
    assert why.base + np.sum(why.influences) == pytest.approx(why.score)
    with pytest.raises(ValueError, match="label must be from 0 to 2"):
        model.explain(["abc"], label=3)


def test_probabilities_of_labels_are_frequencies(without_evaluation):
    X = rng.uniform(-2, 2, size=(600, 1))
    chances = 1 / (1 + np.exp(-np.stack([2 * X[:, 0] - 3, -3 + 0 * X[:, 0]], axis=1)))
    Y = (rng.random((600, 2)) < chances) * 1
    model = SimilarityMultilabelClassifier(Linear(), n_landmarks=5, random_state=0).fit(X, Y)
    assert np.abs(model.predict_proba(X) - chances).mean(axis=0).max() < 0.05


def test_labels_that_all_or_no_objects_have(without_evaluation):
    X = np.arange(20.0)[:, None]
    Y = np.stack([np.zeros(20), np.ones(20), X[:, 0] > 9], axis=1)
    predicted = SimilarityMultilabelClassifier("gaussian").fit(X, sp.csr_array(Y)).predict(X)
    np.testing.assert_array_equal(predicted[:, :2], Y[:, :2])


def test_the_error_of_labels_is_their_hamming_loss():
    X = rng.normal(size=(300, 2))
    Y = (X > 0) ^ (rng.random((300, 2)) < 0.2)
    model = SimilarityMultilabelClassifier(Gaussian(1.0), n_landmarks=20, random_state=0).fit(X, Y)
    assert model.held_out_error_.low <= 0.2 <= model.held_out_error_.high
    assert 0.4 < model.constant_error_ <= 0.5 and "labels are wrong" in model.verdict()


@pytest.mark.parametrize("check", ["representation_invariance", "output_format_predict_proba"])
def test_labels_follow_the_conventions_of_scikit_learn(check):
    one = SimilarityMultilabelClassifier("gaussian", n_landmarks=20)
    getattr(estimator_checks, f"check_classifiers_multilabel_{check}")("labels", one)


def test_labels_in_batches(tmp_path):
    X = rng.normal(size=(200, 2))
    np.save(tmp_path / "X.npy", X)
    Y, grades = (X > 0) * 1, np.digitize(X[:, 0], [-0.5, 0.5])
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    several = SimilarityMultilabelClassifier(Gaussian(1.0), n_landmarks=20, random_state=0).fit(mapped, Y)
    assert (several.predict(X) == Y).mean() > 0.9
    ordinal = SimilarityOrdinalClassifier(Gaussian(1.0), n_landmarks=20, random_state=0, order=[2, 1, 0])
    assert ordinal.fit(mapped, grades).score(X, grades) > 0.8 and ordinal.classes_.tolist() == [2, 1, 0]


@pytest.mark.parametrize(
    ("y", "pattern"),
    [
        ([0, 1, 1], "MultiLabelBinarizer"),
        ([[0, 2], [1, 0], [1, 1]], "it holds .*2"),
        ([[0, 1], [1, 1]], "inconsistent numbers"),
        ([{"a"}, {"b"}, set()], "MultiLabelBinarizer"),
        (None, "the target y is None"),
    ],
)
def test_what_are_no_labels(y, pattern, counted):
    with pytest.raises(ValueError, match=pattern):
        SimilarityMultilabelClassifier(counted).fit(["a", "b", "c"], y)
    assert counted.calls == 0


def test_learners_of_one_column_name_what_takes_several(counted):
    Y = np.ones((3, 2))
    with pytest.raises(ValueError, match=r"SimilarityMultilabelClassifier, or .*MultiOutputClassifier"):
        SimilarityClassifier(counted).fit(["a", "b", "c"], Y)
    with pytest.raises(ValueError, match="MultiOutputRegressor"):
        KernelSVR(counted).fit(["a", "b", "c"], Y)
    assert counted.calls == 0
    numbers = np.stack([np.arange(27.0), -np.arange(27.0)], axis=1)
    assert MultiOutputRegressor(KernelSVR(Spectrum(1))).fit(WORDS, numbers).predict(WORDS).shape == (27, 2)
    labels = np.stack([["a" in word for word in WORDS], ["b" in word for word in WORDS]], axis=1)
    assert MultiOutputClassifier(KernelSVC(Spectrum(1))).fit(WORDS, labels).predict(WORDS).shape == (27, 2)


# Grades


def graded(n):
    X = rng.uniform(-2, 2, size=(n, 2))
    latent = X[:, 0] + np.sin(2 * X[:, 1]) + 0.5 * rng.normal(size=n)
    return X, np.digitize(latent, [-1.0, -0.3, 0.3, 1.0])


def test_grades_are_closer_than_those_of_classes_without_an_order(without_evaluation):
    (X, y), (Z, z) = graded(150), graded(600)
    errors = []
    for kind in (SimilarityOrdinalClassifier, SimilarityClassifier):
        model = kind(Gaussian(1.0), n_landmarks=30, random_state=0).fit(X, y)
        errors.append(np.abs(model.predict(Z) - z).mean())
    assert errors[0] < 0.97 * errors[1]


def test_the_error_of_grades_is_that_on_new_rows():
    (X, y), (Z, z) = graded(300), graded(2000)
    model = SimilarityOrdinalClassifier(Gaussian(1.0), n_landmarks=30, random_state=0).fit(X, y)
    error = np.abs(model.predict(Z) - z).mean()
    assert model.held_out_error_.low <= error <= model.held_out_error_.high < model.constant_error_
    chances = model.predict_proba(Z)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert chances.min() >= 0 and "grades wrong" in model.verdict()
    medians = (np.cumsum(chances, axis=1) < 0.5 - 1e-12).sum(axis=1)
    np.testing.assert_array_equal(model.classes_[medians], model.predict(Z))


def test_orders_of_grades(without_evaluation):
    X = np.arange(30.0)[:, None]
    names = np.repeat(["low", "mid", "top"], 10)
    kinds = pd.Series(pd.Categorical(names, categories=["low", "mid", "top", "never"], ordered=True))
    for model, y in (
        (SimilarityOrdinalClassifier(Gaussian(5.0), order=["low", "mid", "top"]), names),
        (SimilarityOrdinalClassifier(Gaussian(5.0)), kinds),
    ):
        assert model.fit(X, y).classes_.tolist() == ["low", "mid", "top"]
        assert model.predict([[3.0], [15.0], [27.0]]).tolist() == ["low", "mid", "top"]
    why = model.explain([[27.0]], above="low")[0]
    assert why.base + np.sum(why.influences) == pytest.approx(why.score)
    with pytest.raises(ValueError, match="above must be one of"):
        model.explain([[27.0]], above="top")
    with pytest.raises(ValueError, match="it lacks 'top'"):
        SimilarityOrdinalClassifier("gaussian", order=["low", "mid"]).fit(X, names)
    with pytest.raises(ValueError, match="twice"):
        SimilarityOrdinalClassifier("gaussian", order=["low", "mid", "top", "top"]).fit(X, names)
    with pytest.raises(ValueError, match="no certificate"):
        SimilarityOrdinalClassifier("gaussian", certify=0.2).fit(X, names)


# Orders


def test_grades_of_one_query_are_ridge_regression():
    X, y = rng.normal(size=(25, 2)), rng.normal(size=25)
    K = Gaussian(1.0).gram(X)
    centered = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    ridge = KernelRidge(Gaussian(1.0), lam=0.5 * np.trace(centered) / 25).fit(X, y).predict(X)
    ranked = KernelRanker(Gaussian(1.0), lam=0.5).fit(X, y).predict(X)
    np.testing.assert_allclose(ranked - ranked.mean(), ridge - ridge.mean(), atol=1e-8)


def test_pairs_minimize_their_squared_errors():
    X, pairs = rng.normal(size=(12, 2)), [(0, 1), (2, 1), (3, 9), (4, 0), (11, 7)]
    K = Gaussian(1.0).gram(X)
    model = KernelRanker(Gaussian(1.0), lam=0.2).fit(X, pairs=pairs)
    coefficients = np.zeros(12)
    coefficients[model.support_] = model.dual_coef_
    D = np.zeros((5, 12))
    D[np.arange(5), [i for i, _ in pairs]], D[np.arange(5), [j for _, j in pairs]] = 1.0, -1.0
    unit = np.trace(D @ K @ D.T) / 5
    slope = -2 * K @ D.T @ (1 - D @ K @ coefficients) + 2 * 0.2 * unit * K @ coefficients
    np.testing.assert_allclose(slope, 0, atol=1e-8)


def test_only_grades_of_the_same_query_are_compared():
    X = rng.normal(size=(120, 2))
    queries, truth = np.repeat(np.arange(12), 10), X[:, 0] - X[:, 1]
    y = truth + 100.0 * rng.normal(size=12)[queries]
    model = KernelRanker(Linear(), random_state=0).fit(X, y, qid=queries)
    Z = rng.normal(size=(50, 2))
    assert model.score(Z, Z[:, 0] - Z[:, 1]) > 0.99 and model.held_out_error_ < 0.02
    assert KernelRanker(Linear(), random_state=0).fit(X, y).score(Z, Z[:, 0] - Z[:, 1]) < 0.9


def test_meaningless_pairs_are_wrong_half_of_the_time():
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    errors = [
        KernelRanker(Gaussian(1.0), random_state=seed).fit(X, rng.permutation(y)).held_out_error_ for seed in range(4)
    ]
    assert 0.38 < np.mean(errors) < 0.55


@pytest.mark.parametrize(
    ("asked", "pattern"),
    [
        ({}, "the target y is None"),
        ({"y": [1, 2, 3], "pairs": [(0, 1)]}, "not both"),
        ({"pairs": [(0, 3)]}, r"pair 0 is \[0, 3\]: positions in X are 0 to 2"),
        ({"pairs": [(0, 1), (2, 2)]}, "pair 1 compares object 2 with itself"),
        ({"pairs": [(0.5, 1)]}, "must be integers"),
        ({"pairs": [(0, 1)], "qid": [0, 0, 0]}, "leave qid out"),
        ({"y": [1, 2]}, "inconsistent"),
        ({"y": [1, 2, 3], "qid": [0, 1]}, "inconsistent"),
        ({"y": [[1, 2]] * 3}, "one grade per object"),
    ],
)
def test_what_gives_no_order(asked, pattern, counted):
    with pytest.raises(ValueError, match=pattern):
        KernelRanker(counted).fit(["a", "b", "c"], **asked)
    assert counted.calls == 0


def test_equal_grades_have_no_order():
    with pytest.raises(ValueError, match="cannot cross-validate lam"):
        KernelRanker("gaussian").fit([[0.0], [1.0], [2.0]], [1, 1, 1])
    with pytest.raises(ValueError, match="no order to compare"):
        KernelRanker("gaussian", lam=1.0).fit([[0.0], [1.0]], [1, 2]).score([[0.0], [1.0]], [3, 3])


def test_meaningless_labels_are_not_flattered():
    X = rng.normal(size=(80, 2))
    models = [
        SimilarityMultilabelClassifier(Gaussian(1.0), n_landmarks=10, random_state=seed).fit(
            X, rng.integers(0, 2, (80, 2))
        )
        for seed in range(8)
    ]
    assert np.mean([model.held_out_error_.value for model in models]) > 0.475
