"""Fits: the plan, candidates, solvers, and what training rows add to a prediction."""

from similitude.fitting.automatic import EVERY_ROW, similarity_without_labels
from similitude.fitting.batches import (
    batches_to_predict,
    first_rows,
    partition_prediction,
    sample_collection,
    sample_source,
)
from similitude.fitting.calibration import (
    ClassCalibration,
    ErrorCalibration,
    Uncertainty,
    probabilities,
    scale_and_shift,
    scores_and_sizes,
    temperature,
    winner_first,
)
from similitude.fitting.cascade import Cascade, CascadeInfluence, decided
from similitude.fitting.costs import Spent
from similitude.fitting.facts import RIDGE, Facts, FitOptions, objects_in_words, open_scales
from similitude.fitting.fit import run
from similitude.fitting.frugal import FrugalTask, fit_frugally
from similitude.fitting.influence import (
    BlendInfluence,
    DelayedInfluence,
    FitInfluence,
    GroupInfluence,
    Influence,
    weighted_landmarks,
)
from similitude.fitting.limited_targets import (
    FAR_TARGET,
    HUBER_THRESHOLD,
    LIMITING_FITS,
    limit_targets,
)
from similitude.fitting.limits import calls_allowed
from similitude.fitting.model import (
    FittedModel,
    LandmarkCurve,
    LandmarkModel,
    ScoredRows,
    WeightedLandmarks,
    class_numbers,
)
from similitude.fitting.partial_fit import MOST_OF_STREAM, Stream, held_out_of_batch
from similitude.fitting.plan import (
    Plan,
    PlanStep,
    evaluating,
    plan_fit,
    plan_gram,
    without_evaluation,
)
from similitude.fitting.products import reads_memory_map
from similitude.fitting.spread import SpreadFit, spread_of_fit
from similitude.fitting.targets import ClassTargets, NumberTargets, Targets
from similitude.fitting.training_set import Sampling, TrainingSet, draw_seed
