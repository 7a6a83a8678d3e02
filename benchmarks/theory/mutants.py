"""Mutants of the theory: copies of its functions in which one constant or one exponent is changed.

They are made from the source, so that none is forgotten. In every function, each number is doubled and halved, and so
is each module constant such as ``LEVEL`` where it is used; in every product or quotient the exponent of each factor
that is not a number grows and falls by one, and so does each written exponent and each square root. Left alone are
positions and shapes (subscripts, ``axis=``) and the texts of messages: no formula stands there.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import importlib
import inspect
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

MODULES: dict[str, tuple[str, ...]] = {
    "similitude.theory.bounds": (),
    "similitude.theory.intervals": (),
    "similitude.goodness.gaps": ("ranks", "enclosed"),
    "similitude.goodness.resampling": (),
    "similitude.goodness.class_means": (),
    "similitude.goodness.alignments": (
        "ideal", "estimated_alignments", "_ratio", "_plain_product", "_centered_product", "_expected",
        "permutation_test",
    ),
    "similitude.goodness.margins": ("error_at_margin",),
    "similitude.goodness.weighted": ("hinge_curve", "_deepest", "shares"),
    "similitude.learners.votes": (
        "SimilarityVote._guarantee", "WeakSimilarityVote._guarantee", "AlignmentVote._guarantee",
    ),
    "similitude.landmarks.guarantees": (),
    "similitude.landmarks.projection": ("choose_representation",),
}  # fmt: skip
"""Modules whose functions are changed; with names, these functions alone."""

POSITIONS = {"axis", "ddof", "dtype", "shape", "size", "keepdims", "initial", "minlength", "stacklevel", "kind"}
"""Keyword arguments that are no part of a formula."""

NOT_FORMULAS = {"range", "len", "arange", "reshape", "eye", "isinstance", "brief", "zip", "check_integer"}
"""Functions whose arguments are no part of a formula."""

ROUNDING = "it allows for rounding errors alone"
NEVER_ZERO = "it keeps a division by zero from happening, in entries that are replaced afterwards or multiplied by zero"
CANCELS = "the same factor stands in the product and in the norms of a cosine, and cancels"
EQUIVALENT: tuple[tuple[str, str, str, str], ...] = (
    ("_up", "", "FORMULA_ROUNDING ->", ROUNDING),
    ("_up", "", "of 1 - FORMULA_ROUNDING", ROUNDING),
    ("_down", "", "FORMULA_ROUNDING ->", ROUNDING),
    ("_down", "", "of 1 + FORMULA_ROUNDING + 1", ROUNDING),
    ("", "", "1e-12 ->", ROUNDING),
    ("combined_margin", "1e-09", "1e-09 ->", ROUNDING),
    ("perceptron_mistakes", "", "1e-09 ->", ROUNDING),
    *(("_ratio", "tiny =", change, ROUNDING) for change in ("ROUNDING ->", "ROUNDING + 1", "of float(", "2 -> exp")),
    ("error_at_margin", "REACHED", "REACHED ->", ROUNDING),
    ("error_at_margin", "REACHED", "REACHED + 1", ROUNDING),
    ("error_at_margin", "REACHED", "np.abs(at) + 1", ROUNDING),
    ("permutation_test", "rounding =", "float(np.abs(C).max())", ROUNDING),
    ("permutation_test", "rounding =", "len(C) ** 2 -> exponent", ROUNDING),
    ("permutation_test", "", "250 ->", "it says how many permutations are held at once"),
    ("_replicates", "batch =", "1 ->", "it says how many replicates are held at once"),
    ("_replicates", "batch =", "n * len(members)", "it says how many replicates are held at once"),
    ("_replicates", "batch =", "REPLICATE_VALUES", "it says how many replicates are held at once"),
    ("bounded_mean", "8 *", "8 ->", "more random weights, or fewer, estimate the same ends"),
    ("bounded_mean", "8 *", "BOOTSTRAP_REPLICATES ->", "more random weights, or fewer, estimate the same ends"),
    ("error_at_margin", "", "50 ->", "it says how many points of a curve are drawn"),
    ("band", "third =", "1 ->", "it matters with fewer than six replicates, and there are 500"),
    ("expanded_tail", "max(size", "2.0 -> 1.0", "classes have two examples at least: the size is never smaller"),
    ("noise_of_means", "np.maximum(others - 1, 1)", "np.maximum: 1 ->", NEVER_ZERO),
    ("without_effects", "np.maximum(", "np.maximum: 1 ->", NEVER_ZERO),
    ("", "own =", "exponent of member + 1", "memberships are 0 and 1, which are their own squares"),
    ("variances", "if size > 2", "2 -> 1", "within a class of two the variance is infinite before"),
    ("balanced", "pairs_left =", "2 -> 1", "two statements below, the quotient is not used for a class of two"),
    ("balanced", "inside =", "2 -> 1", "two statements above, the divisor is infinite for a class of two"),
    ("_guarantee", "if seen is not None", "1 ->", "below seven examples there is no guarantee, and no more is seen"),
    ("_guarantee", "signs", "seen[1] + 1", "class numbers are 0 and 1, which are their own squares"),
    ("ideal", "", "1.0 ->", "with one class the target is constant, and a cosine does not depend on the constant"),
    ("estimated_alignments", "pairs /=", "1.0 ->", "similarities that are all 0 stay 0"),
    ("estimated_alignments", "_ratio(", "2 -> 1", "two classes of two examples are four: there are never two"),
    ("balanced", "found =", "2.0 -> 4.0", "the interval is cut off at ±2 once more, two lines below"),
    (
        "_ratio",
        "value = float(np.clip",
        "1.0 -> 2.0",
        "products over tuples are positive semi-definite: no cosine is beyond ±1",
    ),
    ("of", "bounds.landmarks(", "1.0 -> 0.5", "the size is not used: epsilon and delta are validated"),
    ("made", "default", "2 -> 1", "only more than two classes are treated differently"),
    ("class_gap", "(1 + 1e-12)", "of 1 + 1e-12", ROUNDING),
    ("guarantee_of_reasonable", "low =", "0.001 ->", "a margin of 0.001 takes thousands of millions of landmarks"),
    ("_of_projection", "", "EXAMINED", "it says how many landmarks are looked at, not what is promised"),
    *(("_plain_product", "/ ((n - 1) * (n - 2))", change, CANCELS) for change in ("of n -", "1 ->", "2 -> 1")),
    *(("_plain_product", "return (total", change, CANCELS) for change in ("of n", "1 ->")),
)
"""Changes that nothing can notice: function (or any), part of the statement, part of the change, and why."""


@dataclass(frozen=True)
class Mutant:
    """One change of one function, with the definition that it gives, which is compiled when it is applied."""

    module: str
    function: str
    line: int
    column: int
    statement: str
    change: str
    changed: ast.FunctionDef
    original: types.FunctionType

    @property
    def name(self) -> str:
        """Return where it is and what it changes."""
        return f"{self.module.removeprefix('similitude.')}.{self.function}:{self.line}:{self.column}: {self.change}"

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """Let the function behave as changed, for all who have imported it."""
        parts = ("__code__", "__defaults__", "__kwdefaults__")
        before = [getattr(self.original, part) for part in parts]
        changed = _compiled(self.changed, self.original)
        try:
            for part in parts:
                setattr(self.original, part, getattr(changed, part))
            yield
        finally:
            for part, value in zip(parts, before, strict=True):
                setattr(self.original, part, value)

    @property
    def why_equivalent(self) -> str | None:
        """Return why nothing can notice the change; None if something must."""
        own = self.function.rpartition(".")[2]
        for function, statement, change, why in EQUIVALENT:
            if function in ("", own) and statement in self.statement and change in self.change:
                return why
        return None


Spot = tuple[ast.expr, str, ast.expr, str]
"""An expression, what is changed in it, what takes its place, and the statement in which it stands."""


def all_mutants() -> list[Mutant]:
    """Return the mutants of all modules, in the order of the source."""
    return [one for name, functions in MODULES.items() for one in mutants_of(name, functions)]


def mutants_of(name: str, functions: tuple[str, ...] = ()) -> Iterator[Mutant]:
    """Yield the mutants of a module, or of some of its functions."""
    module = importlib.import_module(name)
    for qualified, node in _definitions(ast.parse(inspect.getsource(module))):
        if functions and qualified not in functions:
            continue
        original, seen = _function(module, qualified), {ast.unparse(node)}
        for spot, change, replacement, statement in _spots(node, original.__globals__):
            changed = _replaced(node, spot, replacement)
            if (text := ast.unparse(changed)) not in seen:
                seen.add(text)
                yield Mutant(
                    name,
                    qualified,
                    spot.lineno,
                    spot.col_offset,
                    statement,
                    change,
                    changed,
                    original,
                )


def _definitions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield functions and methods; not those within functions."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            methods = [one for one in node.body if isinstance(one, ast.FunctionDef)]
            yield from ((f"{node.name}.{one.name}", one) for one in methods if one.name != "__str__")


def _function(module: types.ModuleType, qualified: str) -> types.FunctionType:
    """Return the function itself, also of a property or a class method."""
    owner, _, name = qualified.rpartition(".")
    found = inspect.getattr_static(getattr(module, owner) if owner else module, name)
    found = found.fget if isinstance(found, property) else getattr(found, "__func__", found)
    assert isinstance(found, types.FunctionType)
    return found


def _compiled(node: ast.FunctionDef, original: types.FunctionType) -> types.FunctionType:
    """Return the function that a definition gives where the original stands."""
    future = ast.ImportFrom("__future__", [ast.alias("annotations")], 0)
    tree, local = ast.fix_missing_locations(ast.Module([future, node], [])), {}
    exec(compile(tree, original.__code__.co_filename, "exec"), original.__globals__, local)
    return local[node.name]


def _replaced(node: ast.FunctionDef, spot: ast.expr, replacement: ast.expr) -> ast.FunctionDef:
    """Return a copy of a definition, without decorators, with one expression replaced."""
    found = copy.copy(_with(node, spot, replacement))
    found.decorator_list = []
    return found


def _with(node: Any, spot: ast.expr, replacement: ast.expr) -> Any:
    """Return a tree, or a list of trees, with one expression replaced; what does not contain it is shared."""
    if node is spot:
        return replacement
    if isinstance(node, list):
        parts = [_with(one, spot, replacement) for one in node]
        return node if all(new is old for new, old in zip(parts, node, strict=True)) else parts
    if not isinstance(node, ast.AST):
        return node
    found = {name: _with(value, spot, replacement) for name, value in ast.iter_fields(node)}
    if all(value is getattr(node, name) for name, value in found.items()):
        return node
    changed = copy.copy(node)
    vars(changed).update(found)
    return changed


def _spots(node: ast.FunctionDef, names: dict[str, Any]) -> Iterator[Spot]:
    """Yield all changes of a function."""
    for default in (*node.args.defaults, *node.args.kw_defaults):
        if default is not None:
            yield from ((*spot, "default") for spot in _numbers(default, names))
    for statement in _statements(node):
        found = list(_formulas(statement))
        text = ast.unparse(statement).partition("\n")[0]
        exponents = {id(one.right) for one in found if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Pow)}
        inner = {id(side) for one in found if _is_product(one) for side in (one.left, one.right)}
        guards = {id(one.args[-1]) for one in found if isinstance(one, ast.Call) and _called(one) == "maximum"}
        for expression in found:
            if id(expression) not in exponents:
                guard = "np.maximum: " if id(expression) in guards else ""
                yield from ((at, guard + change, new, text) for at, change, new in _numbers(expression, names))
            if id(expression) not in inner or not _is_product(expression):
                yield from ((*spot, text) for spot in _exponents(expression, names))


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements of a function, also those within others."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt) and not isinstance(child, ast.FunctionDef):
            yield child
            yield from _statements(child)


def _formulas(node: ast.AST) -> Iterator[ast.expr]:
    """Yield every expression in which numbers are part of a formula, each once."""
    if isinstance(node, (ast.Raise, ast.JoinedStr, ast.Lambda, ast.FunctionDef, ast.ImportFrom)):
        return
    if isinstance(node, ast.IfExp) and any(isinstance(part, ast.JoinedStr) for part in (node.body, node.orelse)):
        return  # a text
    if isinstance(node, ast.expr):
        yield node
    for name, value in ast.iter_fields(node):
        if (isinstance(node, ast.Subscript) and name == "slice") or name in ("annotation", "target", "targets"):
            continue
        if isinstance(node, ast.Call) and _called(node) in NOT_FORMULAS and name != "func":
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.keyword) and child.arg in POSITIONS:
                continue
            if isinstance(child, ast.AST) and not isinstance(child, ast.stmt):
                yield from _formulas(child)


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _numbers(node: ast.expr, names: dict[str, Any]) -> Iterator[tuple[ast.expr, str, ast.expr]]:
    """Double and halve a number, or a module constant."""
    if _is_number(node):
        value = node.value
        if value:
            half = value // 2 if isinstance(value, int) and value % 2 == 0 else value / 2
            for changed in (2 * value, half):
                yield node, f"{value!r} -> {changed!r}", ast.copy_location(ast.Constant(changed), node)
    elif isinstance(node, ast.Name) and node.id.isupper() and type(names.get(node.id)) in (int, float):
        whole = isinstance(names[node.id], int) and names[node.id] % 2 == 0
        for text in (f"2 * {node.id}", f"{node.id} {'//' if whole else '/'} 2"):
            yield node, f"{node.id} -> {text}", ast.copy_location(_parsed(f"({text})"), node)


def _exponents(node: ast.expr, names: dict[str, Any]) -> Iterator[tuple[ast.expr, str, ast.expr]]:
    """Change exponents by one: written ones, square roots, and those of the factors of products and quotients."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and _is_number(node.right):
        for step in (1, -1):
            power = node.right.value + step
            changed = ast.BinOp(node.left, ast.Pow(), ast.Constant(power))
            yield node, f"{ast.unparse(node)} -> exponent {power}", ast.copy_location(changed, node)
    elif (isinstance(node, ast.Call) and _called(node) == "sqrt") or isinstance(node, ast.BinOp):
        for factor in _factors(node):
            if isinstance(factor, ast.Name) and factor.id.isupper() and isinstance(names.get(factor.id), int):
                continue  # a number of repetitions
            for op, sign in ((ast.Mult(), "+"), (ast.Div(), "-")):
                changed = ast.BinOp(node, op, factor)
                text = f"{ast.unparse(node)} -> exponent of {ast.unparse(factor)} {sign} 1"
                yield node, text, ast.copy_location(copy.deepcopy(changed), node)


def _factors(node: ast.expr) -> list[ast.expr]:
    """Return the factors of a product or quotient, or what is under a root, that are not numbers."""
    if isinstance(node, ast.Call):
        return [node.args[0]] if _called(node) == "sqrt" and not _is_number(node.args[0]) else []
    if not _is_product(node):
        return []
    found: list[ast.expr] = []
    for side in (node.left, node.right):
        if _is_product(side):
            found += _factors(side)
        elif isinstance(side, ast.BinOp) and isinstance(side.op, ast.Pow):
            continue  # its exponent is changed by itself
        elif not _is_number(side):
            found.append(side)
    return found


def _is_product(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div))


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def calls(run: Callable[[], Any]) -> tuple[Any, set[types.CodeType]]:
    """Return what a function returns, and the code of all Python functions that ran meanwhile."""
    import sys

    seen: set[types.CodeType] = set()

    def note(frame: types.FrameType, event: str, _: object) -> None:
        if event == "call":
            seen.add(frame.f_code)

    sys.setprofile(note)
    try:
        return run(), seen
    finally:
        sys.setprofile(None)
