"""Atomic writes: a file appears complete or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # on Windows, where an open file can neither be removed nor renamed
    fcntl = None  # type: ignore[assignment]

ABANDONED = ".similitude-????????????????.part"
"""The names of temporary files: random, so that no two writers share one."""


def check_place(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file to be written, with links resolved; fail early if it cannot be written."""
    check_path(path)
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


def check_path(path: str | os.PathLike[str]) -> None:
    r"""Refuse what cannot name a file."""
    if not isinstance(path, (str, os.PathLike)):
        raise ValueError(f"the path of a file must be a string or a path, got {type(path).__name__}")
    if "\0" in os.fsdecode(path):
        raise ValueError(f"{os.fsdecode(path)!r} is not the path of a file: it contains a null character")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise ValueError(f"{os.fspath(path)!r} is not the path of a file: it is no valid text") from None


@contextlib.contextmanager
def complete_file(place: Path) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces the file at the end; if the process is killed, the next write removes it."""
    remove_abandoned(place.parent)
    beside, file = _new_part(place.parent)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if place.exists():
                shutil.copymode(place, beside)
            if fcntl is None:
                file.close()
            os.replace(beside, place)  # while the file is locked: otherwise another process may remove it
    except OSError as error:
        # of a disk that is full or broken, which do not say what was being written
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO) and error.filename is None:
            error.filename = str(place)
        raise
    finally:
        beside.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # some systems cannot; the file itself has been synced
        handle = os.open(place.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def remove_abandoned(folder: Path) -> None:
    """Remove the temporary files of processes that were killed: those that no process has locked."""
    for part in folder.glob(ABANDONED) if fcntl else ():
        with contextlib.suppress(OSError), open(part, "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            part.unlink()


def _new_part(folder: Path) -> tuple[Path, BinaryIO]:
    """Return a new temporary file, locked for as long as it is open."""
    while True:
        part = folder / ABANDONED.replace("?" * 16, secrets.token_hex(8))
        file = open(part, "x+b")  # noqa: SIM115
        with contextlib.suppress(OSError):  # some file systems have no locks: nobody removes its files
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
        if part.exists():
            return part, file
        file.close()  # another process removed it before it was locked
