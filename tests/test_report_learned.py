"""Reports at larger sizes: what is sampled and shared, and what similarity="auto" learned."""

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from similitude import SimilarityClassifier, SimilarityRegressor
from similitude.goodness import assess
from similitude.kernels import Gaussian
from similitude.report import investigate, write_report
from similitude.report.findings.held_out import similarity_of, split
from similitude.report.findings.inputs import validated
from similitude.report.findings.landmarks import LandmarkBlocks
from similitude.report.render.page import as_html

pytestmark = pytest.mark.usefixtures("quick_reports")


def leaning(x, z):
    """Not symmetric, and no kernel."""
    return float(np.exp(-np.abs(x - z).sum()) + 0.3 * np.tanh(x[0] - z[0]))


@cache
def ridge_along_one_direction():
    """Of six columns the sum of the first two counts, and nothing else."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(520, 6))
    y = np.sin(2 * (X[:, 0] + X[:, 1])) + 0.1 * rng.normal(size=520)
    return X, y, investigate("auto", X, y, names=list("abcdef"), random_state=0)


def test_a_report_of_an_automatic_similarity_says_what_was_learned():
    _, _, found = ridge_along_one_direction()
    learned = found.learned
    assert {learned.importance.names[i] for i in learned.importance.order()[:2]} == {"a", "b"}
    assert (learned.importance.low <= learned.importance.values).all()
    assert (learned.importance.values <= learned.importance.high).all()
    first = learned.directions[0]
    assert set(first.columns[:2]) == {"a", "b"} and first.share > 0.8
    assert first.coefficients[0] * first.coefficients[1] == pytest.approx(0.5, abs=0.1)  # (1, 1) / sqrt(2)
    assert learned.steps[0].loss > 3 * learned.steps[-1].loss and learned.gain > 2 / 3
    assert found.model.explained.value > 0.9
    for text in (str(found), as_html(found)):
        assert "What was learned?" in text and "isotropic Gaussian kernel" in text
    assert "a learned similarity" in found.about.title and found.about.similarity == "auto"
    assert "write_report('auto', X, y, \"report.html\"" in found.reproduce.code


def test_held_out_rows_have_no_part_in_what_is_learned():
    X, y, found = ridge_along_one_direction()
    inputs = validated("auto", X, y, None, 0)
    train = split(inputs).rounds[0][0][0]
    model = SimilarityRegressor("auto", random_state=0).fit(X[train], y[train])
    assert found.model.similarity == repr(model.similarity_)
    np.testing.assert_array_equal(found.learned.importance.values, model.learned_.importance.values)


def test_the_section_is_left_out_where_nothing_was_learned(tmp_path):
    words = [f"{'ab' if i % 2 else 'cd'}{i:03b}" for i in range(40)]
    found = write_report("auto", words, np.arange(40) % 2, tmp_path / "page.html")
    assert found.learned is None and found.about.kind == "strings"
    assert "What was learned" not in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert investigate("gaussian", np.eye(20)[:, :3] + np.arange(20)[:, None], np.arange(20) // 10).learned is None


def test_blended_kernels_are_one_similarity_in_their_shares():
    blend = SimpleNamespace(similarity_=[Gaussian(1.0), Gaussian(3.0)], learned_=None)
    X = np.random.default_rng(0).normal(size=(5, 2))
    expected = (Gaussian(1.0).gram(X) + Gaussian(3.0).gram(X)) / 2
    np.testing.assert_allclose(similarity_of(blend).gram(X), expected)


@pytest.mark.parametrize("similarity", [Gaussian(1.5), leaning], ids=["projection", "both sides"])
@pytest.mark.parametrize("numbers", [False, True])
def test_a_refit_with_all_landmarks_is_the_model(similarity, numbers):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 3))
    y = X[:, 0] + X[:, 1] ** 2 + 0.1 * rng.normal(size=120)
    y = y if numbers else np.digitize(y, [0.5, 1.5])
    inputs = validated(similarity, X, y, "regression" if numbers else "classification", 0)
    estimator = SimilarityRegressor if numbers else SimilarityClassifier
    train, test = np.arange(80), np.arange(80, 120)
    model = estimator(inputs.similarity, n_landmarks=20, random_state=0).fit(X[train], y[train])
    blocks = LandmarkBlocks(inputs, (model, train, test))
    every = np.random.default_rng(0).permutation(blocks.n_landmarks)
    scores = blocks.scores_of_some(every)
    if numbers:
        np.testing.assert_allclose(scores[:, 0], model.predict(X[test]), atol=1e-5)
    else:
        np.testing.assert_array_equal(scores.argmax(axis=1), model.predict(X[test]))
    fewer = blocks.scores_of_some(every[:3])
    assert np.abs(fewer - scores).max() > 1e-3


def many(n=700):
    rng = np.random.default_rng(2)
    codes = np.arange(n) % 2
    return np.column_stack([rng.normal(size=n) + 6 * codes, rng.normal(size=n)]), codes


def test_of_many_examples_planted_wrong_labels_are_found_among_all_held_out_ones():
    X, codes = many()
    y = codes.copy()
    planted = np.random.default_rng(3).choice(len(y), 40, replace=False)
    y[planted] = 1 - y[planted]
    found = investigate("gaussian", X, y, task="classification", random_state=0)
    held_out = np.intersect1d(planted, split(validated("gaussian", X, y, None, 0)).tested)
    assert len(held_out) > 8 and len(np.intersect1d(held_out, found.doubted)) >= 0.75 * len(held_out)
    assert len(np.setdiff1d(found.doubted, planted)) <= 1


def test_what_is_sampled_is_said_and_named_by_positions_in_x():
    X, codes = many()
    found = investigate("gaussian", X, codes, random_state=0)
    goodness = found.goodness
    assert len(goodness.used) == 500 and goodness.n == 700 and goodness.used.max() > 600
    assert any("a sample of 500 of 700 examples was used" in note for note in found.about.notes)
    k = Gaussian().resolve(X)
    alone = assess(k, X[goodness.used], codes[goodness.used], landmarks=40, random_state=0)
    np.testing.assert_array_equal(goodness.used[alone.hardest], goodness.hardest)
    np.testing.assert_array_equal(found.gap_labels, codes[goodness.used])


def test_importance_that_is_measured_on_a_sample_says_so(monkeypatch):
    monkeypatch.setattr("similitude.report.findings.columns.MAX_PERMUTED", 50)
    X, codes = many(520)
    found = investigate("gaussian", X, codes, random_state=0)
    assert "the importance of columns was measured on 50 of 130 held-out examples" in found.about.notes
    assert found.columns[0].importance.low > found.columns[1].importance.high


def test_another_similarity_may_be_learned_too():
    X, codes = many(60)
    found = investigate("linear", X, codes, compare=["auto"], random_state=0)
    assert [one.name for one in found.alternatives] == ["auto"]
