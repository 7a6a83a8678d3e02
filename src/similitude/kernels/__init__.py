"""Kernels and similarities, one module per kind of object."""

from similitude.kernels.explicit import explicit_dimension, explicit_map
from similitude.kernels.graphs import Graphlet, ShortestPath, WeisfeilerLehman
from similitude.kernels.radial import Gaussian, Laplace, Matern, RationalQuadratic
from similitude.kernels.vectors import Cosine, HistogramIntersection, Linear, Polynomial, Sigmoid

__all__ = [
    "Cosine",
    "Gaussian",
    "Graphlet",
    "HistogramIntersection",
    "Laplace",
    "Linear",
    "Matern",
    "Polynomial",
    "RationalQuadratic",
    "ShortestPath",
    "Sigmoid",
    "WeisfeilerLehman",
    "explicit_dimension",
    "explicit_map",
]
