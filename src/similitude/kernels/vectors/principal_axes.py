"""Bounds on similarities that decrease with the Euclidean distance, by the main principal axes of the vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute import Encoding
from similitude.kernels.vectors.pairwise import IDENTITY, VectorSimilarity, apply_form, pairwise
from similitude.similarity import Bounds

AXES_FROM = 2000
"""Most vectors that the axes are computed from."""


class DistanceBounds(Bounds):
    """The distance along some axes, and the difference of the distances from these, are at most the distance.

    With P the projection on the axes, |x - z|^2 >= |Px - Pz|^2 + (|x - Px| - |z - Pz|)^2, by the triangle inequality.
    """

    def __init__(self, k: VectorSimilarity, A: Encoding) -> None:
        self.form = k.form()
        self.single = A.dtype == np.float32
        sample = A[:: max(1, len(A) // AXES_FROM)].astype(np.float64)
        self.center = sample.mean(axis=0)
        _, vectors = np.linalg.eigh((sample - self.center).T @ (sample - self.center))
        self.axes = vectors[:, ::-1][:, :32]

    def sketch(self, A: Encoding) -> np.ndarray:
        """Return the coordinates along the axes, and the distance from them."""
        out = np.empty((len(A), self.axes.shape[1] + 1))
        for first in range(0, len(A), AXES_FROM):
            some = A[first : first + AXES_FROM] - self.center
            along = some @ self.axes
            squares = np.einsum("ij,ij->i", some, some) - np.einsum("ij,ij->i", along, along)
            out[first : first + AXES_FROM] = np.column_stack([along, np.sqrt(np.maximum(squares, 0.0))])
        return out

    def upper(self, A: Any, B: Any) -> np.ndarray:
        """Return the similarities at these smaller distances, with room for rounding."""
        squares = pairwise(A, B, "squared_difference", IDENTITY)
        norms = [np.einsum("ij,ij->i", one, one) for one in (A, B)]
        eps = 64 * float(np.finfo(np.float32).eps if self.single else np.finfo(np.float64).eps)
        squares -= eps * (norms[0][:, None] + norms[1])
        return np.asarray(apply_form(self.form, np.maximum(squares, 0.0, out=squares)))


def bounds_by_axes(k: VectorSimilarity, A: Encoding) -> Bounds | None:
    """Return bounds by the main principal axes of long dense vectors; None for others."""
    # of 64 dimensions or more, bounds are cheaper than distances
    return DistanceBounds(k, A) if isinstance(A, np.ndarray) and A.shape[1] >= 64 else None
