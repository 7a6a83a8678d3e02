"""The guarantee fuzzer finds nothing, and finds what is wrong if something is."""

import math
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.theory.finite import Finite, best_margin, largest_margin
from benchmarks.theory.fuzz import Tally, fuzz, main
from benchmarks.theory.promises import TRIALS, Check

from similitude.landmarks import guarantees
from similitude.maps import FourierMap


@pytest.mark.usefixtures("without_evaluation")
def test_nothing_is_promised_that_is_not_so():
    tallies = {**fuzz(90), **fuzz(60, only="WeakSimilarityVote")}  # which seldom promises anything
    assert {name: tally.faults() for name, tally in tallies.items()} == {name: [] for name in TRIALS}
    for name, tally in tallies.items():  # every class did promise something, and was held to it
        assert name == "SimilarityRegressor" or any(one.compared for one in tally.checks), name


@pytest.mark.deep
def test_nothing_is_promised_that_is_not_so_in_many_problems():
    tallies = fuzz(10_000, seed=1)
    assert {name: tally.faults() for name, tally in tallies.items()} == {name: [] for name in TRIALS}


@pytest.mark.usefixtures("without_evaluation")
def test_a_margin_for_two_equal_classes_is_found_wrong_of_others(monkeypatch, capsys):
    monkeypatch.setattr(guarantees, "class_margin", lambda gamma, sizes, scales: gamma / 4 / math.sqrt(len(scales)))
    assert main(["--problems", "6", "--only", "searched"]) == 1
    assert "is promised" in capsys.readouterr().out


@pytest.mark.deep
def test_a_margin_without_regard_to_units_is_found_wrong(monkeypatch):
    right = guarantees.class_margin
    monkeypatch.setattr(guarantees, "class_margin", lambda gamma, sizes, scales: right(gamma, sizes, [1.0]))
    (tally,) = fuzz(60, only="searched").values()
    assert tally.faults()


def test_a_grade_that_is_too_good_is_found(monkeypatch):
    monkeypatch.setattr("similitude.support.results.CONDITIONAL", "PROVEN")
    assert fuzz(5, only="SimilarityVote")["SimilarityVote"].faults()


def test_values_beyond_the_range_are_found(monkeypatch):
    monkeypatch.setattr("similitude.landmarks.guarantees.RANGE_ROUNDING", 10.0)
    assert any("[-1, 1]" in fault for fault in fuzz(60, only="AlignmentVote")["AlignmentVote"].faults())


class Bold(FourierMap):
    """Promises a quarter of the error that its theorem allows."""

    def fit(self, X, y=None):
        numbers = super().fit(X).guarantee_.numbers
        self.guarantee_ = replace(self.guarantee_, numbers={**numbers, "epsilon": 0.25 * numbers.get("epsilon", 1.0)})
        return self


def test_failures_that_are_too_frequent_are_found(monkeypatch):
    monkeypatch.setattr("benchmarks.theory.promises.FourierMap", Bold)
    assert any("may" in fault for fault in fuzz(400, only="FourierMap")["FourierMap"].faults())


def test_rates_and_means_are_judged_by_their_number():
    def tally(failures, n, delta=0.05):
        return Tally(n, [Check(i >= failures, delta) for i in range(n)])

    assert not tally(8, 100).faults() and tally(20, 100).faults()
    assert tally(1, 100, 0.0).faults()
    assert not Tally(50, [Check(True, 1.0, ratio=x) for x in np.linspace(0.5, 1.5, 50)]).faults()
    assert Tally(50, [Check(True, 1.0, ratio=x) for x in np.linspace(1.1, 1.5, 50)]).faults()


@pytest.mark.parametrize("seed", range(5))
def test_the_best_margin_is_the_best(seed):
    """No w of many exceeds it, and giving up more objects never lowers it."""
    rng = np.random.default_rng(seed)
    F, masses = rng.standard_normal((7, 3)), rng.dirichlet(np.ones(7))
    problem = Finite(masses, np.r_[0, 1, rng.integers(2, size=5)], np.eye(7))
    W = rng.standard_normal((20_000, 3))
    each = np.arange(len(W))
    lengths = np.linalg.norm(W, axis=1, keepdims=True) * np.linalg.norm(F, axis=1)
    cosines = (2 * problem.labels - 1) * (W @ F.T) / lengths
    order = np.argsort(cosines, axis=1)
    before = 0.0
    for error in (0.0, 0.2, 0.5):
        best = best_margin(F @ F.T, problem, error)
        given_up = (np.cumsum(masses[order], axis=1) <= error + 1e-9).sum(axis=1)
        reached = max(0.0, cosines[each, order[each, np.minimum(given_up, 6)]].max())
        assert reached - 1e-9 <= best <= reached + 0.05 or best < 1e-6
        assert best >= before - 1e-9
        before = best


def test_margins_known_in_closed_form():
    assert largest_margin(np.eye(9)) == pytest.approx(1 / 3)
    orthogonal = Finite(np.array([0.1, 0.2, 0.3, 0.4]), np.array([0, 1, 0, 1]), np.eye(4))
    assert best_margin(np.eye(4), orthogonal, 0.0) == pytest.approx(1 / 2)
    assert best_margin(np.eye(4), orthogonal, 0.1) == pytest.approx(1 / math.sqrt(3))
    assert best_margin(np.eye(4), orthogonal, 0.45) == pytest.approx(1 / math.sqrt(2))
