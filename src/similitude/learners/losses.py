"""The convex losses that RepresenterClassifier and RepresenterRegressor take."""

from similitude.linear import (
    LOSSES,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Loss,
    OwnLoss,
    Quantile,
    Squared,
    SquaredHinge,
)

__all__ = [
    "LOSSES",
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "OwnLoss",
    "Quantile",
    "Squared",
    "SquaredHinge",
]
