"""PNG images of matrices, written with zlib alone."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np

VIRIDIS = ("440154", "482475", "414487", "355f8d", "2a788e", "21918c", "22a884", "44bf70", "7ad151", "bddf26", "fde725")
"""Dark to light, perceptually uniform (van der Walt and Smith, CC0)."""

BLUE_RED = (
    *("053061", "2166ac", "4393c3", "92c5de", "d1e5f0"),
    *("f7f7f7", "fddbc7", "f4a582", "d6604d", "b2182b", "67001f"),
)
"""Blue to red through white (ColorBrewer RdBu)."""


def palette(colors: tuple[str, ...]) -> np.ndarray:
    """Return 256 colors between the given ones, as an array of uint8 of shape (256, 3).

    >>> palette(("000000", "ffffff"))[[0, 128, 255]].tolist()
    [[0, 0, 0], [128, 128, 128], [255, 255, 255]]
    """
    given = np.array([list(bytes.fromhex(color)) for color in colors], dtype=float)
    at = np.linspace(0, len(given) - 1, 256)
    mixed = np.column_stack([np.interp(at, np.arange(len(given)), given[:, i]) for i in range(3)])
    return np.rint(mixed).astype(np.uint8)


def grays() -> np.ndarray:
    """Return black to white."""
    return palette(("000000", "ffffff"))


def levels(share: np.ndarray) -> np.ndarray:
    """Return shares from 0 to 1 as indices of colors."""
    return np.rint(np.clip(share, 0.0, 1.0) * 255).astype(np.uint8)


def png(share: np.ndarray, colors: np.ndarray) -> bytes:
    """Return a PNG file with one pixel per entry of `share`, from 0 to 1, in one of the 256 `colors`.

    >>> png(np.eye(2), grays())[1:4]
    b'PNG'
    """
    indices = levels(share)
    rows, columns = indices.shape
    lines = np.hstack([np.zeros((rows, 1), np.uint8), indices])  # each line begins with its filter type, 0
    header = struct.pack(">IIBBBBB", columns, rows, 8, 3, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"PLTE", colors.tobytes()), (b"IDAT", zlib.compress(lines.tobytes(), 9))]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in [*chunks, (b"IEND", b"")])


def data_uri(share: np.ndarray, colors: np.ndarray) -> str:
    """Return the image as a data URI."""
    return "data:image/png;base64," + base64.b64encode(png(share, colors)).decode("ascii")


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
