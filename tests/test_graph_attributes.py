"""Attributes of the nodes of graphs: input, kernels against their definitions, peers, errors, saved models."""

import importlib.util
import itertools
import warnings

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from similitude import FromPairs, SimilarityClassifier, as_similarity, check_kernel, load, save, use_engine
from similitude.engines import LocalEngine
from similitude.kernels import (
    Gaussian,
    Graphlet,
    Laplace,
    Linear,
    Polynomial,
    ShortestPath,
    Sigmoid,
    Spectrum,
    WeisfeilerLehman,
    explicit_map,
)
from similitude.kernels.graphs import as_graphs, is_graph, node_pairs
from similitude.kernels.graphs.node_pairs import path_positions
from similitude.learners import KernelSVC

BASES = [Gaussian(0.8), Linear(), Polynomial(2), Laplace(1.0)]
WITH_ATTRIBUTES = [ShortestPath(Gaussian(0.8)), WeisfeilerLehman(2, attributes=Gaussian(0.8))]
every_kernel = pytest.mark.parametrize("k", WITH_ATTRIBUTES, ids=lambda k: type(k).__name__)
SIZES = [1, 4, 6, 7, 9, 12, 3, 5]


def needs(package):
    return pytest.mark.skipif(importlib.util.find_spec(package) is None, reason=f"missing: {package}")


def attributed(sizes=SIZES, labeled=False, width=2, seed=0):
    """Return random graphs of networkx, some of them not connected, with attributes."""
    rng = np.random.default_rng(seed)
    found = []
    for i, n in enumerate(sizes):
        graph = nx.gnp_random_graph(n, 0.35, seed=seed + i)
        nx.set_node_attributes(graph, {v: rng.normal(size=width) for v in graph}, "attributes")
        if labeled:
            nx.set_node_attributes(graph, {v: "CNO"[rng.integers(3)] for v in graph}, "label")
        found.append(graph)
    return found


def vectors_of(graph):
    return {v: np.atleast_1d(graph.nodes[v]["attributes"]) for v in graph}


# Kernels as their definitions say.


def all_shortest_paths(graph):
    return [path for u in graph for v in nx.node_connected_component(graph, u) for path in all_between(graph, u, v)]


def all_between(graph, u, v):
    return [[u]] if u == v else list(nx.all_shortest_paths(graph, u, v))


def node_kernel(base, graph, other):
    """Return the base kernel of each pair of nodes, 0 where labels differ."""
    mine, theirs = vectors_of(graph), vectors_of(other)
    return {
        (u, v): base(mine[u], theirs[v]) * (graph.nodes[u].get("label") == other.nodes[v].get("label"))
        for u, v in itertools.product(mine, theirs)
    }


def hopper_by_hand(base, graph, other):
    """Compare all pairs of shortest paths of equal length, node by node."""
    value = node_kernel(base, graph, other)
    pairs = itertools.product(all_shortest_paths(graph), all_shortest_paths(other))
    return sum(value[u, v] for p, q in pairs if len(p) == len(q) for u, v in zip(p, q, strict=True))


def propagated_by_hand(graph, rounds):
    """Return the graph with the attributes of all rounds."""
    current, rows = vectors_of(graph), {v: [x] for v, x in vectors_of(graph).items()}
    for _ in range(rounds):
        around = {v: [current[w] for w in graph[v]] or [current[v]] for v in graph}
        current = {v: (current[v] + np.mean(around[v], axis=0)) / 2 for v in graph}
        for v, x in current.items():
            rows[v].append(x)
    made = graph.copy()
    nx.set_node_attributes(made, {v: np.concatenate(some) for v, some in rows.items()}, "attributes")
    return made


def neighborhoods_by_hand(base, rounds, graph, other):
    return sum(node_kernel(base, propagated_by_hand(graph, rounds), propagated_by_hand(other, rounds)).values())


@pytest.mark.parametrize("labeled", [True, False])
@pytest.mark.parametrize("base", BASES, ids=repr)
def test_paths_are_compared_node_by_node(base, labeled):
    some = attributed(SIZES[:5], labeled)
    expected = [[hopper_by_hand(base, graph, other) for other in some] for graph in some]
    np.testing.assert_allclose(ShortestPath(base).gram(some), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("labeled", [True, False])
@pytest.mark.parametrize(("base", "rounds"), [(Gaussian(0.8), 0), (Gaussian(0.8), 3), (Linear(), 1), (Laplace(1.0), 2)])
def test_neighborhoods_are_compared_in_pairs(base, rounds, labeled):
    some = attributed(labeled=labeled)[:6]
    expected = [[neighborhoods_by_hand(base, rounds, graph, other) for other in some] for graph in some]
    k = WeisfeilerLehman(rounds, attributes=base)
    np.testing.assert_allclose(k.gram(some), expected, rtol=1e-12, atol=1e-12)


def test_positions_on_paths():
    """Every path with l edges has l + 1 positions; counts of many paths are products of binomials in a grid."""
    for graph in [*attributed(), nx.grid_2d_graph(4, 5), nx.path_graph(9), nx.hypercube_graph(4)]:
        counts = path_positions(as_graphs([graph], nodes=False)).toarray()
        paths = [len(path) - 1 for path in all_shortest_paths(graph)]
        for length in range(max(paths) + 1):
            first = (length + 1) ** 2 // 4
            positions = counts[:, first : first + length // 2 + 1].sum(axis=0)
            assert positions.tolist() == [paths.count(length)] * (length // 2 + 1)


def test_sources_in_several_groups(monkeypatch):
    some = as_graphs(attributed(), nodes=False)
    whole = path_positions(some).toarray()
    monkeypatch.setattr("similitude.kernels.graphs.node_pairs.STEPS_AT_ONCE", 40)
    assert path_positions(some).toarray().tolist() == whole.tolist()


def test_positions_that_take_too_much_memory_are_refused():
    graphs = [([(0, 1)], None, None, [1.0, 2.0]), nx.path_graph(80)]
    nx.set_node_attributes(graphs[1], 1.0, "attributes")
    with (
        use_engine(LocalEngine(memory="1MiB")),
        pytest.raises(MemoryError, match="graph 1 has shortest paths of 79 edges"),
    ):
        ShortestPath(Linear()).encode(graphs)


@every_kernel
@pytest.mark.parametrize("most", [1, 5, 17])
def test_nodes_in_several_groups(k, most, monkeypatch):
    some = [*attributed(labeled=True)[:6], nx.empty_graph(0)]
    whole = k.gram(some)
    monkeypatch.setattr(node_pairs, "MOST_NODES", most)
    monkeypatch.setattr(node_pairs, "COLUMNS_AT_ONCE", most)
    np.testing.assert_allclose(k.gram(some), whole, rtol=1e-12)


@every_kernel
def test_constant_attributes_count_nodes_and_paths(k):
    """Equal attributes have similarity 1, whatever their neighborhood."""
    some = [nx.path_graph(3), nx.cycle_graph(5), nx.star_graph(3)]
    for graph in some:
        nx.set_node_attributes(graph, 0.5, "attributes")
    if isinstance(k, WeisfeilerLehman):
        expected = np.outer([3, 5, 4], [3, 5, 4])
    else:
        paths = np.array([[3, 4, 2], [5, 10, 10], [4, 6, 6]])  # with 0, 1 and 2 edges
        expected = (paths * [1, 2, 3]) @ paths.T
    np.testing.assert_allclose(k.gram(some), expected, rtol=1e-14)


@every_kernel
@given(seed=st.integers(0, 10**6), labeled=st.booleans())
def test_order_of_nodes_does_not_matter(k, seed, labeled):
    rng = np.random.default_rng(seed)
    some = attributed([3, 6, 5], labeled, seed=seed)
    moved = [nx.Graph() for _ in some]
    for graph, other in zip(some, moved, strict=True):
        other.add_nodes_from((v, graph.nodes[v]) for v in rng.permutation(len(graph)).tolist())
        other.add_edges_from(graph.edges)
    np.testing.assert_allclose(k.cross(moved, some), k.gram(some), rtol=1e-12)


@every_kernel
def test_kernels_of_one_number_or_many(k):
    narrow = attributed(width=1)
    listed = [graph.copy() for graph in narrow]
    for graph in listed:
        nx.set_node_attributes(graph, {v: float(x[0]) for v, x in vectors_of(graph).items()}, "attributes")
    assert k.gram(listed).tolist() == k.gram(narrow).tolist()
    wide = attributed(width=40)  # distances by matrix products
    assert np.linalg.eigvalsh(k.gram(wide))[0] > -1e-9


# Proofs.


@pytest.mark.parametrize("made", [lambda base: ShortestPath(base), lambda base: WeisfeilerLehman(1, attributes=base)])
def test_proofs_follow_from_the_base_kernel(made):
    k = made(Gaussian())
    assert k.proven and k.claims == {"SYMMETRIC", "PSD"} and "Schoenberg" in str(k.proof())
    assert check_kernel(k).verdict == "VALID" and check_kernel(k.normalized()).verdict == "VALID"
    assert made(None).proven and made(None).hints.finite
    indefinite = made(Sigmoid(1.0, 0.0))
    assert "PSD" not in indefinite.claims and not indefinite.proven and "SYMMETRIC" in indefinite.claims
    unknown = made(FromPairs(lambda x, z: float(x @ z)))
    assert not unknown.claims and not unknown.hints.threadsafe


def test_a_base_that_is_no_kernel_is_refuted():
    k = ShortestPath(FromPairs(lambda x, z: abs(float(x[0] - z[0])), claims=["SYMMETRIC"]))
    assert check_kernel(k, [([], 1, None, [[0.0]]), ([], 1, None, [[1.0]])]).verdict == "INVALID"


@every_kernel
def test_base_kernels_of_users(k):
    ours = k.with_params(attributes=Gaussian(1.0))
    theirs = k.with_params(attributes=FromPairs(lambda x, z: float(np.exp(-((x - z) ** 2).sum() / 2))))
    some = attributed(SIZES[:4])
    np.testing.assert_allclose(theirs.gram(some), ours.gram(some), rtol=1e-12)


# Data-dependent parameters.


def test_widths_are_medians_over_nodes():
    some = attributed()
    nodes = np.concatenate([np.array(list(vectors_of(graph).values())) for graph in some])
    assert ShortestPath(Gaussian()).unresolved() == ["attributes__sigma"]
    assert ShortestPath(Gaussian()).resolve(some).attributes == Gaussian().resolve(nodes)
    k = WeisfeilerLehman(2, attributes=Gaussian())
    assert k.unresolved() == ["attributes__sigma"]
    spread = [propagated_by_hand(graph, 2) for graph in some]
    nodes = np.concatenate([np.array(list(vectors_of(graph).values())) for graph in spread])
    assert k.resolve(some).attributes.sigma == pytest.approx(Gaussian().resolve(nodes).sigma, rel=1e-12)
    weights = [0, 0, 1, 1, 0, 0, 0, 0]
    assert ShortestPath(Gaussian()).resolve(some, None, weights) == ShortestPath(Gaussian()).resolve(some[2:4])
    with pytest.raises(ValueError, match="the graphs have no nodes: nothing tells how large"):
        ShortestPath(Gaussian()).resolve([nx.empty_graph(0)])


def test_parameters_of_the_base_kernel():
    k = clone(ShortestPath(Gaussian())).set_params(attributes__sigma=2.0)
    assert k == ShortestPath(Gaussian(2.0)) and repr(k) == "ShortestPath(attributes=Gaussian(sigma=2.0))"
    assert repr(ShortestPath()) == "ShortestPath()" and repr(WeisfeilerLehman(2)) == "WeisfeilerLehman(iterations=2)"
    k = as_similarity("weisfeiler_lehman(2, attributes=gaussian(sigma=0.5)).normalized()")
    assert k == WeisfeilerLehman(2, attributes=Gaussian(0.5)).normalized() and as_similarity(repr(k)) == k


# Input.


def spellings():
    vectors = [[0.5, 1.0], [2.0, -1.0], [0.0, 3.0]]
    ends, labels = [(0, 1), (1, 2)], ["C", "O", "C"]
    graph = nx.Graph(ends)
    nx.set_node_attributes(graph, dict(enumerate(labels)), "label")
    nx.set_node_attributes(graph, dict(enumerate(vectors)), "attributes")
    names = nx.relabel_nodes(graph, {0: "a", 1: "b", 2: "c"})
    named = [("a", "b"), ("b", "c")]
    yield graph
    yield names
    yield nx.MultiGraph(graph)
    yield ends, labels, None, vectors
    yield ends, labels, ["x", "x"], np.array(vectors, np.float32)
    yield named, dict(zip("abc", labels, strict=True)), None, vectors
    yield named, dict(zip("abc", labels, strict=True)), None, dict(zip("cab", [vectors[2], *vectors[:2]], strict=True))
    yield sp.csr_array(nx.to_numpy_array(graph)), labels, None, np.array(vectors)
    if importlib.util.find_spec("igraph"):
        import igraph

        yield igraph.Graph(n=3, edges=ends, vertex_attrs={"label": labels, "attributes": vectors})


@every_kernel
def test_every_spelling_is_the_same_graph(k):
    assert all(map(is_graph, spellings()))
    first, *others = spellings()
    value = k(first, first)
    assert all(k(first, other) == value for other in others)
    assert k(([(0, 1)], None, None, [1, 2]), ([(0, 1)], 2, None, {0: [1.0], 1: [2.0]})) > 0


def test_kernels_without_a_base_ignore_attributes():
    some = [graph for graph in spellings() if isinstance(graph, tuple)]
    for k in (ShortestPath(), WeisfeilerLehman(), Graphlet()):
        given = [graph for graph in some if graph[2] is None or k != WeisfeilerLehman()]  # one has labels of edges
        assert k.gram(given).tolist() == k.gram([graph[:3] for graph in given]).tolist()


@every_kernel
def test_graphs_without_nodes_or_edges(k):
    nothing, point = nx.empty_graph(0), ([], 1, None, [[1.0, 2.0]])
    assert k.gram([nothing, nothing]).tolist() == [[0, 0], [0, 0]]
    assert k.gram([nothing, point]).tolist() == [[0, 0], [0, 1]]
    assert k.cross([nothing], [point]).tolist() == [[0]] and k.diag([point, nothing]).tolist() == [1, 0]


def with_attributes(values, names="abc"):
    graph = nx.path_graph(list(names))
    nx.set_node_attributes(graph, {v: x for v, x in zip(names, values, strict=True) if x is not None}, "attributes")
    return graph


@every_kernel
@pytest.mark.parametrize(
    ("graph", "kind", "message"),
    [
        (with_attributes([[1.0], [2.0], None]), ValueError, "node 'c' of graph 1 has no attributes, other nodes have"),
        (with_attributes([1.0, None, 2.0]), ValueError, "node 'b' of graph 1 has no attributes"),
        (with_attributes([None, None, None]), ValueError, "graph 1 has no node attributes: give each node a vector"),
        (
            with_attributes([[1.0], [2.0, 3.0], [1.0]]),
            ValueError,
            "node 'b' of graph 1 has 2 attributes, node 'a' has 1",
        ),
        (with_attributes([[1.0, 2.0]] * 3), ValueError, "each node of graph 1 has 2 attributes, of graph 0 1"),
        (with_attributes([[1.0], [np.nan], [1.0]]), ValueError, "attribute 0 of node 'b' of graph 1 is nan"),
        (with_attributes([1.0, 2.0, np.inf]), ValueError, "attribute 0 of node 'c' of graph 1 is inf"),
        (
            with_attributes([["x"], ["y"], ["z"]]),
            TypeError,
            "the attributes of node 'a' of graph 1 are .* a vector of n",
        ),
        (with_attributes([[], [], []]), TypeError, "the attributes of node 'a' of graph 1 are"),
        (([(0, 1)], ["C", "O"], None, [[1.0]]), ValueError, "graph 1 has 2 nodes and 1 rows of node attributes"),
        (([(0, 1)], None, None, [[1.0]]), ValueError, r"graph 1 has 1 nodes, numbered from 0, and an edge \(0, 1\)"),
        (([(0, 1)], None, None, 3.0), TypeError, "the node attributes of graph 1 are 3.0: give a matrix with a row"),
        (([(0, 1)], 2, None, {0: [1.0]}), ValueError, "node 1 of graph 1 has no attributes"),
        (([(0, 1)], 2, None, {0: 1.0, 7: 1.0}), ValueError, "graph 1 has no node 7, but attributes of it"),
        (([(0, 1)],), ValueError, "graph 1 has no node attributes: .* 'attributes' in networkx and igraph"),
    ],
)
def test_bad_attributes_are_named(k, graph, kind, message):
    with pytest.raises(kind, match=message):
        k.gram([([(0, 1)], None, None, [[1.0], [2.0]]), graph])


@every_kernel
def test_widths_of_new_graphs(k):
    with pytest.raises(ValueError, match="the nodes of some graphs have 2 attributes, those of others 3"):
        k.cross(attributed(width=2), attributed(width=3))
    with pytest.raises(ValueError, match="the nodes of some graphs have labels, those of others none"):
        k.cross(attributed(), attributed(labeled=True))


@pytest.mark.parametrize(
    ("k", "kind", "message"),
    [
        (ShortestPath("gaussian"), TypeError, "attributes must be a kernel of vectors, such as Gaussian"),
        (ShortestPath(Spectrum(2)), TypeError, "attributes must be a kernel of vectors"),
        (WeisfeilerLehman(attributes=ShortestPath()), TypeError, "attributes must be a kernel of vectors"),
        (ShortestPath(Gaussian(-1.0)), ValueError, "attributes: sigma must be"),
        (WeisfeilerLehman(weights="idf", attributes=Linear()), ValueError, "weights are those of refined labels"),
    ],
)
def test_bad_parameters_are_named(k, kind, message):
    with pytest.raises(kind, match=message):
        k.gram(attributed())


@every_kernel
def test_what_attributes_do_not_have(k):
    with pytest.raises(TypeError, match="has no finite feature map"):
        explicit_map(k, attributed())
    if isinstance(k, WeisfeilerLehman):
        model = SimilarityClassifier(k.learned())
        with pytest.raises(TypeError, match="compares attributes of nodes: it has no weights"):
            model.fit(attributed(), [0, 1] * 4)


@every_kernel
def test_values_do_not_depend_on_other_graphs(k, monkeypatch):
    monkeypatch.setattr(node_pairs, "MOST_NODES", 8)
    some = attributed([3, 9, 30, 2, 7, 8, 17], labeled=True)
    K = k.gram(some)
    for i, j in itertools.combinations_with_replacement(range(len(some)), 2):
        assert k(some[i], some[j]) == K[i, j]


# Use.


@every_kernel
def test_learners_engines_and_files(k, tmp_path):
    some = attributed([5] * 12, labeled=True)
    y = np.arange(12) % 2
    for graph, label in zip(some, y, strict=True):
        for v in graph:
            graph.nodes[v]["attributes"] = graph.nodes[v]["attributes"] + label
    unresolved = k.with_params(attributes=Gaussian()).normalized()
    model = KernelSVC(unresolved).fit(some, y)
    assert (model.predict(some) == y).mean() > 0.8
    save(model, tmp_path / "model.sim")
    assert load(tmp_path / "model.sim").predict(some).tolist() == model.predict(some).tolist()
    with use_engine(LocalEngine(threads=2)):
        np.testing.assert_allclose(unresolved.gram(some), k.with_params(attributes=Gaussian()).normalized().gram(some))


def test_saved_graphs_keep_their_attributes(tmp_path):
    some = list(spellings())
    save(some, tmp_path / "graphs.sim")
    k = ShortestPath(Gaussian(1.0))
    assert k.gram(load(tmp_path / "graphs.sim")).tolist() == k.gram(some).tolist()


# Peers.


@needs("grakel")
def test_grakel_has_the_same_graph_hopper():
    from grakel import GraphHopper

    some = [nx.random_labeled_tree(n, seed=n) for n in (4, 7, 9, 12)]
    some += [nx.cycle_graph(6), nx.grid_graph((3, 3)), nx.complete_graph(4)]
    rng = np.random.default_rng(0)
    some = [nx.convert_node_labels_to_integers(graph) for graph in some]
    for graph in some:
        nx.set_node_attributes(graph, {v: rng.normal(size=3).tolist() for v in graph}, "attributes")
    given = [[nx.to_numpy_array(graph), dict(graph.nodes(data="attributes"))] for graph in some]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = GraphHopper(kernel_type=("gaussian", 0.3)).fit_transform(given)
        linear = GraphHopper(kernel_type="linear").fit_transform(given)
    np.testing.assert_allclose(ShortestPath(Gaussian.from_gamma(0.3)).gram(some), theirs, rtol=1e-10)
    np.testing.assert_allclose(ShortestPath(Linear()).gram(some), linear, rtol=1e-8, atol=1e-8)
