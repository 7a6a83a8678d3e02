"""The centered Gram matrix as a symmetric matrix that is multiplied by blocks of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute import Encoding, as_numpy, count, itemsize, rows
from similitude.compute.engines import Engine
from similitude.maps.eigenpairs import dense_eigenpairs
from similitude.similarity import Similarity

STARTING_ROWS = 1500
"""Most objects whose eigenvectors are the start."""


class StoredMatrix:
    """A symmetric matrix in memory, in float64."""

    rough_precision = float(np.finfo(np.float64).eps)

    def __init__(self, M: np.ndarray) -> None:
        self.M, self.n = M, len(M)

    def exact(self, V: np.ndarray) -> np.ndarray:
        """Return the product."""
        product: np.ndarray = self.M @ V
        return product

    rough = exact

    def start(self, columns: int, rng: np.random.Generator) -> np.ndarray:
        """Return the products of leading eigenvectors of a principal submatrix."""
        some = _some(self.n, columns, rng)
        vectors = dense_eigenpairs(self.M[np.ix_(some, some)], columns, every=False).vectors
        product: np.ndarray = self.M[:, some] @ vectors
        return product


class CenteredGram:
    """The matrix H K H with H = I - 1 1'/n, whose tiles are computed anew for each product.

    `single` is the encoding for rough products: that of the objects, or the same in single precision. After the first
    exact product, `row_means` are the means of the rows of K.
    """

    row_means: np.ndarray

    def __init__(self, k: Similarity, A: Encoding, single: Encoding, engine: Engine) -> None:
        self.k, self.A, self.single, self.engine, self.n = k, A, single, engine, count(A)
        self.rough_precision = float(np.finfo(np.float32 if itemsize(single) == 4 else np.float64).eps)

    def exact(self, V: np.ndarray) -> np.ndarray:
        """Return the product in float64."""
        known = hasattr(self, "row_means")
        columns = V if known else np.hstack([V, np.full((self.n, 1), 1 / self.n)])
        product = as_numpy(self.k.blocks(self.A, engine=self.engine).times(columns))
        if not known:
            self.row_means = product[:, -1].copy()
        return _centered(product[:, : V.shape[1]])

    def rough(self, V: np.ndarray) -> np.ndarray:
        """Return the product in the precision of the encoding for rough products."""
        dtype = np.float32 if itemsize(self.single) == 4 else np.float64
        product = self.k.blocks(self.single, engine=self.engine).times(V.astype(dtype))
        return _centered(as_numpy(product).astype(np.float64, copy=False))

    def start(self, columns: int, rng: np.random.Generator) -> np.ndarray:
        """Return the products of leading eigenvectors of the centered Gram matrix of some objects."""
        some = _some(self.n, columns, rng)
        few = rows(self.A, some)
        K = as_numpy(self.k.blocks(few, engine=self.engine).whole()).astype(np.float64, copy=False)
        vectors = dense_eigenpairs(centered_gram(K, K.mean(axis=0)), columns, every=False).vectors
        return _centered(as_numpy(self.k.blocks(self.A, few, self.engine).times(vectors)))


def centered_gram(K: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Return a Gram matrix centered by the means of its rows."""
    return K - means - means[:, None] + means.mean()


def _centered(V: Any) -> np.ndarray:
    """Subtract the mean of each column."""
    centered: np.ndarray = V - V.mean(axis=0)
    return centered


def _some(n: int, columns: int, rng: np.random.Generator) -> np.ndarray:
    """Return positions of some of n rows, at least as many as there are columns."""
    return np.sort(rng.permutation(n)[: max(columns, STARTING_ROWS)])
