"""Whether two observations of the same things are independent.

The cyclic shifts of n rows in a random order are a group of n permutations, and followed by a random permutation
they are a coset of it. A test with the permutations of several random cosets, the group among them, has an exact level:
given the cosets, each of their members is the true pairing with the same probability. The sums over pairs for all n
shifts together take as long as a few single ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
from scipy import fft

from similitude.compute import check_objects
from similitude.compute.engines import Engine
from similitude.hypotheses.findings import TestResult
from similitude.hypotheses.limits import DEFAULT_LANDMARKS, PAIRED_WIDTHS
from similitude.hypotheses.p_values import check_permutations
from similitude.hypotheses.permuted_samples import LandmarkColumns, check_sums_fit
from similitude.hypotheses.samples import PooledObjects, TestedObjects, centered, landmark_number
from similitude.hypotheses.two_sample import found_by, notes_on
from similitude.support import generator


def independence_test(
    kernel: Any,
    X: Any,
    other: Any,
    Z: Any,
    *,
    n_permutations: int = 999,
    level: float = 0.05,
    n_landmarks: int | str | None = "auto",
    random_state: Any = None,
    engine: Engine | None = None,
) -> TestResult:
    """Test whether pairs of observations (x_i, z_i), each of any kind, are independent.

    The statistic is the Hilbert-Schmidt independence criterion: objects x that are similar have similar z (Gretton et
    al., "Measuring Statistical Dependence with Hilbert-Schmidt Norms", 2005, and "A Kernel Statistical Test of
    Independence", 2008). Its distribution comes from permutations of Z, so that the level is exact for any two
    similarities. With characteristic kernels, such as Gaussian ones, every dependence is found if there are enough
    pairs; a similarity that is no kernel may never see some. Several kernels are combined as in
    :func:`two_sample_test`, each of one side with each of the other; ``"auto"`` has Gaussian kernels of three widths
    for vectors and tables, because nine pairs of kernels have more power than the pairs of many.

    The permutations are the cyclic shifts of the pairs in random orders, which Fourier transforms compute together.

    Parameters
    ----------
    kernel : Similarity, str, callable, or a list of these
        The similarity of objects in X.
    X : sequence of objects
    other : Similarity, str, callable, or a list of these
        The similarity of objects in Z.
    Z : sequence of objects
        As many as in X, in the same order.
    n_permutations, level, random_state, engine
        See :func:`two_sample_test`.
    n_landmarks : int, "auto" or None
        The number of landmarks on each side, for each kernel; then no matrix of all pairs is made. ``"auto"``: 200 in
        all for more than 3,000 pairs, and else None, all pairs.

    Returns
    -------
    TestResult

    Examples
    --------
    >>> import numpy as np
    >>> from similitude import independence_test
    >>> x = np.linspace(0.0, 1.0, 60)
    >>> found = independence_test("auto", x, "auto", np.sin(9.0 * x))
    >>> found.p_value, found.sizes
    (0.001, (60,))
    """
    left, right = (TestedObjects(one, engine=engine, widths=PAIRED_WIDTHS) for one in (kernel, other))
    check_permutations(n_permutations, level)
    X = left.read(X, "X")
    Z = right.read(Z, "Z")
    n = check_objects(X, "X")
    m = check_objects(Z, "Z")
    if n != m:
        raise ValueError(f"X holds {n} objects and Z holds {m}: pairs are needed, as many of each")
    if n < 4 or math.factorial(min(n, 20)) * level < 1:
        raise ValueError(f"{n} pairs are too few for a test of independence at the level {level:g}")
    number = landmark_number(n_landmarks, n)
    rng = generator(random_state)
    pools = PooledObjects(left, [X], rng), PooledObjects(right, [Z], rng)
    both = [*pools[0].kernels, *pools[1].kernels]
    notes = []
    if number is None:
        matrices = [[centered(pool.gram(k)) for k in pool.kernels] for pool in pools]
        statistics = sums_over_pairs(matrices[0], matrices[1], n_permutations, rng) / (n * (n - 3))
    else:
        each = [number, number]
        if n_landmarks == "auto":
            each = [max(1, DEFAULT_LANDMARKS // len(pool.kernels)) for pool in pools]
        features = list(map(LandmarkColumns, pools, each))
        notes.append(
            "objects are compared with landmarks drawn from all of them: the level is exact, but dependences that "
            "these landmarks do not see are not found"
        )
        statistics = squared_covariances(features[0], features[1], n, n_permutations, rng)
    names = [f"{k!r} and {other!r}" for k in pools[0].kernels for other in pools[1].kernels]
    statistic, p_value, kernels = found_by(statistics, names)
    return TestResult(
        hypothesis="X and Z are independent",
        statistic=statistic,
        p_value=p_value,
        level=level,
        sizes=(n,),
        n_permutations=n_permutations,
        kernels=kernels,
        telling=(),
        n_landmarks=number,
        notes=(*notes_on(statistics, both, "dependences", "pairs"), *notes),
    )


def sums_over_pairs(
    first: list[np.ndarray], second: list[np.ndarray], n_permutations: int, rng: np.random.Generator
) -> np.ndarray:
    """Return the sums of A[i, j] B[p(i), p(j)] for the identity and for permutations p, a row for each A and B."""
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
    pairings = chain([np.arange(n)], (rng.permutation(n) for _ in range(1, number)))
    found = np.concatenate(list(map(sums, pairings)), axis=1)
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

    Segments of rows are shifted, as many as there are shifts; rows that are left over keep their places.
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
    n = len(x)
    width = n // shifts
    step = max(1, min(first.rows_at_once, second.rows_at_once) // shifts)
    products = np.zeros((shifts // 2 + 1, first.n_features, second.n_features), dtype=np.complex128)
    sum_x = np.zeros(first.n_features)
    sum_z = np.zeros(second.n_features)
    for start in range(0, width, step):  # some places of all segments, a row for each segment
        rows = np.arange(shifts)[:, None] * width + np.arange(start, min(start + step, width))
        F = first.features(x[rows.ravel()]).reshape(*rows.shape, -1)
        G = second.features(z[rows.ravel()]).reshape(*rows.shape, -1)
        sum_x += F.sum(axis=(0, 1))
        sum_z += G.sum(axis=(0, 1))
        f, g = (fft.rfft(values, axis=0) for values in (F, G))
        for product, a, b in zip(products, f, g, strict=True):
            product += a.conj().T @ b
    rest = np.arange(shifts * width, n)
    if len(rest):
        F = first.features(x[rest])
        G = second.features(z[rest])
        products[0] += shifts * (F.T @ G)  # the same for every shift
        sum_x += F.sum(axis=0)
        sum_z += G.sum(axis=0)
    return products, sum_x / n, sum_z / n
