"""What every chart of the page is: a Vega-Lite specification, a sentence that says what it shows, and its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.report.drawings.snippets import COLORS
from similitude.support.results import Curve

GOOD, BAD, MARKED, QUIET = "var(--c0)", "var(--c1)", "var(--c2)", "var(--quiet)"
"""Colors by meaning; the style sheet says what they are, by day and by night."""

CONFIG: dict[str, Any] = {
    "background": "transparent",
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "range": {"category": [f"var(--c{i})" for i in range(COLORS)]},
    "axis": {
        "labelColor": "var(--soft-ink)",
        "titleColor": "var(--ink)",
        "gridColor": "var(--grid)",
        "domainColor": "var(--line)",
        "tickColor": "var(--line)",
        "labelFontSize": 12,
        "titleFontSize": 12.5,
        "titleFontWeight": 500,
        "titlePadding": 8,
        "labelLimit": 120,
        "labelOverlap": True,
    },
    "legend": {
        "labelColor": "var(--ink)",
        "titleColor": "var(--ink)",
        "labelFontSize": 12,
        "orient": "top",
        "title": None,
        "labelLimit": 160,
        "columns": {"expr": "max(1, floor(width / 110))"},
    },
    "text": {"color": "var(--ink)", "fontSize": 12},
    "rule": {"color": "var(--soft-ink)"},
}
"""How all charts look."""


@dataclass(frozen=True)
class Chart:
    """One chart of the page.

    Attributes
    ----------
    name : str
        What it is called in the page.
    finding : str
        What it shows, in a sentence: the text for those who cannot see it.
    spec : dict
        The Vega-Lite specification.
    columns : tuple of str
        The head of the table of its numbers.
    rows : list of tuples
        The numbers.
    """

    name: str
    finding: str
    spec: dict[str, Any]
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


def layered(
    values: list[dict[str, Any]], layers: list[dict[str, Any]], *, height: int, encoding: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return a specification as wide as its place on the page."""
    spec: dict[str, Any] = {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "width": "container",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "data": {"values": values},
        "layer": layers,
    }
    if encoding is not None:
        spec["encoding"] = encoding
    return spec


def layer(mark: dict[str, Any], **encoding: Any) -> dict[str, Any]:
    """Return one layer."""
    return {"mark": mark, "encoding": encoding}


def line_at(axis: str, value: float, **mark: Any) -> dict[str, Any]:
    """Return a line across the chart at one value of an axis."""
    return {"data": {"values": [{}]}, "mark": {"type": "rule", **mark}, "encoding": {axis: {"datum": value}}}


def field(name: str, title: str | None, **more: Any) -> dict[str, Any]:
    """Return the encoding of numbers."""
    return {"field": name, "type": "quantitative", "title": title, **more}


def tip(**titles: str) -> list[dict[str, Any]]:
    """Return what is shown on hovering: fields with their titles, as text."""
    return [{"field": name, "title": title} for name, title in titles.items()]


def short(value: Any) -> Any:
    """Return a number in four figures: what is drawn needs no more, and the page stays small.

    >>> short(0.123456789), short(np.float64("nan")), short("a")
    (0.1235, None, 'a')
    """
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.4g}") if np.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value


def records(**columns: Any) -> list[dict[str, Any]]:
    """Return columns of numbers as the rows that Vega-Lite takes.

    >>> records(x=[1, 2], y=np.array([0.5, 0.25]))
    [{'x': 1, 'y': 0.5}, {'x': 2, 'y': 0.25}]
    """
    names = list(columns)
    return [dict(zip(names, map(short, row), strict=True)) for row in zip(*columns.values(), strict=True)]


def banded(values: list[dict[str, Any]], x: dict[str, Any], y: dict[str, Any], tooltip: Any, **spec: Any) -> Any:
    """Return a curve with points and a band from ``low`` to ``high``."""
    high = {"field": "high"}
    layers = [
        layer({"type": "area", "color": GOOD, "opacity": 0.18}, x=x, y={**y, "field": "low"}, y2=high),
        layer({"type": "line", "color": GOOD, "strokeWidth": 2.5}, x=x, y=y),
        layer({"type": "point", "color": GOOD, "filled": True, "size": 45, "opacity": 1}, x=x, y=y, tooltip=tooltip),
        *spec.pop("layers", []),
    ]
    return layered(values, layers, **spec)


def interval_tip(x: str, y: str) -> list[dict[str, Any]]:
    """Return what hovering over a point of a curve tells."""
    return tip(x=x, y=y, low="interval from", high="interval to")


def intervals(curve: Curve) -> list[tuple[Any, ...]]:
    """Return the numbers of a curve, a row for each point."""
    columns = (curve.x.tolist(), curve.y.tolist(), curve.low.tolist(), curve.high.tolist())
    return [tuple(map(short, row)) for row in zip(*columns, strict=True)]
