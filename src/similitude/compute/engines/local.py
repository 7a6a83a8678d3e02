"""The machine at hand: threads over tiles, or processes for a Python function."""

from __future__ import annotations

import functools
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

from similitude.compute.encodings import Encoding
from similitude.compute.engines.engine import Engine, Target, Task, Tile, compute, cut, deliver
from similitude.compute.engines.progress import with_progress

PATIENCE = 0.5
"""Seconds that an interrupted run waits for tiles under way."""


@dataclass(frozen=True)
class LocalEngine(Engine):
    """Compute tiles on this machine.

    Parameters
    ----------
    threads : int, optional
        Threads over tiles, with BLAS held to one thread each until the last tile is read. Default: one per
        available core.
    processes : int, optional
        Worker processes for similarities that call a user's Python function. Default: such a function runs in
        the calling thread, one pair after another.
    memory : int or str
        Budget for results and for tiles in flight. What cannot fit is refused before the first kernel call.
    progress : bool
        Show progress on standard error, when that is a terminal.
    checkpoint : path, optional
        A file for what a pass over all rows has added up, written every few seconds and removed at the end. A fit that
        was killed goes on from there when it is called again with the same data and parameters.

    Examples
    --------
    >>> from similitude.compute.engines import LocalEngine
    >>> LocalEngine(threads=2, memory="1GiB")
    LocalEngine(threads=2, processes=None, memory='1GiB', progress=False, checkpoint=None)
    """

    threads: int | None = None
    processes: int | None = None
    memory: int | str = "2GiB"
    progress: bool = False
    checkpoint: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        for name in ("threads", "processes"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, Integral) or value < 1):
                raise ValueError(f"{name} must be a positive integer or None, got {value!r}")
        if self.checkpoint is not None and not isinstance(self.checkpoint, (str, os.PathLike)):
            raise ValueError(f"checkpoint must be the path of a file or None, got {self.checkpoint!r}")
        _ = self.budget

    def __deepcopy__(self, memo: dict[int, Any]) -> LocalEngine:
        return self

    def workers(self, task: Task) -> int:
        """Return how many tiles of this task are computed at once."""
        return (self.threads or available_cores()) if task.threadsafe else (self.processes or 1)

    def quiet(self) -> LocalEngine:
        """Return the same engine without progress."""
        return replace(self, progress=False)

    def run(
        self, task: Task, A: Encoding, B: Encoding, tiles: Sequence[Tile], target: Target | None = None
    ) -> Iterator[Any]:
        """Yield one result per tile, in order (see `Engine.run`)."""
        if self.workers(task) == 1 or len(tiles) == 1:
            results = self._serial(task, A, B, tiles, target)
        elif task.threadsafe:
            results = self._threaded(task, A, B, tiles, target)
        else:
            results = self._in_processes(task, A, B, tiles, target)
        return with_progress(results, len(tiles)) if self.progress else results

    def _serial(
        self, task: Task, A: Encoding, B: Encoding, tiles: Sequence[Tile], target: Target | None
    ) -> Iterator[Any]:
        with one_blas_thread if self.threads == 1 else nullcontext():
            for tile in tiles:
                yield compute(task, *cut(A, B, tile), tile, target)

    def _threaded(
        self, task: Task, A: Encoding, B: Encoding, tiles: Sequence[Tile], target: Target | None
    ) -> Iterator[Any]:
        def start(tile: Tile) -> Future[Any]:
            return pool.submit(compute, task, *cut(A, B, tile), tile, target)

        pool = ThreadPoolExecutor(self.workers(task), thread_name_prefix="similitude")
        with one_blas_thread:
            yield from _in_order(start, tiles, 2 * self.workers(task), close=lambda busy: pool.shutdown(wait=not busy))

    def _in_processes(
        self, task: Task, A: Encoding, B: Encoding, tiles: Sequence[Tile], target: Target | None
    ) -> Iterator[Any]:
        from multiprocessing import resource_tracker

        import cloudpickle
        import loky

        def start(tile: Tile) -> Future[Any]:
            a, b = cut(A, B, tile)
            with _interrupts_held():
                future: Future[Any] = pool.submit(_in_worker, written, a, None if b is a else b, tile)
            return future

        def close(busy: bool) -> None:
            if busy:
                pool.shutdown(kill_workers=True)

        written = cloudpickle.dumps(task)
        one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        with _interrupts_held():
            resource_tracker.ensure_running()  # whose start lets held interrupts go: not with the first worker, then
        with _interrupts_held():
            pool = loky.get_reusable_executor(
                max_workers=self.processes, timeout=10, initializer=_ignore_interrupt, env=one_thread
            )
        try:
            for tile, result in zip(tiles, _in_order(start, tiles, 2 * self.workers(task), close), strict=True):
                yield deliver(result, tile, target)
        except KeyboardInterrupt:
            close(busy=True)  # with a tile, it may be, that was started and that nobody waits for
            raise


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _in_order(
    start: Callable[[Tile], Future[Any]], tiles: Sequence[Tile], ahead: int, close: Callable[[bool], None]
) -> Iterator[Any]:
    """Yield results in order, `ahead` tiles at most under way; however it ends, cancel the rest and close."""
    pending: deque[Future[Any]] = deque()
    try:
        for tile in tiles:
            if len(pending) == ahead:
                yield pending.popleft().result()
            pending.append(start(tile))
        while pending:
            yield pending.popleft().result()
    finally:
        for future in pending:
            future.cancel()
        close(bool(wait(pending, timeout=PATIENCE).not_done))


class _OneBlasThread:
    """Hold BLAS to one thread while anybody in this process asks for it; the last one gives the others back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._limits: Any = None

    def __enter__(self) -> None:
        with self._lock:
            self._limits = self._limits or _blas_libraries(len(sys.modules)).limit(limits=1, user_api="blas")
            self._holders += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                self._limits.restore_original_limits()
                self._limits = None


one_blas_thread = _OneBlasThread()
"""While it is entered, by anybody, BLAS has one thread."""


@functools.lru_cache(maxsize=1)
def _blas_libraries(modules: int) -> Any:
    """Return what holds the threads of all loaded libraries; looked up again when further modules are imported."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Let Ctrl-C wait; a process started meanwhile has it held for good, also while it imports what it needs."""
    ours = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is not None
    if not ours or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    came: list[tuple[Any, ...]] = []
    answer = signal.signal(signal.SIGINT, lambda *interrupt: came.append(interrupt))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, answer)
        if came and callable(answer):
            answer(*came[0])


def _ignore_interrupt() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@functools.lru_cache(maxsize=4)
def _read(written: bytes) -> Task:
    import pickle

    task: Task = pickle.loads(written)
    return task


def _in_worker(written: bytes, a: Encoding, b: Encoding | None, tile: Tile) -> Any:
    return compute(_read(written), a, a if b is None else b, tile)
