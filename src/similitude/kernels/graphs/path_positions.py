"""At which positions of which shortest paths each node of a graph stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from similitude.compute.engines import current_engine, format_bytes
from similitude.kernels.graphs.encoding import EncodedGraphs
from similitude.kernels.ragged import ragged_rows, starts_of

STEPS_AT_ONCE = 2**20
"""Steps from a node to a neighbor, over all first nodes of paths that are followed at once."""


class Reached(NamedTuple):
    """What shortest paths from some nodes, the sources, reach. A place is a source with a node of its graph.

    `starts` says where the places of each source begin; each place has a node, its distance from the source (-1 if it
    is not reached) and the number of shortest paths to it, which step from the place `before` to the place `after`.
    """

    starts: np.ndarray
    nodes: np.ndarray
    distance: np.ndarray
    paths: np.ndarray
    before: np.ndarray
    after: np.ndarray


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
    entries = 0
    found = []
    for sources in _source_groups(graphs):
        reached = _followed(graphs, sources)
        entries += _check_entries(graphs, sources, reached, entries)
        found.append(_positions(reached))
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


def _followed(graphs: EncodedGraphs, sources: np.ndarray) -> Reached:
    """Follow all shortest paths from some nodes, step by step."""
    sizes = np.diff(graphs.node_starts)
    first = np.repeat(graphs.node_starts[:-1], sizes)[sources]
    lengths = np.repeat(sizes, sizes)[sources]
    starts = starts_of(lengths)
    base = np.repeat(starts[:-1], lengths)
    nodes = np.arange(starts[-1]) - base + np.repeat(first, lengths)
    distance = np.full(len(nodes), -1)
    paths = np.zeros(len(nodes))
    reached = starts[:-1] + sources - first
    distance[reached] = 0
    paths[reached] = 1.0
    steps = []
    while len(reached):
        ends, neighbors = ragged_rows(graphs.starts, nodes[reached])
        before = np.repeat(reached, np.diff(ends))
        after = base[before] + graphs.neighbors[neighbors]
        new = distance[after] < 0
        before = before[new]
        after = after[new]
        steps.append((before, after))
        distance[after] = len(steps)
        paths += np.bincount(after, paths[before], minlength=len(nodes))
        reached = np.flatnonzero(distance == len(steps))
    before, after = (np.concatenate(some) for some in zip(*steps, strict=True))
    return Reached(starts, nodes, distance, paths, before, after)


def _check_entries(graphs: EncodedGraphs, sources: np.ndarray, reached: Reached, others: int) -> int:
    """Return the most positions that some nodes can have; refuse more, with others, than the memory budget holds."""
    longest = np.maximum.reduceat(reached.distance, reached.starts[:-1])
    entries = int(((longest + 1) * (longest + 2) // 2).sum())
    size = (others + entries) * 24  # bytes of a node, a column and a count
    budget = current_engine().budget
    if size > budget:
        at = int(longest.argmax())
        g = int(np.searchsorted(graphs.node_starts, sources[at], side="right")) - 1
        raise MemoryError(
            f"the positions of nodes on shortest paths may take more than {format_bytes(size)}, the memory budget is "
            f"{format_bytes(budget)}: graph {g} has shortest paths of {longest[at]} edges; use "
            f"WeisfeilerLehman(attributes=...), smaller graphs, or an engine with more memory"
        )
    return entries


def _positions(reached: Reached) -> tuple[np.ndarray, ...]:
    """Return nodes, columns and counts: of each place, by the number of edges that paths to it can be continued by."""
    nodes = reached.nodes
    distance = reached.distance
    before = reached.before
    after = reached.after
    onward: Any = (distance >= 0).astype(
        np.float64
    )  # how often a shortest path to each place continues by `length` edges
    first = int(nodes[0])
    found = []
    for length in range(int(distance.max()) + 1):
        at = np.flatnonzero((onward > 0) & (distance <= length))
        keys = (nodes[at] - first) * (length + 1) + distance[at]
        counts = np.bincount(keys, reached.paths[at] * onward[at])
        some = np.flatnonzero(counts)
        node, position = np.divmod(some, length + 1)
        found.append((node + first, (position + length + 1) ** 2 // 4 + position, counts[some]))
        going = onward[after] > 0
        before = before[going]
        after = after[going]
        onward = np.bincount(before, onward[after], minlength=len(nodes))
    return tuple(np.concatenate(some) for some in zip(*found, strict=True))
