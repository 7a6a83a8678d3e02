"""Check the compiled module inside a wheel: ``python module_facts.py WHEEL SYSTEM PROCESSOR``; needs lief."""

from __future__ import annotations

import sys
import zipfile
from typing import Any

import lief

LIBRARIES = {
    "Linux": ("libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-"),
    "Darwin": ("/usr/lib/libSystem.B.dylib",),
    "Windows": ("KERNEL32.dll", "ntdll.dll", "ADVAPI32.dll", "api-ms-win-crt-", "python3"),
}
"""By the system: how the names of the libraries begin that a module may ask for; they come with it or with Python."""

PROCESSORS = {"x86_64": "X86_64", "AMD64": "AMD64", "aarch64": "AARCH64", "arm64": "ARM64"}


def main() -> None:
    """End with an error if the module is for another processor, asks for other libraries, or cannot be imported."""
    wheel, system, processor = sys.argv[1:]
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if "/_compiled." in name]
        module: Any = lief.parse(list(archive.read(name)))
    libraries = [str(getattr(one, "name", one)) for one in module.libraries]
    strange = [one for one in libraries if not one.startswith(LIBRARIES[system])]
    if strange:
        sys.exit(f"{name} asks for {strange}")
    header = module.header
    machine = getattr(header, "machine_type", None) or getattr(header, "machine", None) or header.cpu_type
    if machine.name != PROCESSORS[processor]:
        sys.exit(f"{name} is for {machine.name}")
    exported = {str(one.name).lstrip("_") for one in module.exported_functions}
    if "PyInit__compiled" not in exported:
        sys.exit(f"{name} does not export PyInit__compiled")
    if system == "Darwin" and processor == "arm64" and not module.has_code_signature:
        sys.exit(f"{name} is not signed")
    print(machine.name, *libraries)


main()
