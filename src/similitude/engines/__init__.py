"""Contract 2: an engine says where tiles of a matrix are computed.

An engine writes ``run(task, A, B, tiles)`` and knows memory, threads, processes and devices; it knows nothing of
the mathematics. It is configuration only: it pickles, and ``clone`` shares it.
"""

from similitude.engines.base import Engine, Task, Tile
from similitude.engines.checkpoints import CheckpointError, CheckpointWarning
from similitude.engines.current import current_engine, use_engine
from similitude.engines.local import LocalEngine

__all__ = [
    "CheckpointError",
    "CheckpointWarning",
    "Engine",
    "LocalEngine",
    "Task",
    "Tile",
    "current_engine",
    "use_engine",
]
