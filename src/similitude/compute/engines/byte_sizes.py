"""Memory sizes: reading ``"2GiB"`` as a number of bytes, and writing a number of bytes for a person."""

from __future__ import annotations

import re

_UNITS = {"": 1, **{letter: 1000**i for i, letter in enumerate("KMGT", 1)}}
_UNITS |= {f"{letter}I": 1024**i for i, letter in enumerate("KMGT", 1)}


def parse_bytes(size: float | str) -> int:
    """Return a memory size in bytes.

    >>> parse_bytes("2GiB"), parse_bytes("1.5 MB"), parse_bytes(4096)
    (2147483648, 1500000, 4096)
    """
    if isinstance(size, float):
        size = int(size)
    match = re.fullmatch(r"\s*([0-9.]+)\s*([KMGT]?I?)B?\s*", str(size).upper())
    number = float(match[1]) * _UNITS.get(match[2], 0) if match and match[1].count(".") <= 1 else 0
    if number < 1:
        raise ValueError(f"a memory size is a number of bytes or a text such as '2GiB', got {size!r}")
    return int(number)


def format_bytes(size: float) -> str:
    """Return a memory size as a person reads it.

    >>> format_bytes(3 * 2**30), format_bytes(512)
    ('3.0 GiB', '512 bytes')
    """
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            break
        size /= 1024
    return f"{size:.0f} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
