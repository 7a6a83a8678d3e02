"""The kernel of signatures: its features, what does not change them, and what it learns from data."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from test_loops_elastic import signature_by_definition
from test_series import RAGGED, fast, ragged, waves

from similitude import SimilarityClassifier, check_kernel, load, save
from similitude.kernels import Signature, explicit_dimension, explicit_map
from similitude.similarity.expressions import parse
from similitude.support import UnresolvedError


def plain(level, channels, time=False):
    """Return the kernel whose features are signatures, divided by the root of the level alone."""
    return Signature(level, time, scales=np.ones(channels), norms=np.ones(level))


def levels(features, channels):
    """Return the signature of one series as a list of tensors, the constant 1 first."""
    tensors, begin, m = [np.ones(())], 0, 1
    while begin < len(features):
        tensors.append(features[begin : begin + channels**m].reshape((channels,) * m))
        begin, m = begin + channels**m, m + 1
    return tensors


@pytest.mark.parametrize("time", [True, False])
def test_features_by_their_definition(time):
    X = [x[:5] for x in ragged(5)]
    k = Signature(3, time).resolve(X)
    for x, phi in zip(X, explicit_map(k, X), strict=True):
        path = x / k.scales
        path = np.column_stack([np.linspace(0, 1, len(x)), path]) if time else path
        d = path.shape[1]
        expected = signature_by_definition(path, 3) / np.repeat(k.norms, [d, d**2, d**3]) / np.sqrt(3)
        np.testing.assert_allclose(phi, expected, atol=1e-12)


def test_scales_are_median_ranges_and_every_level_has_the_same_median_norm():
    X = ragged(9)
    k = Signature(3).resolve(X)
    np.testing.assert_allclose(k.scales, np.median([np.ptp(x, axis=0) for x in X], axis=0))
    parts = np.split(explicit_map(k, X), [3, 12], axis=1)
    np.testing.assert_allclose([np.median(np.linalg.norm(part, axis=1)) for part in parts], 1 / np.sqrt(3))
    np.testing.assert_allclose(k.gram(X), explicit_map(k, X) @ explicit_map(k, X).T)
    np.testing.assert_allclose(k.diag(X), k.gram(X).diagonal())
    assert Signature(2).resolve([[3.0, 3.0], [1.0]]).scales == 1.0


def test_units_of_channels_do_not_matter():
    X = ragged(6)
    np.testing.assert_allclose(Signature().gram([x * [1e3, 1e-5] + [7.0, -3.0] for x in X]), Signature().gram(X))


def test_a_repeated_time_changes_nothing_without_the_channel_of_time():
    x = ragged(1)[0]
    slow = np.repeat(x, [3, 1, 2] + [1] * (len(x) - 3), axis=0)
    between = np.insert(x, 1, (x[0] + x[1]) / 2, axis=0)  # a point on a line is no news either
    phi = explicit_map(plain(4, 2), [x, slow, between])
    np.testing.assert_allclose(phi[1:], phi[[0, 0]], atol=1e-13)
    timed = explicit_map(plain(4, 2, time=True), [x, slow])
    assert np.abs(timed[1] - timed[0]).max() > 0.01


def test_chens_identity():
    """The signature of a path is the tensor product of those of its first and its second part."""
    x = np.random.default_rng(0).normal(size=(9, 2))
    whole, first, second = (levels(phi * 2.0, 2) for phi in explicit_map(plain(4, 2), [x, x[:5], x[4:]]))
    for m, tensor in enumerate(whole):
        product = sum(np.multiply.outer(first[j], second[m - j]) for j in range(m + 1))
        np.testing.assert_allclose(tensor, product, atol=1e-12)


def test_the_way_back_is_the_inverse():
    x = np.random.default_rng(1).normal(size=(7, 3))
    there_and_back = np.concatenate([x, x[::-1]])
    np.testing.assert_allclose(explicit_map(plain(3, 3), [there_and_back]), 0.0, atol=1e-12)


def test_products_of_levels_shuffle():
    """A product of two entries of level 1 is the sum of the entries of level 2 in both orders."""
    phi = explicit_map(plain(2, 3), ragged(4, 3)) * np.sqrt(2)
    first, second = phi[:, :3], phi[:, 3:].reshape(-1, 3, 3)
    np.testing.assert_allclose(first[:, :, None] * first[:, None], second + second.transpose(0, 2, 1), atol=1e-12)


def test_series_of_one_channel_are_told_apart_by_time():
    early, late = [0.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0]
    assert Signature(3).distance([early, late])[0, 1] > 0.1
    assert Signature(3, time=False).distance([early, late])[0, 1] < 1e-6


def test_it_is_a_kernel_with_explicit_features():
    assert check_kernel(Signature()).verdict == "VALID" and Signature().proof().holds
    assert explicit_dimension(Signature(3), 1) == 14 and explicit_dimension(Signature(2, time=False), 5) == 30
    X = ragged(8)
    assert np.linalg.eigvalsh(Signature(2).gram(X))[0] > -1e-12
    k = Signature().resolve(X) * 2.0 + 1.0
    phi = explicit_map(k, X)
    assert phi.shape == (8, 40) == (8, explicit_dimension(k, 1))
    np.testing.assert_allclose(phi @ phi.T, k.gram(X))


def test_weights_count_as_repetitions():
    X = ragged(5)
    weights = np.array([2, 0, 1, 3, 1])
    repeated = [x for x, w in zip(X, weights, strict=True) for _ in range(w)]
    left, right = Signature().resolve(X, sample_weight=weights), Signature().resolve(repeated)
    np.testing.assert_allclose(left.scales, right.scales)
    np.testing.assert_allclose(left.norms, right.norms)


def test_copies_expressions_and_precision():
    X, _ = waves(10, 60, channels=2)
    k = Signature().resolve(X)
    assert clone(k) == k == pickle.loads(pickle.dumps(k)) == k.resolve(X[:3])
    assert Signature(2, False) == parse("signature(2, time=False)")
    assert Signature(scales=np.array([1.0, 2.0])).resolve(X).scales.tolist() == [1.0, 2.0]
    single = k.gram(X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, k.gram(X), atol=1e-4)


def test_the_largest_level_that_fits_is_named():
    X = np.random.default_rng(0).normal(size=(3, 4, 9))
    message = r"level=6 of 10 channels, time included, has 1,111,110 features.*largest level that fits is 4"
    with pytest.raises(ValueError, match=message):
        Signature(6).gram(X)
    with pytest.raises(ValueError, match=r"level=6 of 9 channels has 597,870 features.*largest level that fits is 5"):
        Signature(6, time=False).gram(X)
    with pytest.raises(ValueError, match="largest level that fits is 1"):
        Signature(2).gram(np.zeros((1, 2, 500)))
    assert Signature(1).gram(np.zeros((1, 2, 500))).shape == (1, 1)


REFUSED = {
    "level must be an integer from 1 to 63": Signature(0),
    "scales must be an array of positive numbers, one for each channel": Signature(scales=[1.0]),
    "norms must be an array of positive numbers, 2, one for each level": Signature(2, norms=np.ones(3)),
    "norms must be an array": Signature(1, norms=np.array([-1.0])),
}


@pytest.mark.parametrize("message", REFUSED)
def test_parameters_that_are_refused(message):
    with pytest.raises(ValueError, match=message):
        REFUSED[message].gram(RAGGED)


def test_series_that_are_refused():
    k = Signature().resolve(RAGGED)
    with pytest.raises(ValueError, match="series of 1 channels are expected, these have 2"):
        k.cross(RAGGED, ragged(2))
    with pytest.raises(UnresolvedError, match="scales"):
        Signature().cross(RAGGED, RAGGED)
    with pytest.raises(ValueError, match="the signature of series 1 overflows"):
        k.cross(RAGGED, [[0.0, 1.0], [0.0, 1e200]])


@fast
def test_a_classifier_of_series(tmp_path):
    X, y = waves(60)
    model = SimilarityClassifier(Signature(4), random_state=0).fit(X[:40], y[:40])
    assert model.score(X[40:], y[40:]) > 0.9
    save(model, tmp_path / "model.sim")
    np.testing.assert_array_equal(load(tmp_path / "model.sim").predict(X), model.predict(X))
