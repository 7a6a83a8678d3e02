"""Kernels and similarities, one package per kind of object, and explicit feature maps."""

from similitude.kernels.automatic import FAMILIES as FAMILIES
from similitude.kernels.automatic import PAIR_BUDGET as PAIR_BUDGET
from similitude.kernels.automatic import default_similarity as default_similarity
from similitude.kernels.automatic import family_of as family_of
from similitude.kernels.automatic import kind_in_words as kind_in_words
from similitude.kernels.automatic import kind_of_objects as kind_of_objects
from similitude.kernels.automatic import neighbors_are_alike as neighbors_are_alike
from similitude.kernels.automatic import pair_cost as pair_cost
from similitude.kernels.automatic import pilot_rows as pilot_rows
from similitude.kernels.automatic import suggestion as suggestion
from similitude.kernels.explicit import explicit_dimension, explicit_map
from similitude.kernels.graphs import (
    Graphlet,
    RandomWalk,
    ShortestPath,
    WeisfeilerLehman,
    WeisfeilerLehmanAssignment,
    WeisfeilerLehmanEdges,
)
from similitude.kernels.samples import MeanOf
from similitude.kernels.series import DTW, ERP, MSM, TWE, Convolutions, Derivative, GlobalAlignment, Signature, SoftDTW
from similitude.kernels.sets import Intersection, Jaccard, SharesAny
from similitude.kernels.strings import Aligned, Edit, Gapped, LocalAlignment, Mismatch, Spectrum, Subsequence, Words
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
from similitude.kernels.vectors import values_at_scales as values_at_scales
from similitude.similarity import Auto

__all__ = [
    "DTW",
    "ERP",
    "MSM",
    "TWE",
    "Aligned",
    "Auto",
    "Columns",
    "Convolutions",
    "Cosine",
    "Derivative",
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
    "LocalAlignment",
    "Matern",
    "MeanOf",
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
    "Signature",
    "SoftDTW",
    "Spectrum",
    "Subsequence",
    "Tabular",
    "WeisfeilerLehman",
    "WeisfeilerLehmanAssignment",
    "WeisfeilerLehmanEdges",
    "Words",
    "explicit_dimension",
    "explicit_map",
]
