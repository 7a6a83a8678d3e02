"""Pairs of observations under permutations of one side: cyclic shifts, all at once by Fourier transforms.

The cyclic shifts of n rows in a random order are a group of n permutations, and followed by a random permutation
they are a coset of it. A test with the permutations of several random cosets, the group among them, has an exact level:
given the cosets, each of their members is the true pairing with the same probability. The sums over pairs for all n
shifts together take as long as a few single ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from scipy import fft

from similitude.hypotheses.landmark_sums import LandmarkColumns, check_sums_fit


def sums_over_pairs(
    first: list[np.ndarray], second: list[np.ndarray], n_permutations: int, rng: np.random.Generator
) -> np.ndarray:
    """Return the sums of A[i, j] B[p(i), p(j)] for the identity and for permutations p, a row for each A and B.

    A and B are symmetric and their diagonals are zero.
    """
    n = len(first[0])
    order = rng.permutation(n)
    transformed = [_diagonals(A, order) for A in first]

    def sums(paired: np.ndarray) -> np.ndarray:
        others = [_diagonals(B, order[paired]) for B in second]
        return np.array([_correlations(a, b, n) for a in transformed for b in others])

    return _cosets(sums, n, n, n_permutations, rng)


def _cosets(
    sums: Callable[[np.ndarray], np.ndarray], n: int, shifts: int, n_permutations: int, rng: np.random.Generator
) -> np.ndarray:
    """Return the statistics of the true pairing and of `n_permutations` others, from as many cosets as are needed."""
    number = math.ceil((1 + n_permutations) / shifts)
    pairings = (np.arange(n) if i == 0 else rng.permutation(n) for i in range(number))
    found = np.concatenate([sums(paired) for paired in pairings], axis=1)
    kept = 1 + rng.permutation(found.shape[1] - 1)[:n_permutations]
    return np.asarray(found[:, np.concatenate([[0], kept])])


def _diagonals(A: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return the Fourier transforms of the cyclic diagonals A[i, i + d], d = 1, …, n / 2, of reordered rows."""
    n = len(A)
    columns = (np.arange(n) + np.arange(1, n // 2 + 1)[:, None]) % n
    return np.asarray(fft.rfft(A[order, order[columns]], axis=1))


def _correlations(a: np.ndarray, b: np.ndarray, n: int) -> np.ndarray:
    """Return the sums over all pairs for each shift; a diagonal d stands for n - d as well, by symmetry."""
    products = 2 * np.einsum("df,df->f", a.conj(), b)
    if n % 2 == 0:
        products -= a[-1].conj() * b[-1]
    return np.asarray(fft.irfft(products, n))


def squared_covariances(
    first: LandmarkColumns, second: LandmarkColumns, n: int, n_permutations: int, rng: np.random.Generator
) -> np.ndarray:
    """Return the squared norms of the covariance of two sets of landmark features, of n pairs of objects.

    The rows are cut into as many segments as there are shifts, and shifted by whole segments; rows that are left over
    keep their places.
    """
    shifts = min(1 + n_permutations, n)
    check_sums_fit(2 * 16 * (shifts // 2 + 1) * first.n_features * second.n_features, first.pool.engine)
    order = rng.permutation(n)

    def norms(paired: np.ndarray) -> np.ndarray:
        products, mean_x, mean_z = _summed_products(first, second, order, order[paired], shifts)
        found = []
        for a in first.feature_columns:
            for b in second.feature_columns:
                constant = np.outer(mean_x[a], mean_z[b])
                C = fft.irfft(products[:, a, b], shifts, axis=0) / n - constant
                C[np.abs(C) <= 1e-12 * np.abs(constant).max()] = 0.0
                found.append(np.einsum("kab,kab->k", C, C))
        return np.array(found)

    return _cosets(norms, n, shifts, n_permutations, rng)


def _summed_products(
    first: LandmarkColumns, second: LandmarkColumns, x: np.ndarray, z: np.ndarray, shifts: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the transformed sums over rows of products of features, and the means of the features."""
    n, width = len(x), len(x) // shifts
    products = np.zeros((shifts // 2 + 1, first.n_features, second.n_features), dtype=np.complex128)
    sum_x, sum_z = np.zeros(first.n_features), np.zeros(second.n_features)
    for rows in _segments(shifts, width, min(first.rows_at_once, second.rows_at_once)):
        F = first.features(x[rows.ravel()]).reshape(*rows.shape, -1)
        G = second.features(z[rows.ravel()]).reshape(*rows.shape, -1)
        sum_x, sum_z = sum_x + F.sum(axis=(0, 1)), sum_z + G.sum(axis=(0, 1))
        f, g = (fft.rfft(values, axis=0) for values in (F, G))
        for product, a, b in zip(products, f, g, strict=True):
            product += a.conj().T @ b
    rest = np.arange(shifts * width, n)
    if len(rest):
        F, G = first.features(x[rest]), second.features(z[rest])
        products[0] += shifts * (F.T @ G)  # the same for every shift
        sum_x, sum_z = sum_x + F.sum(axis=0), sum_z + G.sum(axis=0)
    return products, sum_x / n, sum_z / n


def _segments(shifts: int, width: int, at_once: int) -> Iterator[np.ndarray]:
    """Yield the numbers of rows at some places of all segments, a row for each segment."""
    step = max(1, at_once // shifts)
    for start in range(0, width, step):
        yield np.arange(shifts)[:, None] * width + np.arange(start, min(start + step, width))
