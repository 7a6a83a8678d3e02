"""Python's own values: containers, text, bytes and numbers."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from similitude.support.errors import SavedModelError
from similitude.support.fingerprints import digest

PACKED = 32
"""Items from which on a list of strings, of bytes, of whole or of floating point numbers is stored as arrays."""

CONTAINERS = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
TYPES = {
    **{kind.__name__: kind for kind in (bool, int, float, complex, str, bytes, object, list, tuple, set, dict)},
    **{f"numpy.{np.dtype(code).name}": np.dtype(code).type for code in "?bhilqBHILQefdFD"},
}


def write_items(w: Any, items: Any, path: str) -> dict[str, Any]:
    """Return the items of a container: packed into arrays where there are many of one plain kind."""
    kinds = set(map(type, items)) if len(items) >= PACKED else set()
    if kinds == {str}:
        joined = np.frombuffer("".join(items).encode("utf-8", "surrogatepass"), np.uint8)
        return {"strings": w.pools.add(joined, path), "ends": w.pools.add(_ends(items), path)}
    if kinds == {bytes}:
        return {
            "bytes": w.pools.add(np.frombuffer(b"".join(items), np.uint8), path),
            "ends": w.pools.add(_ends(items), path),
        }
    if kinds == {float} or (kinds == {int} and min(items) >= -(2**63) and max(items) < 2**63):
        return {"numbers": w.pools.add(np.array(items, np.float64 if kinds == {float} else np.int64), path)}
    return {"items": w.values(items, path)}


def _ends(items: Any) -> np.ndarray:
    return np.cumsum(np.fromiter(map(len, items), np.int64, len(items)))


def read_items(r: Any, node: Any) -> list[Any]:
    """Return the items of a container as a list."""
    if "items" in node:
        return r.values(node["items"])
    if "numbers" in node:
        numbers = r.array(node["numbers"])
        if numbers.dtype not in (np.float64, np.int64) or numbers.ndim != 1:
            raise SavedModelError("a list of numbers is not stored as one")
        return numbers.tolist()
    whole = r.array(node["strings" if "strings" in node else "bytes"]).tobytes()
    text = whole.decode("utf-8", "surrogatepass") if "strings" in node else whole
    ends = r.array(node["ends"])
    places = [0, *ends.tolist()]
    if ends.ndim != 1 or ends.dtype != np.int64 or (np.diff(ends, prepend=0) < 0).any() or places[-1] != len(text):
        raise SavedModelError("the lengths of strings do not agree with their letters")
    return [text[start:stop] for start, stop in pairwise(places)]


def _write_container(w: Any, value: Any, path: str) -> dict[str, Any]:
    return {"is": type(value).__name__, **write_items(w, value, path)}


def _write_set(w: Any, value: Any, path: str) -> dict[str, Any]:
    """Write a set in an order that does not depend on the process."""
    return {"is": type(value).__name__, **write_items(w, sorted(value, key=_order), path)}


def _order(item: Any) -> tuple[str, Any]:
    kind = type(item)
    return kind.__name__, item if kind in (str, int, float, bytes) else digest(item)


def _read_container(r: Any, node: Any) -> Any:
    items = read_items(r, node)
    if node["is"] in ("set", "frozenset"):
        r.check_light()
    return CONTAINERS[node["is"]](items)


def _write_dict(w: Any, value: Any, path: str) -> dict[str, Any]:
    keys = write_items(w, list(value), f"{path} (keys)")
    values = [w.value(item, f"{path}[{key!r}]") for key, item in value.items()]
    return {"is": "dict", "keys": keys, "values": values}


def _read_dict(r: Any, node: Any) -> Any:
    keys = read_items(r, node["keys"])
    r.check_light()
    return dict(zip(keys, r.values(node["values"]), strict=True))


def _write_bytes(w: Any, value: Any, path: str) -> dict[str, Any]:
    return {"is": type(value).__name__, "array": w.pools.add(np.frombuffer(bytes(value), np.uint8), path)}


def _read_bytes(r: Any, node: Any) -> Any:
    array = r.array(node["array"])
    return (bytes if node["is"] == "bytes" else bytearray)(array.tobytes())


def _write_range(w: Any, value: Any, path: str) -> dict[str, Any]:
    return {"is": type(value).__name__, "items": w.values((value.start, value.stop, value.step), path)}


def _read_range(r: Any, node: Any) -> Any:
    start, stop, step = r.values(node["items"])
    return (range if node["is"] == "range" else slice)(start, stop, step)


def _write_type(w: Any, value: Any, path: str) -> dict[str, Any]:
    name = next((name for name, kind in TYPES.items() if kind is value), None)
    if name is None:
        return w.functions.write(value, path)
    return {"is": "type", "name": name}


WRITERS = {
    **{("builtins", name): _write_container for name in ("list", "tuple")},
    **{("builtins", name): _write_set for name in ("set", "frozenset")},
    ("builtins", "dict"): _write_dict,
    ("builtins", "bytes"): _write_bytes,
    ("builtins", "bytearray"): _write_bytes,
    ("builtins", "range"): _write_range,
    ("builtins", "slice"): _write_range,
    ("builtins", "int"): lambda w, value, path: {"is": "int", "hex": f"{value:x}"},
    ("builtins", "float"): lambda w, value, path: {"is": "float", "text": repr(value)},
    ("builtins", "complex"): lambda w, value, path: {
        "is": "complex",
        "parts": w.values((value.real, value.imag), path),
    },
    ("builtins", "type"): _write_type,
    ("abc", "ABCMeta"): _write_type,
    ("decimal", "Decimal"): lambda w, value, path: {"is": "decimal", "text": str(value)},
    ("fractions", "Fraction"): lambda w, value, path: {
        "is": "fraction",
        "parts": w.values((value.numerator, value.denominator), path),
    },
}

READERS = {
    **dict.fromkeys(CONTAINERS, _read_container),
    "dict": _read_dict,
    "bytes": _read_bytes,
    "bytearray": _read_bytes,
    "range": _read_range,
    "slice": _read_range,
    "int": lambda r, node: int(node["hex"], 16),
    "float": lambda r, node: float(node["text"]),
    "complex": lambda r, node: complex(*r.values(node["parts"])),
    "type": lambda r, node: TYPES[node["name"]],
    "decimal": lambda r, node: Decimal(node["text"]),
    "fraction": lambda r, node: Fraction(*r.values(node["parts"])),
}
