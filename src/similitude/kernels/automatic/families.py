"""The similarities that are tried for each kind of objects, by what the objects look like."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from similitude.compute import as_objects
from similitude.kernels.automatic.kinds import kind_of_objects
from similitude.kernels.automatic.records import LOOKED_AT, RecordColumn, composed_columns
from similitude.kernels.graphs import Graphlet, ShortestPath, WeisfeilerLehman
from similitude.kernels.series import DTW, GlobalAlignment
from similitude.kernels.sets import Intersection, Jaccard
from similitude.kernels.strings import Edit, Gapped, Spectrum
from similitude.kernels.tables import Columns, Equal, OrMissing, Tabular
from similitude.kernels.vectors import Gaussian
from similitude.similarity import Similarity

FEW_LETTERS = 8
"""Size of an alphabet up to which gapped windows are long, as for DNA."""

SHORT_STRING = 20
"""Mean length up to which edits are tried."""


def family_of(kind: str, X: Any) -> tuple[Similarity, ...]:
    """Return the similarities to try for objects of a kind, the one to take without labels first.

    Means of two normalized kernels are members of their own: where both tell something, the mean mostly tells more.

    >>> family_of("sets", [{1, 2}, {2, 3}])
    (Jaccard(), Intersection(weights='idf', default_weight=1.0).normalized())
    """
    if kind == "strings":
        return _of_strings([_as_text(one) for one in islice(as_objects(X), LOOKED_AT)])
    if kind == "series":
        return GlobalAlignment(), DTW()
    if kind == "graphs":
        subtrees, paths = WeisfeilerLehman(3).normalized(), ShortestPath().normalized()
        return subtrees, paths, 0.5 * subtrees + 0.5 * paths, Graphlet(4, mode="frequency").normalized()
    if kind == "sets":
        return Jaccard(), Intersection(weights="idf").normalized()
    if kind == "records":
        columns = {name: _of_column(one) for name, one in composed_columns(X).items()}
        return Columns(columns), Columns(columns, how="product")
    return (Tabular(Gaussian()) if kind == "table" else Gaussian(),)


def default_similarity(X: Any) -> Similarity:
    """Return the similarity for objects without labels to choose by.

    >>> default_similarity(["ACGT", "AACG"]).proven
    True
    """
    return family_of(kind_of_objects(X), X)[0]


def _of_column(one: RecordColumn) -> Similarity:
    """Return a kernel of the values of a column; two that are missing are equal."""
    if one.kind == "categories":
        k: Similarity = Equal()
    elif one.kind in ("numbers", "times"):
        k = Gaussian()
    else:
        k = family_of("strings" if one.kind == "texts" else one.kind, one.known)[0]
    return OrMissing(k, alike=1.0) if one.some_missing else k


def _as_text(one: Any) -> str:
    return one.decode("latin-1") if isinstance(one, bytes) else str(one)


def _of_strings(some: Sequence[str]) -> tuple[Similarity, ...]:
    """Return similarities for texts, for strings of few letters such as DNA, and for others such as proteins."""
    substrings = Spectrum(6, blended=True).normalized()
    if sum(" " in one for one in some) > 0.5 * len(some):
        weighted = Spectrum(5, blended=True, weights="idf").normalized()
        return substrings, weighted, 0.5 * substrings + 0.5 * weighted
    letters, length = len(set().union(*some)), sum(map(len, some)) / max(1, len(some))
    windows = (Gapped(7, 2) if letters <= FEW_LETTERS else Gapped(6, 3)).normalized()
    edits = (Edit(),) if length <= SHORT_STRING else ()
    return (0.5 * substrings + 0.5 * windows, substrings, windows, *edits)
