"""The loops of the quadratic solver: every instruction set against the readable twin."""

from functools import cache

import numpy as np
import pytest
from test_loops import SETS, chosen

from similitude.compute.loops.reference import solvers as reference_solvers


def problem(n, dtype, seed):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, 5))
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    K = (Z @ Z.T + 0.1 * np.eye(n)).astype(dtype)
    return K, y, np.where(y > 0, 0.0, -1.0), np.where(y > 0, 1.0, 0.0)


def minimum(smo, n, dtype, keep_sum):
    """Return the value of the dual objective at the end of the steps, after a look at what they left."""
    K, y, low, high = problem(n, dtype, n)
    u, beta = y.copy(), np.zeros(n)
    smo(K, u, beta, low, high, 1e-7, 100_000, keep_sum)
    assert np.allclose(u, y - K.astype(float) @ beta, atol=1e-6)
    assert (beta >= low).all() and (beta <= high).all() and (not keep_sum or abs(beta.sum()) < 1e-9)
    return y @ beta - 0.5 * beta @ K.astype(float) @ beta


@cache  # of all instruction sets
def twins_minimum(n, dtype, keep_sum):
    return minimum(reference_solvers.smo, n, dtype, keep_sum)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("keep_sum", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 8, 9, 33, 130])
def test_smo_finds_what_its_twin_finds(name, n, dtype, keep_sum):
    with chosen(name) as these:
        assert minimum(these.smo, n, dtype, keep_sum) == pytest.approx(twins_minimum(n, dtype, keep_sum), 1e-6, 1e-9)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("shape", [(0, 5), (1, 1), (7, 3), (40, 2500)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pick_writes_what_its_twin_writes(name, shape, dtype):
    local = np.random.default_rng(1)
    rows = local.standard_normal(shape).astype(dtype)
    which, columns = (local.integers(0, size, 7 * bool(size)) for size in shape)
    expected = np.empty((len(which), len(columns)), dtype)
    found = np.empty_like(expected)
    reference_solvers.pick(rows, which, columns, expected)
    with chosen(name) as these:
        these.pick(rows, which, columns, found)
    assert (found == expected).all() and (expected == rows[which][:, columns]).all()


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("shape", [(0, 5), (1, 1), (7, 3), (40, 2500)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_add_rows_adds_what_its_twin_adds(name, shape, dtype):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal(shape).astype(dtype)
    which = rng.permutation(shape[0]).astype(np.int64)
    weights, out = rng.standard_normal(shape[0]), rng.standard_normal(shape[1])
    expected = out.copy()
    reference_solvers.add_rows(rows, which, weights, expected)
    with chosen(name) as these:
        these.add_rows(rows, which, weights, out)
    assert np.allclose(out, expected)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(("n", "k"), [(2, 2), (3, 2), (17, 4), (40, 39), (130, 7)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_medoids_are_swapped_as_by_the_twin(name, n, k, dtype):
    local = np.random.default_rng(n)
    far, start = local.random((n, n)).astype(dtype), local.choice(n, k, replace=False)
    for first, most, failed in ((0, 10**6, 0), (1, n // 2, 0), (n - 1, n + 3, 1)):
        found, expected = start.copy(), start.copy()
        last = reference_solvers.swap_medoids(far, expected, first, most, failed)
        with chosen(name) as these:
            assert these.swap_medoids(far, found, first, most, failed) == last
        assert (found == expected).all()
    loss = far[expected].min(axis=0).sum(dtype=float)
    assert loss <= far[start].min(axis=0).sum(dtype=float)
