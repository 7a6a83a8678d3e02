"""TorchEngine gives the results of LocalEngine, on the CPU and, if there is one, on a GPU."""

import pickle
import warnings
from itertools import product

import numpy as np
import pytest
from market import SIMILARITIES, agree_on

from similitude import FromPairs, SimilarityClassifier, SimilarityRegressor, load, save, use_engine
from similitude.checks import check_engine
from similitude.compute.encodings import as_numpy
from similitude.engines import LocalEngine, TorchEngine, current_engine, engine_for
from similitude.errors import PairError
from similitude.estimators import base
from similitude.fitting import choices, fit, limits, products
from similitude.fitting.influence import DelayedInfluence, GroupInfluence
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
    Spectrum,
)
from similitude.kernels.vectors import DistanceSimilarity
from similitude.learners import (
    KernelKMeans,
    KernelRidge,
    KernelRidgeClassifier,
    KernelSVC,
    SimilarityKNeighborsClassifier,
    SimilarityKNeighborsRegressor,
)
from similitude.linear import landmark_ridge
from similitude.maps import CompactMap, FourierMap, LandmarkMap, ProjectionMap

torch = pytest.importorskip("torch", reason="torch is not installed")

GPU = pytest.param("cuda", marks=pytest.mark.gpu)
DEVICES = ["cpu", GPU]
PRECISIONS = [np.float32, np.float64]
TOLERANCE = {np.float32: 3e-5, np.float64: 1e-10}

KERNELS = [
    Gaussian(sigma=2.0),
    Laplace(sigma=1.5),
    Laplace(sigma=1.5, norm=1),
    Matern(nu=0.5, length=2.0),
    Matern(nu=1.5, length=2.0),
    Matern(nu=2.5, length=2.0),
    RationalQuadratic(alpha=1.3, length=2.0),
    Polynomial(degree=3, scale=0.2),
    Linear(),
    Cosine(),
    Sigmoid(scale=0.1, coef0=0.2),
    HistogramIntersection(),
    2.0 * Gaussian(sigma=2.0) + 0.5 * Linear() + 1.0,
    Gaussian(sigma=2.0) * Polynomial(degree=2),
    Polynomial(degree=2).normalized(),
]


@pytest.fixture(autouse=True)
def card_or_skip(request):
    if request.node.get_closest_marker("gpu") and not torch.cuda.is_available():
        pytest.skip("torch sees no CUDA device")


def vectors(n, dtype=np.float64, d=4, seed=0):
    return np.abs(np.random.default_rng(seed).normal(size=(n, d))).astype(dtype)


def close(found, wanted, dtype, factor=1.0):
    found = np.asarray(found.cpu() if isinstance(found, torch.Tensor) else found)
    assert found.shape == wanted.shape
    scale = max(1.0, float(np.abs(wanted).max()))
    assert np.abs(found - wanted).max() <= factor * TOLERANCE[dtype] * scale


# Tiles.


@pytest.mark.parametrize("device", DEVICES)
def test_contract(device):
    check_engine(TorchEngine(device=device))
    check_engine(TorchEngine(device=device, memory="1MiB"))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", SIMILARITIES)
def test_every_similarity_is_that_of_one_thread(name, device):
    agree_on(TorchEngine(device=device), name, 3e-5 if "float32" in name else 1e-10)


class OnTensors:
    """What a device sees of a tile: who is there, and whether both sides are one object."""

    threadsafe = on_tensors = True

    def __call__(self, a, b):
        assert isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)
        if (a == 21).any() and (b == 2).any():
            raise PairError(int((a == 21).nonzero()[0]), int((b == 2).nonzero()[0]), "on purpose")
        return torch.stack([a[0], b[0], torch.tensor(float(a is b), device=a.device)])

    def joined(self, parts):
        return parts[0]


@pytest.mark.parametrize("device", DEVICES)
def test_the_contract_holds_for_tasks_that_run_on_the_device(device):
    numbers = np.arange(20.0)
    pieces = [slice(0, 7), slice(7, 14), slice(14, 20)]
    tiles = [(down, right) for down in pieces for right in pieces]
    found = [tuple(one) for one in TorchEngine(device=device).run(OnTensors(), numbers, numbers, tiles)]
    assert found == [(down.start, right.start, down == right) for down, right in tiles]
    more = np.arange(40.0)
    with pytest.raises(PairError, match=r"pair \(21, 2\)"):
        list(TorchEngine(device=device).run(OnTensors(), more, more, [(slice(20, 40), slice(0, 40))]))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_matrices_and_products_are_those_of_the_local_engine(k, dtype, device):
    X, Z, v = vectors(60, dtype), vectors(33, dtype, seed=1), np.random.default_rng(2).normal(size=(33, 2))
    A, B = k.encode(X), k.encode(Z)
    wanted = k.cross(X, Z)
    with use_engine(TorchEngine(device=device, memory="256KiB")):
        found = k.cross(X, Z)
        assert isinstance(found, np.ndarray) and found.dtype == dtype
        close(found, wanted, dtype)
        close(k.gram(X), k.cross(X, X), dtype)
        close(k.blocks(A, B).times(v), wanted.astype(float) @ v, dtype, 10)
        close(k.blocks(A, B).transposed_times(wanted[:, 0]), wanted.T.astype(float) @ wanted[:, 0], dtype, 10)
    tensors = k.cross(torch.from_numpy(X).to(device), torch.from_numpy(Z).to(device))
    assert isinstance(tensors, torch.Tensor) and tensors.device.type == device
    close(tensors, wanted, dtype)


def test_a_matern_kernel_without_a_formula_and_strings_run_on_the_cpu():
    k, X = Matern(nu=0.7, length=1.0), vectors(20)
    engine = TorchEngine(device="cpu")
    assert "on the CPU" in engine.fallback_note(k)
    assert engine.fallback_note(Gaussian(sigma=1.0)) is None
    words = ["kernel", "kerning", "margin"]
    with use_engine(engine):
        np.testing.assert_array_equal(k.cross(X, X[:5]), k.block(X, X[:5]))
        np.testing.assert_array_equal(Spectrum(p=2).gram(words), [[5, 3, 0], [3, 6, 1], [0, 1, 5]])
    model = SimilarityClassifier(Spectrum(p=2), engine=engine).fit([*words, "margins"], [0, 0, 1, 1])
    assert "does not work on tensors" in str(model.notes_)
    assert SimilarityClassifier(engine=engine).fit(vectors(30), np.arange(30) % 2).notes_ == []


def test_a_function_of_ones_own_and_sparse_rows_run_on_the_cpu():
    from scipy.sparse import csr_array

    X = vectors(12)
    own = FromPairs(lambda x, z: float(x @ z))
    with use_engine(TorchEngine(device="cpu")):
        np.testing.assert_allclose(own.gram(X), X @ X.T)
        np.testing.assert_allclose(Gaussian(sigma=1.0).gram(csr_array(X)), Gaussian(sigma=1.0).gram(X), atol=1e-12)
        blocks = Gaussian(sigma=1.0).blocks(csr_array(X))
        np.testing.assert_allclose(blocks.times(np.ones(12)), Gaussian(sigma=1.0).gram(X).sum(1))


def test_a_block_written_below_a_kernel_is_not_taken_for_it():
    class Doubled(Gaussian):
        def block(self, A, B):
            return 2.0 * np.exp(-((A[:, None] - B[None]) ** 2).sum(-1))

    assert not Doubled(sigma=1.0).hints.on_tensors and Doubled(sigma=1.0).hints.profile is None
    with use_engine(TorchEngine(device="cpu")):
        assert Doubled(sigma=1.0).gram(vectors(5))[0, 0] == 2.0


@pytest.mark.parametrize("device", DEVICES)
def test_rows_that_do_not_fit_are_streamed(device, tmp_path):
    X, Z = vectors(3000, np.float32), vectors(20, np.float32, seed=1)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    engine, k = TorchEngine(device=device, memory="64KiB"), Gaussian(sigma=2.0)
    operator = engine.operator(k, mapped, Z)
    assert len(list(operator.pieces())) > 3
    K = k.block(X.astype(float), Z.astype(float))
    v = np.random.default_rng(0).normal(size=20)
    close(operator.product(v, transposed=False), K @ v, np.float32)
    close(operator.product(K @ v, transposed=True), K.T @ (K @ v), np.float32)
    again = engine.operator(k, mapped, Z).product(v, transposed=False)
    np.testing.assert_array_equal(again, engine.operator(k, mapped, Z).product(v, transposed=False))


class Hungry:
    """Runs out of memory on more than five rows."""

    threadsafe = on_tensors = True

    def __call__(self, a, b):
        if len(a) > 5:
            raise torch.OutOfMemoryError("on purpose")
        if bool((a == 17).any()):
            raise PairError(int((a == 17).nonzero()[0]), 0, "on purpose")
        return a[:, None] * b

    def joined(self, parts):
        return torch.cat(parts)


def test_out_of_memory_halves_tiles_and_says_so():
    A, tiles = np.arange(16.0), [(slice(0, 16), slice(0, 16))]
    with pytest.warns(UserWarning, match="did not fit on the device"):
        (found,) = TorchEngine(device="cpu").run(Hungry(), A, A, tiles)
    np.testing.assert_array_equal(found, np.outer(A, A))
    with pytest.warns(UserWarning, match="halves"), pytest.raises(PairError, match=r"pair \(17, 0\)"):
        list(TorchEngine(device="cpu").run(Hungry(), np.arange(20.0), A, [(slice(4, 20), slice(0, 16))]))


def test_one_row_that_does_not_fit_is_refused_and_the_model_is_left_as_it_was(monkeypatch):
    def never(self, A, B, out=None):
        if isinstance(A, torch.Tensor):
            raise torch.OutOfMemoryError("on purpose")
        return usual(self, A, B, out)

    X, usual = vectors(8), DistanceSimilarity.block
    monkeypatch.setattr("similitude.kernels.vectors.DistanceSimilarity.block", never)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(MemoryError, match="one row does not fit"):
            TorchEngine(device="cpu").run(*_one_tile(X)).__next__()
        ridge = KernelRidge(Gaussian(sigma=1.0), engine=TorchEngine(device="cpu"))
        with pytest.raises(MemoryError, match="one row does not fit"):
            ridge.fit(X, X[:, 0])
    assert not hasattr(ridge, "dual_coef_")


def _one_tile(X):
    from similitude.compute.blocks import BlockTask

    return BlockTask(Gaussian(sigma=1.0)), X, X, [(slice(0, 8), slice(0, 8))]


# Maps and learners.

MODELS = {
    "landmarks": ("transform", LandmarkMap, {"n_components": 20}),
    "projection": ("transform", ProjectionMap, {"n_components": 20}),
    "rpcholesky": ("transform", ProjectionMap, {"n_components": 15, "landmarks": "rpcholesky"}),
    "kmeans++": ("transform", ProjectionMap, {"n_components": 15, "landmarks": "kmeans++"}),
    "compact": ("transform", CompactMap, {"n_components": 5, "n_landmarks": 20}),
    "fourier": ("transform", FourierMap, {"n_components": 31}),
    "structured": ("transform", FourierMap, {"n_components": 30, "kind": "structured"}),
    "squared loss": ("decision_function", SimilarityClassifier, {"n_landmarks": 25}),
    "logistic loss": ("predict_proba", SimilarityClassifier, {"n_landmarks": 4, "loss": "logistic"}),
    "hinge loss": ("decision_function", SimilarityClassifier, {"n_landmarks": 4, "loss": "squared_hinge"}),
    "labels": ("predict", SimilarityClassifier, {"n_landmarks": 25}),
    "numbers": ("predict", SimilarityRegressor, {"n_landmarks": 25}),
    "kernel ridge": ("predict", KernelRidge, {"lam": 0.1}),
    "ridge classes": ("predict", KernelRidgeClassifier, {"lam": 0.1}),
    "clusters": ("transform", KernelKMeans, {"n_clusters": 3}),
    "clusters by landmarks": ("transform", KernelKMeans, {"n_clusters": 3, "n_landmarks": 20}),
    "neighbors": ("predict_proba", SimilarityKNeighborsClassifier, {}),
    "near numbers": ("predict", SimilarityKNeighborsRegressor, {"weights": "distance"}),
}
SEEDLESS = (KernelRidge, KernelRidgeClassifier, SimilarityKNeighborsClassifier, SimilarityKNeighborsRegressor)


def examples(cls, X):
    numbers = np.stack([X[:, 0] ** 2, X[:, 1] * X[:, 2]], axis=1)
    classes = (X[:, 0] > X[:, 1]).astype(int) + (X[:, 2] > 1.2)
    return numbers if cls in (SimilarityRegressor, KernelRidge, SimilarityKNeighborsRegressor) else classes


LONG = {("logistic loss", np.float32), ("logistic loss", np.float64), ("hinge loss", np.float64)}
ON_THE_CPU = [
    pytest.param(*one, "cpu", marks=[pytest.mark.deep] if one in LONG else []) for one in product(MODELS, PRECISIONS)
]
ON_A_CARD = [pytest.param(*one, "cuda", marks=pytest.mark.gpu) for one in product(MODELS, PRECISIONS)]


@pytest.mark.parametrize(("name", "dtype", "device"), [*ON_THE_CPU, *ON_A_CARD])
def test_every_model_is_that_of_the_local_engine(name, dtype, device, monkeypatch):
    monkeypatch.setattr(
        "similitude.linear.penalty_choice.PENALTIES", np.array([1e-3, np.nan, 0.1, np.nan, 10.0])
    )  # to save time
    how, cls, parameters = MODELS[name]
    X, new = vectors(40 if name in ("logistic loss", "hinge loss") else 120, dtype), vectors(25, dtype, seed=1)
    y = examples(cls, X)
    seed = {} if cls in SEEDLESS else {"random_state": 0}
    wanted, found, tensors = (
        cls(Gaussian(sigma=1.5), engine=engine, **parameters, **seed)
        for engine in (LocalEngine(), TorchEngine(device=device), None)
    )
    expected = getattr(wanted.fit(X, y), how)(new)
    factor = 100 if dtype == np.float32 else 1000
    close(getattr(found.fit(X, y), how)(new), expected, dtype, factor)
    there = torch.from_numpy(X).to(device), torch.from_numpy(y).to(device)
    given = getattr(tensors.fit(*there), how)(torch.from_numpy(new).to(device))
    assert isinstance(given, torch.Tensor) and given.device.type == device
    close(given, expected, dtype, factor)


def test_labels_that_are_words_come_back_as_an_array():
    X, words = vectors(40), np.array(["near", "far"])
    model = SimilarityClassifier(n_landmarks=5, random_state=0)
    y = words[(X[:, 0] > X[:, 1]).astype(int)]
    assert model.fit(torch.from_numpy(X), y).predict(torch.from_numpy(X)).dtype.kind == "U"
    assert list(model.predict(X)) == list(model.predict(torch.from_numpy(X)))


def test_other_learners_take_tensors_as_arrays():
    X = vectors(40)
    y = (X[:, 0] > X[:, 1]).astype(int)
    found = KernelSVC(Gaussian(sigma=1.0)).fit(torch.from_numpy(X), y).predict(torch.from_numpy(X))
    np.testing.assert_array_equal(found, KernelSVC(Gaussian(sigma=1.0)).fit(X, y).predict(X))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", PRECISIONS)
def test_one_pass_over_many_examples_is_that_of_the_local_engine(monkeypatch, dtype, device):
    for module in (limits,):
        monkeypatch.setattr(module, "SAMPLE_ROWS", 100)
    X, new = vectors(600, dtype), vectors(20, dtype, seed=1)
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    weights = np.random.default_rng(0).integers(0, 3, 600)
    kernels = [Gaussian(sigma=1.5), [Gaussian(sigma=1.5), Polynomial(degree=2)], Sigmoid(scale=0.1)]
    for k in kernels:
        models = (
            SimilarityRegressor(k, n_landmarks=15, random_state=0, engine=engine).fit(X, y, weights)
            for engine in (LocalEngine(), TorchEngine(device=device))
        )
        wanted, found = models
        assert abs(wanted.score(X, y) - found.score(X, y)) < (1e-8 if dtype == np.float64 else 2e-2)
        if dtype == np.float64:  # in single precision the best of several equal penalties may be another
            close(found.predict(new), wanted.predict(new), dtype, 300)


@pytest.mark.parametrize("device", DEVICES)
def test_a_memory_map_is_read_in_batches(device, tmp_path):
    X = vectors(500)
    np.save(tmp_path / "X.npy", X)
    mapped, y = np.load(tmp_path / "X.npy", mmap_mode="r"), np.sin(X[:, 0])
    wanted, found = (
        SimilarityRegressor(Gaussian(sigma=1.0), n_landmarks=15, random_state=0, engine=engine).fit(mapped, y)
        for engine in (LocalEngine(), TorchEngine(device=device))
    )
    close(found.predict(mapped), wanted.predict(mapped), np.float64, 300)


@pytest.mark.parametrize("device", DEVICES)
def test_a_matrix_is_kept_only_where_it_fits(device):
    X, k, V = vectors(300, np.float32, d=200), Gaussian(sigma=9.0) * Linear(), torch.ones(50, 1, device=device)
    engines = TorchEngine(device=device), TorchEngine(device=device, memory="512KiB")
    kept, streamed = (engine.operator(k, k.encode(X), k.encode(X[:50])) for engine in engines)
    wanted = kept.times(V)
    assert kept.method == "blocks"
    for operator in (kept, streamed):
        operator.store_if_faster()
    assert (kept.method, streamed.method) == ("stored", "blocks")
    for operator in (kept, streamed):
        torch.testing.assert_close(operator.times(V), wanted, rtol=1e-5, atol=1e-4)
        torch.testing.assert_close(
            operator.transposed_times(wanted), kept.transposed_times(wanted), rtol=1e-5, atol=1e-3
        )


@pytest.mark.parametrize(("whole", "chosen_on"), [(5, 5), (5, 20), (20, 20)])
@pytest.mark.parametrize("device", DEVICES)
def test_many_landmarks_are_solved_by_products(monkeypatch, device, whole, chosen_on):
    monkeypatch.setattr(limits, "SAMPLE_ROWS", 100)
    monkeypatch.setattr(TorchEngine, "products_from", 20)
    monkeypatch.setattr(base, "MOST_OF_STREAM", 20)
    monkeypatch.setattr(landmark_ridge, "DIRECTLY", whole)
    monkeypatch.setattr(landmark_ridge, "CHOSEN_ON", chosen_on)
    X = vectors(500, np.float64, d=2)
    Y = np.stack([np.sin(2 * X[:, 0]), X[:, 1]], axis=1) + 0.05 * np.random.default_rng(0).normal(size=(500, 2))
    model = SimilarityRegressor(Gaussian(sigma=1.0), n_landmarks=30, random_state=0, engine=TorchEngine(device=device))
    model.fit(X, Y)
    plain = SimilarityRegressor(Gaussian(sigma=1.0), n_landmarks=30, random_state=0, engine=LocalEngine()).fit(X, Y)
    assert (model.plan_.case, plain.plan_.case) == ("products", "pass")
    assert model.representation_ == plain.representation_ and model.n_similarity_calls_ == 30
    few = chosen_on == 5  # the penalty is then chosen by a third of the examples
    assert abs(model.score(X, Y) - plain.score(X, Y)) < (5e-3 if few else 1e-3)
    assert model.held_out_error_.value < (1.5 if few else 1.1) * plain.held_out_error_.value
    with pytest.raises(ValueError, match="fewer than 20 landmarks"):
        model.partial_fit(X, Y)


@pytest.mark.parametrize(("k", "name"), [(Sigmoid(), "similarities"), (2.0 * Gaussian(1.0), "projection")])
def test_products_are_planned_for_what_may_be_a_kernel(monkeypatch, k, name):
    """Only values tell whether an unproven similarity can be projected; without that, there is one pass."""
    monkeypatch.setattr(limits, "SAMPLE_ROWS", 100)
    monkeypatch.setattr(TorchEngine, "products_from", 20)
    X = vectors(500, np.float64, d=2)
    model = SimilarityRegressor(k, n_landmarks=30, random_state=0, engine=TorchEngine(device="cpu"))
    assert model.fit(X, X[:, 0]).plan_.case == "products" and model.representation_.name == name
    assert ("or in one pass" in str(model.plan_.model)) == (not k.proven)
    one_sided = model.set_params(side="both").plan(X, X[:, 0])
    assert one_sided.case == "pass"


@pytest.mark.parametrize("device", DEVICES)
def test_scales_are_compared_by_products(monkeypatch, device):
    """Where a fit is by products, the trials of scales are too, and a scale that is clearly best is found."""
    monkeypatch.setattr(limits, "SAMPLE_ROWS", 600)
    monkeypatch.setattr(TorchEngine, "products_from", 20)
    monkeypatch.setattr(choices, "grow", None)  # sums over features
    X = vectors(2_000, np.float64, d=2)
    y = np.sin(8 * X[:, 0])
    engine = TorchEngine(device=device)
    model = SimilarityRegressor("gaussian", n_landmarks=200, random_state=0, engine=engine).fit(X, y)
    median = Gaussian().resolve(X, 0).sigma
    assert model.similarity_.sigma == pytest.approx(0.25 * median, rel=0.1)
    at_median = SimilarityRegressor(Gaussian(median), n_landmarks=200, random_state=0, engine=engine).fit(X, y)
    assert model.held_out_error_.value < 0.5 * at_median.held_out_error_.value


@pytest.mark.parametrize("directly", [8, 1_000], ids=["steps", "directly"])
@pytest.mark.parametrize("target", ["two", "three", "many", "numbers"])
@pytest.mark.parametrize("device", DEVICES)
def test_fits_by_products_explain_themselves(monkeypatch, device, target, directly):
    monkeypatch.setattr(limits, "SAMPLE_ROWS", 100)
    monkeypatch.setattr(TorchEngine, "products_from", 20)
    monkeypatch.setattr(landmark_ridge, "DIRECTLY", directly)
    X = vectors(1_500, np.float64, d=2)
    value = np.sin(2 * X[:, 0]) * X[:, 1]
    kinds = {"two": [0.2], "three": [-0.3, 0.3], "many": np.quantile(value, np.arange(1, 12) / 12)}
    kind = SimilarityRegressor if target == "numbers" else SimilarityClassifier
    y = value if target == "numbers" else np.digitize(value, kinds[target])
    how = {"n_landmarks": 30, "random_state": 0}
    model = kind(Gaussian(sigma=1.0), **how, engine=TorchEngine(device=device)).fit(X, y)
    asked = {"by": "examples"} if target == "numbers" else {"by": "examples", "against": None}
    whys = model.explain(X[:40], **asked)
    for why in whys:
        assert why.base + why.influences.sum() + why.rest == pytest.approx(why.score, abs=1e-9)
        assert why.counts.sum() == 1_500 and (target == "numbers" or why.prediction in why.labels)
        assert abs(why.rest) <= (0.0 if directly == 1_000 else 0.02) * np.abs(why.influences).sum()
    sizes = [np.abs(why.influences).sum() / abs(why.score - why.base) for why in whys]
    assert np.median(sizes) < 6
    if directly == 1_000 and target in (
        "two",
        "numbers",
    ):  # the groups of a fit by sums, but for the choice of a penalty
        plain = kind(Gaussian(sigma=1.0), **how, engine=LocalEngine()).fit(X, y)
        counts = [dict(zip(w.positions, w.counts, strict=True)) for w in (whys[0], plain.explain(X[:1], **asked)[0])]
        assert counts[0] == counts[1]


@pytest.mark.parametrize("device", DEVICES)
def test_the_number_of_landmarks_is_chosen_by_products(monkeypatch, device):
    monkeypatch.setattr(limits, "SAMPLE_ROWS", 2_000)
    monkeypatch.setattr(TorchEngine, "products_from", 20)
    X = vectors(4_000, np.float64, d=3)
    rough = np.sin(6 * X[:, 0]) + np.cos(5 * X[:, 1]) + 0.1 * np.random.default_rng(0).normal(size=4_000)
    numbers = []
    for y in (X[:, 0] + 0.3 * np.random.default_rng(1).normal(size=4_000), rough):
        model = SimilarityRegressor(Gaussian(sigma=0.7), random_state=0, engine=TorchEngine(device=device)).fit(X, y)
        plain = SimilarityRegressor(Gaussian(sigma=0.7), random_state=0, engine=LocalEngine()).fit(X, y)
        assert model.held_out_error_.value < 2 * plain.held_out_error_.value
        assert list(model.landmark_curve_.x[:2]) == [100, 200]
        numbers.append(model.n_similarity_calls_)
    assert numbers[0] <= numbers[1]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("memory", ["1GiB", "1MiB"], ids=["stays", "in pieces"])
def test_a_memory_map_is_solved_by_products_too(monkeypatch, tmp_path, device, memory):
    monkeypatch.setattr(limits, "SAMPLE_ROWS", 100)
    monkeypatch.setattr(TorchEngine, "products_from", 20)
    X = vectors(9_000, np.float32)
    y = np.sin(2 * X[:, 0]) * X[:, 1] > 0.2
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    how = {"n_landmarks": 30, "random_state": 0, "engine": TorchEngine(device=device, memory=memory)}
    seen = []
    solve = products.solve_by_products
    monkeypatch.setattr(fit, "solve_by_products", lambda *given: seen.append(given) or solve(*given))
    from_file = SimilarityClassifier(Gaussian(sigma=1.0), **how).fit(mapped, y)
    from_array = SimilarityClassifier(Gaussian(sigma=1.0), **how).fit(X, y)
    assert len(seen) == 2 and (
        solver := TorchEngine(device=device, memory=memory).operator(Gaussian(1.0), mapped, X[:9])
    )
    assert (solver._resident is None) == (memory == "1MiB")
    np.testing.assert_array_equal(from_file.decision_function(X), from_array.decision_function(X))
    np.testing.assert_allclose(from_file.decision_function(mapped), from_file.decision_function(X), atol=1e-5)
    assert not isinstance(from_file.landmarks_, np.memmap) and from_file.score(mapped, y) > 0.9


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("most_kept", [0, 2**31], ids=["in the fit", "when asked for"])
def test_influences_by_products_are_those_of_ridge_regression(monkeypatch, device, most_kept):
    """Four rows per landmark stand for the others in the preconditioner, but not in what groups of rows add."""
    monkeypatch.setattr(limits, "SAMPLE_ROWS", 100)
    monkeypatch.setattr(TorchEngine, "products_from", 20)
    monkeypatch.setattr(products, "MOST_KEPT", most_kept)
    monkeypatch.setattr(landmark_ridge, "DIRECT_WORK", {"cuda": 0.0, "cpu": 0.0})
    X, new, k = vectors(3_000), vectors(20, seed=1), Gaussian(sigma=1.5)
    y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.1 * np.random.default_rng(0).normal(size=len(X))
    model = SimilarityRegressor(k, n_landmarks=60, random_state=0, engine=TorchEngine(device=device)).fit(X, y)
    assert isinstance(model._influence, DelayedInfluence if most_kept else GroupInfluence)
    given, L = X.copy(), model.landmarks_
    X[:] = 0.0  # the model has a copy
    explained = model.explain(new, by="examples")
    influence = model.__getstate__()["_influence"]
    group = k.cross(given, L[influence.heads]).argmax(axis=1)
    apart = (group[:, None] == np.arange(len(influence.heads))) * (y - y.mean())[:, None]
    values, V = np.linalg.eigh(k.gram(L))
    F, F_new = (k.cross(rows, L) @ V / np.sqrt(values) for rows in (given, new))
    center = F.mean(axis=0)
    A = (F - center).T @ (F - center) + model.lam_ * np.eye(len(L))
    wanted = (F_new - center) @ np.linalg.solve(A, (F - center).T @ apart)
    found = k.cross(new, L) @ influence.weights[0] + influence.constants
    np.testing.assert_allclose(found, wanted, atol=0.03 * np.abs(wanted).max())
    for one, row in zip(explained, found, strict=True):
        assert np.isclose(one.influences.sum() + one.rest, row.sum(), atol=1e-6)


def test_a_model_fitted_to_tensors_is_saved_as_one_of_arrays(tmp_path):
    X, y = vectors(60), np.arange(60) % 2
    for objects, engine in ((X, TorchEngine(device="cpu")), (torch.from_numpy(X), None)):
        model = SimilarityClassifier(Gaussian(sigma=1.0), n_landmarks=10, random_state=0, engine=engine)
        save(model.fit(objects, y), tmp_path / "model.sim")
        np.testing.assert_allclose(
            load(tmp_path / "model.sim").predict_proba(X), as_numpy(model.predict_proba(objects))
        )
    words = SimilarityClassifier(Spectrum(p=2), engine=TorchEngine(device="cpu")).fit(
        ["aa", "ab", "bb", "bc"], [0, 0, 1, 1]
    )
    save(words, tmp_path / "words.sim")
    assert load(tmp_path / "words.sim").notes_


# Devices, and what goes wrong.


def test_configuration():
    engine = TorchEngine(device="cpu", memory="1GiB")
    assert pickle.loads(pickle.dumps(engine)) == engine and engine.budget == 2**30
    assert TorchEngine(device="cpu").budget == 2 * 2**30
    assert repr(engine) == "TorchEngine(device='cpu', precision='float32', memory='1GiB')"


def test_no_cuda(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(RuntimeError, match=r"finds no CUDA device.*device='cpu'"):
        TorchEngine()


def test_an_index_that_does_not_exist(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(ValueError, match=r"no device 'cuda:7': available are 'cuda:0', 'cuda:1'"):
        TorchEngine(device="cuda:7")


def test_tensors_on_another_device_are_refused_by_name():
    X, there = torch.from_numpy(vectors(6)), torch.empty(6, 4, device="meta", dtype=torch.float64)
    with pytest.raises(ValueError, match=r"Z is a tensor on meta, the engine computes on cpu"):
        TorchEngine(device="cpu").operator(Gaussian(sigma=1.0), X, there).product(np.ones(6))
    with pytest.raises(ValueError, match=r"X is a tensor on meta, the engine computes on cpu"):
        KernelRidge(Gaussian(sigma=1.0), engine=TorchEngine(device="cpu")).fit(there, np.ones(6))


@pytest.mark.parametrize("device", DEVICES)
def test_a_number_that_is_none_is_named_by_its_row(device):
    X = torch.from_numpy(vectors(9)).to(device)
    X[7, 2] = torch.nan
    with pytest.raises(ValueError, match="row 7, column 2 is nan"):
        SimilarityRegressor(Gaussian(sigma=1.0)).fit(X, np.arange(9.0))
    with pytest.raises(ValueError, match="row 7, column 2 is nan"):
        Gaussian(sigma=1.0).gram(X)


def test_an_overflow_is_named_by_its_row():
    X = np.array([[1.0], [1e38]], dtype=np.float32)
    with pytest.raises(ValueError, match=r"row 1 of the product is not finite"):
        TorchEngine(device="cpu").operator(Polynomial(degree=3), X, X[:1] * 10).product(np.ones(1))


def test_features_of_another_number_are_refused():
    X = torch.from_numpy(vectors(9))
    model = KernelRidge(Gaussian(sigma=1.0)).fit(X, np.arange(9.0))
    with pytest.raises(ValueError, match="X has 3 features, but KernelRidge is expecting 4"):
        model.predict(X[:, :3])


def test_a_vector_of_another_length_is_refused():
    X = vectors(9)
    with pytest.raises(ValueError, match="has 5 rows"):
        TorchEngine(device="cpu").operator(Gaussian(sigma=1.0), X, X).product(np.ones(5))


def test_tensors_pick_the_engine_of_their_device():
    X = torch.zeros(2, 2)
    assert engine_for(X) == TorchEngine(device="cpu")
    assert engine_for([1, 2]) is current_engine()
    with use_engine(TorchEngine(device="cpu", precision="tf32")) as mine:
        assert engine_for(X) is mine
    assert engine_for((["a"], X)) == TorchEngine(device="cpu")


def test_precision_is_restored():
    before, setting = torch.get_float32_matmul_precision(), torch.backends.cuda.matmul
    with TorchEngine(device="cpu", precision="tf32").matmul_precision():
        assert getattr(setting, "fp32_precision", "tf32") == "tf32"
    assert torch.get_float32_matmul_precision() == before
    if hasattr(setting, "fp32_precision"):  # whatever was set, by the old function or the new attribute
        for given in ("ieee", "tf32"):
            setting.fp32_precision = given
            with TorchEngine(device="cpu").matmul_precision():
                assert setting.fp32_precision == "ieee"
            assert setting.fp32_precision == given
        torch.set_float32_matmul_precision(before)
