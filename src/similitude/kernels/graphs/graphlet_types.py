"""Isomorphism types of graphs with two to five nodes."""

from __future__ import annotations

from functools import cache
from itertools import permutations
from typing import NamedTuple

import numpy as np


class GraphletTypes(NamedTuple):
    """All graphs on p nodes up to isomorphism, ordered by number of edges and then by code.

    Bit j (j - 1) / 2 + i of a code tells whether nodes i < j are joined; the code of a type is its smallest one.
    """

    codes: np.ndarray
    """The code of each type."""
    edges: np.ndarray
    """The number of edges of each type."""
    connected: np.ndarray
    """Whether each type is connected."""
    of_code: np.ndarray
    """The type of each code."""
    contains: np.ndarray
    """The number of spanning subgraphs of type b in type a."""


@cache
def graphlet_types(p: int) -> GraphletTypes:
    """Return the types of graphs on p nodes: 2, 4, 11 and 34 for p = 2, 3, 4, 5."""
    pairs = [(i, j) for j in range(p) for i in range(j)]
    bit = {pair: number for number, pair in enumerate(pairs)}
    every = np.arange(2 ** len(pairs))
    bits = every[:, None] >> np.arange(len(pairs)) & 1
    smallest = every
    for order in permutations(range(p)):
        moved = [bit[min(order[i], order[j]), max(order[i], order[j])] for i, j in pairs]
        smallest = np.minimum(smallest, (bits << np.array(moved)).sum(axis=1))
    codes = np.unique(smallest)
    edges = bits[codes].sum(axis=1)
    by_edges = np.lexsort([codes, edges])
    codes = codes[by_edges]
    edges = edges[by_edges]
    of_code = np.argsort(codes)[np.searchsorted(np.sort(codes), smallest)].astype(np.int32)
    inside = [np.bincount(of_code[every & a == every], minlength=len(codes)) for a in codes]
    connected = np.array([_is_connected(p, [pairs[b] for b in np.flatnonzero(bits[code])]) for code in codes])
    return GraphletTypes(codes, edges, connected, of_code, np.array(inside, np.int64))


def _is_connected(p: int, edges: list[tuple[int, int]]) -> bool:
    group = list(range(p))
    for i, j in edges:
        group = [group[i] if one == group[j] else one for one in group]
    return len(set(group)) == 1
