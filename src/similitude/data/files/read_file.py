"""Reading a file, as a whole or in batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from similitude.data.files.file_errors import import_optional
from similitude.data.files.formats_without_columns import read_without_columns
from similitude.data.files.open_file import FILE_FORMATS, TABULAR, OpenFile, check_memory, open_file
from similitude.data.files.schema import NUMERIC, Data, Request, Schema
from similitude.data.files.sequences import MIXED
from similitude.support import FileError, check_integer

DNA = frozenset("ACGTUNRYKMSWBDHV-*.")
"""The letters of nucleic acids, those that stand for several among them."""


def read(
    source: str | os.PathLike[str],
    *,
    label: str | None = None,
    object: str | None = None,
    groups: str | None = None,
    kind: str | None = None,
    schema: Schema | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    missing: str | Sequence[str] = (),
    unlabeled: str = "refuse",
    keep: str | Sequence[str] = (),
    ignore: str | Sequence[str] = (),
    sheet: str | None = None,
    image_size: tuple[int, int] | None = None,
    color: bool = False,
) -> Data:
    r"""Read a file into objects and labels.

    Parameters
    ----------
    source : path
        The format follows from the ending: ``.csv .tsv .jsonl .parquet .arrow .feather .fasta .fa .npz .ts .xlsx
        .svmlight .graphml``, each also with ``.gz``; a folder of texts, images or GraphML files, whose subfolders are
        the labels; or the folder (or zip) of a TU graph data set. Files with other endings and ``-``, standard input,
        are read by their content.
    label : str, optional
        The column of the labels (for npz its key, ``y`` by default). In FASTA ``"header"`` is the last word of the
        header, another name the value after ``name=`` in it. TU folders and ``.ts`` files have their own place.
    object : str, optional
        The column of the objects. Default: the only other one, or all others as vectors or as rows of a table.
    groups : str, optional
        A column that says which rows belong together, such as a patient or a document. It is no part of the objects.
    kind : str, optional
        One of vectors, strings, graphs, series, sets, table. Default: inferred.
    schema : Schema, optional
        The schema of another file, by which this one is read. Columns may be in another order, further ones are
        ignored, and labels may be absent. `label` and `object` then give the names that these columns have here.
    separator : str, optional
        What separates the cells of a CSV or TSV file. Default: a comma or a tab, or a semicolon, tab, bar or comma by
        which all rows have as many cells as the header.
    decimal : {".", ","}, optional
        The decimal mark of a text file; the other one then separates thousands. Default: as the numbers of the file
        show without doubt.
    encoding : str, optional
        The encoding of a text file. Default: UTF-8, UTF-16 by its byte order mark, or Windows-1252 by its letters.
    missing : str or sequence of str
        Texts that are missing values in every column. Empty cells always are, and words such as ``NA`` and ``-`` are
        in columns of numbers.
    unlabeled : {"refuse", "drop", "use", "keep"}
        Rows without a label are an error, are left out, are returned apart as ``Data.unlabeled``, or are kept, and
        then there are no labels.
    keep : str or sequence of str
        Columns that are used although they look like identifiers of rows, which are left out.
    ignore : str or sequence of str
        Columns that are not used.
    sheet : str, optional
        The sheet of an Excel workbook, if it has several.
    image_size : (int, int), optional
        Rows and columns of pixels to which images are resized. Default: as they are if they are small and of one size,
        else 32 by 32.
    color : bool
        Whether images are taken in color, as red, green and blue, instead of gray.

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
    request = Request.made(locals())
    with open_file(source, request) as file:
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
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    missing: str | Sequence[str] = (),
    unlabeled: str = "refuse",
    keep: str | Sequence[str] = (),
    ignore: str | Sequence[str] = (),
    sheet: str | None = None,
    image_size: tuple[int, int] | None = None,
    color: bool = False,
) -> Iterator[Data]:
    """Read a file some rows at a time, in bounded memory; CSV, TSV, JSON Lines, Parquet, Arrow and FASTA alone.

    Other formats are read as a whole, then cut.

    Without a schema the first batch determines how the others are read.

    Parameters
    ----------
    source, label, object, kind, schema, separator, decimal, encoding, missing
        As in :func:`read`.
    unlabeled, keep, ignore, sheet, image_size, color
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
    request = Request.made(locals())
    given: set[str] = set()
    with open_file(source, request) as file:
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
    elif request.groups is not None:
        raise FileError(f"groups={request.groups!r} does not fit: the file has no columns")
    else:
        parts = read_without_columns(file, rows, request, schema)
    is_empty = True
    for data in _with_case_of_dna(parts, schema):
        is_empty = False
        yield replace(data, notes=(*file.notes, *data.notes))
    if is_empty:
        raise FileError(f"there are no {'rows' if file.format in TABULAR else 'objects'}")


def _read_columns(
    file: OpenFile, rows: int | None, request: Request, schema: Schema | None, label_optional: bool
) -> Iterator[Data]:
    name = FILE_FORMATS[file.format].name
    import_optional("pyarrow", name if name.startswith("an ") else f"a {name} file")
    from similitude.data.files.columns_to_objects import apply_schema, infer
    from similitude.data.files.tables import read_columns, read_csv, without_empty_rows

    in_text_file = file.format in ("csv", "tsv", "xlsx")
    separator = "" if file.head is None else file.head.separator
    if in_text_file:
        request = request.with_trimmed_names()
        schema = schema and schema.with_trimmed_names()
    notes: list[str] = []
    if rows is None and file.head is not None:
        cells, decimal, notes = read_csv(file, file.head, _may_be_numbers(request, schema), request.decimal)
        parts: Any = [cells]
        request = request._replace(decimal=decimal)
    else:
        parts = read_columns(file, rows, request.sheet, notes)
    first = 0
    for cells in parts:
        if in_text_file:
            cells, said = without_empty_rows(cells)
            notes += said
        if schema is None:
            data = infer(cells, request, in_text_file, separator)
            schema = data.schema
        else:
            data = apply_schema(cells, schema, in_text_file, first, label_optional, request, separator)
        first += len(next(iter(cells.values())))
        yield replace(data, notes=(*notes, *data.notes))
        notes.clear()


def _may_be_numbers(request: Request, schema: Schema | None) -> Callable[[str], bool]:
    """Return a function that tells by its name whether a column of a text file may be parsed as plain numbers."""
    if request.kind == "strings" or request.object is not None or request.missing:
        return lambda name: False
    if schema is None:
        return lambda name: True
    if schema.setting("decimal") == "," or schema.setting("missing"):
        return lambda name: False
    numbers = {name for name, one in zip(schema.names, schema.types, strict=True) if one in NUMERIC}
    return lambda name: name in numbers


def _with_case_of_dna(parts: Iterator[Data], schema: Schema | None) -> Iterator[Data]:
    """Yield data with notes on the case of DNA, also where it changes from batch to batch or since another file."""
    before = (schema and schema.setting("dna")) or ""
    first = ""
    names = {"upper": "capital", "lower": "small"}
    for data in parts:
        found = _case_of_objects(data.objects)
        first = first or found
        if schema is None:
            data = replace(data, schema=data.schema.with_settings(dna=first))
        if found == "mixed" and MIXED not in data.notes:
            data = replace(data, notes=(*data.notes, MIXED))
        elif found in names and before in names and found != before:
            note = f"DNA in {names[found]} letters, and in {names[before]} ones before, which are different letters"
            data = replace(data, notes=(*data.notes, note))
        before = found or before
        yield data


def _case_of_objects(objects: Any) -> str:
    """Return the case of strings, or of the text columns of a table, that are DNA; nothing for other objects."""
    if isinstance(objects, list) and objects and isinstance(objects[0], str):
        return case_of_dna(objects)
    cases = set()
    for name in getattr(objects, "columns", ()):
        if objects[name].dtype.kind not in "biufMm":
            cases.add(case_of_dna([one for one in objects[name].tolist() if isinstance(one, str)]))
    return "mixed" if "mixed" in cases else min(cases - {""}, default="")


def case_of_dna(strings: Sequence[str]) -> str:
    """Return whether DNA is in "upper", "lower" or "mixed" case; nothing for other strings."""
    first = list(map(str.strip, strings[:1000]))
    letters = set("".join(first)) - {"\r", "\n"}
    # shorter ones may be categories
    if max(map(len, first), default=0) < 5 or not set("".join(letters).upper()) <= DNA:
        return ""
    of_cases = "".join(filter(str.isalpha, letters.union(*strings[1000:])))
    if not of_cases or of_cases.islower():
        return "lower"
    return "upper" if of_cases.isupper() else "mixed"
