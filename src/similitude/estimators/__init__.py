"""The estimators most people will use: SimilarityClassifier and SimilarityRegressor."""

from similitude.estimators.classifier import SimilarityClassifier
from similitude.estimators.explanation import Explanation, Explanations
from similitude.estimators.nested_folds import error_of_classes as error_of_classes
from similitude.estimators.regressor import SimilarityRegressor
from similitude.landmarks import Representation

__all__ = [
    "Explanation",
    "Explanations",
    "Representation",
    "SimilarityClassifier",
    "SimilarityRegressor",
]
