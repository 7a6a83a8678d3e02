"""The objects of a format without columns, whole or in part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from similitude.support.errors import FileError


class Whole(NamedTuple):
    """Objects of one kind, with labels and names where there are any, where they came from, and what is to be said."""

    kind: str
    objects: Any
    labels: np.ndarray | None
    said: tuple[str, ...]
    label: str | None = None
    object: str | None = None
    ids: list[str] | None = None


def as_kind(whole: Whole, kind: str | None) -> Whole:
    """Return the same objects as another kind, where that is possible."""
    if kind is None or kind == whole.kind:
        return whole
    if kind == "series" and whole.kind == "vectors" and isinstance(whole.objects, np.ndarray):
        return whole._replace(kind=kind, objects=list(whole.objects))
    if kind == "vectors" and whole.kind == "series":
        shapes = {one.shape for one in whole.objects}
        if len(shapes) == 1 and len(next(iter(shapes))) == 1:
            return whole._replace(kind=kind, objects=np.array(whole.objects))
        raise FileError("kind='vectors' does not fit: the series have several channels or unequal lengths")
    raise FileError(f"kind={kind!r} does not fit: the file holds {whole.kind}")


def cut(whole: Whole, rows: int | None) -> Iterator[Whole]:
    """Yield the objects in pieces of so many, or all of them."""
    count = whole.objects.shape[0] if hasattr(whole.objects, "shape") else len(whole.objects)
    step = rows or max(1, count)
    for start in range(0, count, step):
        part = slice(start, start + step)
        labels = None if whole.labels is None else whole.labels[part]
        yield whole._replace(objects=whole.objects[part], labels=labels)


def plain_labels(values: Sequence[str] | np.ndarray) -> np.ndarray:
    """Return labels that stand in a text file: whole numbers where all are, numbers where all are, and else text.

    >>> plain_labels(["1", "-1"]), plain_labels(["1", "a"])
    (array([ 1, -1]), array(['1', 'a'], dtype='<U1'))
    """
    for wanted in (np.int64, np.float64):
        try:
            numbers = np.array(values).astype(wanted)
        except (ValueError, OverflowError):
            continue
        if np.isfinite(numbers).all() and not any("_" in value for value in values):
            return numbers
    return np.array(values)


def labels_alike(labels: np.ndarray, wanted: str | None) -> np.ndarray:
    """Return labels as numbers or text, as those before; as they are where they cannot be numbers."""
    if labels.dtype.kind == "U" and wanted in ("integer", "number"):
        return plain_labels(labels)
    return labels.astype(str) if wanted == "text" else labels
