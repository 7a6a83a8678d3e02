"""Linear models of features: losses, weighted sums over a pass, ridge, logistic and squared hinge, sparse models."""

from similitude.linear.gram import GRAM_PENALTIES, LOWEST_POWER, Gram, GramFactor, exact_ridge, gram_precision, unit_of
from similitude.linear.iterated_ridge import IteratedRidge
from similitude.linear.l2_penalty import l2_path
from similitude.linear.landmark_ridge import Equations, fit_by_products
from similitude.linear.lapack import factorize, some_eigen, symmetric_eigen
from similitude.linear.left_out_groups import with_mean_of_others
from similitude.linear.losses import (
    LOSSES,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Loss,
    Quantile,
    SmoothQuantile,
    Squared,
    SquaredHinge,
    weighted_quantile,
)
from similitude.linear.moments import GroupMoments, LinearModel, Members, Moments
from similitude.linear.newton_step import NewtonStep, is_coupled, newton_step
from similitude.linear.own_loss import OwnLoss, as_instance, as_loss, check_convex, named_function
from similitude.linear.penalty_choice import fit_classes, fit_numbers
from similitude.linear.ridge import ByCholesky, Ridge, Validation, gram_matrices
