"""KernelOneClassSVM and SimilarityNovelty: scikit-learn's solution, the rate of false alarms, any similarity."""

import numpy as np
import pytest
from market import LONGER_WORDS as WORDS
from scipy.stats import binom
from sklearn.svm import OneClassSVM

from similitude import FromBlocks, FromPairs
from similitude.engines import LocalEngine
from similitude.errors import NotAKernelError
from similitude.kernels import Gaussian, Spectrum
from similitude.learners import KernelOneClassSVM, SimilarityNovelty
from similitude.learners.svm import dual, estimators

rng = np.random.default_rng(0)
X, NEW = rng.standard_normal((300, 3)), 2 * rng.standard_normal((50, 3))
G = Gaussian.from_gamma(0.4)


@pytest.mark.parametrize("nu", [0.02, 0.3, 0.757])
@pytest.mark.parametrize("rows", ["at once", "as needed"])
def test_the_solution_is_that_of_scikit_learn(nu, rows, monkeypatch):
    if rows == "as needed":
        monkeypatch.setattr(estimators, "MOST_AT_ONCE", 10)
        monkeypatch.setattr(dual, "SAMPLED_FROM", 100)
    theirs = OneClassSVM(nu=nu, gamma=0.4, tol=1e-6).fit(X)
    ours = KernelOneClassSVM(G, nu=nu, tol=1e-6).fit(X)
    objective = 0.5 * theirs.dual_coef_[0] @ theirs.score_samples(X[theirs.support_])
    assert abs(ours.objective_ - objective) < 1e-7 * objective
    assert abs(ours.dual_coef_.sum() - nu * len(X)) < 1e-9 and ours.dual_coef_.min() > 0 and ours.dual_coef_.max() <= 1
    np.testing.assert_allclose(ours.score_samples(NEW), theirs.score_samples(NEW), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(ours.offset_, theirs.offset_[0], rtol=1e-4)
    sure = np.abs(theirs.decision_function(NEW)) > 1e-3
    assert np.array_equal(ours.predict(NEW)[sure], theirs.predict(NEW)[sure])


@pytest.mark.parametrize("nu", [0.1, 0.5, 1.0])
def test_nu_is_between_the_shares_of_outliers_and_of_support_objects(nu):
    model = KernelOneClassSVM(G, nu=nu, tol=1e-6).fit(X)
    outliers = np.mean(model.decision_function(X) < -1e-5)
    assert outliers <= nu + 1e-9 and len(model.support_) / len(X) >= nu - 1e-9


def test_weights_are_repetitions():
    weights = rng.integers(0, 4, len(X))
    weighted = KernelOneClassSVM(G, nu=0.2, tol=1e-7).fit(X, sample_weight=weights)
    repeated = KernelOneClassSVM(G, nu=0.2, tol=1e-7).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.decision_function(NEW), repeated.decision_function(NEW), atol=1e-4)


def test_few_or_equal_objects_give_values():
    for objects in (X[:1], np.ones((5, 2))):
        assert (KernelOneClassSVM(Gaussian(1.0)).fit(objects).predict(objects) == 1).all()


def test_words_and_what_is_no_kernel():
    model = KernelOneClassSVM(Spectrum(2), nu=0.3).fit(WORDS)
    assert set(model.predict(WORDS)) <= {1, -1} and np.array_equal(model.fit_predict(WORDS), model.predict(WORDS))
    with pytest.raises(NotAKernelError):
        KernelOneClassSVM(-1.0 * G).fit(X)


# Landmark density.


def by_hand(model, k, Z):
    """Return scores by the definition."""
    landmarks = X[model.landmark_indices_]
    number = min(model.n_neighbors, len(landmarks) - 1)
    own = []
    for i, one in enumerate(landmarks):
        others = [k(one, other) for j, other in enumerate(landmarks) if j != i]
        own.append(np.mean(sorted(others)[-number:]))
    scores = []
    for z in Z:
        values = np.array([k(z, one) for one in landmarks])
        nearest = np.argsort(values)[-number:]
        scores.append(np.mean(values[nearest]) - np.mean(np.array(own)[nearest]))
    return np.array(scores)


LOPSIDED = FromBlocks(lambda A, B: np.tanh(A @ B.T) + 0.4 * (A[:, :1] - B[:, 1]), objects="vectors")


@pytest.mark.parametrize("k", [G, LOPSIDED], ids=["kernel", "lopsided"])
def test_scores_are_those_of_the_definition(k):
    model = SimilarityNovelty(k, n_landmarks=30, n_neighbors=4, engine=LocalEngine(threads=1, memory="60kB")).fit(X)
    np.testing.assert_allclose(model.score_samples(NEW[:6]), by_hand(model, k, NEW[:6]), atol=1e-12)
    apart = X[model.calibration_indices_]
    np.testing.assert_allclose(model.calibration_scores_, np.sort(model.score_samples(apart)), atol=1e-12)
    assert not np.intersect1d(model.calibration_indices_, model.landmark_indices_).size


def test_a_matrix_gives_the_same():
    by_kernel = SimilarityNovelty(G, random_state=3).fit(X)
    by_matrix = SimilarityNovelty("precomputed", random_state=3).fit(G.gram(X))
    np.testing.assert_allclose(by_matrix.score_samples(G.cross(NEW, X)), by_kernel.score_samples(NEW), atol=1e-12)
    assert abs(by_matrix.offset_ - by_kernel.offset_) < 1e-12


@pytest.mark.parametrize("level", [0.05, 0.2])
def test_the_rate_of_false_alarms_is_kept(level):
    """Over many fits, alarms on objects of the same distribution are as frequent as stated, and not fewer."""
    alarms, trials, fresh = 0, 100, 40
    draws = np.random.default_rng(5)
    for trial in range(trials):
        Z = draws.standard_normal((120 + fresh, 2))
        model = SimilarityNovelty(G, level=level, n_landmarks=20, random_state=trial).fit(Z[:120])
        assert model.guarantee_.grade == "PROVEN" and model.guarantee_.numbers["rate"] <= level
        alarms += int((model.predict(Z[120:]) == -1).any() and np.sum(model.predict(Z[120:]) == -1))
    rate = model.guarantee_.numbers["rate"]
    share = alarms / (trials * fresh)
    spread = np.sqrt(rate * (1 - rate) * (1 / 30 + 1 / fresh) / trials)  # of rows set apart and of fresh rows
    assert abs(share - rate) < 4 * spread


def test_p_values_and_predictions_agree():
    model = SimilarityNovelty(G, level=0.1).fit(X)
    assert np.array_equal(model.p_values(NEW) <= 0.1, model.predict(NEW) == -1)
    m = len(model.calibration_scores_)
    assert model.p_values(NEW).min() >= 1 / (m + 1) and model.p_values(X).max() <= 1
    high = model.guarantee_.numbers["rate_high"]  # the chance of so few of m below a quantile
    assert abs(binom.cdf(int(0.1 * (m + 1)) - 1, m, high) - 0.05) < 1e-6


def test_few_rows_cannot_keep_a_small_level_and_say_so():
    model = SimilarityNovelty(G, level=0.01).fit(X[:40])
    assert "needs 99 objects set apart, and 10 objects" in model.notes_[-1]
    assert model.guarantee_.numbers["rate"] == 1 / 11


def test_outliers_are_found_among_words_and_vectors():
    model = SimilarityNovelty(level=0.05).fit(X)
    assert (model.predict(X[:5] + 50.0) == -1).all() and model.predict(np.zeros((1, 3)))[0] == 1
    shared = FromPairs(lambda s, t: float(len(set(s) & set(t))))
    assert SimilarityNovelty(shared, level=0.3).fit(WORDS).score_samples(["#"])[0] < -1


def test_a_constant_similarity_raises_no_alarm():
    model = SimilarityNovelty("precomputed").fit(np.ones((20, 20)))
    assert (model.predict(np.ones((3, 20))) == 1).all()
