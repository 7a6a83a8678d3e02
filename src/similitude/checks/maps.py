"""The map contract as a test kit."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from similitude.checks.comparing import same
from similitude.checks.estimators import shared_checks
from similitude.support import GRADES, NONE, Guarantee


def check_map(feature_map: Any, X: Any, y: Any = None) -> None:
    """Check that a map keeps its contract on some objects.

    It is a scikit-learn transformer: ``fit`` returns the map, changes neither parameters nor objects, and gives the
    same result again; the features of an object do not depend on the other objects, and each has a name; a pickled
    copy agrees; ``guarantee_`` states a guarantee and its grade.

    Parameters
    ----------
    feature_map : transformer
        It is cloned, and stays as it is.
    X : sequence
        At least four objects.
    y : sequence, optional
        Labels, where the choice of landmarks needs them.

    Raises
    ------
    AssertionError
        If a check fails; the message says what was found.

    Examples
    --------
    >>> from similitude.checks import check_map
    >>> from similitude.maps import LandmarkMap
    >>> check_map(LandmarkMap(), [[0., 1.], [2., 0.], [1., 1.], [3., 2.]])
    """
    for check in MAP_CHECKS:
        check(clone(feature_map), X, y)


def check_features(m: Any, X: Any, y: Any) -> None:
    """Check that features are finite, have one name per column, and are those of fit_transform."""
    F, names = np.asarray(m.fit(X, y).transform(X)), m.get_feature_names_out()
    assert F.shape[1:] == (len(names),), f"features of shape {F.shape} with {len(names)} names"
    assert np.isfinite(F).all(), "features must be finite"
    same("features by fit_transform and by fit and transform", clone(m).fit_transform(X, y), F)


def check_guarantee_has_a_grade(m: Any, X: Any, y: Any) -> None:
    """Check that the map states a guarantee, its grade, and the premises of its theorem."""
    promised = getattr(m.fit(X, y), "guarantee_", None)
    assert isinstance(promised, Guarantee), f"guarantee_ must be a Guarantee, found {promised!r}"
    assert promised.grade in GRADES, f"unknown grade {promised.grade!r}"
    assert promised.grade == NONE or promised.premises, "a guarantee must state the premises of its theorem"


MAP_CHECKS = (*shared_checks("transform"), check_features, check_guarantee_has_a_grade)
