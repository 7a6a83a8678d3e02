import os
import re
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from similitude.compute import loops
from similitude.compute.loops import reference
from similitude.compute.versions import show_versions

ROOT = Path(__file__).parents[1]

compiled_only = pytest.mark.skipif(
    not loops.COMPILED, reason="the compiled module similitude.compute.loops._compiled is missing"
)


def random_matrix(n, seed):
    K = np.random.default_rng(seed).uniform(-1, 1, (n, n))
    K = (K + K.T) / 2
    np.fill_diagonal(K, 1.0)
    return K


@compiled_only
@pytest.mark.parametrize("n", [3, 4, 5, 17, 64])
def test_compiled_worst_triple_equals_the_reference(n):
    for seed in range(20):
        K = random_matrix(n, seed)
        assert loops.worst_triple(K) == reference.worst_triple(K)


@pytest.mark.parametrize("module", [loops, reference])
def test_of_equal_triples_the_first_is_the_worst(module):
    assert module.worst_triple(np.eye(20)) == (0, 1, 2, 1.0)
    K = np.eye(20)
    for i, j in [(3, 9), (9, 18), (4, 5), (5, 17)]:
        K[i, j] = K[j, i] = 0.5
    assert module.worst_triple(K) == (3, 9, 18, 0.5)


def test_without_a_compiler_the_wheel_is_pure_python(tmp_path):
    no_compiler = {
        **os.environ,
        "PATH": str(Path(sys.executable).parent),
        "CC": str(tmp_path / "no-compiler"),
        "CXX": str(tmp_path / "no-compiler"),
    }
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", str(tmp_path), str(ROOT)], env=no_compiler, check=True)

    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    unzipped = tmp_path / "unzipped"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        archive.extractall(unzipped)
    assert not [name for name in names if name.endswith((".so", ".pyd", ".dylib", ".cpp"))]
    files = [
        path for ending in ("csv", "jsonl", "ts") for path in ROOT.glob(f"src/similitude/data/datasets/*.{ending}")
    ]
    data = [path.relative_to(ROOT / "src").as_posix() for path in files]
    assert names.issuperset(["similitude/py.typed", "similitude/kernels/strings/blosum62.txt", *data])

    # -S keeps out the import hook of an editable install, which would come before the path.
    path = os.pathsep.join([str(unzipped), *sys.path])
    answer = subprocess.run(
        [sys.executable, "-S", "-c", "from similitude.compute import loops; print(loops.COMPILED, loops.__file__)"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout.split() == ["False", str(unzipped / "similitude" / "compute" / "loops" / "__init__.py")]


def test_show_versions_tells_which_loops_are_in_use(capsys):
    show_versions()
    label, used = capsys.readouterr().out.splitlines()[-1].split(maxsplit=1)
    assert label == "loops:"
    assert used.startswith("compiled" if loops.COMPILED else "reference (no compiled module: ")


def test_the_version_is_the_same_everywhere():
    stated = {
        "pyproject.toml": r'^version = "(.+)"$',
        "CITATION.cff": r"^version: (.+)$",
        "recipe/recipe.yaml": r'^  version: "(.+)"$',
        "CHANGELOG.md": r"\A# Changes\n\n## (\S+)\n",
    }
    found = {name: re.findall(pattern, (ROOT / name).read_text(), re.M) for name, pattern in stated.items()}
    assert found == {name: [metadata.version("similitude")] for name in stated}


def test_the_recipe_asks_for_the_dependencies_of_the_package():
    asked = re.search(r"^dependencies = \[(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.M | re.S)[1]
    run = re.search(r"^  run:\n(.*?)^  run_constraints", (ROOT / "recipe" / "recipe.yaml").read_text(), re.M | re.S)[1]
    listed = [line.strip(" -").replace(" ", "") for line in run.replace("\n      then:", "").splitlines()]
    for_windows = r"(\S+); sys_platform == 'win32'"
    assert listed == ["python>=3.10", *(re.sub(for_windows, r"if:win\1", one) for one in re.findall(r'"(.+?)"', asked))]


@compiled_only
def test_the_instruction_sets_are_those_of_the_processor():
    flags = Path("/proc/cpuinfo")
    known = set(re.findall(r"\w+", flags.read_text().split("flags", 1)[-1].split("\n")[0])) if flags.exists() else set()
    if "avx" not in known:
        pytest.skip("the system does not list the instruction sets of an x86 processor")
    v3 = {"avx2", "fma", "bmi1", "bmi2", "movbe", "f16c", "abm"}
    v4 = v3 | {"avx512f", "avx512dq", "avx512cd", "avx512bw", "avx512vl"}
    expected = ["baseline", *(["avx2"] if v3 <= known else []), *(["avx512"] if v4 <= known else [])]
    assert loops._compiled.instruction_sets() == expected
