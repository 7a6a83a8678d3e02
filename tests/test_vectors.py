"""The kernels of vectors against plain loops, for every form in which people keep vectors."""

import math

import naive
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from similitude import FromBlocks
from similitude.kernels import (
    Cosine,
    Gaussian,
    HistogramIntersection,
    Laplace,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)

KERNELS = [
    (Linear(), naive.linear()),
    (Polynomial(2, coef0=0.0), naive.polynomial(2, 0.0, 1.0)),
    (Polynomial(3, coef0=-0.5, scale=0.7), naive.polynomial(3, -0.5, 0.7)),
    (Gaussian(1.5), naive.gaussian(1.5)),
    (Gaussian.from_c(1.5), naive.gaussian(1.5 / math.sqrt(2))),
    (Gaussian.from_gamma(0.3), naive.gaussian(1 / math.sqrt(2 * 0.3))),
    *[
        (Laplace(0.8, norm=norm, squared_scale=squared), naive.laplace(0.8, norm, squared))
        for norm in (1, 2)
        for squared in (True, False)
    ],
    *[(Matern(nu, 1.3), naive.matern(nu, 1.3)) for nu in (0.5, 1.5, 2.5, math.inf, 0.3, 2.0, 20)],
    (RationalQuadratic(0.7, 1.3), naive.rational_quadratic(0.7, 1.3)),
    (Cosine(), naive.cosine()),
    (Sigmoid(0.4, -0.2), naive.sigmoid(0.4, -0.2)),
    (HistogramIntersection(), naive.histogram_intersection()),
]
NAMES = [repr(k) for k, _ in KERNELS]
FIRST = {type(k): k for k, _ in reversed(KERNELS)}.values()  # of kernels that differ in their parameters only
one_of_each_kernel = pytest.mark.parametrize(
    ("k", "oracle"),
    [
        pytest.param(k, f, id=repr(k), marks=[] if any(k is one for one in FIRST) else [pytest.mark.deep])
        for k, f in KERNELS
    ],
)
every_kernel = pytest.mark.parametrize(("k", "oracle"), KERNELS, ids=NAMES)
STATIONARY = [pair for pair in KERNELS if isinstance(pair[0], (Gaussian, Laplace, Matern, RationalQuadratic))]
every_stationary = pytest.mark.parametrize(("k", "oracle"), STATIONARY, ids=[repr(k) for k, _ in STATIONARY])
MEDIANS = [Gaussian(), Laplace(), Laplace(norm=1, squared_scale=False), Matern(), RationalQuadratic()]


def table(n=6, d=4, seed=0, dtype=np.float64):
    """Entries >= 0, many zero, a zero row, a constant column and two equal rows; read-only."""
    X = np.random.default_rng(seed).random((n, d)) * 2
    X[X < 0.5] = 0
    X[:, 0] = 1
    X[1] = 0
    X[-1] = X[0]
    X = X.astype(dtype)
    X.setflags(write=False)
    return X


def width(k):
    return k.sigma if "sigma" in k.get_params() else k.length


def rtol(dtype):
    return 1e-10 if dtype == np.float64 else 1e-4


# Values.


@pytest.mark.parametrize(
    ("k", "x", "z", "value"),
    [
        (Gaussian(1.0), [0, 0], [1, 1], 0.367879),
        (Gaussian.from_c(1.0), [0, 0], [1, 1], 0.135335),
        (Gaussian.from_gamma(1.0), [0, 0], [1, 1], 0.135335),
        (Laplace(1.0), [0, 0], [1, 1], 0.493069),
        (Laplace(1.0, squared_scale=False), [0, 0], [1, 1], 0.243117),
        (Laplace(1.0, norm=1), [0, 0], [1, 1], 0.367879),
        (Polynomial(2, coef0=0.0), [1, 2], [3, -1], 1.0),
        (Polynomial(2, coef0=0.0), [1, 2], [3, 4], 121.0),
        (Polynomial(2, coef0=3.0), [1, 2, 3], [2, -1, 0.5], 20.25),
        (Cosine(), [0, 0], [1, 1], 0.0),
        (HistogramIntersection(), [1, 3, 0], [2, 1, 5], 2.0),
    ],
)
def test_values_worked_out_by_hand(k, x, z, value):
    assert k(x, z) == pytest.approx(value, abs=1e-6)
    assert isinstance(k(x, z), float)


@pytest.mark.parametrize(("x", "z", "value"), [([1, 0], [0, 1], 1.414214), ([1, 2], [3, -1], 11.090537)])
def test_distances_worked_out_by_hand(x, z, value):
    assert Polynomial(2, coef0=0.0).distance([x], [z])[0, 0] == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@every_kernel
def test_gram_cross_diag_and_calls_equal_the_loop(k, oracle, dtype):
    X, Z = table(6, seed=0, dtype=dtype), table(4, seed=1, dtype=dtype)
    K = naive.matrix(oracle, X)
    for values, expected in [
        (k.gram(X), K),
        (k.cross(X, Z), naive.matrix(oracle, X, Z)),
        (k.cross(X, X), K),
        (k.diag(X), np.diag(K)),
    ]:
        assert values.dtype == dtype
        np.testing.assert_allclose(values, expected, rtol=rtol(dtype), atol=1e-12 if dtype == np.float64 else 1e-6)
    assert k(X[2], Z[3]) == pytest.approx(oracle(X[2], Z[3]), rel=rtol(dtype))


@pytest.mark.parametrize(("k", "oracle"), [p for p in KERNELS if "PSD" in p[0].claims])
def test_kernel_distance_equals_the_loop(k, oracle):
    X, Z = table(6), table(4, seed=1)
    D = naive.kernel_distance(oracle)
    np.testing.assert_allclose(k.distance(X, Z), naive.matrix(D, X, Z), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(k.distance(X), naive.matrix(D, X), rtol=1e-7, atol=1e-7)
    assert (np.diag(k.distance(X)) == 0).all()


@pytest.mark.parametrize("shape", [(1, 4), (5, 1), (1, 1)])
@every_kernel
def test_one_row_and_one_column(k, oracle, shape):
    X = np.random.default_rng(2).random(shape)
    np.testing.assert_allclose(k.gram(X), naive.matrix(oracle, X), rtol=1e-10)
    if shape[1] == 1:
        np.testing.assert_allclose(k.gram(X[:, 0]), k.gram(X))
        np.testing.assert_allclose(k.cross(list(X[:, 0]), X), k.gram(X))


@every_kernel
def test_plain_numbers_are_vectors_of_dimension_one(k, oracle):
    assert k(1.0, 2.0) == pytest.approx(oracle([1.0], [2.0]))
    assert k(1, np.float64(2)) == pytest.approx(oracle([1.0], [2.0]))


@pytest.mark.parametrize("nu", [0.05, 0.3, 3.5, 60.0, 170.0, 300.0])
@pytest.mark.parametrize("d", [0.0, 1e-300, 1e-12, 0.01, 1.0, 30.0])
def test_matern_of_any_smoothness_and_distance(nu, d):
    assert Matern(nu, 1.0)(0.0, d) == pytest.approx(naive.matern(nu, 1.0)([0.0], [d]), rel=1e-8, abs=1e-290)


# Forms of input.


FORMS = {
    "list": lambda X: X.tolist(),
    "list of arrays": list,
    "tuples": lambda X: [tuple(x) for x in X],
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=0)[::2],
    "int": lambda X: X.astype(int),
    "uint8": lambda X: X.astype(np.uint8),
    "bool": lambda X: X.astype(bool),
    "object": lambda X: X.astype(object),
    "pandas": lambda X: pd.DataFrame(X, columns=list("abcd"), index=range(7, 7 + len(X))),
    "pandas int": lambda X: pd.DataFrame(X.astype(int)),
    "pandas nullable": lambda X: pd.DataFrame(X).astype("Float64"),
    "polars": lambda X: pl.DataFrame({name: X[:, j].copy() for j, name in enumerate("abcd")}),
    "csr_matrix": sp.csr_matrix,
    "csr_array": sp.csr_array,
    "csc_array": sp.csc_array,
    "coo_matrix": sp.coo_matrix,
    "csr int": lambda X: sp.csr_array(X.astype(int)),
    "csr rows": lambda X: [sp.csr_matrix(X)[i] for i in range(len(X))],
}


@pytest.mark.parametrize("form", FORMS)
@one_of_each_kernel
def test_every_form_of_input_means_the_same_vectors(k, oracle, form):
    X, Z = table(6), table(4, seed=1)
    if form in ("int", "uint8", "pandas int", "csr int"):
        X, Z = np.ceil(X), np.ceil(Z)
    elif form == "bool":
        X, Z = (X > 0).astype(float), (Z > 0).astype(float)
    made, other = FORMS[form](X), FORMS[form](Z)
    K = k.gram(made)
    assert isinstance(K, np.ndarray)
    assert K.dtype == np.float64
    np.testing.assert_allclose(K, naive.matrix(oracle, X), rtol=1e-10, atol=1e-14)
    for left, right in [(made, other), (made, Z), (X, other)]:
        np.testing.assert_allclose(k.cross(left, right), naive.matrix(oracle, X, Z), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("column", [pd.Series([0.0, 1.0, 3.0]), pl.Series([0, 1, 3]), np.array([0.0, 1.0, 3.0])])
def test_a_column_is_a_list_of_numbers(column):
    np.testing.assert_allclose(Gaussian(2.0).gram(column), naive.matrix(naive.gaussian(2.0), [[0], [1], [3]]))
    assert Gaussian().resolve(column).sigma == 2.0


ODD = {
    "unsorted": ([3.0, 1.0, 2.0, 4.0], [5, 1, 2, 0], [0, 2, 4]),
    "stored zeros": ([3.0, 0.0, 2.0, 0.0], [1, 5, 0, 1], [0, 2, 4]),
    "entries given twice add up": ([3.0, 1.0, 2.0, 4.0, 1.0], [1, 1, 1, 3, 3], [0, 2, 5]),
}


@pytest.mark.parametrize("layout", ODD)
@one_of_each_kernel
def test_sparse_of_odd_layout(k, oracle, layout):
    X = sp.csr_array(ODD[layout], shape=(2, 6))
    expected = naive.matrix(oracle, X.toarray())
    np.testing.assert_allclose(k.gram(X), expected, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(k.cross(X, X.toarray()), expected, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@every_kernel
def test_sparse_rows_are_never_made_dense(k, oracle, dtype, monkeypatch):
    n, d = 10, 300_000 if getattr(k, "norm", 0) == 1 or k == HistogramIntersection() else 10_000_000
    near = table(n, 4, dtype=dtype)
    columns = np.tile([3, 77, d // 2, d - 1], n)
    X = sp.csr_matrix((near.ravel(), columns, np.arange(0, 4 * n + 1, 4)), shape=(n, d))

    def guarded(real):
        def toarray(self, *args, **kwargs):
            assert self.shape[1] != d, "made dense"
            return real(self, *args, **kwargs)

        return toarray

    for kind in (sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.csc_array):
        monkeypatch.setattr(kind, "toarray", guarded(kind.toarray))
    K = k.gram(X)
    assert K.dtype == dtype
    np.testing.assert_allclose(K, naive.matrix(oracle, near), rtol=rtol(dtype), atol=1e-6)
    np.testing.assert_allclose(k.cross(X[:3], X[3:]), K[:3, 3:], rtol=rtol(dtype), atol=1e-6)


GENERAL = [k for k, _ in KERNELS if isinstance(k, Matern) and k.nu not in (0.5, 1.5, 2.5, math.inf)]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    ("k", "oracle"), [p for p in KERNELS if p[0] not in GENERAL], ids=lambda p: repr(p).split(" at ")[0]
)
def test_tensors_give_tensors(k, oracle, dtype):
    torch = pytest.importorskip("torch")
    X, Z = torch.from_numpy(table(6).astype(dtype)), torch.from_numpy(table(4, seed=1).astype(dtype))
    for node, f in [(k, lambda v: v), (np.float64(2) * k + 1, lambda v: 2 * v + 1)]:
        for values, expected in [
            (node.gram(X), naive.matrix(oracle, X.numpy())),
            (node.cross(X, Z), naive.matrix(oracle, X.numpy(), Z.numpy())),
            (node.diag(X), np.diag(naive.matrix(oracle, X.numpy()))),
        ]:
            assert isinstance(values, torch.Tensor)
            assert values.dtype == X.dtype
            np.testing.assert_allclose(values.numpy(), f(expected), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("k", GENERAL, ids=repr)
def test_matern_of_general_smoothness_comes_back_as_a_tensor_from_the_cpu(k):
    torch = pytest.importorskip("torch")
    X = torch.tensor(table(6))
    assert not k.hints.on_tensors and isinstance(k.gram(X), torch.Tensor)
    np.testing.assert_array_equal(k.gram(X).numpy(), k.gram(X.numpy()))


@pytest.mark.parametrize("k", MEDIANS, ids=repr)
def test_the_median_of_sparse_rows_and_of_tensors(k):
    X = table(8)
    assert width(k.resolve(sp.csr_array(X))) == pytest.approx(width(k.resolve(X)))
    torch = pytest.importorskip("torch")
    assert width(k.resolve(torch.from_numpy(X.copy()))) == pytest.approx(width(k.resolve(X)))


NODES = {
    "scaled": lambda k: 2 * k,
    "scaled by a numpy number": lambda k: np.float64(2) * k,
    "divided": lambda k: k / np.float64(3),
    "shifted": lambda k: k + np.float64(1),
    "subtracted": lambda k: np.float64(1) - k,
    "sum": lambda k: k + Linear(),
    "product": lambda k: k * Gaussian(1.0),
    "power": lambda k: k ** np.float64(2),
    "root": lambda k: abs(k) ** 0.5,
    "abs": abs,
    "exp": lambda k: (0.1 * k).exp(),
    "min": lambda k: k.minimum(Gaussian(1.0)),
    "max": lambda k: k.maximum(Gaussian(1.0)),
    "normalized": lambda k: (k + 10).normalized(),
    "symmetrized": lambda k: k.symmetrized(),
    "pullback": lambda k: k.pullback(lambda x: x),
    "batched": lambda k: k.pullback(lambda X: X, batched=True),
    "blocks": lambda k: k + FromBlocks(lambda X, Z: X @ Z.T),
}


@pytest.mark.parametrize("node", NODES)
@one_of_each_kernel
def test_float32_stays_float32_through_every_node(k, oracle, node):
    X = table(5, dtype=np.float32)
    made = NODES[node](k)
    assert made.gram(X).dtype == made.cross(X, X[:2]).dtype == made.diag(X).dtype == np.float32
    np.testing.assert_allclose(made.gram(X), made.gram(X.astype(float)), rtol=1e-4, atol=1e-4)


# Rounding.


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("dtype", "offset"), [(np.float64, 1e8), (np.float32, 1e4)])
@every_stationary
def test_data_far_from_the_origin(k, oracle, dtype, offset, sparse):
    X = (np.random.default_rng(3).normal(size=(12, 3)) + offset).astype(dtype)
    X[7] = X[2]
    K = k.gram(sp.csr_array(X) if sparse else X)
    np.testing.assert_allclose(K, naive.matrix(oracle, X), rtol=1e-7 if dtype == np.float64 else 1e-3)
    assert K[7, 2] == K[2, 7] == 1
    assert (np.diag(K) == 1).all()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("dtype", "far"), [(np.float64, 1e8), (np.float32, 1e4)])
@every_stationary
def test_one_far_outlier_spoils_nothing(k, oracle, dtype, far, sparse):
    X = np.random.default_rng(4).normal(size=(12, 3)).astype(dtype)
    X[5] = far
    X[7] = X[2]
    K = k.gram(sp.csr_array(X) if sparse else X)
    expected = naive.matrix(oracle, X)
    np.testing.assert_allclose(K, expected, rtol=1e-7 if dtype == np.float64 else 1e-3, atol=1e-30)
    assert K[7, 2] == K[2, 7] == 1


@pytest.mark.parametrize("form", [np.array, sp.csr_array, sp.csr_matrix])
@every_stationary
def test_equal_rows_are_exactly_alike_in_cross_and_call(k, oracle, form):
    X = np.random.default_rng(5).normal(size=(40, 7)) * 1e3 + 1e6
    assert (np.diag(k.cross(X, form(X))) == 1).all()
    assert (np.diag(k.cross(form(X), X)) == 1).all()
    assert k(X[3], X[3].copy()) == 1


@pytest.mark.parametrize(
    ("dtype", "scale"), [(np.float64, 1e-200), (np.float64, 1e150), (np.float32, 1e-25), (np.float32, 1e25)]
)
def test_cosine_of_very_long_and_very_short_vectors(dtype, scale):
    X = np.array([[3 * scale, 0.0], [scale, scale]], dtype=dtype)
    np.testing.assert_allclose(Cosine().gram(X), [[1, math.sqrt(0.5)], [math.sqrt(0.5), 1]], rtol=1e-6)


# The median width.


@pytest.mark.parametrize("seed", range(3))
def test_the_median_is_the_median_distance(seed):
    X = np.random.default_rng(seed).normal(size=(15, 3))
    d, d1 = naive.median_distance(X), naive.median_distance(X, naive.manhattan)
    assert Gaussian().resolve(X).sigma == pytest.approx(d, rel=1e-12)
    assert Laplace(squared_scale=False).resolve(X).sigma == pytest.approx(d, rel=1e-12)
    assert Laplace(squared_scale=False, norm=1).resolve(X).sigma == pytest.approx(d1, rel=1e-12)
    assert Laplace().resolve(X).sigma == pytest.approx(math.sqrt(d), rel=1e-12)
    assert Matern().resolve(X).length == pytest.approx(d, rel=1e-12)
    assert RationalQuadratic().resolve(X).length == pytest.approx(d, rel=1e-12)


@pytest.mark.parametrize("k", MEDIANS, ids=repr)
def test_whole_weights_count_as_repetition(k):
    rng = np.random.default_rng(6)
    X, w = rng.normal(size=(9, 2)), rng.integers(0, 4, size=9)
    repeated = np.repeat(X, w, axis=0)
    assert width(k.resolve(X, sample_weight=w)) == pytest.approx(width(k.resolve(repeated)), rel=1e-12)
    assert width(k.resolve(X, sample_weight=np.ones(9))) == width(k.resolve(X))
    distance = naive.manhattan if k.get_params().get("norm") == 1 else naive.euclidean
    d = naive.median_distance(repeated, distance)
    assert width(k.resolve(repeated)) == pytest.approx(math.sqrt(d) if k == Laplace() else d)


@pytest.mark.parametrize("X", [[[1.0, 2.0]] * 4, [[3.0]], [[0.0]] * 9 + [[1.0]]])
@pytest.mark.parametrize("k", MEDIANS, ids=repr)
def test_the_width_is_finite_and_positive_on_degenerate_rows(k, X):
    assert 0 < width(k.resolve(X)) < math.inf
    assert np.isfinite(k.gram(X)).all()


@pytest.mark.parametrize("k", MEDIANS, ids=repr)
def test_the_median_of_many_rows_is_deterministic_and_about_right(k):
    X = np.random.default_rng(7).normal(size=(3000, 2))
    once = width(k.resolve(X))
    assert once == width(k.resolve(X.copy()))
    assert once == pytest.approx(width(k.resolve(X[:400])), rel=0.2)
