"""Findings: what a report shows, against oracles, on all kinds of objects, and on bad input."""

import json
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from similitude import FromPairs, Precomputed, SimilarityClassifier, SimilarityRegressor, datasets
from similitude.kernels import Gaussian, Linear, Sigmoid
from similitude.report import Findings, investigate, write_report
from similitude.report.findings.held_out import predict_held_out, split
from similitude.report.findings.inputs import validated
from similitude.report.findings.landmark_curve import halvings
from similitude.report.findings.landmarks import LandmarkBlocks, important_landmarks
from similitude.report.limits import MANY_EXAMPLES, MIN_EXAMPLES
from similitude.results import Result
from similitude.theory.intervals import clopper_pearson

pytestmark = pytest.mark.usefixtures("quick_reports")

RNG = np.random.default_rng(0)


def leaning(x, z):
    """Say how alike two points are; neither symmetric nor positive semi-definite."""
    return float(np.tanh(x @ z) + 0.3 * (x[0] - z[1]))


def points(n, classes=2, spread=1.0, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % classes
    return rng.normal(size=(n, 3)) * spread + 3 * rng.normal(size=(classes, 3))[codes], codes


@cache
def iris_findings():
    return investigate("gaussian", *datasets.iris())


@cache
def adult_findings():
    X, y = datasets.adult()
    return investigate("gower", X.iloc[:60, :7], y[:60])


@cache
def regression_findings():
    X = np.random.default_rng(1).normal(size=(120, 2))
    return investigate("gaussian", X, np.sin(2 * X[:, 0]))


# The whole.


def strings():
    return "spectrum", *datasets.promoters()


def tables():
    X, y = datasets.adult()
    return "gower", X.iloc[:40, :6], y[:40]


def series():
    X, y = datasets.vowels()
    return "global_alignment", X[::6], y[::6]


def graphs():
    X, y = datasets.molecules()
    return "weisfeiler_lehman", X[::5], y[::5]


def sets():
    rng = np.random.default_rng(2)
    words = [set(rng.choice(list("abcdefgh") if i % 2 else list("efghijkl"), 4).tolist()) for i in range(60)]
    return "jaccard", words, [("left", "right")[i % 2] for i in range(60)]


def own_objects():
    X, y = datasets.papers()
    return (lambda a, b: float(len(set(a.keywords) & set(b.keywords)))), X, y


def asymmetric():
    X, codes = points(30)
    return leaning, X, codes


def matrix():
    X, codes = points(60)
    return "precomputed", np.tanh(X @ X.T), codes


def numbers():
    X, _ = points(60)
    return "gaussian", X, X[:, 0] ** 2


@pytest.mark.parametrize(
    "case", [strings, tables, series, graphs, sets, own_objects, asymmetric, matrix, numbers], ids=lambda f: f.__name__
)
def test_every_kind_of_object_is_investigated_and_written(case, tmp_path):
    similarity, X, y = case()
    found = write_report(similarity, X, y, tmp_path / "found.json", random_state=3)
    assert isinstance(found, Findings) and found.about.n == len(y)
    stored = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert stored == json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert set(stored) == {
        *("about", "validity", "spectrum", "goodness", "no_goodness", "gap_labels", "gram", "landmark_curve", "model"),
        *("doubted", "columns", "map", "alternatives", "importance", "landmarks", "examples", "reproduce", "learned"),
    }
    text = str(found)
    assert len(text.splitlines()) < 110
    heads = ("Summary", "What is the", "How good", "Which", "Is it", "Is the", "How many", "What is gu", "How to")
    at = [text.index(f"\n{head}") for head in heads]
    assert at == sorted(at)
    for one in found.examples:
        why = one.decision
        total = why.base + sum(part.influence for part in why.deciding) + why.others
        assert total == pytest.approx(why.score, abs=1e-6)
    assert 0 < len(found.examples) <= 60


@pytest.mark.deep
def test_the_same_seed_gives_the_same_findings():
    X, codes = points(60)
    first, second, other = (investigate(Gaussian(), X, codes, random_state=seed).to_dict() for seed in (5, 5, 6))
    for one in (first, second, other):
        del one["reproduce"]["seconds"]
    assert first == second
    assert first["model"] != other["model"]
    drawn = investigate(Gaussian(), X, codes, random_state=np.random.default_rng(5))
    assert investigate(Gaussian(), X, codes, random_state=drawn.reproduce.seed).model.held_out == drawn.model.held_out


def test_results_know_how_to_show_themselves_in_a_notebook():
    found = iris_findings()
    parts = [found, found.about, found.validity, found.spectrum, found.goodness, found.gram, found.landmark_curve]
    for one in [*parts, found.model, found.model.calibration, found.landmarks[0], found.examples[0], found.reproduce]:
        assert isinstance(one, Result) and one._repr_html_().startswith('<div class="similitude">')
        assert len(repr(one)) > 0
    assert "<b>" not in investigate("linear", *points(12), title="<b>bold</b>")._repr_html_()
    for estimator in (SimilarityClassifier(), SimilarityRegressor(Gaussian(2.0))):
        assert "<div" in estimator._repr_html_()


# What the data is.


@pytest.mark.deep
def test_about_counts_classes_and_shows_a_few_of_each():
    about = iris_findings().about
    assert about.labels.classes == ("setosa", "versicolor", "virginica") and about.labels.counts == (50, 50, 50)
    assert {one.label for one in about.examples} == set(about.labels.classes)
    X, y = datasets.iris()
    assert all((one.object == X[one.index]).all() and one.label == y[one.index] for one in about.examples)
    assert adult_findings().about.names[:2] == ("age", "workclass")
    assert investigate("linear", *points(40), names=["a", "b", "c"]).about.names == ("a", "b", "c")


def test_numbers_are_summarized():
    labels = regression_findings().about.labels
    y = np.sin(2 * np.random.default_rng(1).normal(size=(120, 2))[:, 0])
    assert labels.median == pytest.approx(np.median(y)) and labels.largest == pytest.approx(y.max())


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b"] * 5, "classification"),
        ([0, 1] * 5, "classification"),
        ([0.0, 1.0] * 5, "classification"),
        (np.arange(10), "regression"),
        (np.arange(10) / 4, "regression"),
        ([True, False] * 5, "classification"),
    ],
)
def test_what_is_to_be_predicted_is_inferred_and_said(y, task):
    inputs = validated("gaussian", points(10)[0], y, None, None)
    assert inputs.task == task
    assert bool(inputs.notes) == (np.asarray(y).dtype.kind in "fi")


def test_the_task_can_be_given():
    X, y = points(40, classes=4)
    assert investigate("linear", X, y, task="regression").model.residuals is not None
    assert investigate("linear", X, y + 0.5, task="classification").model.classes == ("0.5", "1.5", "2.5", "3.5")


# Is it a kernel?


def test_gram_and_spectrum_are_those_of_the_sample():
    found, (X, y) = iris_findings(), datasets.iris()
    k = Gaussian().resolve(X)
    K = k.gram(X[found.gram.indices])
    np.testing.assert_allclose(found.gram.matrix, K, rtol=1e-5)
    np.testing.assert_allclose(found.spectrum.values, np.linalg.eigvalsh(K)[::-1], atol=1e-9)
    assert found.spectrum.n_negative == 0 and found.spectrum.negative_share == 0
    assert found.gram.boundaries.tolist() == [0, 50, 100, 150]
    assert (found.gram.labels == y[found.gram.indices]).all()


def test_a_similarity_that_is_no_kernel_shows_its_witness():
    X, codes = points(520, spread=0.5)
    found = investigate(Sigmoid(1.0, -1.0), X, codes)
    assert found.validity.verdict == "INVALID" and found.spectrum.n_negative > 0
    assert 0 < found.spectrum.negative_share < 1
    witness = found.validity.witness
    for index, one in zip(witness.indices, witness.objects, strict=True):
        np.testing.assert_array_equal(X[index], one)
    skewed = investigate(leaning, *points(30))
    i, j = skewed.validity.witness.indices
    K = skewed.validity.witness.gram
    X = points(30)[0]
    assert K[0, 1] == leaning(X[i], X[j]) and skewed.spectrum.asymmetry > 0.1


# Who is held out.


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=6, max_size=90), st.integers(0, 5))
def test_nobody_is_judged_by_a_model_that_saw_them(labels, seed):
    labels = [0, 0, 1, 1, *labels]
    inputs = validated("linear", np.arange(len(labels), dtype=float)[:, None], labels, "classification", seed)
    parts = split(inputs)
    sizes = np.bincount(inputs.codes)
    assert parts.held_out == (len(labels) >= MANY_EXAMPLES)
    assert (len(parts.rounds) > 1) == (len(labels) < MIN_EXAMPLES)
    for folds in parts.rounds:
        tested = np.concatenate([test for _, test in folds])
        assert np.array_equal(np.sort(tested), parts.tested)
        for train, test in folds:
            assert not len(np.intersect1d(train, test)) and len(train) + len(test) == len(labels)
            assert set(inputs.codes[train]) == set(inputs.codes)
    held = np.bincount(inputs.codes[parts.tested], minlength=len(sizes))
    expected = np.where(sizes == 1, 0, np.ceil(sizes / 4) if parts.held_out else sizes)
    assert held.tolist() == expected.tolist()


def test_a_similarity_sees_no_held_out_label():
    X, codes = points(80, spread=3.0)
    parts = split(validated(Gaussian(2.0), X, codes, None, 0))
    found = investigate(Gaussian(2.0), X, codes)
    wrong = 0
    for train, test in parts.rounds[0]:
        assert not set(train) & set(test)
        model = SimilarityClassifier(Gaussian(2.0), random_state=0).fit(X[train], codes[train])
        wrong += int((model.predict(X[test]) != codes[test]).sum())
    low, high = clopper_pearson(wrong, 80)
    held = found.model.held_out
    assert (held.value, held.low, held.high) == (wrong / 80, float(low), float(high))
    assert held.grade == "ESTIMATE" and found.model.n_tested == found.model.n_learned == 80


def test_of_many_examples_a_quarter_is_held_out_once():
    X, codes = points(MANY_EXAMPLES)
    parts = split(validated(Gaussian(2.0), X, codes, None, 0))
    assert parts.held_out and len(parts.rounds) == 1 and len(parts.tested) == 2 * -(-MANY_EXAMPLES // 2 // 4)
    assert not set(parts.learned) & set(parts.tested)


# The model.


def test_confusion_calibration_and_error_agree():
    model = adult_findings().model
    assert model.confusion.sum() == model.n_tested
    assert 1 - np.trace(model.confusion) / model.n_tested == pytest.approx(model.held_out.value)
    assert sum(pair.count for pair in model.worst) == model.confusion.sum() - np.trace(model.confusion)
    curve = model.calibration
    assert curve.counts.sum() == model.n_tested
    assert (curve.y * curve.counts).sum() == pytest.approx(model.confusion[1].sum())
    low, high = clopper_pearson(np.rint(curve.y * curve.counts), curve.counts)
    np.testing.assert_allclose([curve.low, curve.high], [low, high])


def test_numbers_are_judged_by_their_residuals():
    model = regression_findings().model
    residuals = model.residuals
    assert model.held_out.value == pytest.approx(np.sqrt((residuals.values**2).mean()))
    share = 1 - (residuals.values**2).mean() / residuals.labels.var()
    assert model.explained.value == pytest.approx(share) and model.explained.low <= share <= model.explained.high
    assert model.confusion is None and model.calibration is None
    assert regression_findings().goodness is None and "numbers" in regression_findings().no_goodness
    assert model.baseline == pytest.approx(residuals.labels.std(), rel=0.2)


def test_few_examples_are_judged_by_repeated_cross_validation(monkeypatch):
    monkeypatch.setattr("similitude.report.findings.held_out.REPEATS", 5)
    found = investigate("linear", *points(10))
    assert found.model.rounds == 5 and found.model.n_tested == found.model.n_learned == 10
    assert found.model.held_out.grade == "ESTIMATE" and found.model.confusion.sum() == pytest.approx(10)
    assert found.model.held_out.high - found.model.held_out.low > 0.25
    assert any("5 repeats of" in sentence for sentence in found.about.notes)


@pytest.mark.deep
def test_a_hundred_classes(monkeypatch):
    nothing = (None, "left out to save time")
    monkeypatch.setattr("similitude.report.findings.investigation._goodness", lambda inputs: nothing)
    X, codes = points(300, classes=100, spread=0.3)
    found = investigate(Gaussian(2.0), X, codes, task="classification")
    assert found.model.confusion.shape == (100, 100) and 0 < len(found.model.worst) <= 10
    counts = [pair.count for pair in found.model.worst]
    assert counts == sorted(counts, reverse=True)
    assert len(found.gram.boundaries) == 101 and found.gram.boundaries[-1] == 300
    assert len(str(found).splitlines()) < 110 and "left out to save time" in str(found)


# How many landmarks.


def test_the_learning_curve_ends_with_the_model():
    found = adult_findings()
    curve = found.landmark_curve
    assert curve.landmarks[-1] == curve.chosen == found.model.n_landmarks
    assert curve.error.y[-1] == found.model.held_out.value
    assert (curve.error.low <= curve.error.y).all() and (curve.error.y <= curve.error.high).all()
    assert found.landmark_curve.measure == found.model.measure


@given(st.integers(1, 5000), st.integers(2, 100))
def test_sizes_double_up_to_the_chosen(chosen, least):
    sizes = halvings(chosen, least)
    assert sizes[-1] == chosen and len(sizes) <= 7
    assert all(b in (2 * a, 2 * a + 1) for a, b in pairwise(sizes))


def test_theorem_sizes_are_estimates_or_rules_of_thumb():
    found = investigate("linear", *points(80))
    sizes = {size.name: size for size in found.landmark_curve.theorem_sizes}
    assert sizes["as a kernel"].grade == "ESTIMATE" and sizes["rule of thumb"].grade == "NONE"
    from similitude import bounds

    gamma = found.goodness.margin.value
    assert sizes["as a kernel"].size == bounds.landmarks(0.1, gamma, 0.05)
    assert sizes["rule of thumb"].size == bounds.practical_landmarks(0.1, gamma)


# Landmarks and examples.


def fitted(similarity, X, y):
    inputs = split(validated(similarity, X, y, None, 0))
    estimator = SimilarityClassifier if inputs.task == "classification" else SimilarityRegressor
    return inputs, estimator(inputs.similarity, random_state=0, n_landmarks=12).fit(X, inputs.y)


def test_with_projected_features_importance_is_what_the_others_cannot_take_over():
    X, codes = points(60)
    inputs, model = fitted(Gaussian(2.0), X, codes)
    blocks = LandmarkBlocks(inputs, (model, inputs.learned, inputs.tested))
    found, _ = important_landmarks(inputs, model, blocks)
    L, weights = X[inputs.learned[model.landmark_indices_]], model.landmark_weights_[:, 0]
    k, i = Gaussian(2.0), 4
    others = np.delete(np.arange(len(L)), i)
    # The function nearest to f in the kernel's space that does without landmark i: f restricted by projection.
    K = k.gram(L)
    moved = weights[others] + weights[i] * np.linalg.solve(K[np.ix_(others, others)], K[others, i])
    change = k.cross(X[inputs.tested], L) @ weights - k.cross(X[inputs.tested], L[others]) @ moved
    importance = {one.number: one.importance for one in found}
    assert importance[i] == pytest.approx(np.abs(change).mean(), abs=1e-8)


def test_with_similarities_as_features_importance_is_how_much_a_landmarks_term_differs_from_its_mean():
    X, codes = points(60)
    inputs, model = fitted(leaning, X, codes)
    assert model.representation_.name == "similarities" and model.representation_.side == "both"
    blocks = LandmarkBlocks(inputs, (model, inputs.learned, inputs.tested))
    found, _ = important_landmarks(inputs, model, blocks)
    importance = np.array([one.importance for one in sorted(found, key=lambda one: one.number)])
    explained = model.explain(X[inputs.tested], by="landmarks")
    signs = np.where(model.predict(X[inputs.tested]) == model.classes_[1], 1.0, -1.0)
    added = np.array([one.influences[np.argsort(one.positions)] for one in explained]) * signs[:, None]
    expected = np.abs(added - added.mean(axis=0)).mean(axis=0)
    np.testing.assert_allclose(importance[np.argsort(model.landmark_indices_)], expected, atol=1e-10)


def test_landmarks_are_ranked_and_named_by_their_place_in_x():
    found, (X, y) = iris_findings(), datasets.iris()
    importance = [one.importance for one in found.landmarks]
    assert importance == sorted(importance, reverse=True) and found.landmarks[0].rank == 1
    for one in found.landmarks:
        np.testing.assert_array_equal(one.object, X[one.index])
        assert one.label == y[one.index]


def test_examples_are_as_the_data_and_the_model_say():
    found, (X, y) = adult_findings(), datasets.adult()
    assert {one.index for one in found.examples} >= set(found.goodness.hardest.tolist())
    for one in found.examples:
        assert one.label == y[one.index] and one.object["age"] == X.iloc[one.index]["age"]
        assert one.wrong == (one.predicted != one.label) == (one.score < 0)
        assert sum(one.probabilities) == pytest.approx(1)
        why = one.decision
        assert why.prediction == one.predicted and why.against != why.prediction
        sizes = [abs(part.influence) for part in why.deciding]
        assert sizes == sorted(sizes, reverse=True)
        assert one.index not in {part.index for part in why.deciding}  # every one was held out, and is explained so
        assert all(part.label == y[part.index] for part in why.deciding)
        assert one.held_out
    reasons = {reason for one in found.examples for reason in one.why}
    assert reasons == {"hardest", "mistake", "close call", "typical"}


def test_the_largest_residuals_are_shown():
    found = regression_findings()
    residuals = found.model.residuals
    worst = residuals.indices[np.argmax(np.abs(residuals.values))]
    assert found.examples[0].index == worst
    assert found.examples[0].score == pytest.approx(np.abs(residuals.values).max() * np.sign(found.examples[0].score))
    assert not any(one.wrong for one in found.examples)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_constant_similarity_gives_the_same_answer_to_all(value):
    found = investigate(lambda x, z: value, *points(60))
    assert found.landmarks == () and found.model.n_landmarks == 0
    assert all(one.decision.deciding == () for one in found.examples) and "predicts the same" in str(found)


# How to reproduce.


def test_what_is_printed_to_reproduce_runs():
    found = iris_findings()
    assert "\"Gaussian(sigma='median')\"" in found.reproduce.command and "--seed 0" in found.reproduce.command
    assert found.reproduce.code.splitlines()[1] == "from similitude.kernels import Gaussian"
    assert set(found.reproduce.seconds) >= {"goodness", "model"} and "numpy" in found.reproduce.versions
    own = investigate(leaning, *points(40), command="similitude report here.csv")
    assert own.reproduce.command == "similitude report here.csv" and "your own" in own.reproduce.code
    compile(own.reproduce.code, "code", "exec")


def test_an_engine_is_used_and_given_back():
    from similitude.engines import LocalEngine, current_engine

    before = current_engine()
    investigate("linear", *points(40), engine=LocalEngine(threads=1, memory="100MB"))
    assert current_engine() is before


# Bad input.


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": ["a"] * 12}, "two classes are needed, all 12 labels are 'a'"),
        ({"y": ["a"] * 11 + ["b"]}, "two classes with two examples each"),
        ({"y": ["a", "b"] * 5}, "X holds 12 examples and y 10 labels"),
        ({"y": [None, *["a", "b"] * 5, "a"]}, "the label of example 0 is missing"),
        ({"y": [0.5] * 11 + [np.nan]}, "the label of example 11 is missing"),
        ({"y": [0.5] * 12}, "all numbers to predict are 0.5"),
        ({"y": [0.5] * 11 + [np.inf]}, "of example 11 is inf"),
        ({"y": ["a", "b"] * 6, "task": "regression"}, "needs numbers, y holds"),
        ({"task": "ranking"}, "task must be one of 'classification', 'regression'"),
        ({"names": ["one"]}, "names holds 1 names, X has 3 columns"),
        ({"similarity": "gaussianx"}, "did you mean 'gaussian'"),
        ({"similarity": "precomputed"}, "the square matrix of all pairs"),
        ({"X": []}, "holds no objects"),
    ],
)
def test_what_cannot_be_investigated_is_refused_before_any_similarity(change, message):
    def never(x, z):
        raise AssertionError("computed")

    X, codes = points(12)
    asked = {"similarity": FromPairs(never), "X": X, "y": codes, **change}
    with pytest.raises((ValueError, TypeError), match=message):
        investigate(asked.pop("similarity"), asked.pop("X"), asked.pop("y"), **asked)


def test_a_similarity_that_fails_names_the_pair_by_positions_in_x():
    X, codes = points(520)

    def fails(i, j):
        return float("nan") if (X[i, 0] > 3 and X[j, 0] > 3) else float(i == j)

    with pytest.raises(ValueError, match="not a finite real number") as raised:
        investigate(fails, np.arange(520), codes)
    assert X[raised.value.i, 0] > 3 and X[raised.value.j, 0] > 3
    inputs = validated(fails, np.arange(520), codes, None, 0)
    with pytest.raises(ValueError, match="not a finite real number") as raised:
        predict_held_out(split(inputs), lambda: SimilarityClassifier(inputs.similarity))
    assert X[raised.value.i, 0] > 3 and X[raised.value.j, 0] > 3


def test_reports_are_refused_before_any_work(tmp_path):
    X, codes = points(12)
    with pytest.raises(ValueError, match="there is no folder"):
        write_report("gaussian", X, codes, tmp_path / "missing" / "report.txt")
    with pytest.raises(ValueError, match="it is a folder"):
        write_report("gaussian", X, codes, tmp_path, format="txt")
    for wrong in ({"path": tmp_path / "report.pdf"}, {"path": tmp_path / "r.txt", "format": "docx"}):
        with pytest.raises(ValueError, match="html, txt, json"):
            write_report("gaussian", X, codes, **wrong)
    assert list(tmp_path.iterdir()) == []


def test_text_goes_to_a_file_whatever_letters_it_holds(tmp_path):
    X, y = ["käse", "wein", "käfer", "weib"] * 6, ["ä", "ß"] * 12
    found = write_report("spectrum", X, y, tmp_path / "report.txt", title="Käse\nund Wein")
    text = (tmp_path / "report.txt").read_text(encoding="utf-8")
    assert text == f"{found}\n" and text.startswith("Käse und Wein\n=")
    assert max(map(len, text.split("How to reproduce")[0].splitlines())) <= 100


def test_not_finite_numbers_are_none_in_json():
    from dataclasses import replace

    found = iris_findings()
    broken = replace(found, spectrum=replace(found.spectrum, asymmetry=float("nan"), rounding=float("inf")))
    plain = json.loads(json.dumps(broken.to_dict(), allow_nan=False))
    assert plain["spectrum"]["asymmetry"] is None and plain["spectrum"]["rounding"] is None


def test_precomputed_matrices_and_their_similarity_agree():
    X, codes = points(60)
    K = Linear().gram(X)
    one, other = investigate("precomputed", K, codes), investigate(Precomputed(K), np.arange(60), codes)
    assert one.model.held_out == other.model.held_out and one.about.kind == "indices"


def test_halves_of_surrogates_are_written_all_the_same(tmp_path):
    X, y = ["ab\ud800", "cd", "abc", "cde"] * 10, ["\udcff", "b"] * 20
    for name in ("report.txt", "report.json"):
        write_report("spectrum", X, y, tmp_path / name)
    assert "\\udcff" in (tmp_path / "report.txt").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["about"]["labels"]["classes"] == [
        "b",
        "\udcff",
    ]


def test_similarities_out_of_range_are_refused(tmp_path):
    X, y = np.arange(60.0).reshape(-1, 1), np.arange(60) % 2
    with pytest.raises(ValueError, match=r"similarities reach 3\.48e\+43, too large to compute with"):
        write_report(lambda x, z: 1e40 * float(x[0] * z[0]), X, y, tmp_path / "report.txt")


@pytest.mark.parametrize("shape", [(3, 5), (16,), (4, 4, 1)])
def test_images_of_another_shape_are_refused_before_the_work(tmp_path, shape):
    with pytest.raises(ValueError, match=r"does not fit: X has vectors of 16 numbers"):
        write_report("gaussian", np.zeros((40, 16)), np.arange(40) % 2, tmp_path / "report.html", image_shape=shape)


def test_small_classes_hold_out_a_quarter_rounded_up():
    parts = split(validated("linear", np.arange(510.0).reshape(-1, 1), np.arange(510) // 6, "classification", 0))
    assert any("170 examples, a quarter of each class, rounded up, were held out" in one for one in parts.notes)
