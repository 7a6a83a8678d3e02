"""Linear models on a device: the solvers of arrays, on tensors, with the same results."""

import numpy as np
import pytest
from grids import thin
from objectives import OBJECTIVES

from similitude import SimilarityClassifier, SimilarityRegressor
from similitude.engines import LocalEngine, TorchEngine
from similitude.fitting import limits, penalized
from similitude.kernels import Gaussian, Linear, Polynomial, Spectrum
from similitude.linear import Members, l2_penalty, landmark_ridge
from similitude.linear.features import Features
from similitude.linear.l2_penalty import l2_path
from similitude.linear.landmark_ridge import LandmarkRidge
from similitude.linear.lapack import ShiftedFactors
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


def solved(objective, F, codes, s, classes, penalties=PATH, **options):
    own = codes[:, None] == np.arange(classes)
    if objective == "logistic" and classes > 2:
        return list(l2_path(F, own.astype(float), s, penalties, MultinomialLogistic(), **options))
    signs = np.where(own[:, 1:] if classes == 2 else own, 1.0, -1.0)
    return list(l2_path(F, signs, s, penalties, Logistic() if objective == "logistic" else SquaredHinge(), **options))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("objective", "classes", "far", "dtype"),
    thin(["logistic", "squared_hinge"], [2, 3], [0.0, 100.0], PRECISIONS, together=2),
)
def test_the_minimizers_are_those_of_arrays(objective, classes, far, dtype, device):
    F, codes, s = problem(classes=classes, dtype=dtype, far=far)
    wanted = solved(objective, F, codes, s, classes, tolerance=1e-11)
    found = solved(objective, torch.from_numpy(F).to(device), codes, s, classes, tolerance=1e-11)
    for one, other in zip(found, wanted, strict=True):
        assert isinstance(one.weights, np.ndarray)
        assert one.gap <= 1e-10
        np.testing.assert_allclose(one.scores(F), other.scores(F), atol=2e-4)
        np.testing.assert_allclose(one.scores(torch.from_numpy(F).to(device)), one.scores(F), atol=1e-9)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("objective", ["logistic", "squared_hinge"])
def test_hessians_as_preconditioners(monkeypatch, objective, device):
    F, codes, s = problem()
    wanted = solved(objective, F, codes, s, 3, tolerance=1e-12)
    monkeypatch.setattr(l2_penalty.L2Objective, "patience", property(lambda self: 2))
    for one, other in zip(
        solved(objective, torch.from_numpy(F).to(device), codes, s, 3, tolerance=1e-12), wanted, strict=True
    ):
        np.testing.assert_allclose(one.scores(F), other.scores(F), atol=1e-4)


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("far", [0.0, 100.0])
def test_features_do_what_those_of_arrays_do(monkeypatch, dtype, far):
    monkeypatch.setattr("similitude.linear.moments.DEVICE_CELLS", 500)  # several strips
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


def vectors(n, dtype=np.float64, seed=0):
    return np.abs(np.random.default_rng(seed).normal(size=(n, 4))).astype(dtype)


@pytest.mark.usefixtures("without_evaluation")
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("objective", "pilot"), thin(["logistic", "squared_hinge"], [20_000, 100]))
def test_a_classifier_solves_on_the_device(monkeypatch, objective, pilot, device):
    monkeypatch.setattr(limits, "SAMPLE_ROWS", pilot)
    few = np.array([1e-3, np.nan, 0.1, np.nan, 10.0])
    monkeypatch.setattr("similitude.linear.penalty_choice.PENALTIES", few)  # to save time
    given, usual = [], penalized.fit_classes
    monkeypatch.setattr(
        penalized, "fit_classes", lambda loss, penalty, F, *rest: given.append(F) or usual(loss, penalty, F, *rest)
    )
    X, new = vectors(120), vectors(50, seed=1)
    y = (X[:, 0] > X[:, 1]).astype(int) + (X[:, 2] > 1.2)
    wanted, found = (
        SimilarityClassifier(Gaussian(1.5), n_landmarks=15, **OBJECTIVES[objective], random_state=0, engine=engine).fit(
            X, y
        )
        for engine in (LocalEngine(), TorchEngine(device=device))
    )
    half = len(given) // 2  # the fit and its folds
    assert all(isinstance(F, np.ndarray) for F in given[:half])
    assert all(isinstance(F, torch.Tensor) and F.device.type == device for F in given[half:])
    assert found.lam_ == pytest.approx(wanted.lam_)
    np.testing.assert_allclose(found.predict_proba(new), wanted.predict_proba(new), atol=1e-3)
    assert found.notes_ == []


@pytest.mark.deep
def test_the_sparse_model_is_fitted_on_the_cpu_and_says_so():
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
    assert "does not work on tensors" in str(both.notes_) and "penalty='l1' was fitted on the CPU" in str(both.notes_)


def test_features_of_words_are_solved_on_the_device_too():
    words, y = ["kernel", "kerning", "margin", "margins", "marginal", "kernels"] * 3, [0, 0, 1, 1, 1, 0] * 3
    found, wanted = (
        SimilarityClassifier(Spectrum(p=2), n_landmarks=4, loss="logistic", random_state=0, engine=engine)
        .fit(words, y)
        .predict_proba(words)
        for engine in (TorchEngine(device="cpu"), LocalEngine())
    )
    np.testing.assert_allclose(found, wanted, atol=1e-3)


def test_a_model_that_does_not_fit_on_the_device_leaves_the_model_as_it_was(monkeypatch):
    def never(self, *args, **kwargs):
        raise torch.OutOfMemoryError("on purpose")

    monkeypatch.setattr(Features, "scores", never)
    X = vectors(60)
    model = SimilarityClassifier(Gaussian(1.5), n_landmarks=10, loss="logistic", engine=TorchEngine(device="cpu"))
    before = set(vars(model))
    with pytest.raises(MemoryError, match=r"loss='logistic' on 60 x \d+ features does not fit on cpu"):
        model.fit(X, (X[:, 0] > X[:, 1]).astype(int))
    assert set(vars(model)) == before


# Ridge regression by products with a matrix of similarities.


def ridge_on(engine, k, X, L, Y, s):
    return LandmarkRidge(engine.operator(k, k.encode(X), k.encode(L)), Y, s)


def points(n, dtype=np.float64, d=4):
    return np.random.default_rng(0).normal(size=(n, d)).astype(dtype)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("k", [Gaussian(sigma=0.3), Gaussian(sigma=0.3) * (Linear() + 1.0)], ids=repr)
def test_products_give_the_minimizer(k, device):
    X, lam = points(200, d=2), 0.3
    L, rng = X[:25], np.random.default_rng(0)
    Y, s = rng.normal(size=(200, 3)), rng.integers(0, 3, 200).astype(float)
    ridge = ridge_on(TorchEngine(device=device), k, X, L, Y, s)
    some = ridge.only(np.arange(0, 200, 2)).moments
    factor, start = ridge.factor(some, lam * some.weight / s.sum()), ridge.solve(some, ridge.factor(some, lam))
    found = ridge.iterate(lam, factor, start, steps=100, tolerance=1e-9)
    K, M = k.cross(X, L), k.cross(L, L)
    values, vectors_of = np.linalg.eigh(M)
    kept = values > 1e-13 * values.max()
    F = K @ vectors_of[:, kept] / np.sqrt(values[kept])
    F, middle = F - s @ F / s.sum(), s @ Y / s.sum()
    w = np.linalg.solve(F.T @ (s[:, None] * F) + lam * np.eye(F.shape[1]), F.T @ (s[:, None] * (Y - middle)))
    np.testing.assert_allclose(ridge.scores(found), F @ w + middle, atol=2e-6)
    np.testing.assert_allclose(K @ found.weights + found.intercept, F @ w + middle, atol=2e-6)
    assert found.gap <= 1e-9
    both = some + ridge.only(np.arange(1, 200, 2)).moments
    direct = ridge.solve(both, ridge.factor(both, lam))
    np.testing.assert_allclose(K @ direct.weights + direct.intercept, F @ w + middle, atol=2e-6)
    np.testing.assert_array_equal(ridge.iterate(lam, factor, found).weights, found.weights)  # no further step


@pytest.mark.parametrize("device", DEVICES)
def test_what_groups_of_rows_add_by_products(device):
    X, lam, k, rng = points(200, d=2), 0.3, Gaussian(sigma=0.3), np.random.default_rng(0)
    Y, s, members = (
        rng.normal(size=(200, 2)),
        rng.integers(0, 3, 200).astype(float),
        Members(rng.integers(0, 4, 200), 4),
    )
    ridge = ridge_on(TorchEngine(device=device), k, X, X[:25], Y, s)
    factor = ridge.factor(ridge.moments, lam)
    model = ridge.solve(ridge.moments, factor)
    of_all = ridge.of_groups(model, factor, members)
    for group in range(4):  # ridge regression on targets that are zero outside of the group
        T = np.where((members.group == group)[:, None], Y - s @ Y / s.sum(), 0.0)
        alone = ridge_on(TorchEngine(device=device), k, X, X[:25], T, s)
        wanted = alone.solve(alone.moments, factor)
        np.testing.assert_allclose(of_all.weights[:, 2 * group : 2 * group + 2], wanted.weights, atol=1e-7)
        level = s @ T / s.sum()  # by how much the group moves the mean
        np.testing.assert_allclose(of_all.intercept[2 * group : 2 * group + 2], wanted.intercept - level, atol=1e-7)
    some = np.arange(0, 200, 2)
    part = ridge.only(some).moments
    times = s.sum() / part.weight
    factor = ridge.factor(part, lam / times)
    found = ridge.iterate(lam, factor, model, steps=100, tolerance=1e-10)
    of_some = ridge.of_groups(found, factor, members, lam)
    for added in (of_all, of_some):
        np.testing.assert_allclose(added.weights.reshape(25, 4, 2).sum(axis=1), found.weights, atol=1e-6)
        total = added.intercept.reshape(4, 2).sum(axis=0) + s @ Y / s.sum()
        np.testing.assert_allclose(total, found.intercept, atol=1e-6)
    K = k.cross(X, X[:25])
    wanted = K @ of_all.weights
    np.testing.assert_allclose(K @ of_some.weights, wanted, atol=0.02 * np.abs(wanted).max())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", PRECISIONS)
def test_steps_are_few_however_small_the_penalty(dtype, device):
    X = np.random.default_rng(0).random((6_000, 3)).astype(dtype)
    Y, L, k = np.sin(12 * X[:, :1] * X[:, 1:2]) + np.cos(9 * X[:, 2:]), X[:150], Gaussian(sigma=0.3)
    engine = TorchEngine(device=device)
    ridge = ridge_on(engine, k, X, L, Y, np.ones(len(X)))
    some = ridge.only(np.arange(600)).moments
    for part, loss in ((1e-3, 0.11), (1e-5, 0.011), (1e-7, 0.008)):
        lam = part * len(X)
        start = ridge.solve(some, ridge.factor(some, lam))
        found = ridge.iterate(lam, ridge.factor(some, part * 600), start, steps=12)
        assert found.gap <= 1e-3
        assert np.mean((k.cross(X, L) @ found.weights + found.intercept - Y) ** 2) < loss


def test_equations_that_overflow_are_refused():
    X = 1e100 * np.abs(points(40))
    ridge = ridge_on(TorchEngine(device="cpu"), Polynomial(degree=2), X, X[:5], np.ones((40, 1)), np.ones(40))
    with pytest.raises(ValueError, match=r"squares of Polynomial.* overflow .*: scale it down"):
        ridge.factor(ridge.moments, 1.0)


def test_too_many_landmarks_for_the_device_are_refused_before_anything_is_computed():
    X, engine = points(400, np.float32), TorchEngine(device="cpu", memory="4MiB")
    with pytest.raises(MemoryError, match=r"400 landmarks need .* of cpu is .*use fewer landmarks"):
        ridge_on(engine, Gaussian(sigma=1.0), X, X, np.ones((400, 1)), np.ones(400))


def exact_scores(K, M, Y, s, lam):
    """Ridge regression on the features of landmarks, by their normal equations: the scores of all rows."""
    values, V = np.linalg.eigh(M)
    kept = values > 1e-13 * values.max()
    F = K @ V[:, kept] / np.sqrt(values[kept])
    F, middle = F - s @ F / s.sum(), s @ Y / s.sum()
    w = np.linalg.solve(F.T @ (s[:, None] * F) + lam * np.eye(F.shape[1]), F.T @ (s[:, None] * (Y - middle)))
    return F @ w + middle


@pytest.mark.parametrize("directly", [False, True])
def test_a_penalty_is_chosen_judged_and_fitted_by_products(directly, monkeypatch):
    monkeypatch.setattr(landmark_ridge, "DIRECTLY", 8 if directly else 0)
    monkeypatch.setattr(landmark_ridge, "CHOSEN_ON", 6)
    monkeypatch.setattr(landmark_ridge, "CELLS", {"cpu": 20 * 70})  # several blocks
    rng, k = np.random.default_rng(0), Gaussian(sigma=0.5)
    X = rng.uniform(-1, 1, (200, 2))
    Y, s = np.sin(4 * X) + 0.1 * rng.normal(size=(200, 2)), rng.uniform(0.5, 2.0, 200)
    s[7] = 0.0
    order = rng.permutation(np.delete(np.arange(200), 7))
    chosen_on, judged = order[-40:-20], order[-20:]
    operator = TorchEngine(device="cpu").operator(k, k.encode(X), k.encode(X[:20]))
    steps, normal = [], type(operator).normal
    monkeypatch.setattr(type(operator), "normal", lambda self, *given: steps.append(0) or normal(self, *given))
    model, trial, equations = landmark_ridge.fit_by_products(operator, Y, s, order, (chosen_on, judged))
    n_steps, K, M = len(steps), k.cross(X, X[:20]), k.cross(X[:20], X[:20])
    assert n_steps == 0 if directly else 10 < n_steps <= 60
    close = 1e-6 if directly else 0.02
    lam, without = trial.lam, s.copy()
    without[order[-40:]] = 0.0
    assert equations.lam == lam and (equations.some is None) == directly
    np.testing.assert_allclose(K @ model.weights + model.intercept, exact_scores(K, M, Y, s, lam), atol=close)
    wanted = exact_scores(K, M, Y, without, lam)
    np.testing.assert_allclose(trial.scores, wanted[judged], atol=close)
    unit = (M.diagonal().mean() - M.mean()) * without.sum()
    if directly:
        losses = {}
        for place, penalty in enumerate(landmark_ridge.PENALTIES * unit):
            errors = exact_scores(K, M, Y, without, penalty)[chosen_on] - Y[chosen_on]
            losses[place] = s[chosen_on] @ (errors**2).sum(axis=1)
        place = int(np.abs(np.log(landmark_ridge.PENALTIES * unit / lam)).argmin())
        assert lam == pytest.approx(unit * landmark_ridge.PENALTIES[place])
        assert all(losses[place] <= losses[near] for near in (place - 2, place + 2) if near in losses)
    else:
        np.testing.assert_array_equal(equations.some, np.sort(order[:80]))
    again = landmark_ridge.Equations.of(operator, Y, s, lam, equations.some)
    some = np.arange(200) if directly else equations.some
    C = K[some] - s[some] @ K[some] / s[some].sum()
    wanted = C.T @ (s[some, None] * C) + lam * s[some].sum() / s.sum() * M
    np.testing.assert_allclose(again.factor.T @ again.factor, wanted, rtol=1e-8, atol=1e-8)
    members = Members(np.arange(200) % 3, 3)
    first, second = (one.of_groups(model, members) for one in (equations, again))
    np.testing.assert_allclose(K @ first.weights, K @ second.weights, atol=2 * close)
    total = first.weights.reshape(20, 3, 2).sum(axis=1)
    np.testing.assert_allclose(total, model.weights, atol=1e-8 * np.abs(first.weights).max())


def test_landmarks_that_repeat_others_have_a_factor():
    X, k, ones = points(40, d=2), Gaussian(sigma=0.7), np.ones(40)
    ridge, K = ridge_on(TorchEngine(device="cpu"), k, X, X[[0, 0, 1]], ones[:, None], ones), k.cross(X, X[[0, 0, 1]])
    U = ridge.factor(ridge.moments, 0.0)
    np.testing.assert_allclose(U.T @ U, (K - K.mean(axis=0)).T @ K, rtol=1e-9)
