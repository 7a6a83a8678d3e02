"""Graph kernels of edges, whose attributes a base kernel compares."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute import Encoding, Hints, loops
from similitude.kernels.graphs.encoding import EncodedGraphs, as_graphs
from similitude.kernels.graphs.kernels import MOST_ITERATIONS, check_comparable
from similitude.kernels.graphs.node_pairs import (
    NodeVectors,
    check_base,
    claims_with_attributes,
    hints_with_attributes,
    sums_over_nodes,
)
from similitude.kernels.vectors import Gaussian
from similitude.kernels.vectors.pairwise import into
from similitude.similarity import KERNEL, Similarity
from similitude.support import check_integer, error_prefix

STEPS = tuple(map(np.uint64, (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)))
"""Odd numbers that the bits of keys are mixed by."""

GAUSSIAN = Gaussian()
"""The base kernel, if no other is given."""


class WeisfeilerLehmanEdges(Similarity):
    r"""The edge kernel of Weisfeiler and Lehman: edges with attributes between nodes with the same refined labels.

    .. math:: K(G, H) = \sum_{t=0}^{h} \sum_{e \in G,\, e' \in H} [\ell_t(e) = \ell_t(e')]\, k(x_e, x_{e'}),

    where :math:`x_e` are the attributes of an edge, k is any kernel of vectors, and :math:`\ell_t(e)` is the label of
    the edge together with those of both of its nodes, in either order, after t refinements (see `WeisfeilerLehman`).
    Without labels, t = 0 compares all edges with each other. (Shervashidze, Schweitzer, van Leeuwen, Mehlhorn and
    Borgwardt 2011, Weisfeiler-Lehman graph kernels, section 3.3.) A graph without edges has the value 0 with all
    graphs. The time grows with the product of the numbers of edges.

    Node attributes are those of another kernel, which can be added or multiplied:
    ``WeisfeilerLehman(attributes=Gaussian()) + WeisfeilerLehmanEdges(attributes=Gaussian())``.

    Parameters
    ----------
    iterations : int
        h, from 0 to 100; 0 compares edges with the labels that they and their nodes are given.
    attributes : Similarity
        A kernel of vectors for the attributes of edges; its data-dependent parameters are fixed on all edges.

    Examples
    --------
    Edges with one number each, as the fifth entry of a tuple:

    >>> from similitude.kernels import Gaussian, WeisfeilerLehmanEdges
    >>> path = [(0, 1), (1, 2)], None, None, None, [0.0, 1.0]
    >>> ring = [(0, 1), (1, 2), (2, 0)], None, None, None, [0.0, 1.0, 1.0]
    >>> WeisfeilerLehmanEdges(iterations=0, attributes=Gaussian(sigma=0.5)).gram([path, ring]).round(3)
    array([[2.271, 3.406],
           [3.406, 5.541]])
    """

    objects = "graphs"
    claims = claims_with_attributes(KERNEL)
    hints = hints_with_attributes(Hints(heavy=True))
    reason = (
        "the sum over all pairs of edges of a kernel of their attributes, times 1 or 0 for equal or different labels: "
        "the dot product of the sums of the features of both graphs' edges (Shervashidze et al. 2011, section 3.3)"
    )

    def __init__(self, iterations: int = 1, attributes: Similarity = GAUSSIAN) -> None:
        self.iterations = iterations
        self.attributes = attributes

    def check_params(self) -> None:
        """Validate the number of iterations and the base kernel."""
        check_integer("iterations", self.iterations, 0, MOST_ITERATIONS)
        check_base(self.attributes)

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> Any:
        """Resolve the base kernel on the attributes of all edges; an edge has the weight of its graph."""
        if not self.attributes.unresolved():
            return self
        owner, edges, graphs = _edges(X)
        if not len(edges):
            raise ValueError("the graphs have no edges: nothing tells how large distances between attributes are")
        weight = None if sample_weight is None else np.asarray(sample_weight)[owner]
        vectors = graphs.edge_attributes[edges]  # type: ignore[index]
        return self.with_params(attributes=self.attributes.resolve(vectors, random_state, weight))

    def encode(self, objects: Any) -> Encoding:
        """Return the attributes of the edges of each graph, encoded for the base kernel, with their labels."""
        owner, edges, graphs = _edges(objects)
        vectors: np.ndarray = graphs.edge_attributes[edges]  # type: ignore[index]
        counts = np.bincount(owner, minlength=len(graphs))
        with error_prefix("attributes"):
            encoded = self.attributes.encode(vectors) if len(vectors) else vectors
        labels = _labels(graphs, edges, int(self.iterations))
        widths = np.where(counts > 0, vectors.shape[1], 0)
        return NodeVectors(np.append(0, np.cumsum(counts)), labels, encoded, None, graphs.kinds, widths)

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return the sums over pairs of edges, float64."""
        check_comparable(A.kinds, B.kinds)
        return into(out, sums_over_nodes(self.attributes, A, B, "edges"))


def _edges(objects: Any) -> tuple[np.ndarray, np.ndarray, EncodedGraphs]:
    """Return the graph of each edge, its place among neighbors, from its first node, and the graphs."""
    graphs = as_graphs(objects, edge_attributes=True)
    source = _sources(graphs)
    edges = np.flatnonzero(source < graphs.neighbors)
    starts = graphs.starts[graphs.node_starts]
    return np.searchsorted(starts, edges, side="right") - 1, edges, graphs


def _sources(graphs: EncodedGraphs) -> np.ndarray:
    """Return the node that each neighbor is one of, numbered within its graph."""
    sizes = np.diff(graphs.node_starts)
    numbers = np.arange(graphs.node_starts[-1]) - np.repeat(graphs.node_starts[:-1], sizes)
    return np.repeat(numbers, np.diff(graphs.starts))


def _labels(graphs: EncodedGraphs, edges: np.ndarray, iterations: int) -> np.ndarray:
    """Return a key for each edge and number of refinements: of its label and those of both nodes."""
    levels = loops.refined_labels(graphs.structure, graphs.labels, graphs.edge_labels, iterations)
    source = np.repeat(np.arange(len(graphs.labels)), np.diff(graphs.starts))[edges]
    first = np.repeat(graphs.node_starts[:-1], np.diff(graphs.starts[graphs.node_starts]))[edges]
    target = first + graphs.neighbors[edges]
    columns = []
    for labels in levels:
        a = labels[source]
        b = labels[target]
        columns.append(_mixed(_mixed(np.minimum(a, b), np.maximum(a, b)), graphs.edge_labels[edges]))
    return np.stack(columns, axis=1)


def _mixed(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a 64-bit hash of pairs of keys."""
    found = (a ^ (a >> np.uint64(31))) * STEPS[0] + b
    for step in STEPS[1:]:
        found = (found ^ (found >> np.uint64(30))) * step
    return found ^ (found >> np.uint64(31))
