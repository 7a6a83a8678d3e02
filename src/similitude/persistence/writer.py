"""From a model to a list of nodes: each is made of plain values and of nodes before it; the last one is the model."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from similitude.persistence import dates, frames, graphs, numeric, objects, plain
from similitude.persistence.array_store import PoolsOut
from similitude.persistence.functions import FunctionsOut
from similitude.support.errors import SavedModelError

Node = dict[str, Any]

WRITERS: dict[tuple[str, str], Callable[[Any, Any, str], Node]] = {
    **plain.WRITERS,
    **numeric.WRITERS,
    **dates.WRITERS,
    **graphs.WRITERS,
    **frames.WRITERS,
}
"""How values of other libraries' types are written, by the library and the name of the type."""


class Writer:
    """Collects nodes, arrays, tables and the functions that are needed.

    Attributes
    ----------
    nodes : list of dict
    pools : PoolsOut
    tables : list of bytes
    functions : FunctionsOut
    notes : list of str
        What comes back in another form than it had.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.pools = PoolsOut()
        self.tables: list[bytes] = []
        self.functions = FunctionsOut()
        self.notes: list[str] = []
        self._places: dict[int, int] = {}
        self._kept: list[Any] = []  # so that no other object takes the id of one that was seen
        self._under_way: set[int] = set()

    def value(self, value: Any, path: str) -> Any:
        """Return a plain value as it is, and the place ``[i]`` of the node of any other."""
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if (kind is int and -(2**63) <= value < 2**63) or (kind is float and math.isfinite(value)):
            return value
        key = 0 if kind is tuple and not value else id(value)  # Python may hold several tuples of nothing
        if key not in self._places:
            if key in self._under_way:
                raise SavedModelError(f"{path} leads back to itself: a {kind.__name__} that contains itself")
            self._under_way.add(key)
            self.nodes.append(self._node(value, path))
            self._under_way.discard(key)
            self._places[key] = len(self.nodes) - 1
            self._kept.append(value)
        return [self._places[key]]

    def values(self, values: Any, path: str) -> list[Any]:
        """Return several values."""
        return [self.value(value, f"{path}[{i}]") for i, value in enumerate(values)]

    def _node(self, value: Any, path: str) -> Node:
        kind = type(value)
        write = WRITERS.get((kind.__module__.split(".")[0], kind.__name__))
        if write is not None:
            return write(self, value, path)
        if isinstance(value, np.generic):
            return numeric.write_scalar(self, value, path)
        return objects.write(self, value, path)
