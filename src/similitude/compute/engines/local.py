"""LocalEngine: tiles in threads of this process, or in processes for similarities written in Python."""

from __future__ import annotations

import functools
import os
import pickle
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ContextDecorator, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar

from similitude.compute.encodings import Encoding
from similitude.compute.engines.engine import (
    Engine,
    Target,
    Task,
    Tile,
    check_checkpoint,
    compute_piece,
    compute_tile,
    delivered,
    tile_inputs,
)
from similitude.compute.engines.progress import ProgressFunction, check_progress, with_progress
from similitude.support import check_integer, naming_parameters


@naming_parameters
@dataclass(frozen=True)
class LocalEngine(Engine):
    """Compute tiles on this computer.

    Parameters
    ----------
    threads : int, optional
        Number of threads over tiles; BLAS is limited to one thread in each until the last tile is read. Default: one
        per available core.
    processes : int, optional
        Number of worker processes for similarities that call a user's Python function. Default: such a function runs
        in the calling thread, one pair after another.
    memory : int or str
        Budget for results and for tiles in flight. What cannot fit is refused before the first similarity is computed.
    progress : bool or callable
        Show progress, on standard error if that is a terminal, or in the cell of a notebook. A function is called as
        ``progress(done, total, text)`` at most ten times a second, and at the end of each pass, in the thread that
        computes; an error that it raises ends the computation. The total is None if it is unknown.
    checkpoint : path, optional
        A file for the partial sums of a pass over all rows, written every few seconds and removed at the end. A fit
        that was killed resumes from it when it is called again with the same data and parameters.

    Examples
    --------
    >>> from similitude.engines import LocalEngine
    >>> LocalEngine(threads=2, memory="1GiB")
    LocalEngine(threads=2, processes=None, memory='1GiB', progress=False, checkpoint=None)
    """

    threads: int | None = None
    processes: int | None = None
    memory: int | str = "2GiB"
    progress: bool | ProgressFunction = False
    checkpoint: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        for name in ("threads", "processes"):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), otherwise="None")
        check_checkpoint(self.checkpoint)
        check_progress(self.progress)
        _ = self.budget

    def workers(self, task: Task) -> int:
        """Return the number of tiles of this task that are computed at once."""
        if task.threadsafe:
            return self.threads or available_cores()
        return self.processes or 1

    def run(
        self, task: Task, A: Encoding, B: Encoding, tiles: Sequence[Tile], target: Target | None = None
    ) -> Iterator[Any]:
        """Yield one result per tile, in order (see `Engine.run`)."""
        n = self.workers(task)
        if n > 1 and len(tiles) > 1 and not task.threadsafe:
            results = delivered(_in_processes(task, A, B, tiles, n), tiles, target)
        else:
            results = self._in_threads(task, A, B, tiles, target, min(n, len(tiles)))
        return with_progress(results, self.progress, len(tiles)) if self.progress else results

    def _in_threads(
        self, task: Task, A: Encoding, B: Encoding, tiles: Sequence[Tile], target: Target | None, threads: int
    ) -> Iterator[Any]:
        """Yield the results of this thread, or of several."""
        if threads <= 1:
            with one_blas_thread if self.threads == 1 else nullcontext():
                for tile in tiles:
                    yield compute_tile(task, A, B, tile, target)
            return
        pool: Any = ThreadPoolExecutor(threads, thread_name_prefix="similitude")
        with one_blas_thread:
            start = functools.partial(pool.submit, compute_tile, task, A, B, target=target)
            yield from _in_order(start, tiles, 2 * threads, close=lambda busy: pool.shutdown(wait=not busy))


def _in_processes(task: Task, A: Encoding, B: Encoding, tiles: Sequence[Tile], processes: int) -> Iterator[Any]:
    from multiprocessing import resource_tracker

    import cloudpickle
    import loky

    def start(tile: Tile) -> Future[Any]:
        inputs = tile_inputs(A, B, tile)
        with _interrupts_deferred():
            future: Future[Any] = pool.submit(_compute_in_worker, pickled, inputs, tile)
        return future

    def close(busy: bool) -> None:
        if busy:
            pool.shutdown(kill_workers=True)

    pickled = cloudpickle.dumps(task)
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with _interrupts_deferred():
        resource_tracker.ensure_running()  # starting it unblocks signals: do that before the first worker starts
    with _interrupts_deferred():
        pool = loky.get_reusable_executor(
            max_workers=processes, timeout=10, initializer=_begin_worker, initargs=(os.getpid(),), env=one_thread
        )
    try:
        yield from _in_order(start, tiles, 2 * processes, close)
    except KeyboardInterrupt:
        close(busy=True)  # a tile may have been submitted whose future nobody holds
        raise


def _in_order(
    start: Callable[[Tile], Future[Any]], tiles: Sequence[Tile], ahead: int, close: Callable[[bool], None]
) -> Iterator[Any]:
    """Yield results in order with at most `ahead` tiles in flight; at the end, cancel the rest and close the pool."""
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
        # seconds that an interrupted run waits for the tiles in flight
        close(bool(wait(pending, timeout=0.5).not_done))


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _BlasLimit(ContextDecorator):
    """A limit on the threads of BLAS, held by contexts and decorated functions in any thread.

    NumPy and SciPy often come with a BLAS each, whose busy threads slow down small factorizations by the other ten
    times. So one limit is for SciPy's alone, and a large factorization lifts it. The last holder restores all.
    """

    _lock = threading.Lock()
    _holders: ClassVar = {"all": 0, "scipy": 0, "lifted": 0}
    _libraries: ClassVar[list[tuple[Any, bool]]] = []
    _before: ClassVar[dict[Any, int]] = {}  # the threads of each library when the first limit was set

    def __init__(self, what: str) -> None:
        self._what = what

    def _count(self, by: int, *_: object) -> None:
        """Count a holder more or less, and set the threads of each library."""
        holders = self._holders
        with self._lock:
            if not any(holders.values()):
                _BlasLimit._libraries = _blas_libraries(len(sys.modules))
                self._before.clear()
            holders[self._what] += by
            few_for_scipy = holders["scipy"] > 0 and not holders["lifted"]
            for library, is_scipys in self._libraries:
                threads = library.num_threads
                wanted = self._before.setdefault(library, threads)
                if holders["all"] or (few_for_scipy and is_scipys):
                    wanted = 1
                if threads != wanted:
                    library.set_num_threads(wanted)

    __enter__ = functools.partialmethod(_count, 1)
    __exit__ = functools.partialmethod(_count, -1)


one_blas_thread = _BlasLimit("all")
one_scipy_thread = _BlasLimit("scipy")
_all_threads = _BlasLimit("lifted")


def factorizing(n: int) -> AbstractContextManager[Any]:
    """Return a context for factorizations of n rows by SciPy: with all threads for many, where several pay."""
    return _all_threads if n >= 1500 else nullcontext()


@contextmanager
def at_most_blas_threads(most: int) -> Iterator[None]:
    """Limit the threads of BLAS, if it uses more: small matrices are factorized more slowly by many threads."""
    before = {one: one.num_threads for one, _ in _blas_libraries(len(sys.modules)) if one.num_threads > most}
    for library in before:
        library.set_num_threads(most)
    try:
        yield
    finally:
        for library, threads in before.items():
            library.set_num_threads(threads)


@functools.lru_cache(maxsize=1)
def _blas_libraries(n_modules: int) -> list[tuple[Any, bool]]:
    """Return each BLAS that is loaded, and whether it is SciPy's beside another; cached until modules are imported."""
    from threadpoolctl import ThreadpoolController

    found = ThreadpoolController().select(user_api="blas").lib_controllers
    of_scipy = [f"{os.sep}scipy" in os.path.dirname(one.filepath) for one in found]
    return [(one, is_scipys and not all(of_scipy)) for one, is_scipys in zip(found, of_scipy, strict=True)]


@contextmanager
def _interrupts_deferred() -> Iterator[None]:
    """Defer Ctrl-C to the end of the context; a process started in it keeps the signal blocked for good."""
    ours = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is not None
    if not ours or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    received: list[tuple[Any, ...]] = []
    handler = signal.signal(signal.SIGINT, lambda *interrupt: received.append(interrupt))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, handler)
        if received and callable(handler):
            handler(*received[0])


def _begin_worker(parent: int) -> None:
    """Leave Ctrl-C to the parent, and end when it is gone, however it ended: loky would go on with its tiles."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32":  # where a process keeps the number of its parent
        threading.Thread(target=_end_with, args=(parent,), daemon=True, name="parent watch").start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGKILL)


_unpickled = functools.lru_cache(maxsize=4)(pickle.loads)


def _compute_in_worker(pickled: bytes, inputs: tuple[Encoding, Encoding], tile: Tile) -> Any:
    return compute_piece(_unpickled(pickled), inputs, tile)
