"""The leading eigenpairs of a large symmetric matrix, such as a centered Gram matrix, from its products with blocks."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr
from sklearn.exceptions import ConvergenceWarning

from similitude.compute import Encoding, as_numpy, count, itemsize, rows
from similitude.compute.engines import Engine
from similitude.linear import some_eigen
from similitude.similarity import Similarity

DENSE = 2000
"""Number of rows up to which the whole matrix is decomposed by LAPACK."""


@dataclass(frozen=True)
class Eigenpairs:
    """Eigenvalues from the largest on, and their eigenvectors as columns."""

    values: np.ndarray
    vectors: np.ndarray
    residual: float  # the largest |M v - value v|, as a share of the largest absolute eigenvalue
    smallest: float  # the smallest eigenvalue, or a Ritz value, which is not below it


def is_dense(n: int, k: int) -> bool:
    """Whether the k leading eigenpairs of n rows are found by LAPACK."""
    # LAPACK also decomposes larger matrices, if more than an eighth of their eigenpairs are wanted
    return n <= DENSE or 8 * k > n


def eigenpairs_of_matrix(M: np.ndarray, k: int, tol: float, rng: np.random.Generator, every: bool) -> Eigenpairs:
    """Return the k leading eigenpairs of a matrix in memory, which LAPACK overwrites; `every` as below."""
    if is_dense(len(M), k):
        return dense_eigenpairs(M, k, every)
    return leading_eigenpairs(StoredMatrix(M), k, tol, rng)


def local_eigenpairs(M: np.ndarray, k: int, rng: np.random.Generator) -> Eigenpairs:
    """Return the same for the graph of a local similarity, whose leading eigenvectors a few rows show already."""
    if len(M) <= max(500, 5 * k + 20):
        return dense_eigenpairs(M, k, every=False)
    return leading_eigenpairs(StoredMatrix(M, starting_rows=600), k, 1e-8, rng)


def dense_eigenpairs(M: np.ndarray, k: int, every: bool) -> Eigenpairs:
    """Return the k leading eigenpairs of a float64 matrix, which is overwritten; only `every` one has the smallest."""
    n = len(M)
    values, vectors = some_eigen(M, 0 if every else n - k, n - 1)
    return Eigenpairs(values[: -k - 1 : -1], vectors[:, : -k - 1 : -1], 0.0, float(values[0]))


def leading_eigenpairs(M: StoredMatrix | CenteredGram, k: int, tol: float, rng: np.random.Generator) -> Eigenpairs:
    """Return the k leading eigenpairs, to residuals of at most `tol` times the largest eigenvalue.

    A block of a few more vectors than k is expanded by its residuals (a block Krylov space), with rough products. Of
    the best vectors in it, the exact product gives eigenpairs with exact residuals, from which the next round goes on:
    rough products of small corrections are as good as exact ones (Carson and Higham 2018, for linear systems).
    """
    width = min(M.n, k + max(10, k // 3))
    V = _orthonormal(M.start(width, rng))
    Y = M.rough(V)
    # rough products are trusted up to this multiple of their precision
    aim = max(0.8 * tol, 8.0 * M.rough_precision)
    smallest = np.inf
    for _ in range(30):
        V, Y, lowest = _expanded(M, V, Y, k, aim)
        best = _orthonormal(V[:, :k])
        products = M.exact(best)
        values, turned = _ritz(best.T @ products, k)
        V[:, :k] = best @ turned
        Y[:, :k] = products @ turned
        smallest = min(smallest, lowest)
        scale = max(float(np.abs(values).max()), 1e-300)
        residual = float(np.linalg.norm(Y[:, :k] - V[:, :k] * values, axis=0).max()) / scale
        if residual <= tol:
            break
        # factor by which a round after the first one reduces the residual at most: its rough products allow no more
        aim = max(0.8 * tol, 1e-4 * residual)
    else:
        warnings.warn(
            f"after 30 rounds a residual of eigenvectors is {residual:.2g}, not {tol:.2g}",
            ConvergenceWarning,
            stacklevel=2,
        )
    return Eigenpairs(values, V[:, :k], residual, smallest)


def _expanded(
    M: StoredMatrix | CenteredGram, V: np.ndarray, Y: np.ndarray, k: int, aim: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the leading Ritz vectors of a Krylov space that begins with V, their products, the smallest Ritz value.

    Y is the product of V, and its first k columns count as exact. The space grows by the residuals of the first k that
    are above the aim, until none is left.
    """
    n, width = V.shape
    most = 8  # blocks of residuals
    basis = np.empty((n, min(n, width + most * k)), order="F")
    basis[:, :width] = V
    products = np.empty_like(basis)
    products[:, :width] = Y
    H = V.T @ Y
    H[:k, k:] = Y[:, :k].T @ V[:, k:]
    H[k:, :k] = H[:k, k:].T
    for block in range(most + 1):
        known = len(H)
        values, turned = _ritz(H, known)
        V = basis[:, :known] @ turned[:, :k]
        Y = products[:, :known] @ turned[:, :k]
        R = Y - V * values[:k]
        norms = np.linalg.norm(R, axis=0) / max(float(np.abs(values).max()), 1e-300)
        active = np.flatnonzero(norms > 0.3 * aim)[: n - known]
        if norms.max() <= aim or not len(active) or block == most:
            break
        Z = R[:, active]
        for _ in range(2):  # twice is enough
            Z = _orthonormal(Z - basis[:, :known] @ (basis[:, :known].T @ Z))
        products_of_Z = M.rough(Z)
        mixed = np.vstack([products[:, :k].T @ Z, basis[:, k:known].T @ products_of_Z])
        H = np.block([[H, mixed], [mixed.T, Z.T @ products_of_Z]])
        grown = slice(known, known + len(active))
        basis[:, grown] = Z
        products[:, grown] = products_of_Z
    further = turned[:, k:width]
    V = np.hstack([V, basis[:, :known] @ further])
    Y = np.hstack([Y, products[:, :known] @ further])
    return V, Y, float(values[-1])


def _ritz(H: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k largest eigenvalues of a small matrix and their eigenvectors."""
    values, vectors = np.linalg.eigh((H + H.T) / 2)
    return values[: -k - 1 : -1], vectors[:, : -k - 1 : -1]


def _orthonormal(V: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(V, axis=0)
    scaled = V / np.where(lengths > 0, lengths, 1.0)
    Q: np.ndarray = qr(scaled, mode="economic", overwrite_a=True, check_finite=False)[0]
    return Q


def flipped(vectors: np.ndarray) -> np.ndarray:
    """Return eigenvectors with the signs of scikit-learn: the largest entry of each is positive."""
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return vectors * np.where(largest < 0, -1.0, 1.0)


STARTING_ROWS = 1500
"""Most objects whose eigenvectors are the start."""


class StoredMatrix:
    """A symmetric matrix in memory, in float64, known by its products with blocks of vectors, of shape (n, columns)."""

    rough_precision = float(np.finfo(np.float64).eps)

    def __init__(self, M: np.ndarray, starting_rows: int = 0) -> None:
        self.M = M
        self.n = len(M)
        self.starting_rows = starting_rows or STARTING_ROWS

    def exact(self, V: np.ndarray) -> np.ndarray:
        """Return the product."""
        return np.asarray(self.M @ V)

    rough = exact

    def start(self, columns: int, rng: np.random.Generator) -> np.ndarray:
        """Return the products of leading eigenvectors of a principal submatrix."""
        some = np.sort(rng.permutation(self.n)[: max(columns, self.starting_rows)])
        return np.asarray(self.M[:, some] @ dense_eigenpairs(self.M[np.ix_(some, some)], columns, every=False).vectors)


class CenteredGram:
    """The matrix H K H with H = I - 1 1'/n, whose tiles are computed anew for each product.

    `single` is the encoding for rough products: that of the objects, or the same in single precision.
    """

    row_means: np.ndarray  # of K, after the first exact product

    def __init__(self, k: Similarity, A: Encoding, single: Encoding, engine: Engine) -> None:
        self.k = k
        self.A = A
        self.single = single
        self.engine = engine
        self.n = count(A)
        self.dtype = f"float{8 * itemsize(single)}"
        self.rough_precision = float(np.finfo(self.dtype).eps)

    def exact(self, V: np.ndarray) -> np.ndarray:
        """Return the product in float64."""
        known = hasattr(self, "row_means")
        columns = V if known else np.hstack([V, np.full((self.n, 1), 1 / self.n)])
        product = as_numpy(self.k.blocks(self.A, engine=self.engine).times(columns))
        if not known:
            self.row_means = product[:, -1].copy()
        product = product[:, : V.shape[1]]
        return np.asarray(product - product.mean(axis=0))

    def rough(self, V: np.ndarray) -> np.ndarray:
        """Return the product in the precision of the encoding for rough products."""
        blocks = self.k.blocks(self.single, engine=self.engine)
        product = as_numpy(blocks.times(V.astype(self.dtype))).astype(np.float64, copy=False)
        return np.asarray(product - product.mean(axis=0))

    def start(self, columns: int, rng: np.random.Generator) -> np.ndarray:
        """Return the products of leading eigenvectors of the centered Gram matrix of some objects."""
        few = rows(self.A, np.sort(rng.permutation(self.n)[: max(columns, STARTING_ROWS)]))
        K = as_numpy(self.k.blocks(few, engine=self.engine).whole()).astype(np.float64, copy=False)
        vectors = dense_eigenpairs(centered_gram(K, K.mean(axis=0)), columns, every=False).vectors
        product = as_numpy(self.k.blocks(self.A, few, self.engine).times(vectors))
        return np.asarray(product - product.mean(axis=0))


def centered_gram(K: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Return a Gram matrix centered by the means of its rows."""
    return K - means - means[:, None] + means.mean()
