"""The data sets that ship with the package."""

from collections import Counter
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from similitude import datasets


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
