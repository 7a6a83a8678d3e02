"""When ridge regression on many landmarks is fitted by products with the matrix of similarities."""

from __future__ import annotations

import numbers
import os
from typing import Any

import numpy as np

from similitude.compute import Encoding, count
from similitude.compute.engines import Engine
from similitude.linear import LinearModel, Trial, fit_by_products
from similitude.scikit import FLOAT_DTYPES


def reads_memory_map(X: Any, y: Any, one_pass: bool, n_landmarks: Any, engine: Engine) -> bool:
    """Tell whether a memory map is fitted by products, like an array in memory: the device reads it in pieces."""
    return (
        isinstance(X, np.memmap)
        and X.ndim == 2
        and X.dtype in FLOAT_DTYPES
        and not isinstance(y, (str, os.PathLike))
        and one_pass
        and isinstance(n_landmarks, numbers.Integral)
        and engine.products_from is not None
        and int(n_landmarks) >= engine.products_from
    )


def solve_by_products(
    similarity: Any,
    A: Encoding,
    landmarks: Encoding,
    Y: np.ndarray,
    weights: np.ndarray,
    order: np.ndarray,
    held: tuple[np.ndarray, np.ndarray],
    engine: Engine,
    start: float | None = None,
) -> tuple[LinearModel, Trial] | None:
    """Fit to all rows with the penalty that is best for some held-out rows, and judge by others, the last of all.

    The search for the penalty begins near `start`, if given.

    Return the model and how the last rows fared; None if landmarks are few, or if the engine has no products of this
    similarity.
    """
    if engine.products_from is None or count(landmarks) < engine.products_from:
        return None
    with engine.linear_algebra(f"the equations of {count(landmarks):,} landmarks"):
        operator = engine.operator(similarity, A, landmarks)
        return None if operator is None else fit_by_products(operator, Y, weights, order, held, start)
