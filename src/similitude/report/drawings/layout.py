"""Where to draw the nodes of a graph: as far from each other as the steps between them, as nearly as a plane allows."""

from __future__ import annotations

import numpy as np

ROUNDS = 120
"""Improvements of the places at most."""

SMALL = 50
"""Nodes up to which several starts are tried; more make a third of the rounds from one."""

ENOUGH = 1e-4
"""Improvements below this share of the stress end the search."""


def places(nodes: int, ends: np.ndarray) -> np.ndarray:
    """Return a place in the plane for each node, the same for the same graph.

    The stress, the sum over pairs of (distance - steps)² / steps², is made small by majorisation (Gansner, Koren and
    North, Graph drawing by stress majorization, 2004), from coordinates of classical scaling.

    Parameters
    ----------
    nodes : int
    ends : array of int, shape (edges, 2)

    Returns
    -------
    array of shape (nodes, 2)
        Neighbors are about 1 apart.

    Examples
    --------
    >>> at = places(3, np.array([[0, 1], [1, 2]]))
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
    """Return better places, and their stress."""
    before = np.inf
    for _ in range(ROUNDS if len(at) <= SMALL else ROUNDS // 3):
        distances = np.linalg.norm(at[:, None] - at[None], axis=2)
        stress = float((weights * (distances - steps) ** 2).sum())
        if before - stress < ENOUGH * stress:
            break
        before = stress
        pull = -weights * np.divide(steps, distances, out=np.zeros_like(steps), where=distances > 1e-9)
        np.fill_diagonal(pull, -pull.sum(axis=1))
        at = inverse @ (pull @ at)
    return at, stress


def _steps(nodes: int, ends: np.ndarray) -> np.ndarray:
    """Return the steps from node to node; parts without a path are set a little further than the longest path."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import shortest_path

    a, b = ends.astype(np.int32).T  # the numbers that SciPy's paths take
    edges = coo_array((np.ones(len(ends)), (a, b)), shape=(nodes, nodes)).tocsr()
    steps = np.asarray(shortest_path(edges, directed=False, unweighted=True))
    there = np.isfinite(steps)
    apart = max(2.0, 0.6 * float(steps[there].max(initial=0.0)) + 1.0)
    return np.where(there, steps, apart)


def _starts(steps: np.ndarray) -> list[np.ndarray]:
    """Return pairs of the three largest coordinates of classical scaling: from some, rings end up twisted.

    Nodes are moved a little, so that no two coincide.
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
