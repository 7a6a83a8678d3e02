"""``.ts`` files of aeon and sktime: a header of ``@`` lines, then one case per line, channels separated by colons."""

from __future__ import annotations

from typing import BinaryIO

import numpy as np

from similitude.data.files.schema import Data, Schema
from similitude.data.files.utf8 import lines
from similitude.support import FileError, brief


def read_ts(stream: BinaryIO) -> Data:
    """Read series, with labels if the header has @classLabel or @targetLabel."""
    header: dict[str, list[str]] = {}
    series, labels = [], []
    for number, line in lines(stream):
        line = line.strip()
        if not line or line.startswith(("#", "%")):
            continue
        if "data" not in header:
            _header_line(number, line, header)
            continue
        cells = line.split(":")
        if _has_labels(header):
            labels.append(_label(number, cells.pop().strip(), header))
        series.append(_series(number, cells))
        if series[-1].shape[1:] != series[0].shape[1:]:
            raise FileError(f"line {number} has {len(cells)} channels, those above have {_channels(series[0])}")
    if "data" not in header:
        raise FileError("there is no line @data: this is not a .ts file of aeon or sktime")
    if not series:
        raise FileError("there is a header but no series")
    lengths = {len(one) for one in series}
    channels = _channels(series[0])
    note = f"series of {channels} {'channel' if channels == 1 else 'channels'} and {_range(lengths)} times"
    schema = Schema("series", "label" if labels else None)
    return Data(series, np.array(labels) if labels else None, schema, (note,))


def _header_line(number: int, line: str, header: dict[str, list[str]]) -> None:
    if not line.startswith("@"):
        raise FileError(f"line {number} is {brief(line)}: the header has lines that start with @, up to @data")
    name, *values = line[1:].split() or [""]
    header[name.lower()] = values
    if name.lower() == "timestamps" and _is_true(values):
        raise FileError(f"line {number}: series with time stamps (@timeStamps true) are not read: resample them")


def _has_labels(header: dict[str, list[str]]) -> bool:
    return any(_is_true(header.get(name, [])) for name in ("classlabel", "targetlabel"))


def _is_true(values: list[str]) -> bool:
    return bool(values) and values[0].lower() == "true"


def _label(number: int, label: str, header: dict[str, list[str]]) -> str:
    known = header.get("classlabel", [])[1:]
    if label in ("", "?"):
        raise FileError(f"line {number} has no label: remove it or fill it")
    if known and label not in known:
        raise FileError(f"line {number} has the label {label!r}, which is not in @classLabel {' '.join(known)}")
    return label


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


def _range(lengths: set[int]) -> str:
    low, high = min(lengths), max(lengths)
    return str(low) if low == high else f"{low} to {high}"
