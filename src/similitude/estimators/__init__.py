"""The estimators most people will use: SimilarityClassifier and SimilarityRegressor."""

from similitude.estimators.budget_curve import CostCurve, cost_curve
from similitude.estimators.classifier import SimilarityClassifier
from similitude.estimators.explanation import Explanation, Explanations
from similitude.estimators.multilabel import SimilarityMultilabelClassifier
from similitude.estimators.ordinal import SimilarityOrdinalClassifier
from similitude.estimators.prediction import EarlyStops
from similitude.estimators.prediction import fitted_parts as fitted_parts
from similitude.estimators.regressor import SimilarityRegressor
from similitude.evaluation import error_of_classes as error_of_classes
from similitude.fitting import EVERY_ROW as EVERY_ROW
from similitude.fitting import Uncertainty
from similitude.fitting import without_evaluation as without_evaluation
from similitude.landmarks import Representation

__all__ = [
    "CostCurve",
    "EarlyStops",
    "Explanation",
    "Explanations",
    "Representation",
    "SimilarityClassifier",
    "SimilarityMultilabelClassifier",
    "SimilarityOrdinalClassifier",
    "SimilarityRegressor",
    "Uncertainty",
    "cost_curve",
]
