"""One fit step by step: what an estimator asks for is planned and run, and tests see what the fit found."""

import numpy as np

from similitude.fitting import Facts, Sampling, TrainingSet, draw_seed, plan_fit, run
from similitude.similarity import Meter


def run_fit(model, X, Y, weights=None, given=None, labels=None):
    """Fit a model to targets in columns, and return what the fit found."""
    weights = np.ones(len(Y)) if weights is None else weights
    data = TrainingSet(X, Y, weights, given, labels, Sampling(draw_seed(model.random_state))).with_copies()
    model._check_params()
    options = model._options(X, labels, Meter(None))
    facts = Facts(data, options)
    fit = run(plan_fit(facts), facts)
    model._keep(fit)
    return fit
