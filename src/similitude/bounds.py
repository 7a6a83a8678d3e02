"""The sample sizes and bounds of the theory, each a function of numbers alone."""

from similitude.theory.bounds import *  # noqa: F403
from similitude.theory.bounds import __all__  # noqa: F401
