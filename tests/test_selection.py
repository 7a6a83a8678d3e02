"""Choosing a kernel: explicit loops as the oracle, each pair computed once, intervals that cover, errors."""

import json

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from scipy.stats import ttest_1samp, ttest_rel
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    KFold,
    LeaveOneOut,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)

from similitude import FromPairs, Precomputed
from similitude.engines import LocalEngine
from similitude.errors import PairError
from similitude.evaluation import Folds
from similitude.kernels import Gaussian, Laplace, Linear, Matern, Polynomial, RationalQuadratic, Sigmoid
from similitude.kernels.vectors import DistanceSimilarity
from similitude.kernels.vectors.pairwise import VectorSimilarity
from similitude.linear import Moments
from similitude.selection import choose_kernel, limits
from similitude.selection.cross_validation import differences, error_of, moments_of_folds
from similitude.selection.landmark_similarities import families

RADIAL = [
    Gaussian(sigma=1.3),
    Laplace(sigma=1.1),
    Laplace(sigma=2.0, squared_scale=False),
    Laplace(sigma=1.7, norm=1),
    Matern(nu=0.5, length=1.2),
    Matern(length=1.2),
    Matern(nu=2.5, length=1.2),
    Matern(nu=3.3, length=1.2),
    Matern(nu=float("inf"), length=1.2),
    RationalQuadratic(alpha=0.7, length=1.2),
]


def rings(n, d=3, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X, np.where((X**2).sum(axis=1) > d - 0.6, "out", "in")


def projected(K, landmarks):
    """Features by eigenvectors."""
    w, U = np.linalg.eigh(K[np.ix_(landmarks, landmarks)])
    kept = w > 1e-11 * w[-1]
    return K[:, landmarks] @ U[:, kept] / np.sqrt(w[kept])


def by_loops(F, folds, Y, penalty):
    """Scores of the examples of every fold by plain loops, each with the penalty that is best for the other folds."""
    used = np.unique(np.concatenate([train for train, _ in folds]))
    grid = ((F[used] - F[used].mean(axis=0)) ** 2).sum() * 10.0 ** np.arange(-9, 1.1, 0.5)
    scores = []
    for train, test in folds:
        models = [Ridge(alpha=lam, solver="svd").fit(F[train], Y[train]) for lam in grid]
        scores.append([model.predict(F[test]).reshape(len(test), -1) for model in models])
    losses = np.array([[((S - Y[test]) ** 2).sum() for S in one] for one, (_, test) in zip(scores, folds, strict=True)])
    assert grid[losses.sum(axis=0).argmin()] == pytest.approx(penalty)  # the best for all folds together
    best = [(losses.sum(axis=0) - one).argmin() for one in losses]
    return [one[place] for one, place in zip(scores, best, strict=True)]


def in_place(scores, folds, shape):
    """Scores of all examples, where every one is judged once."""
    found = np.full(shape, np.nan)
    for S, (_, test) in zip(scores, folds, strict=True):
        found[test] = S
    return found


# The table is what explicit loops give.


def test_two_classes_equal_explicit_loops():
    X, y = rings(90)
    folds = list(KFold(4, shuffle=True, random_state=1).split(X))
    kernels = [Linear(), Polynomial(2), Gaussian(sigma=1.0), Laplace(sigma=1.2), Gaussian(sigma=1.0) + Linear()]
    chosen = choose_kernel(kernels, X, y, cv=folds)
    Y = np.where(y == "out", 1.0, -1.0)[:, None]
    assert len(chosen.table) == 5 and sorted(chosen.landmark_indices) == list(range(90))
    for row in chosen.table:
        F = projected(row.similarity.gram(X), chosen.landmark_indices)
        scores = in_place(by_loops(F, folds, Y, row.penalty), folds, Y.shape)
        assert row.error.value == np.mean((scores >= 0) != (Y > 0))
        assert row.loss == pytest.approx(np.mean((scores - Y) ** 2), rel=1e-6)
    assert [row.error.value for row in chosen.table] == sorted(row.error.value for row in chosen.table)


def test_several_classes_and_fewer_landmarks_equal_explicit_loops(monkeypatch):
    monkeypatch.setattr(limits, "COMPARED_LANDMARKS", 25)
    X = np.random.default_rng(2).standard_normal((120, 2))
    y = np.digitize((X**2).sum(axis=1), [0.7, 2.0]) * 10
    splitter = StratifiedKFold(3, shuffle=True, random_state=4)
    chosen = choose_kernel({"wide": Gaussian(sigma=2.0), "linear": "linear"}, X, y, cv=splitter)
    assert chosen.task == "classification" and len(chosen.landmark_indices) == 25
    assert chosen.table[0].candidate == "wide" and chosen.best == Gaussian(sigma=2.0)
    Y = np.where(y[:, None] == np.array([0, 10, 20]), 1.0, -1.0)
    for row in chosen.table:
        folds = list(splitter.split(X, y))
        F = projected(row.similarity.gram(X), chosen.landmark_indices)
        scores = in_place(by_loops(F, folds, Y, row.penalty), folds, Y.shape)
        assert row.error.value == np.mean(scores.argmax(axis=1) * 10 != y)
        assert row.loss == pytest.approx(np.mean(((scores - Y) ** 2).sum(axis=1)), rel=1e-6)


def test_numbers_equal_explicit_loops():
    rng = np.random.default_rng(3)
    X = rng.uniform(-3, 3, (80, 1))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(80)
    folds = list(KFold(5).split(X))
    chosen = choose_kernel([Linear(), Gaussian(sigma=0.7)], X, y, cv=folds)
    assert chosen.task == "regression" and chosen.best == Gaussian(sigma=0.7)
    for row in chosen.table:
        F = projected(row.similarity.gram(X), chosen.landmark_indices)
        scores = in_place(by_loops(F, folds, y[:, None], row.penalty), folds, (80, 1))
        assert row.error.value == pytest.approx(np.mean((scores[:, 0] - y) ** 2), rel=1e-6)
        assert row.loss == pytest.approx(row.error.value)
    assert not chosen.table[1].as_good


def test_several_outputs():
    rng = np.random.default_rng(3)
    X = rng.uniform(-3, 3, (60, 1))
    Y = np.column_stack([np.sin(2 * X[:, 0]), np.cos(2 * X[:, 0])]) + 0.1 * rng.standard_normal((60, 2))
    folds = list(KFold(3).split(X))
    row = choose_kernel([Gaussian(sigma=0.7)], X, Y, cv=folds).table[0]
    scores = in_place(by_loops(projected(row.similarity.gram(X), np.arange(60)), folds, Y, row.penalty), folds, Y.shape)
    assert row.error.value == pytest.approx(np.mean(((scores - Y) ** 2).sum(axis=1)), rel=1e-6)


def test_features_of_asymmetric_similarities_are_similarities_of_both_sides():
    X, y = rings(60)
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    k = FromPairs(lambda x, z: float(np.exp(-((x - 0.5 * z) ** 2).sum())))
    chosen = choose_kernel([k], X, y, cv=folds)
    row, at = chosen.table[0], chosen.landmark_indices
    assert (
        row.representation.name == "similarities"
        and row.representation.side == "both"
        and "not symmetric" in row.representation.reason
    )
    assert row.n_similarity_calls == 2 * 60 * 60
    K = k.gram(X)
    F = np.hstack([K[:, at], K.T[:, at]])
    F = F / np.linalg.norm(F, axis=1, keepdims=True) if row.representation.normalized else F
    Y = np.where(y == "out", 1.0, -1.0)[:, None]
    scores = in_place(by_loops(F, folds, Y, row.penalty), folds, Y.shape)
    assert row.loss == pytest.approx(np.mean((scores - Y) ** 2), rel=1e-6)
    assert row.error.value == np.mean((scores >= 0) != (Y > 0))


def test_features_of_indefinite_similarities_are_similarities():
    X, y = rings(60)
    row = choose_kernel([Sigmoid(scale=0.5, coef0=-1.0)], X, y, cv=3).table[0]
    assert (
        row.representation.name == "similarities"
        and row.representation.side == "left"
        and "not a kernel" in row.representation.reason
    )


def test_single_precision_gives_nearly_the_same():
    X, y = rings(150)
    kernels = [Gaussian(sigma=1.0), Matern(length=1.5), Linear()]
    wide, narrow = (choose_kernel(kernels, Z, y, cv=3) for Z in (X, X.astype(np.float32)))
    for one, other in zip(wide.table, narrow.table, strict=True):
        assert one.candidate == other.candidate
        assert one.loss == pytest.approx(other.loss, rel=1e-3)


# Folds of any kind.


@pytest.mark.parametrize(
    "cv",
    [
        RepeatedKFold(n_splits=3, n_repeats=4, random_state=0),
        ShuffleSplit(5, test_size=0.3, random_state=0),
        TimeSeriesSplit(4),
        PredefinedSplit(np.r_[-np.ones(10, int), np.zeros(10, int), np.ones(10, int)]),
        LeaveOneOut(),
    ],
    ids=lambda cv: type(cv).__name__,
)
def test_any_splitter_equals_explicit_loops(cv):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (30, 2))
    y = X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(30)
    row = choose_kernel([Gaussian(sigma=1.0)], X, y, cv=cv).table[0]
    folds, sums, times = list(cv.split(X)), np.zeros(30), np.zeros(30)
    scores = by_loops(projected(row.similarity.gram(X), np.arange(30)), folds, y[:, None], row.penalty)
    for S, (_, test) in zip(scores, folds, strict=True):
        sums[test] += (S[:, 0] - y[test]) ** 2
        times[test] += 1
    assert row.error.value == pytest.approx(np.mean(sums[times > 0] / times[times > 0]), rel=1e-6)


def test_moments_of_folds_are_those_of_their_examples():
    rng = np.random.default_rng(0)
    F, Y = rng.standard_normal((50, 4)), rng.standard_normal((50, 2))
    for cv in (KFold(5), ShuffleSplit(6, random_state=0), TimeSeriesSplit(3), LeaveOneOut()):
        pairs = list(cv.split(F))
        total, of = moments_of_folds(F, Y, Folds(pairs))
        for fold, (train, _) in enumerate(pairs):
            found = of(fold)
            expected = Moments.of(F[train], Y[train], np.ones(len(train)))
            np.testing.assert_allclose(found.gram, expected.gram, rtol=1e-12)
            np.testing.assert_allclose(found.cross, expected.cross, rtol=1e-10, atol=1e-12)
            assert found.weight == len(train)
        assert total.weight == len(np.unique(np.concatenate([train for train, _ in pairs])))


def test_masks_positions_and_splitters_mean_the_same():
    X, y = rings(40)
    splitter = KFold(4)
    pairs = list(splitter.split(X))
    masks = [(np.isin(np.arange(40), train), np.isin(np.arange(40), test)) for train, test in pairs]
    tables = [choose_kernel([Gaussian(sigma=1.0)], X, y, cv=cv).table[0] for cv in (splitter, pairs, iter(masks))]
    assert len({(row.error.value, row.loss, row.penalty) for row in tables}) == 1


# Each pair is computed once.


@pytest.mark.parametrize("kernel", RADIAL, ids=repr)
@pytest.mark.parametrize("d", [3, 40])
def test_a_function_of_distances_is_the_kernel(kernel, d):
    rng = np.random.default_rng(d)
    for dtype, rtol in ((np.float64, 1e-13), (np.float32, 1e-5)):
        A, B = (rng.standard_normal((n, d)).astype(dtype) for n in (7, 9))
        for left, right in ((A, B), (sp.csr_array(A), sp.csr_array(B)), (A, A)):
            D = kernel.distances(left, right)
            K = kernel.of_distances(D.copy())
            assert K.dtype == dtype and kernel.block(left, right).dtype == dtype
            np.testing.assert_allclose(K, kernel.block(left, right), rtol=rtol)
        expected = cdist(A, B) ** 2 if kernel.sums == "squared_difference" else abs(A[:, None] - B).sum(axis=2)
        np.testing.assert_allclose(kernel.distances(A, B), expected, rtol=1e-5)


class OtherFormula(Gaussian):
    def block(self, A, B):
        return super().block(A, B) ** 2


class OtherVectors(Gaussian):
    def encode(self, objects):
        return 2 * super().encode(objects)


class OtherDistances(Gaussian):
    def distances(self, A, B, out=None):
        return 2 * super().distances(A, B, out)


class OtherFunction(Gaussian):
    def of_distances(self, D):
        return super().of_distances(D) ** 2


def test_only_those_that_are_functions_of_one_distance_share_it():
    def square(x):
        return [x**2]

    given = [
        Gaussian(sigma=1.0),
        Linear(),
        Laplace(sigma=1.0, norm=1),
        Matern(nu=3.3, length=1.0),
        OtherFormula(sigma=1.0),
        OtherVectors(sigma=1.0),
        Gaussian(sigma=1.0).pullback(square),
        Laplace(sigma=1.0).pullback(square),
        Gaussian(sigma=1.0).pullback(lambda x: [x]),
        Laplace(sigma=3.0, norm=1),
        Gaussian(sigma=1.0) + Linear(),
        OtherDistances(sigma=1.0),
        OtherFunction(sigma=1.0),
    ]
    assert families(given) == [[0, 3], [1], [2, 9], [4], [5], [6, 7], [8], [10], [11], [12]]
    assert OtherFormula(sigma=1.0).shared_distances() is None is OtherVectors(sigma=1.0).shared_distances()


def test_distances_are_computed_once_for_the_whole_family(monkeypatch):
    X, y = rings(70)
    cells = []
    distances = DistanceSimilarity.distances

    def counted(k, A, B, out=None):
        cells.append(len(A) * len(B))
        return distances(k, A, B, out)

    monkeypatch.setattr(DistanceSimilarity, "distances", counted)
    monkeypatch.setattr(VectorSimilarity, "block", lambda *args: pytest.fail("computed without the distances"))
    kernels = [*(Gaussian(sigma=s) for s in (0.3, 1.0, 3.0)), Laplace(sigma=1.0), RationalQuadratic(length=1.0)]
    chosen = choose_kernel(kernels, X, y)
    assert sum(cells) <= 70 * 70 + 1  # one value shows the precision
    assert chosen.n_similarity_calls == 70 * 70
    assert all(row.shared and row.n_similarity_calls == 70 * 70 for row in chosen.table)


def test_sharing_changes_nothing():
    X, y = rings(80)
    together = choose_kernel(RADIAL, X, y)
    for row in together.table:
        alone = choose_kernel([row.similarity], X, y).table[0]
        assert (alone.error.value, alone.representation) == (row.error.value, row.representation)
        assert alone.loss == pytest.approx(row.loss, rel=1e-9) and alone.penalty == pytest.approx(row.penalty)
        assert not alone.shared


def test_a_users_function_is_called_once_for_each_pair():
    words = ["".join(np.random.default_rng(i).choice(list("abcd"), 4)) for i in range(30)]
    calls = []

    def alike(s, t):
        calls.append((s, t))
        return float(sum(a == b for a, b in zip(s, t, strict=True)))

    chosen = choose_kernel([alike], words, [word[0] for word in words], cv=2)
    assert len(calls) == 900 == chosen.n_similarity_calls
    assert chosen.table[0].error.value < 0.5
    assert "positive semi-definite on 30 landmarks" in chosen.table[0].representation.reason


def test_a_pulled_back_function_is_called_once_for_each_object():
    calls = []

    def phi(x):
        calls.append(x)
        return [x, x * x]

    X = np.linspace(-1, 1, 40).tolist()
    kernels = [Gaussian().pullback(phi), Laplace().pullback(phi), Linear().pullback(phi)]
    choose_kernel(kernels, X, [x * x > 0.3 for x in X], cv=3)
    assert sorted(calls) == X


def test_landmarks_are_the_same_for_all_and_look_at_no_label(monkeypatch):
    monkeypatch.setattr(limits, "COMPARED_LANDMARKS", 10)
    X, y = rings(60)
    first = choose_kernel([Linear(), Gaussian()], X, y, random_state=1)
    again = choose_kernel([Gaussian()], X, np.roll(y, 7), random_state=1)
    other = choose_kernel([Gaussian()], X, y, random_state=2)
    assert first.landmark_indices.tolist() == again.landmark_indices.tolist() != other.landmark_indices.tolist()
    scales = {row.similarity.sigma for row in (*first.table, *again.table) if isinstance(row.similarity, Gaussian)}
    assert scales == {Gaussian().resolve(X).sigma}


# What is said of the candidates.


def test_the_planted_kernel_wins():
    X, y = rings(300)
    chosen = choose_kernel([Linear(), Gaussian(sigma=0.02), Gaussian(sigma=2.0)], X, y)
    assert chosen.best == Gaussian(sigma=2.0)
    assert [row.as_good for row in chosen.table] == [True, False, False]
    best = chosen.table[0].difference
    assert best.value == best.low == best.high == 0.0
    assert all(row.difference.low > 0 for row in chosen.table[1:])


def test_equal_candidates_are_as_good():
    X, y = rings(100)
    chosen = choose_kernel([Gaussian(sigma=1.0), Gaussian(sigma=1.0), 3.0 * Gaussian(sigma=1.0)], X, y)
    assert all(row.as_good for row in chosen.table)
    ranked = [row.candidate for row in chosen.table]
    assert ranked.index("Gaussian(sigma=1.0)") + 1 == ranked.index("Gaussian(sigma=1.0) (2)")
    assert max(row.difference.value for row in chosen.table) < 0.03


def test_two_candidates_get_students_paired_interval():
    rng = np.random.default_rng(0)
    shared, apart = rng.exponential(1.0, 50), rng.exponential(1.0, 25)
    errors = np.column_stack([shared, shared + 0.3 + np.r_[apart, -apart]])  # the differences are not skewed
    found = differences(errors, 0, of_classes=False)[1]
    expected = ttest_rel(errors[:, 1], errors[:, 0]).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    wider = differences(errors, 0, of_classes=False, wider=1.5)[1]
    assert (wider.high - wider.value) == pytest.approx(1.5 * (found.high - found.value))


def test_skewed_errors_are_covered_better_than_by_students_interval():
    rng, missed = np.random.default_rng(0), np.zeros(2)
    for _ in range(500):
        errors = rng.standard_normal(60) ** 2 * np.exp(rng.standard_normal(60))
        found, plain = error_of(errors, of_classes=False), ttest_1samp(errors, 0).confidence_interval(0.95)
        truth = np.exp(0.5)
        missed += [not found.low <= truth <= found.high, not plain.low <= truth <= plain.high]
    assert missed[0] <= 50 and missed[1] >= 65


def test_few_disagreements_tell_nothing():
    errors = np.zeros((100, 2))
    errors[:4, 1] = 1.0  # four examples, all one way: the exact test of McNemar has p = 1/8
    assert differences(errors, 0, of_classes=True)[1].low < 0
    errors[:9, 1] = 1.0  # nine: p = 1/256
    assert differences(errors, 0, of_classes=True)[1].low > 0


@pytest.mark.parametrize("times", [150, pytest.param(400, marks=pytest.mark.deep)])
@pytest.mark.parametrize("of_classes", [True, False])
def test_intervals_hold_together_although_the_best_was_chosen(of_classes, times):
    rng, missed = np.random.default_rng(0), 0
    for _ in range(times):
        shared = rng.standard_normal((150, 1))
        errors = shared + rng.standard_normal((150, 8))
        errors = (errors > 1.2).astype(float) if of_classes else errors**2
        best = int(errors.mean(axis=0).argmin())
        missed += any(one.low > 0 for one in differences(errors, best, of_classes))  # in truth all are alike
    assert missed <= 0.07 * times


def fold_models(X, y, landmarks, folds, kernel, penalty, Z):
    """Scores of new examples by the model of every fold."""
    K, new = kernel.gram(X), kernel.cross(Z, X[landmarks])
    w, U = np.linalg.eigh(K[np.ix_(landmarks, landmarks)])
    basis = U[:, w > 1e-11 * w[-1]] / np.sqrt(w[w > 1e-11 * w[-1]])
    F = K[:, landmarks] @ basis
    return [Ridge(alpha=penalty).fit(F[train], y[train]).predict(new @ basis) for train, _ in folds]


@pytest.mark.parametrize("runs", [20, pytest.param(200, marks=pytest.mark.deep)])
def test_intervals_cover_the_errors_of_the_models_on_new_examples(runs):
    """The models of all folds are made again, so the truth is known by new examples."""
    rng, covered = np.random.default_rng(1), np.zeros(2)
    noise = [lambda n: rng.random(n) < 0.15, lambda n: np.zeros(n, bool)]
    for run in range(runs):
        X, Z = rng.standard_normal((100, 2)), rng.standard_normal((2000, 2))
        y, z = ((A[:, 0] + A[:, 1] ** 2 > 0.7) ^ noise[run % 2](len(A)) for A in (X, Z))
        folds = list(KFold(4).split(X))
        chosen = choose_kernel([Linear(), Gaussian(sigma=1.5)], X, y, cv=folds)
        errors = []
        for row in chosen.table:
            signs = np.where(y, 1.0, -1.0)
            models = fold_models(X, signs, chosen.landmark_indices, folds, row.similarity, row.penalty, Z)
            errors.append(np.mean([(scores >= 0) != z for scores in models]))
        covered[0] += chosen.table[0].error.low <= errors[0] <= chosen.table[0].error.high
        worse = chosen.table[1].difference
        covered[1] += worse.low <= errors[1] - errors[0] <= worse.high
    assert (covered >= 0.93 * runs).all(), covered / runs


# Objects and targets of every kind.

WORDS = ["".join(np.random.default_rng(i).choice(list("abc"), 3 + i % 4)) for i in range(24)]
VECTORS = np.random.default_rng(0).standard_normal((24, 3))
GRAPHS = [nx.gnp_random_graph(5 + i % 5, 0.5, seed=i) for i in range(24)]


def size(graph):
    return [graph.number_of_nodes(), graph.number_of_edges()]


def letters(s, t):
    return float(len(set(s) & set(t)))


@pytest.mark.parametrize(
    ("X", "candidates"),
    [
        (WORDS, [letters, FromPairs(letters, claims=["SYMMETRIC"]), Gaussian().pullback(len)]),
        (GRAPHS, [Linear().pullback(size), Gaussian().pullback(size)]),
        ([{"a": float(v)} for v in VECTORS[:, 0]], [lambda r, s: r["a"] * s["a"]]),
        (sp.csr_array(VECTORS), ["gaussian", "linear"]),
        (pd.DataFrame(VECTORS, columns=["a", "b", "c"]), ["gaussian", lambda r, s: r["a"] * s["a"]]),
        (pl.DataFrame(VECTORS, schema=["a", "b", "c"]), ["gaussian", lambda r, s: r["a"] * s["a"]]),
        (pl.DataFrame(VECTORS.astype(np.float32), schema=["a", "b", "c"]), ["gaussian", Laplace()]),
        (VECTORS.tolist(), ["gaussian", Linear()]),
        (range(24), [Precomputed(VECTORS @ VECTORS.T), Precomputed(np.abs(VECTORS @ VECTORS.T))]),
        ([np.ones(1 + i % 5) * i for i in range(24)], [lambda x, z: float(x.sum() * z.sum())]),
    ],
    ids=["words", "graphs", "dicts", "sparse", "pandas", "polars", "polars32", "lists", "indices", "ragged"],
)
def test_objects_of_every_kind(X, candidates):
    for y in (np.arange(24) % 2 == 0, np.array(["a", "b", "c"] * 8), VECTORS[:, 0], pd.Series(VECTORS[:, 1])):
        chosen = choose_kernel(candidates, X, y, cv=3)
        assert len(chosen.table) == len(candidates)
        assert chosen.task == ("regression" if np.asarray(y).dtype.kind == "f" else "classification")
        assert 0 <= chosen.table[0].error.low <= chosen.table[0].error.value <= chosen.table[0].error.high


def test_whole_numbers_are_classes_unless_they_are_shifted():
    X, y = VECTORS, np.arange(24) % 4
    assert choose_kernel(["linear"], X, y, cv=2).task == "classification"
    assert choose_kernel(["linear"], X, y.astype(float), cv=2).task == "classification"
    shifted, more = (choose_kernel(["linear"], X, y + by, cv=2) for by in (0.5, 7.5))
    assert shifted.task == "regression"
    assert shifted.table[0].error.value == pytest.approx(more.table[0].error.value)


def test_labels_of_any_kind_give_the_same_table():
    X, y = rings(60)
    kinds = [y, y == "out", np.where(y == "out", 7, -3), (y == "out").astype(object), y.astype(object), list(y)]
    rows = [choose_kernel(["gaussian"], X, labels, cv=3).table[0] for labels in kinds]
    assert len({(row.error.value, row.loss) for row in rows}) == 1


# Manners of the result.


def test_the_result_can_be_read_and_stored():
    X, y = rings(60)
    before = X.copy()
    chosen = choose_kernel({"wide": Gaussian(sigma=2.0), "line": Linear(), "open": "gaussian"}, X, y, cv=3)
    assert (before == X).all()
    lines = str(chosen).splitlines()
    assert lines[0] == "classification: 3 folds, stratified, 60 examples, 60 landmarks"
    at = lines[1].index("error")
    assert all(line[at - 1] == " " and line[at] != " " for line in lines[2:5])
    assert {row.candidate for row in chosen.table} == {"wide", "line", "open"}
    assert "shared" in str(chosen) and str(chosen.table[0]).startswith(chosen.table[0].candidate)
    stored = json.loads(json.dumps(chosen.to_dict()))
    assert stored["best"] == repr(chosen.best) and len(stored["table"]) == 3
    frame = chosen.to_frame()
    assert frame["candidate"].tolist() == [row.candidate for row in chosen.table]
    assert frame["error"].is_monotonic_increasing and frame["as_good"].dtype == bool
    with pytest.raises(AttributeError):
        chosen.best = None
    assert f"Best: {chosen.table[0].candidate[:8]}" in chosen._repr_html_()


def test_the_same_call_gives_the_same_table():
    X, y = rings(60)
    one, two, three = (choose_kernel(["gaussian", "linear"], X, y, random_state=seed) for seed in (5, 5, 6))
    figures = [[(row.candidate, row.loss, row.difference.low) for row in chosen.table] for chosen in (one, two, three)]
    assert figures[0] == figures[1] != figures[2]


def test_fewer_examples_are_announced(monkeypatch):
    monkeypatch.setattr(limits, "COMPARED_ROWS", 100)
    X, y = rings(300)
    with pytest.warns(UserWarning, match="100 of 300 examples are used") as caught:
        chosen = choose_kernel(["gaussian"], X, y)
    assert caught[0].filename == __file__
    assert chosen.n_examples == 100 and "100 of 300" in chosen.notes[0] and "100 of 300" in str(chosen)
    folds = [(np.r_[np.arange(150)], np.arange(150, 300)), (np.arange(150, 300), np.arange(150))]
    with pytest.warns(UserWarning, match="100 of 300"):
        assert choose_kernel(["gaussian"], X, y, cv=folds).n_examples == 100


def test_a_small_budget_is_kept():
    X, y = rings(2000)
    with pytest.warns(UserWarning, match="memory budget"):
        chosen = choose_kernel(["gaussian"], X, y, engine=LocalEngine(memory="8MiB"))
    n, m = chosen.n_examples, len(chosen.landmark_indices)
    assert n * m * 8 * 4 < 8 * 2**20 and m >= 50
    with pytest.raises(MemoryError, match="memory budget"):
        choose_kernel(["gaussian"], X, y, engine=LocalEngine(memory="64KiB"))


# Bad input: named, and before the first similarity is computed where it can be.


def test_a_failing_pair_is_named_by_candidate_and_place(monkeypatch):
    monkeypatch.setattr(limits, "COMPARED_ROWS", 20)
    X = list(range(24))

    def bad(x, z):
        return 1 / 0 if (x, z) == pair else 1.0 * x * z

    pair = (None, None)
    with pytest.warns(UserWarning, match="20 of 24"):
        looked = choose_kernel([bad], X, [0, 1] * 12, cv=2).landmark_indices
    pair = (int(looked[3]), int(looked[7]))
    with pytest.warns(UserWarning, match="20 of 24"), pytest.raises(PairError, match="similarity bad one") as caught:
        choose_kernel({"good": lambda x, z: 1.0 * x * z, "bad one": bad}, X, [0, 1] * 12, cv=2)
    assert (caught.value.i, caught.value.j) == pair
    assert "ZeroDivisionError" in str(caught.value)
