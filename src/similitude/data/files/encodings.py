"""The encoding of text files: UTF-8, UTF-16 by its byte order mark, Windows-1252 by its letters, or as given."""

from __future__ import annotations

import codecs
import re
import tempfile
from contextlib import ExitStack
from typing import Any, BinaryIO

from similitude.support import FileError

BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"), (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
"""Byte order marks; the marks of UTF-32 begin as those of UTF-16."""

WESTERN = "cp1252"
"""Windows-1252: Latin-1 with typographic marks where Latin-1 has control characters."""

BYTES_TESTED = 1 << 24
"""Bytes of a file that are looked at: a later byte that is not UTF-8 is an error when it is reached."""

BYTES_DECODED = 1 << 20
"""Bytes that are decoded at a time."""

FOREIGN = re.compile(r"[^\W\d_a-zA-Z]{3}")
"""Accented letters in a row that no Western European word has: letters of another alphabet."""

PARTLY_UTF8 = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}")
"""A letter in UTF-8: other bytes of such a file are damaged, and not of another encoding."""

DAMAGE = "ÿ"
"""A letter that hardly any word has, and the byte of damaged and of binary files."""

MARKS_IN_TEXT = "€‚„…‰‹›‘’“”•–—™\u00a0¡§©«®°±²³µ·»¼½¾¿×÷£¥ªº´¨"  # noqa: RUF001
"""Characters of Windows-1252 that are not letters and occur in texts."""


def as_utf8(stream: BinaryIO, encoding: str | None, stack: ExitStack) -> tuple[BinaryIO, str]:
    """Return a text file as UTF-8, and a note if it was converted; a file that is UTF-8 is returned as it is."""
    start = stream.read(4)
    stream.seek(0)
    mark = next((name for one, name in BYTE_ORDER_MARKS if start.startswith(one)), None)
    given = None if encoding is None else _known(encoding)
    if given is None and mark is None and (mark := unmarked_utf16(stream)):
        return _converted(stream, mark, stack), f"{mark.upper()} without a byte order mark, by its zero bytes"
    if given is None and mark is not None:
        return _converted(stream, mark, stack), f"{mark.upper()}, by its byte order mark"
    if given is None and not _is_utf8(stream):
        word = _check_western(stream)
        return _converted(stream, WESTERN, stack), (
            f"not UTF-8: read as Windows-1252 (as Latin-1, for Western European languages), such as {word!r}; "
            f"encoding= chooses another"
        )
    if given in (None, "utf-8"):
        return stream, ""
    return _converted(stream, given, stack), ""


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


def _is_utf8(stream: BinaryIO) -> bool:
    """Tell whether the first bytes of a file are UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    seen = 0
    try:
        while seen < BYTES_TESTED and (piece := stream.read(BYTES_DECODED)):
            decoder.decode(piece)
            seen += len(piece)
        if seen < BYTES_TESTED:
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    finally:
        stream.seek(0)
    return True


def _check_western(stream: BinaryIO) -> str:
    """Raise unless bytes that are not UTF-8 look like accented letters of Western European languages; return a word."""
    from similitude.data.files.utf8 import check_utf8

    decoder = codecs.getincrementaldecoder(WESTERN)()
    seen, is_text, word = 0, True, ""
    try:
        while is_text and seen < BYTES_TESTED and (piece := stream.read(BYTES_DECODED)):
            text = decoder.decode(piece)
            seen += len(piece)
            others = {letter for letter in set(text) if letter > "\x7f"}
            if others and not word:
                word = re.search(r"\w*[^\x00-\x7f]\w*", text)[0][:20]  # type: ignore[index]
            is_text = (
                "\0" not in text
                and DAMAGE not in others
                and all(one.isalpha() or one in MARKS_IN_TEXT for one in others)
            )
            is_text = is_text and not FOREIGN.search(text) and not PARTLY_UTF8.search(piece)
    except UnicodeDecodeError:
        is_text = False
    stream.seek(0)
    if not is_text:
        check_utf8(stream)
        raise FileError("not UTF-8 text")
    return word


def _converted(stream: BinaryIO, encoding: str, stack: ExitStack) -> BinaryIO:
    """Return a copy of a text file as UTF-8, on disk; raise and name a byte that has no meaning."""
    copy: Any = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 (closed by the stack)
    decoder = codecs.getincrementaldecoder(encoding)()
    done = 0
    try:
        while piece := stream.read(BYTES_DECODED):
            copy.write(decoder.decode(piece).encode())
            done += len(piece)
        copy.write(decoder.decode(b"", final=True).encode())
    except UnicodeError as error:
        place = f"byte 0x{error.object[error.start]:02x} " if isinstance(error, UnicodeDecodeError) else ""
        raise FileError(f"not {encoding}: {place}near offset {done}: choose another encoding=") from None
    if copy.tell() == 0:
        raise FileError("the file is empty")
    copy.seek(0)
    found: BinaryIO = copy
    return found
