"""Kernels of distances with a metric: the kernel of the mapped vectors, computed once per object."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from test_vectors import table

from similitude import check_kernel
from similitude.kernels import Gaussian, Laplace, Matern, RationalQuadratic, explicit_map
from similitude.maps import FourierMap
from similitude.persistence import load, save
from similitude.selection.landmark_similarities import distance_key
from similitude.similarity.expressions import parse

X = table(8, 3)
WEIGHTS = np.array([2.0, 0.0, -0.5])
T = np.array([[1.0, 0.5], [0.0, 2.0], [-1.0, 0.3]])
KERNELS = [Gaussian(1.2), Laplace(0.8), Matern(1.5, 0.7), Matern(0.7, 0.7), RationalQuadratic(0.5, 1.1)]
every_kernel = pytest.mark.parametrize("k", KERNELS, ids=repr)


@every_kernel
@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array, np.ndarray.tolist], ids=["array", "sparse", "list"])
def test_a_metric_is_the_kernel_of_the_mapped_vectors(k, stored):
    for metric, mapped in ((WEIGHTS, X * WEIGHTS), (T, X @ T), (T.tolist(), X @ T)):
        with_metric = k.with_params(metric=metric)
        np.testing.assert_allclose(with_metric.gram(stored(X)), k.gram(mapped), atol=1e-12)
        np.testing.assert_allclose(with_metric.cross(stored(X[:2]), stored(X)), k.cross(mapped[:2], mapped), atol=1e-12)


def test_the_city_block_distance_takes_weights_only():
    k = Laplace(0.8, norm=1)
    np.testing.assert_allclose(k.with_params(metric=WEIGHTS).gram(X), k.gram(X * WEIGHTS))
    with pytest.raises(ValueError, match="with norm=1 metric must be a vector"):
        k.with_params(metric=T).gram(X)


@every_kernel
def test_the_median_is_that_of_the_mapped_vectors(k):
    k = k.with_params(**dict.fromkeys(k.resolves, "median"))
    assert repr(k.with_params(metric=WEIGHTS).resolve(X)).startswith(repr(k.resolve(X * WEIGHTS))[:-1])


@every_kernel
def test_a_kernel_with_a_metric_is_proven_as_a_pullback(k):
    found = check_kernel(k.with_params(metric=T))
    assert found.verdict == "VALID"
    assert "any linear map T" in str(found.proof)
    assert "linear map" not in str(k.proof())


def test_a_subclass_with_other_vectors_inherits_no_proof():
    class Shifted(Gaussian):
        def encode(self, objects):
            return super().encode(objects) + 1.0

    assert Gaussian(1.0, metric=T).proven
    assert not Shifted(1.0, metric=T).proven


@pytest.mark.parametrize(
    ("metric", "error", "message"),
    [
        ([1.0, np.nan, 0.0], ValueError, "entry 1 is nan"),
        ([[1.0], [np.inf], [0.0]], ValueError, "entry 1, 0 is inf"),
        ([0.0, 0.0, 0.0], ValueError, "zero in every column"),
        ([1.0, 2.0], ValueError, "metric has 2 weights, one per column, but the vectors have 3 columns"),
        (T[:2], ValueError, "metric has 2 rows, one per column, but the vectors have 3 columns"),
        (2.0, ValueError, "must be a vector with one weight per column"),
        (np.ones((3, 1, 1)), ValueError, "must be a vector with one weight per column"),
        ([], ValueError, "must be a vector with one weight per column"),
        ("age", TypeError, "metric must be an array of numbers, got 'age'"),
        ([1j, 0.0, 0.0], TypeError, "metric must be an array of numbers"),
        ([[1.0, 2.0], [3.0]], TypeError, "metric must be an array of numbers"),
    ],
)
def test_a_metric_that_is_none_is_refused(metric, error, message):
    with pytest.raises(error, match=message):
        Gaussian(1.0, metric=metric).gram(X)


def test_it_prints_copies_compares_pickles_and_saves(tmp_path):
    k = Matern(1.5, 2.0, metric=T)
    assert repr(k) == "Matern(nu=1.5, length=2.0, metric=<3 x 2 matrix>)"
    assert repr(Gaussian(1.0, metric=np.array([1 / 3, 2.0]))) == "Gaussian(sigma=1.0, metric=[0.3333, 2.0])"
    assert repr(Gaussian(1.0, metric=np.ones(9))) == "Gaussian(sigma=1.0, metric=<9 weights>)"
    assert repr(Gaussian(1.0)) == "Gaussian(sigma=1.0)"
    save(k, tmp_path / "k.sim")
    for other in (pickle.loads(pickle.dumps(k)), load(tmp_path / "k.sim"), k.__sklearn_clone__()):
        assert other == k
        assert other.fingerprint() == k.fingerprint()
    assert k != Matern(1.5, 2.0)
    assert k.fingerprint() != k.with_params(metric=2 * T).fingerprint()


def test_expressions_take_a_metric():
    k = parse("gaussian(sigma=2, metric=[1, 0, 0.5])")
    np.testing.assert_allclose(k.gram(X), Gaussian(2.0).gram(X * [1, 0, 0.5]))
    assert parse(repr(k)) == k
    np.testing.assert_allclose(
        parse("matern(length=1, metric=[[1], [2], [0]])").gram(X), Matern(length=1.0).gram(X @ [[1], [2], [0]])
    )


def test_fourier_and_explicit_features_are_those_of_the_mapped_vectors():
    k = Gaussian(1.0, metric=T)
    m = FourierMap(k, n_components=4000, random_state=0).fit(X)
    F = m.transform(X)
    assert abs(F @ F.T - k.gram(X)).max() < 0.1
    angles = X @ m.frequencies_.T
    np.testing.assert_allclose(F[:, :2000], np.cos(angles) * np.sqrt(2 / 4000), atol=1e-12)
    phi = explicit_map(k, X / 4, degree=12)
    np.testing.assert_allclose(phi @ phi.T, k.gram(X / 4), atol=1e-4)


def test_kernels_share_distances_only_with_the_same_metric():
    keys = [
        distance_key(k)
        for k in (Gaussian(1.0, metric=T), Matern(metric=T.copy()), Gaussian(1.0), Gaussian(1.0, T[:, 0]))
    ]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3
