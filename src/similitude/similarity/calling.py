"""Calling a user's function of pairs: in batches, concurrently, with retries, time-outs and a rate limit.

Values are delivered as they arrive, so that a failure or Ctrl-C loses nothing that was computed. A plain function that
is called one pair at a time runs in the calling thread; anything else is scheduled by one event loop in a thread of its
own, so that an async function also works where another event loop is running already, as in a notebook.
"""

from __future__ import annotations

import asyncio
import inspect
import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from similitude.similarity.meter import open_meters
from similitude.similarity.read_only import is_async, with_hint
from similitude.support import BudgetError, PairError, brief, in_daemon_thread

if TYPE_CHECKING:
    from similitude.similarity.adapters import FromPairs

RETRIED = (OSError, asyncio.TimeoutError)  # an OSError from Python 3.11 on
"""Errors after which a pair is asked again if `retry_on` is not given: connections that fail, and time-outs."""

FIRST_DELAY = 0.5
"""Seconds before the first retry, which double with each further one, up to a minute."""

OF_MATRICES = "if it is a function of matrices, f(X, Z), wrap it: FromBlocks(f)"
"""What to do about a function that takes all objects at once."""

Deliver = Callable[[Sequence[int], Sequence[float]], None]
Request = list[int]
"""The positions of the pairs that are sent in one call."""

Take = Callable[[Request, list[float]], None]


def errors_to_retry(given: Any) -> tuple[Any, ...]:
    """Return the errors after which a pair is asked again."""
    if given is None:
        return RETRIED
    if isinstance(given, type) or not hasattr(given, "__iter__"):
        return (given,)
    return tuple(given)


def check_errors(name: str, given: Any) -> None:
    """Validate the errors after which a pair is asked again."""
    for kind in errors_to_retry(given):
        if not (isinstance(kind, type) and issubclass(kind, Exception)):
            raise TypeError(f"{name} must be exception classes such as ConnectionError, got {brief(kind)}")


def call_pairs(
    how: FromPairs, pairs: Sequence[tuple[Any, Any]], deliver: Deliver, at: Callable[[int], tuple[int, int]]
) -> None:
    """Call a function for every pair; deliver values in this thread, by positions; `at` gives row and column."""
    calls = _Calls(how, pairs, at)
    answers: dict[int, list[float]] = {}  # of pairs that are asked repeatedly

    def take(request: Request, numbers: list[float]) -> None:
        if how.repeats == 1:
            deliver(request, numbers)
            return
        for p, number in zip(request, numbers, strict=True):
            given = answers.setdefault(p // how.repeats, [])
            given.append(number)
            if len(given) == how.repeats:
                mean = math.fsum(given) / how.repeats
                for meter in calls.meters:
                    meter.observe(math.fsum((one - mean) ** 2 for one in given), how.repeats - 1)
                del answers[p // how.repeats]
                deliver([p // how.repeats], [mean])

    if calls.in_this_thread:
        for request in calls.requests():
            try:
                calls.attempts(request).send(None)  # it never waits, so it runs to its end
            except StopIteration as done:
                take(request, done.value)
    else:
        calls.on_loop(take)


def as_number(value: Any, i: int, j: int, x: Any, z: Any) -> float:
    """Return what a function returned for the pair (x, z) at row i and column j as a finite float."""
    is_scalar_array = hasattr(value, "shape") and tuple(value.shape) == () and not np.iscomplexobj(value)
    if isinstance(value, (Real, Decimal)) or is_scalar_array:
        number = float(value) if abs(value) < 1e308 else math.inf
        if math.isfinite(number):
            return number
    if inspect.iscoroutine(value):
        value.close()
        problem = "a coroutine: define the function by async def, so that it is awaited"
        raise PairError(i, j, f"f({brief(x)}, {brief(z)}) is {problem}")
    several = isinstance(value, list) or (isinstance(value, np.ndarray) and value.ndim > 0)
    hint = f"; {OF_MATRICES}" if several else ""
    raise PairError(i, j, f"f({brief(x)}, {brief(z)}) is {brief(value)}, not a finite real number{hint}")


def hint_of_matrices(f: Callable[..., Any], x: Any, z: Any) -> str:
    """Return a hint if a function that failed for two vectors works on two matrices of a row each."""
    x = np.asarray(x)
    z = np.asarray(z)
    if x.ndim != 1 or z.ndim != 1 or x.dtype.kind not in "fiu":
        return ""
    try:
        works = np.shape(f(x[None], z[None])) == (1, 1)
    except Exception:
        return ""
    return f"; {OF_MATRICES}" if works else ""


class _Calls:
    """The calls for some pairs: requests in order, attempts, and errors that name the pair."""

    def __init__(self, how: FromPairs, pairs: Sequence[tuple[Any, Any]], at: Callable[[int], tuple[int, int]]) -> None:
        self.how = how
        self.pairs = pairs
        self.at = at
        self.meters = open_meters.get()
        self.is_async = is_async(how.f)
        self.in_this_thread = how.workers == 1 and how.timeout is None and not self.is_async
        self.retried = errors_to_retry(how.retry_on)
        self.stopped = False

    def requests(self) -> Iterator[Request]:
        """Yield the positions of the calls that one request sends; every pair occurs once for each repeat."""
        n = len(self.pairs) * self.how.repeats
        size = self.how.batch or 1
        for start in range(0, n, size):
            yield list(range(start, min(start + size, n)))

    def arguments(self, request: Request) -> tuple[Any, ...]:
        """Return what the function is called with."""
        pairs = [self.pairs[p // self.how.repeats] for p in request]
        return tuple(pairs[0]) if self.how.batch is None else (pairs,)

    def delay(self, error: BaseException, attempt: int) -> float | None:
        """Return the seconds to wait before another attempt; None if there is none."""
        if attempt >= self.how.retries or not isinstance(error, self.retried):
            return None
        asked = getattr(error, "retry_after", None)
        own = min(60.0, FIRST_DELAY * 2**attempt)
        return max(own, float(asked)) if isinstance(asked, (int, float)) else own

    def numbers(self, request: Request, answer: Any) -> list[float]:
        """Return the answer to a request as floats; an error names the pair."""
        answers = [answer]
        if self.how.batch is not None:
            try:
                answers = list(answer)
            except TypeError:
                answers = []
        if len(answers) != len(request):
            raise self.error(request, f"returned {brief(answer)}: {len(request)} numbers are needed")
        found = []
        for p, one in zip(request, answers, strict=True):
            x, z = self.pairs[p // self.how.repeats]
            found.append(as_number(one, *self.at(p // self.how.repeats), x, z))
        return found

    def error(self, request: Request, problem: str) -> PairError:
        """Return the error of a request, which names its first pair."""
        first = request[0] // self.how.repeats
        x, z = self.pairs[first]
        called = f"f({brief(x)}, {brief(z)})"
        if self.how.batch is not None:
            called = f"f(pairs) for a batch of {len(request)} pairs, of which the first is ({brief(x)}, {brief(z)}),"
        return PairError(*self.at(first), f"{called} {problem}")

    def failed(self, request: Request, error: BaseException, attempts: int) -> BaseException:
        """Return the error to raise after the last attempt."""
        if isinstance(error, (PairError, BudgetError)) or not isinstance(error, Exception):
            return error
        text = f"raised {with_hint(error)}"
        if isinstance(error, _TookTooLongError):
            text = f"took longer than {self.how.timeout:g} s"
        if attempts > 1:
            text += f", after {attempts} attempts"
        named = self.error(request, text)
        named.__cause__ = error
        return named

    async def attempts(self, request: Request) -> list[float]:
        """Return the numbers of the first attempt that succeeds."""
        attempt = 0
        while True:
            try:
                for meter in self.meters:
                    meter.spend(len(request), len(request) * (self.how.cost or 0.0))
                await self._sleep(_wait_for_slot(self.how.f, self.how.rate))
                return self.numbers(request, await self._answer(self.arguments(request)))
            except Exception as error:
                delay = self.delay(error, attempt)
                attempt += 1
                if delay is None:
                    final = self.failed(request, error, attempt)
                    raise final from final.__cause__
            await self._sleep(delay)

    async def _sleep(self, seconds: float) -> None:
        if seconds <= 0:  # sleeping for no time takes as long as a quick function
            return
        if self.in_this_thread:
            time.sleep(seconds)
        else:
            await asyncio.sleep(seconds)

    def on_loop(self, take: Take) -> None:
        """Send requests concurrently, and take their values in this thread as they arrive.

        After an error those on their way are awaited, and the first pair that failed is named: requests are sent in
        order, so this does not depend on the concurrency.
        """
        arrived: list[Any] = []
        wake = threading.Event()
        future = asyncio.run_coroutine_threadsafe(self._work(arrived, wake), _event_loop())
        future.add_done_callback(lambda _: wake.set())
        taken = 0
        errors = []
        deadline = math.inf
        interrupt: BaseException | None = None
        while taken < len(arrived) or not (future.done() or time.monotonic() > deadline):
            try:
                if taken == len(arrived):
                    wake.wait(0.1)
                    wake.clear()
                    continue
                request, numbers, error = arrived[taken]
                if error is None:
                    take(request, numbers)
                else:
                    errors.append((request[0], error))
                taken += 1
            except BaseException as stop:  # Ctrl-C, for instance: what arrives within a second is still taken
                if interrupt is not None:
                    raise
                self.stopped = True
                interrupt = stop
                deadline = time.monotonic() + 1.0
        if interrupt is not None:
            future.cancel()
            raise interrupt
        if errors:
            _, final = min(errors, key=lambda one: one[0])
            raise final from final.__cause__
        future.result()

    async def _work(self, arrived: list[Any], wake: threading.Event) -> None:
        requests = self.requests()

        async def worker() -> None:
            for request in requests:
                if self.stopped:
                    return
                try:
                    arrived.append((request, await self.attempts(request), None))
                except Exception as error:
                    self.stopped = True
                    arrived.append((request, [], error))
                wake.set()

        n_useful = min(self.how.workers, len(self.pairs) * self.how.repeats)
        await asyncio.gather(*[worker() for _ in range(n_useful)])

    async def _answer(self, arguments: tuple[Any, ...]) -> Any:
        f = self.how.f
        if self.in_this_thread:
            return f(*arguments)
        answer = f(*arguments) if self.is_async else asyncio.wrap_future(in_daemon_thread(f, *arguments))
        if self.how.timeout is None:
            return await answer
        running = asyncio.ensure_future(answer)
        done, _ = await asyncio.wait([running], timeout=self.how.timeout)
        if not done:
            running.cancel()
            raise _TookTooLongError()
        return running.result()


class _TookTooLongError(TimeoutError):
    """A call took longer than the time-out; a plain function goes on in its thread, and its value is dropped."""


_loops: dict[int, asyncio.AbstractEventLoop] = {}
_loops_lock = threading.Lock()


def _event_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of this process that calls are scheduled on; it runs in a thread of its own."""
    with _loops_lock:
        if os.getpid() not in _loops:
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, daemon=True, name="event loop for calls").start()
            _loops[os.getpid()] = loop
        return _loops[os.getpid()]


_slots: dict[int, tuple[Any, list[float]]] = {}
_slots_lock = threading.Lock()


def _wait_for_slot(f: Any, rate: float | None) -> float:
    """Return the seconds until the next slot of a function at a rate, which all its users in this process share."""
    if rate is None:
        return 0.0
    with _slots_lock:
        _, following = _slots.setdefault(id(f), (f, [0.0]))
        now = time.monotonic()
        start = max(now, following[0])
        following[0] = start + 1.0 / rate
        return start - now
