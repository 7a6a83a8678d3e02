"""Labels and targets of a source, read batch by batch."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from similitude.scikit import check_label_column, check_targets
from similitude.support.errors import brief


def codes(numbers: np.ndarray, n_classes: int) -> np.ndarray:
    """Return -1 and +1, a byte each: one column for two classes, one per class for several."""
    which = numbers[:, None] == (1 if n_classes == 2 else np.arange(n_classes))
    return 2 * which.astype(np.int8) - 1


class Classes:
    """Labels of a classifier: all classes and their weights are known after the first pass."""

    def __init__(self, machine: Any) -> None:
        self.machine = machine
        self._classes: np.ndarray | None = None
        self._totals = np.empty(0)
        given = machine.class_weight
        self._without = [label for label, weight in given.items() if weight == 0] if isinstance(given, dict) else []

    def see(self, X: Any, y: Any, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Count the labels of a batch; return them, and which have a weight."""
        labels = check_label_column(self.machine, X, y)
        found, numbers = np.unique(labels, return_inverse=True)
        self._add(found, np.bincount(numbers, weights, minlength=len(found)))
        return labels, (weights > 0) & ~np.isin(labels, self._without) if self._without else weights > 0

    def _add(self, found: np.ndarray, weights: np.ndarray) -> None:
        """Add the weights of classes, known or new."""
        known = found if self._classes is None else np.union1d(self._classes, found)
        totals = np.zeros(len(known))
        if self._classes is not None:
            totals[np.searchsorted(known, self._classes)] += self._totals
        totals[np.searchsorted(known, found)] += weights
        self._classes, self._totals = known, totals

    def absorb(self, other: Classes) -> None:
        """Take over what another saw of further batches."""
        if other._classes is not None:
            self._add(other._classes, other._totals)

    def on_worker(self, machine: Any) -> Classes:
        """Return a copy for the copy of the machine on a worker."""
        made = copy.copy(self)
        made.machine = machine
        return made

    def close(self) -> None:
        """Settle the classes and what each weighs."""
        assert self._classes is not None
        if len(self._classes) < 2:
            name = type(self.machine).__name__
            raise ValueError(f"{name} needs two classes at least, y holds one class only: {self._classes[0]!r}")
        self.machine.classes_ = self._classes
        self._each = self.machine._class_weights(self._totals)
        for label, weight in zip(self._classes.tolist(), self._each * self._totals, strict=True):
            if weight == 0:
                raise ValueError(f"class {label!r} has examples of weight zero only: leave it out")

    def numbers(self, y: np.ndarray) -> np.ndarray:
        """Return the number of each label's class."""
        assert self._classes is not None
        places = np.minimum(np.searchsorted(self._classes, y), len(self._classes) - 1)
        strange = np.flatnonzero(self._classes[places] != y)
        if len(strange):
            raise ValueError(f"label {brief(y[strange[0]])} was not there in the first pass: each must give the same")
        return places

    def read(self, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return codes, and weights times those of the classes."""
        numbers = self.numbers(y)
        return codes(numbers, len(self.machine.classes_)), weights * self._each[numbers]


class Numbers:
    """Targets of a regressor."""

    def __init__(self, machine: Any) -> None:
        self.machine = machine

    def see(self, X: Any, y: Any, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Check the targets of a batch; return them, and which have a weight."""
        y = check_targets(self.machine, X, y)
        self.machine._one_output = y.ndim == 1
        return y, weights > 0

    def absorb(self, other: Numbers) -> None:
        """Take over what another saw of further batches."""
        self.machine._one_output = other.machine._one_output

    def on_worker(self, machine: Any) -> Numbers:
        """Return a copy for the copy of the machine on a worker."""
        return Numbers(machine)

    def close(self) -> None:
        """Nothing depends on all targets."""

    def numbers(self, y: np.ndarray) -> None:
        """There are no classes."""

    def read(self, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the targets as columns, and the weights."""
        Y = y.astype(np.float64, copy=False)
        return (Y[:, None] if Y.ndim == 1 else Y), weights
