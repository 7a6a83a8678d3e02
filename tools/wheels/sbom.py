"""What a wheel is made of: a CycloneDX document in ``.dist-info/sboms`` (PEP 770), and the licenses of its parts."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import Any

LLVM = "Apache-2.0 WITH LLVM-exception"


def add_sbom(unpacked: Path, target: str, zig_version: str, packages: Path) -> None:
    """Write the parts of a compiled wheel, which was unpacked into a folder, into its metadata."""
    (info,) = unpacked.glob("*.dist-info")
    nanobind = next(packages.glob("nanobind-*.dist-info"))
    robin_map = packages / "nanobind/ext/robin_map/include/tsl/robin_map.h"
    licenses = {
        "nanobind.txt": next(nanobind.rglob("LICENSE")).read_text(),
        "robin-map.txt": license_comment(robin_map.read_text()),
    }
    for name, text in licenses.items():
        (info / "licenses" / name).write_text(text)
    metadata = info / "METADATA"
    listed = "".join(f"License-File: {name}\n" for name in ("LICENSE", *licenses))
    metadata.write_text(metadata.read_text().replace("License-File: LICENSE\n", listed, 1))

    name, version = info.name.removesuffix(".dist-info").split("-")
    nanobind_version = nanobind.name.removesuffix(".dist-info").split("-")[1]
    parts = [
        part("nanobind", nanobind_version, "BSD-3-Clause"),
        part("robin-map", "", "MIT"),
        part("libc++", zig_version, LLVM),
        part("compiler-rt", zig_version, LLVM),
        *([part("mingw-w64", zig_version, "ZPL-2.1")] if target.startswith("windows") else []),
    ]
    document = sbom(part(name, version, "BSD-3-Clause"), parts, zig_version)
    (info / "sboms").mkdir()
    (info / "sboms" / "similitude.cdx.json").write_text(json.dumps(document, indent=1) + "\n")


def sbom(whole: dict[str, Any], parts: list[dict[str, Any]], zig_version: str) -> dict[str, Any]:
    """Return the document for a component and what is linked into it."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": whole,
            "tools": {"components": [{"type": "application", "name": "zig", "version": zig_version}]},
        },
        "components": parts,
        "dependencies": [{"ref": whole["bom-ref"], "dependsOn": [part["bom-ref"] for part in parts]}],
    }


def part(name: str, version: str, license: str) -> dict[str, Any]:
    """Return a component; without a version where its source names none."""
    known = {"version": version} if version else {}
    field = {"expression": license} if " " in license else {"license": {"id": license}}
    return {"type": "library", "bom-ref": name, "name": name, **known, "licenses": [field]}


def license_comment(header: str) -> str:
    """Return the license at the top of a header file."""
    comment = re.search(r"/\*\*?(.*?)\*/", header, re.DOTALL)
    if comment is None or "Permission is hereby granted" not in comment[1]:
        raise SystemExit("robin_map.h does not begin with its license")
    return "\n".join(line.removeprefix(" *").strip() for line in comment[1].strip().splitlines()) + "\n"


def embedded_sbom(wheel: Path) -> str:
    """Return the document inside a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("/sboms/similitude.cdx.json")]
        return archive.read(name).decode()
