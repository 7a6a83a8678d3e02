"""Learners on a device: ridge regression, k-means and neighbors on tensors give the results for arrays."""

import io
import pickle
import warnings

import learners
import numpy as np
import pytest
from sklearn.base import clone

from similitude import SimilarityClassifier, SimilarityRegressor
from similitude.engines import LocalEngine, TorchEngine
from similitude.estimators import without_evaluation
from similitude.kernels import Gaussian, Linear, Polynomial, Sigmoid, Spectrum
from similitude.learners import (
    KernelKMeans,
    KernelRidge,
    KernelRidgeClassifier,
    SimilarityKNeighborsClassifier,
    SimilarityKNeighborsRegressor,
)
from similitude.learners import ridge as ridge_module
from similitude.learners.clusters import kernel_kmeans
from similitude.learners.clusters.kernel_kmeans import Clustering, FeatureInnerProducts, GramInnerProducts
from similitude.learners.neighbors.tiles import NearestColumns, NearestOnDevice

torch = pytest.importorskip("torch", reason="torch is not installed")

from similitude.compute.encodings import as_numpy  # noqa: E402 (only where torch is)
from similitude.compute.engines.torch import engine as torch_engine  # noqa: E402

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


@pytest.fixture(autouse=True)
def card_or_skip(request):
    if request.node.get_closest_marker("gpu") and not torch.cuda.is_available():
        pytest.skip("torch sees no CUDA device")


def vectors(n, dtype=np.float64, seed=0):
    return np.abs(np.random.default_rng(seed).normal(size=(n, 4))).astype(dtype)


def both(cls, kernel, device, **parameters):
    return (cls(kernel, engine=engine, **parameters) for engine in (TorchEngine(device=device), LocalEngine()))


# Every estimator.

METHODS = ("predict", "decision_function", "predict_proba", "score_samples", "p_values", "transform", "nearest")
ESTIMATORS = [*learners.CLASSIFIERS, *learners.REGRESSORS, *learners.CLUSTERERS, *learners.DETECTORS]
ESTIMATORS += [*learners.INDEXES, *learners.OF_VECTORS, *learners.MAPS, *learners.EMBEDDINGS]
ESTIMATORS += [learners.MAPS_OF_VECTORS[0], learners.MAPS_OF_VECTORS[-1]]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
def test_tensors_are_answered_by_tensors(estimator):
    X = np.random.default_rng(0).normal(size=(24, 3))
    y = X[:, 0] if estimator in learners.REGRESSORS else np.where(X[:, 0] > 0, 1, -1)
    with without_evaluation():
        model = clone(estimator).fit(torch.tensor(X), torch.tensor(y))
        for name in METHODS:
            if hasattr(model, name):
                found, again = (getattr(model, name)(one) for one in (torch.tensor(X[:4]), X[:4]))
                for one, other in zip(*((v if isinstance(v, tuple) else (v,)) for v in (found, again)), strict=True):
                    assert isinstance(one, torch.Tensor), name
                    np.testing.assert_allclose(one.numpy(), other, rtol=1e-6, atol=1e-9)
        if hasattr(model, "fit_predict"):
            assert isinstance(clone(estimator).fit_predict(torch.tensor(X)), torch.Tensor)
        if hasattr(model, "score"):
            assert isinstance(float(model.score(torch.tensor(X), torch.tensor(y))), float)


# Neighbors.


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("seed", range(60))
def test_the_nearest_are_those_of_arrays_and_ties_go_by_index(seed, device):
    rng = np.random.default_rng(seed)
    k, levels, step = rng.integers(1, 7), rng.integers(1, 5), rng.integers(1, 10)
    far = rng.integers(0, levels, (5, 12)).astype(float)
    far[0, 3] = np.inf
    plain, there = NearestColumns(5, k), NearestOnDevice(5, k, torch.zeros(1, device=device))
    for start in range(0, 12, step):
        for down in (slice(0, 3), slice(3, 5)):
            tile = down, slice(start, min(start + step, 12))
            plain.look_at(tile, far[tile].copy())
            there.look_at(tile, torch.from_numpy(far[tile].copy()).to(device))
    np.testing.assert_array_equal(there.far.cpu(), plain.far)
    np.testing.assert_array_equal(there.which.cpu(), plain.which)
    np.testing.assert_array_equal(plain.which, np.argsort(far, axis=1, kind="stable")[:, :k])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("k", [Gaussian(1.5), Linear(), Polynomial(2)], ids=repr)
def test_neighbors_are_those_of_the_local_engine(monkeypatch, k, device):
    monkeypatch.setattr(TorchEngine, "tile_edge", property(lambda self: 32))  # several tiles
    X, new = vectors(60), vectors(50, seed=1)
    if not isinstance(k, Gaussian):  # ties, of whole numbers: their products are equal wherever they are computed
        X, new = X.round(), new.round()
    found, wanted = both(SimilarityKNeighborsClassifier, k, device, n_neighbors=7, weights="distance")
    for model in (found, wanted):
        model.fit(X, np.arange(60) % 3)
    sent = []
    monkeypatch.setattr(torch_engine, "as_numpy", lambda tensor: sent.append(tensor.shape) or as_numpy(tensor))
    for asked in (new, None):
        (far, which), (far_wanted, which_wanted) = found.kneighbors(asked), wanted.kneighbors(asked)
        np.testing.assert_allclose(far, far_wanted, atol=1e-7)
        np.testing.assert_array_equal(which, which_wanted)
    assert not sent  # no tile came back
    np.testing.assert_allclose(found.predict_proba(new), wanted.predict_proba(new), atol=1e-6)


@pytest.mark.parametrize("device", DEVICES)
def test_tensors_in_tensors_out_but_for_words(device):
    X, words = torch.from_numpy(vectors(40)).to(device), np.array(["near", "far"])
    numbers = (X[:, 0] > X[:, 1]).cpu().numpy().astype(int)
    for model in (
        SimilarityKNeighborsClassifier(),
        KernelRidgeClassifier(),
        SimilarityKNeighborsRegressor(),
        KernelRidge(),
    ):
        assert model.fit(X, numbers).predict(X).device.type == device
    found = KernelKMeans(n_clusters=2, random_state=0)
    assert found.fit_predict(X).device.type == device and found.transform(X).device.type == device
    assert isinstance(found.labels_, np.ndarray)
    for model in (SimilarityKNeighborsClassifier(), KernelRidgeClassifier()):
        assert model.fit(X, words[numbers]).predict(X).dtype.kind == "U"


class NoTensors(pickle.Pickler):
    """Fails where a tensor is written: it could not be read without its device."""

    def persistent_id(self, value):
        assert not isinstance(value, torch.Tensor)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "model", [SimilarityClassifier("gaussian"), SimilarityClassifier(), SimilarityRegressor("gaussian"), KernelRidge()]
)
def test_a_model_of_tensors_is_pickled_without_them(model, device):
    X = torch.from_numpy(vectors(60)).to(device)
    model = clone(model).fit(X, (X[:, 0] > X[:, 1]).cpu().numpy().astype(int))
    file = io.BytesIO()
    NoTensors(file).dump(model)
    loaded = pickle.loads(file.getvalue())
    wanted = as_numpy(model.predict(X))
    assert np.allclose(loaded.predict(as_numpy(X)), wanted, rtol=0, atol=1e-5)
    assert loaded.predict(X).device.type == device and np.allclose(as_numpy(loaded.predict(X)), wanted, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_predictions_for_tensors_are_those_for_arrays(device):
    X, rng = torch.from_numpy(vectors(90)).to(device), np.random.default_rng(3)
    words, numbers = np.array(["a", "b", "c"]), rng.integers(0, 3, 90)
    for classes in (numbers, numbers > 0):
        model = SimilarityClassifier(Gaussian(1.0), random_state=0).fit(X, classes)
        for method in ("predict", "decision_function", "predict_proba"):
            found, wanted = getattr(model, method)(X), getattr(model, method)(as_numpy(X))
            assert isinstance(found, torch.Tensor) and np.allclose(as_numpy(found), wanted, atol=1e-6)
    assert SimilarityClassifier(Gaussian(1.0)).fit(X, words[numbers]).predict(X).dtype.kind == "U"


# k-means.


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("how", [{}, {"n_landmarks": 25}])
def test_clusters_are_those_of_the_local_engine(how, device):
    X, s = vectors(150), np.random.default_rng(1).integers(0, 3, 150)
    found, wanted = both(KernelKMeans, Gaussian(0.7), device, n_clusters=5, random_state=0, **how)
    found.fit(X, sample_weight=s)
    wanted.fit(X, sample_weight=s)
    np.testing.assert_array_equal(found.labels_, wanted.labels_)
    assert found.inertia_ == pytest.approx(wanted.inertia_) and found.n_iter_ == wanted.n_iter_
    np.testing.assert_allclose(found.dual_coef_, wanted.dual_coef_, atol=1e-9)
    assert found.notes_ == []


@pytest.mark.parametrize("device", DEVICES)
def test_lloyd_is_that_of_arrays_and_fills_empty_clusters(monkeypatch, device):
    points = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0], [4.0, 0.0]])
    for seeds in ([0, 0, 0, 1, 1], None):
        if seeds:
            monkeypatch.setattr(
                "similitude.learners.clusters.kernel_kmeans.seeded",
                lambda space, weights, *_, seeds=seeds: (
                    torch.tensor(seeds, device=device) if isinstance(weights, torch.Tensor) else np.array(seeds)
                ),
            )
        else:
            monkeypatch.undo()
        for space in (FeatureInnerProducts, lambda P: GramInnerProducts(P @ P.T)):
            found, wanted = (
                Clustering(space(P), np.ones(5), 3, np.random.default_rng(0), 50, 0.0)
                for P in (torch.from_numpy(points).to(device), points)
            )
            np.testing.assert_array_equal(found.labels, wanted.labels)
            assert len(np.unique(found.labels)) == 3 and found.inertia == pytest.approx(wanted.inertia)


# Ridge.


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("lam", [0.5, 0.0, [0.0, 1e-3, 1.0], "auto"], ids=str)
def test_ridge_is_that_of_the_local_engine(lam, intercept, device):
    X = vectors(60)
    X[50:] = X[:10]  # singular
    y, s = np.stack([X[:, 0] ** 2, X[:, 1]], axis=1), np.random.default_rng(1).integers(0, 3, 60)
    for k in (Gaussian(1.5), Linear()):
        found, wanted = both(KernelRidge, k, device, lam=lam, fit_intercept=intercept)
        found.fit(X, y, s)
        wanted.fit(X, y, s)
        if lam != "auto":  # without noise rounding decides between small ones
            assert found.lam_ == pytest.approx(wanted.lam_)
        np.testing.assert_allclose(found.predict(X), wanted.predict(X), atol=1e-6)
        assert isinstance(found.dual_coef_, np.ndarray) and isinstance(found.intercept_, np.ndarray)
        if lam not in (0.5, 0.0):
            np.testing.assert_allclose(found.loo_errors_, wanted.loo_errors_, rtol=1e-3, atol=1e-9)
        assert found.notes_ == []


def test_one_example_and_words_and_a_matrix():
    engine = TorchEngine(device="cpu")
    assert KernelRidge("linear", engine=engine).fit([[1.0]], [3.0]).predict([[9.0]]) == [3.0]
    words = ["kernel", "kerning", "margin", "margins"]
    found, wanted = both(KernelRidge, Spectrum(p=2), "cpu", lam=0.1)
    np.testing.assert_allclose(
        found.fit(words, np.arange(4.0)).predict(words), wanted.fit(words, np.arange(4.0)).predict(words)
    )
    assert "does not work on tensors" in str(found.notes_)
    X = vectors(20)
    found, wanted = both(KernelRidge, "precomputed", "cpu", lam="auto")
    K, before = X @ X.T, X @ X.T
    np.testing.assert_allclose(found.fit(K, X[:, 0]).predict(K), wanted.fit(K, X[:, 0]).predict(K), atol=1e-8)
    np.testing.assert_array_equal(K, before)


def test_what_is_no_kernel_is_refused_with_its_witness():
    X = 3 * vectors(40) - 2
    for model in (KernelRidge, KernelKMeans):
        with pytest.raises(ValueError, match="not a kernel"):
            model(Sigmoid(2.0, -1.0), engine=TorchEngine(device="cpu")).fit(X, X[:, 0])
    definite = X[:2]
    KernelRidge(abs(Gaussian(1.0)), engine=TorchEngine(device="cpu")).fit(definite, [0.0, 1.0])


# Too large for the device.


def test_a_matrix_that_the_device_cannot_hold_is_worked_on_by_the_cpu_which_is_said():
    X = vectors(100)
    engine = TorchEngine(device="cpu", memory="150KiB")  # the matrix takes 80 kB, more than a quarter of it
    ridge = KernelRidge(Gaussian(1.0), lam=0.1, engine=engine).fit(X, X[:, 0])
    assert ridge.notes_ == ["the Gram matrix was factorized on the CPU, not on cpu"]
    np.testing.assert_allclose(ridge.predict(X), KernelRidge(Gaussian(1.0), lam=0.1).fit(X, X[:, 0]).predict(X))
    means = KernelKMeans(Gaussian(1.0), n_clusters=2, random_state=0, engine=engine).fit(X)
    assert means.notes_ == ["Lloyd's iterations were done on the CPU, not on cpu"]


@pytest.mark.parametrize(
    "model", [KernelRidge(), KernelKMeans(n_clusters=2), SimilarityKNeighborsRegressor()], ids=repr
)
def test_out_of_memory_in_the_algebra_leaves_no_half_fitted_model(monkeypatch, model):
    def never(*args, **kwargs):
        raise torch.OutOfMemoryError("on purpose")

    X = vectors(30)
    model.set_params(engine=TorchEngine(device="cpu"))
    before = set(vars(model))
    monkeypatch.setattr(kernel_kmeans, "Clustering", never)
    monkeypatch.setattr(ridge_module, "Gram", never)
    monkeypatch.setattr("similitude.learners.neighbors.tiles.NearestOnDevice", never)
    with warnings.catch_warnings(), pytest.raises(MemoryError, match="30 objects does not fit on cpu"):
        model.fit(X, X[:, 0]).predict(X)
    assert set(vars(model)) == before or isinstance(model, SimilarityKNeighborsRegressor)
