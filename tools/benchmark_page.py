"""Write measured figures into docs/benchmarks.md: ``python -m tools.benchmark_page build/bench.json [MORE.json ...]``.

The files are written by ``python -m benchmarks --json PATH``. Several files are merged if they come from the same
machine and versions; if a task and data set is in several of them, the last one is used. Ratios to the fastest other
library are also added to benchmarks/history.csv, unless a run was quick. Last come the tables of
benchmarks/gpu/RESULTS.md.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.pages import put_between_markers
from benchmarks.report import DISTURBED, child_figures, duration, header, line, number
from tools.benchmark_history import HISTORY, Ratio, add_to_history, by_version, read_history

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
GPU = Path(__file__).parents[1] / "benchmarks" / "gpu" / "RESULTS.md"
MARKER = "figures"
OURS = "ours"


def merged(paths: Sequence[Path]) -> dict[str, Any]:
    """Return the contents of all files as one run."""
    runs = [{**json.loads(path.read_text()), "day": _day(path)} for path in paths]
    for path, run in zip(paths, runs, strict=True):
        for name in ("processor", "cores", "loops", "python", "versions"):
            if run["machine"][name] != runs[0]["machine"][name]:
                raise ValueError(
                    f"{path} and {paths[0]} differ in {name}: figures of one page must come from one machine"
                )
    figures = {(one["task"], one["dataset"]): one for run in runs for one in run["figures"]}
    gates = {(one["task"], one["dataset"], one["says"]): one for run in runs for one in run["gates"]}
    return {
        "machine": runs[0]["machine"],
        "days": sorted({run["day"] for run in runs}),
        "quick": any(run["quick"] for run in runs),
        "limits": runs[-1]["limits"],
        "figures": list(figures.values()),
        "gates": list(gates.values()),
        "skipped": sorted({what for run in runs for what in run["skipped"]}),
    }


def _day(path: Path) -> str:
    """Return the day on which a file was written, which is the day of the run."""
    return datetime.date.fromtimestamp(path.stat().st_mtime).isoformat()


def text(run: dict[str, Any], history: Sequence[Ratio]) -> str:
    """Return the text between the markers."""
    parts = [conditions(run), limits(run), at_a_glance(run), targets(run), by_version(history)]
    parts += [details(run), left_out(run)]
    return "\n\n".join(part for part in parts if part)


def conditions(run: dict[str, Any]) -> str:
    """Describe the machine, the date, and other load during the run."""
    machine, versions = run["machine"], run["machine"]["versions"]
    used = ", ".join(f"{name} {what}" for name, what in versions.items() if what != "not installed")
    busy = max((one["disturbed"] or 0.0 for one in run["figures"]), default=0.0)
    sentences = [
        f"Measured on {' and '.join(run['days'])}: {machine['processor']}, {machine['cores']} cores, Python "
        f"{machine['python']}, loops {machine['loops']}; {', '.join(machine['blas'])}; {used}."
    ]
    if run["quick"]:
        sentences.append("**A quick run: smaller sizes and fewer repetitions.**")
    if busy > DISTURBED:
        sentences.append(f"**Other processes kept up to {busy:.1f} cores busy meanwhile.**")
    return " ".join(sentences)


def limits(run: dict[str, Any]) -> str:
    """Return the table of the machine's limits."""
    rows = [line([one["name"], one["threads"], f"{one['value']:.3g} {one['unit']}"]) for one in run["limits"]]
    return "\n".join([header(["limit of the machine", "threads", "value"]), *rows])


def at_a_glance(run: dict[str, Any]) -> str:
    """Return a line per data set with the fastest other library, on one thread."""
    rows = []
    for one, ours, best in _beside_the_fastest(run):
        mine = [duration(ours["median"]), ours["check"]["says"]]
        its = [best["contender"], duration(best["median"]), best["check"]["says"], _ratio(best)]
        rows.append(line([one["task"], one["dataset"], *mine, *its]))
    if not rows:
        return ""
    columns = ["task", "data", "ours", "our result", "fastest peer", "its time", "its result", "its time / ours"]
    return "\n".join(["### At a glance, one thread\n", header(columns), *rows])


def _beside_the_fastest(run: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]:
    """Yield for each data set its figures, ours, and those of the fastest other library, on one thread."""
    for one in run["figures"]:
        alone = [series for series in one["series"] if series["threads"] == 1 and _is_right(series)]
        ours = [series for series in alone if series["contender"] == OURS]
        peers = [series for series in alone if not series["contender"].startswith(OURS)]
        if ours and peers:
            yield one, ours[0], min(peers, key=lambda series: series["median"])


def ratios(run: dict[str, Any]) -> list[Ratio]:
    """Return what a run adds to the history."""
    machine = run["machine"]
    start = machine["versions"]["similitude"], run["days"][-1], machine["processor"]
    return [
        Ratio(*start, one["task"], one["dataset"], best["contender"], _ratio(best))
        for one, _, best in _beside_the_fastest(run)
    ]


def _ratio(series: dict[str, Any]) -> str:
    """Return the time of a contender over ours, with two digits: 160, not 1.6e+02."""
    return f"{float(format(series['to_ours'], '.2g')):g}"


def _is_right(series: dict[str, Any]) -> bool:
    """Tell whether this is a complete and correct result, neither a limit nor a failure."""
    return "failed" not in series and series["check"] is not None and bool(series["check"]["passed"])


def targets(run: dict[str, Any]) -> str:
    """Return how many targets are met, and a table of those that are not."""
    missed = [one for one in run["gates"] if not one["met"]]
    count = f"{len(run['gates']) - len(missed)} of {len(run['gates'])} are met"
    if not missed:
        return f"### Targets\n\n{count}."
    rows = [line([one["task"], one["dataset"], one["says"], f"{one['value']:.3g}"]) for one in missed]
    columns = ["task", "data", "target", "measured"]
    return "\n".join([f"### Targets\n\n{count}; these are not:\n", header(columns), *rows])


def details(run: dict[str, Any]) -> str:
    """Return a table per task."""
    tasks: dict[str, list[dict[str, Any]]] = {}
    for one in run["figures"]:
        tasks.setdefault(one["task"], []).append(one)
    return "\n\n".join(["### All figures", *(_task(name, figures) for name, figures in tasks.items())])


def _task(name: str, figures: Sequence[dict[str, Any]]) -> str:
    columns = ["data", "by", "threads", "time", "spread", "time / ours", "time / limit", "peak MB", "result"]
    computes = figures[0]["computes"][0].upper() + figures[0]["computes"][1:]
    rows = [line(_cells(one, series)) for one in figures for series in one["series"]]
    return "\n".join([f"#### {name}\n\n{computes}.\n", header(columns), *rows])


def _cells(figures: dict[str, Any], series: dict[str, Any]) -> list[str]:
    start = [figures["dataset"], series["contender"], str(series["threads"])]
    if "failed" in series:
        return [*start, "failed", *["-"] * 4, series["failed"].replace("|", "/")]
    check = series["check"]
    peak, _ = child_figures(figures["children"].get(series["contender"], ()))
    return [
        *start,
        duration(series["median"]),
        duration(series["spread"]) if len(series["seconds"]) > 1 else "once",
        number(series["to_ours"]),
        number(series["to_limit"]),
        number(peak, 0),
        "limit" if check is None else check["says"] + ("" if check["passed"] else ": WRONG"),
    ]


def left_out(run: dict[str, Any]) -> str:
    """Return a list of what was not measured."""
    return "\n".join(["### Left out\n", *(f"- {what}" for what in run["skipped"])]) if run["skipped"] else ""


def on_a_gpu(path: Path) -> str:
    """Return the measurements on a GPU, as they stand in their own file, with headings below those of the page."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return "\n".join(f"##{one}" if one.startswith("#") else one for one in lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page."""
    parser = argparse.ArgumentParser(prog="python -m tools.benchmark_page", description="Write docs/benchmarks.md.")
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="written by python -m benchmarks --json FILE"
    )
    parser.add_argument("--page", type=Path, default=PAGE, help="the page to write into (default: docs/benchmarks.md)")
    parser.add_argument("--history", type=Path, default=HISTORY, help="default: benchmarks/history.csv")
    parser.add_argument("--gpu", type=Path, default=GPU, help="default: benchmarks/gpu/RESULTS.md")
    options = parser.parse_args(arguments)
    try:
        run = merged(options.files)
        history = read_history(options.history) if run["quick"] else add_to_history(options.history, ratios(run))
        put_between_markers(options.page, MARKER, f"{text(run, history)}\n\n{on_a_gpu(options.gpu)}")
    except (OSError, ValueError, KeyError) as error:
        print(f"the page was not written: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
