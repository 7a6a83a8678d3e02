"""A chart: one Vega-Lite specification, which the page and notebooks show and vl-convert writes as SVG or PNG."""

from __future__ import annotations

import functools
import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from similitude.support import Curve, check_choice, check_place, complete_file, missing_extra

# Colors are variables of the page's style sheet, so that charts follow its light and dark schemes.
BLUE = "var(--c0)"
ORANGE = "var(--c1)"
PURPLE = "var(--c2)"
QUIET = "var(--quiet)"
INK = "var(--ink)"
SOFT_INK = "var(--soft-ink)"

VEGA_LITE = "6.4"

THEME: dict[str, Any] = {
    "background": "transparent",
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": SOFT_INK,
        "titleColor": INK,
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
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 12,
        "orient": "top",
        "title": None,
        "labelLimit": 160,
        "columns": {"expr": "max(1, floor(width / 110))"},
    },
    "title": {"anchor": "start", "color": INK, "fontSize": 13, "fontWeight": 500, "offset": 12},
    "mark": {"opacity": 1},
    "bar": {"cornerRadiusEnd": 3},
    "point": {"filled": True, "size": 45},
    "text": {"align": "left", "dx": 5, "fontSize": 12},
    "tick": {"thickness": 2, "height": 14},
}
"""The style of all charts."""

CHANNELS: dict[str, dict[str, Any]] = {
    "x": {},
    "y": {},
    "x2": {},
    "y2": {},
    "text": {},
    "url": {},
    "size": {"type": "quantitative", "legend": None, "scale": {"range": [40, 260], "zero": True}},
    "opacity": {"type": "quantitative", "legend": None, "scale": {"domain": [0, 1], "range": [0, 1]}},
}
"""The columns of data that Vega-Lite draws by; `marks` names them so."""


@dataclass(frozen=True, eq=False)
class Chart:
    """A chart, which notebooks show and `save` writes to a file.

    Attributes
    ----------
    name : str
        Its identifier in the page.
    finding : str
        A sentence that says what it shows, also for those who cannot see it.
    spec : dict
        The Vega-Lite specification, in the colors of the page's style sheet and as wide as its place there.
    columns : tuple of str
        The column titles of the table of numbers.
    rows : list of tuples
        The numbers.
    square : bool
        Whether it is about as wide as high.

    Examples
    --------
    >>> from similitude.data.datasets import iris
    >>> from similitude.report import figures, investigate
    >>> chart = figures.spectrum(investigate("gaussian", *iris()))
    >>> chart.finding[:36], chart.to_dict()["width"]
    ('None of the 150 eigenvalues is negat', 480)
    """

    name: str
    finding: str
    spec: dict[str, Any]
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    square: bool = False

    def __repr__(self) -> str:
        return f"Chart({self.name!r}: {self.finding})"

    def to_dict(self, *, dark: bool = False) -> dict[str, Any]:
        """Return a complete Vega-Lite specification, with the sentence as its title and light or dark colors."""
        width = 360 if self.square else 480
        title = {"text": textwrap.wrap(self.finding, width // 7)}
        look = {"width": width, "autosize": "pad", "padding": 12, "title": title}
        look["config"] = THEME | {"background": "var(--card)"}
        colors = _colors(dark)
        text = json.dumps({**self.spec, **look})
        resolved: dict[str, Any] = json.loads(
            re.sub(r"var\(--([\w-]+)\)", lambda found: colors.get(found[1], found[0]), text)
        )
        return resolved

    def save(self, path: Any, *, dark: bool = False) -> None:
        """Write the chart to a file: SVG, PNG or its Vega-Lite specification (``.json``), by the suffix of its name."""
        form = Path(path).suffix.lower().lstrip(".")
        check_choice("the suffix", form, ("svg", "png", "json"))
        place = check_place(path)
        spec = self.to_dict(dark=dark)
        if form == "png":
            content = bytes(_converter().vegalite_to_png(spec, vl_version=VEGA_LITE, scale=2))
        else:
            content = (self._svg(spec) if form == "svg" else json.dumps(spec)).encode()
        with complete_file(place) as file:
            file.write(content)

    def _repr_svg_(self) -> str:
        return self._svg(self.to_dict())

    @staticmethod
    def _svg(spec: dict[str, Any]) -> str:
        return str(_converter().vegalite_to_svg(spec, vl_version=VEGA_LITE))


def _converter() -> Any:
    try:
        import vl_convert
    except ImportError:
        raise missing_extra("report", "a chart as SVG or PNG") from None
    return vl_convert


@functools.cache
def _colors(dark: bool) -> dict[str, str]:
    """Return the light or dark colors of the page's style sheet, by the names of their variables."""
    style = resources.files("similitude.report.render").joinpath("templates", "page.css").read_text(encoding="utf-8")
    pairs = re.findall(r"--([\w-]+): light-dark\((#\w+), (#\w+)\)", style)
    return {name: night if dark else day for name, day, night in pairs}


def chart(
    name: str,
    finding: str,
    x: dict[str, Any],
    y: dict[str, Any],
    layers: list[dict[str, Any]],
    table: Mapping[str, Any],
    height: int = 240,
    square: bool = False,
) -> Chart:
    """Return a chart of layers (see `marks`) on two axes (see `axis`), and its numbers as a table by column."""
    named = {one["encoding"]["color"]["datum"]: one["mark"]["color"] for one in layers if "color" in one["encoding"]}
    color = {"type": "nominal", "scale": {"domain": list(named), "range": list(named.values())}}
    for layer in layers:
        for channel, look in {"x": x, "y": y, "color": color}.items():
            if channel in layer["encoding"]:
                layer["encoding"][channel] |= look
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "width": "container",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "layer": layers,
    }
    return Chart(name, finding, spec, tuple(table), table_rows(*table.values()), square)


def axis(
    title: str | None = None,
    *,
    ends: tuple[float, float] | None = None,
    percent: bool = False,
    integers: bool = False,
    ticks: Sequence[float] | None = None,
    **scale: Any,
) -> dict[str, Any]:
    """Return an axis of numbers, without labels if `ticks` is empty; `scale` holds properties of Vega-Lite's scale."""
    look: dict[str, Any] = {"tickCount": 6}
    scale = {"nice": ticks is None} | ({} if "type" in scale else {"zero": False}) | scale
    if ends is not None:
        scale["domain"] = list(ends)
    if percent:
        look["format"] = ".0%"
    if integers:
        look["tickMinStep"] = 1
    if ticks is not None:
        look = {"values": list(ticks), "labelExpr": "toString(datum.value)", "labelOverlap": False}
        look |= {} if len(ticks) else {"labels": False, "ticks": False, "grid": False}
    return {"type": "quantitative", "title": title, "scale": scale, "axis": look}


def names_axis(names: Sequence[str], title: str | None = None, **look: Any) -> dict[str, Any]:
    """Return an axis of categories, from the left or from the top; `look` holds properties of Vega-Lite's axis."""
    look = {"ticks": False, "labels": len(names) <= 40, **look}
    return {"type": "nominal", "title": title, "scale": {"domain": list(names)}, "axis": look}


def marks(
    kind: str,
    data: Mapping[str, Any],
    color: str = BLUE,
    name: str | None = None,
    hover: Mapping[str, str] | None = None,
    **style: Any,
) -> dict[str, Any]:
    """Return a layer of marks, one for each row of the data; `name` is its legend, `hover` has titles of columns."""
    rows = [dict(zip(data, row, strict=True)) for row in table_rows(*data.values())]
    encoding: dict[str, Any] = {one: {"field": one, **look} for one, look in CHANNELS.items() if one in data}
    if hover:
        encoding["tooltip"] = [{"field": field, "title": title} for field, title in hover.items()]
    if name is not None:
        encoding["color"] = {"datum": name}
    return {"data": {"values": rows}, "mark": {"type": kind, "color": color, **style}, "encoding": encoding}


def rounded(value: Any) -> Any:
    """Round a number to four significant digits, to keep the page small; None if it is not finite."""
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.4g}") if np.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value


def table_rows(*columns: Any) -> list[tuple[Any, ...]]:
    """Return columns as rows of rounded numbers."""
    return [tuple(map(rounded, row)) for row in zip(*columns, strict=True)]


def curve_marks(curve: Curve, x: str, y: str, color: str = BLUE, name: str | None = None) -> list[dict[str, Any]]:
    """Return a line with points, and its interval as a band."""
    data = {"x": curve.x, "y": curve.y, "low": curve.low, "high": curve.high}
    hover = {"x": x, "y": y, "low": "interval from", "high": "interval to"}
    return [
        marks("area", {"x": curve.x, "y": curve.low, "y2": curve.high}, color, opacity=0.18, clip=True),
        marks("line", data, color, name, strokeWidth=2.5),
        marks("point", data, color, hover=hover),
    ]


def line_at(**place: float) -> dict[str, Any]:
    """Return a dashed line across the chart at one value of x or y."""
    return marks("rule", {channel: [value] for channel, value in place.items()}, SOFT_INK, strokeDash=[4, 3])


def diagonal(low: float, high: float) -> dict[str, Any]:
    """Return the dashed line on which x equals y."""
    return marks("line", {"x": [low, high], "y": [low, high]}, SOFT_INK, strokeWidth=1, strokeDash=[4, 3])
