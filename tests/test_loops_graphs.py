"""The loops over graphs: each compiled one against its readable twin and against brute force."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from similitude.compute import loops
from similitude.compute.loops.reference import graphs as reference_graphs
from similitude.kernels.graphs import as_graphs
from similitude.kernels.graphs.graphlet_types import graphlet_types

SETS = loops._compiled.instruction_sets() if loops.COMPILED else []
needs_compiled = pytest.mark.skipif(
    not loops.COMPILED, reason="missing: the compiled module similitude.compute.loops._compiled"
)


@st.composite
def graphs(draw, most_nodes=8, labels=3):
    """A graph as a tuple (edges, node labels, edge labels)."""
    n = draw(st.integers(0, most_nodes))
    pairs = list(itertools.combinations(range(n), 2))
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    label = st.integers(0, labels - 1)
    nodes = draw(st.lists(label, min_size=n, max_size=n))
    return edges, nodes, draw(st.lists(label, min_size=len(edges), max_size=len(edges)))


batches = st.lists(graphs(), min_size=1, max_size=4)


def same_arrays(got, expected):
    for one, other in zip(got, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@needs_compiled
@given(batches, st.integers(0, 4))
def test_weisfeiler_lehman_is_its_twin(batch, iterations):
    given = as_graphs(batch)
    arguments = given.structure, given.labels, given.neighbors.labels, iterations
    same_arrays(loops.weisfeiler_lehman(*arguments), reference_graphs.weisfeiler_lehman(*arguments))


@needs_compiled
@given(batches)
def test_shortest_paths_are_their_twin(batch):
    given = as_graphs(batch)
    same_arrays(
        loops.shortest_paths(given.structure, given.labels),
        reference_graphs.shortest_paths(given.structure, given.labels),
    )


@needs_compiled
@pytest.mark.parametrize("nodes", [60, 100, pytest.param(300, marks=pytest.mark.deep)])
def test_shortest_paths_with_many_labels_and_long_distances(nodes):
    path = nx.path_graph(nodes)
    nx.set_node_attributes(path, {v: v % (nodes // 2) for v in path}, "label")  # too many triples to count in place
    given = as_graphs([path, nx.relabel_nodes(path, lambda v: -v)])
    got = loops.shortest_paths(given.structure, given.labels)
    same_arrays(got, reference_graphs.shortest_paths(given.structure, given.labels))
    assert got[2].sum() == nodes * (nodes - 1)


@needs_compiled
@pytest.mark.parametrize("p", [2, 3, 4, 5])
@given(batch=batches)
def test_graphlets_are_their_twin(p, batch):
    structure, types = as_graphs(batch).structure, graphlet_types(p)
    arguments = structure, p, types.of_code, types.contains
    np.testing.assert_array_equal(loops.graphlets(*arguments), reference_graphs.graphlets(*arguments))


@needs_compiled
@pytest.mark.parametrize("p", [2, 3, 4, 5])
def test_graphlets_of_larger_graphs(p):
    batch = [nx.gnp_random_graph(n, q, seed=n) for n, q in [(14, 0.2), (15, 0.5), (13, 0.9), (12, 0.0), (12, 1.0)]]
    structure, types = as_graphs(batch).structure, graphlet_types(p)
    arguments = structure, p, types.of_code, types.contains
    np.testing.assert_array_equal(loops.graphlets(*arguments), reference_graphs.graphlets(*arguments))


@pytest.mark.parametrize("p", [2, 3, 4, 5])
def test_types_agree_with_networkx(p):
    types = graphlet_types(p)
    pairs = [(i, j) for j in range(p) for i in range(j)]
    shapes = []
    for code, edges, connected in zip(types.codes, types.edges, types.connected, strict=True):
        shape = nx.empty_graph(p)
        shape.add_edges_from(pair for bit, pair in enumerate(pairs) if code >> bit & 1)
        assert shape.number_of_edges() == edges and nx.is_connected(shape) == connected
        shapes.append(shape)
    assert not any(nx.is_isomorphic(a, b) for a, b in itertools.combinations(shapes, 2))
    assert len(shapes) == {2: 2, 3: 4, 4: 11, 5: 34}[p]
    assert (types.contains[-1] == np.bincount(types.of_code)).all()


@needs_compiled
@given(batches, batches, st.sampled_from([0.0, 0.01, 0.02, 1 / 49.001]))
def test_labeled_walks_are_their_twin(batch, others, decay):
    A, B = (walked(some) for some in (batch, others))
    got, expected = (np.full((len(batch), len(others)), np.nan) for _ in range(2))
    loops.labeled_walks(got, A, B, decay)
    reference_graphs.labeled_walks(expected, A, B, decay)
    np.testing.assert_allclose(got, expected, rtol=1e-13)


def walked(batch):
    """Return graphs with labels and a bound of their largest eigenvalues: no node has more than 7 neighbors."""
    given = as_graphs(batch)
    return *given.structure, given.labels, given.neighbors.labels, np.full(len(batch), 7.0)


def random_histograms(rng, rows, different, most):
    parts = [np.sort(rng.choice(different, rng.integers(0, most), replace=False)) for _ in range(rows)]
    keys = np.concatenate([*parts, np.zeros(0, np.int64)]).astype(np.uint64) * np.uint64(2**61 - 1)
    starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    return starts, keys, rng.integers(1, 9, len(keys)).astype(float)


@needs_compiled
@pytest.mark.parametrize("instructions", SETS)
@pytest.mark.parametrize(("n", "m"), [(0, 3), (3, 0), (1, 1), (7, 33), (40, 130)])
def test_keyed_products_are_their_twin(instructions, n, m):
    rng = np.random.default_rng(n + m)
    A, B = random_histograms(rng, n, 50, 20), random_histograms(rng, m, 50, 20)
    before, around = loops._compiled.in_use(), np.full((2 * n + 1, m + 4), np.nan)
    got, expected = around[1 : 2 * n + 1 : 2, 1 : m + 1], np.empty((n, m))
    loops._compiled.choose(instructions)
    try:
        loops.keyed_products(got, A, B)
    finally:
        loops._compiled.choose(before)
    reference_graphs.keyed_products(expected, A, B)
    np.testing.assert_array_equal(got, expected)
    got[...] = np.nan
    assert np.isnan(around).all()
