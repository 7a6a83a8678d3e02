"""Objects drawn as small pieces of HTML or SVG, with everything escaped."""

from __future__ import annotations

import dataclasses
import reprlib
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from difflib import SequenceMatcher
from html import escape
from itertools import groupby
from numbers import Real
from typing import Any

import numpy as np

from similitude.kernels.graphs import ParsedGraph, parse_graph
from similitude.relevance import MOST_DRAWN_NODES, framed_positions, thinned
from similitude.report.findings import is_missing
from similitude.report.render.images import data_uri, palette
from similitude.support import cut_to, four_digits

COLORS = 10
"""Number of colors for labels and channels; further ones start over."""

WIDTH = 240.0
"""Of all plots, in pixels."""


class Drawer:
    """Draws objects of one kind, each beside one that it is compared with, on one scale and in the same colors."""

    def __init__(self, draw: Callable[..., str], legend: str = "", marks: str = "") -> None:
        self.draw = draw
        self.legend = legend  # of colors and scales
        self.marks = marks  # the meaning of marked parts, where a drawing depends on what it is compared with


def drawer(
    kind: str,
    objects: list[Any],
    *,
    names: Sequence[str] | None = None,
    image_shape: tuple[int, int] | None = None,
    last: Collection[str] = (),
) -> Drawer:
    """Return the drawer for a kind of objects, which are all that it draws on one scale.

    The kind ``"any"`` is inferred from the objects; `names` are those of the coordinates of vectors, which are drawn as
    images if `image_shape` (rows, columns) is given; columns of tables in `last` come last where cells differ.
    """
    try:
        if kind not in _MAY_BE or not all(map(_MAY_BE[kind], objects)):
            kind = next((name for name, looks in _LOOKS.items() if all(map(looks, objects))), "any")
        if kind == "table":
            return _rows(objects, last)
        if kind == "vectors":
            if image_shape is not None:
                return _images(objects, image_shape)
            return _vectors(objects, names)
        return _DRAWERS.get(kind, lambda objects: plain_drawer)(objects)
    except (TypeError, ValueError):  # not of the kind that the similarity takes: a user's own encoding
        return plain_drawer


_long = reprlib.Repr()
_long.maxstring = _long.maxother = _long.maxlong = 2000
_long.maxlist = _long.maxtuple = _long.maxset = _long.maxfrozenset = _long.maxdict = _long.maxarray = 200


def full_repr(one: Any) -> str:
    """Return the repr of an object, up to 2,000 characters; if repr fails, the name of its class."""
    try:
        return _shortened(" ".join(_long.repr(one).split()), 2000)
    except Exception as error:
        return f"<{type(one).__name__}: repr failed with {type(error).__name__}>"


def _shortened(text: str, limit: int) -> str:
    """Return a text, cut to a limit with its length appended."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"


def chip(text: str, tag: str = "span", style: str = "", after: str = "") -> str:
    """Return a short text in a rounded frame."""
    return f'<{tag} class="chip"{style}>{escape(_shortened(text, 60))}{after}</{tag}>'


def _svg(body: str, width: float, height: float, label: str, kind: str) -> str:
    """Return an SVG picture with a text alternative."""
    label = escape(label)
    return (
        f'<svg class="drawing {kind}" width="{width:g}" viewBox="0 0 {width:g} {height:g}" role="img" '
        f'aria-label="{label}"><title>{label}</title>{body}</svg>'
    )


def _swatches(names: list[str], what: str) -> str:
    """Return a legend with one colored square per name."""
    items = [f'<li><span class="swatch fill-{i % COLORS}"></span>{escape(name)}</li>' for i, name in enumerate(names)]
    return f'<ul class="legend" aria-label="{what}">{"".join(items)}</ul>'


# Objects as text.


def _repr(one: Any, near: Any = None) -> str:
    full = full_repr(one)
    return f'<code class="drawing repr" title="{escape(full)}">{escape(cut_to(120, full))}</code>'


plain_drawer = Drawer(_repr)
"""Draws the repr of any object."""


def _index(one: Any, near: Any = None) -> str:
    return f'<span class="drawing text">row {int(one)} of the matrix</span>'


def _set(one: Any, near: Any = None) -> str:
    """Return a chip for each element, sorted by their texts; of many elements, the first."""
    elements = sorted(map(str, one))
    shared: dict[str, str] = {}
    if isinstance(near, (set, frozenset, list, tuple)):
        shared = dict.fromkeys(map(str, near), "mark")
    chips = [chip(element, shared.get(element, "span")) for element in elements[:40]]
    if len(elements) > len(chips):
        chips.append(f'<span class="rest">and {len(elements) - len(chips):,} more</span>')
    return f'<span class="drawing set">{" ".join(chips) or "empty set"}</span>'


def _strings(objects: list[Any]) -> Drawer:
    """Draw strings as texts if most of them contain white space, otherwise as sequences of letters."""
    with_words = sum(bool(set(_as_text(one).strip()) & set(" \n\t")) for one in objects)
    if 2 * with_words > len(objects):
        return Drawer(_words)
    return Drawer(_sequence, marks="Marked letters differ from those of the training example that decided most.")


def _as_text(one: Any) -> str:
    if isinstance(one, bytes):
        return one.decode("utf-8", "backslashreplace")
    return str(one)


def _words(one: Any, near: Any = None) -> str:
    return f'<span class="drawing text">{escape(_shortened(_as_text(one), 2000))}</span>'


def _sequence(one: Any, near: Any = None) -> str:
    """Return 600 letters, compared position by position if both have the same length, otherwise aligned."""
    text = _as_text(one)
    shown = text[:600]  # the time of an alignment grows with the square of the length
    other = shown
    if isinstance(near, (str, bytes)):
        other = _as_text(near)[:600]
    if len(shown) == len(other):
        pairs = groupby(zip(shown, other, strict=True), lambda pair: pair[0] != pair[1])
        pieces = [("".join(letter for letter, _ in piece), differs) for differs, piece in pairs]
    else:
        codes = SequenceMatcher(None, shown, other, autojunk=False).get_opcodes()
        pieces = [(shown[a:b], what != "equal") for what, a, b, _, _ in codes if b > a]
    letters = "".join(f"<mark>{escape(piece)}</mark>" if differs else escape(piece) for piece, differs in pieces)
    rest = f"… ({len(text):,} letters)" * (len(text) > len(shown))
    return f'<code class="drawing sequence">{letters}{rest}</code>'


def _rows(objects: list[Any], last: Collection[str]) -> Drawer:
    """Draw rows as column names and values; beside a near row, only the cells that differ, the most different first."""
    numbers: dict[Any, list[float]] = {}
    for one in filter(_has_fields, objects):
        for name, value in _fields(one).items():
            if _is_number(value):
                numbers.setdefault(name, []).append(float(value))
    spans = {name: max(values) - min(values) or 1.0 for name, values in numbers.items()}

    def apart(name: Any, value: Any, other: Any) -> float:
        """Return how much cells differ: 0 if they are equal, 1 if they are not numbers, or a share of the range."""
        if _shown(value) == _shown(other):
            return 0.0
        if not (_is_number(value) and _is_number(other)):
            return 1.0
        return abs(float(value) - float(other)) / spans.get(name, 1.0)

    def draw(one: Any, near: Any = None) -> str:
        """Return all cells up to 60, or the five that differ most; numbers less than 10 % apart are alike."""
        cells = _fields(one)
        limit = 120
        shown = list(cells)[:60]
        counts = {"more columns": len(cells) - len(shown)}
        if near is not None:
            limit = 40
        if _has_fields(near):
            other = _fields(near)
            far = {name: apart(name, value, other.get(name)) for name, value in cells.items()}
            differing = [name for name in cells if far[name] > 0.1]
            shown = sorted(differing, key=lambda name: (str(name) in last, -far[name]))[:5]
            counts = {"alike": len(cells) - len(differing), "more that differ": len(differing) - len(shown)}
        items = [(_shortened(str(name), 60), _shortened(_shown(cells[name]), limit)) for name in shown]
        more = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
        items += [("and", more)] * bool(more)
        rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in items)
        return f'<dl class="drawing row">{rows}</dl>'

    marks = "Only cells that differ from those of the training example that decided most; details have all."
    return Drawer(draw, marks=marks)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and float(value) == float(value)


def _has_fields(one: Any) -> bool:
    """Whether an object is a row: a mapping or a dataclass."""
    return isinstance(one, Mapping) or (dataclasses.is_dataclass(one) and not isinstance(one, type))


def _fields(one: Any) -> Mapping[Any, Any]:
    if isinstance(one, Mapping):
        return one
    return {field.name: getattr(one, field.name) for field in dataclasses.fields(one)}


def _shown(value: Any) -> str:
    if isinstance(value, Set):
        return ", ".join(sorted(map(str, value)))
    if is_missing(value):
        return "missing"
    return four_digits(value)


# Vectors and series.


def _dense(one: Any) -> np.ndarray:
    if hasattr(one, "toarray"):
        one = one.toarray()
    return np.asarray(one, dtype=float).ravel()


def _vectors(objects: list[Any], names: Sequence[str] | None) -> Drawer:
    """Draw up to eight numbers as a list with bars, and more as bars alone; units differ if magnitudes do fivefold."""
    rows = [_dense(one) for one in objects]
    length = max(map(len, rows), default=0)
    same = np.array([row for row in rows if len(row) == length]).reshape(-1, length)
    largest = np.nan_to_num(np.abs(same)).max(axis=0, initial=1e-300)
    if not length:
        largest = np.ones(1)
    units = bool(largest.max() > 5 * max(float(np.median(largest)), 1e-300))

    def listed(values: np.ndarray) -> str:
        sizes = np.resize(largest, len(values))
        shares = np.nan_to_num(np.minimum(np.abs(values) / sizes, 1.0)) * np.isfinite(values)
        called: Sequence[str] = [f"x{i}" for i in range(len(values))]
        if names is not None and len(names) == length:
            called = names
        items = [
            f"<div><dt>{escape(name)}</dt><dd>{four_digits(value)}</dd>"
            f'<dd class="bar{" below" * (value < 0)}" aria-hidden="true">'
            f'<span style="width:{100 * share:.0f}%"></span></dd></div>'
            for name, value, share in zip(called, values.tolist(), shares.tolist(), strict=False)
        ]
        return f'<dl class="drawing vector">{"".join(items)}</dl>'

    def draw(one: Any, near: Any = None) -> str:
        values = _dense(one)
        if len(values) <= 8:
            return listed(values)
        shown = np.nan_to_num(values[:240], posinf=0.0, neginf=0.0)
        most = max(float(largest.max(initial=0.0)), float(np.abs(shown).max(initial=0.0)))
        if units and len(values) == length:
            shown = np.clip(shown / largest[: len(shown)], -1.0, 1.0)
            most = 1.0
        height = 70.0
        low = height - 1
        if (shown < 0).any():
            low = height / 2
        step = WIDTH / len(shown)
        heights = shown / most * (low - 1)
        drawn = ""
        for color, side in enumerate((np.maximum(heights, 0), np.minimum(heights, 0))):
            bars = [f"M{i * step:.1f} {low:g}v{-side[i]:.1f}h{0.8 * step:.1f}V{low:g}" for i in np.flatnonzero(side)]
            drawn += f'<path class="fill-{color}" d="{"".join(bars)}"/>' * bool(bars)
        label = f"vector of {len(values)} numbers, the first {', '.join(map(four_digits, values[:4].tolist()))}"
        return _svg(f'{drawn}<path class="zero" d="M0 {low:g}H{WIDTH:g}"/>', WIDTH, height, label, "bars")

    scale = "all on one scale"
    if units:
        scale = "each relative to the largest of its component"
    legend = f'<p class="legend">A bar for each of {length:,} components, {scale}.</p>'
    return Drawer(draw, legend * (length > 8))


def _images(objects: list[Any], shape: tuple[int, int]) -> Drawer:
    """Draw vectors as gray images on one scale, dark for small numbers."""
    values = np.concatenate([_dense(one) for one in objects] or [np.zeros(1)])
    low = float(np.nanmin(values))
    span = float(np.nanmax(values)) - low or 1.0
    rows, columns = shape

    def draw(one: Any, near: Any = None) -> str:
        share = (np.nan_to_num(_dense(one).reshape(shape)) - low) / span
        address = data_uri(share, palette(("000000", "ffffff")))
        return f'<img class="drawing image" alt="image of {rows} x {columns} points" src="{address}">'

    return Drawer(draw)


def _values(one: Any) -> np.ndarray:
    """Return a series as an array of shape (time, channel)."""
    array = np.atleast_1d(np.asarray(one, dtype=float))
    return array.reshape(len(array), -1)


def _series(objects: list[Any]) -> Drawer:
    """Draw series as lines of 400 points in all, at most twelve of them, on one vertical scale."""
    arrays = [_values(one) for one in objects]
    finite = np.concatenate([array[np.isfinite(array)] for array in arrays] or [np.zeros(0)])
    if not len(finite):
        finite = np.array([0.0, 1.0])
    low = float(finite.min())
    high = float(finite.max())
    channels = max((array.shape[1] for array in arrays), default=1)
    most, height, padding = 12, 90.0, 4.0

    def heights(values: np.ndarray) -> Any:
        return height - padding - (values - low) / (high - low or 1.0) * (height - 2 * padding)

    def line(values: np.ndarray, n_points: int) -> str:
        at, values = thinned(values, n_points)
        x = padding + at / max(at.max(initial=1), 1.0) * (WIDTH - 2 * padding)
        there = np.isfinite(values)
        return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x[there], heights(values[there]), strict=True))

    def draw(one: Any, near: Any = None) -> str:
        values = _values(one)
        drawn = min(values.shape[1], most)
        lines = f'<path class="zero" d="M0 {heights(np.zeros(1))[0]:.1f}H{WIDTH:g}"/>' * (low < 0 < high)
        for channel in range(drawn):
            lines += f'<polyline class="line-{channel % COLORS}" points="{line(values[:, channel], 400 // drawn)}"/>'
        label = f"series of {len(values)} times" + f" and {values.shape[1]} channels" * (values.shape[1] > 1)
        known = values[np.isfinite(values)]
        if len(known):
            label += f", from {four_digits(float(known.min()))} to {four_digits(float(known.max()))}"
        return _svg(lines, WIDTH, height, label, "series")

    legend = f'<p class="legend">All plots have the same scale, {four_digits(low)} to {four_digits(high)}.</p>'
    if channels > COLORS:
        only = f"; the first {most} are drawn" * (channels > most)
        legend += f'<p class="legend">{channels} channels, one line each{only}.</p>'
    elif channels > 1:
        legend += _swatches([f"channel {i}" for i in range(channels)], "channels")
    return Drawer(draw, legend)


# Graphs.


def _parse(one: Any) -> ParsedGraph | None:
    try:
        return parse_graph(0, one)
    except (TypeError, ValueError, AttributeError):
        return None


def _graphs(objects: list[Any]) -> Drawer:
    """Draw graphs as nodes and edges; a label has the same color in all of them."""
    graphs = filter(None, map(_parse, objects))
    counts = Counter(str(label) for graph in graphs for label in graph.labels or ())
    names = sorted(counts, key=lambda label: (-counts[label], label))
    colors = {label: i % COLORS for i, label in enumerate(names)}

    def draw(one: Any, near: Any = None) -> str:
        graph = _parse(one)
        if graph is None:
            return _repr(one, near)
        labels = list(map(str, graph.labels or ()))
        of = ", ".join(f"{count} {label}" for label, count in Counter(labels).most_common(5))
        title = f"graph with {graph.nodes} nodes and {len(graph.ends)} edges{of and f': {of}'}"
        if graph.nodes > MOST_DRAWN_NODES:
            return f'<span class="drawing text">{escape(title)}</span>'
        at, width, height = framed_positions(graph.nodes, graph.ends)
        edges = "".join(f"M{at[u, 0]:.1f} {at[u, 1]:.1f}L{at[v, 0]:.1f} {at[v, 1]:.1f}" for u, v in graph.ends.tolist())
        drawn = f'<path class="edges" d="{edges}"/>'
        if graph.labels is None:
            drawn += "".join(f'<circle class="fill-0" cx="{x:.1f}" cy="{y:.1f}" r="5"/>' for x, y in at.tolist())
        for (x, y), label in zip(at.tolist(), labels, strict=False):
            drawn += (
                f'<circle class="fill-{colors.get(label, 0)}" cx="{x:.1f}" cy="{y:.1f}" r="8"/>'
                f'<text x="{x:.1f}" y="{y:.1f}" dy=".35em">{escape(label[:2])}</text>'
            )
        return _svg(drawn, width, height, title, "graph")

    return Drawer(draw, _swatches(names[:COLORS], "node labels") * bool(names))


# Kinds.


def _is_vector(one: Any) -> bool:
    if isinstance(one, np.ndarray):
        return one.ndim == 1 and one.dtype.kind in "fiub"
    return hasattr(one, "toarray") and one.shape[0] == 1


def _is_numbers(one: Any) -> bool:
    return _is_vector(one) or isinstance(one, (list, tuple, np.ndarray)) or hasattr(one, "to_numpy")


_DRAWERS: dict[str, Callable[[list[Any]], Drawer]] = {
    "strings": _strings,
    "series": _series,
    "graphs": _graphs,
    "indices": lambda objects: Drawer(_index),
    "sets": lambda objects: Drawer(
        _set, marks="Marked elements are shared with the training example that decided most."
    ),
}

_LOOKS: dict[str, Callable[[Any], bool]] = {
    "strings": lambda one: isinstance(one, (str, bytes)),
    "sets": lambda one: isinstance(one, (set, frozenset)),
    "table": _has_fields,
    "vectors": _is_vector,
    "graphs": lambda one: _parse(one) is not None,
}
"""Tests that identify objects of unknown kind."""

_MAY_BE: dict[str, Callable[[Any], bool]] = {
    **_LOOKS,
    "vectors": _is_numbers,
    "series": _is_numbers,
    "indices": lambda one: isinstance(one, (int, np.integer)),
    "sets": lambda one: isinstance(one, (set, frozenset, list, tuple)),
}
"""Tests whether an object may be of a known kind."""
