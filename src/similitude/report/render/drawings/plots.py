"""Vectors as bars or images, and series as lines, each kind on one scale."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.relevance import thinned
from similitude.report.render.drawings.html_snippets import PALETTE_SIZE, escaped, number, picture, swatches
from similitude.report.render.drawings.texts import Drawer
from similitude.report.render.images import data_uri, palette

PLOT_WIDTH = 240.0
"""Of all plots, in pixels."""

NAMED = 8
"""Most coordinates that are listed; longer vectors are drawn as bars."""


class VectorDrawer(Drawer):
    """Draws short vectors as a list of numbers with bars, and long ones as bars.

    The objects determine the scale: one per coordinate of short vectors and of coordinates in different units,
    otherwise one for all coordinates. Units differ if the largest magnitude exceeds the median one by a factor of five.
    """

    def __init__(self, objects: list[Any], names: list[str] | None = None) -> None:
        rows = [_dense(one) for one in objects]
        self.length = max((len(row) for row in rows), default=0)
        same = [row for row in rows if len(row) == self.length]
        self.largest = np.nan_to_num(np.abs(same)).max(axis=0, initial=1e-300) if same else np.ones(0)
        self.units = len(self.largest) > 0 and self.largest.max() > 5 * max(float(np.median(self.largest)), 1e-300)
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
        shares = np.nan_to_num(np.minimum(np.abs(values) / largest, 1.0)) * np.isfinite(values)
        names = self.names or [f"x{i}" for i in range(len(values))]
        items = [
            f"<div><dt>{escaped(name)}</dt><dd>{escaped(number(value))}</dd>"
            f'<dd class="bar{" below" if value < 0 else ""}" aria-hidden="true">'
            f'<span style="width:{100 * share:.0f}%"></span></dd></div>'
            for name, value, share in zip(names, values.tolist(), shares.tolist(), strict=False)
        ]
        return f'<dl class="drawing vector">{"".join(items)}</dl>'

    def _bars(self, values: np.ndarray) -> str:
        """Return a bar for each of the first 240 numbers."""
        shown = np.nan_to_num(values[:240], posinf=0.0, neginf=0.0)
        largest = max(float(self.largest.max(initial=0.0)), float(np.abs(shown).max(initial=0.0)))
        if self.units and len(values) == self.length:
            shown = np.clip(shown / self.largest[: len(shown)], -1.0, 1.0)
            largest = 1.0
        height = 70.0
        low = height / 2 if (shown < 0).any() else height - 1
        step = PLOT_WIDTH / len(shown)
        heights = shown / largest * (low - 1)
        drawn = ""
        for color, side in enumerate((np.maximum(heights, 0), np.minimum(heights, 0))):
            bars = [f"M{i * step:.1f} {low:g}v{-side[i]:.1f}h{0.8 * step:.1f}V{low:g}" for i in np.flatnonzero(side)]
            drawn += f'<path class="fill-{color}" d="{"".join(bars)}"/>' if bars else ""
        few = ", ".join(number(value) for value in values[:4].tolist())
        label = f"vector of {len(values)} numbers, the first {few}"
        return picture(f'{drawn}<path class="zero" d="M0 {low:g}H{PLOT_WIDTH:g}"/>', PLOT_WIDTH, height, label, "bars")


class ImageDrawer(Drawer):
    """Draws vectors as gray images of a given shape on one scale, dark for small numbers.

    >>> ImageDrawer([[0.0, 1.0, 1.0, 0.0]], (2, 2)).draw([0.0, 1.0, 1.0, 0.0])[:60]
    '<img class="drawing image" alt="image of 2 x 2 points" src="'
    """

    def __init__(self, objects: list[Any], shape: tuple[int, int]) -> None:
        self.shape = shape
        values = np.concatenate([_dense(one) for one in objects] or [np.zeros(1)])
        self.low = float(np.nanmin(values))
        self.span = float(np.nanmax(values)) - self.low or 1.0

    def draw(self, one: Any, near: Any = None) -> str:
        """Return the image."""
        share = (np.nan_to_num(_dense(one).reshape(self.shape)) - self.low) / self.span
        address = data_uri(share, palette(("000000", "ffffff")))
        rows, columns = self.shape
        return f'<img class="drawing image" alt="image of {rows} x {columns} points" src="{address}">'


def _dense(one: Any) -> np.ndarray:
    array = one.toarray() if hasattr(one, "toarray") else one
    return np.asarray(array, dtype=float).ravel()


class SeriesDrawer(Drawer):
    """Draws series; all objects share the vertical scale.

    >>> plots = SeriesDrawer([[0.0, 1.0], [2.0, 0.0]])
    >>> plots.draw([0.0, 1.0, 2.0]).count("<polyline")
    1
    """

    height = 90.0
    padding = 4.0
    most_channels = 12

    def __init__(self, objects: list[Any]) -> None:
        arrays = [_values(one) for one in objects]
        finite = np.concatenate([array[np.isfinite(array)] for array in arrays] or [np.zeros(0)])
        self.low = float(finite.min()) if len(finite) else 0.0
        self.high = float(finite.max()) if len(finite) else 1.0
        self.channels = max((array.shape[1] for array in arrays), default=1)

    def draw(self, one: Any, near: Any = None) -> str:
        """Return lines of 400 points in all; longer ones are thinned."""
        values = _values(one)
        drawn = min(values.shape[1], self.most_channels)
        zero = ""
        if self.low < 0 < self.high:
            zero = f'<path class="zero" d="M0 {self._height(np.zeros(1))[0]:.1f}H{PLOT_WIDTH:g}"/>'
        lines = ""
        for channel in range(drawn):
            points = self._points(values[:, channel], 400 // drawn)
            lines += f'<polyline class="line-{channel % PALETTE_SIZE}" points="{points}"/>'
        label = f"series of {len(values)} times"
        if values.shape[1] > 1:
            label += f" and {values.shape[1]} channels"
        finite = values[np.isfinite(values)]
        if len(finite):
            label += f", from {number(float(finite.min()))} to {number(float(finite.max()))}"
        return picture(zero + lines, PLOT_WIDTH, self.height, label, "series")

    def legend(self) -> str:
        """Return the scale, and the channels if there are several."""
        scale = f"{number(self.low)} to {number(self.high)}"
        text = f'<p class="legend">All plots have the same scale, {escaped(scale)}.</p>'
        if self.channels == 1:
            return text
        if self.channels > PALETTE_SIZE:
            only = f"; the first {self.most_channels} are drawn" if self.channels > self.most_channels else ""
            return f'{text}<p class="legend">{self.channels} channels, one line each{only}.</p>'
        return text + swatches([f"channel {i}" for i in range(self.channels)], "channels")

    def _height(self, values: np.ndarray) -> np.ndarray:
        share = (values - self.low) / (self.high - self.low or 1.0)
        return np.asarray(self.height - self.padding - share * (self.height - 2 * self.padding))

    def _points(self, values: np.ndarray, most: int) -> str:
        at, values = thinned(values, most)
        x = self.padding + at / max(at.max(initial=1), 1.0) * (PLOT_WIDTH - 2 * self.padding)
        there = np.isfinite(values)
        return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x[there], self._height(values[there]), strict=True))


def _values(one: Any) -> np.ndarray:
    """Return a series as an array of shape (time, channel)."""
    array = np.asarray(one.to_numpy() if hasattr(one, "to_numpy") else one, dtype=float)
    return array.reshape(len(array), -1) if array.ndim else array.reshape(1, 1)
