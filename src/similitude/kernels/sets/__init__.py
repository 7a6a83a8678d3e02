"""Similarities of sets."""

from similitude.kernels.sets.overlap import Intersection, Jaccard, SharesAny
