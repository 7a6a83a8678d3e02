"""Streams with a bounded number of kept objects: steps are projected onto the span of those."""

import numpy as np
import pytest

from similitude.kernels import Gaussian, Linear, Spectrum
from similitude.learners import KernelPerceptron, KernelRidge, OnlineKernelClassifier, OnlineKernelRegressor
from similitude.support import UnresolvedError

rng = np.random.default_rng(0)


def circles(n):
    X = rng.normal(size=(n, 2))
    return X, ((X**2).sum(axis=1) > 1.4) * 1


def projectron(K, signs, budget, novelty):
    """Return the number of mistakes, and the final coefficients by position: written for reading, not for speed."""
    kept, weights, mistakes = [], {}, 0
    for t, sign in enumerate(signs):
        near = K[t, kept]
        if sign * (near @ np.array([weights[i] for i in kept])) > 0:
            continue
        mistakes += 1
        inside = np.linalg.solve(K[np.ix_(kept, kept)], near) if kept else np.zeros(0)
        if len(kept) < budget and K[t, t] - near @ inside > novelty * K[t, t]:
            kept.append(t)
            weights[t] = sign
        else:
            for i, share in zip(kept, inside, strict=True):
                weights[i] += sign * share
    return mistakes, weights


@pytest.mark.parametrize("budget", [5, 40])
def test_the_perceptron_is_the_projectron(budget):
    X, y = circles(200)
    mistakes, weights = projectron(Gaussian(1.0).gram(X), 2 * y - 1, budget, 0.05)
    model = OnlineKernelClassifier(Gaussian(1.0), loss="perceptron", budget=budget, novelty=0.05).fit(X, y)
    assert model.n_updates_ == mistakes and model.support_.tolist() == list(weights)
    np.testing.assert_allclose(model.dual_coef_[:, 1], list(weights.values()), atol=1e-7)
    np.testing.assert_allclose(model.dual_coef_.sum(axis=1), 0, atol=1e-9)


def test_without_a_budget_it_is_the_perceptron():
    X, y = circles(120)
    free = OnlineKernelClassifier(Gaussian(0.5), loss="perceptron", budget=120, novelty=0.0).fit(X, y)
    plain = KernelPerceptron(Gaussian(0.5)).fit(X, y)
    assert free.n_updates_ == plain.mistakes_
    np.testing.assert_array_equal(free.predict(X), plain.predict(X))


def test_projecting_is_better_than_forgetting():
    X, y = circles(1500)
    Z, z = circles(500)
    projected = OnlineKernelClassifier(Gaussian(1.0), loss="perceptron", budget=8).fit(X, y).score(Z, z)
    forgetful = KernelPerceptron(Gaussian(1.0), budget=8).fit(X, y).score(Z, z)
    assert projected > forgetful + 0.05
    assert OnlineKernelClassifier(Gaussian(1.0), budget=30).fit(X, y).score(Z, z) > 0.93


def test_logistic_scores_are_log_odds():
    X = rng.choice([-1.0, 1.0], size=(4000, 1))
    y = rng.random(4000) < 1 / (1 + np.exp(-1.5 * X[:, 0]))
    model = OnlineKernelClassifier(Linear(), lam=1e-2).fit(X, y)
    assert model.decision_function([[1.0]])[0] == pytest.approx(1.5, abs=0.35)


@pytest.mark.parametrize("loss", ["logistic", "hinge", "perceptron"])
def test_one_by_one_in_batches_and_at_once(loss):
    words = [a + b for a in "abcd" for b in "abcd"] * 3
    y = [word[0] for word in words]
    whole = OnlineKernelClassifier(Spectrum(1), loss=loss, budget=6).fit(words, y)
    pieces = OnlineKernelClassifier(Spectrum(1), loss=loss, budget=6).partial_fit(
        words[:7], y[:7], classes=list("abcd")
    )
    for word, label in zip(words[7:], y[7:], strict=True):
        pieces = pieces.learn_one(word, label)
    np.testing.assert_allclose(pieces.dual_coef_, whole.dual_coef_)
    assert [pieces.predict_one(word) for word in words] == whole.predict(words).tolist()
    assert len(whole.support_) <= 6 and whole.n_seen_ == 48


def test_numbers_of_a_stream_approach_those_of_all_rows():
    X = rng.uniform(-2, 2, size=(3000, 1))
    y = 5 + np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=3000)
    model = OnlineKernelRegressor(Gaussian(1.0), budget=30).fit(X, y)
    Z = np.linspace(-1.8, 1.8, 50)[:, None]
    best = KernelRidge(Gaussian(1.0), lam=0.1).fit(X[:500], y[:500]).predict(Z)
    assert np.abs(model.predict(Z) - best).mean() < 0.1 and model.mean_ == pytest.approx(y.mean())
    assert model.predict_one([0.3]) == pytest.approx(model.predict([[0.3]])[0])


def test_equal_objects_are_kept_once():
    model = OnlineKernelClassifier(Linear(), novelty=0.0).fit([[1.0], [1.0], [2.0], [-1.0]], [1, 1, 1, 0])
    assert len(model.support_) == 1


def test_what_a_stream_cannot_begin_with():
    assert OnlineKernelClassifier().predict_one([1.0]) is None and OnlineKernelRegressor().predict_one([1.0]) is None
    with pytest.raises(UnresolvedError, match="begin with partial_fit"):
        OnlineKernelClassifier("gaussian").learn_one([1.0], True)
    with pytest.raises(ValueError, match="classes must be passed"):
        OnlineKernelClassifier(Linear()).learn_one([1.0], "a")
    with pytest.raises(ValueError, match="budget"):
        OnlineKernelClassifier(Linear(), budget=0).fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(ValueError, match="loss"):
        OnlineKernelClassifier(Linear(), loss="squared").fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(ValueError, match="precomputed matrix has none"):
        OnlineKernelRegressor("precomputed").fit(np.eye(2), [0.0, 1.0])
