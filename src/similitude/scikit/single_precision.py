"""Vectors in single precision, where the values of a kernel stay accurate enough."""

from __future__ import annotations

import numpy as np

from similitude.compute import Encoding
from similitude.similarity import Similarity

LARGEST_SINGLE_ENTRY = 1e15
"""Vectors with larger entries stay in double precision: their squared lengths could overflow in single precision."""

COMPARED_OBJECTS = 200
"""Number of objects on which single precision is compared with double precision."""


def in_single_precision(kernel: Similarity, encoding: Encoding, tolerance: float) -> Encoding:
    """Return the encoding in float32 if it holds vectors whose kernel values then change by at most the tolerance.

    The values are compared on a sample of the vectors.
    """
    if kernel.objects != "vectors" or getattr(encoding, "dtype", None) != np.float64:
        return encoding
    if np.abs(encoding).max() > LARGEST_SINGLE_ENTRY:
        return encoding
    single = encoding.astype(np.float32)
    some = np.unique(np.linspace(0, encoding.shape[0] - 1, COMPARED_OBJECTS).astype(int))
    exact = np.asarray(kernel.block(encoding[some], encoding[some]), float)
    rounded = np.asarray(kernel.block(single[some], single[some]), float)
    return single if np.abs(exact - rounded).max() <= tolerance else encoding
