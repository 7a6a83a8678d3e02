"""A model as a list of nodes: each holds simple values and references to earlier nodes; the last is the model.

A model is written and read without recursion, and without code from the file.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import NoneType
from typing import Any

import numpy as np

from similitude.persistence import instances
from similitude.persistence.file_format import ArrayReader, ArrayWriter
from similitude.persistence.forms import FORMS, WORK
from similitude.persistence.instances import Described
from similitude.persistence.limits import Budget, Extent, check_hashes, extent_of, extent_of_simple
from similitude.persistence.user_code import RequiredCode
from similitude.support import SavedModelError, brief, digest

CONTAINERS = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
PACKED = {"float": np.float64, "int": np.int64}
TYPES = {
    **{kind.__name__: kind for kind in (bool, int, float, complex, str, bytes, object, list, tuple, set, dict)},
    **{f"numpy.{np.dtype(code).name}": np.dtype(code).type for code in "?bhilqBHILQefdFD"},
}


def is_simple(value: Any) -> bool:
    """Whether JSON stores a value exactly: it has no node."""
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return True
    return (kind is int and -(2**63) <= value < 2**63) or (kind is float and math.isfinite(value))


def _with_items(node: dict[str, Any], items: list[Any]) -> Described:
    if set(map(type, items)) != {str} and not all(map(is_simple, items)):
        return node, [(f"[{i}]", item) for i, item in enumerate(items)]
    if items:
        node["parts"] = items
    return node, []


def _write_container(w: Any, value: Any, path: Any) -> Described:
    node = {"is": type(value).__name__}
    if isinstance(value, (list, tuple)):
        packed = _packed(value) if len(value) > 100 else None  # JSON is shorter for a few
        if packed is not None:
            return {"is": "packed", "as": node["is"], "of": type(value[0]).__name__}, [("", packed)]
        return _with_items(node, list(value))
    check_hashes(value)
    return _with_items(node, sorted(value, key=_order))


def _packed(items: Any) -> Any:
    """Return floats or 64-bit integers as one array and bytes as texts; None for other items."""
    kinds = set(map(type, items))
    if kinds == {bytes}:
        return [one.decode("latin-1") for one in items]
    if kinds == {float} or (kinds == {int} and min(items) >= -(2**63) and max(items) < 2**63):
        return np.array(items, PACKED[kinds.pop().__name__])
    return None


def _read_packed(r: Any, node: Any, parts: list[Any]) -> Any:
    (packed,) = parts
    if node["of"] == "bytes":
        items = [one.encode("latin-1") for one in packed]
    elif packed.ndim == 1 and packed.dtype == PACKED[node["of"]]:
        items = packed.tolist()
    else:
        raise SavedModelError("a list of numbers is not stored as an array of them")
    return items if node["as"] == "list" else tuple(items)


def _order(item: Any) -> tuple[str, Any]:
    """Return a key that puts the items of a set into the same order in every process."""
    kind = type(item)
    return kind.__name__, item if kind in (str, int, float, bytes) else digest(item)


def _read_set(r: Any, node: Any, parts: list[Any]) -> Any:
    check_hashes(parts)
    return CONTAINERS[node["is"]](parts)


def _write_dict(w: Any, value: Any, path: Any) -> Described:
    check_hashes(value)
    keys = [(" (keys)", key) for key in value]
    return {"is": "dict"}, [*keys, *((f"[{key!r}]", item) for key, item in value.items())]


def _read_dict(r: Any, node: Any, parts: list[Any]) -> Any:
    n_keys = len(parts) // 2
    check_hashes(parts[:n_keys])
    return dict(zip(parts[:n_keys], parts[n_keys:], strict=True))


def _write_type(w: Any, value: Any, path: Any) -> Described:
    for name, kind in TYPES.items():
        if kind is value:
            return {"is": "type", "name": name}, []
    return {"is": "function", "name": w.user_code.name(value, path)}, []


def _write_array(w: Any, value: np.ndarray, path: Any) -> Described:
    shape = list(value.shape)
    if value.dtype.kind == "O":
        return _with_items({"is": "objects", "shape": shape}, value.ravel().tolist())
    if value.dtype.kind == "T":  # NumPy's strings of any length, which no .npy file can hold
        if value.dtype != np.dtypes.StringDType():
            raise SavedModelError(f"{path} is an array of {value.dtype!r}: convert it with .astype(object)")
        return {"is": "texts", "shape": shape}, [("", value.ravel().tolist())]
    return {"is": "array", **w.arrays.add(value, path)}, []


def _write_converted(w: Any, value: Any, path: Any) -> Described:
    if isinstance(value, np.memmap):
        w.notes.append(f"{path} was a memory map and comes back as an array in memory")
        return _write_array(w, np.asarray(value), path)
    w.notes.append(f"{path} was a torch tensor and comes back as a NumPy array")
    try:
        return _write_array(w, value.detach().cpu().numpy(), path)
    except TypeError as error:
        raise SavedModelError(f"{path} is a tensor that NumPy cannot hold ({error}): convert it to float32") from error


def _read_objects(r: Any, node: Any, parts: list[Any]) -> np.ndarray:
    return np.fromiter(parts, object, len(parts)).reshape(node["shape"])


def _read_texts(r: Any, node: Any, parts: list[Any]) -> np.ndarray:
    (items,) = parts
    if type(items) is not list or not all(type(item) is str for item in items):
        raise SavedModelError("an array of texts is not stored as a list of texts")
    return np.array(items, np.dtypes.StringDType()).reshape(node["shape"])


WRITERS = {
    **{f"builtins.{name}": _write_container for name in CONTAINERS},
    "builtins.dict": _write_dict,
    "builtins.type": _write_type,
    "abc.ABCMeta": _write_type,
    "numpy.ndarray": _write_array,
    "numpy.memmap": _write_converted,
    "torch.Tensor": _write_converted,
}

READERS: dict[str, Callable[[Any, Any, list[Any]], Any]] = {
    "list": lambda r, node, parts: list(parts),
    "tuple": lambda r, node, parts: tuple(parts),
    "set": _read_set,
    "frozenset": _read_set,
    "dict": _read_dict,
    "packed": _read_packed,
    "type": lambda r, node, parts: TYPES[node["name"]],
    "array": lambda r, node, parts: r.arrays.take(node),
    "objects": _read_objects,
    "texts": _read_texts,
    "scalar": lambda r, node, parts: r.arrays.take({**node, "shape": ()})[()],
    **instances.INSTANCE_READERS,
}
"""How nodes are read, by their kind."""

OF_JSON = frozenset((NoneType, bool, int, float, str))


class Place(tuple[Any, str]):
    """Where a value is in the model, as an outer place and a name, written out in messages: ``model.similarity_.k``."""

    def __str__(self) -> str:
        names: list[str] = []
        place: Any = self
        while place is not None:
            place, name = place
            names.insert(0, name)
        return "".join(names)


class Account:
    """The values of the nodes so far, their extents, and the work that loading them takes."""

    def __init__(self) -> None:
        self._values: list[Any] = []
        self._extents: list[Extent] = []
        self._budget = Budget()

    def _pay_for(self, node: Any) -> tuple[list[Any], list[Extent]]:
        """Return the parts of the next node, which refer to earlier ones, and their extents, once they are paid for."""
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
                    if type(one) is not list:
                        raise SavedModelError("a value is neither simple nor a reference")
                    (place,) = one
                    if type(place) is not int or not 0 <= place < len(self._values):
                        raise SavedModelError("a reference points to a later node, or to none")
                    parts.append(self._values[place])
                    extents.append(self._extents[place])
        work = None
        if kind in FORMS:
            work = WORK.get(kind, lambda parts, size: size)
        self._budget.pay_for(node, parts, extents, work)
        return parts, extents


class ModelWriter(Account):
    """Collects the nodes and arrays of a model, and the user's functions that it needs."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.nodes: list[dict[str, Any]] = []
        self.arrays = ArrayWriter()
        self.user_code = RequiredCode()
        self.notes: list[str] = []  # on what comes back in another form
        self._numbers: dict[int, int] = {}  # of the nodes, by the identities of their values
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
        pending: list[tuple[Any, Place]] = [(model, Place((None, "model")))]
        described: dict[int, Described] = {}
        while pending:
            value, place = pending[-1]
            key = _identity(value)
            if key in described:  # its parts are written
                self._add(value, place, *described.pop(key))
            if key in self._numbers:
                pending.pop()
                continue
            described[key] = self._describe(value, place)
            parts = described[key][1]
            inner = [(part, Place((place, last))) for last, part in parts if not is_simple(part)]
            for part, where in inner:
                if _identity(part) in described:
                    raise SavedModelError(f"{where} leads back to itself: a {type(part).__name__} that contains itself")
            pending += reversed(inner)

    def _add(self, value: Any, place: Place, node: dict[str, Any], parts: list[tuple[str, Any]]) -> None:
        """Add a node with references to those of its parts, and keep the account of what loading it will take."""
        if parts:
            node["parts"] = [one if is_simple(one) else [self._numbers[_identity(one)]] for _, one in parts]
        try:
            _, extents = self._pay_for(node)
        except SavedModelError as error:
            raise SavedModelError(f"{place}: {error}") from error
        self._numbers[_identity(value)] = len(self.nodes)
        self.nodes.append(node)
        self._values.append(value)
        self._extents.append(extent_of(value, extents))

    def _describe(self, value: Any, place: Place) -> Described:
        kind = type(value)
        key = f"{kind.__module__.split('.')[0]}.{kind.__name__}"
        if key in WRITERS:
            return WRITERS[key](self, value, place)
        if key in FORMS:
            try:
                parts = FORMS[key][0](value)
            except SavedModelError as error:
                raise SavedModelError(f"{place} {error}") from error
            return {"is": key, "names": list(parts)}, [(f".{name}", part) for name, part in parts.items()]
        if isinstance(value, np.generic):
            return {"is": "scalar", **self.arrays.add(np.asarray(value), place)}, []
        return instances.write(self, value, place)


def _identity(value: Any) -> int:
    """Return the id of a value; all empty tuples are one, as Python 3.10 does not see to it in `tuple(iterator)`."""
    return id(()) if type(value) is tuple and not value else id(value)


class ModelReader(Account):
    """Builds the values of all nodes, from the first to the last; `user_code` was passed to ``load``, by name."""

    def __init__(self, file_size: int, nodes: Any, arrays: memoryview, user_code: dict[str, Any]) -> None:
        if not isinstance(nodes, list):
            raise SavedModelError("the model is not a list of nodes")
        super().__init__()
        self.user_code = user_code
        self.arrays = ArrayReader(arrays)
        self._nodes = nodes
        self._file_size = file_size

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
        parts, extents = self._pay_for(node)
        self._budget.check(self._file_size)
        if kind in READERS:
            value = READERS[kind](self, node, parts)
        else:
            value = FORMS[kind][1](**dict(zip(node["names"], parts, strict=True)))
        self._values.append(value)
        self._extents.append(extent_of(value, extents))
