"""The similarity that an expression describes: names are looked up in a fixed table, nothing else is ever called."""

from __future__ import annotations

import ast
import difflib
import inspect
import math
import operator
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from similitude import kernels
from similitude.similarity import Similarity
from similitude.similarity.expressions.scanning import DEEPEST, Scanner, parts_of
from similitude.support import brief

NAMES: dict[str, type[Similarity]] = {
    "columns": kernels.Columns,
    "cosine": kernels.Cosine,
    "dtw": kernels.DTW,
    "edit": kernels.Edit,
    "equal": kernels.Equal,
    "gapped": kernels.Gapped,
    "gaussian": kernels.Gaussian,
    "global_alignment": kernels.GlobalAlignment,
    "gower": kernels.Gower,
    "graphlet": kernels.Graphlet,
    "histogram_intersection": kernels.HistogramIntersection,
    "intersection": kernels.Intersection,
    "jaccard": kernels.Jaccard,
    "laplace": kernels.Laplace,
    "linear": kernels.Linear,
    "matern": kernels.Matern,
    "mismatch": kernels.Mismatch,
    "or_missing": kernels.OrMissing,
    "ordinal": kernels.Ordinal,
    "polynomial": kernels.Polynomial,
    "rational_quadratic": kernels.RationalQuadratic,
    "shares_any": kernels.SharesAny,
    "shortest_path": kernels.ShortestPath,
    "sigmoid": kernels.Sigmoid,
    "spectrum": kernels.Spectrum,
    "weisfeiler_lehman": kernels.WeisfeilerLehman,
}
"""The similarities by the names that expressions use; the names of their classes work too."""

CLASSES = NAMES | {cls.__name__: cls for cls in NAMES.values()}

METHODS: dict[str, Callable[..., Similarity]] = {
    "exp": Similarity.exp,
    "maximum": Similarity.maximum,
    "minimum": Similarity.minimum,
    "normalised": Similarity.normalized,
    "normalized": Similarity.normalized,
    "symmetrised": Similarity.symmetrized,
    "symmetrized": Similarity.symmetrized,
}
"""The methods of every similarity."""

MAKERS: dict[type[Similarity], dict[str, Callable[..., Similarity]]] = {
    kernels.Gaussian: {"from_gamma": kernels.Gaussian.from_gamma, "from_c": kernels.Gaussian.from_c},
}
"""The alternative constructors of some classes."""

OPERATIONS: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.Pow: ("**", operator.pow),
}
"""The signs between two values."""

COLLECTIONS: dict[type[ast.expr], Callable[[list[Any]], Any]] = {ast.Tuple: tuple, ast.List: list, ast.Set: set}

FromModule = Callable[[str, str], Similarity]


class Argument(NamedTuple):
    """An argument of a call: its name, if it has one, its node, and its position."""

    name: str | None
    node: ast.expr
    at: int


class Builder:
    """Builds the similarity that one expression describes.

    Python's parser sees only the mask of the scanner. The kinds of nodes that are understood here are the whole
    language; names and values are read from the text itself.
    """

    def __init__(self, text: str, function: FromModule | None) -> None:
        self.text = text
        self.function = function
        self.scanner = Scanner(text)
        self.error = self.scanner.error

    def similarity(self) -> Similarity:
        """Return the similarity that the whole text describes."""
        try:
            root = ast.parse(self.scanner.mask, mode="eval").body
        except SyntaxError as error:
            problem = "name=value stands only in the arguments of a call, key: value only in a dict, after every key"
            if "positional argument follows" in error.msg:
                problem = "an argument without a name cannot follow one with a name"
            raise self.error(problem, (error.offset or 1) - 1) from None
        self.check_depth(root)
        value = self.value(root)
        if not isinstance(value, Similarity):
            raise self.error(f"expected a similarity, got {_kind(value)}", root.col_offset)
        return value

    def check_depth(self, root: ast.expr) -> None:
        """Refuse an expression that is nested too deeply; a sum or product may have any number of terms."""
        waiting: list[tuple[ast.AST, int]] = [(root, 1)]
        while waiting:
            node, depth = waiting.pop()
            if not isinstance(node, (ast.expr, ast.keyword)) or self.is_value(node):
                continue
            if depth + self.scanner.depths[node.col_offset] > DEEPEST:
                raise self.scanner.too_deep(node.col_offset)
            if isinstance(node, ast.BinOp):  # K1 + K2 + K3 is one sum, K + 1 + 1 is a sum inside a sum
                waiting += [(node.left, depth + self.is_value(node.right)), (node.right, depth + 1)]
            else:
                is_sign = isinstance(node, (ast.UnaryOp, ast.Attribute))
                waiting += [(part, depth + is_sign) for part in ast.iter_child_nodes(node)]

    def is_value(self, node: ast.expr | ast.keyword) -> bool:
        """Tell whether a part of the expression names no similarity."""
        names = self.scanner.names
        return bisect_left(names, node.col_offset) == bisect_left(names, node.end_col_offset or 0)

    def name(self, node: ast.Name | ast.Attribute | ast.keyword) -> str:
        """Return the name of a similarity, a method or an argument as it is written."""
        if isinstance(node, ast.keyword):
            return self.text[node.col_offset : node.col_offset + len(node.arg or "")]
        return self.text[self.start(node) : node.end_col_offset]

    def start(self, node: ast.Name | ast.Attribute) -> int:
        """Return the position of the name of a similarity or a method."""
        return node.col_offset if isinstance(node, ast.Name) else (node.end_col_offset or 0) - len(node.attr)

    def value(self, node: ast.expr) -> Any:
        """Return what a part of the expression stands for."""
        match node:
            case ast.Name() if node.col_offset in self.scanner.values:
                return self.scanner.values[node.col_offset]
            case ast.Name():
                return self.from_module(node) if ":" in self.name(node) else self.named(node, None)
            case ast.Call(func=ast.Name() as func):
                return self.named(func, self.arguments(node))
            case ast.Call(func=ast.Attribute() as func):
                return self.method(func, self.arguments(node))
            case ast.Attribute():
                return self.method(node, None)
            case ast.UnaryOp(op=ast.USub()):
                return self.negative(node)
            case ast.BinOp():
                return self.operation(node)
            case ast.Dict() | ast.Tuple() | ast.List() | ast.Set():
                return self.collection(node)
        raise self.error("expected a similarity or a value", node.col_offset)

    def arguments(self, call: ast.Call) -> list[Argument]:
        """Return the arguments of a call."""
        named = [Argument(self.name(one), one.value, one.col_offset) for one in call.keywords]
        return [Argument(None, node, node.col_offset) for node in call.args] + named

    def negative(self, node: ast.UnaryOp) -> Any:
        """Return minus a similarity or a number."""
        of = self.value(node.operand)
        if not isinstance(of, Similarity) and not _is_number(of):
            raise self.error(f"'-' stands before a similarity or a number, not {_kind(of)}", node.col_offset)
        return -of

    def operation(self, node: ast.BinOp) -> Any:
        """Return the value of a chain of operations of any length."""
        chain = [node]
        while isinstance(chain[-1].left, ast.BinOp):
            chain.append(chain[-1].left)
        value = self.value(chain[-1].left)
        for one in reversed(chain):
            sign, combine = OPERATIONS[type(one.op)]
            at = self.scanner.mask.index(sign, one.left.end_col_offset)
            value = self.combined(sign, combine, value, self.value(one.right), at)
        return value

    def combined(self, sign: str, combine: Callable[[Any, Any], Any], left: Any, right: Any, at: int) -> Any:
        """Return the similarity or number that a sign makes of two values."""
        for value in (left, right):
            if not isinstance(value, Similarity) and not _is_number(value):
                raise self.error(f"{sign!r} combines similarities and numbers, not {_kind(value)}", at)
        if sign in ("/", "**") and isinstance(right, Similarity):
            raise self.error(f"a number, not a similarity, stands on the right of {sign!r}", at)
        return self.attempted(lambda: _combined(combine, left, right), at)

    def attempted(self, make: Callable[[], Any], at: int) -> Any:
        """Return what a call returns; an exception becomes an error at a position."""
        try:
            return make()
        except Exception as error:  # whatever an expression can bring about is an error of the expression
            raise self.error(_first_line(error), at) from error

    def collection(self, node: ast.Dict | ast.Tuple | ast.List | ast.Set) -> Any:
        """Return a tuple, a list, a set or a dict."""
        try:
            if isinstance(node, ast.Dict):
                parts: list[Any] = [node.keys, node.values]
                items: Any = {self.value(key): self.value(value) for key, value in zip(*parts, strict=True)}
            else:
                parts = [node.elts]
                items = COLLECTIONS[type(node)]([self.value(item) for item in node.elts])
        except TypeError as error:
            problem = "keys of a dict and items of a set are texts, numbers or tuples"
            raise self.error(problem, node.col_offset) from error
        if len(items) < len(parts[0]):
            raise self.error("something stands here twice", node.col_offset)
        return items

    def from_module(self, node: ast.Name) -> Similarity:
        """Return the function of a user's module, if the caller allows to fetch it."""
        *module, name = parts_of(self.name(node))
        if self.function is None:
            how = "pass the function itself in Python, or --trust on the command line"
            shown = brief(f"{'.'.join(module)}:{name}")
            raise self.error(f"{shown} is code of your own, which an expression does not run: {how}", node.col_offset)
        fetch = self.function
        return self.attempted(lambda: _checked(fetch(".".join(module), name)), node.col_offset)

    def named(self, node: ast.Name, arguments: list[Argument] | None) -> Any:
        """Return a similarity by its name, or an absolute value."""
        name, at = self.name(node), node.col_offset
        if name == "abs":
            (of,) = self.complete(inspect.signature(abs).parameters.values(), name, arguments, at).values()
            if not isinstance(of, Similarity) and not _is_number(of):
                raise self.error(f"abs takes a similarity or a number, not {_kind(of)}", at)
            return abs(of)
        if name not in CLASSES:
            hint = _nearest(name, CLASSES) or f"known: {', '.join(NAMES)}"
            raise self.error(f"there is no similarity called {brief(name)}; {hint}", at)
        cls = CLASSES[name]
        parameters = inspect.signature(cls).parameters
        if cls is kernels.Columns:
            given = self.with_columns(name, arguments or [], parameters, at)
        else:
            given = self.complete(parameters.values(), name, arguments, at)
        return self.attempted(lambda: _checked(cls(**given)), at)

    def with_columns(
        self, call: str, arguments: list[Argument], parameters: Mapping[str, inspect.Parameter], at: int
    ) -> dict[str, Any]:
        """Return the arguments of Columns, whose columns may be given as keywords."""
        own = [one for one in arguments if one.name in (None, *parameters)]
        given = self.given(parameters.values(), call, own)
        for one in own:
            if one.name is not None and isinstance(given[one.name], Similarity):
                raise self.error(
                    f"{one.name!r} is a parameter of {call}: write a column of this name in a dict, "
                    f"{call}({{{one.name!r}: …}})",
                    one.at,
                )
        columns = given.get("columns", {})
        for one in arguments:
            if one in own:
                continue
            if not isinstance(columns, dict):
                raise self.error(f"columns are given by name or in a dict, not as {_kind(columns)}", at)
            if one.name in columns:
                raise self.error(f"the column {one.name!r} stands here twice", one.at)
            columns = {**columns, one.name: self.value(one.node)}
        if columns == {}:
            raise self.error(f"{call} needs a similarity for each column: {call}(age=gaussian)", at)
        return {**given, "columns": columns}

    def method(self, node: ast.Attribute, arguments: list[Argument] | None) -> Similarity:
        """Return what a method makes of a similarity, or an alternative constructor of its arguments."""
        name, at, cls = self.name(node), self.start(node), None
        if isinstance(node.value, ast.Name):
            cls = CLASSES.get(self.name(node.value))
        makers = MAKERS.get(cls, {}) if cls is not None else {}
        of = None if name in makers else self.value(node.value)
        known = {**METHODS, **makers}
        if name not in known:
            hint = _nearest(name, known) or f"known: {', '.join(known)}"
            raise self.error(f"there is no method {brief(name)}; {hint}", at)
        if arguments is None:
            raise self.error(f"a method is called with brackets: .{name}(…)", at)
        call, parameters = known[name], list(inspect.signature(known[name]).parameters.values())
        if name in makers:
            given = self.complete(parameters, name, arguments, at)
            return self.attempted(lambda: _checked(call(**given)), at)
        if not isinstance(of, Similarity):
            raise self.error(f".{name}() is a method of similarities, not of {_kind(of)}", at)
        given = self.complete(parameters[1:], name, arguments, at)
        return self.attempted(lambda: call(of, **given), at)

    def complete(
        self, parameters: Iterable[inspect.Parameter], call: str, arguments: list[Argument] | None, at: int
    ) -> dict[str, Any]:
        """Return the arguments of a call by name, or say which ones are missing."""
        parameters = list(parameters)
        found = self.given(parameters, call, arguments or [])
        missing = [one.name for one in parameters if one.default is one.empty and one.name not in found]
        if missing:
            raise self.error(f"{call} needs {', '.join(missing)}: {call}({missing[0]}=…)", at)
        return found

    def given(self, parameters: Iterable[inspect.Parameter], call: str, arguments: list[Argument]) -> dict[str, Any]:
        """Return the arguments of a call by name, or say which one is unknown or one too many."""
        known = [one.name for one in parameters]
        has = f"it has: {', '.join(known) or 'none'}"
        found: dict[str, Any] = {}
        for place, one in enumerate(arguments):
            if one.name is None and place >= len(known):
                raise self.error(f"too many arguments: {call} takes {len(known)} at most; {has}", one.at)
            name = one.name or known[place]
            if name not in known:
                near = f"; {_nearest(name, known)}" if _nearest(name, known) else ""
                raise self.error(f"{call} has no parameter {brief(name)}; {has}{near}", one.at)
            if name in found:
                raise self.error(f"{name!r} of {call} is given twice", one.at)
            found[name] = self.value(one.node)
        return found


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _combined(combine: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """Combine two values; numbers as floats first, because the power of two integers can take forever."""
    if isinstance(left, Similarity) or isinstance(right, Similarity):
        return combine(left, right)
    try:
        value = combine(float(left), float(right))
    except OverflowError:
        raise ValueError("the number is too large") from None
    if isinstance(value, complex) or not math.isfinite(value):
        raise ValueError("this is not a finite real number")
    return value if isinstance(left, float) or isinstance(right, float) else combine(left, right)


def _checked(similarity: Any) -> Similarity:
    """Validate the parameters of a similarity."""
    if not isinstance(similarity, Similarity):
        raise TypeError(f"expected a similarity, got {_kind(similarity)}")
    similarity.check_params()
    return similarity


def _nearest(name: str, among: Iterable[str]) -> str:
    """Return a suggestion if one of the known names is similar."""
    near = difflib.get_close_matches(name, list(among), n=1)
    return f"did you mean {near[0]!r}?" if near else ""


def _kind(value: Any) -> str:
    if isinstance(value, Similarity):
        return "a similarity"
    if value is None or isinstance(value, bool):
        return str(value)
    if _is_number(value):
        return "a number"
    return "a text" if isinstance(value, str) else f"a {type(value).__name__}"


def _first_line(error: Exception) -> str:
    """Return the first line of an error: the error of a nested expression shows that expression below it."""
    if isinstance(error, ZeroDivisionError):
        return "division by zero"
    first = (str(error).splitlines() or [""])[0]
    return first if isinstance(error, (TypeError, ValueError)) and first else f"{type(error).__name__}: {first}"
