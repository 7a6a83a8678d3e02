"""Atomic writes: a file appears complete or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


def check_place(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file to be written, with links resolved; fail early if it cannot be written.

    >>> check_place("no such folder/model.sim")
    Traceback (most recent call last):
    ...
    ValueError: no such folder/model.sim: cannot be written: there is no folder ...
    """
    place = Path(os.path.realpath(path))
    if place.is_dir():
        raise ValueError(f"{path}: cannot be written: it is a folder")
    if not place.parent.is_dir():
        raise ValueError(f"{path}: cannot be written: there is no folder {str(place.parent)!r}")
    try:
        with tempfile.TemporaryFile(dir=place.parent):
            return place
    except OSError as error:
        raise ValueError(f"{path}: cannot be written: {error.strerror or error}") from None


@contextlib.contextmanager
def complete_file(place: Path) -> Iterator[BinaryIO]:
    """Open a temporary file in the same folder, which replaces the file at the end; a failure leaves nothing behind."""
    beside = place.parent / f".similitude-{secrets.token_hex(8)}.part"
    try:
        with open(beside, "x+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if place.exists():
            shutil.copymode(place, beside)
        os.replace(beside, place)
    finally:
        beside.unlink(missing_ok=True)
    _sync_folder(place.parent)


def _sync_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):  # some systems cannot; the file itself has been synced
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
