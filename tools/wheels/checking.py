"""What a wheel has to pass: audits of every wheel, and the tests of the loops where the platform can be run."""

from __future__ import annotations

import os
import shutil
import zipfile
from pathlib import Path

from tools.wheels.building import WORK, builder, run, tools
from tools.wheels.sbom import embedded_sbom
from tools.wheels.targets import STABLE, Target, interpreter

TEST_PACKAGES = ("pytest", "hypothesis", "networkx")
"""What the tests of the loops need beside the package."""

DEBIAN = {"3.11": "bookworm", "3.13": "trixie"}
"""Releases of Debian by their version of Python, which is run on emulated processors."""

SMOKE = """
import tempfile, numpy, similitude
from similitude.compute import loops
from similitude.data.datasets import iris
X, y = iris()
model = similitude.SimilarityClassifier().fit(X, y)
with tempfile.TemporaryDirectory() as folder:
    similitude.save(model, f"{folder}/m.sim")
    assert (similitude.load(f"{folder}/m.sim").predict(X) == model.predict(X)).all()
assert model.score(X, y) > 0.9
strings, labels = ["aab", "aba", "ccd", "cdc"] * 5, [0, 0, 1, 1] * 5
assert similitude.SimilarityClassifier("spectrum(p=2)").fit(strings, labels).score(["aab", "cdd"], [0, 1]) == 1
print(loops.COMPILED, loops.IN_USE)
"""


VALIDATE = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(sys.stdin.read())
sys.exit(f"the list of parts is no CycloneDX: {error}" if error else 0)
"""


LICENSES = {"LICENSE"}, {"LICENSE", "nanobind.txt", "robin-map.txt"}
"""The licenses inside a wheel of Python files only, and of one with compiled loops."""


def audit_contents(wheel: Path, source: Path) -> None:
    """Check that a wheel holds the package, its licenses and nothing else; end if not."""
    run(tools() / "check-wheel-contents", "--ignore", "W002,W004", wheel)  # equal files, names like 0.py
    files = (path.relative_to(source / "src") for path in (source / "src/similitude").rglob("*") if path.is_file())
    expected = {str(path) for path in files if "cpp" not in path.parts}
    with zipfile.ZipFile(wheel) as archive:
        found = {name for name in archive.namelist() if not name.endswith("/")}
    compiled = {name for name in found if "/_compiled." in name}
    metadata = {name for name in found if ".dist-info/" in name}
    licenses = {name.rpartition("/")[2] for name in metadata if "/licenses/" in name}
    wrong = expected ^ (found - compiled - metadata)
    if wrong or licenses != LICENSES[bool(compiled)]:
        raise SystemExit(f"{wheel.name}: missing or not expected {sorted(wrong)}, licenses {sorted(licenses)}")


def audit(wheel: Path, target: Target) -> None:
    """Check the names and the libraries of a wheel with compiled loops; end if anything is wrong."""
    bin_of = tools()
    if "-abi3-" in wheel.name:
        run(bin_of / "abi3audit", "--strict", wheel)
    run(bin_of / "python", Path(__file__).with_name("module_facts.py"), wheel, target.system, target.processor)
    if target.system == "Linux":
        said = run(bin_of / "auditwheel", "show", wheel)
        if f'"{target.tag}"' not in said.replace("\n", " "):
            raise SystemExit(f"{wheel.name}: auditwheel says\n{said}")
    elif target.system == "Windows":
        run(bin_of / "delvewheel", "show", wheel)
    run(bin_of / "python", "-c", VALIDATE, input=embedded_sbom(wheel))


def test_here(wheel: Path, version: str) -> str:
    """Install a wheel into an empty environment of this machine, test its loops, and return which ones."""
    folder = WORK / f"empty-{version}"
    shutil.rmtree(folder, ignore_errors=True)
    run(interpreter(version), "-m", "venv", folder)
    python = folder / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
    run(*install, wheel)
    in_use = run(python, "-c", SMOKE, cwd=folder, env=_alone()).splitlines()[-1]
    run(*install, *TEST_PACKAGES)
    return f"{in_use}: {_tested(python)[-1]}"


def test_emulated(wheel: Path, version: str) -> str:
    """Import a wheel into Debian's Python for arm64 on an emulated processor, test its loops, and return which ones.

    An emulated processor is slow: it runs the sample of `sampled_tests`.
    """
    root, site = _debian(version), WORK / f"site-{version}"
    shutil.rmtree(site, ignore_errors=True)
    platforms = [f"--platform=manylinux_2_{minor}_aarch64" for minor in (17, 24, 26, 27, 28)]
    where = ["--target", site, "--python-version", version, "--platform=manylinux2014_aarch64", *platforms]
    pip = [builder(STABLE) / "python", "-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
    run(*pip, *where, wheel, *TEST_PACKAGES)
    python = site / "python"
    # One without SVE: on the emulator's usual processor products of matrices took minutes with NumPy 2.5.
    emulator = f"qemu-aarch64-static -cpu cortex-a72 -L {root} {root}/usr/bin/python{version}"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={site} exec {emulator} "$@"\n')
    python.chmod(0o755)
    # Processes that tests start are emulated as well.
    (site / "sitecustomize.py").write_text(f"import sys\nsys.executable = {str(python)!r}\n")
    shutil.copy(Path(__file__).with_name("sampled_tests.py"), site)
    in_use = run(python, "-c", SMOKE, cwd=site, env=_alone()).splitlines()[-1]
    sample, outcome = _tested(python, "-p", "sampled_tests")[-2:]
    return f"{in_use}: {sample}: {outcome}"


def _debian(version: str) -> Path:
    """Return a folder with Debian's Python of a version for arm64, which is made once."""
    root = WORK / f"debian-{version}"
    if not (root / "usr/bin" / f"python{version}").exists():
        packages = f"python3,libpython{version}-stdlib,libstdc++6"
        options = ["--variant=extract", "--skip=check/qemu", "--architectures=arm64", f"--include={packages}"]
        run("mmdebstrap", *options, DEBIAN[version], root)
        if not (root / "lib").exists():
            (root / "lib").symlink_to("usr/lib")
    return root


def _tested(python: Path, *options: str) -> list[str]:
    """Run the tests of the loops, and return the lines that they print."""
    tests = sorted(str(path) for path in Path("tests").glob("test_loops*.py"))
    quiet = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    return run(python, "-m", "pytest", *quiet, *options, *tests, env=_alone()).strip().splitlines()


def _alone() -> dict[str, str]:
    """Return variables under which Python sees nothing of this checkout."""
    ignored = {"PYTHONPATH", "PYTHONHOME"}
    kept = {name: value for name, value in os.environ.items() if name not in ignored}
    return {**kept, "PYTHONSAFEPATH": "1", "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1"}
