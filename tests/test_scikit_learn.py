"""Scikit-learn's own checks of every estimator, learner and map."""

import pytest
from learners import CLASSIFIERS, CLUSTERERS, EXPECTED_FAILURES, MAPS, MAPS_OF_VECTORS, REGRESSORS
from sklearn.utils.estimator_checks import parametrize_with_checks

ESTIMATORS = [*CLASSIFIERS, *REGRESSORS, *CLUSTERERS, *MAPS, *MAPS_OF_VECTORS]
FIRST = {type(one): one for one in reversed(ESTIMATORS)}
OTHER_SETTINGS = [one for one in ESTIMATORS if one is not FIRST[type(one)]]


def checks_of(estimators):
    return parametrize_with_checks(estimators, expected_failed_checks=lambda one: EXPECTED_FAILURES.get(type(one), {}))


@pytest.mark.filterwarnings("ignore:only 4 of 8 clusters have members")
@checks_of(list(FIRST.values()))
def test_scikit_learn_is_content(estimator, check):
    check(estimator)


@pytest.mark.deep
@checks_of(OTHER_SETTINGS)
def test_scikit_learn_is_content_with_other_settings(estimator, check):
    check(estimator)
