"""The default engine, how to change it, and the engine for a given encoding."""

from __future__ import annotations

from contextvars import ContextVar
from types import TracebackType

from similitude.compute.encodings import Encoding, tensor_in
from similitude.compute.engines.engine import Engine
from similitude.compute.engines.local import LocalEngine
from similitude.compute.engines.torch.engine import TorchEngine

_default: list[Engine] = [LocalEngine()]
_in_context: ContextVar[Engine | None] = ContextVar("engine", default=None)


def current_engine() -> Engine:
    """Return the engine that is used where none is given."""
    return _in_context.get() or _default[0]


def engine_for(encoding: Encoding) -> Engine:
    """Return the engine for an encoding: that of the device for tensors, the current one for everything else."""
    tensor = tensor_in(encoding)
    current = current_engine()
    if tensor is None or (isinstance(current, TorchEngine) and current.torch_device == tensor.device):
        return current
    return TorchEngine(device=str(tensor.device))


class use_engine:  # noqa: N801 (reads as a verb: a function and a context manager in one)
    """Make `engine` the default from now on, or within a ``with`` block of the current thread.

    Parameters
    ----------
    engine : Engine
        For instance ``LocalEngine(threads=1, memory="8GiB")``.

    Examples
    --------
    >>> from similitude import use_engine
    >>> from similitude.engines import LocalEngine, current_engine
    >>> with use_engine(LocalEngine(threads=1)):
    ...     current_engine().threads
    1
    >>> current_engine().threads is None
    True
    """

    def __init__(self, engine: Engine) -> None:
        if not isinstance(engine, Engine):
            raise TypeError(f"use_engine takes an engine such as LocalEngine(), got {type(engine).__name__}")
        self._engine = engine
        self._before = _default[0]
        _default[0] = engine

    def __enter__(self) -> Engine:
        _default[0] = self._before
        self._token = _in_context.set(self._engine)
        return self._engine

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _in_context.reset(self._token)
