"""Small real data sets of every kind of object, and the toy problems of the literature."""

from similitude.data.datasets import *  # noqa: F403
from similitude.data.datasets import __all__ as __all__
