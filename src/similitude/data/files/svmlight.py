"""svmlight files, as LIBSVM writes them: a label, then ``index:value`` for each entry that is not zero."""

from __future__ import annotations

from array import array
from math import isfinite
from typing import BinaryIO

import numpy as np

from similitude.data.files.schema import Data, Schema
from similitude.data.files.utf8 import lines
from similitude.support import FileError, brief

LARGEST_INDEX = 2**31 - 2


def read_svmlight(stream: BinaryIO, schema: Schema | None) -> Data:
    """Read sparse vectors and labels; indices count from 1, or from 0 if one is 0, as at first by the schema."""
    from scipy.sparse import csr_matrix

    values, indices, ends, labels = array("d"), array("q"), array("q", [0]), array("d")
    groups = False
    for number, line in lines(stream):
        words = line.partition("#")[0].split()
        if not words:
            continue
        labels.append(_number(number, words[0], "its label"))
        last = -1
        for word in words[1:]:
            name, colon, value = word.partition(":")
            if name == "qid" and colon:
                groups = True
                continue
            index = int(name) if name.isascii() and name.isdigit() and len(name) < 11 else -1
            if not colon or not 0 <= index <= LARGEST_INDEX:
                raise FileError(f"line {number} has {brief(word)}, which is not index:value")
            if index <= last:
                raise FileError(f"line {number} has index {index} after {last}: indices go up")
            last = index
            indices.append(index)
            values.append(_number(number, value, f"the value of {index}"))
        ends.append(len(indices))
    if not labels:
        raise FileError("there are no objects")
    columns, known = np.array(indices, dtype=np.int64), None if schema is None else schema.setting("first_index")
    first = int(known) if known in ("0", "1") else int(not (len(columns) and columns.min() == 0))
    if len(columns) and columns.min() < first:
        raise FileError("an index is 0, and in the file before indices began at 1")
    largest = int(columns.max()) + 1 - first if len(columns) else 0
    width = max(largest, schema.width or 0) if schema is not None else largest
    if width == 0:
        raise FileError("all vectors are empty: each has at least one index:value somewhere in the file")
    found = csr_matrix((np.array(values), columns - first, np.array(ends)), shape=(len(labels), width))
    y = np.array(labels)
    y = y.astype(np.int64) if (y == np.floor(y)).all() and np.abs(y).max() < 2**53 else y
    notes = [f"sparse vectors of {width} numbers, whose indices begin at {first}"]
    notes += ["ignored: qid, the groups of rows"] if groups else []
    made = Schema("vectors", "label").with_settings(first_index=str(first))
    return Data(found, y, made, tuple(notes))


def _number(line: int, text: str, what: str) -> float:
    """Return a finite number, or raise and name the line."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if "," in text and what == "its label":
        raise FileError(f"line {line} has several labels, {brief(text)}: only one is read")
    if not isfinite(value) or "_" in text:
        raise FileError(f"line {line} has {brief(text)} as {what}: it must be a finite number")
    return value
