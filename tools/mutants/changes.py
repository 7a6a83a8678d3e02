"""Small changes of functions, in the source and in a running process."""

from __future__ import annotations

import ast
import functools
import gc
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

COMPARISONS: dict[type, type] = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
COMPARISONS |= {ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn}
COMPARISONS |= {ast.NotIn: ast.In}
OPERATORS: dict[type, type] = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
OPERATORS |= {ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.MatMult: ast.Mult}


@dataclass(frozen=True)
class Change:
    """One change of a file: the place of the changed node among all nodes of its tree, and how it is changed."""

    path: Path
    place: int
    kind: str

    def source(self) -> ast.Module:
        """Return the tree of the module as it is."""
        return ast.parse(self.path.read_text(encoding="utf-8"))

    def tree(self) -> ast.Module:
        """Return the changed tree of the module."""
        return self._applied()[0]

    def lines(self) -> range:
        """Return the lines of the changed node; of a condition, not of what follows it."""
        node = self._applied()[1]
        node = node.test if self.kind == "opposite" else node
        return range(node.lineno, (node.end_lineno or node.lineno) + 1)

    def __str__(self) -> str:
        _, node, before = self._applied()
        return f"{self.path}, line {node.lineno}: {_brief(before)} -> {_brief(self._text(node))}"

    def _text(self, node: Any) -> str:
        return ast.unparse(node.test if self.kind == "opposite" else node)

    def _applied(self) -> tuple[ast.Module, Any, str]:
        """Return the changed tree, the changed node in it, and the node's source before."""
        tree = self.source()
        node: Any = next(one for place, one in enumerate(ast.walk(tree)) if place == self.place)
        before = self._text(node)
        if self.kind == "comparison":
            node.ops[0] = COMPARISONS[type(node.ops[0])]()
        elif self.kind == "operator":
            node.op = OPERATORS[type(node.op)]()
        elif self.kind == "and/or":
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        elif self.kind == "number":
            node.value += 1
        elif self.kind == "opposite":
            node.test = ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test)
        else:
            node.value = ast.Constant(None)
        return ast.fix_missing_locations(tree), node, before


def changes(path: Path) -> Iterator[Change]:
    """Yield every change of the bodies of functions; texts of messages and annotations are left alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.JoinedStr, ast.Raise)):
            skipped |= {id(one) for one in ast.walk(node)}
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            skipped |= {id(one) for one in ast.walk(part)} if part is not None else set()
    bodies = [line for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) for line in node.body]
    inside = {id(one) for line in bodies for one in ast.walk(line)}
    for place, node in enumerate(ast.walk(tree)):
        kind = _kind(node) if id(node) in inside and id(node) not in skipped else None
        if kind is not None:
            yield Change(path, place, kind)


def _kind(node: ast.AST) -> str | None:
    """Return how a node can be changed, if at all."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        return "comparison"
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return "operator"
    if isinstance(node, ast.BoolOp):
        return "and/or"
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return "number"
    if isinstance(node, (ast.If, ast.IfExp, ast.While)):
        return "opposite"
    if isinstance(node, ast.Return) and node.value is not None and ast.unparse(node.value) != "None":
        return "nothing returned"
    return None


def _brief(text: str) -> str:
    """Return the first line of some source, cut off where it is long."""
    line = text.partition("\n")[0]
    return line if len(line) <= 70 else f"{line[:69]}…"


def apply(change: Change) -> None:
    """Change the function in this process, for all who have imported it, and forget what functions remember."""
    replaced = dict(_differing(compile(change.source(), "", "exec"), compile(change.tree(), "", "exec")))
    changed = 0
    gc.unfreeze()
    for one in gc.get_objects():
        kind = type(one)  # not isinstance, which asks objects that pretend to be of another class
        if kind is FunctionType and one.__code__ in replaced:
            one.__code__ = replaced[one.__code__]
            changed += 1
        elif kind is functools._lru_cache_wrapper and str(one.__module__).startswith("similitude"):
            one.cache_clear()
    if not changed:
        raise RuntimeError(f"no function of this process is changed by {change}")


def _differing(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Yield the functions that differ between two versions of a module, and those that hold them."""
    before, after = ([one for one in code.co_consts if isinstance(one, CodeType)] for code in (old, new))
    for one, other in zip(before, after, strict=False):  # a changed "return" may have lost a function inside
        if one != other:
            yield one, other
            yield from _differing(one, other)
