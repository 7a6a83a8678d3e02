"""Engines to whose workers rows are spread: what an adapter of a cluster writes, and the sums it then gets for nothing.

A collection is made of partitions that live on workers. Three verbs are enough to fit to it: `map` a function over
partitions, `broadcast` what every call needs, and `reduce` what the calls return, in an order that is fixed by the
number of partitions alone. So the bits of a sum do not depend on how many workers there are, on which of them did
what, nor on whether one was lost on the way.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from similitude.compute.engines.engine import Engine

Handle = Any
"""What stands for a value on a worker; whatever an adapter likes."""

FAN = 4
"""Sums that are added up in one step on a worker."""


class SpreadEngine(Engine):
    """An engine with workers on which the rows of a collection live."""

    @abstractmethod
    def session(self) -> AbstractContextManager[Any]:
        """Hold a connection while something is computed; one that had to be made is closed at the end."""

    @abstractmethod
    def columns(self, X: Any, *beside: Any) -> list[list[Handle]]:
        """Return the partitions of X and of what stands beside it: labels, weights.

        Of the latter each is a collection with the same partitions, the name of a column of X, or None; these two are
        repeated for every partition as they are. What does not fit is refused before anything is computed.
        """

    @abstractmethod
    def broadcast(self, value: Any) -> Handle:
        """Send a value to the workers once, however many calls need it."""

    @abstractmethod
    def map(self, function: Callable[..., Any], *columns: Sequence[Any]) -> list[Handle]:
        """Return what the function makes of the first of each column, of the second of each, and so on.

        An item is a handle, a list of handles, or a plain value. Nothing needs to be computed before it is collected.
        """

    @abstractmethod
    def collect(self, handles: Sequence[Handle]) -> Iterator[Any]:
        """Compute all, and yield the values in order; an error of a function is raised as it is."""

    @abstractmethod
    def lazily(self, function: Callable[[Any, int, Any], Any], model: Any, X: Any, like: np.ndarray) -> Any:
        """Return ``function(model, number, partition)`` of all as one lazy array; `like` holds one row of it."""

    def reduce(self, handles: Sequence[Handle]) -> Handle:
        """Return the sum of values, as a tree whose shape depends on their number alone."""
        level = list(handles)
        while len(level) > 1:
            level = self.map(add_up, [level[i : i + FAN] for i in range(0, len(level), FAN)])
        return level[0]


def add_up(parts: Sequence[Any]) -> Any:
    """Return the sum, from the first to the last; None stands for a part without rows.

    >>> add_up([None, 1.5, 2.0])
    3.5
    """
    total = None
    for part in parts:
        if part is not None:
            total = part if total is None else total + part
    return total


def is_spread(X: Any) -> bool:
    """Tell whether X is a dask collection, without importing dask."""
    return not isinstance(X, type) and hasattr(X, "__dask_graph__")


def own_engine(engine: Engine) -> SpreadEngine:
    """Return the engine for a dask collection: the one given if it has workers, else dask's own."""
    if isinstance(engine, SpreadEngine):
        return engine
    from similitude.compute.engines.dask.engine import DaskEngine

    return DaskEngine()
