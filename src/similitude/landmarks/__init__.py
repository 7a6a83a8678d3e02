"""Landmarks: how they are chosen, and the features that they give."""

from similitude.landmarks.distributed import (
    AMONG_ALL,
    Collection,
    RowReader,
    batch_weights,
    choose_among_all,
    describe_choice,
)
from similitude.landmarks.features import (
    GIVEN,
    UNLABELED,
    FeatureBlocks,
    LandmarkFeatures,
    Landmarks,
    SampleFeatures,
    in_double,
    in_floats,
    lengths,
    rows_of,
    side_by_side,
    sided,
)
from similitude.landmarks.guarantees import (
    COMPACT,
    DEFAULT,
    SEPARABLE,
    WIDE,
    Ask,
    Promise,
    at_most,
    class_gap,
    class_margin,
    fixed_beforehand,
    guarantee_of_fit,
    independent_landmarks,
    is_kernel,
    share_without_gap,
    within_range,
)
from similitude.landmarks.pivots import draw
from similitude.landmarks.projection import (
    PROJECTION,
    SIMILARITIES,
    Factor,
    Representation,
    factor_of_landmarks,
    factorize,
    n_leading,
    rounding_of,
    solve_rows,
    solver,
)
from similitude.landmarks.rules import RULES, Pool, Reservoir, check_positions, choose, refuse_function
