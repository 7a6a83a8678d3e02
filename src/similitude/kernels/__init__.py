"""Kernels and similarities, one package per kind of object, and explicit feature maps."""

from similitude.kernels.explicit import explicit_dimension, explicit_map
from similitude.kernels.graphs import Graphlet, RandomWalk, ShortestPath, WeisfeilerLehman, WeisfeilerLehmanAssignment
from similitude.kernels.series import DTW, GlobalAlignment
from similitude.kernels.sets import Intersection, Jaccard, SharesAny
from similitude.kernels.strings import Edit, Gapped, Mismatch, Spectrum
from similitude.kernels.tables import Columns, Equal, Gower, Ordinal, OrMissing, Tabular
from similitude.kernels.vectors import (
    Cosine,
    Gaussian,
    HistogramIntersection,
    Laplace,
    Linear,
    Matern,
    Partitioned,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)

__all__ = [
    "DTW",
    "Columns",
    "Cosine",
    "Edit",
    "Equal",
    "Gapped",
    "Gaussian",
    "GlobalAlignment",
    "Gower",
    "Graphlet",
    "HistogramIntersection",
    "Intersection",
    "Jaccard",
    "Laplace",
    "Linear",
    "Matern",
    "Mismatch",
    "OrMissing",
    "Ordinal",
    "Partitioned",
    "Polynomial",
    "RandomWalk",
    "RationalQuadratic",
    "SharesAny",
    "ShortestPath",
    "Sigmoid",
    "Spectrum",
    "Tabular",
    "WeisfeilerLehman",
    "WeisfeilerLehmanAssignment",
    "explicit_dimension",
    "explicit_map",
]
