"""What every room may use: errors, results, validation, fingerprints, randomness, atomic writes."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from similitude.support.atomic_write import check_place, complete_file
    from similitude.support.errors import (
        CheckpointError,
        CheckpointWarning,
        ClusterError,
        ExpressionError,
        FileError,
        InseparableError,
        NotAKernelError,
        PairError,
        SavedModelError,
        SourceError,
        UnresolvedError,
        brief,
        error_prefix,
        missing_extra,
        objects_at,
        pairs_at,
    )
    from similitude.support.fingerprints import digest
    from similitude.support.randomness import generator
    from similitude.support.results import ESTIMATE, GRADES, HELD_OUT, NONE, PROVEN, Curve, Estimate, Guarantee, Result
    from similitude.support.validation import (
        check_choice,
        check_integer,
        check_nonnegative,
        check_number,
        check_positive,
        check_share,
    )
    from similitude.support.versions import core_versions, package_version

_HOMES = {
    "atomic_write": (
        "check_place",
        "complete_file",
    ),
    "errors": (
        "CheckpointError",
        "CheckpointWarning",
        "ClusterError",
        "ExpressionError",
        "FileError",
        "InseparableError",
        "NotAKernelError",
        "PairError",
        "SavedModelError",
        "SourceError",
        "UnresolvedError",
        "brief",
        "error_prefix",
        "missing_extra",
        "objects_at",
        "pairs_at",
    ),
    "fingerprints": ("digest",),
    "randomness": ("generator",),
    "results": (
        "ESTIMATE",
        "GRADES",
        "HELD_OUT",
        "NONE",
        "PROVEN",
        "Curve",
        "Estimate",
        "Guarantee",
        "Result",
    ),
    "validation": (
        "check_choice",
        "check_integer",
        "check_nonnegative",
        "check_number",
        "check_positive",
        "check_share",
    ),
    "versions": ("core_versions", "package_version"),
}
"""Names by module, imported when they are asked for: the command line starts without NumPy."""

__all__ = [
    "ESTIMATE",
    "GRADES",
    "HELD_OUT",
    "NONE",
    "PROVEN",
    "CheckpointError",
    "CheckpointWarning",
    "ClusterError",
    "Curve",
    "Estimate",
    "ExpressionError",
    "FileError",
    "Guarantee",
    "InseparableError",
    "NotAKernelError",
    "PairError",
    "Result",
    "SavedModelError",
    "SourceError",
    "UnresolvedError",
    "brief",
    "check_choice",
    "check_integer",
    "check_nonnegative",
    "check_number",
    "check_place",
    "check_positive",
    "check_share",
    "complete_file",
    "core_versions",
    "digest",
    "error_prefix",
    "generator",
    "missing_extra",
    "objects_at",
    "package_version",
    "pairs_at",
]


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"similitude.support.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
