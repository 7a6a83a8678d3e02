"""What a fit costs: seconds, memory and calls, from fixed constants and never from a clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from similitude.compute.engines import format_bytes
from similitude.support import Result

if TYPE_CHECKING:
    from similitude.fitting.facts import Facts


@dataclass(frozen=True)
class Cost(Result):
    """What a fit takes.

    Attributes
    ----------
    seconds : float
    memory : float
        Bytes, at most.
    calls : float
        Of the user's functions.
    prediction : float
        Seconds to predict one object.
    """

    seconds: float
    memory: float
    calls: float
    prediction: float

    def __str__(self) -> str:
        parts = [f"{in_seconds(self.seconds)} and {format_bytes(self.memory)}"]
        if self.calls:
            parts.append(f"{self.calls:,.0f} calls of your function")
        parts.append(f"{in_seconds(self.prediction)} a prediction")
        return ", ".join(parts)


@dataclass(frozen=True)
class Spent(Result):
    """What a fit took.

    Attributes
    ----------
    seconds : float
    calls : int
        Of the user's functions.
    """

    seconds: float
    calls: int

    def __str__(self) -> str:
        calls = f", {self.calls:,} calls of your function" if self.calls else ""
        return f"{in_seconds(self.seconds)}{calls}"


def in_seconds(seconds: float) -> str:
    """Return a time as a person reads it.

    >>> in_seconds(0.00012), in_seconds(2.34), in_seconds(600)
    ('0.12 ms', '2.3 s', '10 min')
    """
    if seconds < 0.1:
        return f"{1000 * seconds:.2g} ms"
    return f"{seconds:.2g} s" if seconds < 120 else f"{seconds / 60:.2g} min"


def estimated_gram(n: int, several: bool) -> Cost:
    """Return the cost of ridge regression on a Gram matrix, with one penalty or several."""
    return Cost(1e-9 * n**3, 8.0 * 3 * n**2, 0.0, 1e-8 * n)


def estimated(case: str, facts: Facts) -> Cost:
    """Return the cost of a case of the table."""
    return Cost(1.0, 1e6, 0.0, 1e-3)
