"""JSON Lines: one object per line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, BinaryIO

from similitude.data.files.objects import GRAPH_PARTS
from similitude.data.files.problems import needed
from similitude.data.files.text import lines
from similitude.support.errors import FileError, brief

ONE_PER_LINE = "JSON Lines has one object per line: jq -c '.[]' makes them of a list, jq -c . of objects"


def json_chunks(stream: BinaryIO, rows: int | None) -> Iterator[dict[str, Any]]:
    """Yield columns of at most so many rows, or of all; a key that a line lacks is missing there."""
    found: list[dict[str, Any]] = []
    for number, line in lines(stream):
        if not line.strip():
            continue
        found.append(_row(number, line))
        if len(found) == rows:
            yield _columns(found)
            found = []
    if found:
        yield _columns(found)


def _row(number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        told = f"line {number} is not JSON: {error.msg} at character {error.colno} of {brief(line)}"
        hint = f". {ONE_PER_LINE}" if line.strip() in ("[", "{") or line.lstrip().startswith("[") else ""
        raise FileError(f"{told}{hint}") from None
    except RecursionError:
        raise FileError(f"line {number} is nested too deeply") from None
    if not isinstance(row, dict):
        raise FileError(f'line {number} is {brief(row)}, not an object such as {{"text": "acgt", "label": 1}}')
    if isinstance(row.get("edges"), list):  # the line itself is a graph
        parts = [part for part in GRAPH_PARTS if part in row and (part != "labels" or isinstance(row[part], list))]
        graph = {part: row.pop(part) for part in parts}  # a label of the whole graph may be called "labels", too
        row = {"graph": graph, **row}
    return row


def _columns(rows: list[dict[str, Any]]) -> dict[str, Any]:
    pa = needed("pyarrow", "a JSON Lines file")
    columns: dict[str, Any] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        cells = [row.get(name) for row in rows]
        columns[name] = cells
        if not any(isinstance(cell, dict) for cell in cells):
            with suppress(pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
                columns[name] = pa.array(cells)
    return columns
