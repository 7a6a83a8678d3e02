"""More rows than memory: a source gives them in batches."""

from similitude.data.sources import (
    Batch,
    Source,
)

__all__ = [
    "Batch",
    "Source",
]
