"""Landmarks: how they are chosen, and the features that they give."""

from similitude.landmarks.distributed import (
    AMONG_ALL,
    Collection,
    check_alike,
    choose_among_all,
    describe_choice,
    key_below,
)
from similitude.landmarks.feature_union import FeatureUnion
from similitude.landmarks.features import FeatureBlocks, LandmarkFeatures, in_double, in_floats, lengths, sided
from similitude.landmarks.guarantees import (
    COMPACT,
    DEFAULT,
    SEPARABLE,
    WIDE,
    Ask,
    Promise,
    at_most,
    guarantee_for_classes,
)
from similitude.landmarks.landmarks import GIVEN, UNLABELED, Landmarks, check_positions, interleaved
from similitude.landmarks.partitions import Candidates, Look, look_at_partition, sample_partition
from similitude.landmarks.pivots import draw
from similitude.landmarks.projection import (
    DOUBLE,
    EXAMINED,
    PROJECTION,
    SIMILARITIES,
    SINGLE,
    Factor,
    Representation,
    choose_representation,
    factor_of_landmarks,
    factorize,
    not_projected,
)
from similitude.landmarks.reservoir import Reservoir
from similitude.landmarks.rules import RULES, Pool, choose

__all__ = [
    "AMONG_ALL",
    "COMPACT",
    "DEFAULT",
    "DOUBLE",
    "EXAMINED",
    "GIVEN",
    "PROJECTION",
    "RULES",
    "SEPARABLE",
    "SIMILARITIES",
    "SINGLE",
    "UNLABELED",
    "WIDE",
    "Ask",
    "Candidates",
    "Collection",
    "Factor",
    "FeatureBlocks",
    "FeatureUnion",
    "LandmarkFeatures",
    "Landmarks",
    "Look",
    "Pool",
    "Promise",
    "Representation",
    "Reservoir",
    "at_most",
    "check_alike",
    "check_positions",
    "choose",
    "choose_among_all",
    "choose_representation",
    "describe_choice",
    "draw",
    "factor_of_landmarks",
    "factorize",
    "guarantee_for_classes",
    "in_double",
    "in_floats",
    "interleaved",
    "key_below",
    "lengths",
    "look_at_partition",
    "not_projected",
    "sample_partition",
    "sided",
]
