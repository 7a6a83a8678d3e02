import json
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import __main__ as main  # noqa: E402
from benchmarks import contenders, gates, instructions, report  # noqa: E402
from benchmarks.measure import Figures, Series, measure  # noqa: E402
from benchmarks.nouns import Check, Contender, Dataset, Settings, Task  # noqa: E402
from benchmarks.tasks import ALL, task_named  # noqa: E402

SETTINGS = Settings(quick=True)


@pytest.fixture(autouse=True)
def garbage_stays(monkeypatch):
    """No garbage is collected before a measurement: among the objects of all test modules that takes most of a test."""
    monkeypatch.setattr("benchmarks.measure.gc", Mock())


class Twice(Contender):
    name = "ours"

    def double(self, X):
        return 2 * X


class InPlace(Contender):
    name = "in place"

    def double(self, X):
        X *= 2
        return X


class Broken(Contender):
    name = "broken"
    packages = ("no_such_package",)

    def double(self, X):
        raise RuntimeError("no")


def a_task(**changes):
    fields = {
        "name": "double",
        "computes": "twice the numbers",
        "operation": "double",
        "datasets": lambda settings: [numbers()],
        "truth": lambda data: data["X"] + data["X"],
        "check": lambda data, result, truth: Check(0.0, "equal", bool((result == truth).all())),
    }
    return Task(**{**fields, **changes})


def numbers():
    return Dataset("n=5", lambda rng: {"X": rng.random(5)})


def figures_of(times):
    """Return figures with these seconds by contender and threads."""
    series = []
    for (name, threads), seconds in times.items():
        contender = Contender()
        contender.name = name
        series.append(Series(contender, threads, dict(enumerate(seconds, start=1))))
    return Figures(a_task(), numbers(), series)


@pytest.mark.deep
def test_every_repetition_has_its_own_data_and_everybody_the_same():
    seen = {"ours": [], "in place": []}

    def look(one):
        def double(X):
            seen[one.name].append(X.copy())
            return type(one).double(one, X)

        return double

    ones = [Twice(), InPlace()]
    for one in ones:
        one.double = look(one)
    figures = measure(a_task(), numbers(), ones, [1], repetitions=2, patience=10.0)
    assert np.array_equal(seen["ours"], seen["in place"])
    assert len(np.unique(seen["ours"], axis=0)) == 3
    assert all(len(series.seconds) == 2 and series.check.passed for series in figures.series)


def test_a_contender_that_fails_is_reported_and_the_others_go_on():
    broken = Broken()
    assert "no_such_package" in broken.missing()
    figures = measure(a_task(), numbers(), [broken, Twice()], [1], repetitions=1, patience=10.0)
    assert figures.series[0].failed == "ModuleNotFoundError: No module named 'no_such_package'"
    assert figures.find("ours", 1).check.passed
    broken = Broken()
    broken.packages = ()
    figures = measure(a_task(), numbers(), [broken, Twice()], [1], repetitions=1, patience=10.0)
    assert figures.series[0].failed == "RuntimeError: no"
    assert "failed" in report.row(figures, figures.series[0])
    assert figures.find("ours", 1).check.passed


def test_a_data_set_that_cannot_be_made_is_named_and_the_others_go_on(monkeypatch, capsys):
    def fails(rng):
        raise OSError("file is damaged")

    monkeypatch.setattr(main, "that_can", lambda operation: [Twice()])
    run = main.Run(main.options(["--threads", "1", "--repetitions", "1"]))
    damaged = Dataset("damaged", fails)
    figures = run.print_task(a_task(datasets=lambda settings: [damaged, numbers()], in_child=False))
    assert [one.dataset.name for one in figures] == ["n=5"] and figures[0].took["contenders"] > 0
    assert run.skipped == ["double on damaged: OSError: file is damaged"]
    assert "| double | n=5 | ours | 1 |" in capsys.readouterr().out


def test_gates_are_judged_by_ratio():
    figures = figures_of({("ours", 1): [1.0], ("ours", 2): [0.5], ("other", 1): [3.0]})
    figures.task = a_task(gates=(gates.faster(2.5, "other", goal=4.0), gates.at_most(0.3, "other"), gates.scaling(1.7)))
    faster, at_most, scaling, correct = gates.judge([figures])
    assert (faster.value, faster.met, faster.reached_goal) == (3.0, True, False)
    assert (at_most.met, at_most.reached_goal) == (False, None)
    assert scaling.value == 2.0
    assert correct.met
    assert report.summary([faster, at_most]) == "gates: 1 met, 1 not met"
    assert "NOT met" in report.gate_row(at_most)


@pytest.mark.parametrize("task", ALL, ids=lambda task: task.name)
def test_every_task_is_complete(task):
    assert task_named(task.name) is task
    assert "ours" in [one.name for one in contenders.that_can(task.operation)]
    names = [dataset.name for dataset in task.datasets(SETTINGS)]
    assert names and len(set(names)) == len(names)
    assert all(dataset.missing(SETTINGS) for dataset in task.datasets(SETTINGS) if dataset.needs)
    known = {one.name for one in contenders.that_can(task.operation)}
    for gate in task.gates:
        assert any(name in gate.says for name in known) or "FromPairs" in gate.says


@pytest.mark.parametrize(
    "task",
    [
        pytest.param(task, marks=[] if number % 8 == 0 else [pytest.mark.deep], id=task.name)
        for number, task in enumerate(task for task in ALL if task.at_size)
    ],
)
def test_the_checks_pass_for_ours_on_small_data(task):
    figures = measure(task, task.at_size(60), [contenders.named("ours")], [1], repetitions=1, patience=60.0)
    assert figures.series[0].failed == ""
    assert figures.series[0].check.passed


def test_the_check_sees_a_wrong_matrix():
    task = task_named("gaussian_block")
    data = task.at_size(30).fresh(0)
    K = contenders.named("ours").gaussian(**data)
    K[3, 4] *= 1 + 1e-12
    assert not task.check(data, K, task.truth(data)).passed


@pytest.mark.deep
def test_a_run_prints_a_table_and_writes_json(tmp_path):
    path = tmp_path / "bench.json"
    command = [sys.executable, "-m", "benchmarks", "--quick", "--only", "import_time", "--repetitions", "1"]
    done = subprocess.run([*command, "--json", str(path)], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "| import_time | new process | ours | 1 |" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("gates: ")
    written = json.loads(path.read_text())
    assert written["machine"]["versions"]["numpy"] == np.__version__
    assert {series["contender"] for series in written["figures"][0]["series"]} >= {"ours", "NumPy"}


def test_more_instructions_than_the_baseline_allows_are_worse(capsys):
    baseline = {"a": 100, "b": 100, "c": 100}
    assert instructions.compare({"a": 102, "b": 104, "c": 90, "d": 1}, baseline) == ["b"]
    printed = capsys.readouterr().out
    assert [word in printed for word in ("WORSE", "better", "same", "new")] == [True] * 4


def test_the_baseline_names_every_loop():
    assert set(json.loads(instructions.BASELINE.read_text())["loops"]) == set(instructions.LOOPS)


def test_ours_makes_features_and_chooses_landmarks():
    ours, X = contenders.named("ours"), np.random.default_rng(0).normal(size=(50, 4))
    assert ours.projection(X, 1.0, 5).shape == (50, 5)
    assert len(ours.rpcholesky(X, 1.0, 5)) == 5
    assert ours.fourier(X, 1.0, 8).shape == (50, 8)
