"""The kernel of samples: means over pairs, the maximum mean discrepancy, and what is refused."""

import pickle

import numpy as np
import pytest

from similitude import SimilarityClassifier, check_kernel
from similitude.kernels import DTW, Edit, Gaussian, GlobalAlignment, Linear, MeanOf, Polynomial, Spectrum
from similitude.kernels import samples as module
from similitude.similarity.expressions import parse

rng = np.random.default_rng(0)
CLOUDS = [rng.normal(i % 2, 1.0 + i % 3, size=(int(rng.integers(1, 9)), 2)) for i in range(12)]
TEXTS = [["ab", "abc"], ["b"], ["abba", "cab", "ab"]]


def by_pairs(k, X, Z):
    return np.array([[np.mean([[k(x, z) for z in Q] for x in P]) for Q in Z] for P in X])


@pytest.mark.parametrize(
    ("k", "X"),
    [
        (Gaussian(1.5), CLOUDS),
        (Gaussian(1.5), [one.tolist() for one in CLOUDS]),
        (Polynomial(2).normalized(), CLOUDS),
        (Spectrum(2), TEXTS),
        (Edit(), TEXTS),
        (GlobalAlignment(1.0), [[[0.0, 1.0], [2.0]], [[1.0, 2.0, 3.0]]]),
    ],
)
def test_means_over_all_pairs(k, X, monkeypatch):
    expected = by_pairs(k, X, X)
    np.testing.assert_allclose(MeanOf(k).gram(X), expected, rtol=1e-12)
    np.testing.assert_allclose(MeanOf(k).cross(X[:2], X), expected[:2], rtol=1e-12)
    np.testing.assert_allclose(MeanOf(k).diag(X), expected.diagonal(), rtol=1e-12)
    monkeypatch.setattr(module, "MOST_BASE_VALUES", 10)
    np.testing.assert_allclose(MeanOf(k).gram(X), expected, rtol=1e-12)


def test_the_distance_is_that_of_the_means_for_the_linear_kernel():
    means = np.array([one.mean(0) for one in CLOUDS])
    np.testing.assert_allclose(
        MeanOf(Linear()).distance(CLOUDS), np.linalg.norm(means[:, None] - means, axis=2), atol=1e-7
    )


def test_a_mean_of_a_kernel_is_a_kernel_and_of_another_similarity_is_not():
    assert check_kernel(MeanOf(Gaussian(1.0))).verdict == "VALID"
    assert np.linalg.eigvalsh(MeanOf(Gaussian(1.0)).gram(CLOUDS))[0] > -1e-12
    assert check_kernel(MeanOf(DTW(1.0))).verdict == "INVALID" and check_kernel(MeanOf(Edit())).verdict == "INVALID"


def test_parameters_are_fixed_on_all_elements():
    every = np.concatenate(CLOUDS)
    assert MeanOf(Gaussian()).resolve(CLOUDS) == MeanOf(Gaussian().resolve(every))
    weights = np.arange(12.0)
    weighted = Gaussian().resolve(every, sample_weight=np.repeat(weights, [len(one) for one in CLOUDS]))
    assert MeanOf(Gaussian()).resolve(CLOUDS, sample_weight=weights) == MeanOf(weighted)
    k = MeanOf(Gaussian(2.0))
    assert parse("mean_of(gaussian(sigma=2.0))") == k == pickle.loads(pickle.dumps(k)) == parse(repr(k))


def test_single_precision_stays():
    assert MeanOf(Gaussian(1.0)).gram([one.astype(np.float32) for one in CLOUDS]).dtype == np.float32


def test_refusals():
    k = MeanOf(Gaussian(1.0))
    with pytest.raises(ValueError, match="sample 1 is empty"):
        k.gram([CLOUDS[0], np.zeros((0, 2))])
    with pytest.raises(ValueError, match="the same dimension, got 2 and 3"):
        k.gram([np.zeros((2, 2)), np.zeros((2, 3))])
    with pytest.raises(TypeError, match="sample 0 is 'ab'"):
        MeanOf(Edit()).gram(["ab", "c"])
    with pytest.raises(TypeError, match="sample 0 is 1"):
        k.gram([1.0, 2.0])
    with pytest.raises(TypeError, match="k of MeanOf must be a similarity"):
        MeanOf("gaussian").gram(CLOUDS)


def test_distributions_are_told_apart():
    generator = np.random.default_rng(1)
    y = np.arange(40) % 2
    X = [generator.normal(0.0, 1.0 + 2.0 * label, size=(30, 1)) for label in y]
    assert SimilarityClassifier(MeanOf(Gaussian()), random_state=0).fit(X[:24], y[:24]).score(X[24:], y[24:]) > 0.9
