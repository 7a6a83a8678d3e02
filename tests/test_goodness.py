"""Goodness: the sources' figures, naive formulas, optimal weights, intervals that cover, who is used, bad input."""

import itertools
import json
import math
import re
from functools import cache

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import binom, t

from similitude import FromPairs, Precomputed, bounds, margin
from similitude.datasets import iris, promoters
from similitude.errors import PairError
from similitude.goodness import alignment, assess, sampling
from similitude.goodness.alignments import permutation_test
from similitude.goodness.assessment import EPSILONS
from similitude.goodness.class_means import balanced_gamma, plain_gamma, weak_goodness
from similitude.goodness.gaps import class_similarities, gaps, largest_gap
from similitude.goodness.label_errors import suspicious_labels
from similitude.goodness.resampling import bounded_mean
from similitude.goodness.sampling import Labels, plan
from similitude.goodness.weighted import NUS, Programs, WeightedSample, hinge
from similitude.kernels import Gaussian, Linear
from similitude.theory.intervals import proportion


def circle(*degrees):
    return np.array([[math.cos(math.radians(a)), math.sin(math.radians(a))] for a in degrees])


# Figure 3.1: positives at 150 and 30 degrees, half each, negatives at -30; both classes alike.
THREE = circle(150, 30, -30)
FIGURE = THREE @ THREE.T
CLASSES = np.array([1, 1, 0])
MASSES = np.array([0.25, 0.25, 0.5])


def blobs(n, seed=0, classes=2, apart=1.5, d=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return rng.standard_normal((n, d)) + apart * np.eye(max(d, classes))[y, :d], y


def random_problem(seed, n=12, classes=3):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (n, n)), rng.permutation(np.arange(n) % classes)


# Figures that are known.


def test_figure_3_1_gaps():
    values = gaps(class_similarities(FIGURE, CLASSES, MASSES), CLASSES)
    np.testing.assert_allclose(values, [1.25, -0.25, 1.25])
    np.testing.assert_allclose(largest_gap(values, np.array([0.0, 0.24, 0.26]), MASSES), [-0.25, -0.25, 1.25])


def test_figure_3_1_fails_on_half_of_the_positives():
    for positive, epsilon in ((0.5, 0.25), (0.98, 0.49)):
        masses = np.array([positive / 2, positive / 2, 1 - positive])
        values = gaps(class_similarities(FIGURE, CLASSES, masses), CLASSES)
        assert masses @ (values < 0) == pytest.approx(epsilon)


OFTEN = np.array([0, 1, 2, 2])  # as often as the masses say
FIGURE_OFTEN = WeightedSample(FIGURE[np.ix_(OFTEN, OFTEN)], CLASSES[OFTEN], CLASSES[OFTEN])


def test_figure_3_1_weights():
    figure = FIGURE_OFTEN
    assert figure.gaps(np.array([0.0, 1.0, 0.5])[OFTEN]).min() == pytest.approx(0.25)
    assert figure.gaps(Programs(figure).widest()).min() == pytest.approx(0.25)
    for a in (0.0, 0.3, 1.0):  # the optimum is not unique
        assert figure.gaps(np.array([a, 1.0, (1 - a) / 2])[OFTEN]).min() == pytest.approx(0.25)


@pytest.mark.parametrize(("gamma", "loss"), [(0.25, 0.0), (0.3, 0.0625), (0.5, 0.1875), (1.0, 0.28125)])
def test_figure_3_1_hinge(gamma, loss):
    weights = Programs(FIGURE_OFTEN).least_hinge(gamma)
    assert hinge(FIGURE_OFTEN.gaps(weights), gamma).mean() == pytest.approx(loss, abs=1e-7)


def test_footnote_7():
    x, labels, masses = np.array([1.0, -1, 1, -1]), np.array([1, 1, 0, 0]), np.array([3.0, 1, 1, 3]) / 8
    share = np.eye(2)[labels] * masses[:, None] / np.bincount(labels, masses)
    means = share.T @ np.outer(x, x) @ share
    np.testing.assert_allclose(means, [[0.25, -0.25], [-0.25, 0.25]])
    assert plain_gamma(means, np.array([0.5, 0.5])) == pytest.approx(0.5) == balanced_gamma(means)
    values = gaps(class_similarities(np.outer(x, x), labels, masses), labels)
    assert masses @ (values > 0) == pytest.approx(0.75)  # the best accuracy


@pytest.mark.parametrize(("p", "within", "gamma"), [(0.9, 0.063, 0.05), (0.8, 0.12, 0.054)])
def test_weakly_good_only_because_one_class_is_rare(p, within, gamma):
    means = np.array([[-1.0, 0.0], [0.0, within]])
    assert plain_gamma(means, np.array([1 - p, p])) == pytest.approx(gamma, abs=5e-4)
    assert balanced_gamma(means) < -0.4


def similarity_0_2(n, seed):
    """Objects of a class have similarity 0.2, others one between -1 and 1 by lot."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    U = np.triu(rng.uniform(-1, 1, (n, n)), 1)
    return np.where(y[:, None] == y, 0.2, U + U.T), y


def test_the_0_2_similarity():
    K, y = similarity_0_2(200, 0)
    found = assess("precomputed", K, y)
    noise = 3.5 / math.sqrt(3 * 100)
    assert (abs(found.strong.gaps - 0.2) < noise).all() and (found.strong.gaps < 0.2).any()
    assert ((found.strong.low <= 0.2) & (found.strong.high >= 0.2)).all()
    assert found.weak.balanced.value == pytest.approx(0.2, abs=0.02)
    assert found.margin.value is None and "not a kernel" in found.margin.reason
    assert found.margin.validity.verdict == "INVALID"
    assert found.p_value.value == 0.001


def test_exact_intervals_of_shares():
    for count, n, upper in ((0, 100, 0.0362), (3, 100, 0.0852), (0, 1000, 0.00368)):
        found = proportion(count, n, "HELD-OUT")
        assert found.high == pytest.approx(upper, abs=5e-5) and found.value == count / n
        assert found.grade == "HELD-OUT" and found.level == 0.95


# Naive formulas.


def naive_means(K, own, columns, masses, weights, itself):
    means = np.full((len(own), columns.max() + 1), np.nan)
    for i, c in itertools.product(range(len(own)), range(columns.max() + 1)):
        others = [j for j in range(len(columns)) if columns[j] == c and j != itself[i]]
        if others:
            mass = sum(masses[j] for j in others)
            means[i, c] = sum(masses[j] * weights[j] * K[i, j] for j in others) / mass
    return means


@given(st.integers(0, 10**6))
def test_means_and_gaps(seed):
    rng = np.random.default_rng(seed)
    K, columns = rng.uniform(-1, 1, (5, 8)), rng.permutation([0, 0, 0, 1, 1, 2, 2, 2])
    own, masses, weights = rng.integers(3, size=5), rng.random(8) + 0.1, rng.random(8)
    itself = np.array([-1, 3, 0, -1, 7])
    expected = naive_means(K, own, columns, masses, weights, itself)
    means = class_similarities(K, columns, masses, weights, itself)
    np.testing.assert_allclose(means, expected)
    others = [[expected[i, c] for c in range(3) if c != own[i]] for i in range(5)]
    np.testing.assert_allclose(gaps(means, own), [expected[i, own[i]] - max(others[i]) for i in range(5)])


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=12), st.floats(0, 0.99))
def test_the_largest_gap_is_reached_by_all_but_a_share(values, epsilon):
    values = np.array(values, float)
    found = largest_gap(values, np.array([epsilon]))[0]
    assert (values < found).mean() <= epsilon + 1e-9
    for larger in values[values > found]:
        assert (values < larger).mean() > epsilon


@given(st.integers(0, 10**6), st.integers(2, 3))
def test_fitted_weights_are_optimal(seed, classes):
    rng = np.random.default_rng(seed)
    K, own = random_problem(seed, 12, classes)
    part = WeightedSample(K, own, own, np.arange(12))
    programs = Programs(part)
    widest, others = programs.widest(), [rng.random(12), (rng.random(12) < 0.5).astype(float), np.ones(12)]
    losses = []
    for gamma in (0.05, 0.2, 0.8):
        weights = programs.least_hinge(gamma)
        losses.append(hinge(part.gaps(weights), gamma).mean())
        assert (weights >= 0).all() and (weights <= 1).all()
        for w in [*others, widest]:
            assert losses[-1] <= hinge(part.gaps(w), gamma).mean() + 1e-6
    assert (np.diff(losses) >= -1e-6).all()  # for w / gamma lies in a smaller box
    for w in others:
        assert part.gaps(widest).min() >= part.gaps(w).min() - 1e-6


@given(st.integers(0, 10**6), st.sampled_from([0.1, 0.3, 0.6]))
def test_tolerant_weights_have_the_best_mean_of_the_lowest_gaps(seed, nu):
    def lowest(values):  # the mean of the lowest share nu
        left, total = nu * len(values), 0.0
        for value in sorted(values):
            total += min(1.0, left) * value
            left -= min(1.0, left)
        return total / (nu * len(values))

    rng = np.random.default_rng(seed)
    K, own = random_problem(seed, 12, 2)
    part = WeightedSample(K, own, own, np.arange(12))
    found = part.gaps(Programs(part).tolerant(nu))
    for w in (rng.random(12), np.ones(12), np.zeros(12)):
        assert lowest(found) >= lowest(part.gaps(w)) - 1e-6


def naive_gamma(K, y, balanced):
    k, n = y.max() + 1, len(y)
    cells = {(a, b): [] for a in range(k) for b in range(k)}
    for i, j in itertools.permutations(range(n), 2):
        cells[y[i], y[j]].append(K[i, j])
    same, other = ([cells[c] for c in cells if (c[0] == c[1]) is flag] for flag in (True, False))
    if balanced:
        return np.mean([np.mean(cell) for cell in same]) - np.mean([np.mean(cell) for cell in other])
    return np.mean(np.concatenate(same)) - np.mean(np.concatenate(other))


@pytest.mark.parametrize("classes", [2, 3])
def test_class_means(classes):
    K, y = random_problem(3, 18, classes)
    y = np.minimum(y, np.arange(18) % 7)  # of unequal size
    y = np.unique(y, return_inverse=True)[1]
    found = weak_goodness(K, y, np.arange(classes))
    for a, b in itertools.product(range(classes), repeat=2):
        pairs = [K[i, j] for i, j in itertools.permutations(range(18), 2) if (y[i], y[j]) == (a, b)]
        assert found.means[a, b] == pytest.approx(np.mean(pairs))
        assert found.low[a, b] < found.means[a, b] < found.high[a, b]
    assert found.gamma.value == pytest.approx(naive_gamma(K, y, False))
    assert found.balanced.value == pytest.approx(naive_gamma(K, y, True))


def test_intervals_of_class_means_follow_the_jackknife():
    """Where single pairs add no noise, the radius is Student's, a little wider, with each example left out."""
    x, y = np.random.default_rng(0).random(40), (np.arange(40) % 3 == 0).astype(int)
    K = np.where(y[:, None] == y, x[:, None] ** 2 / 2 + x / 3, x[:, None] / 5)
    size = 1 / np.mean(1 / np.bincount(y))
    left_out = [(np.delete(np.delete(K, i, 0), i, 1), np.delete(y, i)) for i in range(40)]
    found = weak_goodness(K, y, np.arange(2))
    plain = np.array([naive_gamma(*one, False) for one in left_out])
    parts = np.array([naive_gamma(*one, True) for one in left_out])
    variances = {
        "gamma": 39 / 40 * ((plain - plain.mean()) ** 2).sum(),
        "balanced": sum((m - 1) * parts[y == c].var() for c, m in enumerate(np.bincount(y))),
    }
    for name, variance in variances.items():
        radius = (1 + 5 / size) * t.ppf(0.975, size - 1) * math.sqrt(variance)
        assert (getattr(found, name).high - getattr(found, name).low) / 2 == pytest.approx(radius, rel=0.01)


def test_a_class_of_two_may_be_anything():
    K, y = random_problem(0, 20, 2)
    K, y = K / 10, np.where(np.arange(20) < 2, 2, y)
    found = weak_goodness(K, y, np.arange(3))
    assert (found.low[2, 2], found.high[2, 2]) == (-1.0, 1.0)
    assert found.low[0, 0] > -0.9 and found.high[0, 0] < 0.9
    assert found.balanced.high - found.balanced.low > 2 / 3


# Intervals.


def test_bounded_means_are_covered():
    rng, hits = np.random.default_rng(1), 0
    for _ in range(200):
        values = np.where(rng.random(60) < 0.1, 5 * rng.random(60), 0.0)  # mean 1/4
        low, high = bounded_mean(values, 5.0, rng)
        hits += low <= 0.25 <= high
    assert hits >= 186


def test_p_values_against_all_permutations():
    rng = np.random.default_rng(0)
    K, y = rng.standard_normal((7, 7)), np.array([0, 0, 0, 1, 1, 1, 1])
    K += 0.7 * (y[:, None] == y)
    np.fill_diagonal(K, 0)
    labels = set(itertools.permutations(y.tolist()))
    aligned = [alignment(K, list(one)) for one in labels]
    exact = np.mean([value >= alignment(K, y) - 1e-12 for value in aligned])
    found = permutation_test(K, y, rng, 2000)
    assert found.low <= exact <= found.high
    assert found.value == pytest.approx(exact, abs=0.04) and found.permutations == 2000


@pytest.mark.parametrize("classes", [2, 3])
def test_p_values_of_unrelated_labels(classes):
    rng = np.random.default_rng(5)
    K = np.exp(-np.subtract.outer(rng.standard_normal(30), rng.standard_normal(30)))  # not symmetric
    values = []
    for _ in range(200):
        y = rng.permutation(np.arange(30) % (2 * classes) % classes)
        values.append(permutation_test(K, y, rng, 99).value)
    for level in (0.05, 0.2, 0.5):
        assert np.sum(np.array(values) <= level) <= binom.ppf(0.999, 200, level)
    assert min(values) < 0.1


# Who is looked at.


@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(20, 80), st.sampled_from([None, "number", "positions"]))
def test_nobody_serves_twice(seed, classes, n, how):
    rng = np.random.default_rng(seed)
    labels = Labels.of(np.r_[np.repeat(np.arange(classes), 2), rng.integers(classes, size=n)], n + 2 * classes)
    chosen = {None: None, "number": classes + 3, "positions": np.arange(2 * classes)[::-1]}[how]
    who = plan(labels, chosen, rng)
    served = [who.fit, who.choice, who.test] + ([] if how is None else [who.landmarks])
    assert sum(map(len, served)) == len(np.unique(np.concatenate(served)))
    assert min(map(len, served)) > 0
    if how is None:
        np.testing.assert_array_equal(who.fit, who.landmarks)
        assert np.bincount(who.landmark_codes, minlength=classes).min() >= 2
    elif how == "positions":
        np.testing.assert_array_equal(who.landmark_positions, chosen)
        assert who.itself is None
    assert np.unique(who.landmark_codes).tolist() == list(range(classes))


def test_many_examples_are_sampled_and_it_is_said(monkeypatch):
    assert (sampling.PAIRS_LIMIT, sampling.PROGRAM_LIMIT) == (2000, 500)
    monkeypatch.setattr(sampling, "PAIRS_LIMIT", 200)
    monkeypatch.setattr(sampling, "PROGRAM_LIMIT", 50)
    X, y = blobs(230)
    with pytest.warns(UserWarning, match="examples") as caught:
        found = assess(Gaussian(2.0), X, y, landmarks=[0, 1, 228, 229])
    said = [str(warning.message) for warning in caught]
    assert said == [
        "a sample of 200 of 230 examples was used",
        "weights and margins are fitted on 50 examples",
    ]
    assert all(warning.filename == __file__ for warning in caught)
    assert found.notes == tuple(said) and all(note in str(found) for note in said)
    assert len(found.used) == 200 == len(found.strong.gaps) and found.n == 230
    assert found.weighted.landmarks.tolist() == [0, 1, 228, 229] and found.weighted.n_fitted == 50
    K = Gaussian(2.0).gram(X)
    i = found.hardest[0]
    assert i == found.used[found.strong.gaps.argmin()]
    same = np.setdiff1d(found.used[y[found.used] == y[i]], [i])
    other = found.used[y[found.used] != y[i]]
    assert found.strong.gaps.min() == pytest.approx(K[i, same].mean() - K[i, other].mean())


def test_an_example_alone_in_its_class():
    X, y = blobs(30)
    y = np.where(np.arange(30) == 7, 9, y)
    with pytest.warns(UserWarning, match="alone in their classes: examples 7"):
        found = assess("gaussian", X, y, random_state=3)
    assert found.left_out.tolist() == [7] and found.classes_.tolist() == [0, 1] and 7 not in found.used
    kept = np.arange(30) != 7
    K = Gaussian().resolve(X).gram(X)  # sigma is that of all objects
    without = assess("precomputed", K[np.ix_(kept, kept)], y[kept], random_state=3)
    np.testing.assert_allclose(found.strong.gaps, without.strong.gaps)


def test_copies_are_noted():
    X, y = blobs(20)
    assert "20 examples are exact copies" in assess("gaussian", np.tile(X, (2, 1)), np.tile(y, 2)).notes[0]
    assert assess("gaussian", X, y).notes == ()


# The whole.


@pytest.fixture(scope="module")
def found():
    X, y = blobs(120, apart=2.0)
    return assess(Gaussian(2.0), X, np.where(y, "yes", "no"))


def test_weights_fit_and_hold(found):
    weighted = found.weighted
    assert weighted.x.tolist() == list(NUS) and weighted.grade == "HELD-OUT"
    assert (np.diff(weighted.fitted) >= -1e-12).all()
    assert ((weighted.low <= weighted.y) & (weighted.y <= weighted.high)).all()
    assert (weighted.weights >= 0).all() and weighted.weights.max() == 1.0
    assert weighted.n_fitted + weighted.n_choice + weighted.n_held_out == 120
    X, y = blobs(120, apart=2.0)
    K, L = Gaussian(2.0).gram(X), weighted.landmarks
    held_out = np.setdiff1d(np.arange(120), L)  # those for choosing among them
    means = class_similarities(K[np.ix_(held_out, L)], y[L], None, weighted.weights)
    wrong = int((gaps(means, y[held_out]) <= 0).sum())
    errors = round(weighted.error.value * weighted.n_held_out)
    assert errors <= wrong <= errors + weighted.n_choice
    assert weighted.error.low <= weighted.error.value <= weighted.error.high
    curve = weighted.error_at_gap
    assert curve.grade == "HELD-OUT" and (np.diff(curve.y) >= 0).all() and (np.diff(curve.x) > 0).all()


def test_weights_are_no_worse_than_none(found):
    """Weights 1 are among the candidates, so what is fitted is at least what Definition 2 gives."""
    X, y = blobs(120, apart=2.0)
    L = found.weighted.landmarks
    K = Gaussian(2.0).gram(X)[np.ix_(L, L)]
    plain = gaps(class_similarities(K, y[L], itself=np.arange(len(L))), y[L])
    assert (found.weighted.fitted >= largest_gap(plain, np.array(NUS)) - 1e-9).all()


def test_weights_find_what_definition_2_does_not():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    angles = np.where(y == 1, np.where(rng.random(400) < 0.5, 150, 30), -30) + 5 * rng.standard_normal(400)
    found = assess("linear", circle(*angles), y)
    assert found.strong.y[EPSILONS.index(0.2)] < 0 < found.weighted.y[NUS.index(0.1)]
    assert found.weighted.y[NUS.index(0.1)] == pytest.approx(0.25, abs=0.05)
    assert found.weighted.error.high < 0.05 and 0.15 < found.weighted.vote_error.value < 0.35
    assert found.margin.value == pytest.approx(0.3, abs=0.15)
    right = angles[found.hardest]
    assert (abs(right - 30) < 30).all()  # the positives at 30 degrees are the hard ones


def test_witnesses_have_the_largest_weights(found):
    weights = dict(zip(found.weighted.landmarks.tolist(), found.weighted.weights.tolist(), strict=True))
    shown = [weights[i] for i in found.witnesses.tolist()]
    assert shown == sorted(weights.values(), reverse=True)[: len(shown)] and min(shown) > 0


def test_hinge_curve(found):
    curve = found.hinge
    assert (np.diff(curve.fitted) >= -1e-9).all() and (np.diff(curve.x) > 0).all()
    assert ((curve.low <= curve.y) & (curve.y <= curve.high)).all() and curve.grade == "ESTIMATE"


def test_margin(found):
    X, y = blobs(120, apart=2.0)
    inside = found.weighted.landmarks
    expected = margin(Gaussian(2.0), X[inside], y[inside])
    assert found.margin.value == pytest.approx(expected.value)
    assert set(found.margin.support.tolist()) <= set(inside.tolist())
    assert found.margin.validity.verdict == "VALID" and found.margin.n == len(inside)
    assert found.margin.error_at_margin.n == found.weighted.n_held_out
    assert found.margin.error.value == pytest.approx(found.margin.error_at_margin.y[0])
    assert (np.diff(found.margin.error_at_margin.y) >= 0).all()


@pytest.mark.parametrize(
    ("similarity", "reason"),
    [
        (lambda x, z: float(abs(x - z) < 1), "not a kernel"),
        (lambda x, z: x - z, "not a kernel"),
        (lambda x, z: float(x > 0) * float(z > 0), r"K\(x, x\) = 0 for example"),
        (lambda x, z: 1.0 + x * z, "no hyperplane"),
    ],
)
def test_no_margin(similarity, reason):
    x = np.random.default_rng(0).standard_normal(40)
    found = assess(similarity, list(x), abs(x) > 0.7)
    assert found.margin.value is None
    assert re.search(reason, found.margin.reason) and found.margin.reason in str(found)


def test_sizes_of_the_theorems(found):
    by_name = {size.what: size for size in found.sizes}
    strong, at = found.strong, EPSILONS.index(0.1)
    votes = by_name["votes of each class"]
    assert (votes.gamma, votes.epsilon) == (strong.y[at], 0.1)
    assert votes.needed == bounds.votes(strong.y[at], 0.05) and votes.used == 60
    landmarks = by_name["landmarks of each class"]
    assert landmarks.needed == bounds.similarity_landmarks(landmarks.gamma, 0.05) and landmarks.used == 30
    assert by_name["weak votes of each class"].needed == bounds.weak_votes(found.weak.balanced.value, 0.05)
    assert by_name["landmarks of the kernel"].needed == bounds.landmarks(0.1, found.margin.value, 0.05)
    assert "guarantee" not in str(found)


def test_a_gap_above_1_counts_as_1():
    found = assess(lambda x, z: float(x * z), [1, -1] * 20, ["a", "b"] * 20)
    assert found.strong.y[1] == pytest.approx(2.0)
    assert found.sizes[0].gamma == 1.0 and found.sizes[0].needed == bounds.votes(1.0, 0.05)
    opposite = assess(lambda x, z: -float(x * z), [1, -1] * 20, ["a", "b"] * 20)
    assert opposite.sizes[0].needed is None and "no positive gap" in str(opposite)


def test_several_classes():
    X, y = iris()
    found = assess("gaussian", X, y)
    K = Gaussian().resolve(X).gram(X)
    own = np.unique(y, return_inverse=True)[1]
    expected = gaps(naive_means(K, own, own, np.ones(150), np.ones(150), np.arange(150)), own)
    np.testing.assert_allclose(found.strong.gaps, expected)
    assert found.weak.means.shape == (3, 3) and found.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert found.margin.value is None and "two classes" in found.margin.reason
    assert found.weighted.error.value < 0.15 and found.p_value.value == 0.001
    assert found.sizes[0].delta == 0.025
    renamed = assess("gaussian", X, np.array([2, 0, 1])[own])
    np.testing.assert_allclose(np.sort(renamed.strong.gaps), np.sort(expected))
    assert renamed.centered_alignment.value == pytest.approx(found.centered_alignment.value)


def test_the_scale_is_said_and_nothing_is_clipped():
    X, y = blobs(40)
    K = Linear().gram(X)
    found, larger = assess("precomputed", K / abs(K).max(), y), assess("precomputed", 7.5 * K, y)
    assert found.scale == 1.0 and larger.scale == pytest.approx(7.5 * abs(K).max())
    assert any(f"reach {larger.scale:.4g}" in note for note in larger.notes) and f"{larger.scale:.4g}" in str(larger)
    for name in ("strong", "weighted", "hinge"):
        np.testing.assert_allclose(getattr(larger, name).y, getattr(found, name).y, atol=1e-6)
    assert larger.weak.gamma.to_dict() == pytest.approx(found.weak.gamma.to_dict())
    assert larger.alignment.value == pytest.approx(found.alignment.value)
    small = assess("precomputed", K / abs(K).max() / 4, y)
    np.testing.assert_allclose(small.strong.y, found.strong.y / 4)


def test_seeds():
    X, y = blobs(40)
    one, again, other = (assess("gaussian", X, y, random_state=seed).to_dict() for seed in (1, 1, 2))
    assert one == again != other
    assert one["weak"] == other["weak"]
    assert assess("gaussian", X, y).to_dict() == assess("gaussian", X, y, random_state=0).to_dict()


def test_what_a_person_reads(found):
    text = str(found)
    for part in ("Definition 2", "Definition 3", "Definition 4", "Definition 5", "p = 0.001", "no, yes", "HELD-OUT"):
        assert part in text
    assert repr(found) == "Goodness(120 examples, 2 classes, p = 0.001)"
    assert "objects share labels" in found._repr_html_()
    stored = json.loads(json.dumps(found.to_dict()))
    assert stored["weak"]["gamma"]["grade"] == "ESTIMATE" and len(stored["strong"]["gaps"]) == 120
    for shown in (found.strong, found.weighted, found.hinge, found.weak, found.margin, found.p_value, *found.sizes):
        assert len(str(shown)) > 20
    with pytest.raises(AttributeError):
        found.scale = 2.0


def test_labels_that_were_swapped_look_wrong_and_others_do_not():
    X, y = iris()
    before = assess("gaussian", X, y)
    swapped = {3: "virginica", 20: "versicolor", 140: "setosa"}
    z = np.array([swapped.get(i, label) for i, label in enumerate(y)])
    after = assess("gaussian", X, z)
    assert set(after.suspects) - set(before.suspects) == set(swapped) and len(before.suspects) <= 2
    assert "labels look wrong: examples 3, 20" in after.verdict() and "rows 3, 20" in after.verdict("rows")
    assert str(after).startswith(after.verdict())


def test_labels_that_are_noise_do_not_look_wrong():
    rng = np.random.default_rng(0)
    for shares in ([0.5, 0.5], [0.8, 0.2]):
        y = rng.choice(2, 300, p=shares)
        found = suspicious_labels(np.exp(-np.abs(rng.normal(size=300) - rng.normal(size=(300, 1)))), y)
        assert len(found) <= 0.03 * 300


def test_large_objects_are_not_the_neighbors_of_all():
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(80, 5))) * np.where(np.arange(80) < 12, 30.0, 1.0)[:, None]  # twelve large ones
    y = np.where(np.arange(80) < 12, 1, rng.integers(0, 2, 80))
    assert len(suspicious_labels(X @ X.T, y)) == 0


# Objects of every kind.


def test_vectors_in_any_form():
    X, y = blobs(30)
    expected = assess("gaussian", X, y).strong.gaps
    frame = pd.DataFrame(X, columns=list("abc"), index=range(100, 130))
    labels = pd.Series(y, index=frame.index)
    for given_as in (sparse.csr_array(X), frame, pl.DataFrame(X), X.tolist(), X.astype(np.float32)):
        np.testing.assert_allclose(assess("gaussian", given_as, labels).strong.gaps, expected, atol=1e-5)


WORDS = [
    "kernel",
    "colonel",
    "kern",
    "kerne",
    "korn",
    "kennel",
    "margin",
    "margins",
    "virgin",
    "merge",
    "image",
    "main",
]


def test_objects_of_any_kind():
    y = ["k"] * 6 + ["m"] * 6
    shared = [[len(set(s) & set(t)) / 8 for t in WORDS] for s in WORDS]
    expected = assess("precomputed", np.array(shared), y)
    graphs = [nx.Graph([(letter, letter.upper()) for letter in word]) for word in WORDS]
    dicts = [{"letters": frozenset(word)} for word in WORDS]
    ragged = [np.array([ord(letter) for letter in word]) for word in WORDS]
    for objects, f in (
        (WORDS, lambda s, t: len(set(s) & set(t)) / 8),
        (graphs, lambda g, h: len(set(g) & set(h)) / 16),
        (dicts, lambda x, z: len(x["letters"] & z["letters"]) / 8),
        (ragged, lambda x, z: len(np.intersect1d(x, z)) / 8),
    ):
        found = assess(f, objects, y)
        np.testing.assert_allclose(found.strong.gaps, expected.strong.gaps)
        assert found.p_value.value == expected.p_value.value
        assert found.hardest.tolist() == expected.hardest.tolist()
    by_index = assess(Precomputed(np.array(shared)), np.arange(12), y)
    np.testing.assert_allclose(by_index.strong.gaps, expected.strong.gaps)
    some = assess(Precomputed(np.array(shared)), np.arange(1, 11), y[1:11])
    assert len(some.strong.gaps) == 10 and some.n == 10


@cache
def gaps_of_blobs():
    return assess("gaussian", *blobs(24)).strong.gaps


@pytest.mark.parametrize("labels", [[False, True], [0, 1], [-1.0, 1.0], ["a", "b"], [b"a", b"b"]], ids=str)
def test_labels_of_any_kind(labels):
    X, y = blobs(24)
    found = assess("gaussian", X, [labels[c] for c in y])
    np.testing.assert_allclose(found.strong.gaps, gaps_of_blobs())
    assert found.classes_.tolist() == labels


def test_strings_of_dna():
    X, y = promoters()
    found = assess(lambda s, t: sum(a == b for a, b in zip(s, t, strict=True)) / 57, X, y)
    assert found.p_value.value < 0.01 and found.centered_alignment.low > 0
    assert found.margin.validity.verdict != "INVALID" and found.margin.error.value < 0.5


def test_a_similarity_that_is_not_symmetric_is_asked_query_first():
    x = np.random.default_rng(0).standard_normal(30)
    y = (x > 0).astype(int)
    expected = gaps(naive_means(np.tanh(x[:, None] + x / 3), y, y, np.ones(30), np.ones(30), np.arange(30)), y)
    found = assess(lambda a, b: math.tanh(a + b / 3), list(x), y)
    np.testing.assert_allclose(found.strong.gaps, expected)


# Bad input.


def counted(value=lambda x, z: float(x == z)):
    calls = []

    def f(x, z):
        calls.append((x, z))
        return value(x, z)

    return f, calls


def test_every_pair_is_asked_for_once():
    f, calls = counted()
    with pytest.warns(UserWarning, match="constant"):
        assess(f, list("abcdefghijkl"), [0, 1] * 6)
    assert len(calls) == 144 == len(set(calls))
    f, calls = counted(lambda x, z: math.exp(-abs(ord(x) - ord(z))))
    assess(FromPairs(f, claims=["SYMMETRIC"]), list("abcdefghijkl"), [0, 1] * 6)
    assert len(calls) == 78


def test_a_pair_that_fails_is_named():
    with pytest.raises(PairError, match=r"pair \(3, 7\): .*ZeroDivisionError"):
        assess(lambda x, z: 1 / ((x, z) != (3, 7)), range(12), [0, 1] * 6)
    M = np.eye(12)
    M[4, 2] = np.nan
    with pytest.raises(PairError, match=r"pair \(4, 2\): .*nan"):
        assess("precomputed", M, [0, 1] * 6)
    with pytest.raises(PairError, match=r"pair \(5, 3\): .*nan"), pytest.warns(UserWarning, match="examples 0"):
        assess(lambda x, z: math.nan if (x, z) == (5, 3) else 1.0, range(13), [9] + [0, 1] * 6)


def test_a_constant_similarity():
    with pytest.warns(UserWarning, match="similarity of different examples is constant"):
        found = assess(lambda x, z: 0.5, range(30), [0, 1, 1] * 10)
    assert found.p_value.value == 1.0 and (found.strong.gaps == 0).all()
    assert found.centered_alignment.value == 0.0 and found.weak.balanced.value == 0.0
    assert found.weighted.vote_error.value == 1.0 and found.margin.value is None
    assert found.weighted.error.value < 0.5  # weights for one class alone: the larger class always
    with pytest.warns(UserWarning, match="constant"):
        assess(lambda x, z: 0.0, range(30), [0, 1, 1] * 10)


@pytest.mark.parametrize("n", [4, 5, 6, 7, 8, 12])
def test_few_examples(n):
    X, y = blobs(n)
    found = assess("gaussian", X, y)
    assert (found.weighted is None) == (n < 8) == (found.hinge is None)
    if n < 8:
        assert any("too few examples" in note for note in found.notes) and found.witnesses.tolist() == []
    assert len(str(found)) > 100 and json.dumps(found.to_dict())


@pytest.mark.parametrize("unit", [1e300, 1e-30])
def test_extreme_similarities(unit):
    x = np.random.default_rng(0).standard_normal(40)
    found = assess(lambda a, b: unit * a * b, list(x), x > 0)
    assert found.p_value.value == 0.001 and found.weighted.error.value == 0.0
    assert found.margin.value == pytest.approx(1.0)


@pytest.mark.parametrize("value", [0.17518608, 0.3, 1 / 3])
def test_a_constant_similarity_is_no_sign_of_labels_whatever_its_rounding(value):
    M = np.full((60, 60), value)
    np.fill_diagonal(M, 1)
    with pytest.warns(UserWarning, match="says nothing about labels"):
        found = assess("precomputed", M, ["a", "b"] * 30, random_state=0)
    assert found.p_value.value == 1
