"""What users bring: functions of pairs and of blocks, matrices and names; and how similarities behave as values."""

import itertools
import operator
import os
import pickle
import subprocess
import sys
from collections import Counter, OrderedDict, UserList, defaultdict, deque
from decimal import Decimal
from fractions import Fraction
from functools import partial

import naive
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import ParameterGrid

from similitude import FromBlocks, FromPairs, Precomputed, Similarity, as_similarity, use_engine
from similitude.engines import LocalEngine
from similitude.errors import PairError
from similitude.kernels import Gaussian, Laplace, Linear, Matern, Polynomial
from similitude.similarity.parameters import _same, _written
from similitude.similarity.read_only import all_read_only

G, L = Gaussian(1.2), Linear()


def minus(x, z):
    return 2.0 * float(x) - float(z)


# as_similarity.


def test_whatever_says_how_alike_two_objects_are_becomes_a_similarity():
    assert as_similarity(G) is G
    assert as_similarity("gaussian") == Gaussian()
    assert as_similarity("linear") == L
    assert as_similarity(minus) == FromPairs(minus)
    M = np.arange(6.0).reshape(2, 3)
    assert as_similarity(M).M is M
    for name in ("laplace", "matern", "polynomial", "cosine"):
        assert type(as_similarity(name)).__name__.lower() == name


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(ValueError, match="gaussian"):
        as_similarity("gauss")
    for what in (None, 3.0, 1):
        with pytest.raises(TypeError):
            as_similarity(what)


# Functions of pairs.


def common(s, t):
    return len(set(s) & set(t))


OBJECTS = {
    "strings": (["kernel", "colonel", "", "kernel"], common),
    "tuples": ([("a", 1), ("a", 2), ("b",)], common),
    "sets": ([{1, 2}, {2}, set()], common),
    "dicts": ([{"a": 1}, {"a": 3}], lambda p, q: p["a"] - 2 * q["a"]),
    "None": ([None, 1], lambda p, q: float(p is q)),
    "graphs": ([nx.path_graph(3), nx.cycle_graph(4)], lambda g, h: g.number_of_edges() - 2 * h.number_of_nodes()),
    "arrays of unequal length": ([np.ones(2), np.ones(3)], lambda x, z: x.sum() / z.sum()),
}


@pytest.mark.parametrize("kind", OBJECTS)
def test_objects_of_every_kind(kind):
    X, f = OBJECTS[kind]
    assert FromPairs(f).gram(X).tolist() == naive.matrix(f, X).tolist()
    assert FromPairs(f).cross(X, X[:1]).tolist() == naive.matrix(f, X, X[:1]).tolist()
    assert FromPairs(f).diag(X).tolist() == np.diag(naive.matrix(f, X)).tolist()
    assert FromPairs(f)(X[0], X[1]) == f(X[0], X[1])


@pytest.mark.parametrize(
    "form", [list, np.asarray, sp.csr_array, pd.DataFrame, lambda X: pl.DataFrame(X.tolist(), orient="row")]
)
def test_rows_of_arrays_and_of_frames(form):
    """A row of an array is an array, a row of a sparse one a 1 x d matrix, a row of a frame a dict."""
    X = np.array([[1.0, 2.0], [3.0, 5.0], [0.0, -1.0]])

    def numbers(x):
        if isinstance(x, dict):
            return list(x.values())
        return x.toarray().ravel() if sp.issparse(x) else x

    k = FromPairs(lambda x, z: 3 * numbers(x)[0] - numbers(z)[1])
    assert k.gram(form(X)).tolist() == [[3 * x[0] - z[1] for z in X] for x in X]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_give_row_dicts_with_names_and_one_column_its_values(frame):
    people = frame({"age": [30, 40], "town": ["Bonn", "Ulm"]})
    f = FromPairs(lambda p, q: p["age"] - q["age"] + 10 * (p["town"] == q["town"]))
    assert f.gram(people).tolist() == [[10, -10], [10, 10]]
    assert FromPairs(common).gram(people[["town"]]).tolist() == [[3, 0], [0, 3]]
    assert FromPairs(common).gram(people["town"]).tolist() == [[3, 0], [0, 3]]


@pytest.mark.parametrize("engine", [LocalEngine(), LocalEngine(memory="64KiB")])
def test_asymmetric_functions_stay_asymmetric_with_the_query_first(engine):
    X = list(range(60))
    with use_engine(engine):
        K = FromPairs(minus).gram(X)
        assert K.tolist() == [[2 * x - z for z in X] for x in X]
        assert FromPairs(minus).cross([1, 2], [10, 20, 30]).tolist() == [[-8, -18, -28], [-6, -16, -26]]
        both = FromPairs(minus).symmetrized().gram(X)
        assert both.tolist() == [[(x + z) / 2 for z in X] for x in X]
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(K, K.T)


@pytest.mark.parametrize("n", [1, 5, 300])
@pytest.mark.parametrize("engine", [LocalEngine(), LocalEngine(threads=1, memory="1MiB")])
def test_the_function_is_called_as_often_as_needed(n, engine):
    calls = []

    def f(x, z):
        calls.append((x, z))
        return float(x * z)

    with use_engine(engine):
        K = FromPairs(f).gram(list(range(n)))
        assert len(calls) == len(set(calls)) == n * n
        calls.clear()
        half = FromPairs(f, claims=["SYMMETRIC"]).gram(list(range(n)))
        assert len(calls) == len({frozenset(pair) for pair in calls}) == n * (n + 1) // 2
        calls.clear()
        FromPairs(f, claims=["SYMMETRIC"]).cross(list(range(n)), [1, 2])
        assert len(calls) == 2 * n
        calls.clear()
        FromPairs(f).diag(list(range(n)))
        assert calls == [(i, i) for i in range(n)]
    assert (half == K).all()
    assert K.dtype == np.float64


@pytest.mark.parametrize(
    "value",
    [True, 1, 1.0, np.bool_(True), np.int8(1), np.float32(1), Fraction(1), Decimal(1), np.array(1.0), np.array(1)],
    ids=lambda v: type(v).__name__,
)
def test_numbers_of_every_kind_are_taken(value):
    assert FromPairs(lambda x, z: value).gram(["ab"]).tolist() == [[1.0]]
    mixed = FromPairs(lambda x, z: value if x == z else 0.5)
    assert mixed.gram(["a", "b"]).tolist() == [[1, 0.5], [0.5, 1]]


def test_numbers_of_torch_are_taken():
    torch = pytest.importorskip("torch")
    assert FromPairs(lambda x, z: torch.tensor(1.5)).gram(["a", "b"]).tolist() == [[1.5, 1.5]] * 2


def test_processes_give_the_same_values_also_for_lambdas():
    X, c = list(range(230)), 3
    for k in (FromPairs(lambda x, z: c * x - z), FromPairs(operator.sub) + FromPairs(lambda x, z: c).symmetrized()):
        with use_engine(LocalEngine(processes=2)):
            K, C = k.gram(X), k.cross(X[:7], X)
        assert (k.gram(X) == K).all()
        assert (k.cross(X[:7], X) == C).all()


# Functions of blocks.


@pytest.mark.parametrize("engine", [LocalEngine(), LocalEngine(threads=1, memory="256KiB")])
@pytest.mark.parametrize(
    "form", [np.ndarray.tolist, np.asarray, sp.csr_matrix, sp.csr_array, pd.DataFrame, pl.from_numpy]
)
def test_functions_of_blocks_get_pieces_in_the_form_that_was_passed(form, engine):
    X = np.random.default_rng(0).random((150, 3))
    seen = set()

    def f(A, B):
        seen.add(type(A))
        left, right = (M.toarray() if sp.issparse(M) else np.asarray(M) for M in (A, B))
        assert len(left) and len(right)
        return left @ right.T + left[:, :1]

    made = form(X)
    with use_engine(engine):
        np.testing.assert_allclose(FromBlocks(f).gram(made), X @ X.T + X[:, :1], atol=1e-14)
        np.testing.assert_allclose(FromBlocks(f).cross(made, form(X[:9])), X @ X[:9].T + X[:, :1], atol=1e-14)
        np.testing.assert_allclose(FromBlocks(f).diag(made), (X * X).sum(1) + X[:, 0], atol=1e-14)
    assert seen == {type(made)}


@pytest.mark.parametrize("shapes", [[2, 3], [(2, 2), (3, 2)], [(2, 2), (2, 2)]])
def test_functions_of_blocks_take_lists_of_arrays_of_any_shape(shapes):
    X = [np.full(shape, i + 1.0) for i, shape in enumerate(shapes)]

    def f(A, B):
        return np.array([[a.max() - 2 * b.min() for b in B] for a in A])

    assert FromBlocks(f).gram(X).tolist() == [[-1, -3], [0, -2]]


@pytest.mark.parametrize(
    ("n", "m", "said"),
    [
        (1, 2, "one number for 1 and 2 objects"),
        (2, 1, "one number for 2 and 1"),
        (1, 1, r"shape \(\), expected \(1, 1\)"),
    ],
)
def test_one_number_is_no_block(n, m, said):
    k = FromBlocks(lambda A, B: float(A[0] @ B[0]))
    with pytest.raises(ValueError, match=said):
        k.cross(np.ones((n, 1)), np.ones((m, 1)))


# Matrices.


def test_a_matrix_is_looked_up_rows_first_and_stays_asymmetric():
    M = np.arange(9.0).reshape(3, 3)
    k = Precomputed(M)
    assert k.gram([2, 0, 2]).tolist() == [[8, 6, 8], [2, 0, 2], [8, 6, 8]]
    assert k.gram(range(3)).tolist() == M.tolist()
    assert k.cross(np.array([1]), [0, 2]).tolist() == [[3, 5]]
    assert k.diag([2, 1]).tolist() == [8, 4]
    assert k(1, 2) == 5
    assert k.gram(pd.Series([0, 1])).tolist() == [[0, 1], [3, 4]]
    assert Precomputed(M.astype(np.float32)).gram([0]).dtype == np.float32
    assert Precomputed(M.astype(int)).gram([0]).dtype == np.float64


@pytest.mark.parametrize("kind", [np.array, sp.csr_array])
def test_runs_of_indices_are_what_single_ones_are_and_never_the_matrix_itself(kind):
    M = np.arange(1.0, 26.0).reshape(5, 5)
    k, out = Precomputed(kind(M)), np.empty((3, 2))
    for rows, columns in itertools.product(([1, 2, 3], [3, 2, 1], [0, 1, 4], [2, 2, 2]), ([3, 4], [4, 3], [0, 2])):
        rows, columns = np.array(rows), np.array(columns)
        assert k.block(rows, columns).tolist() == M[rows][:, columns].tolist()
        assert k.block(rows, columns, out=out) is out
        assert out.tolist() == M[rows][:, columns].tolist()
    k.gram(range(5))[:] = 0.0
    assert k.gram(range(5)).tolist() == M.tolist()


@pytest.mark.parametrize("indices", [[0, 1], [0, 2]])
@pytest.mark.parametrize("use", ["gram", "distance"])
def test_a_rectangular_matrix_has_crosses_but_no_gram(use, indices):
    k = Precomputed(np.arange(6.0).reshape(2, 3))
    assert k.cross([1], [0, 2]).tolist() == [[3, 5]]
    with pytest.raises((ValueError, IndexError), match=r"square|rectangular|2 x 3|\(2, 3\)"):
        getattr(k, use)(indices)


# Parameters.


def test_parameters_of_parts_are_reached_by_name():
    k = Gaussian(1.0) + Laplace(2.0) * Matern()
    assert k.get_params()["k1__sigma"] == 1.0
    assert k.get_params()["k2__k2__length"] == "median"
    assert k.set_params(k1__sigma=3.0, k2__k1__norm=1) is k
    assert k == Gaussian(3.0) + Laplace(2.0, norm=1) * Matern()
    for unary in (2 * Gaussian(1.0), Gaussian(1.0).normalized(), Gaussian(1.0).exp(), Gaussian(1.0) ** 2):
        assert unary.set_params(k__sigma=5.0).get_params()["k__sigma"] == 5.0
    with pytest.raises(ValueError, match="gamma"):
        Gaussian().set_params(gamma=1.0)


@pytest.mark.parametrize("k", [Gaussian(), Gaussian() + Laplace(), (2 * Matern()).normalized() ** 3], ids=repr)
def test_clone_keeps_the_median_and_shares_no_part(k):
    copy, path = clone(k), k.unresolved()[0]
    assert copy == k
    assert copy is not k
    copy.set_params(**{path: 1.0})
    assert k.get_params()[path] == "median"


def test_clone_shares_matrices_and_functions():
    k = Precomputed(np.eye(3)) + FromPairs(minus)
    copy = clone(k).get_params()
    assert copy["k1__M"] is k.get_params()["k1__M"]
    assert copy["k2__f"] is minus


class Estimator(BaseEstimator):
    def __init__(self, kernel=None):
        self.kernel = kernel


def test_names_reach_through_an_estimator_and_a_grid():
    estimator = Estimator(Gaussian() + 2 * Laplace())
    grid = ParameterGrid({"kernel__k1__sigma": [1.0, 2.0], "kernel__k2__k__norm": [1, 2]})
    found = [clone(estimator).set_params(**point).kernel for point in grid]
    assert found == [Gaussian(s) + 2 * Laplace(norm=n) for s in (1.0, 2.0) for n in (1, 2)]
    assert estimator.kernel == Gaussian() + 2 * Laplace()


# Equality, fingerprints, pickles.


def recursive():
    def f(x, z):
        return 1.0 if not x else f(x[1:], z)

    return f


class Times:
    def __init__(self, c):
        self.c = c

    def __call__(self, x, z):
        return self.c * x * z

    def method(self, x, z):
        return self.c * x * z


def power(c, x, z):
    return (x * z) ** c


def closing_over(c):
    return lambda x, z: c * x * z


DIFFERENT = [
    *(Gaussian(1.0), Gaussian(2.0), Gaussian(), Laplace(1.0), Laplace(1.0, norm=1), 2 * G, 3 * G, G + 2, G**2),
    *(G + L, G * L, G.minimum(L), G.maximum(L), abs(L), L.exp(), L.normalized(), L.symmetrized()),
    *(FromPairs(minus), FromPairs(minus, claims=["PSD"]), FromPairs(lambda x, z: 1.0), FromPairs(lambda x, z: 2.0)),
    *(FromPairs(lambda x, z: x.a), FromPairs(lambda x, z: x.b), FromPairs(lambda x, z, c=1: c)),
    *(FromPairs(lambda x, z, c=2: c), FromPairs(closing_over(1)), FromPairs(closing_over(2))),
    *(FromPairs(partial(power, 2)), FromPairs(partial(power, 3)), FromPairs(Times(2)), FromPairs(Times(3))),
    *(FromPairs(Times(4).method), FromPairs(Times(5).method)),
    *(FromPairs(lambda x, z: [i for i in x if i > 1]), FromPairs(lambda x, z: [i for i in x if i > 2])),
    *(L.pullback(round), L.pullback(abs), L.pullback(round, batched=True)),
    *(Precomputed(np.eye(2)), Precomputed(np.eye(3)), Precomputed(2 * np.eye(2))),
]


def test_different_similarities_have_different_fingerprints():
    prints = [k.fingerprint() for k in DIFFERENT]
    alike = [(a, b) for i, a in enumerate(DIFFERENT) for j, b in enumerate(DIFFERENT[:i]) if prints[i] == prints[j]]
    assert alike == []
    assert not any(a == b for i, a in enumerate(DIFFERENT) for b in DIFFERENT[:i])


@pytest.mark.parametrize(
    ("k", "same"),
    [
        (Gaussian(1), Gaussian(1.0)),
        (Gaussian(np.float64(1)), Gaussian(1.0)),
        (Polynomial(np.int64(2)), Polynomial(2)),
        (2 * G, G * np.float64(2)),
        (Laplace(1.0, squared_scale=1), Laplace(1.0)),
        (Precomputed(np.eye(3)), Precomputed(np.asfortranarray(np.eye(3)))),
        (FromPairs(minus), FromPairs(minus)),
    ],
)
def test_equal_similarities_have_equal_fingerprints(k, same):
    assert k == same
    assert k.fingerprint() == same.fingerprint()


class Mixing(Similarity):
    """The product of vectors under a sparse matrix."""

    def __init__(self, matrix):
        self.matrix = matrix

    def block(self, A, B):
        return A @ self.matrix @ B.T


def test_sparse_parameters_are_compared_by_their_values():
    matrix = sp.csr_array([[1.0, 0.0], [0.5, 2.0]])
    assert Mixing(matrix) == Mixing(matrix.copy())
    assert Mixing(matrix) != Mixing(2 * matrix) and Mixing(matrix) != Mixing(sp.csr_array((2, 3)))


def test_a_function_that_calls_itself_has_a_fingerprint():
    assert FromPairs(recursive()).fingerprint() == FromPairs(recursive()).fingerprint()


def test_functions_are_compared_by_identity_and_nothing_is_hashable():
    f, g = closing_over(1), closing_over(1)
    assert FromPairs(f) == FromPairs(f) != FromPairs(g)
    assert G != 1.2 and G != "gaussian"
    for k in (G, G + L, FromPairs(f), G.normalized()):
        with pytest.raises(TypeError, match="unhashable"):
            hash(k)


SCRIPT = """
from similitude import FromPairs
from similitude.kernels import Gaussian, Linear
def close(over):
    return lambda x, z: float(x in over)
print(FromPairs(lambda x, z: x in {"a", "b", "c", "d"}).fingerprint())
print(FromPairs(close({"p", "q", "r"}), claims={"SYMMETRIC", "PSD", "BOUNDED"}).fingerprint())
print(FromPairs(lambda x, z, d={"a": 1, "b": 2}: [y in {"u", "v", "w"} for y in x][0]).fingerprint())
print((Gaussian(1.0) + Linear().pullback(lambda x: {"s", "t", "u"})).normalized().fingerprint())
"""


def test_fingerprints_are_the_same_in_every_process():
    runs = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]
    assert len(set(runs[0].split())) == 4


@pytest.mark.parametrize(
    "k",
    [FromPairs(lambda x, z: 3.0 * x * z), FromPairs(closing_over(2)), L.pullback(lambda x: x + 1).normalized()],
)
def test_lambdas_are_pickled(k):
    again = pickle.loads(pickle.dumps(2 * k + 1))
    assert again(2.0, 3.0) == (2 * k + 1)(2.0, 3.0)
    assert again.fingerprint() == (2 * k + 1).fingerprint()


# A function may not change what it is given.


def halves(x, z):
    x /= 2
    return float(x @ z)


def fills(x, z):
    z[0] = 7
    return 1.0


def sorts(x, z):
    x.sort()
    return float(x[0])


def counts(x, z):
    z["seen"] = z.get("seen", 0) + 1
    return float(z["seen"])


def grows(x, z):
    x[0].append(1)
    return 1.0


ARRAYS = np.arange(6.0).reshape(3, 2) + 1


@pytest.mark.parametrize("options", [{}, {"retries": 1}, {"workers": 2}], ids=["plain", "retried", "concurrent"])
def test_arrays_cannot_be_changed_by_a_function_of_pairs(options):
    for f in (halves, fills):
        for X in (ARRAYS.copy(), list(ARRAYS.copy())):
            k = FromPairs(f, **options)
            for call in (k.gram, k.diag, lambda X, k=k: k.cross(X[:1], X), lambda X, k=k: k(X[0], X[1])):
                with pytest.raises(PairError, match=r"read-only \(a function may not change its arguments, which are"):
                    call(X)
            assert np.array_equal(X, ARRAYS)


class Open:
    def __init__(self):
        self.values = [1]

    def remember(self):
        self._known, self.known = {}, 3


class Slotted:
    __slots__ = ("values",)

    def __init__(self):
        self.values = [1]


def array_of_lists():
    array = np.empty(2, object)
    array[0], array[1] = [1], [2]
    return array


CHANGES = {
    "deque": (lambda: deque([1, 2]), lambda x: x.rotate(1)),
    "Counter": (lambda: Counter("ab"), lambda x: x.update("a")),
    "OrderedDict": (lambda: OrderedDict(a=1, b=2), lambda x: x.move_to_end("a")),
    "defaultdict": (lambda: defaultdict(list, a=[1]), lambda x: x["z"]),
    "UserList": (lambda: UserList([1]), lambda x: x.append(1)),
    "array of objects": (array_of_lists, lambda x: x[0].append(3)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changes_of_other_containers_are_an_error(name):
    make, change = CHANGES[name]
    with pytest.raises(ValueError, match=r"changed an object that it was given"):
        FromPairs(lambda x, z: change(x) or 1.0).gram([make() for _ in range(3)])


@pytest.mark.parametrize(
    ("cls", "change"), [(Open, lambda x: x.values.append(2)), (Slotted, lambda x: setattr(x, "values", 2))]
)
def test_changes_of_public_attributes_are_a_warning(cls, change):
    with pytest.warns(UserWarning, match=r"changed the attribute values of an object that it was given"):
        FromPairs(lambda x, z: change(x) or 1.0).gram([cls()])


def test_a_function_may_store_in_an_object_what_it_computed():
    assert FromPairs(lambda x, z: x.remember() or 1.0).gram([Open(), Open()]).sum() == 4.0


@pytest.mark.parametrize("options", [{}, {"retries": 1}], ids=["plain", "retried"])
def test_lists_dicts_and_tuples_that_a_function_changes_are_an_error(options):
    X = {
        sorts: [[3, 1], [2, 5], [9, 4]],
        counts: [{"a": 1}, {"a": 2}, {"a": 3}],
        grows: [([1], np.arange(3)), ([2], np.arange(2)), ([3], np.arange(1))],
    }
    for f, objects in X.items():
        with pytest.raises(ValueError, match=f"the function {f.__name__} changed an object that it was given"):
            FromPairs(f, **options).gram(objects)


def test_blocks_and_images_cannot_be_changed_either():
    def doubled(X, Z):
        X *= 2
        return X @ Z.T

    def overwritten(X, Z):
        X.iloc[0, 0] = 100.0
        return X.to_numpy() @ Z.to_numpy().T

    def shifted(X):
        X += 1
        return X

    def scaled(X, Z):
        X.data *= 2
        return (X @ Z.T).toarray()

    X = ARRAYS.copy()
    images = Linear().pullback(shifted), Linear().pullback(shifted, batched=True)
    for call in (one.gram for one in (FromBlocks(doubled), *images)):
        with pytest.raises(ValueError, match=r"the function .*read-only \(a function may not change its arguments"):
            call(X)
    sparse, table = sp.csr_array(ARRAYS), pd.DataFrame(ARRAYS)
    with pytest.raises(ValueError, match="read-only"):
        FromBlocks(scaled).gram(sparse)
    FromBlocks(overwritten).gram(table)  # it gets a copy
    with pytest.raises(ValueError, match="changed an object"):
        Linear().pullback(lambda x: x.append(0) or [1.0]).gram([[1], [2]])
    assert np.array_equal(X, ARRAYS) and np.array_equal(sparse.toarray(), ARRAYS) and np.array_equal(table, ARRAYS)


def test_what_a_function_keeps_in_objects_of_its_own_class_is_its_own_business():
    class Molecule:
        def __init__(self, size):
            self.size = size

    def cached(x, z):
        x.half = x.size / 2
        return x.half * z.size

    assert FromPairs(cached).gram([Molecule(2), Molecule(4)]).tolist() == [[2, 4], [4, 8]]


def test_arrays_of_a_worker_process_cannot_be_changed_either():
    def doubles(x, z):  # here, so that workers need not import this module, which takes two seconds
        x *= 2
        return float(x @ z)

    with use_engine(LocalEngine(processes=2)), pytest.raises(PairError, match="may not change its arguments"):
        FromPairs(doubles).gram(np.ones((300, 2)))


def test_whole_numbers_in_one_block_and_fractions_in_another():
    def f(X, Z):
        first = np.equal.outer(X[:, 0], Z[:, 0])
        return first if X[0, 0] == 0 else first / 2

    K = FromBlocks(f).gram(np.arange(300.0)[:, None])
    assert set(np.diag(K)) == {0.5, 1.0} and np.count_nonzero(K) == 300


# Limits and words.


def test_lists_without_arrays_are_handed_over_as_they_are():
    words, mixed = ["a", "b"], ["a", np.ones(2)]
    assert all_read_only(words) is words
    protected = all_read_only(mixed)
    assert protected[0] is words[0] and not protected[1].flags.writeable and mixed[1].flags.writeable
    assert all_read_only(protected[1]) is protected[1]


def test_queries_are_rows_and_the_others_columns_of_a_matrix():
    M = np.arange(6.0).reshape(2, 3)
    assert Precomputed(M).cross([1], [2]).tolist() == [[5.0]] and Precomputed(M.T).cross([2], [1]).tolist() == [[5.0]]
    for k, row, column in ((Precomputed(M), 2, 0), (Precomputed(M.T), 0, 2)):
        with pytest.raises(IndexError, match=f"no row {row} and column {column}, and no Gram matrix unless it is sq"):
            k.cross([row], [column])


def test_lists_for_each_pair_are_no_numbers():
    with pytest.raises(PairError, match=r"f\(1, 2\) is \[1\.0\], not a finite real number; if it is a function of mat"):
        FromPairs(lambda x, z: [1.0]).cross([1], [2, 3])


def test_parameters_are_written_in_short():
    assert _written(np.array(2.0)) == "2.0" and _written(np.zeros((2, 3))) == "<2 x 3 float64>"
    assert _written(frozenset({2, 1})) == "(1, 2)" and _written(minus) == "minus" and _written(2.5) == "2.5"


@pytest.mark.parametrize(
    ("a", "b", "alike"),
    [
        (1, 1.0, True),
        (True, np.bool_(True), True),
        (1, 2, False),
        (1, "1", False),
        ([1, 2], [1, 2], True),
        ([1, 2], [1, 3], False),
        ([1, 2], [1, 2, 3], False),
        ([1, 2], (1, 2), False),
        ({"a": [1]}, {"a": [1]}, True),
        ({"a": 1}, {"a": 2}, False),
        ({"a": 1}, {"b": 1}, False),
        (np.ones(2), np.ones(2), True),
        (np.ones(2), np.ones(3), False),
        (np.ones(2), np.ones(2, np.float32), False),
        (np.array([1, 2]), np.array([1, 3]), False),
        (np.array([1, 2]), np.array([2, 2]), False),
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1]}), True),
        (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [2]}), False),
        (sp.csr_array(np.eye(2)), sp.csr_array(np.eye(2)), True),
        (sp.csr_array(np.eye(2)), sp.csr_array(2 * np.eye(2)), False),
        (sp.csr_array(np.eye(2)), sp.csr_array(np.eye(3)), False),
        (lambda: 1, lambda: 1, False),
        (minus, minus, True),
        ("a", "a" * 1, True),
    ],
)
def test_parameters_are_compared_by_their_contents(a, b, alike):
    assert _same(a, b) is alike
