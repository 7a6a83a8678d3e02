"""Evaluation: what is a class and what a number, and splits of rows."""

import json
import operator
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from cli_runs import run
from sklearn.model_selection import GroupKFold, KFold

from similitude import choose_kernel, combine, learn_kernel
from similitude.cli.inputs import task_of
from similitude.cli.output import Output
from similitude.data.files import Data, Schema, read
from similitude.evaluation import (
    Pilot,
    assign_folds,
    check_groups,
    fold_pairs,
    infer_task,
    joined_groups,
    random_part,
    rarest_in_group,
)
from similitude.kernel_learning.pilot import pilot_splits
from similitude.kernels import Equal, Gaussian, Linear
from similitude.report import investigate
from similitude.report.findings.held_out import split
from similitude.report.findings.inputs import validated
from similitude.scikit import is_missing
from similitude.selection.combining import alignment_weights

# Classes and numbers

FEW, THIRTY, MANY = np.arange(300) % 5 + 1, np.arange(300) % 30, np.arange(300) % 200
COLUMNS = {
    "strings": (np.array(["spam", "ham", "eggs"] * 100), "classification"),
    "150 strings": (np.array([f"name {i % 150}" for i in range(300)]), "classification"),
    "bools": (FEW > 2, "classification"),
    "bool list": ([True, False] * 150, "classification"),
    "0 and 1 as floats": ((FEW > 2).astype(float), "classification"),
    "integers 1 to 5": (FEW, "classification"),
    "integers 1 to 5 as bytes": (FEW.astype(np.uint8), "classification"),
    "integers 1 to 5 in a list": (FEW.tolist(), "classification"),
    "integers 1 to 5 as objects": (FEW.astype(object), "classification"),
    "twenty integers": (np.arange(300) % 20, "classification"),
    "twenty-one integers": (np.arange(300) % 21, "regression"),
    "thirty integers of ten rows each": (THIRTY, "regression"),
    "thirty strings of ten rows each": (np.array([f"class {i}" for i in THIRTY]), "classification"),
    "200 integers": (MANY, "regression"),
    "200 integers as objects": (MANY.astype(object), "regression"),
    "five whole floats": (FEW.astype(float), "classification"),
    "200 whole floats": (MANY.astype(float), "regression"),
    "two fractions": (np.where(FEW > 2, 0.5, 1.5), "regression"),
    "fractions": (np.sin(np.arange(300.0)), "regression"),
    "one fraction among integers": (np.r_[FEW[:-1], 2.5], "regression"),
    "pandas integers": (pd.Series(FEW), "classification"),
    "pandas categories": (pd.Series(["a", "b"] * 150, dtype="category"), "classification"),
    "pandas categories of thirty integers": (pd.Series(THIRTY, dtype="category"), "classification"),
    "pandas Int64": (pd.Series(FEW, dtype="Int64"), "classification"),
    "pandas Int64 of 200 integers": (pd.Series(MANY, dtype="Int64"), "regression"),
    "pandas boolean": (pd.Series(FEW > 2, dtype="boolean"), "classification"),
    "pandas StringDtype": (pd.Series(["a", "b"] * 150, dtype="string"), "classification"),
    "pandas texts of thirty classes": ("class " + pd.Series(THIRTY).astype("string"), "classification"),
    "polars integers": (pl.Series(FEW), "classification"),
    "polars 200 integers": (pl.Series(MANY), "regression"),
    "polars strings": (pl.Series(["a", "b"] * 150), "classification"),
    "polars categories": (pl.Series(["a", "b"] * 150, dtype=pl.Categorical), "classification"),
    "polars booleans": (pl.Series(FEW > 2), "classification"),
}
MISSING = {
    "strings": (["spam", None, *["ham"] * 298], "classification"),
    "integers 1 to 5": ([None, *FEW.tolist()], "classification"),
    "integers 1 to 5 as floats": (np.r_[np.nan, FEW], "classification"),
    "pandas Int64": (pd.Series([None, *FEW.tolist()], dtype="Int64"), "classification"),
    "pandas boolean": (pd.Series([None, *(FEW > 2).tolist()], dtype="boolean"), "classification"),
    "pandas 200 integers": (pd.Series([None, *MANY.tolist()]), "regression"),
    "polars integers": (pl.Series([None, *FEW.tolist()]), "classification"),
    "polars fractions": (pl.Series([None, *np.sin(FEW).tolist()]), "regression"),
}
X = np.sin(np.arange(600.0)).reshape(300, 2)


@pytest.mark.parametrize(("y", "task"), [*COLUMNS.values(), *MISSING.values()], ids=[*COLUMNS, *MISSING])
def test_one_rule_tells_classes_from_numbers(y, task):
    found, what = infer_task(y)
    assert found == task
    known = [one for one in np.asarray(y).tolist() if not is_missing(one)]
    assert what.startswith(f"{len(set(known))} distinct ")


@pytest.mark.parametrize(("y", "task"), COLUMNS.values(), ids=COLUMNS)
def test_functions_and_reports_agree_on_the_task(y, task):
    assert validated("linear", X, y, None, None).task == task
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert choose_kernel(["linear"], X, y, cv=2).task == task


WRITTEN = [name for name in COLUMNS if name != "pandas categories of thirty integers"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("name", WRITTEN)
def test_the_command_line_agrees_on_the_task(name, ending, tmp_path):
    y, task = COLUMNS[name]
    path = tmp_path / f"data.{ending}"
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y.to_list() if isinstance(y, pl.Series) else y})
    table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path)
    assert task_of(Output(False), read(path, label="y"), None) == task


@pytest.mark.parametrize(("y", "task"), MISSING.values(), ids=MISSING)
def test_rows_without_a_label_do_not_change_the_task(y, task, tmp_path):
    path = tmp_path / "data.csv"
    written = ["" if is_missing(one) else one for one in np.asarray(y).tolist()]
    pd.DataFrame({"a": np.arange(len(written)) / 7, "y": written}).to_csv(path, index=False)
    assert task_of(Output(False), read(path, label="y", unlabeled="drop"), None) == task
    with pytest.raises(ValueError, match="missing"):
        validated("linear", np.zeros((len(written), 1)), y, None, None)
    with pytest.raises(ValueError, match="missing"):
        choose_kernel(["linear"], np.zeros((len(written), 1)), y)


def test_a_task_that_is_given_wins():
    assert choose_kernel(["linear"], X, THIRTY, cv=3, task="classification").task == "classification"
    assert choose_kernel(["linear"], X, FEW, cv=3, task="regression").task == "regression"
    assert validated("linear", X, THIRTY, "classification", None).task == "classification"
    data = Data(X, THIRTY, Schema("vectors", label="y"))
    assert task_of(Output(False), data, "classification") == "classification"
    with pytest.raises(ValueError, match="easymkl' needs classes"):
        combine([Linear(), Gaussian()], X, THIRTY, how="easymkl")
    combine([Linear(), Gaussian()], X, THIRTY, how="easymkl", task="classification")
    as_numbers, as_classes = (learn_kernel("gaussian", X, FEW, task=one) for one in ("regression", "classification"))
    assert as_numbers.rounds != as_classes.rounds


# Splits


@pytest.mark.parametrize("seed", range(20))
def test_no_split_separates_a_group(seed):
    rng = np.random.default_rng(seed)
    groups, labels = rng.integers(0, 25, 120), rng.integers(0, 3, 120)
    copies = rng.integers(0, 80, 120)
    joined = joined_groups(groups, copies)
    for together in (groups, copies, joined):
        folds = assign_folds(together, rarest_in_group(labels, together), seed, 5)
        part = random_part(together, 0.25, labels, seed)
        for parts in (folds, part):
            assert all(len(set(parts[together == one])) == 1 for one in np.unique(together))
        tested = np.concatenate([test for _, test in fold_pairs(folds)])
        assert sorted(tested) == list(range(120))
    assert 0.1 < random_part(groups, 0.25, labels, seed).mean() < 0.5


@pytest.mark.parametrize("seed", range(20))
def test_joined_groups_are_connected_rows(seed):
    rng = np.random.default_rng(seed)
    groups, copies = rng.integers(0, 30, 50), rng.integers(0, 40, 50)
    near = np.equal.outer(groups, groups) | np.equal.outer(copies, copies)
    reached = np.linalg.matrix_power(near.astype(float), 50) > 0
    found = joined_groups(groups, copies)
    np.testing.assert_array_equal(np.equal.outer(found, found), reached)


@pytest.mark.parametrize("seed", range(20))
def test_a_class_in_two_groups_is_in_two_folds(seed):
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 30, 200)
    labels = (rng.random(200) < 0.5).astype(int)
    labels[[np.flatnonzero(groups == 3)[0], np.flatnonzero(groups == 7)[0]]] = 2
    folds = assign_folds(groups, rarest_in_group(labels, groups), seed, 5)
    assert all(set(labels[train]) == {0, 1, 2} for train, _ in fold_pairs(folds))


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["a", "b"], "groups holds 2 values and X 4 rows"),
        ([["a"], ["b"], ["a"], ["b"]], r"one value for each row, got an array of shape \(4, 1\)"),
        (["a", None, "a", "b"], "groups holds no value for row 1"),
        ([1.0, 2.0, 1.0, np.nan], "groups holds no value for row 3"),
        (pd.Series([1, 2, None, 1], dtype="Int64"), "groups holds no value for row 2"),
        (["a"] * 4, "all rows are in the group 'a': at least two groups are needed"),
    ],
)
def test_groups_that_are_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        check_groups(groups, 4)


@pytest.mark.parametrize(
    "groups", [["b", "a", "b"], [2, 1, 2], pd.Series(["x", "y", "x"], dtype="category"), (0.5, 7, 0.5)]
)
def test_groups_of_any_kind_are_numbered(groups):
    assert check_groups(groups, 3).tolist() == [0, 1, 0]


# Groups


def patients(n=40, visits=6, seed=0):
    """Labels are constant within a patient, and the features tell who it is, but nothing about other patients."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(n), visits)
    X = rng.normal(size=(n, 2))[who] + 0.001 * rng.normal(size=(n * visits, 2))
    shuffled = rng.permutation(len(who))
    return X[shuffled], rng.permutation(np.arange(n) % 2)[who][shuffled], who[shuffled]


@pytest.mark.parametrize("numbers", [False, True])
def test_errors_by_group_are_those_on_new_groups(numbers):
    X, y, who = patients()
    y, chance = (np.sin(17.0 * who), np.sin(17.0 * who).var()) if numbers else (y, 0.5)
    narrow = Gaussian(sigma=0.05)
    alone, grouped = (choose_kernel([narrow], X, y, groups=one, random_state=0) for one in (None, who))
    assert alone.held_out_error.value < 0.05 * chance < 0.7 * chance < grouped.held_out_error.value
    assert grouped.table[0].error.value > 0.7 * chance
    assert grouped.table[0].error.high - grouped.table[0].error.low > 0.2 * chance
    assert "groups together" in grouped.folds and "groups" not in alone.folds


def test_groups_of_one_row_change_nothing_but_the_folds():
    X, y, _ = patients()
    found = choose_kernel(["gaussian", "linear"], X, y, groups=np.arange(len(y)), random_state=0)
    assert found.held_out_error.value < 0.1


@pytest.mark.filterwarnings("ignore:The groups parameter is ignored")
def test_splitters_are_given_the_groups():
    X, y, who = patients()
    assert choose_kernel(["gaussian"], X, y, groups=who, cv=GroupKFold(4)).held_out_error is not None
    for cv in (KFold(4), [(np.arange(100), np.arange(100, 240))]):
        with pytest.raises(ValueError, match="cv trains and tests on examples of one group"):
            choose_kernel(["gaussian"], X, y, groups=who, cv=cv)


def test_groups_are_refused_before_anything_is_computed():
    X, y, who = patients()

    def similarity(x, z):
        raise AssertionError("computed")

    for groups, message in [
        (who[1:], "groups holds 239 values"),
        ([None, *who[1:]], "groups holds no value for row 0"),
        (who % 3, "cv = 5 folds of 3 groups"),
        (y * 100 + who * (1 - y), "class 1 is found in one group only"),
    ]:
        with pytest.raises(ValueError, match=message):
            choose_kernel([similarity], X, y, groups=groups)
    with pytest.raises(ValueError, match="groups holds 239 values"):
        combine([similarity], X, y, groups=who[1:])


def test_alignment_leaves_out_pairs_of_one_group():
    _, y, who = patients()
    Y = 2.0 * y[:, None] - 1
    recognizes = np.eye(40)[who]
    related = Y + np.random.default_rng(1).normal(size=(240, 3))
    plain, across = (alignment_weights([recognizes, related], Y, one) for one in (None, who))
    assert plain.min() > 0 and across[0] == 0 < across[1]
    X = np.column_stack([who, related])
    kernels = [Equal().pullback(operator.itemgetter(0)), Linear().pullback(operator.itemgetter(slice(1, None)))]
    assert len(combine(kernels, X, y).parts()) == 2
    assert len(combine(kernels, X, y, groups=who).parts()) == 1


@pytest.mark.parametrize("n", [40, 100])  # folds, and a part that is held out once
@pytest.mark.parametrize("numbers", [False, True])
def test_reports_by_group_are_on_new_groups(n, numbers):
    X, y, who = patients(n)
    y, chance = (np.sin(17.0 * who), np.sin(17.0 * who).std()) if numbers else (y, 0.5)
    parts = split(validated("linear", X, y, None, 0, who))
    assert all(not np.isin(who[train], who[test]).any() for folds in parts.rounds for train, test in folds)
    narrow = Gaussian(sigma=0.05)
    alone, grouped = (investigate(narrow, X, y, groups=one, random_state=0) for one in (None, who))
    assert alone.model.held_out.value < 0.2 * chance < 0.7 * chance < grouped.model.held_out.value
    widths = [one.model.held_out.high - one.model.held_out.low for one in (alone, grouped)]
    assert widths[1] > 0.15 * chance
    assert any(f"one of the {n} groups" in note for note in grouped.about.notes)
    assert any("goodness also compares" in note for note in grouped.about.notes) != numbers
    assert "groups=groups" in grouped.reproduce.code and "--groups COLUMN" in grouped.reproduce.command


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("n", [120, 700])
def test_no_report_separates_a_group(seed, n):
    rng = np.random.default_rng(seed)
    groups, y = rng.integers(0, 30, n), rng.choice(3, n, p=[0.6, 0.36, 0.04])
    parts = split(validated("linear", rng.normal(size=(n, 2)), y, "classification", seed, groups))
    for folds in parts.rounds:
        assert all(
            not np.isin(groups[train], groups[test]).any() and len(train) + len(test) == n for train, test in folds
        )


def test_a_report_needs_a_class_in_two_groups():
    X, y, _ = patients()
    with pytest.raises(ValueError, match="each class is found in one group only"):
        investigate("gaussian", X, y, groups=y)


def as_file(path, numbers=False):
    X, y, who = patients()
    label = np.sin(17.0 * who) if numbers else np.array(["ill", "well"])[y]
    names = np.array([f"P{one:02}" for one in who])
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "patient": names, "label": label}).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("numbers", [False, True])
def test_the_command_line_keeps_groups_together(tmp_path, numbers):
    path = as_file(tmp_path / "visits.csv", numbers)
    chance = 0.5
    narrow = ("-s", "gaussian(sigma=0.05)")
    errors = {}
    for groups in ((), ("--groups", "patient")):
        also = () if groups else ("--ignore", "patient")
        ask = ("compare", path, "--label", "label", *narrow, *groups, *also, "--json")
        with_baselines, ranked = (json.loads(run(*ask, *more)[1]) for more in ((), ("-s", "linear")))
        page = tmp_path / "page.json"
        code, _, err = run("report", path, "--label", "label", *narrow, *groups, *also, "-o", page)
        assert code == 0, err
        found = json.loads(page.read_text())
        assert "patient" not in str(found["columns"])
        errors[bool(groups)] = (
            with_baselines["models"][0]["error"],
            next(row for row in ranked["table"] if "gaussian" in row["candidate"].lower())["error"]["value"],
            found["model"]["held_out"]["value"],
        )
        assert ("groups together" in with_baselines["folds"]) == ("groups together" in ranked["folds"]) == bool(groups)
    assert max(errors[False]) < 0.3 * chance < 0.6 * chance < min(errors[True])


def test_a_column_of_groups_is_no_feature(tmp_path):
    path = as_file(tmp_path / "visits.csv")
    data = read(path, label="label", groups="patient")
    assert data.schema.names == ("a", "b") and data.groups.tolist()[:2] == pd.read_csv(path).patient.tolist()[:2]
    assert not any("ignored" in note for note in data.notes)
    table = pd.read_csv(path)
    table.loc[3, "label"] = None
    table.loc[5, "patient"] = " "
    table.to_csv(tmp_path / "gaps.csv", index=False)
    data = read(tmp_path / "gaps.csv", label="label", groups="patient", unlabeled="drop")
    assert len(data.groups) == len(data) == 239 and data.groups[4] is None
    code, _, err = run("compare", tmp_path / "gaps.csv", "--label", "label", "--groups", "patient")
    assert code == 1 and "groups holds no value for row 4" in err
    code, _, err = run("compare", path, "--label", "label", "--groups", "patients")
    assert code == 1 and "did you mean 'patient'" in err
    code, _, err = run("compare", path, "--label", "label", "--groups", "label")
    assert code == 1 and "cannot hold the groups and be the label" in err


@pytest.mark.parametrize("n", [40, 300])  # folds, and a single split
def test_pilot_rows_that_judge_are_of_other_groups(n):
    _, y, who = patients(n)
    places = np.arange(len(who))[:, None]
    order = np.random.default_rng(0).permutation(len(who))
    for one in pilot_splits(places, y[:, None], order, Pilot.of(len(who)), groups=who):
        judged, fitted = who[one.X_held_out[:, 0]], who[one.X[:, 0]]
        assert len(judged) and len(fitted) and not np.isin(judged, fitted).any()
    (single, *_) = pilot_splits(places, y[:, None], order, Pilot.of(len(who)), groups=np.zeros_like(who))
    assert len(single.X) and len(single.X_held_out)


def test_a_metric_that_recognizes_groups_is_not_learned():
    X, y, who = patients(60)
    loss = {
        one is None: learn_kernel("gaussian", X, y, groups=one, random_state=0).rounds[0].loss for one in (None, who)
    }
    assert loss[True] < 0.3 < 0.8 < loss[False]
    found = choose_kernel([Gaussian(0.05).learned(), "linear"], X, y, groups=who, random_state=0)
    assert found.held_out_error.value > 0.35
    with pytest.raises(ValueError, match="groups holds 359 values"):
        learn_kernel("gaussian", X, y, groups=who[1:])
