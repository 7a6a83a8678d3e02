"""Parameters of a similarity: get, set, validate, compare, print, fingerprint and pickle, as in scikit-learn."""

from __future__ import annotations

import copy
import functools
import inspect
import pickle
from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from similitude.compute import is_sparse, is_table
from similitude.support import digest, naming_parameters, unknown_parameter, written

PLAIN_TYPES = (str, int, float, bool, type(None))


class Parametric:
    """An object that consists of its constructor parameters, in the sense of scikit-learn."""

    __hash__ = None  # type: ignore[assignment]
    _quiet: ClassVar[tuple[str, ...]] = ()  # parameters that `repr` leaves out while they have their defaults
    _writers: ClassVar[dict[str, Callable[[Any], str]]] = {}  # of parameters that `repr` shows in short

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls) and cls.__module__.startswith("similitude."):
            naming_parameters(cls)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with `deep`, also those of the parts (``k1__sigma``)."""
        found: dict[str, Any] = {}
        for name, value in self._params().items():
            found[name] = value
            if deep and isinstance(value, Parametric):
                found.update({f"{name}__{inner}": v for inner, v in value.get_params().items()})
        return found

    def set_params(self, **params: Any) -> Any:
        """Set parameters by name, those of a part as ``part__name``, and return self."""
        for path in sorted(params, key=lambda path: "__" in path):  # parts first, then their parameters
            name, _, inner = path.partition("__")
            known = self._params()
            value = params[path]
            if name not in known:
                raise ValueError(f"{unknown_parameter(type(self), name, known)}{self._deeper(path)}")
            if not inner:
                self._set_param(name, value)
            elif isinstance(known[name], Parametric):  # in a copy: the part may be shared
                self._set_param(name, copy.copy(known[name]).set_params(**{inner: value}))
            else:
                raise ValueError(f"{name} of {self!r} has no parameters of its own, so {path!r} cannot be set")
        return self

    def _deeper(self, path: str) -> str:
        """Return a hint if a parameter of this name belongs to a part."""
        found = [one for one in self.get_params() if one.endswith(f"__{path}")]
        return f"; did you mean {' or '.join(map(repr, found))}, of a part?" if found else ""

    def _params(self) -> dict[str, Any]:
        cls: Any = type(self)
        found = {}
        for name in constructor_parameters(cls):
            found[name] = getattr(self, name)
        return found

    def _set_param(self, name: str, value: Any) -> None:
        setattr(self, name, value)

    def __sklearn_clone__(self) -> Any:
        copies = {k: v.__sklearn_clone__() if isinstance(v, Parametric) else v for k, v in self._params().items()}
        return type(self)(**copies)

    def __copy__(self) -> Any:
        return type(self)(**self._params())

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return type(self)(**copy.deepcopy(self._params(), memo))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Parametric):
            return NotImplemented
        return type(self) is type(other) and _same(self._params(), other._params())

    def __repr__(self) -> str:
        params = ", ".join(map("=".join, self.written_params().items()))
        return f"{type(self).__name__}({params})"

    def written_params(self) -> dict[str, str]:
        """Return the parameters by name as `repr` shows them."""
        cls: Any = type(self)
        texts = {}
        for name, value in self._params().items():
            if name in self._quiet:
                default = constructor_parameters(cls)[name].default
                if type(value) is type(default) and value == default:
                    continue
            texts[name] = self._writers.get(name, _written)(value)
        return texts

    def fingerprint(self) -> str:
        """Return a short text that is equal for equal similarities, also in another process.

        A user's function is represented by its compiled code, its defaults and its closure, so the text can differ
        between two minor versions of Python.
        """
        return digest(self).hex()

    def __getstate__(self) -> dict[str, Any]:
        return {name: _Pickled(value) if _needs_cloudpickle(value) else value for name, value in vars(self).items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({k: pickle.loads(v.data) if isinstance(v, _Pickled) else v for k, v in state.items()})


class _Pickled:
    """A function that pickle cannot serialize (a lambda, a closure), serialized by cloudpickle."""

    def __init__(self, function: Any) -> None:
        import cloudpickle

        self.data = cloudpickle.dumps(function)


def _needs_cloudpickle(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_needs_cloudpickle, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_needs_cloudpickle, value))
    return callable(value) and not isinstance(value, (type, Parametric))


@functools.lru_cache(maxsize=256)
def constructor_parameters(cls: Any) -> dict[str, inspect.Parameter]:
    """Return the parameters of the constructor of a class by name."""
    parameters = inspect.signature(cls).parameters.items()
    return {name: p for name, p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(a, (Real, np.bool_)) and isinstance(b, (Real, np.bool_)):
        return bool(a == b)
    if type(a) is not type(b):
        return False
    if is_sparse(a):
        return a.shape == b.shape and (a != b).nnz == 0
    if is_table(a):
        return bool(a.equals(b))
    if hasattr(a, "shape") and hasattr(a, "dtype"):
        comparable = tuple(a.shape) == tuple(b.shape) and a.dtype == b.dtype
        return comparable and bool((a[:1] == b[:1]).all()) and bool((a == b).all())
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    return not _needs_cloudpickle(a) and bool(a == b)


def _written(value: Any) -> str:
    if type(value) in PLAIN_TYPES:
        return repr(value)
    if hasattr(value, "shape") and np.ndim(value):
        return f"<{' x '.join(map(str, value.shape))} {value.dtype}>"
    if isinstance(value, np.ndarray):  # of one number
        return repr(value.item())
    if isinstance(value, frozenset):
        return repr(tuple(sorted(value)))
    if _needs_cloudpickle(value):
        return getattr(value, "__qualname__", repr(value))
    return written(value)


def stated(name: str, without: Any, given: Callable[[Any, Any], Any]) -> Any:
    """Return the property that is `without`, or its value, while a parameter is None, else ``given(k, that value)``."""

    def found(k: Any) -> Any:
        value = without.__get__(k) if isinstance(without, property) else without
        return value if getattr(k, name) is None else given(k, value)

    return property(found, doc=f"What holds for this kernel, depending on `{name}`.")
