"""What every room may use: errors, results, validation, fingerprints, randomness, atomic writes."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from similitude.support.atomic_write import *  # noqa: F403
    from similitude.support.errors import *  # noqa: F403
    from similitude.support.fingerprints import *  # noqa: F403
    from similitude.support.randomness import *  # noqa: F403
    from similitude.support.results import *  # noqa: F403
    from similitude.support.validation import *  # noqa: F403
    from similitude.support.versions import *  # noqa: F403

_HOMES = {
    "atomic_write": "check_place complete_file",
    "errors": (
        "CheckpointError CheckpointWarning ClusterError ExpressionError FileError InseparableError NotAKernelError "
        "PairError SavedModelError SourceError UnresolvedError brief error_prefix missing_extra objects_at pairs_at"
    ),
    "fingerprints": "digest",
    "randomness": "generator",
    "results": "ESTIMATE GRADES HELD_OUT NONE PROVEN Curve Estimate Guarantee Result",
    "validation": "check_choice check_integer check_nonnegative check_number check_positive check_share",
    "versions": "core_versions package_version",
}
"""Names by module, imported when they are asked for: the command line starts without NumPy."""

__all__ = sorted(name for names in _HOMES.values() for name in names.split())


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names.split():
            return getattr(importlib.import_module(f"similitude.support.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
