"""Random projections and TensorSketch, against their definitions and against what is proven of them."""

import itertools
import math
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from test_loops import SETS, chosen

from similitude.engines import LocalEngine
from similitude.kernels import Cosine, Linear, Polynomial
from similitude.maps.polynomial_sketch import PolynomialSketchMap
from similitude.maps.sketches import SKETCH_KINDS, Sketch, padded
from similitude.results import PROVEN

every_kind = pytest.mark.parametrize("kind", SKETCH_KINDS)
KERNELS = [
    Polynomial(degree=2),
    Polynomial(degree=3, coef0=0.0),
    Polynomial(degree=4, coef0=0.3, scale=0.4),
    Linear(),
    Cosine(),
    Cosine() ** 3,
    2.0 * Polynomial(degree=2, coef0=0.5),
    (0.5 * Linear() + 1.0) ** 2,
    (3.0 * Cosine() + 2.0) * 0.5,
]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=str)
LIKE_OTHERS = (KERNELS[1], KERNELS[2], KERNELS[6], KERNELS[7])
telling_kernel = pytest.mark.parametrize(
    "kernel", [pytest.param(k, marks=[pytest.mark.deep] if k in LIKE_OTHERS else []) for k in KERNELS], ids=str
)
X = np.random.default_rng(7).normal(size=(12, 4))
X[3] = 0.0
X.setflags(write=False)


def walsh_hadamard(size):
    """Return the matrix by its definition."""
    return np.array([[(-1.0) ** (i & j).bit_count() for j in range(size)] for i in range(size)])


# Random projections.


@every_kind
@pytest.mark.parametrize(("n_in", "n_out"), [(1, 1), (5, 3), (8, 8), (20, 50), (100, 30), (3, 70)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_sketch_multiplies_by_its_matrix(kind, n_in, n_out, dtype):
    sketch = Sketch(kind, n_in, n_out, seed=3)
    Z = np.random.default_rng(0).normal(size=(700, n_in)).astype(dtype)
    got = sketch(Z)
    assert got.dtype == dtype and sketch.matrix().shape == (n_out, n_in)
    np.testing.assert_allclose(got, Z @ sketch.matrix().T, atol=300 * np.finfo(dtype).eps)


@pytest.mark.parametrize("seeds", [300, pytest.param(800, marks=pytest.mark.deep)])
@every_kind
def test_squared_lengths_are_right_in_the_mean(kind, seeds):
    u = np.arange(1.0, 8.0)[np.newaxis]
    for n_out in (1, 4, 20):
        squares = np.array([(Sketch(kind, 7, n_out, seed)(u) ** 2).sum() for seed in range(seeds)])
        assert abs(squares.mean() - (u**2).sum()) < 4.5 * squares.std() / math.sqrt(seeds)


@pytest.mark.parametrize("kind", ["gaussian", "sign"])
@pytest.mark.parametrize(("epsilon", "k"), [(0.5, 60), (0.5, 110), (0.3, 150)])
def test_johnson_lindenstrauss_holds_in_400_trials(kind, epsilon, k):
    u = np.random.default_rng(1).normal(size=(1, 40))
    ratios = np.array([(Sketch(kind, 40, k, seed)(u) ** 2).sum() for seed in range(400)]) / (u**2).sum()
    failed = ((ratios < 1 - epsilon) | (ratios > 1 + epsilon)).mean()
    assert failed <= 2 * math.exp(-(epsilon**2 - epsilon**3) * k / 4)


def test_entries_follow_their_laws():
    k, d = 50, 400
    entries = {kind: Sketch(kind, d, k, seed=0).matrix() * math.sqrt(k) for kind in SKETCH_KINDS}
    assert abs(entries["gaussian"].var() - 1) < 0.05 and abs(entries["gaussian"]).max() > 3
    assert abs((entries["gaussian"] ** 4).mean() - 3) < 0.3
    for kind in ("sign", "hadamard"):
        np.testing.assert_allclose(abs(entries[kind]), 1.0)
        assert abs(entries[kind].mean()) < 0.05
    values, counts = np.unique(entries["sparse"].round(6), return_counts=True)
    np.testing.assert_allclose(values, [-math.sqrt(20), 0, math.sqrt(20)], atol=1e-5)  # s is the root of 400
    np.testing.assert_allclose(counts / (k * d), [1 / 40, 1 - 1 / 20, 1 / 40], atol=0.005)
    few = Sketch("sparse", 5, 2000, seed=0).matrix()
    assert abs((few != 0).mean() - 1 / 3) < 0.02  # at most a third


def test_rows_of_a_hadamard_sketch_are_rows_of_the_matrix_with_signs():
    A = Sketch("hadamard", 6, 5, seed=2).matrix() * math.sqrt(5)
    H = walsh_hadamard(8)
    signs = [
        s for s in itertools.product([-1, 1], repeat=6) if all(any((a == h).all() for h in H[:, :6] * s) for a in A)
    ]
    assert signs
    square = Sketch("hadamard", 8, 8, seed=2).matrix()
    np.testing.assert_allclose(square @ square.T, np.eye(8), atol=1e-12)


@every_kind
def test_a_sketch_is_its_seed(kind):
    sketch = Sketch(kind, 300, 200, seed=5)
    Z = np.random.default_rng(0).normal(size=(3, 300))
    expected = sketch(Z)
    again = pickle.loads(pickle.dumps(sketch))
    assert len(pickle.dumps(sketch)) < 300
    assert again == sketch == Sketch(kind, 300, 200, seed=5) != Sketch(kind, 300, 200, seed=6)
    assert hash(again) == hash(sketch)
    np.testing.assert_array_equal(again(Z), expected)
    sketch.matrix()[...] = 0.0  # a copy
    np.testing.assert_array_equal(sketch(Z), expected)
    assert sketch(np.ones((2, 300), int)).dtype == np.float64


def test_a_sketch_refuses_other_rows():
    with pytest.raises(ValueError, match="takes rows of 3 numbers"):
        Sketch("sign", 3, 2, 0)(np.ones((2, 4)))


# The loop for Hadamard transforms.


@pytest.mark.parametrize("name", [*SETS, "reference"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 2, 4, 8, 16, 32, 64, 128])
@pytest.mark.parametrize(("n", "stretches", "k"), [(3, 1, 1), (2, 3, 3), (0, 1, 1), (1, 2, 0)])
def test_hadamard_is_the_matrix_product(name, dtype, size, n, stretches, k):
    rng = np.random.default_rng(size)
    around = np.full((2 * n + 1, stretches * size + 3), np.nan, dtype)
    values = around[1 : 2 * n + 1 : 2, 1 : stretches * size + 1]
    values[...] = rng.integers(-9, 9, values.shape)
    signs = rng.choice([-1.0, 1.0], (k, stretches * size)).astype(dtype)
    expected, H = values.astype(float), walsh_hadamard(size)
    for sign in signs:
        pieces = (expected * sign).reshape(n, stretches, size)
        expected = (pieces @ H).reshape(n, stretches * size)
    with chosen(name) as loops:
        loops.hadamard(values, signs, size)
    np.testing.assert_array_equal(values, expected)  # of whole numbers, so to the last digit
    assert np.isnan(around).sum() == around.size - values.size


def test_padded_is_the_next_power_of_two():
    assert [padded(d) for d in (1, 2, 3, 4, 5, 1000, 1024)] == [1, 2, 4, 4, 8, 1024, 1024]


# TensorSketch.


def tensor_sketch(m, x):
    """Return the features of one vector by adding up every product of p entries."""
    form, sums, signs = m.sketch_.form, m.sketch_.sums, m.sketch_.signs
    u = np.append(math.sqrt(form.scale) * x, math.sqrt(form.coef0))
    F = np.zeros(m.n_components)
    for entries in itertools.product(range(len(u)), repeat=form.degree):
        place = sum(int(sums[k, i]) for k, i in enumerate(entries)) % m.n_components
        F[place] += math.prod(float(signs[k, i] * u[i]) for k, i in enumerate(entries))
    return math.sqrt(form.factor) * F


@every_kernel
@pytest.mark.parametrize("width", [1, 2, 7, 64])
def test_features_are_count_sketches_of_all_products(kernel, width):
    m = PolynomialSketchMap(kernel, n_components=width, random_state=3).fit(X)
    F = m.transform(X)
    for i in range(4):
        x = X[i] / (np.linalg.norm(X[i]) or 1.0) if m.sketch_.form.unit else X[i]
        np.testing.assert_allclose(F[i], tensor_sketch(m, x), atol=1e-10)


def approximations(kernel, width, seeds, X=X):
    maps = (PolynomialSketchMap(kernel, n_components=width, random_state=seed) for seed in seeds)
    return np.array([F @ F.T for F in (m.fit_transform(X) for m in maps)])


@telling_kernel
def test_the_mean_over_seeds_is_the_kernel_and_the_variance_as_promised(kernel):
    got, K = approximations(kernel, 50, range(300)), kernel.gram(X)
    errors, standard = got.mean(axis=0) - K, got.std(axis=0) / math.sqrt(len(got)) + 1e-12
    assert (np.abs(errors) < 4.5 * standard).mean() >= 0.98
    made = PolynomialSketchMap(kernel, n_components=50).fit(X).guarantee_
    allowed = (3 ** made.numbers["degree"] - 1) / 50 * np.outer(K.diagonal(), K.diagonal())
    assert (got.var(axis=0) <= 1.1 * allowed + 1e-12).all()
    far = np.abs(got - K) >= made.numbers["epsilon"] * np.sqrt(np.outer(K.diagonal(), K.diagonal())) + 1e-12
    assert made.grade == PROVEN and far.mean(axis=0).max() <= 0.05


@telling_kernel
def test_error_falls_like_one_over_the_root_of_the_number_of_features(kernel):
    Z = np.random.default_rng(8).normal(size=(12, 60)) / 6
    errors = [((approximations(kernel, width, range(30), Z) - kernel.gram(Z)) ** 2).mean() for width in (32, 512)]
    assert 2.5 < np.sqrt(errors[0] / errors[1]) < 6.5  # 4 by theory


@every_kernel
def test_sparse_and_single_precision_vectors(kernel):
    Z = np.where(np.random.default_rng(3).random((40, 9)) < 0.3, 1.5, 0.0)
    m = PolynomialSketchMap(kernel, n_components=33, random_state=4)
    expected = m.fit_transform(Z)
    np.testing.assert_allclose(m.transform(sp.csr_array(Z)), expected, atol=1e-10)
    np.testing.assert_allclose(clone(m).fit_transform(sp.csr_matrix(Z)), expected, atol=1e-10)
    single = m.transform(Z.astype(np.float32))
    assert single.dtype == np.float32 and m.transform(sp.csr_array(Z.astype(np.float32))).dtype == np.float32
    np.testing.assert_allclose(single, expected, atol=1e-5 * np.abs(expected).max())
    np.testing.assert_allclose(clone(m).fit(Z.astype(np.float32)).transform(Z), expected, atol=1e-10)


def test_seeds_strips_threads_and_pickles_do_not_change_features():
    Z = np.random.default_rng(5).normal(size=(2500, 4))
    m = PolynomialSketchMap(n_components=50, random_state=3).fit(Z)
    expected = m.transform(Z)
    np.testing.assert_array_equal(clone(m).fit(Z).transform(Z), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(m)).transform(Z), expected)
    small = LocalEngine(threads=2, memory=2**20)
    np.testing.assert_allclose(clone(m).set_params(engine=small).fit(Z).transform(Z), expected, atol=1e-10)
    np.testing.assert_allclose(np.concatenate([v for _, v in m.features(Z).rows()]), expected, atol=1e-10)
    assert not np.array_equal(clone(m).set_params(random_state=4).fit(Z).transform(Z), expected)


def test_pipelines_grid_search_and_data_frames():
    labels = (X[:, 0] * X[:, 1] > 0).astype(int)
    pipe = make_pipeline(PolynomialSketchMap(n_components=200), RidgeClassifier())
    grid = {"polynomialsketchmap__kernel__degree": [1, 2]}
    assert GridSearchCV(pipe, grid, cv=2).fit(X, labels).best_params_ is not None
    m = PolynomialSketchMap(n_components=2).fit(X)
    assert m.kernel_ == Polynomial()
    assert m.get_feature_names_out().tolist() == ["polynomialsketchmap0", "polynomialsketchmap1"]
    assert m.set_output(transform="pandas").transform(X).shape == (12, 2)
