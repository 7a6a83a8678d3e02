"""Contract 2: an engine decides where tiles of a matrix and passes over rows are computed.

An engine writes ``run(task, A, B, tiles)``. It knows memory, threads, processes, devices and workers, and no
mathematics. It is configuration: it pickles, and ``clone`` shares it.
"""

from typing import TYPE_CHECKING, Any

from similitude.compute.engines.checkpoints import (
    Batched,
    damaged_checkpoint,
    partial_sums,
    remove_checkpoint,
    sum_batches,
)
from similitude.compute.engines.default_engine import current_engine, engine_for, use_engine
from similitude.compute.engines.distributed import DistributedEngine, Handle, distributed_engine, on_workers
from similitude.compute.engines.engine import TILE_EDGE, Engine, Task, Tile, format_bytes
from similitude.compute.engines.local import (
    LocalEngine,
    at_most_blas_threads,
    factorizing,
    one_blas_thread,
    one_scipy_thread,
)
from similitude.compute.engines.progress import Display, display_for, with_progress
from similitude.compute.engines.torch.engine import TorchEngine, check_device

if TYPE_CHECKING:
    from similitude.compute.engines.dask.engine import DaskEngine


def __getattr__(name: str) -> Any:
    if name == "DaskEngine":  # imported when it is used: it needs dask
        from similitude.compute.engines.dask.engine import DaskEngine

        return DaskEngine
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
