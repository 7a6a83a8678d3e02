"""What the kits for maps and learners share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from similitude.support.fingerprints import digest


def check_refuses(call: Callable[[], Any], kind: type[Exception], what: str) -> None:
    """Check that a call raises this kind of error."""
    try:
        call()
    except kind:
        return
    raise AssertionError(f"{what} must raise {kind.__name__}")


def check_fit_changes_nothing(estimator: Any, X: Any, y: Any, use: Callable[[], Any]) -> None:
    """Check that fit returns the estimator, and that neither it nor its use changes parameters or objects."""
    import cloudpickle

    before = _parameters(estimator)
    assert estimator.fit(X, y) is estimator, "fit must return the estimator itself"
    assert _parameters(estimator) == before, "fit changed a parameter"
    use()  # some objects remember what they are asked: they are looked at from here on
    objects = cloudpickle.dumps(X)
    estimator.fit(X, y)
    use()
    assert cloudpickle.dumps(X) == objects, "fit or what followed changed the objects"


def _parameters(estimator: Any) -> dict[str, bytes]:
    return {name: digest(value) for name, value in estimator.get_params(deep=False).items()}
