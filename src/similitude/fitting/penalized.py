"""Fits by another loss or penalty than ridge regression, on features that a fit by ridge regression has chosen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from similitude.compute import as_numpy
from similitude.evaluation import LastRows, Trial
from similitude.fitting.facts import FitOptions
from similitude.fitting.influence import influence_in_refit
from similitude.fitting.limited_targets import robust_deviation
from similitude.fitting.model import FittedModel, class_numbers
from similitude.fitting.passes import FeatureUnion
from similitude.fitting.training_set import Design, TrainingSet
from similitude.linear import LinearModel, SmoothQuantile, Squared, fit_classes, fit_numbers


def fit_penalized(
    options: FitOptions, F: Any, Y: np.ndarray, weights: np.ndarray, groups: np.ndarray | None, last: LastRows
) -> tuple[LinearModel, Trial, np.ndarray]:
    """Fit another loss or penalty; return the model, its trial on held-out rows, and which rows these are."""
    if options.classes:
        n_classes = max(2, Y.shape[1])
        state = options.random_state
        return fit_classes(options.loss, options.penalty, F, class_numbers(Y), n_classes, weights, state, groups, last)
    loss, penalty = (Squared(), "l1") if options.own_loss is None else (options.own_loss, "l2")
    return fit_numbers(loss, penalty, F, Y, weights, options.random_state, groups, last)


def refit(fitted: FittedModel, data: TrainingSet, options: FitOptions) -> tuple[FittedModel, str | None]:
    """Return the fit by another loss or penalty on the same features, and what was done on the CPU."""
    F, Y, weights = all_features(fitted, data, options)
    named = "penalty='l1'"
    if options.penalty != "l1":
        named = f"loss={options.loss!r}"
    with options.engine.linear_algebra(f"{named} on {F.shape[0]:,} x {F.shape[1]:,} features"):
        groups = data.groups_of(data.order)  # the features of all rows are in this order
        linear, trial, held = fit_penalized(options, F, Y, weights, groups, data.last)
        places = None
        if fitted.design is not None:
            places = data.located_at(fitted.samples[0].places)
        linear, influence = influence_in_refit(options, linear, trial.lam, fitted.features, (F, Y, weights), places)
    found = replace(
        fitted,
        linear=linear,
        trial=trial,
        held_out=(Y[held], weights[held]),
        influence=influence,
        tried=as_numpy(F[held]),
        open_variance=None,
        groups=None if groups is None else groups[held],
    )
    return found, f"the model with {named} was fitted" if isinstance(F, np.ndarray) else None


def rounded_pinball(fitted: FittedModel, quantile: float) -> SmoothQuantile:
    """Return the loss of a quantile, rounded within a part of the errors of least squares."""
    errors = fitted.held_out[0] - fitted.trial.scores
    # robust standard deviations of the errors of ridge regression within which the pinball loss is rounded
    return SmoothQuantile(quantile, 0.1 * (float(robust_deviation(errors)[0]) or 1.0))


def all_features(fitted: FittedModel, data: TrainingSet, options: FitOptions) -> Design:
    """Return features, targets and weights of all rows, for losses and penalties that need them all at once."""
    design = fitted.design
    if design is None:
        design = data.features(FeatureUnion.of(fitted.features, data.itemsize), options.engine)
    F, Y, weights = design
    return (as_numpy(F) if options.penalty == "l1" else options.engine.to_device(F)), Y, weights
