"""``similitude cache``: files with remembered similarities of pairs."""

from __future__ import annotations

import csv
import io
import sys
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from similitude.cli.errors import UsageError
from similitude.cli.output import Output, Terminal

if TYPE_CHECKING:
    from similitude.similarity import CacheInformation


def info(cache: str, out: Output) -> None:
    """Show whose values a cache holds, how many and since when."""
    from similitude.similarity import cache_information

    found = cache_information(cache)
    out.result({"command": "cache info", **found.to_dict()}, lambda terminal: _show(terminal, found))


def merge(into: str, others: list[str], out: Output) -> None:
    """Copy the pairs of other caches of the same function into one, which is made if there is none."""
    from similitude.similarity import cache_information, merge_caches

    added = merge_caches(into, others)
    found = cache_information(into)
    document = {"command": "cache merge", "added": added, **found.to_dict()}
    out.result(document, lambda terminal: terminal.say(f"{into}: {added:,} pairs added, {found.pairs:,} in all"))


def export(cache: str, output: str = "-") -> None:
    """Write all pairs as CSV: the similarity, digests of both objects, the value and the time."""
    from similitude.similarity import exported_pairs
    from similitude.support import check_place, complete_file

    rows = exported_pairs(cache)
    if output == "-":
        _write(sys.stdout, rows)
        return
    with complete_file(check_place(output)) as file:
        text = io.TextIOWrapper(file, "utf-8", newline="")
        _write(text, rows)
        text.detach()


def prune(cache: str, out: Output, older_than: float | None = None, keep: int | None = None) -> None:
    """Remove old pairs from a cache, and the space that they took."""
    from similitude.similarity import prune_cache

    if older_than is None and keep is None:
        raise UsageError("give --older-than DAYS or --keep PAIRS: which pairs are to be removed?")
    removed = prune_cache(cache, older_than, keep)
    document = {"command": "cache prune", "cache": cache, "removed": removed}
    out.result(document, lambda terminal: terminal.say(f"{cache}: {removed:,} pairs removed"))


def _write(file: object, rows: object) -> None:
    written = csv.writer(file)  # type: ignore[arg-type]
    written.writerow(["similarity", "object_1", "object_2", "value", "time"])
    written.writerows(rows)  # type: ignore[arg-type]


def _show(terminal: Terminal, found: CacheInformation) -> None:
    from similitude.compute.engines import format_bytes

    terminal.say(f"{found.path}: {found.pairs:,} pairs, {format_bytes(found.size)}", "bold")
    facts: list[tuple[str, object]] = [("function", found.name or "(identified by its code)")]
    facts += [("similarity", one) for one in found.functions]
    facts.append(("objects", f"{found.objects:,}"))
    if found.first is not None and found.last is not None:
        facts.append(("computed", f"{_day(found.first)} to {_day(found.last)}"))
    terminal.facts(facts)


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
