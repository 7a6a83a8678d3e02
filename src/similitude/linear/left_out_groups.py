"""Residuals of groups of rows, each group under the model of all others, from one fit to all rows."""

from __future__ import annotations

import numpy as np

DETERMINED = 1e-8
"""A row whose leverage is this close to one fixes its own prediction and cannot be evaluated by leaving it out."""


def rows_by_size(groups: np.ndarray) -> list[np.ndarray]:
    """Return the rows of every group: an array of shape (groups, size) for each size.

    >>> [rows.tolist() for rows in rows_by_size(np.array([3, 1, 3, 0]))]
    [[[3], [1]], [[0, 2]]]
    """
    order = np.argsort(groups, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
    sizes = sorted({len(part) for part in parts})
    return [np.stack([part for part in parts if len(part) == size]) for size in sizes]


def solved_by_group(R: np.ndarray, values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Solve the equations of every group: its block of R R', and its rows of the values as right-hand sides."""
    found = np.empty(values.shape)
    for rows in rows_by_size(groups):
        found[rows] = np.linalg.solve(R[rows] @ np.swapaxes(R[rows], 1, 2), values[rows])
    return found


def residuals_from_halves(Z: np.ndarray, residuals: np.ndarray, groups: np.ndarray) -> np.ndarray:
    r"""Return the residuals of each group without it: the solution of :math:`(I - Z_G Z_G^\top) e_G = r_G`.

    Z Z' is the hat matrix. They are NaN if a group determines its own predictions.
    """
    found = np.full(residuals.shape, np.nan)
    for rows in rows_by_size(groups):
        H = Z[rows]
        r = residuals[rows]
        across = np.swapaxes(H, 1, 2)
        few = rows.shape[1] <= Z.shape[1]
        products = H @ across if few else across @ H
        blocks = np.eye(products.shape[1]) - products
        try:
            pivots = np.diagonal(np.linalg.cholesky(blocks), axis1=1, axis2=2) ** 2
        except np.linalg.LinAlgError:
            return np.full(residuals.shape, np.nan)
        if pivots.min() < DETERMINED:
            return np.full(residuals.shape, np.nan)
        found[rows] = np.linalg.solve(blocks, r) if few else r + H @ np.linalg.solve(blocks, across @ r)
    return found


def with_mean_of_others(
    residuals: np.ndarray, of_ones: np.ndarray, Y: np.ndarray, weights: np.ndarray, groups: np.ndarray
) -> np.ndarray:
    """Return residuals by models of targets less the mean of other groups; `of_ones` are those of the target 1."""
    _, member = np.unique(groups, return_inverse=True)
    sums = np.stack([np.bincount(member, weights * y) for y in Y.T], axis=1)
    others = -sums / (weights.sum() - np.bincount(member, weights))[:, None]
    return np.asarray(residuals - others[member] * of_ones)
