"""Nodes of lists, tuples, sets, dicts, types, arrays, NumPy scalars and tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from similitude.persistence.limits import check_hashes
from similitude.support import SavedModelError, digest

CONTAINERS = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
PACKED = {"float": np.float64, "int": np.int64}
TYPES = {
    **{kind.__name__: kind for kind in (bool, int, float, complex, str, bytes, object, list, tuple, set, dict)},
    **{f"numpy.{np.dtype(code).name}": np.dtype(code).type for code in "?bhilqBHILQefdFD"},
}

Parts = list[tuple[str, Any]]
"""The parts of a value: what follows the path of the value in theirs, and the part."""

Described = tuple[dict[str, Any], Parts]
"""A node without its parts, and the parts. Many simple items are in the node itself."""


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
    if kinds == {float} or (kinds == {int} and -(2**63) <= min(items) and max(items) < 2**63):
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


def _read_container(r: Any, node: Any, parts: list[Any]) -> Any:
    if node["is"] in ("set", "frozenset"):
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
    return w.user_code.node(value, path), []


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
    flat = np.empty(len(parts), object)
    for i, item in enumerate(parts):
        flat[i] = item
    return flat.reshape(node["shape"])


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

ARRAY_READERS = {
    **dict.fromkeys(CONTAINERS, _read_container),
    "dict": _read_dict,
    "packed": _read_packed,
    "type": lambda r, node, parts: TYPES[node["name"]],
    "array": lambda r, node, parts: r.arrays.take(node),
    "objects": _read_objects,
    "texts": _read_texts,
    "scalar": lambda r, node, parts: r.arrays.take({**node, "shape": ()})[()],
}
