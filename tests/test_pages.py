"""Pages whose numbers are written by programs: their markers, the theorem table, the benchmarks."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.pages import put_between_markers  # noqa: E402
from benchmarks.theory import __main__ as theory  # noqa: E402
from tools import benchmark_page  # noqa: E402

MACHINE = {
    "processor": "Abacus",
    "cores": 2,
    "python": "3.12.0",
    "loops": "compiled",
    "blas": ["beads 1.0"],
    "versions": {"similitude": "0.2.0", "numpy": "2.0", "torch": "not installed"},
}


def series(contender, median, *, threads=1, to_ours=1.0, passed=True, check=True):
    judged = {"value": 0.0, "says": "equal", "passed": passed} if check else None
    times = {"seconds": [median, median], "median": median, "spread": 0.0, "to_ours": to_ours, "to_limit": None}
    return {"contender": contender, "threads": threads, **times, "check": judged}


def a_run(**changes):
    figures = {
        "task": "double",
        "computes": "twice the Numbers",
        "dataset": "n=5",
        "series": [
            series("ours", 0.5),
            series("ours (block)", 0.4, to_ours=0.8),
            series("wrong", 0.1, to_ours=0.2, passed=False),
            series("limit", 0.2, to_ours=0.4, check=False),
            series("slow", 3.0, to_ours=6.0),
            series("quick", 1.0, to_ours=2.0),
            {"contender": "broken", "threads": 1, "failed": "RuntimeError: no | way"},
        ],
        "children": {"ours": [{"peak_mb": 12.0, "first": 2.0, "second": 1.0}]},
        "disturbed": 0.0,
    }
    gates = [
        {"task": "double", "dataset": "n=5", "says": "at most 1 s", "value": 0.5, "met": True},
        {"task": "double", "dataset": "n=5", "says": "at least 7 x faster", "value": 6.0, "met": False},
    ]
    limits = [{"name": "GEMM", "threads": 1, "value": 50.0, "unit": "GFLOP/s"}]
    run = {"machine": MACHINE, "quick": False, "limits": limits, "figures": [figures], "gates": gates, "skipped": []}
    return {**run, **changes}


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "page.md"
    path.write_text("above\n<!-- figures: begin -->\nold\n<!-- figures: end -->\nbelow\n")
    return path


@pytest.fixture(autouse=True)
def gpu(tmp_path, monkeypatch):
    """Measurements on a GPU of its own."""
    path = tmp_path / "RESULTS.md"
    path.write_text("# Measurements on a GPU\n\n## fits\n\n| what | figure |\n| --- | --- |\n| ridge | 0.3 s |\n")
    monkeypatch.setattr(benchmark_page, "GPU", path)


@pytest.fixture(autouse=True)
def history(tmp_path, monkeypatch):
    """A history of its own."""
    monkeypatch.setattr(benchmark_page, "HISTORY", tmp_path / "history.csv")
    return tmp_path / "history.csv"


def written(tmp_path, *runs):
    paths = [tmp_path / f"run{number}.json" for number in range(len(runs))]
    for path, run in zip(paths, runs, strict=True):
        path.write_text(json.dumps(run))
    return [str(path) for path in paths]


def test_only_what_stands_between_the_markers_changes(page):
    put_between_markers(page, "figures", "new")
    put_between_markers(page, "figures", "newer\n")
    assert page.read_text() == "above\n<!-- figures: begin -->\n\nnewer\n\n<!-- figures: end -->\nbelow\n"


@pytest.mark.parametrize("text", ["", "<!-- figures: begin -->", "<!-- figures: end --> <!-- figures: begin -->"])
def test_a_page_without_its_markers_is_refused_and_kept(page, text):
    page.write_text(text)
    with pytest.raises(ValueError, match="must hold the lines '<!-- figures: begin -->'"):
        put_between_markers(page, "figures", "new")
    assert page.read_text() == text


def test_the_benchmark_page(tmp_path, page):
    assert benchmark_page.main([*written(tmp_path, a_run()), "--page", str(page)]) == 0
    text = page.read_text()
    assert "Abacus, 2 cores, Python 3.12.0, loops compiled; beads 1.0; similitude 0.2.0, numpy 2.0." in text
    assert "torch" not in text and "quick run" not in text and "busy" not in text and "old" not in text
    assert (
        "| double | n=5 | 500 ms | equal | quick | 1.00 s | equal | 2 |" in text
    )  # the fastest peer with a right result
    assert "1 of 2 are met" in text and "| double | n=5 | at least 7 x faster | 6 |" in text
    assert "#### double\n\nTwice the Numbers." in text
    assert "| n=5 | ours | 1 | 500 ms | 0 ms | 1.00 | - | 12 | equal |" in text
    assert "| n=5 | limit | 1 | 200 ms | 0 ms | 0.40 | - | - | limit |" in text
    assert "### Measurements on a GPU\n\n#### fits\n\n| what | figure |" in text
    assert "equal: WRONG" in text and "| failed | - | - | - | - | RuntimeError: no / way |" in text


def test_what_disturbs_a_run_is_said(tmp_path, page):
    run = a_run(quick=True, skipped=["mnist: no file"])
    run["figures"][0]["disturbed"] = 1.25
    benchmark_page.main([*written(tmp_path, run), "--page", str(page)])
    text = page.read_text()
    assert "A quick run" in text and "up to 1.2 cores busy" in text and "- mnist: no file" in text


def test_several_runs_are_put_together_and_the_last_counts(tmp_path, page):
    later, other = a_run(), a_run()
    later["figures"][0]["series"] = [series("ours", 0.25), series("slow", 3.0, to_ours=12.0)]
    other["figures"][0]["task"] = "treble"
    benchmark_page.main([*written(tmp_path, a_run(), later, other), "--page", str(page)])
    text = page.read_text()
    assert "| double | n=5 | 250 ms | equal | slow | 3.00 s | equal | 12 |" in text and "#### treble" in text
    assert "| double | n=5 | 500 ms" not in text


def test_the_history_shows_ratios_by_version(tmp_path, page, history):
    benchmark_page.main([*written(tmp_path, a_run()), "--page", str(page)])
    assert "By version" not in page.read_text()  # there is nothing to compare with
    faster, newer = a_run(), {**MACHINE, "versions": {"similitude": "0.3.0"}}
    faster["figures"][0]["series"] = [series("ours", 0.25), series("slow", 3.0, to_ours=12.0)]
    for _ in range(2):  # a second run on the same day replaces the first
        benchmark_page.main([*written(tmp_path, {**faster, "machine": newer}), "--page", str(page)])
    lines = history.read_text().splitlines()
    assert lines[0] == "version,day,processor,task,data,peer,ratio" and len(lines) == 3
    assert "| double | n=5 | 2 (quick) | 12 (slow) |" in page.read_text()
    before = history.read_text()
    benchmark_page.main([*written(tmp_path, a_run(quick=True)), "--page", str(page)])
    assert history.read_text() == before


def test_runs_of_different_machines_are_refused(tmp_path, page, capsys):
    other = a_run(machine={**MACHINE, "processor": "Slide rule"})
    assert benchmark_page.main([*written(tmp_path, a_run(), other), "--page", str(page)]) == 1
    assert "differ in processor" in capsys.readouterr().err and "old" in page.read_text()


def test_a_file_that_is_missing_is_named(page, capsys):
    assert benchmark_page.main(["nowhere.json", "--page", str(page)]) == 1
    assert "nowhere.json" in capsys.readouterr().err


def test_the_theorem_table(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text("<!-- theorems: begin -->\n<!-- theorems: end -->\n")
    assert theory.main(["--short", "--only", "gaussian_*", "--markdown", str(page)]) == 0
    text = page.read_text()
    assert "3 experiments in" in text and "3 hold, 0 do not" in text and "Short form" in text
    assert text.count("\n### ") == 1 and "### Theorem 2, Balcan, Blum and Vempala (2004)" in text
    assert text.count("| gaussian | k = ") == 3 and "&lt;= 0.01" in text
    assert "| yes |" in capsys.readouterr().out


def test_a_page_that_cannot_be_written_is_refused_before_the_work(page, capsys):
    with pytest.raises(ValueError, match="theorems: begin"):
        theory.main(["--short", "--only", "gaussian_*", "--markdown", str(page)])
    assert not capsys.readouterr().out


@pytest.mark.parametrize(("name", "marker"), [("benchmarks", "figures"), ("theorem-table", "theorems")])
def test_the_pages_have_their_markers(name, marker):
    text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    assert text.count(f"<!-- {marker}: begin -->") == text.count(f"<!-- {marker}: end -->") == 1
