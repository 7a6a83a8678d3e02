"""Labels, targets and weights: validated, and turned into numbers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_array, check_consistent_length, column_or_1d

from similitude.compute import as_numpy, is_tensor, warn_if_rounded
from similitude.support import brief, written


def check_labels(estimator: Any, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes in order and the class number of each example; at least two classes are required."""
    classes, codes = np.unique(check_label_column(estimator, X, y), return_inverse=True)
    if len(classes) < 2:
        name = type(estimator).__name__
        raise ValueError(f"{name} needs at least two classes, y holds one class only: {written(classes[0])}")
    return classes, codes


def check_label_column(estimator: Any, X: Any, y: Any) -> np.ndarray:
    """Return the labels as one column; missing labels and continuous targets are refused."""
    try:
        y = column_or_1d(_target(estimator, y), warn=True)
    except ValueError as error:
        if "1d array" not in str(error):
            raise
        name = estimator if isinstance(estimator, str) else type(estimator).__name__
        several = f"SimilarityMultilabelClassifier, or sklearn.multioutput.MultiOutputClassifier({name}())"
        raise ValueError(f"{error} For several labels of each object use {several}.") from None
    check_consistent_length(X, y)
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    if y.dtype.kind in "OMm":
        missing = [i for i, label in enumerate(y) if is_missing(label)]
        if missing:
            raise ValueError(f"y holds missing labels, the first for example {missing[0]}: leave those examples out")
    check_classification_targets(y)
    return np.asarray(y)


def is_missing(label: Any) -> bool:
    """Tell whether a label is None, NaN, NaT or the missing value of pandas."""
    if label is None:
        return True
    unequal = label != label
    return str(unequal) == "<NA>" or bool(unequal)


def check_targets(estimator: Any, X: Any, y: Any) -> np.ndarray:
    """Return the targets as float64, of shape (n,) or (n, outputs); all must be finite."""
    warn_if_rounded(y, "y")
    y = _target(estimator, y)
    dtype = getattr(y, "dtype", None)
    if getattr(dtype, "kind", "") in ("M", "m"):
        raise TypeError(f"y holds dates or times ({dtype}), not numbers: give numbers, such as days since a date")
    try:
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    except ValueError as error:
        text = re.search(r"could not convert string to float: (?:np\.str_\()?(.*?)\)?$", str(error))
        if text is None:
            raise
        raise ValueError(f"y holds texts such as {text[1]}, not numbers: for classes use a classifier") from None
    if y.ndim > 2:
        raise ValueError(f"y must have one row per example, got an array of shape {y.shape}")
    check_consistent_length(X, y)
    return y


def check_weights(sample_weight: Any, n: int) -> np.ndarray:
    """Return the weights of n examples as float64; ones if `sample_weight` is None."""
    if sample_weight is None:
        return np.ones(n)
    if is_tensor(sample_weight):
        sample_weight = as_numpy(sample_weight)
    weights = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weights.shape != (n,):
        raise ValueError(f"sample_weight has shape {weights.shape}, expected ({n},)")
    if (weights < 0).any():
        raise ValueError(f"sample_weight holds {weights.min()}: weights must not be negative")
    if not weights.any():
        raise ValueError("every weight in sample_weight is zero: there is nothing to learn from")
    return weights


def check_class_weights(classes: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> None:
    """Require an example of positive weight in each class, given the class numbers and weights of all examples."""
    missing = np.bincount(codes, weights > 0) == 0
    if missing.any():
        raise ValueError(f"class {classes[missing].tolist()[0]!r} has examples of weight zero only: leave it out")


def _target(estimator: Any, y: Any) -> Any:
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    return as_numpy(y) if is_tensor(y) else y


def class_codes(numbers: np.ndarray, n_classes: int) -> np.ndarray:
    """Return -1 and +1, one byte each: one column for two classes, one column per class for several."""
    classes = np.arange(n_classes)
    if n_classes == 2:
        classes = classes[1:]
    return 2 * (numbers[:, None] == classes).astype(np.int8) - 1


def class_weights(given: Any, classes: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return the factor of the weights of each class, given ``class_weight``, the classes and their totals."""
    if isinstance(given, str) and given == "balanced":
        each = np.divide(totals.sum(), len(totals) * totals, out=np.zeros(len(totals)), where=totals > 0)
    else:
        each = compute_class_weight(given, classes=classes, y=classes)
    if (each < 0).any():
        raise ValueError(f"class_weight holds {each.min()}: weights must not be negative")
    return np.asarray(each)


def has_rare_class(totals: np.ndarray) -> bool:
    """Tell whether one of the classes is rare, given the sum of the weights of each."""
    shares = totals[totals > 0] / totals.sum()
    return bool((shares < min(0.05, 0.5 / len(totals))).any())


def two_classes(y: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Read the labels of `n` examples from exactly two classes: return both in sorted order, and a sign per example."""
    classes, codes = encode_labels(read_labels(y, n))
    if len(classes) != 2:
        number = {1: "one class"}.get(len(classes), f"{len(classes)} classes")
        raise ValueError(f"two classes are needed, y holds {number}: {brief(classes)}")
    return classes, 2.0 * codes - 1.0


def encode_labels(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes in order and the class number of each label."""
    try:
        return np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise TypeError(f"the labels y are of different types, which cannot be sorted: {error}") from error


def read_labels(y: Any, n: int) -> np.ndarray:
    """Return the labels of `n` examples as an array, for functions that are not estimators."""
    if y is None:
        raise ValueError("y is None: a label for each example is needed")
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(f"y must be a list of labels, one for each example, got an array of shape {labels.shape}")
    if len(labels) != n:
        raise ValueError(f"X holds {n} examples and y {len(labels)} labels: one label for each example is needed")
    for i, label in enumerate(labels.tolist()):
        if is_missing(label):
            raise ValueError(f"the label of example {i} is missing (NaN): leave such examples out")
    return labels
