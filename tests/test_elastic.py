"""Elastic similarities of time series (soft warping, MSM, ERP, TWE), and similarities of derivatives."""

import itertools
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from test_series import RAGGED, fast, ragged, waves

from similitude import SimilarityClassifier, as_similarity, check_kernel, load, save
from similitude.kernels import DTW, ERP, MSM, TWE, Derivative, Gaussian, GlobalAlignment, SoftDTW
from similitude.learners import KernelSVC
from similitude.similarity.expressions import parse

ELASTIC = [SoftDTW(0.5), MSM(0.5), ERP(), TWE(0.1, 0.5)]
METRICS = [MSM(0.5), MSM(0.0), ERP(g=0.3), TWE(0.1, 0.5), TWE(nu=1e-3)]
every_elastic = pytest.mark.parametrize("k", ELASTIC, ids=lambda k: type(k).__name__)


@every_elastic
def test_copies_names_and_expressions(k):
    assert clone(k) == k == pickle.loads(pickle.dumps(k)) == parse(repr(k))
    assert parse("msm(c=0.5)") == MSM(0.5) and parse("twe(nu=0.1, lmbda=0.5)") == TWE(0.1, 0.5)
    assert as_similarity("erp") == ERP() and parse("derivative(dtw(window=3))") == Derivative(DTW(window=3))


@every_elastic
def test_similarities_are_exp_of_scaled_distances(k):
    X = ragged(7)
    D = k.distances(X)
    if isinstance(k, SoftDTW):
        D = D - D.diagonal()[:, None] / 2 - D.diagonal() / 2
    resolved = k.resolve(X)
    assert resolved.sigma == pytest.approx(np.median(D[np.triu_indices(7, 1)]))
    np.testing.assert_allclose(resolved.gram(X), np.exp(-D / resolved.sigma), rtol=1e-9)
    np.testing.assert_array_equal(k.distances(X[:3], X), k.distances(X)[:3])
    assert resolved.gram(X).diagonal() == pytest.approx(1.0) and (resolved.diag(X) == 1).all()


@pytest.mark.parametrize("k", METRICS, ids=repr)
def test_metrics_keep_the_triangle_inequality(k):
    """Stefan et al. (2013), Chen and Ng (2004), Marteau (2009); short series of small integers have many ties."""
    rng = np.random.default_rng(0)
    X = [rng.integers(-2, 3, (int(rng.integers(1, 6)), 1 + (k.window is not None))).astype(float) for _ in range(60)]
    D = k.distances(X)
    assert (D >= 0).all() and (D == D.T).all() and (D.diagonal() == 0).all()
    assert (D[:, None] <= D[:, :, None] + D[None] + 1e-12).all()
    different = np.array([[x.shape != z.shape or (x != z).any() for z in X] for x in X])
    if k.g if isinstance(k, ERP) else k != MSM(0.0):
        assert (D[different] > 0).all()


def test_series_that_differ_by_a_gap_value_are_the_same_for_erp():
    np.testing.assert_array_equal(ERP(g=2.0).distances([[1.0, 5.0], [1.0, 2.0, 5.0]]), np.zeros((2, 2)))


def test_msm_does_not_see_a_constant_and_erp_does():
    X = [np.array(one) for one in RAGGED]
    np.testing.assert_allclose(MSM().distances([x + 5 for x in X]), MSM().distances(X))
    assert not np.allclose(ERP().distances([x + 5 for x in X]), ERP().distances(X))


@pytest.mark.parametrize(
    "k",
    [
        *(ERP(g, sigma) for g in (0.0, -3.0) for sigma in (1e-3, 1.0, 100.0)),
        *(MSM(c, sigma) for c, sigma in ((0.01, 1.0), (1.0, 50.0), (0.0, 3.0), (1.0, 1e4))),
        *(TWE(nu, lmbda, sigma) for nu, lmbda, sigma in ((0.001, 1.0, 100.0), (0.001, 0.01, 1.0), (0.5, 0.5, 60.0))),
        *(SoftDTW(1e-3, sigma) for sigma in (0.1, 10.0)),
    ],
    ids=repr,
)
def test_none_is_a_kernel(k):
    verdict = check_kernel(k)
    assert verdict.verdict == "INVALID" and verdict.witness.value < 0
    assert "PSD" not in k.claims and not k.proof().holds


def test_an_open_scale_is_left_to_the_data():
    assert check_kernel(MSM()).verdict == "UNKNOWN" and MSM().counterexamples() == []


BAD = {
    "c must be": MSM(c=-1.0),
    "g must be": ERP(g=float("nan")),
    "nu must be": TWE(nu=-0.1),
    "lmbda must be": TWE(lmbda="1"),
    "gamma must be": SoftDTW(gamma=0.0),
    "sigma must be": MSM(sigma=0.0),
    "window must be": ERP(window=1.5),
}


@pytest.mark.parametrize("message", BAD)
def test_parameters_out_of_range(message):
    with pytest.raises(ValueError, match=message):
        BAD[message].gram(RAGGED)
    with pytest.raises(ValueError, match=message):
        BAD[message].distances(RAGGED) if "sigma" not in message else BAD[message].gram(RAGGED)


@every_elastic
def test_bad_series_are_refused(k):
    with pytest.raises(ValueError, match="series 1 is nan at position 0"):
        k.gram([[1.0], [float("nan")]])
    with pytest.raises(ValueError, match="X have 1 channels, those of Z 2"):
        k.distances([[1.0, 2.0]], [np.zeros((3, 2))])


@fast
@every_elastic
def test_learners_take_them_and_files_keep_them(k, tmp_path):
    X, y = waves(40, 20)
    model = SimilarityClassifier(k, random_state=0).fit(X[:28], y[:28])
    assert model.score(X[28:], y[28:]) > 0.8
    save(model, tmp_path / "model.sim")
    again = load(tmp_path / "model.sim")
    assert again.similarity_ == model.similarity_
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


# Peers.


@pytest.mark.filterwarnings("ignore")  # of numba
def test_distances_agree_with_aeon():
    distances = pytest.importorskip("aeon.distances", reason="missing: aeon")
    X = waves(6, 30, channels=2)[0]
    given = np.swapaxes(X, 1, 2)
    for window in (None, 0.1, 0.3):
        msm = distances.msm_pairwise_distance(given, c=0.7, window=window)
        np.testing.assert_allclose(MSM(0.7, window=window).distances(X), msm, atol=1e-12)
        twe = distances.twe_pairwise_distance(given, nu=0.05, lmbda=0.7, window=window)
        np.testing.assert_allclose(TWE(0.05, 0.7, window=window).distances(X), twe, atol=1e-12)
        soft = distances.soft_dtw_pairwise_distance(given, gamma=0.3, window=window)
        others = ~np.eye(6, dtype=bool)  # it sets the diagonal to 0, and takes absolute values
        np.testing.assert_allclose(np.abs(SoftDTW(0.3, window=window).distances(X))[others], soft[others])
        erp = distances.erp_pairwise_distance(given, window=window)  # charges the whole series for gaps at its start
        assert (ERP(window=window).distances(X) <= erp + 1e-12).all()


def test_soft_warping_agrees_with_tslearn():
    metrics = pytest.importorskip("tslearn.metrics", reason="missing: tslearn")
    X = ragged(6)
    np.testing.assert_allclose(SoftDTW(0.5).distances(X), metrics.cdist_soft_dtw(X, gamma=0.5))
    normalized = metrics.cdist_soft_dtw_normalized(X, gamma=0.5)
    np.testing.assert_allclose(SoftDTW(0.5, sigma=2.0).gram(X), np.exp(-normalized / 2.0))


# Derivatives.


def slope(x, i):
    """The estimate of Keogh and Pazzani (2001), section 3.1; at the ends that of the neighbor."""
    i = min(max(i, 1), len(x) - 2)
    return ((x[i] - x[i - 1]) + (x[i + 1] - x[i - 1]) / 2) / 2


def test_derivatives_by_their_formula():
    X = [np.array(one) for one in ([0.0, 1.0, 5.0, 2.0], [3.0, 1.0, 4.0], [1.0, -1.0, 1.0, -1.0, 1.0])]
    expected = [[slope(x, i) for i in range(len(x))] for x in X]
    np.testing.assert_array_equal(Derivative(DTW()).encode(X).values.ravel(), np.concatenate(expected))
    np.testing.assert_array_equal(Derivative(DTW(1.0)).gram(X), DTW(1.0).gram(expected))
    assert Derivative(GlobalAlignment()).resolve(X).k == GlobalAlignment().resolve(expected)


def test_derivatives_of_short_series_and_of_channels():
    short = Derivative(DTW()).encode([[1.0, 3.0], [5.0], [2.0, 2.5]])
    assert short.values.ravel().tolist() == [2.0, 2.0, 0.0, 0.5, 0.5]
    X = np.random.default_rng(0).normal(size=(3, 6, 2))
    both = Derivative(DTW()).encode(X).values.reshape(3, 6, 2)
    for c, i in itertools.product(range(2), range(3)):
        np.testing.assert_allclose(both[i, :, c], [slope(X[i, :, c], t) for t in range(6)])


@pytest.mark.filterwarnings("ignore")  # of numba
def test_derivatives_agree_with_aeon_between_the_ends():
    distances = pytest.importorskip("aeon.distances", reason="missing: aeon")
    X = waves(3, 20, channels=2)[0]
    found = Derivative(DTW()).encode(X).values.reshape(3, 20, 2)
    expected = distances.ddtw_pairwise_distance(np.swapaxes(X, 1, 2))  # leaves both ends out
    np.testing.assert_allclose(DTW().distances(found[:, 1:-1]), expected)


def test_a_kernel_of_derivatives_is_a_kernel():
    assert check_kernel(Derivative(GlobalAlignment(1.0))).verdict == "VALID"
    assert Derivative(DTW()).claims == DTW().claims and check_kernel(Derivative(DTW())).verdict == "UNKNOWN"
    X, y = waves(40, 20)
    assert KernelSVC(Derivative(GlobalAlignment())).fit(X[:28], y[:28]).score(X[28:] + 10.0, y[28:]) > 0.8


@pytest.mark.parametrize("k", [Gaussian(), "dtw", 3])
def test_derivatives_are_of_series(k):
    with pytest.raises(TypeError, match="Derivative takes a similarity of series"):
        Derivative(k).gram(RAGGED)
