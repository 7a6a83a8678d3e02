"""Dataset: the objects, their labels, a description, the source and the license."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.support import card, facts, paragraph

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
