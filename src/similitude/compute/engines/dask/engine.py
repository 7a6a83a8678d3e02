"""DaskEngine: tiles, and functions of the partitions of a collection, on the workers of a Dask cluster."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute.encodings import Encoding, is_distributed, rows
from similitude.compute.engines.distributed import DistributedEngine, Handle
from similitude.compute.engines.engine import Target, Task, Tile, check_checkpoint, compute_piece, delivered
from similitude.compute.engines.local import available_cores, one_blas_thread
from similitude.compute.engines.progress import ProgressFunction, check_progress, with_progress
from similitude.support import ClusterError, brief, missing_extra, naming_parameters


def partitions_of(X: Any) -> list[Handle]:
    """Return the partitions of a collection, each with whole rows."""
    if not is_distributed(X) or not hasattr(X, "to_delayed"):
        raise TypeError(f"a dask array, dataframe or bag is needed, got {type(X).__name__}")
    if hasattr(X, "chunks") and X.ndim > 1:
        X = X.rechunk({axis: -1 for axis in range(1, X.ndim)})
    # data frames are optimized, so that only the needed columns are read; partitions of arrays and bags keep their
    # keys, so that what X and its labels have in common is computed once
    options = {} if hasattr(X, "divisions") else {"optimize_graph": False}
    return list(np.ravel(X.to_delayed(**options)))


def column_partitions(X: Any, column: Any, n: int, what: str) -> list[Any]:
    """Return the labels or weights for each of the n partitions of X."""
    if column is None:
        return [None] * n
    if isinstance(column, str):
        if not hasattr(X, "columns"):
            raise ValueError(f"{what}: there is no column {column!r}, X is a {type(X).__name__} without columns")
        if column not in X.columns:
            raise ValueError(f"{what}: there is no column {column!r}, there are {brief(list(X.columns))}")
        return [column] * n
    if not is_distributed(column):
        raise TypeError(
            f"{what} of a dask collection are a collection with the same partitions or the name of a column, got "
            f"{type(column).__name__}: use dask.array.from_array({what}, chunks=...)"
        )
    found = partitions_of(_rechunked(X, column, what))
    if len(found) != n:
        raise ValueError(f"X has {n} partitions and {what} {len(found)}: give both the same partitions")
    return found


def _rechunked(X: Any, column: Any, what: str) -> Any:
    """Return an array with the chunks of X, if the chunks of both are known."""
    mine, theirs = (getattr(one, "chunks", ((np.nan,),))[0] for one in (X, column))
    if np.isnan(sum(mine)) or np.isnan(sum(theirs)):
        return column
    if sum(mine) != sum(theirs):
        pairs = enumerate(zip(mine, theirs, strict=False))
        first = next((i for i, (a, b) in pairs if a != b), min(len(mine), len(theirs)))
        raise ValueError(
            f"X holds {sum(mine):,} objects and there are {sum(theirs):,} {what}: they differ from partition {first} on"
        )
    return column if mine == theirs else column.rechunk({0: mine})


try:
    import dask
    import distributed
    from dask import delayed
except ImportError:
    raise missing_extra("dask", "DaskEngine") from None


@naming_parameters
@dataclass(frozen=True, eq=False)
class DaskEngine(DistributedEngine):
    """Compute on the workers of a Dask cluster; rows of Dask collections stay where they are.

    Parameters
    ----------
    client : distributed.Client or str, optional
        A client, or the address of a scheduler. Default: the current client; if there is none, a local cluster with
        one process per core is started for as long as it is needed.
    memory : int or str
        Budget for results on the client, and for what a worker computes with at once.
    progress : bool or callable
        Show progress, on standard error if that is a terminal, or in the cell of a notebook. A function is called as
        ``progress(done, total, text)`` at most ten times a second, and at the end of each pass, in the thread that
        computes; an error that it raises ends the computation. The total is None if it is unknown.
    checkpoint : path, optional
        A file, on the client, for the partial sums of a pass over all rows. A fit that ended because the cluster was
        lost resumes from it when it is called again.
    """

    client: Any = None
    memory: int | str = "2GiB"
    progress: bool | ProgressFunction = False
    checkpoint: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        if self.client is not None and not isinstance(self.client, (str, distributed.Client)):
            raise TypeError(f"client must be a distributed.Client, an address or None, got {brief(self.client)}")
        check_checkpoint(self.checkpoint)
        check_progress(self.progress)
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

    def workers(self, task: Task) -> int:
        """Return the number of workers for which tiles are planned."""
        return 8  # whatever the cluster has: results do not depend on its size

    # Connection.

    @contextmanager
    def session(self) -> Iterator[Any]:
        """Hold a client while something is computed; a local cluster is started if there is none."""
        with ExitStack() as opened:
            try:
                client = self._client()
            except ValueError:
                cluster = self.client or opened.enter_context(
                    distributed.LocalCluster(
                        n_workers=available_cores(), threads_per_worker=1, dashboard_address=":0", silence_logs=50
                    )
                )
                try:
                    client = opened.enter_context(distributed.Client(cluster))
                except OSError as error:
                    raise ClusterError(f"there is no scheduler at {cluster}: {error}") from None
            yield client

    def _client(self) -> Any:
        """Return the current client; raise ValueError if there is none."""
        client = self.client if isinstance(self.client, distributed.Client) else distributed.get_client()
        if isinstance(self.client, str) and client.scheduler.address != self.client:
            raise ValueError(f"the current client is not connected to {self.client}")
        if client.status not in ("running", "connecting", "newly-created"):
            raise ClusterError(f"the client is {client.status}: connect to a scheduler again, and pass the new client")
        return client

    # Partitions.

    def partitions(self, X: Any, *columns: Any) -> list[list[Handle]]:
        """Return the partitions of X, of labels and of weights."""
        found = partitions_of(X)
        named = zip(columns, ("labels", "weights"), strict=False)
        return [found, *(column_partitions(X, column, len(found), what) for column, what in named)]

    def broadcast(self, value: Any) -> Handle:
        """Send a value to the workers; it is computed again if the worker that holds it is lost."""
        with _without_size_warning():
            return self._client().submit(_identity, value, pure=False)

    def map(self, function: Callable[..., Any], *columns: Sequence[Any]) -> list[Handle]:
        """Return the lazy calls of a function."""
        lazy = delayed(_call_on_worker, pure=False, traverse=False)
        name = f"{function.__name__}-{uuid.uuid4().hex[:12]}"
        calls = enumerate(zip(*columns, strict=True))
        return [lazy(function, *items, dask_key_name=f"{name}-{i}") for i, items in calls]

    def collect(self, handles: Sequence[Handle]) -> Iterator[Any]:
        """Submit all calls at once, and yield their values in order."""
        client = self._client()
        with _without_size_warning():
            futures = deque(client.compute(list(handles)))
        while futures:
            yield self._result(futures.popleft())

    def lazy_array(self, function: Callable[[Any, int, Any], Any], model: Any, X: Any, like: np.ndarray) -> Any:
        """Return the results for all partitions as a lazy array with the chunks of X."""
        import dask.array

        found = partitions_of(X)
        shared = delayed(model, name=f"model-{uuid.uuid4().hex}", traverse=False)
        parts = self.map(function, [shared] * len(found), range(len(found)), found)
        lengths = getattr(X, "chunks", [[np.nan] * len(found)])[0]  # NaN: unknown until the partition is read
        pairs = zip(parts, lengths, strict=True)
        arrays = [dask.array.from_delayed(one, (n, *like.shape[1:]), meta=like[:0]) for one, n in pairs]
        return dask.array.concatenate(arrays)

    def _result(self, future: Any) -> Any:
        """Return the value of a future; raise a ClusterError if the cluster failed rather than the function."""
        try:
            return future.result()
        except distributed.scheduler.KilledWorker as error:
            raise ClusterError(
                f"{error.task}: {error.allowed_failures + 1} workers died on it one after the other, most likely for "
                f"lack of memory: make partitions smaller or give workers more memory"
            ) from error
        except (CancelledError, OSError, UnboundLocalError) as error:
            if future.status == "error":  # of the function
                raise
            kept = f"; {self.checkpoint} keeps the sums computed so far" * (self.checkpoint is not None)
            lost = f"the scheduler is gone ({type(error).__name__}): connect to another, and fit again"
            if isinstance(error, UnboundLocalError):  # of `distributed.utils.sync`, whose wait ended without a result
                lost = "Dask lost a task, as it can after Ctrl-C: fit again"
            raise ClusterError(f"{lost}{kept}") from error

    # Tiles.

    def run(
        self, task: Task, A: Encoding, B: Encoding, tiles: Sequence[Tile], target: Target | None = None
    ) -> Iterator[Any]:
        """Yield one result per tile, in order (see `Engine.run`)."""
        results = delivered(self._run(task, A, B, tiles), tiles, target)
        return with_progress(results, self.progress, len(tiles))

    def _run(self, task: Task, A: Encoding, B: Encoding, tiles: Sequence[Tile]) -> Iterator[Any]:
        """Yield the results of the workers; the columns of a tile are sent to them once."""
        sent: dict[tuple[int, int], Handle] = {}
        pending: deque[Handle] = deque()
        with self.session() as client:
            ahead = 2 * max(1, sum(client.nthreads().values()))
            for tile in tiles:
                down, right = tile
                b = None
                if A is not B or down != right:
                    key = (right.start, right.stop)
                    if key not in sent:
                        sent[key] = self.broadcast(rows(B, right))
                    b = sent[key]
                with _without_size_warning():
                    pending.append(client.submit(_compute_on_worker, task, rows(A, down), b, tile, pure=False))
                if len(pending) == ahead:
                    yield self._result(pending.popleft())
            while pending:
                yield self._result(pending.popleft())


def _without_size_warning() -> Any:
    """Return a context in which Dask does not warn of large graphs: landmarks and rows are meant to be sent."""
    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TiB"})


@functools.lru_cache(maxsize=1)
def _keep_freed_memory() -> None:
    """Let glibc keep 128 MiB of freed memory, which workers of Dask return at once and request for every strip."""
    if sys.platform == "linux" and hasattr(ctypes.CDLL(None), "mallopt"):
        ctypes.CDLL(None).mallopt(-3, 2**25)
        ctypes.CDLL(None).mallopt(-1, 2**27)


def _call_on_worker(function: Callable[..., Any], *values: Any) -> Any:
    _keep_freed_memory()
    with one_blas_thread:
        return function(*values)


def _compute_on_worker(task: Task, a: Encoding, b: Encoding | None, tile: Tile) -> Any:
    return _call_on_worker(compute_piece, task, (a, b), tile)


def _identity(value: Any) -> Any:
    return value
