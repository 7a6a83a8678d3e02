"""The tokens of an expression, and a mask that shows Python's parser the structure of the expression and no more."""

from __future__ import annotations

import keyword
import math
import re
import sys
import unicodedata
from typing import Any, NamedTuple

from similitude.support import ExpressionError, brief

DEEPEST = 50
"""Maximum nesting of similarities, brackets and signs."""

DIGITS = 308
"""Maximum number of digits of an integer: larger ones do not fit into a float."""

REACH = 36
"""Number of characters that an error shows on each side of its caret."""

CONSTANTS = {"True": True, "False": False, "None": None, "inf": math.inf}
CLOSING = {"(": ")", "[": "]", "{": "}"}
ATOMS = ("name", "value", "function")
SPACES = " \t\r\n"
OPERATORS = ("+", "-", "*", "/", "**")

_NAME = r"(?:[A-Za-z_]|[^\x00-\x7f])(?:[A-Za-z0-9_]|[^\x00-\x7f])*"
_SPACE = f"[{SPACES}]*"
_TOKEN = re.compile(
    rf"""(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
       | (?P<string>b?(?P<quote>['"])(?P<inside>(?:\\.|(?!(?P=quote))[^\\])*)(?P<closing>(?P=quote)?))
       | (?P<name>{_NAME})
       | (?P<sign>\*\*|[-+*/()\[\]{{}},.:=])""",
    re.VERBOSE | re.DOTALL,
)
_FUNCTION = re.compile(rf"{_NAME}(?:{_SPACE}\.{_SPACE}{_NAME})*{_SPACE}:{_SPACE}{_NAME}")
_ESCAPE = re.compile(r"\\(?:([\\'\"nrt])|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|)")
_ESCAPES = r"\\ \' \" \n \r \t \x.. \u.... \U........"


def pointed(problem: str, text: str, at: int) -> ExpressionError:
    """Return an error that shows a text, or the neighborhood of the position in a long one, with a caret.

    >>> print(pointed("expected a number", "gaussian(sigma=)", 15))
    expected a number
      gaussian(sigma=)
                     ^
    """
    before, after = text[max(0, at - REACH) : at], text[at : at + REACH]
    left = ("…" if at > REACH else "") + _visible(before)
    right = _visible(after) + ("…" if at + REACH < len(text) else "")
    return ExpressionError(f"{problem}\n  {left}{right}\n  {' ' * sum(map(_width, left))}^")


def _visible(text: str) -> str:
    """Escape the characters that cannot be printed."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def _width(letter: str) -> int:
    """Return the number of terminal columns that a character takes."""
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def parts_of(function: str) -> list[str]:
    """Return the names in ``package.module:name``.

    >>> parts_of("my.own : likeness")
    ['my', 'own', 'likeness']
    """
    return [part.strip(SPACES) for part in re.split("[.:]", function)]


class Token(NamedTuple):
    """A piece of an expression: a ``name``, ``value``, ``function`` or ``end``, or a sign, which is its own kind."""

    kind: str
    start: int
    end: int
    value: Any = None


class Scanner:
    """Checks the tokens of an expression, their order and their nesting, and masks its names and values.

    Attributes
    ----------
    mask : str
        The expression with a run of underscores for each name, value and ``module:name``. It has the length of the
        text, is plain ASCII, contains no keyword of Python, and its brackets match.
    values : dict
        The numbers, strings and constants by their positions.
    names : list
        The positions of the names of similarities and arguments, in ascending order.
    depths : dict
        The number of brackets around each token by its position.

    Examples
    --------
    >>> Scanner("2*gaussian(sigma='é')").mask
    '_*________(_____=___)'
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.values: dict[int, Any] = {}
        self.names: list[int] = []
        self.depths: dict[int, int] = {}
        self._opened: list[Token] = []
        self._before = ""
        mask, at, signs = [" "] * len(text), 0, 0
        while self._before != "end":
            at = self._after_spaces(at)
            token = self._token(at)
            self._check_order(token)
            self.depths[at] = len(self._opened)
            if token.kind in CLOSING:
                self._opened.append(token)
            elif token.kind in CLOSING.values():
                self._opened.pop()
            elif token.kind == "**" or (token.kind == "-" and not self._value_ended()):
                signs += 1
            elif token.kind in ("+", "-", "*", "/", ",", ":", "="):
                signs = 0
            if len(self._opened) + signs > DEEPEST:
                raise self.too_deep(at)
            if token.kind == "value":
                self.values[at] = token.value
            elif token.kind in ATOMS and self._before != "." and text[at : token.end] != "abs":
                self.names.append(at)
            mask[at : token.end] = "_" * (token.end - at) if token.kind in ATOMS else text[at : token.end]
            self._before, at = token.kind, token.end
        self.mask = "".join(mask)

    def error(self, problem: str, at: int) -> ExpressionError:
        """Return an error that points at a position."""
        return pointed(problem, self.text, at)

    def too_deep(self, at: int) -> ExpressionError:
        """Return the error for a part that is nested too deeply."""
        return self.error(f"more than {DEEPEST} similarities, brackets or signs inside each other", at)

    def _after_spaces(self, at: int) -> int:
        return next((i for i in range(at, len(self.text)) if self.text[i] not in SPACES), len(self.text))

    def _value_ended(self) -> bool:
        return self._before in (*ATOMS, *CLOSING.values())

    def _check_order(self, token: Token) -> None:
        """Refuse a token that cannot follow the one before it."""
        before, kind = self._before, token.kind
        innermost = self._opened[-1].kind if self._opened else ""
        closing = CLOSING.get(innermost, "end")
        if before == ".":
            fits, expected = kind == "name", "the name of a method"
        elif self._value_ended():
            fits = kind in (*OPERATORS, ".", closing) or (kind == "," and innermost != "")
            fits = fits or (before == "name" and kind in ("(", "=")) or (kind, innermost) == (":", "{")
            expected = f"',' or {closing!r}" if innermost else "an operator or the end"
        else:
            is_closed = kind == closing and before in (innermost, ",") and before != ""
            fits, expected = kind in (*ATOMS, *CLOSING, "-") or is_closed, "a similarity or a value"
        if fits:
            return
        if kind == "end" and innermost and (self._value_ended() or before in (innermost, ",")):
            raise self.error(f"this bracket is never closed: {closing!r} is missing", self._opened[-1].start)
        written = self.text[token.start : token.end]
        shown = "the end" if kind == "end" else f"the {kind} {brief(written)}" if kind in ATOMS else repr(written)
        raise self.error(f"expected {expected}, found {shown}", token.start)

    def _token(self, at: int) -> Token:
        if at == len(self.text):
            return Token("end", at, at)
        found = _TOKEN.match(self.text, at)
        if found is None:
            raise self.error(f"unexpected character {self.text[at]!r}", at)
        if found["sign"]:
            return Token(found["sign"], at, found.end())
        if found["name"]:
            return self._named(found)
        return Token("value", at, found.end(), self._number(found) if found["number"] else self._string(found))

    def _named(self, found: re.Match[str]) -> Token:
        """Return a name, a constant, or a function of a module."""
        word, at, end = found[0], found.start(), found.end()
        if not word.isidentifier():
            bad = next(i for i in range(len(word)) if not word[: i + 1].isidentifier())
            raise self.error(f"unexpected character {word[bad]!r}", at + bad)
        if self._before == "." or self.text.startswith("=", self._after_spaces(end)):
            return Token("name", at, end)
        if word in CONSTANTS:
            return Token("value", at, end, CONSTANTS[word])
        if keyword.iskeyword(word):
            raise self.error(f"{word!r} is a keyword of Python, not a similarity", at)
        function = _FUNCTION.match(self.text, at)
        if function is None or not all(part.isidentifier() for part in parts_of(function[0])):
            return Token("name", at, end)
        if self._opened and self._opened[-1].kind == "{" and self._before in ("{", ","):
            raise self.error(f"a key is a text or a number: write {word!r} in quotes", at)
        return Token("function", at, function.end())

    def _number(self, found: re.Match[str]) -> float:
        written, end = found[0], found.end()
        if re.match(_NAME, self.text[end : end + 1]):
            raise self.error(f"unexpected {self.text[end]!r} at the end of a number", end)
        is_whole = written.isdigit()
        if (is_whole and len(written) > DIGITS) or not math.isfinite(float(written)):
            raise self.error("the number is too large", found.start())
        return int(written) if is_whole else float(written)

    def _string(self, found: re.Match[str]) -> str | bytes:
        start = found.start("inside")
        if not found["closing"]:
            raise self.error("this text is never closed", start - 1)
        control = re.search("[\0-\x1f]", found["inside"])
        if control:
            raise self.error(f"a text contains no raw {control[0]!r}: write it as shown", start + control.start())

        def unescaped(escape: re.Match[str]) -> str:
            code = escape[2] or escape[3] or escape[4]
            if escape[1] or (code and int(code, 16) <= sys.maxunicode):
                return chr(int(code, 16)) if code else {"n": "\n", "r": "\r", "t": "\t"}.get(escape[1], escape[1])
            problem = rf"a backslash begins one of {_ESCAPES}; for the backslash itself write two of them"
            raise self.error(problem, start + escape.start())

        text = _ESCAPE.sub(unescaped, found["inside"])
        if not found[0].startswith("b"):
            return text
        try:
            return text.encode("latin-1")
        except UnicodeEncodeError as error:
            raise self.error("bytes contain only characters below 256", found.start()) from error
