"""Similarities that are learned from labels when an estimator is fitted, and again in every fold that judges it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from similitude.compute import Encoding, take
from similitude.evaluation import equals_judged_together, groups_of_equals
from similitude.fitting.options import FitOptions
from similitude.fitting.training_set import TrainingSet
from similitude.similarity import Learnable, Similarity

if TYPE_CHECKING:
    from similitude.kernel_learning import Learned


def learn_similarities(data: TrainingSet, options: FitOptions, copies_last: bool) -> tuple[tuple[Similarity, ...], str]:
    """Learn the similarities that are to be learned; return all of them, and what was learned in a sentence.

    Of many rows the last judge the model, and are not learned from; with `copies_last` rows that equal one of these
    judge it too.
    """
    found, notes = [], []
    for k in options.similarities:
        if isinstance(k, Learnable):
            from similitude.kernel_learning import pilot_size

            rows = data.order
            if copies_last:
                _, encoding = k.k.prepare(data.X, options.random_state)
                rows = equals_judged_together(rows, groups_of_equals(encoding, rows))
            pilot = data.first(rows, pilot_size(len(rows)))
            learned = _learned(k, data.X, data.Y, pilot, options.random_state, data.groups_of(pilot))
            importance = learned.importance.named(options.names)
            notes.append(f"{k!r}: {learned.reason}; what counts: {importance.in_short()}")
            found.append(learned.similarity)
        else:
            found.append(k)
    return tuple(found), "; ".join(notes)


def _learned(
    k: Similarity, X: Any, Y: np.ndarray, rows: np.ndarray, random_state: Any, groups: np.ndarray | None
) -> Learned:
    from similitude.kernel_learning import learn_from_targets

    return learn_from_targets(k, take(X, rows), Y[rows], random_state=random_state, groups=groups)


def prepared_by_labels(
    k: Similarity, X: Any, Y: np.ndarray, known: np.ndarray, random_state: Any, groups: np.ndarray | None = None
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
    groups : array of int, optional
        The group of each of these rows.
    """
    some = take(X, known)
    if isinstance(k, Learnable):
        k = _learned(k, some, Y[known], np.arange(len(known)), random_state, groups).similarity
    return k.prepare(some, random_state)
