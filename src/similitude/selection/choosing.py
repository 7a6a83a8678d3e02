"""Choosing among similarities by cross-validation that computes each pair of objects once."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute.encodings import check_objects, itemsize
from similitude.compute.engines import DistributedEngine, Engine, LocalEngine, current_engine
from similitude.landmarks.representation import Representation
from similitude.selection.comparing import differences, error_of, widening
from similitude.selection.coordinates import coordinates, variants
from similitude.selection.folds import MOST_PARTS, Folds, check_cv, read_folds
from similitude.selection.judging import Judged, judge
from similitude.selection.pairs import Looked, Pairs, families
from similitude.selection.reading import CLASSIFICATION, Named, Targets, distinct, read_similarities, speaking_of
from similitude.selection.sampling import Sizes, affordable, announce, drawn_landmarks, drawn_rows
from similitude.selection.tables import Row, Selection
from similitude.similarity import remembered_images
from similitude.support.randomness import generator
from similitude.support.results import Estimate

ROWS = 20_000
"""Examples at most that are looked at."""

LANDMARKS = 1_000
"""Landmarks at most."""

ARRAYS, MATRICES = 6, 5
"""Arrays of examples by landmarks that are in memory at once, and matrices of features beside those of the folds."""


def choose_kernel(
    candidates: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 5,
    task: str | None = None,
    random_state: Any = None,
    engine: Engine | None = None,
) -> Selection:
    r"""Rank similarities by the cross-validated error of ridge regression on their similarities to landmarks.

    Each candidate is compared with the landmarks once: every fold and every penalty :math:`\lambda` of

    .. math:: \min_{w, b} \sum_i |y_i - w^\top f(x_i) - b|^2 + \lambda |w|^2

    comes from sums over parts of the examples. The features f are those that `SimilarityClassifier` makes: a kernel,
    by proof or as far as the landmarks tell, is projected onto the landmarks; of any other similarity the values
    themselves are taken. Candidates that are functions of the same distance (Gaussian, Laplace, Matern, rational
    quadratic, with any parameters, also pulled back by the same function) share one block of distances.

    Landmarks, 1,000 at most, are drawn once, uniformly, and serve all candidates and all folds; scales left open
    (``"median"``) are fixed on X once. Both look at objects of all folds, but at no label.

    In each fold the penalty is the one that does best on the held-out examples of the other folds, of 21 from
    :math:`10^{-9}` to 10 times the sum of squares of the centered features. Candidates are ranked by held-out error.
    Differences to the best are paired by example. Their normal intervals hold for all pairs of candidates at once, so
    that it does no harm that the best was chosen by the same errors, and allow for models that share training examples
    (Nadeau and Bengio, "Inference for the Generalization Error", 2003). What they cover is the difference that models
    of so many training examples have on new examples; for classes they are rather too wide than too narrow, for squared
    errors that a few examples dominate they can be too narrow.

    Parameters
    ----------
    candidates : list of similarities, or dict of them by name
        Each a Similarity, a name such as ``"gaussian"``, or a function of two objects. Of matrices,
        ``Precomputed(M)`` with indices as X.
    X : sequence of objects
        Of more than 20,000 a random sample is looked at, and a warning says so.
    y : sequence of labels or numbers
        Classes, or numbers to predict.
    cv : int, splitter, or iterable of (train, test)
        A number of folds is shuffled, and stratified where there are classes.
    task : {"classification", "regression"}, optional
        Default: as scikit-learn's ``type_of_target`` decides, where whole numbers are classes and numbers with a
        fraction are to be predicted. ``Selection.task`` says which.
    random_state : int, optional
        Seed of landmarks, folds and samples.
    engine : Engine, optional

    Returns
    -------
    Selection
        ``best`` is a Similarity; ``table`` holds one row for each candidate.

    Examples
    --------
    >>> import numpy as np
    >>> from similitude.kernels import Gaussian, Linear
    >>> from similitude.selection import choose_kernel
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 2))
    >>> chosen = choose_kernel([Linear(), Gaussian(sigma=1.0), Gaussian(sigma=1e-3)], X, (X**2).sum(axis=1) > 1.4)
    >>> chosen.best
    Gaussian(sigma=1.0)
    >>> [row.as_good for row in chosen.table]
    [True, False, False]
    """
    named = read_similarities(candidates, "candidates")
    targets = Targets.of(y, check_objects(X), task)
    cv = check_cv(cv, targets)
    engine, rng = checked_engine(engine), generator(random_state)
    sizes = _sizes(X, cv, len(targets), engine)
    rows = drawn_rows(len(targets), targets, sizes.rows, cv if isinstance(cv, int) else 2, rng)
    folds = read_folds(cv, targets, rows, rng)
    looked = Looked(X, rows, drawn_landmarks(len(rows), None, sizes.landmarks, rng))
    announce(sizes, "choose_kernel")
    with remembered_images():
        named = distinct([one.resolved(X, random_state) for one in named])
        tried = list(_tried(Bench(named, looked, targets.only(rows), folds), engine))
    return _selection(tried, looked, targets.task, folds, sizes)


def checked_engine(engine: Engine | None) -> Engine:
    """Return the engine in use."""
    if engine is not None and not isinstance(engine, Engine):
        raise TypeError(f"engine must be an Engine such as LocalEngine(threads=2), got {engine!r}")
    return engine or current_engine()


def _sizes(X: Any, cv: Any, n: int, engine: Engine) -> Sizes:
    size, parts = itemsize(X), min(MOST_PARTS, cv if isinstance(cv, int) else 10)
    return affordable(
        n, ROWS, LANDMARKS, lambda r, m: ARRAYS * r * m * size + (parts + MATRICES) * 8 * (2 * m) ** 2, engine
    )


@dataclass(frozen=True, eq=False)
class Tried:
    """A candidate, before it is ranked; those that share distances are of one family."""

    place: int
    named: Named
    representation: Representation
    judged: Judged
    seconds: float
    family: int
    shared: bool
    n_calls: int = 0


@dataclass(frozen=True, eq=False)
class Bench:
    """What all families are tried on."""

    named: Sequence[Named]
    looked: Looked
    targets: Targets
    folds: Folds


def _tried(bench: Bench, engine: Engine) -> Iterator[Tried]:
    """Yield the candidates, family by family; an engine with workers tries several at once."""
    places = families([one.similarity for one in bench.named])
    if not isinstance(engine, DistributedEngine):
        for number, family in enumerate(places):
            yield from _family(bench, number, family, engine)
        return
    for one in bench.named:
        with speaking_of(one.name):
            bench.looked.objects(one.similarity)  # what is wrong with an object is told here, by its place in X
    n, alone = len(places), LocalEngine(threads=1, memory=engine.memory)
    with engine.session():
        there = engine.broadcast(replace(bench, looked=bench.looked.alone()))
        for tried in engine.collect(engine.map(_family, [there] * n, range(n), places, [alone] * n)):
            yield from tried


def _family(bench: Bench, family: int, places: Sequence[int], engine: Engine) -> list[Tried]:
    """Try the candidates at these places, which share distances."""
    began, so_far, first = time.perf_counter(), [], bench.named[places[0]]
    with speaking_of(first.name):
        pairs = Pairs(first.similarity, bench.looked, engine, shared=len(places) > 1)
        if pairs.shared:
            pairs.left(first.similarity)
    common = (time.perf_counter() - began) / len(places)
    for place in places:
        began, one = time.perf_counter(), bench.named[place]
        with speaking_of(one.name):
            representation, judged = _judged(one, pairs, bench.targets, bench.folds)
        seconds = common + time.perf_counter() - began
        so_far.append(Tried(place, one, representation, judged, seconds, family, pairs.shared))
    return [replace(one, n_calls=pairs.n_calls) for one in so_far]


def _judged(one: Named, pairs: Pairs, targets: Targets, folds: Folds) -> tuple[Representation, Judged]:
    """Judge a candidate; rows of similarities are normalized where that gains clearly."""
    representation, F = coordinates(one.similarity, pairs)
    best: tuple[Representation, Judged] | None = None
    for normalized, features in variants(representation, F):
        judged = judge(features, targets, folds)
        if best is None or judged.loss < best[1].loss - best[1].deviation:
            best = replace(representation, normalized=normalized), judged
    assert best is not None
    return best


def _selection(tried: list[Tried], looked: Looked, task: str, folds: Folds, sizes: Sizes) -> Selection:
    """Rank the candidates by their errors; ties by their losses, then in the order in which they were given."""
    of_classes = task == CLASSIFICATION
    tried = sorted(tried, key=lambda one: (one.judged.errors.mean(), one.judged.loss, one.place))
    errors = np.stack([one.judged.errors for one in tried], axis=1)
    wider = widening(len(errors), float(np.mean([len(train) for train, _ in folds.pairs])))
    apart = differences(errors, 0, of_classes, wider)
    table = [_row(one, difference, of_classes, wider) for one, difference in zip(tried, apart, strict=True)]
    total = sum({one.family: one.n_calls for one in tried}.values())
    return Selection(
        table[0].similarity, table, task, folds.described, len(looked.rows), looked.landmarks, sizes.notes, total
    )


def _row(one: Tried, difference: Estimate, of_classes: bool, wider: float) -> Row:
    return Row(
        candidate=one.named.name,
        similarity=one.named.similarity,
        error=error_of(one.judged.errors, of_classes, wider),
        difference=difference,
        as_good=difference.low <= 0.0,
        loss=one.judged.loss,
        representation=one.representation,
        penalty=one.judged.penalty,
        seconds=one.seconds,
        n_similarity_calls=one.n_calls,
        shared=one.shared,
    )
