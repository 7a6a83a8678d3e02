"""What every loader returns: objects, their labels, and where they come from."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.support.errors import brief

GENERATED = "none needed: the data are generated"
"""The license of a toy problem."""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Objects, their labels, and what is to be known about them; ``X, y = iris()`` takes the first two.

    Attributes
    ----------
    objects : array, list or data frame
        As the library takes them.
    labels : array
        One label per object.
    description : str
        What the objects and the labels are.
    name : str
        The name of the function that returned this.
    kind : str
        vectors, strings, graphs, series, sets, table, or similarities (a square matrix, for ``"precomputed"``).
    source : str
        Who gathered the data, and where they are published.
    license : str
        What may be done with them.

    Examples
    --------
    >>> from similitude.data.datasets import promoters
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
        return f"<pre>{html.escape(str(self))}</pre>"

    def _summary(self) -> str:
        values, counts = np.unique(self.labels, return_counts=True)
        labels = ", ".join(f"{value} ({count})" for value, count in zip(values, counts, strict=True))
        return f"{self.name} ({self.kind}): {len(self.labels)} objects, labels {labels}"


def size(n: int) -> int:
    """Return how many objects to draw; refuse what is no number of them."""
    if not isinstance(n, (int, np.integer)) or n < 1:
        raise ValueError(f"n must be a whole number, 1 or more, got {brief(n)}")
    return int(n)
