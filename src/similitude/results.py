"""The manners of every result: frozen, readable, convertible."""

from __future__ import annotations

import dataclasses
import html
from typing import Any

import numpy as np


class Result:
    """A frozen dataclass that a person can read and a program can store.

    Subclasses are frozen dataclasses that write ``__str__``.
    """

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain dicts, lists, numbers and strings."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return {field.name: _plain(getattr(self, field.name)) for field in fields}

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def _plain(value: Any) -> Any:
    if isinstance(value, Result):
        return value.to_dict()
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)
