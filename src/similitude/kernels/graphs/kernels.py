"""Graph kernels: counts of refined labels, of shortest paths, and of small induced subgraphs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from similitude.compute import Encoding, Hints, loops, mixed_entries
from similitude.kernels.feature_weights import FeatureTable, WeightedFeatures, proof_with_weights, roots_of_weights
from similitude.kernels.graphs.encoding import EncodedGraphs, as_graphs
from similitude.kernels.graphs.graphlet_types import GraphletTypes, graphlet_types
from similitude.kernels.graphs.node_pairs import NodeVectors, neighborhood_vectors, path_positions, sums_over_nodes
from similitude.kernels.graphs.subtrees import subtree_names
from similitude.kernels.ragged import Histograms, Ragged, starts_of
from similitude.kernels.vectors import Gaussian
from similitude.kernels.vectors.pairwise import ExplicitFeatures, into, repeated, takes_vectors
from similitude.similarity import BOUNDED, KERNEL, PSD, SYMMETRIC, Similarity, stated
from similitude.support import (
    brief,
    check_choice,
    check_flag,
    check_integer,
    check_nonnegative,
    error_prefix,
    is_integer,
)

REFINED = {"iterations": partial(check_integer, low=0, high=100)}
"""How the number of refinements is validated; labels stop changing the partition of the nodes long before 100."""


class GraphHistograms(Histograms):
    """Histograms of graphs; those of labeled and of unlabeled graphs are not comparable (see `EncodedGraphs.kinds`)."""

    of_rows = ("kinds",)
    kinds: np.ndarray


def check_comparable(some: np.ndarray, others: np.ndarray) -> None:
    """Refuse graphs, given by their kinds, of which only some have labels."""
    kinds = np.bitwise_or.reduce(some) | np.bitwise_or.reduce(others)
    for bits, what in ((3, "nodes"), (12, "edges")):
        if kinds & bits == bits:
            raise ValueError(f"the {what} of some graphs have labels, those of others none: label all graphs or none")


class HistogramSimilarity(Similarity):
    """A graph kernel that is the dot product of sparse histograms."""

    objects = "graphs"

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return the dot products of the histograms, float64."""
        check_comparable(A.kinds, B.kinds)
        return A.products(B, out)

    def diagonal(self, A: Encoding) -> Any:
        """Return the squared norms of the histograms."""
        return A.squared_norms()

    def features(self, objects: Any, like: Any = None) -> Any:
        """Return a sparse matrix with a column per key that occurs in `like`, and one for the norm of all others."""
        A = self.encode(objects)
        known = A if like is None else self.encode(like)
        check_comparable(A.kinds, known.kinds)
        return A.features(known)


class AttributeSimilarity(HistogramSimilarity):
    """A graph kernel of histograms, which with a base kernel of attributes is a sum over pairs of nodes instead."""

    attributes: Similarity | None = None
    _compared = "nodes"
    _histograms: Callable[[Any], GraphHistograms]  # of graphs without attributes
    _quiet: ClassVar[tuple[str, ...]] = ("attributes",)
    claims = stated("attributes", KERNEL, lambda k, _: k.attributes.claims & {SYMMETRIC, PSD})
    hints = stated(
        "attributes", Hints(finite=True), lambda k, _: Hints(heavy=True, threadsafe=k.attributes.hints.threadsafe)
    )

    @abstractmethod
    def node_vectors(self, objects: Any) -> NodeVectors:
        """Return the vector of each node, which the base kernel takes, and what multiplies the base kernel."""

    def check_params(self) -> None:
        """Validate the base kernel, if there is one."""
        given = self.attributes
        if given is not None or self._compared == "edges":
            if not takes_vectors(given):
                what = "attributes must be a kernel of vectors, such as Gaussian(), or None"
                raise TypeError(f"{what}, got {brief(given)}")
            with error_prefix("attributes"):
                given.check_params()  # type: ignore[union-attr]
        super().check_params()

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> Any:
        """Resolve the base kernel on the vectors of all nodes or edges, which have the weights of their graphs."""
        if self.attributes is None or not self.attributes.unresolved():
            return self
        found = self.node_vectors(X)
        if not len(found.vectors):
            what = f"the graphs have no {self._compared}"
            raise ValueError(f"{what}: nothing tells how large distances between attributes are")
        weight = repeated(sample_weight, found.lengths)
        return self.with_params(attributes=self.attributes.resolve(found.vectors, random_state, weight))

    def encode(self, objects: Any) -> Encoding:
        """Return the histogram of each graph, or its nodes or edges with encoded vectors."""
        if self.attributes is None:
            return self._histograms(objects)
        found = self.node_vectors(objects)
        if len(found.vectors):
            with error_prefix("attributes"):
                found.vectors = self.attributes.encode(found.vectors)
        return found

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return the dot products of the histograms, or the sums over pairs of nodes, float64."""
        if self.attributes is None:
            return super().block(A, B, out)
        check_comparable(A.kinds, B.kinds)
        return into(out, sums_over_nodes(self.attributes, A, B, self._compared))

    def diagonal(self, A: Encoding) -> Any:
        """Return the squared norms of the histograms, or the sums over pairs of nodes of the same graph."""
        return A.squared_norms() if self.attributes is None else Similarity.diagonal(self, A)


def label_histograms(graphs: EncodedGraphs, iterations: int) -> GraphHistograms:
    """Return how many nodes of each graph have each label, before and after each refinement."""
    return GraphHistograms(*loops.weisfeiler_lehman(*graphs.labeled_structure, iterations), graphs.kinds)


class WeisfeilerLehman(WeightedFeatures, AttributeSimilarity):
    r"""The subtree kernel of Weisfeiler and Lehman, :math:`K(G, H) = \sum_{t=0}^{h} \langle c_t(G), c_t(H)\rangle`.

    Here :math:`c_t(G)` counts each label among the nodes of G after t refinements: the new label of a node represents
    its old one and the old ones of its neighbors, with the labels of the edges to them.
    (Shervashidze, Schweitzer, van Leeuwen, Mehlhorn and Borgwardt 2011, Weisfeiler-Lehman graph kernels, section 3.2.)
    Without node labels all nodes start with the same label, so t = 1 counts degrees; without edge labels all edges have
    the same label.

    Refined labels are 64-bit hashes, equal in all processes. Among m different labels of nodes with at most d
    neighbors, two collide with probability of at most about :math:`d\,m^2 / 2^{65}`: :math:`10^{-7}` for a million
    labels and d = 4. A collision adds to some counts; the kernel remains a kernel.

    With a base kernel k of attributes, :math:`K(G, H) = \sum_{u \in G, v \in H} [\ell(u) = \ell(v)]\, k(x_u, x_v)`,
    where :math:`\ell` is the label of a node (equal for all if there are none) and :math:`x_u` its attributes, followed
    by their mean with the average of its neighbors' after 1, ..., h rounds. (The propagation is that of Togninalli,
    Ghisu, Llinares-López, Rieck and Borgwardt 2019, Wasserstein Weisfeiler-Lehman graph kernels, section 4.2; the sum
    over pairs is a kernel for every kernel k, which their distance is not.) Edge labels are then ignored. The time
    grows with the product of the numbers of nodes.

    Parameters
    ----------
    iterations : int
        h, from 0 to 100; 0 compares labels only.
    weights : dict, "idf" or None
        A number :math:`w_u \ge 0` for some refined labels, by which their terms are multiplied. Keys are the 64-bit
        numbers of labels: `subtrees` gives those of some graphs with the subtrees that they represent. ``"idf"``: on
        the graphs it is resolved on, the square of :math:`\ln\frac{1 + n}{1 + n_u} + 1`, where :math:`n_u` of n graphs
        have the label. `learn_kernel` learns weights from labels of the graphs.
    default_weight : float
        The weight of all other refined labels; ``"idf"`` sets it to that of a label that no graph has.
    attributes : Similarity or None
        A kernel of vectors such as ``Gaussian()`` for the attributes of nodes; its data-dependent parameters are fixed
        on the vectors :math:`x_u` of all nodes. None ignores attributes. Weights of labels do not go with it.

    Examples
    --------
    >>> from similitude.kernels import WeisfeilerLehman
    >>> path = [(0, 1), (1, 2)], ["C", "O", "C"]
    >>> ring = [(0, 1), (1, 2), (2, 0)], ["C", "O", "C"]
    >>> WeisfeilerLehman(iterations=1).gram([path, ring])
    array([[10.,  6.],
           [ 6., 10.]])
    >>> names = WeisfeilerLehman(iterations=1).subtrees([path])
    >>> sorted(names.values())
    ['C', 'C(O)', 'O', 'O(C,C)']
    >>> only_ends = {key: 1.0 for key, name in names.items() if name == "C(O)"}
    >>> WeisfeilerLehman(iterations=1, weights=only_ends, default_weight=0.0).gram([path, ring])
    array([[4., 0.],
           [0., 0.]])

    Nodes with one number each, as the fourth entry of a tuple:

    >>> from similitude.kernels import Gaussian
    >>> path = [(0, 1), (1, 2)], None, None, [0.0, 1.0, 0.0]
    >>> ring = [(0, 1), (1, 2), (2, 0)], None, None, [0.0, 1.0, 0.5]
    >>> WeisfeilerLehman(iterations=1, attributes=Gaussian(sigma=0.5)).gram([path, ring]).round(3)
    array([[5.541, 5.121],
           [5.121, 5.59 ]])
    """

    claims = AttributeSimilarity.claims
    hints = AttributeSimilarity.hints
    _checks: ClassVar = REFINED
    reason = stated(
        "attributes",
        proof_with_weights(
            "the dot product of histograms of refined labels, which are explicit features of each graph "
            "(Shervashidze et al. 2011, section 3.2)"
        ),
        lambda *_: (
            "the sum over all pairs of nodes of a kernel of their vectors, times 1 or 0 for equal or different labels: "
            "the dot product of the sums of the features of both graphs' nodes"
        ),
    )

    def __init__(
        self,
        iterations: int = 3,
        weights: Mapping[int, float] | str | None = None,
        default_weight: float = 1.0,
        attributes: Similarity | None = None,
    ) -> None:
        self.iterations = iterations
        self.weights = weights
        self.default_weight = default_weight
        self.attributes = attributes

    def check_params(self) -> None:
        """Validate the number of iterations, and the weights or the base kernel."""
        super().check_params()
        if self.attributes is not None and self.weights is not None:
            raise ValueError("weights are those of refined labels, which are not counted with attributes")

    def node_vectors(self, objects: Any) -> NodeVectors:
        """Return the attributes of each node and those of its neighborhood after each round."""
        graphs = as_graphs(objects, edges=False, attributes=True)
        widths = graphs.attributes.shape[1] * (graphs.lengths > 0)
        vectors = neighborhood_vectors(graphs, int(self.iterations))
        return NodeVectors(graphs.starts, graphs.labels, vectors, None, graphs.kinds, widths)

    def check_key(self, key: Any) -> None:
        """Refuse a key that is no number of a label."""
        if not is_integer(key) or not 0 <= key < 2**64:
            raise TypeError(f"weights name labels by 64-bit numbers, as `subtrees` gives them, got {brief(key)}")

    def _histograms(self, objects: Any) -> GraphHistograms:
        found = label_histograms(as_graphs(objects), int(self.iterations))
        if self.weights is None:
            return found
        given: Any = self.weights
        return found.scaled(roots_of_weights(self, found.keys, lambda: np.fromiter(given, np.uint64, len(given))))

    def feature_table(self, objects: Any) -> FeatureTable:
        """Return the numbers of nodes with each refined label, and the numbers of these labels."""
        found, keys = label_histograms(as_graphs(objects), int(self.iterations)).table()
        return FeatureTable(found, keys.tolist())

    def feature_names(self, objects: Any, keys: Sequence[Any]) -> list[str]:
        """Return the subtrees that refined labels represent."""
        found = subtree_names(objects, int(self.iterations), set(keys))
        return [found[key] for key in keys]

    def subtrees(self, objects: Any) -> dict[int, str]:
        """Return the refined labels of graphs by number, written as subtrees: C(C,O) is a C next to a C and an O.

        Edge labels precede the node they lead to: ``C(2:O)`` or ``C(=O)``. Nodes without labels are ``*``.
        """
        self.check_params()
        return subtree_names(objects, int(self.iterations))


class ShortestPath(AttributeSimilarity):
    r"""The shortest-path kernel: pairs of nodes of both graphs with the same labels and the same distance.

    .. math:: K(G, H) = \sum_{a \le b,\, d \ge 1} n_{a,b,d}(G)\, n_{a,b,d}(H),

    where :math:`n_{a,b,d}(G)` counts the unordered pairs of nodes of G that have the labels a and b and whose shortest
    path has d edges. Unconnected pairs do not count. Every edge has length 1, and edge labels are ignored. Without node
    labels, pairs of equal distance are counted. (Borgwardt and Kriegel 2005, Shortest-path kernels on graphs.)

    Triples are represented by 64-bit hashes: two of m different ones collide with probability :math:`m^2 / 2^{65}`.

    With a base kernel k of attributes it is the GraphHopper kernel, which compares shortest paths node by node:

    .. math:: K(G, H) = \sum_{\pi, \pi'} \sum_{i} [\ell(\pi_i) = \ell(\pi'_i)]\, k(x_{\pi_i}, x_{\pi'_i}),

    over all shortest paths :math:`\pi` of G and :math:`\pi'` of H with the same number of edges, from 0 on. Each is
    read in both directions, and all shortest paths between two nodes count. :math:`\ell` is the label of a node (equal
    for all if there are none) and :math:`x` its attributes. (Feragen, Kasenburg, Petersen, de Bruijne and Borgwardt
    2013, Scalable kernels for graphs with continuous attributes.) It is computed from how often each node is at each
    position of paths of each length, in time that grows with the product of the numbers of nodes, and in memory that
    grows with the number of nodes, both times the square of the longest distance: graphs for which the memory budget is
    too small are refused.

    Parameters
    ----------
    attributes : Similarity or None
        A kernel of vectors such as ``Gaussian()`` for the attributes of nodes; its data-dependent parameters are fixed
        on the attributes of all nodes. None ignores attributes.

    Examples
    --------
    >>> from similitude.kernels import ShortestPath
    >>> path, ring = ([(0, 1), (1, 2)],), ([(0, 1), (1, 2), (2, 0)],)
    >>> ShortestPath().gram([path, ring])  # distances 1, 1, 2 and 1, 1, 1
    array([[5., 6.],
           [6., 9.]])

    Nodes with one number each, as the fourth entry of a tuple:

    >>> from similitude.kernels import Gaussian
    >>> path = [(0, 1), (1, 2)], None, None, [0.0, 1.0, 0.0]
    >>> ring = [(0, 1), (1, 2), (2, 0)], None, None, [0.0, 1.0, 0.5]
    >>> ShortestPath(attributes=Gaussian(sigma=0.5)).gram([path, ring]).round(3)
    array([[35.707, 33.095],
           [33.095, 51.271]])
    """

    claims = AttributeSimilarity.claims
    hints = AttributeSimilarity.hints
    reason = stated(
        "attributes",
        "the dot product of the counts of (label, label, distance) over pairs of nodes, which are explicit features of "
        "each graph (Borgwardt and Kriegel 2005)",
        lambda *_: (
            "the sum over all pairs of nodes of a kernel of their attributes, times 1 or 0 for equal or different "
            "labels, times the dot product of how often they are at each position of shortest paths: products and sums "
            "of kernels (Feragen et al. 2013)"
        ),
    )

    def __init__(self, attributes: Similarity | None = None) -> None:
        self.attributes = attributes

    def node_vectors(self, objects: Any) -> NodeVectors:
        """Return the attributes of each node, and how often it is at each position of shortest paths of each length."""
        graphs = as_graphs(objects, edges=False, attributes=True)
        widths = graphs.attributes.shape[1] * (graphs.lengths > 0)
        counts = path_positions(graphs)
        return NodeVectors(graphs.starts, graphs.labels, graphs.attributes, counts, graphs.kinds, widths)

    def _histograms(self, objects: Any) -> GraphHistograms:
        graphs = as_graphs(objects, edges=False)
        return GraphHistograms(*loops.shortest_paths(graphs.structure, graphs.labels), graphs.kinds)


class Graphlet(ExplicitFeatures):
    r"""The graphlet kernel of small induced subgraphs, :math:`K(G, H) = \sum_T f_T(G)\, f_T(H)`.

    There is one coordinate for every isomorphism type T of graphs with p nodes, and :math:`f_T(G)` is the number of the
    :math:`\binom{n}{p}` sets of p nodes of G that induce a subgraph of that type. (Lecture 6: Kernels, "graph kernel";
    Shervashidze et al. 2009, Efficient graphlet kernels.) The counts are exact: for p <= 4 from closed formulas of
    wedges, triangles and squares, for p = 5 from all connected subgraphs, which is slow for large dense graphs. Labels
    are ignored. A graph with fewer than p nodes has zero in every coordinate.

    Parameters
    ----------
    p : int
        The number of nodes of a subgraph: 2, 3, 4 or 5 (2, 4, 11 and 34 types, ordered by their number of edges).
    mode : {"counts", "presence", "frequency"}
        f is the count, 1 for a positive count, or the share in the sum of all counts.
    connected : bool
        Count only connected types (1, 2, 6 and 21).

    Examples
    --------
    >>> from similitude.kernels import Graphlet
    >>> path, ring = ([(0, 1), (1, 2), (2, 3)],), ([(0, 1), (1, 2), (2, 3), (3, 0)],)
    >>> Graphlet(p=3).encode([path, ring])  # with 0, 1, 2, 3 edges
    array([[0., 2., 2., 0.],
           [0., 0., 4., 0.]])
    >>> Graphlet(p=3)(path, ring), Graphlet(p=3, mode="presence")(path, ring)
    (8.0, 1.0)
    """

    objects = "graphs"
    hints = Hints(finite=True)
    reason = (
        "the dot product of one number for each type of small subgraph, which are explicit features of each graph "
        "(Lecture 6: Kernels)"
    )

    def __init__(self, p: int = 3, mode: str = "counts", connected: bool = False) -> None:
        self.p = p
        self.mode = mode
        self.connected = connected

    @property
    def claims(self) -> frozenset[str]:
        """A kernel; bounded if the coordinates are frequencies."""
        return KERNEL | {BOUNDED} if self.mode == "frequency" else KERNEL

    _checks: ClassVar = {
        "p": partial(check_integer, low=2, high=5),
        "mode": partial(check_choice, choices=("counts", "presence", "frequency")),
        "connected": check_flag,
    }

    @property
    def types(self) -> GraphletTypes:
        """All isomorphism types of graphs with p nodes."""
        return graphlet_types(int(self.p))

    @property
    def width(self) -> int:
        """The number of types that are counted."""
        return int((self.types.connected | (not self.connected)).sum())

    def features(self, X: Any, like: Any = None) -> np.ndarray:
        """Return a row of numbers for each graph, with a column for each type, whatever is in `like`."""
        types = self.types
        graphs = as_graphs(X, nodes=False, edges=False)
        counts = loops.graphlets(graphs.structure, int(self.p), types.of_code, types.contains)
        if self.connected:
            counts = np.ascontiguousarray(counts[:, types.connected])
        if self.mode == "presence":
            return (counts > 0).astype(np.float64)
        if self.mode == "frequency":
            totals = counts.sum(axis=1, keepdims=True)
            return np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)
        return counts


class WeisfeilerLehmanAssignment(HistogramSimilarity):
    r"""The optimal assignment kernel of Weisfeiler and Lehman: the best assignment of the nodes of two graphs.

    .. math:: K(G, H) = \max_B \sum_{(u, v) \in B} \sum_{t=0}^{h} w_t\, [\ell_t(u) = \ell_t(v)]
              = \sum_{t=0}^{h} w_t \sum_a \min\{c_{t,a}(G),\, c_{t,a}(H)\},

    where B assigns each node of the smaller graph to a different node of the larger one, :math:`\ell_t(u)` is the label
    of u after t refinements (see `WeisfeilerLehman`), and :math:`c_{t,a}(G)` counts the nodes of G with label a. Nodes
    with equal labels had equal labels before: this hierarchy makes the best assignment the intersection of the
    histograms. (Kriege, Giscard and Wilson 2016, On valid optimal assignment kernels and applications to graph
    classification, sections 4 and 5.2.) Frequent labels do not dominate it as they dominate `WeisfeilerLehman`: of m
    and n nodes with the same label, min(m, n) count and not m n.

    A graph without nodes has the value 0 with all graphs. Refined labels are 64-bit hashes, as in `WeisfeilerLehman`.

    Parameters
    ----------
    iterations : int
        h, from 0 to 100; 0 compares labels only.
    depth_weights : sequence of float or None
        :math:`w_0, \dots, w_h \ge 0`; None: all 1.

    Examples
    --------
    >>> from similitude.kernels import WeisfeilerLehmanAssignment
    >>> path = [(0, 1), (1, 2)], ["C", "O", "C"]
    >>> ring = [(0, 1), (1, 2), (2, 0)], ["C", "O", "C"]
    >>> WeisfeilerLehmanAssignment(iterations=1).gram([path, ring])  # all labels agree, then that of the O
    array([[6., 4.],
           [4., 6.]])
    >>> WeisfeilerLehmanAssignment(iterations=1, depth_weights=[0.0, 1.0]).gram([path, ring])
    array([[3., 1.],
           [1., 3.]])
    """

    claims = KERNEL
    hints = Hints(finite=True)
    _checks: ClassVar = REFINED
    reason = (
        "min(m, n) is the number of ranks r = 1, 2, … with r <= m and r <= n, so the intersection of histograms of "
        "refined labels is the dot product of one feature per label and rank, multiplied by the root of a weight >= 0 "
        "(Kriege, Giscard and Wilson 2016, theorem 1 and section 5.2)"
    )

    def __init__(self, iterations: int = 3, depth_weights: Sequence[float] | None = None) -> None:
        self.iterations = iterations
        self.depth_weights = depth_weights

    def check_params(self) -> None:
        """Validate the number of iterations and the weights."""
        super().check_params()
        given = self.depth_weights
        if given is None:
            return
        if isinstance(given, str) or not hasattr(given, "__len__") or len(given) != self.iterations + 1:
            raise ValueError(
                f"depth_weights must be {self.iterations + 1} numbers >= 0, one for the labels and one for each of "
                f"{self.iterations} refinements, got {brief(given)}"
            )
        for t, weight in enumerate(given):
            check_nonnegative(f"depth_weights[{t}]", weight)
        if not any(given):
            raise ValueError("every depth has weight 0: one at least must count")

    def encode(self, objects: Any) -> Encoding:
        """Return a histogram of each graph with one entry for each label and rank, the root of its weight."""
        graphs = as_graphs(objects)
        found = label_histograms(graphs, int(self.iterations))
        values = np.ones(len(found.keys))
        if self.depth_weights is not None:
            levels = loops.refined_labels(*graphs.labeled_structure, int(self.iterations))
            known, first = np.unique(np.concatenate(levels), return_index=True)
            depths = first // max(1, len(levels[0]))
            values = np.sqrt(np.asarray(self.depth_weights, float))[depths[np.searchsorted(known, found.keys)]]
        counts = found.counts.astype(np.int64)
        ranks = Ragged(starts_of(counts))  # of each key: 1, …, count
        # keys are digests: with what a rank adds, modulo 2^64, sums are as different as they are
        added = ranks.places.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        keys = np.repeat(found.keys, counts) + added
        ranked = GraphHistograms(ranks.starts[found.starts], keys, np.ones(len(keys)), found.kinds)
        order = np.lexsort([keys, ranked.owners])
        ranked.keys = keys[order]
        return ranked.scaled(np.repeat(values, counts)[order])


GAUSSIAN = Gaussian()
"""The base kernel, if no other is given."""


class WeisfeilerLehmanEdges(AttributeSimilarity):
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

    _compared = "edges"
    _quiet = ()
    _checks: ClassVar = REFINED
    claims = AttributeSimilarity.claims
    hints = AttributeSimilarity.hints
    reason = (
        "the sum over all pairs of edges of a kernel of their attributes, times 1 or 0 for equal or different labels: "
        "the dot product of the sums of the features of both graphs' edges (Shervashidze et al. 2011, section 3.3)"
    )

    def __init__(self, iterations: int = 1, attributes: Similarity = GAUSSIAN) -> None:
        self.iterations = iterations
        self.attributes = attributes

    def node_vectors(self, objects: Any) -> NodeVectors:
        """Return the attributes of the edges of each graph, with a key for each number of refinements of the labels."""
        graphs = as_graphs(objects, edge_attributes=True)
        near = graphs.neighbors
        target = graphs.first_nodes[near.owners] + near.nodes
        once = near.owners < target  # each edge stands with both of its nodes
        near = near.only(once)
        pairs = np.stack([near.owners, target[once]], axis=1)
        levels = loops.refined_labels(*graphs.labeled_structure, int(self.iterations))
        ends = [np.sort(labels[pairs], axis=1) for labels in levels]
        keys = np.stack([mixed_entries(np.column_stack([both, near.labels])) for both in ends], axis=1)
        starts = near.starts[graphs.starts]
        widths = near.attributes.shape[1] * (np.diff(starts) > 0)
        return NodeVectors(starts, keys, near.attributes, None, graphs.kinds, widths)
