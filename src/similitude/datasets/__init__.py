"""Three small data sets that ship with the package (vectors, strings, records of sets), and the sources' toy problems.

The data sets are meant for examples and tests; ``README.md`` beside this file names their sources and licences.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from similitude.datasets.similarities import FewObjects, figure_3_1, two_groups, two_points, unbalanced
from similitude.datasets.toys import Atoms, LowerBound, atoms, lower_bound

__all__ = [
    "Atoms",
    "FewObjects",
    "LowerBound",
    "Paper",
    "atoms",
    "figure_3_1",
    "iris",
    "lower_bound",
    "papers",
    "promoters",
    "two_groups",
    "two_points",
    "unbalanced",
]


@dataclass(frozen=True)
class Paper:
    """One scientific paper, described by what it has in common with others.

    Parameters
    ----------
    title : str
        The title, in full.
    authors : frozenset of str
        The family names of all authors.
    keywords : frozenset of str
        Two to four topics, in lower case.
    year : int
        The year under which the paper is usually cited.

    Examples
    --------
    >>> print(Paper("Theory of Reproducing Kernels", frozenset({"Aronszajn"}), frozenset({"theory"}), 1950))
    Aronszajn (1950): Theory of Reproducing Kernels
    """

    title: str
    authors: frozenset[str]
    keywords: frozenset[str]
    year: int

    def __str__(self) -> str:
        """Cite the paper in one line, its authors in alphabetical order."""
        return f"{', '.join(sorted(self.authors, key=str.casefold))} ({self.year}): {self.title}"


def iris() -> tuple[np.ndarray, np.ndarray]:
    """Fisher's iris flowers: four lengths in centimetres of 150 flowers of three species.

    Returns
    -------
    X : ndarray of float64, shape (150, 4)
        Sepal length, sepal width, petal length and petal width.
    y : ndarray of str, shape (150,)
        "setosa", "versicolor" or "virginica", 50 of each, in this order.

    Examples
    --------
    >>> X, y = iris()
    >>> X.shape, X[0].tolist(), str(y[0])
    ((150, 4), [5.1, 3.5, 1.4, 0.2], 'setosa')
    """
    rows = _rows("iris.csv")
    columns = ("sepal_length", "sepal_width", "petal_length", "petal_width")
    X = np.array([[float(row[column]) for column in columns] for row in rows])
    return X, np.array([row["species"] for row in rows])


def promoters() -> tuple[list[str], np.ndarray]:
    """DNA of the bacterium *E. coli*: which of 106 short sequences are promoters of a gene.

    Returns
    -------
    X : list of str
        106 strings of 57 letters out of "a", "c", "g" and "t".
    y : ndarray of str, shape (106,)
        "+" for the 53 promoters and "-" for the 53 others, the promoters first.

    Examples
    --------
    >>> X, y = promoters()
    >>> len(X), X[0][:12], str(y[0])
    (106, 'gccttctccaaa', '+')
    """
    rows = _rows("promoters.csv")
    return [row["sequence"] for row in rows], np.array([row["label"] for row in rows])


def papers() -> list[Paper]:
    """Well-known papers on learning with kernels and similarity functions, in order of their years.

    "Shares an author or a keyword" is a natural similarity between two of them, and it is no kernel:
    its Gram matrix on this list has negative eigenvalues.

    Returns
    -------
    list of Paper
        The papers, with their authors and two to four keywords each.

    Examples
    --------
    >>> paper = next(paper for paper in papers() if "Balcan" in paper.authors)
    >>> print(paper)
    Balcan, Blum (2006): On a Theory of Learning with Similarity Functions
    >>> sorted(paper.keywords)
    ['margin', 'similarity', 'theory']
    """
    return [
        Paper(row["title"], _set(row["authors"]), _set(row["keywords"]), int(row["year"]))
        for row in _rows("papers.csv")
    ]


def _rows(name: str) -> list[dict[str, str]]:
    """Read the rows of one of the CSV files of this folder."""
    with files(__name__).joinpath(name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _set(field: str) -> frozenset[str]:
    """Split a field that holds several values."""
    return frozenset(field.split("; "))
