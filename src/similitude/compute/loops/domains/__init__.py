"""The domain of every loop: what its arguments must satisfy, checked here alone before either of its versions runs.

A domain is a function with the signature of its loop. It refuses what the compiled loop could not survive (entries out
of range, arrays of another type or shape, sizes that overflow), and what neither version gives a meaning to. Values
that a function is applied to are not looked at one by one: outside of what `named_functions` says of them, results are
NaN or mean nothing, and nothing is read or written out of place.
"""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from similitude.compute.loops.domains.numbers import OF_NUMBERS
from similitude.compute.loops.domains.objects import MOST_NEIGHBORS, OF_OBJECTS, words_near

__all__ = ["DOMAINS", "MOST_NEIGHBORS", "checked", "words_near"]

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
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name}: {error}") from None
        return loop(*arguments, **named)

    return run  # type: ignore[return-value]
