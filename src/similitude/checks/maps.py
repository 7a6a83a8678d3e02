"""The map contract as a test kit."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from similitude.checks.comparing import array, same
from similitude.checks.estimators import check_fit_changes_nothing, check_refuses
from similitude.compute.encodings import check_objects, take
from similitude.support.results import ESTIMATE, HELD_OUT, NONE, PROVEN, Guarantee


def check_map(feature_map: Any, X: Any, y: Any = None) -> None:
    """Check that a map keeps its contract on some objects.

    It is a scikit-learn transformer: ``fit`` returns the map, changes no parameter and no object, and gives the same
    result again; ``transform`` gives each object its own features, whatever stands beside it, as many as there are
    names; a pickled copy agrees; ``guarantee_`` says what is promised.

    Parameters
    ----------
    feature_map : transformer
        The one to check; it is cloned, and stays as it is.
    X : sequence
        At least four objects of the kind it takes.
    y : sequence, optional
        Labels, where its rule for landmarks needs them.

    Raises
    ------
    AssertionError
        Naming the check that failed and what was found.

    Examples
    --------
    >>> from similitude.checks import check_map
    >>> from similitude.maps import LandmarkMap
    >>> check_map(LandmarkMap(), [[0., 1.], [2., 0.], [1., 1.], [3., 2.]])
    """
    for check in MAP_CHECKS:
        check(clone(feature_map), X, y)


def check_unfitted_refuses(m: Any, X: Any, y: Any) -> None:
    """Check that transform before fit raises NotFittedError."""
    check_refuses(lambda: m.transform(X), NotFittedError, "transform before fit")


def check_fit_returns_itself(m: Any, X: Any, y: Any) -> None:
    """Check that fit returns the map and changes neither parameters nor objects."""
    check_fit_changes_nothing(m, X, y, lambda: m.transform(X))


def check_features_have_names(m: Any, X: Any, y: Any) -> None:
    """Check that there is one row per object and one name per column."""
    F, names = array(m.fit(X, y).transform(X)), m.get_feature_names_out()
    expected = (check_objects(X), len(names))
    assert F.shape == expected, f"features of shape {F.shape} for {expected[0]} objects and {expected[1]} names"
    assert np.isfinite(F).all(), "features must be finite"


def check_rows_are_independent(m: Any, X: Any, y: Any) -> None:
    """Check that an object has the same features alone and among others."""
    F = array(m.fit(X, y).transform(X))
    some = np.arange(len(F))[::-2]
    same("features of some objects and of all", array(m.transform(take(X, some))), F[some])


def check_same_again(m: Any, X: Any, y: Any) -> None:
    """Check that a clone fitted again, fit_transform, and a pickled copy all agree."""
    F = array(m.fit(X, y).transform(X))
    same("features of a clone and of the map", array(clone(m).fit(X, y).transform(X)), F)
    same("fit_transform and fit, then transform", array(clone(m).fit_transform(X, y)), F)
    same("features before and after pickling", array(pickle.loads(pickle.dumps(m)).transform(X)), F)


def check_guarantee_is_graded(m: Any, X: Any, y: Any) -> None:
    """Check that the map says what is promised, and at which grade."""
    promised = getattr(m.fit(X, y), "guarantee_", None)
    assert isinstance(promised, Guarantee), f"guarantee_ must be a Guarantee, found {promised!r}"
    assert promised.grade in (PROVEN, HELD_OUT, ESTIMATE, NONE), f"unknown grade {promised.grade!r}"
    assert promised.grade != PROVEN or promised.assumption, "what is proven must state its assumption"


MAP_CHECKS = (
    check_unfitted_refuses,
    check_fit_returns_itself,
    check_features_have_names,
    check_rows_are_independent,
    check_same_again,
    check_guarantee_is_graded,
)
