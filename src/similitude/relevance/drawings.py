"""Objects with their parts marked by what these add to a score: in text, and as HTML with SVG."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.support import Html, bar_from_middle, escaped, joined, notes, table

FOR, AGAINST = (31, 106, 196), (214, 97, 36)
"""Colors, as red, green and blue, of what speaks for the prediction and of what speaks against it."""

MOST_OPAQUE = 0.65
"""Of colors: text on them is legible in light and in dark pages."""

BAR_LEVELS = " ▁▂▃▄▅▆▇█"
"""Bars by height."""

LETTERS_PER_LINE = 80
"""Letters of a string on a line of text."""

LETTERS_SHOWN = 2000
"""Letters of a string that a notebook shows; the others are counted."""

MOST_ROWS = 12
"""Parts that a table names."""

WIDTH, HEIGHT = 420, 180
"""Of the drawing of a series or a graph, in pixels."""


def text_of(found: Any) -> str:
    """Return an attribution as text: a string with bars for each letter, or a table of the largest parts."""
    if found.kind == "strings":
        return _string(found)
    return _table(found)


def _string(found: Any) -> str:
    """Return a string in lines; bars above each letter show what speaks for the prediction, below what is against."""
    largest = float(np.abs(found.values).max(initial=0.0)) or 1.0
    levels = np.rint(8 * found.values / largest).astype(int)
    text = "".join(found.parts)
    lines = []
    for start in range(0, len(text), LETTERS_PER_LINE):
        cut = slice(start, start + LETTERS_PER_LINE)
        lines += [
            "  for      " + "".join([BAR_LEVELS[max(level, 0)] for level in levels[cut]]).rstrip(),
            "           " + "".join([letter if letter.isprintable() else "·" for letter in text[cut]]),
            "  against  " + "".join([BAR_LEVELS[max(-level, 0)] for level in levels[cut]]).rstrip(),
        ]
    return "\n".join(lines)


def _table(found: Any) -> str:
    largest = float(np.abs(found.values).max(initial=0.0)) or 1.0
    width = max([len(name) for name in found.parts], default=0)
    lines = []
    for i in found.order[:MOST_ROWS]:
        bar = ("█" if found.values[i] >= 0 else "░") * round(20 * abs(found.values[i]) / largest)
        lines.append(f"  {found.values[i]:+9.3g}  {found.parts[i]:{width}}  {bar}".rstrip())
    rest = found.order[MOST_ROWS:]
    if len(rest):
        lines.append(f"  {found.values[rest].sum():+9.3g}  {len(rest):,} other parts")
    return "\n".join(lines)


def drawing_of(found: Any) -> Html:
    """Return an attribution as HTML: colored letters, a colored curve or graph, or a table with bars."""
    return {"strings": _letters, "series": _curve, "graphs": _graph}.get(found.kind, _cells)(found)


def color(value: float, largest: float) -> str:
    """Return a color: blue for what speaks for the prediction, orange for what is against, pale for little."""
    share = MOST_OPAQUE * min(1.0, abs(value) / (largest or 1.0))
    red, green, blue = FOR if value >= 0 else AGAINST
    return f"rgba({red},{green},{blue},{share:.3f})"


def _letters(found: Any) -> Html:
    largest = float(np.abs(found.values).max(initial=0.0))
    spans = [
        f'<span style="background:{color(value, largest)}" title="{value:+.4g}">{escaped(letter)}</span>'
        for letter, value in zip(found.parts[:LETTERS_SHOWN], found.values.tolist(), strict=False)
    ]
    more = len(found.parts) - len(spans)
    text = f'<div style="font-family:monospace;overflow-wrap:anywhere">{"".join(spans)}</div>'
    return joined(Html(text), notes([f"and {more:,} more letters"] if more else []))


def _cells(found: Any) -> Html:
    largest = float(np.abs(found.values).max(initial=0.0)) or 1.0
    rows = [
        (bar_from_middle(found.values[i] / largest), f"{found.values[i]:+.4g}", found.parts[i]) for i in found.order
    ]
    return table(("against | for", "adds", "part"), rows, numbers=(1,), noun="parts", most=MOST_ROWS)


def _curve(found: Any) -> Html:
    """Return a series as a curve, on a ground that is colored by segment."""
    values = np.asarray(found.object, dtype=float)
    values = values[:, None] if values.ndim == 1 else values
    largest, n = float(np.abs(found.values).max(initial=0.0)), max(len(values) - 1, 1)
    low, high = float(values.min()), float(values.max())
    ground = [
        f'<rect x="{WIDTH * a / n:.1f}" y="0" width="{WIDTH * (b - a) / n:.1f}" height="{HEIGHT}" '
        f'fill="{color(value, largest)}"><title>{escaped(name)}: {value:+.4g}</title></rect>'
        for (a, b), name, value in zip(found.places, found.parts, found.values.tolist(), strict=True)
    ]
    lines = []
    for channel in values.T:
        heights = HEIGHT - 10 - (HEIGHT - 20) * (channel - low) / ((high - low) or 1.0)
        points = " ".join([f"{WIDTH * t / n:.1f},{y:.1f}" for t, y in enumerate(heights.tolist())])
        lines.append(f'<polyline points="{points}" fill="none" stroke="currentColor" stroke-width="1.5"/>')
    return _svg("".join(ground + lines), "a series, colored by what its segments add")


def _graph(found: Any) -> Html:
    """Return a graph with colored nodes and edges."""
    from similitude.kernels.graphs import parse_graph

    graph = parse_graph(0, found.object)
    at, largest = _layout(graph.nodes, graph.ends), float(np.abs(found.values).max(initial=0.0))
    value_of = dict(zip(found.places, found.values.tolist(), strict=True))
    drawn = []
    for u, v in graph.ends.tolist():
        (x, y), (z, w) = at[u], at[v]
        value = value_of.get((u, v))
        shade = (
            ""
            if value is None
            else (
                f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{z:.1f}" y2="{w:.1f}" stroke="{color(value, largest)}" '
                f'stroke-width="9" stroke-linecap="round"><title>{value:+.4g}</title></line>'
            )
        )
        line = f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{z:.1f}" y2="{w:.1f}" stroke="currentColor" stroke-opacity=".5"/>'
        drawn.append(shade + line)
    for node in range(graph.nodes):
        (x, y), value = at[node], value_of.get(node, 0.0)
        label = "" if graph.labels is None else escaped(str(graph.labels[node]))
        drawn.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="11" fill="white" stroke="currentColor" stroke-opacity=".5"/>'
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="11" fill="{color(value, largest)}">'
            f"<title>{escaped(found.parts[node])}: {value:+.4g}</title></circle>"
            f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle" font-size="11" fill="black">{label}</text>'
        )
    return _svg("".join(drawn), "a graph, colored by what its nodes and edges add")


def _layout(n: int, ends: np.ndarray) -> np.ndarray:
    """Return positions of nodes: on a circle, then moved by springs (Fruchterman and Reingold 1991)."""
    angles = 2 * np.pi * np.arange(n) / max(n, 1)
    at = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    ideal = 1.5 / np.sqrt(max(n, 1))
    for step in np.linspace(0.2, 0.01, 120):
        apart = at[:, None] - at
        distance = np.maximum(np.sqrt((apart**2).sum(axis=2)), 1e-3)
        force = (apart * (ideal**2 / distance**2)[:, :, None]).sum(axis=1)
        for u, v in ends.tolist():
            pull = (at[u] - at[v]) * (distance[u, v] / ideal)
            force[u] -= pull
            force[v] += pull
        length = np.maximum(np.sqrt((force**2).sum(axis=1, keepdims=True)), 1e-9)
        at = at + force / length * np.minimum(length, step)
    low, high = at.min(axis=0, initial=np.inf), at.max(axis=0, initial=-np.inf)
    span = np.where(high > low, high - low, 1.0)
    return np.array([16, 16]) + (at - low) / span * (np.array([WIDTH, HEIGHT]) - 32)


def _svg(inside: str, label: str) -> Html:
    return Html(
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{label}" '
        f'xmlns="http://www.w3.org/2000/svg">{inside}</svg>'
    )
