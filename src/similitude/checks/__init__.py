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

_KITS = {
    "check_engine": "engine",
    "check_learner": "estimators",
    "check_map": "estimators",
    "check_saved": "saved",
    "check_similarity": "similarity",
}


def __getattr__(name: str) -> Any:
    if name in _KITS:  # imported when it is used: new processes that compute similarities need no learners
        return getattr(importlib.import_module(f"similitude.checks.{_KITS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
