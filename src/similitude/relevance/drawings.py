"""Objects with their parts marked by what these add to a score: in text, and as HTML with SVG."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.kernels.graphs import parse_graph
from similitude.relevance.graph_layout import MOST_DRAWN_NODES, framed_positions
from similitude.support import Html, bar_from_middle, escaped, joined, notes, table

BAR_LEVELS = " ▁▂▃▄▅▆▇█"
"""Bars by height."""

MOST_NAMED_PARTS = 12
"""Parts that a table names."""


def text_of(found: Any) -> str:
    """Return an attribution as text: a string with bars for each letter, or a table of the largest parts."""
    return _string(found) if found.kind == "strings" else _table(found)


def _largest(found: Any) -> float:
    return float(np.abs(found.values).max(initial=0.0)) or 1.0


def _string(found: Any) -> str:
    """Return lines of 80 letters; bars above show what speaks for the prediction, bars below what is against."""
    levels = np.rint(8 * found.values / _largest(found)).astype(int)
    above, below = ("".join([BAR_LEVELS[level] for level in side.clip(0)]) for side in (levels, -levels))
    text = "".join([letter if letter.isprintable() else "·" for letter in "".join(found.parts)])
    lines = []
    for start in range(0, len(text), 80):
        cut = slice(start, start + 80)
        bars = above[cut].rstrip(), below[cut].rstrip()
        lines += [f"  for      {bars[0]}", f"           {text[cut]}", f"  against  {bars[1]}"]
    return "\n".join(lines)


def _table(found: Any) -> str:
    largest = _largest(found)
    width = max(map(len, found.parts), default=0)
    lines = []
    for i in found.order[:MOST_NAMED_PARTS]:
        bar = ("█" if found.values[i] >= 0 else "░") * round(20 * abs(found.values[i]) / largest)
        lines.append(f"  {found.values[i]:+9.3g}  {found.parts[i]:{width}}  {bar}".rstrip())
    rest = found.order[MOST_NAMED_PARTS:]
    if len(rest):
        lines.append(f"  {found.values[rest].sum():+9.3g}  {len(rest):,} other parts")
    return "\n".join(lines)


def drawing_of(found: Any) -> Html:
    """Return an attribution as HTML: colored letters, a colored curve or graph, or a table with bars."""
    return {"strings": _letters, "series": _curve, "graphs": _graph}.get(found.kind, _cells)(found)


def shade(value: float, largest: float) -> str:
    """Return a color, defined by the page: blue for what speaks for a prediction, orange for what speaks against it."""
    color = "var(--c0)" if value >= 0 else "var(--c1)"
    return f"color-mix(in srgb, {color} {70 * min(1.0, abs(value) / (largest or 1.0)):.0f}%, transparent)"


def _letters(found: Any) -> Html:
    largest = _largest(found)
    spans = [
        f'<span style="background:{shade(value, largest)}" title="{value:+.3g}">{escaped(letter)}</span>'
        for letter, value in zip(found.parts[:2000], found.values.tolist(), strict=False)
    ]
    more = len(found.parts) - len(spans)
    text = f'<code class="drawing sequence" style="overflow-wrap:anywhere">{"".join(spans)}</code>'
    return joined(Html(text), notes([f"and {more:,} more letters"] if more else []))


def _cells(found: Any) -> Html:
    shares = found.values / _largest(found)
    rows = [(bar_from_middle(shares[i]), f"{found.values[i]:+.4g}", found.parts[i]) for i in found.order]
    return table(("against | for", "adds", "part"), rows, numbers=(1,), noun="parts", most=MOST_NAMED_PARTS)


def _curve(found: Any) -> Html:
    """Return a series as a curve, on a ground that is colored by segment."""
    width, height = 240, 90
    values = np.asarray(found.object, dtype=float)
    values = values.reshape(len(values), -1)
    largest = _largest(found)
    step = width / max(len(values) - 1, 1)
    heights = height - 5 - (height - 10) * (values - values.min()) / (float(np.ptp(values)) or 1.0)
    drawn = [
        f'<rect x="{step * a:.1f}" y="0" width="{step * (b - a):.1f}" height="{height}" '
        f'style="fill:{shade(value, largest)}"><title>{escaped(name)}: {value:+.4g}</title></rect>'
        for (a, b), name, value in zip(found.places, found.parts, found.values.tolist(), strict=True)
    ]
    for channel, line in enumerate(heights.T):
        pairs = zip(*thinned(line, max(400 // heights.shape[1], 2)), strict=True)
        points = " ".join([f"{step * t:.1f},{y:.1f}" for t, y in pairs])
        drawn.append(f'<polyline class="line-{channel % 10}" points="{points}" fill="none" stroke="currentColor"/>')
    return _svg(drawn, width, height, "series, colored by what its segments add", "series")


def thinned(values: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and values; of a long series, the lowest and the highest of each segment, in order."""
    if len(values) <= most:
        return np.arange(len(values)), values
    segments = np.array_split(np.arange(len(values)), most // 2)
    filled = np.where(np.isfinite(values), values, 0.0)
    kept = np.unique([part[k] for part in segments for k in (filled[part].argmin(), filled[part].argmax())])
    return kept, values[kept]


def _graph(found: Any) -> Html:
    """Return a graph with colored nodes and edges, or a table if there are too many."""
    graph = parse_graph(0, found.object)
    if graph.nodes > MOST_DRAWN_NODES:
        return _cells(found)
    at, width, height = framed_positions(graph.nodes, graph.ends)
    largest = _largest(found)
    value_of = dict(zip(found.places, found.values.tolist(), strict=True))
    drawn = []
    for u, v in graph.ends.tolist():
        ends = f'd="M{at[u, 0]:.1f} {at[u, 1]:.1f}L{at[v, 0]:.1f} {at[v, 1]:.1f}"'
        if (u, v) in value_of:
            drawn.append(f'<path {ends} style="stroke:{shade(value_of[u, v], largest)};stroke-width:8"/>')
        drawn.append(f'<path class="edges" {ends} stroke="currentColor" stroke-opacity=".5"/>')
    for node, (x, y) in enumerate(at.tolist()):
        value = value_of.get(node, 0.0)
        label = "" if graph.labels is None else escaped(str(graph.labels[node])[:2])
        place = f'cx="{x:.1f}" cy="{y:.1f}" r="8"'
        drawn.append(
            f"<g><title>{escaped(found.parts[node])}: {value:+.3g}</title>"
            f'<circle {place} style="fill:var(--card, Canvas)"/>'
            f'<circle {place} style="fill:{shade(value, largest)};stroke:currentColor;stroke-opacity:.5"/>'
            f'<text x="{x:.1f}" y="{y:.1f}" dy=".35em" text-anchor="middle" font-size="9" '
            f'style="fill:currentColor">{label}</text></g>'
        )
    return _svg(drawn, width, height, "graph, colored by what its nodes and edges add", "graph")


def _svg(drawn: list[str], width: float, height: float, label: str, kind: str) -> Html:
    return Html(
        f'<svg class="drawing {kind}" viewBox="0 0 {width:g} {height:g}" width="{width:g}" role="img" '
        f'aria-label="{label}" xmlns="http://www.w3.org/2000/svg">{"".join(drawn)}</svg>'
    )
