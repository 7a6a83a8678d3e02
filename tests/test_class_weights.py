"""class_weight="auto": rare classes weigh more in the fit, and probabilities agree with the frequencies."""

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import logsumexp, softmax
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

from similitude import SimilarityClassifier, load, save
from similitude.fitting import probabilities, scale_and_shift
from similitude.fitting.calibration import temperature, winner_first
from similitude.scikit import has_rare_class

rng = np.random.default_rng(0)


@pytest.fixture(scope="module")
def rare():
    X, y = make_classification(3000, 8, weights=[0.97], n_informative=4, flip_y=0.0, random_state=3)
    return X[:500], y[:500], X[1000:], y[1000:]


def test_a_class_is_rare_below_five_percent_and_half_of_an_even_share():
    assert has_rare_class(np.array([96.0, 4.0]))
    assert not has_rare_class(np.array([94.0, 6.0]))
    assert not has_rare_class(np.full(30, 10.0))
    assert has_rare_class(np.r_[np.full(29, 10.0), 1.0])


def test_scale_and_shift_are_those_of_logistic_regression():
    scores, y = rng.normal(size=4000), rng.random(4000)
    y = (y < 1 / (1 + np.exp(-(3.0 * scores - 2.0)))).astype(int)
    scale, shift = scale_and_shift(scores, y, np.ones(4000))
    oracle = LogisticRegression(C=1e9).fit(scores[:, None], y)
    assert scale == pytest.approx(oracle.coef_[0, 0], rel=0.01)
    assert scale * shift[0] == pytest.approx(oracle.intercept_[0], rel=0.02)


def test_several_shifts_restore_frequencies():
    y = rng.choice(3, 5000, p=[0.7, 0.27, 0.03])
    scores = np.eye(3)[y] + 0.7 * rng.normal(size=(5000, 3))
    scale, shift = scale_and_shift(scores, y, np.ones(5000))
    np.testing.assert_allclose(probabilities(scores + shift, scale).mean(axis=0), np.bincount(y) / 5000, atol=2e-3)


@pytest.mark.usefixtures("unlearned")
@pytest.mark.parametrize("similarity", ["gaussian", "auto"])
def test_rare_classes_are_weighed_and_probabilities_calibrated(rare, similarity):
    X, y, new, truth = rare
    plain = SimilarityClassifier(similarity, class_weight=None, random_state=0).fit(X, y)
    model = SimilarityClassifier(similarity, random_state=0).fit(X, y)
    assert "% of the rows" in model.notes_[-1]
    chances = model.predict_proba(new)[:, 1]
    assert abs(chances.mean() - truth.mean()) < 0.015
    assert log_loss(truth, chances) < log_loss(truth, plain.predict_proba(new)[:, 1]) + 0.005
    assert roc_auc_score(truth, chances) > roc_auc_score(truth, plain.decision_function(new)) - 0.01
    assert ((chances >= 0.5) == (model.predict(new) == 1)).all()
    error = float((model.predict(new) != truth).mean())
    assert 0.8 * model.held_out_error_.low <= error <= model.held_out_error_.high
    assert model.constant_error_ == pytest.approx(0.03, abs=0.02)
    for why in model.explain(new[:5]):
        assert why.base + why.influences.sum() + why.rest == pytest.approx(why.score, abs=1e-9)


def test_nothing_changes_without_a_rare_class():
    X, y = rng.normal(size=(80, 3)), np.arange(80) % 2
    model = SimilarityClassifier("gaussian", random_state=0).fit(X, y)
    other = SimilarityClassifier("gaussian", class_weight=None, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), other.decision_function(X))
    assert model.class_weight_.tolist() == [1.0, 1.0]
    assert model.shift_.tolist() == [0.0]


def test_a_shifted_model_is_saved_whole(rare, tmp_path):
    X, y, new, _ = rare
    model = SimilarityClassifier("gaussian", random_state=0).fit(X[:300], y[:300])
    assert model.shift_[0] != 0
    save(model, tmp_path / "model.sim")
    again = load(tmp_path / "model.sim")
    np.testing.assert_array_equal(again.predict_proba(new), model.predict_proba(new))
    assert again.explain(new[:1])[0].base == model.explain(new[:1])[0].base


def test_balanced_classes_are_kept_where_they_are_better():
    """Both weightings are fitted; the kept one has the smaller loss on rows left out, which the note tells."""
    found = set()
    for seed in range(2):
        X, y = make_classification(
            250, 6, weights=[0.96], n_informative=3, flip_y=0.0, n_clusters_per_class=1, random_state=seed
        )
        model = SimilarityClassifier("gaussian", random_state=0).fit(X, y)
        kept, other = (float(part.split()[0]) for part in model.notes_[-1].split("log loss ")[1].split("left out, "))
        assert kept <= other
        balanced = bool((model.class_weight_ != 1.0).any())
        assert ("all classes have the same" in model.notes_[-1]) == balanced
        same = SimilarityClassifier("gaussian", class_weight="balanced" if balanced else None, random_state=0).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X) - model.shift_, same.decision_function(X), atol=1e-9)
        found.add(balanced)
    assert found == {True, False}


def test_streams_and_costly_functions_weigh_all_rows_alike(rare):
    X, y, _, _ = rare
    streamed = SimilarityClassifier("gaussian", random_state=0).partial_fit(X, y)
    assert streamed.class_weight_.tolist() == [1.0, 1.0]
    frugal = SimilarityClassifier(lambda x, z: float(x @ z), random_state=0, max_calls=6000).fit(X[:200], y[:200])
    assert frugal.class_weight_.tolist() == [1.0, 1.0]
    assert frugal.shift_.tolist() == [0.0]


def naive_loss(scores, classes, weights, scale, shift):
    """The weighted cross entropy with Platt's targets."""
    Z = np.stack([np.zeros(len(scores)), scores + shift], axis=1) if scores.ndim == 1 else scores + shift
    n = np.array([weights[classes == c].sum() for c in range(Z.shape[1])])[classes][:, None]
    own = np.eye(Z.shape[1])[classes]
    targets = own * (n + 1) / (n + 2) + (1 - own) / (n + 2) / (Z.shape[1] - 1)
    return -weights @ (targets * (scale * Z - logsumexp(scale * Z, axis=1, keepdims=True))).sum(axis=1)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_scales_and_shifts_have_the_smallest_cross_entropy_with_weights(n_classes):
    draw = np.random.default_rng(4)
    classes, weights = np.arange(60) % n_classes, draw.integers(0, 4, 60).astype(float)
    scores = 2.0 * np.eye(n_classes)[classes] + 1.5 * draw.normal(size=(60, n_classes)) + np.arange(n_classes)
    scores = scores[:, 1] - scores[:, 0] if n_classes == 2 else scores
    scale = temperature(scores, classes, weights)
    best = minimize_scalar(lambda x: naive_loss(scores, classes, weights, np.exp(x), 0.0), bounds=(-6, 6))
    assert scale == pytest.approx(np.exp(best.x), rel=1e-3)
    assert temperature(100.0 * scores, classes, weights) == pytest.approx(scale / 100, rel=1e-3)
    found, shift = scale_and_shift(scores, classes, weights)
    assert shift.shape == ((1,) if n_classes == 2 else (n_classes,))
    start = naive_loss(scores, classes, weights, found, shift)
    best = minimize(
        lambda x: naive_loss(scores, classes, weights, np.exp(x[0]), x[1:] / np.exp(x[0])), np.r_[np.log(found), shift]
    )
    assert start == pytest.approx(best.fun, rel=1e-5)
    assert found == pytest.approx(np.exp(best.x[0]), rel=1e-2)


def test_a_class_of_scores_that_no_row_has_counts_among_the_others():
    scores, classes = np.random.default_rng(5).normal(size=(30, 4)), np.arange(30) % 2
    scores[np.arange(30), classes] += 2.0
    best = minimize_scalar(lambda x: naive_loss(scores, classes, np.ones(30), np.exp(x), 0.0), bounds=(-6, 6))
    assert temperature(scores, classes, np.ones(30)) == pytest.approx(np.exp(best.x), rel=1e-3)
    one_sided = np.abs(np.random.default_rng(6).normal(size=20)) + 1.0
    best = minimize_scalar(lambda x: naive_loss(one_sided, np.ones(20, int), np.ones(20), np.exp(x), 0.0))
    assert temperature(one_sided, np.ones(20, int), np.ones(20)) == pytest.approx(np.exp(best.x), rel=1e-3)


def test_probabilities_are_those_of_the_softmax_and_the_winner_is_first():
    scores = np.random.default_rng(7).normal(size=(20, 4))
    np.testing.assert_allclose(probabilities(scores, 1.7), softmax(1.7 * scores, axis=1), rtol=1e-12)
    np.testing.assert_allclose(probabilities(scores[:, 0], 1.7)[:, 1], 1 / (1 + np.exp(-1.7 * scores[:, 0])))
    np.testing.assert_allclose(probabilities(np.array([[1e4, -1e4]]), 1.0), [[1.0, 0.0]])
    tied = winner_first(np.array([[0.4, 0.4, 0.2], [0.2, 0.3, 0.5]]), np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 1.0]]))
    assert tied.argmax(axis=1).tolist() == [1, 2] and tied[0, 0] == 0.4 and tied[1].tolist() == [0.2, 0.3, 0.5]
    assert 0 < tied[0, 1] - 0.4 < 1e-15
    assert winner_first(np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([0.0, -1e-30])).argmax(axis=1).tolist() == [1, 0]
