"""What a kernel states of itself if an optional parameter, such as weights or a metric, may change it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def stated(name: str, without: Any, given: Callable[[Any, Any], Any]) -> Any:
    """Return the property of a kernel that is `without` while its parameter `name` is None, else what is `given`.

    `without` may be such a property itself; ``given(k, value)`` is called with the kernel and the value of `without`.
    """

    def found(k: Any) -> Any:
        value = without.__get__(k) if isinstance(without, property) else without
        return value if getattr(k, name) is None else given(k, value)

    return property(found, doc=f"What holds for this kernel, depending on `{name}`.")
