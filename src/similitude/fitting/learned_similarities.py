"""Similarities that are learned from labels when an estimator is fitted, and again in every fold that judges it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from similitude.compute import Encoding, take
from similitude.evaluation import equals_judged_together, groups_of_equals
from similitude.similarity import Learnable, Similarity

if TYPE_CHECKING:
    from similitude.kernel_learning import Learned


def learn_similarities(
    similarities: Sequence[Similarity],
    X: Any,
    Y: np.ndarray,
    order: np.ndarray,
    judged_together: bool,
    random_state: Any,
    names: list[str] | None = None,
) -> tuple[tuple[Similarity, ...], str]:
    """Learn the similarities that are to be learned; return all of them, and what was learned in a sentence.

    Parameters
    ----------
    similarities : sequence of Similarity
    X, Y
        Objects, and targets as columns of numbers.
    order : array of int
        The rows to learn from, in random order: the last of many judge the model, and are not learned from.
    judged_together : bool
        Whether rows that equal one of the last judge it too.
    random_state : int or None
    names : list of str, optional
        The names of the columns of vectors.
    """
    found, notes = [], []
    for k in similarities:
        if isinstance(k, Learnable):
            from similitude.kernel_learning import pilot_size

            rows = order
            if judged_together:
                _, encoding = k.k.prepare(X, random_state)
                rows = equals_judged_together(order, groups_of_equals(encoding, order))
            learned = _learned(k, X, Y, rows[: pilot_size(len(rows))], random_state)
            notes.append(f"{k!r}: {learned.reason}; what counts: {learned.importance.named(names).in_short()}")
            found.append(learned.similarity)
        else:
            found.append(k)
    return tuple(found), "; ".join(notes)


def _learned(k: Similarity, X: Any, Y: np.ndarray, rows: np.ndarray, random_state: Any) -> Learned:
    from similitude.kernel_learning import learn_from_targets

    return learn_from_targets(k, take(X, rows), Y[rows], random_state=random_state)


def prepared_by_labels(
    k: Similarity, X: Any, Y: np.ndarray, known: np.ndarray, random_state: Any
) -> tuple[Similarity, Encoding]:
    """Return a similarity learned from or resolved on some training rows, and these rows encoded.

    Parameters
    ----------
    k : Similarity
    X, Y
        All objects and targets.
    known : array of int
        The rows that may be used.
    random_state : int or None
    """
    some = take(X, known)
    if isinstance(k, Learnable):
        k = _learned(k, some, Y[known], np.arange(len(known)), random_state).similarity
    return k.prepare(some, random_state)
