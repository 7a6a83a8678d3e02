"""Charts as Vega-Lite specifications, in the colors of the page's style sheet."""

from __future__ import annotations

from typing import Any

from similitude.report.render.chart import Axis, Chart, Marks, table_rows
from similitude.report.render.drawings.html_snippets import PALETTE_SIZE

CONFIG: dict[str, Any] = {
    "background": "transparent",
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
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
}
"""The style of all charts."""

STYLES: dict[str, dict[str, Any]] = {
    "bar": {"cornerRadiusEnd": 3},
    "point": {"filled": True, "size": 45},
    "text": {"align": "left", "dx": 5, "fontSize": 12},
    "tick": {"thickness": 2, "height": 14},
}

SCALES = {"size": {"range": [40, 260], "zero": True}, "opacity": {"domain": [0, 1], "range": [0, 1]}}


def vega_lite(chart: Chart) -> dict[str, Any]:
    """Return the specification of a chart, as wide as its place on the page."""
    named = {mark.name: _color(mark.color) for mark in chart.marks if mark.name is not None}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "width": "container",
        "height": chart.height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "layer": [_layer(chart, mark, named) for mark in chart.marks],
    }


def _color(color: int | str) -> str:
    return f"var(--c{color % PALETTE_SIZE})" if isinstance(color, int) else f"var(--{color})"


def _layer(chart: Chart, mark: Marks, named: dict[str, str]) -> dict[str, Any]:
    data = mark.data
    rows = [dict(zip(data, row, strict=True)) for row in table_rows(*data.values())]
    style = {"type": mark.kind, "color": _color(mark.color), "opacity": mark.opacity, **STYLES.get(mark.kind, {})}
    encoding: dict[str, Any] = {"tooltip": [{"field": one, "title": title} for one, title in mark.hover.items()]}
    encoding |= {name: _axis(name, axis) for name, axis in (("x", chart.x), ("y", chart.y)) if name in data}
    encoding |= {name: {"field": name} for name in ("x2", "y2") if name in data}
    for name, scale in SCALES.items():
        if name in data:
            encoding[name] = {"field": name, "type": "quantitative", "legend": None, "scale": scale}
    if mark.name is not None:
        colors = {"domain": list(named), "range": list(named.values())}
        encoding["color"] = {"datum": mark.name, "type": "nominal", "scale": colors}
    if mark.width is not None:
        style["height" if mark.kind == "bar" else "strokeWidth"] = mark.width
    if mark.dashed:
        style["strokeDash"] = [4, 3]
    if mark.kind == "text":
        encoding["text"] = {"field": "text"}
        style |= {} if "y" in data else {"y": 2, "baseline": "top", "fontWeight": 600}
    if chart.x.names is not None:
        style |= {"align": "center", "dx": 0}
    return {"data": {"values": rows}, "mark": style, "encoding": encoding}


def _axis(name: str, axis: Axis) -> dict[str, Any]:
    """Return the encoding of the values along an axis."""
    look: dict[str, Any] = {"tickCount": 6}
    scale: dict[str, Any] = {"type": axis.scale, "nice": axis.ticks is None}
    more: dict[str, dict[str, Any]] = {
        "linear": {"zero": False},
        "log": {"base": 2},
        "symlog": {"constant": axis.linear_below},
    }
    scale |= more[axis.scale]
    if axis.names is not None:
        turned = {"orient": "top", "labelAngle": -60, "labelFontSize": 10} if name == "x" else {}
        look, scale = {"ticks": False, "labels": len(axis.names) <= 40, **turned}, {"domain": list(axis.names)}
    elif axis.ends is not None:
        scale["domain"] = list(axis.ends)
    if axis.percent:
        look["format"] = ".0%"
    if axis.integers:
        look["tickMinStep"] = 1
    if axis.ticks is not None:
        labels = {"values": list(axis.ticks), "labelExpr": "toString(datum.value)", "labelOverlap": False}
        look = labels if len(axis.ticks) else {"labels": False, "ticks": False, "grid": False}
    kind = "quantitative" if axis.names is None else "nominal"
    return {"field": name, "type": kind, "title": axis.title, "scale": scale, "axis": look}
