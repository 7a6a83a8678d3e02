"""The errors and warnings that a user may want to catch."""

from similitude.support import (
    CheckpointError,
    CheckpointWarning,
    ClusterError,
    ExpressionError,
    FileError,
    FileTooLargeError,
    InseparableError,
    NotAKernelError,
    PairError,
    SavedModelError,
    SourceError,
    UnresolvedError,
)

__all__ = [
    "CheckpointError",
    "CheckpointWarning",
    "ClusterError",
    "ExpressionError",
    "FileError",
    "FileTooLargeError",
    "InseparableError",
    "NotAKernelError",
    "PairError",
    "SavedModelError",
    "SourceError",
    "UnresolvedError",
]
