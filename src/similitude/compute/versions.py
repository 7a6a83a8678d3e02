"""Versions of similitude and of the packages it uses, for bug reports."""

import platform
from importlib import metadata

from similitude.compute.loops import IN_USE

__all__ = ["show_versions"]

PACKAGES = [
    "numpy",
    "scipy",
    "scikit-learn",
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
    >>> from similitude.compute.versions import show_versions
    >>> show_versions()
    similitude: ...
    python: ...
    """
    lines = {
        "similitude": _version("similitude"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        **{package: _version(package) for package in PACKAGES},
        "loops": IN_USE,
    }
    width = max(map(len, lines)) + 1
    for name, value in lines.items():
        print(f"{name + ':':{width}} {value}")


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
