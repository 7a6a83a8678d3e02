"""Versions of Python and of installed packages."""

from __future__ import annotations

import functools
import platform

CORE_PACKAGES = ("similitude", "numpy", "scipy", "scikit-learn")


@functools.cache
def package_version(package: str) -> str:
    """Return the version of an installed package, which is not imported."""
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def core_versions() -> dict[str, str]:
    """Return the versions of Python, similitude and the packages that results depend on."""
    return {"python": platform.python_version(), **{name: package_version(name) for name in CORE_PACKAGES}}
