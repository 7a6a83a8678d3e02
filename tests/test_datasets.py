"""The data sets that ship with the package."""

from collections import Counter
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from scipy.optimize import linprog

from similitude import FromBlocks, datasets, margin


def shares(a: datasets.Paper, b: datasets.Paper) -> float:
    return float(bool(a.authors & b.authors or a.keywords & b.keywords))


def test_iris_is_150_flowers_of_three_species():
    X, y = datasets.iris()
    assert X.shape == (150, 4) and X.dtype == np.float64
    assert y.shape == (150,) and y.dtype.kind == "U"
    assert Counter(y.tolist()) == {"setosa": 50, "versicolor": 50, "virginica": 50}
    assert (X > 0).all() and (X < 10).all()


def test_iris_has_the_values_that_fisher_printed():
    X, _ = datasets.iris()
    np.testing.assert_allclose(X.mean(axis=0), [5.843333, 3.057333, 3.758, 1.199333], atol=1e-6)
    assert X[34].tolist() == [4.9, 3.1, 1.5, 0.2]
    assert X[37].tolist() == [4.9, 3.6, 1.4, 0.1]


def test_promoters_are_106_strings_of_57_letters():
    X, y = datasets.promoters()
    assert len(X) == len(set(X)) == 106
    assert {len(x) for x in X} == {57}
    assert set("".join(X)) == set("acgt")
    assert y.shape == (106,) and y.dtype.kind == "U"
    assert Counter(y.tolist()) == {"+": 53, "-": 53}


def test_papers_are_complete():
    papers = datasets.papers()
    assert len(papers) == 34
    assert len({paper.title for paper in papers}) == len(papers)
    assert [paper.year for paper in papers] == sorted(paper.year for paper in papers)
    for paper in papers:
        assert paper.title and paper.authors and 2 <= len(paper.keywords) <= 4, paper
        assert all(part and part == part.strip() for part in (paper.title, *paper.authors, *paper.keywords))
        assert all(keyword == keyword.lower() for keyword in paper.keywords)
        assert 1900 < paper.year < 2030


def test_papers_are_values():
    first, again = datasets.papers(), datasets.papers()
    assert first == again and len(set(first + again)) == len(first)
    with pytest.raises(FrozenInstanceError):
        first[0].year = 2000


def test_a_paper_prints_as_a_citation():
    paper = datasets.Paper("A Title", frozenset({"Blum", "Balcan"}), frozenset({"similarity"}), 2006)
    assert str(paper) == "Balcan, Blum (2006): A Title"


def test_sharing_an_author_or_a_keyword_is_not_transitive():
    by_title = {paper.title: paper for paper in datasets.papers()}
    a = by_title["Weisfeiler-Lehman Graph Kernels"]
    b = by_title["A Kernel Two-Sample Test"]
    c = by_title["Theory of Reproducing Kernels"]
    assert shares(a, b) == shares(b, c) == 1.0
    assert shares(a, c) == 0.0


def test_sharing_an_author_or_a_keyword_is_no_kernel():
    papers = datasets.papers()
    gram = np.array([[shares(a, b) for b in papers] for a in papers])
    assert (gram == gram.T).all() and (np.diag(gram) == 1.0).all()
    assert np.linalg.eigvalsh(gram)[0] < -0.4


# The toy problems of Balcan and Blum.


def by_definition(problem, x, weights):
    """The gap of one object, as a loop over what it is compared with."""
    total = {label: sum(problem.masses[problem.labels == label]) for label in (1, -1)}
    mean = {1: 0.0, -1: 0.0}
    for other, label in enumerate(problem.labels):
        mean[label] += problem.masses[other] / total[label] * weights[other] * problem.similarities[x, other]
    return mean[problem.labels[x]] - mean[-problem.labels[x]]


def test_figure_3_1_has_the_gaps_of_the_paper():
    problem = datasets.figure_3_1()
    np.testing.assert_allclose(problem.gaps(), [1.25, -0.25, 1.25])
    for a in (0.0, 0.3, 1.0):  # one of many best weights for each a
        np.testing.assert_allclose(problem.gaps([a, 1, (1 - a) / 2]), 0.25)
    assert margin("linear", problem.points, problem.labels).value == pytest.approx(0.5)
    np.testing.assert_allclose(problem.similarities, problem.points @ problem.points.T)
    np.testing.assert_allclose(problem.masses, [0.25, 0.25, 0.5])


def test_no_weights_give_figure_3_1_a_larger_gap():
    problem = datasets.figure_3_1()
    unit = np.array([problem.gaps(one) for one in np.eye(3)]).T  # gaps are linear in the weights
    found = linprog(
        [0, 0, 0, -1], A_ub=np.c_[-unit, np.ones(3)], b_ub=np.zeros(3), bounds=[(0, 1)] * 3 + [(None, None)]
    )
    assert -found.fun == pytest.approx(0.25)


@pytest.mark.parametrize(("positive", "left"), [(0.5, 0.5), (0.9, 0.2), (0.98, 0.5)])
def test_masses_of_figure_3_1(positive, left):
    problem = datasets.figure_3_1(positive, left)
    assert problem.masses[problem.labels == 1].sum() == pytest.approx(positive)
    assert problem.masses[0] == pytest.approx(positive * left)
    weights = np.array([0.3, 0.7, 0.1])
    np.testing.assert_allclose(problem.gaps(weights), [by_definition(problem, x, weights) for x in range(3)])


def test_two_points_are_those_of_footnote_7():
    problem = datasets.two_points()
    assert problem.mean_similarity(1, 1) == problem.mean_similarity(-1, -1) == pytest.approx(0.25)
    assert problem.mean_similarity(1, -1) == problem.mean_similarity(-1, 1) == pytest.approx(-0.25)
    assert problem.weak_gap == problem.balanced_gap == pytest.approx(0.5)
    at = {point: problem.masses[problem.points[:, 0] == point] for point in (1, -1)}
    assert sum(max(masses) for masses in at.values()) == pytest.approx(0.75)  # the best anyone can do
    np.testing.assert_allclose(problem.similarities, np.outer(problem.points, problem.points))


@pytest.mark.parametrize(("positive", "alike", "gap", "error"), [(0.9, 0.063, 0.05, 0.5108), (0.8, 0.12, 0.054, 0.526)])
def test_the_unbalanced_problem_has_a_gap_and_the_rule_errs_on_more_than_half(positive, alike, gap, error):
    problem = datasets.unbalanced(positive, alike)
    assert problem.weak_gap == pytest.approx(gap, abs=1e-3)
    right = 0.5 + problem.gaps() / 4  # + with probability (1 + g)/2, g half the difference of the means
    assert 1 - problem.masses @ right == pytest.approx(error, abs=1e-4)
    assert problem.balanced_gap == pytest.approx((alike - 1) / 2)


def test_expectations_are_means_of_many_draws():
    rng = np.random.default_rng(0)
    problem = datasets.FewObjects(np.array([0.2, 0.5, 0.3]), np.array([1, -1, 1]), rng.uniform(-1, 1, (3, 3)))
    a, b = problem.draw(40000, rng), problem.draw(40000, rng)
    values, same = problem.similarities[a, b], problem.labels[a] == problem.labels[b]
    assert problem.weak_gap == pytest.approx(values[same].mean() - values[~same].mean(), abs=0.03)
    for own, other in [(1, 1), (1, -1), (-1, 1), (-1, -1)]:
        among = (problem.labels[a] == own) & (problem.labels[b] == other)
        assert problem.mean_similarity(own, other) == pytest.approx(values[among].mean(), abs=0.03)
    np.testing.assert_allclose(np.bincount(a) / len(a), problem.masses, atol=0.01)
    positives = problem.draw(4000, rng, label=1)
    assert set(positives.tolist()) == {0, 2} and np.mean(positives == 0) == pytest.approx(0.4, abs=0.03)


def test_few_objects_can_be_used_as_a_similarity():
    problem = datasets.unbalanced()
    drawn = problem.draw(10, random_state=1)
    K = FromBlocks(problem.kernel).gram(drawn)
    np.testing.assert_array_equal(K, problem.similarities[drawn][:, drawn])
    assert (problem.draw(10, random_state=1) == drawn).all() and (problem.draw(10, random_state=2) != drawn).any()
    with pytest.raises(FrozenInstanceError):
        problem.masses = None


@pytest.mark.parametrize("n", [2, 7, 50])
def test_two_groups_by_definition(n):
    K, y = datasets.two_groups(n, random_state=3)
    assert (K == K.T).all() and (np.diag(K) == 1).all() and (np.abs(K) <= 1).all()
    same = np.equal.outer(y, y) & ~np.eye(n, dtype=bool)
    assert (K[same] == 0.2).all()
    assert np.sum(y == 1) - np.sum(y == -1) in (0, 1)
    again, labels = datasets.two_groups(n, random_state=3)
    assert (again == K).all() and (labels == y).all()
    wide, y = datasets.two_groups(n, least=0.2, most=0.9, random_state=3)
    within = wide[np.equal.outer(y, y) & ~np.eye(n, dtype=bool)]
    assert ((within >= 0.2) & (within <= 0.9)).all()


def test_two_groups_is_good_and_no_kernel():
    for seed in range(20):
        n = 200
        K, y = datasets.two_groups(n, random_state=seed)
        own = [np.mean([K[i, j] for j in range(n) if j != i and y[j] == y[i]]) for i in range(n)]
        gaps = own - np.array([K[i, y != y[i]].mean() for i in range(n)])
        deviation = np.sqrt(2 / (3 * n))
        assert (gaps >= 0.2 - 5 * deviation).all() and np.mean(gaps >= 0.2 - 3 * deviation) > 0.98
        assert gaps.mean() == pytest.approx(0.2, abs=0.02)
        assert np.linalg.eigvalsh(K)[0] < -9


def test_the_share_of_indefinite_matrices_of_six():
    indefinite = [np.linalg.eigvalsh(datasets.two_groups(6, random_state=seed)[0])[0] < -1e-9 for seed in range(400)]
    assert np.mean(indefinite) == pytest.approx(0.96, abs=0.03)


def test_problems_refuse_what_is_no_mass():
    with pytest.raises(ValueError, match="positive must be a number in"):
        datasets.figure_3_1(positive=1.0)
    with pytest.raises(ValueError, match="right must be a number in"):
        datasets.two_points(right=-0.1)
    with pytest.raises(ValueError, match="least and most"):
        datasets.two_groups(4, least=0.3)
    with pytest.raises(ValueError, match="label 0"):
        datasets.two_points().draw(3, label=0)
