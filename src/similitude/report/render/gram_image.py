"""The Gram matrix as an image: one pixel per pair, one color per value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.report.findings import GramSample
from similitude.report.render.drawings.png import BLUE_RED, VIRIDIS, data_uri, palette

STOPS = 11
"""Number of colors that define the gradient of the color scale."""


@dataclass(frozen=True, eq=False)
class GramImage:
    """The colors of a Gram matrix: dark to light, or blue to red around zero if there are negative values.

    ``low`` and ``high`` are the values of the first and the last of the 256 colors; the diagonal may lie beyond them.
    """

    gram: GramSample
    low: float
    high: float
    colors: np.ndarray

    @classmethod
    def of(cls, gram: GramSample) -> GramImage:
        """Choose the colors by the values off the diagonal, where objects are compared with others."""
        others = gram.matrix[~np.eye(len(gram.matrix), dtype=bool)]
        low, high = float(others.min()), float(others.max())
        if low >= 0:
            return cls(gram, low, high, palette(VIRIDIS))
        reach = max(-low, high)
        return cls(gram, -reach, reach, palette(BLUE_RED))

    @property
    def image(self) -> str:
        """The image as a data URI."""
        return data_uri((self.gram.matrix - self.low) / ((self.high - self.low) or 1.0), self.colors)

    @property
    def gradient(self) -> str:
        """The colors of the scale, for a style sheet."""
        steps = self.colors[np.linspace(0, 255, STOPS).astype(int)].tolist()
        return ", ".join(f"rgb({r} {g} {b})" for r, g, b in steps)

    @property
    def bands(self) -> list[tuple[str, int]]:
        """The classes from the top with their numbers of rows; none for regression."""
        counts = np.diff(self.gram.boundaries).tolist()
        return [(str(name), n) for name, n in zip(self.gram.classes, counts, strict=False) if n]

    @property
    def pairs(self) -> dict[str, Any]:
        """What hovering needs: colors and the values they stand for, positions in X, and labels."""
        labels = [f"{label:.4g}" if isinstance(label, float) else str(label) for label in self.gram.labels.tolist()]
        colors = [bytes(color).hex() for color in self.colors]
        ends = {"low": self.low, "high": self.high}
        return {"colors": colors, **ends, "indices": self.gram.indices.tolist(), "labels": labels}
