"""What belongs to the user: functions and classes, stored by name and fingerprint and handed over again."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from similitude.support.errors import SavedModelError, brief
from similitude.support.fingerprints import digest

OMITTED = {"__doc__", "__module__", "__qualname__", "__firstlineno__", "__static_attributes__", "_abc_impl"}


@dataclass(frozen=True)
class Needed:
    """A function or class that must be handed to ``load``.

    Attributes
    ----------
    name : str
    kind : str
        ``function`` or ``class``.
    fingerprint : str
        Of its compiled code, as of the Python that saved the model.
    place : str
        Where the model uses it first.
    """

    name: str
    kind: str
    fingerprint: str
    place: str

    def __str__(self) -> str:
        return f"{self.name!r}, the {self.kind} at {self.place}"


def fingerprint(value: Any) -> str:
    """Return a text that changes when a function's code, or that of a class's methods, changes."""
    return digest(_class_parts(value) if isinstance(value, type) else value, 16).hex()


def _class_parts(cls: type) -> list[Any]:
    """Return name, methods and plain constants of a class and of its bases that are the user's own."""
    own = [one for one in cls.__mro__ if one.__module__.split(".")[0] not in ("builtins", "abc", "similitude")]
    return [[one.__name__, sorted(_members(one).items())] for one in own]


def _members(cls: type) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, member in vars(cls).items():
        if name in OMITTED:
            continue
        functions = [getattr(member, part, None) for part in ("fget", "fset", "__func__", "func")]
        code = [_code(one) for one in (member, *functions) if hasattr(one, "__code__")]
        if code:
            found[name] = code
        elif isinstance(member, (str, int, float, frozenset, tuple)) and not name.startswith("__"):
            found[name] = member
    return found


def _code(function: Any) -> list[Any]:
    """Return what a method does, without the class it encloses for ``super()``."""
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    others = [cell for cell in cells if not isinstance(cell, type)]
    return [function.__code__, function.__defaults__, function.__kwdefaults__, others]


def _probe(x: Any, z: float = 2.0) -> Any:
    """Do a few things, so that the fingerprint shows how fingerprints are made."""
    return sorted((y * z for y in x if y not in {1, "a"}), key=lambda y: (y, z))


def way() -> str:
    """Return a text that is the same where the same code has the same fingerprint: it depends on Python, and on us."""
    return fingerprint(_probe)


class FunctionsOut:
    """Gives a name of its own to every function and class that a model needs."""

    def __init__(self) -> None:
        self.needed: list[Needed] = []
        self.given: dict[str, Any] = {}

    def write(self, value: Any, path: str) -> dict[str, Any]:
        """Return the node that stands for a function or class."""
        return {"is": "function", "name": self.name(value, path)}

    def name(self, value: Any, path: str) -> str:
        """Return the name under which it must be handed over: its own, numbered where several have it."""
        kind = "class" if isinstance(value, type) else "function"
        try:
            print_ = fingerprint(value)
        except Exception as error:  # what a function encloses can be anything
            raise SavedModelError(f"{path}: {brief(value)} encloses what has no fingerprint: {error}") from error
        plain = str(getattr(value, "__name__", None) or type(value).__name__)
        alike = [one for one in self.needed if one.name.split(" ")[0] == plain]
        same = next((one for one in alike if (one.kind, one.fingerprint) == (kind, print_)), None)
        if same is not None:
            return same.name
        name = plain if not alike else f"{plain} {len(alike) + 1}"
        self.needed.append(Needed(name, kind, print_, path))
        self.given[name] = value
        return name


class FunctionsIn:
    """The functions and classes that were handed to ``load``, checked against those that are needed."""

    def __init__(self, listed: Any, given: Mapping[str, Any] | None, their_way: Any) -> None:
        needed = read_needed(listed)
        given = {} if given is None else given
        if not isinstance(given, Mapping):
            raise SavedModelError(f"functions must be a dict of names and functions, got {brief(given)}")
        missing = [one for one in needed if one.name not in given]
        if missing:
            example = ", ".join(f"{one.name!r}: ..." for one in missing)
            raise SavedModelError(
                f"the model needs {'; '.join(map(str, missing))}: load(path, functions={{{example}}})"
            )
        comparable = their_way == way()
        for one in needed:
            _check(one, given[one.name], comparable)
        if needed and not comparable:
            names = ", ".join(one.name for one in needed)
            warnings.warn(
                f"the model was saved by another version of Python or similitude: whether {names} is the same as then "
                f"cannot be told",
                stacklevel=3,
            )
        self._given = {one.name: given[one.name] for one in needed}

    def take(self, name: Any) -> Any:
        """Return what was handed over under a name."""
        if not isinstance(name, str) or name not in self._given:
            raise SavedModelError(f"the model uses a function {brief(name)} that the file does not list")
        return self._given[name]


def read_needed(listed: Any) -> tuple[Needed, ...]:
    """Return the list of a manifest."""
    try:
        read = tuple(Needed(**one) for one in listed)
    except TypeError as error:
        raise SavedModelError("the list of functions in the file cannot be read") from error
    if any(not isinstance(part, str) for one in read for part in (one.name, one.kind, one.fingerprint, one.place)):
        raise SavedModelError("the list of functions in the file cannot be read")
    return read


def _check(needed: Needed, given: Any, comparable: bool) -> None:
    if (needed.kind == "class") != isinstance(given, type) or not callable(given):
        raise SavedModelError(f"functions[{needed.name!r}] must be a {needed.kind}, got {brief(given)}")
    if comparable and fingerprint(given) != needed.fingerprint:
        raise SavedModelError(
            f"{needed.name!r} is not the {needed.kind} that the model was saved with (at {needed.place}): its code, "
            f"its defaults or what it encloses differ"
        )
