"""A store of similarities of pairs in SQLite: in a file that several processes may share, or in memory.

An object is known by a digest of its contents, and has an integer in the file; a row of the table of pairs holds a
function, two objects, the value and the time. Values are committed as they arrive, at the latest every 20 ms.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from similitude.support import CacheError, brief

FORMAT = "similitude pairs 1"
SCHEMA = """
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE functions (id INTEGER PRIMARY KEY, identity BLOB UNIQUE, name TEXT);
CREATE TABLE objects (id INTEGER PRIMARY KEY, digest BLOB UNIQUE);
CREATE TABLE pairs (f INTEGER, a INTEGER, b INTEGER, value REAL, time INTEGER, PRIMARY KEY (f, a, b)) WITHOUT ROWID;
"""
COMMIT_SECONDS = 0.02
"""Longest time for which values wait to be committed while others arrive."""

LOCK_SECONDS = 30.0
"""How long to wait for another process that writes."""

MOST_PARAMETERS = 500
"""Parameters of one SQL statement."""


class PairStore:
    """Similarities by the contents of pairs. Copies share it; a pickled one opens the file again, or starts empty.

    Parameters
    ----------
    path : path, optional
        The file, made if there is none. Default: in memory.
    name : str, optional
        Name and version of the function. A file holds the values of one name.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, name: str | None = None) -> None:
        if path is not None and not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"the path of a cache must be a text or a path, got {type(path).__name__}")
        if name is not None and not (isinstance(name, str) and name):
            raise TypeError(f"the name of a cache must be a text such as 'judge-v2', got {brief(name)}")
        self.path = None if path is None else os.fspath(path)
        self.name = name
        self._reset()

    def _reset(self) -> None:
        self._connection: sqlite3.Connection | None = None
        self._process = os.getpid()
        self._writable = True
        self._functions: dict[bytes, tuple[int, Any]] = {}
        self._objects: dict[bytes, int] = {}
        self._pending: list[tuple[int, int, int, float, int]] = []
        self._committed = 0.0
        self._lock = threading.RLock()

    def _ready(self) -> None:
        if "_lock" not in vars(self):  # a loaded model sets the attributes that were saved, and no others
            self._reset()

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "name": self.name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._reset()

    def get_params(self, deep: bool = False) -> dict[str, Any]:
        """Return path and name, by which it is compared and printed."""
        return {"path": self.path, "name": self.name}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PairStore) and self.get_params() == other.get_params()

    __hash__ = None  # type: ignore[assignment]

    def __deepcopy__(self, memo: dict[int, Any]) -> PairStore:
        return self

    def __repr__(self) -> str:
        return f"PairStore({self.path!r}, {self.name!r})"

    # Opening.

    @property
    def place(self) -> str:
        """The file as errors name it."""
        return "the cache in memory" if self.path is None else self.path

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """Return the connection of this process; errors of SQLite become errors that say what to do."""
        self._ready()
        with self._lock, errors_of_cache(self.place):
            if self._connection is None or self._process != os.getpid():
                pending = self._pending
                self._reset()
                self._pending = pending
                self._connection = self._connect()
            yield self._connection

    def _connect(self) -> sqlite3.Connection:
        if self.path is None:
            connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        else:
            connection = self._connect_to_file(Path(self.path))
        about(connection, self.place, or_empty=self._writable)  # before anything in it is changed
        if self._writable:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            _create(connection)
        self._check_name(connection, about(connection, self.place).get("name"))
        return connection

    def _connect_to_file(self, path: Path) -> sqlite3.Connection:
        if not path.parent.is_dir():
            raise CacheError(f"{path}: there is no folder {str(path.parent)!r} for the cache")
        if path.is_dir():
            raise CacheError(f"{path} is a folder: give the path of a file")
        self._writable = os.access(path if path.exists() else path.parent, os.W_OK) and os.access(path.parent, os.W_OK)
        mode = "rwc" if self._writable else "ro"
        if not self._writable and not path.exists():
            raise CacheError(f"{path}: cannot be made, the folder is read-only")
        uri = f"{path.absolute().as_uri()}?mode={mode}"
        beside = path.with_name(f"{path.name}-wal")
        if not self._writable and not beside.exists():
            uri += "&immutable=1"  # a read-only folder has no place for the files beside it that readers share
        return sqlite3.connect(uri, LOCK_SECONDS, check_same_thread=False, isolation_level=None, uri=True)

    def _check_name(self, connection: sqlite3.Connection, known: str | None) -> None:
        """Refuse a cache of another function."""
        if self.name is not None and known is None and self._writable:
            connection.execute("INSERT OR IGNORE INTO about VALUES ('name', ?)", (self.name,))
        elif self.name is not None and known != self.name:
            n = connection.execute("SELECT COUNT(*) FROM pairs").fetchone()[0]
            raise CacheError(
                f"{self.place} holds {n:,} pairs of {known!r}, not of {self.name!r}: give another path, or the name "
                f"that the values belong to"
            )

    # Reading and writing.

    def function(self, identity: bytes, k: Any) -> int:
        """Return the number of a similarity, which is kept; a file without a name refuses another one."""
        with self._opened() as connection:
            if identity not in self._functions:
                number = self._number_of_function(connection, identity, repr(k))
                self._functions[identity] = number, k  # keeping it keeps the id of its function taken
            return self._functions[identity][0]

    def _number_of_function(self, connection: sqlite3.Connection, identity: bytes, name: str) -> int:
        number = connection.execute("SELECT id FROM functions WHERE identity = ?", (identity,)).fetchone()
        if number is not None:
            return int(number[0])
        if self.path is not None and self.name is None:
            other = connection.execute("SELECT name FROM functions WHERE identity != ?", (identity,)).fetchone()
            if other is not None:
                raise CacheError(
                    f"{self.place} holds values of {other[0]}, of another function or version than {name}: give "
                    f"another path; or name the function and its version, cached(path, name='judge-v2'), from the start"
                )
        if not self._writable:
            return -1
        connection.execute("INSERT OR IGNORE INTO functions (identity, name) VALUES (?, ?)", (identity, name))
        found = connection.execute("SELECT id FROM functions WHERE identity = ?", (identity,))
        return int(found.fetchone()[0])

    def numbers(self, digests: Sequence[bytes]) -> np.ndarray:
        """Return the numbers of objects; in a file that cannot be written, unknown objects have negative ones."""
        self._ready()
        known = self._objects
        missing = list(dict.fromkeys([one for one in digests if one not in known]))
        if missing:
            with self._opened() as connection:
                known = self._objects
                self._look_up(connection, missing)
                new = [one for one in missing if one not in known]
                if new and self._writable:
                    with transaction(connection):
                        connection.executemany(
                            "INSERT OR IGNORE INTO objects (digest) VALUES (?)", [(one,) for one in new]
                        )
                    self._look_up(connection, new)
                elif new:
                    known.update({one: -1 - len(known) - i for i, one in enumerate(new)})
        return np.array([known[one] for one in digests], dtype=np.int64)

    def _look_up(self, connection: sqlite3.Connection, digests: list[bytes]) -> None:
        for part in _parts(digests):
            marks = ",".join("?" * len(part))
            self._objects.update(connection.execute(f"SELECT digest, id FROM objects WHERE digest IN ({marks})", part))

    def read(self, f: int, a: np.ndarray, b: np.ndarray, symmetric: bool) -> np.ndarray:
        """Return the matrix of known values for objects `a` and `b`, with NaN where none is known.

        If the function is symmetric, a value for (b, a) serves as well.
        """
        values = np.full((len(a), len(b)), np.nan)
        if len(a) and len(b):
            with self._opened() as connection:
                self._flush(connection)
                _fill(connection, f, a, b, values)
                if symmetric and np.isnan(values).any():
                    other = np.full((len(b), len(a)), np.nan)
                    _fill(connection, f, b, a, other)
                    values = np.where(np.isnan(values), other.T, values)
        return values

    def check_writable(self, n: int) -> None:
        """Refuse to compute values that could not be kept, before they are paid for."""
        with self._opened() as connection:
            if not self._writable:
                raise CacheError(f"{self.place} is read-only, and {n:,} of the pairs that are needed are not in it")
            self._flush(connection)

    def add(self, f: int, a: Iterable[int], b: Iterable[int], values: Iterable[float]) -> None:
        """Add values, which are committed now, or within 20 ms if others were committed just before."""
        with self._opened() as connection:
            now = int(time.time())
            self._pending += [(f, *one, now) for one in zip(a, b, values, strict=True)]
            if time.monotonic() - self._committed > COMMIT_SECONDS:
                self._flush(connection)

    def flush(self) -> None:
        """Commit all values that were added."""
        self._ready()
        if self._pending:
            with self._opened() as connection:
                self._flush(connection)

    def _flush(self, connection: sqlite3.Connection) -> None:
        if not self._pending:
            return
        with transaction(connection):
            connection.executemany("INSERT OR REPLACE INTO pairs VALUES (?, ?, ?, ?, ?)", self._pending)
        self._pending.clear()  # after the commit: what could not be written is tried again
        self._committed = time.monotonic()

    def close(self) -> None:
        """Commit what was added, and close the file."""
        self.flush()
        with self._lock:
            if self._connection is not None and self.path is not None:
                self._connection.close()
                self._connection = None

    def __len__(self) -> int:
        with self._opened() as connection:
            self._flush(connection)
            return int(connection.execute("SELECT COUNT(*) FROM pairs").fetchone()[0])


def about(connection: sqlite3.Connection, place: str, or_empty: bool = False) -> dict[str, str]:
    """Return what a cache says of itself; refuse other databases, empty ones unless they are allowed."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    known = dict(connection.execute("SELECT key, value FROM about")) if "about" in tables else {}
    if known.get("format") != FORMAT and (tables or not or_empty):
        raise CacheError(f"{place} is a database, but not a cache of pairs: choose another path")
    return known


def _create(connection: sqlite3.Connection) -> None:
    """Make the tables if the database is empty."""
    with transaction(connection):
        if connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0] == 0:
            for statement in SCHEMA.strip().split(";"):
                if statement.strip():
                    connection.execute(statement)
            connection.execute("INSERT INTO about VALUES ('format', ?)", (FORMAT,))


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Write all or nothing; the lock is taken at the start, so that two writers wait instead of failing."""
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _fill(connection: sqlite3.Connection, f: int, a: np.ndarray, b: np.ndarray, values: np.ndarray) -> None:
    """Write the known values of objects `a` and `b` into a matrix."""
    rows, row_of = np.unique(a, return_inverse=True)
    columns, column_of = np.unique(b, return_inverse=True)
    found = np.full((len(rows), len(columns)), np.nan)
    low = int(columns[0])
    high = int(columns[-1])
    kind = np.dtype([("a", np.int64), ("b", np.int64), ("value", np.float64)])
    for part in _parts(rows.tolist()):
        marks = ",".join("?" * len(part))
        query = f"SELECT a, b, value FROM pairs WHERE f = ? AND a IN ({marks}) AND b BETWEEN ? AND ?"
        read = np.fromiter(connection.execute(query, (f, *part, low, high)), kind)
        at = np.searchsorted(columns, read["b"])
        known = columns[at] == read["b"]
        found[np.searchsorted(rows, read["a"][known]), at[known]] = read["value"][known]
    values[...] = found[np.ix_(row_of.ravel(), column_of.ravel())]


def _parts(items: list[Any]) -> Iterator[list[Any]]:
    for start in range(0, len(items), MOST_PARAMETERS):
        yield items[start : start + MOST_PARAMETERS]


@contextmanager
def errors_of_cache(place: str) -> Iterator[None]:
    """Turn errors of SQLite into errors that name the cache and say what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise CacheError(f"{place}: {_in_words(error)}") from error


def _in_words(error: sqlite3.Error) -> str:
    """Return what an error of SQLite means for a cache."""
    text = str(error)
    if "locked" in text or "busy" in text:
        return f"another process has held the cache locked for {LOCK_SECONDS:.0f} s: let it finish, then run this again"
    if "full" in text:
        return "the disk is full: free some space and run this again; values that are not written are kept in memory"
    if "readonly" in text:
        return "the cache is read-only"
    if "not a database" in text or "malformed" in text:
        return f"not a cache of pairs, or a damaged one ({text}): choose another path"
    return f"the cache cannot be used: {text}"
