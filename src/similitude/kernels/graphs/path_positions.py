"""At which positions of which shortest paths each node of a graph stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from similitude.kernels.graphs.encoding import EncodedGraphs
from similitude.kernels.ragged import ragged_rows, starts_of

STEPS_AT_ONCE = 2**20
"""Steps from a node to a neighbor, over all first nodes of paths that are followed at once."""


def path_positions(graphs: EncodedGraphs) -> Any:
    r"""Return a sparse matrix with a row for each node: how often it is the i-th node of a shortest path with l edges.

    A path is read in both directions, so a node is as often at position i as at l - i: there is one column for both,
    :math:`\lfloor (l + 1)^2 / 4 \rfloor + i` for :math:`i \le l - i`; `column_weights` says for how many it stands.

    >>> from similitude.kernels.graphs.encoding import as_graphs
    >>> path_positions(as_graphs([([(0, 1), (1, 2)],)])).toarray()  # l = 0, l = 1, l = 2 at an end, l = 2 inside
    array([[1., 1., 1., 0.],
           [1., 2., 0., 2.],
           [1., 1., 1., 0.]])
    """
    from scipy.sparse import coo_array

    n = len(graphs.labels)
    found = [_summed(n, *_positions(graphs, sources)) for sources in _source_groups(graphs)]
    if not found:
        return coo_array((n, 1)).tocsr()
    nodes, columns, values = (np.concatenate(some) for some in zip(*found, strict=True))
    return coo_array((values, (nodes, columns)), shape=(n, int(columns.max()) + 1)).tocsr()


def column_weights(columns: int) -> np.ndarray:
    """Return for how many positions each column of `path_positions` stands: 1 in the middle of a path, 2 elsewhere.

    >>> column_weights(9)  # l = 0, 1, 2, 2, 3, 3, 4, 4, 4
    array([1., 2., 2., 1., 2., 2., 2., 2., 1.])
    """
    weights = np.full(columns, 2.0)
    half = np.arange(int(np.sqrt(columns)) + 1)
    middle = half * (half + 2)  # i = l / 2
    weights[middle[middle < columns]] = 1.0
    return weights


def _source_groups(graphs: EncodedGraphs) -> Iterator[np.ndarray]:
    """Yield consecutive nodes whose graphs have few enough edges together."""
    sizes = np.diff(graphs.node_starts)
    work = np.repeat(sizes + np.diff(graphs.starts[graphs.node_starts]), sizes)
    group = np.cumsum(work) // STEPS_AT_ONCE
    if len(group):
        yield from np.split(np.arange(len(group)), np.flatnonzero(np.diff(group)) + 1)


def _summed(n: int, nodes: np.ndarray, columns: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the sum of the values of each node and column."""
    from scipy.sparse import coo_array

    sums = coo_array((values, (nodes, columns)), shape=(n, int(columns.max()) + 1)).tocsr().tocoo()
    return *sums.coords, sums.data


def _positions(graphs: EncodedGraphs, sources: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return nodes, columns and counts over the shortest paths that begin at some nodes; nodes may occur repeatedly.

    A place is a pair of a source and a node of its graph. Counted are the shortest paths from the source to it, and how
    many of given length they can be continued by and remain shortest paths.
    """
    sizes = np.diff(graphs.node_starts)
    first = np.repeat(graphs.node_starts[:-1], sizes)
    starts, nodes = _places(first[sources], np.repeat(sizes, sizes)[sources])
    distance, paths, (before, after) = _followed(graphs, starts, nodes, starts[:-1] + sources - first[sources])
    onward: Any = (distance >= 0).astype(np.float64)
    found = []
    for length in range(int(distance.max()) + 1):
        at = np.flatnonzero((onward > 0) & (distance <= length))
        i, edges = distance[at], distance[at] + length
        found.append((nodes[at], (edges + 1) ** 2 // 4 + i, paths[at] * onward[at]))
        going = onward[after] > 0
        before, after = before[going], after[going]
        onward = np.bincount(before, onward[after], minlength=len(nodes))
    return tuple(np.concatenate(some) for some in zip(*found, strict=True))


def _places(first: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the start of the places of each source, and the node of each place."""
    starts = starts_of(sizes)
    return starts, np.arange(starts[-1]) + np.repeat(first - starts[:-1], sizes)


def _followed(
    graphs: EncodedGraphs, starts: np.ndarray, nodes: np.ndarray, reached: np.ndarray
) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Return the distance of each place, -1 if it is not reached, its shortest paths, and the steps of all of them."""
    base = np.repeat(starts[:-1], np.diff(starts))
    distance, paths = np.full(len(nodes), -1), np.zeros(len(nodes))
    distance[reached], paths[reached] = 0, 1.0
    steps = []
    while len(reached):
        ends, neighbors = ragged_rows(graphs.starts, nodes[reached])
        before = np.repeat(reached, np.diff(ends))
        after = base[before] + graphs.neighbors[neighbors]
        new = distance[after] < 0
        before, after = before[new], after[new]
        steps.append((before, after))
        distance[after] = len(steps)
        paths += np.bincount(after, paths[before], minlength=len(nodes))
        reached = np.flatnonzero(distance == len(steps))
    return distance, paths, tuple(np.concatenate(some) for some in zip(*steps, strict=True))  # type: ignore[return-value]
