"""A model as a list of nodes: each holds simple values and references to earlier nodes; the last is the model.

A model is written and read without recursion, and without code from the file.
"""

from __future__ import annotations

from collections.abc import Callable
from types import NoneType
from typing import Any, NamedTuple

import numpy as np

from similitude.persistence import instances
from similitude.persistence.containers import ARRAY_READERS, CONTAINERS, WRITERS, Described, is_simple
from similitude.persistence.file_format import ArrayReader, ArrayWriter
from similitude.persistence.limits import Budget, Extent, extent_of, extent_of_simple
from similitude.persistence.tables import FORMS
from similitude.persistence.user_code import RequiredCode
from similitude.support import SavedModelError, brief

READERS: dict[str, Callable[[Any, Any, list[Any]], Any]] = {**ARRAY_READERS, **instances.INSTANCE_READERS}
"""How nodes are read, by their kind."""

OF_JSON = frozenset((NoneType, bool, int, float, str))


class Place(NamedTuple):
    """Where a value is in the model, written out only in messages: ``model.similarity_.k``."""

    outer: Place | None
    last: str

    def __str__(self) -> str:
        names = []
        place: Place | None = self
        while place is not None:
            names.append(place.last)
            place = place.outer
        return "".join(reversed(names))


class ModelWriter:
    """Collects the nodes and arrays of a model, and the user's functions that it needs."""

    def __init__(self, model: Any) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.arrays = ArrayWriter()
        self.user_code = RequiredCode()
        self.notes: list[str] = []  # on what comes back in another form
        self._numbers: dict[int, int] = {}  # of the nodes, by the identities of their values
        self._extents: list[Extent] = []  # of the values of the nodes
        self._budget = Budget()
        if is_simple(model):
            raise SavedModelError(f"{brief(model)} is not a model that can be saved")
        try:
            self._write(model)
        except RecursionError as error:
            raise SavedModelError("the model contains keys that are nested too deeply to be stored") from error
        n_parts = sum([len(node.get("parts", ())) for node in self.nodes])
        self._budget.check(self.arrays.size + 12 * len(self.nodes) + 2 * n_parts)  # the shortest file of them
        self._budget.check_whole(self._extents[-1])

    def _write(self, model: Any) -> None:
        """Write the nodes of a model, those of its parts first, with a stack instead of recursion."""
        pending: list[tuple[Any, Place]] = [(model, Place(None, "model"))]
        described: dict[int, Described] = {}
        kept = []  # so that the ids of written values are not used again
        while pending:
            value, place = pending[-1]
            key = _identity(value)
            if key in described:  # its parts are written
                self._add(value, place, *described.pop(key))
            if key in self._numbers:
                pending.pop()
                continue
            described[key] = self._describe(value, place)
            kept.append(value)
            parts = described[key][1]
            inner = [(part, Place(place, last)) for last, part in parts if not is_simple(part)]
            for part, where in inner:
                if _identity(part) in described:
                    raise SavedModelError(f"{where} leads back to itself: a {type(part).__name__} that contains itself")
            pending += reversed(inner)

    def _add(self, value: Any, place: Place, node: dict[str, Any], parts: list[tuple[str, Any]]) -> None:
        """Add a node with references to those of its parts, and keep the account of what loading it will take."""
        values = [part for _, part in parts]
        extents = []
        if "parts" in node:
            values = node["parts"]
            extents = [extent_of_simple(values)]
        elif parts:
            node["parts"] = []
            for part in values:
                if is_simple(part):
                    node["parts"].append(part)
                    extents.append(extent_of(part))
                else:
                    number = self._numbers[_identity(part)]
                    node["parts"].append([number])
                    extents.append(self._extents[number])
        try:
            self._budget.pay_for(node, values, extents, FORMS.get(node["is"]))
        except SavedModelError as error:
            raise SavedModelError(f"{place}: {error}") from error
        self._extents.append(extent_of(value, extents))
        self._numbers[_identity(value)] = len(self.nodes)
        self.nodes.append(node)

    def _describe(self, value: Any, place: Place) -> Described:
        kind = type(value)
        key = f"{kind.__module__.split('.')[0]}.{kind.__name__}"
        if key in WRITERS:
            return WRITERS[key](self, value, place)
        if key in FORMS:
            try:
                parts = FORMS[key].parts(value)
            except SavedModelError as error:
                raise SavedModelError(f"{place} {error}") from error
            return {"is": key, "names": list(parts)}, [(f".{name}", part) for name, part in parts.items()]
        if isinstance(value, np.generic):
            return {"is": "scalar", **self.arrays.add(np.asarray(value), place)}, []
        return instances.write(self, value, place)


def _identity(value: Any) -> int:
    """Return the id of a value; all empty tuples are one, as Python 3.10 does not see to it in `tuple(iterator)`."""
    return id(()) if type(value) is tuple and not value else id(value)


class ModelReader:
    """Builds the values of all nodes, from the first to the last; `user_code` was passed to ``load``, by name."""

    def __init__(self, file_size: int, nodes: Any, arrays: memoryview, user_code: dict[str, Any]) -> None:
        if not isinstance(nodes, list):
            raise SavedModelError("the model is not a list of nodes")
        self.user_code = user_code
        self.arrays = ArrayReader(arrays)
        self._nodes = nodes
        self._file_size = file_size
        self._budget = Budget()
        self._values: list[Any] = []  # of the nodes that are built
        self._extents: list[Extent] = []

    def model(self) -> Any:
        """Build all nodes and return the last."""
        for node in self._nodes:
            try:
                self._build(node)
            except (SavedModelError, KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:  # anything that a hostile file provokes in other libraries, panics included
                kind = node.get("is") if isinstance(node, dict) else node
                raise SavedModelError(
                    f"node {len(self._values)} ({str(kind)[:40]}) cannot be read: {type(error).__name__}: {error}"
                ) from error
        if not self._values:
            raise SavedModelError("the file contains no model")
        self.arrays.check_used_up()
        self._budget.check_whole(self._extents[-1])
        return self._values[-1]

    def _build(self, node: Any) -> None:
        kind = node["is"]
        written = node.get("parts", ())
        parts = []
        extents = []
        if written and (kind in CONTAINERS or kind == "objects") and OF_JSON.issuperset(map(type, written)):
            parts = written
            extents = [extent_of_simple(parts)]
        else:
            for one in written:
                if type(one) in OF_JSON:
                    parts.append(one)
                    extents.append(extent_of(one))
                else:
                    place = self._place(one)
                    parts.append(self._values[place])
                    extents.append(self._extents[place])
        form = FORMS.get(kind)
        self._budget.pay_for(node, parts, extents, form)
        self._budget.check(self._file_size)
        if kind in READERS:
            value = READERS[kind](self, node, parts)
        else:
            value = FORMS[kind].make(**dict(zip(node["names"], parts, strict=True)))
        self._values.append(value)
        self._extents.append(extent_of(value, extents))

    def _place(self, reference: Any) -> int:
        """Return the number of the node that a reference ``[i]`` points to."""
        if type(reference) is not list:
            raise SavedModelError("a value is neither simple nor a reference")
        (place,) = reference
        if type(place) is not int or not 0 <= place < len(self._values):
            raise SavedModelError("a reference points to a later node, or to none")
        return place
