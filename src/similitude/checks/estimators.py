"""The contracts of learners and maps as test kits."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError

from similitude.checks.comparing import same
from similitude.compute import check_objects, take
from similitude.support import GRADES, NONE, Guarantee, digest


def check_learner(learner: Any, X: Any, y: Any = None) -> None:
    """Check that a learner keeps its contract on some objects.

    It is a scikit-learn estimator: ``fit`` returns the learner, changes neither parameters nor objects, and gives the
    same result again; the prediction for an object does not depend on the other objects; a classifier predicts labels
    that it was fitted to, by the largest score; a pickled copy agrees; a fit that fails leaves the learner unfitted.

    Parameters
    ----------
    learner : estimator
        It is cloned, and stays as it is.
    X : sequence
        A few objects.
    y : sequence, optional
        Labels or targets; None for unsupervised learners.

    Raises
    ------
    AssertionError
        If a check fails; the message says what was found.

    Examples
    --------
    >>> from similitude.checks import check_learner
    >>> from similitude.learners import KernelSVC
    >>> check_learner(KernelSVC("linear"), [[0., 1.], [2., 0.], [1., 1.], [3., 2.]], ["a", "b", "a", "b"])
    """
    for check in LEARNER_CHECKS:
        check(clone(learner), X, y)


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
    check_results("transform", clone(feature_map), X, y)
    check_features(clone(feature_map), X, y)


def check_raises(call: Callable[[], Any], kind: type[Exception], what: str) -> None:
    """Check that a call raises an error."""
    try:
        call()
    except kind:
        return
    raise AssertionError(f"{what} must raise {kind.__name__}")


def check_results(method: str, estimator: Any, X: Any, y: Any) -> None:
    """Check that fit changes nothing, and that results are those of single objects, of a clone and of a copy."""
    import cloudpickle

    check_raises(lambda: getattr(estimator, method)(X), NotFittedError, f"{method} before fit")

    def parameters() -> dict[str, bytes]:
        return {name: digest(value) for name, value in estimator.get_params(deep=False).items()}

    before = parameters()
    assert estimator.fit(X, y) is estimator, "fit must return the estimator itself"
    assert parameters() == before, "fit changed a parameter"
    getattr(estimator, method)(X)  # some objects cache what they are asked: compare them from here on
    objects = cloudpickle.dumps(X)
    results = np.asarray(getattr(estimator.fit(X, y), method)(X))
    assert cloudpickle.dumps(X) == objects, f"fit or {method} changed the objects"
    assert len(results) == check_objects(X), f"{method} gave {len(results)} results for {check_objects(X)} objects"
    some = np.arange(len(results))[::-2]
    same(f"{method} of some objects and of all", getattr(estimator, method)(take(X, some)), results[some])
    same(f"{method} of a clone and of the original", getattr(clone(estimator).fit(X, y), method)(X), results)
    copied = pickle.loads(pickle.dumps(estimator))
    same(f"{method} before and after pickling", getattr(copied, method)(X), results)


def check_largest_score_wins(learner: Any, X: Any, y: Any) -> None:
    """Check that a classifier predicts by its scores and probabilities: a score >= 0 is the second of two classes."""
    if not is_classifier(learner):
        return
    answers = learner.fit(X, y).predict(X)
    assert set(np.asarray(answers).tolist()) <= set(np.asarray(y).tolist()), "predict gave a label that is not in y"
    if hasattr(learner, "decision_function"):
        scores = np.asarray(learner.decision_function(X))
        winner = (scores >= 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        same("predictions and the classes with the largest scores", learner.classes_[winner], answers)
    if hasattr(learner, "predict_proba"):
        shares = np.asarray(learner.predict_proba(X))
        same("sums of probabilities and 1", shares.sum(axis=1), np.ones(len(shares)))
        clear = np.diff(np.sort(shares, axis=1)[:, -2:], axis=1)[:, 0] > 0
        largest = learner.classes_[shares.argmax(axis=1)][clear]
        same("predictions and the classes with the largest probabilities", largest, answers[clear])


def check_failed_fit_leaves_it_unfitted(learner: Any, X: Any, y: Any) -> None:
    """Check that a learner is still unfitted after a fit that failed."""
    if y is None:
        return
    check_raises(lambda: learner.fit(X, list(y)[:-1]), ValueError, "fit with fewer labels than objects")
    check_raises(lambda: learner.predict(X), NotFittedError, "predict after a fit that failed")


LEARNER_CHECKS: tuple[Any, ...] = (
    functools.partial(check_results, "predict"),
    check_largest_score_wins,
    check_failed_fit_leaves_it_unfitted,
)


def check_features(m: Any, X: Any, y: Any) -> None:
    """Check that features are finite, named, and those of fit_transform, and that the map states a guarantee."""
    F = np.asarray(m.fit(X, y).transform(X))
    names = m.get_feature_names_out()
    assert F.shape[1:] == (len(names),), f"features of shape {F.shape} with {len(names)} names"
    assert np.isfinite(F).all(), "features must be finite"
    same("features by fit_transform and by fit and transform", clone(m).fit_transform(X, y), F)
    promised = getattr(m, "guarantee_", None)
    assert isinstance(promised, Guarantee), f"guarantee_ must be a Guarantee, found {promised!r}"
    assert promised.grade in GRADES, f"unknown grade {promised.grade!r}"
    assert promised.grade == NONE or promised.premises, "a guarantee must state the premises of its theorem"
