"""Sums of half-made features: those of complete ones, as exact as if every example's had been completed."""

import numpy as np
import pytest
from scipy.linalg import solve_triangular

from similitude import FromPairs, SimilarityRegressor
from similitude.errors import PairError
from similitude.fitting.passes import FeatureUnion, SumsTask
from similitude.kernels import Gaussian, Laplace, Linear, Polynomial
from similitude.landmarks import LandmarkFeatures, Landmarks
from similitude.landmarks.projection import factor_of_landmarks as projected
from similitude.landmarks.projection import n_leading as leading
from similitude.landmarks.projection import solve_rows, solver
from similitude.linear import Moments

rng = np.random.default_rng(5)


def factored(k, L, single):
    return projected(k.gram(L.astype(np.float64)), single)


@pytest.mark.parametrize(
    ("k", "width", "dtype", "coordinates"),
    [
        pytest.param(Gaussian(6.0), 5, np.float64, 128, marks=pytest.mark.deep),
        (Gaussian(6.0), 28, np.float32, 128),
        (Gaussian(6.0), 28, np.float64, 0),
        pytest.param(Gaussian(1.0), 5, np.float64, 0, marks=pytest.mark.deep),
        (Gaussian(1.0), 28, np.float32, 0),
        pytest.param(Laplace(3.0), 1, np.float64, 128, marks=pytest.mark.deep),
        (Laplace(3.0), 5, np.float32, 128),
        pytest.param(Laplace(3.0), 28, np.float64, 0, marks=pytest.mark.deep),
        pytest.param(Polynomial(3), 1, np.float64, 0, marks=pytest.mark.deep),
        (Polynomial(3), 28, np.float64, 0),
    ],
    ids=repr,
)
def test_rounding_is_that_of_complete_features(k, width, dtype, coordinates):
    X = np.random.default_rng(5).standard_normal((2_500, width))
    factor = factored(k, X[:500], dtype == np.float32)
    L, T = X[factor.pivots], solver(factor.U, np.dtype(dtype))
    K = k.cross(X.astype(dtype), L.astype(dtype))
    F, Y, ones = solve_rows(K.copy(), T), X[:, :1], np.ones(len(X))
    r = leading(factor.U, F[:1_000])
    assert r == coordinates
    exact = solve_triangular(factor.U, K.astype(np.float64).T, trans=1).T
    exact = Moments.of(exact, Y, ones)
    whole = Moments.of(F, Y, ones)
    later = Moments.of(solve_rows(K.copy(), T, r), Y, ones).divided(factor.U[r:, r:], slice(r, None))
    largest = np.linalg.norm(exact.gram, 2)
    error, usual = (np.linalg.norm(one.gram - exact.gram, 2) for one in (later, whole))
    assert error <= max(10 * usual, 1e-11 * largest)
    np.testing.assert_allclose(later.cross, exact.cross, atol=1e-5 * np.sqrt(largest * len(X)))
    np.testing.assert_allclose(later.features, exact.features, atol=1e-5 * np.sqrt(largest * len(X)))


def test_a_fit_in_one_pass_is_that_of_all_features_also_with_several_similarities():
    X = rng.standard_normal((22_000, 12))
    y = np.sin(X[:, 0]) + X[:, 1] ** 2
    for like in (Gaussian(4.0), [Gaussian(4.0), Linear()]):
        model = SimilarityRegressor(like, n_landmarks=200, random_state=0).fit(X[:, :], y)
        single = SimilarityRegressor(like, n_landmarks=200, random_state=0).fit(X.astype(np.float32), y)
        np.testing.assert_allclose(single.predict(X[:500]), model.predict(X[:500]), atol=2e-3)


def test_examples_that_are_like_no_landmark():
    assert leading(np.eye(4), np.zeros((50, 4))) == 0
    far = np.repeat(np.eye(40), 700, axis=0)  # of forty kinds, three are like a landmark
    model = SimilarityRegressor(Linear(), landmarks=np.eye(40)[:3], random_state=0).fit(far, far[:, 0])
    assert model.predict(far).max() > 0.5


def test_rows_without_a_weight_are_left_out_of_sums_and_not_compared():
    def shared(a, b):
        return float("nan") if "?" in a else float(len(set(a) & set(b)))

    k = FromPairs(shared)
    union = FeatureUnion.of([LandmarkFeatures(k, Landmarks(["abc", "cd"]).encoded(k))], 8)
    words, Y, weights = ["a", "?", "bcd", "dd"], np.arange(4.0)[:, None], np.array([1.0, 0.0, 4.0, 1.0])
    found = SumsTask(False)(((k.encode(words),), Y, weights), union)
    F, kept = np.array([[1.0, 0.0], [2.0, 2.0], [0.0, 1.0]]), [0, 2, 3]
    np.testing.assert_array_equal(found.gram, F.T @ (weights[kept, None] * F))
    np.testing.assert_array_equal(found.cross, F.T @ (weights[kept, None] * Y[kept]))
    assert found.weight == 6.0
    with pytest.raises(PairError, match=r"pair \(2, 0\)"):  # by its position among all rows
        SumsTask(False)(((k.encode(["a", "b", "?", "dd"]),), Y, weights), union)
    nothing = SumsTask(False)(((k.encode(["a", "b"]),), Y[:2], np.zeros(2)), union)
    assert nothing.weight == 0.0 and not nothing.gram.any()
