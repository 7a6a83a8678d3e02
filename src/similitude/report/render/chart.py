"""The specification of a chart: marks on two axes, a sentence that says what they show, and a table of the numbers.

The page draws it by Vega-Lite (`vega`) and `similitude.report.figures` by Matplotlib (`matplotlib_axes`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from similitude.support import Curve

BLUE, ORANGE, PURPLE = 0, 1, 2
"""The first colors of the palette; each renderer has its own shades."""

QUIET, INK, SOFT_INK = "quiet", "ink", "soft-ink"
"""Colors beside the palette."""


@dataclass(frozen=True)
class Axis:
    """An axis.

    Attributes
    ----------
    title : str or None
    names : sequence of str or None
        The categories of a categorical axis, from the left or from the top.
    scale : {"linear", "log", "symlog"}
    ends : tuple of two float, optional
        The range; default: that of the data.
    ticks : sequence of float, optional
        Where the axis is labeled; an empty one has no labels.
    percent, integers : bool
        Whether numbers are labeled in per cent, or only integers are.
    linear_below : float
        With a symlog scale, the magnitude below which it is linear.
    """

    title: str | None = None
    names: Sequence[str] | None = None
    scale: str = "linear"
    ends: tuple[float, float] | None = None
    ticks: Sequence[float] | None = None
    percent: bool = False
    integers: bool = False
    linear_below: float = 1.0


@dataclass(frozen=True)
class Marks:
    """Marks of one kind and color, one for each row of the data.

    Attributes
    ----------
    kind : {"area", "bar", "line", "point", "rect", "rule", "text", "tick"}
        A rule with only x or only y crosses the whole chart; a text without y is at the top.
    data : dict of columns
        ``x`` and ``y``, on a categorical axis the names; the other ends ``x2`` and ``y2`` of marks that extend from one
        value to another; ``text``, ``size`` (of points) and ``opacity``; and what `hover` names.
    color : int or str
        A position in the palette, or QUIET, INK or SOFT_INK.
    name : str, optional
        The entry in the legend.
    hover : dict
        The columns that hovering shows, with their titles.
    width : float, optional
        Of lines, or of bars on a categorical axis, in pixels.
    opacity : float
    dashed : bool
    """

    kind: str
    data: Mapping[str, Any]
    color: int | str = BLUE
    name: str | None = None
    hover: Mapping[str, str] = field(default_factory=dict)
    width: float | None = None
    opacity: float = 1.0
    dashed: bool = False


@dataclass(frozen=True)
class Chart:
    """A chart.

    Attributes
    ----------
    name : str
        Its identifier in the page.
    finding : str
        A sentence that says what it shows, also for those who cannot see it.
    x, y : Axis
    marks : list of Marks
        In the order in which they are drawn.
    columns : tuple of str
        The column titles of the table of numbers.
    rows : list of tuples
    height : int
        In pixels.
    square : bool
        Whether it is about as wide as high.
    """

    name: str
    finding: str
    x: Axis
    y: Axis
    marks: list[Marks]
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    height: int = 240
    square: bool = False


def rounded(value: Any) -> Any:
    """Round a number to four significant digits, to keep the page small; None if it is not finite.

    >>> rounded(0.123456789), rounded(np.float64("nan")), rounded("a")
    (0.1235, None, 'a')
    """
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.4g}") if np.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value


def table_rows(*columns: Any) -> list[tuple[Any, ...]]:
    """Return columns as rows of rounded numbers.

    >>> table_rows([1, 2], np.array([0.5, 0.25]))
    [(1, 0.5), (2, 0.25)]
    """
    return [tuple(map(rounded, row)) for row in zip(*columns, strict=True)]


def curve_marks(
    curve: Curve, x: str, y: str, color: int | str = BLUE, name: str | None = None
) -> tuple[list[Marks], list[tuple[Any, ...]]]:
    """Return a line with points and its interval as a band, and the table of its numbers."""
    data = {"x": curve.x, "y": curve.y, "low": curve.low, "high": curve.high}
    hover = {"x": x, "y": y, "low": "interval from", "high": "interval to"}
    band = {"x": curve.x, "y": curve.low, "y2": curve.high}
    marks = [
        Marks("area", band, color, opacity=0.18),
        Marks("line", data, color, name, width=2.5),
        Marks("point", data, color, hover=hover),
    ]
    return marks, table_rows(*data.values())


def line_at(**place: float) -> Marks:
    """Return a dashed line across the chart at one value of x or y."""
    return Marks("rule", {axis: [value] for axis, value in place.items()}, SOFT_INK, dashed=True)


def diagonal(low: float, high: float) -> Marks:
    """Return the dashed line on which x equals y."""
    return Marks("line", {"x": [low, high], "y": [low, high]}, SOFT_INK, width=1, dashed=True)
