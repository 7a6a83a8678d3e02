"""Fits: the plan, candidates, solvers, and what training rows add to a prediction."""

from similitude.fitting.automatic import EVERY_ROW, similarity_without_labels
from similitude.fitting.batches import Sampled, batches_to_predict, first_rows, sample_source
from similitude.fitting.blend_influence import BlendInfluence
from similitude.fitting.cascade import Cascade, CascadeInfluence, decided
from similitude.fitting.costs import Spent
from similitude.fitting.delayed_influence import DelayedInfluence
from similitude.fitting.distributed import sample_collection
from similitude.fitting.facts import objects_in_words
from similitude.fitting.frugal import fit_frugally
from similitude.fitting.frugal_task import FrugalTask
from similitude.fitting.group_influence import GroupInfluence
from similitude.fitting.influence import FitInfluence, Influence, class_numbers, weighted_landmarks
from similitude.fitting.limited_targets import (
    FAR_TARGET,
    HUBER_THRESHOLD,
    LIMITING_FOLDS,
    LIMITING_ROUNDS,
    limit_targets,
)
from similitude.fitting.model import LandmarkModel, WeightedLandmarks
from similitude.fitting.nested_folds import FEWEST_NESTED_ROWS, judges, unjudged
from similitude.fitting.options import RIDGE, FitOptions
from similitude.fitting.partial_fit import MOST_OF_STREAM, Stream, held_out_of_batch
from similitude.fitting.partitions import Prediction, partition_prediction
from similitude.fitting.plan import Plan, PlanStep, plan_fit, plan_gram
from similitude.fitting.products import reads_memory_map
from similitude.fitting.result import FittedModel, Judged, LandmarkCurve
from similitude.fitting.run import run
from similitude.fitting.scales import open_scales
from similitude.fitting.targets import ClassTargets, NumberTargets, Targets
from similitude.fitting.training_set import Sampling, TrainingSet, draw_seed
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
