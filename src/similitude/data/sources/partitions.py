"""One partition of a distributed collection as a source, and errors that name the partition."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from similitude.data.sources.source import Source
from similitude.support import PairError, SourceError, error_prefix


@contextmanager
def errors_in_partition(number: int, start: int | None = None) -> Iterator[None]:
    """Prefix errors with the partition; number a pair by its row in the collection, or in the partition if unknown."""
    try:
        with error_prefix(f"partition {number}", SourceError):
            yield
    except PairError as error:
        if start is not None:
            raise error.moved(start, 0) from error.__cause__
        raise PairError(error.i, error.j, f"{error.problem} (row {error.i} of partition {number})") from error.__cause__


def partition_source(objects: Any, labels: Any = None, weights: Any = None) -> Source | None:
    """Return a partition as a source, or None if it has no rows."""
    objects = partition_objects(objects)
    if (objects.shape[0] if hasattr(objects, "shape") else len(objects)) == 0:
        if labels is not None and not isinstance(labels, str) and len(list(labels)):
            raise SourceError("it holds labels but no objects")
        return None
    labels, weights = (
        one if one is None or isinstance(one, str) or hasattr(one, "shape") else np.array(list(one))
        for one in (labels, weights)
    )
    return Source(objects, labels, weights)


def partition_objects(partition: Any) -> Any:
    """Return the objects of a partition: arrays and frames unchanged, those of a bag as a list."""
    return partition if hasattr(partition, "shape") else list(partition)
