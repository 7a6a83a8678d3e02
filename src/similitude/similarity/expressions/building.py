"""The similarity that a tree says: every name is looked up in a table of ours, nothing else is called."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from similitude import kernels
from similitude.similarity import Similarity
from similitude.similarity.expressions.pointing import pointed
from similitude.similarity.expressions.reading import OPERATIONS, is_number
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
"""Similarities that can be called by name; the names of their classes do as well."""

CLASSES = NAMES | {cls.__name__: cls for cls in NAMES.values()}

METHODS: dict[str, Callable[..., Similarity]] = {
    "exp": Similarity.exp,
    "maximum": Similarity.maximum,
    "minimum": Similarity.minimum,
    "normalized": Similarity.normalized,
    "symmetrized": Similarity.symmetrized,
}
"""Methods of every similarity."""

MAKERS: dict[type[Similarity], dict[str, Callable[..., Similarity]]] = {
    kernels.Gaussian: {"from_gamma": kernels.Gaussian.from_gamma, "from_c": kernels.Gaussian.from_c},
}
"""Other ways to make a similarity of some classes."""

FromModule = Callable[[str, str], Similarity]


class Builder:
    """Builds what one text says."""

    def __init__(self, text: str, function: FromModule | None) -> None:
        self.text = text
        self.function = function

    def refused(self, problem: str, at: int) -> ExpressionError:
        """Return the error that points at a character of the text."""
        return pointed(problem, self.text, at)

    def similarity(self, node: Node) -> Similarity:
        """Return the similarity that a whole text says."""
        value = self.value(node)
        if not isinstance(value, Similarity):
            raise self.refused(f"expected a similarity, got {_kind(value)}", node.at)
        return value

    def value(self, node: Node) -> Any:
        """Return what a part of the text stands for."""
        match node:
            case Literal():
                return node.value
            case Several() | Pairs():
                return self.collection(node)
            case Named():
                return self.named(node)
            case Method():
                return self.method(node)
            case Function():
                return self.from_module(node)
            case Negative():
                return self.negative(node)
            case Operation():
                return self.operation(node)
        raise TypeError(f"no such part of a text: {node!r}")

    def negative(self, node: Negative) -> Similarity:
        """Return minus a similarity."""
        of = self.value(node.of)
        if not isinstance(of, Similarity):
            raise self.refused(f"'-' stands before a similarity or a number, not {_kind(of)}", node.at)
        return -of

    def operation(self, node: Operation) -> Any:
        """Return the value of a row of operations, however long."""
        row = [node]
        while isinstance(row[-1].left, Operation):
            row.append(row[-1].left)
        value = self.value(row[-1].left)
        for one in reversed(row):
            value = self.combined(one.sign, value, self.value(one.right), one.at)
        return value

    def combined(self, sign: str, left: Any, right: Any, at: int) -> Similarity:
        """Return the similarity that a sign makes of two values."""
        for value in (left, right):
            if not isinstance(value, Similarity) and not is_number(value):
                raise self.refused(f"{sign!r} combines similarities and numbers, not {_kind(value)}", at)
        if sign in ("/", "**") and isinstance(right, Similarity):
            raise self.refused(f"a number, not a similarity, stands on the right of {sign!r}", at)
        return self.attempted(lambda: OPERATIONS[sign](left, right), at)

    def attempted(self, made: Callable[[], Similarity], at: int) -> Similarity:
        """Return what is made; whatever goes wrong is said at `at`."""
        try:
            return made()
        except Exception as error:  # whatever a text can bring about is an error of the text
            raise self.refused(_said(error), at) from error

    def collection(self, node: Several | Pairs) -> Any:
        """Return a tuple, a list, a set or a dict."""
        try:
            if isinstance(node, Several):
                items = node.kind([self.value(item) for item in node.items])
                is_complete = len(items) == len(node.items)
            else:
                items = {self.value(key): self.value(value) for key, value in node.pairs}
                is_complete = len(items) == len(node.pairs)
        except TypeError as error:
            raise self.refused("keys of a dict and items of a set are texts, numbers or tuples", node.at) from error
        if not is_complete:
            raise self.refused("something stands here twice", node.at)
        return items

    def from_module(self, node: Function) -> Similarity:
        """Return the function of a user's module, if there is someone to fetch it."""
        name = f"{node.module}:{node.name}"
        if self.function is None:
            how = "pass the function itself in Python, or --trust on the command line"
            raise self.refused(f"{brief(name)} is code of your own, which a text does not run: {how}", node.at)
        fetch = self.function
        return self.attempted(lambda: _checked(fetch(node.module, node.name)), node.at)

    def named(self, node: Named) -> Similarity:
        """Return a similarity by its name."""
        if node.name == "abs":
            (of,) = self.complete(inspect.signature(abs).parameters.values(), "abs", node).values()
            if not isinstance(of, Similarity):
                raise self.refused(f"abs takes a similarity or a number, not {_kind(of)}", node.at)
            return abs(of)
        cls = self.known_class(node)
        parameters = inspect.signature(cls).parameters
        if cls is kernels.Columns:
            arguments = self.with_columns(node, parameters)
        else:
            arguments = self.complete(parameters.values(), node.name, node)
        return self.attempted(lambda: _checked(cls(**arguments)), node.at)

    def known_class(self, node: Named) -> type[Similarity]:
        """Return the class of a similarity by either of its names."""
        if node.name not in CLASSES:
            hint = _nearest(node.name, CLASSES) or f"known: {', '.join(NAMES)}"
            raise self.refused(f"there is no similarity called {brief(node.name)}; {hint}", node.at)
        return CLASSES[node.name]

    def with_columns(self, node: Named, parameters: Mapping[str, inspect.Parameter]) -> dict[str, Any]:
        """Return the arguments of Columns, whose columns may stand among them by name."""
        own = [one for one in node.arguments or [] if one.name in (None, *parameters)]
        others = [one for one in node.arguments or [] if one.name not in (None, *parameters)]
        arguments = self.given(parameters.values(), node.name, own)
        for one in own:
            if one.name is not None and isinstance(arguments[one.name], Similarity):
                raise self.refused(
                    f"{one.name!r} is a parameter of {node.name}: write a column of this name in a dict, "
                    f"{node.name}({{{one.name!r}: …}})",
                    one.at,
                )
        columns = arguments.get("columns", {})
        for one in others:
            if not isinstance(columns, dict):
                raise self.refused(f"columns are given by name or in a dict, not as {_kind(columns)}", node.at)
            if one.name in columns:
                raise self.refused(f"the column {one.name!r} stands here twice", one.at)
            columns = {**columns, one.name: self.value(one.given)}
        if columns == {}:
            raise self.refused(f"{node.name} needs a similarity for each column: {node.name}(age=gaussian)", node.at)
        return {**arguments, "columns": columns}

    def method(self, node: Method) -> Similarity:
        """Return what a method makes of a similarity, or a class method of its arguments."""
        makers: dict[str, Callable[..., Similarity]] = {}
        if isinstance(node.of, Named) and node.of.arguments is None and node.of.name in CLASSES:
            makers = MAKERS.get(CLASSES[node.of.name], {})
        of = None if node.name in makers else self.value(node.of)
        known = {**METHODS, **makers}
        if node.name not in known:
            hint = _nearest(node.name, known) or f"known: {', '.join(known)}"
            raise self.refused(f"there is no method {brief(node.name)}; {hint}", node.at)
        if node.arguments is None:
            raise self.refused(f"a method is called with brackets: .{node.name}(…)", node.at)
        call, parameters = known[node.name], list(inspect.signature(known[node.name]).parameters.values())
        if node.name in makers:
            arguments = self.complete(parameters, node.name, node)
            return self.attempted(lambda: _checked(call(**arguments)), node.at)
        if not isinstance(of, Similarity):
            raise self.refused(f".{node.name}() is a method of similarities, not of {_kind(of)}", node.at)
        arguments = self.complete(parameters[1:], node.name, node)
        return self.attempted(lambda: call(of, **arguments), node.at)

    def complete(self, parameters: Iterable[inspect.Parameter], call: str, node: Named | Method) -> dict[str, Any]:
        """Return the arguments of a call by name, or say which ones are missing."""
        parameters = list(parameters)
        found = self.given(parameters, call, node.arguments or [])
        missing = [one.name for one in parameters if one.default is one.empty and one.name not in found]
        if missing:
            raise self.refused(f"{call} needs {', '.join(missing)}: {call}({missing[0]}=…)", node.at)
        return found

    def given(self, parameters: Iterable[inspect.Parameter], call: str, arguments: list[Argument]) -> dict[str, Any]:
        """Return the arguments of a call by name, or say which one is too many or unknown."""
        known = [one.name for one in parameters]
        has = f"it has: {', '.join(known) or 'none'}"
        found: dict[str, Any] = {}
        for place, one in enumerate(arguments):
            if one.name is None and place >= len(known):
                raise self.refused(f"too many arguments: {call} takes {len(known)} at most; {has}", one.at)
            name = one.name or known[place]
            if name not in known:
                near = f"; {_nearest(name, known)}" if _nearest(name, known) else ""
                raise self.refused(f"{call} has no parameter {brief(name)}; {has}{near}", one.at)
            if name in found:
                raise self.refused(f"{name!r} of {call} is given twice", one.at)
            found[name] = self.value(one.given)
        return found


def _checked(similarity: Any) -> Similarity:
    """Return a similarity whose parameters are in range, or raise."""
    if not isinstance(similarity, Similarity):
        raise TypeError(f"expected a similarity, got {_kind(similarity)}")
    similarity.check_params()
    return similarity


def _nearest(name: str, among: Iterable[str]) -> str:
    """Return the question whether a similar name is meant, if there is one."""
    near = difflib.get_close_matches(name, list(among), n=1)
    return f"did you mean {near[0]!r}?" if near else ""


def _kind(value: Any) -> str:
    if isinstance(value, Similarity):
        return "a similarity"
    if value is None or isinstance(value, bool):
        return str(value)
    if is_number(value):
        return "a number"
    return "a text" if isinstance(value, str) else f"a {type(value).__name__}"


def _said(error: Exception) -> str:
    """Return the first line of an error: an expression inside an expression has shown its own text."""
    if isinstance(error, ZeroDivisionError):
        return "division by zero"
    first = (str(error).splitlines() or [""])[0]
    return first if isinstance(error, (TypeError, ValueError)) and first else f"{type(error).__name__}: {first}"
