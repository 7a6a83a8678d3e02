"""Vectors drawn as bars on one scale, or as images."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.report.render.drawings.drawer import Drawer
from similitude.report.render.drawings.html_snippets import escaped, number, picture
from similitude.report.render.drawings.png import data_uri, grays

BARS_WIDTH, BARS_HEIGHT = 240.0, 70.0

NAMED = 8
"""Largest number of coordinates that are listed; longer vectors are drawn as bars."""

BARS = 240
"""Largest number of bars."""

UNITS = 5.0
"""Coordinates have different units if the largest magnitude exceeds the median one by this factor."""


class VectorDrawer(Drawer):
    """Draws short vectors as a list of numbers with bars, and long ones as bars.

    The objects determine the scale: one per coordinate of short vectors and of coordinates in different units,
    otherwise one for all coordinates.
    """

    def __init__(self, objects: list[Any], names: list[str] | None = None) -> None:
        rows = [_dense(one) for one in objects]
        self.length = max((len(row) for row in rows), default=0)
        same = [row for row in rows if len(row) == self.length]
        self.largest = np.nan_to_num(np.abs(same)).max(axis=0, initial=1e-300) if same else np.ones(0)
        self.units = len(self.largest) > 0 and self.largest.max() > UNITS * max(float(np.median(self.largest)), 1e-300)
        self.names = names if names is not None and len(names) == self.length else None

    def draw(self, one: Any, near: Any = None) -> str:
        """Return the numbers or the bars."""
        values = _dense(one)
        return self._listed(values) if len(values) <= NAMED else self._bars(values)

    def legend(self) -> str:
        """Return the scale of the bars."""
        if self.length <= NAMED:
            return ""
        scale = "each relative to the largest of its component" if self.units else "all on one scale"
        return f'<p class="legend">A bar for each of {self.length:,} components, {scale}.</p>'

    def _listed(self, values: np.ndarray) -> str:
        largest = np.resize(self.largest, len(values)) if len(self.largest) else np.ones(len(values))
        items = []
        for i, value in enumerate(values.tolist()):
            name = self.names[i] if self.names is not None else f"x{i}"
            share = min(abs(value) / float(largest[i]), 1.0) if np.isfinite(value) else 0.0
            sign = " below" if value < 0 else ""
            items.append(
                f"<div><dt>{escaped(name)}</dt><dd>{escaped(number(value))}</dd>"
                f'<dd class="bar{sign}" aria-hidden="true"><span style="width:{100 * share:.0f}%"></span></dd></div>'
            )
        return f'<dl class="drawing vector">{"".join(items)}</dl>'

    def _bars(self, values: np.ndarray) -> str:
        shown = np.nan_to_num(values[:BARS], posinf=0.0, neginf=0.0)
        largest = max(float(self.largest.max(initial=0.0)), float(np.abs(shown).max(initial=0.0)))
        if self.units and len(values) == self.length:
            shown, largest = np.clip(shown / self.largest[: len(shown)], -1.0, 1.0), 1.0
        low = BARS_HEIGHT / 2 if (shown < 0).any() else BARS_HEIGHT - 1
        step = BARS_WIDTH / len(shown)
        heights = shown / largest * (low - 1)
        paths = [
            "".join(f"M{i * step:.1f} {low:g}v{-height:.1f}h{0.8 * step:.1f}V{low:g}" for i, height in bars if height)
            for bars in (enumerate(np.maximum(heights, 0).tolist()), enumerate(np.minimum(heights, 0).tolist()))
        ]
        few = ", ".join(number(value) for value in values[:4].tolist())
        label = f"vector of {len(values)} numbers, the first {few}"
        axis = f'<path class="zero" d="M0 {low:g}H{BARS_WIDTH:g}"/>'
        drawn = "".join(f'<path class="fill-{i}" d="{path}"/>' for i, path in enumerate(paths) if path)
        return picture(drawn + axis, BARS_WIDTH, BARS_HEIGHT, label, "bars")


class ImageDrawer(Drawer):
    """Draws vectors as gray images of a given shape on one scale, dark for small numbers.

    >>> ImageDrawer([[0.0, 1.0, 1.0, 0.0]], (2, 2)).draw([0.0, 1.0, 1.0, 0.0])[:60]
    '<img class="drawing image" alt="image of 2 x 2 points" src="'
    """

    def __init__(self, objects: list[Any], shape: tuple[int, int]) -> None:
        self.shape = shape
        values = np.concatenate([_dense(one) for one in objects] or [np.zeros(1)])
        self.low, self.high = float(np.nanmin(values)), float(np.nanmax(values))

    def draw(self, one: Any, near: Any = None) -> str:
        """Return the image."""
        values = np.nan_to_num(_dense(one).reshape(self.shape))
        share = (values - self.low) / ((self.high - self.low) or 1.0)
        rows, columns = self.shape
        return f'<img class="drawing image" alt="image of {rows} x {columns} points" src="{data_uri(share, grays())}">'


def _dense(one: Any) -> np.ndarray:
    array = one.toarray() if hasattr(one, "toarray") else one
    return np.asarray(array, dtype=float).ravel()
