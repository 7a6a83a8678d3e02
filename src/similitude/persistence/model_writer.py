"""From a model to a list of nodes: each holds simple values and references to earlier nodes; the last is the model."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from similitude.persistence import instances
from similitude.persistence.containers_and_arrays import WRITERS, Described, write_scalar
from similitude.persistence.file_format import ArrayWriter
from similitude.persistence.known_forms import FORMS
from similitude.persistence.load_budget import Budget, Extent, extent_of
from similitude.persistence.user_code import RequiredCode
from similitude.support import SavedModelError, brief

NODE_SIZE, PART_SIZE = 12, 2
"""Fewest bytes of a node and of one of its parts in a file."""


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
        if _is_simple(model):
            raise SavedModelError(f"{brief(model)} is not a model that can be saved")
        try:
            self._write(model)
        except RecursionError as error:
            raise SavedModelError("the model contains keys that are nested too deeply to be stored") from error
        self._check_loading()

    def _write(self, model: Any) -> None:
        """Write the nodes of a model, those of its parts first, with a stack instead of recursion."""
        pending: list[tuple[Any, Place]] = [(model, Place(None, "model"))]
        described: dict[int, Described] = {}
        kept = []  # so that the ids of written values are not used again
        while pending:
            value, place = pending[-1]
            key = _identity(value)
            if key in described:  # its parts are written
                node, parts = described.pop(key)
                self._pay_for(node, [part for _, part in parts], value, place)
                if parts:
                    node["parts"] = [
                        part if _is_simple(part) else [self._numbers[_identity(part)]] for _, part in parts
                    ]
                self._numbers[key] = len(self.nodes)
                self.nodes.append(node)
            if key in self._numbers:
                pending.pop()
                continue
            described[key] = node, parts = self._describe(value, place)
            kept.append(value)
            inner = [(part, Place(place, last)) for last, part in parts if not _is_simple(part)]
            for part, where in inner:
                if _identity(part) in described:
                    raise SavedModelError(f"{where} leads back to itself: a {type(part).__name__} that contains itself")
            pending += reversed(inner)

    def _pay_for(self, node: dict[str, Any], parts: list[Any], value: Any, place: Place) -> None:
        """Keep the account of what loading a node will take."""
        numbers = [None if _is_simple(part) else self._numbers[_identity(part)] for part in parts]
        extents = [
            extent_of(part) if number is None else self._extents[number]
            for part, number in zip(parts, numbers, strict=True)
        ]
        try:
            self._budget.pay_for(node, parts, extents)
        except SavedModelError as error:
            raise SavedModelError(f"{place}: {error}") from error
        self._extents.append(extent_of(value, extents))

    def _check_loading(self) -> None:
        """Refuse a model that `load` would refuse."""
        n_parts = sum(len(node.get("parts", ())) for node in self.nodes)
        file_size = self.arrays.size + NODE_SIZE * len(self.nodes) + PART_SIZE * n_parts
        self._budget.check(file_size)
        self._budget.check_whole(self._extents[-1])

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
            return write_scalar(self, value, place)
        return instances.write(self, value, place)


def _is_simple(value: Any) -> bool:
    """Tell whether JSON stores a value exactly: it has no node."""
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return True
    return (kind is int and -(2**63) <= value < 2**63) or (kind is float and math.isfinite(value))


def _identity(value: Any) -> int:
    """Return the id of a value; all empty tuples are one, as Python 3.10 does not see to it in `tuple(iterator)`."""
    return id(()) if type(value) is tuple and not value else id(value)
