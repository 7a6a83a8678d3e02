"""Fits: the plan, candidates, solvers, and what training rows add to a prediction."""

from similitude.fitting.automatic import (
    EVERY_ROW,
    LEARNED_KINDS,
    ExactFit,
    best_alone,
    can_learn,
    fit_exactly,
    fits_exactly,
    in_words,
    learn_on_pilot,
    similarity_without_labels,
    try_family,
)
from similitude.fitting.batches import Sampled, batches_to_predict, sample_source
from similitude.fitting.blend_influence import BlendInfluence
from similitude.fitting.cascade import Cascade, CascadeInfluence, decided
from similitude.fitting.choose_landmarks import choose_landmarks
from similitude.fitting.delayed_influence import DelayedInfluence
from similitude.fitting.distributed import sample_collection
from similitude.fitting.fit import Fitted, all_features, fit_ridge
from similitude.fitting.frugal import check_memory, fit_frugally
from similitude.fitting.frugal_task import FrugalTask
from similitude.fitting.group_influence import GroupInfluence
from similitude.fitting.guarantee import guarantee_of_fit, guarantee_of_learned
from similitude.fitting.influence import FitInfluence, Influence, class_numbers, influence_in_refit, weighted_landmarks
from similitude.fitting.landmark_count import LandmarkCurve
from similitude.fitting.learned_similarities import learn_similarities
from similitude.fitting.limited_targets import FAR_TARGET, HUBER_THRESHOLD, limit_targets, robust_deviation
from similitude.fitting.model import LandmarkModel, WeightedLandmarks
from similitude.fitting.nested_folds import FEWEST_NESTED_ROWS, Judged, judged_by_folds, judges, unjudged
from similitude.fitting.options import RIDGE, FitOptions
from similitude.fitting.partial_fit import MOST_OF_STREAM, Stream, held_out_of_batch
from similitude.fitting.partitions import Prediction, partition_prediction
from similitude.fitting.piloted_fit import fit_by_pilot
from similitude.fitting.products import reads_memory_map
from similitude.fitting.rows import PILOT, Sampling, TrainingRows, draw_seed
from similitude.fitting.scales import MEDIAN_KEPT, choose_scales, keeps_median, open_scales
from similitude.fitting.targets import ClassTargets, NumberTargets, Targets
from similitude.fitting.uncertainty import (
    MOST_NOISE_FEATURES,
    ClassCalibration,
    ErrorCalibration,
    SizedRows,
    SpreadFit,
    TrueClassScores,
    Uncertainty,
    fit_spread,
    scores_and_sizes,
)
