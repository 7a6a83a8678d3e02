"""The compiled loops over graphs behind the signatures of their twins in ``reference_graphs``."""

from typing import Any

import numpy as np

import similitude.compute.loops._compiled as _compiled
from similitude.compute.loops.reference import Array
from similitude.compute.loops.reference_graphs import Keyed, Structure


def weisfeiler_lehman(graphs: Structure, labels: Any, edge_labels: Any, iterations: int) -> Keyed:
    """See `reference_graphs.weisfeiler_lehman`."""
    return _compiled.weisfeiler_lehman(*graphs, labels, edge_labels, iterations)


def shortest_paths(graphs: Structure, labels: Any) -> Keyed:
    """See `reference_graphs.shortest_paths`."""
    return _compiled.shortest_paths(*graphs, labels)


def graphlets(graphs: Structure, p: int, of_code: Any, contains: Any) -> Array:
    """See `reference_graphs.graphlets`."""
    out = np.empty((len(graphs[0]) - 1, len(contains)))
    _compiled.graphlets(*graphs, of_code, contains, p, out)
    return out


def keyed_products(out: Any, A: Keyed, B: Keyed) -> None:
    """See `reference_graphs.keyed_products`."""
    _compiled.keyed_products(out, *A, *B)
