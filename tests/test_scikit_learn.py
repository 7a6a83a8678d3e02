"""Scikit-learn's own checks of every estimator, learner and map."""

import pytest
from learners import CLASSIFIERS, CLUSTERERS, EXPECTED_FAILURES, MAPS, MAPS_OF_VECTORS, REGRESSORS
from sklearn.utils.estimator_checks import parametrize_with_checks

ESTIMATORS = [*CLASSIFIERS, *REGRESSORS, *CLUSTERERS, *MAPS, *MAPS_OF_VECTORS]


@pytest.mark.filterwarnings("ignore:only 4 of 8 clusters have members")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda one: EXPECTED_FAILURES.get(type(one), {}))
def test_scikit_learn_is_content(estimator, check):
    check(estimator)
