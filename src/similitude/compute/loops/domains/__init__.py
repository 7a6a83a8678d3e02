"""The domain of every loop: what its arguments must satisfy, checked here alone before either of its versions runs.

A domain is a function with the signature of its loop. It refuses what the compiled loop could not survive (entries out
of range, arrays of another type or shape, sizes that overflow), and what neither version gives a meaning to. Values
that a function is applied to are not looked at one by one: outside of what `named_functions` says of them, results are
NaN or mean nothing, and nothing is read or written out of place.

Arrays that come over a network, or are fields of records, may begin anywhere in memory: they are copied.
"""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from similitude.compute.loops.domains.numbers import OF_NUMBERS
from similitude.compute.loops.domains.objects import (
    LONGEST_SUBSEQUENCE,
    MOST_NEIGHBORS,
    OF_OBJECTS,
    SIZES_OF_FACTORS,
    words_near,
)
from similitude.compute.loops.domains.requirements import UnalignedError

__all__ = ["DOMAINS", "LONGEST_SUBSEQUENCE", "MOST_NEIGHBORS", "SIZES_OF_FACTORS", "checked", "words_near"]

DOMAINS = OF_NUMBERS | OF_OBJECTS

Loop = TypeVar("Loop", bound=Callable[..., Any])


def checked(loop: Loop) -> Loop:
    """Return the loop with its domain in front; errors begin with the name of the loop."""
    name = loop.__name__
    domain = DOMAINS[name]

    @functools.wraps(loop)
    def run(*arguments: Any, **named: Any) -> Any:
        try:
            domain(*arguments, **named)
        except UnalignedError as error:
            copied, named = _with_copy((arguments, named), error.given, error.given.copy())
            return run(*copied, **named)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name}: {error}") from None
        return loop(*arguments, **named)

    return run  # type: ignore[return-value]


def _with_copy(value: Any, given: Any, copied: Any) -> Any:
    """Return arguments with an array replaced by its copy, inside of tuples and dicts, too."""
    if value is given:
        return copied
    if isinstance(value, dict):
        return {name: _with_copy(part, given, copied) for name, part in value.items()}
    if isinstance(value, tuple):
        parts = [_with_copy(part, given, copied) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value
