"""The targets of a selection: labels of classes, or numbers to predict."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.scikit import class_codes, encode_labels, read_labels
from similitude.support import brief, check_choice

CLASSIFICATION, REGRESSION = "classification", "regression"


@dataclass(frozen=True, eq=False)
class SelectionTargets:
    """What is to be predicted: labels or numbers as given, and the columns Y that are fitted.

    Y has -1 and +1, in one column for two classes and one per class for several, or the numbers. ``codes`` is the class
    of each example as a position in ``classes``; both are None for regression.
    """

    task: str
    values: np.ndarray
    Y: np.ndarray
    classes: np.ndarray | None = None
    codes: np.ndarray | None = None

    @classmethod
    def of(cls, y: Any, n: int, task: str | None = None) -> SelectionTargets:
        """Validate the targets of n examples; without a task, scikit-learn's ``type_of_target`` decides."""
        values = _values(y, n)
        kind = _kind(values, task)
        if kind in ("continuous", "continuous-multioutput"):
            return cls(REGRESSION, values, (values[:, None] if values.ndim == 1 else values).astype(np.float64))
        if kind not in ("binary", "multiclass"):
            raise ValueError(f"y must hold a class or a number for each example; this is {kind}: {brief(values)}")
        classes, codes = encode_labels(values)
        if len(classes) < 2:
            raise ValueError(f"at least two classes are needed, y holds one: {brief(classes[0].item())}")
        return cls(CLASSIFICATION, values, class_codes(codes, len(classes)), classes, codes)

    def __len__(self) -> int:
        return len(self.Y)

    @property
    def n_classes(self) -> int:
        """The number of classes; 0 for regression."""
        return 0 if self.classes is None else len(self.classes)

    def at(self, rows: np.ndarray) -> SelectionTargets:
        """Return the targets of some examples."""
        codes = None if self.codes is None else self.codes[rows]
        return replace(self, values=self.values[rows], Y=self.Y[rows], codes=codes)

    def errors(self, scores: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the error of each example's scores, along the last axis: 0 or 1, or the squared error."""
        if self.codes is None:
            squared: np.ndarray = ((scores - self.Y[rows]) ** 2).sum(axis=-1)
            return squared
        predicted = scores[..., 0] >= 0 if scores.shape[-1] == 1 else scores.argmax(axis=-1)
        return (predicted != self.codes[rows]).astype(np.float64)


def _values(y: Any, n: int) -> np.ndarray:
    """Return the targets as an array with one row for each of n examples; missing ones are refused."""
    if y is None:
        raise ValueError("y is None: a label or a number for each example is needed")
    values = np.asarray(y)
    if values.ndim < 2 or values.shape[1] == 1:
        labels = read_labels(values, n)
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            i = int(np.flatnonzero(~np.isfinite(labels))[0])
            raise ValueError(f"y holds {labels[i]} at example {i}: numbers must be finite")
        plain = (bool, int, float, np.generic)
        numeric = labels.dtype == object and all(isinstance(label, plain) for label in labels)
        return np.array(labels.tolist()) if numeric else labels
    if len(values) != n:
        raise ValueError(f"X holds {n} examples and y {len(values)}: one row for each example is needed")
    if values.ndim == 2 and values.dtype.kind == "f" and not np.isfinite(values).all():
        i, j = (int(place) for place in np.argwhere(~np.isfinite(values))[0])
        raise ValueError(f"y holds {values[i, j]} at example {i}, column {j}: numbers must be finite")
    return values


def _kind(values: np.ndarray, task: str | None) -> str:
    """Return the type of the targets for a task, or what scikit-learn calls them; other Python objects are labels."""
    from sklearn.utils.multiclass import type_of_target

    if task is not None:
        check_choice("task", task, (CLASSIFICATION, REGRESSION), otherwise="None")
    if task == REGRESSION and values.dtype.kind not in "fiub":
        raise ValueError(f"y holds {brief(values[0])}: regression needs numbers")
    if task == CLASSIFICATION and values.ndim > 1:
        raise ValueError("y has several columns: classification needs one label for each example")
    if task is not None:
        return "continuous" if task == REGRESSION else "multiclass"
    return "multiclass" if values.dtype == object and values.ndim == 1 else str(type_of_target(values, input_name="y"))
