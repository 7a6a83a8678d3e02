"""Nodes of lists, tuples, sets, dicts, types, arrays, NumPy scalars and tensors, which become arrays."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from similitude.persistence.equal_hashes import check_hashes
from similitude.support import SavedModelError, digest

PACKED = 32
"""Number of items from which on strings, bytes, integers or floats in a container are stored as arrays."""

CONTAINERS = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
TYPES = {
    **{kind.__name__: kind for kind in (bool, int, float, complex, str, bytes, object, list, tuple, set, dict)},
    **{f"numpy.{np.dtype(code).name}": np.dtype(code).type for code in "?bhilqBHILQefdFD"},
}

Parts = list[tuple[str, Any]]
"""The parts of a value: what follows the path of the value in theirs, and the part."""

Described = tuple[dict[str, Any], Parts]
"""A node without its parts, and the parts."""


def _write_container(w: Any, value: Any, path: Any) -> Described:
    items = sorted(value, key=_order) if isinstance(value, (set, frozenset)) else value
    node = {"is": type(value).__name__}
    _check_keys(node, items)
    kinds = set(map(type, items)) if len(items) >= PACKED else set()
    if kinds in ({str}, {bytes}):
        joined = "".join(items).encode("utf-8", "surrogatepass") if kinds == {str} else b"".join(items)
        ends = np.cumsum(np.fromiter(map(len, items), np.int64, len(items)))
        name = "strings" if kinds == {str} else "bytes"
        letters = w.arrays.add(np.frombuffer(joined, np.uint8), path)
        return {**node, name: letters, "ends": w.arrays.add(ends, path)}, []
    if kinds == {float} or (kinds == {int} and min(items) >= -(2**63) and max(items) < 2**63):
        numbers = np.array(items, np.float64 if kinds == {float} else np.int64)
        return {**node, "numbers": w.arrays.add(numbers, path)}, []
    return node, [(f"[{i}]", item) for i, item in enumerate(items)]


def _order(item: Any) -> tuple[str, Any]:
    """Return a key that puts the items of a set into the same order in every process."""
    kind = type(item)
    return kind.__name__, item if kind in (str, int, float, bytes) else digest(item)


def _read_container(r: Any, node: Any, parts: list[Any]) -> Any:
    items = _read_packed(r, node) if "numbers" in node or "ends" in node else parts
    _check_keys(node, items)
    return CONTAINERS[node["is"]](items)


def _check_keys(node: Any, items: Any) -> None:
    """Refuse a set of items that could not be told apart soon."""
    if node["is"] in ("set", "frozenset"):
        check_hashes(items)


def _read_packed(r: Any, node: Any) -> list[Any]:
    if "numbers" in node:
        numbers = r.arrays.take(node["numbers"])
        if numbers.dtype not in (np.float64, np.int64) or numbers.ndim != 1:
            raise SavedModelError("a list of numbers is not stored as one")
        return numbers.tolist()
    joined = r.arrays.take(node["strings" if "strings" in node else "bytes"]).tobytes()
    text = joined.decode("utf-8", "surrogatepass") if "strings" in node else joined
    ends = r.arrays.take(node["ends"])
    places = [0, *ends.tolist()]
    if ends.ndim != 1 or ends.dtype != np.int64 or (np.diff(ends, prepend=0) < 0).any() or places[-1] != len(text):
        raise SavedModelError("the lengths of strings do not agree with their letters")
    return [text[start:stop] for start, stop in pairwise(places)]


def _write_dict(w: Any, value: Any, path: Any) -> Described:
    check_hashes(value)
    return {"is": "dict"}, [
        *((" (keys)", key) for key in value),
        *((f"[{key!r}]", item) for key, item in value.items()),
    ]


def _read_dict(r: Any, node: Any, parts: list[Any]) -> Any:
    n_keys = len(parts) // 2
    check_hashes(parts[:n_keys])
    return dict(zip(parts[:n_keys], parts[n_keys:], strict=True))


def _write_type(w: Any, value: Any, path: Any) -> Described:
    name = next((name for name, kind in TYPES.items() if kind is value), None)
    return (w.user_code.node(value, path) if name is None else {"is": "type", "name": name}), []


def _write_array(w: Any, value: np.ndarray, path: Any) -> Described:
    shape = list(value.shape)
    if value.dtype.kind == "O":
        return {"is": "objects", "shape": shape}, [(f"[{i}]", item) for i, item in enumerate(value.ravel().tolist())]
    if value.dtype.kind == "T":  # NumPy's strings of any length, which no .npy file can hold
        if value.dtype != np.dtypes.StringDType():
            raise SavedModelError(f"{path} is an array of {value.dtype!r}: convert it with .astype(object)")
        return {"is": "texts", "shape": shape}, [("", value.ravel().tolist())]
    return {"is": "array", **w.arrays.add(value, path)}, []


def write_scalar(w: Any, value: np.generic, path: Any) -> Described:
    """Describe a NumPy scalar: it is stored as an array without dimensions."""
    return {"is": "scalar", **w.arrays.add(np.asarray(value), path)}, []


def _write_memmap(w: Any, value: Any, path: Any) -> Described:
    w.notes.append(f"{path} was a memory map and comes back as an array in memory")
    return _write_array(w, np.asarray(value), path)


def _write_tensor(w: Any, value: Any, path: Any) -> Described:
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


def _read_scalar(r: Any, node: Any, parts: list[Any]) -> Any:
    array = r.arrays.take(node)
    if array.ndim:
        raise SavedModelError("a scalar is stored with a shape")
    return array[()]


WRITERS = {
    **{f"builtins.{name}": _write_container for name in CONTAINERS},
    "builtins.dict": _write_dict,
    "builtins.type": _write_type,
    "abc.ABCMeta": _write_type,
    "numpy.ndarray": _write_array,
    "numpy.memmap": _write_memmap,
    "torch.Tensor": _write_tensor,
}

ARRAY_READERS = {
    **dict.fromkeys(CONTAINERS, _read_container),
    "dict": _read_dict,
    "type": lambda r, node, parts: TYPES[node["name"]],
    "array": lambda r, node, parts: r.arrays.take(node),
    "objects": _read_objects,
    "texts": _read_texts,
    "scalar": _read_scalar,
}
