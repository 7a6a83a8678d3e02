import logging
import math
import subprocess
import sys
from itertools import combinations_with_replacement
from unittest import TestCase

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from similitude import FromPairs
from similitude.engines import LocalEngine, use_engine
from similitude.errors import UnresolvedError
from similitude.kernels import (
    Cosine,
    Gaussian,
    HistogramIntersection,
    Laplace,
    Linear,
    Matern,
    Polynomial,
    Sigmoid,
    explicit,
    explicit_dimension,
    explicit_map,
)

X = np.random.default_rng(0).normal(size=(9, 3)) * (np.arange(27).reshape(9, 3) % 4 != 0)
X[4] = 0.0
X.setflags(write=False)
Z = np.random.default_rng(1).normal(size=(6, 3))


def head(x):
    return x[:2]


def doubled(X):
    return 2.0 * X


EXACT = [
    Linear(),
    Cosine(),
    Polynomial(degree=1, coef0=0.0),
    Polynomial(degree=2, coef0=0.0),
    Polynomial(degree=3),
    Polynomial(degree=4, coef0=0.5, scale=2.0),
    Polynomial(degree=5, coef0=0.0, scale=0.3),
    Polynomial(degree=2, coef0=1.0, scale=0.0),
    Linear() + Cosine(),
    Linear() + Polynomial(degree=2) + 2.0,
    Linear() * Cosine(),
    Linear() * Polynomial(degree=2) * Linear(),
    3.0 * Polynomial(degree=2),
    0.0 * Linear(),
    Linear() + 3.0,
    Linear() ** 3,
    (Linear() + 1.0) ** 2,
    (Cosine() + Linear()) ** 2,
    Linear() ** 1,
    Linear() ** 0,
    Laplace(sigma=1.0) ** 0,
    Linear().normalized(),
    Polynomial(degree=2, coef0=0.0).normalized(),
    (Linear() * Cosine() + 0.5).normalized() ** 2,
]
PULLED_BACK = [
    Linear().pullback(head),
    Linear() * Polynomial(degree=2).pullback(head),
    Polynomial(degree=2).pullback(doubled, batched=True) + Cosine(),
    (Linear() + Linear().pullback(head)) ** 2,
    Linear().pullback(head) ** 0 + Linear(),
]
SERIES = [
    (Gaussian(sigma=2.0), 20),
    (Gaussian(sigma=2.0) + 0.5 * Linear(), 20),
    (Gaussian(sigma=3.0) * Polynomial(degree=2), 20),
    ((0.2 * Linear()).exp(), 20),
    (Polynomial(degree=2, scale=0.1, coef0=0.1).exp(), 8),
    ((0.2 * Linear()).exp() * Gaussian(sigma=3.0), 12),
    (Gaussian(sigma=2.0).normalized(), 20),
]
EXACT_AND_SERIES = [(k, None) for k in EXACT] + SERIES
ALL = EXACT_AND_SERIES + [(k, None) for k in PULLED_BACK] + [(2.0 * Gaussian(3.0).pullback(head) + 1.0, 20)]


# Worked examples.


def test_dimensions_of_the_lecture():
    assert explicit_dimension(Polynomial(degree=6, coef0=0.0), 100) == 1609344100
    assert explicit_dimension(Polynomial(degree=6, coef0=1.0), 100) == 1705904746
    assert type(explicit_dimension(Polynomial(degree=6), np.int64(100))) is int
    for d in (1, 2, 7, 1000):
        assert explicit_dimension(Polynomial(degree=2, coef0=0.1), d) == math.comb(d + 2, 2)
        assert explicit_dimension(Polynomial(degree=2, coef0=0.0), d) == d * (d + 1) // 2


def test_dimension_is_exact_however_large():
    assert explicit_dimension(Polynomial(degree=50), 10**6) == math.comb(10**6 + 50, 50)


def test_square_of_the_dot_product():
    phi = explicit_map(Polynomial(degree=2, coef0=0.0), [[1.0, 2.0], [3.0, -1.0]])
    np.testing.assert_allclose(phi, [[1, 2 * math.sqrt(2), 4], [9, -3 * math.sqrt(2), 1]])
    assert phi[0] @ phi[1] == pytest.approx(1.0)


def test_quadratic_with_a_constant():
    x, z = [1.0, 2.0, 3.0], [2.0, -1.0, 0.5]
    phi = explicit_map(Polynomial(degree=2, coef0=3.0), [x, z])
    assert phi[0] @ phi[1] == pytest.approx(20.25)
    np.testing.assert_allclose(phi[0, 0], 3.0)
    np.testing.assert_allclose(phi[0, 1:4], math.sqrt(2 * 3.0) * np.array(x))  # sqrt(2c) x, not sqrt(2) c x


def test_weights_are_multinomial():
    x, (s, c, k) = np.array([0.7, -1.3]), (0.5, 2.0, 3)
    expected = []
    for degree in range(k + 1):
        for factors in combinations_with_replacement(range(2), degree):
            alpha = np.bincount(factors, minlength=2)
            ways = math.factorial(k) / (math.prod(map(math.factorial, alpha)) * math.factorial(k - degree))
            expected.append(math.sqrt(ways * c ** (k - degree) * s**degree) * np.prod(x**alpha))
    np.testing.assert_allclose(explicit_map(Polynomial(degree=k, coef0=c, scale=s), [x])[0], expected)


@pytest.mark.parametrize(("sigma", "value"), [(1.0, 0.782705), (math.sqrt(0.5), 0.612626)])
def test_gaussian_in_one_dimension(sigma, value):
    phi = explicit_map(Gaussian(sigma=sigma), [[1.0], [0.3]], degree=25)
    n = np.arange(26)
    by_hand = math.exp(-1 / (2 * sigma**2)) / np.array([sigma**j * math.sqrt(math.factorial(j)) for j in n])
    np.testing.assert_allclose(phi[0], by_hand)
    assert phi[0] @ phi[1] == pytest.approx(value, abs=1e-6)


def test_series_of_high_degree_neither_overflows_nor_loses_digits():
    phi = explicit_map(Gaussian(sigma=1.0), [[6.0], [5.5]], degree=300)
    assert phi[0] @ phi[1] == pytest.approx(math.exp(-0.125), rel=1e-12)
    power = explicit_map(Polynomial(degree=300), [[0.5], [0.2]])
    assert power[0] @ power[1] == pytest.approx(1.1**300, rel=1e-12)


# The map and the kernel agree.


@pytest.mark.parametrize(("k", "degree"), ALL, ids=repr)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_dense_products_are_the_kernel(k, degree, dtype):
    A, B = X.astype(dtype), Z.astype(dtype)
    F, G = explicit_map(k, A, degree), explicit_map(k, B, degree)
    assert F.dtype == dtype
    np.testing.assert_allclose(F @ G.T, k.cross(A, B), rtol=1e-5, atol=1e-9 if dtype is np.float64 else 1e-4)


@pytest.mark.parametrize(("k", "degree"), EXACT_AND_SERIES, ids=repr)
@pytest.mark.parametrize("kind", [pytest.param(sparse.csr_matrix, marks=pytest.mark.deep), sparse.csr_array])
def test_sparse_stays_sparse_and_equals_dense(k, degree, kind):
    dense = explicit_map(k, X, degree)
    for dtype in (np.float64, np.float32):
        F = explicit_map(k, kind(X.astype(dtype)), degree)
        assert F.dtype == dtype
        if "**0" not in repr(k):
            assert sparse.issparse(F) and F.format == "csr"
            F = F.toarray()
        np.testing.assert_allclose(F, dense, atol=1e-12 if dtype == np.float64 else 1e-5)


def test_sparse_stores_no_more_than_the_monomials_of_what_is_there():
    d = 50_000
    X = sparse.random(30, d, density=3 / d, format="csr", random_state=0)
    m = np.diff(X.indptr)
    F = explicit_map(Polynomial(degree=3), X)
    assert F.shape == (30, math.comb(d + 3, 3))  # 20 trillion columns
    assert F.nnz == ((m + 1) * (m + 2) * (m + 3) // 6).sum()
    assert F.has_sorted_indices
    one, other = F[:1], F[1:2]
    assert one.multiply(other).data.sum() == pytest.approx(Polynomial(degree=3).cross(X[:1], X[1:2])[0, 0])
    assert one.multiply(one).data.sum() == pytest.approx(Polynomial(degree=3).cross(X[:1], X[:1])[0, 0])


def test_sparse_in_any_order_and_with_repeated_entries():
    X = sparse.csr_matrix(([1.0, 2.0, 5.0, 4.0], [2, 0, 2, 1], [0, 3, 4]), shape=(2, 3))
    kept = X.indices.tolist(), X.data.tolist()
    for k in (Linear(), Cosine(), Polynomial(degree=3), Linear() * Cosine()):
        np.testing.assert_allclose(explicit_map(k, X).toarray(), explicit_map(k, X.toarray()))
    assert (X.indices.tolist(), X.data.tolist()) == kept


@pytest.mark.parametrize(("k", "degree"), EXACT_AND_SERIES, ids=repr)
def test_dimension_is_the_built_one(k, degree):
    assert explicit_dimension(k, 3, degree) == explicit_map(k, X, degree).shape[1]
    on_head = k.pullback(head)
    assert explicit_dimension(on_head, 2, degree) == explicit_map(on_head, X, degree).shape[1]


def test_dimension_of_parts_on_different_vectors():
    k = Linear() * Polynomial(degree=2, coef0=0.0).pullback(head) + Cosine()
    assert explicit_map(k, X).shape == (9, 3 * 3 + 3)


def test_input_is_neither_changed_nor_shared():
    for data in (X, sparse.csr_array(X)):
        F = explicit_map(Linear(), data)
        values, before = (F.data, data.data) if sparse.issparse(F) else (F, data)
        assert not np.shares_memory(values, before)
        kept = data.copy()
        for k, degree in ALL[:20] + SERIES[:5]:
            explicit_map(k, data, degree)
        assert abs(data - kept).sum() == 0


def test_many_strips_of_rows_make_the_same_matrix():
    X = np.random.default_rng(2).normal(size=(200, 30))
    whole = explicit_map(Polynomial(degree=3), X)
    assert whole.nbytes > 2**23
    np.testing.assert_array_equal(whole[123:130], explicit_map(Polynomial(degree=3), X[123:130]))
    in_sparse = explicit_map(Polynomial(degree=3), sparse.csr_array(X))
    np.testing.assert_allclose(in_sparse.toarray(), whole)


def test_order_of_features():
    x = [[2.0, 3.0]]
    np.testing.assert_allclose(explicit_map(Linear() + 4.0, x), [[2, 2, 3]])
    np.testing.assert_allclose(explicit_map(Linear() + 4.0 * Linear(), x), [[2, 3, 4, 6]])
    np.testing.assert_allclose(explicit_map(Linear() * (4.0 * Linear()), x), [[8, 12, 12, 18]])
    r = math.sqrt(2)
    np.testing.assert_allclose(explicit_map(Polynomial(degree=2), x), [[1, 2 * r, 3 * r, 4, 6 * r, 9]])


def test_function_of_a_pullback_is_called_once_per_object():
    calls = []
    phi = explicit_map((Linear() + Cosine()).pullback(lambda x: calls.append(1) or x) + Linear(), X)
    assert phi.shape == (9, 9) and len(calls) == 9


def test_other_objects_by_pullback():
    k = Polynomial(degree=2).pullback(lambda word: [len(word), word.count("e")])
    words = ["kernel", "tree", "dot"]
    phi = explicit_map(k, words)
    np.testing.assert_allclose(phi @ phi.T, k.gram(words))


# Truncation.


def test_truncation_error_of_the_gaussian_falls_with_the_degree():
    k = Gaussian(sigma=2.0)
    K = k.gram(X)
    errors = []
    for degree in (0, 1, 2, 4, 8, 16, 30):
        phi = explicit_map(k, X, degree)
        errors.append(abs(phi @ phi.T - K).max())
    assert errors == sorted(errors, reverse=True) and errors[0] > 0.1
    assert errors[-1] < 1e-12


def test_truncation_error_of_the_exponential_is_that_of_the_taylor_series():
    k = (0.5 * Linear()).exp()
    K = 0.5 * X @ X.T
    for degree in (0, 1, 3, 6):
        phi = explicit_map(k, X, degree)
        taylor = sum(K**j / math.factorial(j) for j in range(degree + 1))
        np.testing.assert_allclose(phi @ phi.T, taylor, atol=1e-12)


def test_degree_does_not_matter_elsewhere():
    k = Polynomial(degree=2) + Linear() ** 3
    np.testing.assert_array_equal(explicit_map(k, X, degree=7), explicit_map(k, X))


# Refusals.


class MySquare(Polynomial):
    def block(self, A, B):
        return super().block(A, B) ** 2


@pytest.mark.parametrize(
    "k",
    [
        Laplace(),
        Laplace(sigma=1.0),
        Matern(length=1.0),
        HistogramIntersection(),
        Sigmoid(),
        FromPairs(lambda x, z: 1.0),
        abs(Linear()),
        Linear().minimum(Cosine()),
        MySquare(),
    ],
    ids=repr,
)
def test_kernels_without_a_finite_map(k):
    for whole in (k, Linear() + k, 2.0 * k**2, k.normalized()):
        with pytest.raises(TypeError, match="has no finite feature map") as counted:
            explicit_dimension(whole, 3)
        with pytest.raises(TypeError, match="has no finite feature map") as built:
            explicit_map(whole, X)
        assert str(counted.value).startswith(repr(k)) and str(built.value).startswith(repr(k))


def test_unresolved_kernels_are_counted_but_not_built():
    k = Linear() + Gaussian()
    assert explicit_dimension(k, 3, degree=2) == 3 + 10
    with pytest.raises(UnresolvedError, match=r"explicit_map.*k2__sigma.*resolve"):
        explicit_map(k, X, degree=2)
    assert explicit_map(k.resolve(X), X, degree=2).shape == (9, 13)


def test_tensors_are_refused():
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="got Tensor"):
        explicit_map(Linear(), torch.ones((2, 2)))


def test_wrong_objects_are_refused():
    with pytest.raises(ValueError, match="no objects"):
        explicit_map(Linear(), [])
    with pytest.raises(ValueError, match="finite numbers"):
        explicit_map(Linear(), [[np.nan]])
    with pytest.raises(ValueError, match="returned 1 vectors for 9 objects"):
        explicit_map(Linear().pullback(lambda X: X[:1], batched=True), X)


# Memory.


def test_too_many_features_are_refused_before_anything_is_built(monkeypatch):
    monkeypatch.setattr(explicit, "_monomials", lambda *args: pytest.fail("something was built"))
    k = Polynomial(degree=6, coef0=0.0)
    with pytest.raises(MemoryError, match=r"1,609,344,100 .* 119\.9 GiB, the memory budget is 2\.0 GiB"):
        explicit_map(k, np.ones((10, 100)))
    with pytest.raises(MemoryError, match=r"1,609,344,100 .* 60\.0 GiB"):
        explicit_map(k, np.ones((10, 100), np.float32))
    with pytest.raises(MemoryError, match="TiB"):
        explicit_map(Polynomial(degree=300), np.ones((10, 100)))


def test_budget_is_that_of_the_engine():
    with use_engine(LocalEngine(memory=720)):
        assert explicit_map(Polynomial(degree=2), X).nbytes == 720
    with use_engine(LocalEngine(memory=719)), pytest.raises(MemoryError, match="budget is 719 bytes"):
        explicit_map(Polynomial(degree=2), X)


def test_sparse_features_are_counted_as_they_are_stored():
    X = sparse.eye_array(1000, format="csr")
    with use_engine(LocalEngine(memory=12_000)):
        assert explicit_map(Linear() ** 3, X).nnz == 1000
    with use_engine(LocalEngine(memory=11_999)), pytest.raises(MemoryError, match="167,167,000 explicit"):
        explicit_map(Linear() ** 3, X)
    with pytest.raises(MemoryError):  # more columns than an index can number
        explicit_map(Linear() ** 9, X)


def test_size_is_announced():
    with TestCase().assertLogs("similitude", logging.INFO) as announced:
        explicit_map(Polynomial(degree=2), X)
    assert [record.getMessage() for record in announced.records] == ["10 explicit features of 9 objects take 720 bytes"]


def test_import_needs_neither_scipy_nor_sklearn():
    code = "import sys, similitude.kernels.explicit; print({'scipy', 'sklearn'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


# Whatever the data.

numbers = st.integers(-12, 12).map(lambda quarters: quarters / 4)
shapes = st.tuples(st.integers(1, 4), st.integers(1, 3))
matrices = shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=numbers))
weights = st.sampled_from([0.0, 0.25, 1.0, 2.0])
polynomials = st.builds(Polynomial, st.integers(1, 3), weights, weights)
leaves = st.one_of(st.just(Linear()), st.just(Cosine()), polynomials)
trees = st.recursive(
    leaves,
    lambda parts: st.one_of(
        st.builds(lambda a, b: a + b, parts, parts),
        st.builds(lambda a, b: a * b, parts, parts),
        st.builds(lambda a, c: c * a, parts, weights),
        st.builds(lambda a, c: a + c, parts, weights),
        st.builds(lambda a, n: a**n, parts, st.integers(0, 2)),
        st.builds(lambda a: a.normalized(), parts),
    ),
    max_leaves=3,
).filter(lambda k: explicit_dimension(k, 3) <= 20_000)


@given(trees, matrices)
def test_any_composition_on_any_matrix(k, A):
    F = explicit_map(k, A)
    K = k.gram(A)
    scale = max(1.0, abs(K).max())
    assert F.shape == (A.shape[0], explicit_dimension(k, A.shape[1]))
    np.testing.assert_allclose(F @ F.T / scale, K / scale, atol=1e-8)
    S = explicit_map(k, sparse.csr_array(A))
    np.testing.assert_allclose(S.toarray() if sparse.issparse(S) else S, F, rtol=1e-9, atol=1e-9 * scale)


@given(st.integers(0, 6), st.integers(0, 6), st.integers(1, 5))
def test_dimensions_by_enumeration(d, degree, power):
    count = [len(list(combinations_with_replacement(range(d), j))) for j in range(7)]
    assert explicit_dimension(Linear() ** power, d) == count[power]
    assert explicit_dimension(Polynomial(degree=power), d) == sum(count[: power + 1])
    assert explicit_dimension(Gaussian(), d, degree) == sum(count[: degree + 1])
    assert explicit_dimension(Linear().exp(), d, degree) == sum(count[: degree + 1])


@given(arrays(np.float64, (3, 2), elements=st.floats(-1, 1, allow_subnormal=False)), st.floats(0.8, 3.0))
def test_gaussian_series_within_its_remainder(A, sigma):
    k = Gaussian(sigma=sigma)
    phi = explicit_map(k, A, degree=12)
    t = np.linalg.norm(A, axis=1) / sigma
    remainder = np.outer(t, t) ** 13 / math.factorial(13)  # Taylor's for exp, after the damping
    assert (abs(phi @ phi.T - k.gram(A)) <= remainder + 1e-13).all()
