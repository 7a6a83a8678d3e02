"""A partition of a collection as a source, and its name before what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from similitude.data.sources.batch import Batch
from similitude.data.sources.batch_size import batch_rows
from similitude.data.sources.source import Source
from similitude.support.errors import PairError, SourceError

PEEK = 256
"""Rows by which their size is told."""


@contextmanager
def in_partition(number: int, start: int | None = None) -> Iterator[None]:
    """Let an error name the partition, and a pair by its place in the whole, or in the partition if that is unknown."""
    try:
        yield
    except PairError as error:
        if start is not None:
            raise error.moved(start, 0) from error.__cause__
        raise PairError(error.i, error.j, f"{error.problem} (row {error.i} of partition {number})") from error.__cause__
    except (TypeError, ValueError) as error:
        if type(error) not in (TypeError, ValueError, SourceError):
            raise
        raise type(error)(f"partition {number}: {error}") from error


def opened(objects: Any, labels: Any = None, weights: Any = None) -> Source | None:
    """Return a partition as a source; None where it has no rows."""
    objects = objects_in(objects)
    if (objects.shape[0] if hasattr(objects, "shape") else len(objects)) == 0:
        if labels is not None and not isinstance(labels, str) and len(list(labels)):
            raise SourceError("it holds no objects, but labels")
        return None
    labels, weights = (
        one if one is None or isinstance(one, str) or hasattr(one, "shape") else np.array(list(one))
        for one in (labels, weights)
    )
    return Source(objects, labels, weights)


def objects_in(partition: Any) -> Any:
    """Return the objects of a partition: an array or a frame as it is, what a bag holds as a list."""
    return partition if hasattr(partition, "shape") else list(partition)


def batches_in(source: Source, budget: int) -> Iterator[Batch]:
    """Return a partition in batches that a memory budget allows."""
    return source.batches(batch_rows(next(source.batches(PEEK)).objects, budget))
