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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from similitude.compute.encodings import Encoding
from similitude.compute.engines.engine import Engine, Task, Tile
from similitude.compute.engines.progress import with_progress
from similitude.support import CheckpointError, CheckpointWarning, PairError, complete_file, remove_abandoned

MAGIC = "similitude checkpoint"

DIGEST_LENGTH = 64
"""Bytes of a SHA-256 in hexadecimal."""

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
    """Partial sums of a pass in a file, which is replaced atomically and verified by its SHA-256.

    The fingerprints ``version``, ``model`` and ``data`` tell what the sums belong to: a file with others is refused.
    """

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
        header, body = _parsed(content, self.path)
        fingerprints = header.get("fingerprints")
        rows = header.get("rows")
        if not isinstance(fingerprints, dict):
            raise damaged_checkpoint(self.path)
        for name, mismatch in MISMATCHES.items():
            if fingerprints.get(name) != self.fingerprints.get(name):
                raise CheckpointError(
                    f"checkpoint {self.path} was written {mismatch}. Remove it to start again, or name another file"
                )
        arrays = self._arrays(body)
        if type(rows) is not int or rows < 0 or (rows > 0) != bool(arrays):
            raise damaged_checkpoint(self.path)
        return rows, arrays

    def _arrays(self, body: bytes) -> dict[str, np.ndarray]:
        try:
            with np.load(io.BytesIO(body), allow_pickle=False) as arrays:
                return dict(arrays)
        except Exception as error:  # whatever zipfile and NumPy find in content that was sealed by hand
            raise damaged_checkpoint(self.path) from error

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


def _parsed(content: bytes, path: Path) -> tuple[dict[str, Any], bytes]:
    """Return the header and the body of a file; raise if it is damaged or not a checkpoint."""
    line, _, body = content[:-DIGEST_LENGTH].partition(b"\n")
    try:
        header = json.loads(line)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or header.get("is") != MAGIC:
        raise CheckpointError(f"{path} is not a checkpoint of similitude: name another file")
    if hashlib.sha256(content[:-DIGEST_LENGTH]).hexdigest().encode() != content[-DIGEST_LENGTH:]:
        raise damaged_checkpoint(path)
    return header, body


def damaged_checkpoint(path: str | os.PathLike[str]) -> CheckpointError:
    """Return the error of a file whose content cannot be what was written."""
    return CheckpointError(f"checkpoint {path} is damaged or was changed: remove it to start again")


@dataclass(frozen=True)
class EncodedBatch:
    """An encoded batch, and its rows in the whole data set."""

    encoding: Encoding
    start: int
    stop: int


@dataclass(frozen=True)
class PartialSums:
    """The sums of a batch, in one or several parts, and its rows in the whole data set."""

    parts: Iterable[Any]
    start: int
    stop: int


def partial_sums(
    task: Task,
    fixed: Encoding,
    strips: Callable[[int], Sequence[Tile]],
    batches: Iterator[EncodedBatch],
    engine: Engine,
) -> Iterator[PartialSums]:
    """Yield the sums of each batch, which the engine computes strip by strip.

    The task returns the sums of the encoded rows of one strip; `fixed` is its second argument, which is never sliced,
    and `strips` returns the tiles for a number of rows.
    """
    engine = engine.without_progress()

    def parts(batch: EncodedBatch) -> Iterator[Any]:
        try:
            yield from engine.run(task, batch.encoding, fixed, strips(batch.stop - batch.start))
        except PairError as error:
            raise error.moved(batch.start, 0) from error.__cause__

    with closing(batches):  # type: ignore[type-var]
        for batch in batches:
            yield PartialSums(parts(batch), batch.start, batch.stop)


def sum_batches(
    batches: Callable[[int], Iterator[PartialSums]],
    n: int,
    engine: Engine,
    read: Callable[[Mapping[str, Any]], Any],
    fingerprints: Callable[[], dict[str, str]],
) -> Any:
    """Return the sum over all batches of n rows, in their order; with a checkpoint, resume from it and update it.

    `batches` returns the sums of the batches from a row on, with the same bounds at every call; the first sum is
    modified in place. Sums have ``+=`` and ``to_arrays``; `read` makes one from the arrays of a checkpoint.
    `fingerprints` returns what identifies the sums (see `Checkpoint`), and is called only if there is a checkpoint.
    """
    checkpoint = None if engine.checkpoint is None else Checkpoint(engine.checkpoint, fingerprints())
    start, resumed = (0, None) if checkpoint is None else _resumed(checkpoint, n, read)
    total: Any = resumed
    with closing(batches(start)) as summed:  # type: ignore[type-var]
        for batch in with_progress(summed, engine.progress, n, _n_rows, start, "rows"):
            for part in batch.parts:
                if resumed is not None:
                    _check_continues(engine.checkpoint, start, resumed, batch.start, part)
                    resumed = None
                if total is None:
                    total = part
                else:
                    total += part
            if checkpoint is not None:
                checkpoint.write_if_due(batch.stop, total.to_arrays())
    return total


def _resumed(checkpoint: Checkpoint, n: int, read: Callable[[Mapping[str, Any]], Any]) -> tuple[int, Any]:
    """Return the number of rows that are done, at most n, and their sums."""
    start, arrays = checkpoint.resume()
    if not arrays:
        return 0, None
    try:
        total = read(arrays)
    except (TypeError, ValueError, AttributeError) as error:
        raise damaged_checkpoint(checkpoint.path) from error
    if start > n:
        raise damaged_checkpoint(checkpoint.path)
    return start, total


def _check_continues(path: Any, start: int, total: Any, next_start: int, part: Any) -> None:
    """Refuse a checkpoint that ends within a batch, or whose sums have other shapes than the next ones."""
    if next_start != start or _shapes(part) != _shapes(total):
        raise damaged_checkpoint(path)


def _shapes(sums: Any) -> dict[str, tuple[int, ...]]:
    return {name: np.shape(array) for name, array in sums.to_arrays().items()}


def _n_rows(batch: PartialSums) -> int:
    return batch.stop - batch.start
