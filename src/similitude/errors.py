"""The errors and warnings that a user may want to catch."""

from similitude.support import (
    BudgetError,
    CacheError,
    CheckpointError,
    CheckpointWarning,
    ClusterError,
    ExpressionError,
    FileError,
    FileTooLargeError,
    InseparableError,
    NotAKernelError,
    PairError,
    PrecisionWarning,
    SavedModelError,
    SourceError,
    UnresolvedError,
)

__all__ = [
    "BudgetError",
    "CacheError",
    "CheckpointError",
    "CheckpointWarning",
    "ClusterError",
    "ExpressionError",
    "FileError",
    "FileTooLargeError",
    "InseparableError",
    "NotAKernelError",
    "PairError",
    "PrecisionWarning",
    "SavedModelError",
    "SourceError",
    "UnresolvedError",
]
