"""Targets: classes coded as -1 and +1, or numbers; read at once or batch by batch."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from similitude.scikit import check_label_column, check_targets, class_codes
from similitude.support import brief, written


class Targets:
    """Reads the labels or targets of batches; the name is that of the estimator, for errors."""

    def __init__(self, name: str) -> None:
        self.name = name

    def see(self, X: Any, y: Any, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Look at a batch in the first pass; return its labels, and which rows have a weight."""
        raise NotImplementedError

    def absorb(self, other: Any) -> None:
        """Add what another saw of further batches."""
        raise NotImplementedError

    def copy(self) -> Targets:
        """Return a copy, for a worker."""
        return copy.copy(self)

    def close(self) -> None:
        """Settle what depends on all labels."""

    def numbers(self, y: np.ndarray) -> np.ndarray | None:
        """Return class numbers, if there are classes."""
        return None

    def read(self, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return targets as columns, and weights multiplied by those of the classes."""
        raise NotImplementedError


class ClassTargets(Targets):
    """Labels of a classifier: all classes and their weights are known after the first pass."""

    def __init__(
        self, name: str, class_weights: Callable[[np.ndarray, np.ndarray], np.ndarray], excluded: Sequence[Any] = ()
    ) -> None:
        super().__init__(name)
        self.class_weights = class_weights  # given the classes and their total weights
        self.excluded = list(excluded)  # classes of weight zero
        self.classes: np.ndarray | None = None
        self.totals = np.empty(0)
        self.multipliers = np.empty(0)

    def see(self, X: Any, y: Any, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Count the labels of a batch; return them, and which rows have a weight."""
        labels = check_label_column(self.name, X, y)
        found, numbers = np.unique(labels, return_inverse=True)
        self._add(found, np.bincount(numbers, weights, minlength=len(found)))
        counted = weights > 0
        if self.excluded:
            counted &= ~np.isin(labels, self.excluded)
        return labels, counted

    def _add(self, found: np.ndarray, weights: np.ndarray) -> None:
        """Add the weights of classes, known or new."""
        known = found if self.classes is None else np.union1d(self.classes, found)
        totals = np.zeros(len(known))
        if self.classes is not None:
            totals[np.searchsorted(known, self.classes)] += self.totals
        totals[np.searchsorted(known, found)] += weights
        self.classes = known
        self.totals = totals

    def absorb(self, other: ClassTargets) -> None:
        """Add what another saw of further batches."""
        if other.classes is not None:
            self._add(other.classes, other.totals)

    def close(self) -> None:
        """Settle what depends on all labels."""
        assert self.classes is not None
        if len(self.classes) < 2:
            raise ValueError(
                f"{self.name} needs two classes at least, y holds one class only: {written(self.classes[0])}"
            )
        self.multipliers = self.class_weights(self.classes, self.totals)
        for label, weight in zip(self.classes.tolist(), self.multipliers * self.totals, strict=True):
            if weight == 0:
                raise ValueError(f"class {written(label)} has examples of weight zero only: leave it out")

    def numbers(self, y: np.ndarray) -> np.ndarray | None:
        """Return class numbers, if there are classes."""
        return self.class_numbers(y)

    def class_numbers(self, y: np.ndarray) -> np.ndarray:
        """Return the number of each label's class."""
        assert self.classes is not None
        places = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
        strange = np.flatnonzero(self.classes[places] != y)
        if len(strange):
            raise ValueError(f"label {brief(y[strange[0]])} was not there in the first pass: each must give the same")
        return places

    def read(self, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return targets as columns, and the weights."""
        numbers = self.class_numbers(y)
        assert self.classes is not None
        return class_codes(numbers, len(self.classes)), weights * self.multipliers[numbers]


class NumberTargets(Targets):
    """Targets of a regressor."""

    one_output = True

    def see(self, X: Any, y: Any, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Look at a batch in the first pass; return its labels, and which rows have a weight."""
        y = check_targets(self.name, X, y)
        self.one_output = y.ndim == 1
        return y, weights > 0

    def absorb(self, other: NumberTargets) -> None:
        """Add what another saw of further batches."""
        self.one_output = other.one_output

    def read(self, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return targets as columns, and the weights."""
        Y = y.astype(np.float64, copy=False)
        if Y.ndim == 1:
            Y = Y[:, None]
        return Y, weights
