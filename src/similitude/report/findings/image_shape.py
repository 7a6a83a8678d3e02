"""Guess whether vectors are images: neighboring pixels are alike, more than pixels far apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from similitude.compute import is_sparse


def guess_image_shape(X: Any, names: Sequence[str] | None) -> tuple[int, int] | None:
    """Return the shape of square images if vectors look like some; None for vectors with names and any other objects.

    Rows of pixels make neighbors of components that are far apart in the vector: if both these and components that
    follow each other are correlated, more than any two are, the vectors are images; not if components half a row apart
    are correlated more than those a row apart, as in smooth curves.

    >>> from sklearn.datasets import load_digits
    >>> guess_image_shape(load_digits().data, None)
    (8, 8)
    >>> guess_image_shape(np.random.default_rng(0).normal(size=(100, 64)), None) is None
    True
    """
    if names is not None or is_sparse(X) or not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "fiu":
        return None
    side = math.isqrt(X.shape[1])
    if side * side != X.shape[1] or not 6 <= side <= 64:
        return None
    some = X[:: -(-len(X) // 200)].astype(np.float64)
    if len(some) < 3 or not np.isfinite(some).all():
        return None
    spread = some.std(axis=0)
    varied = spread > 0
    scaled = np.where(varied, (some - some.mean(axis=0)) / np.where(varied, spread, 1.0), 0.0)
    pictures, used = scaled.reshape(-1, side, side), varied.reshape(side, side)
    across = _correlation(pictures[:, :, 1:], pictures[:, :, :-1], used[:, 1:] & used[:, :-1])
    down = _correlation(pictures[:, 1:], pictures[:, :-1], used[1:] & used[:-1])
    mixed = np.random.default_rng(0).permutation(X.shape[1])
    any_two = _correlation(scaled, scaled[:, mixed], varied & varied[mixed])
    half = side // 2
    half_a_row = _correlation(scaled[:, half:], scaled[:, :-half], varied[half:] & varied[:-half])
    return (side, side) if min(across, down) > max(0.2, any_two + 0.15) and down > half_a_row else None


def _correlation(A: np.ndarray, B: np.ndarray, used: np.ndarray) -> float:
    """Return the mean correlation of components, those that vary."""
    return float((A * B).mean(axis=0)[used].mean()) if used.any() else 0.0
