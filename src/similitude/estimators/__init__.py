"""The estimators most people will use: SimilarityClassifier and SimilarityRegressor."""

from similitude.estimators.classifier import SimilarityClassifier
from similitude.estimators.explanation import Explanation
from similitude.estimators.regressor import SimilarityRegressor
from similitude.estimators.targets import class_codes
from similitude.landmarks import Representation

__all__ = [
    "Explanation",
    "Representation",
    "SimilarityClassifier",
    "SimilarityRegressor",
    "class_codes",
]
