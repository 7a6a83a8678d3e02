"""The lines of a UTF-8 text file, and the position of bytes that are not UTF-8."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from similitude.support import FileError


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


def check_utf8(stream: BinaryIO) -> None:
    """Raise if a file is not UTF-8, and name the first wrong byte."""
    for _ in lines(stream):
        pass
