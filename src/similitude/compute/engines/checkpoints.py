"""What a long pass has added up so far, on disk: written now and then, read again after a crash."""

from __future__ import annotations

import hashlib
import io
import json
import os
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from similitude.support.errors import CheckpointError, CheckpointWarning

MAGIC = "similitude checkpoint"

EVERY = 5.0
"""Seconds between two writings at least."""

SHARE = 0.02
"""The part of the time that writing may take."""

WHOSE = {
    "version": "by another version of similitude",
    "model": "for another model: its similarity, landmarks or coordinates differ",
    "data": "for other data: their number, type, values, weights or batches differ",
}
"""What each part of the marks stands for, in words."""


class Checkpoint:
    """Sums of a pass in a file; it appears by renaming, and is checked by its SHA-256.

    Parameters
    ----------
    path : path
        Of the file.
    marks : mapping of str
        What the sums belong to: ``version``, ``model``, ``data``. A file with other marks is refused.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "sums")
    >>> marks = {"version": "1", "model": "a", "data": "b"}
    >>> Checkpoint(path, marks).write(100, {"total": np.arange(3.0)})
    >>> rows, sums = Checkpoint(path, marks).read()
    >>> rows, sums["total"].tolist()
    (100, [0.0, 1.0, 2.0])
    """

    def __init__(self, path: str | os.PathLike[str], marks: Mapping[str, str]) -> None:
        self.path, self.marks = Path(path), dict(marks)
        self._due = time.monotonic() + EVERY

    def read(self) -> tuple[int, dict[str, np.ndarray]] | None:
        """Return how many rows are in the sums, and the sums; None where there is no file."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise CheckpointError(f"checkpoint {self.path} cannot be read: {error.strerror}") from None
        head, body = _parsed(content, self.path)
        for name, whose in WHOSE.items():
            if head["marks"].get(name) != self.marks.get(name):
                raise CheckpointError(
                    f"checkpoint {self.path} was written {whose}. Remove it to start anew, or name another file"
                )
        with np.load(io.BytesIO(body), allow_pickle=False) as arrays:
            return int(head["rows"]), dict(arrays)

    def start(self, rows: int, sums: Mapping[str, Any]) -> None:
        """Write before anything is computed, so that a place where nothing can be written is known at once."""
        try:
            self.write(rows, sums)
        except OSError as error:
            raise CheckpointError(
                f"checkpoint {self.path} cannot be written: {error.strerror or error}. Name another place"
            ) from None

    def keep(self, rows: int, sums: Mapping[str, Any]) -> None:
        """Write if it is time to; a full disk is a warning, for what is computed is still in memory."""
        began = time.monotonic()
        if began < self._due:
            return
        try:
            self.write(rows, sums)
        except OSError as error:
            warnings.warn(
                f"checkpoint {self.path} cannot be written: {error.strerror or error}. The fit goes on, and what was "
                f"written before is kept: make room there",
                CheckpointWarning,
                stacklevel=2,
            )
        now = time.monotonic()
        self._due = now + max(EVERY, (now - began) / SHARE)

    def write(self, rows: int, sums: Mapping[str, Any]) -> None:
        """Write to a file beside it, and rename that."""
        held = io.BytesIO()
        arrays: dict[str, Any] = {name: np.asarray(value) for name, value in sums.items()}
        np.savez(held, **arrays)
        body = held.getbuffer()
        digest = hashlib.sha256(body).hexdigest()
        head = json.dumps({"is": MAGIC, "sha256": digest, "rows": rows, "marks": self.marks})
        part = self.path.with_name(f".{self.path.name}.part")
        try:
            with open(part, "wb") as file:
                file.write(head.encode() + b"\n")
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, self.path)
        finally:
            part.unlink(missing_ok=True)


def _parsed(content: bytes, path: Path) -> tuple[dict[str, Any], bytes]:
    """Return the head and the body of a file; refuse one that is no checkpoint or damaged."""
    line, _, body = content.partition(b"\n")
    try:
        head = json.loads(line)
    except ValueError:
        head = None
    if not isinstance(head, dict) or head.get("is") != MAGIC:
        raise CheckpointError(f"{path} is no checkpoint of similitude: name another file")
    if hashlib.sha256(body).hexdigest() != head.get("sha256"):
        raise CheckpointError(f"checkpoint {path} is damaged: remove it to start anew")
    return head, body
