"""Values of Python's own types: containers, numbers, text and dates."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from similitude.persistence.plain_forms import Parts, PlainForm, attributes
from similitude.support import SavedModelError, digest

PACKED = 32
"""Number of items from which on strings, bytes, integers or floats in a container are stored as arrays."""

CONTAINERS = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
TYPES = {
    **{kind.__name__: kind for kind in (bool, int, float, complex, str, bytes, object, list, tuple, set, dict)},
    **{f"numpy.{np.dtype(code).name}": np.dtype(code).type for code in "?bhilqBHILQefdFD"},
}


def write_items(w: Any, items: Any, path: str) -> dict[str, Any]:
    """Return the items of a container: packed into arrays where there are many of one simple type."""
    kinds = set(map(type, items)) if len(items) >= PACKED else set()
    if kinds in ({str}, {bytes}):
        joined = "".join(items).encode("utf-8", "surrogatepass") if kinds == {str} else b"".join(items)
        ends = np.cumsum(np.fromiter(map(len, items), np.int64, len(items)))
        name = "strings" if kinds == {str} else "bytes"
        return {name: w.arrays.add(np.frombuffer(joined, np.uint8), path), "ends": w.arrays.add(ends, path)}
    if kinds == {float} or (kinds == {int} and min(items) >= -(2**63) and max(items) < 2**63):
        return {"numbers": w.arrays.add(np.array(items, np.float64 if kinds == {float} else np.int64), path)}
    return {"items": w.values(items, path)}


def read_items(r: Any, node: Any) -> list[Any]:
    """Return the items of a container as a list."""
    if "items" in node:
        return r.values(node["items"])
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


def _write_container(w: Any, value: Any, path: str) -> dict[str, Any]:
    items = sorted(value, key=_order) if isinstance(value, (set, frozenset)) else value
    return {"is": type(value).__name__, **write_items(w, items, path)}


def _order(item: Any) -> tuple[str, Any]:
    """Return a key that puts the items of a set into the same order in every process."""
    kind = type(item)
    return kind.__name__, item if kind in (str, int, float, bytes) else digest(item)


def _read_container(r: Any, node: Any) -> Any:
    items = read_items(r, node)
    if node["is"] in ("set", "frozenset"):
        r.check_hashing()
    return CONTAINERS[node["is"]](items)


def _write_dict(w: Any, value: Any, path: str) -> dict[str, Any]:
    keys = write_items(w, list(value), f"{path} (keys)")
    values = [w.value(item, f"{path}[{key!r}]") for key, item in value.items()]
    return {"is": "dict", "keys": keys, "values": values}


def _read_dict(r: Any, node: Any) -> Any:
    keys = read_items(r, node["keys"])
    r.check_hashing()
    return dict(zip(keys, r.values(node["values"]), strict=True))


def _write_type(w: Any, value: Any, path: str) -> dict[str, Any]:
    name = next((name for name, kind in TYPES.items() if kind is value), None)
    return w.user_code.node(value, path) if name is None else {"is": "type", "name": name}


def standard_zone(moment: Any) -> Any:
    """Return a time whose zone is of pytz in the zone of the standard library with the same name."""
    zone: Any = getattr(moment, "tzinfo", None)
    is_pytz = type(zone).__module__.split(".")[0] == "pytz" and zone.zone is not None
    return moment.astimezone(_zone(zone.zone)) if is_pytz and hasattr(moment, "astimezone") else moment


def _zone(key: str) -> Any:
    from zoneinfo import ZoneInfo

    return ZoneInfo(key)


def _moment_parts(value: Any) -> Parts:
    value = standard_zone(value)
    return {"text": value.replace(tzinfo=None).isoformat(), "zone": value.tzinfo, "fold": value.fold}


def _timezone(offset: timedelta, name: str) -> timezone:
    unnamed = timezone(offset)
    return unnamed if unnamed.tzname(None) == name else timezone(offset, name)


PYTHON_WRITERS = {
    **{f"builtins.{name}": _write_container for name in CONTAINERS},
    "builtins.dict": _write_dict,
    "builtins.type": _write_type,
    "abc.ABCMeta": _write_type,
}

PYTHON_READERS = {
    **dict.fromkeys(CONTAINERS, _read_container),
    "dict": _read_dict,
    "type": lambda r, node: TYPES[node["name"]],
}

PYTHON_FORMS = {
    "builtins.int": PlainForm(lambda value: {"hex": f"{value:x}"}, lambda hex: int(hex, 16)),
    "builtins.float": PlainForm(lambda value: {"text": repr(value)}, lambda text: float(text)),
    "builtins.complex": PlainForm(attributes("real", "imag"), complex),
    "builtins.bytes": PlainForm(lambda value: {"array": np.frombuffer(value, np.uint8)}, lambda array: array.tobytes()),
    "builtins.bytearray": PlainForm(
        lambda value: {"array": np.frombuffer(bytes(value), np.uint8)}, lambda array: bytearray(array.tobytes())
    ),
    "builtins.range": PlainForm(
        attributes("start", "stop", "step"), lambda start, stop, step: range(start, stop, step)
    ),
    "builtins.slice": PlainForm(
        attributes("start", "stop", "step"), lambda start, stop, step: slice(start, stop, step)
    ),
    "decimal.Decimal": PlainForm(lambda value: {"text": str(value)}, lambda text: Decimal(text)),
    "fractions.Fraction": PlainForm(attributes("numerator", "denominator"), Fraction),
    "datetime.date": PlainForm(attributes("year", "month", "day"), date),
    "datetime.timedelta": PlainForm(attributes("days", "seconds", "microseconds"), timedelta),
    "datetime.datetime": PlainForm(
        _moment_parts, lambda text, zone, fold: datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold)
    ),
    "datetime.time": PlainForm(
        _moment_parts, lambda text, zone, fold: time.fromisoformat(text).replace(tzinfo=zone, fold=fold)
    ),
    "datetime.timezone": PlainForm(
        lambda value: {"offset": value.utcoffset(None), "name": value.tzname(None)}, _timezone
    ),
    "zoneinfo.ZoneInfo": PlainForm(attributes("key"), _zone),
}
