"""The layout of a graph: distances in the plane approximate shortest paths."""

from __future__ import annotations

import numpy as np

MOST_DRAWN_NODES = 150
"""Largest number of nodes of a graph that is drawn."""

SMALL = 50
"""Largest number of nodes whose layout has several starts; larger graphs get one start and fewer iterations."""


def framed_positions(nodes: int, ends: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Return positions of nodes within a frame, rotated to be wide rather than high, and its width and height."""
    margin = 12.0
    if not nodes:
        return np.zeros((0, 2)), 2 * margin, 2 * margin
    at = positions(nodes, ends)
    _, _, turn = np.linalg.svd(at - at.mean(axis=0), full_matrices=False)
    if len(turn) == 2:
        at = (at - at.mean(axis=0)) @ turn.T
    at = at - at.min(axis=0)
    size = at.max(axis=0)
    step = min(26.0, *(np.array([260.0, 200.0]) - 2 * margin) / np.maximum(size, 1e-9))
    width, height = size * step + 2 * margin
    return at * step + margin, float(width), float(height)


def positions(nodes: int, ends: np.ndarray) -> np.ndarray:
    """Return a position in the plane for each node, neighbors about 1 apart; deterministic.

    Minimizes the stress, the sum over pairs of (distance - steps)² / steps², by majorization (Gansner, Koren and North,
    "Graph drawing by stress majorization", 2004), starting from classical multidimensional scaling.
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
