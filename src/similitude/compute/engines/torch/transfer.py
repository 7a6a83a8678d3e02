"""Copying arrays to a device while the device computes; and what to do where its memory runs out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, pairwise
from typing import Any, TypeVar

import numpy as np
import torch

from similitude.compute.encodings import Encoding, count, is_sparse, is_tensor, rows
from similitude.support import PairError


def in_halves_if_needed(
    compute: Callable[[Encoding, Encoding], Any], join: Callable[[list[Any]], Any], a: Encoding, b: Encoding
) -> Any:
    """Return ``compute(a, b)``; if that does not fit on the device, the joined results for both halves of `a`."""
    try:
        return compute(a, b)
    except torch.OutOfMemoryError as error:
        check_divisible(count(a), error)
    free_for_halves(count(a))  # after the except block, whose traceback holds tensors
    half = count(a) // 2
    top = in_halves_if_needed(compute, join, rows(a, slice(0, half)), b)
    try:
        return join([top, in_halves_if_needed(compute, join, rows(a, slice(half, None)), b)])
    except PairError as error:
        raise error.moved(half, 0) from error.__cause__


def check_divisible(n: int, error: Exception) -> None:
    """Raise a MemoryError if the rows that did not fit are a single one."""
    if n < 2:
        raise MemoryError(f"one row does not fit on the device: use fewer landmarks ({error})") from error


def free_for_halves(n: int) -> None:
    """Free cached memory before n rows are computed in halves, and warn."""
    torch.cuda.empty_cache()
    warnings.warn(
        f"a tile of {n:,} rows did not fit on the device: it is computed in halves; a smaller memory= avoids the retry",
        stacklevel=3,
    )


T = TypeVar("T")
R = TypeVar("R")


class DeviceCopier:
    """Copies arrays to a device, on a CUDA stream of its own."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.stream: Any = None
        if device.type == "cuda":
            self.stream = torch.cuda.Stream(device)
            self.work = torch.cuda.current_stream(device)

    def __call__(self, array: Any) -> torch.Tensor:
        """Return the array as a tensor on the device when all of it is there; tensors are returned unchanged."""
        if is_tensor(array):
            return array
        if self.stream is None:
            return torch.from_numpy(np.require(array, requirements=["C", "W"]))
        copied = self._copied(array)
        copied.record_stream(self.work)
        return copied

    def _copied(self, array: np.ndarray) -> torch.Tensor:
        dtype = torch.from_numpy(np.empty(0, array.dtype)).dtype
        with torch.cuda.stream(self.stream):
            on_device = torch.empty(array.shape, dtype=dtype, device=self.device)

        def copy(start: int) -> None:
            piece = array[start : start + step]
            pinned = torch.empty(piece.shape, dtype=dtype, device="cpu", pin_memory=True)
            np.copyto(pinned.numpy(), piece)
            with torch.cuda.stream(self.stream):
                on_device[start : start + step].copy_(pinned, non_blocking=True)
            self.stream.synchronize()  # so that each thread holds one pinned piece at most

        # pieces of 16 MiB, and several threads: a single one is slower than the bus
        step = max(1, (2**24) // max(1, array.nbytes // max(1, len(array))))
        starts = range(0, len(array), step)
        if len(starts) <= 1:
            list(map(copy, starts))
            return on_device
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(copy, starts))
        return on_device


def prefetched(make: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Yield ``make(item)`` for every item; a thread makes the next one while the reader works on the current one."""
    with ThreadPoolExecutor(1, thread_name_prefix="similitude") as pool:
        submitted = (pool.submit(make, item) for item in items)
        for current, _ in pairwise(chain(submitted, [None])):
            yield current.result()  # type: ignore[union-attr]


def is_movable(encoding: Encoding) -> bool:
    """Tell whether a device can hold an encoding: numeric arrays, tuples of them, and classes that say so."""
    if isinstance(encoding, tuple):
        return all(map(is_movable, encoding))
    if isinstance(encoding, np.ndarray):
        return encoding.dtype.kind in "fiub" and encoding.dtype.isnative
    if hasattr(encoding, "movable"):
        return bool(encoding.movable())
    return is_tensor(encoding) and not is_sparse(encoding)
