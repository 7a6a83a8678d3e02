"""Kernels and similarities, one module per kind of object."""

from similitude.kernels.edit import Edit
from similitude.kernels.explicit import explicit_dimension, explicit_map
from similitude.kernels.gower import Gower
from similitude.kernels.graphs import Graphlet, ShortestPath, WeisfeilerLehman
from similitude.kernels.radial import Gaussian, Laplace, Matern, RationalQuadratic
from similitude.kernels.series import DTW, GlobalAlignment
from similitude.kernels.sets import Intersection, Jaccard, SharesAny
from similitude.kernels.strings import Gapped, Mismatch, Spectrum
from similitude.kernels.tables import Columns
from similitude.kernels.values import Equal, Ordinal, OrMissing
from similitude.kernels.vectors import Cosine, HistogramIntersection, Linear, Polynomial, Sigmoid

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
    "Polynomial",
    "RationalQuadratic",
    "SharesAny",
    "ShortestPath",
    "Sigmoid",
    "Spectrum",
    "WeisfeilerLehman",
    "explicit_dimension",
    "explicit_map",
]
