"""What guarantees promise, against optima and expectations that are computed independently."""

import math

import numpy as np
import pytest
from scipy.optimize import nnls

from similitude import FromBlocks, SimilarityClassifier
from similitude.datasets import FewObjects
from similitude.kernels import Gaussian, Linear
from similitude.landmarks.guarantees import (
    class_gap,
    class_margin,
    fixed_beforehand,
    is_kernel,
    margin_bound,
    separable,
    share_without_gap,
    smallest_margin,
    within_range,
)
from similitude.results import CONDITIONAL, NONE, PROVEN, Guarantee, Premise
from similitude.support import INDEPENDENT_ROWS

HOLDS, ASSUMED = Premise("one", "proven"), Premise("two", "assumed", "as the sample says")


def largest_margin(Z):
    """The largest cosine between some w and every row: the smallest |a Z| over convex combinations (Lawson, Hanson)."""
    Z = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    a, _ = nnls(np.vstack([Z.T, np.ones(len(Z))]), np.r_[np.zeros(Z.shape[1]), 1.0])
    return float(np.linalg.norm(a @ Z) / a.sum())


# Grades.


def test_the_grade_is_what_the_premises_allow():
    assert Guarantee.under([HOLDS, INDEPENDENT_ROWS], "all is well", "a theorem").grade == PROVEN
    assert Guarantee.under([HOLDS, ASSUMED], "all is well", "a theorem").grade == CONDITIONAL
    refuted = Guarantee.under([HOLDS, Premise("three", "contradicted", "by row 7")], "all is well", "a theorem")
    assert refuted.grade == NONE and "three is contradicted: by row 7" in refuted.statement


def test_premises_are_listed_with_what_the_sample_says():
    assert "assumed: two (as the sample says)" in str(Guarantee.under([ASSUMED], "all is well", "a theorem"))


# Margins of Theorem 2 for unequal and for many classes.


def test_one_rare_class():
    """100 negatives and 4,000 positives in two halves that cancel: gap 1, and no margin above 0.157."""
    F = np.full((3, 4100), -1.0)
    F[0, 100:2100], F[1, 2100:], F[2, :100] = 1.0, 1.0, 1.0
    best = largest_margin(F * np.array([1, 1, -1])[:, None])
    assert best == pytest.approx(math.sqrt(100 / 4100), abs=1e-6)
    sizes = np.array([100, 4000])
    gamma = class_gap(sizes, 1)
    assert gamma <= 1 and class_margin(gamma, sizes, [1.0]) <= best < gamma / 4


@pytest.mark.usefixtures("without_evaluation")
def test_the_same_of_a_fitted_classifier():
    K = np.array([[1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]])
    problem = FewObjects(np.array([0.47, 0.47, 0.06]), np.array([1, 1, -1]), K)
    drawn = np.r_[problem.draw(1400, 0, label=1), problem.draw(100, 0, label=-1)]
    model = SimilarityClassifier(FromBlocks(problem.kernel), n_landmarks=1500, landmarks="stratified")
    found = model.fit(drawn, problem.labels[drawn]).guarantee_
    assert found.grade == CONDITIONAL and found.numbers["gamma"] < 1  # the gaps are 1 and 2
    F = problem.similarities[:, drawn]
    assert found.numbers["margin"] <= largest_margin(F * problem.labels[:, None])


def test_ten_classes():
    """The landmarks of all classes lengthen the features, those of two separate them: gap 1, no margin above 0.24."""
    sizes = np.full(10, 180)
    F = -np.ones((10, 1800))
    for c in range(10):
        F[c, 180 * c : 180 * (c + 1)] = 0.0
    best = largest_margin(F[:2] * np.array([1, -1])[:, None])
    gamma = class_gap(sizes, 1)
    assert gamma == pytest.approx(0.79, abs=0.1)
    assert class_margin(gamma, sizes, [1.0]) <= best < 0.24


@pytest.mark.parametrize("seed", range(20))
def test_the_margin_is_reached_by_the_separator_of_the_proof(seed):
    """Scores whose differences are gamma/2 have the margin, whatever the sizes, the similarities and their units."""
    rng = np.random.default_rng(seed)
    sizes, scales = rng.integers(1, 30, rng.integers(2, 5)), rng.uniform(0.1, 5, rng.integers(1, 4))
    alpha, of = rng.dirichlet(np.ones(len(scales))), np.repeat(np.arange(len(sizes)), sizes)
    K = rng.choice([-1.0, 1.0], (200, len(scales), len(of)))
    F = (K / scales[:, None]).reshape(200, -1)
    u = [((alpha * scales)[:, None] * (of == c) / sizes[c]).ravel() for c in range(len(sizes))]
    for a in range(len(sizes)):
        for b in set(range(len(sizes))) - {a}:
            w = u[a] - u[b]
            gamma = 2 * F @ w
            cosines = F @ w / (np.linalg.norm(w) * np.linalg.norm(F, axis=1))
            promised = np.array([class_margin(one, sizes, scales) for one in gamma])
            assert (cosines[gamma > 0] >= promised[gamma > 0] - 1e-12).all()


def test_two_equal_classes_have_a_quarter_of_the_gap():
    sizes = np.array([600, 600])
    assert class_margin(0.5, sizes, [1.0]) == pytest.approx(0.125)
    assert class_margin(0.5, sizes, [1.0] * 4) == pytest.approx(0.125 / 2)
    assert class_margin(0.5, np.array([600, 601]), [1.0]) < 0.125


# Premises.


@pytest.mark.parametrize("seed", range(10))
def test_no_margin_exceeds_its_upper_bound(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((30, 3)), np.where(rng.random(30) < 0.5, -1.0, 1.0)
    X[:, 0] = np.abs(X[:, 0]) * y * (seed % 2)  # separable, or as a rule not
    X[:, 0] += 0.1 * (1 - seed % 2)
    best, bound = largest_margin(X * y[:, None]), margin_bound(X @ X.T, y)
    assert best - 1e-9 <= bound <= best + 0.1


def test_the_landmarks_may_contradict_a_margin():
    M, labels = np.ones((4, 4)), np.array([0, 1, 0, 1])
    assert separable(0.1, 2, M, labels).state == "contradicted"
    assert separable(0.1, 2, np.eye(4), labels).state == "assumed"
    assert separable(0.6, 2, np.eye(4), labels).state == "contradicted"  # four orthogonal objects: margin 1/2
    assert "for each class" in separable(0.1, 3, np.eye(4), labels).text  # though no landmark is of the third


def test_what_values_say_about_range_and_kernel():
    assert within_range([Gaussian(1.0)], None).state == "proven"
    assert within_range([Linear()], None).state == within_range([Linear()], 0.7).state == "assumed"
    assert within_range([Linear()], 1.1).state == "contradicted"
    k = FromBlocks(lambda A, B: A @ B.T, objects="vectors")
    assert is_kernel(Linear(), None).state == "proven"
    assert is_kernel(k, np.array([[0.0, 1.0], [1.0, 0.0]])).state == "contradicted"
    assert is_kernel(k, np.eye(2)).state == "assumed"
    assert fixed_beforehand([k]).state == "proven"


def test_the_smallest_margin_is_that_of_the_size_in_the_theorem():
    for n, delta in ((400, 0.05), (1000, 0.01)):
        assert smallest_margin(n, 0.1, delta) == pytest.approx((n * 0.1 / 8 - math.log(1 / delta)) ** -0.5)
    assert smallest_margin(8, 1.0, 1.0) == 1.0 and smallest_margin(7, 1.0, 1.0) is None


def test_the_gap_of_many_classes_is_that_of_the_two_smallest():
    sizes = np.array([900, 400, 500, 100])
    expected = math.sqrt(8 * (1 / 100 + 1 / 400) * math.log(3 * 3 / 0.1**2))
    assert class_gap(sizes, 3, 0.1) == pytest.approx(expected)
    assert class_gap(np.array([5, 0]), 1) == math.inf


def test_each_class_is_separated_from_the_others():
    M, labels = np.eye(4), np.array([0, 1, 2, 2])
    M[2, 0] = M[0, 2] = 1.0  # an object of the first class is one of the third
    M[3] = M[:, 3] = [0.0, 0.0, 0.0, 1.0]
    assert separable(0.1, 3, M, labels).state == "contradicted"
    assert separable(0.1, 2, M, np.array([0, 1, 0, 1])).state == "assumed"
    assert margin_bound(np.diag([1.0, 0.0]), np.array([1.0, -1.0])) == 0.0


def test_the_share_without_a_gap_is_counted_row_by_row():
    K = np.array([[1.0, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 1.0]])
    labels = np.array([0, 0, 1])  # the last has nothing of its class to be compared with but itself
    assert share_without_gap(K, labels, None, 0.25) == 0.5
    assert share_without_gap(K, labels, None, 0.26) == 1.0
    assert share_without_gap(K, np.zeros(3, dtype=int), None, 0.1) is None
