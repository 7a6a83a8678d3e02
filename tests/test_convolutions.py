"""The kernel of random convolutions: its features, what it learns from data, and what is made of it."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from test_series import RAGGED, fast, ragged, waves

from similitude import SimilarityClassifier, check_kernel, load, save
from similitude.datasets import vowels
from similitude.kernels import Convolutions, explicit_dimension, explicit_map
from similitude.kernels.series.convolutions import BIAS, DEVIATION, FIRST_CHANNEL, MEAN
from similitude.similarity.expressions import parse
from similitude.support import UnresolvedError

KERNEL_NUMBER, DILATION, PADDED = range(3)

SMALL = Convolutions(n_features=252)


def test_features_by_their_definition():
    """Each feature from its row of the table: weights, dilation, padding, bias, mean and deviation."""
    X = [*ragged(4), np.random.default_rng(5).normal(size=(30, 2))]
    k = SMALL.resolve(X)
    assert k.filters.shape == (252, FIRST_CHANNEL + 2)
    for row, phi in zip(k.filters, explicit_map(k, X).T, strict=True):
        taps = [3.0 if tap in parse_triple(int(row[KERNEL_NUMBER])) else 0.0 for tap in range(9)]
        weights, step = np.array(taps) - 1.0, int(row[DILATION])
        shares = []
        for x in X:
            mixed = np.pad(x @ row[FIRST_CHANNEL:], 4 * step)
            values = sum(w * mixed[i * step : i * step + len(x)] for i, w in enumerate(weights))
            within = values[4 * step : len(x) - 4 * step]
            shares.append(np.mean((values if row[PADDED] or not len(within) else within) > row[BIAS] + 1e-12))
        expected = (np.array(shares) - row[MEAN]) / row[DEVIATION] / np.sqrt(252)
        np.testing.assert_allclose(phi, expected, atol=2e-3)  # a value may equal its bias but for rounding


def parse_triple(number):
    return [(i, j, k) for i in range(9) for j in range(i + 1, 9) for k in range(j + 1, 9)][number]


def test_features_are_standardized_on_the_training_series():
    X, _ = waves(30)
    k = SMALL.resolve(X)
    phi = explicit_map(k, X) * np.sqrt(k.width)
    np.testing.assert_allclose(phi.mean(0), 0.0, atol=1e-12)
    spread = phi.std(0)
    assert (np.isclose(spread, 1.0) | (spread == 0)).all() and (spread > 0).mean() > 0.9
    np.testing.assert_allclose(k.gram(X), explicit_map(k, X) @ explicit_map(k, X).T)
    np.testing.assert_allclose(k.diag(X), k.gram(X).diagonal())


def test_it_is_a_kernel_with_explicit_features():
    assert check_kernel(Convolutions()).verdict == "VALID" and Convolutions().proof().holds
    assert explicit_dimension(Convolutions(), 1) == 9996 and explicit_dimension(Convolutions(100), 1) == 84
    X = ragged(8)
    assert np.linalg.eigvalsh(SMALL.gram(X))[0] > -1e-12
    k = SMALL.resolve(X) * 2.0 + 1.0
    phi = explicit_map(k, X)
    np.testing.assert_allclose(phi @ phi.T, k.gram(X))


def test_the_same_seed_gives_the_same_features():
    X = ragged(10)
    assert SMALL.resolve(X, 3) == SMALL.resolve(X, 3) != SMALL.resolve(X, 4)
    np.testing.assert_array_equal(SMALL.gram(X), SMALL.gram(X))
    assert SMALL.resolve(X, 3).resolve(ragged(5, seed=9)) == SMALL.resolve(X, 3)


def test_dilations_fit_the_median_length():
    X = np.random.default_rng(0).normal(size=(3, 100))
    dilations = Convolutions(84 * 40).resolve(X).filters[:, DILATION]
    assert dilations.min() == 1 and dilations.max() == 12  # nine taps 12 apart span 97 times
    assert set(SMALL.resolve([[1.0, 2.0], [3.0]]).filters[:, DILATION]) == {1.0}


def test_weights_of_zero_leave_series_out():
    X = ragged(6)
    weights = np.array([1, 1, 0, 1, 0, 1])
    left = SMALL.resolve(X, 0, weights)
    only = explicit_map(left, [x for x, w in zip(X, weights, strict=True) if w])
    np.testing.assert_allclose(only.mean(0), 0.0, atol=1e-12)
    with pytest.raises(ValueError, match="sample_weight must be 6 numbers"):
        SMALL.resolve(X, 0, [1.0, -1.0])


def test_copies_expressions_and_precision():
    X, _ = waves(10, 60, channels=2)
    k = SMALL.resolve(X)
    assert clone(k) == k == pickle.loads(pickle.dumps(k)) and clone(SMALL) == SMALL == parse("convolutions(252)")
    assert "252 x 8" in repr(k)
    single = k.gram(X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, k.gram(X), atol=0.02)  # a value near its bias may fall on the other side


def test_refusals():
    X = ragged(6)
    k = SMALL.resolve(X)
    with pytest.raises(ValueError, match="series of 2 channels are expected, these have 1"):
        k.cross(X, RAGGED)
    with pytest.raises(UnresolvedError, match="filters"):
        SMALL.cross(X, X)
    with pytest.raises(ValueError, match="n_features must be an integer from 84 to"):
        Convolutions(83).gram(X)
    with pytest.raises(ValueError, match="filters are an array"):
        Convolutions(84, filters=[1, 2]).gram(X)
    wrong = k.filters.copy()
    wrong[3, KERNEL_NUMBER] = 84
    with pytest.raises(ValueError, match="kernels from 0 to 83"):
        Convolutions(84, filters=wrong).gram(X)
    with pytest.raises(ValueError, match="series 0 is nan at position 1"):
        SMALL.gram([[1.0, float("nan")], [1.0]])


@fast
def test_classifiers_of_equal_and_of_unequal_series(tmp_path):
    X, y = waves(60)
    model = SimilarityClassifier(Convolutions(1000), random_state=0).fit(X[:40], y[:40])
    assert model.score(X[40:], y[40:]) > 0.9
    save(model, tmp_path / "model.sim")
    np.testing.assert_array_equal(load(tmp_path / "model.sim").predict(X), model.predict(X))
    voices, speakers = vowels()
    k = Convolutions(1000).resolve(voices[::4])
    ridge = RidgeClassifier().fit(explicit_map(k, voices[::4]), speakers[::4])
    assert ridge.score(explicit_map(k, voices[1::8]), speakers[1::8]) > 0.75
