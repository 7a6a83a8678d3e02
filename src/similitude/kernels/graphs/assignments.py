"""Optimal assignment of the nodes of two graphs by refined labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from similitude.compute import Encoding, Hints, loops
from similitude.kernels.graphs.encoding import EncodedGraphs, as_graphs
from similitude.kernels.graphs.kernels import (
    MOST_ITERATIONS,
    GraphHistograms,
    HistogramSimilarity,
    label_histograms,
)
from similitude.kernels.ragged import starts_of
from similitude.similarity import KERNEL
from similitude.support import brief, check_integer, check_nonnegative


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
        check_integer("iterations", self.iterations, 0, MOST_ITERATIONS)
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
        roots = np.ones(len(found.keys)) if self.depth_weights is None else self._roots(graphs, found.keys)
        return _ranked(found, roots)

    def _roots(self, graphs: EncodedGraphs, keys: np.ndarray) -> np.ndarray:
        """Return the root of the weight of each refined label."""
        levels = loops.refined_labels(graphs.structure, graphs.labels, graphs.edge_labels, int(self.iterations))
        known, first = np.unique(np.concatenate(levels), return_index=True)
        depths = first // max(1, len(levels[0]))
        return np.sqrt(np.asarray(self.depth_weights, float))[depths[np.searchsorted(known, keys)]]


def _ranked(found: GraphHistograms, values: np.ndarray) -> GraphHistograms:
    """Return histograms with an entry, the value of its key, for each rank 1, …, count of every key."""
    counts = found.counts.astype(np.int64)
    ends = starts_of(counts)
    ranks = np.arange(ends[-1]) - np.repeat(ends[:-1], counts)
    # keys are digests: with what a rank adds, modulo 2^64, sums are as different as they are
    keys = np.repeat(found.keys, counts) + ranks.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    starts = ends[found.starts]
    order = np.lexsort([keys, np.repeat(np.arange(len(found)), np.diff(starts))])
    kept = np.repeat(values, counts)[order]
    return GraphHistograms(starts, keys[order], np.ones(len(keys)), found.kinds).scaled(kept)
