"""FourierMap: random frequencies of every law, drawn in every way, against the kernels they stand for."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from test_loops import SETS, chosen

from similitude.compute.loops import reference
from similitude.engines import LocalEngine
from similitude.kernels import Gaussian, Laplace, Matern, RationalQuadratic
from similitude.maps.fourier import FREQUENCY_KINDS, FourierMap
from similitude.results import NONE, PROVEN

KERNELS = [
    Gaussian(sigma=2.0),
    Laplace(sigma=1.3),
    Laplace(sigma=3.0, squared_scale=False),
    Matern(nu=0.7, length=2.5),
    Matern(nu=1.5, length=2.0),
    Matern(nu=float("inf"), length=2.0),
    RationalQuadratic(alpha=0.8, length=2.0),
    3.0 * Gaussian(sigma=2.0),
]
MANHATTAN = [Laplace(sigma=2.0, norm=1), Laplace(sigma=8.0, norm=1, squared_scale=False)]
CASES = [(k, kind) for k in KERNELS for kind in FREQUENCY_KINDS] + [(k, "plain") for k in MANHATTAN]
every_case = pytest.mark.parametrize(("kernel", "kind"), CASES, ids=str)
every_kind = pytest.mark.parametrize("kind", FREQUENCY_KINDS)
X = np.random.default_rng(7).normal(size=(30, 5))
X.setflags(write=False)


def approximations(kernel, kind, width, X=X, seeds=range(10)):
    maps = (FourierMap(kernel, n_components=width, kind=kind, random_state=seed) for seed in seeds)
    return np.array([F @ F.T for F in (m.fit_transform(X) for m in maps)])


def error(kernel, kind, width, X=X, seeds=range(10)):
    """Return the root of the mean squared error over pairs and seeds."""
    return np.sqrt(((approximations(kernel, kind, width, X, seeds) - kernel.gram(X)) ** 2).mean())


# The approximation.


@every_case
def test_error_falls_like_one_over_the_root_of_the_number_of_features(kernel, kind):
    few, many = error(kernel, kind, 128), error(kernel, kind, 2048)
    assert 2.7 < few / many < 6  # 4 by theory
    assert many < np.sqrt(2.0 / 2048) * kernel(X[0], X[0])


@every_case
def test_the_mean_over_seeds_is_the_kernel(kernel, kind):
    got = approximations(kernel, kind, 15, X[:12], range(1000, 1050))
    errors = got.mean(axis=0) - kernel.gram(X[:12])
    standard = got.std(axis=0) / np.sqrt(len(got)) + 1e-12
    allowed = 4.5 * standard + (0.01 * kernel(X[0], X[0]) if kind == "structured" else 0.0)
    assert (np.abs(errors) < allowed).mean() >= 0.99


@pytest.mark.parametrize("d", [3, 10, 50])
def test_orthogonal_errs_less_than_plain_and_structured_as_little(d):
    Z = np.random.default_rng(d).normal(size=(40, d))
    errors = {kind: error(Gaussian(sigma=np.sqrt(d)), kind, 512, Z, range(25)) for kind in FREQUENCY_KINDS}
    assert errors["orthogonal"] < 0.95 * errors["plain"]
    assert errors["structured"] < 1.15 * errors["orthogonal"]


def test_lengths_of_frequencies_follow_the_kernel_and_are_not_all_equal():
    for kind in FREQUENCY_KINDS:
        m = FourierMap(Gaussian(sigma=2.0), n_components=4000, kind=kind).fit(X)
        squares = (m.frequencies_**2).sum(axis=1) * 4.0
        assert squares.mean() == pytest.approx(5.0, abs=0.4)
        assert squares.var() == pytest.approx(10.0, abs=2.0)  # chi-squared with 5 degrees of freedom


def test_directions_are_orthogonal_within_a_block():
    W = FourierMap(Matern(length=1.0), n_components=28).fit(X).frequencies_
    products = W @ W.T
    for block in (slice(0, 5), slice(5, 10), slice(10, 14)):
        inside = products[block, block]
        np.testing.assert_allclose(inside - np.diag(inside.diagonal()), 0.0, atol=1e-12)
    assert np.abs(products[:5, 5:10]).max() > 0.1
    W = FourierMap(Gaussian(sigma=1.0), n_components=60).fit(np.eye(200)).frequencies_  # few of many dimensions
    cosines = (W @ W.T) / np.outer(np.linalg.norm(W, axis=1), np.linalg.norm(W, axis=1))
    np.testing.assert_allclose(cosines, np.eye(30), atol=1e-12)


@every_kind
@pytest.mark.parametrize("width", [1, 2, 9, 200])
def test_features_are_cosines_and_sines_of_the_frequencies(kind, width):
    m = FourierMap(2.0 * Gaussian(sigma=1.5), n_components=width, kind=kind).fit(X)
    angles = X @ m.frequencies_.T
    pairs = width // 2
    angles[:, pairs:] += 2 * np.pi * m.waves_.phase
    expected = np.sqrt(2.0 / width * 2.0) * np.hstack([np.cos(angles), np.sin(angles[:, :pairs])])
    np.testing.assert_allclose(m.transform(X), expected, atol=1e-12)


@every_kind
def test_pairs_give_each_vector_its_exact_length(kind):
    F = FourierMap(Laplace(), n_components=30, kind=kind).fit_transform(X)
    np.testing.assert_allclose((F * F).sum(axis=1), 1.0, rtol=1e-12)


def test_heavy_tails_and_long_vectors_stay_within_range():
    for kernel in (Matern(nu=0.01, length=1.0), RationalQuadratic(alpha=0.01, length=1.0)):
        for dtype in (np.float64, np.float32):
            Z = (X * 1e6).astype(dtype)
            F = FourierMap(kernel, n_components=200).fit_transform(Z)
            assert F.dtype == dtype and np.abs(F).max() <= 0.1001
            np.testing.assert_allclose((F * F).sum(axis=1), 1.0, rtol=1e-5)


def test_angles_that_overflow_are_refused_by_name():
    m = FourierMap(Gaussian(sigma=1e-10), n_components=8, kind="plain").fit(X)
    with pytest.raises(ValueError, match="a feature of FourierMap is nan"):
        m.transform(np.full((1, 5), 1e305))


# What is promised.


@pytest.mark.parametrize("width", [300, 301])
@pytest.mark.parametrize("kind", ["plain", "orthogonal"])
def test_the_guarantee_holds_in_simulation(kind, width):
    kernel = 2.0 * Gaussian(sigma=2.0)
    made = FourierMap(kernel, kind=kind, n_components=width).fit(X[:, :2]).guarantee_
    assert made.grade == PROVEN and made.numbers["delta"] == 0.05 and "Hoeffding" in str(made)
    got = approximations(kernel, kind, width, X[:, :2], range(100))
    assert (np.abs(got - kernel.gram(X[:, :2])) >= made.numbers["epsilon"]).mean(axis=0).max() <= 0.05


def test_hoeffding_of_paired_features():
    made = FourierMap(Gaussian(sigma=1.0), kind="plain", n_components=1000).fit(X).guarantee_
    assert 2 * np.exp(-1000 * made.numbers["epsilon"] ** 2 / 4) == pytest.approx(0.05)


def test_where_nothing_is_proven_the_guarantee_says_why():
    structured = FourierMap(kind="structured").fit(X).guarantee_
    one_block = FourierMap(n_components=10).fit(X).guarantee_
    assert structured.grade == one_block.grade == NONE
    assert "nearly" in structured.statement and "orthogonal blocks" in one_block.statement


# A transformer of scikit-learn.


@every_kind
@pytest.mark.parametrize("width", [20, 21])
def test_sparse_vectors_give_the_same_features(kind, width):
    Z = np.where(np.random.default_rng(3).random((40, 9)) < 0.3, 1.0, 0.0)
    m = FourierMap(n_components=width, kind=kind, random_state=4)
    expected = m.fit_transform(Z)
    for stored in (sp.csr_array(Z), sp.csr_matrix(Z), sp.coo_array(Z)):
        np.testing.assert_allclose(m.transform(stored), expected, atol=1e-12)
        np.testing.assert_allclose(clone(m).fit_transform(stored), expected, atol=1e-12)


@every_kind
def test_single_precision_stays_and_agrees_with_double(kind):
    m = FourierMap(n_components=41, kind=kind).fit(X)
    single = m.transform(X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, m.transform(X), atol=2e-6)
    fitted_single = clone(m).fit(X.astype(np.float32))
    assert fitted_single.transform(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(fitted_single.transform(X), m.transform(X), atol=1e-5)


@every_kind
def test_seeds_strips_threads_and_pickles_do_not_change_features(kind):
    Z = np.random.default_rng(5).normal(size=(2500, 5))
    m = FourierMap(n_components=31, kind=kind, random_state=3).fit(Z)
    expected = m.transform(Z)
    np.testing.assert_array_equal(clone(m).fit(Z).transform(Z), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(m)).transform(Z), expected)
    small = LocalEngine(threads=2, memory=2**20)
    np.testing.assert_allclose(clone(m).set_params(engine=small).fit(Z).transform(Z), expected, atol=1e-12)
    parts = [values for _, values in m.features(Z).rows()]
    assert len(parts) > 1
    np.testing.assert_allclose(np.concatenate(parts), expected, atol=1e-12)
    assert not np.array_equal(clone(m).set_params(random_state=4).fit(Z).transform(Z), expected)


def test_frequencies_do_not_depend_on_data():
    kernel = Gaussian(sigma=1.0)
    one, other = (FourierMap(kernel, n_components=50).fit(Z).frequencies_ for Z in (X, X[:3] + 5))
    np.testing.assert_array_equal(one, other)


def test_the_kernel_is_resolved_in_fit_and_searched_by_grid():
    labels = (X[:, 0] > 0).astype(int)
    m = FourierMap(n_components=30).fit(X)
    assert m.kernel == "gaussian" and m.kernel_ == Gaussian().resolve(X)
    pipe = make_pipeline(FourierMap(n_components=60), RidgeClassifier())
    search = GridSearchCV(pipe, {"fouriermap__kernel__sigma": ["median", 0.01, 2.0]}, cv=3).fit(X, labels)
    assert search.best_params_["fouriermap__kernel__sigma"] in ("median", 2.0)


def test_names_and_data_frames():
    m = FourierMap(n_components=3).fit(X)
    assert m.get_feature_names_out().tolist() == ["fouriermap0", "fouriermap1", "fouriermap2"]
    assert m.set_output(transform="pandas").transform(X).columns.tolist() == m.get_feature_names_out().tolist()


# The loop for cosines and sines.


@pytest.mark.parametrize("name", [*SETS, "reference"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cos_sin_errs_by_less_than_a_unit(name, dtype):
    rng = np.random.default_rng(0)
    turns = np.concatenate([np.linspace(-9, 9, 70_001), rng.uniform(-1e5, 1e5, 30_000), rng.normal(size=5) * 1e-30])
    turns = turns.astype(dtype)[np.newaxis]
    wide = np.float64 if dtype == np.float32 else np.longdouble
    angles = np.remainder(turns.astype(wide), 4) * (4 * np.arctan(wide(1)) / 2)
    with chosen(name) as loops:
        cosines, sines = turns.copy(), np.empty_like(turns)
        loops.cos_sin(cosines, sines)
    unit = np.finfo(dtype).eps * (1 if name != "reference" else 8)
    assert np.abs(cosines - np.cos(angles)).max() < unit and np.abs(sines - np.sin(angles)).max() < unit


@pytest.mark.parametrize("name", [*SETS, "reference"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (2, 7), (5, 17), (9, 33)])
def test_cos_sin_of_windows(name, dtype, shape):
    n, m = shape
    around = np.full((2 * n + 1, 2 * m + 5), np.nan, dtype)
    turns, sines = around[1 : 2 * n + 1 : 2, 1 : m + 1], around[1 : 2 * n + 1 : 2, m + 2 : 2 * m + 2]
    turns[...] = np.random.default_rng(1).normal(size=shape) * 3
    expected = turns.copy(), np.empty_like(turns)
    reference.cos_sin(*expected, 0.25)
    with chosen(name) as loops:
        loops.cos_sin(turns, sines, 0.25)
    tolerance = 2 * np.finfo(dtype).eps
    np.testing.assert_allclose(turns, expected[0], atol=tolerance)
    np.testing.assert_allclose(sines, expected[1], atol=tolerance)
    assert np.isnan(around).sum() == around.size - 2 * n * m


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cos_sin_beyond_all_digits_is_a_point_of_the_circle(name, dtype):
    turns = np.array([[1e30, -3e20, 1e8, 1e15, 1e38, np.nan, np.inf]], dtype)
    sines = np.empty_like(turns)
    with chosen(name) as loops, np.errstate(invalid="ignore"):
        loops.cos_sin(turns, sines)
    np.testing.assert_allclose((turns**2 + sines**2)[0, :5], 1.0, rtol=1e-6)
    assert np.isnan(turns[0, 5:]).all() and np.isnan(sines[0, 5:]).all()
