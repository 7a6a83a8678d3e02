"""Plans: the table of cases, and the cost that a plan estimates before a fit."""

import copy
import math
import pickle
import time
from dataclasses import astuple, replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from tests.market import KINDS, SIMILARITIES, TWO

from similitude import FromBlocks, FromPairs, SimilarityClassifier, SimilarityRegressor, load, save
from similitude.engines import LocalEngine
from similitude.fitting import plan as plans
from similitude.fitting.costs import SECONDS, estimated, work_of_fit, work_of_prediction
from similitude.kernels import Gaussian, Linear
from similitude.learners import KernelRidge
from similitude.sources import Source

SLOWEST = 0.02
"""Seconds that an estimate may take."""


def vectors(n, width=4):
    X = np.random.default_rng(0).standard_normal((n, width))
    return X, np.where(X[:, 0] > 0, "a", "b")


def words(n, length=6):
    letters = np.random.default_rng(0).choice(list("ACGT"), (n, length))
    return list(map("".join, letters)), np.where(letters[:, 0] < "D", "a", "b")


def shared_letters(s, t):
    return float(len(set(s) & set(t)))


SMALL = LocalEngine(memory="8MB")

CASES = {
    "frugal": (SimilarityClassifier(shared_letters), words, 300),
    "exact": (SimilarityClassifier(), vectors, 400),
    "cells": (SimilarityClassifier(), vectors, 6_000),
    "pilot": (SimilarityClassifier(Gaussian("median")), vectors, 2_000),
    "sample": (SimilarityClassifier(), words, 100),
    "pass": (SimilarityClassifier(Linear(), n_landmarks=50, engine=SMALL), vectors, 12_000),
}
"""A model, objects and a number of rows for each row of the table, but for products, which need a device. Twice as many
rows are evaluated by as many folds: fewer folds may cost less."""


def check(cost):
    numbers = np.array([cost.seconds, cost.memory, cost.seconds_per_prediction])
    assert np.isfinite(numbers).all() and (numbers > 0).all()
    assert math.isfinite(cost.calls) and cost.calls >= 0


@pytest.mark.parametrize("case", CASES)
def test_cost_of_each_case_is_positive_and_grows_with_rows(case):
    model, make, n = CASES[case]
    plan, larger = model.plan(*make(n)), model.plan(*make(2 * n))
    assert plan.case == larger.case == case
    check(plan.cost)
    assert all(more > less for more, less in zip(astuple(larger.cost)[:2], astuple(plan.cost)[:2], strict=True))
    assert plan.cost == model.plan(*make(n)).cost


def test_plan_has_its_numbers_reasons_and_alternatives():
    plan = SimilarityClassifier().plan(*vectors(400))
    assert (plan.seconds, plan.memory, plan.calls, plan.seconds_per_prediction) == astuple(plan.cost)
    assert plan.reasons == {
        "similarity": plan.similarity.why,
        "landmarks": plan.landmarks.why,
        "model": plan.model.why,
    }
    assert plan.case == "exact" and plan.alternatives == ("sample", "pass")
    assert plan.to_dict()["cost"]["seconds_per_prediction"] == plan.seconds_per_prediction


@pytest.mark.parametrize("case", [one.name for one in plans.CASES])
def test_every_case_has_a_cost(case):
    model, make, n = CASES["sample" if case == "products" else case]
    check(estimated(case, model.plan(*make(n)).sizes))


@pytest.mark.parametrize("kind", KINDS)
def test_cost_of_every_kind_of_objects(kind):
    similarity, X = KINDS[kind]
    given = SimilarityClassifier("precomputed" if kind == "indices" else similarity)
    check(given.plan(np.eye(len(TWO)) if kind == "indices" else X, TWO).cost)
    if kind in ("vectors", "float32", "lists", "strings", "graphs", "pandas", "polars", "sparse"):
        check(SimilarityClassifier().plan(X, TWO).cost)


@pytest.mark.parametrize("name", [one for one in SIMILARITIES if not one.startswith("precomputed")])
def test_cost_of_every_similarity(name):
    k, X = SIMILARITIES[name]
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    check(SimilarityRegressor(k).plan(X, np.arange(n)).cost)


@pytest.mark.parametrize(
    ("X", "kind"),
    [
        ([{"a", "b"}, {"b", "c"}] * 40, "sets"),
        ([np.arange(9.0), np.arange(12.0)] * 40, "series"),
        ([{"age": 3.0, "job": "cook"}, {"age": None, "job": "pilot"}] * 40, "table"),
        ([{"age": 3.0, "tags": {"a"}}, {"age": 4.0, "tags": {"b"}}] * 40, "records"),
        ([([(0, 1)], 2), ([(0, 1), (1, 2)], 3)] * 40, "graphs"),
    ],
)
def test_cost_of_automatic_similarities(X, kind):
    plan = SimilarityClassifier().plan(X, ["a", "b"] * 40)
    assert kind in plan.rows or kind in ("table", "records")
    check(plan.cost)


@pytest.mark.parametrize("case", CASES)
def test_estimates_are_quick(case):
    model, make, n = CASES[case]
    plan = model.plan(*make(n))
    took = []
    for _ in range(5):
        begun = time.perf_counter()
        check(plan.cost)
        took.append(time.perf_counter() - begun)
    assert min(took) < SLOWEST


def test_memory_of_an_exact_fit_holds_its_gram_matrix():
    for n in (100, 1_000, 5_000):
        assert SimilarityClassifier().plan(*vectors(n)).cost.memory >= 8 * n**2


@pytest.mark.parametrize("make", [FromPairs, FromBlocks, lambda f: FromPairs(f, cost=0)])
def test_plans_call_no_function_of_the_user(make):
    calls = []

    def alike(a, b):
        calls.append(1)
        return shared_letters(a, b)

    cost = SimilarityClassifier(make(alike)).plan(*words(200)).cost
    assert not calls
    assert cost.calls > 200


def test_calls_are_those_of_functions_of_the_user():
    assert SimilarityClassifier().plan(*words(50)).cost.calls == 0
    plan = SimilarityClassifier(shared_letters, max_calls=3_000).plan(*words(300))
    assert plan.case == "frugal"
    assert plan.cost.calls <= 3_000


def test_every_kind_of_work_has_a_constant():
    for model, make, n in CASES.values():
        plan = model.plan(*make(n))
        done = work_of_fit(plan.case, plan.sizes)
        later = work_of_prediction(plan.case, plan.sizes)
        assert not {*done, *later} - set(SECONDS)


def test_cost_is_estimated_when_it_is_read(monkeypatch):
    read = []
    monkeypatch.setattr(plans, "estimated", lambda case, sizes: read.append(case) or estimated(case, sizes))
    model, make, n = CASES["sample"]
    after = clone(model).fit(*make(n)).plan_
    assert not read
    assert "cost" in str(after) and read == ["sample"]


def test_copies_of_a_model_have_its_plan(tmp_path):
    model = SimilarityClassifier(Gaussian("median"), random_state=0).fit(*vectors(60))
    save(model, tmp_path / "model.sim")
    for copied in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), load(tmp_path / "model.sim")):
        assert copied.plan_.cost == model.plan_.cost
        assert replace(copied.plan_, spent=None) == replace(model.plan_, spent=None)


@pytest.mark.deep
@pytest.mark.parametrize("case", ["exact", "cells", "pilot", "sample"])
def test_fits_take_about_as_long_as_estimated(case):
    model, make, n = CASES[case]
    X, y = make(n)
    model.fit(X, y)  # what is imported
    begun = time.process_time()
    model.fit(X, y)
    took = time.process_time() - begun
    assert 1 / 5 < took / model.plan(X, y).cost.seconds < 5


def test_the_page_on_plans_has_the_table_of_cases():
    page = (Path(__file__).parents[1] / "docs" / "plan.md").read_text(encoding="utf-8")
    rows = [f"| `{case.name}` | {case.purpose} |" for case in plans.CASES]
    assert "\n".join(rows) in page


def test_a_plan_is_made_once_and_says_afterwards_what_was_chosen():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    model = SimilarityRegressor(Gaussian(), random_state=0).fit(X, X[:, 0])
    before = SimilarityRegressor(Gaussian(), random_state=0).plan(X, X[:, 0])
    after = model.plan_
    for name in ("case", "rows", "evaluation", "cost"):
        assert getattr(before, name) == getattr(after, name)
    assert before.spent is None and after.spent.seconds > 0
    assert repr(model.similarity_) in after.similarity.what and f"{model.lam_:.3g}" in after.model.what
    losses = dict(after.scores)
    assert losses[repr(model.similarity_)] == min(loss for name, loss in after.scores if name.startswith("Gaussian"))


@pytest.mark.parametrize(("k", "several"), [(Gaussian(), False), (Linear(), False), (Gaussian(), True)])
def test_compared_losses_are_relative_to_the_variance_of_the_targets(k, several):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = 10 * X[:, 0] + rng.normal(size=400)
    options = {} if several else {"n_landmarks": 50}
    model = SimilarityRegressor(k, random_state=0, **options).fit(X, y)
    scores = dict(model.plan_.scores)
    numbers = [name for name in scores if "landmark" in name]
    assert bool(numbers) == several == (len(model.landmark_curve_.x) > 1)
    if several:
        np.testing.assert_allclose([scores[one] for one in numbers], model.landmark_curve_.y / y.var())
    assert all(0 < loss < 1.2 for loss in scores.values())


def test_a_plan_leaves_the_estimator_as_it_is():
    model = SimilarityClassifier()
    before = dict(vars(model))
    model.plan([[0.0], [1.0], [2.0]], [0, 1, 1])
    assert vars(model) == before


def test_a_plan_of_a_source_reads_its_first_rows():
    read = []

    def batches():
        for i in range(60):
            read.append(i)
            yield np.full((1_000, 2), float(i)) + np.arange(1_000)[:, None], np.arange(1_000) % 2

    plan = SimilarityClassifier(Gaussian(1.0)).plan(Source(batches))
    assert plan.case == "pass" and plan.rows.startswith("at least 20,001 rows") and max(read) < 30


@pytest.mark.parametrize(("lam", "line"), [(1.0, "penalty given"), ("auto", "penalty chosen among")])
def test_kernel_ridge_has_a_plan(lam, line):
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = KernelRidge(lam=lam)
    assert line in model.plan(X, X[:, 0]).model.what
    assert f"{model.fit(X, X[:, 0]).lam_:.3g}" in model.plan_.model.what


def test_several_fits_are_planned_as_such():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    plain = SimilarityRegressor(Gaussian()).plan(X, X[:, 0])
    huber = SimilarityRegressor(Gaussian(), loss="huber").plan(X, X[:, 0])
    assert huber.cost.seconds == 7 * plain.cost.seconds and "fitted 7 times" in huber.model.what
    rare = X[:, 0] > 2.2
    assert 0 < rare.sum() < 10
    twice = SimilarityClassifier(Gaussian(), random_state=0).fit(X, rare).plan_
    assert "fitted 2 times" in twice.model.what and "all classes alike (log loss)" in dict(twice.scores)
    assert "fitted" not in SimilarityClassifier(Gaussian(), class_weight=None).plan(X, rare).model.what
