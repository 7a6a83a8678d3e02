"""independence_test: whether two observations of the same things are independent."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from similitude.compute import check_objects
from similitude.compute.engines import Engine
from similitude.hypotheses.findings import KernelFinding, TestResult
from similitude.hypotheses.landmark_sums import LandmarkColumns
from similitude.hypotheses.p_values import check_permutations, of_several
from similitude.hypotheses.samples import (
    DEFAULT_LANDMARKS,
    PAIRED_WIDTHS,
    PooledObjects,
    TestedObjects,
    centered,
    landmark_number,
)
from similitude.hypotheses.shifts import squared_covariances, sums_over_pairs
from similitude.hypotheses.two_sample import CONSTANT_SIMILARITY
from similitude.support import generator

FEWEST_PAIRS = 4
"""Number of pairs from which on the unbiased estimate of HSIC is defined."""


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
    left.check()
    right.check()
    check_permutations(n_permutations, level)
    X, Z = left.read(X, "X"), right.read(Z, "Z")
    n = _number_of_pairs(X, Z, level)
    number = landmark_number(n_landmarks, n)
    rng = generator(random_state)
    pools = PooledObjects.of(left, [X], rng), PooledObjects.of(right, [Z], rng)
    if number is None:
        matrices = [[centered(pool.gram(k)) for k in pool.kernels] for pool in pools]
        statistics = sums_over_pairs(matrices[0], matrices[1], n_permutations, rng) / (n * (n - 3))
    else:
        features = [LandmarkColumns(pool, _each(n_landmarks, number, pool)) for pool in pools]
        statistics = squared_covariances(features[0], features[1], n, n_permutations, rng)
    return _result(statistics, pools, n, level, number)


def _number_of_pairs(X: Any, Z: Any, level: float) -> int:
    n, m = check_objects(X, "X"), check_objects(Z, "Z")
    if n != m:
        raise ValueError(f"X holds {n} objects and Z holds {m}: pairs are needed, as many of each")
    if n < FEWEST_PAIRS or math.factorial(min(n, 20)) * level < 1:
        raise ValueError(f"{n} pairs are too few for a test of independence at the level {level:g}")
    return n


def _each(asked: Any, number: int, pool: PooledObjects) -> int:
    """Return the number of landmarks for each kernel: what was asked for, or a share of the default."""
    return number if asked != "auto" else max(1, DEFAULT_LANDMARKS // len(pool.kernels))


def _result(
    statistics: np.ndarray, pools: tuple[PooledObjects, PooledObjects], n: int, level: float, number: int | None
) -> TestResult:
    together, p_value, alone = of_several(statistics)
    names = [f"{k!r} and {other!r}" for k in pools[0].kernels for other in pools[1].kernels]
    rows = zip(names, statistics[:, 0], alone, strict=True)
    kernels = tuple(KernelFinding(name, float(value), p) for name, value, p in rows)
    notes = [] if statistics.any() else [CONSTANT_SIMILARITY]
    unproven = [repr(k) for pool in pools for k in pool.kernels if not k.proven]
    if unproven:
        notes.append(
            f"{unproven[0]} has no proof that it is a kernel: the level is exact all the same, but some dependences "
            f"may not be found with any number of pairs"
        )
    if number is not None:
        notes.append(
            "objects are compared with landmarks drawn from all of them: the level is exact, but dependences that "
            "these landmarks do not see are not found"
        )
    return TestResult(
        hypothesis="X and Z are independent",
        statistic=float(statistics[0, 0]) if len(kernels) == 1 else together,
        p_value=p_value,
        level=level,
        sizes=(n,),
        n_permutations=statistics.shape[1] - 1,
        kernels=kernels,
        telling=(),
        n_landmarks=number,
        notes=tuple(notes),
    )
