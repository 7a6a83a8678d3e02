"""Learners: scikit-learn estimators whose solvers work on plain arrays, on features or on a Gram matrix."""

from similitude.learners.base import InseparableError
from similitude.learners.separator import SeparatorLP

__all__ = ["InseparableError", "SeparatorLP"]
