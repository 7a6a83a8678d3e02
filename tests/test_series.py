"""Time series: how they come in, dynamic time warping, and the global alignment kernel."""

import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from similitude import FromPairs, as_similarity, check_kernel, use_engine
from similitude.compute import loops
from similitude.compute.encodings import count, keys, rows
from similitude.compute.loops.reference.series import global_alignment
from similitude.engines import LocalEngine
from similitude.kernels import DTW, GlobalAlignment
from similitude.kernels.series.encoding import as_series
from similitude.learners import KernelSVC
from similitude.maps import LandmarkMap

fast = pytest.mark.skipif(not loops.COMPILED, reason="missing: the compiled module similitude.compute.loops._compiled")
RAGGED = [[0.0, 1.0, 2.0], [0.0, 0.0, 1.0, 3.0], [2.0], [1.0, -1.0, 1.0, -1.0, 1.0]]


def waves(n, time=40, channels=0, seed=0, dtype=np.float64):
    """Return noisy waves of two frequencies, and which."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    shape = (n, time, channels) if channels else (n, time)
    at = np.arange(time)[:, None] if channels else np.arange(time)
    phase = rng.random((n, *([1] * (len(shape) - 1))))
    pitch = (0.2 + 0.15 * y).reshape(phase.shape)
    return (np.sin(pitch * at + phase) + 0.1 * rng.normal(size=shape)).astype(dtype), y


def ragged(n, channels=2, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(int(rng.integers(3, 12)), channels)).astype(dtype) for _ in range(n)]


# Input.


@pytest.mark.parametrize(
    ("X", "lengths", "channels"),
    [
        (np.zeros((3, 4)), [4, 4, 4], 1),
        (np.zeros((2, 4, 3)), [4, 4], 3),
        ([[1, 2, 3], [4.5]], [3, 1], 1),
        ([np.zeros((2, 3)), np.zeros((5, 3))], [2, 5], 3),
        ((np.zeros(2), [1, 2]), [2, 2], 1),
        (pd.DataFrame(np.zeros((2, 3))), [3, 3], 1),
        (pl.DataFrame(np.zeros((2, 3))), [3, 3], 1),
        (pd.Series([[1, 2], [3, 4, 5]]), [2, 3], 1),
        ([pd.Series([1.0, 2.0]), pl.Series([1.0, 2.0, 3.0])], [2, 3], 1),
        ([pd.DataFrame({"a": [1, 2], "b": [3, 4]})], [2], 2),
        (np.array([[1, 2], [3, 4]], np.int32), [2, 2], 1),
        (np.zeros((2, 6))[:, ::2], [3, 3], 1),
    ],
)
def test_series_as_people_have_them(X, lengths, channels):
    A = as_series(X)
    assert count(A) == len(lengths) and list(A.lengths) == lengths and A.channels == channels
    assert A.dtype == np.float64 and A.values.flags.c_contiguous
    assert DTW().gram(X).shape == (len(lengths), len(lengths))


def test_single_precision_is_kept_where_all_series_have_it():
    one, two = np.zeros(3, np.float32), np.zeros(2, np.float32)
    assert as_series([one, two]).dtype == as_series(np.zeros((2, 3), np.float16)).dtype == np.float32
    assert as_series([one, np.zeros(2)]).dtype == np.float64
    for k in (DTW(sigma=1.0), GlobalAlignment(sigma=1.0)):
        assert k.gram([one, two]).dtype == np.float32 and k.diag([one, two]).dtype == np.float32
        assert k.cross([one, two], [np.zeros(3)]).dtype == np.float64


BAD = {
    "series 1 is nan at position 2:": [[1.0, 2.0], [0.0, 1.0, math.nan]],
    "series 0 is None at position 1:": [[1.0, None], [1.0]],
    "series 1 is inf at position 0, channel 1": [np.zeros((2, 2)), np.array([[0.0, math.inf]])],
    "series 1 is nan at position 3:": np.array([[0.0] * 4, [0.0] * 3 + [math.nan]]),
    "series 1 is nan at position 0, channel 2": np.stack([np.zeros((2, 3)), [[0, 0, math.nan], [0, 0, 0]]]),
    "series 0 has no value at position 1": np.ma.masked_array([[1.0, 2.0]], [[False, True]]),
    "series 1 is <NA> at position 1": [[1, 2], pd.Series([1, pd.NA], dtype=object)],
    "series 2 is empty": [[1.0], [2.0], []],
    "series 0 is empty": np.zeros((3, 0)),
    "series 1 has 3, series 0 has 2": [np.zeros((4, 2)), np.zeros((4, 3))],
    "shape .* series 1 has": [[1.0, 2.0], np.zeros((2, 2, 2))],
    "X holds no objects": [],
}


@pytest.mark.parametrize("message", BAD)
def test_bad_series_are_refused_by_name(message):
    for k in (DTW(), GlobalAlignment()):
        with pytest.raises(ValueError, match=message):
            k.gram(BAD[message])


@pytest.mark.parametrize("X", [[1.0, 2.0], np.arange(3.0), ["abc", "d"], [["a", "b"]], [[1, 2j]], [[[1, 2], [3]]]])
def test_what_is_no_series_is_refused(X):
    with pytest.raises(TypeError, match="series"):
        DTW().gram(X)


def test_new_series_need_the_same_channels():
    k = GlobalAlignment(sigma=1.0)
    with pytest.raises(ValueError, match="X have 1 channels, those of Z 2"):
        k.cross([[1.0, 2.0]], [np.zeros((3, 2))])


def test_encodings_are_sliced():
    X = ragged(9)
    A = GlobalAlignment(sigma=1.0).encode(X)
    for which in (slice(2, 5), slice(None, None, -2), np.array([7, 0, 7]), slice(3, 3), np.array([], int)):
        part = rows(A, which)
        chosen = np.arange(9)[which]
        assert len(part) == len(chosen)
        for i, j in enumerate(chosen):
            np.testing.assert_array_equal(part.values[part.starts[i] : part.starts[i + 1]], X[j])
            assert part.norms[i] == A.norms[j]


def test_equal_series_have_equal_keys():
    a, b, c = keys(as_series([[1.0, 2.0], [1.0, 2.0, 3.0], [1.0, 2.0]])).tolist()
    assert a == c != b


@pytest.mark.parametrize("k", [DTW(window=3), GlobalAlignment(sigma=2.5)])
def test_copies_are_equal(k):
    assert clone(k) == k == pickle.loads(pickle.dumps(k))
    assert as_similarity("dtw") == DTW() and as_similarity("global_alignment") == GlobalAlignment()


def test_windows_of_any_size():
    expected = DTW().distances(RAGGED)
    for window in (10**6, 2**62, 2**63 - 1, 2**80, np.int64(2**63 - 1)):
        np.testing.assert_array_equal(DTW(window=window).distances(RAGGED), expected)


def test_a_tiny_sigma_in_single_precision():
    X = np.array([[0.0, 1.0], [0.0, 1.5]], np.float32)
    np.testing.assert_array_equal(DTW(sigma=1e-45).gram(X), np.eye(2))
    np.testing.assert_array_equal(GlobalAlignment(sigma=1e-45).gram(X), np.eye(2))


@pytest.mark.parametrize("window", [-1, 1.5, -0.1, True, "all", math.nan])
def test_windows_that_are_none(window):
    with pytest.raises(ValueError, match="window must be"):
        DTW(window=window).gram(RAGGED)
    with pytest.raises(ValueError, match="window must be"):
        DTW(window=window).distances(RAGGED)


@pytest.mark.parametrize("k", [DTW(sigma=0.0), DTW(sigma="mean"), GlobalAlignment(sigma=-1.0), GlobalAlignment("auto")])
def test_scales_that_are_none(k):
    with pytest.raises(ValueError, match="sigma must be"):
        k.gram(RAGGED)


@fast
@pytest.mark.parametrize("k", [DTW(sigma=9.0, window=0.2), GlobalAlignment(sigma=5.0)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_and_tiles_change_nothing(k, dtype):
    X, _ = waves(150, 20, dtype=dtype)
    with use_engine(LocalEngine(threads=1)):
        whole, cross = k.gram(X), k.cross(X[:90], X[90:])
    with use_engine(LocalEngine(threads=3)):
        np.testing.assert_allclose(k.gram(X), whole, rtol=1e-5 if dtype == np.float32 else 1e-12)
        np.testing.assert_allclose(k.cross(X[:90], X[90:]), cross, rtol=1e-5 if dtype == np.float32 else 1e-12)
    assert (whole == whole.T).all()


def test_small_matrices_are_cut_so_that_threads_share_them():
    def pieces(k, threads):
        resolved, A = k.prepare(waves(130, 3)[0])
        return len(list(resolved.blocks(A, engine=LocalEngine(threads=threads)).tiles()))

    for k in (DTW(), GlobalAlignment(), GlobalAlignment() * 2.0):
        assert pieces(k, 1) == 1 and pieces(k, 2) == 10


# Time warping.


def test_equal_series_have_no_distance_and_stretched_ones_neither():
    D = DTW().distances([[1.0, 2.0, 3.0], [1.0, 1.0, 2.0, 3.0, 3.0], [1.0, 2.0, 4.0]])
    np.testing.assert_array_equal(D, [[0, 0, 1], [0, 0, 2], [1, 2, 0]])


def test_no_window_is_the_euclidean_square_at_zero_and_more_only_helps():
    X, _ = waves(12, channels=2)
    distances = [DTW(window=w).distances(X) for w in (0, 1, 5, 0.5, None)]
    np.testing.assert_allclose(distances[0], ((X[:, None] - X[None]) ** 2).sum((2, 3)))
    for wider, narrow in zip(distances[1:], distances[:-1], strict=True):
        assert (wider <= narrow + 1e-12).all()
    np.testing.assert_array_equal(DTW(window=1.0).distances(X), distances[-1])
    np.testing.assert_array_equal(DTW(window=0.25).distances(X), DTW(window=10).distances(X))


@fast
def test_sigma_is_the_median_distance():
    X, _ = waves(30)
    D = DTW().distances(X)
    k = DTW().resolve(X)
    assert k.sigma == pytest.approx(np.median(D[np.triu_indices(30, 1)]))
    np.testing.assert_allclose(k.gram(X), np.exp(-D / k.sigma))
    assert DTW().resolve(waves(300, 10)[0]).sigma > 0
    assert DTW().resolve([[1.0, 2.0]] * 3).sigma == 1.0


@fast
def test_time_warping_is_no_kernel_and_a_witness_is_found():
    assert "PSD" not in DTW().claims and "SYMMETRIC" in DTW().claims
    X, _ = waves(60, 25, seed=3)
    assert check_kernel(DTW(sigma=1.0), X).verdict == "INVALID"


@pytest.mark.parametrize("k", [DTW(sigma=1.0), DTW(sigma=50.0), DTW(sigma=1.0, window=0)])
def test_three_series_that_no_kernel_can_treat_so(k):
    """The second is the first, stretched: a similarity of 1, but the third is not equally like both."""
    X = [[0.0, 1.0, 2.0], [0.0, 1.0, 1.0, 2.0], [0.0, 2.0]]
    K = k.gram(X)
    assert K[0, 1] == 1 and np.linalg.eigvalsh(K)[0] < 0
    assert check_kernel(k, X).verdict == "INVALID"
    assert "stretch" in str(k.proof())


# The global alignment kernel.


def test_alignment_is_a_kernel_by_its_proof_and_on_samples():
    assert GlobalAlignment(sigma=1.0).proof().holds
    unclaimed = FromPairs(lambda x, z: GlobalAlignment(sigma=2.0)(x, z), claims=["SYMMETRIC"])
    assert check_kernel(unclaimed, ragged(25, 1)).verdict == "UNKNOWN"
    for sigma in (0.3, 1.0, 5.0, "median"):
        K = GlobalAlignment(sigma).gram(ragged(40, 1, seed=2))
        assert np.linalg.eigvalsh(K)[0] > -1e-12 and (K.diagonal() == pytest.approx(1)) and K.max() <= 1


def test_alignment_by_its_formula():
    X = ragged(7, 2)
    A, out = as_series(X), np.empty((7, 7))
    global_alignment(out, A.values, A.starts, A.values, A.starts, 0.5 / 1.5**2)
    norms = out.diagonal() / 2
    np.testing.assert_allclose(GlobalAlignment(1.5).gram(X), np.exp(out - norms[:, None] - norms))


def test_sigma_is_the_median_distance_of_entries_times_the_root_of_the_length():
    X = [[0.0, 1.0], [3.0]]
    assert GlobalAlignment().resolve(X).sigma == pytest.approx(2.0 * math.sqrt(1.5))


def test_weights_count_as_repetitions():
    X = [[0.0, 1.0], [3.0, 7.0]]
    twice = GlobalAlignment().resolve([X[0], X[0], X[1]]).sigma
    assert GlobalAlignment().resolve(X, sample_weight=[2, 1]).sigma == pytest.approx(twice)


@fast
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_long_series_are_finite(dtype):
    X = np.random.default_rng(0).normal(size=(2, 1_000)).astype(dtype).cumsum(1)
    for sigma in ("median", 1e-3, 1e6):
        K = GlobalAlignment(sigma).gram(X)
        assert np.isfinite(K).all() and K.diagonal() == pytest.approx(1) and 0 <= K[0, 1] <= 1
    assert GlobalAlignment(1e6).gram(X)[0, 1] == pytest.approx(1, abs=1e-3)


@fast
@pytest.mark.deep
def test_series_of_length_10_000_are_finite():
    X = np.random.default_rng(0).normal(size=(2, 10_000)).cumsum(1)
    for sigma in ("median", 1.0, 1e7):
        K = GlobalAlignment(sigma).gram(X)
        assert np.isfinite(K).all() and K.diagonal() == pytest.approx(1)
    assert np.isfinite(DTW().gram(X)).all()


@fast
def test_constant_series_count_paths():
    """With equal entries every path counts 1: the kernel is a Delannoy number."""
    X = np.zeros((1, 5_000))
    A = GlobalAlignment(1.0).encode(X)
    n = 4_999
    leading = 2 * n * math.log(1 + math.sqrt(2)) - 0.5 * math.log(n * math.pi * 4 * (3 * math.sqrt(2) - 4))
    assert 2 * A.norms[0] == pytest.approx(leading, abs=1e-3)


@fast
@pytest.mark.parametrize("sigma", [0.1, 1.0, 10.0])
def test_single_precision_loses_little(sigma):
    X, _ = waves(40, 150)
    gap = GlobalAlignment(sigma).gram(X) - GlobalAlignment(sigma).gram(X.astype(np.float32))
    assert np.abs(gap).max() < 1e-4


# Peers.


def test_time_warping_agrees_with_aeon():
    distances = pytest.importorskip("aeon.distances", reason="missing: aeon")
    X = waves(6, 30, channels=2)[0]
    for window in (None, 0.0, 0.1, 0.3):
        expected = distances.dtw_pairwise_distance(np.swapaxes(X, 1, 2), window=window)
        np.testing.assert_allclose(DTW(window=window).distances(X), expected, atol=1e-12)


def test_time_warping_agrees_with_tslearn():
    metrics = pytest.importorskip("tslearn.metrics", reason="missing: tslearn")
    X = ragged(6)
    for radius in (None, 0, 1, 4):
        band = {} if radius is None else {"global_constraint": "sakoe_chiba", "sakoe_chiba_radius": radius}
        np.testing.assert_allclose(DTW(window=radius).distances(X), metrics.cdist_dtw(X, **band) ** 2, atol=1e-12)


def test_alignment_agrees_with_tslearn():
    metrics = pytest.importorskip("tslearn.metrics", reason="missing: tslearn")
    X = ragged(6)
    for sigma in (0.5, 2.0, 30.0):
        np.testing.assert_allclose(GlobalAlignment(sigma).gram(X), metrics.cdist_gak(X, sigma=sigma), atol=1e-12)


def test_alignment_gives_the_numbers_in_tslearn_s_documentation():
    k = GlobalAlignment(sigma=2.0)
    assert k([1, 2, 3], [1.0, 2.0, 2.0, 3.0]) == pytest.approx(0.839, abs=1e-3)
    assert GlobalAlignment(1.0)([1, 2, 3], [1.0, 2.0, 2.0, 3.0, 4.0]) == pytest.approx(0.273, abs=1e-3)
    assert k([1, 2, 2], [1.0, 2.0, 3.0, 4.0]) == pytest.approx(0.29722877)


# Learning.


@fast
def test_learners_take_series():
    X, y = waves(80, 30)
    assert KernelSVC(GlobalAlignment(), C=10.0).fit(X[:40], y[:40]).score(X[40:], y[40:]) > 0.9
    linear = make_pipeline(LandmarkMap(DTW(), n_components=20), LogisticRegression())
    assert linear.fit(X[:40], y[:40]).score(X[40:], y[40:]) > 0.9


def test_series_that_begin_at_an_odd_byte():
    X = np.random.default_rng(0).random((4, 6))
    room = np.zeros(X.nbytes + 1, np.uint8)
    odd = room[1:].view(X.dtype).reshape(X.shape)
    odd[...] = X
    for kernel in (DTW(1.0), GlobalAlignment(1.0)):
        np.testing.assert_array_equal(kernel.gram(odd), kernel.gram(X))
