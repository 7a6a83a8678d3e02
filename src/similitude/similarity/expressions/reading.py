"""A text read into its tree: the grammar of Python, as far as similarities need it.

::

    expression  = term (("+" | "-") term)*            the left one first
    term        = signed (("*" | "/") signed)*
    signed      = "-" signed | power
    power       = value ("**" signed)?
    value       = atom ("." name ["(" arguments ")"])*
    atom        = number | string | True | False | None | inf | name ["(" arguments ")"] | module ":" name
                | "(" expression ")" | a tuple, list, set or dict of expressions

Nothing is looked up or called here. Numbers that meet only numbers are calculated at once.
"""

from __future__ import annotations

import keyword
import math
import operator
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

from similitude.similarity.expressions.pointing import pointed
from similitude.similarity.expressions.tokens import Token, tokens_of
from similitude.similarity.expressions.tree import (
    Argument,
    Function,
    Literal,
    Method,
    Named,
    Negative,
    Node,
    Operation,
    Pairs,
    Several,
)
from similitude.support.errors import ExpressionError, brief

DEEPEST = 50
"""Similarities, brackets and signs inside each other at most."""

BINDS = {"+": 1, "-": 1, "*": 2, "/": 2}
"""How strongly signs between two values bind."""

OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
}

CONSTANTS: Final = {"True": True, "False": False, "None": None, "inf": math.inf}

CLOSING = {"(": ")", "[": "]", "{": "}"}


def read(text: str) -> Node:
    """Return the tree of a text, or raise ExpressionError.

    >>> read("2*3")
    Literal(at=0, depth=0, value=6)
    """
    reader = Reader(text)
    whole = reader.expression()
    reader.demand("end", "an operator or the end")
    return whole


def is_number(value: Any) -> bool:
    """Tell whether a value is a number to calculate with."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class Reader:
    """Reads one text from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens_of(text)
        self.place = 0
        self.inside = 0

    @property
    def token(self) -> Token:
        """The next piece of text."""
        return self.tokens[self.place]

    def taken(self) -> Token:
        """Return the next piece of text and go on."""
        self.place += 1
        return self.tokens[self.place - 1]

    def demand(self, kind: str, expected: str, opened: Token | None = None) -> Token:
        """Return the next piece of text, which must be of this kind; `opened` is the bracket that it would close."""
        if self.token.kind == kind:
            return self.taken() if kind != "end" else self.token
        if opened is not None and self.token.kind == "end":
            raise self.refused(f"this bracket is never closed: {CLOSING[opened.kind]!r} is missing", opened.at)
        raise self.refused(f"expected {expected}, found {_shown(self.token)}", self.token.at)

    def refused(self, problem: str, at: int) -> ExpressionError:
        """Return the error that points at a character of the text."""
        return pointed(problem, self.text, at)

    def deeper(self, at: int, *nodes: Node) -> int:
        """Return the depth of what holds these, or refuse it."""
        return self.bounded(at, 1 + max((node.depth for node in nodes), default=0))

    def bounded(self, at: int, depth: int) -> int:
        """Return a depth, or refuse it."""
        if depth > DEEPEST:
            raise self.refused(f"more than {DEEPEST} similarities, brackets or signs inside each other", at)
        return depth

    def nested(self, part: Callable[[], Any], at: int) -> Any:
        """Read a part inside of what begins at `at`."""
        self.inside = self.bounded(at, self.inside + 1)
        found = part()
        self.inside -= 1
        return found

    # The grammar.

    def expression(self, above: int = 0) -> Node:
        """Read values and the signs between them that bind more strongly than `above`."""
        left = self.signed()
        while BINDS.get(self.token.kind, 0) > above:
            sign = self.taken()
            left = self.operation(sign, left, self.expression(BINDS[sign.kind]))
        return left

    def signed(self) -> Node:
        """Read a value with minus signs before it and a power behind it."""
        if self.token.kind == "-":
            sign = self.taken()
            return self.negative(sign, self.nested(self.signed, sign.at))
        base = self.value()
        if self.token.kind != "**":
            return base
        sign = self.taken()
        return self.operation(sign, base, self.nested(self.signed, sign.at))

    def negative(self, sign: Token, of: Node) -> Node:
        """Return minus something."""
        if isinstance(of, Literal) and is_number(of.value):
            return Literal(sign.at, 0, -of.value)
        return Negative(sign.at, self.deeper(sign.at, of), of)

    def operation(self, sign: Token, left: Node, right: Node) -> Node:
        """Return an operation, or the number that it comes to."""
        numbers = [one.value for one in (left, right) if isinstance(one, Literal) and is_number(one.value)]
        if len(numbers) == 2:
            return Literal(left.at, 0, self.calculated(sign, *numbers))
        # K1 + K2 + K3 is one sum, however long; K + 1 + 1 is a sum inside a sum
        depth = self.bounded(sign.at, max(left.depth + isinstance(right, Literal), right.depth + 1))
        return Operation(sign.at, depth, sign.kind, left, right)

    def calculated(self, sign: Token, left: float, right: float) -> float:
        """Return a number made of two; as floats first, for the power of two whole numbers can take forever."""
        operation = OPERATIONS[sign.kind]
        try:
            value = operation(float(left), float(right))
        except ZeroDivisionError as error:
            raise self.refused("division by zero", sign.at) from error
        except OverflowError as error:
            raise self.refused("the number is too large", sign.at) from error
        if isinstance(value, complex) or not math.isfinite(value):
            raise self.refused("this is no finite real number", sign.at)
        return value if isinstance(left, float) or isinstance(right, float) else operation(left, right)

    def value(self) -> Node:
        """Read an atom and the methods that are called on it."""
        found = self.atom()
        while self.token.kind == ".":
            self.taken()
            name = self.demand("name", "the name of a method")
            arguments = self.arguments() if self.token.kind == "(" else None
            depth = self.deeper(name.at, found, *(arguments or []))
            found = Method(name.at, depth, found, name.value, arguments)
        return found

    def atom(self) -> Node:
        """Read a number, a text, a name, or what stands in brackets."""
        token = self.token
        if token.kind in ("number", "string"):
            return Literal(self.taken().at, 0, token.value)
        if token.kind == "name":
            return self.name()
        if token.kind == "(":
            return self.nested(self.in_brackets, token.at)
        if token.kind == "[":
            items, _ = self.nested(self.items, token.at)
            return Several(token.at, self.deeper(token.at, *items), list, items)
        if token.kind == "{":
            return self.nested(self.in_braces, token.at)
        raise self.refused(f"expected a similarity or a value, found {_shown(token)}", token.at)

    def name(self) -> Node:
        """Read a constant, a similarity, or a function of a module."""
        end = self.place
        while [token.kind for token in self.tokens[end + 1 : end + 3]] == [".", "name"]:
            end += 2
        is_function = [token.kind for token in self.tokens[end + 1 : end + 3]] == [":", "name"]
        first = self.token
        if first.value in CONSTANTS:
            return Literal(self.taken().at, 0, CONSTANTS[first.value])
        if keyword.iskeyword(first.value):
            raise self.refused(f"{first.value!r} is a word of Python, not a similarity", first.at)
        if is_function:
            module = ".".join(token.value for token in self.tokens[self.place : end + 1 : 2])
            self.place = end + 3
            return Function(first.at, 1, module, self.tokens[end + 2].value)
        self.taken()
        arguments = self.arguments() if self.token.kind == "(" else None
        return self.named(first, arguments)

    def named(self, name: Token, arguments: list[Argument] | None) -> Node:
        """Return a similarity, or the absolute value of a number."""
        if name.value == "abs" and arguments is not None and len(arguments) == 1:
            given = arguments[0].given
            if isinstance(given, Literal) and is_number(given.value) and arguments[0].name is None:
                return Literal(name.at, 0, abs(given.value))
        return Named(name.at, self.deeper(name.at, *(arguments or [])), name.value, arguments)

    def arguments(self) -> list[Argument]:
        """Read the arguments of a call, with their brackets."""
        found: list[Argument]
        found, _ = self.nested(lambda: self.items(self.argument), self.token.at)
        for before, one in pairwise(found):
            if before.name is not None and one.name is None:
                raise self.refused("an argument without a name cannot follow one with a name", one.at)
        return found

    def argument(self) -> Argument:
        """Read one argument, perhaps with its name."""
        start = self.token
        name = None
        if start.kind == "name" and self.tokens[self.place + 1].kind == "=":
            name = start.value
            self.place += 2
        given = self.expression()
        return Argument(start.at, given.depth, name, given)

    def items(self, item: Callable[[], Any] | None = None) -> tuple[list[Any], bool]:
        """Read what stands between two brackets; tell also whether a comma stands among it."""
        opened = self.taken()
        closing = CLOSING[opened.kind]
        found, has_comma = [], False
        while self.token.kind != closing:
            if self.token.kind == "end":
                self.demand(closing, closing, opened)
            found.append((item or self.expression)())
            if self.token.kind == ",":
                has_comma = True
                self.taken()
            elif self.token.kind != closing:
                self.demand(closing, f"',' or {closing!r}", opened)
        self.taken()
        return found, has_comma

    def in_brackets(self) -> Node:
        """Read an expression in brackets, or a tuple."""
        at = self.token.at
        items, has_comma = self.items()
        if len(items) != 1 or has_comma:
            return Several(at, self.deeper(at, *items), tuple, items)
        only: Node = items[0]
        return only if isinstance(only, Literal) else replace(only, depth=self.deeper(at, only))

    def in_braces(self) -> Node:
        """Read a dict or a set."""
        at = self.token.at
        items, _ = self.items(self.pair)
        pairs = [item for item in items if isinstance(item, tuple)]
        if pairs and len(pairs) < len(items):
            raise self.refused("a dict has a ':' after every key, a set has none", at)
        parts = [part for item in items for part in (item if isinstance(item, tuple) else (item,))]
        depth = self.deeper(at, *parts)
        return Several(at, depth, set, items) if items and not pairs else Pairs(at, depth, pairs)

    def pair(self) -> Node | tuple[Node, Node]:
        """Read a key and its value, or the element of a set."""
        start = self.token
        is_word = start.kind == "name" and start.value not in CONSTANTS
        if is_word and self.tokens[self.place + 1].kind == ":":
            raise self.refused(f"a key is a text or a number: write {start.value!r} in quotes", start.at)
        key = self.expression()
        if self.token.kind != ":":
            return key
        self.taken()
        return key, self.expression()


def _shown(token: Token) -> str:
    if token.kind == "end":
        return "the end"
    return f"the {token.kind} {brief(token.value)}" if token.kind in ("name", "number", "string") else repr(token.kind)
