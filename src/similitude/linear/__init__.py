"""Linear models of features: ridge from moments, squared hinge and logistic by conjugate gradients, sparse by L1."""

from similitude.linear.choosing import fit_classes, fit_numbers
from similitude.linear.held_out import HELD_OUT, LEAVE_ONE_OUT, n_fitted
from similitude.linear.linear import Linear
from similitude.linear.moments import Moments
from similitude.linear.ridge import Ridge, Trial

__all__ = [
    "HELD_OUT",
    "LEAVE_ONE_OUT",
    "Linear",
    "Moments",
    "Ridge",
    "Trial",
    "fit_classes",
    "fit_numbers",
    "n_fitted",
]
