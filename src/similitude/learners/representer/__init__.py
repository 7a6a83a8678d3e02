"""Regularized risk minimization over a kernel's functions: any convex loss, any non-decreasing function of the norm."""

from similitude.learners.representer.estimators import RepresenterClassifier, RepresenterRegressor
from similitude.learners.representer.minimization import Norm, Optimality, OwnRegularizer, Regularizer, SquaredNorm

__all__ = [
    "Norm",
    "Optimality",
    "OwnRegularizer",
    "Regularizer",
    "RepresenterClassifier",
    "RepresenterRegressor",
    "SquaredNorm",
]
