"""Print the coverage of lines and of branches, room by room, and the modules that are covered least.

    python tools/coverage_table.py

``coverage report`` counts lines and branches together; the goals, 96 % of lines and 90 % of branches, are apart.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

LINES, BRANCHES = 96.0, 90.0
"""What is asked of the whole package, in per cent."""

LEAST = 15
"""Number of modules that are listed."""


def share(part: int, whole: int) -> float:
    """Return a share in per cent; all of nothing is everything."""
    return 100.0 * part / whole if whole else 100.0


def main() -> None:
    """Put the files of all processes together and print the table."""
    coverage = [sys.executable, "-m", "coverage"]
    folder = Path("build/coverage")
    subprocess.run([*coverage, "combine", "-q"], check=True)
    subprocess.run([*coverage, "json", "-q", "-o", str(folder / "coverage.json")], check=True)
    files = json.loads((folder / "coverage.json").read_text())["files"]
    rooms: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    modules = []
    for path, found in files.items():
        one = found["summary"]
        counts = [one["covered_lines"], one["num_statements"], one["covered_branches"], one["num_branches"]]
        name = path.split("similitude/", 1)[1]
        for key in (name.split("/")[0] if "/" in name else "(top)", "all"):
            rooms[key] = [a + b for a, b in zip(rooms[key], counts, strict=True)]
        modules.append((counts[1] - counts[0] + counts[3] - counts[2], name, counts))
    print(f"{'room':<34}{'lines':>8}{'branches':>10}")
    for room in sorted(rooms, key=lambda name: (name == "all", name)):
        a, b, c, d = rooms[room]
        print(f"{room:<34}{share(a, b):>7.1f}%{share(c, d):>9.1f}%")
    print(f"\nMost left to reach:\n{'module':<58}{'lines':>8}{'branches':>10}")
    for _, name, (a, b, c, d) in sorted(modules, reverse=True)[:LEAST]:
        print(f"{name:<58}{share(a, b):>7.1f}%{share(c, d):>9.1f}%")
    a, b, c, d = rooms["all"]
    if share(a, b) < LINES or share(c, d) < BRANCHES:
        raise SystemExit(f"below the goals of {LINES:g} % of lines and {BRANCHES:g} % of branches")


if __name__ == "__main__":
    main()
