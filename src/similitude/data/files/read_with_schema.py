"""Reading a second file as the first one was read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from similitude.data.files.columns import Column, demanded, labels_of
from similitude.data.files.kinds import Wishes, understood
from similitude.data.files.objects import objects_of
from similitude.data.files.problems import listed, unknown_column
from similitude.data.files.schema import Schema, check_width
from similitude.support.errors import FileError

Alike = tuple[Any, "np.ndarray | None", tuple[str, ...]]
"""Objects, labels or None, and what is to be said."""


def alike(cells: Mapping[str, Any], schema: Schema, is_text: bool, first: int, label_optional: bool) -> Alike:
    """Return the objects and labels in these columns; refuse columns that are missing or hold something else."""
    if schema.label not in cells and schema.label is not None and not label_optional:
        raise unknown_column(schema.label, cells)
    if not schema.names:  # it came from a format without columns
        return _of_any_columns(cells, schema, is_text)
    columns = {}
    for name, wanted in zip(schema.names, schema.types, strict=True):
        if name not in cells:
            raise unknown_column(name, cells)
        if schema.kind == "strings" and is_text:
            columns[name] = Column("text", cells[name])
        else:
            columns[name] = demanded(name, cells[name], wanted, is_text, first)
    objects = objects_of(schema.kind, columns, first)
    check_width(schema, int(objects.shape[1]) if schema.kind == "vectors" else None)
    extra = [name for name in cells if name not in schema.names and name != schema.label]
    said = (f"ignored: columns {listed(extra)}",) if extra else ()
    labels, why_not = _labels(cells, schema, is_text, first, label_optional)
    return objects, labels, said + why_not


def _of_any_columns(cells: Mapping[str, Any], schema: Schema, is_text: bool) -> Alike:
    label, name = (one if one in cells else None for one in (schema.label, schema.object))
    found = understood(cells, Wishes(label, name, schema.kind), is_text)
    check_width(schema, found.schema.width)
    return found.objects, found.labels, found.said


def _labels(
    cells: Mapping[str, Any], schema: Schema, is_text: bool, first: int, optional: bool
) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """Return the labels where there are any; say why not where they cannot be used."""
    if schema.label is None or schema.label not in cells:
        return None, ()
    try:
        column = demanded(schema.label, cells[schema.label], schema.label_type or "text", is_text, first)
        return labels_of(schema.label, column, first), ()
    except FileError as error:
        if not optional:
            raise
        return None, (f"labels are not used: {error}",)
