"""What a text says, as a tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Node:
    """A part of what is said: where its text is, and how many similarities it holds inside each other at most."""

    at: int
    depth: int


@dataclass(frozen=True)
class Literal(Node):
    """A number, a text, True, False or None."""

    value: Any


@dataclass(frozen=True)
class Several(Node):
    """A tuple, a list or a set."""

    kind: Callable[[list[Any]], Any]
    items: list[Node]


@dataclass(frozen=True)
class Pairs(Node):
    """A dict."""

    pairs: list[tuple[Node, Node]]


@dataclass(frozen=True)
class Argument(Node):
    """What a call is given, perhaps by name; it stands where the name does."""

    name: str | None
    given: Node


@dataclass(frozen=True)
class Named(Node):
    """A similarity, with or without arguments."""

    name: str
    arguments: list[Argument] | None


@dataclass(frozen=True)
class Method(Node):
    """A method of a similarity or of a class; it stands where its name does."""

    of: Node
    name: str
    arguments: list[Argument] | None


@dataclass(frozen=True)
class Function(Node):
    """A function of a user's module."""

    module: str
    name: str


@dataclass(frozen=True)
class Negative(Node):
    """Minus a similarity."""

    of: Node


@dataclass(frozen=True)
class Operation(Node):
    """Two values and the sign between them; it stands where the sign does."""

    sign: str
    left: Node
    right: Node
