"""What to read from a file, what was read, and the schema by which another file is read in the same way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np

from similitude.compute import count
from similitude.data.files.file_errors import did_you_mean, listed
from similitude.support import FileError, brief, plain

COLUMN_TYPES = {
    "integer": "numbers", "number": "numbers", "boolean": "true and false", "text": "text", "numbers":
    "lists of numbers", "channels": "lists of lists of numbers", "items": "lists", "graph": "graphs", "time": "times",
    "missing": "no values", "mixed": "values of several types", "other": "values of another type",
}  # fmt: skip
"""The types of columns, each with a description for messages."""

NUMERIC = ("integer", "number")

KINDS = ("vectors", "strings", "graphs", "series", "sets", "table")
"""Kinds of objects that a file may hold."""


@dataclass(frozen=True)
class OpenFile:
    """An open file."""

    format: str
    stream: BinaryIO  # the decompressed content; empty for a folder
    size: int  # in bytes, as it is stored
    path: Path
    notes: tuple[str, ...] = ()  # on what was inferred
    names: Sequence[str] = ()  # of the columns of a text file
    separator: str = ""  # of its cells
    lines: int = 0  # above its first row
    start: int = 0  # of its first row, in bytes


@dataclass(frozen=True)
class Request:
    """What the user asks for: the columns of labels and objects, the kind of objects, and how the file is written."""

    label: str | None = None
    object: str | None = None
    kind: str | None = None
    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    missing: tuple[str, ...] = ()  # texts that count as missing in every column
    unlabeled: str = "refuse"
    keep: tuple[str, ...] = ()  # columns that are used although they look like identifiers
    ignore: tuple[str, ...] = ()  # columns that are not used
    sheet: str | None = None
    image_size: tuple[int, int] | None = None  # rows and columns
    color: bool = False
    groups: str | None = None

    @classmethod
    def made(cls, given: Mapping[str, Any]) -> Request:
        """Return a request from the arguments of `read`, where one name may stand for a list of one."""
        asked = {name: given[name] for name in cls.__annotations__ if name in given}
        for name in ("missing", "keep", "ignore"):
            asked[name] = (asked[name],) if isinstance(asked[name], str) else tuple(asked[name])
        return cls(**asked)

    def check(self) -> None:
        """Raise if the kind is unknown, or if one column is both label and object."""
        if self.decimal not in (None, ".", ","):
            raise FileError(f"decimal={self.decimal!r} must be '.' or ','")
        if self.unlabeled not in (known := ("refuse", "drop", "use", "keep")):
            raise FileError(f"unlabeled={self.unlabeled!r} must be one of {listed(known)}")
        if self.label in self.ignore or self.object in self.ignore:
            raise FileError("a column cannot be ignored and be the label or the object")
        if self.groups is not None and self.groups in (self.label, self.object):
            raise FileError(f"column {self.groups!r} cannot hold the groups and be the label or the object")
        size = self.image_size
        if size is not None and not (len(size) == 2 and all(isinstance(one, int) and 0 < one <= 4096 for one in size)):
            raise FileError(f"image_size={size!r} must be two numbers of pixels, rows and columns")
        if self.kind is not None and self.kind not in KINDS:
            close = did_you_mean(self.kind, KINDS)
            raise FileError(f"there is no kind {self.kind!r}{close}: it is one of {listed(KINDS)}")
        if self.label is not None and self.label == self.object:
            raise FileError(f"column {self.label!r} cannot be both the label and the object")


def width_of(kind: str, objects: Any) -> int | None:
    """Return the number of entries of vectors."""
    return int(objects.shape[1]) if kind == "vectors" else None


@dataclass(frozen=True)
class Schema:
    """How a file was read, whatever its format, so that another one can be read in the same way.

    Parameters
    ----------
    kind : str
        The kind of objects: vectors, strings, graphs, series, sets or table.
    label, label_type : str, optional
        The column of the labels, and its type: integer, number, boolean or text.
    object : str, optional
        The column of the objects, if it is a single one.
    names, types : tuple of str
        The columns that make up an object, in order, and their types. Empty for formats without columns.
    width : int, optional
        The number of entries of a vector.
    settings : tuple of pairs of str
        What another file needs to be read alike: the decimal mark, texts that are missing values, the size of images,
        the first index of svmlight files, the case of DNA.

    Examples
    --------
    >>> from similitude.files import Schema
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
    settings: tuple[tuple[str, str], ...] = ()

    def setting(self, name: str) -> str | None:
        """Return the value of a setting, or None."""
        return dict(self.settings).get(name)

    def with_settings(self, **more: str | None) -> Schema:
        """Return the schema with further settings, those that are known."""
        known = dict(self.settings)
        for name, value in more.items():
            if value:
                known[name] = value
        return replace(self, settings=tuple(sorted(known.items())))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold."""
        values: dict[str, Any] = plain(asdict(self))
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Schema:
        """Return the schema that `to_dict` wrote; raise a FileError for anything else."""
        try:
            plain: dict[str, Any] = {
                key: tuple(one) if isinstance(one, list) else one for key, one in dict(values).items()
            }
            plain["settings"] = tuple((name, one) for name, one in plain.get("settings", ()))
            schema = cls(**plain)
            texts = [schema.kind, *schema.names, *schema.types, *(one for pair in schema.settings for one in pair)]
            texts += [one for one in (schema.label, schema.label_type, schema.object) if one is not None]
            is_sound = (
                schema.kind in KINDS
                and set(schema.types) <= COLUMN_TYPES.keys()
                and len(schema.names) == len(schema.types)
                and isinstance(schema.names, tuple)
                and isinstance(schema.width, (int, type(None)))
                and all(isinstance(one, str) for one in texts)
            )
        except (TypeError, ValueError):
            is_sound = False
        if not is_sound:
            raise FileError(f"this is not the schema of a file: {brief(values)}")
        return schema

    def with_names(self, request: Request) -> Schema:
        """Return the schema for a file in which the columns of labels and objects have other names."""
        if request.kind not in (None, self.kind):
            raise FileError(f"kind={request.kind!r} does not fit: a schema of {self.kind} is given")
        label = request.label or self.label
        if request.object is None:
            return replace(self, label=label)
        if len(self.names) > 1:
            raise FileError(f"object={request.object!r} does not fit: the schema has {len(self.names)} columns")
        return replace(self, label=label, object=request.object, names=(request.object,) if self.names else ())

    def check_width(self, objects: Any) -> None:
        """Raise if vectors have another number of entries than before."""
        width = width_of(self.kind, objects)
        if None not in (self.width, width) and width != self.width:
            raise FileError(f"vectors have {width} numbers here, and had {self.width} before")


Names = TypeVar("Names", Request, Schema)


def with_trimmed_names(given: Names) -> Names:
    """Return a request or a schema with names of columns without blanks around, as headers of text files have them."""
    trimmed: dict[str, Any] = {}
    for what in ("label", "object", "groups", "keep", "ignore", "names"):
        name = getattr(given, what, None)
        if isinstance(name, tuple):
            trimmed[what] = tuple(map(str.strip, name))
        elif name is not None:
            trimmed[what] = name.strip()
    return replace(given, **trimmed)


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
        One label per object, text or numbers as in the file.
    schema : Schema
        How the file was read.
    notes : tuple of str
        What was inferred, ignored or counted as missing, in plain words.
    ids : list of str, optional
        The names of the objects, if the format has them (FASTA, folders).
    unlabeled : array, list or data frame, optional
        The objects without a label, if they were asked for.
    groups : array, optional
        What each object belongs to, such as a patient or a document, if a column of groups was asked for.
    """

    objects: Any
    labels: np.ndarray | None
    schema: Schema
    notes: tuple[str, ...] = ()
    ids: list[str] | None = None
    unlabeled: Any = None
    groups: np.ndarray | None = None

    def __len__(self) -> int:
        return count(self.objects)
