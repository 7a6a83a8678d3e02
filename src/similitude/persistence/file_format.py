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
from typing import Any

import numpy as np

from similitude.support import SavedModelError, check_path, complete_file, package_version

VERSION = (1, 0)
"""The version of the format: files of another one are refused."""


def _aligned(position: int) -> int:
    """Return the first position from here on where an array may start."""
    return -(-position // 64) * 64


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
        fields: dict[str, Any] = {"dtype": np.lib.format.dtype_to_descr(dtype), "shape": list(array.shape)}
        if array.flags.f_contiguous and not array.flags.c_contiguous:
            fields["order"] = "F"
            array = array.T
        self._arrays.append(array)
        self.size = _aligned(self.size) + array.nbytes
        return fields

    def pieces(self) -> Iterator[Any]:
        """Yield the bytes of all arrays."""
        at = 0
        for array in self._arrays:
            yield bytes(_aligned(at) - at)
            yield np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
            at = _aligned(at) + array.nbytes


def file_pieces(manifest: Any, nodes: Any, arrays: ArrayWriter) -> Iterator[Any]:
    """Yield the bytes of a file; equal contents give equal bytes."""
    about = _as_json(manifest)
    tree = _as_json(nodes)
    version = "{}.{}".format(*VERSION)
    digest_of_manifest = hashlib.sha256(about).hexdigest()
    line = f"similitude {version} {len(about)} {len(tree)} {arrays.size} {digest_of_manifest}\n".encode()
    start = len(line) + len(about) + len(tree)
    digest = hashlib.sha256()
    for piece in (line, about, tree, b" " * (_aligned(start) - start), *arrays.pieces()):
        digest.update(piece)
        yield piece
    yield digest.hexdigest().encode()


def _as_json(value: Any) -> bytes:
    """Return compact JSON; halves of surrogate pairs stay as they are, where escapes would join them."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


def write_file(path: Any, manifest: Any, nodes: Any, arrays: ArrayWriter) -> None:
    """Write a file atomically: it appears complete or not at all."""
    _check_path(path)
    goal = Path(os.path.realpath(path))
    try:
        with complete_file(goal) as file:
            file.writelines(file_pieces(manifest, nodes, arrays))
    except OSError as error:
        raise SavedModelError(f"cannot write {goal}: {error.strerror or error}") from error


def _check_path(path: Any) -> None:
    try:
        check_path(path)
    except ValueError as error:
        raise SavedModelError(str(error)) from None
    if os.path.exists(path) and not os.path.isfile(path):
        raise SavedModelError(f"cannot read or write {path}: it is not a regular file")


def read_manifest(path: Any) -> tuple[int, dict[str, Any]]:
    """Return the size and the manifest of a file, and read nothing else."""
    with _opened(path) as (file, size):
        (start, stop, *_), digest = _header(file.read(256), size, path)
        file.seek(start)
        return size, _checked_manifest(file.read(stop - start), digest, path)


def read_file(path: Any) -> tuple[int, dict[str, Any], Any, memoryview]:
    """Return the size, the manifest, the nodes and a view of the bytes of the arrays of a file, all of it checked."""
    with _opened(path) as (file, size):
        room = np.empty(size + 64, np.uint8)
        first = -room.ctypes.data % 64  # so that arrays are aligned in memory as well
        view = room.data[first : first + size]
        if file.readinto(view) != size or file.read(1):
            raise SavedModelError(f"{path} changed while it was read")
    (start, manifest, nodes, arrays), digest = _header(bytes(view[:256]), size, path)
    if hashlib.sha256(view[:arrays]).hexdigest().encode() != bytes(view[arrays:]):
        raise SavedModelError(f"{path} was changed or damaged: its content does not match its SHA-256")
    about = _checked_manifest(view[start:manifest], digest, path)
    return size, about, _from_json(view[manifest:nodes], f"the model in {path}"), view[_aligned(nodes) : arrays]


@contextlib.contextmanager
def _opened(path: Any) -> Iterator[tuple[Any, int]]:
    _check_path(path)
    try:
        with open(path, "rb") as file:
            yield file, os.fstat(file.fileno()).st_size
    except OSError as error:
        raise SavedModelError(f"cannot read {path}: {error.strerror or error}") from error


def _header(start: bytes, size: int, path: Any) -> tuple[tuple[int, int, int, int], str]:
    """Return where the line, the manifest, the nodes and the arrays end, and the digest of the manifest."""
    numbers = rb"(\d{1,9})\.(\d{1,9}) (\d{1,18}) (\d{1,18}) (\d{1,18})"
    found = re.match(rb"similitude " + numbers + rb" ([0-9a-f]{64})\n", start)
    if found is None:
        raise SavedModelError(f"{path} is not a saved model, or it was truncated or changed")
    version = int(found[1]), int(found[2])
    if version != VERSION:
        advice = "load and save it with the version that wrote it"
        if version > VERSION:
            advice = "load it with a newer similitude"
        mine = f"similitude {package_version('similitude')} reads format {VERSION[0]}.{VERSION[1]}"
        raise SavedModelError(f"{path} has format {version[0]}.{version[1]}, and {mine}: {advice}")
    manifest = found.end() + int(found[3])
    nodes = manifest + int(found[4])
    arrays = _aligned(nodes) + int(found[5])
    if arrays + 64 != size:  # the digest of all
        raise SavedModelError(f"{path} was truncated or changed: its size is not the one in its first line")
    return (found.end(), manifest, nodes, arrays), found[6].decode()


def _checked_manifest(manifest: Any, digest: str, path: Any) -> dict[str, Any]:
    if hashlib.sha256(manifest).hexdigest() != digest:
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
            shape = node["shape"]
            fits = all(type(size) is int and 0 <= size < 2**62 for size in shape) and len(shape) <= 32
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError, RecursionError) as error:
            raise SavedModelError(f"an array has no valid dtype and shape: {error}") from error
        order = node.get("order", "C")
        if not fits or order not in ("C", "F") or dtype.hasobject or not dtype.itemsize:
            raise SavedModelError("an array has an impossible dtype or shape")
        start = _aligned(self._at)
        stop = start + math.prod(shape) * dtype.itemsize
        if stop > len(self._stored):
            raise SavedModelError(f"an array of shape {tuple(shape)} is larger than what the file contains")
        self._at = stop
        flat = np.ndarray((stop - start) // dtype.itemsize, dtype, self._stored[start:stop])
        return flat.reshape(shape, order=order)

    def check_used_up(self) -> None:
        """Refuse a file with more arrays than its model uses."""
        if self._at != len(self._stored):
            raise SavedModelError("the file contains more arrays than its model uses: similitude did not write it")


def _as_descr(read: Any) -> Any:
    """Turn the lists of JSON into the tuples that describe structured dtypes."""
    if not isinstance(read, list):
        return read
    return [(field[0], _as_descr(field[1]), *map(tuple, field[2:])) for field in read]
