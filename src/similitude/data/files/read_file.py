"""Reading a file, as a whole or in batches."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

from similitude.data.files.columns_to_objects import apply_schema, infer
from similitude.data.files.formats_without_columns import read_without_columns
from similitude.data.files.open_file import TABULAR, OpenFile, check_memory, open_file
from similitude.data.files.schema import Data, Request, Schema
from similitude.data.files.tabular_formats import read_columns
from similitude.support import FileError, check_integer


def read(
    source: str | os.PathLike[str],
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
        The format follows from the ending: ``.csv .tsv .jsonl .parquet .arrow .feather .fasta .fa .npz .ts``, each
        also with ``.gz``, or the folder (or zip) of a TU graph data set. Files with other endings and ``-``, standard
        input, are read by their content.
    label : str, optional
        The column of the labels (for npz its key, ``y`` by default). In FASTA ``"header"`` is the last word of the
        header, another name the value after ``name=`` in it. TU folders and ``.ts`` files have their own place.
    object : str, optional
        The column of the objects. Default: the only other one, or all others as vectors or as rows of a table.
    kind : str, optional
        One of vectors, strings, graphs, series, sets, table. Default: inferred.
    schema : Schema, optional
        The schema of another file, by which this one is read. Columns may be in another order, further ones are
        ignored, and labels may be absent. `label` and `object` then give the names that these columns have here.

    Returns
    -------
    Data
        ``objects``, ``labels`` or None, ``schema``, and ``notes``: what was inferred, in plain words.

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
    request = Request(label, object, kind)
    with open_file(source) as file:
        request.check()
        check_memory(file)
        return next(_read(file, None, request, schema))


def batches(
    source: str | os.PathLike[str],
    *,
    rows: int = 10_000,
    label: str | None = None,
    object: str | None = None,
    kind: str | None = None,
    schema: Schema | None = None,
) -> Iterator[Data]:
    """Read a file some rows at a time, in bounded memory; npz, ``.ts`` and TU files are read as a whole, then cut.

    Without a schema the first batch determines how the others are read.

    Parameters
    ----------
    source, label, object, kind, schema
        As in :func:`read`.
    rows : int
        The largest number of objects in a batch.

    Yields
    ------
    Data
        The objects in order. A note is given once, with the first batch that it concerns.

    Examples
    --------
    >>> import os, tempfile
    >>> from similitude import files
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers.csv")
    >>> files.write(path, {"a": range(5), "b": range(5)})
    >>> [len(batch) for batch in files.batches(path, rows=2)]
    [2, 2, 1]
    """
    rows = check_integer("rows", rows)
    request = Request(label, object, kind)
    given: set[str] = set()
    with open_file(source) as file:
        request.check()
        for data in _read(file, rows, request, schema):
            new = tuple(note for note in data.notes if note not in given)
            given.update(new)
            yield replace(data, notes=new)


def _read(file: OpenFile, rows: int | None, request: Request, schema: Schema | None) -> Iterator[Data]:
    label_optional = schema is not None and request.label is None
    if schema is not None:
        schema = schema.with_names(request)
    if file.format in TABULAR:
        parts = _read_columns(file, rows, request, schema, label_optional)
    else:
        parts = read_without_columns(file, rows, request, schema)
    is_empty = True
    for data in parts:
        is_empty = False
        yield replace(data, notes=(*file.notes, *data.notes))
    if is_empty:
        raise FileError(f"there are no {'rows' if file.format in TABULAR else 'objects'}")


def _read_columns(
    file: OpenFile, rows: int | None, request: Request, schema: Schema | None, label_optional: bool
) -> Iterator[Data]:
    is_text, first = file.format in ("csv", "tsv"), 0
    for cells in read_columns(file, rows):
        if schema is None:
            data = infer(cells, request, is_text)
            schema = data.schema
        else:
            data = apply_schema(cells, schema, is_text, first, label_optional)
        first += len(data)
        yield data
