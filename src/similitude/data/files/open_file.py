"""The file formats, and opening a file: format by name or content, gzip, standard input, memory needed."""

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
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from similitude.data.files.file_errors import did_you_mean, errors_in_file, import_optional, listed
from similitude.data.files.folders import folder_format
from similitude.data.files.schema import Request
from similitude.data.files.text_files import USUAL, Head, as_utf8, head_of, unmarked_utf16
from similitude.support import FileError, FileTooLargeError

STANDARD_INPUT = "-"
ZIP = b"PK\x03\x04"
GZIP = b"\x1f\x8b"


class Format(NamedTuple):
    """The name of a format, its file endings, and how many times its uncompressed size reading it takes in memory."""

    name: str
    endings: tuple[str, ...]
    memory: int


FILE_FORMATS = {
    "csv": Format("CSV", (".csv",), 7),
    "tsv": Format("TSV", (".tsv",), 7),
    "jsonl": Format("JSON Lines", (".jsonl", ".ndjson"), 8),
    "parquet": Format("Parquet", (".parquet", ".pq"), 6),
    "arrow": Format("Arrow", (".arrow", ".feather", ".ipc"), 4),
    "fasta": Format("FASTA", (".fasta", ".fa", ".fna", ".faa"), 3),
    "npz": Format("npz", (".npz",), 2),
    "ts": Format("a .ts file of series", (".ts",), 3),
    "tu": Format("a TU folder of graphs", (), 10),
    "xlsx": Format("an Excel workbook", (".xlsx", ".xlsm"), 40),
    "svmlight": Format("svmlight", (".svmlight", ".libsvm", ".svm"), 12),
    "graphml": Format("GraphML", (".graphml",), 20),
    "texts": Format("a folder of texts", (), 3),
    "images": Format("a folder of images", (), 1),
    "graphs": Format("a folder of GraphML files", (), 20),
}

TABULAR = ("csv", "tsv", "jsonl", "parquet", "arrow", "xlsx")
"""Formats with columns."""

TEXT_FORMATS = ("csv", "tsv", "jsonl", "fasta", "ts", "svmlight")
"""Formats that are text in some encoding."""

SAVED_OTHERWISE = {
    ".xls": "save it as .xlsx or CSV", ".xlsb": "save it as .xlsx or CSV", ".ods": "save it as .xlsx or CSV",
    ".dta": "write it as CSV or Parquet", ".rds": "write it as CSV or Parquet",
    ".pkl": "write it as Parquet: a pickle is never loaded", ".npy": "write it as npz, with np.savez",
    ".fastq": "convert it to FASTA", ".fq": "convert it to FASTA", ".bz2": "decompress it, or use gzip",
    ".xz": "decompress it, or use gzip", ".zst": "decompress it, or use gzip", ".7z": "decompress it, or use gzip",
}  # fmt: skip
"""Endings of formats that are not read, and what to do."""

READ_WHOLE = ("npz", "ts", "tu", "xlsx", "svmlight", "graphml", "texts", "images", "graphs")
"""Formats that are read as a whole even if batches are requested."""

ENDINGS = {ending: format for format, known in FILE_FORMATS.items() for ending in known.endings}


@dataclass(frozen=True)
class OpenFile:
    """An open file."""

    format: str  # a key of FILE_FORMATS
    stream: BinaryIO  # the decompressed content; empty for a folder
    size: int  # in bytes, as it is stored
    path: Path
    notes: tuple[str, ...] = ()  # on what was inferred
    head: Head | None = None  # of text files with columns


@contextmanager
def open_file(source: str | os.PathLike[str], request: Request = Request()) -> Iterator[OpenFile]:  # noqa: B008
    """Open a file or folder for reading; errors raised in the context name it."""
    path = Path(source)
    is_stdin = os.fspath(source) == STANDARD_INPUT
    name = "standard input" if is_stdin else str(path)
    with errors_in_file(name), ExitStack() as stack:
        if not is_stdin:
            if not path.exists():
                raise _no_such_file(path)
            if path.is_dir():
                format, size = folder_format(path)
                yield OpenFile(format, io.BytesIO(), size, path)
                return
            if path.suffix == ".zip":
                yield OpenFile("tu", io.BytesIO(), path.stat().st_size, path)
                return
            if path.suffix.lower() in SAVED_OTHERWISE:
                raise FileError(f"{path.suffix} files are not read: {SAVED_OTHERWISE[path.suffix.lower()]}")
        elif sys.stdin is None:
            raise FileError("it is closed")
        raw: Any = sys.stdin.buffer if is_stdin else stack.enter_context(open(path, "rb"))
        mode = 0 if is_stdin else os.fstat(raw.fileno()).st_mode
        if stat.S_ISCHR(mode) and not raw.isatty():
            raise FileError("it is a device, which may never end: name a file or a folder")
        if not stat.S_ISREG(mode):  # a pipe can be read only once
            copy = stack.enter_context(tempfile.TemporaryFile())
            shutil.copyfileobj(raw, copy)
            raw = copy
        yield _decoded(_decompressed(raw, name, path, stack), request, stack)


def _no_such_file(path: Path) -> FileError:
    if not path.parent.is_dir():
        return FileError(f"there is no such file, and no folder {str(path.parent)!r}")
    book, mark, sheet = path.name.rpartition("#")
    if mark and (path.parent / book).is_file():
        return FileError(f"there is no such file: name a sheet of {book!r} with sheet={sheet!r}")
    names = sorted(one.name for one in path.parent.iterdir())
    return FileError(f"there is no such file{did_you_mean(path.name, names)}")


def _decompressed(raw: BinaryIO, name: str, path: Path, stack: ExitStack) -> OpenFile:
    raw.seek(0)
    is_compressed = raw.read(2) == GZIP
    size = raw.seek(0, io.SEEK_END)
    if size == 0:
        raise FileError("the file is empty")
    if path.suffix == ".gz" and not is_compressed:
        raise FileError("its name ends in .gz but it is not gzipped: rename it")
    raw.seek(0)
    stream: Any = stack.enter_context(gzip.GzipFile(fileobj=raw)) if is_compressed else raw
    ending = (Path(path.stem) if path.suffix == ".gz" else path).suffix.lower()
    if ending in ENDINGS:
        return OpenFile(ENDINGS[ending], stream, size, path)
    format = _format_by_content(stream)
    return OpenFile(format, stream, size, path, (f"{name} read as {FILE_FORMATS[format].name}, by its content",))


def _decoded(file: OpenFile, request: Request, stack: ExitStack) -> OpenFile:
    """Return a text file as UTF-8, with the separator of its cells; a file of another format as it is."""
    if file.format not in TEXT_FORMATS:
        return file
    start = file.stream.read(len(ZIP))
    file.stream.seek(0)
    if start == ZIP:
        raise FileError("a zip file, or an Excel workbook: unzip it, or rename it to .xlsx")
    stream, note = as_utf8(file.stream, request.encoding, stack)
    notes = [*file.notes, note] if note else list(file.notes)
    size = file.size
    if stream is not file.stream:
        size = stream.seek(0, io.SEEK_END)
        stream.seek(0)
    head = None
    if file.format in USUAL:
        head, found = head_of(stream, file.format, request.separator)
        notes += found
    return replace(file, stream=stream, size=size, head=head, notes=tuple(notes))


def _format_by_content(stream: BinaryIO) -> str:
    start = stream.read(4096)
    stream.seek(0)
    if start.startswith(ZIP) and (b"[Content_Types].xml" in start or b"xl/" in start):
        return "xlsx"
    for magic, format in ((b"PAR1", "parquet"), (b"ARROW1", "arrow"), (ZIP, "npz")):
        if start.startswith(magic):
            return format
    if not start:
        raise FileError("the file is empty")
    text = _without_comments(start.removeprefix(b"\xef\xbb\xbf"))
    for mark, format in ((b">", "fasta"), (b"{", "jsonl"), (b"@", "ts")):
        if text.startswith(mark):
            return format
    if text.startswith(b"<") and b"<graphml" in text:
        return "graphml"
    if re.match(rb"(#[^\n]*\n)*[-+0-9.eE]+([ \t]+[0-9]+:[-+0-9.eE]+)+[ \t]*(#|\r?\n|\Z)", text):
        return "svmlight"
    if text.startswith(b"["):
        raise FileError("a JSON list: write one object per line (JSON Lines), for instance with jq -c '.[]'")
    if b"\0" in start and not start.startswith((b"\xff\xfe", b"\xfe\xff")) and not unmarked_utf16(stream):
        known = listed(ENDINGS, most=20)
        raise FileError(f"neither its ending nor its content is of a known format: {known}, or a TU folder")
    first = text.split(b"\n")[0]
    return "tsv" if b"\t" in first and b"," not in first else "csv"


def _without_comments(text: bytes) -> bytes:
    """Remove the comments with which FASTA and .ts files may begin."""
    uncommented = re.sub(rb"\A(\s*([;#%][^\n]*)?\n)+", b"", text).lstrip()
    return uncommented if uncommented.startswith((b">", b"@")) else text.lstrip()


def check_memory(file: OpenFile) -> None:
    """Raise if a file does not fit into memory, before it is read."""
    import psutil  # type: ignore[import-untyped]

    free = int(psutil.virtual_memory().available)
    factor = FILE_FORMATS[file.format].memory
    is_gzipped = isinstance(file.stream, gzip.GzipFile)
    needed = _uncompressed_size(file, free // factor) * factor
    if needed > free:
        can_be_read_again = file.format not in READ_WHOLE and file.path.is_file()
        raise (FileTooLargeError if can_be_read_again else FileError)(
            f"reading it takes {'more than' if is_gzipped else 'about'} {needed / 2**30:.1f} GiB of memory and "
            f"{free / 2**30:.1f} GiB is free: take a "
            f"sample of its rows (head -n, shuf -n), leave columns out, or read it in batches where the task allows it"
        )


def _uncompressed_size(file: OpenFile, most: int) -> int:
    """Return the size of the values of a file, of a gzipped one up to `most` + 1: it is decompressed to count them."""
    size = file.size
    try:
        if isinstance(file.stream, gzip.GzipFile) and size * 1032 > most:  # gzip makes files no shorter than that
            size = 0
            while size <= most and (piece := file.stream.read(1 << 20)):
                size += len(piece)
            size = min(size, most + 1)
            file.stream.seek(0)
        if size > most:
            return size
        if file.format in ("npz", "xlsx") or (file.format == "tu" and file.path.is_file()):
            content = file.path if file.format == "tu" else file.stream
            return sum(part.file_size for part in zipfile.ZipFile(content).infolist())
        if file.format == "parquet":
            metadata = import_optional("pyarrow.parquet", "a Parquet file").ParquetFile(file.stream).metadata
            stored = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
            return int(max(stored, 8 * metadata.num_rows * metadata.num_columns))
    except (ValueError, OSError, NotImplementedError, zipfile.BadZipFile):
        pass  # damaged: reading it says how
    finally:
        file.stream.seek(0)
    return size
