"""Targets: the one rule that tells classes from numbers, and what models are fitted to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from similitude.scikit import class_codes, encode_labels, is_missing, read_labels
from similitude.support import brief, check_choice

CLASSIFICATION = "classification"
REGRESSION = "regression"

MOST_INTEGER_CLASSES = 20
"""Most distinct integers that are taken for classes: digits, grades and codes are fewer, counts and ages are more."""


def infer_task(y: Any) -> tuple[str, str]:
    """Tell classes from numbers: return the task of a column of labels, and what the column holds.

    Text, booleans, categories and other objects are classes; numbers with a fraction are numbers. Integers are classes
    if they are few and repeat: at most 20 distinct ones, with two rows each on average. Floats without a fraction count
    as integers, because pandas stores integers as floats where some are missing. Missing labels do not count.

    >>> infer_task(["spam", "ham"]), infer_task([1.5, 2.0])
    (('classification', '2 distinct values'), ('regression', '2 distinct numbers'))
    >>> infer_task([1, 2, 3] * 10), infer_task(range(30))
    (('classification', '3 distinct integers'), ('regression', '30 distinct numbers'))
    """
    labels = _as_numbers(np.asarray(y).ravel())
    if labels.dtype.kind in "Of":
        labels = labels[[not is_missing(one) for one in labels.tolist()]]
    categorical = type(getattr(y, "dtype", None)).__name__ == "CategoricalDtype"
    distinct = encode_labels(labels)[0]
    if categorical or labels.dtype.kind not in "fiu":
        return CLASSIFICATION, f"{len(distinct):,} distinct values"
    whole = np.isfinite(distinct).all() and (distinct == np.floor(distinct)).all()
    # fewest rows for each distinct integer, on average: a class is something that occurs again
    if whole and len(distinct) <= min(MOST_INTEGER_CLASSES, max(len(labels) // 2, 2)):
        return CLASSIFICATION, f"{len(distinct):,} distinct integers"
    return REGRESSION, f"{len(distinct):,} distinct numbers"


def _as_numbers(labels: np.ndarray) -> np.ndarray:
    """Return Python numbers, possibly with missing ones, as an array of numbers, and other labels as they are."""
    if labels.dtype != object:
        return labels
    known = [one for one in labels.tolist() if not is_missing(one)]
    if not known or not all(isinstance(one, (bool, int, float, np.generic)) for one in known):
        return labels
    return np.array([np.nan if is_missing(one) else one for one in labels.tolist()])


@dataclass(frozen=True, eq=False)
class TaskTargets:
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
    def of(cls, y: Any, n: int, task: str | None = None) -> TaskTargets:
        """Validate the targets of n examples; without a task, `infer_task` decides."""
        if task is not None:
            check_choice("task", task, (CLASSIFICATION, REGRESSION), otherwise="None")
        values = _finite_values(y, n)
        if task == REGRESSION and values.dtype.kind not in "fiub":
            raise ValueError(f"y holds {brief(values[0])}: regression needs numbers")
        if values.ndim > 1:
            _check_columns(values, task)
            return cls(REGRESSION, values, values.astype(np.float64))
        if (task or infer_task(y)[0]) == REGRESSION:
            return cls(REGRESSION, values, values[:, None].astype(np.float64))
        classes, codes = encode_labels(values)
        if len(classes) < 2:
            raise ValueError(f"at least two classes are needed, y holds one: {brief(classes[0].item())}")
        return cls(CLASSIFICATION, values, class_codes(codes, len(classes)), classes, codes)

    def __len__(self) -> int:
        return len(self.Y)

    @property
    def n_classes(self) -> int:
        """The number of classes; 0 for regression."""
        if self.classes is None:
            return 0
        return len(self.classes)

    def at(self, rows: np.ndarray) -> TaskTargets:
        """Return the targets of some examples."""
        codes = at_rows(self.codes, rows)
        return replace(self, values=self.values[rows], Y=self.Y[rows], codes=codes)

    def errors(self, scores: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the error of each example's scores, along the last axis: 0 or 1, or the squared error."""
        if self.codes is None:
            squared: np.ndarray = ((scores - self.Y[rows]) ** 2).sum(axis=-1)
            return squared
        predicted = scores.argmax(axis=-1)
        if scores.shape[-1] == 1:
            predicted = scores[..., 0] >= 0
        return (predicted != self.codes[rows]).astype(np.float64)


def at_rows(values: np.ndarray | None, rows: Any) -> np.ndarray | None:
    """Return the values of some rows, if there are values."""
    if values is None:
        return None
    return values[rows]


def _finite_values(y: Any, n: int) -> np.ndarray:
    """Return the targets as an array with one row for each of n examples; missing and infinite ones are refused."""
    if y is None:
        raise ValueError("y is None: a label or a number for each example is needed")
    values = np.asarray(y)
    if values.ndim < 2 or values.shape[1] == 1:
        labels = _as_numbers(read_labels(values, n))
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            i = int(np.flatnonzero(~np.isfinite(labels))[0])
            raise ValueError(f"y holds {labels[i]} at example {i}: numbers must be finite")
        return labels
    if len(values) != n:
        raise ValueError(f"X holds {n} examples and y {len(values)}: one row for each example is needed")
    if values.ndim == 2 and values.dtype.kind == "f" and not np.isfinite(values).all():
        i, j = (int(place) for place in np.argwhere(~np.isfinite(values))[0])
        raise ValueError(f"y holds {values[i, j]} at example {i}, column {j}: numbers must be finite")
    return values


def _check_columns(values: np.ndarray, task: str | None) -> None:
    """Refuse several columns of labels; several columns of numbers are predicted together."""
    if task == CLASSIFICATION:
        raise ValueError("y has several columns: classification needs one label for each example")
    kind = str(type_of_target(values, input_name="y"))
    if task is None and kind != "continuous-multioutput":
        raise ValueError(f"y must hold a class or a number for each example; this is {kind}: {brief(values)}")
