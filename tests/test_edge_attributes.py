"""Attributes of the edges of graphs: the kernel against its definition, input, errors, files, and what "auto" tries."""

import itertools

import networkx as nx
import numpy as np
import pytest

from similitude import SimilarityClassifier, as_similarity, check_kernel, load, save
from similitude.kernels import (
    Gaussian,
    Laplace,
    Linear,
    Spectrum,
    WeisfeilerLehman,
    WeisfeilerLehmanEdges,
    family_of,
    pair_cost,
    pilot_rows,
)
from similitude.kernels.graphs import as_graphs, is_graph


def attributed(sizes=(1, 4, 6, 7, 3), labeled=False, seed=0):
    """Return random graphs of networkx whose edges have two attributes."""
    rng = np.random.default_rng(seed)
    found = []
    for i, n in enumerate(sizes):
        graph = nx.gnp_random_graph(n, 0.5, seed=seed + i)
        nx.set_edge_attributes(graph, {e: rng.normal(size=2) for e in graph.edges}, "attributes")
        if labeled:
            nx.set_node_attributes(graph, {v: "CO"[rng.integers(2)] for v in graph}, "label")
            nx.set_edge_attributes(graph, {e: int(rng.integers(2)) for e in graph.edges}, "label")
        found.append(graph)
    return found


def refined(graph, rounds):
    """Return the labels of nodes as nested tuples after each round."""
    labels = [{v: graph.nodes[v].get("label") for v in graph}]
    for _ in range(rounds):
        old = labels[-1]
        around = {v: sorted((str(graph.edges[v, u].get("label")), repr(old[u])) for u in graph[v]) for v in graph}
        labels.append({v: (old[v], tuple(around[v])) for v in graph})
    return labels


def by_hand(base, graph, other, rounds):
    total = 0.0
    for mine, theirs in zip(refined(graph, rounds), refined(other, rounds), strict=True):
        for (u, v, a), (x, y, b) in itertools.product(graph.edges(data=True), other.edges(data=True)):
            same = sorted(map(repr, (mine[u], mine[v]))) == sorted(map(repr, (theirs[x], theirs[y])))
            total += same * (a.get("label") == b.get("label")) * base(a["attributes"], b["attributes"])
    return total


@pytest.mark.parametrize("base", [Gaussian(0.8), Linear(), Laplace(1.0)], ids=repr)
@pytest.mark.parametrize("labeled", [False, True])
def test_kernel_is_its_definition_and_positive_semidefinite(base, labeled):
    graphs = attributed(labeled=labeled)
    for rounds in (0, 2):
        k = WeisfeilerLehmanEdges(rounds, base)
        K = k.gram(graphs)
        np.testing.assert_allclose(K, [[by_hand(base, g, h, rounds) for h in graphs] for g in graphs], rtol=1e-12)
        assert np.linalg.eigvalsh(K).min() > -1e-9
    assert k.proven
    assert check_kernel(k, graphs).verdict == "VALID"


def test_graphs_of_every_form_are_the_same():
    graphs = attributed(labeled=True)
    tuples = [
        (
            list(g.edges),
            [g.nodes[v]["label"] for v in g],
            [label for *_, label in g.edges(data="label")],
            None,
            np.array([x for *_, x in g.edges(data="attributes")]).reshape(-1, 2) if g.edges else None,
        )
        for g in graphs
    ]
    assert all(map(is_graph, tuples))
    twice = [
        (edges + [edge[::-1] for edge in edges], nodes, marks * 2, None, None if x is None else np.vstack([x, x]))
        for edges, nodes, marks, _, x in tuples
    ]
    k = WeisfeilerLehmanEdges(1, Gaussian(1.0))
    expected = k.gram(graphs)
    for same in (tuples, twice, [nx.MultiGraph(g) for g in graphs]):
        np.testing.assert_array_equal(k.gram(same), expected)


def test_the_order_of_nodes_does_not_matter():
    graph = attributed([7])[0]
    moved = nx.relabel_nodes(graph, dict(zip(range(7), [3, 6, 0, 5, 1, 2, 4], strict=True)))
    K = WeisfeilerLehmanEdges(2, Gaussian(0.7)).gram([graph, moved])
    np.testing.assert_allclose(K, K[0, 0], rtol=1e-12)


def test_base_kernel_is_resolved_on_all_edges():
    graphs = attributed()
    values = np.array([x for g in graphs for *_, x in g.edges(data="attributes")])
    found = WeisfeilerLehmanEdges().resolve(graphs, 0).attributes
    assert found.sigma == pytest.approx(Gaussian().resolve(values, 0).sigma)
    with pytest.raises(ValueError, match="the graphs have no edges"):
        WeisfeilerLehmanEdges().resolve([([], 2)])


EDGES = [(0, 1), (1, 2)]


@pytest.mark.parametrize(
    ("graph", "error", "match"),
    [
        ((EDGES, 3), ValueError, "graph 1 has no edge attributes: give each edge a vector"),
        ((EDGES, 3, None, None, [[0.0, 1.0]]), ValueError, "graph 1 has 2 edges and 1 rows of edge attributes"),
        ((EDGES, 3, None, None, [[0.0], [1.0]]), ValueError, "each edge of graph 1 has 1 attributes, of graph 0 2"),
        (
            (EDGES, 3, None, None, [[0.0, 1.0], [1.0]]),
            ValueError,
            "between nodes 1 and 2 of graph 1 has 1 attr",
        ),
        (
            (EDGES, 3, None, None, [[0.0, 1.0], None]),
            ValueError,
            "graph 1 has no attributes, other edges have",
        ),
        (
            (EDGES, 3, None, None, [[0.0, np.nan], [1, 1]]),
            ValueError,
            "attribute 1 of the edge between nodes 0 and",
        ),
        ((EDGES, 3, None, None, "ab"), TypeError, "the edge attributes of graph 1 are 'ab'"),
        (([(0, 1), (1, 0)], 2, None, None, [[0, 0], [0, 1]]), ValueError, "between nodes .* with different attributes"),
    ],
)
def test_errors_name_the_graph_and_the_edge(graph, error, match):
    good = (EDGES, 3, None, None, [[0.0, 1.0], [2.0, 3.0]])
    with pytest.raises(error, match=match):
        WeisfeilerLehmanEdges().gram([good, graph])


def test_other_errors():
    with pytest.raises(TypeError, match="attributes must be a kernel of vectors"):
        WeisfeilerLehmanEdges(attributes=Spectrum(2)).gram(attributed())
    with pytest.raises(ValueError, match="iterations must be an integer from 0"):
        WeisfeilerLehmanEdges(-1).gram(attributed())
    k = WeisfeilerLehmanEdges(0, Linear())
    with pytest.raises(ValueError, match="the edges of some graphs have 1 attributes, those of others 2"):
        k.cross([(EDGES, 3, None, None, [[0.0], [1.0]])], [(EDGES, 3, None, None, [[0.0, 1.0], [1.0, 1.0]])])
    assert as_graphs([(EDGES, 3)]).neighbors.attributes.shape == (4, 0)  # not asked for


def test_expression_and_saved_model(tmp_path):
    assert as_similarity("weisfeiler_lehman_edges(2, gaussian(0.5))") == WeisfeilerLehmanEdges(2, Gaussian(0.5))
    X = attributed([5] * 24)
    model = SimilarityClassifier(WeisfeilerLehmanEdges(0), random_state=0).fit(X, np.arange(24) % 2)
    save(model, tmp_path / "model.sim")
    np.testing.assert_array_equal(load(tmp_path / "model.sim").predict_proba(X), model.predict_proba(X))


# What "auto" tries.


def by_one_thing(what, n=60, seed=0):
    """Return graphs and labels that only one of node attributes, edge attributes and structure tells."""
    rng, X, y = np.random.default_rng(seed), [], np.arange(n) % 2
    for of in y:
        size = int(rng.integers(6, 9))
        graph = nx.star_graph(size - 1) if what == "structure" and of else nx.cycle_graph(size)
        edges, shift = list(graph.edges), 1.5 * of
        nodes = rng.normal(size=(size, 2)) + shift * (what == "nodes")
        X.append((edges, None, None, nodes, rng.normal(size=(len(edges), 2)) + shift * (what == "edges")))
    return X, y


@pytest.mark.parametrize(
    ("what", "named"), [("nodes", "attributes="), ("edges", "WeisfeilerLehmanEdges"), ("structure", "")]
)
def test_auto_finds_what_carries_the_labels(what, named, without_evaluation):
    X, y = by_one_thing(what)
    new, truth = by_one_thing(what, seed=1)
    model = SimilarityClassifier(random_state=0).fit(X, y)
    assert (model.predict(new) == truth).mean() > 0.9
    assert named in repr(model.similarity_)
    assert (what != "structure") or "attributes=" not in repr(model.similarity_)
    assert "attributes of nodes and edges" in str(model.plan_)


def test_attributes_are_tried_where_all_graphs_have_them():
    X, _ = by_one_thing("nodes", 4)
    assert sum("attributes=" in repr(k) for k in family_of("graphs", X)) == 4
    assert sum("attributes=" in repr(k) for k in family_of("graphs", [one[:4] for one in X])) == 2
    assert not any("attributes=" in repr(k) for k in family_of("graphs", [X[0], X[1][:1]]))
    assert pair_cost(WeisfeilerLehman(1, attributes=Gaussian()).normalized()) > 0 == pair_cost(WeisfeilerLehman())
    assert pilot_rows(family_of("graphs", X), X) == 4
