"""From a similarity, objects and labels to findings, and from findings to text, JSON, figures and one HTML page."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from similitude.report.findings import Findings, investigate
    from similitude.report.writing import write_report

__all__ = ["Findings", "investigate", "write_report"]

_HOMES = {"Findings": "findings", "investigate": "findings", "write_report": "writing"}

_MODULES = ("figures",)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"similitude.report.{_HOMES[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"similitude.report.{name}")
    raise AttributeError(f"module 'similitude.report' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
