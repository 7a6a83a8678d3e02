"""Opening a file: its format by name or by content, gzip, standard input, and whether memory will do."""

from __future__ import annotations

import gzip
import io
import os
import re
import shutil
import stat
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from similitude.data.files.problems import about, listed, near, needed
from similitude.support.errors import FileError

STANDARD_INPUT = "-"
GZIP = b"\x1f\x8b"

ENDINGS = {
    ".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".pq": "parquet",
    ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow", ".fasta": "fasta", ".fa": "fasta", ".fna": "fasta",
    ".faa": "fasta", ".npz": "npz", ".ts": "ts",
}  # fmt: skip
"""Which format an ending stands for."""

NAMES = {
    "csv": "CSV", "tsv": "TSV", "jsonl": "JSON Lines", "parquet": "Parquet", "arrow": "Arrow", "fasta": "FASTA",
    "npz": "npz", "ts": "a .ts file of series", "tu": "a TU folder of graphs",
}  # fmt: skip
"""What a format is called."""


@dataclass(frozen=True)
class Opened:
    """An open file: its name, format, decompressed bytes (none of a folder), and about how many of them there are."""

    name: str
    format: str
    stream: BinaryIO
    size: int
    path: Path
    said: tuple[str, ...] = ()


@contextmanager
def opened(source: str | os.PathLike[str]) -> Iterator[Opened]:
    """Open a file or folder for reading; refuse one that is not there."""
    if os.fspath(source) == STANDARD_INPUT:
        with tempfile.TemporaryFile() as copy, about("standard input"):
            shutil.copyfileobj(sys.stdin.buffer, copy)
            with _unpacked(copy, "standard input", Path(STANDARD_INPUT)) as file:
                yield file
        return
    path = Path(source)
    _demand_there(path)
    if path.is_dir() or path.suffix == ".zip":
        with about(str(path)):
            yield Opened(str(path), "tu", io.BytesIO(), _size_of_folder(path), path)
        return
    with about(str(path)), open(path, "rb") as raw:
        if stat.S_ISREG(os.fstat(raw.fileno()).st_mode):
            with _unpacked(raw, str(path), path) as file:
                yield file
        else:  # a pipe has no second look at its bytes
            with tempfile.TemporaryFile() as copy:
                shutil.copyfileobj(raw, copy)
                with _unpacked(copy, str(path), path) as file:
                    yield file


def _demand_there(path: Path) -> None:
    if path.exists():
        return
    folder = path.parent
    if not folder.is_dir():
        raise FileError(f"{path}: there is no such file, and no folder {str(folder)!r}")
    names = sorted(one.name for one in folder.iterdir())
    raise FileError(f"{path}: there is no such file{near(path.name, names)}")


def _size_of_folder(path: Path) -> int:
    return path.stat().st_size * 5 if path.is_file() else sum(one.stat().st_size for one in path.glob("*.txt"))


@contextmanager
def _unpacked(raw: BinaryIO, name: str, path: Path) -> Iterator[Opened]:
    """Undo gzip and find the format."""
    raw.seek(0)
    packed = raw.read(2) == GZIP
    size = raw.seek(0, io.SEEK_END)
    if size == 0:
        raise FileError("the file is empty")
    if path.suffix == ".gz" and not packed:
        raise FileError("its name ends in .gz but it is not gzipped: rename it")
    if packed:  # gzip ends with the size of what it holds
        raw.seek(-4, io.SEEK_END)
        size = max(size, int.from_bytes(raw.read(4), "little"))
    raw.seek(0)
    bare = Path(path.stem) if path.suffix == ".gz" else path
    format = ENDINGS.get(bare.suffix.lower())
    if not packed:
        yield _with_format(Opened(name, format or "", raw, size, path))
        return
    with gzip.GzipFile(fileobj=raw) as stream:
        yield _with_format(Opened(name, format or "", stream, size, path))  # type: ignore[arg-type]


def _with_format(file: Opened) -> Opened:
    """Look at the content where the name does not say what it is."""
    if file.format:
        return file
    start = file.stream.read(4096)
    file.stream.seek(0)
    format = _sniffed(start)
    said = (f"{file.name} read as {NAMES[format]}, by its content",)
    return Opened(file.name, format, file.stream, file.size, file.path, said)


def _sniffed(start: bytes) -> str:
    for magic, format in ((b"PAR1", "parquet"), (b"ARROW1", "arrow"), (b"PK\x03\x04", "npz")):
        if start.startswith(magic):
            return format
    if not start:
        raise FileError("the file is empty")
    text = _without_comments(start.removeprefix(b"\xef\xbb\xbf"))
    for mark, format in ((b">", "fasta"), (b"{", "jsonl"), (b"@", "ts")):
        if text.startswith(mark):
            return format
    if text.startswith(b"["):
        raise FileError("a JSON list: write one object per line (JSON Lines), for instance with jq -c '.[]'")
    if b"\0" in start and not start.startswith((b"\xff\xfe", b"\xfe\xff")):
        known = listed(dict.fromkeys(ENDINGS), most=20)
        raise FileError(f"neither its ending nor its content is one that can be read: {known}, or a TU folder")
    first = text.split(b"\n")[0]
    return "tsv" if b"\t" in first and b"," not in first else "csv"


def _without_comments(text: bytes) -> bytes:
    """Leave out the comments that FASTA and .ts files may begin with."""
    uncommented = re.sub(rb"\A(\s*([;#%][^\n]*)?\n)+", b"", text).lstrip()
    return uncommented if uncommented.startswith((b">", b"@")) else text.lstrip()


READING_TAKES = {"csv": 7, "tsv": 7, "jsonl": 8, "parquet": 6, "arrow": 4, "fasta": 3, "npz": 2, "ts": 3, "tu": 10}
"""How many times its unpacked bytes a file takes in memory while it is read whole."""


READ_WHOLE = ("npz", "ts", "tu")
"""Formats that are read whole even where batches are asked for."""


def needs_batches(source: str | os.PathLike[str]) -> bool:
    """Tell whether a file does not fit into memory but can be read in batches, again and again."""
    if os.fspath(source) == STANDARD_INPUT or not os.path.isfile(source):
        return False
    with opened(source) as file:
        needs, free = _memory(file)
        return needs > free and file.format not in READ_WHOLE


def _memory(file: Opened) -> tuple[int, int]:
    """Return how many bytes it takes to read a file whole, and how many are free."""
    import psutil  # type: ignore[import-untyped]

    return _unpacked_size(file) * READING_TAKES[file.format], int(psutil.virtual_memory().available)


def check_memory(file: Opened) -> None:
    """Refuse a file that will not fit into memory, before reading it."""
    needs, free = _memory(file)
    if needs > free:
        raise FileError(
            f"reading it takes about {_gib(needs)} of memory and {_gib(free)} is free: take a sample of its rows (head "
            f"-n, shuf -n), leave columns out, or read it in batches where the task allows it"
        )


def _unpacked_size(file: Opened) -> int:
    """Return how many bytes the values of a file take; npz and Parquet are packed inside."""
    try:
        if file.format == "npz":
            return sum(part.file_size for part in zipfile.ZipFile(file.stream).infolist())
        if file.format == "parquet":
            metadata = needed("pyarrow.parquet", "a Parquet file").ParquetFile(file.stream).metadata
            packed = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
            return int(max(packed, 8 * metadata.num_rows * metadata.num_columns))
    except (ValueError, OSError, NotImplementedError, zipfile.BadZipFile):
        pass  # damaged: reading it says how
    finally:
        file.stream.seek(0)
    return file.size


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"
