"""The checks that maps and learners share."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from similitude.checks.comparing import same
from similitude.compute import check_objects, take
from similitude.support import digest

Check = Callable[[Any, Any, Any], None]


def check_raises(call: Callable[[], Any], kind: type[Exception], what: str) -> None:
    """Check that a call raises an error."""
    try:
        call()
    except kind:
        return
    raise AssertionError(f"{what} must raise {kind.__name__}")


def check_unfitted_raises(method: str, estimator: Any, X: Any, y: Any) -> None:
    """Check that an estimator that was not fitted says so."""
    check_raises(lambda: getattr(estimator, method)(X), NotFittedError, f"{method} before fit")


def check_fit_changes_nothing(method: str, estimator: Any, X: Any, y: Any) -> None:
    """Check that fit returns the estimator, and that neither parameters nor objects are changed."""
    import cloudpickle

    def parameters() -> dict[str, bytes]:
        return {name: digest(value) for name, value in estimator.get_params(deep=False).items()}

    before = parameters()
    assert estimator.fit(X, y) is estimator, "fit must return the estimator itself"
    assert parameters() == before, "fit changed a parameter"
    getattr(estimator, method)(X)  # some objects cache what they are asked: compare them from here on
    objects = cloudpickle.dumps(X)
    getattr(estimator.fit(X, y), method)(X)
    assert cloudpickle.dumps(X) == objects, f"fit or {method} changed the objects"


def check_rows_are_independent(method: str, estimator: Any, X: Any, y: Any) -> None:
    """Check that there is one result per object, and that it does not depend on the other objects."""
    results = np.asarray(getattr(estimator.fit(X, y), method)(X))
    assert len(results) == check_objects(X), f"{method} gave {len(results)} results for {check_objects(X)} objects"
    some = np.arange(len(results))[::-2]
    same(f"{method} of some objects and of all", getattr(estimator, method)(take(X, some)), results[some])


def check_same_again(method: str, estimator: Any, X: Any, y: Any) -> None:
    """Check that a clone fitted again and a pickled copy give the same results."""
    results = getattr(estimator.fit(X, y), method)(X)
    same(f"{method} of a clone and of the original", getattr(clone(estimator).fit(X, y), method)(X), results)
    copied = pickle.loads(pickle.dumps(estimator))
    same(f"{method} before and after pickling", getattr(copied, method)(X), results)


def shared_checks(method: str) -> tuple[Check, ...]:
    """Return the shared checks for estimators whose results a method gives."""
    checks = (check_unfitted_raises, check_fit_changes_nothing, check_rows_are_independent, check_same_again)
    return tuple(functools.partial(check, method) for check in checks)
