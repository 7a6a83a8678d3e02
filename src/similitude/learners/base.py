"""What learners share: labels read, and the error for data that no separator fits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from similitude.support.errors import InseparableError, brief

NAMED_CONFLICTS = 10
"""Conflicting examples that an error message names at most."""

SHRUNK_CONFLICTS = 100
"""Conflicting examples up to which each is tried whether it can be left out."""


def inseparable(what: str, conflicts: np.ndarray, labels: np.ndarray) -> InseparableError:
    """Return the error that names the conflicting examples and their labels.

    >>> print(inseparable("a line", np.array([1, 4]), np.array(["a", "a", "b", "b", "b"])))
    The classes cannot be separated by a line. Examples in conflict: 1 ('a'), 4 ('b').
    """
    conflicts = np.sort(conflicts)
    named = ", ".join(f"{i} ({labels[i].item()!r})" for i in conflicts[:NAMED_CONFLICTS])
    more = len(conflicts) - NAMED_CONFLICTS
    named += f" and {more} more" if more > 0 else ""
    problem = f"The classes cannot be separated by {what}. Examples in conflict: {named}."
    return InseparableError(problem, conflicts.tolist())


def shrunk(points: np.ndarray, in_conflict: Callable[[np.ndarray], bool]) -> np.ndarray:
    """Leave out one example after another while the others are still in conflict.

    >>> shrunk(np.arange(6), lambda some: {1, 4} <= set(some.tolist()))
    array([1, 4])
    """
    if len(points) > SHRUNK_CONFLICTS:
        return points
    for point in points:
        fewer = points[points != point]
        if len(fewer) and in_conflict(fewer):
            points = fewer
    return points


def two_classes(y: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Read the labels of `n` examples from exactly two classes.

    Returns
    -------
    classes : array of shape (2,)
        The labels in sorted order.
    signs : array of shape (n,)
        -1.0 for the first class and +1.0 for the second.

    Examples
    --------
    >>> from similitude.learners.base import two_classes
    >>> two_classes(["no", "yes", "no"], 3)
    (array(['no', 'yes'], dtype='<U3'), array([-1.,  1., -1.]))
    """
    labels = read_labels(y, n)
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise TypeError(f"the labels y are of kinds that cannot be put in order: {error}") from error
    if len(classes) != 2:
        number = "one class" if len(classes) == 1 else f"{len(classes)} classes"
        raise ValueError(f"two classes are needed, y holds {number}: {brief(classes)}")
    return classes, 2.0 * codes - 1.0


def read_labels(y: Any, n: int) -> np.ndarray:
    """Return the labels of `n` examples as an array; refuse another number of them, and missing ones."""
    if y is None:
        raise ValueError("y is None: a label for each example is needed")
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(f"y must be a list of labels, one for each example, got an array of shape {labels.shape}")
    if len(labels) != n:
        raise ValueError(f"X holds {n} examples and y {len(labels)} labels: one label for each example is needed")
    missing = [i for i, label in enumerate(labels.tolist()) if _is_missing(label)]
    if missing:
        raise ValueError(f"the label of example {missing[0]} is missing (NaN): leave such examples out")
    return labels


def _is_missing(label: Any) -> bool:
    return label is None or str(label) == "<NA>" or bool(label != label)
