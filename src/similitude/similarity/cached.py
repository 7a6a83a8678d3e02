"""Similarities that remember the values of pairs, in memory or in a file; and what may be done with such files."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from similitude.compute import Encoding, Hints, as_objects, count
from similitude.similarity.adapters import FromBlocks, FromPairs
from similitude.similarity.algebra import Claims, in_brackets
from similitude.similarity.claims import SYMMETRIC
from similitude.similarity.contract import Similarity
from similitude.similarity.pair_store import LOCK_SECONDS, PairStore, about, errors_of_cache, transaction
from similitude.similarity.wrappers import Wrapped
from similitude.support import CacheError, Result, brief, digest

DIGEST = 16
"""Bytes of the digest of an object: equal digests of different objects are out of the question."""


class Cached(Wrapped):
    """A similarity whose values are computed once for each pair of contents; see :meth:`Similarity.cached`."""

    reason = "the same values, remembered"

    def __init__(self, k: Similarity, store: PairStore) -> None:
        self.k = k
        self.store = store

    def check_params(self) -> None:
        """Validate the part and the store."""
        super().check_params()
        if not isinstance(self.store, PairStore):
            raise TypeError(f"store must be a PairStore, as k.cached() makes it, got {brief(self.store)}")

    @property
    def claims(self) -> Claims:
        """The claims of the part."""
        return self.k.claims

    @property
    def hints(self) -> Hints:
        """One thread at a time: the store is shared."""
        return Hints(finite=self.k.hints.finite, heavy=self.k.hints.heavy, threadsafe=False)

    def encode(self, objects: Any) -> Encoding:
        """Return the encoding of the part, and a digest of the contents of each object."""
        listed = [digest(one, DIGEST) for one in as_objects(objects)]
        return self.k.encode(objects), np.array(listed, dtype=f"V{DIGEST}")

    def block(self, A: Encoding, B: Encoding) -> np.ndarray:
        """Return known values, and compute the others."""
        shape = (count(A), count(B))
        return self.values_at(A, B, *np.indices(shape).reshape(2, -1)).reshape(shape)

    def diagonal(self, A: Encoding) -> np.ndarray:
        """Return K(a_i, a_i), from the store where it is known."""
        at = np.arange(count(A))
        return self.values_at(A, A, at, at)

    def values_at(self, A: Encoding, B: Encoding, i: Any, j: Any, deliver: Any = None) -> np.ndarray:
        """Return the values of some pairs, from the store where they are known."""
        f = self._function()
        a = self.store.numbers(A[1].tolist())
        b = self.store.numbers(B[1].tolist())
        rows = np.unique(i)
        columns = np.unique(j)
        known = self.store.read(f, a[rows], b[columns], SYMMETRIC in self.claims)
        values = known[np.searchsorted(rows, i), np.searchsorted(columns, j)]
        new = np.flatnonzero(np.isnan(values))
        if len(new):
            values[new] = self._computed(A, B, i[new], j[new], np.stack([a[i[new]], b[j[new]]], axis=1), f)
        if deliver is not None:
            deliver(list(range(len(values))), values.tolist())
        return values

    def _computed(
        self, A: Encoding, B: Encoding, i: np.ndarray, j: np.ndarray, pairs: np.ndarray, f: int
    ) -> np.ndarray:
        """Compute the value of each different pair once, in order, and store it as soon as it is known."""
        a, b = pairs.T.copy()
        if SYMMETRIC in self.claims:
            pairs.sort(axis=1)
        _, first, back = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        first = first[order]
        self.store.check_writable(len(first))

        def deliver(positions: Any, numbers: Any) -> None:
            which = first[list(positions)]
            self.store.add(f, a[which].tolist(), b[which].tolist(), numbers)

        try:
            values = np.asarray(self.k.values_at(A[0], B[0], i[first], j[first], deliver), dtype=float)
        finally:
            self.store.flush()
        return values[np.argsort(order)[back.ravel()]]

    def _function(self) -> int:
        of_function: Callable[[Any], Any] = id  # in memory, copies share the function itself
        if self.store.name is not None:
            of_function = lambda f: None  # noqa: E731 (the name identifies it)
        elif self.store.path is not None:
            of_function = _code
        return self.store.function(digest(_identity(self.k, of_function), DIGEST), self.k)

    def __repr__(self) -> str:
        given = []
        if self.store.path is not None:
            given.append(repr(self.store.path))
        if self.store.name is not None:
            given.append(f"name={self.store.name!r}")
        return f"{in_brackets(self.k)}.cached({', '.join(given)})"


def _identity(k: Similarity, of_function: Callable[[Any], Any]) -> Any:
    """Return what determines the values of a similarity, but not how a function is called."""
    if isinstance(k, (FromPairs, FromBlocks)):
        return type(k).__name__, of_function(k.f)
    if isinstance(k, Cached):
        return _identity(k.k, of_function)
    params = k.get_params(deep=False)
    parts = {name: _identity(v, of_function) if isinstance(v, Similarity) else v for name, v in params.items()}
    return type(k).__qualname__, parts


def _code(f: Any) -> Any:
    """Return the code of a function with its defaults and the constants that it encloses; a counter may change."""
    if isinstance(f, partial):
        return _code(f.func), f.args, f.keywords
    function = getattr(f, "__func__", f) if hasattr(f, "__code__") or hasattr(f, "__func__") else type(f).__call__
    if not hasattr(function, "__code__"):
        return getattr(f, "__module__", ""), getattr(f, "__qualname__", type(f).__qualname__)
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    constants = [one for one in cells if one is None or isinstance(one, (str, bytes, Real, tuple, frozenset))]
    own = [_code(one) for one in cells if callable(one) and not isinstance(one, type) and one is not f]
    return function.__code__, function.__defaults__, function.__kwdefaults__, constants, own


@dataclass(frozen=True)
class CacheInformation(Result):
    """What a cache of pairs holds.

    Attributes
    ----------
    path : str
    name : str or None
        Name and version of the function.
    functions : tuple of str
        The similarities whose values it holds: several where parameters differ.
    pairs, objects : int
        Numbers of values and of different objects.
    size : int
        Bytes of the file.
    first, last : float or None
        When the oldest and the newest value were computed, in seconds since 1970.
    """

    path: str
    name: str | None
    functions: tuple[str, ...]
    pairs: int
    objects: int
    size: int
    first: float | None
    last: float | None

    def __str__(self) -> str:
        what = self.name or ", ".join(self.functions) or "nothing yet"
        return f"{self.path}: {self.pairs:,} pairs of {self.objects:,} objects, of {what}"


@contextmanager
def _opened(path: str, writing: bool = False) -> Iterator[sqlite3.Connection]:
    """Open an existing cache; raise CacheError unless the file is one."""
    place = Path(path)
    if not place.is_file():
        raise CacheError(f"{path}: there is no such file")
    if writing and not os.access(place, os.W_OK):
        raise CacheError(f"{path}: the cache is read-only")
    mode = "rw" if os.access(place, os.W_OK) and os.access(place.parent, os.W_OK) else "ro&immutable=1"
    with errors_of_cache(path):
        uri = f"{place.absolute().as_uri()}?mode={mode}"
        with closing(sqlite3.connect(uri, LOCK_SECONDS, isolation_level=None, uri=True)) as connection:
            about(connection, path)
            yield connection


def cache_information(path: str) -> CacheInformation:
    """Return what a cache holds."""
    with _opened(path) as connection:
        name = about(connection, path).get("name")
        functions = tuple(one for (one,) in connection.execute("SELECT name FROM functions ORDER BY id"))
        pairs, first, last = connection.execute("SELECT COUNT(*), MIN(time), MAX(time) FROM pairs").fetchone()
        objects = connection.execute("SELECT COUNT(*) FROM objects").fetchone()[0]
    return CacheInformation(path, name, functions, pairs, objects, Path(path).stat().st_size, first, last)


def merge_caches(into: str, others: Sequence[str]) -> int:
    """Copy pairs that are new from other caches of the same function into one, perhaps a new one; return how many."""
    names = {cache_information(one).name for one in others}
    if len(names) > 1:
        raise CacheError(f"caches of different functions cannot be merged: {', '.join(sorted(map(repr, names)))}")
    store = PairStore(into, names.pop() if names else None)
    before = len(store)
    store.close()
    with _opened(into, writing=True) as connection:
        found = set(connection.execute("SELECT identity FROM functions"))
        for other in others:
            with _opened(other) as one:
                found |= set(one.execute("SELECT identity FROM functions"))
        if cache_information(into).name is None and len(found) > 1:
            raise CacheError("caches of different functions without a name cannot be merged")
        for number, other in enumerate(others):
            connection.execute(f"ATTACH ? AS other{number}", (os.path.abspath(other),))
            with transaction(connection):
                _copy(connection, f"other{number}")
            connection.execute(f"DETACH other{number}")
    return cache_information(into).pairs - before


def _copy(connection: sqlite3.Connection, other: str) -> None:
    connection.execute(f"INSERT OR IGNORE INTO functions (identity, name) SELECT identity, name FROM {other}.functions")
    connection.execute(f"INSERT OR IGNORE INTO objects (digest) SELECT digest FROM {other}.objects")
    connection.execute(f"""
        INSERT OR IGNORE INTO pairs
        SELECT f.id, a.id, b.id, p.value, p.time FROM {other}.pairs p
        JOIN {other}.functions of ON of.id = p.f JOIN functions f ON f.identity = of.identity
        JOIN {other}.objects oa ON oa.id = p.a JOIN objects a ON a.digest = oa.digest
        JOIN {other}.objects ob ON ob.id = p.b JOIN objects b ON b.digest = ob.digest
    """)


def exported_pairs(path: str) -> Iterator[tuple[str, str, str, float, int]]:
    """Yield the pairs of a cache: the similarity, the digests of both objects, the value and the time."""
    with _opened(path) as connection:
        yield from connection.execute("""
            SELECT f.name, lower(hex(a.digest)), lower(hex(b.digest)), p.value, p.time FROM pairs p
            JOIN functions f ON f.id = p.f JOIN objects a ON a.id = p.a JOIN objects b ON b.id = p.b
        """)


def prune_cache(path: str, older_than_days: float | None = None, keep: int | None = None) -> int:
    """Remove pairs that are older than some days, or all but the newest ones, and return how many were removed."""
    with _opened(path, writing=True) as connection:
        before = connection.execute("SELECT COUNT(*) FROM pairs").fetchone()[0]
        with transaction(connection):
            if older_than_days is not None:
                oldest = int(time.time() - 86_400 * older_than_days)
                connection.execute("DELETE FROM pairs WHERE time < ?", (oldest,))
            if keep is not None:
                connection.execute(
                    "DELETE FROM pairs WHERE (f, a, b) IN "
                    "(SELECT f, a, b FROM pairs ORDER BY time DESC, a DESC, b DESC LIMIT -1 OFFSET ?)",
                    (keep,),
                )
            connection.execute(
                "DELETE FROM objects WHERE id NOT IN (SELECT a FROM pairs) AND id NOT IN (SELECT b FROM pairs)"
            )
            after = connection.execute("SELECT COUNT(*) FROM pairs").fetchone()[0]
        connection.execute("VACUUM")
    return int(before - after)
