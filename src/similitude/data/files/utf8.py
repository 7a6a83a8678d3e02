"""The lines of a UTF-8 text file, and the position of bytes that are not UTF-8."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import BinaryIO

from similitude.support import FileError


def lines(stream: BinaryIO) -> Iterator[tuple[int, str]]:
    """Yield the number of each line, from 1, and the line without its end; skip a byte order mark."""
    stream.seek(0)
    for number, line in enumerate(stream, 1):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            check_utf8(stream)
            raise
        yield number, text.rstrip("\r\n")


def check_utf8(stream: BinaryIO) -> None:
    """Raise if a file is not UTF-8, and name the first wrong byte."""
    stream.seek(0)
    decoder, offset, line = codecs.getincrementaldecoder("utf-8")(), 0, 1
    while True:
        piece = stream.read(1 << 20)
        pending = len(decoder.getstate()[0])
        try:
            decoder.decode(piece, final=not piece)
        except UnicodeDecodeError as error:
            where = offset - pending + error.start
            line += piece[: max(0, error.start - pending)].count(b"\n")
            raise FileError(
                f"not UTF-8: byte 0x{error.object[error.start]:02x} at offset {where}, line {line}. Convert it, for "
                f"instance: iconv -f latin1 -t utf-8 (or -f utf-16, as the file was written)"
            ) from None
        if not piece:
            return
        offset += len(piece)
        line += piece.count(b"\n")
