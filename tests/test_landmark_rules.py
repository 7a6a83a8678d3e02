"""Choosing landmarks: each rule against its definition, the sampling law of blocks, what no kernel can be."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.stats import chisquare

from similitude import FromBlocks, FromPairs, Precomputed, Similarity
from similitude.engines import LocalEngine
from similitude.errors import NotAKernelError, PairError
from similitude.evaluation import interleaved
from similitude.kernels import Cosine, Gaussian, Laplace, Linear, Polynomial
from similitude.landmarks.pivots import draw, rpcholesky
from similitude.landmarks.rules import (
    RULES,
    Pool,
    _shares,
    check_positions,
    choose,
    kmeans_plus_plus,
    ridge_leverage,
)

rng = np.random.default_rng(0)
PLANE = rng.standard_normal((40, 2))
WORDS = ["kernel", "colonel", "cell", "shell", "shelter", "help", "whelp", "help", "yelp", "spell", "dispel"]
NEED_A_KERNEL = ["kmeans++", "rpcholesky", "leverage"]


def make_pool(similarity, X, seed=0, labels=None, engine=None, **more):
    k, A = similarity.prepare(X)
    return Pool(k, A, engine or LocalEngine(), labels, np.random.default_rng(seed), **more)


def make_labels(n):
    return np.arange(n) % 3


def shared_letters(s, t):
    return float(len(set(s) & set(t)))


def asymmetric(x, z):
    return float(x[0] * z[1] + 2.0 * x[1])


def unproven(kernel):
    """The same values, of which nothing is known."""
    return FromBlocks(lambda X, Z: kernel.block(X, Z))


class Untouchable(Similarity):
    """A kernel that must not be computed."""

    def block(self, A, B):
        raise AssertionError("computed before its size was checked")


# What holds for every rule.


@pytest.mark.parametrize("rule", RULES)
@given(n=st.integers(1, 30), share=st.floats(0, 1), seed=st.integers(0, 9))
def test_positions_are_distinct_and_as_many_as_asked(rule, n, share, seed):
    k = max(1, round(share * n))
    pool = make_pool(Gaussian(sigma=0.5), PLANE[:n], seed, make_labels(n))
    chosen = choose(rule, pool, k)
    assert chosen.dtype.kind == "i" and chosen.shape == (k,)
    assert len(set(chosen.tolist())) == k and chosen.min() >= 0 and chosen.max() < n


@pytest.mark.parametrize("rule", RULES)
def test_the_seed_decides(rule):
    draws = [choose(rule, make_pool(Gaussian(1.0), PLANE, seed, make_labels(40)), 9).tolist() for seed in (1, 1, 2, 3)]
    assert draws[0] == draws[1]
    assert len({tuple(one) for one in draws}) > 1


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("similarity", "X"),
    [
        (FromPairs(shared_letters), WORDS),
        (FromPairs(shared_letters, claims=["SYMMETRIC", "PSD"]), WORDS),
        (Gaussian(1.0) + Linear().normalized(), PLANE),
        (Linear(), csr_array(PLANE)),
        (Precomputed(PLANE @ PLANE.T), range(40)),
        (FromBlocks(lambda X, Z: (X[:, :1] > 0).astype(int) & (Z[:, 0] > 0)), PLANE),
    ],
    ids=["strings", "declared", "composite", "sparse", "matrix", "whole numbers"],
)
def test_any_kind_of_objects(rule, similarity, X):
    n = len(PLANE) if not isinstance(X, list) else len(X)
    chosen = choose(rule, make_pool(similarity, X, labels=make_labels(n)), 3)
    assert 1 <= len(chosen) <= 3 and len(set(chosen.tolist())) == len(chosen)


@pytest.mark.parametrize("rule", RULES)
def test_a_failing_function_is_reported_with_the_positions_of_its_pair(rule):
    def fails_on_yelp(s, t):
        return float("nan") if s == "yelp" and t != s else 1.0 + (s == t)

    pool = make_pool(FromPairs(fails_on_yelp), WORDS, labels=make_labels(len(WORDS)))
    if rule in ("uniform", "stratified"):
        assert len(choose(rule, pool, len(WORDS))) == len(WORDS)
        return
    with pytest.raises(PairError) as error:
        choose(rule, pool, len(WORDS))
    assert WORDS[error.value.i] == "yelp" and repr(WORDS[error.value.j]) in str(error.value)


def test_unknown_rules_and_numbers_are_refused():
    pool = make_pool(Linear(), PLANE)
    with pytest.raises(ValueError, match=r"no rule .* 'rpcholeski'; did you mean 'rpcholesky'\?"):
        choose("rpcholeski", pool, 3)
    with pytest.raises(ValueError, match="known: uniform, stratified"):
        choose("42", pool, 3)
    for n in (0, 41):
        with pytest.raises(ValueError, match="from 1 to the 40 objects"):
            choose("uniform", pool, n)


def test_a_diagonal_that_is_no_number_is_refused():
    class Broken(Linear):
        def diagonal(self, A):
            return np.full(len(A), np.nan)

    with pytest.raises(PairError, match=r"pair \(0, 0\): .* nan"):
        choose("rpcholesky", make_pool(Broken(), PLANE), 2)


# Uniform and stratified.


def test_uniform_draws_every_object_equally_often():
    pool = make_pool(Linear(), PLANE[:8])
    drawn = np.concatenate([choose("uniform", pool, 3) for _ in range(2000)])
    assert chisquare(np.bincount(drawn, minlength=8)).pvalue > 1e-3


@given(sizes=st.lists(st.integers(1, 12), min_size=1, max_size=6), share=st.floats(0, 1), seed=st.integers(0, 99))
def test_stratified_shares(sizes, share, seed):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    total, classes = len(labels), len(sizes)
    n = max(1, round(share * total))
    pool = make_pool(Linear(), np.zeros((total, 1)), seed, labels)
    chosen = choose("stratified", pool, n)
    counts = np.bincount(labels[chosen], minlength=classes)
    quotas = n * np.array(sizes) / total
    assert len(set(chosen.tolist())) == counts.sum() == n
    if n >= classes:
        assert counts.min() >= 1
        assert (counts < np.maximum(quotas, 1) + 1).all()
    if n < classes or quotas.min() >= 1:
        assert (np.abs(counts - quotas) < 1).all()


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["ham"] * 30 + ["spam"] * 10),
        np.array([None] * 30 + ["spam"] * 10, dtype=object),
        np.array([True] * 30 + [False] * 10),
        ["ham"] * 30 + ["spam"] * 10,
    ],
    ids=["strings", "objects", "booleans", "list"],
)
def test_labels_of_any_kind(labels):
    chosen = choose("stratified", make_pool(Linear(), PLANE, labels=labels), 8)
    assert sorted((chosen < 30).tolist()) == [False] * 2 + [True] * 6


def test_stratified_draws_fairly_within_and_between_equal_classes():
    labels = np.arange(8) // 2
    drawn = np.concatenate([choose("stratified", make_pool(Linear(), PLANE[:8], s, labels), 2) for s in range(1500)])
    assert chisquare(np.bincount(drawn, minlength=8)).pvalue > 1e-3


def test_stratified_needs_one_label_per_object():
    with pytest.raises(ValueError, match="needs labels: pass y to fit, or use landmarks='uniform'"):
        choose("stratified", make_pool(Linear(), PLANE), 3)
    with pytest.raises(ValueError, match="40 objects but 39 labels"):
        choose("stratified", make_pool(Linear(), PLANE, labels=np.zeros(39)), 3)
    with pytest.raises(ValueError, match=r"shape \(40, 2\)"):
        choose("stratified", make_pool(Linear(), PLANE, labels=np.zeros((40, 2))), 3)


def test_every_prefix_of_an_interleaved_order_has_its_share_of_each_class():
    labels = np.repeat([0, 1, 2, 4], [20, 7, 2, 1])
    found = interleaved(labels, np.random.default_rng(3))
    assert sorted(found.tolist()) == list(range(30))
    assert set(labels[found[:4]].tolist()) == {0, 1, 2, 4}
    shuffled, ranks, when = np.random.default_rng(3).permutation(30), dict.fromkeys(range(5), 0), []
    for one in labels[shuffled].tolist():
        when.append(0.0 if ranks[one] == 0 else (ranks[one] + 0.5) / (labels == one).sum())
        ranks[one] += 1
    assert found.tolist() == [shuffled[i] for i in sorted(range(30), key=when.__getitem__)]


def test_positions_count_from_both_ends():
    assert check_positions([0, 4, -1, -5], 5).tolist() == [0, 4, 4, 0]
    for outside in (5, -6):
        with pytest.raises(IndexError, match=f"landmark_indices holds {outside}, X has 5 objects"):
            check_positions([0, outside], 5)
    for nothing in ([], [[1]], [1.0], 3, ["a"]):
        with pytest.raises(ValueError, match="rows must be all or a list of positions in X"):
            check_positions(nothing, 5, "rows", "all or ")
    assert check_positions(np.array([3], dtype=np.uint8), 5).tolist() == [3]


# The law of sequential draws, of which blocks must not deviate.


def residual_weights(K, chosen):
    """The diagonal of what projecting on the chosen ones leaves."""
    S = list(chosen)
    return np.clip(np.diag(K - K[:, S] @ np.linalg.pinv(K[np.ix_(S, S)]) @ K[S]), 0, None) if S else np.diag(K)


def distance_weights(K, chosen):
    """The squared distance from the nearest chosen one; the first is drawn uniformly."""
    d = np.diag(K)
    return np.min([d + d[j] - 2 * K[:, j] for j in chosen], axis=0) if chosen else np.ones(len(K))


def sequential_law(weights, K, k):
    """The probability of every ordered choice, one draw after another."""
    law = {}
    for chosen in itertools.permutations(range(len(K)), k):
        steps = [weights(K, chosen[:t]) for t in range(k)]
        law[chosen] = float(np.prod([w[j] / w.sum() for w, j in zip(steps, chosen, strict=True)]))
    return law


@pytest.mark.parametrize("block", [3, pytest.param(None, marks=pytest.mark.deep)])
@pytest.mark.parametrize(
    ("rule", "weights"),
    [(lambda pool, k, block: rpcholesky(pool, k, block)[0], residual_weights), (kmeans_plus_plus, distance_weights)],
    ids=["rpcholesky", "kmeans++"],
)
def test_blocks_have_the_law_of_sequential_draws(rule, weights, block):
    X = np.array([[0.0], [0.3], [1.0], [1.2], [3.0]])
    pool = make_pool(Polynomial(degree=4, scale=0.5), X)
    law = sequential_law(weights, np.asarray(pool.similarity.gram(X)), 3)
    assert sum(law.values()) == pytest.approx(1)
    draws = 500
    drawn = [tuple(rule(pool, 3, block).tolist()) for _ in range(draws)]
    common = [choice for choice, p in law.items() if p * draws >= 5]
    expected = np.array([law[choice] * draws for choice in common])
    seen = np.array([drawn.count(choice) for choice in common])
    expected, seen = np.append(expected, draws - expected.sum()), np.append(seen, draws - seen.sum())
    assert chisquare(seen, expected).pvalue > 1e-3


def test_draws_are_proportional_to_weights_and_never_of_weight_zero():
    weights = np.array([0.0, 1.0, 0.0, 3.0, 0.0])
    drawn = np.bincount(draw(weights, 4000, np.random.default_rng(0)), minlength=5)
    assert drawn[[0, 2, 4]].sum() == 0
    assert chisquare(drawn[[1, 3]], [1000, 3000]).pvalue > 1e-3

    class Last:
        def random(self, size):
            return np.ones(size)

    assert draw(weights, 2, Last()).tolist() == [3, 3]


# Randomly pivoted Cholesky.


def decaying(n, seed=0):
    """A matrix with eigenvalues 1 / i^1.5."""
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))[0]
    return (Q / np.arange(1, n + 1) ** 1.5) @ Q.T


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_factor_is_exact_on_the_pivots(dtype, threads):
    X = np.random.default_rng(1).standard_normal((1500, 40)).astype(dtype)
    pool = make_pool(Gaussian(6.0), X, engine=LocalEngine(threads=threads))
    pivots, F = rpcholesky(pool, 200)
    K = pool.against(pivots).whole()
    assert F.dtype == K.dtype == dtype and F.shape == (1500, 200)
    tolerance = 1e3 * np.finfo(dtype).eps
    np.testing.assert_allclose(F @ F[pivots].T, K, atol=tolerance)
    np.testing.assert_allclose(np.triu(F[pivots], 1), 0, atol=tolerance)
    residuals = pool.diagonal()[:, None] - np.cumsum(F.astype(np.float64) ** 2, axis=1)
    assert residuals.min() > -tolerance
    assert (np.diff(residuals.sum(axis=0)) < 0).all()


def test_the_trace_is_within_twice_the_best():
    M, k = decaying(200), 20
    best = (np.arange(k + 1, 201) ** -1.5).sum()
    traces = []
    for seed in range(5):
        F = rpcholesky(make_pool(Precomputed(M), range(200), seed), k)[1]
        traces.append(np.trace(M) - (F**2).sum())
    assert best <= min(traces) and np.mean(traces) <= 2 * best


def test_blocks_large_and_small_explain_equally_much():
    M = decaying(200)
    explained = [
        np.mean([(rpcholesky(make_pool(Precomputed(M), range(200), s), 20, block)[1] ** 2).sum() for s in range(5)])
        for block in (1, 200)
    ]
    assert explained[0] == pytest.approx(explained[1], rel=0.01)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("kernel", "X", "rank"),
    [
        (Linear(), rng.standard_normal((300, 7)), 7),
        (Linear(), rng.standard_normal((300, 7)) * np.logspace(0, -6, 300)[:, None], 7),
        (Polynomial(degree=2), rng.standard_normal((300, 3)), 10),
        (Cosine(), rng.standard_normal((300, 12)), 12),
        (Gaussian(1.0), np.repeat(rng.standard_normal((30, 5)), 8, axis=0), 30),
        (Laplace(1.0), np.tile(rng.standard_normal((20, 3)), (5, 1)), 20),
        (Linear(), np.zeros((5, 2)), 0),
        (Linear(), rng.standard_normal((400, 150)) @ np.diag(np.logspace(0, -1, 150)), 150),
    ],
    ids=["linear", "lengths", "polynomial", "cosine", "duplicates", "tiled", "zero", "many pivots"],
)
def test_the_rank_is_found(kernel, X, rank, dtype):
    pivots, F = rpcholesky(make_pool(kernel, X.astype(dtype)), len(X))
    assert len(pivots) == F.shape[1] == rank


def test_a_smooth_kernel_runs_into_rounding_without_alarm():
    X = rng.standard_normal((500, 3)).astype(np.float32)
    for kernel in (Gaussian(3.0), unproven(Gaussian(3.0))):
        pool = make_pool(kernel, X)
        pivots, F = rpcholesky(pool, 500)
        assert len(pivots) < 250
        left = pool.diagonal() - (F.astype(np.float64) ** 2).sum(axis=1)
        assert np.abs(left).max() < 1e-3


def test_about_k_columns_are_computed():
    calls = []
    X, k = rng.standard_normal((400, 3)), 40
    pool = make_pool(FromPairs(lambda x, z: calls.append(1) or float(np.exp(-((x - z) ** 2).sum()))), X)
    assert len(choose("rpcholesky", pool, k)) == k
    assert len(calls) < 1.25 * (k + 1) * 400


def test_a_factor_that_does_not_fit_is_refused_before_anything_is_computed():
    pool = make_pool(Untouchable(), range(3000), engine=LocalEngine(memory="1MB"))
    message = r"3,000 x 100 values, 2.3 MiB.*budget is 976.6 KiB: choose fewer landmarks, .*memory='1GiB'"
    with pytest.raises(MemoryError, match=message):
        choose("rpcholesky", pool, 100)


def test_a_factor_may_take_all_of_the_memory():
    def double(X, Z):
        return X.astype(np.float64) @ Z.T.astype(np.float64)

    X = PLANE.astype(np.float32)
    for k, values in ((Linear(), 4), (FromBlocks(double), 8)):
        enough = 40 * 30 * values
        assert len(choose("rpcholesky", make_pool(k, X, engine=LocalEngine(threads=1, memory=enough)), 30)) == 2
        with pytest.raises(MemoryError, match="40 x 30 values"):
            choose("rpcholesky", make_pool(k, X, engine=LocalEngine(threads=1, memory=enough - 1)), 30)


def test_single_objects():
    pivots, F = rpcholesky(make_pool(Linear(), [[2.0, 0.0]]), 1)
    assert pivots.tolist() == [0] and F.tolist() == [[2.0]]
    for rule in ("kmeans++", "leverage", "diverse"):
        assert choose(rule, make_pool(Linear(), [[2.0, 0.0]]), 1).tolist() == [0]


# What is not a kernel.


def box(x, z):
    return float(abs(x - z) < 1)


@pytest.mark.parametrize("rule", ["rpcholesky", "leverage"])
def test_an_indefinite_similarity_is_refused_with_its_witness(rule):
    X = rng.uniform(0, 3, 60)
    pool = make_pool(FromPairs(box), X, objects=X)
    with pytest.raises(NotAKernelError, match="landmarks='uniform' or landmarks='diverse'") as error:
        choose(rule, pool, 40)
    witness = error.value.witness
    a, few = np.array(witness.coefficients), list(witness.indices)
    gram = np.array([[box(x, z) for z in X[few]] for x in X[few]])
    assert len(few) == 3 and a @ gram @ a == pytest.approx(witness.value) and witness.value < 0
    assert witness.objects == tuple(X[few])


@pytest.mark.parametrize("rule", NEED_A_KERNEL)
@pytest.mark.parametrize(
    ("f", "size"),
    [
        (lambda x, z: -x * z, 1),
        (lambda x, z: x * z if x == z else 3 * x * z, 2),
        (lambda x, z: float(x != z), 2),
        (lambda x, z: x * z + (x > z), 2),
    ],
    ids=["negative", "off the diagonal", "zero diagonal", "asymmetric"],
)
def test_one_or_two_objects_refute(rule, f, size):
    pool = make_pool(FromPairs(f), list(range(1, 30)))
    if rule == "rpcholesky" and f(2, 2) == 0:
        assert not len(choose(rule, pool, 20))  # nothing of positive weight to draw
        return
    with pytest.raises(NotAKernelError) as error:
        choose(rule, pool, 20)
    assert len(error.value.witness.indices) == size


def test_a_witness_shows_the_objects_or_else_what_stands_for_them():
    k = FromPairs(lambda x, z: -1.0).pullback(len) + FromPairs(lambda s, t: 0.0)
    for objects, shown in ((None, 0), (WORDS, "kernel")):
        with pytest.raises(NotAKernelError) as error:
            choose("rpcholesky", make_pool(k, WORDS, objects=objects), 2)
        assert error.value.witness.objects == (shown,)


# k-means++.


def test_kmeans_finds_every_distinct_object_and_then_stops():
    X = np.repeat(rng.standard_normal((6, 4)), 5, axis=0)
    for kernel in (Gaussian(1.0), Linear(), Laplace(0.3)):
        chosen = choose("kmeans++", make_pool(kernel, X), 20)
        assert sorted((chosen // 5).tolist()) == list(range(6))


# Leverage scores.


def test_leverage_scores_of_few_objects_are_exact():
    pool = make_pool(Gaussian(1.0), PLANE)
    scores, ridge = ridge_leverage(pool, 40)
    K = Gaussian(1.0).gram(PLANE)
    np.testing.assert_allclose(scores, np.diag(K @ np.linalg.inv(K + ridge * np.eye(40))), rtol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_leverage_scores_of_many_objects_are_close(seed):
    X = np.vstack([rng.standard_normal((560, 2)), 4 + 3 * rng.standard_normal((40, 2))])
    K = np.asarray(Gaussian(1.0).gram(X))
    scores, ridge = ridge_leverage(make_pool(Gaussian(1.0), X, seed), 150)
    exact = np.diag(K @ np.linalg.inv(K + ridge * np.eye(600)))
    ratio = scores / exact
    assert np.corrcoef(scores, exact)[0, 1] > 0.95
    assert ratio.min() > 0.9 and ratio.max() < 4  # at most 3 with the constants of the theory; these are smaller
    chosen = choose("leverage", make_pool(Gaussian(1.0), X, seed), 150)
    assert scores[560:].mean() > 2 * scores[:560].mean()  # outliers stand for themselves
    assert np.mean(chosen >= 560) > 1.5 * 40 / 600


@pytest.mark.parametrize(
    "kernel", [Gaussian(30.0), unproven(Gaussian(30.0)), Linear()], ids=["smooth", "unproven", "flat"]
)
def test_leverage_of_nearly_equal_objects_is_no_alarm(kernel):
    X = np.repeat(rng.standard_normal((60, 3)).astype(np.float32), 10, axis=0)
    assert len(choose("leverage", make_pool(kernel, X), 50)) == 50


# Diverse.


@pytest.mark.parametrize("f", [asymmetric, lambda x, z: float(x @ z)], ids=["asymmetric", "symmetric"])
def test_diverse_takes_the_least_similar_to_those_chosen(f):
    chosen = choose("diverse", make_pool(FromPairs(f), PLANE), 12).tolist()
    for t in range(1, 12):
        rest = [j for j in range(40) if j not in chosen[:t]]
        assert chosen[t] == min(rest, key=lambda z: sum(f(PLANE[x], PLANE[z]) for x in chosen[:t]))


def test_diverse_breaks_ties_by_index():
    chosen = choose("diverse", make_pool(FromPairs(lambda x, z: 1.0), WORDS), 5).tolist()
    assert chosen[1:] == [j for j in range(5) if j != chosen[0]][:4]


def test_uniform_takes_an_asymmetric_similarity():
    assert len(choose("uniform", make_pool(FromPairs(asymmetric), PLANE), 40)) == 40


@pytest.mark.parametrize(
    ("sizes", "n", "expected"),
    [
        ([97, 1, 1, 1], 4, [1, 1, 1, 1]),
        ([50, 47, 1, 1, 1], 5, [1, 1, 1, 1, 1]),
        ([50, 47, 1, 1, 1], 6, [2, 1, 1, 1, 1]),  # 3, 3, 0, 0, 0; the second has 0.18 too many, then the first less
        ([50, 47, 1, 1, 1], 7, [2, 2, 1, 1, 1]),
        ([97, 1, 1, 1], 3, [3, 0, 0, 0]),  # too few for all
        ([6, 3, 1], 10, [6, 3, 1]),
        ([6, 3, 1], 5, [3, 1, 1]),
        ([5], 2, [2]),
    ],
)
def test_a_class_without_a_share_gets_one_from_the_class_with_most_beyond_its_quota(sizes, n, expected):
    for seed in range(3):
        assert _shares(np.array(sizes), n, np.random.default_rng(seed)).tolist() == expected


def test_leverage_of_nothing_chooses_nothing():
    assert not len(choose("leverage", make_pool(Linear(), np.zeros((5, 2))), 3))
    X = np.vstack([np.zeros((30, 2)), PLANE[:4]])
    assert set(choose("leverage", make_pool(Linear(), X), 10).tolist()) <= set(range(30, 34))
