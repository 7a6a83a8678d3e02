"""A text cut into names, numbers, strings and signs."""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

from similitude.similarity.expressions.pointing import pointed

SIGNS = ("**", *"+-*/()[]{},.:=")

NUMBER = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")

ESCAPES = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "r": "\r", "t": "\t"}
"""What stands for which character after a backslash."""

CODES = {"x": 2, "u": 4, "U": 8}
"""How many digits of a code point follow which letter after a backslash."""

DIGITS = 308
"""Digits of a whole number at most: larger ones are no float."""


class Token(NamedTuple):
    """A piece of text: ``name``, ``number``, ``string`` or ``end``, or else a sign, which is its own kind."""

    kind: str
    value: Any
    at: int


def tokens_of(text: str) -> list[Token]:
    """Return the pieces of a text; the last one is its end.

    >>> [token.kind for token in tokens_of("gaussian(sigma=2)")]
    ['name', '(', 'name', '=', 'number', ')', 'end']
    """
    found, at = [], 0
    while at < len(text):
        if text[at] in " \t\r\n":
            at += 1
            continue
        token, at = _next(text, at)
        found.append(token)
    return [*found, Token("end", None, len(text))]


def _next(text: str, at: int) -> tuple[Token, int]:
    """Return the piece that begins here, and where it ends."""
    letter = text[at]
    number = NUMBER.match(text, at)
    if number:
        return _number(text, at, number.end())
    if letter in "'\"":
        return _string(text, at, at)
    if letter == "b" and text[at + 1 : at + 2] in ("'", '"'):
        return _bytes(text, at)
    if letter.isidentifier():
        end = at
        while end < len(text) and _is_in_name(text[end]):
            end += 1
        return Token("name", text[at:end], at), end
    for sign in SIGNS:
        if text.startswith(sign, at):
            return Token(sign, sign, at), at + len(sign)
    raise pointed(f"unexpected character {letter!r}", text, at)


def _is_in_name(letter: str) -> bool:
    return f"a{letter}".isidentifier()


def _number(text: str, at: int, end: int) -> tuple[Token, int]:
    written = text[at:end]
    if end < len(text) and _is_in_name(text[end]):
        raise pointed(f"unexpected {text[end]!r} at the end of a number", text, end)
    is_whole = written.isdigit()
    if (is_whole and len(written) > DIGITS) or not math.isfinite(float(written)):
        raise pointed("the number is too large", text, at)
    return Token("number", int(written) if is_whole else float(written), at), end


def _bytes(text: str, at: int) -> tuple[Token, int]:
    token, end = _string(text, at, at + 1)
    try:
        return token._replace(value=token.value.encode("latin-1")), end
    except UnicodeEncodeError as error:
        raise pointed("bytes hold characters below 256 only", text, at) from error


def _string(text: str, start: int, at: int) -> tuple[Token, int]:
    """Return the string whose quote stands at `at`."""
    letters, quote, opened = [], text[at], at
    at += 1
    while at < len(text) and text[at] != quote:
        if text[at] == "\\":
            letter, at = _escaped(text, at)
        elif text[at] < " ":
            raise pointed(f"a text holds no raw {text[at]!r}: write it with a backslash, as shown", text, at)
        else:
            letter, at = text[at], at + 1
        letters.append(letter)
    if at >= len(text):
        raise pointed("this text is never closed", text, opened)
    return Token("string", "".join(letters), start), at + 1


def _escaped(text: str, at: int) -> tuple[str, int]:
    """Return the character that a backslash begins, and where the next one stands."""
    letter = text[at + 1 : at + 2]
    if letter in ESCAPES and letter:
        return ESCAPES[letter], at + 2
    end = at + 2 + CODES.get(letter, 0)
    digits = text[at + 2 : end]
    if re.fullmatch("[0-9a-fA-F]+", digits) and len(digits) == CODES[letter] and int(digits, 16) <= 0x10FFFF:
        return chr(int(digits, 16)), end
    known = r"\\ \' \" \n \r \t \x.. \u.... \U........"
    raise pointed(f"a backslash begins one of {known}; for the backslash itself write two of them", text, at)
