"""Graph kernels."""

from similitude.kernels.graphs.encoding import as_graphs
from similitude.kernels.graphs.kernels import (
    Graphlet,
    ShortestPath,
    WeisfeilerLehman,
    WeisfeilerLehmanAssignment,
    WeisfeilerLehmanEdges,
)
from similitude.kernels.graphs.parsing import ParsedGraph, is_graph, parse_graph, parse_graphs
from similitude.kernels.graphs.walks import RandomWalk
