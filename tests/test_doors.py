"""Rooms are entered through their doors, names have one meaning, and private attributes stay private.

Everything is read from the source by ``ast``, so a failure names the file and the line.
"""

import ast
import functools
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import similitude

PACKAGE = Path(similitude.__file__).parent
ROOMS = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}

DOORS = {
    "compute.engines",
    "compute.loops",
    "data.datasets",
    "data.files",
    "data.sources",
    "kernels.feature_weights",
    "kernels.graphs",
    "kernels.vectors",
    "learners.svm",
    "similarity.expressions",
    "theory.bounds",
}
"""Modules and packages inside a room that other rooms may import from, beside the room itself."""

NAMED_TUPLE = {"_asdict", "_fields", "_make", "_replace"}
"""Public methods and attributes of named tuples, whose underscore avoids clashes with field names."""


@functools.cache
def modules() -> dict[Path, ast.Module]:
    """Return every module of the package by its path, read once and not before a test asks: that takes a second."""
    return {
        path: ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(PACKAGE.rglob("*.py*"))
        if path.suffix != ".pyc"
    }


def place(path: Path, node: ast.AST) -> str:
    return f"{path.relative_to(PACKAGE)}:{node.lineno}"


def imported(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Yield what a module imports from the package, as paths below it: modules, and names that may be modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name.removeprefix("similitude.")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "similitude":
            module = node.module.removeprefix("similitude").removeprefix(".")
            yield node, module
            yield from ((node, f"{module}.{alias.name}".removeprefix(".")) for alias in node.names)


@functools.cache
def imports() -> dict[Path, list[tuple[ast.AST, str]]]:
    """Return what every module imports from the package."""
    return {path: list(imported(tree)) for path, tree in modules().items()}


def is_module(name: str) -> bool:
    path = PACKAGE / Path(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def exported(room: str) -> set[str]:
    """Return the names that a door imports."""
    tree = modules()[PACKAGE / Path(*room.split(".")) / "__init__.py"]
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name for node in imports for alias in node.names}


def enters_by_a_door(name: str) -> bool:
    """Tell whether another room may import a module, or a name that may be one."""
    room, _, last = name.rpartition(".")
    return not room or name in DOORS or not is_module(name) or last in exported(room)


def classes() -> Iterator[tuple[str, str]]:
    for path, tree in modules().items():
        yield from ((node.name, place(path, node)) for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def constants() -> Iterator[tuple[str, str]]:
    """Yield names in capitals that a module assigns; type variables are no constants."""
    for path, tree in modules().items():
        for node in tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            if isinstance(getattr(node, "value", None), ast.Call) and ast.unparse(node.value.func) == "TypeVar":
                continue
            for name in (one for target in targets if target is not None for one in ast.walk(target)):
                if isinstance(name, ast.Name) and name.id.isupper():
                    yield name.id, place(path, node)


def strangers(tree: ast.AST) -> Iterator[ast.Attribute]:
    """Yield private attributes of objects whose class is written in another module."""
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    private = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr.startswith("_")]
    private = [node for node in private if not node.attr.endswith("__") and node.attr not in NAMED_TUPLE]
    itself = [node for node in private if ast.unparse(node.value) in ("self", "cls", "super()")]
    own |= {node.attr for node in itself}
    yield from (node for node in private if node not in itself and node.attr not in own)


def test_rooms_are_entered_through_their_doors():
    bad = []
    for path, names in imports().items():
        room = path.relative_to(PACKAGE).parts[0]
        found = [(node, name) for node, name in names if name.split(".")[0] in ROOMS - {room}]
        bad += [f"{place(path, node)} imports {name}" for node, name in found if not enters_by_a_door(name)]
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize("room", ["compute", "compute.engines", "kernels.vectors", "report.findings", "theory"])
def test_a_door_without_a_list_of_public_names_exports_what_others_use(room):
    inside = PACKAGE / Path(*room.split("."))
    used = {name for path, names in imports().items() if inside not in path.parents for _, name in names}
    standard = {"Any", "TYPE_CHECKING"}
    assert not [name for name in exported(room) - standard if f"{room}.{name}" not in used]


def test_every_door_exists_and_is_used():
    assert all(map(is_module, DOORS))
    used = {(path.relative_to(PACKAGE).parts[0], name) for path, names in imports().items() for _, name in names}
    assert {name for room, name in used if name in DOORS and name.split(".")[0] != room} == DOORS


@pytest.mark.parametrize("names", [classes, constants], ids=["classes", "constants"])
def test_a_name_is_defined_once(names):
    places = defaultdict(list)
    for name, where in names():
        places[name].append(where)
    bad = [f"{name}: {', '.join(where)}" for name, where in places.items() if len(where) > 1]
    assert not bad, "\n".join(bad)


def test_private_attributes_are_used_in_the_module_of_their_class():
    bad = [
        f"{place(path, node)} uses {ast.unparse(node)}" for path, tree in modules().items() for node in strangers(tree)
    ]
    assert not bad, "\n".join(bad)


def test_the_checks_find_what_they_look_for():
    tree = ast.parse("from similitude.compute import blocks, rows\nfrom similitude.data.files.schema import KINDS")
    assert [name for _, name in imported(tree) if not enters_by_a_door(name)] == ["compute.blocks", "data.files.schema"]
    assert enters_by_a_door("compute.strips")  # a function of the same name as its module
    tree = ast.parse("class A:\n    def f(self, other, model):\n        return self._x, other._x, model._y, super()._z")
    assert [ast.unparse(node) for node in strangers(tree)] == ["model._y"]


DECIDING = {"fitting/plan.py", "fitting/facts.py", "fitting/limits.py", "fitting/costs.py"}
DECIDING |= {f"evaluation/{one}.py" for one in ("copies", "held_out", "labels", "limits", "splits")}
"""Modules that decide by the number of rows, the engine and the cost of a similarity; all others are told."""

IN_REFUSALS = {
    "estimators/regressor.py": {"FEWEST_GROUPS_APART", "FEWEST_NESTED_ROWS"},
    "fitting/frugal.py": {"FEWEST_GROUPS_APART"},
    "fitting/training_set.py": {"FEWEST_NESTED_GROUPS"},
}
"""Limits that others read in refusals."""


def constants_of(tree: ast.Module) -> set[str]:
    targets = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def test_the_plan_alone_decides_how_a_fit_is_made():
    trees = {path.relative_to(PACKAGE).as_posix(): tree for path, tree in modules().items()}
    named = constants_of(trees["fitting/limits.py"]) | constants_of(trees["evaluation/limits.py"])
    rooms = ("estimators/", "evaluation/", "fitting/", "kernel_learning/", "linear/", "selection/")
    wrong = []
    for path, tree in trees.items():
        if not path.startswith(rooms) or path in DECIDING or path.endswith("__init__.py"):
            continue
        for node in ast.walk(tree):
            name = getattr(node, "id", getattr(node, "attr", ""))
            limit = isinstance(node, ast.Name | ast.Attribute) and name in named - IN_REFUSALS.get(path, set())
            heavy = isinstance(node, ast.Attribute) and ast.unparse(node).endswith("hints.heavy")
            engine = isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance"
            engine = engine and any(one.endswith("Engine") and one != "Engine" for one in words(node.args[1]))
            if limit or heavy or engine:
                wrong.append(f"{path}:{node.lineno}: {ast.unparse(node)}")
    assert not wrong


def words(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
