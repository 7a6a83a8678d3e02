"""Text files: their encoding, their lines, and the separator and header of those with columns."""

from __future__ import annotations

import codecs
import csv
import io
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import islice
from typing import Any, BinaryIO, TypeVar, cast

from similitude.data.files.file_errors import column_names
from similitude.data.files.schema import OpenFile
from similitude.data.limits import SAMPLED_BYTES, SAMPLED_ROWS, TESTED_BYTES
from similitude.support import FileError

T = TypeVar("T")

WESTERN = "cp1252"
"""Windows-1252: Latin-1 with typographic marks where Latin-1 has control characters."""

MARKS_IN_TEXT = "€‚„…‰‹›‘’“”•–—™\u00a0¡§©«®°±²³µ·»¼½¾¿×÷£¥ªº´¨"  # noqa: RUF001
"""Characters of Windows-1252 that are not letters and occur in texts."""

USUAL = {"csv": ",", "tsv": "\t"}
"""The separator of each format."""

SEPARATOR_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
"""The separators that are looked for."""


def lines(stream: BinaryIO) -> Iterator[tuple[int, str]]:
    """Yield the number of each line, from 1, and the line without its end; skip a byte order mark."""
    stream.seek(0)
    end = 0
    for number, line in enumerate(stream, 1):
        end += len(line)
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            offset = end - len(error.object) + error.start
            raise FileError(
                f"not UTF-8: byte 0x{error.object[error.start]:02x} at offset {offset}, line {number}: say which "
                f"encoding it has (encoding='latin-1', 'utf-16', …), or convert it (iconv -f … -t utf-8)"
            ) from None
        yield number, text.rstrip("\r\n")


def in_parts(items: Iterable[T], rows: int | None) -> Iterator[list[T]]:
    """Yield lists of `rows` items, the last with fewer, or one of all."""
    left = iter(items)
    while part := list(islice(left, rows)):
        yield part


def check_utf8(stream: BinaryIO) -> None:
    """Raise if a file is not UTF-8, and name the first wrong byte."""
    for _ in lines(stream):
        pass


def as_utf8(stream: BinaryIO, encoding: str | None, stack: ExitStack) -> tuple[BinaryIO, str]:
    """Return a text file as UTF-8, and a note if it was converted; a file that is UTF-8 is returned as it is."""
    if encoding is not None:
        given = _known(encoding)
        if given != "utf-8":
            stream = _converted(stream, given, stack)
        return stream, ""
    start = stream.read(4)
    stream.seek(0)
    utf32 = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)  # which begin as those of UTF-16
    utf16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    for marks, name in ((utf32, "utf-32"), (utf16, "utf-16")):
        if start.startswith(marks):
            return _converted(stream, name, stack), f"{name.upper()}, by its byte order mark"
    if b"\0" in start and (form := unmarked_utf16(stream)):
        return _converted(stream, form, stack), f"{form.upper()} without a byte order mark, by its zero bytes"
    if _is_utf8(stream):
        return stream, ""
    word = _check_western(stream)
    return _converted(stream, WESTERN, stack), (
        f"not UTF-8: read as Windows-1252 (as Latin-1, for Western European languages), such as {word!r}; "
        f"encoding= chooses another"
    )


def unmarked_utf16(stream: BinaryIO) -> str | None:
    """Return the form of UTF-16 whose zero bytes in Western texts a file has, or None."""
    start = stream.read(4096)
    stream.seek(0)
    if len(start) < 8:
        return None
    for name, zeros, letters in (("utf-16-le", start[1::2], start[::2]), ("utf-16-be", start[::2], start[1::2])):
        if 10 * zeros.count(0) > 9 * len(zeros) and 0 not in letters:
            return name
    return None


def _known(encoding: str) -> str:
    """Return the name of an encoding of text in Python's spelling."""
    try:
        found = codecs.lookup(encoding)
        is_text = isinstance("".encode(encoding), bytes)
    except (LookupError, TypeError, ValueError, UnicodeError):
        is_text = False
    if not is_text:
        raise FileError(f"encoding={encoding!r} is not known: for instance utf-8, latin-1, cp1252, utf-16, shift_jis")
    return "utf-8" if found.name in ("utf-8", "ascii", "utf-8-sig") else found.name


def _beginning(stream: BinaryIO, encoding: str) -> Iterator[tuple[bytes, str]]:
    """Yield the first pieces of a file by which its encoding is found, as they are and decoded."""
    decoder = codecs.getincrementaldecoder(encoding)()
    seen = 0
    try:
        while seen < TESTED_BYTES and (piece := stream.read(1 << 20)):
            yield piece, decoder.decode(piece)
            seen += len(piece)
        if seen < TESTED_BYTES:
            decoder.decode(b"", final=True)
    finally:
        stream.seek(0)


def _is_utf8(stream: BinaryIO) -> bool:
    try:
        return all(True for _ in _beginning(stream, "utf-8"))
    except UnicodeDecodeError:
        return False


def _check_western(stream: BinaryIO) -> str:
    """Raise unless bytes that are not UTF-8 look like accented letters of Western European languages; return a word."""
    word = ""
    with suppress(UnicodeDecodeError):
        for piece, text in _beginning(stream, WESTERN):
            others = {letter for letter in set(text) if letter > "\x7f"}
            if others and not word:
                word = re.search(r"\w*[^\x00-\x7f]\w*", text)[0][:20]  # type: ignore[index]
            if "\0" in text or "ÿ" in others:  # hardly any word has this letter, but damaged and binary files do
                break
            if re.search(r"[^\W\d_a-zA-Z]{3}", text):  # accented letters in a row, as in other alphabets
                break
            if re.search(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}", piece):  # a letter in UTF-8
                break
            if not all(one.isalpha() or one in MARKS_IN_TEXT for one in others):
                break
        else:
            return word
    check_utf8(stream)
    raise FileError("not UTF-8 text")


def _converted(stream: BinaryIO, encoding: str, stack: ExitStack) -> BinaryIO:
    """Return a copy of a text file as UTF-8, on disk; raise and name a byte that has no meaning."""
    copy = cast(BinaryIO, stack.enter_context(tempfile.TemporaryFile()))  # noqa: SIM115 (closed by the stack)
    decoder = codecs.getincrementaldecoder(encoding)()
    done = 0
    try:
        while piece := stream.read(1 << 20):
            copy.write(decoder.decode(piece).encode())
            done += len(piece)
        copy.write(decoder.decode(b"", final=True).encode())
    except UnicodeError as error:
        place = ""
        if isinstance(error, UnicodeDecodeError):
            place = f"byte 0x{error.object[error.start]:02x} "
        raise FileError(f"not {encoding}: {place}near offset {done}: choose another encoding=") from None
    if copy.tell() == 0:
        raise FileError("the file is empty")
    copy.seek(0)
    return copy


def with_head(file: OpenFile, separator: str | None) -> OpenFile:
    """Return a text file with columns with what its beginning says, and notes on it."""
    stream = file.stream
    stream.seek(0)
    start = stream.read(SAMPLED_BYTES)
    is_whole = len(start) < SAMPLED_BYTES
    text = start.decode("utf-8-sig", "ignore")
    if re.match(r"\s*<(!doctype html|html|head|body)\b", text, re.IGNORECASE):
        raise FileError("a web page and not a table: download the file itself")
    above = 0  # lines that are left out
    notes = list(file.notes)
    if said := re.match('"?sep=([^"\r\n])"?[ \t]*(\r\n|\n|\r)', text, re.IGNORECASE):  # by which Excel is told
        above = 1
        separator = separator or said[1]
        notes.append(f"cells separated by {said[1]!r}, as its first line says")
    elif text.startswith("#") and (above := _comments(text)):
        notes.append(f"ignored: {above} line{'s' * (above > 1)} above the header")
    text = "".join(_lines(text)[above:])
    if separator is None:
        separator, note = _separator_of(text, USUAL[file.format], is_whole)
        notes += note
    spelled = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " ", "pipe": "|"}
    given = separator
    separator = spelled.get(given.lower(), given)
    if len(separator) != 1 or not separator.isascii() or separator in '"\r\n\0':
        raise FileError(f"separator={given!r} must be one character such as ';', '|' or 'tab'")
    rows = sampled_rows(text, separator, is_whole)
    header, lines, first = _header(stream, separator, above)
    names, note = _completed(header, rows[1:], text, separator)
    notes += note
    names = column_names(names)
    return replace(file, names=names, separator=separator, lines=lines, start=first, notes=tuple(notes))


def _header(stream: BinaryIO, separator: str, above: int) -> tuple[list[str], int, int]:
    """Return the first row below some lines, and the number of lines and bytes up to its end."""
    stream.seek(0)
    start = len(codecs.BOM_UTF8) * (stream.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8)
    stream.seek(start)
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
    passed: list[str] = []
    try:
        passed += islice(text, above)
        rows = csv.reader((passed.append(line) or line for line in text), delimiter=separator)  # type: ignore[func-returns-value]
        header = next(filter(None, rows), None)
    except UnicodeDecodeError:
        check_utf8(stream)
        raise
    except csv.Error as error:
        raise FileError(f"the header cannot be read: {error}") from None
    finally:
        text.detach()
    if header is None:
        raise FileError("the file is empty")
    return header, len(passed), start + len("".join(passed).encode())


def sampled_rows(text: str, separator: str, is_whole: bool) -> list[list[str]]:
    """Return the cells of the first rows of a text that may be cut in its last row; nothing if they cannot be read."""
    rows = []
    try:
        for cells in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
            if cells:
                rows.append(cells)
            if len(rows) > SAMPLED_ROWS:
                break
        else:
            if not is_whole:  # the last row is cut
                rows.pop()
    except (csv.Error, IndexError):
        return []
    return rows


def _lines(text: str) -> list[str]:
    """Return the lines of a text with their ends, as files have them."""
    return list(io.StringIO(text, newline=""))


def _comments(text: str) -> int:
    """Return the number of lines above the header that are comments; the header itself may begin with a hash."""
    lines = _lines(text)
    comments = next((i for i, line in enumerate(lines) if not line.startswith("#")), 0)
    if not comments or not _is_table("".join(lines[comments:])):
        return 0
    return comments - _is_table("".join(lines[comments - 1 :]))


def _is_table(text: str) -> bool:
    """Tell whether by some separator all rows have as many cells as the first, and more than one."""
    samples = (sampled_rows(text, one, False) or sampled_rows(text, one, True) for one in SEPARATOR_NAMES)
    return any(_columns(rows) > 1 for rows in samples)


def _separator_of(text: str, usual: str, is_whole: bool) -> tuple[str, list[str]]:
    """Return the usual separator of a text file unless only another one finds a table, and then a note."""
    if _columns(sampled_rows(text, usual, is_whole)) > 1:
        return usual, []
    rows = {one: sampled_rows(text, one, is_whole) for one in SEPARATOR_NAMES}
    for differences in (((), (0,)), ((1,), (-1,))):  # in the second case the header has one cell too few or too many
        possible = [one for one in SEPARATOR_NAMES if _columns(rows[one], differences) > 1]
        if len(possible) > 1:
            names = " or ".join(SEPARATOR_NAMES[one] for one in possible)
            raise FileError(f"its cells may be separated by {names}: say by which, separator='{possible[0]}'")
        if possible and possible[0] != usual:
            return possible[0], [f"cells separated by {SEPARATOR_NAMES[possible[0]]} (separator= chooses otherwise)"]
        if possible:
            break
    return usual, []


def _columns(rows: list[list[str]], differences: Any = ((), (0,))) -> int:
    """Return the number of cells of the header if those of all rows differ from it by one of these, else 0."""
    header, *others = list(map(len, rows)) or [0]
    return header * (tuple({one - header for one in others}) in differences)


def _completed(header: list[str], rows: list[list[str]], text: str, separator: str) -> tuple[list[str], list[str]]:
    """Return a header with a cell for names of rows, or as many cells as rows that end in a separator; and a note."""
    if len(header) < 2 or len(rows) < 2 or len({len(cells) for cells in rows}) > 1:
        return header, []
    more = len(rows[0]) - len(header)
    if more == 1 and all(not cells[-1].strip() for cells in rows):
        return [*header, ""], ["rows end in a separator, and the header does not"]
    if more == 1 and _name_rows(rows, text, separator):
        return ["", *header], ["the header has no cell for the first column, which is taken as names of the rows"]
    if more == -1 and not header[-1].strip():
        return header[:-1], ["the header ends in a separator, and rows do not"]
    return header, []


def _name_rows(rows: list[list[str]], text: str, separator: str) -> bool:
    """Tell whether first cells may be names of rows: they differ, and are no numbers that a decimal comma has cut."""
    names = [cells[0].strip() for cells in rows]
    if len(set(names)) < len(names) or "" in names:
        return False
    lines = list(filter(None, map(str.rstrip, _lines(text)[1:])))
    return separator != "," or not all(map(str.isdigit, names)) or all(line.startswith('"') for line in lines[:20])
