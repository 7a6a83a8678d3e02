"""Counting calls of a user's function: a meter with a limit, what calls were spent on, and what they cost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from similitude.support import BudgetError


class Meter:
    """Counts the calls of users' functions in a context, and refuses those beyond a limit before they are made.

    Parameters
    ----------
    limit : int, optional
        Most calls.
    show : callable, optional
        Called with the meter after calls were counted, for a progress line.

    Attributes
    ----------
    spent : int
        Calls so far; every attempt counts, also those that failed and were repeated.
    purposes : dict of str to int
        The calls by what they were spent on.
    price : float
        The money that they cost, where functions state a price.
    """

    def __init__(self, limit: int | None = None, show: Callable[[Meter], None] | None = None) -> None:
        self.limit, self.show = limit, show
        self.spent, self.price, self.started = 0, 0.0, time.monotonic()
        self.purposes: dict[str, int] = {}
        self.purpose = "similarities"
        self.squares, self.freedom = 0.0, 0
        self._lock = threading.Lock()

    @property
    def left(self) -> float:
        """The number of calls that may still be made."""
        return float("inf") if self.limit is None else self.limit - self.spent

    @property
    def noise(self) -> float | None:
        """The variance of one answer about its mean, from pairs that were asked several times; None without any."""
        return self.squares / self.freedom if self.freedom else None

    def spend(self, calls: int, price: float = 0.0) -> None:
        """Count calls that are about to be made; raise BudgetError if they exceed the limit."""
        with self._lock:
            if calls > self.left:
                raise BudgetError(
                    f"the budget of {self.limit:,} calls is spent: {self.spent:,} were made, and {calls:,} more are "
                    f"needed for {self.purpose}; raise max_calls, or use fewer rows or landmarks"
                )
            self.spent += calls
            self.price += price
            self.purposes[self.purpose] = self.purposes.get(self.purpose, 0) + calls
        if self.show is not None:
            self.show(self)

    def observe(self, squares: float, freedom: int) -> None:
        """Add squared deviations of repeated answers from their means, and their degrees of freedom."""
        with self._lock:
            self.squares += squares
            self.freedom += freedom

    @contextmanager
    def spending_on(self, purpose: str) -> Iterator[None]:
        """Name what calls are spent on inside of the context."""
        before, self.purpose = self.purpose, purpose
        try:
            yield
        finally:
            self.purpose = before


_meters: ContextVar[tuple[Meter, ...]] = ContextVar("meters", default=())


def current_meters() -> tuple[Meter, ...]:
    """Return the meters of all contexts that are open."""
    return _meters.get()


@contextmanager
def metered(meter: Meter) -> Iterator[Meter]:
    """Return a context in which calls of users' functions count on a meter, and on those of outer contexts."""
    token = _meters.set((*_meters.get(), meter))
    try:
        yield meter
    finally:
        _meters.reset(token)


def spend(meters: tuple[Meter, ...], calls: int, price: float = 0.0) -> None:
    """Count calls on several meters; none is made if one of them refuses."""
    for meter in meters:
        meter.spend(calls, price)
