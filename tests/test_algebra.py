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
