"""What a long computation does: its phases, and the calls of users' functions, with a limit and what they cost."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from similitude.compute.engines import DistributedEngine, Engine, current_engine
from similitude.support import BudgetError, Result, check_integer


class Meter:
    """Counts the calls of users' functions in a context, and refuses those beyond a limit before they are made."""

    def __init__(self, limit: int | None = None, show: Callable[[Meter], None] | None = None) -> None:
        self.limit = limit
        self.show = show  # called with the meter after calls were counted, for a progress line
        self.spent = 0  # every attempt counts, also those that failed and were repeated
        self.price = 0.0  # where functions state one
        self.started = time.monotonic()
        self.purposes: dict[str, int] = {}  # the calls by what they were spent on
        self.purpose = "similarities"
        self.squares = 0.0
        self.freedom = 0
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, object]:
        """Leave out the lock, and what shows progress: workers have none."""
        return {**vars(self), "show": None, "_lock": None}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        self._lock = threading.Lock()

    @property
    def left(self) -> float:
        """The number of calls that may still be made."""
        return (math.inf if self.limit is None else self.limit) - self.spent

    @property
    def noise(self) -> float | None:
        """The variance of one answer about its mean, from pairs that were asked several times; None without any."""
        return self.squares / self.freedom if self.freedom else None

    def spend(self, calls: int, price: float = 0.0) -> None:
        """Count calls that are about to be made; raise BudgetError if they exceed the limit."""
        with self._lock:
            if self.limit is not None and calls > self.limit - self.spent:
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
        before = self.purpose
        self.purpose = purpose
        try:
            yield
        finally:
            self.purpose = before


def budgeted(max_calls: int | None, engine: Engine | None = None) -> AbstractContextManager[Meter]:
    """Validate a budget, and return a context in which calls of users' functions are counted and bounded by it."""
    if max_calls is not None:
        check_max_calls(max_calls, engine)
    return metered(Meter(max_calls))


def check_max_calls(max_calls: int | None, engine: Engine | None = None) -> None:
    """Validate a budget: a positive integer, with an engine that calls functions in this process, or None."""
    if max_calls is None:
        return
    check_integer("max_calls", max_calls, otherwise="None")
    engine = engine or current_engine()
    if isinstance(engine, DistributedEngine) or getattr(engine, "processes", None) is not None:
        raise ValueError(
            f"max_calls counts the calls that this process makes, and {type(engine).__name__} calls functions in other "
            "processes: use LocalEngine() without processes; FromPairs(f, workers=...) makes several calls at once"
        )


open_meters: ContextVar[tuple[Meter, ...]] = ContextVar("meters", default=())
"""The meters of all contexts that are open."""


@contextmanager
def metered(meter: Meter) -> Iterator[Meter]:
    """Return a context in which calls of users' functions count on a meter, and on those of outer contexts."""
    token = open_meters.set((*open_meters.get(), meter))
    try:
        yield meter
    finally:
        open_meters.reset(token)


@dataclass(frozen=True)
class Calls(Result):
    """The calls of users' functions that something took, and what they cost.

    Attributes
    ----------
    spent : int
        Every attempt counts, and every repeat; values from a cache do not.
    limit : int or None
        The most that were allowed.
    purposes : dict of str to int
        What they were spent on.
    price : float or None
        What they cost, if the function states the cost of a call.
    per_prediction : float or None
        Mean calls of a prediction.
    most_per_prediction : int or None
        The most calls of a prediction.
    price_per_prediction : float or None
        The mean cost of a prediction.
    noise : float or None
        The variance of an answer, if the function is asked repeatedly.
    """

    spent: int
    limit: int | None = None
    purposes: dict[str, int] | None = None
    price: float | None = None
    per_prediction: float | None = None
    most_per_prediction: int | None = None
    price_per_prediction: float | None = None
    noise: float | None = None

    @classmethod
    def of(cls, meter: Meter, cost: float | None, mean: float | None = None, most: int | None = None) -> Calls:
        """Return what a meter counted; `cost` is that of a call, `mean` and `most` are the calls of a prediction."""
        counted = cls(meter.spent, meter.limit, dict(meter.purposes), None, mean, most, None, meter.noise)
        if cost is None:
            return counted
        return replace(counted, price=meter.price, price_per_prediction=mean and cost * mean)

    def __str__(self) -> str:
        found = f"{self.spent:,} calls"
        if self.limit is not None:
            found = f"{self.spent:,} of {self.limit:,} calls"
        if self.per_prediction is not None:
            has_digit = self.per_prediction < 100 and self.per_prediction != int(self.per_prediction)
            found += f" to fit, {self.per_prediction:,.{int(has_digit)}f} a prediction"
            if self.most_per_prediction is not None and self.most_per_prediction > self.per_prediction:
                found += f" on average (at most {self.most_per_prediction:,})"
        if self.price is not None:
            found += f"; about {_money(self.price)}"
            if self.price_per_prediction is not None:
                found += f" to fit, {_money(self.price_per_prediction)} a prediction"
        return found


def _money(amount: float) -> str:
    """Return an amount with two decimals, or with two digits if it is smaller than a cent."""
    return f"${amount:,.2f}" if amount >= 0.01 or amount == 0 else f"${amount:.2g}"


def progress_line(meter: Meter) -> str:
    """Return how many calls were made, of how many, and about how long the rest will take."""
    if meter.limit is None or not meter.spent:
        return f"{meter.spent:,} calls"
    seconds = (time.monotonic() - meter.started) / meter.spent * (meter.limit - meter.spent)
    left = f"{seconds / 3600:.1f} h"
    if seconds < 90:
        left = f"{seconds:.0f} s"
    elif seconds < 5400:
        left = f"{seconds / 60:.0f} min"
    return f"{meter.spent:,} of {meter.limit:,} calls, about {left} left"


_report_phase: ContextVar[Callable[[str], Any] | None] = ContextVar("report_phase", default=None)


@contextmanager
def phases_reported_to(report: Callable[[str], Any]) -> Iterator[None]:
    """Return a context in which `report` is called with the name of each phase of a fit, as it begins."""
    token = _report_phase.set(report)
    try:
        yield
    finally:
        _report_phase.reset(token)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Return a context for a phase of a fit, such as ``"choosing landmarks"``; nested phases are not reported."""
    report = _report_phase.get()
    if report is not None:
        report(name)
    token = _report_phase.set(None)
    try:
        yield
    finally:
        _report_phase.reset(token)
