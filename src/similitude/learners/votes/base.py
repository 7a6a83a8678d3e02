"""What votes share: labeled examples, how much each is trusted, and sums of similarities to those of each class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from similitude.compute.blocks import Blocks
from similitude.compute.encodings import Encoding, as_objects, check_objects, itemsize
from similitude.learners.kernel_learner import KernelLearner
from similitude.scikit import check_labels, check_weights
from similitude.similarity import Similarity
from similitude.support.errors import brief


class Voting(ClassifierMixin, KernelLearner):
    """A classifier that keeps labeled examples and sums up similarities to those of each class."""

    def _read(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return the objects, their class numbers, and how often each counts; set ``classes_`` and ``totals_``."""
        _ = self._engine  # refused before the first call of a similarity
        X = self._checked(X, reset=True)
        self.classes_, numbers = check_labels(self, X, y)
        counts = check_weights(sample_weight, len(numbers))
        self.totals_ = np.bincount(numbers, counts)
        if not self.totals_.all():
            missing = self.classes_[self.totals_ == 0].tolist()[0]
            raise ValueError(f"class {missing!r} has examples of weight zero only: leave it out")
        return X, numbers, counts

    def _remember(self, X: Any, A: Encoding, numbers: np.ndarray, votes: np.ndarray) -> None:
        """Keep every example that has a vote."""
        self._keep(X, A, votes[:, None] * (numbers[:, None] == np.arange(len(self.classes_))))

    def _sums(self, k: Similarity, A: Encoding) -> np.ndarray:
        """Return the sum of votes times similarities over the examples of each class, tile by tile."""
        return Blocks(k, A, self._support, engine=self._engine, itemsize=itemsize(A)).times(self.dual_coef_)

    def mean_similarities(self, X: Any) -> np.ndarray:
        """Return the mean similarity of every object to the examples of each class, times their weights if any.

        Parameters
        ----------
        X : sequence of objects

        Returns
        -------
        array of shape (n, classes)
        """
        return self._sums(*self._ask(X)) / self.totals_


class Scoring(Voting):
    """A vote that the largest score wins. A subclass writes `decision_function`."""

    def decision_function(self, X: Any) -> np.ndarray:
        """Return one score for two classes, one per class for several."""
        raise NotImplementedError

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of every object: of two the second at a score of 0 or more, else that of the largest.

        Of equal scores the first in ``classes_`` wins.

        Parameters
        ----------
        X : sequence of objects
        """
        scores = self.decision_function(X)
        return self.classes_[(scores >= 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]


def known_weights(weights: Any, X: Any, precomputed: bool = False) -> np.ndarray:
    """Return the weight of every object, from 0 to 1; ones where none are given.

    Parameters
    ----------
    weights : sequence of float, callable or None
        A number for each object, or a function of one object.
    X : sequence of objects
    precomputed : bool
        Whether X is a matrix, which holds no objects to ask a function about.

    Examples
    --------
    >>> known_weights(lambda word: len(word) / 10, ["kernel", "map"])
    array([0.6, 0.3])
    """
    n = check_objects(X)
    if weights is None:
        return np.ones(n)
    if callable(weights) and precomputed:
        raise ValueError("a precomputed matrix holds no objects to ask for weights: give a number for each example")
    values = _asked(weights, as_objects(X)) if callable(weights) else np.asarray(weights)
    if values.shape != (n,) or values.dtype.kind not in "fiub":
        raise ValueError(f"weights must be {n} numbers, one for each example, got {brief(weights)}")
    values = values.astype(np.float64)
    bad = np.flatnonzero(~((values >= 0) & (values <= 1)))
    if len(bad):
        raise ValueError(f"weights must be from 0 to 1, that of example {bad[0]} is {values[bad[0]]:g}")
    if not values.any():
        raise ValueError("every weight is zero: there is nobody to vote")
    return values


def _asked(weight: Callable[[Any], float], objects: list[Any]) -> np.ndarray:
    values = np.empty(len(objects))
    for i, x in enumerate(objects):
        try:
            values[i] = weight(x)
        except Exception as error:
            raise ValueError(f"weights({brief(x)}) of example {i} gave no number: {error}") from error
    return values
