"""similarity="auto" for records: rows with texts, sets, vectors, series, graphs, numbers and categories together."""

import datetime
import json

import networkx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from cli_runs import run

from similitude import SimilarityClassifier, SimilarityRegressor, check_kernel, load, save
from similitude.compute import keys
from similitude.engines import LocalEngine
from similitude.evaluation import equal_rows
from similitude.fitting.members import Family, alignment_weights
from similitude.kernels import (
    Columns,
    Convolutions,
    Equal,
    Gaussian,
    Jaccard,
    OrMissing,
    default_similarity,
    family_of,
    kind_of_objects,
)
from similitude.learners import KernelSVC
from similitude.report import investigate

rng = np.random.default_rng(0)

WORDS = ["amber", "basil", "cedar", "dune", "ember", "fjord", "grove", "haven", "iris", "jade", "kelp", "lotus"]
TAGS = [f"t{i}" for i in range(12)]


def records(n, told_by, seed=0):
    """Return records and labels that only one part tells about."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    by = {part: y if part == told_by else rng.permutation(y) for part in ("text", "tags", "series")}
    X = []
    for i in range(n):
        half = slice(0, 8) if by["text"][i] else slice(4, 12)
        few = TAGS[:8] if by["tags"][i] else TAGS[4:]
        time = np.arange(rng.integers(10, 14))
        X.append(
            {
                "text": " ".join(rng.choice(WORDS[half], 6)),
                "tags": set(rng.choice(few, 4, replace=False).tolist()),
                "series": (np.sin((0.5 + 0.4 * by["series"][i]) * time) + 0.3 * rng.normal(size=len(time))).tolist(),
                "vector": rng.normal(size=3).tolist(),
                "size": float(rng.normal()),
                "color": str(rng.choice(["red", "blue"])),
            }
        )
    return X, y


SOME, _ = records(6, "text")


@pytest.mark.parametrize(
    ("cells", "kernel"),
    [
        ([{"a"}, {"b", "c"}, frozenset()], Jaccard()),
        ([["a"], ["b", "c"], []], Jaccard()),
        ([[1.0, 2.0], [3.0, 4.0], (5.0, 6.0)], Gaussian()),
        ([np.ones(4), np.zeros(4), np.arange(4.0)], Gaussian()),
        ([[1.0, 2.0], [3.0], [4.0, 1.0]], Convolutions().normalized()),
        ([np.ones((3, 2)), np.zeros((3, 2)), np.ones((4, 2))], Convolutions().normalized()),
        ([networkx.path_graph(3), networkx.cycle_graph(4), networkx.path_graph(2)], None),
        (["the cat sat down", "a dog ran off", "no news at all"], None),
        (["ACGTACGTTTACGACGTACGTAA", "ACGAAAATTTACGACGTACGTAT", "GGTTACGTTTACGACGTACGTAC"], None),
    ],
)
def test_a_column_of_objects_makes_records(cells, kernel):
    X = [{"age": i, "thing": cell} for i, cell in enumerate(cells)]
    for table in (X, pd.DataFrame(X)):
        assert kind_of_objects(table) == "records"
        k = default_similarity(table)
        assert k.columns["age"] == Gaussian()
        assert kernel is None or k.columns["thing"] == kernel
        assert k.proven
        assert check_kernel("auto", table).verdict == "VALID"


@pytest.mark.parametrize(
    "cells",
    [
        ["red", "blue", "red", "green"],
        ["New York City", "New York City", "Rio de Janeiro", "New York City"],
        ["0b7e151628aed2a6abf7158809cf4f3c", "2b7e151628aed2a6abf7158809cf4f3c", "a1", "b2"],
        [1, "a", 2.0, None],
        [True, False, True, None],
        pd.Categorical(["the cat sat down", "a dog ran off", "no news at all", "that is it"]),
    ],
)
def test_numbers_and_categories_stay_tables(cells):
    frame = pd.DataFrame({"age": [1, 2, 3, 4], "thing": cells})
    assert kind_of_objects(frame) == "table"


def test_numbers_times_and_categories_of_records():
    X = [
        {"tags": {i}, "day": datetime.date(2020, 1, 1 + i), "ok": i > 1, "job": "cook", "empty": None} for i in range(4)
    ]
    k = default_similarity(X)
    assert k.columns == {"tags": Jaccard(), "day": Gaussian(), "ok": Equal(), "job": Equal()}
    K = k.with_params(columns={"day": Gaussian(86400.0)}).gram(X)
    np.testing.assert_allclose(K[0], np.exp(-0.5 * np.arange(4.0) ** 2))


@pytest.mark.parametrize(
    ("cells", "pattern"),
    [
        ([{"a"}, {"b"}, "c"], r"column 'thing' holds sets in row 0, \{'a'\}, and categories in row 2, 'c'"),
        ([None, [1.0], ["a"]], r"column 'thing' holds vectors in row 1, \[1.0\], and sets in row 2"),
        ([[1.0], [2.0, 3.0], {1}], "column 'thing' holds series in row 0, .*, and sets in row 2"),
        ([{"a": 1}, {"a": 2}, {"a": 3}], "column 'thing' holds dict in row 0, .* say how it is compared with Columns"),
    ],
)
def test_an_error_names_a_column_of_several_kinds(cells, pattern):
    X = [{"tags": {1}, "thing": cell} for cell in cells]
    for table in (X, pd.DataFrame(X)):
        with pytest.raises(TypeError, match=pattern):
            SimilarityClassifier().fit(table, [0, 1, 0])


@pytest.mark.parametrize("told_by", ["text", "tags", "series"])
def test_one_part_that_tells_is_found(told_by, without_evaluation):
    X, y = records(180, told_by)
    train, test = X[:80], X[80:]
    model = SimilarityClassifier(random_state=0).fit(train, y[:80])
    assert list(model.similarity_.weights) == [told_by] or model.similarity_.weights[told_by] == 1.0
    alone = SimilarityClassifier(random_state=0).fit([x[told_by] for x in train], y[:80])
    assert model.score(test, y[80:]) >= alone.score([x[told_by] for x in test], y[80:]) - 0.05 > 0.75
    assert "relative to the variance of the targets" in str(model.plan_)
    assert "with how='mean'" in str(model.plan_)
    assert "with how='product'" in str(model.plan_)


def test_weights_are_alignments_without_the_diagonal():
    K = [(A := rng.normal(size=(30, 2))) @ A.T for _ in range(2)]
    Y = np.sign(A[:, :1])
    kernels = np.stack([*K, np.eye(30), np.ones((30, 30))])
    found = alignment_weights(kernels, Y, np.full(30, 2.0))
    H, off = np.eye(30) - 1 / 30, ~np.eye(30, dtype=bool)
    C, T = (H @ K[1] @ H)[off], (H @ Y @ Y.T @ H)[off]
    assert 2 * np.sqrt(2 * (C @ C) * (T @ T)) / 30 < C @ T
    np.testing.assert_array_equal(found[1:], [1.0, 0.0, 0.0])
    assert found[0] < 1.0


def test_rows_without_a_weight_do_not_count():
    A, y = rng.normal(size=(30, 2)), rng.normal(size=(30, 1))
    kernels = np.stack([A[:, :1] @ A[:, :1].T + y @ y.T, A @ A.T + 0.5 * y @ y.T])
    weights = rng.uniform(0.5, 2.0, 30) * (np.arange(30) < 20)
    found = alignment_weights(kernels, y, weights)
    assert 0 < found.min() < found.max() == 1.0
    np.testing.assert_array_equal(found, alignment_weights(kernels[:, :20, :20], y[:20], weights[:20]))


def test_all_containers_give_the_same_model(without_evaluation):
    X, y = records(60, "tags")
    lists = [{**row, "tags": sorted(row["tags"])} for row in X]
    containers = [X, pd.DataFrame(X), pd.DataFrame(lists), pl.DataFrame(lists)]
    models = [SimilarityClassifier(random_state=0).fit(one, y) for one in containers]
    expected = models[0].decision_function(X)
    for model in models:
        for one in containers:
            np.testing.assert_array_equal(model.decision_function(one), expected)


def test_missing_parts(without_evaluation, tmp_path):
    X, y = records(60, "tags")
    for i in range(0, 60, 4):
        X[i]["text"] = None
    for i in range(1, 60, 4):
        del X[i]["tags"]
    k = default_similarity(X)
    assert k.columns["tags"] == OrMissing(Jaccard(), alike=1.0)
    assert isinstance(k.columns["text"], OrMissing)
    assert k.columns["size"] == Gaussian()
    K = k.gram(X)
    np.testing.assert_allclose(np.diag(K), 1.0)
    np.testing.assert_allclose(K, k.gram(pd.DataFrame(X)))
    model = SimilarityClassifier(k, random_state=0).fit(X, y)
    alone = model.predict_proba([X[1]])
    np.testing.assert_allclose(alone, model.predict_proba(X)[1:2])
    np.testing.assert_allclose(model.predict_proba([{**X[1], "tags": None}]), alone)
    with pytest.raises(ValueError, match="column 'size' has no value in row 1"):
        model.predict([X[0], {**X[1], "size": None}])
    with pytest.raises(ValueError, match="row 1 has no column 'size'"):
        model.predict([X[0], {"text": "amber", "vector": [0.0] * 3, "series": [1.0], "color": "red"}])


def test_records_are_saved_explained_and_reported(tmp_path, without_evaluation, quick_reports):
    X, y = records(40, "tags")
    X[3]["text"] = None
    model = SimilarityClassifier(random_state=0).fit(X, y)
    save(model, tmp_path / "model.sim")
    again = load(tmp_path / "model.sim")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.similarity_ == model.similarity_
    assert model.explain(X[:1])
    assert SimilarityRegressor(random_state=0).fit(X, y.astype(float)).score(X, y) > 0.5
    assert KernelSVC().fit(X, y).score(X, y) > 0.8
    assert "Columns" in str(investigate("auto", X, y, random_state=0))


def test_records_in_a_file(tmp_path):
    X, y = records(40, "tags")
    rows = [{**row, "tags": sorted(row["tags"]), "label": "ab"[of]} for row, of in zip(X, y, strict=True)]
    del rows[0]["text"]
    data, model = tmp_path / "records.jsonl", tmp_path / "model.sim"
    data.write_text("\n".join(map(json.dumps, rows)))
    fitted = run("fit", data, "--label", "label", "-o", model, "--json")
    assert fitted.code == 0, fitted.err
    k = load(model).similarity_
    assert isinstance(k, Columns) and k.weights["tags"] == 1.0
    predicted = run("predict", model, data, "-o", "-")
    assert predicted.code == 0, predicted.err
    checked = run("check", data, "--label", "label")
    assert checked.code == 0, checked.err
    assert "the default for records" in checked.err


def test_few_records_are_compared_by_the_mean():
    mean, product = family_of("records", SOME)
    assert (mean.how, product.how) == ("mean", "product")
    assert isinstance(mean, Columns)
    model = SimilarityClassifier().fit(SOME, [0, 1] * 3)
    assert model.similarity_.how == "mean"
    assert "too few to compare" in str(model.plan_)


@pytest.mark.parametrize("told_by_text", [False, True])
def test_a_kernel_of_plain_columns_is_learned_beside_texts(told_by_text):
    """Labels follow two of five numbers, or a number and the words: the metric of numbers is learned in both cases."""
    rng = np.random.default_rng(0)
    A, n = rng.normal(size=(200, 5)), 200
    spoken = rng.integers(0, 2, n)
    y = np.where(told_by_text, A[:, 0] + 2.0 * spoken - 1.0, A[:, 0] * A[:, 1]) > 0
    X = pd.DataFrame(A, columns=list("abcde"))
    X["text"] = [" ".join(rng.choice(WORDS[:6] if one else WORDS[6:], 6)) for one in spoken]
    family = Family.of(family_of("records", X), X, np.arange(n), 0, LocalEngine())
    choice = family.chosen(np.where(y, 1.0, -1.0)[:, None], np.ones(n))
    assert "Tabular" in repr(choice.similarity)
    assert ("Words" in repr(choice.similarity)) == told_by_text
    (compared,) = choice.comparisons
    plain = [loss for k, loss in compared.losses if isinstance(k, Columns)]
    assert min(loss for _, loss in compared.losses) < 0.9 * min(plain)


def test_equal_records_are_found_by_fingerprints():
    X, _ = records(12, "text")
    X = X + X[3:6]
    _, A = default_similarity(X).prepare(X)
    _, first, group = np.unique(keys(A), return_index=True, return_inverse=True)
    np.testing.assert_array_equal(equal_rows(A), np.argsort(np.argsort(first))[group])
    assert equal_rows(A)[-3:].tolist() == [3, 4, 5]
