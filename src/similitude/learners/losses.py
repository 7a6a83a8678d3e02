"""The convex losses that RepresenterClassifier and RepresenterRegressor take."""

from similitude.linear.losses import (
    LOSSES,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Loss,
    Quantile,
    Squared,
    SquaredHinge,
)
from similitude.linear.own_loss import OwnLoss

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
