"""Passes over a source: digests that tell whether each gives the same rows, a uniform sample, and reading ahead."""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Iterator, Mapping, Set
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import date, time, timedelta
from numbers import Number
from typing import Any, TypeVar

import numpy as np

from similitude.compute import as_numpy, is_sparse, is_table, is_tensor, join, take
from similitude.data.sources.batch import Batch
from similitude.support import SourceError, key_order, random_keys

T = TypeVar("T")

_END = object()


class FirstPass:
    """The digests of the batches of a first pass over a source, with which later passes are compared.

    Covered are numbers, texts, bytes, arrays, sparse matrices and tables, and lists, tuples, dicts and sets of them. Of
    an object of any other class only the class is: its attributes may change without its meaning, as caches do.
    """

    def __init__(self) -> None:
        self._digests: dict[tuple[int, int], bytes] = {}

    def recorded(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Yield the batches of the first pass, and keep their digests."""
        for batch in batches:
            self._digests[batch.start, batch.stop] = batch_digest(batch)
            yield batch

    def digest(self) -> bytes:
        """Return a digest of all rows, and of the bounds of the batches."""
        return hashlib.sha256(repr(sorted(self._digests.items())).encode()).digest()

    def compared(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Yield the batches of a later pass; raise at the first one with other rows."""
        for batch in batches:
            expected = self._digests.get((batch.start, batch.stop))
            if expected is not None and expected != batch_digest(batch):
                raise SourceError(
                    f"{batch.name}: rows {batch.start:,} to {batch.stop - 1:,} are not those of the first pass: every "
                    f"pass must give the same objects, labels and weights in the same order (is something drawn at "
                    f"random without a seed, or were the data changed?)"
                )
            yield batch


def batch_digest(batch: Batch) -> bytes:
    """Return a digest of the objects, labels and weights of a batch, whatever pieces it was put together from."""
    found = hashlib.sha256()  # with the instructions of current processors twice as fast as others
    for part in (batch.objects, batch.labels, batch.weights):
        for piece in _pieces(part):
            found.update(len(piece).to_bytes(8, "little"))
            found.update(piece)
    return found.digest()


def _pieces(values: Any) -> Iterator[Any]:
    if is_sparse(values):
        matrix = values.tocsr()
        offsets = matrix.indptr - matrix.indptr[0]
        for array in (matrix.data, matrix.indices.astype(np.int64), offsets.astype(np.int64)):
            yield from _pieces(array)
    elif is_table(values):
        for name in values.columns:
            yield str(name).encode()
            yield from _pieces(_column(values[name].to_numpy()))
    elif isinstance(values, np.ndarray) and values.dtype.kind in "fiubcmM":
        yield f"{values.dtype.str} {values.shape}".encode()
        yield np.ascontiguousarray(values).reshape(-1).view(np.uint8).data
    elif is_tensor(values):
        yield from _pieces(as_numpy(values))
    elif values is not None:
        listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
        is_text = all(type(value) is str for value in listed)
        yield marshal.dumps(listed if is_text else [_plain(value) for value in listed], 2)


def _column(values: np.ndarray) -> np.ndarray:
    """Return a column of numbers as floats: whether they are integers may depend on the missing values of a piece."""
    return values.astype(np.float64) if values.dtype.kind in "iub" else values


def _plain(value: Any) -> Any:
    """Return an object as plain values that `marshal` writes, equal for equal objects."""
    if value is None or type(value) in (str, bytes, int, float, bool):
        return value
    if isinstance(value, (str, bytes, Number, date, time, timedelta)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, Mapping):
        return sorted((repr(key), _bytes(part)) for key, part in value.items())
    if isinstance(value, Set):
        return sorted(map(_bytes, value))
    if isinstance(value, np.ndarray) or is_sparse(value) or is_table(value) or is_tensor(value):
        return [bytes(piece) for piece in _pieces(value)]
    return type(value).__qualname__


def _bytes(value: Any) -> bytes:
    return marshal.dumps(_plain(value), 2)


class StableSample:
    """The first and the last rows of a stream in the random order of their keys; all of a short stream.

    The keys come from the seed and the number of rows before, so that the sample depends neither on batches nor on
    knowing the length of the stream. Rows are kept in its order, with `positions` in it and `ranks`, the number of
    rows seen before each.
    """

    def __init__(self, first: int, last: int, seed: int) -> None:
        self.first = first
        self.last = last
        self.seed = seed
        self.n_seen = 0
        self.objects: Any = None
        self.labels: Any = None
        self.weights = np.empty(0)
        self.positions = self.ranks = np.empty(0, dtype=np.int64)
        self._low = np.uint64(2**64 - 1)
        self._high = np.uint64(0)

    @property
    def is_complete(self) -> bool:
        """Whether all rows were kept."""
        return self.n_seen == len(self.positions)

    def add(self, objects: Any, labels: np.ndarray, weights: np.ndarray, positions: np.ndarray) -> None:
        """Add rows of the stream."""
        ranks = np.arange(self.n_seen, self.n_seen + len(positions))
        self.n_seen += len(positions)
        keys = random_keys(ranks, self.seed)
        new = np.flatnonzero((keys <= self._low) | (keys >= self._high))
        if not len(new):
            return
        if self.objects is None:
            self.objects = take(objects, new)
            self.labels = labels[new]
        else:
            self.objects = join(self.objects, take(objects, new))
            self.labels = np.concatenate([self.labels, labels[new]])
        self.weights = np.concatenate([self.weights, weights[new]])
        self.positions = np.concatenate([self.positions, positions[new]])
        self.ranks = np.concatenate([self.ranks, ranks[new]])
        if len(self.positions) <= self.first + self.last:
            return
        keys = random_keys(self.ranks, self.seed)
        order = key_order(keys)
        kept = np.sort(np.concatenate([order[: self.first], order[len(order) - self.last :]]))
        self._low = keys[order[self.first - 1]]
        self._high = keys[order[len(order) - self.last]] if self.last else np.uint64(2**64 - 1)
        self.objects = take(self.objects, kept)
        for name in ("labels", "weights", "positions", "ranks"):
            setattr(self, name, getattr(self, name)[kept])


def read_ahead(items: Iterator[T]) -> Iterator[T]:
    """Yield the items, the next one being read in a thread; once this iterator is closed, so are the items."""
    reader = ThreadPoolExecutor(1, thread_name_prefix="similitude-reader")
    following: Future[Any] = reader.submit(next, items, _END)
    try:
        while (item := following.result()) is not _END:
            following = reader.submit(next, items, _END)
            yield item
    finally:
        if hasattr(items, "close"):
            reader.submit(items.close)
        reader.shutdown()
