"""Sequences of letters in FASTA files, and series of numbers in ``.ts`` files of aeon and sktime."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from similitude.data.files.schema import Data, Request, Schema
from similitude.data.files.text_files import in_parts, lines
from similitude.support import FileError, brief

MIXED = "capital and small letters occur, and are different letters: 'A' is not 'a'"
"""The note on sequences in both cases."""


def read_fasta(stream: BinaryIO, request: Request, rows: int | None, label_optional: bool) -> Iterator[Data]:
    """Yield sequences, `rows` at a time; the label is the last word of the header, or the value of ``name=`` in it."""
    if request.object is not None:
        raise FileError(f"there is no column {request.object!r}: the objects of a FASTA file are its sequences")
    for found in in_parts(_records(stream), rows):
        yield _data(found, request.label, label_optional)


def _records(stream: BinaryIO) -> Iterator[tuple[int, str, str]]:
    at = 0
    header = None
    parts: list[str] = []
    for number, line in lines(stream):
        if line.startswith(">"):
            if header is not None:
                yield at, header, "".join(parts)
            at = number
            header = line[1:].strip()
            parts = []
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
    if label == "header":
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


def read_ts(stream: BinaryIO) -> Data:
    """Read series, with labels if the header has @classLabel or @targetLabel."""
    header: dict[str, list[str]] = {}
    series = []
    labels = []
    for number, line in lines(stream):
        line = line.strip()
        if not line or line.startswith(("#", "%")):
            continue
        if "data" not in header:
            _header_line(number, line, header)
            continue
        cells = line.split(":")
        if any(_is_true(header.get(name, [])) for name in ("classlabel", "targetlabel")):
            label = cells.pop().strip()
            known = header.get("classlabel", [])[1:]
            if label in ("", "?"):
                raise FileError(f"line {number} has no label: remove it or fill it")
            if known and label not in known:
                raise FileError(f"line {number} has the label {label!r}, which is not in @classLabel {' '.join(known)}")
            labels.append(label)
        series.append(_series(number, cells))
        if series[-1].shape[1:] != series[0].shape[1:]:
            raise FileError(f"line {number} has {len(cells)} channels, those above have {_channels(series[0])}")
    if "data" not in header:
        raise FileError("there is no line @data: this is not a .ts file of aeon or sktime")
    if not series:
        raise FileError("there is a header but no series")
    times = " to ".join(map(str, sorted({min(map(len, series)), max(map(len, series))})))
    channels = _channels(series[0])
    notes = (f"series of {channels} channel{'s' * (channels > 1)} and {times} times",)
    if not labels:
        return Data(series, None, Schema("series"), notes)
    return Data(series, np.array(labels), Schema("series", "label"), notes)


def _header_line(number: int, line: str, header: dict[str, list[str]]) -> None:
    if not line.startswith("@"):
        raise FileError(f"line {number} is {brief(line)}: the header has lines that start with @, up to @data")
    name, *values = line[1:].split() or [""]
    header[name.lower()] = values
    if name.lower() == "timestamps" and _is_true(values):
        raise FileError(f"line {number}: series with time stamps (@timeStamps true) are not read: resample them")


def _is_true(values: list[str]) -> bool:
    return bool(values) and values[0].lower() == "true"


def _series(number: int, channels: list[str]) -> np.ndarray:
    """Return the values of one case: numbers, or an array of shape (time, channel)."""
    if not channels:
        raise FileError(f"line {number} has a label and no values")
    found = []
    for place, channel in enumerate(channels, 1):
        values = channel.split(",")
        if any(value.strip() == "?" for value in values):
            raise FileError(f"line {number}, channel {place} has a missing value '?': fill the gap")
        try:
            found.append(np.array(values, dtype=float))
        except ValueError as error:
            raise FileError(f"line {number}, channel {place}: {error}") from None
        if np.isnan(found[-1]).any():
            raise FileError(f"line {number}, channel {place} has a missing value: fill the gap")
    if len({len(one) for one in found}) > 1:
        raise FileError(f"line {number} has channels of unequal length: {', '.join(str(len(one)) for one in found)}")
    return found[0] if len(found) == 1 else np.column_stack(found)


def _channels(series: np.ndarray) -> int:
    return 1 if series.ndim == 1 else int(series.shape[1])
