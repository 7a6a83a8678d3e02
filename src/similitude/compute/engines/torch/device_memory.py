"""Running out of device memory: a computation on some rows is repeated on their halves."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch

from similitude.compute.encodings import Encoding, count, rows
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
