"""The user's own functions and classes, stored by name and fingerprint and passed to ``load`` again."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from similitude.support import Result, SavedModelError, brief, digest


@dataclass(frozen=True)
class Needed(Result):
    """A function or class that must be passed to ``load``.

    Attributes
    ----------
    name : str
    kind : str
        ``function`` or ``class``.
    fingerprint : str
        Of its compiled code, by the Python version that saved the model.
    place : str
        The first place in the model that uses it.
    """

    name: str
    kind: str
    fingerprint: str
    place: str

    def __str__(self) -> str:
        return f"{self.name!r}, the {self.kind} at {self.place}"


def fingerprint(value: Any) -> str:
    """Return a digest that changes when the code of a function, or of the methods of a class, changes."""
    if isinstance(value, type):  # with those of its bases that are the user's own
        own = [one for one in value.__mro__ if one.__module__.split(".")[0] not in ("builtins", "abc", "similitude")]
        value = [[one.__name__, sorted(_members(one).items())] for one in own]
    return digest(value, 16).hex()


def _members(cls: type) -> dict[str, Any]:
    """Return the code of the methods of a class, and its simple constants, by name."""
    found: dict[str, Any] = {}
    for name, member in vars(cls).items():
        functions = [getattr(member, part, None) for part in ("fget", "fset", "__func__", "func")]
        code = [_code(one) for one in (member, *functions) if hasattr(one, "__code__")]
        if code:
            found[name] = code
        elif isinstance(member, (str, int, float, frozenset, tuple)) and not name.startswith("__"):
            found[name] = member
    return found


def _code(function: Any) -> list[Any]:
    """Return the code, defaults and closure of a method, without the class in the closure that ``super()`` uses."""
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    others = [cell for cell in cells if not isinstance(cell, type)]
    return [function.__code__, function.__defaults__, function.__kwdefaults__, others]


def _probe(x: Any, z: float = 2.0) -> Any:
    """Use several features of the language, so that the fingerprint depends on how Python compiles them."""
    return sorted((y * z for y in x if y not in {1, "a"}), key=lambda y: (y, z))


def fingerprint_version() -> str:
    """Return a digest that is equal exactly where equal code has equal fingerprints: it depends on Python and on us."""
    return fingerprint(_probe)


class RequiredCode:
    """Gives a unique name to every function and class of the user that a model needs."""

    def __init__(self) -> None:
        self.needed: list[Needed] = []
        self.given: dict[str, Any] = {}

    def name(self, value: Any, path: Any) -> str:
        """Return the name under which to pass it to ``load``: its own, numbered where several share it."""
        kind = "class" if isinstance(value, type) else "function"
        try:
            print_ = fingerprint(value)
        except Exception as error:  # a closure can contain anything
            raise SavedModelError(f"{path}: the closure of {brief(value)} has no fingerprint: {error}") from error
        plain = str(getattr(value, "__name__", None) or type(value).__name__)
        name = plain
        alike = [one for one in self.needed if one.name.split(" ")[0] == plain]
        for one in alike:
            if (one.kind, one.fingerprint) == (kind, print_):
                return one.name
        if alike:
            name = f"{plain} {len(alike) + 1}"
        self.needed.append(Needed(name, kind, print_, str(path)))
        self.given[name] = value
        return name


def supplied_code(listed: Any, given: Mapping[str, Any] | None, their_version: Any) -> dict[str, Any]:
    """Return the functions and classes that a model needs from those passed to ``load``, after checking them."""
    needed = read_needed(listed)
    if given is None:
        given = {}
    if not isinstance(given, Mapping):
        raise SavedModelError(f"functions must be a dict of functions by name, got {brief(given)}")
    missing = [one for one in needed if one.name not in given]
    if missing:
        example = ", ".join(f"{one.name!r}: ..." for one in missing)
        raise SavedModelError(f"the model needs {'; '.join(map(str, missing))}: load(path, functions={{{example}}})")
    comparable = their_version == fingerprint_version()
    for one in needed:
        code = given[one.name]
        if (one.kind == "class") != isinstance(code, type) or not callable(code):
            raise SavedModelError(f"functions[{one.name!r}] must be a {one.kind}, got {brief(code)}")
        if comparable and fingerprint(code) != one.fingerprint:
            raise SavedModelError(
                f"{one.name!r} is not the {one.kind} that the model was saved with (at {one.place}): its code, its "
                f"defaults or its closure differ"
            )
    if needed and not comparable:
        names = ", ".join(one.name for one in needed)
        warnings.warn(
            f"the model was saved by another version of Python or similitude: cannot check whether {names} changed",
            stacklevel=3,
        )
    return {one.name: given[one.name] for one in needed}


def read_needed(listed: Any) -> tuple[Needed, ...]:
    """Return the functions and classes that a manifest lists."""
    try:
        read = tuple(Needed(**one) for one in listed)
        if all(isinstance(part, str) for one in listed for part in one.values()):
            return read
    except TypeError:
        pass
    raise SavedModelError("the list of functions in the file cannot be read")
