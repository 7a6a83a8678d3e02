"""Graphs drawn as nodes and edges, with labels as letters on colored nodes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from similitude.kernels.graphs import ParsedGraph, parse_graph
from similitude.report.render.drawings.drawer import Drawer
from similitude.report.render.drawings.graph_layout import positions
from similitude.report.render.drawings.html_snippets import PALETTE_SIZE, escaped, picture, shade, swatches

STEP, RADIUS, MARGIN = 26.0, 8.0, 12.0
WIDEST, HIGHEST = 260.0, 200.0

NODES = 150
"""Largest number of nodes of a graph that is drawn."""

LABEL_LETTERS = 2
"""Letters of a label that fit into a node."""


class GraphDrawer(Drawer):
    """Draws graphs; a label has the same color in all of them.

    >>> graphs = GraphDrawer([([(0, 1)], ["C", "O"])])
    >>> graphs.draw(([(0, 1)], ["C", "O"])).count("<circle")
    2
    """

    def __init__(self, objects: list[Any]) -> None:
        graphs = [_parse(one) for one in objects]
        counts = Counter(str(label) for graph in graphs for label in _labels(graph))
        self.labels = sorted(counts, key=lambda label: (-counts[label], label))
        self.color = {label: i % PALETTE_SIZE for i, label in enumerate(self.labels)}

    def draw(self, one: Any, near: Any = None) -> str:
        """Return the drawing, or a description if there are too many nodes."""
        graph = _parse(one)
        label = _described(graph)
        if graph is None or graph.nodes > NODES:
            return super().draw(one) if graph is None else f'<span class="drawing text">{escaped(label)}</span>'
        at, width, height = _framed(positions(graph.nodes, graph.ends))
        edges = "".join(f"M{at[u, 0]:.1f} {at[u, 1]:.1f}L{at[v, 0]:.1f} {at[v, 1]:.1f}" for u, v in graph.ends.tolist())
        return picture(f'<path class="edges" d="{edges}"/>{self._nodes(graph, at)}', width, height, label, "graph")

    def draw_parts(self, one: Any, value_of: dict[Any, float]) -> str:
        """Return the drawing with nodes and edges colored by what they add to a score, those that have a value."""
        graph = _parse(one)
        if graph is None or graph.nodes > NODES:
            return self.draw(one)
        at, width, height = _framed(positions(graph.nodes, graph.ends))
        largest, drawn = max(map(abs, value_of.values()), default=0.0), []
        for u, v in graph.ends.tolist():
            ends = f'd="M{at[u, 0]:.1f} {at[u, 1]:.1f}L{at[v, 0]:.1f} {at[v, 1]:.1f}"'
            if (u, v) in value_of:
                drawn.append(f'<path {ends} style="stroke:{shade(value_of[u, v], largest)};stroke-width:8"/>')
            drawn.append(f'<path class="edges" {ends}/>')
        for node, (x, y) in enumerate(at.tolist()):
            value = value_of.get(node, 0.0)
            label = "" if graph.labels is None else escaped(str(graph.labels[node])[:LABEL_LETTERS])
            place = f'cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS:g}"'
            drawn.append(
                f'<g><title>{value:+.3g}</title><circle {place} style="fill:var(--card)"/>'
                f'<circle {place} style="fill:{shade(value, largest)};stroke:var(--soft-ink)"/>'
                f'<text x="{x:.1f}" y="{y:.1f}" dy=".35em" style="fill:var(--ink)">{label}</text></g>'
            )
        return picture("".join(drawn), width, height, "graph, colored by what its nodes and edges add", "graph")

    def legend(self) -> str:
        """Return the labels with their colors."""
        named = self.labels[:PALETTE_SIZE]
        return swatches(named, "node labels") if named else ""

    def _nodes(self, graph: ParsedGraph, at: np.ndarray) -> str:
        if graph.labels is None:
            return "".join(f'<circle class="fill-0" cx="{x:.1f}" cy="{y:.1f}" r="5"/>' for x, y in at.tolist())
        drawn = []
        for (x, y), label in zip(at.tolist(), map(str, graph.labels), strict=True):
            color = self.color.get(label, 0)
            drawn.append(
                f'<circle class="fill-{color}" cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS:g}"/>'
                f'<text x="{x:.1f}" y="{y:.1f}" dy=".35em">{escaped(label[:LABEL_LETTERS])}</text>'
            )
        return "".join(drawn)


def is_graph(one: Any) -> bool:
    """Tell whether an object can be drawn as a graph."""
    return _parse(one) is not None


def _parse(one: Any) -> ParsedGraph | None:
    try:
        return parse_graph(0, one)
    except (TypeError, ValueError, AttributeError):
        return None


def _labels(graph: ParsedGraph | None) -> list[Any]:
    return [] if graph is None or graph.labels is None else list(graph.labels)


def _described(graph: ParsedGraph | None) -> str:
    if graph is None:
        return ""
    counts = Counter(map(str, _labels(graph))).most_common(5)
    of = ": " + ", ".join(f"{count} {label}" for label, count in counts) if counts else ""
    return f"graph with {graph.nodes} nodes and {len(graph.ends)} edges{of}"


def _framed(at: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Return the positions within a frame, rotated to be wide rather than high, and its width and height."""
    if not len(at):
        return at, 2 * MARGIN, 2 * MARGIN
    at = at - at.mean(axis=0)
    _, _, turn = np.linalg.svd(at, full_matrices=False)
    at = at @ turn.T if turn.shape == (2, 2) else at
    at = at - at.min(axis=0)
    size = at.max(axis=0)
    step = min(STEP, (WIDEST - 2 * MARGIN) / max(size[0], 1e-9), (HIGHEST - 2 * MARGIN) / max(size[1], 1e-9))
    return at * step + MARGIN, float(size[0] * step + 2 * MARGIN), float(size[1] * step + 2 * MARGIN)
