"""Ties: the most probable class is the predicted one, also where scores are equal or rounding makes them so."""

import numpy as np
import pytest
from cli_runs import read_csv, run
from hypothesis import given
from hypothesis import strategies as st
from learners import CLASSIFIERS, with_similarity

from similitude import SimilarityClassifier, SimilarityOrdinalClassifier, save
from similitude.fitting import probabilities
from similitude.kernels import Linear
from similitude.learners import WeakSimilarityVote

OTHERS = (WeakSimilarityVote, SimilarityOrdinalClassifier)
PROBABLE = [one for one in CLASSIFIERS if hasattr(one, "predict_proba") and not isinstance(one, OTHERS)]
"""Classifiers that predict their most probable class; the others draw answers by chance, or predict medians."""

X = np.array([[-2.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [2.0, 0.0]] * 3)
TIED = np.array([[0.0, 0.0], [0.0, 5.0], [1e-300, 0.0], [-1e-300, 0.0], [3e-17, 0.0]])
LABELS = {
    "two classes": np.where(X[:, 0] > 0, "b", "a"),
    "two equal classes": np.array(["a", "b"] * 6),
    "three classes": np.array(["a", "b", "c"] * 4),
}


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("classifier", PROBABLE, ids=lambda one: type(one).__name__)
def test_the_most_probable_class_is_predicted(classifier, labels):
    model = with_similarity(classifier, Linear()).fit(X, LABELS[labels])
    new = np.concatenate([TIED, X, 1e-9 * X])
    shares = model.predict_proba(new)
    np.testing.assert_array_equal(model.classes_[shares.argmax(axis=1)], model.predict(new))
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


numbers = st.floats(-1e3, 1e3) | st.sampled_from([0.0, -0.0, 1e-300, 1e-20, -1e-20, 1.0, 1.0 + 2**-52])


@given(st.lists(numbers, min_size=1, max_size=6), st.sampled_from([1.0, 0.0, 1e-30, 1e-3, 1e4]))
def test_probabilities_of_any_scores_agree_with_them(scores, scale):
    two = np.array(scores)
    assert (probabilities(two, scale).argmax(axis=1) == (two >= 0)).all()
    several = np.array([scores, scores[::-1]])
    if len(scores) > 1:
        assert (probabilities(several, scale).argmax(axis=1) == several.argmax(axis=1)).all()


def test_the_command_line_writes_the_same_labels_with_probabilities(tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("x,class\n" + "".join(f"{x},{label}\n" for x in (-2, -1, 1, 2) for label in ("no", "yes")) * 10)
    assert run("fit", rows, "--label", "class", "--similarity", "linear", "-o", tmp_path / "m.sim").code == 0
    found = []
    for more in ([], ["--probabilities"]):
        assert run("predict", tmp_path / "m.sim", rows, "-o", tmp_path / "p.csv", *more).code == 0
        found.append([row["prediction"] for row in read_csv(tmp_path / "p.csv")])
    assert found[0] == found[1]


def test_a_model_whose_scores_are_all_zero(tmp_path):
    model = SimilarityClassifier(0.0 * Linear(), class_weight="balanced").fit(X, LABELS["two classes"])
    save(model, tmp_path / "model.sim")
    assert (model.classes_[model.predict_proba(X).argmax(axis=1)] == model.predict(X)).all()
