"""Similarities written as expressions such as ``spectrum(p=3) + 0.5*edit()``; nothing in them is executed.

Python parses a checked text, and errors show the text with a caret.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import keyword
import math
import operator
import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from similitude import kernels
from similitude.similarity import Similarity
from similitude.similarity.parameters import constructor_parameters
from similitude.support import ExpressionError, brief, parameter_hint

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
        start = places[node.col_offset]
        end = places[node.end_col_offset or 0]
        node.col_offset = start
        node.end_col_offset = end
        if isinstance(node, ast.Name):
            node.id = "".join(text[start:end].split())
        elif isinstance(node, ast.Attribute):
            node.attr = text[end - len(node.attr) : end]
        elif isinstance(node, ast.keyword):
            node.arg = text[start : start + len(node.arg or "")]
    _check_depth(nodes, text)
    return root


def pointed(text: str, problem: str, at: int) -> ExpressionError:
    """Return an error that shows a text, or the neighborhood of the position in a long one, with a caret."""
    reach = 36  # characters on each side
    left, right = (
        "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in part)
        for part in (text[max(0, at - reach) : at], text[at : at + reach])
    )
    left = "…" * (at > reach) + left
    right = right + "…" * (at + reach < len(text))
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in left)
    width = len(left) + wide - sum(unicodedata.combining(letter) > 0 for letter in left)
    return ExpressionError(f"{problem}\n  {left}{right}\n  {' ' * width}^")


def _masked(text: str) -> str:
    """Return the text on one line with underscores for names, which Python would normalize or take for keywords."""
    mask = ""
    before = ""
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise pointed(text, f"unexpected character {text[at]!r}", at)
        kind = token.lastgroup or ""
        if kind != "space":
            _check(token, before)
            before = token[0] if kind == "sign" else kind
        start, end = token.span(kind)
        shown = token[kind]
        if kind in _NAMES:
            shown = "_" * (end - start)
        mask += text[at:start] + shown
        at = end
    return re.sub(f"[{SPACES}]", " ", mask)


def _check(token: re.Match[str], before: str) -> None:
    """Refuse a token that is not part of the language, or cannot follow the kind of token before it."""
    kind = token.lastgroup
    word = token[0]
    at = token.start()
    problem = ""
    if kind == "keyword":
        problem = f"{word!r} is a keyword of Python, not a similarity"
    elif kind == "number" and not math.isfinite(float(word)):
        problem = "the number is too large"
    elif kind == "text" and not token["closed"]:
        problem = "this text is never closed"
        at = token.start("quote")
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
        if depths[node] > 50:
            raise pointed(text, "more than 50 similarities, values or signs inside each other", node.col_offset)
        for child in ast.iter_child_nodes(node):
            depths[child] = depths[node] + (not isinstance(node, ast.keyword))
        if isinstance(node, ast.Call):
            depths[node.func] = depths[node]
        elif isinstance(node, ast.BinOp):  # K1 + K2 + K3 is one sum, K + 1 + 1 is a sum inside a sum
            names = (part.id for part in ast.walk(node.right) if isinstance(part, ast.Name))
            depths[node.left] = depths[node] + all(name in ("abs", "inf") for name in names)


_KERNELS = [found for name in kernels.__all__ if isinstance(found := getattr(kernels, name), type)]

NAMES: dict[str, type[Similarity]] = dict(
    sorted((re.sub("(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower(), cls) for cls in _KERNELS)
)
"""The public kernels by the names that expressions use; the names of their classes work too."""

CLASSES = NAMES | {cls.__name__: cls for cls in NAMES.values()}

METHODS = ("exp", "learned", "maximum", "minimum", "normalized", "normalised", "symmetrized", "symmetrised")
MAKERS = ("from_gamma", "from_c")  # of Gaussian

ELSEWHERE = {
    "rbf": "gaussian(sigma), or Gaussian.from_gamma(gamma)",
    "poly": "polynomial",
    "laplacian": "laplace",
    "levenshtein": "edit",
    "wl": "weisfeiler_lehman",
    "gak": "global_alignment",
    "ngram": "spectrum",
    "tfidf": "words",
}
"""What similarities are called here that have other names elsewhere."""

OPERATIONS: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.Pow: ("**", operator.pow),
}
"""The signs between two values."""

FromModule = Callable[[str, str], Similarity]
Arguments = list[ast.expr | ast.keyword]


def parse(text: str, function: FromModule | None = None) -> Similarity:
    """Return the similarity that an expression describes; nothing in it is executed.

    It is written as in Python: names (``gaussian``, or ``Gaussian`` as similarities are printed) with or without
    arguments, numbers, strings, tuples, lists, sets and dicts, ``+ - * / **`` with brackets, ``abs(...)``, and the
    methods ``.normalized() .symmetrized() .exp() .minimum(k) .maximum(k) .learned()``. The columns of a table may be
    given as keywords: ``columns(age=gaussian, job=equal, how="product")``, or in a dict where their names are not
    identifiers.

    Parameters
    ----------
    text : str
        At most 10,000 characters.
    function : callable, optional
        ``function(module, name)`` returns the similarity that ``module:name`` stands for; None: that is refused.

    Raises
    ------
    ExpressionError
        If the text does not describe a similarity. The message shows the text, with a caret below the error.

    Examples
    --------
    >>> from similitude.similarity.expressions import parse
    >>> parse("spectrum(p=3).normalized() + 0.5*edit")
    Spectrum(p=3, counts=False, blended=False).normalized() + 0.5*Edit()
    >>> parse("columns(age=gaussian(sigma=5), job=or_missing(equal))")
    Columns({'age': Gaussian(sigma=5), 'job': OrMissing(k=Equal(), alike=0.0)}, how='mean')
    >>> parse("2*gaussan")
    Traceback (most recent call last):
        ...
    similitude.support.errors.ExpressionError: there is no similarity called 'gaussan'; did you mean 'gaussian'?
      2*gaussan
        ^
    """
    if not isinstance(text, str):
        raise TypeError(f"expected an expression as a string, got {type(text).__name__}")
    if not text.strip():
        raise ExpressionError("the expression is empty; expected a similarity such as gaussian(sigma=2)")
    if len(text) > 10_000:
        raise ExpressionError(f"the expression has {len(text):,} characters, more than the maximum of 10,000")
    text = text.strip(SPACES)
    try:
        value = Builder(text, function).value(parsed(text))
    except (RecursionError, MemoryError) as error:  # the stack of the caller is deep already, or that of the parser
        raise ExpressionError("the expression is nested too deeply to be parsed here") from error
    if not isinstance(value, Similarity):
        raise pointed(text, f"expected a similarity, got {brief(value)}", 0)
    return value


class Builder:
    """Builds the similarity that one expression describes; the kinds of nodes that `value` knows are the language."""

    def __init__(self, text: str, function: FromModule | None) -> None:
        self.text = text
        self.function = function
        self.error = partial(pointed, text)

    def attempted(self, at: int, make: Callable[..., Any], *args: Any) -> Any:
        """Return what a call returns; an exception becomes an error at a position."""
        try:
            return make(*args)
        except Exception as error:  # whatever an expression can bring about is an error of the expression
            raise self.error(_first_line(error), at) from error

    def value(self, node: ast.expr) -> Any:
        """Return what a part of the expression stands for."""
        match node:
            case ast.Constant(value=int() | float() | str() | bytes() | None):
                return node.value
            case ast.Name(id="inf"):
                return math.inf
            case ast.Name():
                return self.named(node, [])
            case ast.Call(func=ast.Name() as func):
                return self.named(func, [*node.args, *node.keywords])
            case ast.Call(func=ast.Attribute() as func):
                return self.method(func, [*node.args, *node.keywords])
            case ast.Attribute():
                return self.method(node, None)
            case ast.UnaryOp(op=ast.USub()):
                of = self.value(node.operand)
                return self.attempted(node.col_offset, _applied, operator.neg, "'-' stands before", of)
            case ast.BinOp():
                return self.operation(node)
            case ast.Dict() | ast.Tuple() | ast.List() | ast.Set():
                return self.collection(node)
        raise self.error("expected a similarity or a value", node.col_offset)

    def operation(self, node: ast.BinOp) -> Any:
        """Return the value of a chain of operations of any length."""
        chain = [node]
        while isinstance(chain[-1].left, ast.BinOp):
            chain.append(chain[-1].left)
        value = self.value(chain[-1].left)
        for one in reversed(chain):
            sign, combine = OPERATIONS[type(one.op)]
            at = self.text.index(sign, one.left.end_col_offset)
            right = self.value(one.right)
            value = self.attempted(at, _applied, combine, f"{sign!r} combines", value, right)
        return value

    def collection(self, node: ast.Dict | ast.Tuple | ast.List | ast.Set) -> Any:
        """Return a tuple, a list, a set or a dict."""
        parts = node.keys if isinstance(node, ast.Dict) else node.elts
        names = [part for part in parts if isinstance(part, ast.Name) and ":" in part.id]
        if names and isinstance(node, (ast.Dict, ast.Set)):
            key, _ = names[0].id.split(":")
            raise self.error(f"a key is a text or a number: write {key!r} in quotes", names[0].col_offset)
        items = [self.value(part) for part in parts if part]
        if isinstance(node, ast.List):
            return items
        if isinstance(node, ast.Tuple):
            return tuple(items)
        made: Callable[[Any], Any] = set
        pairs: list[Any] = items
        if isinstance(node, ast.Dict):
            made = dict
            pairs = list(zip(items, map(self.value, node.values), strict=True))
        found = self.attempted(node.col_offset, made, pairs)
        if len(found) < len(items):
            raise self.error("something stands here twice", node.col_offset)
        return found

    def named(self, node: ast.Name, arguments: Arguments) -> Any:
        """Return a similarity by its name, an absolute value, or a user's function if the caller allows to fetch it."""
        name = node.id
        at = node.col_offset
        function = self.function
        if ":" in name and function is None:
            how = "pass the function itself in Python, or --trust on the command line"
            raise self.error(f"{brief(name)} is code of your own, which an expression does not run: {how}", at)
        if ":" in name:
            return self.attempted(at, lambda: _validated(function(*name.split(":"))))  # type: ignore[misc]
        if name == "abs":
            return self.attempted(at, _applied, abs, "abs takes", *self.given(abs, name, arguments, at).values())
        if name not in CLASSES:
            hint = _nearest(name, CLASSES) or f"known: {', '.join(NAMES)}"
            if name.lower() in ELSEWHERE:
                hint = f"it is called {ELSEWHERE[name.lower()]} here"
            raise self.error(f"there is no similarity called {brief(name)}; {hint}", at)
        return self.called(CLASSES[name], name, arguments, at)

    def method(self, node: ast.Attribute, arguments: Arguments | None) -> Similarity:
        """Return what a method makes of a similarity, or an alternative constructor of its arguments."""
        name = node.attr
        at = (node.end_col_offset or 0) - len(node.attr)
        known: tuple[str, ...] = METHODS
        if isinstance(node.value, ast.Name) and CLASSES.get(node.value.id) is kernels.Gaussian:
            known = METHODS + MAKERS
        of = kernels.Gaussian if name in MAKERS and known != METHODS else self.value(node.value)
        if name not in known:
            hint = _nearest(name, known) or f"known: {', '.join(known)}"
            raise self.error(f"there is no method {brief(name)}; {hint}", at)
        if arguments is None:
            raise self.error(f"a method is called with brackets: .{name}(…)", at)
        if of is not kernels.Gaussian and not isinstance(of, Similarity):
            raise self.error(f".{name}() is a method of similarities, not of {brief(of)}", at)
        return self.called(getattr(of, name.replace("ised", "ized")), name, arguments, at)

    def called(self, call: Callable[..., Any], name: str, arguments: Arguments, at: int) -> Similarity:
        """Return the similarity that a known class or method makes of its arguments."""
        read = self.columns if call is kernels.Columns else self.given
        given = read(call, name, arguments, at)
        return self.attempted(at, lambda: _validated(call(**given)))

    def columns(self, call: Callable[..., Any], name: str, arguments: Arguments, at: int) -> dict[str, Any]:
        """Return the arguments of Columns, whose columns may be given as keywords."""
        known = constructor_parameters(call)
        columns = [one for one in arguments if isinstance(one, ast.keyword) and one.arg not in known]
        own = [one for one in arguments if one not in columns]
        given = self.given(call, name, own, at)
        for one in own:
            if isinstance(one, ast.keyword) and isinstance(given[one.arg or ""], Similarity):
                how = f"write a column of this name in a dict, {name}({{{one.arg!r}: …}})"
                raise self.error(f"{one.arg!r} is a parameter of {name}: {how}", one.col_offset)
        found = given.setdefault("columns", {})
        if columns and not isinstance(found, dict):
            raise self.error(f"columns are given by name or in a dict, not as {brief(found)}", at)
        for one in columns:
            if one.arg in found:
                raise self.error(f"the column {one.arg!r} stands here twice", one.col_offset)
            found[one.arg] = self.value(one.value)
        if found == {}:
            raise self.error(f"{name} needs a similarity for each column: {name}(age=gaussian)", at)
        return given

    def given(self, call: Callable[..., Any], name: str, arguments: Arguments, at: int) -> dict[str, Any]:
        """Return the arguments of a call by name, or say which one is missing, unknown, repeated or one too many."""
        known = constructor_parameters(call) if isinstance(call, type) else inspect.signature(call).parameters
        has = f"it has: {', '.join(known) or 'none'}"
        found: dict[str, Any] = {}
        for place, one in enumerate(arguments):
            if isinstance(one, ast.keyword):
                key = one.arg or ""
                node = one.value
            elif place >= len(known):
                raise self.error(f"too many arguments: {name} takes {len(known)} at most; {has}", one.col_offset)
            else:
                key = list(known)[place]
                node = one
            if key not in known:
                hint = "; ".join(filter(None, (has, parameter_hint(call, key, known))))
                raise self.error(f"{name} has no parameter {brief(key)}; {hint}", one.col_offset)
            if key in found:
                raise self.error(f"{key!r} of {name} is given twice", one.col_offset)
            found[key] = self.value(node)
        missing = [one.name for one in known.values() if one.default is one.empty and one.name not in found]
        if missing and call is not kernels.Columns:
            raise self.error(f"{name} needs {', '.join(missing)}: {name}({missing[0]}=…)", at)
        return found


def _applied(operate: Callable[..., Any], words: str, *operands: Any) -> Any:
    """Apply an operation to similarities and numbers; to numbers as floats first, because a power can take forever."""
    for one in operands:
        if isinstance(one, bool) or not isinstance(one, (Similarity, int, float)):
            raise TypeError(f"{words} similarities and numbers, not {brief(one)}")
    if operate in (operator.truediv, operator.pow) and isinstance(operands[1], Similarity):
        raise TypeError(f"{words} similarities with a number on the right only")
    if any(isinstance(one, Similarity) for one in operands):
        return operate(*operands)
    value = operate(*map(float, operands))
    if isinstance(value, complex) or (len(operands) > 1 and not math.isfinite(value)):
        raise ValueError("this is not a finite real number")
    return value if any(isinstance(one, float) for one in operands) else operate(*operands)


def _validated(similarity: Any) -> Similarity:
    if not isinstance(similarity, Similarity):
        raise TypeError(f"expected a similarity, got {brief(similarity)}")
    similarity.check_params()
    return similarity


def _nearest(name: str, among: Iterable[str]) -> str:
    """Return a suggestion if one of the known names is similar."""
    near = difflib.get_close_matches(name, list(among), n=1)
    return f"did you mean {near[0]!r}?" if near else ""


def _first_line(error: Exception) -> str:
    """Return the first line of an error: the error of a nested expression shows that expression below it."""
    if isinstance(error, ZeroDivisionError):
        return "division by zero"
    if isinstance(error, OverflowError):
        return "the number is too large"
    first = (str(error).splitlines() or [""])[0]
    if isinstance(error, (TypeError, ValueError)) and first:
        return first
    return f"{type(error).__name__}: {first}"
