"""The file format: a line of text, two pieces of JSON, the bytes of all arrays, and a SHA-256 of everything before it.

The line is ``similitude 1.0 <bytes of the manifest> <bytes of the nodes> <bytes of the arrays> <SHA-256 of the
manifest>``. The manifest describes the model for people, the nodes are the model itself. The arrays start at a multiple
of 64 bytes. A file that was truncated or changed is noticed before anything in it is used.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from similitude.support import SavedModelError, brief, check_path, complete_file, package_version

VERSION = (1, 0)
"""The version of the format: files of another major version or a later minor version are refused."""

ALIGNMENT = 64
_DIGEST = 64
_LONGEST_LINE = 256
_LINE = re.compile(rb"similitude (\d{1,9})\.(\d{1,9}) (\d{1,18}) (\d{1,18}) (\d{1,18}) ([0-9a-f]{64})\n")


def _aligned(position: int) -> int:
    """Return the first position from here on where an array may start."""
    return -(-position // ALIGNMENT) * ALIGNMENT


# Writing.


class ArrayWriter:
    """Collects the arrays of a model."""

    def __init__(self) -> None:
        self._arrays: list[np.ndarray] = []
        self.size = 0

    def add(self, array: np.ndarray, path: Any) -> dict[str, Any]:
        """Add an array; return the fields of its node."""
        if array.dtype.kind in "US" and not array.dtype.itemsize:
            array = array.astype(f"{array.dtype.kind}1")  # of empty strings, whose items would have no size
        dtype = array.dtype
        is_plain = dtype.names or np.dtype(dtype.str) == dtype
        if dtype.hasobject or not dtype.itemsize or dtype.metadata or not is_plain:
            raise SavedModelError(f"{path} is an array of {dtype}, which cannot be stored: convert it, e.g. to float64")
        is_fortran = array.flags.f_contiguous and not array.flags.c_contiguous
        self._arrays.append(array.T if is_fortran else array)
        self.size = _aligned(self.size) + array.nbytes
        order = {"order": "F"} if is_fortran else {}
        return {"dtype": np.lib.format.dtype_to_descr(dtype), "shape": list(array.shape), **order}

    def pieces(self) -> Iterator[Any]:
        """Yield the bytes of all arrays."""
        at = 0
        for array in self._arrays:
            yield bytes(_aligned(at) - at)
            yield np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
            at = _aligned(at) + array.nbytes


def file_pieces(manifest: Any, nodes: Any, arrays: ArrayWriter) -> Iterator[Any]:
    """Yield the bytes of a file; equal contents give equal bytes."""
    about, tree = (json.dumps(one, separators=(",", ":"), allow_nan=False).encode() for one in (manifest, nodes))
    sizes = f"{len(about)} {len(tree)} {arrays.size}"
    line = f"similitude {VERSION[0]}.{VERSION[1]} {sizes} {hashlib.sha256(about).hexdigest()}\n".encode()
    start = len(line) + len(about) + len(tree)
    digest = hashlib.sha256()
    for piece in (line, about, tree, b" " * (_aligned(start) - start), *arrays.pieces()):
        digest.update(piece)
        yield piece
    yield digest.hexdigest().encode()


def write_file(path: Any, manifest: Any, nodes: Any, arrays: ArrayWriter) -> None:
    """Write a file atomically: it appears complete or not at all."""
    _check_path(path)
    goal = Path(os.path.realpath(path))
    try:
        if goal.exists() and not goal.is_file():
            raise SavedModelError(f"cannot write {goal}: it exists and is not a regular file")
        with complete_file(goal) as file:
            file.writelines(file_pieces(manifest, nodes, arrays))
    except OSError as error:
        raise SavedModelError(f"cannot write {goal}: {error.strerror or error}") from error


# Reading.


class Header(NamedTuple):
    """The first line of a file: the version, the end of each part, and the digest of the manifest."""

    version: tuple[int, int]
    line: int
    manifest: int
    nodes: int
    arrays: int
    digest: str


class Content(NamedTuple):
    """A saved file in memory; the bytes of the arrays are a view of it."""

    version: tuple[int, int]
    size: int
    manifest: dict[str, Any]
    nodes: Any
    arrays: memoryview


def read_manifest(path: Any) -> tuple[tuple[int, int], int, dict[str, Any]]:
    """Return the version, the size and the manifest of a file, and read nothing else."""
    with _opened(path) as (file, size):
        header = _header(file.read(_LONGEST_LINE), size, path)
        file.seek(header.line)
        manifest = file.read(header.manifest - header.line)
    return header.version, size, _checked_manifest(manifest, header, path)


def read_file(path: Any) -> Content:
    """Read a file once, and check its size and its digest."""
    with _opened(path) as (file, size):
        room = np.empty(size + ALIGNMENT, np.uint8)
        start = -room.ctypes.data % ALIGNMENT
        view = room.data[start : start + size]
        if file.readinto(view) != size or file.read(1):
            raise SavedModelError(f"{path} changed while it was read")
    header = _header(bytes(view[:_LONGEST_LINE]), size, path)
    if hashlib.sha256(view[: header.arrays]).hexdigest().encode() != bytes(view[header.arrays :]):
        raise SavedModelError(f"{path} was changed or damaged: its content does not match its SHA-256")
    manifest = _checked_manifest(view[header.line : header.manifest], header, path)
    nodes = _from_json(view[header.manifest : header.nodes], f"the model in {path}")
    return Content(header.version, size, manifest, nodes, view[_aligned(header.nodes) : header.arrays])


@contextlib.contextmanager
def _opened(path: Any) -> Iterator[tuple[Any, int]]:
    _check_path(path)
    if os.path.exists(path) and not os.path.isfile(path):
        raise SavedModelError(f"cannot read {path}: it is not a regular file")
    try:
        with open(path, "rb") as file:
            yield file, os.fstat(file.fileno()).st_size
    except OSError as error:
        raise SavedModelError(f"cannot read {path}: {error.strerror or error}") from error


def _check_path(path: Any) -> None:
    try:
        check_path(path)
    except ValueError as error:
        raise SavedModelError(str(error)) from None


def _header(start: bytes, size: int, path: Any) -> Header:
    found = _LINE.match(start)
    if found is None:
        raise SavedModelError(f"{path} is not a saved model, or it was truncated or changed")
    version = major, minor = int(found[1]), int(found[2])
    if major != VERSION[0] or minor > VERSION[1]:
        is_later = version > VERSION
        advice = "load it with a newer similitude" if is_later else "load and save it with the version that wrote it"
        theirs = _writer(path, found.end(), min(int(found[3]), size))
        mine = f"similitude {package_version('similitude')} reads format {VERSION[0]}.{VERSION[1]}"
        raise SavedModelError(f"{path} has format {major}.{minor} and was written by {theirs}; {mine}: {advice}")
    manifest = found.end() + int(found[3])
    nodes = manifest + int(found[4])
    arrays = _aligned(nodes) + int(found[5])
    if arrays + _DIGEST != size:
        raise SavedModelError(f"{path} was truncated or changed: its size is not the one in its first line")
    return Header(version, found.end(), manifest, nodes, arrays, found[6].decode())


def _writer(path: Any, start: int, length: int) -> str:
    """Return which version wrote a file of another format, as far as its manifest is where those of this format are."""
    try:
        with open(path, "rb") as file:
            file.seek(start)
            manifest = _from_json(file.read(length), f"the manifest of {path}")
        return "similitude " + brief(manifest["written_by"]["similitude"]).strip("'")
    except (OSError, SavedModelError, LookupError, TypeError):
        return "another version"


def _checked_manifest(manifest: Any, header: Header, path: Any) -> dict[str, Any]:
    if hashlib.sha256(manifest).hexdigest() != header.digest:
        raise SavedModelError(f"{path} was changed: its manifest does not match its SHA-256")
    read = _from_json(manifest, f"the manifest of {path}")
    if not isinstance(read, dict):
        raise SavedModelError(f"the manifest of {path} is not an object")
    return read


def _from_json(text: Any, name: str) -> Any:
    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is not valid JSON")

    try:
        return json.loads(bytes(text), parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise SavedModelError(f"{name} is not valid JSON: {error}") from error


class ArrayReader:
    """Returns the arrays of a file one after the other, without copying."""

    def __init__(self, stored: memoryview) -> None:
        self._stored = stored
        self._at = 0

    def take(self, node: Any) -> np.ndarray:
        """Return the next array, with the dtype and shape of its node."""
        try:
            dtype = np.lib.format.descr_to_dtype(_as_descr(node["dtype"]))
            shape, order = node["shape"], node.get("order", "C")
            fits = all(type(size) is int and 0 <= size < 2**62 for size in shape) and len(shape) <= 32
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError, RecursionError) as error:
            raise SavedModelError(f"an array has no valid dtype and shape: {error}") from error
        if not fits or order not in ("C", "F") or dtype.hasobject or not dtype.itemsize:
            raise SavedModelError("an array has an impossible dtype or shape")
        start = _aligned(self._at)
        stop = start + math.prod(shape) * dtype.itemsize
        if stop > len(self._stored):
            raise SavedModelError(f"an array of shape {tuple(shape)} is larger than what the file contains")
        self._at = stop
        flat = np.frombuffer(self._stored[start:stop], dtype) if stop > start else np.empty(0, dtype)
        return flat.reshape(shape, order=order)

    def check_used_up(self) -> None:
        """Refuse a file with more arrays than its model uses."""
        if self._at != len(self._stored):
            raise SavedModelError("the file contains more arrays than its model uses: similitude did not write it")


def _as_descr(read: Any) -> Any:
    """Turn the lists of JSON into the tuples that describe structured dtypes."""
    if not isinstance(read, list):
        return read
    return [tuple(_as_descr(part) if i == 1 else _shaped(part) for i, part in enumerate(field)) for field in read]


def _shaped(part: Any) -> Any:
    return tuple(part) if isinstance(part, list) else part
