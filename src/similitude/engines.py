"""Where similarities are computed: this computer, a Dask cluster, or a GPU."""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from similitude.compute import engines as _engines
from similitude.compute.engines import (
    DistributedEngine,
    Engine,
    LocalEngine,
    Task,
    Tile,
    TorchEngine,
    current_engine,
    engine_for,
    use_engine,
)

if TYPE_CHECKING:
    from similitude.compute.engines import DaskEngine

__all__ = [
    "DistributedEngine",
    "Engine",
    "LocalEngine",
    "Task",
    "Tile",
    "TorchEngine",
    "current_engine",
    "engine_for",
    "use_engine",
]
if find_spec("dask") and find_spec("distributed"):
    __all__ += ["DaskEngine"]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name == "DaskEngine":  # imported when it is used: it needs dask
        return _engines.DaskEngine
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
