"""The similarities that are tried for each kind of objects, by what the objects look like."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from similitude.compute import as_objects
from similitude.kernels.automatic.kinds import LOOKED_AT, kind_of_objects
from similitude.kernels.graphs import ShortestPath, WeisfeilerLehman, WeisfeilerLehmanAssignment
from similitude.kernels.series import DTW, Convolutions, Derivative, GlobalAlignment
from similitude.kernels.sets import Intersection, Jaccard
from similitude.kernels.strings import Edit, Gapped, Spectrum, Words
from similitude.kernels.tables import Tabular
from similitude.kernels.vectors import Gaussian
from similitude.similarity import Similarity

FEW_LETTERS = 8
"""Size of an alphabet up to which gapped windows are long, as for DNA."""

SHORT_SERIES = 200
"""Mean length up to which global alignments are tried."""

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
        return _of_series(list(islice(as_objects(X), LOOKED_AT)))
    if kind == "graphs":
        deep, deeper = (WeisfeilerLehmanAssignment(depth).normalized() for depth in (3, 5))
        paths = ShortestPath().normalized()
        return deep, deeper, 0.5 * deep + 0.5 * paths, paths, WeisfeilerLehman(3).normalized()
    if kind == "sets":
        return Jaccard(), Intersection(weights="idf").normalized()
    return (Tabular(Gaussian()) if kind == "table" else Gaussian(),)


def default_similarity(X: Any, kind: str | None = None) -> Similarity:
    """Return the similarity for objects, of a kind if that is known, without labels to choose by.

    >>> default_similarity(["ACGT", "AACG"]).proven
    True
    """
    return family_of(kind or kind_of_objects(X), X)[0]


def _of_series(some: Sequence[Any]) -> tuple[Similarity, ...]:
    """Return convolutions and time warping; for short series also global alignments, which take six times as long."""
    convolutions, warping = Convolutions(), (DTW(), Derivative(DTW()))
    if sum(map(len, some)) > SHORT_SERIES * len(some):
        return convolutions, *warping
    alignments = GlobalAlignment()
    return convolutions, alignments, 0.5 * alignments + 0.5 * convolutions.normalized(), *warping


def _as_text(one: Any) -> str:
    return one.decode("latin-1") if isinstance(one, bytes) else str(one)


def _of_strings(some: Sequence[str]) -> tuple[Similarity, ...]:
    """Return similarities for texts, for strings of few letters such as DNA, and for others such as proteins."""
    substrings = Spectrum(6, blended=True).normalized()
    if sum(" " in one for one in some) > 0.5 * len(some):
        words, rare = Words(), Spectrum(5, blended=True, weights="idf").normalized()
        return 0.5 * substrings + 0.5 * words, 0.5 * rare + 0.5 * words, words, substrings, rare
    letters, length = len(set().union(*some)), sum(map(len, some)) / max(1, len(some))
    windows = (Gapped(7, 2) if letters <= FEW_LETTERS else Gapped(6, 3)).normalized()
    edits = (Edit(),) if length <= SHORT_STRING else ()
    return (0.5 * substrings + 0.5 * windows, substrings, windows, *edits)
