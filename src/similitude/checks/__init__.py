"""The contracts as test kits, for the library's own classes and for yours.

A check raises AssertionError with what it found, or returns None.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from similitude.checks.engine import check_engine
    from similitude.checks.estimators import check_learner, check_map
    from similitude.checks.saved import check_saved
    from similitude.checks.similarity import check_similarity

__all__ = ["check_engine", "check_learner", "check_map", "check_saved", "check_similarity"]


def __getattr__(name: str) -> Any:
    if name in __all__:  # imported when it is used: new processes that compute similarities need no learners
        kit = {"check_learner": "estimators", "check_map": "estimators"}.get(name, name.removeprefix("check_"))
        return getattr(importlib.import_module(f"similitude.checks.{kit}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
