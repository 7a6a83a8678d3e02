"""Series drawn as small plots on one scale, one line per channel."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.report.render.drawings.drawer import Drawer
from similitude.report.render.drawings.html_snippets import PALETTE_SIZE, escaped, number, picture, shade, swatches

SERIES_WIDTH, SERIES_HEIGHT, PADDING = 240.0, 90.0, 4.0

POINTS = 400
"""Largest number of points of a plot; longer series are thinned to the lowest and highest value of each segment."""

CHANNELS = 12
"""Largest number of channels that are drawn."""


class SeriesDrawer(Drawer):
    """Draws series; all objects share the vertical scale.

    >>> plots = SeriesDrawer([[0.0, 1.0], [2.0, 0.0]])
    >>> plots.draw([0.0, 1.0, 2.0]).count("<polyline")
    1
    """

    def __init__(self, objects: list[Any]) -> None:
        arrays = [_values(one) for one in objects]
        finite = np.concatenate([array[np.isfinite(array)] for array in arrays] or [np.zeros(0)])
        self.low, self.high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
        self.channels = max((array.shape[1] for array in arrays), default=1)

    def draw(self, one: Any, near: Any = None) -> str:
        """Return the plot."""
        return self._plot(one, "")

    def draw_parts(self, one: Any, places: list[tuple[int, int]], values: list[float]) -> str:
        """Return the plot on a ground that is colored by what the segments at these places add to a score."""
        steps, width = max(len(_values(one)) - 1, 1), SERIES_WIDTH - 2 * PADDING
        largest = max(map(abs, values), default=0.0)
        ground = "".join(
            f'<g><title>{value:+.3g}</title><rect x="{PADDING + width * a / steps:.1f}" height="{SERIES_HEIGHT:g}" '
            f'width="{width * (b - a) / steps:.1f}" style="fill:{shade(value, largest)}"/></g>'
            for (a, b), value in zip(places, values, strict=True)
        )
        return self._plot(one, ground)

    def _plot(self, one: Any, ground: str) -> str:
        values = _values(one)
        drawn = min(values.shape[1], CHANNELS)
        points = POINTS // max(drawn, 1)
        lines = "".join(
            f'<polyline class="line-{channel % PALETTE_SIZE}" points="{self._points(values[:, channel], points)}"/>'
            for channel in range(drawn)
        )
        several = f" and {values.shape[1]} channels" if values.shape[1] > 1 else ""
        finite = values[np.isfinite(values)]
        span = f", from {number(float(finite.min()))} to {number(float(finite.max()))}" if len(finite) else ""
        return picture(
            ground + self._zero() + lines,
            SERIES_WIDTH,
            SERIES_HEIGHT,
            f"series of {len(values)} times{several}{span}",
            "series",
        )

    def legend(self) -> str:
        """Return the scale, and the channels if there are several."""
        scale = f"{number(self.low)} to {number(self.high)}"
        text = f'<p class="legend">All plots have the same scale, {escaped(scale)}.</p>'
        if self.channels == 1:
            return text
        if self.channels > PALETTE_SIZE:
            only = f"; the first {CHANNELS} are drawn" if self.channels > CHANNELS else ""
            return f'{text}<p class="legend">{self.channels} channels, one line each{only}.</p>'
        return text + swatches([f"channel {i}" for i in range(self.channels)], "channels")

    def _zero(self) -> str:
        if not self.low < 0 < self.high:
            return ""
        y = self._height(np.zeros(1))[0]
        return f'<path class="zero" d="M0 {y:.1f}H{SERIES_WIDTH:g}"/>'

    def _height(self, values: np.ndarray) -> np.ndarray:
        span = self.high - self.low or 1.0
        return np.asarray(SERIES_HEIGHT - PADDING - (values - self.low) / span * (SERIES_HEIGHT - 2 * PADDING))

    def _points(self, values: np.ndarray, most: int) -> str:
        at, values = thinned(values, most)
        x = PADDING + at / max(float(at[-1]) if len(at) else 1.0, 1.0) * (SERIES_WIDTH - 2 * PADDING)
        there = np.isfinite(values)
        return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x[there], self._height(values[there]), strict=True))


def _values(one: Any) -> np.ndarray:
    """Return a series as an array of shape (time, channel)."""
    array = np.asarray(one.to_numpy() if hasattr(one, "to_numpy") else one, dtype=float)
    return array.reshape(len(array), -1) if array.ndim else array.reshape(1, 1)


def thinned(values: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and values; of a long series, the lowest and the highest of each segment, in order.

    >>> thinned(np.array([0.0, 5.0, 1.0, 2.0, 9.0, 3.0]), 4)
    (array([0, 1, 3, 4]), array([0., 5., 2., 9.]))
    """
    if len(values) <= most:
        return np.arange(len(values)), values
    segments = np.array_split(np.arange(len(values)), most // 2)
    filled = np.where(np.isfinite(values), values, 0.0)
    kept = np.unique([part[k] for part in segments for k in (filled[part].argmin(), filled[part].argmax())])
    return kept, values[kept]
