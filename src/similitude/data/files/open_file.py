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
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from similitude.data.files.file_errors import did_you_mean, errors_in_file, import_optional, listed
from similitude.data.files.folders import folder_format
from similitude.data.files.schema import OpenFile, Request
from similitude.data.files.text_files import USUAL, as_utf8, unmarked_utf16, with_head
from similitude.support import FileError, FileTooLargeError

ZIP = b"PK\x03\x04"

ENDINGS = {
    ".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".pq": "parquet",
    ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow", ".fasta": "fasta", ".fa": "fasta", ".fna": "fasta",
    ".faa": "fasta", ".npz": "npz", ".ts": "ts", ".xlsx": "xlsx", ".xlsm": "xlsx", ".svmlight": "svmlight",
    ".libsvm": "svmlight", ".svm": "svmlight", ".graphml": "graphml",
}  # fmt: skip
"""The formats of files by their endings; those of folders are tu, texts, images and graphs."""

FORMAT_NAMES = {
    "csv": "CSV", "tsv": "TSV", "jsonl": "JSON Lines", "parquet": "Parquet", "arrow": "Arrow", "fasta": "FASTA",
    "npz": "npz", "ts": "a .ts file of series", "xlsx": "an Excel workbook", "svmlight": "svmlight",
    "graphml": "GraphML",
}  # fmt: skip

MEMORY = {
    "csv": 7, "tsv": 7, "jsonl": 8, "parquet": 6, "arrow": 4, "fasta": 3, "npz": 2, "ts": 3, "tu": 10, "xlsx": 40,
    "svmlight": 12, "graphml": 20, "texts": 3, "images": 1, "graphs": 20,
}  # fmt: skip
"""How many times its uncompressed size reading a file takes in memory."""

TABULAR = ("csv", "tsv", "jsonl", "parquet", "arrow", "xlsx")
"""Formats with columns."""

SAVED_OTHERWISE = {
    ".xls": "save it as .xlsx or CSV", ".xlsb": "save it as .xlsx or CSV", ".ods": "save it as .xlsx or CSV",
    ".dta": "write it as CSV or Parquet", ".rds": "write it as CSV or Parquet",
    ".pkl": "write it as Parquet: a pickle is never loaded", ".npy": "write it as npz, with np.savez",
    ".fastq": "convert it to FASTA", ".fq": "convert it to FASTA", ".bz2": "decompress it, or use gzip",
    ".xz": "decompress it, or use gzip", ".zst": "decompress it, or use gzip", ".7z": "decompress it, or use gzip",
}  # fmt: skip
"""Endings of formats that are not read, and what to do."""


@contextmanager
def open_file(source: str | os.PathLike[str], request: Request = Request()) -> Iterator[OpenFile]:  # noqa: B008
    """Open a file or folder for reading; errors raised in the context name it."""
    path = Path(source)
    is_stdin = os.fspath(source) == "-"
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
            raw: Any = stack.enter_context(open(path, "rb"))
            mode = os.fstat(raw.fileno()).st_mode
        elif sys.stdin is None:
            raise FileError("it is closed")
        else:
            raw = sys.stdin.buffer
            mode = 0
        if stat.S_ISCHR(mode) and not raw.isatty():
            raise FileError("it is a device, which may never end: name a file or a folder")
        if not stat.S_ISREG(mode):  # a pipe can be read only once
            copy = stack.enter_context(tempfile.TemporaryFile())
            shutil.copyfileobj(raw, copy)
            raw = copy
        file = _decompressed(raw, name, path, stack)
        if file.format in ("csv", "tsv", "jsonl", "fasta", "ts", "svmlight"):
            file = _decoded(file, request, stack)
        yield file


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
    is_compressed = raw.read(2) == b"\x1f\x8b"
    size = raw.seek(0, io.SEEK_END)
    if size == 0:
        raise FileError("the file is empty")
    if path.suffix == ".gz" and not is_compressed:
        raise FileError("its name ends in .gz but it is not gzipped: rename it")
    raw.seek(0)
    stream: Any = raw
    if is_compressed:
        stream = stack.enter_context(gzip.GzipFile(fileobj=raw))
    ending = Path(path.name.removesuffix(".gz")).suffix.lower()
    if ending in ENDINGS:
        return OpenFile(ENDINGS[ending], stream, size, path)
    format = _format_by_content(stream)
    return OpenFile(format, stream, size, path, (f"{name} read as {FORMAT_NAMES[format]}, by its content",))


def _decoded(file: OpenFile, request: Request, stack: ExitStack) -> OpenFile:
    """Return a text file as UTF-8, with what its beginning says of its columns."""
    start = file.stream.read(len(ZIP))
    file.stream.seek(0)
    if start == ZIP:
        raise FileError("a zip file, or an Excel workbook: unzip it, or rename it to .xlsx")
    stream, note = as_utf8(file.stream, request.encoding, stack)
    if stream is not file.stream:
        file = replace(file, stream=stream, size=stream.seek(0, io.SEEK_END))
        stream.seek(0)
    if note:
        file = replace(file, notes=(*file.notes, note))
    if file.format in USUAL:
        file = with_head(file, request.separator)
    return file


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
    text = start.removeprefix(b"\xef\xbb\xbf")
    uncommented = re.sub(rb"\A(\s*([;#%][^\n]*)?\n)+", b"", text).lstrip()
    text = text.lstrip()
    if uncommented.startswith((b">", b"@")):  # FASTA and .ts files may begin with comments
        text = uncommented
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


def check_memory(file: OpenFile) -> None:
    """Raise if a file does not fit into memory, before it is read."""
    import psutil  # type: ignore[import-untyped]

    free = int(psutil.virtual_memory().available)
    factor = MEMORY[file.format]
    needed = _uncompressed_size(file, free // factor) * factor
    if needed > free:
        kind = FileError
        if file.path.is_file() and file.format in ("csv", "tsv", "jsonl", "parquet", "arrow", "fasta"):
            kind = FileTooLargeError  # it can be read in batches
        about = "about"
        if isinstance(file.stream, gzip.GzipFile):
            about = "more than"
        raise kind(
            f"reading it takes {about} {needed / 2**30:.1f} GiB of memory and {free / 2**30:.1f} GiB is free: take a "
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
            content: Any = file.stream
            if file.format == "tu":
                content = file.path
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
