"""Page headers of Parquet files, checked before pyarrow makes room for what they announce.

A column of a row group is a chunk of pages. Each page begins with a header, in the compact protocol of Thrift, that
announces its size. pyarrow allocates that much before it looks at the page, so that a few damaged bytes of a small file
could take gigabytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from similitude.data.sources.thrift_compact import ThriftReader
from similitude.support import FileError

HARMLESS_PAGE = 1 << 24
"""Bytes that a page may announce in any case: what does no harm is left to pyarrow."""

LARGEST_RATIO = {0: 1, 1: 22, 2: 1032, 5: 255, 6: 1 << 15, 7: 255}
"""How many times as long as its compressed form a page can be at most, by the number of its codec.

These are none, Snappy, gzip, LZ4, Zstandard, and LZ4 again. Snappy copies 64 bytes by three, deflate 258 by two
bits, LZ4 255 by one byte, and Zstandard repeats a byte 2^17 times by four. Brotli, the only other codec that pyarrow
reads, has no limit that would matter.
"""

HEADER_BYTES, LONGEST_HEADER = 256, 1 << 24
"""Bytes that are taken of a header at first, and at most: pyarrow reads no longer ones."""

BYTES_AT_ONCE = 1 << 13
"""Bytes that are read at once: those of several headers, if pages are small."""

KIND, UNCOMPRESSED_SIZE, COMPRESSED_SIZE = 1, 2, 3
"""Fields of a header by their numbers."""

DICTIONARY = 2
DETAILS = {0: 5, DICTIONARY: 7, 3: 8}
"""The field of a header with more about it, by the kind of page: of data, a dictionary, of data in version 2."""

N_VALUES = 1
"""The field of these details that counts values."""

ROW_GROUPS, CHUNKS, GROUP_ROWS, CHUNK = 4, 1, 3, 3
"""Fields of the footer, of a row group in it (two), and of a column of that."""

PATH, CODEC, CHUNK_VALUES, CHUNK_UNCOMPRESSED, CHUNK_COMPRESSED, DATA_OFFSET, DICTIONARY_OFFSET = 3, 4, 5, 6, 7, 9, 11
"""Fields of what the footer says about a column chunk."""

FOOTER_TIMES = 10
"""How many times as large as the footer what pyarrow makes of it is in memory."""

FOOTER_END = 8
"""Bytes after the footer: its length in four bytes, and four letters."""


class Chunk(NamedTuple):
    """A column of a row group."""

    name: str
    codec: int
    n_values: int
    uncompressed: int
    begin: int
    end: int


class Page(NamedTuple):
    """What the header of a page announces."""

    begin: int  # the byte of the file with which it begins, after its header
    kind: int
    uncompressed: int
    compressed: int
    n_values: int


class Needs(NamedTuple):
    """What reading a Parquet file takes: bytes that are held however few rows are read, and bytes of a row on average.

    The average is that of the row group with the longest rows.
    """

    held: int
    row: float


def check_pages(file: Any, row_groups: Sequence[int] | None = None, columns: Sequence[str] | None = None) -> Needs:
    """Raise a `FileError` if a page of an open Parquet file announces more than it can hold.

    Only the footer and the headers of pages are read, of the row groups and columns that are given. The footer is read
    here because pyarrow ends the process when it is asked for the metadata of some damaged columns.

    Returns
    -------
    Needs
        About how much memory reading takes. Held are what the footer says, and of each column of a row group its
        dictionary and a page.
    """
    size = file.seek(0, 2)
    length, window = _footer_length(file, size), _Window(file)
    wanted = None if row_groups is None else set(row_groups)
    names = None if columns is None else _Names(columns)
    held, row = 0, 0.0
    for number, (n_rows, group) in enumerate(_groups(file, size, length)):
        if wanted is None or number in wanted:
            chosen = [one for one in group if names is None or one.name in names]
            held = max(held, sum(_checked(window, one, size) for one in chosen))
            row = max(row, sum(one.uncompressed for one in chosen) / max(1, n_rows))
    return Needs(held + FOOTER_TIMES * length, row)


class _Names(set[str]):
    """The names of columns, which also hold those of their parts."""

    def __contains__(self, name: object) -> bool:
        parts = str(name).split(".")
        return any(super(_Names, self).__contains__(".".join(parts[:n])) for n in range(1, len(parts) + 1))


class _Window:
    """Reads parts of a file that often are near each other."""

    def __init__(self, file: Any) -> None:
        self.file, self.begin, self.data = file, 0, b""

    def read(self, begin: int, length: int) -> bytes:
        """Return the bytes from one on, fewer at the end of the file."""
        at = begin - self.begin
        if at < 0 or at + length > len(self.data):
            self.file.seek(begin)
            self.begin, self.data, at = begin, self.file.read(max(length, BYTES_AT_ONCE)), 0
        return self.data[at : at + length]


def _checked(file: _Window, chunk: Chunk, size: int) -> int:
    """Check the pages of a column chunk; return how many bytes are held while it is read."""
    dictionary = largest = 0
    for page in _pages(file, chunk, size):
        if problem := _problem(page, chunk, size):
            raise _damaged(chunk, page.begin, problem)
        if page.kind == DICTIONARY:
            dictionary = page.uncompressed
        else:
            largest = max(largest, page.uncompressed)
    return 2 * dictionary + largest  # a dictionary as it is stored, and decoded


def _problem(page: Page, chunk: Chunk, size: int) -> str:
    """Return what a page announces that the file, its column or its codec cannot hold; nothing if all is well."""
    room = min(chunk.uncompressed, page.compressed * LARGEST_RATIO.get(chunk.codec, chunk.uncompressed))
    if page.begin + page.compressed > size:
        return f"announces {page.compressed:,} bytes where the file has {size - page.begin:,}"
    if page.uncompressed > max(room, HARMLESS_PAGE):
        return f"announces {page.uncompressed:,} bytes and has at most {room:,}"
    if page.kind == DICTIONARY and page.n_values > page.uncompressed:
        return f"announces {page.n_values:,} values in {page.uncompressed:,} bytes"
    return ""


def _footer_length(file: Any, size: int) -> int:
    file.seek(size - FOOTER_END)
    return int.from_bytes(file.read(4), "little")


def _groups(file: Any, size: int, length: int) -> Iterator[tuple[int, list[Chunk]]]:
    """Yield the number of rows and the columns of each row group, by the footer."""
    file.seek(size - FOOTER_END - length)
    try:
        for group in ThriftReader(file.read(length)).listed(ROW_GROUPS):
            yield group[GROUP_ROWS] + 0, [_chunk(column[CHUNK]) for column in group[CHUNKS]]
    except (ValueError, LookupError, TypeError, AttributeError):
        raise FileError("the footer is damaged: copy, download or write the file again") from None


def _chunk(fields: dict[int, Any]) -> Chunk:
    begin, dictionary = fields[DATA_OFFSET], fields.get(DICTIONARY_OFFSET, 0)
    begin = dictionary if 0 < dictionary < begin else begin
    name = b".".join(fields[PATH]).decode()
    codec, n_values, uncompressed = (fields[one] + 0 for one in (CODEC, CHUNK_VALUES, CHUNK_UNCOMPRESSED))  # numbers
    return Chunk(name, codec, n_values, uncompressed, begin, begin + fields[CHUNK_COMPRESSED])


def _pages(file: _Window, chunk: Chunk, size: int) -> Iterator[Page]:
    """Yield what the pages of a column chunk announce."""
    begin, n_values = chunk.begin, 0
    while n_values < chunk.n_values and 0 <= begin < min(chunk.end, size):
        page = _header(file, chunk, begin)
        yield page
        n_values += page.n_values if page.kind != DICTIONARY else 0
        begin = page.begin + page.compressed


def _header(file: _Window, chunk: Chunk, begin: int) -> Page:
    """Return what the header announces that begins with a byte of the file."""
    length = HEADER_BYTES
    while True:
        reader = ThriftReader(file.read(begin, length))
        try:
            fields = reader.struct()
            break
        except ValueError as error:
            raise _damaged(chunk, begin, f"has a header in which {error}") from None
        except IndexError:  # the header is longer than what was read
            if len(reader.data) < length or length >= LONGEST_HEADER:
                raise _damaged(chunk, begin, "has a header without an end") from None
            length *= 2
    kind, uncompressed, compressed = (_count(fields.get(one)) for one in (KIND, UNCOMPRESSED_SIZE, COMPRESSED_SIZE))
    details = fields.get(DETAILS.get(kind, -1))
    n_values = _count(details.get(N_VALUES)) if isinstance(details, dict) else 0
    if min(kind, uncompressed, compressed, n_values) < 0:
        raise _damaged(chunk, begin, "has a header without sizes")
    return Page(begin + reader.at, kind, uncompressed, compressed, n_values)


def _count(value: Any) -> int:
    """Return the value of a field, or -1 if it is no number."""
    return value if isinstance(value, int) else -1


def _damaged(chunk: Chunk, begin: int, problem: str) -> FileError:
    place = f"column {chunk.name!r}: the page at byte {begin:,}"
    return FileError(f"{place} {problem}: copy, download or write the file again")
