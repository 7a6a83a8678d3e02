"""The similarities that are tried for each kind of objects, by what the objects look like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import numpy as np

from similitude.compute import as_objects
from similitude.kernels.automatic.kinds import LOOKED_AT, WHAT_IS_HELD, as_text, composed_columns, kind_of_objects
from similitude.kernels.graphs import (
    ShortestPath,
    WeisfeilerLehman,
    WeisfeilerLehmanAssignment,
    WeisfeilerLehmanEdges,
    parse_graphs,
)
from similitude.kernels.series import DTW, Convolutions, Derivative, GlobalAlignment
from similitude.kernels.sets import Intersection, Jaccard
from similitude.kernels.strings import Edit, Gapped, Spectrum, Words
from similitude.kernels.tables import Columns, Equal, OrMissing, Tabular
from similitude.kernels.vectors import Gaussian
from similitude.similarity import BOUNDED, Similarity, Sum

PAIR_BUDGET = 24_000
"""Product of the mean size of objects, the square of the number of rows and the costs of pairs that costly similarities
are tried on, for each row that there is: it makes them take about as long as the others."""


def family_of(kind: str, X: Any) -> tuple[Similarity, ...]:
    """Return the similarities to try for objects of a kind, the one to take without labels first."""
    return FAMILIES[kind](X)


def kind_in_words(kind: str, members: Sequence[Similarity]) -> str:
    """Return the kind of objects, for graphs with what members of their family compare beside labels."""
    if kind not in ("graphs", "records"):
        return kind
    found = set().union(*map(_attributed, members))
    if not found:
        return kind
    return f"{kind} with attributes of {' and '.join(sorted(found, reverse=True))}"


def _attributed(k: Similarity) -> set[str]:
    """Return which of "nodes" and "edges" have attributes that a similarity, or a part of it, compares."""
    if isinstance(k, WeisfeilerLehmanEdges):
        return {"edges"}
    if isinstance(k, WeisfeilerLehman) and k.attributes is not None:
        return {"nodes"}
    return set().union(*map(_attributed, k.parts()))


def pair_cost(k: Similarity) -> float:
    """Return how much the square of the size of objects costs for one pair, relative to time warping; 0 if little."""
    if isinstance(k, (WeisfeilerLehman, WeisfeilerLehmanEdges)) and _attributed(k):
        return 10.0
    if isinstance(k, GlobalAlignment):
        return 6.0
    if isinstance(k, DTW):
        return 1.0
    return max(map(pair_cost, k.parts()), default=0.0)


def pilot_rows(members: Sequence[Similarity], X: Any) -> int:
    """Return how many of some objects costly members of a family are tried on: fewer if the objects are large."""
    cost = sum(pair_cost(k) for k in members if not isinstance(k, Sum))  # parts of sums are members too
    n = len(X)
    if not cost:
        return n
    if members[0].objects == "graphs":
        total = sum(one.nodes for one in parse_graphs(X))
    else:
        total = sum(map(len, as_objects(X)))
    return min(n, int(np.sqrt(PAIR_BUDGET * n / (max(total / n, 1.0) * cost))))


def default_similarity(X: Any, kind: str | None = None) -> Similarity:
    """Return the similarity for objects, of a kind if that is known, without labels to choose by."""
    return family_of(kind or kind_of_objects(X), X)[0]


def suggestion(X: Any, taken: str) -> str:
    """Return what suits these objects better than a similarity of another kind; nothing if there is nothing to say."""
    kind = kind_of_objects(X)
    if kind == taken or kind == "vectors" or taken in ("any", "indices", "matrix"):
        return ""
    what = WHAT_IS_HELD.get(kind, f"holds {kind}")
    try:
        compared = f" by {default_similarity(X, kind)!r}"
    except (TypeError, ValueError):  # the objects are not of one kind throughout
        compared = ""
    return f"X {what}, which 'auto' compares{compared}"


def _of_records(X: Any) -> tuple[Similarity, ...]:
    columns = {name: _of_column(*one) for name, one in composed_columns(X).items()}
    return Columns(columns), Columns(columns, how="product")


def _of_series(X: Any) -> tuple[Similarity, ...]:
    """Return convolutions and time warping; for short series also global alignments, which take six times as long."""
    some = _first(X)
    convolutions = Convolutions()
    alignments = GlobalAlignment()
    both: Any = alignments, 0.5 * alignments + 0.5 * convolutions.normalized()
    if sum(map(len, some)) > 200 * len(some):
        both = ()
    return convolutions, *both, DTW(), Derivative(DTW())


def _of_graphs(X: Any) -> tuple[Similarity, ...]:
    """Return similarities by labels and structure, and by attributes where all nodes or all edges have some."""
    deep, deeper = (WeisfeilerLehmanAssignment(depth).normalized() for depth in (3, 5))
    paths = ShortestPath().normalized()
    members = [deep, deeper, 0.5 * deep + 0.5 * paths, paths, WeisfeilerLehman(3).normalized()]
    parts = parse_graphs(_first(X))
    of_vectors = WeisfeilerLehman(1, attributes=Gaussian()), WeisfeilerLehmanEdges(0, attributes=Gaussian())
    for of, vectors in zip(("node", "edge"), of_vectors, strict=True):
        having = [given is not None for size, _, given in (one.elements(of) for one in parts) if size]
        if having and all(having):
            members += [vectors.normalized(), 0.5 * deep + 0.5 * vectors.normalized()]
    return tuple(members)


def _of_column(kind: str, known: list[Any], some_missing: bool) -> Similarity:
    """Return a kernel of the values of a column with K(x, x) = 1 or 0; two that are missing are equal."""
    if kind == "categories":
        k: Similarity = Equal()
    elif kind in ("numbers", "times"):
        k = Gaussian()
    else:
        k = family_of(kind.replace("texts", "strings"), known)[0]
        if BOUNDED not in k.claims:
            k = k.normalized()
    return OrMissing(k, alike=1.0) if some_missing else k


def _first(X: Any) -> list[Any]:
    return list(islice(as_objects(X), LOOKED_AT))


def _of_strings(X: Any) -> tuple[Similarity, ...]:
    """Return similarities for texts, for strings of few letters such as DNA, and for others such as proteins."""
    some = list(map(as_text, _first(X)))
    substrings = Spectrum(6, blended=True).normalized()
    if sum(" " in one for one in some) > 0.5 * len(some):
        words = Words()
        rare = Spectrum(5, blended=True, weights="idf").normalized()
        return 0.5 * substrings + 0.5 * words, 0.5 * rare + 0.5 * words, words, substrings, rare
    letters = len(set().union(*some))
    length = sum(map(len, some)) / max(1, len(some))
    windows = Gapped(6, 3).normalized()
    if letters <= 8:  # as of DNA: long windows
        windows = Gapped(7, 2).normalized()
    members = (0.5 * substrings + 0.5 * windows, substrings, windows)
    return (*members, Edit()) if length <= 20 else members


FAMILIES: dict[str, Callable[[Any], tuple[Similarity, ...]]] = {
    "vectors": lambda X: (Gaussian(),),
    "table": lambda X: (Tabular(Gaussian()),),
    "records": _of_records,
    "strings": _of_strings,
    "sets": lambda X: (Jaccard(), Intersection(weights="idf").normalized()),
    "series": _of_series,
    "graphs": _of_graphs,
}
"""The similarities to try for each kind of objects, given some objects; the first is the one without labels.

Everything that names a similarity for a kind reads this table: ``"auto"``, the command line, two-sample tests, errors.
"""
