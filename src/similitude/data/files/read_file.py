"""Reading a file, as a whole or in batches."""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from similitude.data.files.arrays import read_npz, read_svmlight
from similitude.data.files.file_errors import import_optional
from similitude.data.files.folders import folder_files, labels_of, names_of, other_entries, read_folder
from similitude.data.files.graphs import read_graphml, read_tu
from similitude.data.files.open_file import FORMAT_NAMES, TABULAR, check_memory, open_file
from similitude.data.files.schema import NUMERIC, Data, OpenFile, Request, Schema, width_of, with_trimmed_names
from similitude.data.files.sequences import MIXED, read_fasta, read_ts
from similitude.support import FileError, check_integer

LABEL_PLACES = {
    "ts": "@classLabel", "tu": "DS_graph_labels.txt", "svmlight": "the first number of each line",
    **dict.fromkeys(("texts", "images", "graphs"), "the names of subfolders"),
}  # fmt: skip
"""Where the labels of formats are that have but one place for them."""


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
    what = "rows"
    if file.format in TABULAR:
        parts = _read_columns(file, rows, request, schema, label_optional)
    elif request.groups is not None:
        raise FileError(f"groups={request.groups!r} does not fit: the file has no columns")
    else:
        what = "objects"
        parts = _read_without_columns(file, rows, request, schema)
    is_empty = True
    for data in _with_case_of_dna(parts, schema):
        is_empty = False
        yield replace(data, notes=(*file.notes, *data.notes))
    if is_empty:
        raise FileError(f"there are no {what}")


def _with_case_of_dna(parts: Iterator[Data], schema: Schema | None) -> Iterator[Data]:
    """Yield data with notes on the case of DNA, also where it changes from batch to batch or since another file."""
    before = (schema and schema.setting("dna")) or ""
    first = ""
    names = {"upper": "capital", "lower": "small"}
    for data in parts:
        found = _case_of_dna(data.objects)
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


def _case_of_dna(objects: Any) -> str:
    """Return "upper", "lower" or "mixed" of strings, or text columns of a table, that are DNA; nothing for others."""
    columns = [objects[name] for name in getattr(objects, "columns", ()) if objects[name].dtype.kind not in "biufMm"]
    if isinstance(objects, list):
        columns = [objects]
    cases = set()
    for column in columns:
        strings = [one for one in column if isinstance(one, str)]
        first = list(map(str.strip, strings[:1000]))
        letters = set("".join(first)) - {"\r", "\n"}
        nucleic = set("ACGTUNRYKMSWBDHV-*.")  # with those that stand for several
        if max(map(len, first), default=0) >= 5 and set("".join(letters).upper()) <= nucleic:  # not a category
            both = "".join(filter(str.isalpha, letters.union(*strings[1000:])))
            has = (both != both.lower(), both != both.upper())
            cases.add({(True, False): "upper", (True, True): "mixed"}.get(has, "lower"))
    if "mixed" in cases:
        return "mixed"
    return min(cases, default="")


def _read_columns(
    file: OpenFile, rows: int | None, request: Request, schema: Schema | None, label_optional: bool
) -> Iterator[Data]:
    name = FORMAT_NAMES[file.format]
    if file.format != "xlsx":
        name = f"a {name} file"
    import_optional("pyarrow", name)
    from similitude.data.files.columns_to_objects import apply_schema, infer
    from similitude.data.files.tables import read_columns, read_csv, without_empty_rows

    in_text_file = file.format in ("csv", "tsv", "xlsx")
    if in_text_file:
        request = with_trimmed_names(request)
        schema = schema and with_trimmed_names(schema)
    notes: list[str] = []
    if rows is None and file.names:
        cells, decimal, notes = read_csv(file, _may_be_numbers(file.names, request, schema), request.decimal)
        parts: Any = [cells]
        request = replace(request, decimal=decimal)
    else:
        parts = read_columns(file, rows, request.sheet, notes)
    first = 0
    for cells in parts:
        if in_text_file:
            cells, said = without_empty_rows(cells)
            notes += said
        if schema is None:
            data = infer(cells, request, in_text_file, file.separator)
            schema = data.schema
        else:
            data = apply_schema(cells, schema, in_text_file, first, label_optional, request, file.separator)
        first += len(next(iter(cells.values())))
        yield replace(data, notes=(*notes, *data.notes))
        notes.clear()


def _may_be_numbers(names: Sequence[str], request: Request, schema: Schema | None) -> Container[str]:
    """Return the columns of a text file that may be parsed as plain numbers."""
    if request.kind == "strings" or request.object is not None or request.missing:
        return ()
    if schema is None:
        return set(names)
    if schema.setting("decimal") == "," or schema.setting("missing"):
        return ()
    return {name for name, one in zip(schema.names, schema.types, strict=True) if one in NUMERIC}


def _read_without_columns(file: OpenFile, rows: int | None, request: Request, schema: Schema | None) -> Iterator[Data]:
    if schema is not None:
        request = replace(request, label=schema.label, kind=schema.kind)
    for data in _parts(file, rows, request, schema):
        data = _as_kind(data, request.kind)
        labels = data.labels
        if schema is None:
            if labels is not None and file.format in ("fasta", "ts"):
                labels = _parsed_labels(labels)
            made = replace(data.schema, width=width_of(data.schema.kind, data.objects))
            if labels is not None:
                kinds = {"i": "integer", "u": "integer", "f": "number", "b": "boolean"}
                made = replace(made, label_type=kinds.get(labels.dtype.kind, "text"))
            schema = made
        else:
            schema.check_width(data.objects)
            if labels is not None and schema.label_type == "text":
                labels = labels.astype(str)
            elif labels is not None and labels.dtype.kind == "U" and schema.label_type in NUMERIC:
                labels = _parsed_labels(labels)
        yield replace(data, labels=labels, schema=schema)


def _parts(file: OpenFile, rows: int | None, request: Request, schema: Schema | None) -> Iterator[Data]:
    label = request.label
    label_optional = schema is not None
    if file.format == "fasta":
        yield from read_fasta(file.stream, request, rows, label_optional)
        return
    if rows is not None:
        check_memory(file)
    if file.format == "npz":
        data = read_npz(file.stream, request, label_optional, getattr(schema, "object", None))
    elif file.format == "graphml":
        data = read_graphml(file.stream, label, label_optional)
    elif file.format == "ts":
        data = read_ts(file.stream)
    elif file.format == "tu":
        data = read_tu(file.path)
    elif file.format == "svmlight":
        data = read_svmlight(file.stream, schema)
    elif file.format == "graphs":
        data = _folder_of_graphs(file, label)
    else:
        data = read_folder(file.path, file.format, request, schema)
    place = LABEL_PLACES.get(file.format)
    if place is not None and label is not None and not label_optional:
        if label not in ("label", data.schema.label):
            where = f"labels come from {place}; leave label out, or call it 'label'"
            raise FileError(f"there is no column {label!r}: {where}")
        if data.labels is None:
            raise FileError(f"it holds no labels: they would be in {place}")
    step = rows or max(1, len(data))
    for start in range(0, len(data), step):
        part = slice(start, start + step)
        of_each = {name: one[part] for name in ("labels", "ids") if (one := getattr(data, name)) is not None}
        yield replace(data, objects=data.objects[part], **of_each)


def _folder_of_graphs(file: OpenFile, label: str | None) -> Data:
    """Read the GraphML files of a folder: the name of a subfolder is the label, or else an attribute of the graphs."""
    paths = folder_files(file.path, "graphs")[0]
    inside = names_of(file.path, paths)
    names = labels_of(file.path, paths)
    if names is not None:
        label = None
    parts = []
    for path, name in zip(paths, inside, strict=True):
        with open(path, "rb") as stream:
            parts.append(read_graphml(stream, label, label is None, f"{name}: "))
    graphs = [graph for part in parts for graph in part.objects]
    counts = list(map(len, parts))
    ids = np.repeat(inside, counts).tolist()
    notes = tuple(dict.fromkeys([*(note for part in parts for note in part.notes), *other_entries(file.path)]))
    if names is not None:
        notes = (*notes, f"labels are the names of {len(set(names))} subfolders")
        return Data(graphs, np.repeat(names, counts), Schema("graphs", "label"), notes, ids)
    if any(part.labels is None for part in parts):
        return Data(graphs, None, Schema("graphs"), notes, ids)
    labels = np.concatenate([part.labels for part in parts])
    return Data(graphs, labels, Schema("graphs", parts[0].schema.label), notes, ids)


def _as_kind(data: Data, kind: str | None) -> Data:
    found = data.schema.kind
    objects = data.objects
    if kind in (None, found):
        return data
    if kind == "series" and found == "vectors" and isinstance(objects, np.ndarray):
        objects = list(objects)
    elif kind == "vectors" and found == "series":
        shapes = {one.shape for one in objects}
        if len(shapes) > 1 or len(next(iter(shapes))) > 1:
            raise FileError("kind='vectors' does not fit: the series have several channels or unequal lengths")
        objects = np.array(objects)
    else:
        raise FileError(f"kind={kind!r} does not fit: the file holds {found}")
    return replace(data, objects=objects, schema=replace(data.schema, kind=str(kind)))


def _parsed_labels(values: np.ndarray) -> np.ndarray:
    """Return labels of a text file as integers if all are, as numbers if all are, else as text."""
    for dtype in (np.int64, np.float64):
        try:
            numbers = np.array(values).astype(dtype)
        except (ValueError, OverflowError):
            continue
        if np.isfinite(numbers).all() and not any("_" in value for value in values):
            return numbers
    return np.array(values)
