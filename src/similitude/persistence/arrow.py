"""Arrow tables as bytes, checked before any library reads them: nothing packed, no types of others' making."""

from __future__ import annotations

import struct

from similitude.support.errors import SavedModelError

SCHEMA, DICTIONARY, BATCH = 1, 2, 3


def check_stream(table: memoryview) -> None:
    """Refuse a stream of Arrow messages with compressed data, which could unfold to any size, or extension types."""
    at, messages = 0, 0
    try:
        while at < len(table):
            mark, length = struct.unpack_from("<II", table, at)
            if mark != 0xFFFFFFFF:
                raise SavedModelError("a table is not stored as an Arrow stream")
            if not length:
                break
            message = table[at + 8 : at + 8 + length]
            at += 8 + length + _check_message(message)
            messages += 1
    except struct.error as error:
        raise SavedModelError("a table is cut off") from error
    if not messages or at > len(table):
        raise SavedModelError("a table is cut off")


def _check_message(message: memoryview) -> int:
    """Check one message, and return the length of the data that follows it."""
    top = struct.unpack_from("<I", message, 0)[0]
    kind = struct.unpack_from("<B", message, _field(message, top, 1))[0] if _field(message, top, 1) else 0
    header = _follow(message, _field(message, top, 2))
    if kind == SCHEMA and b"ARROW:extension" in bytes(message):
        raise SavedModelError("a table has columns of a type that is not Arrow's own")
    batch = _follow(message, _field(message, header, 1)) if kind == DICTIONARY else header
    if kind not in (SCHEMA, DICTIONARY, BATCH) or (kind != SCHEMA and _field(message, batch, 3)):
        raise SavedModelError("a table is compressed, or no table: it was not written here")
    length = _field(message, top, 3)
    body = struct.unpack_from("<q", message, length)[0] if length else 0
    if body < 0:
        raise SavedModelError("a table is cut off")
    return int(body)


def _field(message: memoryview, table: int, number: int) -> int:
    """Return where a field of a flatbuffers table stands; 0 where it is left out."""
    start = table - struct.unpack_from("<i", message, table)[0]
    size = struct.unpack_from("<H", message, _inside(start))[0]
    offset = struct.unpack_from("<H", message, start + 4 + 2 * number)[0] if 4 + 2 * number < size else 0
    return int(table + offset) if offset else 0


def _follow(message: memoryview, place: int) -> int:
    return int(place + struct.unpack_from("<I", message, _inside(place))[0])


def _inside(place: int) -> int:
    if place < 0:
        raise SavedModelError("a table is damaged")
    return place
