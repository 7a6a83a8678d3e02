"""The loops of elastic distances, convolutions and signatures: those of every instruction set, and their twins."""

import functools
import itertools
import math

import numpy as np
import pytest
from test_loops_series import SETS, chosen, every_float, pieces, series

from similitude.compute import loops
from similitude.compute.loops.reference.series import band, kernel_taps

either = pytest.mark.parametrize("loops_of", [*SETS, "reference"])
compiled = pytest.mark.parametrize("loops_of", SETS)
PARAMETERS = {"msm": (0.3,), "erp": (0.2,), "twe": (0.1, 0.5), "soft_dtw": (0.7,)}
every_distance = pytest.mark.parametrize("name", PARAMETERS)


def found(loops_of, name, A, B, window=None, half=False, parameters=None):
    """Return what a loop of an instruction set, or the readable twin, writes."""
    with chosen(loops_of) as module:
        module = loops.reference if loops_of == "reference" else module
        out = np.full((len(A[1]) - 1, len(B[1]) - 1), np.nan, A[0].dtype)
        getattr(module, name)(out, *A, *B, *(parameters or PARAMETERS[name]), window, half)
        return out


# Each distance again, from its definition: by recursion from the end, without a table.


def inside(n, m, window):
    low, high = band(n, m, window)
    return lambda i, j: low <= i - j <= high


def distance(u, v):
    return math.dist(u, v)


def msm_by_recursion(x, z, window, c):
    return sum(_msm(x[:, k].tolist(), z[:, k].tolist(), window, c) for k in range(x.shape[1]))


def _msm(x, z, window, c):
    allowed = inside(len(x), len(z), window)

    def cost(new, before, other):
        between = before <= new <= other or before >= new >= other
        return c if between else c + min(abs(new - before), abs(new - other))

    @functools.cache
    def least(i, j):
        if not allowed(i, j):
            return math.inf
        if i == j == 0:
            return abs(x[0] - z[0])
        ways = [least(i - 1, j - 1) + abs(x[i] - z[j])] if i and j else []
        ways += [least(i - 1, j) + cost(x[i], x[i - 1], z[j])] if i else []
        ways += [least(i, j - 1) + cost(z[j], x[i], z[j - 1])] if j else []
        return min(ways)

    return least(len(x) - 1, len(z) - 1)


def erp_by_recursion(x, z, window, g):
    allowed, gap = inside(len(x), len(z), window), np.full(x.shape[1], g)

    @functools.cache
    def least(i, j):
        if i == 0 or j == 0:
            return sum(distance(one, gap) for one in [*x[:i], *z[:j]])
        if not allowed(i - 1, j - 1):
            return math.inf
        u, v = x[i - 1], z[j - 1]
        return min(
            least(i - 1, j - 1) + distance(u, v), least(i - 1, j) + distance(u, gap), least(i, j - 1) + distance(v, gap)
        )

    return least(len(x), len(z))


def twe_by_recursion(x, z, window, nu, lmbda):
    allowed = inside(len(x), len(z), window)
    x, z = (np.vstack([np.zeros(x.shape[1]), one]) for one in (x, z))

    @functools.cache
    def least(i, j):
        if i == j == 0:
            return 0.0
        if i == 0 or j == 0 or not allowed(i, j):
            return math.inf
        pair = distance(x[i], z[j]) + distance(x[i - 1], z[j - 1]) + 2 * nu * abs(i - j)
        return min(
            least(i - 1, j - 1) + pair,
            least(i - 1, j) + distance(x[i], x[i - 1]) + nu + lmbda,
            least(i, j - 1) + distance(z[j], z[j - 1]) + nu + lmbda,
        )

    return least(len(x) - 1, len(z) - 1)


def soft_dtw_by_recursion(x, z, window, gamma):
    allowed = inside(len(x), len(z), window)

    @functools.cache
    def paths(i, j):
        """Return the sum of exp(-cost / gamma) over all paths to a pair."""
        if i < 0 or j < 0 or not allowed(i, j):
            return 1.0 if i == j == -1 else 0.0
        before = paths(i - 1, j - 1) + paths(i - 1, j) + paths(i, j - 1)
        return before * math.exp(-(distance(x[i], z[j]) ** 2) / gamma)

    return -gamma * math.log(paths(len(x) - 1, len(z) - 1))


BY_RECURSION = {
    "msm": msm_by_recursion,
    "erp": erp_by_recursion,
    "twe": twe_by_recursion,
    "soft_dtw": soft_dtw_by_recursion,
}


@either
@every_distance
@pytest.mark.parametrize("window", [None, 0, 1, 0.5])
@pytest.mark.parametrize(("channels", "dtype"), [(1, np.float32), (1, np.float64), (3, np.float64)])
def test_distances_by_their_recursions(loops_of, name, window, channels, dtype):
    A, B = series([1, 2, 4, 5], channels, dtype), series([1, 5, 3, 2, 4, 4], channels, dtype, 1)
    definition = functools.partial(BY_RECURSION[name])
    expected = [
        [definition(x.astype(float), z.astype(float), window, *PARAMETERS[name]) for z in pieces(*B)]
        for x in pieces(*A)
    ]
    tolerance = 200 * np.finfo(dtype).eps
    np.testing.assert_allclose(found(loops_of, name, A, B, window), expected, rtol=tolerance, atol=tolerance)


@compiled
@every_distance
@every_float
def test_half_is_the_whole_and_symmetric(loops_of, name, dtype):
    for lengths in ([6] * 37, list(range(1, 24))):
        for window in (None, 2):
            A = series(lengths, 2, dtype)
            half, whole = (found(loops_of, name, A, A, window, half=one) for one in (True, False))
            assert (half == half.T).all() and (whole == whole.T).all()
            np.testing.assert_array_equal(half, whole)


@compiled
@every_distance
def test_empty_series_as_the_twin_has_them(loops_of, name):
    A, B = series([0, 2]), series([0, 3, 0])
    np.testing.assert_allclose(found(loops_of, name, A, B), found("reference", name, A, B))


@compiled
@pytest.mark.parametrize("gamma", [1e-8, 1e-3, 1e6])
def test_soft_minima_of_any_softness(loops_of, gamma):
    A = series([40] * 3)
    soft = found(loops_of, "soft_dtw", A, A, parameters=(gamma,))
    np.testing.assert_allclose(soft, found("reference", "soft_dtw", A, A, parameters=(gamma,)), rtol=1e-9)
    if gamma == 1e-8:
        hard = np.empty((3, 3))
        loops.dtw(hard, *A, *A)
        np.testing.assert_allclose(soft, hard, atol=1e-5)


# Convolutions.


def shares_by_definition(x, kernel, dilation, padded, mix, biases):
    """Return the shares from the weights of all nine taps, time by time."""
    weights = [2.0 if k in kernel_taps()[kernel] else -1.0 for k in range(9)]
    mixed = x.astype(float) @ mix

    def value(t):
        places = [(w, t + (k - 4) * dilation) for k, w in enumerate(weights)]
        return sum(w * mixed[s] for w, s in places if 0 <= s < len(mixed))

    within = [t for t in range(len(mixed)) if t >= 4 * dilation and t + 4 * dilation < len(mixed)]
    times = range(len(mixed)) if padded or not within else within
    values = np.array([value(t) for t in times])
    return [(values > bias).mean() for bias in biases]


@either
@every_float
@pytest.mark.parametrize("channels", [1, 3])
def test_convolutions_by_their_definition(loops_of, channels, dtype):
    rng = np.random.default_rng(0)
    A = series([1, 2, 9, 17, 40, 71], channels, dtype)
    shapes = np.array([(k, d, p) for d in (1, 2, 5, 100) for k, p in ((0, 0), (0, 1), (41, 1), (83, 0))])
    mix = np.eye(channels, dtype=dtype)[rng.integers(channels, size=len(shapes))]
    mix[::3] = 1.0
    sizes = rng.integers(0, 8, len(shapes))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    biases = rng.normal(size=starts[-1]).astype(dtype)
    with chosen(loops_of) as module:
        out = np.full((6, len(biases)), np.nan, dtype)
        module.convolutions(out, *A, shapes, mix, biases, starts)
    for row, x in zip(out, pieces(*A), strict=True):
        expected = [
            shares_by_definition(x, *shape.tolist(), m, biases[s:t])
            for shape, m, (s, t) in zip(shapes, mix, itertools.pairwise(starts), strict=True)
        ]
        np.testing.assert_allclose(row, np.concatenate(expected), rtol=1e-6)


@compiled
def test_convolutions_are_the_bits_of_the_twin(loops_of):
    """Biases are quantiles of convolutions that NumPy computes: a value that equals its bias must not exceed it."""
    A = series([50, 33], 2, np.float64)
    shapes = np.array([(k, d, 1) for d in (1, 3) for k in range(0, 84, 7)])
    mix = np.ones((len(shapes), 2))
    values = [loops.convolved(A[0][:50], *shape.tolist(), m) for shape, m in zip(shapes, mix, strict=True)]
    biases, starts = np.concatenate(values), np.arange(len(shapes) + 1) * 50
    with chosen(loops_of) as module:
        found, expected = np.empty((2, len(biases))), np.empty((2, len(biases)))
        module.convolutions(found, *A, shapes, mix, biases, starts)
        loops.reference.convolutions(expected, *A, shapes, mix, biases, starts)
    np.testing.assert_array_equal(found, expected)


# Signatures.


def signature_by_definition(x, level):
    """Return the iterated integrals as sums over all tuples of steps; r equal ones in a tuple count 1 / r! times."""
    steps, values = np.diff(x.astype(float), axis=0), []
    for m in range(1, level + 1):
        tuples = list(itertools.combinations_with_replacement(range(len(steps)), m))
        weights = [1.0 / math.prod(math.factorial(one.count(t)) for t in set(one)) for one in tuples]
        for channels in itertools.product(range(x.shape[1]), repeat=m):
            values.append(
                sum(
                    weight * math.prod(steps[t, c] for t, c in zip(one, channels, strict=True))
                    for weight, one in zip(weights, tuples, strict=True)
                )
            )
    return values


@either
@every_float
@pytest.mark.parametrize(("channels", "level"), [(1, 4), (2, 4), (3, 3), (4, 2), (5, 1)])
def test_signatures_by_their_definition(loops_of, channels, level, dtype):
    A = series([0, 1, 2, 6, 3, 3, 4, 1, 5, 2], channels, dtype)
    out = np.full((10, sum(channels**m for m in range(1, level + 1))), np.nan, dtype)
    with chosen(loops_of) as module:
        (loops.reference if loops_of == "reference" else module).signatures(out, *A, level)
    expected = [signature_by_definition(x, level) for x in pieces(*A)]
    np.testing.assert_allclose(out, expected, rtol=0, atol=100 * np.finfo(dtype).eps * np.abs(expected).max())


@compiled
def test_a_signature_is_the_same_whatever_series_are_beside_it(loops_of):
    A = series([30, 12, 25, 7, 30, 1, 19, 22, 40, 3, 5, 28, 11, 9, 16, 33, 2, 21, 8], 2)
    together, alone = np.empty((19, 14)), np.empty((19, 14))
    with chosen(loops_of) as module:
        module.signatures(together, *A, 3)
        for row, x in zip(alone, pieces(*A), strict=True):
            module.signatures(row[None], np.ascontiguousarray(x), np.array([0, len(x)]), 3)
    np.testing.assert_array_equal(together, alone)
