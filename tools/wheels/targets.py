"""The platforms that wheels are built for, and the versions of Python."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

STABLE = "3.12"
"""The version of Python whose wheel serves all later ones by the stable ABI; pyproject.toml names it too."""

VERSIONS = ("3.10", "3.11", STABLE)
"""Versions of Python with a wheel each."""

TESTED_ON = {"3.10": ("3.10",), "3.11": ("3.11",), STABLE: ("3.12", "3.13")}
"""By the version of a wheel: the versions of Python on which it is installed and tested."""


@dataclass(frozen=True)
class Target:
    """A platform.

    Attributes
    ----------
    name : str
    zig : str
        What zig calls it, with the oldest C library or system that is supported.
    system, processor : str
        What CMake calls it.
    tag : str
        What wheels call it.
    suffix : str
        The end of the name of a module, where it is compiled for one version of Python.
    """

    name: str
    zig: str
    system: str
    processor: str
    tag: str
    suffix: str


TARGETS = {
    one.name: one
    for one in (
        Target(
            "linux-x86_64",
            "x86_64-linux-gnu.2.17",
            "Linux",
            "x86_64",
            "manylinux_2_17_x86_64",
            ".cpython-{}-x86_64-linux-gnu.so",
        ),
        Target(
            "linux-aarch64",
            "aarch64-linux-gnu.2.17",
            "Linux",
            "aarch64",
            "manylinux_2_17_aarch64",
            ".cpython-{}-aarch64-linux-gnu.so",
        ),
        Target("macos-arm64", "aarch64-macos.11.0", "Darwin", "arm64", "macosx_11_0_arm64", ".cpython-{}-darwin.so"),
        Target(
            "macos-x86_64", "x86_64-macos.10.13", "Darwin", "x86_64", "macosx_10_13_x86_64", ".cpython-{}-darwin.so"
        ),
        Target("windows-x86_64", "x86_64-windows-gnu", "Windows", "AMD64", "win_amd64", ".cp{}-win_amd64.pyd"),
    )
}


def interpreter(version: str) -> str:
    """Return the Python of a version: from PATH, or the newest of pyenv."""
    installed = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = sorted(installed.glob(f"{version}.*/bin/python3"), key=lambda path: int(path.parts[-3].split(".")[2]))
    python = str(found[-1]) if found else shutil.which(f"python{version}")
    if not python:
        raise SystemExit(f"missing: python{version}, in PATH or under {installed}")
    return python
