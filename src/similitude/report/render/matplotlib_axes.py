"""Charts drawn by Matplotlib."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from similitude.report.render.chart import INK, QUIET, SOFT_INK, Axis, Chart, Marks
from similitude.support import missing_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PALETTE = ("#0072B2", "#D55E00", "#CC79A7", "#009E73", "#E69F00", "#56B4E9", "#F0E442", "#000000")
"""Colors that people with color blindness can tell apart (Okabe and Ito, 2008)."""

INK_COLORS = {QUIET: "#8b94a3", INK: "#000000", SOFT_INK: "#767676"}

MAX_NAMES = 20
"""Largest number of categories that are all labeled; of more, every k-th."""


def new_axes(width: float, height: float) -> Axes:
    """Return the axes of a new figure."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise missing_extra("report", "a figure") from error
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def draw(chart: Chart, ax: Axes | None) -> Axes:
    """Draw a chart on the axes given, or on those of a new figure, with its sentence as the title."""
    ax = new_axes(5.0 if chart.square else 6.0, 5.0 if chart.square else 4.0) if ax is None else ax
    for mark in chart.marks:
        _draw_marks(ax, chart, mark)
    _label_axis(ax, "x", chart.x)
    _label_axis(ax, "y", chart.y)
    set_title(ax, chart.finding, 56 if chart.square else 72)
    if any(mark.name is not None for mark in chart.marks):
        ax.legend()
    return ax


def set_title(ax: Axes, text: str, width: int = 72) -> None:
    """Write a sentence above the axes, in lines of at most `width` characters."""
    ax.set_title(literal(textwrap.fill(text, width)), fontsize="medium", loc="left")


def literal(text: str) -> str:
    """Keep Matplotlib from reading formulas into a user's text."""
    return text.replace("$", r"\$")


def _draw_marks(ax: Any, chart: Chart, mark: Marks) -> None:
    color: Any = PALETTE[mark.color % len(PALETTE)] if isinstance(mark.color, int) else INK_COLORS[mark.color]
    line = {"color": color, "linewidth": mark.width or 1.0, "linestyle": "--" if mark.dashed else "-"}
    hidden = mark.name is not None and mark.name.startswith("_")  # by Matplotlib, unless a space precedes it
    named = {} if mark.name is None else {"label": literal(" " * hidden + mark.name)}
    at: dict[str, Any] = {name: np.asarray(values) for name, values in mark.data.items()}
    for name, axis in (("x", chart.x), ("y", chart.y)):
        if axis.names is not None and name in at:
            at[name] = np.array([list(axis.names).index(value) for value in mark.data[name]])
    ends: list[Any] = [at.get(name) for name in ("x", "y", "x2", "y2")]
    x, y, x2, y2 = ends
    if mark.kind == "area":
        ax.fill_between(x, y, y2, color=color, alpha=mark.opacity, linewidth=0)
    elif mark.kind == "line":
        ax.plot(x, y, **line, **named)
    elif mark.kind == "point":
        sizes = 20 + 110 * at["size"] / at["size"].max() if "size" in at else 20
        ax.scatter(x, y, s=sizes, color=color, alpha=mark.opacity, zorder=3, clip_on=False, **named)
    elif mark.kind == "tick":
        ax.plot(x, y, "|", color=color, markersize=10)
    elif mark.kind == "text":
        _write(ax, chart, at, color)
    elif mark.kind == "rule" and y is None:
        ax.axvline(x[0], **line)
    elif mark.kind == "rule" and x is None:
        ax.axhline(y[0], **line)
    elif mark.kind == "rule":
        ax.hlines(y, x, x2, **line) if y2 is None else ax.vlines(x, y, y2, **line)
    elif chart.y.names is None:
        ax.bar(x, y2 - y, x2 - x, y, align="edge", color=color, **named)
    elif chart.x.names is None:
        ax.barh(y, x2 - x, 0.8 if mark.width is None else 0.45, x, color=color, **named)
    else:
        ax.bar(x, 1.0, 1.0, y - 0.5, color=[(color, share) for share in at["opacity"]])


def _write(ax: Any, chart: Chart, at: dict[str, Any], color: str) -> None:
    """Write texts: at the top, to the right of bars, or in the middle of cells."""
    offset, align = ((4, 0), "left") if chart.x.names is None else ((0, 0), "center")
    for place, text in enumerate(at["text"]):
        if "y" not in at:
            ax.annotate(text, (at["x"][place], 1), (4, -12), ("data", "axes fraction"), "offset points", color=color)
        else:
            here = (at["x"][place], at["y"][place])
            ax.annotate(text, here, offset, "data", "offset points", ha=align, va="center", color=color)
            ax.margins(x=0.0 if chart.x.names else 0.12)


def _label_axis(ax: Any, name: str, axis: Axis) -> None:
    ax.set(**{f"{name}label": literal(axis.title or "")})
    own = ax.xaxis if name == "x" else ax.yaxis
    if axis.names is not None:
        step = -(-len(axis.names) // MAX_NAMES) or 1
        turned = {"rotation": 45, "ha": "right"} if name == "x" and len(axis.names) > 3 else {}
        own.set_ticks(range(0, len(axis.names), step), [_short(one) for one in axis.names[::step]], **turned)
        if name == "y":
            ax.invert_yaxis()
        return
    if axis.scale != "linear":
        scaled = {"linthresh": axis.linear_below} if axis.scale == "symlog" else {}
        (ax.set_xscale if name == "x" else ax.set_yscale)(axis.scale, **scaled)
    if axis.ends is not None:
        (ax.set_xlim if name == "x" else ax.set_ylim)(*axis.ends)
    if axis.ticks is not None:
        own.set_ticks(axis.ticks, [f"{tick:,g}" for tick in axis.ticks])
        own.set_ticks([], minor=True)
    elif axis.integers:
        own.get_major_locator().set_params(integer=True)
    elif axis.percent:
        own.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")


def _short(name: str) -> str:
    return literal(name if len(name) <= 24 else f"{name[:23]}…")
