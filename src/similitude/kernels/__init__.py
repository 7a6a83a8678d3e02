"""Kernels and similarities, one module per kind of object."""

from similitude.kernels.explicit import explicit_dimension, explicit_map
from similitude.kernels.radial import Gaussian, Laplace, Matern, RationalQuadratic
from similitude.kernels.series import DTW, GlobalAlignment
from similitude.kernels.vectors import Cosine, HistogramIntersection, Linear, Polynomial, Sigmoid

__all__ = [
    "DTW",
    "Cosine",
    "Gaussian",
    "GlobalAlignment",
    "HistogramIntersection",
    "Laplace",
    "Linear",
    "Matern",
    "Polynomial",
    "RationalQuadratic",
    "Sigmoid",
    "explicit_dimension",
    "explicit_map",
]
