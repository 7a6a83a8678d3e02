"""From a model to a list of nodes: each holds simple values and references to earlier nodes; the last is the model."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from similitude.persistence import graphs, instances, numpy_values, python_values, tables
from similitude.persistence.array_store import ArrayWriter
from similitude.persistence.plain_forms import PlainForm, type_key
from similitude.persistence.user_code import RequiredCode
from similitude.support import SavedModelError

Node = dict[str, Any]

WRITERS: dict[str, Callable[[Any, Any, str], Node]] = {**python_values.PYTHON_WRITERS, **numpy_values.NUMPY_WRITERS}
"""The types with nodes of their own, by package and name."""

FORMS: dict[str, PlainForm] = {
    **python_values.PYTHON_FORMS,
    **numpy_values.NUMPY_FORMS,
    **graphs.GRAPH_FORMS,
    **tables.TABLE_FORMS,
}
"""The types that are stored as plain parts, by package and name."""


class ModelWriter:
    """Collects the nodes and arrays of a model, and the user's functions that it needs.

    Attributes
    ----------
    nodes : list of dict
    arrays : ArrayWriter
    user_code : RequiredCode
    notes : list of str
        What comes back in another form.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.arrays = ArrayWriter()
        self.user_code = RequiredCode()
        self.notes: list[str] = []
        self._places: dict[int, int] = {}
        self._kept: list[Any] = []  # keeps the ids of written values from being used again
        self._under_way: set[int] = set()

    def value(self, value: Any, path: str) -> Any:
        """Return a simple value itself, and a reference ``[i]`` to the node of any other."""
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if (kind is int and -(2**63) <= value < 2**63) or (kind is float and math.isfinite(value)):
            return value
        key = 0 if kind is tuple and not value else id(value)  # there may be several empty tuples
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
        """Return several values or references."""
        return [self.value(value, f"{path}[{i}]") for i, value in enumerate(values)]

    def _node(self, value: Any, path: str) -> Node:
        key = type_key(type(value))
        if key in WRITERS:
            return WRITERS[key](self, value, path)
        if key in FORMS:
            return {"is": key, "parts": self._parts(FORMS[key], value, path)}
        if isinstance(value, np.generic):
            return numpy_values.write_scalar(self, value, path)
        return instances.write(self, value, path)

    def _parts(self, form: PlainForm, value: Any, path: str) -> Node:
        try:
            parts = form.parts(value)
        except SavedModelError as error:
            raise SavedModelError(f"{path} {error}") from error
        return {name: self.value(part, f"{path}.{name}") for name, part in parts.items()}
