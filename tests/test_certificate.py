"""Certificates: rows for them are used for nothing else, and the bound holds as often as it says."""

import numpy as np
import pytest

from similitude import SimilarityClassifier, SimilarityRegressor
from similitude.engines import LocalEngine
from similitude.estimators.base import upper_bound
from similitude.evaluation import set_apart
from similitude.kernels import Gaussian

ONE = LocalEngine(threads=1)


def points(n, rng, noise=0.2):
    X = rng.normal(size=(n, 2))
    return X, X[:, 0] + noise * rng.normal(size=n)


def test_nothing_is_certified_unasked():
    X, y = points(30, np.random.default_rng(0))
    assert SimilarityRegressor(Gaussian(1.0)).fit(X, y).certificate_.grade == "NONE"


@pytest.mark.parametrize("n", [40, 200])
def test_the_rows_of_the_certificate_change_nothing_else(n):
    X, y = points(n, np.random.default_rng(0))
    apart = set_apart(len(X), 0.25, 3)
    assert apart.sum() == n // 4
    other = y.copy()
    other[apart] = np.random.default_rng(1).normal(size=apart.sum())
    one, two = (SimilarityRegressor(Gaussian(1.0), certify=0.25, random_state=3).fit(X, t) for t in (y, other))
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    assert one.held_out_error_ == two.held_out_error_ and one.certificate_ != two.certificate_


def test_positions_of_landmarks_are_those_in_all_rows():
    words = [f"{a}{b}" for a in "abcdefgh" for b in "xyz"]
    y = [word[0] < "e" for word in words]
    model = SimilarityClassifier(lambda s, t: float(s[0] == t[0]), certify=0.25, random_state=0).fit(words, y)
    assert [words[i] for i in model.landmark_indices_] == list(model.landmarks_)
    assert not set_apart(len(words), 0.25, 0)[model.landmark_indices_].any()


def noisy_half(n, rng):
    """Return rows of which half are five points with coin labels; the best error is 0.25."""
    noisy = rng.random(n) < 0.5
    X = rng.normal(size=(n, 2))
    X[:, 0] += np.sign(X[:, 0])
    y = (X[:, 0] > 0).astype(int)
    X[noisy] = np.c_[10 + rng.integers(5, size=noisy.sum()), np.full(noisy.sum(), 10.0)]
    y[noisy] = rng.integers(2, size=noisy.sum())
    return X, y


def test_certificate_covers_with_repeated_rows():
    from scipy.stats import binom

    model = SimilarityClassifier(Gaussian(1.0), certify=0.3, engine=ONE)
    new, labels = noisy_half(4000, np.random.default_rng(0))
    too_low, covered = 0, []
    for seed in range(30):
        fit = model.set_params(random_state=seed).fit(*noisy_half(400, np.random.default_rng(seed)))
        too_low += fit.certificate_.high < (fit.predict(new) != labels).mean() - 0.02
        covered.append(fit.predict_set(new, 0.9)[np.arange(len(labels)), labels].mean())
    assert binom.sf(too_low - 1, 30, 0.05) > 1e-4
    assert np.mean(covered) > 0.88


def test_rows_set_apart_are_a_simple_random_sample():
    drawn = np.mean([set_apart(10, 0.3, seed) for seed in range(2000)], axis=0)
    np.testing.assert_allclose(drawn, 0.3, atol=0.05)
    groups = np.array([0, 0, 0, 0, 1, 2])
    drawn = np.mean([set_apart(6, 0.3, seed, groups) for seed in range(2000)], axis=0)
    np.testing.assert_allclose(drawn, 1 / 3, atol=0.05)


def test_the_bound_is_the_exact_binomial_one():
    from scipy.stats import binom

    for wrong, n in [(0, 10), (3, 40), (20, 50)]:
        assert binom.cdf(wrong, n, upper_bound(wrong, n).high) == pytest.approx(0.05)
    assert upper_bound(5, 5).high == 1.0 and upper_bound(0, 10).grade == "PROVEN"


def broken(certified, truth, problems):
    return sum(truth(model) > model.certificate_.high for model in map(certified, range(problems)))


@pytest.mark.parametrize("problems", [40, pytest.param(1000, marks=pytest.mark.deep)])
def test_errors_of_classifiers_are_below_their_bound(problems):
    from scipy.stats import binom

    new = np.random.default_rng(99).normal(size=(2000, 2))

    def certified(seed):
        rng = np.random.default_rng(seed)
        X, y = points(40 + seed % 60, rng, noise=2.0 * (seed % 3))
        return SimilarityClassifier(Gaussian(0.5), certify=0.25, random_state=seed, engine=ONE).fit(X, y > 0)

    def truth(model):
        noise = 2.0 * (model.random_state % 3)
        labels = new[:, 0] + noise * np.random.default_rng(7).normal(size=len(new)) > 0
        return (model.predict(new) != labels).mean() - 0.03  # the error of 2,000 new rows

    assert binom.sf(broken(certified, truth, problems) - 1, problems, 0.05) > 1e-4


def test_large_errors_of_regressors_are_rarer_than_their_bound():
    from scipy.stats import binom

    new = np.random.default_rng(99).normal(size=(2000, 2))
    errors = np.random.default_rng(98).standard_t(3, size=2000)

    def certified(seed):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(80, 2))
        y = X[:, 0] + rng.standard_t(3, size=80)
        return SimilarityRegressor(Gaussian(1.0), certify=0.25, random_state=seed, engine=ONE).fit(X, y)

    def truth(model):
        off = model.predict(new) - new[:, 0] - errors
        return (np.abs(off) > model.certified_size_).mean() - 0.02

    assert binom.sf(broken(certified, truth, 40) - 1, 40, 0.05) > 1e-4


def test_clear_problems_are_certified_below_one_half():
    for seed in range(10):
        X, y = points(200, np.random.default_rng(seed))
        model = SimilarityClassifier(Gaussian(1.0), certify=0.25, random_state=seed, engine=ONE).fit(X, y > 0)
        assert model.certificate_.high < 0.5


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"certify": 0.0}, "certify must be a number in"),
        ({"certify": 1.5}, "certify must be a number in"),
        ({"certify": 0.25, "landmark_indices": [0]}, "certify keeps rows out of everything"),
        ({"certify": 0.25, "similarity": "precomputed"}, "certify keeps rows out of everything"),
    ],
)
def test_what_cannot_be_certified(params, message):
    X = np.eye(8)
    with pytest.raises(ValueError, match=message):
        SimilarityClassifier(**{"similarity": "linear", **params}).fit(X, np.arange(8) % 2)


def test_a_source_cannot_be_certified():
    with pytest.raises(ValueError, match="rows in memory"):
        SimilarityClassifier("linear", certify=0.25).fit(lambda: iter([(np.eye(4), np.arange(4) % 2)]))


def test_a_class_must_remain():
    X = np.random.default_rng(0).normal(size=(12, 2))
    seed = next(seed for seed in range(40) if set_apart(len(X), 0.5, seed)[-1])
    with pytest.raises(ValueError, match="no row of class 'rare' is left"):
        SimilarityClassifier("linear", certify=0.5, random_state=seed).fit(X, ["common"] * 11 + ["rare"])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_tables_and_weights(library):
    frames = pytest.importorskip(library)
    X, y = points(40, np.random.default_rng(0))
    table = frames.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    weights = np.where(np.arange(40) < 5, 0.0, 1.0)
    model = SimilarityClassifier(Gaussian(1.0), certify=0.25, random_state=0).fit(table, y > 0, sample_weight=weights)
    assert 0 <= model.certificate_.value <= model.certificate_.high < 1
    assert len(model.predict(table)) == 40
