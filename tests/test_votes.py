"""Votes: against plain loops over definitions, on the paper's toy problems, on every kind of object."""

import pickle
import re
from statistics import fmean

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, kstest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from similitude import FromBlocks, FromPairs, Precomputed, bounds, datasets
from similitude.checks.estimators import check_learner
from similitude.engines import LocalEngine
from similitude.errors import PairError
from similitude.kernels import Gaussian, Linear
from similitude.learners import AlignmentVote, SimilarityVote, WeakSimilarityVote
from similitude.learners.votes import class_pair_means, keyed_uniforms

rng = np.random.default_rng(0)
VECTORS = rng.standard_normal((14, 3))
GRAPHS = [nx.path_graph(n) for n in range(2, 9)] + [nx.cycle_graph(n) for n in range(3, 10)]
TWO, THREE = np.array(["a", "b"] * 7), np.array((["a", "b", "c"] * 5)[:14])
VOTES = [SimilarityVote(), AlignmentVote()]
ALL = [*VOTES, WeakSimilarityVote(), WeakSimilarityVote(balanced=False)]
TINY = LocalEngine(threads=1, memory=4000)
# By definition.


def lopsided(x, z):
    """A similarity of vectors that is neither symmetric nor PSD, from -1 to 1."""
    return float(np.sin(2 * x[0] * z[1] + 3 * x[2] * z[0] - z[2]))


def class_means(f, x, X, y, weights=None):
    """The mean of w f(x, .) over the examples of each class, in the order of the labels."""
    weights = np.ones(len(X)) if weights is None else weights
    return [fmean(w * f(x, z) for z, label, w in zip(X, y, weights, strict=True) if label == c) for c in sorted(set(y))]


def training(n=40, d=3, classes=3, seed=1):
    random = np.random.default_rng(seed)
    return random.standard_normal((n, d)), np.array(["no", "perhaps", "yes"])[np.arange(n) % classes]


@pytest.mark.parametrize("engine", [None, TINY])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_vote_by_definition(classes, engine):
    X, y = training(classes=classes)
    y[-5:] = "no"  # classes of unequal sizes
    model = SimilarityVote(lopsided, engine=engine).fit(X, y)
    means = np.array([class_means(lopsided, x, X, y) for x in VECTORS])
    np.testing.assert_allclose(model.mean_similarities(VECTORS), means)
    if classes == 2:
        np.testing.assert_allclose(model.decision_function(VECTORS), means[:, 1] - means[:, 0])
        assert (model.predict(VECTORS) == np.where(means[:, 1] >= means[:, 0], "perhaps", "no")).all()
    else:
        np.testing.assert_allclose(model.decision_function(VECTORS), means)
        assert (model.predict(VECTORS) == np.array(["no", "perhaps", "yes"])[means.argmax(axis=1)]).all()
    assert len(set(model.predict(VECTORS))) > 1


@pytest.mark.parametrize("engine", [None, TINY])
@pytest.mark.parametrize("classes", [2, 3])
def test_an_alignment_vote_by_definition(classes, engine):
    X, y = training(classes=classes)
    y[-5:] = "no"
    names = sorted(set(y))
    expected = [
        [fmean((1 if label == c else -1) * lopsided(x, z) for z, label in zip(X, y, strict=True)) for c in names]
        for x in VECTORS
    ]
    model = AlignmentVote(lopsided, engine=engine).fit(X, y)
    scores = np.array(expected)[:, 1] if classes == 2 else expected
    np.testing.assert_allclose(model.decision_function(VECTORS), scores)


def test_both_votes_agree_where_classes_have_the_same_size():
    X, y = training(classes=2)
    vote, aligned = SimilarityVote(lopsided).fit(X, y), AlignmentVote(lopsided).fit(X, y)
    np.testing.assert_allclose(vote.decision_function(VECTORS), 2 * aligned.decision_function(VECTORS))
    y[:12] = "no"
    vote, aligned = SimilarityVote("gaussian").fit(X, y), AlignmentVote("gaussian").fit(X, y)
    assert (aligned.predict(VECTORS) == "no").mean() > (vote.predict(VECTORS) == "no").mean()


def test_ties():
    same = FromPairs(lambda s, t: 1.0)
    X = list("abcdefg")
    assert SimilarityVote(same).fit(X, [0, 0, 0, 0, 1, 1, 1]).predict(["x"]) == [1]
    assert SimilarityVote(same).fit(X, [0, 0, 0, 0, 1, 1, 2]).predict(["x"]) == [0]
    assert AlignmentVote(same).fit(X[:6], [0, 0, 0, 1, 1, 1]).predict(["x"]) == [1]
    shared = FromPairs(lambda s, t: float(s == t))  # means 1/3 and 2/6
    assert SimilarityVote(shared).fit(list("xbbxxbbbb"), [0] * 3 + [1] * 6).decision_function(["x"]) == [0.0]


# Known weights, and examples that count more than once.


def test_weights_make_figure_3_1_right():
    problem = datasets.figure_3_1()
    k, objects = FromBlocks(problem.kernel), problem.draw(300, random_state=0)
    labels, known = problem.labels[objects], np.array([0.0, 1.0, 0.5])
    plain = SimilarityVote(k).fit(objects, labels)
    assert plain.predict([0, 1, 2]).tolist() == [1, -1, -1]
    for weights in (known[objects], known[objects].tolist(), lambda x: known[x]):
        vote = SimilarityVote(k, weights=weights).fit(objects, labels)
        assert vote.predict([0, 1, 2]).tolist() == [1, 1, -1]
        np.testing.assert_allclose(problem.labels * vote.decision_function([0, 1, 2]), 0.25, atol=0.1)
    assert set(vote.support_objects_.tolist()) == {1, 2}  # what has no weight is not kept
    assert vote.support_.tolist() == np.flatnonzero(objects > 0).tolist()


def test_weights_by_definition():
    X, y = training()
    weights = rng.random(len(X))
    weights[y == "yes"] = 0  # a whole class without a vote
    model = SimilarityVote(lopsided, weights=weights).fit(X, y)
    np.testing.assert_allclose(
        model.mean_similarities(VECTORS), [class_means(lopsided, x, X, y, weights) for x in VECTORS], atol=1e-12
    )
    of_x = SimilarityVote(lopsided, weights=lambda x: abs(np.sin(x[0]))).fit(X, y)
    by_hand = SimilarityVote(lopsided, weights=np.abs(np.sin(X[:, 0]))).fit(X, y)
    np.testing.assert_allclose(of_x.decision_function(VECTORS), by_hand.decision_function(VECTORS))


def counted(value=0.5):
    calls = []

    def f(x, z):
        calls.append((x, z))
        return value

    return f, calls


@pytest.mark.parametrize("kind", [SimilarityVote, AlignmentVote])
def test_a_weight_is_a_repetition(kind):
    X, y = training()
    times = rng.integers(0, 4, len(X))
    again = np.repeat(np.arange(len(X)), times)
    for similarity in (lopsided, "gaussian"):
        weighted = kind(similarity).fit(X, y, sample_weight=times)
        repeated = kind(similarity).fit(X[again], y[again])
        np.testing.assert_allclose(weighted.decision_function(VECTORS), repeated.decision_function(VECTORS))
    halved = kind(lopsided).fit(X, y, sample_weight=times / 7)
    weighted = kind(lopsided).fit(X, y, sample_weight=times)
    np.testing.assert_allclose(halved.decision_function(VECTORS), weighted.decision_function(VECTORS))
    with pytest.raises(ValueError, match="class 'no' has examples of weight zero only"):
        kind(lopsided).fit(X, y, sample_weight=(y != "no").astype(float))


def test_a_repetition_of_weighted_examples():
    X, y = training()
    times, known = rng.integers(1, 4, len(X)), rng.random(len(X))
    again = np.repeat(np.arange(len(X)), times)
    weighted = SimilarityVote(lopsided, weights=known).fit(X, y, sample_weight=times)
    repeated = SimilarityVote(lopsided, weights=known[again]).fit(X[again], y[again])
    np.testing.assert_allclose(weighted.decision_function(VECTORS), repeated.decision_function(VECTORS))


# The rule that answers by chance.


def printed(means):
    """+ with probability (1 + g)/2, where g is half the difference of the means."""
    g = (means[1] - means[0]) / 2
    return [(1 - g) / 2, (1 + g) / 2]


def leave_one_out(f, X, y, i):
    """The means of one training object to the others of each class."""
    rest = [j for j in range(len(X)) if j != i]
    return class_means(f, X[i], [X[j] for j in rest], [y[j] for j in rest])


@pytest.mark.parametrize("engine", [None, TINY])
def test_the_printed_rule_by_definition(engine):
    X, y = training(classes=2)
    y[-9:] = "no"
    model = WeakSimilarityVote(lopsided, balanced=False, engine=engine).fit(X, y)
    expected = [printed(class_means(lopsided, x, X, y)) for x in VECTORS]
    np.testing.assert_allclose(model.predict_proba(VECTORS), expected)
    assert model.scale_ == model.shrink_ == 1 and not model.offsets_.any()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("engine", [None, TINY])
def test_balanced_is_right_equally_often_in_every_class(classes, engine):
    X, y = training(classes=classes)
    y[-9:] = "no"
    model = WeakSimilarityVote(lopsided, engine=engine).fit(X, y)
    names = sorted(set(y))
    apart = np.array([leave_one_out(lopsided, X, y, i) for i in range(len(X))])
    table = np.array([apart[y == c].mean(axis=0) for c in names])
    np.testing.assert_allclose(model.class_similarities_, table)
    within = np.diag(table).mean()
    between = table[~np.eye(classes, dtype=bool)].mean()
    assert model.gap_ == pytest.approx(within - between)
    advantage = apart - apart.mean(axis=1, keepdims=True) + model.offsets_
    right = [fmean(advantage[y == c][:, k]) for k, c in enumerate(names)]
    assert right == pytest.approx([right[0]] * classes)
    assert sum(model.offsets_) == pytest.approx(0)
    means = np.array([class_means(lopsided, x, X, y) for x in VECTORS])
    expected = 1 / classes + (means - means.mean(axis=1, keepdims=True) + model.offsets_) / (
        2 * (classes - 1) * model.shrink_
    )
    np.testing.assert_allclose(model.predict_proba(VECTORS), expected)


@given(st.integers(0, 10**6), st.integers(2, 5), st.booleans(), st.sampled_from([0.01, 1.0, 1.0, 30.0]))
def test_probabilities_are_probabilities(seed, classes, balanced, size):
    """Also of the most extreme similarities: all -1 or 1."""
    random = np.random.default_rng(seed)
    n = 3 * classes
    K = size * (random.choice([-1.0, 1.0], (n, n)) if seed % 2 else random.uniform(-1, 1, (n, n)))
    y = np.arange(n) % classes
    if seed % 3 == 0:  # the largest gaps between classes, either way
        K = size * np.where(random.random(classes) < 0.5, 1.0, -1.0)[y][:, None] * np.where(y[:, None] == y, 1.0, -1.0)
    model = WeakSimilarityVote(Precomputed(K), balanced=balanced).fit(np.arange(n), y)
    shares = model.predict_proba(np.arange(n))
    assert (shares >= 0).all() and shares.sum(axis=1) == pytest.approx(1)
    assert model.scale_ == max(1.0, np.abs(K).max())
    assert 1 <= model.shrink_ <= 3 - 2 / classes + 1e-12
    assert set(model.predict(np.arange(n))) <= set(y)


def test_several_classes_are_right_as_often_as_the_gap_says():
    """The mean chance of a right answer is 1/C + gap/(2C), for independent objects of the same distribution."""
    C, atoms = 4, 12
    random = np.random.default_rng(5)
    y = np.arange(atoms) % C
    K = random.uniform(-1, 1, (atoms, atoms)) / 2 + 0.4 * (y[:, None] == y)
    drawn = np.concatenate([np.flatnonzero(y == c) for c in range(C)]).repeat(500)  # the distribution itself
    model = WeakSimilarityVote(Precomputed(K), balanced=False).fit(drawn, y[drawn])
    right = model.predict_proba(np.arange(atoms))[np.arange(atoms), y].mean()
    E = np.array([[K[np.ix_(y == a, y == b)].mean() for b in range(C)] for a in range(C)])
    gap = np.diag(E).mean() - E[~np.eye(C, dtype=bool)].mean()
    assert right == pytest.approx(1 / C + gap / (2 * C))
    assert model.gap_ == pytest.approx(gap, abs=2e-3)  # an example is not compared with itself


def errors(model, problem):
    """The exact error on a problem, and that on each class."""
    objects = np.arange(len(problem.masses))
    wrong = 1 - model.predict_proba(objects)[objects, (problem.labels == 1).astype(int)]
    by_class = [np.average(wrong, weights=problem.masses * (problem.labels == label)) for label in (-1, 1)]
    return problem.masses @ wrong, by_class


def fitted_on(problem, each, **options):
    drawn = np.concatenate([problem.draw(each, random_state=label + 5, label=label) for label in (1, -1)])
    return WeakSimilarityVote(FromBlocks(problem.kernel), **options).fit(drawn, problem.labels[drawn])


@pytest.mark.parametrize("balanced", [True, False])
def test_footnote_7_errs_three_times_in_eight(balanced):
    problem = datasets.two_points()
    error, by_class = errors(fitted_on(problem, 1500, balanced=balanced), problem)
    assert error == pytest.approx(0.375, abs=0.02)
    assert by_class == pytest.approx([0.375, 0.375], abs=0.03)


def test_the_printed_rule_fails_where_a_class_is_rare():
    for p, alike, expected in [(0.9, 0.063, 0.5108), (0.8, 0.12, 0.526)]:
        problem = datasets.unbalanced(p, alike)
        assert problem.weak_gap > 0.05 - 1e-3
        model = fitted_on(problem, 400, balanced=False)
        assert errors(model, problem)[0] == pytest.approx(expected, abs=1e-4)
        assert model.gap_ < 0  # with classes that count alike there is no gap, and nothing is promised


def test_balance_makes_every_mixture_of_classes_right_more_often_than_not():
    for p in (0.5, 0.9, 0.99):
        problem = datasets.unbalanced(p, among_positives=0.0, between=0.2, among_negatives=1.0)
        assert problem.balanced_gap == pytest.approx(0.3)
        as_printed, balanced = fitted_on(problem, 400, balanced=False), fitted_on(problem, 400)
        assert errors(as_printed, problem)[0] == pytest.approx(0.5 - (-0.2 * p + 0.8 * (1 - p)) / 4)
        error, by_class = errors(balanced, problem)
        assert balanced.shrink_ == pytest.approx(1.25)  # offsets of 0.25 either way
        assert by_class == pytest.approx([0.5 - 0.3 / 4 / 1.25] * 2)
        assert error < 0.5 and (p == 0.5 or errors(as_printed, problem)[0] > 0.5)


# Coins.


def test_answers_come_as_often_as_their_probabilities():
    problem = datasets.two_points(0.9)
    model = fitted_on(problem, 300)
    chance = model.predict_proba([0])[0, 1]
    answers = model.predict(np.zeros(4000, dtype=int))  # copies have chances of their own
    assert binomtest(int((answers == 1).sum()), 4000, chance).pvalue > 0.001
    by_seed = [fitted_on(problem, 300, random_state=seed).predict([0])[0] for seed in range(60)]
    assert binomtest(sum(answer == 1 for answer in by_seed), 60, chance).pvalue > 0.001


def test_an_object_has_its_own_answer():
    X, y = training(n=60)
    model = WeakSimilarityVote(random_state=3).fit(X, y)
    new = rng.standard_normal((50, 3))
    answers, order = model.predict(new), rng.permutation(50)
    assert (model.predict(new[order]) == answers[order]).all()
    assert (np.concatenate([model.predict(new[:7]), model.predict(new[7:])]) == answers).all()
    assert (pickle.loads(pickle.dumps(model)).predict(new) == answers).all()
    assert (clone(model).fit(X, y).predict(new) == answers).all()
    assert (model.predict(pd.DataFrame(new)) == answers).all()
    other = WeakSimilarityVote(random_state=4).fit(X, y)
    assert (other.predict(new) != answers).any()
    np.testing.assert_allclose(other.predict_proba(new), model.predict_proba(new))
    assert 0.1 < np.mean(answers == model.classes_[model.predict_proba(new).argmax(axis=1)]) < 0.9


def test_rows_of_a_precomputed_matrix_have_their_own_answers():
    K = Gaussian(1.0).gram(VECTORS)
    model = WeakSimilarityVote("precomputed", random_state=1).fit(K, TWO)
    answers = model.predict(K)
    assert (model.predict(K[::-1]) == answers[::-1]).all()
    np.testing.assert_allclose(
        model.predict_proba(K), WeakSimilarityVote(Gaussian(1.0)).fit(VECTORS, TWO).predict_proba(VECTORS)
    )


def test_keyed_uniforms_are_uniform_and_independent():
    many = np.arange(20000, dtype=np.uint64)
    a, b, c = keyed_uniforms(0, many), keyed_uniforms(1, many), keyed_uniforms(0, np.zeros(20000, dtype=np.uint64))
    for values in (a, b, c):
        assert kstest(values, "uniform").pvalue > 0.001
        assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 0.03
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.03 and abs(np.corrcoef(a, c)[0, 1]) < 0.03
    again = keyed_uniforms(0, np.array([3, 1, 3, 3, 1], dtype=np.uint64))
    assert len(set(again)) == 5 and (again[:2] == keyed_uniforms(0, np.array([3, 1], dtype=np.uint64))).all()
    assert len(keyed_uniforms(0, many[:0])) == 0


# Values beyond [-1, 1].


def test_larger_values_are_scaled_and_said():
    K = 5 * np.random.default_rng(2).uniform(-1, 1, (14, 14))
    model = WeakSimilarityVote("precomputed").fit(K, TWO)
    assert model.scale_ == np.abs(K).max()
    plain = WeakSimilarityVote("precomputed").fit(K / model.scale_, TWO)
    assert plain.scale_ == 1
    np.testing.assert_allclose(model.predict_proba(K), plain.predict_proba(K / model.scale_))
    vote, small = SimilarityVote("precomputed").fit(K, TWO), SimilarityVote("precomputed").fit(K / 5, TWO)
    np.testing.assert_allclose(vote.decision_function(K), 5 * small.decision_function(K / 5))


def test_new_values_beyond_the_scale():
    X, y = np.array([[1.0], [2.0], [-1.0], [-2.0]]), ["p", "p", "m", "m"]
    model = WeakSimilarityVote("linear").fit(X, y)
    assert model.scale_ == 4
    near = model.predict_proba([[2.1]])  # beyond the examples, and still a probability: 1/2 + (2.1 * 3 / 4) / 4
    np.testing.assert_allclose(near, [[0.5 - 0.39375, 0.5 + 0.39375]])
    for ask in (model.predict, model.predict_proba):
        with pytest.raises(ValueError, match=r"object 1 has the mean similarities \[-15.0, 15.0\].*scale_ = 4"):
            ask([[1.0], [10.0]])


# What is promised.


@pytest.mark.parametrize("each", [24, 50, 400])
def test_the_smallest_gap_for_which_votes_suffice(each):
    X, y = np.linspace(-1, 1, 3 * each)[:, None], np.repeat(["a", "b"], [each, 2 * each])
    for model, size in [(SimilarityVote(Linear()), bounds.votes), (WeakSimilarityVote(Linear()), bounds.weak_votes)]:
        promised = model.fit(X, y).guarantee_
        gamma = promised.numbers["gamma"]
        if gamma > 1:
            assert promised.grade == "NONE" and "too few for any gap" in str(promised)
            assert size(1, 0.05) > each
        else:
            assert promised.grade == "CONDITIONAL"
            assert size(gamma, 0.05) <= each < size(gamma * 0.97, 0.05)
            assert "assumed: the rows are independent draws" in str(promised)


def test_too_few_examples_promise_nothing():
    X, y = np.linspace(-1, 1, 60)[:, None], np.repeat(["a", "b"], [37, 23])
    assert SimilarityVote(Linear()).fit(X, y).guarantee_.grade == "NONE"
    assert AlignmentVote(Linear()).fit(X, y).guarantee_.grade == "CONDITIONAL"
    assert AlignmentVote(Linear()).fit(X[35:40], y[35:40]).guarantee_.grade == "NONE"


def test_several_classes_share_the_probability_of_failure():
    X, y = np.linspace(-1, 1, 400)[:, None], np.arange(400) % 4
    found = SimilarityVote(Linear()).fit(X, y).guarantee_
    assert found.grade == "CONDITIONAL" and "any other" in str(found)
    # a wrong vote against one of three others: 3 exp(-m gamma^2 / 4) <= delta^2
    assert 3 * np.exp(-100 * found.numbers["gamma"] ** 2 / 4) == pytest.approx(0.05**2)
    assert AlignmentVote(Linear()).fit(X, y).guarantee_.grade == "NONE"


def test_a_similarity_fixed_on_the_examples_is_promised_nothing():
    y = np.arange(200) % 2
    X = rng.standard_normal((200, 2)) + y[:, None]
    for kind in (SimilarityVote, AlignmentVote, WeakSimilarityVote):
        assert kind(Gaussian(1.0)).fit(X, y).guarantee_.grade == "CONDITIONAL"
        found = kind("gaussian").fit(X, y).guarantee_
        assert found.grade == "NONE" and "sigma" in found.statement
    K = Gaussian(1.0).gram(X)
    found = SimilarityVote("precomputed").fit(K, y).guarantee_
    assert found.grade == "CONDITIONAL" and "a precomputed matrix does not say where it comes from" in str(found)


def test_a_contradicted_premise_promises_nothing_and_is_named():
    y = np.arange(200) % 2
    X = np.where(y == 0, -1.0, 1.0)[:, None]
    for kind in (SimilarityVote, AlignmentVote, WeakSimilarityVote):
        assert kind(Linear()).fit(X, y).guarantee_.grade == "CONDITIONAL"
        found = kind(Linear()).fit(3 * X, y).guarantee_
        assert found.grade == "NONE" and "a value of magnitude 9 was seen" in found.statement
    found = WeakSimilarityVote(-0.5 * Linear()).fit(X, y).guarantee_
    assert found.grade == "NONE" and "between the examples it is -1" in found.statement


def test_premises_say_what_the_examples_say():
    y = np.arange(200) % 2
    X = np.where(y == 0, -1.0, 1.0)[:, None]
    X[:100] *= -1  # the first half of the examples is like the other class
    X[:100:4] *= 0.0
    found = str(SimilarityVote(Linear()).fit(X[100:], y[100:]).guarantee_)
    assert "of 50 examples, 0.0% are not" in found
    assert "between 50 examples the mean is 1)" in str(AlignmentVote(Linear()).fit(X[100:], y[100:]).guarantee_)
    mixed = str(SimilarityVote(Linear()).fit(X[60:], y[60:]).guarantee_)  # 40 of 140 are wrong
    assert 20 <= float(re.search(r"of 50 examples, ([0-9.]+)% are not", mixed)[1]) <= 100
    none = SimilarityVote(Linear(), weights=np.r_[np.zeros(99), 1.0]).fit(X[100:], y[100:]).guarantee_
    assert "of 50 examples, 100.0% are not" in str(none)


def test_values_are_looked_at_only_if_something_would_be_promised():
    calls = []

    def counted(A, B):
        calls.append(A.shape[0] * B.shape[0])
        return A @ B.T

    k, X = FromBlocks(counted, objects="vectors"), np.linspace(-1, 1, 4000)[:, None]
    SimilarityVote(k).fit(X[:40], np.arange(40) % 2)
    assert not calls
    SimilarityVote(k).fit(X, np.arange(4000) % 2)
    assert sum(calls) == 50 * 50


def test_a_tiny_memory_budget_does_not_forbid_a_vote():
    X, y = training(n=400, classes=2)
    for kind in (SimilarityVote, AlignmentVote):
        found = kind(lopsided, engine=TINY).fit(0.1 * X, y).guarantee_
        assert found.grade == "CONDITIONAL" and "the largest magnitude that was seen is 0." in str(found)


def test_a_pair_that_fails_while_values_are_looked_at():
    def partial(x, z):
        if x > 100 and z < 100:
            raise RuntimeError("no such pair")
        return 1.0

    model = SimilarityVote(partial)
    with pytest.raises(PairError, match="no such pair"):
        model.fit(list(range(400)), np.arange(400) % 2)
    assert not hasattr(model, "classes_")


def test_weights_in_guarantees():
    X, y = np.linspace(-1, 1, 200)[:, None], np.arange(200) % 2
    known = SimilarityVote(Linear(), weights=np.full(200, 0.5)).fit(X, y).guarantee_
    assert known.grade == "CONDITIONAL" and "Footnote 3" in known.theorem and "beforehand" in str(known)
    twice = SimilarityVote(Linear()).fit(X, y, sample_weight=np.full(200, 2.0)).guarantee_
    assert twice.grade == "CONDITIONAL" and twice.numbers["examples_per_class"] == 100
    uneven = SimilarityVote(Linear()).fit(X, y, sample_weight=1 + np.arange(200) % 3).guarantee_
    assert uneven.grade == "NONE" and "the examples have different weights" in uneven.statement


def test_the_bound_of_the_weak_rule_counts_what_offsets_cost():
    problem = datasets.unbalanced(0.9, among_positives=0.0, between=0.2, among_negatives=1.0)
    numbers = fitted_on(problem, 600).guarantee_.numbers
    assert numbers["error"] == pytest.approx(0.5 - numbers["gamma"] / 8 / 1.25)
    numbers = fitted_on(problem, 600, balanced=False).guarantee_.numbers
    assert numbers["error"] == pytest.approx(0.5 - numbers["gamma"] / 8)


def test_the_alignment_promise_holds():
    """The error is at most 1 - A + slack, A known exactly, for many draws."""
    problem = datasets.FewObjects(
        np.array([0.3, 0.3, 0.4]),
        np.array([1, -1, 1]),
        np.array([[1.0, -0.5, 0.8], [-0.9, 0.9, -0.2], [0.7, -0.6, 1.0]]),
    )
    A = (problem.masses * problem.labels) @ problem.similarities @ (problem.masses * problem.labels)
    broken = 0
    for seed in range(100):
        drawn = problem.draw(200, random_state=seed)
        model = AlignmentVote(FromBlocks(problem.kernel)).fit(drawn, problem.labels[drawn])
        scores = problem.labels * model.decision_function([0, 1, 2])
        broken += problem.masses @ scores < A - model.guarantee_.numbers["slack"]
        assert problem.masses @ (scores <= 0) <= 1 - A + model.guarantee_.numbers["slack"]
    assert broken <= 10


# Objects of any kind.


def wiener(g, h):
    return 1 / (1 + abs(nx.wiener_index(g) - nx.wiener_index(h)))


OBJECTS = {
    "blocks of tables": (
        FromBlocks(lambda X, Z: np.sign(X.to_numpy()[:, :1] - Z.to_numpy()[:, 1])),
        pd.DataFrame(VECTORS, columns=["a", "b", "c"]),
    ),
    "raw graphs": (wiener, GRAPHS),
    "two similarities": (Gaussian(1.0) - 0.5 * Linear(), VECTORS),
}


@pytest.mark.parametrize("kind", OBJECTS)
@pytest.mark.parametrize("vote", [SimilarityVote, AlignmentVote])
def test_votes_take(vote, kind):
    similarity, X = OBJECTS[kind]
    check_learner(vote(similarity), X, TWO)
    check_learner(vote(similarity), X, THREE)


def test_every_form_of_a_similarity_gives_the_same():
    k = Gaussian(1.3)
    K, cross = k.gram(VECTORS), k.cross(VECTORS[::2], VECTORS)
    for kind in (SimilarityVote, AlignmentVote):
        expected = kind(k).fit(VECTORS, THREE).decision_function(VECTORS[::2])
        np.testing.assert_allclose(kind("precomputed").fit(K, THREE).decision_function(cross), expected)
        by_index = kind(Precomputed(K)).fit(np.arange(14), THREE).decision_function(np.arange(14)[::2])
        np.testing.assert_allclose(by_index, expected)
        in_pairs = kind(lambda x, z: k(x, z)).fit(VECTORS, THREE).decision_function(VECTORS[::2])
        np.testing.assert_allclose(in_pairs, expected)


def test_cross_validation_of_a_matrix_and_of_objects():
    X, y = datasets.iris()
    k = Gaussian(1.0)
    direct = cross_val_score(SimilarityVote(k), X, y)
    np.testing.assert_allclose(cross_val_score(SimilarityVote("precomputed"), k.gram(X), y), direct)
    assert direct.mean() > 0.9


def test_the_query_comes_first():
    K = np.array([[0.0, 1.0], [0.0, 0.0]])  # K(0, 1) = 1
    vote = SimilarityVote(Precomputed(K)).fit([0, 1], ["zero", "one"])
    assert vote.mean_similarities([0]).tolist() == [[1.0, 0.0]]  # "one" and "zero"
    assert vote.mean_similarities([1]).tolist() == [[0.0, 0.0]]
    weak = WeakSimilarityVote(Precomputed(K), balanced=False).fit([0, 1], ["zero", "one"])
    assert weak.class_similarities_[1, 0] == 1 and weak.class_similarities_[0, 1] == 0


@pytest.mark.parametrize("engine", [LocalEngine(threads=1), TINY])
def test_means_of_pairs_use_symmetry_where_it_is_claimed(engine):
    X, _ = training(n=70)
    members = np.eye(3)[np.arange(70) % 3]
    f = lambda x, z: float(np.cos(x @ z))  # noqa: E731
    claimed = class_pair_means(FromPairs(f, claims=["SYMMETRIC"]), list(X), members, engine)
    plain = class_pair_means(FromPairs(f), list(X), members, engine)
    np.testing.assert_allclose(claimed[0], plain[0])
    assert claimed[1] == plain[1]
    once = class_pair_means(Gaussian(1.0), X, members, engine)
    by_blocks = class_pair_means(FromBlocks(lambda A, B: Gaussian(1.0).cross(A, B)), X, members, engine)
    np.testing.assert_allclose(once[0], by_blocks[0])


# What is refused.


def test_a_class_with_one_example():
    f, _ = counted()
    model = WeakSimilarityVote(f, balanced=False).fit(list("bcde"), ["a", "a", "b", "a"])
    assert np.isnan(model.gap_) and model.predict_proba(["b"]).tolist() == [[0.5, 0.5]]
    assert SimilarityVote(f).fit(list("bcde"), ["a", "a", "b", "a"]).predict(["b"]) == ["b"]


@pytest.mark.parametrize("model", ALL, ids=str)
def test_a_constant_similarity_prefers_nobody(model):
    model = clone(model).set_params(similarity=lambda x, z: 0.3).fit(list("bcdef"), ["a", "a", "b", "b", "b"])
    if isinstance(model, WeakSimilarityVote):
        assert model.predict_proba(["x"]) == pytest.approx(0.5)
        assert model.gap_ == pytest.approx(0)
    elif isinstance(model, SimilarityVote):
        assert model.decision_function(["x"]) == pytest.approx(0)
    else:
        assert model.decision_function(["x"]) == pytest.approx(0.3 / 5)


def broken(x, z):
    return np.nan if (x, z) == ("c", "d") else 0.5


def test_a_pair_that_fails_leaves_nothing_half_fitted():
    model = WeakSimilarityVote(broken)
    with pytest.raises(PairError, match="'c', 'd'"):
        model.fit(list("bcde"), [0, 0, 1, 1])
    assert not hasattr(model, "classes_")
    vote = SimilarityVote(broken).fit(list("bcde"), [0, 0, 1, 1])
    with pytest.raises(PairError, match="'c', 'd'"):
        vote.predict(["b", "c"])
    assert vote.predict(["b"]) == [1]


def test_a_failed_fit_leaves_the_earlier_one():
    model = SimilarityVote("linear").fit(VECTORS, TWO)
    before = model.decision_function(VECTORS)
    with pytest.raises(ValueError, match="one class"):
        model.fit(VECTORS, ["a"] * 14)
    np.testing.assert_allclose(model.decision_function(VECTORS), before)
