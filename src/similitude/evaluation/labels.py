"""Labels that look wrong to a model of other rows."""

from __future__ import annotations

import numpy as np

from similitude.evaluation.limits import CLEAR_GAIN, LESS_PROBABLE, SURE, WRONG_AT_MOST


def suspicious_labels(chances: np.ndarray, numbers: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the rows whose labels look wrong, the least probable first.

    `chances` are the probabilities of classes by models of other rows, `numbers` the classes. A label looks wrong if
    the model is sure of another one, and takes the given one for much less probable than it is among all rows. None
    does where probabilities are not clearly better than the frequencies of the classes: there is nothing to go by.

    >>> chances = np.tile([[0.98, 0.02], [0.02, 0.98]], (30, 1))
    >>> suspicious_labels(chances, np.r_[1, 1, np.tile([0, 1], 29)], np.ones(60)).tolist()
    [0]
    """
    shares = np.bincount(numbers, weights, minlength=chances.shape[1]) / weights.sum()
    own = chances[np.arange(len(numbers)), numbers]
    usual = shares[numbers]
    known = weights > 0
    gains = np.log(np.maximum(own[known], np.finfo(float).tiny) / usual[known])
    if gains.mean() <= CLEAR_GAIN * gains.std() / np.sqrt(len(gains)):
        return np.empty(0, dtype=np.intp)
    wrong = known & (own < WRONG_AT_MOST) & (chances.max(axis=1) > SURE) & (own < LESS_PROBABLE * usual)
    found = np.flatnonzero(wrong)
    return found[np.argsort(own[found], kind="stable")]
