"""The contracts as test kits, for the library's own classes and for yours.

A check raises AssertionError with what it found, or returns None.
"""

from similitude.checks.engine import check_engine
from similitude.checks.learners import check_learner
from similitude.checks.maps import check_map
from similitude.checks.saved import check_saved
from similitude.checks.similarity import check_similarity

__all__ = ["check_engine", "check_learner", "check_map", "check_saved", "check_similarity"]
