"""The import library of Python for Windows, from Python's headers: no Python for Windows is needed to link."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tools.wheels.targets import Target

_IMPORTED = re.compile(r"__attribute__\(\(dllimport\)\)([^;{]*)[;{]")
_FUNCTION = re.compile(r"\b(_?Py\w*)\s*\(")
_VARIABLE = re.compile(r"(?:\(\*)?\b(_?Py\w*)(?:\)\(.*|\s*\[.*\])?\s*$", re.DOTALL)


def write_import_library(
    zig: Path, target: Target, version: str, headers: Path, folder: Path, *, stable: bool = False
) -> Path:
    """Write the import library of the Python of a version, or of its stable ABI, and return it."""
    library = "python3" if stable else f"python{version.replace('.', '')}"
    limit = [f"-DPy_LIMITED_API=0x03{int(version.split('.')[1]):02x}0000"] if stable else []
    preprocess = [zig, "c++", "-target", target.zig, "-std=c++20", f"-I{headers}", *limit, "-E", "-P", "-x", "c++", "-"]
    text = subprocess.run(
        preprocess,
        input="#include <Python.h>\n#include <structmember.h>\n",
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    folder.mkdir(parents=True, exist_ok=True)
    definition, written = folder / f"{library}.def", folder / f"{library}.lib"
    definition.write_text("\n".join([f"LIBRARY {library}.dll", "EXPORTS", *exports(text), ""]))
    subprocess.run([zig, "dlltool", "-m", "i386:x86-64", "-d", definition, "-l", written], check=True)
    return written


def exports(text: str) -> list[str]:
    """Return what preprocessed headers import, as lines of a definition file."""
    found = set()
    for declared in _IMPORTED.findall(text):
        plain = re.sub(r"__attribute__\(\(.*?\)\)", " ", declared)
        if name := _FUNCTION.search(plain):
            found.add(name[1])
        elif name := _VARIABLE.search(plain):
            found.add(f"{name[1]} DATA")
    return sorted(found)
