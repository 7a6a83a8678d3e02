"""Scikit-learn's own checks of every estimator, learner and map."""

import pytest
from learners import (
    CLASSIFIERS,
    CLUSTERERS,
    DETECTORS,
    EMBEDDINGS,
    EXPECTED_FAILURES,
    MAPS,
    MAPS_OF_VECTORS,
    REGRESSORS,
)
from sklearn.base import is_regressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from similitude import SimilarityClassifier, SimilarityRegressor
from similitude.learners import AlignmentVote, KreinSVC, MarginPerceptron, WeakSimilarityVote

ESTIMATORS = [*CLASSIFIERS, *REGRESSORS, *CLUSTERERS, *DETECTORS, *MAPS, *EMBEDDINGS, *MAPS_OF_VECTORS]
FIRST = {type(one): one for one in reversed(ESTIMATORS)}
SLOW = (SimilarityClassifier, SimilarityRegressor)
OF_TARGETS = ("regressor", "supervised_y", "sample_weight", "takes_y")
LIKE_ANOTHER = (MarginPerceptron, KreinSVC, AlignmentVote, WeakSimilarityVote)
OF_INPUT = (
    *("_data", "_dtypes", "dtype_object", "nan_inf", "not_an_array", "pandas", "_list", "sparse", "memmap_input"),
    *("f_contiguous", "array_api", "positive_only", "fit1d", "fit2d", "pipeline", "n_features_in", "data_messages"),
)
OTHER_SETTINGS = [one for one in ESTIMATORS if one is not FIRST[type(one)]]


def repeats_another(estimator, check):
    """Tell whether another check does nearly the same.

    Training on read-only arrays of float64 repeats that on writable ones and that on read-only float32, and sparse
    matrices repeat sparse arrays. Every regressor has a classifier of the same family, which is asked for all that
    does not depend on targets. Of four classifiers there is another one of the same family, which validates its input
    in the same way. What takes a second a fit trains in one form.
    """
    name, given = check.func.__name__, check.keywords
    return (
        name == "check_estimator_sparse_matrix"
        or (is_regressor(estimator) and not any(word in name for word in OF_TARGETS))
        or (isinstance(estimator, LIKE_ANOTHER) and any(word in name for word in OF_INPUT))
        or (name.endswith("s_train") and given == {"readonly_memmap": True})
        or (name.endswith(("s_train", "data_not_an_array")) and not given and type(estimator) in SLOW)
    )


def marks_of(cell):
    return [*cell.marks, pytest.mark.deep] if repeats_another(*cell.values) else cell.marks


def checks_of(estimators):
    mark = parametrize_with_checks(estimators)
    names, cells = mark.args
    given = [cell if hasattr(cell, "values") else pytest.param(*cell) for cell in cells]
    return pytest.mark.parametrize(
        names, [pytest.param(*one.values, marks=marks_of(one)) for one in given], **mark.kwargs
    )


def run(estimator, check):
    """Run a check, which must fail if it is among the expected failures.

    A failure of pytest would be written out, with the source of all modules that it passed through.
    """
    if check.func.__name__ in EXPECTED_FAILURES.get(type(estimator), {}):
        with pytest.raises(AssertionError):
            check(estimator)
    else:
        check(estimator)


@pytest.mark.usefixtures("unlearned", "without_evaluation")  # both on every kind of object: test_contract_learner.py
@pytest.mark.filterwarnings("ignore:only 4 of 8 clusters have members")
@checks_of(list(FIRST.values()))
def test_scikit_learn_is_content(estimator, check):
    run(estimator, check)


@pytest.mark.deep
@checks_of(OTHER_SETTINGS)
def test_scikit_learn_is_content_with_other_settings(estimator, check):
    run(estimator, check)
