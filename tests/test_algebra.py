"""Similarities made from similarities: their values, their claims, and their manners."""

import math
import pickle
from collections import Counter
from fractions import Fraction
from functools import partial

import naive
import numpy as np
import pandas as pd
import pytest
from grids import examples
from hypothesis import assume, given
from hypothesis import strategies as st

from similitude import FromPairs, Precomputed, Similarity
from similitude.errors import PairError
from similitude.kernels import (
    Cosine,
    Gaussian,
    Laplace,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)
from similitude.similarity import contract, feature_space
from similitude.similarity.algebra import Sum
from similitude.similarity.display import meaning_of
from similitude.similarity.feature_space import kernel_distance

G, L, P = Gaussian(1.2), Linear(), Polynomial(2, coef0=1.0)
KERNEL, UNIT, BOUNDED = {"SYMMETRIC", "PSD"}, {"UNIT_DIAGONAL"}, {"BOUNDED"}


def points(n=8, seed=0):
    """Small vectors, among them a zero one and two equal ones."""
    X = np.random.default_rng(seed).normal(size=(n, 3)) * 0.7
    X[1], X[-1] = 0, X[0]
    return X


def lean(x, z):
    """A function of two vectors that is not symmetric."""
    return 0.5 * float(x[0]) - 0.2 * float(z[1]) + 0.1


def flip(x):
    return -np.asarray(x)[::-1]


# Values.


def test_a_negative_multiple_says_why_it_is_no_kernel():
    assert "a negative multiple" in (-2 * G).reason and "a negative multiple" not in (2 * G).reason


def test_extremes_name_their_parts_in_order():
    assert repr(G.minimum(L)) == f"{G!r}.minimum({L!r})"
    assert repr((G + L).maximum(P).maximum(G)) == f"({G!r} + {L!r}).maximum({P!r}).maximum({G!r})"


@pytest.mark.parametrize(
    ("k", "same"),
    [
        (G + G, 2 * G),
        (G**2, G * G),
        (L**0, 0 * L + 1),
        (G * Gaussian(0.5), Gaussian((1 / 1.2**2 + 1 / 0.5**2) ** -0.5)),
        ((L + 1) ** 3, Polynomial(3, coef0=1.0)),
        ((0.5 * L - 1) ** 3, Polynomial(3, coef0=-1.0, scale=0.5)),
        (L.normalized(), Cosine()),
        (P.normalized().normalized(), P.normalized()),
        (Matern(0.5, 1.3), Laplace(1.3, squared_scale=False)),
        (Matern(math.inf, 1.2), G),
        (RationalQuadratic(1e6, 1.2), G),
        (((1 / 1.2**2) * L).exp().normalized(), G),
        (G.symmetrized(), G),
        (G.pullback(flip), G),
        (abs(L), L.maximum(-L)),
        (G.minimum(L) + G.maximum(L), G + L),
        (L.pullback(flip).pullback(flip), L),
    ],
    ids=str,
)
def test_special_cases_coincide(k, same):
    X, Z = points(), points(5, seed=1)
    for left, right in [(k.gram(X), same.gram(X)), (k.cross(X, Z), same.cross(X, Z)), (k.diag(X), same.diag(X))]:
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-5 if "Rational" in repr(k) else 1e-12)


@pytest.mark.parametrize("c", [2, -3, 0, 0.5, np.float64(2), np.float32(-0.5), np.int64(3), Fraction(1, 2)])
def test_scalars_of_every_kind_stand_on_either_side(c):
    X = points()
    K = naive.matrix(naive.gaussian(1.2), X)
    number = float(c)
    for k, expected in [
        (c * G, number * K),
        (G * c, number * K),
        (c + G, number + K),
        (G + c, number + K),
        (c - G, number - K),
        (G - c, K - number),
        (-G, -K),
        *([(G / c, K / number)] if c else []),
    ]:
        assert isinstance(k, Similarity)
        np.testing.assert_allclose(k.gram(X), expected, rtol=1e-12, atol=1e-12)


def test_sum_takes_similarities_and_sums_and_products_flatten():
    parts = [G, L, P, Cosine()]
    assert sum(parts).gram(points()) == pytest.approx(sum(k.gram(points()) for k in parts))
    assert (G + L) + (P + Cosine()) == G + (L + (P + Cosine())) == G + L + P + Cosine()
    assert (G * L) * (P * Cosine()) == G * (L * (P * Cosine())) == G * L * P * Cosine()
    assert [name for name in (G + L + P + G).get_params(deep=False)] == ["k1", "k2", "k3", "k4"]
    assert [name for name in (G * L * P).get_params(deep=False)] == ["k1", "k2", "k3"]


@pytest.mark.parametrize("other", ["a", None, [1], 1j, np.ones(3)])
def test_what_is_no_number_and_no_similarity_is_no_operand(other):
    for use in (lambda: G + other, lambda: other * G, lambda: G**other, lambda: other - G, lambda: G / other):
        with pytest.raises(TypeError):
            use()


def test_a_feature_map_of_ones_own():
    def phi(x):
        return [x[0] * x[1], x[1] ** 2, 1.0]

    X, features = points(), np.array([phi(x) for x in points()])
    for k in (L.pullback(phi), L.pullback(lambda X: np.array([phi(x) for x in X]), batched=True)):
        np.testing.assert_allclose(k.gram(X), features @ features.T, atol=1e-12)
        np.testing.assert_allclose(k.cross(X, X[:2]), features @ features[:2].T, atol=1e-12)


def test_one_function_pulled_back_both_ways_at_once():
    """Batched it reverses the rows; one by one it reverses each vector."""
    X = points()

    def backwards(x):
        return np.asarray(x)[::-1]

    both = L.pullback(backwards) + L.pullback(backwards, batched=True)
    np.testing.assert_allclose(both.gram(X), X @ X.T + X[::-1] @ X[::-1].T, atol=1e-12)


@pytest.mark.parametrize("k", [(L - 1).normalized(), (10 * L).exp() ** 400, (L - 1) ** 0.5, (0 * L) ** -1])
def test_values_that_do_not_exist_are_refused_by_name_of_the_pair(k):
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=r"pair \(\d+, \d+\)|diagonal|K\(x, x\)"):
        k.gram(points())


# Claims.


@pytest.mark.parametrize(
    ("k", "yes", "no"),
    [
        (2 * G, KERNEL, UNIT | BOUNDED),
        (0.5 * G, KERNEL | BOUNDED, UNIT),
        (0 * L, KERNEL, UNIT),
        (-0.5 * G, {"SYMMETRIC"} | BOUNDED, {"PSD"} | UNIT),
        (G + L, KERNEL, UNIT | BOUNDED),
        (G + G, KERNEL, UNIT | BOUNDED),
        (0.5 * G + 0.5 * Cosine(), KERNEL, UNIT),
        (G - 0.5 * G, {"SYMMETRIC"}, {"PSD"}),
        (G * Matern(2.5, 1.0), KERNEL | BOUNDED | UNIT, set()),
        (G * L, KERNEL, UNIT | BOUNDED),
        (G**3, KERNEL | BOUNDED | UNIT, set()),
        (L**0, KERNEL, set()),
        (G**0.5, {"SYMMETRIC"}, {"PSD"}),
        (G**-1, {"SYMMETRIC"}, {"PSD"} | BOUNDED),
        (G.exp(), KERNEL, UNIT | BOUNDED),
        (G + 1, KERNEL, UNIT | BOUNDED),
        (1 - G, {"SYMMETRIC"}, {"PSD"} | UNIT),
        (G - 1, {"SYMMETRIC"}, {"PSD"} | UNIT),
        (P.normalized(), KERNEL | BOUNDED, set()),
        (L.normalized(), KERNEL | BOUNDED, UNIT),
        (G.normalized(), KERNEL | BOUNDED | UNIT, set()),
        (Sigmoid().normalized(), {"SYMMETRIC"}, {"PSD"} | BOUNDED | UNIT),
        (G.pullback(flip), KERNEL | BOUNDED | UNIT, set()),
        (Sigmoid().pullback(flip), {"SYMMETRIC"} | BOUNDED, {"PSD"}),
        (abs(G), {"SYMMETRIC"} | BOUNDED, {"PSD"}),
        (G.minimum(L), {"SYMMETRIC"}, {"PSD"} | UNIT | BOUNDED),
        (G.maximum(Cosine()), {"SYMMETRIC"}, {"PSD"}),
        (G.symmetrized(), KERNEL | BOUNDED | UNIT, set()),
        (FromPairs(lean).symmetrized(), {"SYMMETRIC"}, {"PSD"}),
        (FromPairs(lean), set(), KERNEL | UNIT | BOUNDED),
        (Polynomial(2, coef0=-1.0), {"SYMMETRIC"}, {"PSD"}),
        (Polynomial(3, coef0=1.0, scale=-1.0), {"SYMMETRIC"}, {"PSD"}),
        (G + FromPairs(lean), set(), KERNEL),
    ],
    ids=lambda given: " ".join(sorted(given)) if isinstance(given, (set, frozenset)) else str(given),
)
def test_claims_follow_the_closure_rules(k, yes, no):
    assert yes <= k.claims
    assert not no & k.claims
    assert isinstance(k.claims, frozenset)
    assert k.proof().holds == (k.claims >= KERNEL)


def test_claims_follow_parameters_that_are_set_later():
    k = 2 * G
    assert "PSD" not in k.set_params(factor=-2).claims
    s = G + Polynomial(2, coef0=1.0)
    assert "PSD" in s.claims
    assert "PSD" not in s.set_params(k2__coef0=-1.0).claims


@pytest.mark.parametrize(
    ("k", "end"),
    [
        ((G + 2 * Sigmoid()).normalized(), "Sigmoid("),
        (L + Polynomial(2, coef0=-1.0) * G, "Polynomial("),
        ((L * FromPairs(lean)).exp(), "lean"),
        (G + FromPairs(lean, claims=["SYMMETRIC", "PSD"]), "lean"),
    ],
)
def test_a_proof_that_fails_names_the_leaf_where_it_ends(k, end):
    proof = k.proof()
    assert not proof.holds
    ending = str(proof).rpartition("ends at")[2]
    assert end in ending
    assert repr(G) not in ending and repr(L) not in ending


LEAVES = [
    (L, naive.linear()),
    (G, naive.gaussian(1.2)),
    (Polynomial(2, coef0=0.0), naive.polynomial(2, 0.0, 1.0)),
    (Polynomial(3, coef0=-0.5, scale=0.5), naive.polynomial(3, -0.5, 0.5)),
    (Laplace(0.9, norm=1), naive.laplace(0.9, 1, True)),
    (Matern(2.5, 0.8), naive.matern(2.5, 0.8)),
    (RationalQuadratic(0.5, 1.1), naive.rational_quadratic(0.5, 1.1)),
    (Cosine(), naive.cosine()),
    (Sigmoid(0.8, -0.3), naive.sigmoid(0.8, -0.3)),
    (FromPairs(lean), lean),
]


def normalized(M):
    def values(X, Z):
        K, dx, dz = M(X, Z), np.diag(M(X, X)), np.diag(M(Z, Z))
        zero = (dx[:, None] == 0) | (dz[None, :] == 0)
        size = np.sqrt(np.maximum(dx, 0)[:, None] * np.maximum(dz, 0)[None, :])
        known = np.where(zero, K == 0, size > 1e-4 * (1 + np.abs(K)))
        return np.where(known, np.where(zero, 0, K / np.where(zero, 1, size)), np.nan)

    return values


def joined(a, b, make, f):
    return make(a[0], b[0]), lambda X, Z: f(a[1](X, Z), b[1](X, Z))


def changed(a, make, f):
    return make(a[0]), lambda X, Z: f(a[1](X, Z))


JOINS = [
    (lambda a, b: a + b, np.add),
    (lambda a, b: a - b, np.subtract),
    (lambda a, b: a * b, np.multiply),
    (lambda a, b: a.minimum(b), np.minimum),
    (lambda a, b: a.maximum(b), np.maximum),
]
CHANGES = [
    (abs, np.abs),
    (lambda k: k.exp(), np.exp),
    (lambda k: abs(k) ** 0.5, lambda K: np.sqrt(np.abs(K))),
    *[(lambda k, n=n: k**n, lambda K, n=n: K**n) for n in (0, 1, 2, 3)],
    *[(lambda k, c=c: c * k, lambda K, c=c: c * K) for c in (-1.5, -1, 0, 0.4, 1, 3)],
    *[(lambda k, c=c: k + c, lambda K, c=c: K + c) for c in (-1.5, 0, 0.4)],
]
WRAPPERS = [
    lambda a: (a[0].normalized(), normalized(a[1])),
    lambda a: (a[0].symmetrized(), lambda X, Z: (a[1](X, Z) + a[1](Z, X).T) / 2),
    lambda a: (a[0].pullback(flip), lambda X, Z: a[1](-X[:, ::-1], -Z[:, ::-1])),
]
trees = st.recursive(
    st.sampled_from(LEAVES).map(lambda leaf: (leaf[0], partial(naive.matrix, leaf[1]))),
    lambda tree: st.one_of(
        st.builds(lambda a, b, how: joined(a, b, *how), tree, tree, st.sampled_from(JOINS)),
        st.builds(lambda a, how: changed(a, *how), tree, st.sampled_from(CHANGES)),
        st.builds(lambda a, wrap: wrap(a), tree, st.sampled_from(WRAPPERS)),
    ),
    max_leaves=6,
)


@examples(150)
@given(trees, st.integers(0, 3))
def test_random_expressions_have_the_right_values_and_only_true_claims(tree, seed):
    k, oracle = tree
    X, Z = points(seed=seed), points(4, seed=seed + 10)
    with np.errstate(all="ignore"):
        expected, crossed = oracle(X, X), oracle(X, Z)
    assume(np.isfinite(expected).all() and np.isfinite(crossed).all())
    top = 1 + max(np.abs(expected).max(), np.abs(crossed).max())
    assume(top < 1e10)
    K = k.gram(X)
    np.testing.assert_allclose(K, expected, rtol=1e-6, atol=1e-6 * top)
    np.testing.assert_allclose(k.cross(X, Z), crossed, rtol=1e-6, atol=1e-6 * top)
    np.testing.assert_allclose(k.diag(X), np.diag(expected), rtol=1e-6, atol=1e-6 * top)
    if "SYMMETRIC" in k.claims:
        np.testing.assert_allclose(K, K.T, rtol=1e-9, atol=1e-9 * top)
    if "PSD" in k.claims:
        eigenvalues = np.linalg.eigvalsh((K + K.T) / 2)
        assert eigenvalues[0] >= -1e-8 * max(eigenvalues[-1], 1e-300)
    if "BOUNDED" in k.claims:
        assert np.abs(K).max() <= 1 + 1e-9
    if "UNIT_DIAGONAL" in k.claims:
        np.testing.assert_allclose(np.diag(K), 1, atol=1e-9)


@examples(80)
@given(trees)
def test_random_expressions_are_written_proven_copied_and_pickled(tree):
    from similitude import kernels

    k = tree[0]
    names = {name: getattr(kernels, name) for name in kernels.__all__}
    again = eval(repr(k), {**names, "FromPairs": FromPairs, "lean": lean, "flip": flip})
    assert again == k
    assert again.claims == k.claims
    assert again.fingerprint() == k.fingerprint()
    proof = k.proof()
    assert proof.holds == (k.claims >= KERNEL)
    assert all(gap.similarity in str(proof) for gap in proof.gaps())
    assert pickle.loads(pickle.dumps(k)).fingerprint() == k.fingerprint()


@pytest.mark.parametrize("k", [*(k for k, _ in LEAVES[:-1]), G.normalized(), G + L, FromPairs(lean).symmetrized()])
def test_what_is_claimed_symmetric_is_exactly_so(k):
    K = k.gram(points(40))
    assert (K == K.T).all()


# Kinds of objects, and work done once.


def test_parts_that_take_different_objects_do_not_mix():
    M = Precomputed(np.eye(3))
    for make in (lambda: M + G, lambda: G * M, lambda: (2 * M).normalized() + abs(L), lambda: M.minimum(G)):
        with pytest.raises(TypeError, match="vectors"):
            make().gram([0, 1])
    assert (M + FromPairs(lambda i, j: float(i == j))).gram([0, 1]).tolist() == [[2, 0], [0, 2]]


calls = Counter()


class Counting(Similarity):
    claims = frozenset({"SYMMETRIC"})

    def __init__(self, shift=0.0):
        self.shift = shift

    def encode(self, objects):
        calls["encode"] += len(objects)
        return np.asarray(objects, float)

    def block(self, A, B):
        calls["block"] += 1
        return A[:, None] * B[None, :] + self.shift


def test_equal_leaves_are_encoded_and_computed_once():
    calls.clear()
    k = Counting() + 2 * Counting() ** 2 - Counting().exp() * Counting(shift=1.0)
    X = [0.0, 0.5, -1.0]
    P = np.outer(X, X)
    np.testing.assert_allclose(k.gram(X), P + 2 * P**2 - np.exp(P) * (P + 1))
    assert calls == {"encode": 6, "block": 2}


@pytest.mark.parametrize("form", [list, np.asarray, lambda X: pd.DataFrame(X, columns=list("abc"))])
@pytest.mark.parametrize(
    "make",
    [
        lambda f: L.pullback(f) + G.pullback(f),
        lambda f: Gaussian().pullback(f) * Laplace().pullback(f) + 1,
        lambda f: Gaussian().pullback(f).normalized() + Gaussian(2.0).pullback(f).symmetrized(),
        lambda f: (Gaussian() + L).pullback(f),
        lambda f: Gaussian().pullback(abs).pullback(f) + Matern().pullback(f) ** 2,
    ],
)
def test_a_pulled_back_function_is_called_once_per_object(make, form):
    calls = []

    def f(x):
        calls.append(1)
        return float(x["a"] if isinstance(x, dict) else x[0])

    X, k = form(points()), make(f)
    k.gram(X)
    assert len(calls) == 8
    resolved, _ = k.prepare(X)
    assert len(calls) == 16
    resolved.cross(X, X[:3])
    again = 0 if form is list else 3  # objects in a list are recognized, rows of an array are new each time
    assert len(calls) == 24 + again
    resolved.cross(X, X)
    assert len(calls) == 32 + again


# Distances.


class Strips(np.ndarray):
    """A matrix that remembers which of its rows are written to."""

    written: list

    def __array_finalize__(self, other):
        self.written = []

    def __setitem__(self, key, value):
        if isinstance(key, slice):
            self.written.append((key.start, key.stop))
        super().__setitem__(key, value)


@pytest.mark.parametrize(
    ("cells", "rows", "width", "strips"),
    [
        (12, 1, 4, [(0, 3), (3, 6), (6, 9)]),
        (1, 2, 7, [(0, 2), (2, 4), (4, 6), (6, 8)]),
        (12, 8, 7, [(0, 8)]),
        (12, 1, 1, [(0, 12)]),
        (6, 1, 0, [(0, 6), (6, 12)]),
    ],
)
def test_distances_are_the_same_strip_by_strip(cells, rows, width, strips, monkeypatch):
    monkeypatch.setattr(feature_space, "DISTANCE_STRIP_CELLS", cells)
    monkeypatch.setattr(feature_space, "DISTANCE_STRIP_ROWS", rows)
    X, Z = points(7), points(max(width, 2), seed=1)[:width]
    K = (X @ Z.T).view(Strips)
    found = kernel_distance(K, (X**2).sum(axis=1), (Z**2).sum(axis=1), same=False)
    assert found is K and K.written == strips
    np.testing.assert_allclose(K, np.sqrt(((X[:, None] - Z) ** 2).sum(axis=-1)), atol=1e-7)
    if width == len(X):
        lengths = (X**2).sum(axis=1)
        D = kernel_distance(X @ X.T, lengths, lengths, same=True)
        assert (np.diag(D) == 0).all()
        np.testing.assert_allclose(D, np.sqrt(((X[:, None] - X) ** 2).sum(axis=-1)), atol=1e-7)


@pytest.mark.parametrize(
    ("lengths", "value", "fits"),
    [
        ((100.0, 100.0), 100 + 1.9e-10, True),
        ((100.0, 100.0), 100 + 2.1e-10, False),
        ((1e6, -1e6), 0.9e-6, True),
        ((1e6, -1e6), 1.1e-6, False),
        ((np.float32(1), np.float32(1)), np.float32(1 + 64 * 2.0**-23), True),
        ((np.float32(1), np.float32(1)), np.float32(1 + 65 * 2.0**-23), False),
    ],
)
def test_a_negative_square_within_rounding_is_zero_and_a_larger_one_an_error(lengths, value, fits):
    K, dx, dz = np.array([[value]]), *(np.array([one]) for one in lengths)
    if fits:
        assert kernel_distance(K, dx, dz, same=False).tolist() == [[0.0]]
    else:
        with pytest.raises(PairError, match=r"< 0: K is not a kernel and gives no distance"):
            kernel_distance(K, dx, dz, same=False)


def test_the_pair_without_a_distance_is_named_by_its_place_in_the_whole(monkeypatch):
    monkeypatch.setattr(feature_space, "DISTANCE_STRIP_CELLS", 1)
    monkeypatch.setattr(feature_space, "DISTANCE_STRIP_ROWS", 2)
    K = np.zeros((5, 3))
    K[3, 2], K[4, 0] = 2.0, 9.0
    with pytest.raises(PairError) as error:
        kernel_distance(K, np.ones(5), np.ones(3), same=False)
    below = "K(x, x) + K(z, z) - 2 K(x, z) = -2 < 0: K is not a kernel and gives no distance"
    assert (error.value.i, error.value.j, error.value.problem) == (3, 2, below)


# Rules at their limits.


def test_powers_of_zero_and_one():
    assert (G**0).premises() == () and (G**1).premises() == (G,)
    assert (G**0).reason == "the constant 1 is the kernel of the single feature 1"
    assert (G**1).reason == (G**2.0).reason == "a whole power of a kernel is a product of kernels"
    assert (G**0.5).reason == (G**-1).reason == "a power that is not a whole number >= 0 need not be a kernel"
    lean_power = FromPairs(lean) ** 0
    assert lean_power.claims == KERNEL | UNIT | BOUNDED and (FromPairs(lean) ** 1).claims == frozenset()
    assert (G**-1).claims == {"SYMMETRIC", "UNIT_DIAGONAL"} and (G**0.5).claims == {"SYMMETRIC"} | UNIT | BOUNDED


def test_multiples_and_constants_at_their_limits():
    assert (1 * G).claims == G.claims and (-1 * G).claims == {"SYMMETRIC"} | BOUNDED
    assert (0 * G).claims == KERNEL | BOUNDED and (1.5 * G).claims == KERNEL
    assert (G + 0.0) is G and (G + 0.5).claims == KERNEL and (G - 0.5).claims == {"SYMMETRIC"}
    assert (0.5 * G + 0.5 * G).claims == G.claims and (0.5 * G - 0.5 * G).claims == {"SYMMETRIC"} | BOUNDED
    assert (0.5 * G + 0.6 * G).claims == KERNEL and (0.5 * G + 0.4 * G).claims == KERNEL | BOUNDED
    assert (G - 0.5).reason == "a kernel minus a constant need not be a kernel"
    assert (G + 0.5).reason == "a constant c >= 0 added to a kernel adds the feature sqrt(c)"
    assert [repr(k) for k in (-G, L - 0.5, L + 0.5, -1.5 * G, L - G)] == [
        f"-{G!r}",
        f"{L!r} - 0.5",
        f"{L!r} + 0.5",
        f"-1.5*{G!r}",
        f"{L!r} - {G!r}",
    ]


@pytest.mark.parametrize(("parts", "more"), [(8, None), (9, "and 1 more parts"), (10, "and 2 more parts")])
def test_notebooks_show_the_proofs_of_the_first_parts(parts, more):
    shown = str(Sum(*[Gaussian(1.0 + i) for i in range(parts)]).proof().html_tree())
    assert shown.count("<code>") == 8
    assert (more in shown) if more else ("more parts" not in shown)


def test_the_size_is_checked_before_the_work_unless_there_is_a_place_for_the_values(monkeypatch):
    checked = []
    monkeypatch.setattr(contract, "check_fits", lambda n, m, size, engine: checked.append((n, m, size)))
    X, Z = points(4), points(3)
    G.gram(X)
    G.cross(X, Z)
    G.cross(X.astype(np.float32), Z)
    G.cross(X, Z.astype(np.float32))
    G.distance(X)
    assert checked == [(4, 4, 8), (4, 3, 8), (4, 3, 8), (4, 3, 8), (4, 4, 8)]
    G.gram(X, out=np.empty((4, 4)))
    G.cross(X, Z, out=np.empty((4, 3)))
    assert len(checked) == 5


def test_images_are_remembered_in_nested_contexts_and_forgotten_after():
    calls = []

    def f(x):
        calls.append(x)
        return [float(x)]

    objects = [1, 2]
    with contract.remembered_images():
        first = contract.image(f, objects, False)
        with contract.remembered_images():
            assert contract.image(f, objects, False) is first
        assert contract.image(f, objects[:1], False) == [[1.0]] and calls == [1, 2]
    assert contract.image(f, objects, False) == first and calls == [1, 2, 1, 2]


def test_a_formula_is_shown_below_a_sentence_without_one():
    class Displayed:
        """A thing of `x`.

        .. math:: K(x, z) = 1
        """

    class Inline:
        """A thing, :math:`K(x, z) = x_1`.

        .. math:: K(x, z) = 2
        """

    assert meaning_of(Displayed) == "A thing of x.<br><i>K(x, z) = 1</i>"
    assert meaning_of(Inline).startswith("A thing, <i>K(x, z) = ") and "2" not in meaning_of(Inline)
    assert meaning_of(type("Bare", (), {})) == ""
