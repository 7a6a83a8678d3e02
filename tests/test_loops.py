"""The inner loops: each compiled one, for every instruction set of this machine, and each readable twin."""

import math
import os
import re
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp
from grids import thin
from hypothesis import given
from hypothesis import strategies as st

from similitude.compute import loops
from similitude.compute.loops import reference
from similitude.compute.loops.arguments import PAIR_FUNCTIONS, TERMS
from similitude.kernels.vectors import IDENTITY, inner, pairwise
from similitude.kernels.vectors.pairwise import MANY_COLUMNS

SETS = (
    loops._compiled.instruction_sets() if loops.COMPILED else ["the compiled module similitude.compute.loops._compiled"]
)
FLOATS = [np.float32, np.float64]
SIZES = [(0, 3), (3, 0), (1, 1), (2, 7), (5, 17), (9, 33), (35, 150)]
PARAMETERS = {
    "gaussian": (-0.7,),
    "laplace": (-0.7,),
    "matern3": (0.6,),
    "matern5": (0.6,),
    "rational_quadratic": (0.4, 1.3),
    "polynomial": (0.5, -0.2, 3),
    "sigmoid": (0.5, -0.2),
}
every_shape = pytest.mark.parametrize("shape", PAIR_FUNCTIONS)
every_sum = pytest.mark.parametrize("terms", TERMS)
every_float = pytest.mark.parametrize("dtype", FLOATS)
every_size = pytest.mark.parametrize(("n", "m"), SIZES)


@contextmanager
def chosen(name):
    """Give the loops of one instruction set, or the readable twins."""
    if name == "reference":
        yield reference
        return
    if not loops.COMPILED:
        pytest.skip(f"missing: {name}")
    before = loops._compiled.in_use()
    loops._compiled.choose(name)
    try:
        yield loops
    finally:
        loops._compiled.choose(before)


def implementations():
    """Yield the name and the loops of each instruction set and of the readable twins, while it is in use."""
    for name in [*(SETS if loops.COMPILED else []), "reference"]:
        with chosen(name) as module:
            yield name, module


@pytest.fixture(params=SETS)
def compiled(request):
    """The loops of each instruction set."""
    with chosen(request.param) as module:
        yield module


@pytest.fixture(params=[*SETS, "reference"])
def either(request):
    """The loops of each instruction set, and the readable twins."""
    with chosen(request.param) as module:
        yield module


def strided(n, m, dtype, fill=np.nan):
    """Return an array that is a window of a larger one, and the larger one."""
    around = np.full((2 * n + 1, m + 5), fill).astype(dtype)
    return around[1 : 2 * n + 1 : 2, 2 : m + 2], around


def close(got, expected, digits=4.0, case=""):
    """Compare up to a few thousand units in the last place of what is typical."""
    eps = np.finfo(got.dtype).eps
    np.testing.assert_allclose(got, expected, rtol=10**digits * eps, atol=10 * eps, err_msg=str(case))


def sizes_and_floats():
    """Return every pair of sizes with each precision."""
    return [(n, m, dtype) for n, m in SIZES for dtype in FLOATS]


def units(got, exact):
    """Return the errors in units in the last place of the results, which are near the exact values."""
    with np.errstate(over="ignore"):
        step = np.spacing(np.abs(exact.astype(got.dtype)))
    return np.abs(got.astype(exact.dtype) - exact) / step


def by_loop(terms, A, B):
    term = {
        "squared_difference": lambda s, t: (s - t) ** 2,
        "absolute_difference": lambda s, t: abs(s - t),
        "smaller": min,
    }[terms]
    sums = [[sum(term(float(s), float(t)) for s, t in zip(a, b, strict=True)) for b in B] for a in A]
    return np.array(sums).reshape(len(A), len(B))


def value(shape, x, p=0.0, q=0.0, degree=1):
    """Return the function by its formula, in plain Python."""
    root = math.sqrt(abs(x))
    return {
        "identity": lambda: x,
        "root": lambda: root,
        "gaussian": lambda: math.exp(p * x),
        "laplace": lambda: math.exp(p * root),
        "matern3": lambda: (1 + p * root) * math.exp(-p * root),
        "matern5": lambda: (1 + p * root + (p * root) ** 2 / 3) * math.exp(-p * root),
        "rational_quadratic": lambda: (1 + p * x) ** -q,
        "polynomial": lambda: (p * x + q) ** degree,
        "sigmoid": lambda: math.tanh(p * x + q),
    }[shape]()


# Functions of every entry.


@every_shape
def test_apply(shape):
    arguments = PARAMETERS.get(shape, ())
    for n, m, dtype in sizes_and_floats():
        given = (np.random.default_rng(n + m).random((n, m)) * 3).astype(dtype)
        expected = np.array([value(shape, float(x), *arguments) for x in given.flat]).reshape(n, m)
        for name, module in implementations():
            values, around = strided(n, m, dtype)
            values[...] = given
            module.apply(values, shape, *arguments)
            close(values, expected, 1.5, (name, n, m, dtype))
            assert np.isnan(around).sum() == around.size - n * m


@every_float
@every_shape
def test_apply_passes_infinity_and_not_a_number_on(either, shape, dtype):
    values = np.array([[np.nan, np.inf, 1.0, np.nan]], dtype)
    expected = values.copy()
    either.apply(values, shape, *PARAMETERS.get(shape, ()))
    reference.apply(expected, shape, *PARAMETERS.get(shape, ()))
    assert np.isnan(values[0, [0, 3]]).all()
    if not shape.startswith("matern"):  # infinity times zero
        assert values[0, 1] == expected[0, 1]


@pytest.mark.parametrize(
    ("dtype", "wide", "low", "high"), [(np.float32, np.float64, -87, 88.7), (np.float64, np.longdouble, -708, 709.7)]
)
def test_exp_errs_by_one_unit_in_single_and_two_in_double_precision(compiled, dtype, wide, low, high):
    x = np.concatenate([np.linspace(low, high, 300_000), np.linspace(-1, 1, 100_000)]).astype(dtype)
    y = x[np.newaxis].copy()
    compiled.apply(y, "gaussian", 1.0)
    assert units(y[0], np.exp(x.astype(wide))).max() <= (1 if dtype == np.float32 else 2)


@pytest.mark.parametrize(
    ("dtype", "wide", "low", "high"), [(np.float32, np.float64, -110, -87), (np.float64, np.longdouble, -760, -708)]
)
def test_exp_below_the_smallest_normal_number(compiled, dtype, wide, low, high):
    x = np.append(np.linspace(low, high, 20_000), [-1e30, -np.inf]).astype(dtype)
    y = x[np.newaxis].copy()
    compiled.apply(y, "gaussian", 1.0)
    assert units(y[0], np.exp(x.astype(wide))).max() <= 1
    assert y[0, -1] == 0


@pytest.mark.parametrize(("dtype", "x"), [(np.float32, 88.73), (np.float64, 709.79)])
def test_exp_of_large_numbers_is_infinite(compiled, dtype, x):
    y = np.array([[x, 100 * x, 1e30, np.inf, 0.0, -0.0]], dtype)
    compiled.apply(y, "gaussian", 1.0)
    assert y.tolist() == [[np.inf] * 4 + [1.0, 1.0]]


@pytest.mark.parametrize(("dtype", "wide"), [(np.float32, np.float64), (np.float64, np.longdouble)])
def test_sigmoid_errs_by_three_units_at_most(compiled, dtype, wide):
    sizes = np.concatenate([np.linspace(0, 22, 200_000), np.logspace(-30, 0, 20_000)])
    x = np.concatenate([-sizes, sizes]).astype(dtype)
    y = x[np.newaxis].copy()
    compiled.apply(y, "sigmoid", 1.0, 0.0)
    assert units(y[0], np.tanh(x.astype(wide))).max() <= 3
    assert (np.abs(y) <= 1).all()


@pytest.mark.parametrize(("dtype", "wide"), [(np.float32, np.float64), (np.float64, np.longdouble)])
@pytest.mark.parametrize("q", [0.5, 1.0, 2.5])
def test_rational_quadratic_errs_as_the_exponent_does(compiled, q, dtype, wide):
    x = np.concatenate([np.linspace(0, 10, 100_000), np.logspace(-6, 9, 100_000)]).astype(dtype)
    y = x[np.newaxis].copy()
    compiled.apply(y, "rational_quadratic", 1.0, q)
    base = (x + dtype(1)).astype(wide)  # 1 + x is rounded once
    assert (units(y[0], base**-q) <= 4 + 3 * q * np.log(base)).all()


# The mirrored half of a symmetric matrix.


@every_float
@every_size
def test_mirror(either, n, m, dtype):
    values, _ = strided(n, m, dtype)
    values[...] = np.random.default_rng(n).random((n, m))
    out, around = strided(m, n, dtype)
    either.mirror(out, values)
    assert (out == values.T).all()
    assert np.isnan(around).sum() == around.size - n * m


@every_float
@pytest.mark.parametrize("start", range(5))
def test_mirror_within_a_matrix_whose_rows_are_aligned_alike(either, start, dtype):
    K = np.random.default_rng(start).random((160, 160)).astype(dtype)
    before, down, right = K.copy(), slice(start, 65), slice(70, 149)
    either.mirror(K[right, down], K[down, right])
    before[right, down] = before[down, right].T
    assert (before == K).all()


# Sums over features, and distances from dot products.


@every_sum
@pytest.mark.parametrize("d", [0, 1, 2, 5, 13, 40])
def test_of_sums(terms, d):
    for n, m, dtype in sizes_and_floats():
        rng = np.random.default_rng(n + 3 * m)
        A, B = rng.normal(size=(n, d)).astype(dtype), rng.normal(size=(m, d)).astype(dtype)
        expected = by_loop(terms, A, B)
        for name, module in implementations():
            out, around = strided(n, m, dtype)
            module.of_sums(out, A, B, terms)
            close(out, expected, 2, (name, n, m, dtype))
            assert np.isnan(around).sum() == around.size - n * m


@every_float
@pytest.mark.parametrize("m", [1, 16, 37])
def test_absolute_differences_of_close_rows_lose_no_digits(either, m, dtype):
    rng = np.random.default_rng(m)
    B = (100 + rng.normal(size=(m, 50))).astype(dtype)
    A = np.concatenate([B, B * (1 + 4 * np.finfo(dtype).eps), rng.normal(size=(5, 50)).astype(dtype)])
    out = np.empty((len(A), m), dtype)
    either.of_sums(out, A, B, "absolute_difference")
    np.testing.assert_allclose(out, by_loop("absolute_difference", A, B), rtol=50 * np.finfo(dtype).eps)
    assert (np.diag(out[:m]) == 0).all()


@every_float
def test_absolute_differences_of_rows_whose_sums_overflow(either, dtype):
    A = np.full((3, 40), np.finfo(dtype).max / 8, dtype)
    B = A * np.array([[1.0], [0.99], [-1.0]], dtype)
    out = np.empty((3, 3), dtype)
    with np.errstate(over="ignore"):
        either.of_sums(out, A, B, "absolute_difference")
    assert (out[:, 0] == 0).all()
    np.testing.assert_allclose(out[:, 1], 40 * (A[0, 0] - B[1, 0]), rtol=1e-5)
    assert np.isposinf(out[:, 2]).all()


@every_float
@every_sum
def test_of_sums_with_a_function(compiled, terms, dtype):
    A, B = np.random.default_rng(0).random((2, 9, 6)).astype(dtype)
    for shape, arguments in PARAMETERS.items():
        got, expected = np.empty((2, 9, 9), dtype)
        compiled.of_sums(got, A, B, terms, shape, *arguments)
        reference.of_sums(expected, A, B, terms, shape, *arguments)
        close(got, expected, 2)


@every_float
@every_size
def test_of_products(either, n, m, dtype):
    rng = np.random.default_rng(n + 5 * m)
    for d in (1, 3, 40):
        A, B = rng.normal(size=(n, d)).astype(dtype), rng.normal(size=(m, d)).astype(dtype)
        values, around = strided(n, m, dtype)
        values[...] = A @ B.T
        either.of_products(values, A, B, (A * A).sum(1), (B * B).sum(1), "root")
        # Pairs that are just not close enough lose almost half of their digits.
        exact = np.sqrt(by_loop("squared_difference", A, B))
        np.testing.assert_allclose(values, exact, rtol=np.sqrt(np.finfo(dtype).eps))
        assert np.isnan(around).sum() == around.size - n * m


@every_float
@pytest.mark.parametrize("m", [4, 16, 37])
def test_of_products_computes_close_pairs_from_their_difference(either, m, dtype):
    rng = np.random.default_rng(m)
    B = (100 + rng.normal(size=(m, 50))).astype(dtype)
    A = np.concatenate([B, B * (1 + 4 * np.finfo(dtype).eps)])
    for error in (-1, 0, 1):  # products that are a little off lead to the same distances
        values = A @ B.T * dtype(1 + error * np.sqrt(np.finfo(dtype).eps))
        either.of_products(values, A, B, (A * A).sum(1), (B * B).sum(1), "identity")
        assert (np.diag(values) == 0).all()
        exact = ((A[m:].astype(float) - B) ** 2).sum(1)
        np.testing.assert_allclose(np.diag(values[m:]), exact, rtol=1e-5)


@every_float
def test_of_products_sees_close_pairs_next_to_overflow(either, dtype):
    A = np.full((1, 40), 1.1, dtype)
    B = np.concatenate([A, np.full((20, 40), np.finfo(dtype).max ** 0.75, dtype)])
    with np.errstate(all="ignore"):
        values, b = A @ B.T, (B * B).sum(1)
        values[0, 0] *= dtype(1 - np.sqrt(np.finfo(dtype).eps))
        either.of_products(values, A, B, (A * A).sum(1), b, "identity")
    assert values[0, 0] == 0
    assert (values[0, 1:] == np.inf).all()


# Sparse rows.


def sparse(n, d, density, dtype, seed):
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((n, d)) < density * rng.random(d), rng.normal(size=(n, d)), 0).astype(dtype)
    return dense, sp.csr_array(dense)


def csr(M, index=np.int32):
    return M.data, M.indices.astype(index), M.indptr.astype(index)


def pair_of_sparse(n, m, d, density, dtype):
    (A, SA), (B, SB) = sparse(n, d, density, dtype, n + m), sparse(m, d, density, dtype, n + 2 * m)
    if n and m:
        B[0], SB = A[0], None
    return A, B, SA, sp.csr_array(B) if SB is None else SB


every_density = pytest.mark.parametrize("density", [0.0, 0.05, 0.3, 1.5])


@every_density
@pytest.mark.parametrize("d", [1, 2, 40])
def test_products_of_sparse_rows(density, d):
    for n, m, dtype in sizes_and_floats():
        A, B, SA, SB = pair_of_sparse(n, m, d, density, dtype)
        expected, ST, BT = A.astype(float) @ B.T.astype(float), SB.T.tocsr(), np.ascontiguousarray(B.T)
        for name, module in implementations():
            for index in (np.int32, np.int64):
                out, around = strided(n, m, dtype)
                module.sparse_products(out, csr(SA, index), csr(ST, index))
                close(out, expected, 2, (name, n, m, dtype, index))
                assert np.isnan(around).sum() == around.size - n * m
                out, around = strided(n, m, dtype)
                module.sparse_dense_products(out, csr(SA, index), BT)
                close(out, expected, 2, (name, n, m, dtype, index))
                assert np.isnan(around).sum() == around.size - n * m


@pytest.mark.parametrize(("terms", "density", "d"), thin(list(TERMS), [0.0, 0.05, 0.3, 1.5], [1, 2, 40]))
def test_sums_of_sparse_rows(terms, density, d):
    for n, m, dtype in [*sizes_and_floats(), (12, 12, np.float32), (12, 12, np.float64)]:
        A, B, SA, SB = pair_of_sparse(n, m, d, density, dtype)
        expected, ST = by_loop(terms, A, B), SB.T.tocsr()
        for name, module in implementations():
            if module is reference and (n, m) == SIZES[-1]:
                continue  # it takes long: 12 by 12 has to do
            out, around = strided(n, m, dtype)
            module.of_sparse_sums(out, csr(SA), csr(SB), csr(ST), terms)
            close(out, expected, 3.5, (name, n, m, dtype))
            assert np.isnan(around).sum() == around.size - n * m
            if n and m and terms != "smaller":
                assert out[0, 0] == 0


@every_float
@every_sum
def test_sums_of_sparse_rows_with_a_function(compiled, terms, dtype):
    A, B, SA, SB = pair_of_sparse(9, 21, 30, 0.4, dtype)
    for shape, arguments in PARAMETERS.items():
        if terms == "smaller" and shape not in ("gaussian", "polynomial", "sigmoid"):
            continue  # the others are functions of what is not negative
        got, expected = np.empty((2, 9, 21), dtype)
        compiled.of_sparse_sums(got, csr(SA), csr(SB), csr(SB.T.tocsr()), terms, shape, *arguments)
        compiled.of_sums(expected, A, B, terms, shape, *arguments)
        close(got, expected, 3.5)


@every_float
@every_sum
def test_a_gram_of_sparse_rows_is_symmetric(either, terms, dtype):
    _, S = sparse(40, 25, 0.6, dtype, seed=1)
    out = np.empty((40, 40), dtype)
    either.of_sparse_sums(out, csr(S), csr(S), csr(S.T.tocsr()), terms)
    assert (out == out.T).all()
    either.sparse_products(out, csr(S), csr(S.T.tocsr()))
    assert (out == out.T).all()


@every_float
@pytest.mark.parametrize("terms", ["squared_difference", "absolute_difference"])
def test_close_sparse_rows_lose_no_digits(either, terms, dtype):
    A, SA = sparse(20, 60, 0.5, dtype, seed=2)
    B = A * (1 + 8 * np.finfo(dtype).eps * np.arange(20, dtype=dtype)[:, np.newaxis])
    SB = sp.csr_array(B)
    out = np.empty((20, 20), dtype)
    either.of_sparse_sums(out, csr(SA), csr(SB), csr(SB.T.tocsr()), terms)
    np.testing.assert_allclose(np.diag(out), np.diag(by_loop(terms, A, B)), rtol=1e-5)
    assert out[0, 0] == 0


# What kernels make of the loops over sparse rows.


@every_float
@pytest.mark.parametrize("d", [40, MANY_COLUMNS + 10_000])
def test_inner_products_and_distances_of_every_pair_of_layouts(dtype, d):
    kept = np.sort(np.random.default_rng(3).choice(d, 40, replace=False))
    A, B, _, _ = pair_of_sparse(6, 19, 40, 0.4, dtype)
    wide = [np.zeros((len(M), d), dtype) for M in (A, B)]
    for M, small in zip(wide, (A, B), strict=True):
        M[:, kept] = small
    for left, right in [(sp.csr_array, sp.csr_array), (sp.csr_array, np.array), (np.array, sp.csr_matrix)]:
        X, Z = left(wide[0]), right(wide[1])
        close(inner(X, Z), A.astype(float) @ B.T.astype(float), 2)
        for out in (None, strided(6, 19, dtype)[0]):
            got = pairwise(X, Z, "product", IDENTITY, out)
            close(got, A.astype(float) @ B.T.astype(float), 2)
            assert out is None or got is out
            for terms in TERMS:
                got = pairwise(X, Z, terms, IDENTITY, out)
                close(got, by_loop(terms, A, B), 3.5)
                assert out is None or got is out


@every_float
@pytest.mark.parametrize(("terms", "power"), [("squared_difference", 0.51), ("absolute_difference", 1.0)])
def test_sparse_rows_whose_sums_overflow_are_refused(terms, power, dtype):
    X = sp.csr_array(np.array([[np.finfo(dtype).max ** power / 2, 1.0], [0.0, 1.0]], dtype))
    with pytest.raises(ValueError, match="too long"):
        pairwise(X, X, terms, IDENTITY)
    assert pairwise(X / 1e9, X / 1e9, terms, IDENTITY)[0, 0] == 0


# Bits.


@pytest.mark.parametrize("words", [0, 1, 2, 3, 16, 33])
@every_size
def test_bits(n, m, words):
    rng = np.random.default_rng(words)
    A, B = (rng.integers(0, 2**64, (size, words), dtype=np.uint64) for size in (n, m))
    A[:1], B[:1] = 2**64 - 1, 2**64 - 1
    common = [[sum((int(s) & int(t)).bit_count() for s, t in zip(a, b, strict=True)) for b in B] for a in A]
    for name, module in implementations():
        for dtype in (np.int32, np.int64, np.float64):
            out, around = strided(n, m, dtype, fill=-7)
            module.common_bits(out, A, B)
            assert out.tolist() == common, (name, dtype)
            assert (around == -7).sum() == around.size - n * m
        counts = module.count_bits(A)
        assert counts.dtype == np.int64
        assert counts.tolist() == [sum(int(s).bit_count() for s in a) for a in A], name


# The perceptron.


def perceptron_by_loop(K, y, scores, threshold, strict):
    scores, updated = [float(s) for s in scores], []
    for i in range(len(y)):
        margin = float(y[i]) * scores[i]
        updated.append(bool(margin < threshold or (margin == threshold and not strict)))
        if updated[i]:
            for j in range(i + 1, len(y)):
                scores[j] += float(y[i]) * float(K[i, j])
    return scores, updated


@given(n=st.integers(0, 40), seed=st.integers(0, 99), strict=st.booleans(), threshold=st.sampled_from([0.0, 1.0, -0.5]))
def test_perceptron_pass(n, seed, strict, threshold):
    rng = np.random.default_rng(seed)
    for dtype in FLOATS:
        K = rng.integers(-3, 4, (n, n)).astype(dtype) / 2 + (rng.normal(size=(n, n)).astype(dtype) if seed % 2 else 0)
        K = np.asarray(K, dtype)
        y, scores = rng.choice([-1.0, 1.0], n), rng.integers(-2, 3, n) / 2
        wanted, learned = perceptron_by_loop(K, y, scores, threshold, strict)
        for name, module in implementations():
            got = scores.copy()
            updated = module.perceptron_pass(K, y, got, threshold, strict)
            assert updated.dtype == bool
            assert updated.tolist() == learned, name
            assert got.tolist() == wanted, name


def test_the_perceptron_learns_from_a_tie_unless_told_otherwise(either):
    K, y = np.ones((2, 2)), np.ones(2)
    assert either.perceptron_pass(K, y, np.zeros(2)).tolist() == [True, False]
    assert either.perceptron_pass(K, y, np.zeros(2), 0.0, True).tolist() == [False, False]
    assert either.perceptron_pass(K, y, np.zeros(2), threshold=1.0).tolist() == [True, True]


# The choice of loops by the environment.


def imported(**environment):
    code = "from similitude.compute import loops; print(loops.COMPILED, loops.IN_USE)"
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


@pytest.mark.skipif(not loops.COMPILED, reason="missing: the compiled module similitude.compute.loops._compiled")
@pytest.mark.parametrize("name", SETS)
def test_the_instruction_set_can_be_forced(name):
    assert imported(SIMILITUDE_SIMD=name).stdout == f"True compiled ({name})\n"


@pytest.mark.skipif(not loops.COMPILED, reason="missing: the compiled module similitude.compute.loops._compiled")
def test_an_unknown_instruction_set_is_refused_with_the_choices():
    answer = imported(SIMILITUDE_SIMD="mmx")
    assert answer.returncode != 0
    assert answer.stderr.splitlines()[-1] == (
        f"ValueError: SIMILITUDE_SIMD: no instruction set mmx on this machine: choose one of {', '.join(SETS)}"
    )


def test_integers_of_32_bits_are_refused():
    code = "import numpy as np; np.int_ = np.int32; import similitude.compute.loops"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert re.search(r"ImportError: .* 64 bits, but .* have 32 .* NumPy 2 and later$", answer.stderr.strip())


def test_the_readable_twins_can_be_forced():
    answer = imported(SIMILITUDE_LOOPS="reference", SIMILITUDE_SIMD="mmx")
    assert answer.stdout == "False reference (SIMILITUDE_LOOPS=reference)\n"
