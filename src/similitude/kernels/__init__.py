"""Kernels and similarities, one module per kind of object."""

from similitude.kernels.edit import Edit
from similitude.kernels.explicit import explicit_dimension, explicit_map
from similitude.kernels.radial import Gaussian, Laplace, Matern, RationalQuadratic
from similitude.kernels.strings import Gapped, Mismatch, Spectrum
from similitude.kernels.vectors import Cosine, HistogramIntersection, Linear, Polynomial, Sigmoid

__all__ = [
    "Cosine",
    "Edit",
    "Gapped",
    "Gaussian",
    "HistogramIntersection",
    "Laplace",
    "Linear",
    "Matern",
    "Mismatch",
    "Polynomial",
    "RationalQuadratic",
    "Sigmoid",
    "Spectrum",
    "explicit_dimension",
    "explicit_map",
]
