"""Formats without columns: FASTA, npz, ``.ts`` series and TU graphs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from similitude.data.files.arrays import read_npz
from similitude.data.files.columnless_objects import Whole, as_kind, cut, labels_alike, plain_labels
from similitude.data.files.fasta import read_fasta
from similitude.data.files.kinds import Wishes
from similitude.data.files.opening import Opened, check_memory
from similitude.data.files.schema import Data, Schema, check_width
from similitude.data.files.ts_series import read_ts
from similitude.data.files.tu_graphs import read_tu
from similitude.support.errors import FileError


def whole_batches(file: Opened, rows: int | None, wishes: Wishes, schema: Schema | None) -> Iterator[Data]:
    """Yield the objects of such a file, all of them or some at a time."""
    if schema is not None:
        wishes = Wishes(schema.label, wishes.object, schema.kind)
    empty = True
    for whole in _wholes(file, rows, wishes, schema):
        found = as_kind(whole, wishes.kind)
        width = int(found.objects.shape[1]) if found.kind == "vectors" else None
        if schema is None:
            labels = (
                plain_labels(found.labels)
                if file.format in ("fasta", "ts") and found.labels is not None
                else found.labels
            )
            schema = Schema(found.kind, found.label, _type_of(labels), found.object, width=width)
        else:
            check_width(schema, width)
            labels = None if found.labels is None else labels_alike(found.labels, schema.label_type)
        empty = False
        yield Data(found.objects, labels, schema, (*file.said, *found.said), found.ids)
    if empty:
        raise FileError("there are no objects")


def _wholes(file: Opened, rows: int | None, wishes: Wishes, schema: Schema | None) -> Iterator[Whole]:
    optional = schema is not None
    if file.format == "fasta":
        yield from read_fasta(file.stream, wishes, rows, optional)
        return
    if rows is not None:
        check_memory(file)
    if file.format == "npz":
        whole = read_npz(file.stream, wishes, optional, None if schema is None else schema.object)
    else:
        whole = read_ts(file.stream) if file.format == "ts" else read_tu(file.path)
        if wishes.label is not None and not optional:
            _check_label(wishes.label, whole, "@classLabel" if file.format == "ts" else "DS_graph_labels.txt")
    yield from cut(whole, rows)


def _check_label(label: str, whole: Whole, place: str) -> None:
    """Refuse a label by another name than ``label``, and one that is not there."""
    if label != "label":
        raise FileError(f"there is no column {label!r}: labels come from {place}; leave label out, or call it 'label'")
    if whole.labels is None:
        raise FileError(f"it holds no labels: they would be in {place}")


def _type_of(labels: np.ndarray | None) -> str | None:
    if labels is None:
        return None
    return {"i": "integer", "u": "integer", "f": "number", "b": "boolean"}.get(labels.dtype.kind, "text")
