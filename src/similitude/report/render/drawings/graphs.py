"""Graphs drawn as nodes and edges, with labels as letters on colored nodes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from similitude.kernels.graphs import ParsedGraph, parse_graph
from similitude.relevance import MOST_DRAWN_NODES, framed_positions
from similitude.report.render.drawings.html_snippets import PALETTE_SIZE, escaped, picture, swatches
from similitude.report.render.drawings.texts import Drawer

RADIUS = 8.0
"""Of a node, in pixels, into which two letters fit."""


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
        if graph is None or graph.nodes > MOST_DRAWN_NODES:
            return super().draw(one) if graph is None else f'<span class="drawing text">{escaped(label)}</span>'
        at, width, height = framed_positions(graph.nodes, graph.ends)
        edges = "".join(f"M{at[u, 0]:.1f} {at[u, 1]:.1f}L{at[v, 0]:.1f} {at[v, 1]:.1f}" for u, v in graph.ends.tolist())
        return picture(f'<path class="edges" d="{edges}"/>{self._nodes(graph, at)}', width, height, label, "graph")

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
                f'<text x="{x:.1f}" y="{y:.1f}" dy=".35em">{escaped(label[:2])}</text>'
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
