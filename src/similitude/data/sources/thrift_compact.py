"""Thrift's compact protocol, in which the metadata of Parquet files is written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

BOOLEANS, INTEGERS, BINARY, LISTS, STRUCT = (1, 2), (4, 5, 6), 8, (9, 10), 12
"""The types of values by their numbers; lists may be sets, and Parquet has no maps."""

WIDTHS = {1: 1, 2: 1, 3: 1, 7: 8}
"""Bytes of the types that always take the same space: booleans, bytes and double precision."""

DEEPEST_STRUCT = 16
"""Levels of structures and lists within each other; Parquet has six."""


class ThriftReader:
    """Reads values from bytes, one after the other.

    Raises IndexError if a value goes on after the end of the bytes, and ValueError if they are no values at all. Each
    value takes at least one byte, so that the work is bounded by their number.

    Parameters
    ----------
    data : bytes
        The bytes, from their beginning.

    Examples
    --------
    >>> ThriftReader(bytes([0x15, 0x04, 0x2C, 0x15, 0x06, 0x00, 0x00])).struct()
    {1: 2, 3: {1: 3}}
    """

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def struct(self, level: int = 0) -> dict[int, Any]:
        """Return the fields of a structure by their numbers: int, bytes, list or dict (a structure), else None."""
        found: dict[int, Any] = {}
        number, data = 0, self.data
        while kind := (head := data[self.at]) & 15:  # type 0 ends a structure
            self.at += 1
            number = number + (head >> 4) if head >> 4 else self._integer()
            found[number] = None if kind in BOOLEANS else self._value(kind, level + 1)  # these take no bytes here
        self.at += 1
        return found

    def listed(self, field: int) -> Iterator[Any]:
        """Yield the values of one list of a structure, one at a time, for all of them may take much memory.

        >>> list(ThriftReader(bytes([0x15, 0x04, 0x29, 0x25, 0x06, 0x08, 0x00])).listed(3))
        [3, 4]
        """
        number = 0
        while kind := (head := self._byte()) & 15:
            number = number + (head >> 4) if head >> 4 else self._integer()
            if number == field and kind in LISTS:
                kind, length = self._list_head()
                for _ in range(length):
                    yield self._value(kind, 2)
                return
            if kind not in BOOLEANS:
                self._value(kind, 1)
        raise LookupError(f"there is no list {field}")

    def _value(self, kind: int, level: int) -> Any:
        if level > DEEPEST_STRUCT:
            raise ValueError("structures are nested too deeply")
        if kind in INTEGERS:
            return self._integer()
        if kind == STRUCT:
            return self.struct(level)
        if kind in LISTS:
            return self._list(level)
        if kind != BINARY and kind not in WIDTHS:
            raise ValueError(f"a value has the type {kind}, which Parquet does not use")
        length = self._varint() if kind == BINARY else WIDTHS[kind]
        self.at += length
        if self.at > len(self.data):
            raise IndexError("a value goes on after the end")
        return self.data[self.at - length : self.at] if kind == BINARY else None

    def _list(self, level: int) -> list[Any]:
        kind, length = self._list_head()
        return [self._value(kind, level + 1) for _ in range(length)]

    def _list_head(self) -> tuple[int, int]:
        """Return the type of the values of a list, and their number."""
        head = self._byte()
        return head & 15, head >> 4 if head >> 4 < 15 else self._varint()

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _varint(self) -> int:
        data, at, value, shift = self.data, self.at, 0, 0
        while (byte := data[at]) > 127:
            value |= (byte & 127) << shift
            at += 1
            shift += 7
            if shift > 63:
                raise ValueError("an integer has more than 64 bits")
        self.at = at + 1
        return value | byte << shift

    def _integer(self) -> int:
        """Return a signed integer, whose last bit is its sign."""
        value = self._varint()
        return value >> 1 ^ -(value & 1)
