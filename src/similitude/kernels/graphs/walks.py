"""The random walk kernel: walks of any length that two graphs have in common."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute import Encoding, Hints, loops
from similitude.kernels.feature_weights import counted
from similitude.kernels.graphs.encoding import EncodedGraphs, as_graphs
from similitude.kernels.graphs.kernels import check_comparable
from similitude.kernels.ragged import Ragged, starts_of
from similitude.similarity import KERNEL, Similarity
from similitude.support import check_nonnegative


class WalkedGraphs(Ragged):
    """Graphs with the eigenvalues of their adjacency matrices, and squared sums of the eigenvectors as weights."""

    of_entries = ("values", "weights")
    of_rows = ("graphs", "radii")
    values: np.ndarray
    weights: np.ndarray
    graphs: EncodedGraphs
    radii: np.ndarray

    @property
    def arrays(self) -> Any:
        """The arrays as the loop of labeled graphs takes them."""
        structure, *labels = self.graphs.labeled_structure
        return *structure, *labels, self.radii


class RandomWalk(Similarity):
    r"""The geometric random walk kernel: the walks that two graphs have in common, of all lengths.

    .. math:: K(G, H) = \sum_{l=0}^{\infty} \lambda^l \sum_s n_s(G)\, n_s(H) = 1^T (I - \lambda W)^{-1} 1,

    where :math:`n_s(G)` counts the walks of G of length l whose nodes and edges have the sequence of labels s, and W is
    the adjacency matrix of the product of G and H: its nodes are pairs of nodes with equal labels, joined if both are
    joined by edges with equal labels. Without labels, :math:`n_l(G)` counts all walks of length l, and
    :math:`K = \sum_{i,j} w_i v_j / (1 - \lambda \alpha_i \beta_j)` with the eigenvalues of both graphs and their
    weights, the squared sums of eigenvectors. (Gärtner, Flach and Wrobel 2003, On graph kernels: hardness results and
    efficient alternatives; Vishwanathan, Schraudolph, Kondor and Borgwardt 2010, Graph kernels.)

    The sum is finite for all pairs of graphs whose largest eigenvalue :math:`\rho` has :math:`\lambda \rho^2 < 1`.
    Any other graph is refused with an error that names it and the largest decay for it, at prediction too: a kernel
    that divided each graph by its own eigenvalue would always be finite, but would compare walks of one graph with
    multiples of those of another. As :math:`\rho` is at most the largest degree D, ``decay`` below :math:`1 / D^2`
    suits every graph with no larger degree. A graph without nodes has the value 0 with all graphs.

    The time for unlabeled graphs grows with the cube of the number of nodes of a graph, and with the product of the
    numbers of nodes for a pair; for labeled graphs with the number of edges of W, by conjugate gradients until what is
    missing is below :math:`10^{-15}` of the value.

    Parameters
    ----------
    decay : float or "auto"
        :math:`\lambda \ge 0`. ``"auto"``: on the graphs it is resolved on, half of the largest one, :math:`1 / (2
        \rho^2)` with the largest of their eigenvalues; new graphs may have one that is 1.4 times as large.

    Examples
    --------
    >>> from similitude.kernels import RandomWalk
    >>> edge, path = ([(0, 1)],), ([(0, 1), (1, 2)],)
    >>> RandomWalk(decay=0.25).gram([edge, path])  # an edge has two walks of each length: 4 / (1 - 0.25)
    array([[ 5.33333333,  9.14285714],
           [ 9.14285714, 17.33333333]])
    >>> RandomWalk(decay=0.25)(([(0, 1)], ["C", "O"]), ([(0, 1), (1, 2)], ["C", "O", "C"]))
    4.571428571428571
    """

    objects = "graphs"
    claims = KERNEL
    hints = Hints(finite=True, heavy=True)
    resolves = ("decay",)
    reason = (
        "the dot product of the numbers of walks with each sequence of labels, each times the root of decay^length, "
        "on graphs for which these sums are finite (Gärtner, Flach and Wrobel 2003)"
    )

    def __init__(self, decay: float | str = "auto") -> None:
        self.decay = decay

    def check_params(self) -> None:
        """Validate the decay."""
        if self.decay != "auto":
            check_nonnegative("decay", self.decay, otherwise="'auto'")

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> Any:
        """Replace the decay "auto" by half of the largest one for X, without rows of weight 0."""
        if not self.unresolved():
            return self
        radius = float(_walked(as_graphs(counted(X, sample_weight))).radii.max(initial=0.0))
        # half of the largest decay for which all sums are finite
        return self.with_params(decay=0.5 / max(radius, 1.0) ** 2)

    def encode(self, objects: Any) -> Encoding:
        """Return the graphs with their eigenvalues; refuse a graph with infinite sums."""
        found = _walked(as_graphs(objects))
        large = np.flatnonzero(float(self.decay) * found.radii**2 >= 1)
        if len(large):
            g = int(large[0])
            raise ValueError(
                f"the walks of graph {g} have no finite sum with decay={float(self.decay):.4g}: it must be below "
                f"{found.radii[g] ** -2.0:.4g} for this graph, and below {found.radii.max() ** -2.0:.4g} for all"
            )
        return found

    def block(self, A: Encoding, B: Encoding) -> Any:
        """Return the sums over common walks, float64."""
        check_comparable(A.graphs.kinds, B.graphs.kinds)
        values = np.zeros((len(A), len(B)))
        if (A.graphs.kinds & 0b101).any() or (B.graphs.kinds & 0b101).any():  # nodes or edges have labels
            loops.labeled_walks(values, A.arrays, B.arrays, float(self.decay))
            return values
        for g, row in enumerate(values):
            own = slice(A.starts[g], A.starts[g + 1])
            terms = 1 - float(self.decay) * np.multiply.outer(A.values[own], B.values)
            sums = np.divide(A.weights[own, None], terms, out=terms).sum(axis=0)
            row[:] = np.bincount(B.owners, sums * B.weights, minlength=len(B))
        return values


def _walked(graphs: EncodedGraphs) -> WalkedGraphs:
    values = [np.zeros(0)]
    weights = [np.zeros(0)]
    radii = np.zeros(len(graphs))
    lengths = np.zeros(len(graphs), np.int64)
    for g in np.flatnonzero(graphs.lengths):
        near = graphs[g : g + 1].neighbors
        A = np.zeros((len(near), len(near)))
        A[near.owners, near.nodes] = 1.0
        found, vectors = np.linalg.eigh(A)
        squares = vectors.sum(axis=0) ** 2
        kept = squares > 1e-15 * len(near)
        values.append(found[kept])
        weights.append(squares[kept])
        radii[g] = max(float(found[-1]), 0.0)
        lengths[g] = kept.sum()
    return WalkedGraphs(starts_of(lengths), np.concatenate(values), np.concatenate(weights), graphs, radii)
