"""Nearest neighbors in feature space: against a plain sort of plainly computed distances."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from market import KINDS
from naive import kernel_distance, linear, matrix, polynomial
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors

from similitude import FromBlocks, FromPairs, Precomputed
from similitude.engines import LocalEngine
from similitude.errors import PairError
from similitude.kernels import Gaussian, Linear, Polynomial
from similitude.learners.neighbors import SimilarityKNeighborsClassifier, SimilarityKNeighborsRegressor
from similitude.learners.neighbors.tiles import NearestColumns

rng = np.random.default_rng(0)
X = rng.standard_normal((40, 3))
Z = rng.standard_normal((15, 3))
Y = np.stack([X[:, 0], np.abs(X[:, 1])], axis=1)
LABELS = np.array(["no", "yes", "perhaps"])[np.arange(40) % 3]
WORDS = ["kernel", "colonel", "kern", "lek", "margin", "map", "maps", "gram", "grammar", "", "kernel"]
TINY = LocalEngine(threads=1, memory=4000)


def by_sorting(D, k):
    """The k nearest columns of every row, equal ones by index."""
    which = np.argsort(D, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(D, which, axis=1), which


NAIVE = {"linear": (Linear(), linear()), "polynomial": (Polynomial(2, coef0=0.0), polynomial(2, 0.0, 1.0))}


@pytest.mark.parametrize("engine", [None, TINY])
@pytest.mark.parametrize("k", [1, 3, 40])
@pytest.mark.parametrize("name", NAIVE)
def test_neighbors_are_those_of_a_plain_sort(name, k, engine):
    kernel, plain = NAIVE[name]
    distances, which = by_sorting(matrix(kernel_distance(plain), Z, X), k)
    model = SimilarityKNeighborsRegressor(kernel, n_neighbors=k, engine=engine).fit(X, Y)
    found, indices = model.kneighbors(Z)
    assert (indices == which).all()
    assert found == pytest.approx(distances)
    assert (model.kneighbors(Z, return_distance=False) == which).all()
    assert model.predict(Z) == pytest.approx(Y[which].mean(axis=1))


def test_the_oracles_of_the_theory():
    model = SimilarityKNeighborsRegressor(Polynomial(2, coef0=0.0), n_neighbors=1)
    assert model.fit([[0.0, 1.0]], [0.0]).kneighbors([[1.0, 0.0]])[0] == pytest.approx(np.sqrt(2))
    assert model.fit([[3.0, -1.0]], [0.0]).kneighbors([[1.0, 2.0]])[0] == pytest.approx(np.sqrt(123))


@pytest.mark.parametrize("sigma", [0.3, 1.0, "median"])
def test_the_gaussian_ranking_is_the_euclidean_one(sigma):
    far = np.vstack([X, 4 * X])
    euclidean = NearestNeighbors(n_neighbors=80).fit(far)
    model = SimilarityKNeighborsRegressor(Gaussian(sigma), n_neighbors=80).fit(far, far)
    assert (model.kneighbors(Z, return_distance=False) == euclidean.kneighbors(Z)[1]).all()


@pytest.mark.parametrize("engine", [None, TINY])
def test_training_objects_are_not_their_own_neighbors(engine):
    model = SimilarityKNeighborsClassifier(Gaussian(1.0), n_neighbors=4, engine=engine).fit(X, LABELS)
    D = np.sqrt(2 - 2 * rbf_kernel(X, gamma=0.5))
    np.fill_diagonal(D, np.inf)
    found, indices = model.kneighbors()
    assert (indices == by_sorting(D, 4)[1]).all() and found == pytest.approx(by_sorting(D, 4)[0])
    assert model.kneighbors(n_neighbors=39, return_distance=False).shape == (40, 39)
    with pytest.raises(ValueError, match="besides the object itself"):
        model.kneighbors(n_neighbors=40)


@given(st.data())
def test_equally_near_ones_are_taken_by_index_however_the_columns_are_cut(data):
    n, m = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 30))
    k = data.draw(st.integers(1, m))
    far = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n * m, max_size=n * m)), float).reshape(n, m)
    cuts = sorted(data.draw(st.sets(st.integers(1, m), max_size=4)) - {m})
    nearest = NearestColumns(n, k)
    for start, stop in zip([0, *cuts], [*cuts, m], strict=True):
        nearest.look_at((slice(0, n), slice(start, stop)), far[:, start:stop])
    values, which = by_sorting(far, k)
    assert (nearest.far == values).all() and (nearest.which == which).all()


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda d: np.exp(-d)])
def test_predictions_are_those_of_scikit_learn_on_the_linear_kernel(weights):
    near = np.vstack([Z, X[:5]])  # some at distance zero
    mine = SimilarityKNeighborsClassifier("linear", weights=weights).fit(X, LABELS)
    peer = KNeighborsClassifier(weights=weights).fit(X, LABELS)
    assert mine.predict_proba(near) == pytest.approx(peer.predict_proba(near), abs=1e-6)
    assert (mine.predict(near) == peer.predict(near)).all()
    for y in (Y, Y[:, 0]):
        mine = SimilarityKNeighborsRegressor("linear", weights=weights).fit(X, y)
        peer = KNeighborsRegressor(weights=weights).fit(X, y)
        assert mine.predict(near) == pytest.approx(peer.predict(near), abs=1e-6)


def test_votes_that_are_equal_go_to_the_first_class():
    model = SimilarityKNeighborsClassifier("linear", n_neighbors=2).fit([[0.0], [2.0]], [True, False])
    assert model.predict_proba([[1.0]]) == pytest.approx(np.array([[0.5, 0.5]]))
    assert not model.predict([[1.0]])[0]


def test_duplicates_decide_alone_by_distance():
    x = np.array([[0.1, 0.7], [0.1, 0.7], [0.3, 0.9], [5.0, 5.0]])
    model = SimilarityKNeighborsRegressor(Polynomial(3), n_neighbors=4, weights="distance").fit(x, [1.0, 3.0, 7.0, 9.0])
    assert model.predict(x[:1]) == pytest.approx(2.0)
    assert (model.kneighbors(x[:1])[0][0, :2] == 0).all()
    same = SimilarityKNeighborsRegressor(n_neighbors=3).fit(np.ones((5, 2)), np.arange(5))
    assert (same.kneighbors(np.ones((2, 2)))[1] == [0, 1, 2]).all()


def test_single_precision_in_and_out():
    single = SimilarityKNeighborsRegressor(Gaussian(1.0)).fit(X.astype(np.float32), Y)
    double = SimilarityKNeighborsRegressor(Gaussian(1.0)).fit(X, Y)
    for query in (Z, Z.astype(np.float32)):
        assert single.kneighbors(query)[0] == pytest.approx(double.kneighbors(query)[0], abs=1e-3)
        assert (single.kneighbors(query)[1] == double.kneighbors(query)[1]).all()
    assert (single.kneighbors(X.astype(np.float32), 1)[0] == 0).all()


def test_huge_values_do_not_overflow():
    huge = SimilarityKNeighborsRegressor(1e307 * Gaussian(1.0), n_neighbors=3).fit(X, Y)
    plain = SimilarityKNeighborsRegressor(Gaussian(1.0), n_neighbors=3).fit(X, Y)
    assert huge.kneighbors(Z)[0] == pytest.approx(plain.kneighbors(Z)[0] * np.sqrt(1e307))
    lengths = SimilarityKNeighborsRegressor(Linear(), n_neighbors=40).fit(X * 1e153, Y)
    assert (lengths.kneighbors(Z * 1e153)[1] == by_sorting(matrix(kernel_distance(linear()), Z, X), 40)[1]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_objects_of_every_kind(kind):
    kernel, objects = KINDS[kind]
    n = objects.shape[0] if hasattr(objects, "shape") else len(objects)
    model = SimilarityKNeighborsClassifier(kernel, n_neighbors=3).fit(objects, LABELS[:n])
    distances = by_sorting(np.asarray(model.kernel_.distance(objects), dtype=float), 3)[0]
    assert model.kneighbors(objects)[0] == pytest.approx(distances, abs=1e-3)
    assert pickle.loads(pickle.dumps(model)).predict(objects).tolist() == model.predict(objects).tolist()
    regressor = SimilarityKNeighborsRegressor(kernel, n_neighbors=3).fit(objects, np.arange(n))
    assert clone(regressor).fit(objects, np.arange(n)).predict(objects).shape == (n,)


def test_a_precomputed_matrix_is_the_kernel_it_came_from():
    K, y = rbf_kernel(X, gamma=0.5), (X[:, 0] > 0).astype(int)
    for weights in ("uniform", "distance"):
        by_matrix = cross_val_score(SimilarityKNeighborsClassifier("precomputed", weights=weights), K, y, cv=4)
        by_kernel = cross_val_score(SimilarityKNeighborsClassifier(Gaussian(1.0), weights=weights), X, y, cv=4)
        assert (by_matrix == by_kernel).all()


def test_a_precomputed_matrix_gives_distances_only_where_all_lengths_are_equal():
    model = SimilarityKNeighborsRegressor("precomputed").fit(X @ X.T, Y)
    euclidean = NearestNeighbors().fit(X)
    assert (model.kneighbors(Z @ X.T, return_distance=False) == euclidean.kneighbors(Z)[1]).all()
    assert model.predict(Z @ X.T) == pytest.approx(Y[euclidean.kneighbors(Z)[1]].mean(axis=1))
    with pytest.raises(ValueError, match="not in the matrix"):
        model.kneighbors(Z @ X.T)
    with pytest.raises(ValueError, match="not in the matrix"):
        model.set_params(weights="distance").predict(Z @ X.T)
    with pytest.raises(ValueError, match="not kept"):
        model.kneighbors()


def test_grid_search_reaches_into_the_kernel():
    kernel = Gaussian().pullback(lambda x: x[:1]) + Gaussian()
    grid = {"kernel__k2__sigma": [0.5, 2.0], "n_neighbors": [1, 3]}
    search = GridSearchCV(SimilarityKNeighborsClassifier(kernel), grid, cv=2).fit(X, X[:, 0] > 0)
    assert search.best_score_ > 0.7


@pytest.mark.parametrize("function", [lambda d: d[:, :1], lambda d: -d - 1, lambda d: d / 0.0])
def test_bad_weight_functions_are_refused(function):
    model = SimilarityKNeighborsRegressor(weights=function).fit(X, Y)
    with pytest.raises(ValueError, match="numbers >= 0"), np.errstate(all="ignore"):
        model.predict(X)
    nothing = SimilarityKNeighborsRegressor(weights=np.zeros_like, n_neighbors=2).fit(X, Y)
    plain = SimilarityKNeighborsRegressor(n_neighbors=2).fit(X, Y)
    assert nothing.predict(Z) == pytest.approx(plain.predict(Z))


def test_what_is_not_a_kernel_gives_an_order_and_no_distances():
    overlap = lambda x, z: float(len(set(x) & set(z)) >= 2) - len(z)  # noqa: E731
    model = SimilarityKNeighborsClassifier(overlap, n_neighbors=1).fit(["abc", "bc", "cd"], [0, 1, 2])
    assert model.predict(["abcd", "xd"]).tolist() == [1, 1] and model.validity_.verdict == "INVALID"
    with pytest.raises(ValueError, match="gives no distances"):
        model.kneighbors(["ab"])
    # What training objects cannot show is met with the first query that does: K(x_2, x_2) = 1, but K(x_2, x_0) = 3.
    late = Precomputed(np.array([[1.0, 0, 3], [0, 1, 0], [3, 0, 1]]))
    model = SimilarityKNeighborsRegressor(late, n_neighbors=1).fit([0, 1], [0.0, 1.0])
    with pytest.raises(PairError, match=r"pair \(0, 0\): .* = -4 < 0: K is not a kernel"):
        model.kneighbors([2])


def test_a_failed_fit_leaves_the_estimator_as_it_was():
    model = SimilarityKNeighborsRegressor(FromPairs(lambda s, t: 1 / 0))
    with pytest.raises(ValueError, match="ZeroDivision"):
        model.fit(WORDS, np.arange(11))
    assert not [name for name in vars(model) if name.endswith("_")]
    with pytest.raises(NotFittedError):
        model.kneighbors()


def test_never_all_pairs_at_once():
    widest = []

    def watched(A, B):
        widest.append(len(A) * len(B))
        return A @ B.T

    few = LocalEngine(threads=1, memory=40_000)
    model = SimilarityKNeighborsRegressor(FromBlocks(watched, claims=["SYMMETRIC", "PSD"]), engine=few)
    model.fit(X, Y)
    widest.clear()
    model.predict(np.vstack([Z] * 20))
    assert max(widest) <= 1000 < sum(widest) == 300 * 40
