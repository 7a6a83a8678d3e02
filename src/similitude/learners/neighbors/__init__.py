"""Nearest neighbors: two estimators, and an index to search in by any similarity."""

from similitude.learners.neighbors.estimators import SimilarityKNeighborsClassifier, SimilarityKNeighborsRegressor
from similitude.learners.neighbors.index import SimilarityIndex
from similitude.learners.neighbors.tiles import SquaredLengths, squared_lengths

__all__ = [
    "SimilarityIndex",
    "SimilarityKNeighborsClassifier",
    "SimilarityKNeighborsRegressor",
    "SquaredLengths",
    "squared_lengths",
]
