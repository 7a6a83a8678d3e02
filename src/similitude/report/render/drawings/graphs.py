"""Graphs drawn as nodes and edges, with labels as letters on colored nodes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from similitude.kernels.graphs import ParsedGraph, parse_graph
from similitude.report.render.drawings.html_snippets import PALETTE_SIZE, escaped, picture, shade, swatches
from similitude.report.render.drawings.texts import Drawer

RADIUS = 8.0
"""Of a node, in pixels, into which two letters fit."""

NODES = 150
"""Largest number of nodes of a graph that is drawn."""

SMALL = 50
"""Largest number of nodes whose layout has several starts; larger graphs get one start and fewer iterations."""


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
            label = "" if graph.labels is None else escaped(str(graph.labels[node])[:2])
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


def _framed(at: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Return the positions within a frame, rotated to be wide rather than high, and its width and height."""
    margin = RADIUS + 4
    if not len(at):
        return at, 2 * margin, 2 * margin
    at = at - at.mean(axis=0)
    _, _, turn = np.linalg.svd(at, full_matrices=False)
    at = at @ turn.T if turn.shape == (2, 2) else at
    at = at - at.min(axis=0)
    size = at.max(axis=0)
    step = min(26.0, *(np.array([260.0, 200.0]) - 2 * margin) / np.maximum(size, 1e-9))
    width, height = size * step + 2 * margin
    return at * step + margin, float(width), float(height)


def positions(nodes: int, ends: np.ndarray) -> np.ndarray:
    """Return a position in the plane for each node, neighbors about 1 apart; deterministic.

    Minimizes the stress, the sum over pairs of (distance - steps)² / steps², by majorization (Gansner, Koren and North,
    "Graph drawing by stress majorization", 2004), starting from classical multidimensional scaling.

    >>> at = positions(3, np.array([[0, 1], [1, 2]]))
    >>> float(np.linalg.norm(at[0] - at[2]).round(2))
    2.0
    """
    if nodes < 2:
        return np.zeros((nodes, 2))
    steps = _steps(nodes, ends)
    weights = np.divide(1.0, steps**2, out=np.zeros_like(steps), where=~np.eye(nodes, dtype=bool))
    inverse = np.linalg.pinv(np.diag(weights.sum(axis=1)) - weights)
    found = [_improved(at, steps, weights, inverse) for at in _starts(steps)]
    return min(found, key=lambda one: one[1])[0]


def _improved(at: np.ndarray, steps: np.ndarray, weights: np.ndarray, inverse: np.ndarray) -> tuple[np.ndarray, float]:
    """Return improved positions, and their stress."""
    before = np.inf
    for _ in range(120 if len(at) <= SMALL else 40):
        distances = np.linalg.norm(at[:, None] - at[None], axis=2)
        stress = float((weights * (distances - steps) ** 2).sum())
        if before - stress < 1e-4 * stress:
            break
        before = stress
        pull = -weights * np.divide(steps, distances, out=np.zeros_like(steps), where=distances > 1e-9)
        np.fill_diagonal(pull, -pull.sum(axis=1))
        at = inverse @ (pull @ at)
    return at, stress


def _steps(nodes: int, ends: np.ndarray) -> np.ndarray:
    """Return the lengths of shortest paths; unconnected nodes are a little further apart than the longest path."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import shortest_path

    a, b = ends.astype(np.int32).T  # SciPy takes 32-bit integers
    edges = coo_array((np.ones(len(ends)), (a, b)), shape=(nodes, nodes)).tocsr()
    steps = np.asarray(shortest_path(edges, directed=False, unweighted=True))
    there = np.isfinite(steps)
    apart = max(2.0, 0.6 * float(steps[there].max(initial=0.0)) + 1.0)
    return np.where(there, steps, apart)


def _starts(steps: np.ndarray) -> list[np.ndarray]:
    """Return pairs of the three largest coordinates of classical scaling, since rings end up twisted from some.

    Nodes are shifted a little, so that no two coincide.
    """
    n = len(steps)
    centering = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-centering @ steps**2 @ centering / 2)
    vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(n)])  # their signs are arbitrary
    at = (vectors * np.sqrt(np.maximum(values, 0.0)))[:, ::-1]
    angles = 2.399963 * np.arange(n)  # the golden angle
    aside = 0.1 * np.column_stack([np.cos(angles), np.sin(angles)])
    pairs = [(0, 1), (0, 2), (1, 2)] if 2 < n <= SMALL else [(0, 1)]
    return [at[:, list(pair)] + aside for pair in pairs]
