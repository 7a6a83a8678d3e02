"""The loop over the rows of tables: compiled for every instruction set, and its readable twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_loops import SETS, chosen, strided

from similitude.compute import loops
from similitude.compute.loops.reference import tables as reference_tables

SIZES = [(0, 3), (3, 0), (1, 1), (2, 7), (5, 17), (9, 33), (35, 150)]


@pytest.fixture(params=[*SETS, "reference"])
def gower(request):
    """The loop of each instruction set, and the readable twin."""
    with chosen(request.param):
        yield reference_tables.gower if request.param == "reference" else loops.gower


def table(rng, n, p, q, missing=0.3):
    numbers, keys = rng.random((n, p)) * 1.5, rng.integers(1, 4, (n, q)) * 2**61
    numbers[rng.random((n, p)) < missing] = np.nan
    keys[rng.random((n, q)) < missing] = 0
    return numbers, keys


def by_loop(a, b):
    """Return the coefficient of two rows by its definition, in plain Python."""
    terms = [1 - abs(x - z) for x, z in zip(a[0], b[0], strict=True) if x == x and z == z]
    terms += [float(x == z) for x, z in zip(a[1], b[1], strict=True) if x and z]
    return sum(terms) / len(terms) if terms else 0.0


@pytest.mark.parametrize(("n", "m"), SIZES)
@pytest.mark.parametrize(("p", "q"), [(0, 1), (1, 0), (3, 2), (8, 7)])
def test_gower(gower, n, m, p, q):
    rng = np.random.default_rng(n + m)
    A, B = table(rng, n, p, q), table(rng, m, p, q)
    out, around = strided(n, m, float)
    gower(out, A, B)
    expected = [[by_loop(a, b) for b in zip(*B, strict=True)] for a in zip(*A, strict=True)]
    np.testing.assert_allclose(out, np.reshape(expected, (n, m)), rtol=1e-14, atol=1e-15)
    assert np.isnan(around).sum() == around.size - n * m


@given(seed=st.integers(0, 2**31), n=st.integers(1, 12), p=st.integers(0, 3), q=st.integers(1, 3))
@pytest.mark.parametrize("name", SETS)
def test_symmetric_and_like_its_twin(name, seed, n, p, q):
    A = table(np.random.default_rng(seed), n, p, q)
    K, twin = np.empty((n, n)), np.empty((n, n))
    with chosen(name):
        loops.gower(K, A, A)
    reference_tables.gower(twin, A, A)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(K, twin, rtol=1e-14, atol=1e-15)
