"""What was read, and how a second file is read in the same way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from similitude.data.files.columns import CALLED
from similitude.support.errors import FileError, brief

KINDS = ("vectors", "strings", "graphs", "series", "sets", "table")
"""Kinds of objects that a file may hold."""


@dataclass(frozen=True)
class Schema:
    """How a file was read, whatever its format, so that another one is read alike.

    Parameters
    ----------
    kind : str
        What the objects are: vectors, strings, graphs, series, sets or table.
    label, label_type : str, optional
        The column of the labels, and what it holds: integer, number, boolean or text.
    object : str, optional
        The column of the objects, where that is one.
    names, types : tuple of str
        The columns that make up an object, in order, and what each holds. Empty for formats without columns.
    width : int, optional
        How many numbers a vector has.

    Examples
    --------
    >>> from similitude.data.files import Schema
    >>> schema = Schema("vectors", label="y", names=("a", "b"), types=("integer", "number"), width=2)
    >>> Schema.from_dict(schema.to_dict()) == schema
    True
    """

    kind: str
    label: str | None = None
    label_type: str | None = None
    object: str | None = None
    names: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    width: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Schema:
        """Return the schema that `to_dict` wrote; refuse anything else."""
        try:
            values = dict(values)
            plain: dict[str, Any] = {key: tuple(one) if isinstance(one, list) else one for key, one in values.items()}
            schema = cls(**plain)
        except (TypeError, ValueError):
            raise FileError(f"this is no schema of a file: {brief(values)}") from None
        texts = (schema.label, schema.label_type, schema.object)
        if (
            schema.kind not in KINDS
            or not all(isinstance(one, tuple) for one in (schema.names, schema.types))
            or len(schema.names) != len(schema.types)
            or not all(isinstance(one, str) for one in schema.names)
            or not all(one in CALLED for one in schema.types)
            or not all(one is None or isinstance(one, str) for one in texts)
            or not (schema.width is None or isinstance(schema.width, int))
        ):
            raise FileError(f"this is no schema of a file: {brief(values)}")
        return schema


@dataclass(frozen=True, eq=False)
class Data:
    """Objects and labels of a file.

    Parameters
    ----------
    objects : array, list or data frame
        As similarities take them: a float array (or a sparse matrix) for vectors, a list of str, a list of graphs
        ``(edges, node labels or number of nodes[, edge labels])``, a list of arrays for series, a list of frozensets,
        a pandas data frame for a table.
    labels : array or None
        One label per object, text or numbers as they stand in the file.
    schema : Schema
        How the file was read.
    said : tuple of str
        Sentences about what was inferred, ignored or counted as missing.
    ids : list of str, optional
        The names of the objects, where the format has them (FASTA).
    """

    objects: Any
    labels: np.ndarray | None
    schema: Schema
    said: tuple[str, ...] = ()
    ids: list[str] | None = None

    def __len__(self) -> int:
        return int(self.objects.shape[0]) if hasattr(self.objects, "shape") else len(self.objects)


def check_width(schema: Schema, width: int | None) -> None:
    """Refuse vectors of another length than those of the schema."""
    if None not in (schema.width, width) and width != schema.width:
        raise FileError(f"vectors have {width} numbers here, and had {schema.width} before")
