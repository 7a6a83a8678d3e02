"""Perceptrons: the mistakes of the explicit algorithm, one by one, their bounds, streams, and what they refuse."""

import copy
import pickle
from unittest import mock

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.validation import check_is_fitted

from similitude import FromBlocks, FromPairs, Precomputed, Similarity
from similitude.engines import LocalEngine
from similitude.errors import NotAKernelError, PairError, UnresolvedError
from similitude.kernels import Gaussian, Laplace, Linear, Polynomial, explicit_map
from similitude.learners import KernelPerceptron, MarginPerceptron
from similitude.learners.perceptron import training

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 3))
Y = np.where(X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0, "yes", "no")
THREE = np.array(["a", "b", "c"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)]
WORDS = ["aab", "aba", "baa", "abba", "xyz", "xzy", "zyx", "zxx"]
THEIRS = ["a"] * 4 + ["x"] * 4
GRAPHS = [nx.path_graph(n) for n in range(2, 8)] + [nx.star_graph(n) for n in range(3, 9)]
TINY = np.array([(1, 0), (0, 1), (-1, 0), (0.6, 0.8), (0.8, -0.6)]), np.array([1, 1, -1, 1, 1])
SEEDS = st.integers(0, 2**32 - 1)
TIES = st.sampled_from(["le0", "ge0"])
SIZES = st.sampled_from([(1, 1), (2, 1), (7, 3), (64, 16), (4096, 128)])


def in_pieces(chunk, turns, one_block=2**17):
    """Train in chunks and turns of these sizes."""
    return mock.patch.multiple(
        training,
        SCORED_EXAMPLES=chunk,
        EXAMPLES_IN_TURN=turns,
        ONE_BLOCK_VALUES=one_block if chunk > 2 else 0,
    )


def shared_letters(s, t):
    return float(len(set(s) & set(t)))


def degrees(graph):
    return np.bincount([d for _, d in graph.degree()], minlength=9)[:9].astype(float)


# What the algorithms are, written out for vectors.


def errs(score, y, tie):
    return y * score <= 0 if tie == "le0" else (score >= 0) != (y > 0)


def explicit_perceptron(F, y, tie, epochs):
    """Return w, the mistakes in order, and the sum of w after each step."""
    w, total, mistakes = np.zeros(F.shape[1]), np.zeros(F.shape[1]), []
    for epoch in range(epochs):
        for i in range(len(F)):
            if errs(w @ F[i], y[i], tie):
                w = w + y[i] * F[i]
                mistakes.append((epoch, i))
            total += w
    return w, mistakes, total / (epochs * len(F))


def forgetful_perceptron(K, y, tie, epochs, budget):
    """Return what is remembered in the end, each with its weight, from the oldest, and the number of mistakes."""
    remembered, mistakes = {}, 0
    for _ in range(epochs):
        for i in range(len(K)):
            score = sum(a * K[i, j] for j, a in remembered.items())
            if errs(score, y[i], tie):
                mistakes += 1
                remembered[i] = remembered.pop(i, 0.0) + y[i]
                if len(remembered) > budget:
                    remembered.pop(next(iter(remembered)))
    return remembered, mistakes


def explicit_classes(F, numbers, k, tie, epochs):
    """Return one w per class, the mistakes in order, and the average of the w."""
    W, total, mistakes = np.zeros((k, F.shape[1])), np.zeros((k, F.shape[1])), []
    for epoch in range(epochs):
        for i, c in enumerate(numbers):
            scores = W @ F[i]
            others = [r for r in range(k) if r != c]
            rival = max(others, key=lambda r: (scores[r], -r))
            wrong = scores[c] <= scores[rival] if tie == "le0" else int(np.argmax(scores)) != c
            if wrong:
                W[c] += F[i]
                W[rival] -= F[i]
                mistakes.append((epoch, i))
            total += W
    return W, mistakes, total / (epochs * len(F))


def per_epoch(mistakes, epochs):
    return [sum(epoch == e for e, _ in mistakes) for epoch in range(epochs)]


# Mistake by mistake.


@given(
    st.integers(2, 90),
    SEEDS,
    SIZES,
    TIES,
    st.integers(1, 4),
    st.booleans(),
)
def test_mistakes_are_those_of_the_perceptron_on_explicit_features(n, seed, sizes, tie, epochs, python):
    local = np.random.default_rng(seed)
    P, y = local.standard_normal((n, 3)), np.where(np.arange(n) % 2, 1, -1)
    y[2:] = np.sign(local.standard_normal(n - 2) + P[2:, 0] * P[2:, 1])
    k = Polynomial(degree=2, coef0=0.5)
    w, mistakes, mean = explicit_perceptron(explicit_map(k, P), y, tie, epochs)
    kernel = FromPairs(lambda x, z: (np.dot(x, z) + 0.5) ** 2) if python and n < 30 else k
    with in_pieces(*sizes):
        model = KernelPerceptron(kernel, tie=tie, epochs=epochs).fit(P, y)
        averaged = KernelPerceptron(kernel, tie=tie, epochs=epochs, average=True).fit(P, y)
    counts = np.zeros(n)
    for _, i in mistakes:
        counts[i] += y[i]
    assert model.mistakes_ == len(mistakes) and model.mistakes_per_epoch_ == per_epoch(mistakes, epochs)
    assert model.support_.tolist() == np.flatnonzero(counts).tolist()
    assert model.dual_coef_.tolist() == counts[counts != 0].tolist()
    assert np.allclose(model.decision_function(P), explicit_map(k, P) @ w)
    assert np.allclose(averaged.decision_function(P), explicit_map(k, P) @ mean)
    assert (model.predict(P) == np.where(explicit_map(k, P) @ w >= 0, 1, -1)).all()


@given(st.integers(2, 60), SEEDS, SIZES, TIES, st.integers(1, 3))
def test_ties_fall_as_on_explicit_features(n, seed, sizes, tie, epochs):
    local = np.random.default_rng(seed)
    P, y = local.integers(-1, 2, (n, 3)).astype(float), local.choice([-1, 1], n)
    y[:2] = 1, -1
    w, mistakes, _ = explicit_perceptron(P, y, tie, epochs)
    with in_pieces(*sizes):
        model = KernelPerceptron("linear", tie=tie, epochs=epochs).fit(P, y)
    assert model.mistakes_per_epoch_ == per_epoch(mistakes, epochs)
    assert (model.dual_coef_ @ model.support_objects_ == w).all()


@given(
    st.integers(3, 60),
    SEEDS,
    SIZES,
    TIES,
    st.integers(1, 3),
    st.booleans(),
)
def test_several_classes_against_a_naive_loop(n, seed, sizes, tie, epochs, whole):
    local = np.random.default_rng(seed)
    P = local.integers(-1, 2, (n, 3)).astype(float) if whole else local.standard_normal((n, 3))
    numbers = np.concatenate([[0, 1, 2], local.integers(0, 3, n - 3)])
    W, mistakes, mean = explicit_classes(P, numbers, 3, tie, epochs)
    with in_pieces(*sizes):
        model = KernelPerceptron("linear", tie=tie, epochs=epochs).fit(P, numbers)
        averaged = KernelPerceptron("linear", tie=tie, epochs=epochs, average=True).fit(P, numbers)
    assert model.mistakes_per_epoch_ == per_epoch(mistakes, epochs)
    assert np.allclose(model.dual_coef_.T @ model.support_objects_, W)
    assert np.allclose(averaged.decision_function(P), P @ mean.T)
    if whole:
        assert (model.predict(P) == (P @ W.T).argmax(axis=1)).all()


@given(
    st.integers(2, 60),
    SEEDS,
    SIZES,
    TIES,
    st.integers(1, 3),
    st.integers(1, 9),
)
def test_a_budget_forgets_the_oldest(n, seed, sizes, tie, epochs, budget):
    local = np.random.default_rng(seed)
    P, y = local.standard_normal((n, 2)), local.choice([-1, 1], n)
    y[:2] = 1, -1
    remembered, mistakes = forgetful_perceptron(Gaussian(1.0).gram(P), y, tie, epochs, budget)
    with in_pieces(*sizes):
        model = KernelPerceptron(Gaussian(1.0), tie=tie, epochs=epochs, budget=budget).fit(P, y)
    assert model.mistakes_ == mistakes
    assert model.support_.tolist() == list(remembered)
    assert model.dual_coef_.tolist() == list(remembered.values())
    assert len(model.support_) <= budget and len(model.support_objects_) == len(model.support_)
    if mistakes > budget and epochs == 1:
        assert model.mistake_bound_.value is None and "forgotten" in model.mistake_bound_.reason


def test_the_tiny_set():
    for tie, mistakes, w in (("ge0", 1, [1, 0]), ("le0", 2, [1, 1])):
        model = KernelPerceptron("linear", tie=tie).fit(*TINY)
        assert model.mistakes_ == mistakes
        assert (model.dual_coef_ @ model.support_objects_).tolist() == w
    model = MarginPerceptron("linear", epochs=None).fit(*TINY)
    assert model.updates_ == 6 and model.converged_
    assert np.allclose(model.dual_coef_ @ model.support_objects_, [2.6, 1.8])
    assert model.longest_ == pytest.approx(np.sqrt(10)) and model.margin_ == pytest.approx(1 / np.sqrt(10))
    assert model.update_bound_.value == 30


def test_orthonormal_examples_attain_the_bound():
    signs = np.where(np.arange(16) % 2, -1, 1)
    for tie, mistakes in (("le0", 16), ("ge0", 8)):
        model = KernelPerceptron("linear", tie=tie, epochs=2).fit(np.eye(16), signs)
        assert model.mistakes_ == mistakes
        assert model.mistake_bound_.value == 16 and model.mistake_bound_.grade == "ESTIMATE"


def test_a_single_positive_point():
    for tie, mistakes in (("ge0", 0), ("le0", 1)):
        model = KernelPerceptron("linear", tie=tie).partial_fit([[1.0, 0.0]], [1], classes=[-1, 1])
        assert model.mistakes_ == mistakes and model.predict([[1.0, 0.0]]) == [1]


# Bounds.

PROBLEMS = pytest.mark.parametrize("problems", [60, pytest.param(200, marks=pytest.mark.deep)])


def separable(seed):
    """Return examples in a ball, labels, and a margin that some separator has."""
    local = np.random.default_rng(seed)
    u = local.standard_normal(4)
    u /= np.linalg.norm(u)
    P = local.standard_normal((60, 4)) * local.uniform(0.2, 3)
    P = P[np.abs(P @ u) > 0.1 * np.linalg.norm(P, axis=1).max()]
    y = np.sign(P @ u)
    return P, y, float(np.abs(P @ u).min())


@PROBLEMS
@pytest.mark.parametrize("tie", ["le0", "ge0"])
def test_mistakes_keep_the_bound_on_many_problems(tie, problems):
    known = 0
    for seed in range(problems):
        P, y, gamma = separable(seed)
        if len(set(y)) < 2:
            continue
        R = np.linalg.norm(P, axis=1).max()
        model = KernelPerceptron("linear", tie=tie, epochs=1 + seed % 3).fit(P, y)
        bound = model.mistake_bound_
        assert model.mistakes_ <= (R / gamma) ** 2
        if bound.value is not None:
            known += 1
            assert model.mistakes_ <= bound.value
            assert bound.radius == pytest.approx(R) and bound.value == int((bound.radius / bound.margin) ** 2)
            assert bound.margin >= gamma / 3 * (1 - 1e-9)
    assert known > 0.75 * problems


@PROBLEMS
def test_margin_perceptrons_keep_their_lemma_on_many_problems(problems):
    for seed in range(problems):
        P, y, _ = separable(seed)
        if len(set(y)) < 2:
            continue
        directions = P / np.linalg.norm(P, axis=1)[:, None]
        gamma = MarginPerceptron("linear", epochs=None).fit(P, y).margin_  # a lower bound on the largest
        model = MarginPerceptron("linear", epochs=1 + seed % 3).fit(P, y)
        assert model.updates_ <= 3 / gamma**2 and model.longest_ <= 3 / gamma
        assert model.updates_ <= model.update_bound_.value
        w = model.dual_coef_ @ model.support_objects_
        assert not model.converged_ or (y * (directions @ w)).min() >= 1 - 1e-9


def test_a_margin_perceptron_at_rest_has_a_third_of_the_margin():
    for seed in range(60):
        P, y, _ = separable(seed)
        if len(set(y)) < 2:
            continue
        u = np.linalg.lstsq(P, y, rcond=None)[0]
        P /= np.linalg.norm(P, axis=1)[:, None]
        gamma = (y * (P @ u)).min() / np.linalg.norm(u)
        model = MarginPerceptron("linear", epochs=None).fit(P, y)
        w = model.dual_coef_ @ model.support_objects_
        assert model.margin_ == pytest.approx((y * (P @ w)).min() / np.linalg.norm(w))
        assert model.margin_ >= gamma / 3 * (1 - 1e-9)
        assert model.longest_ <= 3 / model.margin_


def test_several_classes_have_a_bound():
    centers = np.array([[3.0, 0.0], [-3.0, 2.0], [0.0, -4.0]])
    P = np.repeat(centers, 10, axis=0) + rng.uniform(-0.5, 0.5, (30, 2))
    model = KernelPerceptron("linear", epochs=5).fit(P, np.repeat([0, 1, 2], 10))
    bound = model.mistake_bound_
    assert bound.radius == pytest.approx(np.sqrt(2) * np.linalg.norm(P, axis=1).max())
    assert model.mistakes_ <= bound.value == int((bound.radius / bound.margin) ** 2)
    W = model.dual_coef_.T @ model.support_objects_  # its own margin, as the theorem defines it
    scores, own = P @ W.T, np.repeat([0, 1, 2], 10)
    lead = scores[np.arange(30), own] - np.where(np.eye(3, dtype=bool)[own], -np.inf, scores).max(axis=1)
    assert bound.margin >= lead.min() / np.linalg.norm(W) * (1 - 1e-9)


def test_no_bound_without_a_margin():
    P, y = np.array([[1.0], [1.0], [2.0]]), [0, 1, 0]
    bound = KernelPerceptron("linear").fit(P, y).mistake_bound_
    assert bound.value is None and bound.grade == "NONE" and "no separator" in str(bound)
    many = rng.standard_normal((1200, 2))
    side = many[:, 0] > 0
    assert "more than 1,000 examples" in KernelPerceptron(Gaussian(0.5)).fit(many, side).mistake_bound_.reason
    many[:, 0] += np.where(side, 5, -5)
    found = KernelPerceptron("linear", epochs=9).fit(many, side).mistake_bound_
    assert found.reason == "the margin of this perceptron" and found.value >= 1
    assert "stream" in KernelPerceptron().partial_fit(P, y, classes=[0, 1]).mistake_bound_.reason
    zero = KernelPerceptron("linear").fit([[0.0], [0.0]], [0, 1])
    assert zero.mistakes_ == 2 and zero.mistake_bound_.value is None
    assert KernelPerceptron("linear").fit(*TINY).mistake_bound_.to_dict()["value"] == 10
    assert MarginPerceptron("linear").fit(P, y).update_bound_.value is None
    close = np.array([[1.0, 1e-14], [1.0, -1e-14]])
    for bound in (
        KernelPerceptron("linear", epochs=9).fit(close, [0, 1]).mistake_bound_,
        MarginPerceptron("linear", epochs=9).fit(close, [0, 1]).update_bound_,
    ):
        assert bound.value is None


def test_a_margin_perceptron_that_cannot_rest_says_so():
    with pytest.warns(ConvergenceWarning, match="may not be separable"):
        model = MarginPerceptron("linear", epochs=None).fit([[1.0], [1.0]], [0, 1])
    assert not model.converged_ and model.margin_ is None and model.n_iter_ == 1000


def test_a_margin_perceptron_scales_to_length_one():
    P = X * rng.uniform(0.1, 10, (60, 1))
    side = X[:, 0] > 0
    plain = MarginPerceptron("linear", epochs=4).fit(X / np.linalg.norm(X, axis=1)[:, None], side)
    scaled = MarginPerceptron("linear", epochs=4).fit(P, side)
    assert plain.updates_ == scaled.updates_ and (plain.support_ == scaled.support_).all()
    assert np.allclose(plain.dual_coef_ @ plain.support_objects_, scaled.dual_coef_ @ scaled.support_objects_)
    with pytest.raises(ValueError, match=r"object 1: K\(x, x\) = 0"):
        MarginPerceptron("linear").fit([[1.0], [0.0]], [0, 1])


def test_a_margin_perceptron_tells_several_classes_from_the_rest():
    model = MarginPerceptron(Gaussian(1.0), epochs=None).fit(X, THREE)
    assert (model.predict(X) == THREE).all() and model.dual_coef_.shape == (len(model.support_), 3)
    ones = [MarginPerceptron(Gaussian(1.0), epochs=None).fit(X, c == THREE) for c in "abc"]
    assert model.updates_ == sum(one.updates_ for one in ones)
    assert model.update_bound_.value == sum(one.update_bound_.value for one in ones)
    assert np.allclose(model.decision_function(X), np.stack([one.decision_function(X) for one in ones], axis=1))


# Streams.


@given(
    SEEDS,
    st.sampled_from([2, 3]),
    TIES,
    st.booleans(),
    st.sampled_from([None, 1, 5]),
)
def test_batches_and_single_examples_equal_fit(seed, k, tie, average, budget):
    local = np.random.default_rng(seed)
    P, y = local.standard_normal((40, 2)), local.integers(0, k, 40)
    y[:k] = np.arange(k)
    options = {"tie": tie, "average": average, "budget": budget}
    whole = KernelPerceptron(Gaussian(1.0), **options).fit(P, y)
    cuts = np.sort(local.integers(0, 41, 3))
    parts = KernelPerceptron(Gaussian(1.0), **options)
    for batch, labels in zip(np.split(P, cuts), np.split(y, cuts), strict=True):
        if len(batch):
            parts.partial_fit(batch, labels, classes=np.arange(k))
    ones = KernelPerceptron(Gaussian(1.0), **options)
    for x, label in zip(P, y, strict=True):
        ones.learn_one(x, label, classes=range(k))
    for other in (parts, ones):
        assert other.mistakes_ == whole.mistakes_ and other.mistakes_per_epoch_ == whole.mistakes_per_epoch_
        assert (other.support_ == whole.support_).all() and other.n_seen_ == whole.n_seen_ == 40
        assert np.allclose(other.dual_coef_, whole.dual_coef_)
        assert (other.support_objects_ == whole.support_objects_).all()
        assert np.allclose(other.decision_function(P), whole.decision_function(P))
    assert [ones.predict_one(x) for x in P] == whole.predict(P).tolist()


def test_fit_begins_anew_and_a_stream_goes_on():
    model = KernelPerceptron(Gaussian(1.0)).fit(X, Y).fit(X[:30], Y[:30])
    assert model.n_seen_ == 30
    model.partial_fit(X[30:], Y[30:])
    assert (model.dual_coef_ == KernelPerceptron(Gaussian(1.0)).fit(X, Y).dual_coef_).all()
    twice = KernelPerceptron(Gaussian(1.0), epochs=3).fit(X, Y)
    first = list(twice.mistakes_per_epoch_)
    twice.learn_one(X[0], "no" if twice.predict_one(X[0]) == "yes" else "yes")
    assert twice.mistakes_per_epoch_ == [*first[:-1], first[-1] + 1]
    assert twice.support_[-1] == 60


STREAMS = {
    "strings": (FromPairs(shared_letters), WORDS, THEIRS),
    "graphs": (Gaussian(3.0).pullback(degrees), GRAPHS, ["path"] * 6 + ["star"] * 6),
    "ragged": (FromPairs(lambda a, b: float(a[0] * b[0])), [np.ones(n) * (-1) ** n for n in range(1, 9)], [0, 1] * 4),
    "dicts": (FromPairs(lambda r, s: r["a"] * s["a"]), [{"a": v} for v in (1.0, -2.0, 3.0, -1.0)], [1, 0] * 2),
    "normalized": ((Linear() + 1.0).normalized() * 2.0 + Gaussian(1.0), list(X), Y),
    "sparse rows": (Gaussian(1.0), [sp.csr_matrix(x) for x in X], Y),
    "lists": (Laplace(1.0), X.tolist(), Y),
    "indices": (Precomputed(Gaussian(1.0).gram(X)), list(range(60)), Y),
    "blocks": (FromBlocks(lambda A, B: np.array([[shared_letters(s, t) for t in B] for s in A])), WORDS, THEIRS),
}


@pytest.mark.parametrize("kind", STREAMS)
def test_every_kind_of_object_streams(kind):
    kernel, objects, labels = STREAMS[kind]
    batch = sp.vstack(objects, format="csr") if kind == "sparse rows" else objects
    whole = KernelPerceptron(kernel).fit(batch, labels)
    ones = KernelPerceptron(kernel)
    assert ones.predict_one(objects[0]) is None
    for x, label in zip(objects, labels, strict=True):
        assert ones.learn_one(x, label, classes=sorted(set(labels))) is ones
    assert (ones.support_ == whole.support_).all() and (ones.dual_coef_ == whole.dual_coef_).all()
    assert [ones.predict_one(x) for x in objects] == list(whole.predict(batch)) == list(ones.predict(batch))
    again = pickle.loads(pickle.dumps(ones)).learn_one(objects[0], labels[0])
    assert again.n_seen_ == len(objects) + 1 and ones.n_seen_ == len(objects)


@pytest.mark.parametrize(
    "form", [np.asarray, np.float32, sp.csr_matrix, pd.DataFrame, lambda A: pl.DataFrame(A, schema=["a", "b", "c"])]
)
def test_every_form_of_vectors(form):
    model = KernelPerceptron(Gaussian(1.0), epochs=4).fit(form(X), Y)
    plain = KernelPerceptron(Gaussian(1.0), epochs=4).fit(X, Y)
    assert (model.support_ == plain.support_).all() and (model.predict(form(X)) == plain.predict(X)).all()
    model.partial_fit(form(X[:30]), Y[:30]).partial_fit(form(X[30:]), Y[30:])
    assert np.allclose(model.decision_function(form(X)), plain.partial_fit(X, Y).decision_function(X), atol=1e-4)
    assert MarginPerceptron(Gaussian(1.0), epochs=None).fit(form(X), Y).score(form(X), Y) == 1.0


def test_forms_may_change_within_a_stream():
    model = KernelPerceptron(Gaussian(1.0)).partial_fit(sp.csr_matrix(X[:20]), Y[:20], classes=["no", "yes"])
    model.partial_fit(X[20:40].astype(np.float32), Y[20:40]).learn_one(X[40].tolist(), Y[40])
    dense = KernelPerceptron(Gaussian(1.0)).partial_fit(X[:20], Y[:20], classes=["no", "yes"])
    dense.partial_fit(sp.csr_matrix(X[20:40]), Y[20:40]).learn_one(sp.csr_matrix(X[40]), Y[40])
    assert np.allclose(model.decision_function(X), dense.decision_function(X), atol=1e-5)
    words = KernelPerceptron(shared_letters).partial_fit(pd.Series(WORDS[::2]), THEIRS[::2], classes=["a", "x"])
    words.partial_fit(np.array(WORDS[1::2], dtype=object), THEIRS[1::2]).learn_one("zzz", "x")
    assert words.predict(WORDS).tolist() == THEIRS


def test_labels_of_a_bool_need_no_declaration():
    model = KernelPerceptron("linear")
    for x in (3.0, -1.0, 2.0, -5.0):
        model.learn_one([x], x > 0)
    assert model.predict_one([4.0]) is True and model.classes_.tolist() == [False, True]


class Bag:
    """An encoding that nobody knows how to join."""

    def __init__(self, words):
        self.words = words

    def __len__(self):
        return len(self.words)

    def __getitem__(self, which):
        return Bag([self.words[i] for i in np.arange(len(self.words))[which]])


class Bags(Similarity):
    claims = frozenset({"SYMMETRIC", "PSD"})
    reason = "shared letters are common elements of two sets"

    def encode(self, objects):
        return Bag(list(objects))

    def block(self, A, B):
        return np.array([[shared_letters(s, t) for t in B.words] for s in A.words])


def test_encodings_of_the_users_own_class_stream():
    model = KernelPerceptron(Bags()).partial_fit(WORDS[:5], THEIRS[:5], classes=["a", "x"])
    for word, label in zip(WORDS[5:], THEIRS[5:], strict=True):
        model.learn_one(word, label)
    whole = KernelPerceptron(Bags()).fit(WORDS, THEIRS)
    assert (model.support_ == whole.support_).all() and (model.predict(WORDS) == whole.predict(WORDS)).all()


def test_a_stream_that_reuses_one_array():
    points, labels = np.array([[1.0, 2.0], [-1.0, -2.0], [4.0, 2.0], [-2.0, -4.0]]), [True, False, True, False]
    x, other, stream = np.zeros(2), KernelPerceptron("linear", tie="ge0"), KernelPerceptron("linear", tie="ge0")
    for point, label in zip(points, labels, strict=True):
        x[:] = point
        stream.learn_one(x, label)
        other.learn_one(point, label)
    x[:] = np.nan
    assert (stream.support_objects_ == other.support_objects_).all()
    assert (stream.decision_function(points) == other.decision_function(points)).all()


def test_copies_of_a_stream_go_their_own_ways():
    model = KernelPerceptron(Gaussian(1.0)).partial_fit(X[:20], Y[:20], classes=["no", "yes"])
    for x, label in zip(X[20:30], Y[20:30], strict=True):
        model.learn_one(x, label)
    held, before = model.support_objects_, model.support_objects_.copy()
    other = copy.copy(model)
    for i in range(30, 60):
        model.learn_one(X[i], Y[i])
        other.learn_one(X[89 - i], Y[89 - i])
    alone = KernelPerceptron(Gaussian(1.0)).partial_fit(X[:30], Y[:30], classes=["no", "yes"])
    assert (other.support_objects_ == alone.partial_fit(X[:29:-1], Y[:29:-1]).support_objects_).all()
    assert (model.support_objects_ == KernelPerceptron(Gaussian(1.0)).fit(X, Y).support_objects_).all()
    assert (held == before).all()


# A scikit-learn estimator.


def test_clone_pickle_search_and_precomputed():
    search = GridSearchCV(KernelPerceptron(epochs=3), {"kernel__sigma": [0.3, 1.0], "average": [False, True]}, cv=3)
    best = search.fit(X, Y).best_estimator_
    assert (pickle.loads(pickle.dumps(best)).predict(X) == best.predict(X)).all()
    assert clone(best).get_params()["kernel__sigma"] == best.kernel.sigma
    G = Gaussian(1.0).gram(X)
    for make in (KernelPerceptron, MarginPerceptron):
        ours = cross_val_score(make(Gaussian(1.0)), X, Y, cv=4)
        assert (cross_val_score(make("precomputed"), G, Y, cv=4) == ours).all()
        fitted = make("precomputed", epochs=3).fit(G, Y)
        assert (fitted.predict(G[:7]) == make(Gaussian(1.0), epochs=3).fit(X, Y).predict(X[:7])).all()
        assert len(pickle.dumps(fitted)) < G.nbytes  # the model keeps no Gram matrix


def test_engines_agree_and_little_memory_is_enough():
    P = rng.standard_normal((3000, 3))
    side = P[:, 0] + P[:, 1] ** 2 > 0.5
    plain = KernelPerceptron(Gaussian(1.0), epochs=3).fit(P, side)
    for engine in (LocalEngine(threads=2), LocalEngine(threads=1, memory="1MiB")):
        other = KernelPerceptron(Gaussian(1.0), epochs=3, engine=engine).fit(P, side)
        assert (other.dual_coef_ == plain.dual_coef_).all() and (other.support_ == plain.support_).all()
    small = MarginPerceptron(Gaussian(1.0), epochs=20, engine=LocalEngine(memory="1MiB")).fit(P, side)
    assert small.updates_ == MarginPerceptron(Gaussian(1.0), epochs=20).fit(P, side).updates_
    two = LocalEngine(processes=2)  # which import no module for a function without a name
    words = KernelPerceptron(lambda s, t: float(len(set(s) & set(t))), engine=two).fit(WORDS, THEIRS)
    assert (words.predict(WORDS) == THEIRS).all()


# What goes wrong.


def test_an_interrupted_fit_leaves_nothing_behind():
    calls = 0

    def interrupted(s, t):
        nonlocal calls
        calls += 1
        if calls == 150:
            raise KeyboardInterrupt
        return shared_letters(s, t)

    for make in (KernelPerceptron, MarginPerceptron):
        calls, model = 0, make(interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.fit(WORDS * 2, THEIRS * 2)
        with pytest.raises(NotFittedError):
            check_is_fitted(model)
        assert vars(model) == vars(make(interrupted))
    for learn in (
        lambda m: m.partial_fit(["a"] * 200, ["a"] * 200),
        lambda m: [m.learn_one("b", "a") for _ in range(200)],
    ):
        calls, model = -1000, KernelPerceptron(interrupted).fit(WORDS, THEIRS)
        calls, before = 0, model.dual_coef_.copy()
        with pytest.raises(KeyboardInterrupt):
            learn(model)
        assert (model.dual_coef_[: len(before)] == before).all()
        assert len(model.dual_coef_) == len(model.support_objects_) and model.predict(["aa"]) == ["a"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "epochs must be an integer from 1 to"),
        ({"epochs": None}, "epochs must be an integer from 1 to"),
        ({"budget": 0}, "budget must be an integer >= 1"),
        ({"budget": 2.5}, "budget must be an integer >= 1"),
        ({"tie": "zero"}, "tie must be one of 'le0', 'ge0'"),
        ({"kernel": "gaussians"}, "did you mean 'gaussian'"),
    ],
)
def test_parameters_out_of_range(options, message):
    with pytest.raises(ValueError, match=message):
        KernelPerceptron(**options).fit(X, Y)
    with pytest.raises(ValueError, match="epochs must be"):
        MarginPerceptron(epochs=True).fit(X, Y)


@pytest.mark.parametrize("make", [KernelPerceptron, MarginPerceptron])
def test_bad_input_is_refused_before_the_first_kernel_call(make):
    def never(x, z):
        raise AssertionError("called")

    for labels, message in [
        (["a"] * 8, "one class only"),
        (THEIRS[:-1], "inconsistent numbers of samples"),
        ([0.0, 1.0, np.nan, 1.0] * 2, "NaN"),
        ([None, *THEIRS[1:]], "missing labels"),
        (np.linspace(0, 1, 8), "continuous"),
        (None, "y is None"),
    ]:
        with pytest.raises(ValueError, match=message):
            make(never).fit(WORDS, labels)


def test_a_stream_refuses_what_it_does_not_know():
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        KernelPerceptron().partial_fit(X, Y)
    with pytest.raises(ValueError, match="at least two classes"):
        KernelPerceptron().partial_fit(X, Y, classes=["yes"])
    model = KernelPerceptron().partial_fit(X, Y, classes=["no", "yes"])
    with pytest.raises(ValueError, match=r"y holds .*maybe.*none of the classes"):
        model.partial_fit(X[:2], ["yes", "maybe"])
    with pytest.raises(ValueError, match="y is 'maybe'"):
        model.learn_one(X[0], "maybe")
    with pytest.raises(ValueError, match="earlier calls had"):
        model.partial_fit(X, Y, classes=["no", "yes", "maybe"])
    with pytest.raises(ValueError, match="one vector of 3 features"):
        model.learn_one([1.0, 2.0], "yes")
    with pytest.raises(ValueError, match="column 1 is nan"):
        model.learn_one([1.0, np.nan, 2.0], "yes")
    assert model.n_seen_ == 60
    with pytest.raises(UnresolvedError, match="similarity of 'auto' cannot be resolved from one object"):
        KernelPerceptron().learn_one(X[0], True)
    with pytest.raises(ValueError, match="classes must be passed"):
        KernelPerceptron("linear").learn_one(X[0], "yes")
    for learn in (lambda m: m.partial_fit(np.eye(3), [0, 1, 0], [0, 1]), lambda m: m.learn_one([1.0], True)):
        with pytest.raises(ValueError, match="a precomputed matrix has none"):
            learn(KernelPerceptron("precomputed"))
    fitted = KernelPerceptron("precomputed").fit(np.eye(3), [0, 1, 0])
    for use in (lambda: fitted.learn_one([1.0], 0), lambda: fitted.predict_one([1.0])):
        with pytest.raises(ValueError, match="a precomputed matrix has none"):
            use()
    for name in ("support_", "dual_coef_", "mistakes_", "n_seen_"):
        assert not hasattr(KernelPerceptron(), name)


def test_a_similarity_that_is_no_kernel_is_refused_with_its_witness():
    for make in (KernelPerceptron, MarginPerceptron):
        with pytest.raises(NotAKernelError, match=r"shows? it"):
            make(lambda x, z: -float(x @ z)).fit(X, Y)

    def fine_at_first(x, z):
        return float(x[0] * z[0]) if min(x[0], z[0]) > 0 else -float(abs(x[0] * z[0]))

    model = KernelPerceptron(fine_at_first).partial_fit([[1.0], [2.0]], [1, 1], classes=[0, 1])
    assert model.validity_.verdict == "UNKNOWN"
    for learn in (lambda: model.partial_fit([[-1.0]], [1]), lambda: model.learn_one([-1.0], 1)):
        with pytest.raises(NotAKernelError, match="K\\(x, x\\) = -1"):
            learn()
        assert model.n_seen_ == 2


def test_errors_name_pairs_by_their_places():
    def picky(s, t):
        if {s, t} == {"aba", "xzy"}:
            raise ArithmeticError("never together")
        return shared_letters(s, t)

    stream = KernelPerceptron(picky).partial_fit(WORDS[:3], THEIRS[:3], classes=["a", "x"])
    stream.learn_one("aba", "x").learn_one("bbb", "x")
    with pytest.raises(PairError, match=r"pair \(1, 3\)"):
        stream.partial_fit(["xyz", "xzy"], ["x", "x"])


def test_huge_values_do_not_overflow_silently():
    small = KernelPerceptron(Linear(), epochs=3).fit(X, X[:, 0] > 0.3)
    large = KernelPerceptron(1e300 * Linear(), epochs=3).fit(X, X[:, 0] > 0.3)
    assert (small.dual_coef_ == large.dual_coef_).all() and (small.predict(X) == large.predict(X)).all()
    assert MarginPerceptron(1e300 * Linear(), epochs=3).fit(X, X[:, 0] > 0.3).updates_ > 1
    basis, far, labels = np.eye(30), [[-9.0, 9.0] * 15], [0, 1] * 15
    with pytest.raises(ValueError, match="overflow: divide the kernel"), in_pieces(1, 1):
        KernelPerceptron(1e307 * Linear()).fit(np.vstack([basis, far]), [*labels, 1])
    model = KernelPerceptron(1e307 * Linear()).fit(basis, labels)
    for use in (lambda: model.predict(far), lambda: model.predict_one(far[0]), lambda: model.learn_one(far[0], 1)):
        with pytest.raises(ValueError, match="overflow: divide the kernel"):
            use()
