"""Scikit-learn's own checks of every estimator, learner and map."""

import pytest
from learners import CLASSIFIERS, CLUSTERERS, EXPECTED_FAILURES, MAPS, MAPS_OF_VECTORS, REGRESSORS
from sklearn.utils.estimator_checks import parametrize_with_checks

ESTIMATORS = [*CLASSIFIERS, *REGRESSORS, *CLUSTERERS, *MAPS, *MAPS_OF_VECTORS]
FIRST = {type(one): one for one in reversed(ESTIMATORS)}
OTHER_SETTINGS = [one for one in ESTIMATORS if one is not FIRST[type(one)]]


def repeats_another(check):
    """Tell whether a check trains on read-only arrays of float64: others do on writable ones, and on float32."""
    return check.func.__name__.endswith("s_train") and check.keywords == {"readonly_memmap": True}


def marks_of(cell):
    return [*cell.marks, pytest.mark.deep] if repeats_another(cell.values[1]) else cell.marks


def checks_of(estimators):
    mark = parametrize_with_checks(estimators, expected_failed_checks=lambda one: EXPECTED_FAILURES.get(type(one), {}))
    names, cells = mark.args
    given = [cell if hasattr(cell, "values") else pytest.param(*cell) for cell in cells]
    return pytest.mark.parametrize(
        names, [pytest.param(*one.values, marks=marks_of(one)) for one in given], **mark.kwargs
    )


@pytest.mark.filterwarnings("ignore:only 4 of 8 clusters have members")
@checks_of(list(FIRST.values()))
def test_scikit_learn_is_content(estimator, check):
    check(estimator)


@pytest.mark.deep
@checks_of(OTHER_SETTINGS)
def test_scikit_learn_is_content_with_other_settings(estimator, check):
    check(estimator)
