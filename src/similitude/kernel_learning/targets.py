"""The targets of learning a kernel: numbers, or an indicator for each class."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.scikit import class_codes, encode_labels, read_labels
from similitude.support import brief, outlying_rows


def target_columns(y: Any, n: int) -> np.ndarray:
    """Return the columns that are fitted: numbers, or -1 and +1 (one column for two classes, otherwise one for each).

    scikit-learn's ``type_of_target`` decides between classes and numbers.
    """
    from sklearn.utils.multiclass import type_of_target

    values = read_labels(np.asarray(y), n)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        i = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(f"y holds {values[i]} at example {i}: numbers must be finite")
    kind = "multiclass" if values.dtype == object else type_of_target(values, input_name="y")
    if kind == "continuous":
        return values.astype(np.float64)[:, None]
    if kind not in ("binary", "multiclass"):
        raise ValueError(f"y must hold a class or a number for each example; this is {kind}: {brief(values)}")
    classes, codes = encode_labels(values)
    if len(classes) < 2:
        raise ValueError(f"at least two classes are needed, y holds one: {brief(classes[0].item())}")
    return class_codes(codes, len(classes))


def near_targets(Y: np.ndarray) -> tuple[np.ndarray, int]:
    """Return targets of which those far beyond all others are moved to the farthest other one, and their number.

    >>> Y, n_far = near_targets(np.r_[np.arange(100.0), 1e9][:, None])
    >>> float(Y.max()), n_far
    (99.0, 1)
    """
    far = outlying_rows(Y)
    others = np.delete(Y, far, axis=0)
    return np.clip(Y, others.min(axis=0), others.max(axis=0)), len(far)
