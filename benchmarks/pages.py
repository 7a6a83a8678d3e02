"""Pages of the documentation whose figures a program writes: what stands between two markers is replaced."""

from __future__ import annotations

from pathlib import Path


def around_markers(path: Path, name: str) -> tuple[str, str]:
    """Return what stands up to ``<!-- NAME: begin -->`` and from ``<!-- NAME: end -->`` on, these included."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    page = path.read_text(encoding="utf-8")
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        raise ValueError(f"{path} must hold the lines {begin!r} and {end!r} once each, in this order")
    return page[: page.index(begin) + len(begin)], page[page.index(end) :]


def put_between_markers(path: Path, name: str, text: str) -> None:
    """Replace what stands in a page between its two markers of this name."""
    before, after = around_markers(path, name)
    path.write_text(f"{before}\n\n{text.strip()}\n\n{after}", encoding="utf-8")
