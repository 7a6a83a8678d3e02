"""Arrays on their way to a device and back, while the device computes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import torch

from similitude.compute.encodings import Encoding, is_sparse, is_tensor

PIECE = 2**24
"""Bytes copied at once through memory that the device can read by itself."""

COPIERS = 8
"""Threads that copy such pieces: one alone is slower than the way to the device."""

T = TypeVar("T")
R = TypeVar("R")


class Mover:
    """Takes arrays to a device, on a stream of its own.

    Parameters
    ----------
    device : torch.device
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.stream = torch.cuda.Stream(device) if device.type == "cuda" else None
        self.work = torch.cuda.current_stream(device) if device.type == "cuda" else None

    def __call__(self, array: Any) -> torch.Tensor:
        """Return the array as a tensor on the device, complete."""
        if is_tensor(array):
            return array
        if self.stream is None:
            return torch.from_numpy(np.require(array, requirements=["C", "W"]))
        there = self._copied(array, self.stream)
        there.record_stream(self.work)
        return there

    def _copied(self, array: np.ndarray, stream: torch.cuda.Stream) -> torch.Tensor:
        dtype = torch.from_numpy(np.empty(0, array.dtype)).dtype
        with torch.cuda.stream(stream):
            there = torch.empty(array.shape, dtype=dtype, device=self.device)

        def copy(start: int) -> None:
            piece = array[start : start + step]
            staged = torch.empty(piece.shape, dtype=dtype, pin_memory=True)
            np.copyto(staged.numpy(), piece)
            with torch.cuda.stream(stream):
                there[start : start + step].copy_(staged, non_blocking=True)
            stream.synchronize()  # no more is staged than threads hold

        step = max(1, PIECE // max(1, array.nbytes // max(1, len(array))))
        starts = range(0, len(array), step)
        if len(starts) > 1:
            with ThreadPoolExecutor(COPIERS) as pool:
                list(pool.map(copy, starts))
        elif len(starts):
            copy(0)
        return there


def back(tensor: Any) -> np.ndarray:
    """Return a tensor as a NumPy array."""
    return tensor.detach().cpu().numpy()


def ahead(make: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Yield ``make(item)`` for every item; a thread makes the next one while the reader is busy with this one."""
    with ThreadPoolExecutor(1, thread_name_prefix="similitude") as pool:
        waiting: Future[R] | None = None
        for item in items:
            coming = pool.submit(make, item)
            if waiting is not None:
                yield waiting.result()
            waiting = coming
        if waiting is not None:
            yield waiting.result()


def movable(encoding: Encoding) -> bool:
    """Tell whether a device can hold an encoding: arrays of numbers, tuples of them, and what can be moved."""
    if isinstance(encoding, tuple):
        return all(map(movable, encoding))
    if isinstance(encoding, np.ndarray):
        return encoding.dtype.kind in "fiub" and encoding.dtype.isnative
    if hasattr(encoding, "movable"):
        return bool(encoding.movable())
    return is_tensor(encoding) and not is_sparse(encoding)


def nbytes(encoding: Encoding) -> int:
    """Return how much memory an encoding takes; 0 where it does not say."""
    if isinstance(encoding, tuple):
        return sum(map(nbytes, encoding))
    return int(getattr(encoding, "nbytes", 0))
