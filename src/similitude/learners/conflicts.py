"""The error for classes that cannot be separated, and a small set of examples that shows it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from similitude.support import InseparableError

NAMED_CONFLICTS = 10
"""Largest number of conflicting examples named in an error message."""

SHRUNK_CONFLICTS = 100
"""Largest set of conflicting examples that is reduced to a minimal one."""


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


def smallest_conflict(points: np.ndarray, in_conflict: Callable[[np.ndarray], bool]) -> np.ndarray:
    """Remove examples one by one as long as the others are still in conflict.

    >>> smallest_conflict(np.arange(6), lambda some: {1, 4} <= set(some.tolist()))
    array([1, 4])
    """
    if len(points) > SHRUNK_CONFLICTS:
        return points
    for point in points:
        fewer = points[points != point]
        if len(fewer) and in_conflict(fewer):
            points = fewer
    return points
