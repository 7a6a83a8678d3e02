"""The cores that this process may use, and a context that limits BLAS to one thread."""

from __future__ import annotations

import functools
import os
import sys
import threading
from typing import Any


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _OneBlasThread:
    """Limits BLAS to one thread while anybody in this process holds it; the last holder restores the limits."""

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
"""The context in which BLAS uses one thread; it may be entered by several threads at once."""


@functools.lru_cache(maxsize=1)
def _blas_libraries(n_modules: int) -> Any:
    """Return the thread pools of all loaded libraries; cached until further modules are imported."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
