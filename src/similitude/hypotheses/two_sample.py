"""two_sample_test: whether two samples of objects have the same distribution."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from similitude.compute.engines import Engine
from similitude.hypotheses.all_pairs import AllPairs, PermutedSamples
from similitude.hypotheses.findings import KernelFinding, TellingObject, TestResult
from similitude.hypotheses.landmark_sums import LandmarkSums
from similitude.hypotheses.p_values import check_permutations, of_several
from similitude.hypotheses.samples import PooledObjects, TestedObjects, check_alike, landmark_number
from similitude.similarity import Similarity
from similitude.support import generator

NAMED_OBJECTS = 10
"""Number of telling objects of each sample that are named."""

CONSTANT_SIMILARITY = "the similarity is constant: it cannot tell any objects apart"


def two_sample_test(
    kernel: Any,
    X: Any,
    Z: Any,
    *,
    n_permutations: int = 999,
    level: float = 0.05,
    n_landmarks: int | str | None = "auto",
    random_state: Any = None,
    engine: Engine | None = None,
) -> TestResult:
    """Test whether two samples of objects of any kind have the same distribution, and name objects that differ.

    The statistic is the maximum mean discrepancy: objects of different samples are less similar than objects of one
    sample (Gretton et al., "A Kernel Two-Sample Test", 2012). Its distribution comes from permutations, so that the
    level is exact for any number of objects and any similarity, be it asymmetric or indefinite. What needs a kernel is
    consistency: a characteristic kernel, such as a Gaussian one, finds every difference if there are enough objects;
    a similarity that is no kernel may never see some.

    ``"auto"`` compares under several kernels and combines their standardized discrepancies by the sum and by the
    Mahalanobis length (Chatterjee and Bhattacharya, "Boosting the Power of Kernel Two-Sample Tests", 2025); the
    distribution of the combination comes from the same permutations. There are Gaussian kernels of six widths for
    vectors and tables, and all kernels of the kind for other objects (for strings also the counts of letters, pairs and
    triples), fixed on the pool of all objects, without looking at who is in which sample.

    Parameters
    ----------
    kernel : Similarity, str, callable, or a list of these
        Several are compared as ``"auto"`` does. For a matrix of all pairs use ``Precomputed(M)`` and positions.
    X, Z : sequence of objects
        The samples; they may have different sizes.
    n_permutations : int
    level : float
        The hypothesis is rejected if the p-value is at most this.
    n_landmarks : int, "auto" or None
        The number of landmarks, drawn from the pool, that all objects are compared with: then no matrix of all pairs is
        made, and blocks of rows are permuted. ``"auto"``: 200 for more than 3,000 objects, and else None, all pairs.
    random_state : int, optional
    engine : Engine, optional

    Returns
    -------
    TestResult

    Examples
    --------
    >>> from similitude import two_sample_test
    >>> found = two_sample_test("auto", ["ACGT" * 5, "ACGA" * 5] * 8, ["GGTT" * 5, "ACGT" * 5] * 8)
    >>> found.p_value, found.rejected, found.telling[0].object[:8]
    (0.003, True, 'ACGAACGA')
    """
    tested = TestedObjects(kernel, engine=engine)
    tested.check()
    check_permutations(n_permutations, level)
    X, Z = tested.read(X, "X"), tested.read(Z, "Z")
    check_alike(X, Z, "X", "Z")
    rng = generator(random_state)
    samples = positions_of([X, Z], ["X", "Z"], level)
    number = landmark_number(n_landmarks, sum(map(len, samples)))
    pool = PooledObjects.of(tested, [X, Z], rng)
    compared = prepared(pool, samples, number).compare(samples[0], samples[1], n_permutations, rng)
    statistic, p_value, kernels = found_by(compared, pool.kernels)
    return TestResult(
        hypothesis="X and Z have the same distribution",
        statistic=statistic,
        p_value=p_value,
        level=level,
        sizes=(len(samples[0]), len(samples[1])),
        n_permutations=n_permutations,
        kernels=kernels,
        telling=telling_objects(compared, pool, {"X": samples[0], "Z": samples[1]}, len(samples[0])),
        n_landmarks=number,
        notes=notes_on(compared, pool.kernels, number),
    )


def positions_of(samples: list[Any], names: list[str], level: float) -> list[np.ndarray]:
    """Return the positions of each sample in the pool; refuse samples in which no permutation test can reject."""
    sizes = [int(one.shape[0]) if hasattr(one, "shape") else len(one) for one in samples]
    for size, name in zip(sizes, names, strict=True):
        if size < 2:
            raise ValueError(f"{name} holds one object: a sample of at least two is needed")
    for size in sizes[1:]:
        divisions = math.comb(min(sizes[0], 50) + min(size, 50), min(size, 50))
        if divisions * level < 1:
            raise ValueError(
                f"samples of {sizes[0]} and {size} objects are too small for the level {level:g}: "
                f"there are only {divisions} ways to divide them"
            )
    edges = np.cumsum([0, *sizes])
    return [np.arange(a, b) for a, b in itertools.pairwise(edges)]


def prepared(pool: PooledObjects, samples: list[np.ndarray], number: int | None) -> AllPairs | LandmarkSums:
    """Return what compares samples of a pool: all pairs, or sums of similarities to landmarks."""
    return AllPairs(pool) if number is None else LandmarkSums(pool, samples, number)


def found_by(compared: PermutedSamples, kernels: list[Similarity]) -> tuple[float, float, tuple[KernelFinding, ...]]:
    """Return the statistic, its p-value, and the findings of the kernels."""
    together, p_value, alone = of_several(compared.statistics)
    observed = compared.statistics[:, 0]
    statistic = float(observed[0]) if len(kernels) == 1 else together
    rows = zip(kernels, observed, alone, strict=True)
    return statistic, p_value, tuple(KernelFinding(repr(k), float(value), p) for k, value, p in rows)


def telling_objects(
    compared: PermutedSamples, pool: PooledObjects, samples: dict[str, np.ndarray], second_from: int
) -> tuple[TellingObject, ...]:
    """Return the objects of two samples that are most similar to their own sample rather than the other one.

    The positions of the second argument begin at `second_from` in the pool.
    """
    found = []
    for sign, start, (name, sample) in zip((1.0, -1.0), (0, second_from), samples.items(), strict=True):
        own = np.flatnonzero(np.isin(compared.positions, sample))
        order = own[np.argsort(-sign * compared.witness[own], kind="stable")][:NAMED_OBJECTS]
        for i in order[sign * compared.witness[order] > 0]:
            value, position = abs(float(compared.witness[i])), int(compared.positions[i])
            p_value = float((compared.largest >= value * (1 - 1e-9)).mean())
            shown = pool.chunk(np.array([position]))
            one = shown.iloc[0] if hasattr(shown, "iloc") else shown[0]
            found.append(TellingObject(name, position - start, one, value, p_value))
    return tuple(found)


def notes_on(compared: PermutedSamples, kernels: list[Similarity], number: int | None) -> tuple[str, ...]:
    """Return notes on the similarity and on landmarks."""
    notes = []
    if not compared.statistics.any():
        notes.append(CONSTANT_SIMILARITY)
    unproven = [repr(k) for k in kernels if not k.proven]
    if unproven:
        notes.append(
            f"{unproven[0]} has no proof that it is a kernel: the level is exact all the same, but some differences "
            f"may not be found with any number of objects"
        )
    if number is not None:
        notes.append(
            f"objects are compared with {number:,} landmarks drawn from all of them, and blocks of rows are permuted: "
            f"the level is exact, differences that these landmarks do not see are not found, and only landmarks are "
            f"named as telling"
        )
    return tuple(notes)
