"""The syntax of expressions: Python parses a checked text, and errors show the text with a caret."""

from __future__ import annotations

import ast
import keyword
import math
import re
import unicodedata

from similitude.support import ExpressionError, brief

DEEPEST = 50
"""Maximum nesting of similarities, values and signs."""

REACH = 36
"""Number of characters that an error shows on each side of its caret."""

SPACES = " \t\r\n"
ESCAPES = r"\\ \' \" \n \r \t \x.. and, but for bytes, \u.... \U........"

_LETTER = r"[^\x00-/:-@\[-^`{-\x7f]"  # of ASCII, letters, digits and _; other alphabets as a range compile slowly
_NAME = rf"(?![0-9]){_LETTER}+"
_SPACE = f"[{SPACES}]*"
_TOKEN = re.compile(
    rf"""(?P<space>[{SPACES}]+)
       | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
       | (?P<text>(?P<bytes>b)?(?P<quote>['"])
           (?:(?!(?P=quote)|\\)(?(bytes)[ -\x7f]|[^\0-\x1f\ud800-\udfff])
             |\\(?:[\\'"nrt]|x[0-9a-fA-F]{{2}})
             |(?(bytes)(?!)|\\(?:u[0-9a-fA-F]{{4}}|U(?:000[0-9a-fA-F]|0010)[0-9a-fA-F]{{4}})))*(?P<closed>(?P=quote))?)
       | (?P<argument>{_NAME})(?={_SPACE}=)
       | \.{_SPACE}(?P<method>{_NAME})
       | (?P<constant>(?:True|False|None|inf)(?!{_LETTER}))
       | (?P<keyword>(?:{"|".join(keyword.kwlist)})(?!{_LETTER}))
       | (?P<function>{_NAME}(?:{_SPACE}\.{_SPACE}{_NAME})*{_SPACE}:{_SPACE}{_NAME})
       | (?P<name>{_NAME})
       | (?P<sign>\*\*|[-+*/()\[\]{{}},:=])""",
    re.VERBOSE,
)
_NAMES = ("argument", "method", "function", "name")
_STARTS = ("number", "text", "argument", "constant", "function", "name")
_ENDS = (*_STARTS, "method", ")", "]", "}")


def parsed(text: str) -> ast.expr:
    """Return Python's tree of an expression; its names and positions are those of the characters in the text."""
    source = _masked(text)
    try:
        root = ast.parse(source, mode="eval").body
    except SyntaxError as error:
        at = error.offset - 1 if error.offset else len(text)
        raise pointed(text, _reason(error.msg, text, at), at) from None
    places = [place for place, letter in enumerate(source) for _ in letter.encode()] + [len(text)]
    nodes = [node for node in ast.walk(root) if isinstance(node, (ast.expr, ast.keyword))]
    for node in nodes:
        start, end = places[node.col_offset], places[node.end_col_offset or 0]
        node.col_offset, node.end_col_offset = start, end
        if isinstance(node, ast.Name):
            node.id = "".join(text[start:end].split())
        elif isinstance(node, ast.Attribute):
            node.attr = text[end - len(node.attr) : end]
        elif isinstance(node, ast.keyword):
            node.arg = text[start : start + len(node.arg or "")]
    _check_depth(nodes, text)
    return root


def pointed(text: str, problem: str, at: int) -> ExpressionError:
    """Return an error that shows a text, or the neighborhood of the position in a long one, with a caret.

    >>> print(pointed("gaussian(sigma=)", "expected a number", 15))
    expected a number
      gaussian(sigma=)
                     ^
    """
    left, right = (
        "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in part)
        for part in (text[max(0, at - REACH) : at], text[at : at + REACH])
    )
    left, right = "…" * (at > REACH) + left, right + "…" * (at + REACH < len(text))
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in left)
    width = len(left) + wide - sum(unicodedata.combining(letter) > 0 for letter in left)
    return ExpressionError(f"{problem}\n  {left}{right}\n  {' ' * width}^")


def _masked(text: str) -> str:
    """Return the text on one line, with underscores for names and for ``module:name``.

    Thus Python neither normalizes a name nor takes it for a keyword. The rest is checked as far as Python would warn of
    it or allow more: escapes, texts side by side, other prefixes of texts and numbers, subscripts, unpacking.

    >>> print(_masked("2*größe(class=mine : f, a='é')"))
    2*_____(_____=________, _='é')
    """
    mask, before, at = "", "", 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise pointed(text, f"unexpected character {text[at]!r}", at)
        kind = token.lastgroup or ""
        if kind != "space":
            _check(token, before)
            before = token[0] if kind == "sign" else kind
        start, end = token.span(kind)
        mask += text[at:start] + ("_" * (end - start) if kind in _NAMES else token[kind])
        at = end
    return re.sub(f"[{SPACES}]", " ", mask)


def _check(token: re.Match[str], before: str) -> None:
    """Refuse a token that is not part of the language, or cannot follow the kind of token before it."""
    kind, word, at, problem = token.lastgroup, token[0], token.start(), ""
    if kind == "keyword":
        problem = f"{word!r} is a keyword of Python, not a similarity"
    elif kind == "number" and not math.isfinite(float(word)):
        problem = "the number is too large"
    elif kind == "text" and not token["closed"]:
        problem, at = "this text is never closed", token.start("quote")
        if token.end() < len(token.string):
            at = token.end()
            problem = f"a text does not contain {token.string[at]!r} as such; a backslash begins one of {ESCAPES}"
    elif kind in _NAMES and not all(map(str.isidentifier, re.findall(_NAME, word))):
        problem = f"{brief(word)} is not a name"
    elif before in _ENDS:
        if word in ("[", "{") or kind in _STARTS or (word == "(" and before not in ("name", "method")):
            problem = f"expected an operator or a comma, found {brief(word)}"
    elif kind == "method" or word in ("+", "*", "**", "/", "="):
        problem = f"expected a similarity or a value, found {brief(word)}"
    if problem:
        raise pointed(token.string, problem, at)


def _reason(message: str, text: str, at: int) -> str:
    """Return the reason why Python does not parse a masked text, given its message."""
    if "=" in message or text.startswith("=", at):
        return "name=value stands only in the arguments of a call"
    if "dictionary key" in message or text.startswith(":", at):
        return "key: value stands only in a dict, for each of its items; keys are texts in quotes, or numbers"
    if message != "invalid syntax":
        return message.split(";")[0]
    return f"expected a similarity or a value, found {brief(text[at]) if at < len(text) else 'the end'}"


def _check_depth(nodes: list[ast.expr | ast.keyword], text: str) -> None:
    """Refuse an expression that is nested too deeply; a sum or product may have any number of terms."""
    depths: dict[ast.AST, int] = {nodes[0]: 1}
    for node in nodes:
        if depths[node] > DEEPEST:
            raise pointed(text, f"more than {DEEPEST} similarities, values or signs inside each other", node.col_offset)
        for child in ast.iter_child_nodes(node):
            depths[child] = depths[node] + (not isinstance(node, ast.keyword))
        if isinstance(node, ast.Call):
            depths[node.func] = depths[node]
        elif isinstance(node, ast.BinOp):  # K1 + K2 + K3 is one sum, K + 1 + 1 is a sum inside a sum
            names = (part.id for part in ast.walk(node.right) if isinstance(part, ast.Name))
            depths[node.left] = depths[node] + all(name in ("abs", "inf") for name in names)
