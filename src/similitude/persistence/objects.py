"""Objects of our own types, by the closed registry, and of the user's own classes, by what is handed over."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from typing import Any

from similitude.compute.engines import Engine
from similitude.persistence.reencode import with_encodings, without_encodings
from similitude.persistence.registry import TYPES, UPGRADES, class_of
from similitude.similarity import Parametric
from similitude.support.errors import SavedModelError, brief


def write(w: Any, value: Any, path: str) -> dict[str, Any]:
    """Write an object of ours, of the user's, or a function."""
    cls = type(value)
    if isinstance(value, Engine):
        raise SavedModelError(f"{path} is an engine: it belongs to the machine and is not stored")
    name = _registered(cls)
    if name is None and cls.__module__.split(".")[0] == "similitude":
        raise SavedModelError(
            f"{path} is a {cls.__name__}, which saved models do not know: save the model that made it"
        )
    if name is None and isinstance(value, type):
        return w.functions.write(value, path)
    if name is None and not _is_transparent(value):
        if callable(value):
            return w.functions.write(value, path)
        raise SavedModelError(
            f"{path} is a {cls.__module__}.{cls.__qualname__}, which cannot be stored: convert it to numbers, "
            f"strings, arrays, CSR matrices, tables, lists, dicts or sets, or make its class a dataclass"
        )
    attributes = _attributes(w, without_encodings(_state(value)), path)
    if name is None:
        return {"is": "own", "class": w.functions.name(cls, path), "attributes": attributes}
    unknown = set(attributes) - TYPES[name].attributes
    if unknown:
        raise SavedModelError(f"{path} has an attribute {sorted(unknown)[0]!r} that no {cls.__name__} has: remove it")
    return {"is": "object", "type": name, "attributes": attributes}


def _registered(cls: type) -> str | None:
    """Return the name of one of our types; None for any other."""
    return cls.__name__ if cls.__name__ in TYPES and class_of(cls.__name__) is cls else None


def _is_transparent(value: Any) -> bool:
    """Tell whether an object is what its attributes are: a dataclass, a named tuple, a similarity, an estimator."""
    if isinstance(value, type):
        return False
    named = isinstance(value, tuple) and hasattr(value, "_fields")
    return named or dataclasses.is_dataclass(value) or hasattr(value, "get_params")


OF_THE_ENGINE = ("_engine_of_tensors",)
"""What an estimator keeps of the engine that it was fitted with; it belongs to the machine as well."""


def _attributes(w: Any, state: dict[str, Any], path: str) -> dict[str, Any]:
    state = {name: one for name, one in state.items() if name not in OF_THE_ENGINE}
    if isinstance(state.get("engine"), Engine):
        w.notes.append(f"{path}.engine is not stored: the loaded model uses the engine of the machine it is on")
        state = {**state, "engine": None}
    if state.pop("_metadata_request", None) is not None:
        w.notes.append(f"{path}: what was asked for by set_fit_request and the like is not stored")
    return {name: w.value(state[name], f"{path}.{name}") for name in sorted(state)}


def _state(value: Any) -> dict[str, Any]:
    """Return the attributes of an object that are not made anew when they are needed."""
    if isinstance(value, tuple):
        return dict(zip(value._fields, value, strict=True))  # type: ignore[attr-defined]
    if dataclasses.is_dataclass(value) and not hasattr(value, "get_params"):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    is_own = any("__getstate__" in vars(cls) for cls in type(value).__mro__ if cls is not object)
    state = value.__getstate__() if is_own and not isinstance(value, Parametric) else vars(value)
    lazy = functools.cached_property
    return {name: one for name, one in state.items() if not isinstance(getattr(type(value), name, None), lazy)}


def _slot_names(cls: type) -> list[str]:
    given = [vars(one).get("__slots__", ()) for one in cls.__mro__]
    names = [name for some in given for name in ((some,) if isinstance(some, str) else some)]
    return [name for name in names if name not in ("__dict__", "__weakref__")]


def _read_object(r: Any, node: Any) -> Any:
    name = node["type"]
    if not isinstance(name, str) or name not in TYPES:
        raise SavedModelError(f"there is no type {brief(name)} in saved models of this version")
    known = TYPES[name]
    attributes = {key: r.value(written) for key, written in node["attributes"].items()}
    for last, change in UPGRADES.get(name, ()):
        attributes = change(attributes) if r.version <= last else attributes
    cls = class_of(name)
    unknown = sorted(attributes.keys() - known.attributes)
    missing = sorted(_demanded(cls) - attributes.keys())
    if unknown or missing:
        problem = f"an attribute {unknown[0]!r} that it does not have" if unknown else f"no {missing[0]!r}"
        raise SavedModelError(f"a {name} in the file has {problem}")
    return _made(cls, with_encodings(attributes, known.attributes))


def _demanded(cls: Any) -> set[str]:
    """Return the attributes without which no object of the class is complete."""
    if dataclasses.is_dataclass(cls):
        return {field.name for field in dataclasses.fields(cls)}
    if issubclass(cls, Parametric) or hasattr(cls, "get_params"):
        parameters = inspect.signature(cls).parameters.values()
        named = {one.name for one in parameters if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)}
        return {name for name in named if not isinstance(getattr(cls, name, None), property)}
    return set(getattr(cls, "_fields", ()))


def _made(cls: Any, attributes: dict[str, Any]) -> Any:
    """Return an object with these attributes; no code of its class runs."""
    if issubclass(cls, tuple):
        return tuple.__new__(cls, [attributes[name] for name in cls._fields])
    made = object.__new__(cls)
    slots = set(_slot_names(cls))
    for name in slots & attributes.keys():
        object.__setattr__(made, name, attributes[name])
    if slots < attributes.keys():
        vars(made).update({name: value for name, value in attributes.items() if name not in slots})
    return made


def _read_own(r: Any, node: Any) -> Any:
    cls = r.functions.take(node["class"])
    attributes = {name: r.value(written) for name, written in node["attributes"].items()}
    missing = sorted(_demanded(cls) - attributes.keys())
    if missing:
        raise SavedModelError(f"a {cls.__name__} in the file has no {missing[0]!r}")
    ours = next((name for name in map(_registered, cls.__mro__) if name is not None), None)
    return _made(cls, with_encodings(attributes, TYPES[ours].attributes if ours else frozenset()))


READERS = {
    "object": _read_object,
    "own": _read_own,
    "function": lambda r, node: r.functions.take(node["name"]),
}
