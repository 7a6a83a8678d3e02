"""Matrices as images: PNG files written with zlib alone, and the Gram matrix with one color per value."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np

from similitude.report.findings import GramSample
from similitude.support import four_digits

VIRIDIS = ("440154", "482475", "414487", "355f8d", "2a788e", "21918c", "22a884", "44bf70", "7ad151", "bddf26", "fde725")
"""Dark to light, perceptually uniform (van der Walt and Smith, CC0)."""

BLUE_RED = (
    *("053061", "2166ac", "4393c3", "92c5de", "d1e5f0"),
    *("f7f7f7", "fddbc7", "f4a582", "d6604d", "b2182b", "67001f"),
)
"""Blue to red through white (ColorBrewer RdBu)."""


def palette(colors: tuple[str, ...]) -> np.ndarray:
    """Return 256 colors between the given ones, as an array of uint8 of shape (256, 3)."""
    given = np.array([list(bytes.fromhex(color)) for color in colors], dtype=float)
    at = np.linspace(0, len(given) - 1, 256)
    mixed = np.column_stack([np.interp(at, np.arange(len(given)), given[:, i]) for i in range(3)])
    return np.rint(mixed).astype(np.uint8)


def shades() -> list[str]:
    """Return eight colors for ordered levels, from light to dark."""
    return [f"#{bytes(color).hex()}" for color in palette(VIRIDIS)[::-1][::32]]


def png(share: np.ndarray, colors: np.ndarray) -> bytes:
    """Return a PNG file with one pixel per entry of `share`, from 0 to 1, in one of the 256 `colors`."""
    indices = np.rint(np.clip(share, 0.0, 1.0) * 255).astype(np.uint8)
    rows, columns = indices.shape
    lines = np.hstack([np.zeros((rows, 1), np.uint8), indices])  # each line begins with its filter type, 0
    header = struct.pack(">IIBBBBB", columns, rows, 8, 3, 0, 0, 0)
    chunks = {b"IHDR": header, b"PLTE": colors.tobytes(), b"IDAT": zlib.compress(lines.tobytes(), 9), b"IEND": b""}
    parts = [
        struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
        for name, content in chunks.items()
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def data_uri(share: np.ndarray, colors: np.ndarray) -> str:
    """Return the image as a data URI."""
    return "data:image/png;base64," + base64.b64encode(png(share, colors)).decode("ascii")


class GramImage:
    """A Gram matrix as an image: dark to light, or blue to red around zero, by the values off the diagonal."""

    def __init__(self, gram: GramSample) -> None:
        others = gram.matrix[~np.eye(len(gram.matrix), dtype=bool)]
        self.gram = gram
        self.low = float(others.min())
        self.high = float(others.max())
        self.colors = palette(VIRIDIS if self.low >= 0 else BLUE_RED)
        if self.low < 0:
            self.high = max(-self.low, self.high)
            self.low = -self.high

    @property
    def image(self) -> str:
        """The image as a data URI."""
        return data_uri((self.gram.matrix - self.low) / ((self.high - self.low) or 1.0), self.colors)

    @property
    def stops(self) -> list[str]:
        """Eleven colors of the scale."""
        return [f"#{bytes(color).hex()}" for color in self.colors[np.linspace(0, 255, 11).astype(int)]]

    @property
    def bands(self) -> list[tuple[str, int]]:
        """The classes from the top with their numbers of rows; none for regression."""
        counts = np.diff(self.gram.boundaries).tolist()
        return [(str(name), n) for name, n in zip(self.gram.classes, counts, strict=False) if n]

    @property
    def pairs(self) -> dict[str, Any]:
        """What hovering needs: colors and the values they stand for, positions in X, and labels."""
        labels = list(map(four_digits, self.gram.labels.tolist()))
        colors = [bytes(color).hex() for color in self.colors]
        ends = {"low": self.low, "high": self.high}
        return {"colors": colors, **ends, "indices": self.gram.indices.tolist(), "labels": labels}
