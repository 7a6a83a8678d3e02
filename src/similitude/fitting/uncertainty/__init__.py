"""Uncertainty of predictions: intervals and sets of classes that hold for a share of new rows, standard deviations."""

from similitude.fitting.uncertainty.class_sets import ClassCalibration, TrueClassScores
from similitude.fitting.uncertainty.intervals_of_errors import ErrorCalibration, scores_and_sizes
from similitude.fitting.uncertainty.landmark_variance import OpenVariance, open_variance_of
from similitude.fitting.uncertainty.record import Uncertainty
from similitude.fitting.uncertainty.spread import MOST_NOISE_FEATURES as MOST_NOISE_FEATURES
from similitude.fitting.uncertainty.spread import SizedRows, Spread, SpreadFit, fit_spread

__all__ = [
    "ClassCalibration",
    "ErrorCalibration",
    "OpenVariance",
    "SizedRows",
    "Spread",
    "SpreadFit",
    "TrueClassScores",
    "Uncertainty",
    "fit_spread",
    "open_variance_of",
    "scores_and_sizes",
]
