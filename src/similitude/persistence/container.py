"""The file format: a zip of uncompressed entries in one fixed layout, with a SHA-256 of all its bytes at the very end.

The comment of the archive is ``similitude 1.0 manifest <digest> content <digest>``: the digest of the first entry, and
that of every byte before the last 64. A file that was truncated, changed or zipped again is noticed before anything in
it is used, and ordinary zip tools can still look inside.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import struct
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from similitude.support import SavedModelError, complete_file

VERSION = (1, 0)
"""The version of the format: files of another major version or a later minor version are refused."""

MANIFEST, MODEL, ARRAYS = ENTRY_NAMES = ("manifest.json", "model.json", "arrays.bin")
ALIGNMENT = 64
_COMMENT = re.compile(rb"similitude (\d{1,9})\.(\d{1,9}) manifest ([0-9a-f]{64}) content ([0-9a-f]{64})\Z")
_LONGEST_COMMENT = 200
_HEADER = struct.Struct("<4s5H3I2H")
_PADDING_ID = 0xD935  # the extra field that other tools use for alignment, too
_ATTRIBUTES = 0o644 << 16
_BROKEN_ZIP = (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError, OverflowError, LookupError, struct.error)


class Entry(NamedTuple):
    """An entry to be written."""

    name: str
    size: int
    pieces: Iterable[Any]


class Tail(NamedTuple):
    """The contents of the comment at the end of a file."""

    version: tuple[int, int]
    manifest: str
    content: str


def as_json(value: Any) -> bytes:
    """Return JSON that is the same for the same value."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def from_json(text: Any, name: str) -> Any:
    """Parse JSON."""
    try:
        return json.loads(bytes(text), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise SavedModelError(f"{name} is not valid JSON: {error}") from error


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is not valid JSON")


def write_file(path: Any, manifest: bytes, entries: Iterable[Entry]) -> None:
    """Write a file atomically: it appears complete or not at all."""
    goal = Path(os.path.realpath(path))
    if goal.exists() and not goal.is_file():
        raise SavedModelError(f"cannot write {goal}: it exists and is not a regular file")
    try:
        with complete_file(goal) as file:
            pack(file, manifest, entries)
    except OSError as error:
        raise SavedModelError(f"cannot write {goal}: {error.strerror or error}") from error


def pack(file: Any, manifest: bytes, entries: Iterable[Entry]) -> None:
    """Write the zip into an open, empty file, with the digests at its end."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        _write_entry(archive, file, Entry(MANIFEST, len(manifest), [manifest]))
        for entry in entries:
            _write_entry(archive, file, entry)
        digest = hashlib.sha256(manifest).hexdigest()
        archive.comment = f"similitude {VERSION[0]}.{VERSION[1]} manifest {digest} content {'0' * 64}".encode()
    _seal(file)


def _write_entry(archive: zipfile.ZipFile, file: Any, entry: Entry) -> None:
    """Write one entry whose content starts at a multiple of 64 bytes."""
    info = zipfile.ZipInfo(entry.name, (1980, 1, 1, 0, 0, 0))
    info.create_system, info.external_attr, info.file_size = 3, _ATTRIBUTES, entry.size
    large = 20 if info.file_size * 1.05 > zipfile.ZIP64_LIMIT else 0
    spare = -(file.tell() + _HEADER.size + len(entry.name) + 4 + large) % ALIGNMENT
    info.extra = struct.pack("<HH", _PADDING_ID, spare) + bytes(spare)
    with archive.open(info, "w") as opened:
        for piece in entry.pieces:
            opened.write(piece)


def _seal(file: Any) -> None:
    """Write the digest of everything before the last 64 bytes into them."""
    size = file.seek(0, os.SEEK_END)
    digest, left = hashlib.sha256(), size - 64
    file.seek(0)
    while left:
        piece = file.read(min(left, 1 << 20))
        digest.update(piece)
        left -= len(piece)
    file.seek(size - 64)
    file.write(digest.hexdigest().encode())


def _tail(end: bytes, path: Any) -> Tail:
    found = _COMMENT.search(end)
    if found is None:
        raise SavedModelError(f"{path} is not a saved model, or it was truncated or changed")
    major, minor = int(found[1]), int(found[2])
    if (major, minor) != VERSION and (major != VERSION[0] or minor > VERSION[1]):
        mine = f"{VERSION[0]}.{VERSION[1]}"
        later = (major, minor) > VERSION
        advice = "load it with a newer similitude" if later else "load and save it with the version that wrote it"
        raise SavedModelError(f"{path} has format {major}.{minor}, this version reads {mine}: {advice}")
    return Tail((major, minor), found[3].decode(), found[4].decode())


@contextlib.contextmanager
def _opened(path: Any) -> Iterator[tuple[Any, int]]:
    if os.path.exists(path) and not os.path.isfile(path):
        raise SavedModelError(f"cannot read {path}: it is not a regular file")
    try:
        with open(path, "rb") as file:
            yield file, os.fstat(file.fileno()).st_size
    except OSError as error:
        raise SavedModelError(f"cannot read {path}: {error.strerror or error}") from error


def read_manifest(path: Any) -> tuple[Tail, dict[str, Any], int]:
    """Return the comment, the manifest and the size of a file, and read nothing else."""
    with _opened(path) as (file, size):
        file.seek(max(0, size - _LONGEST_COMMENT))
        tail = _tail(file.read(), path)
        file.seek(0)
        start = file.read(_HEADER.size)
        fields = _HEADER.unpack(start) if len(start) == _HEADER.size else (b"",)
        if fields[0] != b"PK\3\4" or fields[8] > size:
            raise SavedModelError(f"{path} was changed: it does not start with {MANIFEST}")
        file.seek(_HEADER.size + fields[9] + fields[10])
        manifest = file.read(fields[8])
    return tail, _checked_manifest(manifest, tail, path), size


def _checked_manifest(manifest: Any, tail: Tail, path: Any) -> dict[str, Any]:
    if hashlib.sha256(manifest).hexdigest() != tail.manifest:
        raise SavedModelError(f"{path} was changed: its {MANIFEST} does not match its SHA-256")
    read = from_json(manifest, f"{MANIFEST} of {path}")
    if not isinstance(read, dict):
        raise SavedModelError(f"{MANIFEST} of {path} is not an object")
    return read


class Content(NamedTuple):
    """A file in memory: its version, manifest and size, and its entries as views of one buffer."""

    version: tuple[int, int]
    manifest: dict[str, Any]
    entries: dict[str, memoryview]
    size: int


def read_file(path: Any) -> Content:
    """Read a file once, check its digest and layout, and return its entries without copying them."""
    with _opened(path) as (file, size):
        room = np.empty(size + ALIGNMENT, np.uint8)
        start = -room.ctypes.data % ALIGNMENT
        view = room.data[start : start + size]
        if file.readinto(view) != size or file.read(1):
            raise SavedModelError(f"{path} changed while it was read")
        tail = _tail(bytes(view[-_LONGEST_COMMENT:]), path)
        if hashlib.sha256(view[:-64]).hexdigest() != tail.content:
            raise SavedModelError(f"{path} was changed or damaged: its content does not match its SHA-256")
        entries = _entries(file, view, path)
    manifest = _checked_manifest(entries[MANIFEST], tail, path)
    return Content(tail.version, manifest, entries, size)


def _entries(file: Any, view: memoryview, path: Any) -> dict[str, memoryview]:
    """Return the entries; refuse every layout except the one that `pack` writes."""
    try:
        with zipfile.ZipFile(file) as archive:
            infos, end = archive.infolist(), archive.start_dir
    except _BROKEN_ZIP as error:
        raise SavedModelError(f"{path} does not have the layout of a saved model: {error}") from error
    entries: dict[str, memoryview] = {}
    at = 0
    if [info.orig_filename for info in infos] != list(ENTRY_NAMES):
        raise SavedModelError(f"{path} does not have the entries of a saved model: similitude did not write it")
    for info in infos:
        name = info.orig_filename
        begin = _content_start(view, info, at, path)
        at = begin + info.file_size
        is_stored = not info.flag_bits and not info.compress_type and info.compress_size == info.file_size
        if at > end or not is_stored or info.external_attr != _ATTRIBUTES:
            raise SavedModelError(f"{path}: its entry {name!r} has a wrong size or type")
        entries[name] = view[begin:at]
    if at != end:
        raise SavedModelError(f"{path} does not have the layout of a saved model: similitude did not write it")
    return entries


def _content_start(view: memoryview, info: zipfile.ZipInfo, at: int, path: Any) -> int:
    """Return the position of the content of an entry; its header must agree with the directory of the archive."""
    name = info.orig_filename.encode()
    header = bytes(view[at : at + _HEADER.size + len(name)])
    if len(header) == _HEADER.size + len(name) and info.header_offset == at:
        fields = _HEADER.unpack_from(header)
        if (
            fields[0] == b"PK\3\4"
            and fields[2:4] == (0, 0)
            and (fields[9], header[_HEADER.size :]) == (len(name), name)
        ):
            return int(at + _HEADER.size + fields[9] + fields[10])
    raise SavedModelError(f"{path}: its entry {info.orig_filename!r} does not agree with the directory of the archive")
