"""Batches of rows: validated, cut into equal ones, as large as memory allows, compared with those of the first pass."""

from __future__ import annotations

import hashlib
import itertools
import marshal
import mmap
import sys
from collections.abc import Iterator, Mapping, Set
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from numbers import Number, Real
from typing import Any, TypeVar

import numpy as np

from similitude.compute import as_numpy, is_sparse, is_table, is_tensor, join, take
from similitude.data.limits import MAX_BATCH_ROWS
from similitude.support import SourceError, brief, error_prefix, key_order, random_keys

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Batch:
    """Consecutive rows of a source."""

    objects: Any
    labels: Any = None
    weights: Any = None
    name: str = ""  # of the shard or batch that they come from, for error messages
    start: int = 0  # the position of the first row in the source

    def __len__(self) -> int:
        return size(self.objects)

    @property
    def stop(self) -> int:
        """The position after the last row."""
        return self.start + len(self)

    def part(self, a: int, b: int) -> Batch:
        """Return the rows a to b of the batch."""
        if a == 0 and b == len(self):
            return self
        cut = {what: one[a:b] for what in ("labels", "weights") if (one := getattr(self, what)) is not None}
        return replace(self, objects=sliced(self.objects, a, b), start=self.start + a, **cut)

    def followed_by(self, other: Batch) -> Batch:
        """Return the rows of both batches as one."""
        joined = {"objects": join(self.objects, other.objects)}
        for what in ("labels", "weights"):
            if getattr(self, what) is not None:
                joined[what] = np.concatenate([getattr(self, what), getattr(other, what)])
        first = self.name.split(" to ")[0]
        return replace(self, name=first if first == other.name else f"{first} to {other.name}", **joined)

    def validated(self) -> Batch:
        """Return the batch with labels and weights as arrays; raise if it is empty or they do not fit the objects."""
        n = len(self)
        if n == 0:
            raise SourceError(f"{self.name} is empty: leave it out")
        columns: dict[str, Any] = {"labels": _as_array(self.labels), "weights": _as_array(self.weights)}
        for what, values in columns.items():
            if values is not None and values.shape[:1] != (n,):
                raise SourceError(f"{self.name} holds {n:,} objects and {what} of shape {values.shape}")
        return replace(self, **columns)

    def schema(self) -> dict[str, str]:
        """Return the properties that all batches of a source share, in words."""
        X = self.objects
        labels = self.labels
        found = {"object kind": _kind(X)}
        if is_table(X):
            found["columns"] = brief(list(X.columns))
        elif hasattr(X, "shape") and hasattr(X, "dtype"):
            found["width"] = str(tuple(X.shape[1:])).strip("(),") or "1"
            found["dtype"] = "text" if X.dtype.kind in "US" else str(X.dtype)
        found["label type"] = "none"
        if labels is not None:
            types = {"i": "integer", "u": "integer", "f": "number", "b": "boolean", "U": "text", "S": "bytes"}
            found["label type"] = types.get(labels.dtype.kind, "mixed")
            found["labels per object"] = str(labels.shape[1:] or 1)
        found["weights"] = "none" if self.weights is None else "one per object"
        return found


def size(X: Any) -> int:
    """Return the number of objects."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def is_lazy_frame(X: Any) -> bool:
    """Whether X is a lazy frame of polars."""
    return type(X).__module__.startswith("polars") and hasattr(X, "collect")


def sliced(X: Any, a: int, b: int) -> Any:
    """Return the rows a to b; of a memory map as a copy, so that its pages need not stay in memory."""
    if is_lazy_frame(X):
        return X.slice(a, b - a).collect()
    if not isinstance(X, np.memmap):
        return X.iloc[a:b] if hasattr(X, "iloc") else X[a:b]
    rows = np.array(X[a:b])
    pages: Any = X
    while isinstance(pages, np.ndarray):
        pages = pages.base
    if isinstance(pages, mmap.mmap) and X.mode != "c":  # what was written into a private copy would be lost
        give_back(pages)
    return rows


def give_back(pages: mmap.mmap | None) -> None:
    """Let the system take the pages of a shared memory map out of memory; they are read again if they are needed."""
    if pages is not None and hasattr(pages, "madvise") and hasattr(mmap, "MADV_DONTNEED"):
        pages.madvise(mmap.MADV_DONTNEED)


def _as_array(values: Any) -> np.ndarray | None:
    """Return labels or weights as an array, of text if they are strings."""
    if values is None:
        return None
    values = np.asarray(values)
    is_text = values.dtype == object and values.ndim == 1 and all(isinstance(one, str) for one in values)
    return values.astype(str) if is_text else values


def _kind(X: Any) -> str:
    if is_table(X):
        return "table"
    if is_sparse(X):
        return "sparse matrix"
    if hasattr(X, "shape"):
        return f"array of {len(X.shape)} dimensions"
    one = X[0]
    families = ((str, "text"), (Real, "numbers"), (Mapping, "mappings"), (Set, "sets"), (np.ndarray, "arrays"))
    return f"list of {next((name for family, name in families if isinstance(one, family)), type(one).__name__)}"


def with_one_schema(pieces: Iterator[Batch]) -> Iterator[Batch]:
    """Yield validated pieces; raise if one differs from the first in kind, width, precision or labels."""
    expected: dict[str, str] = {}
    first = ""
    for piece in pieces:
        piece = piece.validated()
        found = piece.schema()
        if not expected:
            expected = found
            first = piece.name
        wrong = next((what for what in expected if expected[what] != found[what]), None)
        if wrong is not None:
            raise SourceError(f"{piece.name} has {wrong} {found[wrong]}, {first} has {expected[wrong]}")
        yield piece


def rebatched(pieces: Iterator[Batch], rows: int) -> Iterator[Batch]:
    """Yield batches of a given number of rows, the last with fewer, whatever the sizes of the pieces."""
    pending: Batch | None = None
    for piece in pieces:
        pending = piece if pending is None else pending.followed_by(piece)
        n = len(pending)
        for a in range(0, n - rows + 1, rows):
            yield pending.part(a, a + rows)
        left = n % rows
        pending = pending.part(n - left, n) if left else None
    if pending is not None:
        yield pending


def errors_in_batch(batch: Batch) -> AbstractContextManager[None]:
    """Return a context in which errors begin with the name of the batch."""
    return error_prefix(batch.name)


SIZED_ROWS = 256
"""Rows from which the size of all is estimated."""


def row_bytes(X: Any, copies: int = 1, least: float = 0.0) -> float:
    """Return the approximate bytes of an object; outside arrays at least `least`, and counted `copies` times."""
    if is_sparse(X):
        return 12.0 * X.nnz / X.shape[0] + 8.0
    if is_table(X):
        return sum(max(64.0, _mean_size(X[name])) for name in X.columns)
    if not hasattr(X, "dtype") or X.dtype == object:
        return max(1024, copies * max(least, _mean_size(X)))
    return float(np.prod(X.shape[1:])) * (4.0 if X.dtype == np.float32 else max(8.0, X.dtype.itemsize))


def _mean_size(X: Any) -> float:
    """Return the mean size of objects from all over X: the first may be unlike the others."""
    some = list(X[:: max(1, size(X) // SIZED_ROWS)])
    return sum(map(_deep_size, some)) / max(1, len(some))


def _deep_size(value: Any) -> float:
    if hasattr(value, "nbytes"):
        return float(value.nbytes)
    if isinstance(value, Mapping):
        value = list(value.items())
    if isinstance(value, (list, tuple, Set)) and len(value):
        some = list(itertools.islice(value, 64))
        return sys.getsizeof(value) + sum(map(_deep_size, some)) * len(value) / len(some)
    return float(sys.getsizeof(value))


def batch_rows(X: Any, budget: int, least: float = 0.0) -> int:
    """Return how many rows like those of X, or as long as `least` says, a batch may have: a power of two."""
    copies = 4  # as the file has it, decoded, as an object, and in its digest
    batches = 16  # one is in use, one is ready, one is being read, and there is room for the rest
    affordable = int(budget / batches / row_bytes(X, copies, least))
    return min(MAX_BATCH_ROWS, 1 << max(0, affordable.bit_length() - 1))


def check_sample_fits(n: int, X: Any, budget: int) -> None:
    """Raise if a sample of n rows like those of X takes more than half of the memory budget."""
    needed = n * row_bytes(X)
    if needed > budget / 2:
        raise MemoryError(
            f"the sample of {n:,} rows on which choices are made takes {needed / 2**30:.2g} GiB, more than half of the "
            f"memory budget of {budget / 2**30:.2g} GiB: give the engine more memory"
        )


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
            column = values[name].to_numpy()
            if column.dtype.kind in "iub":  # whether numbers are integers may depend on the missing values of a piece
                column = column.astype(np.float64)
            yield from _pieces(column)
    elif isinstance(values, np.ndarray) and values.dtype.kind in "fiubcmM":
        yield f"{values.dtype.str} {values.shape}".encode()
        yield np.ascontiguousarray(values).reshape(-1).view(np.uint8).data
    elif is_tensor(values):
        yield from _pieces(as_numpy(values))
    elif values is not None:
        listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
        is_text = all(type(value) is str for value in listed)
        yield marshal.dumps(listed if is_text else [_plain(value) for value in listed], 2)


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
