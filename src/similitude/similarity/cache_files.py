"""Files with remembered pairs: what is in one, several merged into one, values exported, old values removed."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from similitude.similarity.pair_store import FORMAT, LOCK_SECONDS, PairStore, errors_of_cache, transaction
from similitude.support import CacheError, Result


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
    """Open an existing cache; a file that is none is refused."""
    place = Path(path)
    if not place.is_file():
        raise CacheError(f"{path}: there is no such file")
    if writing and not os.access(place, os.W_OK):
        raise CacheError(f"{path}: the cache is read-only")
    mode = "rw" if os.access(place, os.W_OK) and os.access(place.parent, os.W_OK) else "ro&immutable=1"
    with errors_of_cache(path):
        uri = f"{place.absolute().as_uri()}?mode={mode}"
        with closing(sqlite3.connect(uri, LOCK_SECONDS, isolation_level=None, uri=True)) as connection:
            tables = {one for (one,) in connection.execute("SELECT name FROM sqlite_master")}
            known = dict(connection.execute("SELECT key, value FROM about")) if "about" in tables else {}
            if known.get("format") != FORMAT:
                raise CacheError(f"{path} is a database, but not a cache of pairs")
            yield connection


def cache_information(path: str) -> CacheInformation:
    """Return what a cache holds."""
    with _opened(path) as connection:
        about = dict(connection.execute("SELECT key, value FROM about"))
        functions = tuple(one for (one,) in connection.execute("SELECT name FROM functions ORDER BY id"))
        pairs, first, last = connection.execute("SELECT COUNT(*), MIN(time), MAX(time) FROM pairs").fetchone()
        objects = connection.execute("SELECT COUNT(*) FROM objects").fetchone()[0]
    return CacheInformation(path, about.get("name"), functions, pairs, objects, Path(path).stat().st_size, first, last)


def merge_caches(into: str, others: Sequence[str]) -> int:
    """Copy the pairs of other caches of the same function into one, and return how many were new.

    Where both know a pair, the older value stays. The file is made if there is none.
    """
    names = {cache_information(one).name for one in others}
    if len(names) > 1:
        raise CacheError(f"caches of different functions cannot be merged: {', '.join(sorted(map(repr, names)))}")
    store = PairStore(into, names.pop() if names else None)
    before = len(store)
    store.close()
    with _opened(into, writing=True) as connection:
        if cache_information(into).name is None and len(_identities(connection, others)) > 1:
            raise CacheError("caches of different functions without a name cannot be merged")
        for number, other in enumerate(others):
            connection.execute(f"ATTACH ? AS other{number}", (os.path.abspath(other),))
            with transaction(connection):
                _copy(connection, f"other{number}")
            connection.execute(f"DETACH other{number}")
    return cache_information(into).pairs - before


def _identities(connection: sqlite3.Connection, others: Sequence[str]) -> set[bytes]:
    found = set(connection.execute("SELECT identity FROM functions"))
    for other in others:
        with _opened(other) as one:
            found |= set(one.execute("SELECT identity FROM functions"))
    return found


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
