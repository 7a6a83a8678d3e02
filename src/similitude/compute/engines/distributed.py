"""Engines with workers that hold the rows of a collection: the interface of a cluster, and sums in a fixed order.

A collection consists of partitions that live on workers. Three operations suffice to fit a model to it: `map` a
function over partitions, `broadcast` what every call needs, and `reduce` the results, in an order that depends on the
number of partitions alone. So the bits of a sum depend neither on the number of workers, nor on which of them computed
what, nor on whether one was lost.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from similitude.compute.engines.engine import Engine
from similitude.compute.engines.local import LocalEngine

Handle = Any
"""A reference to a value on a worker, of whatever type the cluster uses."""


class DistributedEngine(Engine):
    """An engine with workers on which the partitions of a collection live."""

    @abstractmethod
    def session(self) -> AbstractContextManager[Any]:
        """Hold a connection to the cluster; one that had to be opened is closed at the end."""

    @abstractmethod
    def partitions(self, X: Any, *columns: Any) -> list[list[Handle]]:
        """Return the partitions of X, and for each further column (labels, weights) one item per partition.

        A column is a collection with the same partitions, the name of a column of X, or None; the last two are
        repeated for every partition. Inputs that do not fit together are refused before anything is computed.
        """

    @abstractmethod
    def broadcast(self, value: Any) -> Handle:
        """Send a value to the workers once, however many calls need it."""

    @abstractmethod
    def map(self, function: Callable[..., Any], *columns: Sequence[Any]) -> list[Handle]:
        """Return ``function(*items)`` for the first items of all columns, for the second items, and so on.

        An item is a handle, a list of handles, or a plain value. Calls may be lazy until they are collected.
        """

    @abstractmethod
    def collect(self, handles: Sequence[Handle]) -> Iterator[Any]:
        """Compute all values and yield them in order; an exception raised by a function is raised unchanged."""

    @abstractmethod
    def lazy_array(self, function: Callable[[Any, int, Any], Any], model: Any, X: Any, like: np.ndarray) -> Any:
        """Return ``function(model, number, partition)`` of all partitions as one lazy array; `like` is a sample row."""

    def reduce(self, handles: Sequence[Handle]) -> Handle:
        """Return the sum of values, as a tree whose shape depends on their number alone."""
        level = list(handles)
        while len(level) > 1:
            level = self.map(add_up, [level[i : i + 4] for i in range(0, len(level), 4)])
        return level[0]


def add_up(parts: Sequence[Any]) -> Any:
    """Return the sum from the first part to the last; None stands for a partition without rows."""
    total = None
    for part in parts:
        if part is not None:
            total = part if total is None else total + part
    return total


def distributed_engine(engine: Engine) -> DistributedEngine:
    """Return the engine for a Dask collection: the given one if it has workers, else a DaskEngine."""
    if isinstance(engine, DistributedEngine):
        return engine
    from similitude.compute.engines.dask.engine import DaskEngine

    return DaskEngine()


def on_workers(engine: Engine, function: Callable[..., Any], value: Any, items: Sequence[Any]) -> Iterator[Any]:
    """Yield ``function(value, item, engine)`` for each item, on a cluster by one thread of a worker each."""
    if not isinstance(engine, DistributedEngine):
        for item in items:
            yield function(value, item, engine)
        return
    local = LocalEngine(threads=1, memory=engine.memory)
    with engine.session():
        sent = engine.broadcast(value)
        yield from engine.collect(engine.map(function, [sent] * len(items), items, [local] * len(items)))
