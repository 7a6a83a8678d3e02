"""The sizes that the cost of a fit is estimated from: numbers that are read off the data when a plan is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from similitude.compute import as_objects, is_sparse, is_table, take
from similitude.fitting.scales import open_scales
from similitude.similarity import Similarity, Sum, calls_per_pair, is_counted

if TYPE_CHECKING:
    from similitude.fitting.facts import Facts

SIZED_OBJECTS = 100
"""Most objects whose sizes are looked at."""

MOST_INDICATORS = 40
"""Most columns of numbers that a column of categories becomes."""

MANY_COUNTS = 4
"""How often gapped substrings, neighborhoods of nodes, and sets are counted, relative to substrings."""


@dataclass(frozen=True)
class PairWork:
    """What a similarity does to compare two objects.

    Attributes
    ----------
    calls : int
        Of the user's functions; 0 if there are none.
    proven : bool
        Whether it is a kernel by proof.
    scaled : bool
        Whether its scale is the best of several.
    heavy : bool
        Whether it is slow to compute.
    pair_cost : float
        What an alignment costs, relative to time warping; 0 if there is none.
    counts : int
        How often objects are gone over to count what they have in common.
    form : {"", "sum", "linear", "convolutions"}
        Of a similarity that is counted in a way of its own.
    """

    calls: int
    proven: bool
    scaled: bool
    heavy: bool
    pair_cost: float = 0.0
    counts: int = 1
    form: str = ""

    @classmethod
    def of(cls, k: Similarity, kind: str) -> PairWork:
        """Look at a similarity for a kind of objects."""
        heavy = k.hints.heavy
        scaled = bool(open_scales(k)) and not heavy
        if is_counted(k):
            return cls(calls_per_pair(k), k.proven, scaled, heavy)
        from similitude.kernels import Convolutions, Linear, pair_cost  # loads all kernels

        form = ""
        for name, known in (("sum", Sum), ("linear", Linear), ("convolutions", Convolutions)):
            if isinstance(k, known):
                form = name
        return cls(0, k.proven, scaled, heavy, pair_cost(k), _counts(k, kind), form)


@dataclass(frozen=True)
class Sizes:
    """How many rows there are, how large they are, and what the fit may do with them.

    Attributes
    ----------
    n : int
        Rows of the fit.
    fits : int
        How many such fits are made.
    penalties : int
        How many are compared by a fit to a Gram matrix; 0 if one is given.
    kind : str
    rows : int
        Those of the rows that are in memory.
    all_in_memory : bool
        Whether these are all rows.
    width : int
        Numbers of a vector or row of a table, channels of a series; 1 for other objects.
    cells : int
        Columns of a table, which become numbers.
    size : float
        Mean number of letters, points, elements or nodes; 1 for vectors.
    outputs : int
    itemsize : int
        Bytes of a similarity.
    candidates : {"given", "learned", "family"}
        Where the similarity comes from.
    members : tuple of PairWork
        Those one of which is chosen; none if the user gave some.
    used : tuple of PairWork
        Those of the fit: the first member, because it is not known which will be chosen.
    most_calls : int
        Of the user's functions in a frugal fit; 0 in others.
    numbers : tuple of int
        Numbers of landmarks to try; none if all rows are landmarks, or are chosen by a pilot or by calls.
    rows_chosen_on : int
        Most rows whose features are in memory at once; 0 if there are no features.
    on_gpu : bool
        Whether similarities are computed on a GPU.
    """

    n: int
    fits: int = 1
    penalties: int = 0
    kind: str = "vectors"
    rows: int = 0
    all_in_memory: bool = True
    width: int = 1
    cells: int = 0
    size: float = 1.0
    outputs: int = 1
    itemsize: int = 8
    candidates: str = "given"
    members: tuple[PairWork, ...] = ()
    used: tuple[PairWork, ...] = ()
    most_calls: int = 0
    numbers: tuple[int, ...] = ()
    rows_chosen_on: int = 0
    on_gpu: bool = False

    @classmethod
    def of(cls, f: Facts, on_features: bool) -> Sizes:
        """Look at the first objects and at the similarities; features are those of a fit on landmarks."""
        kind = f.options.kind
        members = f.data.family(kind) if f.candidates == "family" else ()
        compared = tuple([PairWork.of(k, kind) for k in members or f.options.similarities])
        width, cells, size = _shape_of(take(f.data.X, np.arange(min(SIZED_OBJECTS, len(f.data.weights)))), kind)
        return cls(
            n=f.n,
            kind=kind,
            rows=len(f.data.weighted),
            all_in_memory=f.data.all_in_memory,
            width=width,
            cells=cells,
            size=size,
            outputs=f.data.Y.shape[1],
            itemsize=f.size.itemsize,
            candidates=f.candidates,
            members=compared if members else (),
            used=compared[:1] if members else compared,
            most_calls=f.frugal_calls or 0,
            numbers=tuple(f.numbers[0]) if on_features else (),
            rows_chosen_on=f.rows_chosen_on if on_features else 0,
            on_gpu=str(getattr(f.options.engine, "device", "cpu")).startswith("cuda"),
        )


def _shape_of(first: Any, kind: str) -> tuple[int, int, float]:
    """Return the numbers of an object, the columns of a table, and the mean size of some objects."""
    if is_table(first):
        return sum([_indicators(list(first[name])) for name in first.columns]), len(first.columns), 1.0
    if is_sparse(first) or (hasattr(first, "shape") and len(first.shape) == 2):
        return int(first.shape[1]), 0, 1.0
    objects = list(as_objects(first))
    if kind in ("table", "records") and all([isinstance(one, Mapping) for one in objects]):
        names = list(dict.fromkeys([name for row in objects for name in row]))
        return sum([_indicators([row.get(name) for row in objects]) for name in names]), len(names), 1.0
    sizes = [len(one) for one in objects if hasattr(one, "__len__")]
    if kind == "vectors":
        return max(sizes, default=1), 0, 1.0
    channels = [one.shape[1] for one in objects if len(getattr(one, "shape", ())) == 2]
    if kind == "graphs":
        sizes = _nodes(objects)
        channels = []
    return max(channels, default=1), 0, max(1.0, sum(sizes) / max(1, len(sizes)))


def _nodes(graphs: list[Any]) -> list[int]:
    """Return the numbers of nodes; nothing if graphs are refused, which the fit says better."""
    from similitude.kernels.graphs import parse_graphs  # loads all kernels

    try:
        return [one.nodes for one in parse_graphs(graphs)]
    except (TypeError, ValueError):
        return []


def _indicators(values: list[Any]) -> int:
    """Return how many columns of numbers a column becomes: one for each category, word or element."""
    found: set[str] = set()
    for one in values:
        if isinstance(one, str):
            found.add(one)
        elif isinstance(one, (set, frozenset, list, tuple)):
            found.update(map(str, one))
    return min(MOST_INDICATORS, max(1, len(found)))


def _counts(k: Similarity, kind: str) -> int:
    """Return how many times objects are gone over: once for substrings or words, more often for all else."""
    from similitude.kernels import Gapped  # loads all kernels

    parts = k.parts()
    if parts:
        return sum([_counts(one, kind) for one in parts])
    return MANY_COUNTS if isinstance(k, Gapped) or kind in ("graphs", "sets") else 1
