"""Intervals and sets of classes hold as often as they say, and standard deviations are those of a Gaussian process."""

import math

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from similitude import FromPairs, SimilarityClassifier, SimilarityRegressor, load, save
from similitude.datasets import iris
from similitude.engines import LocalEngine
from similitude.estimators import without_evaluation
from similitude.fitting.calibration import (
    ClassCalibration,
    ErrorCalibration,
    Uncertainty,
)
from similitude.fitting.model import WeightedLandmarks
from similitude.fitting.spread import RATIOS, OpenVariance, fit_spread, log_density, marginal_ratio, open_variance_of
from similitude.kernels import DTW, Gaussian, Gower, Spectrum, WeisfeilerLehman
from similitude.landmarks import LandmarkFeatures, Landmarks
from similitude.linear import Moments
from similitude.theory import conformal_quantile, highest_level

ONE = LocalEngine(threads=1)
rng = np.random.default_rng(0)


def noisy(n, rng, larger=0.0):
    """Return points with targets whose noise is larger on one side."""
    X = rng.uniform(-1, 1, size=(n, 1))
    return X, np.sin(3 * X[:, 0]) + (0.1 + larger * (X[:, 0] > 0)) * rng.normal(size=n)


def share_inside(ends, y):
    return float(((ends[..., 0] <= y) & (y <= ends[..., 1])).mean())


def test_a_conformal_quantile_covers_as_often_as_ranks_say():
    """The rank of the last of m + 1 exchangeable numbers is uniform: the coverage is known exactly."""
    rng = np.random.default_rng(0)
    draws = rng.exponential(size=(4000, 20))
    for level in (0.5, 0.8, 0.9):
        covered = np.mean([row[-1] <= conformal_quantile(row[:-1], level) for row in draws])
        assert covered == pytest.approx(math.ceil(20 * level - 1e-9) / 20, abs=0.02)


def test_a_quantile_is_infinite_exactly_above_the_highest_level():
    for m in (1, 4, 9, 19, 99):
        scores = np.arange(m)
        assert conformal_quantile(scores, highest_level(m)) == m - 1
        assert conformal_quantile(scores, highest_level(m) + 1e-6) == math.inf


def test_intervals_of_rows_set_apart_cover_as_ranks_say():
    """With 19 rows set apart, the level 0.9 is rank 18 of 20: exactly 0.9 on average, whatever the model."""
    covered = []
    for seed in range(30):
        X, y = noisy(76 + 200, rng)
        model = SimilarityRegressor(Gaussian(0.5), n_landmarks=4, certify=0.25, random_state=seed, engine=ONE)
        model.fit(X[:76], y[:76])
        assert model.uncertainty_ == Uncertainty.split(19)
        covered.append(share_inside(model.predict_interval(X[76:], 0.9), y[76:]))
    assert np.mean(covered) == pytest.approx(0.9, abs=3 * 0.07 / math.sqrt(30))


@pytest.mark.parametrize("similarity", [Gaussian(0.5), "gaussian"])
def test_intervals_of_left_out_rows_cover_about_the_level(similarity):
    covered = []
    for seed in range(5):
        X, y = noisy(80 + 300, rng)
        model = SimilarityRegressor(similarity, random_state=seed, engine=ONE).fit(X[:80], y[:80])
        assert model.uncertainty_.grade == "ESTIMATE" and model.uncertainty_.n_rows == 80
        covered.append(share_inside(model.predict_interval(X[80:], 0.8), y[80:]))
    assert np.mean(covered) == pytest.approx(0.8, abs=0.07)


def test_intervals_follow_the_noise():
    X, y = noisy(500, np.random.default_rng(0), larger=0.5)
    model = SimilarityRegressor(Gaussian(0.5), n_landmarks=20, random_state=0, engine=ONE).fit(X, y)
    new, truth = noisy(2000, np.random.default_rng(1), larger=0.5)
    ends, (_, std) = model.predict_interval(new, 0.9), model.predict(new, return_std=True)
    loud = new[:, 0] > 0
    widths = np.ptp(ends, axis=1)
    assert widths[loud].mean() > 2 * widths[~loud].mean() and std[loud].mean() > 2 * std[~loud].mean()
    assert share_inside(ends[loud], truth[loud]) > 0.85 and share_inside(ends, truth) == pytest.approx(0.9, abs=0.04)


def test_even_noise_has_intervals_of_one_width():
    X, y = noisy(200, np.random.default_rng(3))
    model = SimilarityRegressor(Gaussian(0.5), n_landmarks=10, random_state=0, engine=ONE).fit(X, y)
    widths = np.ptp(model.predict_interval(X, 0.9), axis=1)
    np.testing.assert_allclose(widths, widths[0])


def test_variances_of_an_exact_fit_are_those_of_a_gaussian_process():
    """The oracle is the dense formula for a kernel, a penalty and rows with weights."""
    X, y = rng.normal(size=(80, 2)), rng.normal(size=80)
    model = SimilarityRegressor(random_state=0, engine=ONE).fit(X, y, sample_weight=rng.uniform(0.5, 2, 80))
    influence, part = model._influence, model._model.parts[model._influence.main]
    k, L = part.features.similarity, part.features.landmarks.encoding
    G = k.block(L, L) + np.diag(influence.penalties[influence.main] * influence.weights.mean() / influence.weights)
    new = k.encode(rng.normal(size=(5, 2)))
    dense = k.diagonal(new) - np.einsum("ij,ij->i", k.block(new, L) @ np.linalg.inv(G), k.block(new, L))
    encodings = (new,) * len(model._model.parts)
    np.testing.assert_allclose(influence.open_variance(model._model, encodings), dense, atol=1e-8)
    others = np.arange(1, 80)
    alone = k.diagonal(L[:1]) - k.block(L[:1], L[others]) @ np.linalg.inv(G[1:, 1:]) @ k.block(L[others], L[:1])[:, 0]
    assert influence.open_variance_left_out(model._model)[0] == pytest.approx(alone[0], abs=1e-8)


def test_standard_deviations_of_an_exact_fit_grow_away_from_the_rows():
    X = np.linspace(-1, 1, 80)[:, None]
    y = np.sin(4 * X[:, 0]) + 0.001 * np.random.default_rng(0).normal(size=80)
    _, std = SimilarityRegressor(random_state=0, engine=ONE).fit(X, y).predict([[0.0], [3.0]], return_std=True)
    assert std[1] > 10 * std[0] > 0


def test_the_spread_finds_noise_and_signal():
    """Errors are drawn with the variances that the spread is to find."""
    q, F = rng.exponential(size=3000), rng.normal(size=(3000, 2))
    sizes = 0.5 * np.sqrt(1 + 4.0 * q) * np.exp(0.7 * F[:, 0])
    found = fit_spread((sizes * rng.normal(size=3000))[:, None], np.ones(3000), F, OpenVariance(q), penalty=0.25)
    assert np.corrcoef(np.log(found.sizes[:, 0]), np.log(sizes))[0, 1] > 0.97 and found.spread.adaptive
    assert log_density(np.zeros(1), np.ones(1))[0] == pytest.approx(-0.5 * math.log(2 * math.pi))
    even = fit_spread(rng.normal(size=(400, 1)), np.ones(400), F[:400], None)
    assert even.noise is None and not even.spread.adaptive and even.sizes.std() == pytest.approx(0, abs=1e-12)


def test_errors_are_enlarged_by_what_choices_hide():
    plain = ErrorCalibration(errors=np.ones((4, 1)), weights=np.ones(4), at=np.arange(4))
    larger = plain.enlarged(np.full((4, 1), 1.5), [np.ones((2, 1)), -np.ones((2, 1))])
    np.testing.assert_allclose(larger.errors, 1.5)
    smaller = plain.enlarged(np.full((4, 1), 0.9), [np.ones((2, 1))])
    np.testing.assert_allclose(smaller.errors, 0.9)
    assert plain.enlarged(np.full((4, 1), 0.1), [np.ones((2, 1))]).errors.max() == 0.8


def test_sets_are_the_smallest_with_their_coverage():
    """Among all sets by a threshold on the probabilities, that of the calibration rows' quantile."""
    chances = rng.dirichlet(np.ones(4), size=99)
    classes = np.array([rng.choice(4, p=p) for p in chances])
    found = ClassCalibration.of(1.0 - chances[np.arange(len(classes)), classes], classes, 4)
    limits = found.limits(0.9, by_class=False) - 1e-6
    inside = chances[np.arange(99), classes] >= limits[0]
    assert inside.sum() == 90 and len(set(limits)) == 1
    by_class = found.limits(0.9, by_class=True)
    for c in range(4):
        mine = chances[classes == c, c]
        assert (mine >= by_class[c]).sum() == min(len(mine), math.ceil(0.9 * (len(mine) + 1) - 1e-9))


@pytest.mark.parametrize("certify", [None, 0.4])
def test_sets_hold_the_class(certify):
    X, y = iris()
    model = SimilarityClassifier("gaussian", certify=certify, random_state=0, engine=ONE).fit(X[::2], y[::2])
    numbers = np.searchsorted(model.classes_, y[1::2])
    sets = model.predict_set(X[1::2], 0.95)
    assert sets.dtype == bool and sets.shape == (75, 3)
    assert sets[np.arange(75), numbers].mean() > 0.85 and sets.sum(axis=1).mean() < 2
    assert (model.predict_set(X, 0.5) <= model.predict_set(X, 0.95)).all()
    assert model.uncertainty_.grade == ("ESTIMATE" if certify is None else "PROVEN")


def test_a_class_with_too_few_rows_is_in_every_set_by_class():
    X, y = np.r_[np.zeros((60, 1)), np.ones((60, 1)), np.full((4, 1), 9.0)], np.repeat([0, 1, 2], [60, 60, 4])
    X = X + 0.1 * np.random.default_rng(0).normal(size=X.shape)
    model = SimilarityClassifier(Gaussian(1.0), n_landmarks=6, random_state=0, engine=ONE).fit(X, y)
    sets = model.predict_set(X, 0.9, by_class=True)
    assert sets[:, 2].all() and not sets[:, 0].all()


def few(kind):
    rng = np.random.default_rng(5)
    if kind == "strings":
        words = ["".join(rng.choice(list("ab"), 8)) for _ in range(30)]
        return Spectrum(2), words, [word.count("a") for word in words]
    if kind == "graphs":
        graphs = [nx.gnp_random_graph(6, p, seed=i) for i, p in enumerate(np.linspace(0.1, 0.9, 30))]
        return WeisfeilerLehman(), graphs, [graph.number_of_edges() for graph in graphs]
    if kind == "series":
        series = [rng.normal(size=int(n)) for n in rng.integers(4, 9, 30)]
        return DTW(1.0), series, [one.sum() for one in series]
    table = pd.DataFrame({"a": rng.normal(size=30), "b": rng.choice(["x", "y"], 30)})
    return Gower(), table, table["a"].to_numpy()


@pytest.mark.parametrize("kind", ["strings", "graphs", "series", "tables"])
def test_objects_of_any_kind_and_saved_models(kind, tmp_path):
    similarity, X, y = few(kind)
    model = SimilarityRegressor(similarity, n_landmarks=8, random_state=0, engine=ONE).fit(X, y)
    ends = model.predict_interval(X, 0.8)
    assert ends.shape == (30, 2) and share_inside(ends, np.asarray(y, dtype=float)) >= 0.7
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_interval(X, 0.8), ends)
    np.testing.assert_array_equal(loaded.predict(X, return_std=True)[1], model.predict(X, return_std=True)[1])
    assert loaded.uncertainty_ == model.uncertainty_
    classifier = SimilarityClassifier(similarity, n_landmarks=8, random_state=0, engine=ONE)
    classifier.fit(X, np.array(y) > np.median(y))
    save(classifier, tmp_path / "sets")
    np.testing.assert_array_equal(load(tmp_path / "sets").predict_set(X, 0.8), classifier.predict_set(X, 0.8))


@pytest.mark.parametrize("n", [60, 1200], ids=["left out", "pilot"])
def test_far_from_all_rows_a_fit_on_landmarks_is_uncertain(n, tmp_path):
    """The variance of an object that is similar to no row is noise and prior, and it grows on the way there."""
    X, y = noisy(n, np.random.default_rng(1))
    with without_evaluation():
        model = SimilarityRegressor(Gaussian(0.4), random_state=0, engine=ONE).fit(X, y)
    assert len(model.landmarks_) < n
    Z = [[0.0], [1.2], [1.5], [2.0], [50.0]]
    _, std = model.predict(Z, return_std=True)
    assert std[-1] > 3 * std[0] and std[1] < std[2] < std[3] and 0.05 < std[0] < 0.2
    spread = model._errors.spread
    assert std[-1] >= spread.scale[0] * np.sqrt(1 + spread.ratio[0]) * (1 - 1e-9)
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(Z, return_std=True)[1], std)


def test_the_open_variance_on_all_landmarks_is_that_of_the_exact_process():
    """With every row a landmark it is k(x, x) - k(x)'(K + lam)^-1 k(x), as far as no mean is subtracted."""
    X, Z, lam = rng.normal(size=(25, 2)), rng.normal(size=(7, 2)), 0.3
    k = Gaussian(1.0)
    K, U = k.gram(X), np.linalg.cholesky(k.gram(X)).T
    F = np.linalg.solve(U.T, K).T
    features = LandmarkFeatures(k, Landmarks(X, np.arange(25), X), factor=U)
    moments = Moments.of(np.vstack([F, -F]), np.zeros((50, 1)), np.full(50, 0.5))
    weights = np.full(25, 0.5)
    found = open_variance_of((features,), moments, lam, X, F, weights, np.ones(1))
    part = WeightedLandmarks(features, np.zeros((25, 1)))
    cross = k.cross(Z, X)
    exact = 1 - np.einsum("ij,ij->i", cross @ np.linalg.inv(K + lam * np.eye(25)), cross)
    np.testing.assert_allclose(found.variance(part, Z), exact, atol=1e-5)
    twice, w = np.vstack([F, -F]), np.full(50, 0.5)
    w[3] = 0.0
    without = np.linalg.inv(twice.T * w @ twice + lam * np.eye(25))
    assert found.left_out[3] == pytest.approx(lam * F[3] @ without @ F[3], abs=1e-5)


def test_the_marginal_likelihood_is_that_of_the_targets():
    F, lam = rng.normal(size=(40, 3)), 2.0
    y = F @ rng.normal(size=3) + rng.normal(size=40)
    values, vectors = np.linalg.eigh(F.T @ F)

    def likelihood(r):
        C = np.eye(40) + r * F @ F.T
        return -np.linalg.slogdet(C)[1] - 40 * np.log(y @ np.linalg.solve(C, y))

    found = marginal_ratio(values, vectors.T @ F.T @ y, float(y @ y), 40.0, lam)
    assert found == max(RATIOS / lam, key=likelihood)


def test_a_saved_exact_fit_has_the_same_intervals(tmp_path):
    X, y = noisy(70, rng)
    model = SimilarityRegressor(random_state=0, engine=ONE).fit(X, y)
    ends = model.predict_interval(X)
    save(model, tmp_path / "model")
    np.testing.assert_allclose(load(tmp_path / "model").predict_interval(X), ends)


@pytest.mark.parametrize(
    "setting",
    [
        {"loss": "huber"},
        {"penalty": "l1", "n_landmarks": 5},
        {"similarity": [Gaussian(0.5), Gaussian(2.0)]},
        {"landmarks": [[0.0], [0.5], [-0.5]]},
        {"similarity": FromPairs(lambda a, b: -float(abs(a - b).sum()), cost=1.0), "max_calls": 1500},
    ],
    ids=["huber", "l1", "several", "given", "frugal"],
)
def test_every_kind_of_fit_has_intervals(setting):
    X, y = noisy(60, rng)
    model = SimilarityRegressor(**{"similarity": Gaussian(0.5), "random_state": 0, "engine": ONE, **setting}).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, model.predict(X))
    ends = model.predict_interval(X, 0.8)
    assert (std > 0).all() and share_inside(ends, y) > 0.6 and (ends.mean(axis=1) == pytest.approx(mean))


def test_huber_intervals_are_about_targets_as_they_are():
    X, y = noisy(80, rng)
    y[::4] += 50
    model = SimilarityRegressor(Gaussian(0.5), loss="huber", random_state=0, engine=ONE).fit(X, y)
    assert np.ptp(model.predict_interval(X, 0.9), axis=1).mean() > 30


def test_several_outputs_have_intervals_each():
    X, y = noisy(60, rng)
    model = SimilarityRegressor(Gaussian(0.5), random_state=0, engine=ONE).fit(X, np.column_stack([y, 10 * y]))
    ends, (mean, std) = model.predict_interval(X), model.predict(X, return_std=True)
    assert ends.shape == (60, 2, 2) and mean.shape == std.shape == (60, 2)
    widths = np.ptp(ends, axis=2).mean(axis=0)
    assert widths[1] == pytest.approx(10 * widths[0], rel=0.2)


def test_a_stream_is_calibrated_by_all_rows_held_out_so_far():
    X, y = noisy(400, rng)
    model = SimilarityRegressor(Gaussian(0.5), n_landmarks=8, random_state=0, engine=ONE)
    numbers = []
    for start in range(0, 400, 100):
        model.partial_fit(X[start : start + 100], y[start : start + 100])
        numbers.append(model.uncertainty_.n_rows)
    assert numbers == sorted(set(numbers)) and model.uncertainty_.grade == "ESTIMATE"
    assert share_inside(model.predict_interval(X, 0.9), y) == pytest.approx(0.9, abs=0.08)


def test_intervals_need_no_judging():
    X, y = noisy(40, rng)
    with without_evaluation():
        model = SimilarityRegressor(Gaussian(0.5), random_state=0, engine=ONE).fit(X, y)
    assert model.predict_interval(X).shape == (40, 2)


def test_precomputed_matrices_and_predictions_in_one_pass():
    X, y = noisy(120, rng, larger=1.0)
    K = Gaussian(0.5).gram(X)
    model = SimilarityRegressor("precomputed", random_state=0, engine=ONE).fit(K[:100, :100], y[:100])
    mean, std = model.predict(K[100:, :100], return_std=True)
    np.testing.assert_allclose(mean, model.predict(K[100:, :100]))
    assert std.shape == (20,) and (std > 0).all()


def test_a_record_says_what_is_known():
    record = Uncertainty.split(99)
    assert record.highest_level == 0.99 and "PROVEN" in str(record) and "99 rows" in str(record)
    record.check_level(0.99)
    assert record.to_dict()["method"] == "split conformal"
