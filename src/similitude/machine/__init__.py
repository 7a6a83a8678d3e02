"""The estimators most people will use: SimilarityClassifier and SimilarityRegressor."""

from similitude.machine.classifier import SimilarityClassifier
from similitude.machine.explanation import Explanation
from similitude.machine.regressor import SimilarityRegressor
from similitude.machine.roads import Road

__all__ = ["Explanation", "Road", "SimilarityClassifier", "SimilarityRegressor"]
