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
SCHEMA = (
    "CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID",
    "CREATE TABLE functions (id INTEGER PRIMARY KEY, identity BLOB UNIQUE, name TEXT)",
    "CREATE TABLE objects (id INTEGER PRIMARY KEY, digest BLOB UNIQUE)",
    "CREATE TABLE pairs (f INTEGER, a INTEGER, b INTEGER, value REAL, time INTEGER, PRIMARY KEY (f, a, b)) "
    "WITHOUT ROWID",
    f"INSERT INTO about VALUES ('format', '{FORMAT}')",
)
LOCK_SECONDS = 30.0
"""How long to wait for another process that writes."""


class PairStore:
    """Similarities by the contents of pairs. Copies share it; a pickled one opens the file again, or starts empty.

    Without a path they are in memory. The name is that of the function and its version; a file holds one name.
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
        where = ":memory:"
        if self.path is not None:
            where = self._uri(Path(self.path))
        connection = sqlite3.connect(where, LOCK_SECONDS, check_same_thread=False, isolation_level=None, uri=True)
        about(connection, self.place, or_empty=self._writable)  # before anything in it is changed
        if self._writable:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            with transaction(connection):
                if connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0] == 0:
                    for statement in SCHEMA:
                        connection.execute(statement)
        known = about(connection, self.place).get("name")
        if self.name is not None and known is None and self._writable:
            connection.execute("INSERT OR IGNORE INTO about VALUES ('name', ?)", (self.name,))
        elif self.name is not None and known != self.name:
            n = connection.execute("SELECT COUNT(*) FROM pairs").fetchone()[0]
            raise CacheError(
                f"{self.place} holds {n:,} pairs of {known!r}, not of {self.name!r}: give another path, or the name "
                f"that the values belong to"
            )
        return connection

    def _uri(self, path: Path) -> str:
        if not path.parent.is_dir():
            raise CacheError(f"{path}: there is no folder {str(path.parent)!r} for the cache")
        if path.is_dir():
            raise CacheError(f"{path} is a folder: give the path of a file")
        exists = path.exists()
        self._writable = os.access(path.parent, os.W_OK) and (not exists or os.access(path, os.W_OK))
        uri = path.absolute().as_uri()
        if self._writable:
            return f"{uri}?mode=rwc"
        if not exists:
            raise CacheError(f"{path}: cannot be made, the folder is read-only")
        if path.with_name(f"{path.name}-wal").exists():
            return f"{uri}?mode=ro"
        return f"{uri}?mode=ro&immutable=1"  # a read-only folder has no place for the files that readers share

    # Reading and writing.

    def function(self, identity: bytes, k: Any) -> int:
        """Return the number of a similarity, which is kept; a file without a name refuses another one."""
        select = "SELECT id FROM functions WHERE identity = ?"
        with self._opened() as connection:
            if identity in self._functions:
                return self._functions[identity][0]
            number = connection.execute(select, (identity,)).fetchone()
            if number is None and self.path is not None and self.name is None:
                other = connection.execute("SELECT name FROM functions WHERE identity != ?", (identity,)).fetchone()
                if other is not None:
                    raise CacheError(
                        f"{self.place} holds values of {other[0]}, of another function or version than {k!r}: give "
                        f"another path; or name the function and its version, cached(path, name='judge-v2'), from the "
                        f"start"
                    )
            if number is None and self._writable:
                connection.execute(
                    "INSERT OR IGNORE INTO functions (identity, name) VALUES (?, ?)", (identity, repr(k))
                )
                number = connection.execute(select, (identity,)).fetchone()
            found = int((number or (-1,))[0])
            self._functions[identity] = found, k  # keeping it keeps the id of its function taken
            return found

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
        """Return the known values of objects `a` and `b`, or with symmetry of `b` and `a`, and NaN for the others."""
        if not len(a) or not len(b):
            return np.full((len(a), len(b)), np.nan)
        with self._opened() as connection:
            self._flush(connection)
            values = _known(connection, f, a, b)
            if symmetric and np.isnan(values).any():
                values = np.where(np.isnan(values), _known(connection, f, b, a).T, values)
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
            if time.monotonic() - self._committed > 0.02:
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


def _known(connection: sqlite3.Connection, f: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the matrix of known values of objects `a` and `b`, with NaN where none is known."""
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
    return found[np.ix_(row_of.ravel(), column_of.ravel())]


def _parts(items: list[Any]) -> Iterator[list[Any]]:
    for start in range(0, len(items), 500):  # parameters of one statement
        yield items[start : start + 500]


@contextmanager
def errors_of_cache(place: str) -> Iterator[None]:
    """Turn errors of SQLite into errors that name the cache and say what to do."""
    try:
        yield
    except sqlite3.Error as error:
        text = str(error)
        meaning = f"the cache cannot be used: {text}"
        if "locked" in text or "busy" in text:
            held = f"another process has held the cache locked for {LOCK_SECONDS:.0f} s"
            meaning = f"{held}: let it finish, then run this again"
        elif "full" in text:
            kept = "values that are not written are kept in memory"
            meaning = f"the disk is full: free some space and run this again; {kept}"
        elif "readonly" in text:
            meaning = "the cache is read-only"
        elif "not a database" in text or "malformed" in text:
            meaning = f"not a cache of pairs, or a damaged one ({text}): choose another path"
        raise CacheError(f"{place}: {meaning}") from error
