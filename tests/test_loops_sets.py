"""The loops over sets: compiled for every instruction set, and their readable twins."""

import numpy as np
import pytest
from test_loops import SETS, chosen, strided

from similitude.compute import loops
from similitude.compute.loops.reference import sets as reference_sets

SIZES = [(0, 3), (3, 0), (1, 1), (2, 7), (5, 17), (9, 33), (35, 150)]
every_value = pytest.mark.parametrize("value", ["count", "share", "any"])


@pytest.fixture(params=[*SETS, "reference"])
def either(request):
    """The loops of each instruction set, and the readable twins."""
    with chosen(request.param):
        yield reference_sets if request.param == "reference" else loops


def by_loop(x, z, value):
    """Return the value of two sets, in plain Python."""
    shared = len(x & z)
    return {"count": shared, "share": shared / len(x | z) if x | z else 1.0, "any": float(shared > 0)}[value]


@every_value
@pytest.mark.parametrize(("n", "m"), SIZES)
@pytest.mark.parametrize("words", [1, 3])
def test_shared_bits(either, value, n, m, words):
    rng = np.random.default_rng(n + m)
    A, B = (rng.integers(0, 2**63, (rows, words), dtype=np.uint64) << 1 for rows in (n, m))
    A[::3], B[::2] = 0, B[::2] & 6
    sets = [[{k for k in range(64 * words) if int(row[k // 64]) >> k % 64 & 1} for row in rows] for rows in (A, B)]
    out, around = strided(n, m, float)
    either.shared_bits(out, A, B, *(np.array([len(one) for one in some], float) for some in sets), value)
    expected = [[by_loop(x, z, value) for z in sets[1]] for x in sets[0]]
    np.testing.assert_allclose(out, np.reshape(expected, (n, m)), rtol=1e-15)
    assert np.isnan(around).sum() == around.size - n * m


@every_value
@pytest.mark.parametrize(("n", "m"), SIZES)
def test_of_shared(either, value, n, m):
    rng = np.random.default_rng(n + m)
    a, b = rng.integers(0, 4, n).astype(float), rng.integers(0, 4, m).astype(float)
    shared = np.floor(rng.random((n, m)) * (np.minimum(a[:, None], b) + 1))
    out, around = strided(n, m, float)
    out[...] = shared
    either.of_shared(out, a, b, value)
    of_all = {"count": shared, "any": (shared > 0).astype(float)}
    items = a[:, None] + b - shared
    of_all["share"] = np.where(items == 0, 1.0, shared / np.where(items == 0, 1.0, items))
    np.testing.assert_allclose(out, of_all[value], rtol=1e-15)
    assert np.isnan(around).sum() == around.size - n * m


@pytest.mark.parametrize("bound", ["share_of_all", "share_of_larger"])
@pytest.mark.parametrize(("n", "m"), SIZES[2:])
def test_candidates_are_the_pairs_that_bits_and_sizes_allow(either, bound, n, m):
    rng = np.random.default_rng(n + m)
    A, B = (rng.integers(0, 2**63, (rows, 2), dtype=np.uint64) for rows in (n, m))
    spare_a, spare_b = rng.integers(0, 5, n).astype(float), rng.integers(0, 5, m).astype(float)
    a, b = reference_sets.count_bits(A) + spare_a, reference_sets.count_bits(B) + spare_b
    floors = rng.random(n)
    i, j, values = either.candidates(A, a, spare_a, B, b, spare_b, floors, bound)
    expected = {}
    for s in range(n):
        for t in range(m):
            c = reference_sets.count_bits(A[s : s + 1] & B[t : t + 1])[0] + min(spare_a[s], spare_b[t])
            most = c / (max(a[s], b[t]) if bound == "share_of_larger" else a[s] + b[t] - c)
            if most >= floors[s]:
                expected[s, t] = most
    assert dict(zip(zip(i.tolist(), j.tolist(), strict=True), values.tolist(), strict=True)) == pytest.approx(expected)
