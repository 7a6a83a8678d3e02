"""Mutation testing by samples: small changes of the source, each of which some test should notice.

    python tools/mutants.py [--number 60] [--seed 0] [--rooms theory validity ...] [--limit 240]

A change is drawn at random from the functions of the rooms: a comparison, an operator or a number becomes another
one, a condition its opposite, "and" becomes "or", a returned value becomes None. It is compiled in a process of its own
when the module is imported, without touching any file, and the tests of its room run until one fails. Printed are the
share of changes that a test noticed, and those that none did: each is a missing test, or a change that means nothing.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.abc
import importlib.machinery
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PACKAGE = Path("src/similitude")

TESTS = {
    "landmarks": "landmark_groups landmark_rules partial_projection distributed_landmarks partitions guarantees maps "
    "contract_map estimators dask_engine",
    "linear": "linear linear_ridge losses ridge iterated_ridge held_out_error ties linear_device torch_engine "
    "estimators",
    "persistence": "persistence_files persistence_objects persistence_functions persistence",
    "similarity": "algebra adapters calling cached claims_and_hints expressions similarity_input notebooks "
    "contract_similarity frugal",
    "theory": "bounds guarantees theory certificate",
    "validity": "validity counterexamples notebooks refusals",
}
"""The tests of each room, the quickest to notice something first; examples of the changed module come last,
when it was imported: pytest would find the file itself."""

COMPARISONS: dict[type, type] = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
COMPARISONS |= {ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn}
COMPARISONS |= {ast.NotIn: ast.In}
OPERATORS: dict[type, type] = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
OPERATORS |= {ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.MatMult: ast.Mult}

Change = tuple[int, str]
"""The place of a changed node among all nodes of a module, and how it is changed."""


def changes(tree: ast.Module) -> Iterator[Change]:
    """Yield every change of the functions of a module; texts of messages and annotations are left alone."""
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.JoinedStr, ast.Raise)):
            skipped |= {id(one) for one in ast.walk(node)}
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            skipped |= {id(one) for one in ast.walk(part)} if part is not None else set()
    inside = {id(one) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) for one in ast.walk(node)}
    for place, node in enumerate(ast.walk(tree)):
        if id(node) not in inside or id(node) in skipped:
            continue
        if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
            yield place, "comparison"
        elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            yield place, "operator"
        elif isinstance(node, ast.BoolOp):
            yield place, "and/or"
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            yield place, "number"
        elif isinstance(node, (ast.If, ast.IfExp, ast.While)):
            yield place, "opposite"
        elif isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
            yield place, "nothing returned"


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def changed(source: str, change: Change) -> tuple[ast.Module, str]:
    """Return a module with one change, and what it is."""
    tree = ast.parse(source)
    node: Any = next(one for place, one in enumerate(ast.walk(tree)) if place == change[0])
    before = ast.unparse(node.test if change[1] == "opposite" else node)
    if change[1] == "comparison":
        node.ops[0] = COMPARISONS[type(node.ops[0])]()
    elif change[1] == "operator":
        node.op = OPERATORS[type(node.op)]()
    elif change[1] == "and/or":
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif change[1] == "number":
        node.value += 1
    elif change[1] == "opposite":
        node.test = ast.UnaryOp(ast.Not(), node.test)
    else:
        node.value = ast.Constant(None)
    after = ast.unparse(node.test if change[1] == "opposite" else node)
    return ast.fix_missing_locations(tree), f"line {node.lineno}: {brief(before)} -> {brief(after)}"


def brief(text: str) -> str:
    """Return the first line of some source, cut off where it is long."""
    line = text.partition("\n")[0]
    return line if len(line) <= 70 else f"{line[:69]}…"


class Changing(importlib.abc.MetaPathFinder):
    """Compiles one module from a changed tree when it is imported."""

    def __init__(self, name: str, path: Path, tree: ast.Module) -> None:
        self.name, self.path, self.tree = name, path, tree

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the changed module, and nothing for all others."""
        if name != self.name:
            return None
        loader = importlib.machinery.SourceFileLoader(name, str(self.path.resolve()))
        loader.get_code = lambda _: compile(self.tree, str(self.path), "exec")  # type: ignore[method-assign]
        package = [str(self.path.parent.resolve())] if self.path.name == "__init__.py" else None
        spec = importlib.machinery.ModuleSpec(name, loader, origin=str(self.path), is_package=package is not None)
        spec.submodule_search_locations, spec.has_location = package, True
        return spec


def outcome(path: Path, change: Change | None, tests: list[str], limit: int) -> str:
    """Run the tests in a process of their own, with one change: "noticed", "UNNOTICED" or "too long"."""
    process = os.fork()
    if process == 0:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))  # whatever else the machine does
        parts = path.relative_to("src").with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        source = path.read_text(encoding="utf-8")
        tree = ast.parse(source) if change is None else changed(source, change)[0]
        sys.meta_path.insert(0, Changing(name, path, tree))
        import pytest

        os._exit(int(pytest.main(["-q", "-x", "-n", "0", "-p", "no:cacheprovider", *tests])))
    status = os.waitpid(process, 0)[1]
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL):
        return "too long"
    return "noticed" if status else "UNNOTICED"


def main() -> None:
    """Draw changes, run the tests with each, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, default=240, help="seconds of computing for the tests with one change")
    parser.add_argument("--rooms", nargs="*", default=list(TESTS), choices=list(TESTS))
    given = parser.parse_args()
    for heavy in ("scipy.optimize", "scipy.stats", "sklearn.base"):
        importlib.import_module(heavy)  # once, before the processes part ways
    rng, begun = random.Random(given.seed), time.monotonic()
    everything = [
        (room, path, one)
        for room in given.rooms
        for path in sorted((PACKAGE / room).rglob("*.py"))
        for one in changes(ast.parse(path.read_text(encoding="utf-8")))
    ]
    drawn = rng.sample(everything, min(given.number, len(everything)))
    for room, path in {room: path for room, path, _ in drawn}.items():
        if outcome(path, None, [f"tests/test_{TESTS[room].split()[0]}.py"], given.limit) != "UNNOTICED":
            raise SystemExit(f"the tests of {room} fail without any change")
    found: dict[str, list[str]] = {"noticed": [], "too long": [], "UNNOTICED": []}
    for done, (room, path, one) in enumerate(drawn, 1):
        tests = [*(f"tests/test_{name}.py" for name in TESTS[room].split()), str(path)]
        said = f"{path.relative_to(PACKAGE)}, {changed(path.read_text(encoding='utf-8'), one)[1]}"
        verdict = outcome(path, one, tests, given.limit)
        found[verdict].append(said)
        print(f"{done}/{len(drawn)} {time.monotonic() - begun:.0f} s {verdict}: {said}", flush=True)
    counts = ", ".join(f"{len(some)} {verdict}" for verdict, some in found.items())
    share = 100 * len(found["noticed"]) / len(drawn)
    print(f"{counts}: {share:.0f} % of {len(drawn)} changes were noticed, of {len(everything):,} possible ones")
    for said in found["too long"] + found["UNNOTICED"]:
        print(f"  look at: {said}")


if __name__ == "__main__":
    main()
