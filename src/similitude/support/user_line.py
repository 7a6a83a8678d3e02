"""The line of the user's program that a warning is about."""

from __future__ import annotations

from inspect import currentframe

LIBRARIES = ("similitude", "sklearn")
"""Packages between the user and a warning; scikit-learn wraps methods, and calls those of the steps of a pipeline."""


def user_stacklevel() -> int:
    """Return the ``stacklevel`` with which `warnings.warn` names the first line outside this library."""
    frame = currentframe()
    level = 0
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in LIBRARIES:
        frame = frame.f_back
        level = level + 1
    return level
