"""Kernels of graphs: Gram matrices, counts of small subgraphs, and what a machine learns from them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gates import checked, faster
from benchmarks.nouns import Check, Data, Dataset, Settings, Task

CORNER = 30
"""Graphs whose values are computed once more, plainly."""
CORNER_OF_COUNTS = 4

Graph = tuple[np.ndarray, ...]
"""Edges, the labels of nodes, and those of edges where a set has them."""


def stored(name: str, settings: Settings, most: int | None = None, **given: Any) -> Dataset:
    """Return the graphs of a stored set, in a new order for every seed, with their classes."""

    def make(rng: np.random.Generator) -> Data:
        graphs, y = read(Path(settings.data or ".") / f"graph_{name}.npz")
        order = rng.permutation(len(graphs))[:most]
        return {"graphs": [graphs[i] for i in order], **given, **({"y": y[order]} if "C" in given else {})}

    return Dataset(f"{name}{f' n={most}' if most else ''}", make, needs=f"graph_{name}.npz")


def read(path: Path) -> tuple[list[Graph], np.ndarray]:
    """Return graphs, each edge once, and their classes."""
    with np.load(path) as file:
        starts, ends, labels, y = (file[part] for part in ("node_ptr", "edge_index", "node_label", "y"))
        edge_labels = file["edge_label"] if "edge_label" in file.files else None
    owner = np.searchsorted(starts, ends[0], side="right") - 1
    once = np.flatnonzero(ends[0] < ends[1])
    order = once[np.argsort(owner[once], kind="stable")]
    cuts = np.searchsorted(owner[order], np.arange(len(starts)))
    pairs = np.ascontiguousarray((ends - starts[owner]).T[order].astype(np.int64))
    graphs: list[Graph] = []
    for a, b, c, d in zip(starts, starts[1:], cuts, cuts[1:], strict=False):
        more = () if edge_labels is None else (edge_labels[order[c:d]].astype(np.int64),)
        graphs.append((pairs[c:d], labels[a:b].astype(np.int64), *more))
    return graphs, y


def like_molecules(n: int, **given: Any) -> Dataset:
    """Return random trees with two more edges and a few labels."""

    def make(rng: np.random.Generator) -> Data:
        return {"graphs": [_molecule(rng) for _ in range(n)], **given}

    return Dataset(f"synthetic n={n}", make)


def _molecule(rng: np.random.Generator) -> Graph:
    size = int(rng.integers(10, 40))
    later = np.arange(1, size)
    tree = np.column_stack([np.maximum(0, later - rng.integers(1, 4, size - 1)), later])
    more = np.sort(np.array([rng.choice(size, 2, replace=False) for _ in range(2)]), axis=1)
    return np.unique(np.vstack([tree, more]), axis=0), rng.choice(5, size, p=[0.6, 0.2, 0.1, 0.06, 0.04])


def _neighbors(graph: Graph) -> list[list[int]]:
    joined: list[list[int]] = [[] for _ in graph[1]]
    for u, v in graph[0].tolist():
        joined[u].append(v)
        joined[v].append(u)
    return joined


def _refined(graph: Graph, iterations: int) -> Counter[str]:
    joined, labels = _neighbors(graph), [str(label) for label in graph[1]]
    found = Counter(labels)
    for _ in range(iterations):
        labels = [f"({label}:{sorted(labels[w] for w in joined[v])})" for v, label in enumerate(labels)]
        found.update(labels)
    return found


def _triples(graph: Graph, ordered: bool) -> Counter[tuple[int, int, int]]:
    joined, found = _neighbors(graph), Counter[tuple[int, int, int]]()
    for root in range(len(joined)):
        reached, queue = {root: 0}, [root]
        for u in queue:
            for v in joined[u]:
                if v not in reached:
                    reached[v] = reached[u] + 1
                    queue.append(v)
        for v, distance in reached.items():
            pair = (graph[1][root], graph[1][v])
            if v != root if ordered else v > root:
                found[(*(pair if ordered else sorted(pair)), distance)] += 1
    return found


def _gram(histograms: list[Counter[Any]]) -> np.ndarray:
    return np.array([[float(sum(a[key] * b[key] for key in a)) for b in histograms] for a in histograms])


def same_corner(data: Data, result: Any, truth: list[np.ndarray]) -> Check:
    """Compare the values of the first graphs with those of one definition or the other."""
    corner = np.asarray(result)[:CORNER, :CORNER]
    away = min(float(np.abs(corner - values).max()) for values in truth)
    return Check(away, f"off by {away:.1e}", away == 0)


def gram_data(settings: Settings, **given: Any) -> list[Dataset]:
    """Return molecules, made and real."""
    n = settings.size(1_000, 100)
    return [like_molecules(n, **given), stored("NCI1", settings, settings.size(4_110, 300), **given)]


WEISFEILER_LEHMAN = Task(
    name="weisfeiler_lehman",
    computes="the Gram matrix of graphs by Weisfeiler-Lehman refinement, from edges and labels",
    operation="weisfeiler_lehman",
    datasets=lambda settings: gram_data(settings, iterations=5),
    truth=lambda data: [_gram([_refined(graph, data["iterations"]) for graph in data["graphs"][:CORNER]])],
    check=same_corner,
    gates=(
        faster(20.0, "GraKeL", where="NCI1 n=4110"),
        faster(15.0, "GraKeL (networkx)", of="ours (networkx)", where="NCI1 n=4110"),
    ),
    in_child=False,
)


def _shared(histograms: list[Counter[Any]]) -> np.ndarray:
    return np.array([[float((a & b).total()) for b in histograms] for a in histograms])


def _joined(graph: Graph) -> Graph:
    """Return a graph without the nodes that have no edge."""
    kept, ends = np.unique(graph[0], return_inverse=True)
    return ends.reshape(-1, 2), graph[1][kept]


ASSIGNMENT = Task(
    name="optimal_assignment",
    computes="the Gram matrix of graphs by optimal assignments of nodes with refined labels",
    operation="optimal_assignment",
    datasets=lambda settings: [
        like_molecules(settings.size(300, 100), iterations=3),
        stored("NCI1", settings, settings.size(500, 100), iterations=3),
    ],
    truth=lambda data: [  # GraKeL leaves out nodes without edges
        _shared([_refined(form(graph), data["iterations"]) for graph in data["graphs"][:CORNER]])
        for form in (lambda graph: graph, _joined)
    ],
    check=same_corner,
    gates=(faster(100.0, "GraKeL", where="NCI1 n=500"),),
    in_child=False,
)

DECAY = 0.01
"""The decay of walks: far below what the degrees of molecules allow."""


def _walks(graphs: list[Graph]) -> np.ndarray:
    """Return the sums over common walks, by dense matrices of products."""
    K = np.zeros((len(graphs), len(graphs)))
    for i, a in enumerate(graphs):
        for j, b in enumerate(graphs):
            same = np.equal.outer(a[1], b[1]).ravel()
            W = np.kron(_adjacency(a), _adjacency(b))[np.ix_(same, same)]
            K[i, j] = np.linalg.solve(np.eye(len(W)) - DECAY * W, np.ones(len(W))).sum()
    return K


def _adjacency(graph: Graph) -> np.ndarray:
    A = np.zeros((len(graph[1]), len(graph[1])))
    A[graph[0][:, 0], graph[0][:, 1]] = A[graph[0][:, 1], graph[0][:, 0]] = 1.0
    return A


def same_walks(data: Data, result: Any, truth: list[np.ndarray]) -> Check:
    """Compare the values of the first graphs with those of one definition or the other, up to a relative error."""
    away = min(float(np.abs(np.asarray(result)[: len(K), : len(K)] / K - 1).max()) for K in truth)
    return Check(away, f"off by {away:.1e}", away < 1e-2)


def walk_truth(data: Data) -> list[np.ndarray]:
    """Return the values of the first graphs: GraKeL also counts walks of length 0 between different labels."""
    some = data["graphs"][:CORNER_OF_COUNTS]
    K = _walks(some)
    return [K, K + [[np.not_equal.outer(a[1], b[1]).sum() for b in some] for a in some]]


RANDOM_WALK = Task(
    name="random_walk",
    computes="the Gram matrix of graphs by all walks that they have in common, from edges and labels",
    operation="random_walk",
    datasets=lambda settings: [like_molecules(settings.size(60, 10), decay=DECAY)],
    truth=walk_truth,
    check=same_walks,
    gates=(faster(10.0, "GraKeL", where="synthetic n=60"),),
    threads=(1,),
    in_child=False,
)

SHORTEST_PATH = Task(
    name="shortest_path",
    computes="the Gram matrix of graphs by shortest paths, from edges and labels",
    operation="shortest_path",
    datasets=gram_data,
    truth=lambda data: [  # GraKeL counts every pair of nodes in both orders
        _gram([_triples(graph, ordered) for graph in data["graphs"][:CORNER]]) for ordered in (False, True)
    ],
    check=same_corner,
    gates=(faster(12.0, "GraKeL", where="NCI1 n=4110"),),
    in_child=False,
)

GAMMA = 0.5
"""The width of the Gaussian kernel of attributes, exp(-gamma |x - z|^2)."""


def attributed_molecules(n: int) -> Dataset:
    """Return graphs like molecules with four numbers for each node, and no labels."""

    def make(rng: np.random.Generator) -> Data:
        bare = [_molecule(rng) for _ in range(n)]
        return {
            "graphs": [(edges, None, None, rng.normal(size=(len(labels), 4))) for edges, labels in bare],
            "gamma": GAMMA,
        }

    return Dataset(f"synthetic n={n}", make)


def _all_paths(graph: Graph) -> list[np.ndarray]:
    """Return the shortest paths as rows of nodes, by their number of edges."""
    joined = _neighbors((graph[0], graph[3]))
    levels, found = [[(v,)] for v in range(len(joined))], []
    reached = [{v} for v in range(len(joined))]
    while any(levels):
        found.append(np.array([path for level in levels for path in level]))
        for v, level in enumerate(levels):
            longer = [(*path, w) for path in level for w in joined[path[-1]] if w not in reached[v]]
            reached[v].update(path[-1] for path in longer)
            levels[v] = longer
    return found


def hopper_truth(data: Data) -> np.ndarray:
    """Return the values of the first graphs, by comparing all pairs of paths of equal length."""
    some = data["graphs"][:CORNER_OF_COUNTS]
    paths = [_all_paths(graph) for graph in some]
    K = np.zeros((len(some), len(some)))
    for i, a in enumerate(some):
        for j, b in enumerate(some):
            values = np.exp(-GAMMA * ((a[3][:, None] - b[3]) ** 2).sum(axis=2))
            K[i, j] = sum(
                values[p[:, None, at], q[None, :, at]].sum()
                for p, q in zip(paths[i], paths[j], strict=False)
                for at in range(p.shape[1])
            )
    return K


def same_values(data: Data, result: Any, truth: np.ndarray) -> Check:
    """Compare the values of the first graphs up to a relative error."""
    away = float(np.abs(np.asarray(result)[: len(truth), : len(truth)] / truth - 1).max())
    return Check(away, f"off by {away:.1e}", away < 1e-9)


ATTRIBUTES = Task(
    name="graph_hopper",
    computes="the Gram matrix of graphs by shortest paths that are compared node by node, from edges and attributes",
    operation="graph_hopper",
    datasets=lambda settings: [attributed_molecules(settings.size(60, 10))],
    truth=hopper_truth,
    check=same_values,
    gates=(faster(30.0, "GraKeL", where="synthetic n=60"),),
    threads=(1,),
    in_child=False,
)


def counts_truth(data: Data) -> list[list[float]]:
    """Return how many connected subgraphs with 3 and 4 nodes of each type the first graphs have, in no order."""
    from similitude.compute.loops.reference import graphlets
    from similitude.kernels import Graphlet
    from similitude.kernels.graphs import as_graphs

    some, found = as_graphs(data["graphs"][:CORNER_OF_COUNTS]), []
    for p in (3, 4):
        types = Graphlet(p).types
        found.append(graphlets(some.structure, p, types.of_code, types.contains)[:, types.connected])
    return [sorted(row) for row in np.hstack(found).tolist()]


def same_counts(data: Data, result: Any, truth: list[list[float]]) -> Check:
    """Compare the counts of the first graphs."""
    equal = [sorted(row) for row in np.asarray(result)[:CORNER_OF_COUNTS].tolist()] == truth
    return Check(0.0, "equal" if equal else "different", equal)


GRAPHLETS = Task(
    name="graphlets",
    computes="how often each type of subgraph with 3 and 4 nodes occurs, from graphs that each library has read before",
    operation="graphlets",
    datasets=gram_data,
    truth=counts_truth,
    check=same_counts,
    gates=(faster(8.0, "igraph", where="NCI1 n=4110"),),
    in_child=False,
)


def accuracy_data(settings: Settings) -> list[Dataset]:
    """Return graphs with classes, how often they are split, and what is chosen among within each training part."""
    strengths = (1.0, 10.0, 100.0)
    small = stored("MUTAG", settings, iterations=(1, 2, 3, 4, 5), C=strengths, inner=5, splits=1)
    if settings.quick:
        return [small]
    return [small, stored("PROTEINS", settings, iterations=(1, 3, 5), C=strengths, inner=3, splits=1)]


ACCURACY = Task(
    name="graph_accuracy",
    computes="the share of right predictions of a support vector machine with the Weisfeiler-Lehman kernel, 10-fold",
    operation="graph_accuracy",
    datasets=accuracy_data,
    check=lambda data, result, truth: Check(1 - result, f"accuracy {result:.4f}", result > 0.6),
    gates=(
        checked(0.15, "ours: errors on MUTAG at most 15 %", "MUTAG"),
        checked(0.26, "ours: errors on PROTEINS at most 26 %", "PROTEINS"),
    ),
    threads=(1,),
    in_child=False,
)
