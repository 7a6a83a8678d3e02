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
    edges: np.ndarray  # how many each type has
    connected: np.ndarray  # whether each type is
    of_code: np.ndarray  # the type of each code
    contains: np.ndarray  # the number of spanning subgraphs of type b in type a


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
    near = np.zeros((len(codes), p, p), np.int64)
    for number, (i, j) in enumerate(pairs):
        near[:, i, j] = near[:, j, i] = bits[codes, number]
    connected = np.all(np.linalg.matrix_power(near + np.eye(p, dtype=int), p) > 0, axis=(1, 2))
    return GraphletTypes(codes, edges, np.asarray(connected), of_code, np.array(inside, np.int64))
