"""Try the theorems: ``python -m benchmarks.theory --help``."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import fnmatch
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.pages import around_markers, put_between_markers
from benchmarks.report import header, line
from benchmarks.theory.experiments import ALL
from benchmarks.theory.mutate import report
from benchmarks.theory.nouns import Experiment, Finding

COLUMNS = ("theorem", "promised", "measured", "trials", "holds")
MARKER = "theorems"


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.theory", description="Try the theorems.")
    parser.add_argument("--short", action="store_true", help="fewer trials, and not the longest experiments")
    parser.add_argument("--only", default="*", metavar="GLOB", help="experiments whose name matches, such as 'blind*'")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found there")
    parser.add_argument(
        "--markdown", type=Path, metavar="PAGE", help="put the table into this page, between its markers"
    )
    parser.add_argument("--mutate", action="store_true", help="change every constant and exponent: a row must say NO")
    parser.add_argument("--list", action="store_true", help="list the experiments and their trials")
    return parser.parse_args(arguments)


def chosen(short: bool, pattern: str) -> list[Experiment]:
    """Return the experiments whose name matches; in short form those that have one."""
    named = [one for one in ALL if fnmatch.fnmatch(one.name, pattern)]
    return [one for one in named if one.short is not None] if short else named


def row(finding: Finding) -> str:
    """Return a finding as a line of the table."""
    cells = [finding.theorem, finding.promised, finding.measured, finding.trials, "yes" if finding.holds else "NO"]
    return line([str(cell).replace("|", "\\|") for cell in cells])


def summary(findings: Sequence[Finding], seconds: float) -> str:
    """Return the last line."""
    broken = sum(not one.holds for one in findings)
    return f"{len(findings)} experiments in {seconds:.0f} s: {len(findings) - broken} hold, {broken} do not"


def page(findings: Sequence[Finding], seconds: float, short: bool) -> str:
    """Return a table for each theorem, as Markdown."""
    theorems: dict[str, list[str]] = {}
    for one in findings:
        theorem, _, tried = one.theorem.partition(": ")
        theorems.setdefault(theorem, []).append(row(dataclasses.replace(one, theorem=tried or "as stated")))
    form = " Short form: fewer trials, and not the longest experiments." if short else ""
    parts = [f"Tried on {datetime.date.today().isoformat()}. {summary(findings, seconds)}.{form}"]
    head = header(("case", *COLUMNS[1:]))
    parts += [f"### {name}\n\n" + "\n".join([head, *rows]) for name, rows in theorems.items()]
    return "\n\n".join(parts).replace("<", "&lt;")


def as_json(experiment: Experiment, finding: Finding, seconds: float) -> dict[str, object]:
    """Return a finding for JSON."""
    return {"name": experiment.name, **dataclasses.asdict(finding), "seconds": round(seconds, 2)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the experiments, print the table, and return 1 if a promise does not hold."""
    asked = options(arguments)
    if asked.mutate:
        return report()
    experiments = chosen(asked.short, asked.only)
    if not experiments:
        print(f"no experiment is called {asked.only!r}", file=sys.stderr)
        return 1
    if asked.list:
        print("\n".join(f"{one.name}: {one.full} trials, {one.short or 'no'} in short form" for one in experiments))
        return 0
    if asked.markdown:
        around_markers(asked.markdown, MARKER)  # a page that cannot be written is refused before the work
    findings, written, start = [], [], time.perf_counter()
    print(header(COLUMNS), flush=True)
    for one in experiments:
        began = time.perf_counter()
        findings.append(one.run(short=asked.short))
        written.append(as_json(one, findings[-1], time.perf_counter() - began))
        print(row(findings[-1]), flush=True)
    seconds = time.perf_counter() - start
    print(f"\n{summary(findings, seconds)}")
    if asked.json:
        asked.json.parent.mkdir(parents=True, exist_ok=True)
        asked.json.write_text(json.dumps(written, indent=1) + "\n")
    if asked.markdown:
        put_between_markers(asked.markdown, MARKER, page(findings, seconds, asked.short))
    return 0 if all(one.holds for one in findings) else 1


if __name__ == "__main__":
    sys.exit(main())
