"""Whether two samples of objects have the same distribution, and which batches of new objects have drifted."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from similitude.compute import check_objects
from similitude.compute.engines import Engine
from similitude.hypotheses.findings import DriftResult, KernelFinding, TellingObject, TestResult
from similitude.hypotheses.p_values import check_permutations, combined, holm, share_reached, standardized
from similitude.hypotheses.permuted_samples import AllPairs, LandmarkSums, PermutedSamples
from similitude.hypotheses.samples import PooledObjects, TestedObjects, check_alike, landmark_number
from similitude.similarity import Similarity
from similitude.support import brief, check_integer, generator, is_integer


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
    found, _ = _tested(kernel, {"X": X, "Z": Z}, None, n_permutations, level, n_landmarks, random_state, engine)
    return TestResult("X and Z have the same distribution", **found)


def _tested(
    kernel: Any,
    named: dict[str, Any],
    batches: Any,
    n_permutations: int,
    level: float,
    n_landmarks: int | str | None,
    random_state: Any,
    engine: Engine | None,
) -> tuple[dict[str, Any], dict[Any, float]]:
    """Compare the first of two named samples with batches of the second; return the result and p-values of batches."""
    tested = TestedObjects(kernel, engine=engine)
    x, z = named
    X = tested.read(named[x], x)
    Z = tested.read(named[z], z)
    check_alike(X, Z, x, z)
    members = _members(batches, check_objects(Z, z))
    check_permutations(n_permutations, level, len(members))
    rng = generator(random_state)
    names = [z] if len(members) == 1 else [f"batch {brief(label)}" for label in members]
    first, *_ = positions_of([X, *members.values()], [x, *names], level)
    rest = [len(first) + numbers for numbers in members.values()]
    size = sum(map(len, rest))
    number = landmark_number(n_landmarks, len(first) + size)
    pool = PooledObjects(tested, [X, Z], rng)
    notes = []
    both: AllPairs | LandmarkSums
    if number is None:
        both = AllPairs(pool, [first, *rest])
    else:
        both = LandmarkSums(pool, [first, *rest], number)
        notes.append(
            f"objects are compared with {number:,} landmarks drawn from all of them, and blocks of rows are permuted: "
            f"the level is exact, differences that these landmarks do not see are not found, and only landmarks are "
            f"named as telling"
        )
    compared = [both.compare(1 + batch, n_permutations, rng) for batch in range(len(rest))]
    found = [found_by(one.statistics, list(map(repr, pool.kernels))) for one in compared]
    p_values = holm([p for _, p, _ in found])
    worst = min(range(len(found)), key=lambda i: (p_values[i], found[i][1], -found[i][0]))
    result = {
        "statistic": found[worst][0],
        "p_value": p_values[worst],
        "level": level,
        "sizes": (len(first), size),
        "n_permutations": n_permutations,
        "kernels": found[worst][2],
        "telling": telling_objects(compared[worst], pool, {x: first, z: rest[worst]}, len(first)),
        "n_landmarks": number,
        "notes": (*notes_on(compared[worst].statistics, pool.kernels, "differences", "objects"), *notes),
    }
    return result, dict(zip(members, p_values, strict=True))


def positions_of(samples: list[Any], names: list[str], level: float) -> list[np.ndarray]:
    """Return the positions of each sample in the pool; refuse samples in which no permutation test can reject."""
    sizes = list(map(check_objects, samples))
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


def found_by(statistics: np.ndarray, names: list[str]) -> tuple[float, float, tuple[KernelFinding, ...]]:
    """Return the statistic, its p-value, and the findings of the kernels with these names."""
    z = standardized(statistics)
    together = combined(z)
    findings = tuple(map(KernelFinding, names, statistics[:, 0].tolist(), map(share_reached, z)))
    statistic = findings[0].statistic if len(names) == 1 else float(together[0])
    return statistic, share_reached(together), findings


def telling_objects(
    compared: PermutedSamples, pool: PooledObjects, samples: dict[str, np.ndarray], second_from: int
) -> tuple[TellingObject, ...]:
    """Return the objects most similar to their own sample, not the other, whose positions begin at `second_from`."""
    found = []
    for sign, start, (name, sample) in zip((1.0, -1.0), (0, second_from), samples.items(), strict=True):
        own = np.flatnonzero(np.isin(compared.positions, sample))
        order = own[np.argsort(-sign * compared.witness[own], kind="stable")][:10]
        for i in order[sign * compared.witness[order] > 0]:
            value = abs(float(compared.witness[i]))
            position = int(compared.positions[i])
            p_value = float((compared.largest >= value * (1 - 1e-9)).mean())
            shown = pool.chunk(np.array([position]))
            one = shown.iloc[0] if hasattr(shown, "iloc") else shown[0]
            found.append(TellingObject(name, position - start, one, value, p_value))
    return tuple(found)


def notes_on(statistics: np.ndarray, kernels: list[Similarity], what: str, objects: str) -> list[str]:
    """Return notes on the similarity."""
    notes = []
    if not statistics.any():
        notes.append("the similarity is constant: it cannot tell any objects apart")
    unproven = [repr(k) for k in kernels if not k.proven]
    if unproven:
        notes.append(
            f"{unproven[0]} has no proof that it is a kernel: the level is exact all the same, but some {what} "
            f"may not be found with any number of {objects}"
        )
    return notes


def drift_test(
    kernel: Any,
    reference: Any,
    new: Any,
    *,
    batches: Any = None,
    n_permutations: int = 999,
    level: float = 0.05,
    n_landmarks: int | str | None = "auto",
    random_state: Any = None,
    engine: Engine | None = None,
) -> DriftResult:
    """Test whether new objects still have the distribution of a reference, as a whole or batch by batch.

    The reference is what a model was trained on, say, and the new objects are those that it meets later. Each batch is
    compared with the reference by :func:`two_sample_test`, by the same kernels, and its p-value is corrected for the
    number of batches by Holm's method. So it is exact for each batch that has not drifted, whatever happened to others.
    All objects are assumed to be independent of one another.

    Parameters
    ----------
    kernel : Similarity, str, callable, or a list of these
    reference, new : sequence of objects
    batches : int or sequence, optional
        The number of consecutive new objects in a batch (a shorter rest is added to the last one), or the label of the
        batch of each new object, such as a date. Default: all new objects are one batch.
    n_permutations, level, n_landmarks, random_state, engine
        See :func:`two_sample_test`. At least (number of batches) / level - 1 permutations are needed.

    Returns
    -------
    DriftResult

    Examples
    --------
    >>> import numpy as np
    >>> from similitude import drift_test
    >>> rng = np.random.default_rng(0)
    >>> reference, new = rng.normal(size=(100, 2)), rng.normal(size=(90, 2))
    >>> new[60:] += 1.0
    >>> found = drift_test("auto", reference, new, batches=30)
    >>> found.drifted, found.p_value
    ((2,), 0.003)
    """
    named = {"reference": reference, "new": new}
    found, p_values = _tested(kernel, named, batches, n_permutations, level, n_landmarks, random_state, engine)
    hypothesis = "new objects have the distribution of the reference"
    return DriftResult(hypothesis, **found, batches=tuple(p_values), p_values=tuple(p_values.values()))


def _members(batches: Any, n: int) -> dict[Any, np.ndarray]:
    """Return the numbers of the new objects in each batch, by the batch's number or label."""
    if batches is None:
        return {0: np.arange(n)}
    if is_integer(batches):
        size = check_integer("batches", batches, 2, n)
        starts = np.arange(0, n - size + 1, size)
        return dict(enumerate(np.split(np.arange(n), starts[1:])))
    if not hasattr(batches, "__len__") or isinstance(batches, (str, bytes)):
        raise TypeError(f"batches must be a number or a sequence of labels, got {brief(batches)}")
    labels = batches.tolist() if hasattr(batches, "tolist") else list(batches)
    if len(labels) != n:
        raise ValueError(f"batches holds {len(labels)} labels for {n} new objects")
    found: dict[Any, list[int]] = {}
    for i, label in enumerate(labels):
        found.setdefault(label, []).append(i)
    return {label: np.array(numbers) for label, numbers in found.items()}
