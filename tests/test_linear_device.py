"""Linear models on a device: the solvers of arrays, on tensors, with the same results."""

import numpy as np
import pytest
from objectives import OBJECTIVES

from similitude import SimilarityClassifier, SimilarityRegressor
from similitude.engines import LocalEngine, TorchEngine
from similitude.estimators import classifier, landmarking, training
from similitude.kernels import Gaussian, Spectrum
from similitude.linear import nonlinear_cg
from similitude.linear.cholesky import ShiftedFactors
from similitude.linear.features import Features
from similitude.linear.l2_penalty import l2_path
from similitude.linear.losses import Logistic, MultinomialLogistic, SquaredHinge

torch = pytest.importorskip("torch", reason="torch is not installed")

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
PRECISIONS = [np.float32, np.float64]
PATH = [10.0, 0.1, 1e-3]


@pytest.fixture(autouse=True)
def card_or_skip(request):
    if request.node.get_closest_marker("gpu") and not torch.cuda.is_available():
        pytest.skip("torch sees no CUDA device")


def problem(n=300, d=12, classes=3, dtype=np.float64, far=0.0, seed=0):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, d))
    F[:, 1] = F[:, 0]  # a copy of a feature
    codes = (F @ rng.normal(size=(d, classes)) + rng.normal(size=(n, classes))).argmax(axis=1)
    return (F + far).astype(dtype), codes, rng.integers(0, 3, n).astype(float)


def solved(head, F, codes, s, classes, penalties=PATH, **options):
    own = codes[:, None] == np.arange(classes)
    if head == "logistic" and classes > 2:
        return list(l2_path(F, own.astype(float), s, penalties, MultinomialLogistic(), **options))
    signs = np.where(own[:, 1:] if classes == 2 else own, 1.0, -1.0)
    return list(l2_path(F, signs, s, penalties, Logistic() if head == "logistic" else SquaredHinge(), **options))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("far", [0.0, 100.0])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("head", ["logistic", "squared_hinge"])
def test_the_minimizers_are_those_of_arrays(head, classes, far, dtype, device):
    F, codes, s = problem(classes=classes, dtype=dtype, far=far)
    wanted = solved(head, F, codes, s, classes, tolerance=1e-11)
    found = solved(head, torch.from_numpy(F).to(device), codes, s, classes, tolerance=1e-11)
    for one, other in zip(found, wanted, strict=True):
        assert isinstance(one.weights, np.ndarray)
        assert one.gap <= 1e-10
        np.testing.assert_allclose(one.scores(F), other.scores(F), atol=2e-4)
        np.testing.assert_allclose(one.scores(torch.from_numpy(F).to(device)), one.scores(F), atol=1e-9)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("head", ["logistic", "squared_hinge"])
def test_hessians_as_preconditioners(monkeypatch, head, device):
    F, codes, s = problem()
    wanted = solved(head, F, codes, s, 3, tolerance=1e-12)
    monkeypatch.setattr(nonlinear_cg.L2Objective, "patience", property(lambda self: 2))
    for one, other in zip(
        solved(head, torch.from_numpy(F).to(device), codes, s, 3, tolerance=1e-12), wanted, strict=True
    ):
        np.testing.assert_allclose(one.scores(F), other.scores(F), atol=1e-4)


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("far", [0.0, 100.0])
def test_features_do_what_those_of_arrays_do(monkeypatch, dtype, far):
    monkeypatch.setattr("similitude.linear.strips.DEVICE_CELLS", 500)  # several strips
    F, _, s = problem(dtype=dtype, far=far)
    plain, there = Features(F, s), Features(torch.from_numpy(F), s)
    rng = np.random.default_rng(1)
    V, R, seconds = rng.normal(size=(13, 2)), rng.normal(size=(300, 2)), rng.uniform(size=300)
    tensors = [torch.from_numpy(one) for one in (V, R, seconds)]
    for rough in (False, True):
        near = 1e-9 if dtype == np.float64 or not rough else 0.05
        np.testing.assert_allclose(there.scores(tensors[0], rough=rough), plain.scores(V, rough=rough), atol=near)
        np.testing.assert_allclose(there.combine(tensors[1], rough=rough), plain.combine(R, rough=rough), atol=near)
    upper = np.triu_indices(13)
    np.testing.assert_allclose(there.hessian(tensors[2])[upper], plain.hessian(seconds)[upper], atol=1e-8)
    np.testing.assert_allclose(there.gram.diagonal(), plain.spread, rtol=1e-9)
    np.testing.assert_allclose(Features(torch.from_numpy(F), s).spread, plain.spread, rtol=1e-9)
    shifts, B = np.array([1e-20, 1.0]), rng.normal(size=(12, 2))
    given = ShiftedFactors(there.gram).solve(torch.from_numpy(shifts), torch.from_numpy(B))
    np.testing.assert_allclose(given[:, 1], ShiftedFactors(plain.gram).solve(shifts, B)[:, 1], rtol=1e-6)
    assert torch.isfinite(given).all()


@pytest.mark.parametrize("F", [torch.zeros(3), torch.zeros(3, 2, dtype=torch.float16), torch.zeros(3, 0)])
def test_what_are_no_features_is_refused(F):
    with pytest.raises(ValueError, match="features"):
        list(l2_path(F, np.ones((3, 1)), np.ones(3), [1.0], SquaredHinge()))


def vectors(n, dtype=np.float64, seed=0):
    return np.abs(np.random.default_rng(seed).normal(size=(n, 4))).astype(dtype)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("pilot", [20_000, 100])
@pytest.mark.parametrize("head", ["logistic", "squared_hinge"])
def test_a_classifier_solves_on_the_device(monkeypatch, head, pilot, device):
    for module in (training, landmarking):
        monkeypatch.setattr(module, "PILOT", pilot)
    given, usual = [], classifier.fit_classes
    monkeypatch.setattr(
        classifier, "fit_classes", lambda loss, penalty, F, *rest: given.append(F) or usual(loss, penalty, F, *rest)
    )
    X, new = vectors(600), vectors(50, seed=1)
    y = (X[:, 0] > X[:, 1]).astype(int) + (X[:, 2] > 1.2)
    wanted, found = (
        SimilarityClassifier(Gaussian(1.5), n_landmarks=15, **OBJECTIVES[head], random_state=0, engine=engine).fit(X, y)
        for engine in (LocalEngine(), TorchEngine(device=device))
    )
    assert isinstance(given[0], np.ndarray)
    assert isinstance(given[1], torch.Tensor) and given[1].device.type == device
    assert found.lam_ == pytest.approx(wanted.lam_)
    np.testing.assert_allclose(found.predict_proba(new), wanted.predict_proba(new), atol=1e-3)
    assert found.notes_ == []


def test_the_sparse_head_runs_on_the_cpu_and_says_so():
    X = vectors(60)
    labels, engine = (X[:, 0] > X[:, 1]).astype(int), TorchEngine(device="cpu")
    options = {"n_landmarks": 10, "penalty": "l1", "random_state": 0}
    model = SimilarityClassifier(Gaussian(1.5), engine=engine, **options).fit(torch.from_numpy(X), labels)
    assert model.notes_ == ["the model with penalty='l1' was fitted on the CPU, not on cpu"]
    plain = SimilarityClassifier(Gaussian(1.5), **options).fit(X, labels)
    assert plain.notes_ == []
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    words = ["kernel", "kerning", "margin", "margins", "marginal", "kernels"] * 3
    both = SimilarityRegressor(Spectrum(p=2), engine=engine, **options).fit(words, np.arange(18.0) % 6)
    assert "no form for a device" in str(both.notes_) and "penalty='l1' was fitted on the CPU" in str(both.notes_)


def test_features_of_words_are_solved_on_the_device_too():
    words, y = ["kernel", "kerning", "margin", "margins", "marginal", "kernels"] * 3, [0, 0, 1, 1, 1, 0] * 3
    found, wanted = (
        SimilarityClassifier(Spectrum(p=2), n_landmarks=4, loss="logistic", random_state=0, engine=engine)
        .fit(words, y)
        .predict_proba(words)
        for engine in (TorchEngine(device="cpu"), LocalEngine())
    )
    np.testing.assert_allclose(found, wanted, atol=1e-3)


def test_a_head_that_does_not_fit_on_the_device_leaves_the_model_as_it_was(monkeypatch):
    def never(self, *args, **kwargs):
        raise torch.OutOfMemoryError("on purpose")

    monkeypatch.setattr(Features, "scores", never)
    X = vectors(60)
    model = SimilarityClassifier(Gaussian(1.5), n_landmarks=10, loss="logistic", engine=TorchEngine(device="cpu"))
    before = set(vars(model))
    with pytest.raises(MemoryError, match=r"loss='logistic' on 60 x \d+ features does not fit on cpu"):
        model.fit(X, (X[:, 0] > X[:, 1]).astype(int))
    assert set(vars(model)) == before
