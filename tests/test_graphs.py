"""Kernels of graphs: input, oracles, peers, bad input."""

import importlib.util
import itertools
import os
import subprocess
import sys
from collections import Counter

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from grids import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.svm import LinearSVC
from test_loops_graphs import batches, graphs, needs_compiled

from similitude import FromPairs, as_similarity, check_kernel, use_engine
from similitude.engines import LocalEngine
from similitude.kernels import (
    Graphlet,
    RandomWalk,
    ShortestPath,
    WeisfeilerLehman,
    WeisfeilerLehmanAssignment,
    explicit_dimension,
    explicit_map,
)
from similitude.kernels.graphs import as_graphs, parse_graphs
from similitude.learners import KernelSVC
from similitude.maps import LandmarkMap

PATH, RING = nx.path_graph(4), nx.cycle_graph(4)
CLIQUE, STAR = nx.complete_graph(4), nx.star_graph(3)
KERNELS = [
    WeisfeilerLehman(),
    WeisfeilerLehman(0),
    WeisfeilerLehmanAssignment(2),
    WeisfeilerLehmanAssignment(2, depth_weights=[0.5, 0.0, 2.0]),
    ShortestPath(),
    Graphlet(),
    Graphlet(4, "presence"),
    Graphlet(4, "frequency", connected=True),
    Graphlet(5),
]
every_kernel = pytest.mark.parametrize("k", KERNELS, ids=repr)
with_walks = pytest.mark.parametrize("k", [*KERNELS, RandomWalk(0.015)], ids=repr)


def needs(package):
    return pytest.mark.skipif(importlib.util.find_spec(package) is None, reason=f"missing: {package}")


def molecules(n, seed=0, labeled=True):
    """Return small random graphs like molecules."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(n):
        size = int(rng.integers(3, 12))
        graph = nx.random_labeled_tree(size, seed=seed * 1000 + i)
        graph.add_edges_from(rng.choice(size, 2, replace=False).tolist() for _ in range(2))
        if labeled:
            nx.set_node_attributes(graph, {v: "CNO"[rng.integers(3)] for v in graph}, "label")
            nx.set_edge_attributes(graph, {e: int(rng.integers(2)) for e in graph.edges}, "label")
        found.append(graph)
    return found


# What the sources say.


def test_graphlets_with_three_nodes():
    counts = Graphlet(3).encode([PATH, RING, CLIQUE, STAR])
    assert counts.tolist() == [[0, 2, 2, 0], [0, 0, 4, 0], [0, 0, 0, 4], [1, 0, 3, 0]]
    assert Graphlet(3)(PATH, RING) == 8 and Graphlet(3, "presence")(PATH, RING) == 1
    assert Graphlet(3)(PATH, STAR) == 6


def test_graphlets_with_two_nodes_and_whole_graphs():
    assert Graphlet(2).encode([PATH, CLIQUE]).tolist() == [[3, 3], [0, 6]]
    assert Graphlet(4).encode([PATH, RING, CLIQUE, STAR]).sum(axis=1).tolist() == [1] * 4
    assert Graphlet(4).gram([PATH, RING, CLIQUE, STAR]).tolist() == np.eye(4).tolist()


def test_modes():
    counts = Graphlet(3).encode([PATH, STAR])
    assert Graphlet(3, "frequency").encode([PATH, STAR]).tolist() == (counts / 4).tolist()
    assert Graphlet(3, "presence").encode([PATH, STAR]).tolist() == (counts > 0).astype(float).tolist()
    assert Graphlet(3, connected=True).encode([PATH, STAR]).tolist() == counts[:, 2:].tolist()
    assert Graphlet(3, "frequency", connected=True).encode([PATH]).tolist() == [[1, 0]]
    assert "BOUNDED" in Graphlet(mode="frequency").claims and "BOUNDED" not in Graphlet().claims


@needs_compiled
def test_large_counts_are_exact():
    n = 3000
    assert Graphlet(4).encode([nx.empty_graph(n)])[0, 0] == n * (n - 1) * (n - 2) * (n - 3) // 24
    star = Graphlet(5).encode([nx.star_graph(60)])[0]
    assert star.sum() == 61 * 60 * 59 * 58 * 57 // 120 and star[star > 0].tolist() == [5461512, 487635]


# Against brute force.


def refined_by_hand(graph, iterations):
    """Count nested tuples of labels, as the definition says."""
    labels = {v: graph.nodes[v].get("label") for v in graph}
    found = Counter((0, label) for label in labels.values())
    for t in range(1, iterations + 1):
        labels = {
            v: (labels[v], tuple(sorted((repr(graph[v][w].get("label")), repr(labels[w])) for w in graph[v])))
            for v in graph
        }
        found += Counter((t, repr(label)) for label in labels.values())
    return found


def triples_by_hand(graph):
    found = Counter()
    for u, reached in nx.all_pairs_shortest_path_length(graph):
        for v, distance in reached.items():
            if u < v:
                found[tuple(sorted(str(graph.nodes[w].get("label")) for w in (u, v))), distance] += 1
    return found


def dot(a, b):
    return float(sum(count * b[key] for key, count in a.items()))


@pytest.mark.parametrize("labeled", [True, False])
def test_weisfeiler_lehman_by_hand(labeled):
    some = molecules(12, labeled=labeled)
    by_hand = [refined_by_hand(graph, 3) for graph in some]
    assert WeisfeilerLehman(3).gram(some).tolist() == [[dot(a, b) for b in by_hand] for a in by_hand]


def best_assignment(graph, other, weights):
    """Assign nodes to nodes so that the weights of equal labels add up to as much as possible."""
    labels, others = (nested_labels(one, len(weights) - 1) for one in (graph, other))
    values = np.array(
        [
            [
                sum(w for w, a, b in zip(weights, *pair, strict=True) if a == b)
                for pair in itertools.product([u], others)
            ]
            for u in labels
        ]
    )
    rows, columns = linear_sum_assignment(values.reshape(len(labels), len(others)), maximize=True)
    return values[rows, columns].sum()


def nested_labels(graph, iterations):
    """Return the labels of each node before and after each refinement, as nested tuples."""
    levels = [{v: repr(graph.nodes[v].get("label")) for v in graph}]
    for _ in range(iterations):
        old = levels[-1]
        around = {v: sorted((repr(graph[v][w].get("label")), old[w]) for w in graph[v]) for v in graph}
        levels.append({v: repr((old[v], around[v])) for v in graph})
    return [[level[v] for level in levels] for v in graph]


@pytest.mark.parametrize("labeled", [True, False])
@pytest.mark.parametrize("weights", [[1.0, 1.0, 1.0], [0.5, 0.0, 2.0], [0.25, 1.0]])
def test_assignments_are_the_best_ones(labeled, weights):
    some = molecules(8, labeled=labeled)
    k = WeisfeilerLehmanAssignment(len(weights) - 1, depth_weights=weights)
    expected = [[best_assignment(graph, other, weights) for other in some] for graph in some]
    np.testing.assert_allclose(k.gram(some), expected, rtol=1e-14)
    if set(weights) == {1.0}:
        assert WeisfeilerLehmanAssignment(2).gram(some).tolist() == expected


@pytest.mark.parametrize("labeled", [True, False])
def test_shortest_paths_by_hand(labeled):
    some = [*molecules(12, labeled=labeled)]
    by_hand = [triples_by_hand(graph) for graph in some]
    assert ShortestPath().gram(some).tolist() == [[dot(a, b) for b in by_hand] for a in by_hand]


def walks_by_hand(graph, longest):
    """Count the walks of each sequence of labels, of up to so many edges."""
    label = {v: graph.nodes[v].get("label") for v in graph}
    ending = {v: Counter({(label[v],): 1}) for v in graph}
    found = sum(ending.values(), Counter())
    for _ in range(longest):
        before, ending = ending, {v: Counter() for v in graph}
        for u, v, edge in graph.to_directed().edges(data="label"):
            for walk, count in before[u].items():
                ending[v][(*walk, edge, label[v])] += count
        found += sum(ending.values(), Counter())
    return found


@pytest.mark.parametrize("labeled", [True, False])
def test_random_walks_by_hand(labeled):
    some, decay = [graph for graph in molecules(20, labeled=labeled) if len(graph) <= 7], 0.001
    by_hand = [walks_by_hand(graph, 5) for graph in some]  # longer ones: below (0.001 * 5^2)^6
    expected = [[sum(decay ** (len(s) // 2) * c * b[s] for s, c in a.items()) for b in by_hand] for a in by_hand]
    np.testing.assert_allclose(RandomWalk(decay).gram(some), expected, rtol=1e-8)


def test_random_walks_of_regular_graphs():
    """A graph with n nodes of degree d has n d^l walks of length l."""
    some = [nx.cycle_graph(5), nx.complete_graph(4), nx.complete_graph(6), nx.empty_graph(3)]
    n, d = np.array([5, 4, 6, 3]), np.array([2, 3, 5, 0])
    for decay in (0.0, 0.01, 1 / 25.0001):
        np.testing.assert_allclose(
            RandomWalk(decay).gram(some), np.outer(n, n) / (1 - decay * np.outer(d, d)), rtol=1e-9
        )
        for graph in some:
            nx.set_node_attributes(graph, "C", "label")
        np.testing.assert_allclose(
            RandomWalk(decay).gram(some), np.outer(n, n) / (1 - decay * np.outer(d, d)), rtol=1e-9
        )
        for graph in some:
            for v in graph:
                del graph.nodes[v]["label"]


@pytest.mark.parametrize("labeled", [True, False])
def test_walks_without_a_finite_sum_are_refused(labeled):
    some = molecules(4, labeled=labeled)
    radii = [np.linalg.eigvalsh(nx.to_numpy_array(graph))[-1] for graph in some]
    k = RandomWalk().resolve(some)
    assert k.decay == pytest.approx(0.5 / max(radii) ** 2) and RandomWalk().unresolved() == ["decay"]
    assert np.linalg.eigvalsh(RandomWalk().gram(some))[0] > 0
    clique = nx.complete_graph(12)
    if labeled:
        nx.set_node_attributes(clique, "C", "label")
        nx.set_edge_attributes(clique, 0, "label")
    with pytest.raises(ValueError, match=r"the walks of graph 1 have no finite sum .* below 0.008264 for this graph"):
        k.cross([some[0], clique], some)
    just = 0.999 / max(radii) ** 2
    assert np.isfinite(RandomWalk(just).gram(some)).all()
    with pytest.raises(ValueError, match=f"the walks of graph {np.argmax(radii)} have no finite sum"):
        RandomWalk(1 / max(radii) ** 2 * 1.0001).gram(some)


def test_walks_of_nothing_but_nodes():
    assert RandomWalk().gram([nx.empty_graph(2), nx.empty_graph(3), nx.empty_graph(0)]).tolist() == [
        [4, 6, 0],
        [6, 9, 0],
        [0, 0, 0],
    ]


@needs("grakel")
def test_grakel_has_the_same_random_walks():
    from grakel import RandomWalk as Theirs
    from grakel import RandomWalkLabeled

    some = [(list(graph.edges), [label for _, label in graph.nodes(data="label")]) for graph in molecules(8)]
    given = [[edges + [(v, u) for u, v in edges], dict(enumerate(labels))] for edges, labels in some]
    theirs = RandomWalkLabeled(lamda=0.01).fit_transform(given)
    sizes = np.array([len(labels) for _, labels in some])
    unequal = np.outer(sizes, sizes) - WeisfeilerLehman(0).gram(some)  # walks of length 0, which count there
    np.testing.assert_allclose(RandomWalk(0.01).gram(some) + unequal, theirs, rtol=1e-3)
    theirs = Theirs(lamda=0.01, method_type="baseline").fit_transform(given)
    np.testing.assert_allclose(
        RandomWalk(0.01).gram([(edges, len(labels)) for edges, labels in some]), theirs, rtol=1e-6
    )


@pytest.mark.parametrize("p", [2, 3, 4, 5])
def test_complements_mirror_the_types(p):
    some = molecules(6, labeled=False)
    counts = Graphlet(p).encode(some)
    mirrored = Graphlet(p).encode([nx.complement(graph) for graph in some])
    types = Graphlet(p).types
    full = 2 ** (p * (p - 1) // 2) - 1
    np.testing.assert_array_equal(mirrored, counts[:, types.of_code[full - types.codes]])


@every_kernel
@given(graph=graphs(), data=st.data())
def test_order_of_nodes_does_not_matter(k, graph, data):
    edges, labels, edge_labels = graph
    order = data.draw(st.permutations(range(len(labels))))
    moved = [(order[v], order[u]) for u, v in edges], [labels[order.index(v)] for v in range(len(labels))], edge_labels
    a, b = (k.encode([one]) for one in (graph, moved))
    if isinstance(a, np.ndarray):
        np.testing.assert_array_equal(a, b)
        return
    for name in ("keys", "counts", "kinds"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


@with_walks
@examples(7)
@given(batch=batches)
def test_gram_is_pairs(k, batch):
    K = k.gram(batch)
    np.testing.assert_allclose(K, [[k(x, z) for z in batch] for x in batch], rtol=1e-14)
    np.testing.assert_allclose(k.diag(batch), K.diagonal(), rtol=1e-14)


# Peers.


@needs("igraph")
def test_igraph_counts_the_same_connected_types():
    import igraph

    some = [nx.gnp_random_graph(n, q, seed=n) for n, q in [(12, 0.3), (20, 0.2), (15, 0.6), (30, 0.1)]]
    for p, kinds in ((3, {2, 3}), (4, {3, 4, 5, 6})):
        ours = Graphlet(p, connected=True).encode(some)
        for row, graph in zip(ours, some, strict=True):
            motifs = np.array(igraph.Graph.from_networkx(graph).motifs_randesu(size=p))
            theirs = motifs[np.isfinite(motifs)]
            assert sorted(theirs.tolist()) == sorted(row.tolist()) and len(kinds) <= len(theirs)


@needs("grakel")
def test_grakel_has_the_same_weisfeiler_lehman_values():
    from grakel import VertexHistogram
    from grakel import WeisfeilerLehman as Theirs

    some = molecules(10)
    for graph in some:
        for _, _, data in graph.edges(data=True):
            del data["label"]
    given = [[list(graph.to_directed().edges), dict(graph.nodes(data="label"))] for graph in some]
    theirs = Theirs(n_iter=3, base_graph_kernel=VertexHistogram).fit_transform(given)
    np.testing.assert_array_equal(WeisfeilerLehman(3).gram(some), theirs)


@needs("grakel")
def test_grakel_has_the_same_optimal_assignments():
    from grakel import WeisfeilerLehmanOptimalAssignment as Theirs

    some = [(list(graph.edges), [label for _, label in graph.nodes(data="label")]) for graph in molecules(10)]
    given = [[edges + [(v, u) for u, v in edges], dict(enumerate(labels))] for edges, labels in some]
    theirs = Theirs(n_iter=3).fit_transform(given)
    np.testing.assert_array_equal(WeisfeilerLehmanAssignment(3).gram(some), theirs)


@pytest.mark.parametrize("p", [3, 4, 5])
def test_identical_graphs_have_identical_graphlets(p):
    """GraKeL's sampler is off by one: there identical graphs get different vectors."""
    graph = molecules(1, seed=5)[0]
    counts = Graphlet(p).encode([graph] * 5)
    assert (counts == counts[0]).all()
    n = len(graph)
    assert counts[0].sum() == len(list(itertools.combinations(range(n), p)))
    k = Graphlet(p, "frequency").normalized()
    np.testing.assert_allclose(k.gram([graph] * 3), 1.0, rtol=1e-14)


# Input.

LABELS = ["C", "O", "C"]
EDGES = [(0, 1), (1, 2)]


def labeled_path():
    graph = nx.Graph()
    graph.add_nodes_from(("abc"[v], {"label": label}) for v, label in enumerate(LABELS))
    graph.add_edges_from([("a", "b"), ("c", "b")])
    return graph


def spellings():
    """The same labeled path."""
    adjacency = nx.to_scipy_sparse_array(nx.path_graph(3))
    yield from [labeled_path(), (EDGES, LABELS), (np.array(EDGES), np.array(LABELS)), (adjacency, LABELS)]
    yield [("x", "y"), ("z", "y")], dict(zip("xyz", LABELS, strict=True))
    yield [(0, 1), (1, 0), (2, 1), (1, 2)], tuple(LABELS)
    yield nx.MultiGraph(labeled_path())
    yield pd.DataFrame(EDGES).to_numpy(), pd.Series(LABELS, index=[7, 8, 9])
    yield np.array(EDGES, np.uint8), pl.Series(LABELS)
    yield np.array(EDGES, np.uint64), LABELS
    if importlib.util.find_spec("igraph"):
        import igraph

        yield igraph.Graph(edges=EDGES, vertex_attrs={"label": LABELS})


@every_kernel
def test_every_spelling_is_the_same_graph(k):
    assert len({k(graph, (EDGES, LABELS)) for graph in spellings()}) == 1
    assert np.ptp(k.gram(list(spellings()))) == 0


def test_unlabeled_spellings():
    k = WeisfeilerLehman()
    same = [nx.path_graph(3), nx.to_scipy_sparse_array(nx.path_graph(3)), (EDGES,), (EDGES, 3), (EDGES, None, None)]
    same.append((sp.coo_array(nx.to_numpy_array(nx.path_graph(3)) * 2.5), 3))
    same += [(EDGES, [None] * 3), ([("a", "b"), ("b", "c")], dict.fromkeys("abc"))]
    if importlib.util.find_spec("igraph"):
        import igraph

        same.append(igraph.Graph(edges=EDGES, vertex_attrs={"label": [None] * 3}, edge_attrs={"label": [None] * 2}))
    assert np.ptp(k.gram(same)) == 0
    assert k((EDGES, 4), (EDGES, 4)) > k((EDGES,), (EDGES,))


def test_edge_labels_are_refined():
    single, double = (EDGES, LABELS, ["-", "-"]), (EDGES, LABELS, ["-", "="])
    assert WeisfeilerLehman(0)(single, double) == WeisfeilerLehman(0)(single, single)
    assert WeisfeilerLehman(1)(single, double) < WeisfeilerLehman(1)(single, single)
    assert ShortestPath()(single, double) == ShortestPath()(single, single)


def test_labels_of_any_kind():
    k = WeisfeilerLehman()
    for labels in ([1, 2, 1], ["a", "b", "a"], [(1, "x"), (2, "y"), (1, "x")], [b"a", b"b", b"a"], [1.5, 2.5, 1.5]):
        assert k((EDGES, labels), (EDGES, labels)) == k((EDGES, LABELS), (EDGES, LABELS))
    assert k((EDGES, [1, 2, 1]), (EDGES, np.array([1.0, 2.0, 1.0]))) == k((EDGES, LABELS), (EDGES, LABELS))
    assert k((EDGES, ["1", "2", "1"]), (EDGES, [1, 2, 1])) == 0
    assert k((EDGES, [(("a",), "b")] * 3), (EDGES, [(("a", "b"),)] * 3)) == 0, "nested in another way"


def test_labels_are_the_same_in_every_process():
    code = (
        "from similitude.kernels import WeisfeilerLehman as W; k = W(); "
        "print(k.encode([([(0, 1), (1, 2)], ['C', 'O', 'C'])]).keys.tolist())"
    )
    keys = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "12"
    ]
    assert keys[0] == keys[1] == f"{WeisfeilerLehman().encode([(EDGES, LABELS)]).keys.tolist()}\n"


def same_arrays(some, others):
    for name in ("starts", "labels"):
        np.testing.assert_array_equal(getattr(some, name), getattr(others, name))
    for name in ("starts", "nodes", "labels"):
        np.testing.assert_array_equal(getattr(some.neighbors, name), getattr(others.neighbors, name))


def test_slices_of_graphs():
    some = as_graphs(molecules(5))
    for which in (slice(1, 3), np.array([4, 0, 0]), slice(None, None, 2), slice(3, 1)):
        part = some[which]
        alone = [molecules(5)[i] for i in np.arange(5)[which]]
        assert len(part) == len(alone)
        if alone:
            arrays = [
                (*structure, *labels)
                for structure, *labels in (part.labeled_structure, as_graphs(alone).labeled_structure)
            ]
            for own, expected in zip(*arrays, strict=True):
                np.testing.assert_array_equal(own, expected)


@with_walks
def test_empty_graphs(k):
    nothing, lonely, scattered = nx.empty_graph(0), nx.empty_graph(1), nx.empty_graph(6)
    K = k.gram([nothing, lonely, scattered, ([],), ([], 0)])
    assert np.isfinite(K).all() and (K[[0, 3, 4]] == 0).all()
    assert np.isfinite(k.normalized().gram([nothing, lonely, scattered])).all()
    if isinstance(k, ShortestPath):
        assert (K == 0).all()


# Bad input.


def without_label():
    graph = labeled_path()
    del graph.nodes["b"]["label"]
    return graph


def half_labeled_edges():
    graph = labeled_path()
    graph.edges["a", "b"]["label"] = 1
    return graph


BAD = [
    ("abc", TypeError, "object 1 is not a graph but 'abc'"),
    (None, TypeError, "object 1 is not a graph but None"),
    (3, TypeError, "object 1 is not a graph but 3"),
    (np.eye(3), TypeError, "object 1 is not a graph"),
    (nx.DiGraph([(0, 1)]), ValueError, "graph 1 is directed"),
    (sp.csr_array([[0, 1], [0, 0]]), ValueError, "graph 1 has an edge from node 0 to node 1 but none back"),
    (sp.csr_array([[0, 1, 0], [1, 0, 0]]), ValueError, "graph 1 is a matrix of shape"),
    (sp.csr_array(np.eye(2)), ValueError, "graph 1 has a self-loop at node 0"),
    (([(0, 1), (2, 2)], LABELS), ValueError, "graph 1 has a self-loop at node 2"),
    (nx.Graph([("a", "b"), ("b", "b")]), ValueError, "graph 1 has a self-loop at node 'b'"),
    (([(0, 3)], LABELS), ValueError, r"graph 1 has 3 nodes, numbered from 0, and an edge \(0, 3\)"),
    (([(0, -1)], LABELS), ValueError, r"graph 1 has 3 nodes, numbered from 0, and an edge \(0, -1\)"),
    (([(0, 1, 2)], LABELS), TypeError, "the edges of graph 1"),
    ((["ab"], LABELS), TypeError, "the edges of graph 1"),
    (([(0, 1), (2,)], LABELS), TypeError, "the edges of graph 1"),
    (([(0.5, 1)], LABELS), TypeError, "the edges of graph 1"),
    ((7, LABELS), TypeError, "the edges of graph 1"),
    ((EDGES, "COC"), TypeError, "the node labels of graph 1 are 'COC'"),
    ((EDGES, 2.5), TypeError, "the node labels of graph 1 are 2.5"),
    ((EDGES, {"C"}, None), TypeError, "the node labels of graph 1"),
    (([], -1), ValueError, "graph 1 cannot have -1 nodes"),
    (([("x", "q")], {"x": 1}), ValueError, "graph 1: each edge is a pair of nodes that have a label, got 'q'"),
    ((EDGES, ["C", None, "C"]), ValueError, "node 1 of graph 1 has no label"),
    ((EDGES, [1.0, np.nan, 1.0]), ValueError, "node 1 of graph 1 has no label"),
    ((EDGES, ["C", pd.NA, "C"]), ValueError, "node 1 of graph 1 has no label"),
    ((np.array([[0, 2**63]], np.uint64), LABELS), ValueError, "graph 1 has an edge to node 9223372036854775808"),
    ((nx.to_scipy_sparse_array(RING), "COCO"), TypeError, "the node labels of graph 1 are 'COCO'"),
    ((nx.to_scipy_sparse_array(RING), 5), ValueError, "graph 1 has 4 nodes by its adjacency matrix and 5"),
    (without_label(), ValueError, "node 'b' of graph 1 has no label"),
    ((EDGES,), ValueError, "graph 1 has no node labels, graph 0 has"),
    ((EDGES, LABELS, [1, 2]), ValueError, "graph 0 has no edge labels, graph 1 has"),
    ((EDGES, LABELS, [1]), ValueError, "graph 1 has 2 edges and 1 edge labels"),
    (half_labeled_edges(), ValueError, "graph 0 has no edge labels, graph 1 has"),
    ((nx.to_scipy_sparse_array(RING), LABELS), ValueError, "graph 1 has 4 nodes by its adjacency matrix and 3"),
    ((nx.to_scipy_sparse_array(RING), LABELS, [1]), ValueError, "graph 1 is an adjacency matrix"),
]


@pytest.mark.parametrize(("graph", "kind", "message"), BAD, ids=lambda value: str(value)[:40].replace("\n", " "))
def test_bad_graphs_are_named(graph, kind, message):
    with pytest.raises(kind, match=message):
        WeisfeilerLehman().gram([(EDGES, LABELS), graph])


@pytest.mark.parametrize("graph", [PATH, nx.to_scipy_sparse_array(PATH)], ids=["networkx", "adjacency"])
def test_a_single_graph_is_no_list_of_graphs(graph):
    with pytest.raises(TypeError, match="pass a list of graphs"):
        WeisfeilerLehman().gram(graph)


@pytest.mark.parametrize(
    "k", [WeisfeilerLehman(2), WeisfeilerLehmanAssignment(2), ShortestPath(), RandomWalk(0.1)], ids=repr
)
def test_graphs_with_labels_do_not_meet_graphs_without(k):
    """They came in two batches, such as those to learn from and those to predict: all values would be 0."""
    with pytest.raises(ValueError, match="the nodes of some graphs have labels, those of others none"):
        k.cross([(EDGES, LABELS)], [(EDGES,)])
    if not isinstance(k, RandomWalk):
        with pytest.raises(ValueError, match="the nodes of some graphs"):
            explicit_map(k, [(EDGES,)], like=[(EDGES, LABELS)])
    assert k.cross([(EDGES, LABELS)], [([],), ([], 0)]).tolist() == [[0, 0]], "without nodes there are no labels"
    assert k.cross([(EDGES, LABELS)], [([], ["N"])]).tolist() == [[0]], "without edges none of edges"
    if not isinstance(k, ShortestPath):
        with pytest.raises(ValueError, match="the edges of some graphs"):
            k.cross([(EDGES, LABELS)], [(EDGES, LABELS, ["-", "="])])


def test_bad_edge_labels_are_named():
    with pytest.raises(ValueError, match="the edge between nodes 'b' and 'c' of graph 0 has no label"):
        WeisfeilerLehman().gram([half_labeled_edges()])
    several = [(0, 1), (1, 2), (1, 0)], LABELS, ["-", "-", "="]
    with pytest.raises(ValueError, match=r"graph 0 has several edges between nodes 0 and 1|nodes 1 and 0"):
        WeisfeilerLehman().gram([several])
    assert np.isfinite(WeisfeilerLehman().gram([(several[0], LABELS, ["-", "=", "-"])])).all()


@pytest.mark.parametrize(
    ("k", "message"),
    [
        (WeisfeilerLehman(-1), "iterations must be an integer from 0 to 100"),
        (WeisfeilerLehman(1.5), "iterations"),
        (WeisfeilerLehman(True), "iterations"),
        (WeisfeilerLehmanAssignment(101), "iterations must be an integer from 0 to 100"),
        (WeisfeilerLehmanAssignment(2, depth_weights=[1, 1]), "depth_weights must be 3 numbers >= 0"),
        (WeisfeilerLehmanAssignment(1, depth_weights="ab"), "depth_weights must be 2 numbers"),
        (WeisfeilerLehmanAssignment(1, depth_weights=1.0), "depth_weights must be 2 numbers"),
        (WeisfeilerLehmanAssignment(1, depth_weights=[1, -1]), r"depth_weights\[1\] must be a number >= 0"),
        (WeisfeilerLehmanAssignment(1, depth_weights=[0, 0]), "every depth has weight 0"),
        (RandomWalk(-0.1), "decay must be a number >= 0 or 'auto'"),
        (RandomWalk("median"), "decay must be a number >= 0 or 'auto', got 'median'"),
        (RandomWalk(np.nan), "decay must be a number >= 0"),
        (Graphlet(1), "p must be an integer from 2 to 5"),
        (Graphlet(6), "p must be"),
        (Graphlet(3, "count"), "mode must be one of 'counts', 'presence', 'frequency'"),
        (Graphlet(3, connected="yes"), "connected must be True or False"),
    ],
    ids=repr,
)
def test_bad_parameters_are_named(k, message):
    with pytest.raises(ValueError, match=message):
        k.gram([PATH])


# With the rest of the library.


@with_walks
def test_claims_survive_a_search(k):
    verdict = check_kernel(k, molecules(20))
    assert verdict.verdict == "VALID"
    unproven = FromPairs(lambda x, z: k(x, z), claims=["SYMMETRIC"])
    assert check_kernel(unproven, molecules(9)).verdict != "INVALID"


@pytest.mark.parametrize("k", [WeisfeilerLehman(2), ShortestPath(), Graphlet(4, "frequency")], ids=repr)
def test_maps_and_learners(k):
    some = molecules(40)
    y = np.array([graph.number_of_edges() - len(graph) for graph in some])
    model = KernelSVC(clone(k).normalized(), C=10.0).fit(some, y)
    assert (model.predict(some) == y).mean() > 0.6
    features = LandmarkMap(k, n_components=10, random_state=0).fit_transform(some)
    assert features.shape == (40, 10)


def test_threads_change_nothing():
    some = molecules(60)
    with use_engine(LocalEngine(threads=1)):
        expected = WeisfeilerLehman().gram(some)
    with use_engine(LocalEngine(threads=4)):
        np.testing.assert_array_equal(WeisfeilerLehman().gram(some), expected)
    big = some * 40
    with use_engine(LocalEngine(threads=4)):
        np.testing.assert_array_equal(WeisfeilerLehman().gram(big), np.tile(expected, (40, 40)))


def test_names():
    assert as_similarity("weisfeiler_lehman") == WeisfeilerLehman()
    assert as_similarity("shortest_path") == ShortestPath() and as_similarity("graphlet") == Graphlet()


# Features.


@pytest.mark.parametrize(
    "k",
    [*KERNELS, WeisfeilerLehman(2).normalized(), WeisfeilerLehman(1) * Graphlet() + 1.0, 0.5 * ShortestPath() ** 2],
    ids=repr,
)
def test_explicit_features(k):
    some = [*molecules(8), ([], 0)]
    features = explicit_map(k, some)
    products = features @ features.T
    products = products.toarray() if sp.issparse(products) else products
    np.testing.assert_allclose(products, k.gram(some), rtol=1e-12)


@pytest.mark.parametrize(
    "k", [WeisfeilerLehman(), WeisfeilerLehmanAssignment(), ShortestPath(), WeisfeilerLehman().normalized()], ids=repr
)
def test_features_of_new_graphs_meet_those_known(k):
    some, new = molecules(10), [*molecules(16)[10:], ([], 0)]
    known, others = explicit_map(k, some), explicit_map(k, new, like=some)
    assert known.shape[1] == others.shape[1]
    np.testing.assert_allclose((others @ known.T).toarray(), k.cross(new, some), rtol=1e-12)
    np.testing.assert_allclose((others.multiply(others)).sum(axis=1), k.diag(new), rtol=1e-12)


@pytest.mark.parametrize("k", [WeisfeilerLehman(2), ShortestPath().normalized()], ids=repr)
def test_a_linear_learner_takes_the_features(k):
    some = molecules(40)
    y = np.array([graph.number_of_edges() > len(graph) for graph in some])
    features = explicit_map(k, some)
    assert features.indices.dtype == features.indptr.dtype == np.int32
    assert LinearSVC(C=100.0, max_iter=100_000).fit(features, y).score(features, y) > 0.8


def test_dimensions_of_features():
    assert [explicit_dimension(Graphlet(p), 0) for p in (2, 3, 4, 5)] == [2, 4, 11, 34]
    assert explicit_dimension(Graphlet(5, connected=True), 0) == 21
    assert explicit_dimension(WeisfeilerLehman() * Graphlet(3), 100) == 400


def test_graphs_of_networkx_are_read_as_their_nodes_and_edges_say():
    named = nx.Graph([("b", "a", {"label": 1}), ("a", "c", {"label": 2})])
    nx.set_node_attributes(named, {"a": "x", "b": "y", "c": "x"}, "label")
    numbered = nx.cycle_graph(5)
    shuffled = nx.relabel_nodes(numbered, {0: 3, 3: 0})
    part = nx.path_graph(6).subgraph([1, 2, 3, 5])
    several = nx.MultiGraph([(0, 1), (0, 1), (1, 2)])
    graphs = [nx.Graph(), named, nx.empty_graph(3), numbered, ([(0, 1)],), shuffled, part, several]
    numbers = [nx.Graph(), numbered, shuffled, nx.empty_graph(3), several]
    read = [*parse_graphs(graphs), *parse_graphs(numbers), *parse_graphs([numbered, part])]
    for graph, found in zip([*graphs, *numbers, numbered, part], read, strict=True):
        if isinstance(graph, tuple):
            assert (found.nodes, found.ends.tolist()) == (2, [[0, 1]])
            continue
        assert found.names == list(graph)
        pairs = [tuple(found.names[node] for node in pair) for pair in found.ends.tolist()]
        assert len(pairs) == graph.number_of_edges()
        assert {frozenset(pair) for pair in pairs} == {frozenset(edge[:2]) for edge in graph.edges}
        if graph is named:
            assert found.labels == ["y", "x", "x"]
            assert found.edge_labels == [graph.edges[pair]["label"] for pair in pairs]
        else:
            assert found.labels is None
            assert found.edge_labels is None
    assert all(one.edge_labels is None for one in parse_graphs(graphs, edge_labels=False))
