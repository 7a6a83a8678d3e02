import json
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.theory import __main__ as command  # noqa: E402
from benchmarks.theory.chances import agrees, contradicts, quantile_interval  # noqa: E402
from benchmarks.theory.experiments import ALL  # noqa: E402
from benchmarks.theory.landmarks import enough, error_left, failure_rates  # noqa: E402
from benchmarks.theory.mutants import all_mutants  # noqa: E402
from benchmarks.theory.mutate import EXACT, outcomes  # noqa: E402
from benchmarks.theory.nouns import Experiment, Finding  # noqa: E402
from benchmarks.theory.perceptrons import count_mistakes, margin_perceptron  # noqa: E402
from benchmarks.theory.separators import Separator, mass_below, separated  # noqa: E402

from similitude import bounds  # noqa: E402
from similitude.datasets import Atoms  # noqa: E402
from similitude.goodness.margins import error_at_margin  # noqa: E402
from similitude.maps import LandmarkMap, ProjectionMap  # noqa: E402

SHORT = [one for one in ALL if one.short is not None]
LONG = {"smallest_projection_0.1_0.2", "enough_projection_0.1_0.2"}  # other figures of the same theorems are quicker
KINDS = {(one.tried, *sorted(one.spoilt)): one.name for one in reversed(SHORT) if one.name not in LONG}
FIRST = set(KINDS.values())  # of experiments that differ in their figures only
LONG_BROKEN = {
    *("calibrated_means", "enough_projection_0.2_0.5", "too_few_projection_0.1_0.2", "compact_gaussian_0.2_0.5"),
    *("perceptron_le0", "vote_hard", "margin_perceptron", "coverage_two_clouds", "sample_landmarks_0.5"),
}  # others that are broken in the same way take less time
LONG_PROMISES = {
    *("calibrated_means", "sample_landmarks_0.5", "weak_answers", "enough_projection_0.2_0.5"),
    *("compact_gaussian_0.2_0.5", "too_few_projection_0.1_0.2"),
}
TINY_X = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.6, 0.8], [0.8, -0.6]])
TINY_Y = np.array([1, 1, -1, 1, 1])


def with_marks(mark):
    """Return every experiment as a parameter, with the marks for its name."""
    return [pytest.param(one, id=one.name, marks=mark(one.name)) for one in SHORT]


@pytest.mark.parametrize(
    "experiment",
    with_marks(lambda name: pytest.mark.quick if name in FIRST - LONG_PROMISES else pytest.mark.deep),
)
def test_the_promise_holds(experiment):
    finding = experiment.run(short=True)
    assert finding.holds is True, finding


@pytest.mark.parametrize("experiment", with_marks(lambda name: () if name in FIRST - LONG_BROKEN else pytest.mark.deep))
def test_a_broken_promise_is_noticed(experiment):
    assert experiment.spoilt
    finding = experiment.run_spoilt()
    assert finding.holds is False, finding


def test_every_experiment_has_its_own_name_and_gives_the_same_again():
    assert len({one.name for one in ALL}) == len(ALL)
    experiment = next(one for one in ALL if one.name == "gaussian_0.5")
    assert experiment.run_spoilt() == experiment.run_spoilt()


def test_the_hard_problem_passes_at_the_size_of_the_theorem_and_fails_far_below():
    size = {"kind": ProjectionMap, "epsilon": 0.2, "gamma": 0.5}
    assert enough(40, np.random.default_rng(0), **size).holds
    finding = enough(40, np.random.default_rng(0), **size, divisor=64)
    assert not finding.holds and not finding.measured.startswith("0/")


def test_exact_failure_rates_by_enumeration():
    # gamma = 1/2: three rare atoms of mass 0.4/3 each; two draws fail unless both are rare and different
    rates = failure_rates(2, epsilon=0.2, gamma=0.5)
    np.testing.assert_allclose(rates, [1, 1 - 6 * (0.4 / 3) ** 2])


@pytest.mark.parametrize(
    ("epsilon", "gamma", "smallest", "asked"), [(0.1, 0.2, 120, 2240), (0.1, 0.1, 425, 8240), (0.05, 0.1, 857, 16480)]
)
def test_smallest_sizes_of_the_hard_problem(epsilon, gamma, smallest, asked):
    assert bounds.landmarks(epsilon, gamma, 0.05) == asked
    rates = failure_rates(smallest, epsilon, gamma)
    assert rates[-1] <= 0.05 < rates[-2]


@pytest.mark.parametrize("kind", [ProjectionMap, LandmarkMap, None])
def test_the_error_left_is_the_mass_that_was_not_drawn(kind):
    problem = Atoms(np.array([0.7, 0.2, 0.1]), np.array([1, -1, 1]))
    assert error_left(kind, np.array([0, 2, 0, 2]), problem, gamma=0.5) == pytest.approx(0.2)
    assert error_left(kind, np.array([0, 1, 2]), problem, gamma=0.5) == 0


def test_error_at_a_margin_counts_what_is_too_near_and_what_has_no_features():
    F, y = np.array([[1.0, 0.0], [3.0, 4.0], [0.0, 0.0], [-2.0, 0.0]]), np.ones(4)
    separator, masses = Separator(np.array([2.0, 0.0])), np.array([0.1, 0.2, 0.3, 0.4])
    assert mass_below(0.6, separator, F, y, masses) == pytest.approx(0.7)
    assert mass_below(0.61, separator, F, y, masses) == pytest.approx(0.9)
    assert error_at_margin(separator, F, y, [0.6, 0.61]).y.tolist() == [0.5, 0.75]


def test_separated_is_all_with_features_or_none():
    y = np.array([1, 1, -1])
    assert separated(np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0]]), y).tolist() == [True, False, True]
    assert separated(np.array([[1.0], [2.0], [3.0]]), y).tolist() == [False] * 3
    assert separated(np.zeros((3, 2)), y).tolist() == [False] * 3
    assert separated(np.array([[1.0], [2.0]]), np.array([1, 1])).all()


def test_chances():
    assert not contradicts(0, 400, 0.05) and not contradicts(28, 400, 0.05) and contradicts(35, 400, 0.05)
    assert agrees(0, 20, 0.01) and not agrees(20, 20, 0.5)
    low, high = quantile_interval(list(range(1, 1001)), 0.95)
    assert low < 950 < high < 1000
    assert quantile_interval([1, 2, 3], 0.95)[1] == float("inf")


@pytest.mark.parametrize(("tie", "mistakes"), [("ge0", 1), ("le0", 2)])
def test_perceptron_on_five_points(tie, mistakes):
    assert count_mistakes(TINY_X, TINY_Y, tie, most=100) == mistakes


@pytest.mark.parametrize(("tie", "mistakes"), [("ge0", 0), ("le0", 1)])
def test_perceptron_on_one_point(tie, mistakes):
    assert count_mistakes(TINY_X[:1], TINY_Y[:1], tie, most=100) == mistakes


def test_margin_perceptron_on_five_points():
    w = list(margin_perceptron(TINY_X, TINY_Y, most=100))
    assert len(w) == 6
    np.testing.assert_allclose(w[-1], [2.6, 1.8])
    assert max(np.linalg.norm(one) for one in w) == pytest.approx(np.sqrt(10))


def a_finding(holds=True):
    return Finding("Theorem 7", "|w| <= 3", "2.5", 10, holds)


@pytest.mark.parametrize("holds", [True, False])
def test_the_command_prints_the_table_and_its_status_says_whether_all_hold(holds, monkeypatch, capsys, tmp_path):
    experiments = (Experiment("seven", lambda trials, rng: a_finding(holds), 10, 5), ALL[0])
    monkeypatch.setattr(command, "ALL", experiments)
    status = command.main(["--short", "--only", "sev*", "--json", str(tmp_path / "new" / "found.json")])
    lines = capsys.readouterr().out.splitlines()
    assert status == (0 if holds else 1)
    assert lines[:2] == ["| theorem | promised | measured | trials | holds |", "| --- | --- | --- | --- | --- |"]
    assert lines[2] == command.row(a_finding(holds)) and lines[-1].startswith("1 experiments in")
    (found,) = json.loads((tmp_path / "new" / "found.json").read_text())
    assert found["name"] == "seven" and found["holds"] is holds and found["trials"] == 10


def test_the_command_lists_experiments_and_refuses_unknown_names(capsys):
    assert command.main(["--short", "--list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(SHORT)
    assert command.main(["--only", "nothing"]) == 1
    assert "no experiment is called 'nothing'" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:.*found in sys.modules")
def test_the_command_runs_as_a_module(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["theory", "--short", "--only", "perceptron_attained*"])
    with pytest.raises(SystemExit) as end:
        runpy.run_module("benchmarks.theory", run_name="__main__")
    assert end.value.code == 0 and capsys.readouterr().out.count("| yes |") == 2


@pytest.fixture(scope="module")
def mutants():
    return {one.name: one for one in all_mutants()}


def named(mutants, *parts):
    (found,) = (one for name, one in mutants.items() if all(part in name for part in parts))
    return found


def test_a_mutant_changes_its_function_for_all_who_imported_it_and_only_meanwhile(mutants):
    from similitude.bounds import votes

    half = named(mutants, "bounds.votes:", "8 -> 4")
    assert votes(0.1, 0.05) == 2397
    with half.applied():
        assert votes(0.1, 0.05) == bounds.votes(0.1, 0.05) == 1199
        assert votes(0.1, 0.05, as_printed=True) == 1476
    assert votes(0.1, 0.05) == 2397
    with pytest.raises(ZeroDivisionError), half.applied():
        _ = 1 / 0
    assert votes(0.1, 0.05) == 2397


SAMPLE = [  # formulas that were once halved and tilted without anyone noticing; `make deep` tries every mutant
    ("bounds.landmarks:", ": 8 -> 4"),
    ("bounds.landmarks:", ": 8 -> 16"),
    ("bounds.votes:", ": 8 -> 4"),
    ("bounds.similarity_landmarks:", "32 -> 16"),
    ("bounds.weak_votes:", "16 -> 8"),
    ("bounds._inverse_square:", "exponent of gamma + 1"),  # 1/gamma for 1/gamma^2
    ("bounds._projection:", "4 -> 2"),
    ("SimilarityVote._guarantee:", ": 8 -> 4"),
    ("guarantees.class_gap:", ": 8 -> 4"),
    ("guarantees.class_margin:", "gamma / 2", "exponent of units - 1"),
    ("guarantees.smallest_margin:", ": 8 -> 16"),
    ("sample.representations:", ": 3 -> 1.5"),
    ("resampling.by_jackknife:", "5.0 -> 2.5"),
]


@pytest.mark.parametrize("some", [SAMPLE[:4], pytest.param(SAMPLE[4:], marks=pytest.mark.deep)], ids=["few", "others"])
@pytest.mark.deep
def test_a_sample_of_mutants_is_noticed(mutants, some):
    found = list(outcomes([named(mutants, *parts) for parts in some], EXACT))
    assert [one.mutant.name for one in found if one.survives] == []


@pytest.mark.deep
def test_every_mutant_is_noticed(capsys):
    assert command.main(["--mutate"]) == 0
    assert " 0 survive" in capsys.readouterr().out
