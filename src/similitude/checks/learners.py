"""The learner contract as a test kit."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError

from similitude.checks.comparing import same
from similitude.checks.estimators import check_fit_changes_nothing, check_refuses
from similitude.compute.encodings import check_objects, take


def check_learner(learner: Any, X: Any, y: Any = None) -> None:
    """Check that a learner keeps its contract on some objects.

    It is a scikit-learn estimator: ``fit`` returns the learner, changes no parameter and no object, and gives the same
    result again; ``predict`` gives each object its own answer, whatever stands beside it; a classifier answers with
    labels that it has seen, by the largest score; a pickled copy agrees; a fit that fails leaves it unfitted.

    Parameters
    ----------
    learner : estimator
        The one to check; it is cloned, and stays as it is.
    X : sequence
        A few objects of the kind it takes.
    y : sequence, optional
        Labels or targets; None for what learns without.

    Raises
    ------
    AssertionError
        Naming the check that failed and what was found.

    Examples
    --------
    >>> from similitude.checks import check_learner
    >>> from similitude.learners import KernelSVC
    >>> check_learner(KernelSVC("linear"), [[0., 1.], [2., 0.], [1., 1.], [3., 2.]], ["a", "b", "a", "b"])
    """
    for check in LEARNER_CHECKS:
        check(clone(learner), X, y)


def check_unfitted_refuses(learner: Any, X: Any, y: Any) -> None:
    """Check that predict before fit raises NotFittedError."""
    check_refuses(lambda: learner.predict(X), NotFittedError, "predict before fit")


def check_fit_returns_itself(learner: Any, X: Any, y: Any) -> None:
    """Check that fit returns the learner and changes neither parameters nor objects."""
    check_fit_changes_nothing(learner, X, y, lambda: learner.predict(X))


def check_one_answer_per_object(learner: Any, X: Any, y: Any) -> None:
    """Check that every object has its own answer, alone and among others."""
    answers = np.asarray(learner.fit(X, y).predict(X))
    assert len(answers) == check_objects(X), f"{len(answers)} answers for {check_objects(X)} objects"
    some = np.arange(len(answers))[::-2]
    _agree("answers for some objects and for all", learner.predict(take(X, some)), answers[some])


def check_same_again(learner: Any, X: Any, y: Any) -> None:
    """Check that a clone fitted again and a pickled copy agree with the learner."""
    answers = learner.fit(X, y).predict(X)
    _agree("answers of a clone and of the learner", clone(learner).fit(X, y).predict(X), answers)
    _agree("answers before and after pickling", pickle.loads(pickle.dumps(learner)).predict(X), answers)


def check_largest_score_wins(learner: Any, X: Any, y: Any) -> None:
    """Check that a classifier answers by its scores and probabilities: >= 0 is the second of two classes."""
    if not is_classifier(learner):
        return
    answers = learner.fit(X, y).predict(X)
    assert set(np.asarray(answers).tolist()) <= set(np.asarray(y).tolist()), "an answer is no label that was seen"
    if hasattr(learner, "decision_function"):
        scores = np.asarray(learner.decision_function(X))
        winner = (scores >= 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        _agree("answers and the largest score", learner.classes_[winner], answers)
    if hasattr(learner, "predict_proba"):
        shares = np.asarray(learner.predict_proba(X))
        same("sums of probabilities and 1", shares.sum(axis=1), np.ones(len(shares)))
        clear = np.diff(np.sort(shares, axis=1)[:, -2:], axis=1)[:, 0] > 0
        _agree("answers and the largest probability", learner.classes_[shares.argmax(1)][clear], answers[clear])


def check_failure_leaves_it_unfitted(learner: Any, X: Any, y: Any) -> None:
    """Check that a learner whose fit was refused is still unfitted."""
    if y is None:
        return
    check_refuses(lambda: learner.fit(X, list(y)[:-1]), ValueError, "fit with fewer labels than objects")
    check_refuses(lambda: learner.predict(X), NotFittedError, "predict after a fit that failed")


def _agree(what: str, a: Any, b: Any) -> None:
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind == "f":
        same(what, a, b)
    else:
        assert (a == b).all(), f"{what} differ"


LEARNER_CHECKS = (
    check_unfitted_refuses,
    check_fit_returns_itself,
    check_one_answer_per_object,
    check_same_again,
    check_largest_score_wins,
    check_failure_leaves_it_unfitted,
)
