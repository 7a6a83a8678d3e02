"""The loops over time series: each compiled one, for every instruction set of this machine, and each readable twin."""

import itertools
import math
from contextlib import contextmanager

import numpy as np
import pytest
from grids import thin
from hypothesis import given
from hypothesis import strategies as st

from similitude.compute import loops
from similitude.compute.loops.reference import series as reference_series

SETS = (
    loops._compiled.instruction_sets() if loops.COMPILED else ["the compiled module similitude.compute.loops._compiled"]
)
WINDOWS = [None, 0, 1, 3, 0.0, 0.25, 0.5, 1.0]
every_float = pytest.mark.parametrize("dtype", [np.float32, np.float64])
every_window = pytest.mark.parametrize("window", WINDOWS)


@contextmanager
def chosen(name):
    """Give the loops of one instruction set, or the readable twins."""
    if name == "reference":
        yield reference_series
        return
    if not loops.COMPILED:
        pytest.skip(f"missing: {name}")
    before = loops._compiled.in_use()
    loops._compiled.choose(name)
    try:
        yield loops
    finally:
        loops._compiled.choose(before)


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


def series(lengths, channels=1, dtype=np.float64, seed=0):
    values = np.random.default_rng(seed).normal(size=(sum(lengths), channels)).astype(dtype)
    return values, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def pieces(values, starts):
    return [values[s:t] for s, t in itertools.pairwise(starts)]


def paths(n, m):
    """Yield every path from the first to the last pair."""
    if n == 1 and m == 1:
        yield [(0, 0)]
        return
    for s, t in ((1, 1), (1, 0), (0, 1)):
        if n - s >= 1 and m - t >= 1:
            for path in paths(n - s, m - t):
                yield [*path, (n - 1, m - 1)]


def squares(x, z):
    return ((x[:, None, :].astype(float) - z[None, :, :]) ** 2).sum(2)


def warping_by_paths(x, z, window):
    """Return the least cost over all paths inside the band, by trying them all."""
    if not len(x) or not len(z):
        return 0.0 if len(x) == len(z) else math.inf
    low, high = reference_series.band(len(x), len(z), window)
    cost = squares(x, z)
    inside = (path for path in paths(len(x), len(z)) if all(low <= i - j <= high for i, j in path))
    return min(sum(cost[pair] for pair in path) for path in inside)


def alignment_by_paths(x, z, scale):
    g = np.exp(-scale * squares(x, z))
    local = g / (2 - g)
    return sum(math.prod(local[pair] for pair in path) for path in paths(len(x), len(z)))


def warped(module, A, a, B, b, window=None, half=False):
    out = np.full((len(a) - 1, len(b) - 1), np.nan, A.dtype)
    module.dtw(out, A, a, B, b, window, half)
    return out


def aligned(module, A, a, B, b, scale=0.3, half=False):
    out = np.full((len(a) - 1, len(b) - 1), np.nan)
    module.global_alignment(out, A, a, B, b, scale, half)
    return out


@every_float
@every_window
@pytest.mark.parametrize("channels", [1, 3])
def test_time_warping_takes_the_best_of_all_paths_in_the_band(either, channels, window, dtype):
    A, B = series([1, 2, 4, 5], channels, dtype), series([1, 5, 3, 2, 4, 4], channels, dtype, 1)
    expected = [[warping_by_paths(x, z, window) for z in pieces(*B)] for x in pieces(*A)]
    np.testing.assert_allclose(warped(either, *A, *B, window), expected, rtol=100 * np.finfo(dtype).eps)


@every_float
def test_time_warping_of_empty_series(either, dtype):
    A, B = series([0, 2], 1, dtype), series([0, 3, 0], 1, dtype)
    found = warped(either, *A, *B)
    assert found[0, 0] == 0 and np.isinf(found[0, 1]) and np.isinf(found[1, 0]) and np.isfinite(found[1, 1])


@every_float
@pytest.mark.parametrize("channels", [1, 3])
def test_alignments_are_summed_over_all_paths(either, channels, dtype):
    A, B = series([1, 2, 4], channels, dtype), series([1, 5, 3, 2, 4], channels, dtype, 1)
    expected = [[alignment_by_paths(x, z, 0.3) for z in pieces(*B)] for x in pieces(*A)]
    np.testing.assert_allclose(np.exp(aligned(either, *A, *B)), expected, rtol=100 * np.finfo(dtype).eps)


@every_float
@pytest.mark.parametrize("count", [1, 7, 16, 71])
@pytest.mark.parametrize("window", [None, 2])
def test_many_targets(compiled, count, window, dtype):
    lengths = np.random.default_rng(count).integers(1, 12, count)
    A, B = series([7, 3], 2, dtype), series(lengths, 2, dtype, 1)
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(
        warped(compiled, *A, *B, window), warped(reference_series, *A, *B, window), rtol=100 * eps
    )
    np.testing.assert_allclose(aligned(compiled, *A, *B), aligned(reference_series, *A, *B), atol=100 * eps)


LONG_SERIES: dict = {}  # what the readable twin finds, once for all instruction sets: it takes a second


@pytest.mark.parametrize(("window", "dtype"), thin([None, 0, 7, 0.3], [np.float32, np.float64]))
def test_long_series(compiled, window, dtype):
    A = series([1, 110], 1, dtype)
    lengths = [96] * 17 if window is not None else [1, 95, 96, 97, 130, *range(20, 33)]
    B = series(lengths, 1, dtype, 1)
    if (window, dtype) not in LONG_SERIES:
        LONG_SERIES[window, dtype] = warped(reference_series, *A, *B, window)
    found = warped(compiled, *A, *B, window)
    np.testing.assert_allclose(found, LONG_SERIES[window, dtype], rtol=1000 * np.finfo(dtype).eps)


@every_float
@pytest.mark.parametrize("lengths", [[4] * 40, list(range(1, 26))])
def test_half_is_the_whole_and_symmetric(compiled, lengths, dtype):
    A = series(lengths, 1, dtype)
    for whole, half in (
        (warped(compiled, *A, *A), warped(compiled, *A, *A, half=True)),
        (aligned(compiled, *A, *A), aligned(compiled, *A, *A, half=True)),
    ):
        assert (half == half.T).all()
        np.testing.assert_allclose(half, whole, atol=300 * np.finfo(dtype).eps, rtol=300 * np.finfo(dtype).eps)


@every_float
@pytest.mark.parametrize(
    ("n", "channels", "window"), [(1, 1, None), (9, 2, None), (37, 1, None), (70, 1, 0.25), (70, 2, 2)]
)
def test_each_pair_of_many_series_of_one_length_is_computed_once(compiled, n, channels, window, dtype):
    A = series([12] * n, channels, dtype)
    half, whole = (warped(compiled, *A, *A, window, half=one) for one in (True, False))
    tolerance = 30 * np.finfo(dtype).eps
    np.testing.assert_allclose(half, whole, rtol=tolerance, atol=tolerance)
    assert (half == half.T).all()
    assert (np.diag(half) == 0).all()
    half, whole = (aligned(compiled, *A, *A, half=one) for one in (True, False))
    np.testing.assert_allclose(half, whole, rtol=30 * tolerance, atol=30 * tolerance)


@every_float
@pytest.mark.parametrize("count", [1, 17, 40])
def test_each_series_with_itself(either, count, dtype):
    A = series(np.random.default_rng(count).integers(1, 9, count), 2, dtype)
    alone = [(one, np.array([0, len(one)])) for one in pieces(*A)]
    expected = [aligned(reference_series, *one, *one)[0, 0] for one in alone]
    np.testing.assert_allclose(either.self_alignment(*A, 0.3), expected, atol=200 * np.finfo(dtype).eps)


RESCALED: dict = {}  # what the readable twin finds, once for all instruction sets


@every_float
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e300])
def test_sums_keep_their_size(compiled, scale, dtype):
    """Sums of long series are rescaled: neither overflow nor zeros, whatever the scale."""
    A = series([60, 40], 1, dtype)
    if (scale, dtype) not in RESCALED:
        RESCALED[scale, dtype] = aligned(reference_series, *A, *A, scale)
    expected = RESCALED[scale, dtype]
    found = aligned(compiled, *A, *A, scale)
    seen = expected > -80  # what is smaller may be zero in float32
    np.testing.assert_allclose(found[seen], expected[seen], atol=2e4 * np.finfo(dtype).eps)
    assert not np.isnan(found).any() and (found[~seen] < -79).all()


def test_subnormal_numbers_are_left_as_they_were(compiled):
    A = series([5, 5])
    aligned(compiled, *A, *A)
    assert np.array([1e-310]) * 0.5 > 0


@given(
    st.lists(st.lists(st.integers(-3, 3), min_size=1, max_size=5), min_size=1, max_size=3),
    st.lists(st.lists(st.integers(-3, 3), min_size=1, max_size=5), min_size=1, max_size=3),
    st.sampled_from(WINDOWS),
)
def test_small_series_of_any_kind(X, Z, window):
    A, B = (
        (np.concatenate(some).astype(float)[:, None], np.cumsum([0, *map(len, some)], dtype=np.int64))
        for some in (X, Z)
    )
    expected = [[warping_by_paths(x, z, window) for z in pieces(*B)] for x in pieces(*A)]
    np.testing.assert_allclose(warped(loops, *A, *B, window), expected)
    sums = [[alignment_by_paths(x, z, 0.3) for z in pieces(*B)] for x in pieces(*A)]
    np.testing.assert_allclose(np.exp(aligned(loops, *A, *B)), sums)


@every_float
@pytest.mark.parametrize("window", [None, 0.1, 3])
def test_distances_of_some_pairs_are_those_of_the_matrix_up_to_a_limit(either, dtype, window):
    rng = np.random.default_rng(0)
    A, a = series([30, 12, 40], 2, dtype)
    B, b = series([30, 30, 9, 40, 40, 0, 33], 2, dtype, 1)
    out = np.empty((3, 7), dtype)
    either.dtw(out, A, a, B, b, window)
    i, j = rng.integers(0, 3, 60), rng.integers(0, 7, 60)
    limits = rng.choice(np.append(out[np.isfinite(out)], np.inf), 60).astype(dtype)
    found = np.empty(60, dtype)
    either.dtw_pairs(found, A, a, B, b, i, j, limits, window)
    needed = out[i, j] <= limits
    np.testing.assert_array_equal(found[needed], out[i, j][needed])
    assert (found[~needed] > limits[~needed]).all()


@every_float
def test_the_squares_outside_of_ranges_are_at_most_the_distance(either, dtype):
    rng = np.random.default_rng(0)
    for time, window in ((1, 0), (19, 2), (33, 5)):
        A, B = (rng.normal(size=(rows, time)).astype(dtype).cumsum(axis=1) for rows in (3, 4))
        around = [slice(max(0, t - window), t + window + 1) for t in range(time)]
        low, high = (np.stack([of(B[:, one], axis=1) for one in around], axis=1) for of in (np.min, np.max))
        out, distances = np.empty((3, 4), dtype), np.empty((3, 4), dtype)
        either.outside_ranges(out, A, low, high)
        expected = [
            [(np.clip(x, lo, hi) - x) @ (np.clip(x, lo, hi) - x) for lo, hi in zip(low, high, strict=True)] for x in A
        ]
        np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)
        starts = [np.arange(len(X) + 1) * time for X in (A, B)]
        either.dtw(distances, A.reshape(-1, 1), starts[0], B.reshape(-1, 1), starts[1], window)
        assert (out <= distances * (1 + 1e-5)).all()
