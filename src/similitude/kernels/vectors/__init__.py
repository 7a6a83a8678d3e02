"""Similarities of vectors: functions of dot products, of distances, and of other sums over features.

Vectors are encoded as the rows of one matrix by :func:`similitude.compute.as_matrix`.
"""

from similitude.kernels.vectors.pairwise import IDENTITY, inner, pairwise, unit_rows
from similitude.kernels.vectors.partitioned import Partitioned
from similitude.kernels.vectors.products import Cosine, HistogramIntersection, Linear, Polynomial, Sigmoid
from similitude.kernels.vectors.radial import (
    DistanceSimilarity,
    Gaussian,
    Laplace,
    Matern,
    RationalQuadratic,
    values_at_scales,
)
