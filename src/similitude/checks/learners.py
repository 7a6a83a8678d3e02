"""The learner contract as a test kit."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError

from similitude.checks.comparing import same
from similitude.checks.estimators import check_raises, shared_checks


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


LEARNER_CHECKS = (*shared_checks("predict"), check_largest_score_wins, check_failed_fit_leaves_it_unfitted)
