"""Versions of similitude and of the packages it uses, for bug reports."""

import platform

from similitude.compute.loops import IN_USE
from similitude.support import core_versions, package_version

__all__ = ["show_versions"]

OTHER_PACKAGES = [
    "threadpoolctl",
    "cloudpickle",
    "loky",
    "psutil",
    "array-api-compat",
    "torch",
    "dask",
    "pandas",
    "polars",
    "pyarrow",
    "typer",
    "rich",
]


def show_versions() -> None:
    """Print the versions of similitude, Python and the packages used, and which loops are in use.

    Optional packages are looked up, not imported.

    Examples
    --------
    >>> from similitude import show_versions
    >>> show_versions()
    python: ...
    similitude: ...
    """
    lines = {
        **core_versions(),
        "platform": platform.platform(),
        **{package: package_version(package) for package in OTHER_PACKAGES},
        "loops": IN_USE,
    }
    width = max(map(len, lines)) + 1
    for name, value in lines.items():
        print(f"{name + ':':{width}} {value}")
