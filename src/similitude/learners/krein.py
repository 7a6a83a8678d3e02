"""Indefinite similarities in learners that need a kernel: the absolute value of the spectrum, and the way back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from similitude.compute.encodings import Encoding
from similitude.compute.engines import Engine
from similitude.scikit import whole_gram
from similitude.similarity import Similarity
from similitude.support.errors import NotAKernelError

ASYMMETRY = 1e-6
"""Relative difference of K(x, z) and K(z, x) that rounding may explain."""


@dataclass(frozen=True)
class Spectrum:
    r"""The eigenvalues and eigenvectors of a symmetric Gram matrix, :math:`K = U \Lambda U^\top`."""

    values: np.ndarray
    vectors: np.ndarray

    @classmethod
    def of(cls, k: Similarity, A: Encoding, engine: Engine) -> Spectrum:
        """Return the spectrum of a similarity on all objects; refuse an asymmetric one."""
        K = np.asarray(whole_gram(k, A, engine), dtype=np.float64)
        apart = np.abs(K - K.T)
        if apart.max() > ASYMMETRY * np.abs(K).max():
            i, j = (int(place) for place in np.unravel_index(apart.argmax(), apart.shape))
            raise NotAKernelError(
                f"{k!r} is not symmetric: K(X[{i}], X[{j}]) = {K[i, j]:.6g} but K(X[{j}], X[{i}]) = {K[j, i]:.6g}; "
                f"use k.symmetrized(), or LandmarkMap, which takes it as it is"
            )
        return cls(*np.linalg.eigh((K + K.T) / 2))

    def absolute(self) -> np.ndarray:
        r"""Return :math:`|K| = U |\Lambda| U^\top`, which is PSD."""
        return (self.vectors * np.abs(self.values)) @ self.vectors.T

    def back(self, coefficients: np.ndarray) -> np.ndarray:
        r"""Return :math:`U \operatorname{sign}(\Lambda) U^\top a`: with K they score as a does with \|K\|."""
        signs = np.sign(self.values)
        return self.vectors @ (signs.reshape(-1, *[1] * (coefficients.ndim - 1)) * (self.vectors.T @ coefficients))
