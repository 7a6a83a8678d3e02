"""Formats without columns: FASTA, npz, svmlight, series, graphs and folders, as objects of the requested kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from similitude.data.files.arrays import read_npz, read_svmlight
from similitude.data.files.folders import folder_graphs, not_files, read_folder
from similitude.data.files.graphs import read_graphml, read_tu
from similitude.data.files.open_file import OpenFile, check_memory
from similitude.data.files.schema import NUMERIC, Data, Request, Schema
from similitude.data.files.sequences import read_fasta, read_ts
from similitude.support import FileError


def read_without_columns(file: OpenFile, rows: int | None, request: Request, schema: Schema | None) -> Iterator[Data]:
    """Yield the objects of such a file, at most `rows` at a time, or all."""
    if schema is not None:
        request = request._replace(label=schema.label, kind=schema.kind)
    for data in _parts(file, rows, request, schema):
        data = _as_kind(data, request.kind)
        labels = data.labels
        if schema is None:
            if labels is not None and file.format in ("fasta", "ts"):
                labels = _parsed_labels(labels)
            width = int(data.objects.shape[1]) if data.schema.kind == "vectors" else None
            schema = replace(data.schema, label_type=_label_type(labels), width=width)
        else:
            schema.check_width(data.objects)
            if labels is not None and schema.label_type == "text":
                labels = labels.astype(str)
            elif labels is not None and labels.dtype.kind == "U" and schema.label_type in NUMERIC:
                labels = _parsed_labels(labels)
        yield replace(data, labels=labels, schema=schema)


def _parts(file: OpenFile, rows: int | None, request: Request, schema: Schema | None) -> Iterator[Data]:
    label_optional = schema is not None
    if file.format == "fasta":
        yield from read_fasta(file.stream, request, rows, label_optional)
        return
    if rows is not None:
        check_memory(file)
    place = ""  # of the labels, if they have but one
    if file.format == "npz":
        data = read_npz(file.stream, request, label_optional, None if schema is None else schema.object)
    elif file.format == "graphml":
        data = read_graphml(file.stream, request.label, label_optional)
    elif file.format == "ts":
        data = read_ts(file.stream)
        place = "@classLabel"
    elif file.format == "tu":
        data = read_tu(file.path)
        place = "DS_graph_labels.txt"
    elif file.format == "svmlight":
        data = read_svmlight(file.stream, schema)
        place = "the first number of each line"
    else:
        is_graphs = file.format == "graphs"
        data = _folder_of_graphs(file, request) if is_graphs else read_folder(file.path, file.format, request, schema)
        place = "the names of subfolders"
    label = request.label
    if place and label is not None and not label_optional:
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


def _folder_of_graphs(file: OpenFile, request: Request) -> Data:
    """Read the GraphML files of a folder: the name of a subfolder is the label, or else an attribute of the graphs."""
    found = folder_graphs(file.path)
    label = None if found[0].label is not None else request.label
    parts = []
    labels = []
    ids = []
    for one in found:
        with open(one.path, "rb") as stream:
            parts.append(read_graphml(stream, label, label is None, f"{one.name}: "))
        labels += [one.label] * len(parts[-1])
        ids += [one.name] * len(parts[-1])
    graphs = [graph for part in parts for graph in part.objects]
    notes = tuple(dict.fromkeys([*(note for part in parts for note in part.notes), *not_files(file.path)]))
    if found[0].label is None:
        y = None if any(part.labels is None for part in parts) else np.concatenate([part.labels for part in parts])
        return Data(graphs, y, Schema("graphs", None if y is None else parts[0].schema.label), notes, ids)
    notes = (*notes, f"labels are the names of {len(set(labels))} subfolders")
    return Data(graphs, np.array(labels), Schema("graphs", "label"), notes, ids)


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


def _label_type(labels: np.ndarray | None) -> str | None:
    if labels is None:
        return None
    return {"i": "integer", "u": "integer", "f": "number", "b": "boolean"}.get(labels.dtype.kind, "text")
