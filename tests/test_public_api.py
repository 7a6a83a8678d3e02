"""The public surface: names, light imports, extras, pages that cannot go stale."""

import ast
import importlib
import importlib.metadata
import inspect
import subprocess
import sys
import tempfile
from pathlib import Path

import cli_runs
import pytest

import similitude
from similitude.support.errors import missing_extra

ROOT = Path(__file__).parents[1]
HEAVY = ("sklearn", "scipy", "torch", "dask", "pandas", "polars", "loky", "rich", "typer")


def run(program, *arguments, **options):
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_every_public_name_is_there_and_sorted():
    assert similitude.__all__ == sorted(similitude.__all__)
    for name in similitude.__all__:
        assert getattr(similitude, name).__name__ == name
    assert set(similitude.__all__) <= set(dir(similitude))
    assert similitude.__version__ == importlib.metadata.version("similitude")
    with pytest.raises(AttributeError, match="nothing_like_this"):
        _ = similitude.nothing_like_this


def test_every_name_is_found_and_means_the_same_in_every_module():
    found = {name: getattr(similitude, name) for name in dir(similitude) if name != "DaskEngine"}  # it needs dask
    assert "KernelSVC" in found and "LocalEngine" in found
    for path in (ROOT / "src" / "similitude").glob("[!_]*"):
        module = importlib.import_module(f"similitude.{path.stem}") if path.name != "py.typed" else similitude
        shared = set(getattr(module, "__all__", ())) & set(found)
        assert [name for name in shared if getattr(module, name) is not found[name]] == [], path.stem


def test_type_checkers_see_the_public_names():
    tree = ast.parse((ROOT / "src" / "similitude" / "__init__.pyi").read_text())
    found = {"__version__"}
    for node in (node for node in tree.body if isinstance(node, ast.ImportFrom)):
        names = [alias.name for alias in node.names]
        found.update(importlib.import_module(node.module).__all__ if names == ["*"] else names)
    assert found == set(dir(similitude))


@pytest.mark.parametrize("module", ["kernels", "engines", "similarity", "validity"])
def test_every_name_of_a_module_is_documented(module):
    imported = importlib.import_module(f"similitude.{module}")
    for name in imported.__all__:
        value = getattr(imported, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), name


def test_no_module_bears_the_name_of_a_public_function():
    modules = {path.stem for path in (ROOT / "src" / "similitude").iterdir()}
    assert not modules & set(similitude.__all__)


@pytest.mark.parametrize(
    "statement",
    [
        "import similitude",
        "from similitude import Similarity, FromPairs, as_similarity, use_engine",
        "from similitude.kernels import Gaussian; Gaussian().gram([[0.0], [1.0], [3.0]])",
    ],
)
def test_imports_are_light(statement):
    found = run(f"{statement}\nimport sys\nprint([m for m in {HEAVY} if m in sys.modules])")
    assert found.stdout == "[]\n", found.stderr


def test_estimators_load_little_beside_the_base_of_scikit_learn():
    program = """
import sys
import sklearn.base
before = set(sys.modules)
from similitude import SimilarityClassifier
new = set(sys.modules) - before
small = ("similitude", "sklearn.utils")
others = [name for name in new if not name.startswith(small)]
print([name for name in others if name.partition(".")[0] not in sys.stdlib_module_names])
print([name for name in new if name in ("similitude.kernels", "similitude.kernel_learning")])
"""
    found = run(program)
    assert found.stdout == "[]\n[]\n", found.stderr


def test_engines_can_be_looked_at_without_the_optional_ones():
    program = """
import sys
for name in ("dask", "distributed", "torch"):
    sys.modules[name] = None
from similitude.engines import *
import similitude.engines as engines
print("DaskEngine" in dir(engines), "DaskEngine" in globals(), LocalEngine.__name__, TorchEngine.__name__)
try:
    engines.DaskEngine
except ImportError as error:
    print(error)
"""
    found = run(program)
    assert found.stdout.startswith("False False LocalEngine TorchEngine\nDaskEngine needs"), found.stderr
    assert "pip install 'similitude[dask]'" in found.stdout


def test_a_missing_extra_gives_one_line_with_the_pip_command():
    assert str(missing_extra("torch", "TorchEngine")).endswith("pip install 'similitude[torch]'")
    program = "import sys; sys.modules['typer'] = None\nfrom similitude.cli import main\nmain()"
    found = run(program)
    assert found.returncode == 1
    assert (
        found.stderr.strip()
        == "similitude: the command line needs an optional dependency: pip install 'similitude[cli]'"
    )


def test_the_demo_goes_from_a_file_to_a_saved_model_and_shows_each_command(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    found = cli_runs.run("demo")
    assert found.code == 0, found.err
    for command in ("check", "assess", "fit", "predict", "explain", "compare", "info"):
        assert f"$ similitude {command} " in found.out
    for answer in ("INVALID", "held-out error", "accuracy", "similarity   row at fit"):
        assert answer in found.out
    (folder,) = tmp_path.iterdir()
    files = {"genes.csv", "new-genes.csv", "molecules.jsonl", "genes.sim", "predicted.csv"}
    assert {one.name for one in folder.iterdir()} == files


def test_the_command_line_helps():
    found = run("from similitude.cli import main\nmain()", "--help")
    assert found.returncode == 0
    assert "demo" in found.stdout
