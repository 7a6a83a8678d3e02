"""Combining similarities: weights by brute force on whole Gram matrices, landmark features side by side, errors."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize, nnls
from sklearn.base import clone

from similitude import FromPairs, Precomputed, SimilarityClassifier, check_kernel
from similitude.checks import check_similarity
from similitude.compute.encodings import check_objects
from similitude.engines import LocalEngine
from similitude.errors import NotAKernelError, PairError, UnresolvedError
from similitude.kernels import Cosine, Gaussian, Laplace, Linear, Matern, Polynomial, Sigmoid
from similitude.learners import KernelSVC
from similitude.selection import SideBySide, combine, limits
from similitude.selection.combining import alignment_weights, easymkl_weights
from similitude.similarity.algebra import Scaled, Sum

WORDS = ["".join(np.random.default_rng(i).choice(list("abc"), 3 + i % 4)) for i in range(24)]
VECTORS = np.random.default_rng(0).standard_normal((24, 3))


def problem(n=80, d=3, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X, X[:, 0] + X[:, 1] ** 2 > 0.7


def weights_of(k, kernels):
    """The weight of each kernel in a combination; zero for one that was left out."""
    parts = k.parts() if isinstance(k, Sum) else (k,)
    found = [(part.k, part.factor) if isinstance(part, Scaled) else (part, 1.0) for part in parts]
    assert all(core in kernels for core, _ in found)
    return np.array([next((factor for core, factor in found if core == kernel), 0.0) for kernel in kernels])


def centered(K):
    H = np.eye(len(K)) - 1 / len(K)
    return H @ K @ H


# Weighted sums against brute force on whole Gram matrices.

KERNELS = [Linear(), Gaussian(sigma=1.0), Gaussian(sigma=3.0), Polynomial(2), Laplace(sigma=1.0), 5.0 + Linear()]


def brute_alignment(grams, T):
    """Minimize |sum_k v_k K_k - T| over v >= 0 with centered matrices, entry by entry: the same problem."""
    columns = np.column_stack([centered(K).ravel() for K in grams])
    return nnls(columns, centered(T).ravel())[0]


@pytest.mark.parametrize("target", ["two classes", "three classes", "numbers", "two outputs"])
def test_alignment_weights_equal_brute_force_on_whole_gram_matrices(target):
    X, y = problem()
    numbers = np.sin(X[:, 0]) + 0.1 * X[:, 1]
    given = {
        "two classes": (np.where(y, "yes", "no"), np.outer(2.0 * y - 1, 2.0 * y - 1)),
        "three classes": (np.digitize(X[:, 0], [-0.5, 0.7]), None),
        "numbers": (numbers, np.outer(numbers, numbers)),
        "two outputs": (X[:, :2] ** 2, X[:, :2] ** 2 @ (X[:, :2] ** 2).T),
    }
    labels, T = given[target]
    T = (labels[:, None] == labels).astype(float) if T is None else T
    kernels = KERNELS[:-1]
    grams = [k.gram(X) for k in kernels]
    v = brute_alignment(grams, T)
    found = weights_of(combine(kernels, X, labels), kernels)
    np.testing.assert_allclose(found / found.sum(), v / v.sum(), rtol=1e-5, atol=1e-7)
    assert ((found == 0) == (v < 1e-9 * v.max())).all()
    assert found @ [K.trace() / len(K) for K in grams] == pytest.approx(1.0)


def test_no_other_weights_are_better_aligned():
    X, y = problem(60)
    kernels, rng = KERNELS[:4], np.random.default_rng(1)
    grams = [centered(k.gram(X)) for k in kernels]
    T = centered(np.outer(2.0 * y - 1, 2.0 * y - 1))

    def alignment(v):
        K = sum(w * G for w, G in zip(v, grams, strict=True))
        return np.vdot(K, T) / np.linalg.norm(K) / np.linalg.norm(T)

    best = alignment(weights_of(combine(kernels, X, y), kernels))
    assert best >= max(alignment(rng.exponential(1.0, 4) ** 3) for _ in range(300)) - 1e-12
    assert best >= max(alignment(v) for v in np.eye(4))


def test_fewer_landmarks_give_nearly_the_same_weights(monkeypatch):
    X, y = problem(300)
    kernels = [Linear(), Polynomial(2, coef0=0.0), Gaussian(sigma=2.0)]
    exact = weights_of(combine(kernels, X, y), kernels)
    monkeypatch.setattr(limits, "COMBINED_LANDMARKS", 60)
    rough = weights_of(combine(kernels, X, y, random_state=3), kernels)
    np.testing.assert_allclose(rough, exact, rtol=0.1, atol=0.02 * exact.max())


def direct_easymkl(grams, y, smoothing):
    """The quadratic program over the weights of examples by a general solver."""
    Q = np.outer(y, y) * sum(grams) / len(grams)
    up, n = y > 0, len(y)
    start = np.where(up, 1 / up.sum(), 1 / (~up).sum())
    solved = minimize(
        lambda g: 1e2 * ((1 - smoothing) * g @ Q @ g + smoothing * g @ g),
        start,
        jac=lambda g: 2e2 * ((1 - smoothing) * Q @ g + smoothing * g),
        bounds=[(0, 1)] * n,
        constraints=[
            {"type": "eq", "fun": lambda g: g[up].sum() - 1, "jac": lambda g: up.astype(float)},
            {"type": "eq", "fun": lambda g: g[~up].sum() - 1, "jac": lambda g: (~up).astype(float)},
        ],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-11},
    )
    assert solved.success
    contributed = np.array([(y * solved.x) @ K @ (y * solved.x) for K in grams])
    return contributed / contributed.sum()


@pytest.mark.parametrize("n", [20, 45])
def test_easymkl_equals_a_direct_solver(n):
    X, y = problem(n)
    kernels = [Linear(), Gaussian(sigma=1.0), Polynomial(2)]
    sizes = [k.diag(X).mean() for k in kernels]
    grams = [k.gram(X) / size for k, size in zip(kernels, sizes, strict=True)]
    expected = direct_easymkl(grams, np.where(y, 1.0, -1.0), 0.1)
    found = weights_of(combine(kernels, X, y, how="easymkl"), kernels) * sizes
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=1e-4)


def test_easymkl_of_several_classes_is_the_mean_of_each_against_the_others():
    X, _ = problem(40)
    labels = np.digitize(X[:, 0], [-0.5, 0.7])
    kernels = [Linear(), Gaussian(sigma=1.0), Gaussian(sigma=3.0)]
    grams = [k.gram(X) for k in kernels[1:]]
    grams = [kernels[0].gram(X) / kernels[0].diag(X).mean(), *grams]
    each = [direct_easymkl(grams, np.where(labels == c, 1.0, -1.0), 0.1) for c in range(3)]
    found = weights_of(combine(kernels, X, labels, how="easymkl"), kernels)
    found[0] *= kernels[0].diag(X).mean()
    np.testing.assert_allclose(found, np.mean(each, axis=0), rtol=2e-3, atol=1e-4)


def test_uniform_is_the_mean_of_kernels_of_one_size():
    X, y = problem(50)
    kernels = [Linear(), Polynomial(2), Gaussian(sigma=1.0)]
    K = combine(kernels, X, None, how="uniform").gram(X)
    expected = np.mean([k.gram(X) / k.diag(X).mean() for k in kernels], axis=0)
    np.testing.assert_allclose(K, expected, rtol=1e-12)
    assert combine(kernels, X, y, how="uniform") == combine(kernels, X, X[:, 0], how="uniform")


@pytest.mark.parametrize("how", ["alignment", "easymkl"])
def test_the_planted_kernel_weighs_most_and_noise_next_to_nothing(how):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((400, 12))
    y = np.abs(X[:, 0]) > 0.7

    def only(*columns):
        return lambda x: x[list(columns)]

    kernels = {
        "planted": Gaussian().pullback(only(0)),
        "partly": Gaussian().pullback(only(0, 1, 2)),
        "noise": Gaussian().pullback(only(3, 4, 5)),
        "more noise": Linear().pullback(only(6, 7)),
    }
    k = combine(kernels, X, y, how=how)
    resolved = [one.resolve(X) for one in kernels.values()]
    share = weights_of(k, resolved) * [one.diag(X).mean() for one in resolved]
    assert share.argmax() == 0 and share[0] > 0.5
    assert share[2:].max() < (0.02 if how == "alignment" else 0.1)


@pytest.mark.parametrize("how", ["uniform", "alignment", "easymkl"])
def test_the_size_and_the_order_of_kernels_do_not_matter(how):
    X, y = problem(50)
    k = combine([Gaussian(sigma=1.0), Linear(), Polynomial(2)], X, y, how=how)
    other = combine([1e6 * Polynomial(2), Gaussian(sigma=1.0), 1e-6 * Linear()], X, y, how=how)
    np.testing.assert_allclose(k.gram(X), other.gram(X), rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("how", ["uniform", "alignment", "easymkl"])
def test_a_sum_is_a_kernel_by_proof_and_is_resolved(how):
    X, y = problem(60)
    k = combine(["gaussian", "linear", Matern()], X, y, how=how)
    assert k.proof().holds and not k.unresolved()
    assert check_kernel(k).verdict == "VALID"
    assert k.diag(X).mean() == pytest.approx(1.0)
    assert KernelSVC(k).fit(X, y).score(X, y) > 0.7
    pickle.loads(pickle.dumps(k))


def test_weights_that_are_zero_are_left_out():
    X, y = problem(100)
    constant = FromPairs(lambda x, z: 1.0, claims=["SYMMETRIC", "PSD"])
    assert combine([constant, Gaussian(sigma=1.0)], X, y) == Gaussian(sigma=1.0)
    zero = 0.0 * Linear()
    assert combine([zero, Gaussian(sigma=1.0)], X, y, how="easymkl") == Gaussian(sigma=1.0)
    assert combine([zero, Gaussian(sigma=1.0)], X, y, how="uniform") == Gaussian(sigma=1.0)


def test_one_kernel_is_scaled_and_nothing_more():
    X, y = problem(40)
    assert combine(["gaussian"], X, y) == Gaussian().resolve(X)
    assert combine([Linear()], X, y).gram(X).trace() == pytest.approx(40.0)


def test_equal_kernels_make_no_trouble():
    X, y = problem(40)
    once, twice = (combine([Gaussian(sigma=1.0)] * times + [Linear()], X, y).gram(X) for times in (1, 2))
    np.testing.assert_allclose(once, twice, rtol=1e-8, atol=1e-12)


def test_features_alone_give_the_weights_of_their_kernels():
    rng = np.random.default_rng(0)
    F, G = rng.standard_normal((30, 4)), rng.standard_normal((30, 5))
    y = np.where(F[:, 0] > 0, 1.0, -1.0)[:, None]
    v = brute_alignment([F @ F.T, G @ G.T], y @ y.T)
    w = alignment_weights([F, G], y)
    np.testing.assert_allclose(w / w.sum(), v / v.sum(), rtol=1e-8, atol=1e-12)
    wide, rotated = (
        easymkl_weights([F, G], y),
        easymkl_weights([F, G @ np.linalg.qr(rng.standard_normal((5, 5)))[0]], y),
    )
    np.testing.assert_allclose(wide, rotated, rtol=1e-4)


# Side by side.


def crooked(x, z):
    return float(np.tanh(x @ z - 0.3 * z[0] ** 2))


def test_concatenated_values_are_dot_products_of_landmark_features(monkeypatch):
    monkeypatch.setattr(limits, "COMBINED_LANDMARKS", 15)
    X, y = problem(40)
    members = [Gaussian(), Sigmoid(scale=1.0, coef0=-1.0), crooked]
    k = combine(members, X, y, how="concatenate")
    assert isinstance(k, SideBySide) and check_objects(k.landmarks) == 15
    resolved = [Gaussian().resolve(X), Sigmoid(scale=1.0, coef0=-1.0), FromPairs(crooked)]
    features = [one.cross(X, k.landmarks) for one in resolved]
    features = [F / np.sqrt((F**2).sum(axis=1).mean()) for F in features]
    np.testing.assert_allclose(k.gram(X), sum(F @ F.T for F in features) / 3, rtol=1e-10)
    assert k.diag(X).mean() == pytest.approx(1.0)
    assert k.proof().holds and np.linalg.eigvalsh(k.gram(X))[0] > -1e-10
    new = np.random.default_rng(9).standard_normal((5, 3))
    assert k.cross(new, X[:2])[3, 1] == pytest.approx(k(new[3], X[1]))


@pytest.mark.usefixtures("without_evaluation")
def test_concatenation_finds_what_no_single_similarity_has():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((300, 4))
    y = X[:, 0] + X[:, 1] > 0
    halves = [lambda x, z, i=i: float(np.tanh(x[i] * z[i] - 0.3 * z[i] ** 2)) for i in (0, 1)]
    k = combine(halves, X[:150], y[:150], how="concatenate")
    both, *alone = (SimilarityClassifier(one).fit(X[:150], y[:150]).score(X[150:], y[150:]) for one in (k, *halves))
    assert both > 0.93 > 0.83 > max(alone)


CONCATENATED = {
    "vectors": (VECTORS, [Gaussian(), Sigmoid(scale=1.0, coef0=-1.0), Cosine()]),
    "float32": (VECTORS.astype(np.float32), [Gaussian(), Linear() + Gaussian(sigma=1.0)]),
    "words": (WORDS, [lambda s, t: float(len(set(s) & set(t))), lambda s, t: float(s < t), Gaussian().pullback(len)]),
    "indices": (np.arange(24), [Precomputed(VECTORS @ VECTORS.T), Precomputed(VECTORS @ VECTORS[::-1].T)]),
    "sparse": (sp.csr_array(VECTORS), ["gaussian", "linear"]),
    "pandas": (pd.DataFrame(VECTORS, columns=["a", "b", "c"]), ["gaussian", "laplace"]),
}
CHECKED = list(CONCATENATED)[:4]


@pytest.mark.parametrize("name", CONCATENATED)
def test_concatenations_keep_the_contract_of_similarities(name, monkeypatch):
    """The kit asks this process: that another one finds the same is seen in test_contract_similarity.py."""
    X, members = CONCATENATED[name]
    k = combine(members, X, [0, 1] * 12, how="concatenate")
    if name in CHECKED:
        monkeypatch.setattr("similitude.checks.similarity.grams_elsewhere", lambda cases: [k.gram(X) for k, X in cases])
        check_similarity(k, X)
    again = clone(k)
    assert again == k and again.fingerprint() == k.fingerprint()
    copied = pickle.loads(pickle.dumps(copy.deepcopy(k)))
    np.testing.assert_array_equal(copied.gram(X), k.gram(X))
    assert "24 landmarks" in repr(k)
    other = combine(members, X, [0, 1] * 12, how="concatenate", random_state=1)
    np.testing.assert_allclose(other.gram(X), k.gram(X), rtol=1e-4, atol=1e-6)  # the same landmarks in another order


def test_landmarks_of_a_concatenation_hold_every_class(monkeypatch):
    monkeypatch.setattr(limits, "COMBINED_LANDMARKS", 10)
    X = np.arange(200.0)
    k = combine([Gaussian(sigma=9.0)], X, ["rare"] * 4 + ["often"] * 196, how="concatenate")
    assert k.landmarks.shape == (10, 1) and k.landmarks.min() < 4


def test_a_concatenation_of_what_waits_for_data_is_refused():
    k = SideBySide((Gaussian(),), landmarks=[[1.0]], units=(1.0,))
    with pytest.raises(UnresolvedError, match="sigma"):
        k.gram([[1.0]])
    with pytest.raises(ValueError, match="units must be 1 numbers"):
        SideBySide((Linear(),), landmarks=[[1.0]], units=(1.0, 2.0)).gram([[1.0]])
    k = SideBySide((Linear(),), landmarks=[[1.0]], units=(1.0,))
    assert k([2.0], [3.0]) == 6.0
    assert k.set_params(landmarks=[[2.0]])([2.0], [3.0]) == 24.0


# Sharing, samples, errors.


def test_nothing_of_the_size_of_all_pairs_is_computed(monkeypatch):
    monkeypatch.setattr(limits, "COMBINED_LANDMARKS", 20)
    calls = []

    def alike(x, z):
        calls.append(1)
        return float(x * z)

    X = np.linspace(-1, 1, 200).tolist()
    combine([alike, lambda x, z: float(np.exp(-abs(x - z)))], X, np.array(X) ** 2)
    assert len(calls) == 200 * 20 + 200  # landmarks, and the diagonal


def test_fewer_examples_are_announced(monkeypatch):
    monkeypatch.setattr(limits, "COMBINED_ROWS", 60)
    X, y = problem(200)
    for how in ("alignment", "easymkl", "uniform", "concatenate"):
        with pytest.warns(UserWarning, match="combine: 60 of 200 examples") as caught:
            combine(["gaussian", "linear"], X, y, how=how)
        assert caught[0].filename == __file__


def test_a_small_budget_is_kept():
    X, y = problem(2000)
    with pytest.warns(UserWarning, match="memory budget"):
        combine(["gaussian", "linear"], X, y, engine=LocalEngine(memory="4MiB"))


@pytest.mark.parametrize("how", ["uniform", "alignment", "easymkl"])
def test_what_is_no_kernel_is_refused_by_name_with_advice(how):
    X, y = problem(30)
    with pytest.raises(NotAKernelError, match=r"similarity bad one: .*how='concatenate'") as caught:
        combine({"good": Linear(), "bad one": Sigmoid(scale=1.0, coef0=-1.0)}, X, y, how=how)
    assert caught.value.witness is not None
    with pytest.raises(NotAKernelError, match="crooked"):
        combine([Linear(), crooked], X, y, how=how)
    combine([Linear(), crooked], X, y, how="concatenate")


def test_what_cannot_be_weighed_is_said():
    X, y = problem(30)
    one = FromPairs(lambda x, z: 1.0, claims=["SYMMETRIC", "PSD"])
    with pytest.raises(ValueError, match="no kernel varies with y"):
        combine([one], X, y)
    with pytest.raises(ValueError, match="no kernel tells the classes apart"):
        combine([one], X, y, how="easymkl")
    with pytest.raises(ValueError, match="y is constant"):
        combine([Linear()], X, np.full(30, 0.3))
    with pytest.raises(ValueError, match="every kernel is zero"):
        combine([0.0 * Linear()], X, y, how="uniform")


@pytest.mark.parametrize("how", ["uniform", "alignment", "easymkl", "concatenate"])
def test_a_failing_pair_is_named(how):
    def bad(x, z):
        return 1 / 0 if (x, z) == (3, 7) else float(x * z)

    with pytest.raises(PairError, match="similarity bad one") as caught:
        combine({"good": lambda x, z: float(x * z), "bad one": bad}, list(range(24)), [0, 1] * 12, how=how)
    assert (caught.value.i, caught.value.j) == (3, 7)
