"""Dataset, and the real data sets, read from the files in this folder."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from similitude.support import card, check_choice, facts, missing_extra, paragraph

GENERATED = "none needed: the data are generated"
"""The license of a generated data set."""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Objects, their labels and a description; ``X, y = iris()`` unpacks the first two.

    Attributes
    ----------
    objects : array, list or data frame
        In the form in which similarities take them.
    labels : array
        One label per object.
    description : str
        What the objects and the labels mean.
    name : str
        The name of the function that returned this.
    kind : str
        vectors, strings, graphs, series, sets, table, or similarities (a square matrix, for ``"precomputed"``).
    source : str
        The authors of the data, and where they are published.
    license : str
        The license of the data.

    Examples
    --------
    >>> from similitude.datasets import promoters
    >>> print(promoters())
    promoters (strings): 106 objects, labels + (53), - (53)
    Sequences of 57 letters of the DNA of the bacterium E. coli: is each the promoter of a gene, where reading starts?
    Source: C. Harley, R. Reynolds, M. Noordewier (1990), Molecular Biology (Promoter Gene Sequences), UCI Machine
    Learning Repository, https://doi.org/10.24432/C5S01D; names left out, order changed
    License: CC BY 4.0
    """

    objects: Any
    labels: np.ndarray
    description: str
    name: str
    kind: str
    source: str
    license: str

    def __iter__(self) -> Iterator[Any]:
        return iter((self.objects, self.labels))

    def __repr__(self) -> str:
        return f"<Dataset {self._summary()}>"

    def __str__(self) -> str:
        return f"{self._summary()}\n{self.description}\nSource: {self.source}\nLicense: {self.license}"

    def _repr_html_(self) -> str:
        about = facts([("source", self.source), ("license", self.license)])
        return card(self._summary(), paragraph(self.description), about)

    def _summary(self) -> str:
        values, counts = np.unique(self.labels, return_counts=True)
        labels = ", ".join(f"{value} ({count})" for value, count in zip(values, counts, strict=True))
        return f"{self.name} ({self.kind}): {len(self.labels)} objects, labels {labels}"


CC_BY = "CC BY 4.0"
CC0 = "CC0 1.0"
UCI = "UCI Machine Learning Repository"

FILES = ("adult.csv", "iris.csv", "messages.csv", "molecules.jsonl", "papers.jsonl", "promoters.csv", "vowels.ts")


def path(name: str) -> Path:
    """Return the file of a real data set, in a format that the command line reads.

    Parameters
    ----------
    name : str
        adult, iris, messages, molecules, papers, promoters or vowels.

    Examples
    --------
    >>> path("promoters").name
    'promoters.csv'
    """
    files = {file.partition(".")[0]: file for file in FILES}
    check_choice("name", name, files)
    return Path(__file__).with_name(files[name])


def iris() -> Dataset:
    """Fisher's iris flowers: four lengths in centimeters of 150 flowers of three species.

    Returns
    -------
    Dataset
        The objects are an array of shape (150, 4): sepal length, sepal width, petal length and petal width. The labels
        are "setosa", "versicolor" and "virginica", 50 of each, in this order.

    Examples
    --------
    >>> X, y = iris()
    >>> X.shape, X[0].tolist(), str(y[0])
    ((150, 4), [5.1, 3.5, 1.4, 0.2], 'setosa')
    """
    rows = _csv_rows("iris")
    columns = ("sepal_length", "sepal_width", "petal_length", "petal_width")
    X = np.array([[float(row[column]) for column in columns] for row in rows])
    return Dataset(
        X,
        np.array([row["species"] for row in rows]),
        "Sepal length, sepal width, petal length and petal width of iris flowers, in centimeters: which species?",
        "iris",
        "vectors",
        f"R. A. Fisher (1936), Iris, {UCI}, https://doi.org/10.24432/C56C76; samples 35 and 38 as printed in Fisher's "
        "paper",
        CC_BY,
    )


def promoters() -> Dataset:
    """DNA of the bacterium *Escherichia coli*: which of 106 short sequences are promoters of a gene.

    Returns
    -------
    Dataset
        The objects are 106 strings of 57 letters out of "a", "c", "g" and "t". The labels are "+" for the 53 promoters
        and "-" for the 53 others, the promoters first.

    Examples
    --------
    >>> X, y = promoters()
    >>> len(X), X[0][:12], str(y[0])
    (106, 'gccttctccaaa', '+')
    """
    rows = _csv_rows("promoters")
    return Dataset(
        [row["sequence"] for row in rows],
        np.array([row["label"] for row in rows]),
        "Sequences of 57 letters of the DNA of the bacterium E. coli: is each the promoter of a gene, where reading "
        "starts?",
        "promoters",
        "strings",
        f"C. Harley, R. Reynolds, M. Noordewier (1990), Molecular Biology (Promoter Gene Sequences), {UCI}, "
        "https://doi.org/10.24432/C5S01D; names left out, order changed",
        CC_BY,
    )


def messages() -> Dataset:
    """Text messages of mobile phones in English: which of 800 are spam.

    Returns
    -------
    Dataset
        The objects are 800 strings; the labels are "ham" (693) and "spam" (107), in the proportion of the whole
        collection.

    Examples
    --------
    >>> X, y = messages()
    >>> X[1], str(y[1])
    ('Ok lar... Joking wif u oni...', 'ham')
    """
    rows = _csv_rows("messages")
    return Dataset(
        [row["text"] for row in rows],
        np.array([row["label"] for row in rows]),
        "Text messages of mobile phones in English: spam, or wanted (ham)?",
        "messages",
        "strings",
        f"T. Almeida, J. Hidalgo (2011), SMS Spam Collection, {UCI}, https://doi.org/10.24432/C5CC84; the first 693 "
        "ham and 107 spam without repeats and without coarse words",
        CC_BY,
    )


def adult() -> Dataset:
    """People of the census of 1994 in the United States: numbers, categories and missing values.

    Returns
    -------
    Dataset
        The objects are a pandas data frame of 1,000 rows and 14 columns with 142 missing values. The labels are
        "<=50K" (768) and ">50K" (232), the income in thousands of dollars a year.

    Examples
    --------
    >>> X, y = adult()
    >>> X.shape, int(X.age[0]), X.occupation[0], int(X.isna().sum().sum()), str(y[0])
    ((1000, 14), 39, 'Adm-clerical', 142, '<=50K')
    """
    try:
        import pandas  # type: ignore[import-untyped]
    except ImportError:
        raise missing_extra("cli", "the data set adult, a pandas data frame,") from None
    table = pandas.read_csv(path("adult"), keep_default_na=False, na_values=[""])
    return Dataset(
        table.drop(columns="income"),
        np.array(table["income"].tolist()),
        "People of the census of 1994 in the United States, with numbers, categories and missing values: did each "
        "earn more than 50,000 dollars a year?",
        "adult",
        "table",
        f"B. Becker, R. Kohavi (1996), Adult, {UCI}, https://doi.org/10.24432/C5XW20; the first 1,000 rows, columns "
        "named with _ for -",
        CC_BY,
    )


def vowels() -> Dataset:
    """Two Japanese vowels, spoken by nine men: time series with 12 channels and unequal lengths.

    Returns
    -------
    Dataset
        The objects are 144 arrays of shape (time, 12), with 7 to 26 times: cepstrum coefficients, one row every 6.4
        milliseconds. The labels are "speaker1" to "speaker9", 16 of each.

    Examples
    --------
    >>> X, y = vowels()
    >>> len(X), X[0].shape, X[1].shape, str(y[0])
    (144, (20, 12), (26, 12), 'speaker1')
    """
    lines = path("vowels").read_text(encoding="utf-8").splitlines()
    parts = [line.split(":") for line in lines if not line.startswith("@")]
    X = [np.array([channel.split(",") for channel in channels], dtype=float).T.copy() for *channels, _ in parts]
    return Dataset(
        X,
        np.array([speaker for *_, speaker in parts]),
        "Nine men say the Japanese vowels a and e in succession; 12 cepstrum coefficients every 6.4 milliseconds: "
        "who speaks?",
        "vowels",
        "series",
        f"M. Kudo, J. Toyama, M. Shimbo (1999), Japanese Vowels, {UCI}, https://doi.org/10.24432/C5NS47; 16 training "
        "utterances of each speaker, 3 decimals, speakers renamed",
        CC_BY,
    )


def molecules() -> Dataset:
    """Common organic molecules as graphs: which of 150 dissolve in water.

    Returns
    -------
    Dataset
        The objects are 150 tuples (edges, atoms, bonds) as graph kernels take them; hydrogen is left out, and a bond
        is "-", "=", "#" or, in an aromatic ring, ":". The labels are "soluble" (75) and "insoluble" (75).
        ``molecules.csv`` in the same folder names them, in the same order.

    Examples
    --------
    >>> X, y = molecules()
    >>> X[1], str(y[1])                                            # ethanol
    (([(0, 1), (1, 2)], ['C', 'C', 'O'], ['-', '-']), 'soluble')
    """
    lines = _json_lines("molecules")
    X = [([tuple(ends) for ends in line["edges"]], line["labels"], line["edge_labels"]) for line in lines]
    return Dataset(
        X,
        np.array([line["label"] for line in lines]),
        "Common organic molecules as graphs of atoms and bonds, without hydrogen: does more than 10 g dissolve in a "
        "liter of water at 25 °C? (Clear cases only.)",
        "molecules",
        "graphs",
        "written for this package from general chemical knowledge; facts are not subject to copyright",
        CC0,
    )


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


def papers() -> Dataset:
    """Well-known papers on learning with kernels and similarity functions, in order of their years.

    "Shares an author or a keyword" is a natural similarity of two papers and not a kernel: its Gram matrix on this list
    has negative eigenvalues. (The example of Balcan and Blum, "On a Theory of Learning with Similarity Functions",
    section 1.)

    Returns
    -------
    Dataset
        The objects are a list of 34 `Paper`, each with its authors and two to four keywords. The labels are topics:
        "algorithms", "choice" (of kernels), "objects" (kernels of strings, graphs and the like), "scale" and "theory".

    Examples
    --------
    >>> X, y = papers()
    >>> at = next(i for i, paper in enumerate(X) if "Balcan" in paper.authors)
    >>> print(X[at])
    Balcan, Blum (2006): On a Theory of Learning with Similarity Functions
    >>> sorted(X[at].keywords), str(y[at])
    (['margin', 'similarity', 'theory'], 'theory')
    """
    lines = _json_lines("papers")
    X = [Paper(x["title"], frozenset(x["authors"]), frozenset(x["keywords"]), x["year"]) for x in lines]
    return Dataset(
        X,
        np.array([line["topic"] for line in lines]),
        "Papers on learning with kernels and similarity functions, with their authors and keywords: which topic? "
        "(Keywords and topics are ours.)",
        "papers",
        "sets",
        "compiled for this package",
        CC0,
    )


def _csv_rows(name: str) -> list[dict[str, str]]:
    with path(name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _json_lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path(name).read_text(encoding="utf-8").splitlines()]
