"""The landmarks of a machine: its own, drawn from a pool without labels, or chosen among the examples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute.encodings import check_objects, join, rows, take
from similitude.estimators.distributed import Spread
from similitude.estimators.streams import MOST_HELD_OUT
from similitude.estimators.training import PILOT, Examples
from similitude.landmarks.chosen_landmarks import Landmarks, interleaved
from similitude.landmarks.distributed import AMONG_ALL, choose_among_all, looked_at
from similitude.landmarks.pivots import placed
from similitude.landmarks.rules import RULES, Pool, choose
from similitude.landmarks.sizes import at_most
from similitude.linear import n_fitted
from similitude.support.randomness import generator

FIRST, PER_CLASS = 100, 20
"""Landmarks to begin with: at least so many, and so many for each class."""

FEW = 2_000
"""Landmarks up to which all objects may become landmarks; beyond, half of them."""

LARGEST = 2_400
"""Landmarks at most where their number is left open."""

LARGEST_BY_RULE = 1_600
"""The same for rules that look at the similarities of all objects."""

ENOUGH = 5_000
"""Examples on which a number of landmarks may be judged; where there are more landmarks, three times as many."""

ARRAYS = 4
"""Arrays of the size of the features that are in memory at once while the number of landmarks is chosen."""


@dataclass(frozen=True, eq=False)
class Found:
    """Landmarks in their order, the numbers of them to try, on how many examples, and why not more.

    Where landmarks are none of the examples, they were added to objects and examples, without a weight.
    """

    landmarks: Landmarks
    sizes: list[int]
    pilot: int
    X: Any
    examples: Examples
    limit: str = "their number was given"


def check_landmarks(machine: Any) -> None:
    """Refuse contradictions between the parameters that name landmarks."""
    given = [name for name in ("landmark_indices", "unlabeled") if getattr(machine, name) is not None]
    own = not isinstance(machine.landmarks, str)
    for name in ["landmarks"] * own + ["unlabeled"] * ("unlabeled" in given):
        check_objects(getattr(machine, name), name)
    if len(given) + own > 1:
        raise ValueError("give landmarks, landmark_indices or an unlabeled pool, not several of them")
    if isinstance(machine.landmarks, str) and machine.landmarks not in ("auto", *RULES):
        raise ValueError(f"landmarks must be 'auto', a rule ({', '.join(RULES)}) or objects, got {machine.landmarks!r}")
    if machine._precomputed and (own or machine.unlabeled is not None):
        raise ValueError("with a precomputed matrix landmarks are columns: name them by landmark_indices")
    n = machine.n_landmarks
    whole = isinstance(n, (int, np.integer)) and not isinstance(n, bool) and n >= 1
    if not whole and not (isinstance(n, str) and n == "auto"):
        raise ValueError(f"n_landmarks must be a whole number >= 1 or 'auto', got {n!r}")


def find_landmarks(machine: Any, X: Any, examples: Examples, labels: np.ndarray | None) -> Found:
    """Return the landmarks in the order in which they are taken, and the numbers of them to try."""
    n_classes = 1 if labels is None else max(2, examples.Y.shape[1])
    own = _own(machine, X, labels)
    if own is not None:
        if machine.n_landmarks not in ("auto", len(own)):
            raise ValueError(f"n_landmarks = {machine.n_landmarks} but {len(own)} landmarks were given: leave it out")
        return Found(own, [len(own)], _pilot(machine, examples, len(own)), X, examples)
    available = check_objects(machine.unlabeled, "unlabeled") if machine.unlabeled is not None else examples.n
    if machine.n_landmarks != "auto":
        of = f"the {available:,} objects they are drawn from"
        wanted = at_most("n_landmarks", int(machine.n_landmarks), available, of)
        sizes, limit = [wanted], "their number was given"
    else:
        if machine.unlabeled is None:
            available = n_fitted(available)
        rule = machine.landmarks in ("auto", "uniform", "stratified")
        most = min(available, max(FEW, available // 2), LARGEST if rule else LARGEST_BY_RULE)
        first, fits = max(FIRST, PER_CLASS * n_classes), _affordable(most, machine, examples)
        sizes = _doubled(first, max(fits, min(first, most)))
        limit = "no more objects may become landmarks" if fits == most else "more do not fit into the memory budget"
    if machine.unlabeled is None and machine.landmarks in AMONG_ALL and isinstance(examples.rest, Spread):
        X, examples, landmarks = _among_all(machine.landmarks, X, examples, sizes[-1])
    else:
        with examples.named(None):
            landmarks = _drawn(machine, X, examples, labels, sizes[-1])
    if machine.unlabeled is None and isinstance(examples.rest, Spread):
        machine.notes_.append(looked_at(landmarks.drawn, PILOT, examples.rest.n))
    sizes = sorted({min(size, len(landmarks)) for size in sizes})
    return Found(landmarks, sizes, _pilot(machine, examples, sizes[-1]), X, examples, limit)


def _doubled(first: int, last: int) -> list[int]:
    """Return numbers that double up to the last.

    >>> _doubled(100, 500)
    [100, 200, 500]
    """
    sizes = [min(first, last)]
    while sizes[-1] < last:
        sizes.append(min(2 * sizes[-1], last))
    if len(sizes) > 2 and sizes[-1] < 1.5 * sizes[-2]:
        del sizes[-2]
    return sizes


def _affordable(most: int, machine: Any, examples: Examples) -> int:
    """Return the largest number of landmarks at which the features of enough examples fit into the memory budget."""
    n, fits, too_many = min(PILOT, examples.n), 0, most + 1
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        enough = _rows(machine, examples, middle) >= min(n, max(ENOUGH, 3 * middle))
        fits, too_many = (middle, too_many) if enough else (fits, middle)
    return fits


def _pilot(machine: Any, examples: Examples, most: int) -> int:
    """Return on how many examples choices are made."""
    fits = _rows(machine, examples, most)
    if fits < 2:
        raise MemoryError(f"{most:,} landmarks do not fit into the memory budget: use fewer, or a larger budget")
    return min(PILOT, fits)


def _rows(machine: Any, examples: Examples, n_landmarks: int) -> int:
    """Return how many rows of features fit into the memory budget beside three Gram matrices."""
    sides = 2 if machine.side in ("auto", "both") and not all(k.proof().holds for k in examples.similarities) else 1
    width = n_landmarks * sides * len(examples.similarities)
    left = machine._engine.budget - 3 * 8 * width**2
    return max(0, left) // (ARRAYS * width * examples.itemsize)


def _own(machine: Any, X: Any, labels: np.ndarray | None) -> Landmarks | None:
    """Return the landmarks that the user named; None where a rule chooses."""
    if not isinstance(machine.landmarks, str):
        try:
            objects = machine._checked(machine.landmarks, reset=False)
        except (TypeError, ValueError) as error:
            raise type(error)(f"landmarks: {error}") from error
        return Landmarks(objects, None, None, "own")
    if machine.landmark_indices is None:
        return None
    n, positions = check_objects(X), np.asarray(machine.landmark_indices)
    if positions.ndim != 1 or not len(positions) or positions.dtype.kind not in "iu":
        raise ValueError(f"landmark_indices must be a list of positions in X, got {machine.landmark_indices!r}")
    outside = positions[(positions < -n) | (positions >= n)]
    if len(outside):
        raise IndexError(f"landmark_indices holds {outside[0]}, X has {n:,} objects")
    positions = positions % n
    return Landmarks(take(X, positions), positions, None if labels is None else labels[positions], "own")


def _drawn(machine: Any, X: Any, examples: Examples, labels: np.ndarray | None, most: int) -> Landmarks:
    """Return landmarks chosen by the rule, as many as may be needed."""
    rng = generator(machine.random_state)
    k, rule = examples.similarities[0], machine.landmarks
    if rule == "auto":
        proven = all(one.proof().holds for one in examples.similarities)
        rule = "uniform" if proven or labels is None or machine.unlabeled is not None else "stratified"
    if machine.unlabeled is not None:
        return _from_pool(machine, k, rule, most, rng)
    candidates = examples.order[: max(most, min(PILOT, n_fitted(examples.n)))]
    if rule == "uniform":
        which = candidates[:most]
    elif rule == "stratified":
        if labels is None:
            raise ValueError("landmarks='stratified' needs classes: use 'uniform'")
        which = candidates[interleaved(labels[candidates], rng)[:most]]
    else:
        few = np.sort(candidates)
        pool = Pool(k, rows(examples.encodings[0], few), machine._engine, None, rng, take(X, few))
        with placed(few):
            which = few[choose(rule, pool, min(most, len(few)))]
    return Landmarks(take(X, which), which, None if labels is None else labels[which], rule)


def _among_all(rule: str, X: Any, examples: Examples, most: int) -> tuple[Any, Examples, Landmarks]:
    """Choose by a rule among all rows of a collection but those held out, and add them to objects and examples."""
    assert isinstance(examples.rest, Spread) and examples.places is not None
    whole = examples.rest.whole(examples.places[examples.last(MOST_HELD_OUT)])
    objects, places = choose_among_all(rule, examples.similarities[0], whole, most)
    X, n = join(X, objects), len(examples.Y)
    examples = replace(
        examples,
        encodings=tuple(k._encoded(X, "X") for k in examples.similarities),
        Y=np.concatenate([examples.Y, np.zeros_like(examples.Y[:1]).repeat(len(places), axis=0)]),
        weights=np.concatenate([examples.weights, np.zeros(len(places))]),
        places=np.concatenate([examples.places, places]),
    )
    return X, examples, Landmarks(objects, np.arange(n, n + len(places)), None, rule)


def _from_pool(machine: Any, k: Any, rule: str, most: int, rng: np.random.Generator) -> Landmarks:
    """Return landmarks from the unlabeled pool."""
    try:
        pool = machine._checked(machine.unlabeled, reset=False)
        if rule == "stratified":
            raise ValueError("landmarks='stratified' needs labels, an unlabeled pool has none: use 'uniform'")
        if rule == "uniform":
            which = rng.permutation(check_objects(pool))[:most]
        else:
            which = choose(rule, Pool(k, k.encode(pool), machine._engine, None, rng, pool), most)
    except (TypeError, ValueError) as error:
        if type(error) not in (TypeError, ValueError):
            raise
        raise type(error)(f"unlabeled: {error}") from error
    return Landmarks(take(pool, which), None, None, "unlabeled" if rule == "uniform" else rule)
