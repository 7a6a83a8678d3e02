"""Contract 2: an engine says where tiles of a matrix are computed.

An engine writes ``run(task, A, B, tiles)`` and knows memory, threads, processes and devices; it knows nothing of
the mathematics. It is configuration only: it pickles, and ``clone`` shares it.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from similitude.compute.engines.current import current_engine, engine_of, use_engine
from similitude.compute.engines.distributed import SpreadEngine
from similitude.compute.engines.engine import Engine, Task, Tile
from similitude.compute.engines.local import LocalEngine
from similitude.compute.engines.torch.engine import TorchEngine

if TYPE_CHECKING:
    from similitude.compute.engines.dask.engine import DaskEngine

__all__ = [
    "Engine",
    "LocalEngine",
    "SpreadEngine",
    "Task",
    "Tile",
    "TorchEngine",
    "current_engine",
    "engine_of",
    "use_engine",
]
if find_spec("dask") and find_spec("distributed"):
    __all__ += ["DaskEngine"]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name == "DaskEngine":
        from similitude.compute.engines.dask.engine import DaskEngine

        return DaskEngine
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
