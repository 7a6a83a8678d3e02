"""Workers of a dask cluster."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute.encodings import Encoding, rows
from similitude.compute.engines.dask.partitions import beside, lengths, partitions
from similitude.compute.engines.distributed import Handle, SpreadEngine
from similitude.compute.engines.engine import Target, Task, Tile, compute, deliver
from similitude.compute.engines.local import available_cores, one_blas_thread
from similitude.compute.engines.progress import with_progress
from similitude.support.errors import ClusterError, missing_extra

try:
    import dask
    import distributed
    from dask import delayed
except ImportError:
    raise missing_extra("dask", "DaskEngine") from None

WORKERS = 8
"""Tiles are cut as for so many workers, whatever the cluster has: results do not depend on its size."""


@dataclass(frozen=True, eq=False)
class DaskEngine(SpreadEngine):
    """Compute on the workers of a dask cluster; rows of dask collections stay where they are.

    Parameters
    ----------
    client : distributed.Client or str, optional
        A client, or the address of a scheduler. Default: the client in use; where there is none, a cluster of one
        process per core is started on this machine for as long as it is needed.
    memory : int or str
        Budget for results on the machine at hand, and for what a worker computes with at once.
    progress : bool
        Show progress on standard error, when that is a terminal.
    checkpoint : path, optional
        A file, on the machine at hand, for what a pass over all rows has added up: a fit that ended because the
        cluster went away goes on from there when it is called again.
    """

    client: Any = None
    memory: int | str = "2GiB"
    progress: bool = False
    checkpoint: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        if self.client is not None and not isinstance(self.client, (str, distributed.Client)):
            raise TypeError(f"client must be a distributed.Client, an address or None, got {self.client!r}")
        if self.checkpoint is not None and not isinstance(self.checkpoint, (str, os.PathLike)):
            raise ValueError(f"checkpoint must be the path of a file or None, got {self.checkpoint!r}")
        _ = self.budget

    @property
    def _settings(self) -> tuple[Any, ...]:
        address = self.client.scheduler.address if isinstance(self.client, distributed.Client) else self.client
        return address, self.memory, self.progress, self.checkpoint

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DaskEngine) and self._settings == other._settings

    def __hash__(self) -> int:
        return hash(self._settings)

    def __reduce__(self) -> Any:
        return DaskEngine, self._settings

    def __deepcopy__(self, memo: dict[int, Any]) -> DaskEngine:
        return self

    def quiet(self) -> DaskEngine:
        """Return the same engine without progress."""
        return replace(self, progress=False)

    def workers(self, task: Task) -> int:
        """Return for how many workers tiles are cut."""
        return WORKERS

    # The adapter.

    @contextmanager
    def session(self) -> Iterator[Any]:
        """Hold a client while something is computed."""
        try:
            client = self._client()
        except ValueError:
            client = None
        if client is not None:
            yield client
            return
        with self._place() as place, self._connected(place) as client:
            yield client

    def _place(self) -> Any:
        """Return where to connect to: the address given, or a cluster that is started."""
        if self.client is not None:
            return nullcontext(self.client)
        return distributed.LocalCluster(
            n_workers=available_cores(), threads_per_worker=1, dashboard_address=":0", silence_logs=50
        )

    def _connected(self, place: Any) -> Any:
        try:
            return distributed.Client(place)
        except OSError as error:
            raise ClusterError(f"there is no scheduler at {place}: {error}") from None

    def _client(self) -> Any:
        """Return the client in use; raise ValueError where there is none."""
        client = self.client if isinstance(self.client, distributed.Client) else distributed.get_client()
        if isinstance(self.client, str) and client.scheduler.address != self.client:
            raise ValueError(f"the client in use is not connected to {self.client}")
        if client.status not in ("running", "connecting", "newly-created"):
            raise ClusterError(f"the client is {client.status}: connect to a scheduler again, and give the new client")
        return client

    def columns(self, X: Any, *others: Any) -> list[list[Handle]]:
        """Return the partitions of X, of labels and of weights."""
        found = partitions(X)
        names = ("labels", "weights")
        return [found, *(beside(X, one, len(found), what) for one, what in zip(others, names, strict=False))]

    def broadcast(self, value: Any) -> Handle:
        """Send a value to the workers; it can be had again when a worker that holds it is lost."""
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TiB"}):
            return self._client().submit(_same, value, pure=False)

    def map(self, function: Callable[..., Any], *columns: Sequence[Any]) -> list[Handle]:
        """Return the calls of a function, lazily."""
        lazy, name = delayed(_called, pure=False, traverse=False), f"{function.__name__}-{uuid.uuid4().hex[:12]}"
        return [lazy(function, *one, dask_key_name=f"{name}-{i}") for i, one in enumerate(zip(*columns, strict=True))]

    def collect(self, handles: Sequence[Handle]) -> Iterator[Any]:
        """Compute all at once, and yield the values in order."""
        client = self._client()
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TiB"}):
            futures = deque(client.compute(list(handles)))
        while futures:
            yield self._result(futures.popleft())

    def lazily(self, function: Callable[[Any, int, Any], Any], model: Any, X: Any, like: np.ndarray) -> Any:
        """Return the outcome for all partitions as a lazy array with the same chunks."""
        import dask.array

        found = partitions(X)
        held = delayed(model, name=f"model-{uuid.uuid4().hex}", traverse=False)
        parts = self.map(function, [held] * len(found), range(len(found)), found)
        shapes = [(n, *like.shape[1:]) for n in lengths(X, len(found))]
        pairs = zip(parts, shapes, strict=True)
        return dask.array.concatenate([dask.array.from_delayed(one, shape, meta=like[:0]) for one, shape in pairs])

    def _result(self, future: Any) -> Any:
        """Return a value; where it is the cluster that failed rather than the function, say so."""
        try:
            return future.result()
        except distributed.scheduler.KilledWorker as error:
            raise ClusterError(
                f"{error.task}: {error.allowed_failures + 1} workers died on it one after the other, for want of "
                f"memory most likely: make partitions smaller or give workers more memory"
            ) from error
        except (CancelledError, OSError) as error:
            if future.status == "error":
                raise
            kept = "" if self.checkpoint is None else f"; {self.checkpoint} keeps what was added up so far"
            raise ClusterError(
                f"the scheduler is gone ({type(error).__name__}): connect to another, and fit again{kept}"
            ) from error

    # Tiles.

    def run(
        self, task: Task, A: Encoding, B: Encoding, tiles: Sequence[Tile], target: Target | None = None
    ) -> Iterator[Any]:
        """Yield one result per tile, in order (see `Engine.run`)."""
        results = self._tiles(task, A, B, tiles, target)
        return with_progress(results, len(tiles)) if self.progress else results

    def _tiles(
        self, task: Task, A: Encoding, B: Encoding, tiles: Sequence[Tile], target: Target | None
    ) -> Iterator[Any]:
        sent: dict[tuple[int, int], Handle] = {}
        pending: deque[tuple[Tile, Handle]] = deque()
        with self.session() as client:
            ahead = 2 * max(1, sum(client.nthreads().values()))
            for tile in tiles:
                if len(pending) == ahead:
                    yield self._received(*pending.popleft(), target)
                pending.append((tile, self._submitted(client, task, A, B, tile, sent)))
            while pending:
                yield self._received(*pending.popleft(), target)

    def _submitted(self, client: Any, task: Task, A: Encoding, B: Encoding, tile: Tile, sent: dict[Any, Any]) -> Handle:
        down, right = tile
        diagonal = A is B and down == right
        key = (right.start, right.stop)
        if not diagonal and key not in sent:
            sent[key] = self.broadcast(rows(B, right))
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TiB"}):
            return client.submit(_tile, task, rows(A, down), None if diagonal else sent[key], tile, pure=False)

    def _received(self, tile: Tile, future: Any, target: Target | None) -> Any:
        return deliver(self._result(future), tile, target)


@functools.lru_cache(maxsize=1)
def _keep_memory() -> None:
    """Let the allocator of this process keep up to 128 MiB that strips leave behind.

    Workers of dask give memory back at once (MALLOC_TRIM_THRESHOLD_): asking for it anew at every strip takes as much
    time as computing with it. Only glibc is asked.
    """
    change = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if change is not None:
        change(_MMAP_THRESHOLD, 2**25)
        change(_TRIM_THRESHOLD, 2**27)


_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3


def _called(function: Callable[..., Any], *values: Any) -> Any:
    """Call a function on a worker."""
    _keep_memory()
    with one_blas_thread:
        return function(*values)


def _same(value: Any) -> Any:
    return value


def _tile(task: Task, a: Encoding, b: Encoding | None, tile: Tile) -> Any:
    return _called(compute, task, a, a if b is None else b, tile)
