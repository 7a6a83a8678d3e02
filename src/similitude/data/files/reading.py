"""Reading a file, whole or in batches."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from similitude.data.files.chunks import TABULAR, chunks
from similitude.data.files.columnless import whole_batches
from similitude.data.files.kinds import Wishes, understood
from similitude.data.files.opening import Opened, check_memory, opened
from similitude.data.files.read_with_schema import alike
from similitude.data.files.schema import Data, Schema
from similitude.support.errors import FileError, brief

Source = str | os.PathLike[str]


def read(
    source: Source,
    *,
    label: str | None = None,
    object: str | None = None,
    kind: str | None = None,
    schema: Schema | None = None,
) -> Data:
    r"""Read a file into objects and labels.

    Parameters
    ----------
    source : path
        The ending decides: ``.csv .tsv .jsonl .parquet .arrow .feather .fasta .fa .npz .ts``, each of them also with
        ``.gz``, or the folder (or zip) of a TU graph data set. Other endings and ``-``, standard input, are read by
        their content.
    label : str, optional
        The column of the labels (of npz its key, ``y`` unless told). In FASTA ``"header"`` is the last word of the
        header, another name the value after ``name=`` in it. TU folders and ``.ts`` files have their own place.
    object : str, optional
        The column of the objects. Default: the only other one, or all others as vectors or as rows of a table.
    kind : str, optional
        One of vectors, strings, graphs, series, sets, table; inferred unless told.
    schema : Schema, optional
        That of another file: this one is read alike. Columns may stand in another order, others are ignored, labels
        may be absent. `label` and `object` then only say that these columns have another name here.

    Returns
    -------
    Data
        ``objects``, ``labels`` or None, ``schema``, and ``said``: what was inferred, in plain words.

    Examples
    --------
    >>> import os, tempfile
    >>> from similitude import files
    >>> path = os.path.join(tempfile.mkdtemp(), "genes.fasta")
    >>> with open(path, "w") as file:
    ...     _ = file.write(">g1 promoter\nacgt\nac\n>g2 other\nttga\n")
    >>> genes = files.read(path, label="header")
    >>> genes.objects, genes.labels.tolist(), genes.ids
    (['acgtac', 'ttga'], ['promoter', 'other'], ['g1', 'g2'])
    """
    wishes = Wishes(label, object, kind)
    with opened(source) as file:
        wishes.check()
        check_memory(file)
        return next(_data(file, None, wishes, schema))


def batches(
    source: Source,
    *,
    rows: int = 10_000,
    label: str | None = None,
    object: str | None = None,
    kind: str | None = None,
    schema: Schema | None = None,
) -> Iterator[Data]:
    """Read a file a few rows at a time, in bounded memory; npz, ``.ts`` and TU folders are read whole, then cut.

    Without a schema the first batch decides how the others are read.

    Parameters
    ----------
    source, label, object, kind, schema
        As in :func:`read`.
    rows : int
        How many objects a batch has at most.

    Yields
    ------
    Data
        The objects in order. What was said once is not said again in later batches.

    Examples
    --------
    >>> import os, tempfile
    >>> from similitude import files
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers.csv")
    >>> files.write(path, {"a": range(5), "b": range(5)})
    >>> [len(batch) for batch in files.batches(path, rows=2)]
    [2, 2, 1]
    """
    if isinstance(rows, bool) or not isinstance(rows, (int, np.integer)) or rows < 1:
        raise ValueError(f"rows must be a whole number, at least 1, got {brief(rows)}")
    wishes = Wishes(label, object, kind)
    heard: set[str] = set()
    with opened(source) as file:
        wishes.check()
        for data in _data(file, int(rows), wishes, schema):
            new = tuple(one for one in data.said if one not in heard)
            heard.update(new)
            yield Data(data.objects, data.labels, data.schema, new, data.ids)


def _data(file: Opened, rows: int | None, wishes: Wishes, schema: Schema | None) -> Iterator[Data]:
    label_optional = schema is not None and wishes.label is None
    if schema is not None:
        schema = _renamed(schema, wishes)
    if file.format not in TABULAR:
        yield from whole_batches(file, rows, wishes, schema)
        return
    is_text, first = file.format in ("csv", "tsv"), 0
    for cells in chunks(file, rows):
        if schema is None:
            schema, objects, labels, said = understood(cells, wishes, is_text)
        else:
            objects, labels, said = alike(cells, schema, is_text, first, label_optional)
        data = Data(objects, labels, schema, (*file.said, *said))
        first += len(data)
        yield data
    if first == 0:
        raise FileError("there are no rows")


def _renamed(schema: Schema, wishes: Wishes) -> Schema:
    """Let the columns of label and object have another name here."""
    if wishes.kind not in (None, schema.kind):
        raise FileError(f"kind={wishes.kind!r} does not fit: a schema of {schema.kind} is given")
    label = wishes.label or schema.label
    if wishes.object is None:
        return replace(schema, label=label)
    if len(schema.names) > 1:
        raise FileError(f"object={wishes.object!r} does not fit: the schema has {len(schema.names)} columns")
    names = (wishes.object,) if schema.names else ()
    return replace(schema, label=label, object=wishes.object, names=names)
