"""FASTA files: a header line that starts with ``>``, followed by the lines of a sequence; ``;`` starts a comment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from similitude.data.files.schema import Data, Request, Schema
from similitude.data.files.utf8 import lines
from similitude.support import FileError, brief

HEADER = "header"
"""The name of the label that is the last word of the header."""

MIXED = "capital and small letters occur, and are different letters: 'A' is not 'a'"
"""The note on sequences in both cases."""


def read_fasta(stream: BinaryIO, request: Request, rows: int | None, label_optional: bool) -> Iterator[Data]:
    """Yield sequences, `rows` at a time; the label is the last word of the header, or the value of ``name=`` in it."""
    if request.object is not None:
        raise FileError(f"there is no column {request.object!r}: the objects of a FASTA file are its sequences")
    found: list[tuple[int, str, str]] = []
    for record in _records(stream):
        found.append(record)
        if len(found) == rows:
            yield _data(found, request.label, label_optional)
            found = []
    if found:
        yield _data(found, request.label, label_optional)


def _records(stream: BinaryIO) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the header and the sequence of each record."""
    at, header = 0, None
    parts: list[str] = []
    for number, line in lines(stream):
        if line.startswith(">"):
            if header is not None:
                yield at, header, "".join(parts)
            at, header, parts = number, line[1:].strip(), []
        elif line.strip() and not line.startswith(";"):
            if header is None:
                raise FileError(f"line {number} is {brief(line)}: a FASTA file starts with a header line, '>name'")
            parts.append("".join(line.split()))
    if header is not None:
        yield at, header, "".join(parts)


def _data(records: list[tuple[int, str, str]], label: str | None, label_optional: bool) -> Data:
    notes = ["sequences as strings"]
    labels: np.ndarray | None = None
    if label is not None:
        try:
            labels = np.array([_label(line, header, label) for line, header, _ in records])
        except FileError as error:
            if not label_optional:
                raise
            notes.append(f"no labels: {error}")
    sequences = [sequence for *_, sequence in records]
    if "" in sequences:
        line, header, _ = records[sequences.index("")]
        notes.append(f"{sequences.count('')} sequences are empty, the first on line {line}, {brief(header)}")
    if any(one != one.lower() for one in sequences) and any(one != one.upper() for one in sequences):
        notes.append(MIXED)
    ids = [(header.split() or [""])[0] for _, header, _ in records]
    return Data(sequences, labels, Schema("strings", label), tuple(notes), ids)


def _label(line: int, header: str, label: str) -> str:
    if label == HEADER:
        words = header.split()
        if len(words) < 2:
            raise FileError(f"line {line} has no label: its header {brief(header)} has no second word")
        return words[-1]
    match = re.search(rf"(?:^|[\s|;]){re.escape(label)}=([^\s|;]+)", header)
    if match is None:
        raise FileError(
            f"line {line} has no label: its header {brief(header)} has no '{label}=' (label='header' takes the "
            f"last word)"
        )
    return match[1]
