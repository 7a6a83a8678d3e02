"""drift_test: whether new objects have the distribution of a reference, and which batches have not."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute import check_objects
from similitude.compute.engines import Engine
from similitude.hypotheses.findings import DriftResult
from similitude.hypotheses.p_values import check_permutations, holm
from similitude.hypotheses.samples import PooledObjects, TestedObjects, check_alike, landmark_number
from similitude.hypotheses.two_sample import found_by, notes_on, positions_of, prepared, telling_objects
from similitude.support import brief, check_integer, generator, is_integer


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
    tested = TestedObjects(kernel, engine=engine)
    tested.check()
    reference, new = tested.read(reference, "reference"), tested.read(new, "new")
    check_alike(reference, new, "reference", "new")
    members = _members(batches, check_objects(new, "new"))
    check_permutations(n_permutations, level, len(members))
    rng = generator(random_state)
    first, rest = _positions(reference, members, level)
    number = landmark_number(n_landmarks, len(first) + sum(map(len, rest)))
    pool = PooledObjects.of(tested, [reference, new], rng)
    both = prepared(pool, [first, *rest], number)
    compared = [both.compare(first, batch, n_permutations, rng) for batch in rest]
    found = [found_by(one, pool.kernels) for one in compared]
    p_values = holm([p for _, p, _ in found])
    worst = min(range(len(found)), key=lambda i: (p_values[i], found[i][1], -found[i][0]))
    new_positions = np.sort(np.concatenate(rest))
    return DriftResult(
        hypothesis="new objects have the distribution of the reference",
        statistic=found[worst][0],
        p_value=p_values[worst],
        level=level,
        sizes=(len(first), len(new_positions)),
        n_permutations=n_permutations,
        kernels=found[worst][2],
        telling=telling_objects(compared[worst], pool, {"reference": first, "new": rest[worst]}, len(first)),
        n_landmarks=number,
        notes=notes_on(compared[worst], pool.kernels, number),
        batches=tuple(members),
        p_values=tuple(p_values),
    )


def _members(batches: Any, n: int) -> dict[Any, np.ndarray]:
    """Return the numbers of the new objects in each batch, by the batch's number or label."""
    if batches is None:
        return {0: np.arange(n)}
    if is_integer(batches):
        size = check_integer("batches", batches, 2, n)
        starts = np.arange(0, n - size + 1, size)
        return dict(enumerate(np.split(np.arange(n), starts[1:])))
    labels = list(batches.tolist() if hasattr(batches, "tolist") else batches) if hasattr(batches, "__len__") else None
    if labels is None or isinstance(batches, (str, bytes)):
        raise TypeError(f"batches must be a number or a sequence of labels, got {brief(batches)}")
    if len(labels) != n:
        raise ValueError(f"batches holds {len(labels)} labels for {n} new objects")
    found: dict[Any, list[int]] = {}
    for i, label in enumerate(labels):
        found.setdefault(label, []).append(i)
    return {label: np.array(numbers) for label, numbers in found.items()}


def _positions(reference: Any, members: dict[Any, np.ndarray], level: float) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the positions of the reference and of the batches in the pool; refuse what is too small."""
    names = ["new"] if len(members) == 1 else [f"batch {brief(label)}" for label in members]
    first, *_ = positions_of([reference, *members.values()], ["reference", *names], level)
    return first, [len(first) + numbers for numbers in members.values()]
