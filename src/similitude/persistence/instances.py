"""Instances of the library's own classes, from a closed list, and of classes that the user passes to ``load``.

Encodings are not stored, because they are private to a similarity and may look different in the next version: the
similarity encodes the stored objects again when a model is loaded.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
from collections.abc import Iterable
from types import MemberDescriptorType
from typing import Any

from similitude.compute import count
from similitude.compute.engines import Engine
from similitude.persistence.registry import MODULES
from similitude.similarity import Parametric, Similarity
from similitude.support import SavedModelError, brief

Parts = list[tuple[str, Any]]
"""The parts of a value: what follows the path of the value in theirs, and the part."""

Described = tuple[dict[str, Any], Parts]
"""A node without its parts, and the parts. Many simple items are in the node itself."""


def write(w: Any, value: Any, path: Any) -> Described:
    """Describe an instance of the library's or the user's classes, or a function."""
    cls: Any = type(value)
    is_ours = _class_of(cls.__name__) is cls
    if isinstance(value, Engine):
        raise SavedModelError(f"{path} is an engine: it belongs to the machine and is not stored")
    if not is_ours and cls.__module__.split(".")[0] == "similitude":
        raise SavedModelError(f"{path} is a {cls.__name__}, which is not stored: save the model that made it")
    is_named = isinstance(value, tuple) and hasattr(value, "_fields")
    is_transparent = is_named or dataclasses.is_dataclass(value) or hasattr(value, "get_params")
    if not is_ours and (isinstance(value, type) or not is_transparent):  # attributes do not determine it
        if callable(value):
            return {"is": "function", "name": w.user_code.name(value, path)}, []
        raise SavedModelError(
            f"{path} is a {cls.__module__}.{cls.__qualname__}, which cannot be stored: convert it to numbers, "
            f"strings, arrays, CSR matrices, tables, lists, dicts or sets, or make its class a dataclass"
        )
    state = _stored(w, _state(value), path)
    bad = _misplaced(cls, state)
    if bad is not None:
        raise SavedModelError(f"{path} has an attribute {bad!r} in the place of a method or property: remove it")
    names = sorted(state)
    node = {"is": "object", "type": cls.__name__, "names": names}
    if not is_ours:
        node.update({"is": "own", "type": w.user_code.name(cls, path)})
    return node, [(f".{name}", state[name]) for name in names]


def _class_of(name: Any) -> Any:
    """Return the class of the registry with a name; None for any other name."""
    if not isinstance(name, str) or name not in MODULES:
        return None
    return getattr(importlib.import_module(MODULES[name]), name)


def _stored(w: Any, state: dict[str, Any], path: Any) -> dict[str, Any]:
    """Return the attributes to be stored: without encodings, the engine and metadata requests."""
    state = dict(state)
    state.pop("_engine_of_tensors", None)  # belongs to the machine, like the engine
    if isinstance(_similarity(state), Similarity):  # for a matrix, the encoding is an array of positions in it
        if "support_objects_" in state:
            state.pop("_support", None)
        if hasattr(state.get("landmarks"), "encoding"):
            state["landmarks"] = dataclasses.replace(state["landmarks"], encoding=None)
    if isinstance(state.get("engine"), Engine):
        w.notes.append(f"{path}.engine is not stored: the loaded model uses the default engine")
        state["engine"] = None
    if state.pop("_metadata_request", None) is not None:
        w.notes.append(f"{path}: metadata requests (set_fit_request and others) are not stored")
    return state


def _add_encodings(state: dict[str, Any]) -> None:
    """Add the encodings of the objects that a part of a model keeps."""
    k = _similarity(state)
    if not isinstance(k, Similarity):
        return
    landmarks: Any = state.get("landmarks")
    if "support_objects_" in state and "_support" not in state:
        state["_support"] = _encoded(k, state["support_objects_"])
    elif hasattr(landmarks, "encoding"):
        state["landmarks"] = dataclasses.replace(landmarks, encoding=_encoded(k, landmarks.objects))


def _similarity(state: dict[str, Any]) -> Any:
    """Return the similarity of an object: the fitted one of an estimator, or that of a part of a model."""
    return state.get("kernel_", state.get("similarity_", state.get("similarity")))


def _encoded(k: Similarity, objects: Any) -> Any:
    if not count(objects):
        return objects
    try:
        k.check_params()
        return k.encode(objects)
    except Exception as error:  # a user's function can raise anything
        raise SavedModelError(f"{k!r} cannot encode the objects that were saved with it: {error}") from error


def _state(value: Any) -> dict[str, Any]:
    """Return the attributes of an object, without cached properties."""
    if isinstance(value, tuple):
        return dict(zip(value._fields, value, strict=True))  # type: ignore[attr-defined]
    if dataclasses.is_dataclass(value) and not hasattr(value, "get_params"):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    is_own = any("__getstate__" in vars(cls) for cls in type(value).__mro__ if cls is not object)
    state = value.__getstate__() if is_own and not isinstance(value, Parametric) else vars(value)
    cached = functools.cached_property
    return {name: one for name, one in state.items() if not isinstance(getattr(type(value), name, None), cached)}


def _misplaced(cls: Any, names: Iterable[str]) -> str | None:
    """Return an attribute that no file may set, beside those that every instance has; None if there is none."""
    return next((name for name in names if name not in _demanded(cls) and not _may_have(cls, name)), None)


@functools.lru_cache(1024)
def _may_have(cls: Any, name: str) -> bool:
    """Tell whether a file may set an attribute: it must not replace a method, or a property that cannot be set."""
    if not hasattr(cls, "get_params") and (dataclasses.is_dataclass(cls) or issubclass(cls, tuple)):
        return False
    defined = inspect.getattr_static(cls, name, None)
    settable = isinstance(defined, MemberDescriptorType) or getattr(defined, "fset", None) is not None
    return not name.startswith("__") and (settable or not hasattr(defined, "__get__"))


def _read(node: Any, parts: list[Any], cls: Any) -> Any:
    if cls is None:
        raise SavedModelError(f"there is no type {brief(node['type'])} in saved models of this version")
    attributes = dict(zip(node["names"], parts, strict=True))
    bad = _misplaced(cls, attributes)
    missing = sorted(_demanded(cls) - attributes.keys())
    if bad is not None:
        raise SavedModelError(f"a {cls.__name__} in the file has an attribute {bad!r}, which cannot be set")
    if missing:
        raise SavedModelError(f"a {cls.__name__} in the file has no {missing[0]!r}")
    _add_encodings(attributes)
    if issubclass(cls, tuple):
        return tuple.__new__(cls, [attributes[name] for name in cls._fields])
    made = object.__new__(cls)  # without running any code of its class
    for name, value in attributes.items():
        object.__setattr__(made, name, value)
    return made


@functools.lru_cache(1024)
def _demanded(cls: Any) -> frozenset[str]:
    """Return the attributes that every instance of a class has."""
    if dataclasses.is_dataclass(cls):
        return frozenset(field.name for field in dataclasses.fields(cls))
    if issubclass(cls, Parametric) or hasattr(cls, "get_params"):
        parameters = inspect.signature(cls).parameters.values()
        named = {one.name for one in parameters if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)}
        return frozenset(name for name in named if not isinstance(getattr(cls, name, None), property))
    return frozenset(getattr(cls, "_fields", ()))


def _supplied(r: Any, name: Any) -> Any:
    """Return a function or class that was passed to ``load``."""
    if not isinstance(name, str) or name not in r.user_code:
        raise SavedModelError(f"the model uses a function {brief(name)} that the file does not list")
    return r.user_code[name]


INSTANCE_READERS = {
    "object": lambda r, node, parts: _read(node, parts, _class_of(node["type"])),
    "own": lambda r, node, parts: _read(node, parts, _supplied(r, node["type"])),
    "function": lambda r, node, parts: _supplied(r, node["name"]),
}
