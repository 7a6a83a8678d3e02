"""One pass over batches: partial sums added in a fixed order, and saved to a checkpoint, from which a fit resumes.

A checkpoint is a line of JSON (the number of rows done, and fingerprints of what the sums belong to), the sums as npz,
and the SHA-256 of everything before it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from similitude.compute.encodings import Encoding
from similitude.compute.engines.engine import Engine, Task, Tile
from similitude.compute.engines.progress import with_progress
from similitude.support import CheckpointError, CheckpointWarning, PairError, complete_file, remove_abandoned

MAGIC = "similitude checkpoint"

WRITE_INTERVAL = 5.0
"""Fewest seconds between two writes."""

WRITE_SHARE = 0.02
"""The largest share of the time that may be spent on writing."""

MISMATCHES = {
    "version": "by another version of similitude",
    "model": "for another model: its similarity, landmarks or coordinates differ",
    "data": "for other data: the number, type, values, labels or weights of rows differ, or the batches do",
}
"""What it means if a fingerprint differs."""


class Checkpoint:
    """Partial sums of a pass in a file, verified by its SHA-256, and by fingerprints of what they belong to."""

    def __init__(self, path: str | os.PathLike[str], fingerprints: Mapping[str, str]) -> None:
        self.path = Path(path)
        self.fingerprints = dict(fingerprints)
        self._due = time.monotonic() + WRITE_INTERVAL

    def resume(self) -> tuple[int, dict[str, np.ndarray]]:
        """Return the number of rows done and their sums; if there is no file, create one to see that it is possible."""
        found = self.read()
        if found is not None:
            return found
        try:
            self.write(0, {})
        except OSError as error:
            raise CheckpointError(
                f"checkpoint {self.path} cannot be written: {error.strerror or error}. Name another place"
            ) from None
        return 0, {}

    def read(self) -> tuple[int, dict[str, np.ndarray]] | None:
        """Return the number of rows done and their sums, or None if there is no file."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise CheckpointError(f"checkpoint {self.path} cannot be read: {error.strerror}") from None
        sealed = content[:-64]  # a SHA-256 in hexadecimal follows
        line, _, body = sealed.partition(b"\n")
        try:
            header = json.loads(line)
        except (ValueError, RecursionError):
            header = None
        if not isinstance(header, dict) or header.get("is") != MAGIC:
            raise CheckpointError(f"{self.path} is not a checkpoint of similitude: name another file")
        fingerprints = header.get("fingerprints")
        rows = header.get("rows")
        if hashlib.sha256(sealed).hexdigest().encode() != content[-64:] or not isinstance(fingerprints, dict):
            raise damaged_checkpoint(self.path)
        for name, mismatch in MISMATCHES.items():
            if fingerprints.get(name) != self.fingerprints.get(name):
                raise CheckpointError(
                    f"checkpoint {self.path} was written {mismatch}. Remove it to start again, or name another file"
                )
        try:
            with np.load(io.BytesIO(body), allow_pickle=False) as stored:
                arrays = dict(stored)
        except Exception as error:  # whatever zipfile and NumPy find in content that was sealed by hand
            raise damaged_checkpoint(self.path) from error
        if type(rows) is not int or rows < 0 or (rows > 0) != bool(arrays):
            raise damaged_checkpoint(self.path)
        return rows, arrays

    def write_if_due(self, rows: int, sums: Mapping[str, Any]) -> None:
        """Write if enough time has passed; a full disk gives a warning only, since the sums are still in memory."""
        began = time.monotonic()
        if began < self._due:
            return
        try:
            self.write(rows, sums)
        except OSError as error:
            warnings.warn(
                f"checkpoint {self.path} cannot be written: {error.strerror or error}. The fit goes on, and the "
                f"checkpoint written before is kept: make room there",
                CheckpointWarning,
                stacklevel=2,
            )
        now = time.monotonic()
        self._due = now + max(WRITE_INTERVAL, (now - began) / WRITE_SHARE)

    def write(self, rows: int, sums: Mapping[str, Any]) -> None:
        """Replace the file."""
        buffer = io.BytesIO()
        arrays: dict[str, Any] = {name: np.asarray(value) for name, value in sums.items()}
        np.savez(buffer, **arrays)
        header = json.dumps({"is": MAGIC, "rows": rows, "fingerprints": self.fingerprints}).encode() + b"\n"
        digest = hashlib.sha256(header)
        digest.update(buffer.getbuffer())
        with complete_file(Path(os.path.realpath(self.path))) as file:
            file.writelines([header, buffer.getbuffer(), digest.hexdigest().encode()])


def remove_checkpoint(path: str | os.PathLike[str] | None) -> None:
    """Remove a checkpoint when the computation is complete, and what a process killed while writing left of it."""
    if path is not None:
        Path(path).unlink(missing_ok=True)
        remove_abandoned(Path(os.path.realpath(path)).parent)


def damaged_checkpoint(path: str | os.PathLike[str]) -> CheckpointError:
    """Return the error of a file whose content cannot be what was written."""
    return CheckpointError(f"checkpoint {path} is damaged or was changed: remove it to start again")


Batched = tuple[Any, int, int]
"""What belongs to a batch, an encoding or the parts of a sum, and the first row and the end of the batch."""


def partial_sums(
    task: Task, fixed: Encoding, strips: Callable[[int], Sequence[Tile]], batches: Iterator[Batched], engine: Engine
) -> Iterator[Batched]:
    """Yield the sums of each encoded batch, computed strip by strip; `fixed` is the second argument of the task."""
    engine = engine.without_progress()

    def parts(encoding: Encoding, start: int, stop: int) -> Iterator[Any]:
        try:
            yield from engine.run(task, encoding, fixed, strips(stop - start))
        except PairError as error:
            raise error.moved(start, 0) from error.__cause__

    with closing(batches):  # type: ignore[type-var]
        for encoding, start, stop in batches:
            yield parts(encoding, start, stop), start, stop


def sum_batches(
    batches: Callable[[int], Iterator[Batched]],
    n: int,
    engine: Engine,
    read: Callable[[Mapping[str, Any]], Any],
    fingerprints: Callable[[], dict[str, str]],
) -> Any:
    """Return the sum over all batches of n rows, in their order; with a checkpoint, resume from it and update it.

    `batches` returns the sums of the batches from a row on, with the same bounds at every call; the first sum is
    modified in place. Sums have ``+=`` and ``to_arrays``; `read` makes one from the arrays of a checkpoint.
    `fingerprints` is called only if there is a checkpoint.
    """
    checkpoint = None
    start = 0
    total: Any = None
    if engine.checkpoint is not None:
        checkpoint = Checkpoint(engine.checkpoint, fingerprints())
        start, arrays = checkpoint.resume()
        try:
            total = read(arrays) if arrays else None
        except (TypeError, ValueError, AttributeError) as error:
            raise damaged_checkpoint(checkpoint.path) from error
        if start > n:
            raise damaged_checkpoint(checkpoint.path)
    is_resumed = total is not None
    with closing(batches(start)) as summed:  # type: ignore[type-var]
        for parts, begin, end in with_progress(summed, engine.progress, n, _n_rows, start, "rows"):
            for part in parts:
                # a checkpoint that ends within a batch, or whose sums have other shapes than the next ones
                if is_resumed and (begin != start or _shapes(part) != _shapes(total)):
                    raise damaged_checkpoint(engine.checkpoint)
                is_resumed = False
                if total is None:
                    total = part
                else:
                    total += part
            if checkpoint is not None:
                checkpoint.write_if_due(end, total.to_arrays())
    return total


def _shapes(sums: Any) -> dict[str, tuple[int, ...]]:
    return {name: np.shape(array) for name, array in sums.to_arrays().items()}


def _n_rows(batch: Batched) -> int:
    _, start, stop = batch
    return stop - start
