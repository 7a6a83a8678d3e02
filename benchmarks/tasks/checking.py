"""Checks that tasks share: a corner of the matrix against an oracle in long double."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from benchmarks.nouns import Check

CORNER = 200


class Truth(NamedTuple):
    """The right values of a corner, and how far from them rounding may lead."""

    values: np.ndarray
    bound: np.ndarray


def corner(X: Any) -> np.ndarray:
    """Return the first rows in long double."""
    rows = X[:CORNER]
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows).astype(np.longdouble)


def squared_distances(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Return |x_i - z_j|^2 from the differences, one feature after another."""
    return sum((X[:, k, None] - Z[None, :, k]) ** 2 for k in range(X.shape[1]))


def gaussian_truth(X: Any, Z: Any, sigma: float) -> Truth:
    """Return exp(-|x - z|^2 / 2 sigma^2), within 8 eps (1 + (|x|^2 + |z|^2) / 2 sigma^2) of itself."""
    eps, x, z = np.finfo(X.dtype).eps, corner(X), corner(Z)
    K = np.exp(-squared_distances(x, z) / (2 * np.longdouble(sigma) ** 2))
    both = (x * x).sum(1)[:, None] + (z * z).sum(1)
    return Truth(K, 8 * eps * (1 + both / (2 * sigma**2)) * K)


def against_truth(data: Any, result: Any, truth: Truth) -> Check:
    """Compare the corner of a matrix with the truth."""
    rows, columns = truth.values.shape
    away = np.abs(np.asarray(result)[:rows, :columns] - truth.values)
    share = float((away / truth.bound).max())
    return Check(share, f"off by {float(away.max()):.1e}, {share:.1g} of the bound", bool(share <= 1))
