"""The headline of a report against scikit-learn, its baselines, its map, its columns, and other similarities."""

from functools import cache

import numpy as np
import pytest
from sklearn.decomposition import KernelPCA
from sklearn.metrics import balanced_accuracy_score, f1_score, mean_absolute_error, r2_score, roc_auc_score

from similitude import datasets
from similitude.kernels import Gaussian, Gower
from similitude.report import investigate
from similitude.report.findings.columns import columns_of
from similitude.report.findings.data_summary import guess_image_shape
from similitude.report.findings.held_out import HeldOutPredictions, split
from similitude.report.findings.inputs import validated
from similitude.report.findings.model_quality import Residuals
from similitude.report.findings.scores import ahead_of, class_scores_of, scores

pytestmark = pytest.mark.usefixtures("quick_reports")


@cache
def iris_findings():
    return investigate("gaussian", *datasets.iris(), compare={"same": "gaussian", "edgy": "laplace"})


def predictions(classes, n=80, seed=0):
    """Return inputs, and noisy predictions of their classes."""
    rng = np.random.default_rng(seed)
    y = np.concatenate(
        [np.arange(classes), rng.choice(classes, n - classes, p=np.arange(1, classes + 1) / sum(range(classes + 1)))]
    )
    chances = rng.dirichlet(np.ones(classes), n) + 0.8 * np.eye(classes)[y] * rng.random((n, 1))
    chances = (chances / chances.sum(axis=1, keepdims=True)).round(2)  # with ties
    inputs = validated("gaussian", rng.normal(size=(n, 2)), y, "classification", 0)
    return (
        inputs,
        HeldOutPredictions(np.arange(n), chances[None], chances, inputs.codes, "HELD-OUT", np.arange(n)),
        y,
        chances,
    )


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_scores_are_those_of_scikit_learn_within_their_intervals(classes):
    inputs, held, y, chances = predictions(classes)
    found, predicted = scores(inputs, held), chances.argmax(axis=1)
    area = roc_auc_score(y, chances[:, 1] - chances[:, 0]) if classes == 2 else None
    if classes > 2:
        area = np.mean([roc_auc_score(y == c, chances[:, c]) for c in range(classes)])
    expected = {
        "accuracy": (predicted == y).mean(),
        "balanced accuracy": balanced_accuracy_score(y, predicted),
        "AUC": area,
        "F1": f1_score(y, predicted, average="macro"),
    }
    assert {name: one.value for name, one in found.items()} == pytest.approx(expected)
    for one in found.values():
        assert 0 <= one.low < one.value < one.high <= 1
    recalls = {one.label: one.recall.value for one in class_scores_of(inputs, held)}
    assert np.mean(list(recalls.values())) == pytest.approx(expected["balanced accuracy"])


def test_scores_of_numbers_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    y = rng.normal(size=60)
    predicted = y + rng.normal(size=60) / 2
    inputs = validated("gaussian", y[:, None], y, None, 0)
    found = scores(inputs, HeldOutPredictions(np.arange(60), predicted[None], None, y, "HELD-OUT", np.arange(60)))
    assert found["root mean squared error"].value == pytest.approx(np.sqrt(((y - predicted) ** 2).mean()))
    assert found["mean absolute error"].value == pytest.approx(mean_absolute_error(y, predicted))
    assert found["R²"].value == pytest.approx(r2_score(y, predicted))


def test_the_interval_of_a_difference_covers_no_difference_as_often_as_it_says():
    rng, n, covered = np.random.default_rng(0), 60, 0
    for _ in range(200):
        targets = np.zeros(n, int)
        one, other = (np.eye(2)[(rng.random(n) < 0.3).astype(int)][None].astype(float) for _ in range(2))
        pair = [
            HeldOutPredictions(np.arange(n), each, each[0], targets, "HELD-OUT", np.arange(n)) for each in (one, other)
        ]
        found = ahead_of(*pair, 0)
        covered += found.low <= 0 <= found.high
    assert covered >= 0.9 * 200


def test_baselines_are_judged_on_the_same_examples():
    X, y = datasets.iris()
    model = iris_findings().model
    names = ["this model", "most frequent class", "nearest neighbor", "linear model", "gradient boosting"]
    assert [one.name for one in model.scores] == names
    assert model.scores[0].values["accuracy"].value == pytest.approx(1 - model.held_out.value)
    inputs = validated("gaussian", X, y, None, 0)
    right = 0
    for train, test in split(inputs).rounds[0]:
        k = Gaussian().resolve(X[train], 0)
        right += (y[train][k.cross(X[test], X[train]).argmax(axis=1)] == y[test]).sum()
    assert model.scores[2].values["accuracy"].value == pytest.approx(right / len(y))
    assert model.scores[1].values["AUC"].value == pytest.approx(0.5, abs=0.05)


def test_strings_have_no_columns_and_so_no_baselines_of_columns():
    X, y = datasets.promoters()
    found = investigate("spectrum", X[::2], y[::2])
    assert [one.name for one in found.model.scores[1:]] == ["most frequent class", "nearest neighbor"]
    assert found.columns == ()


def test_labels_that_mean_nothing_are_called_so():
    from similitude.report.render.sentences import verdict

    rng = np.random.default_rng(1)
    found = investigate("gaussian", rng.normal(size=(80, 3)), np.arange(80) % 2)
    assert "does not predict the labels" in verdict(found)
    assert verdict(iris_findings()).startswith("The model is right for ")


def test_the_map_is_kernel_pca():
    X = datasets.iris().objects
    found = iris_findings()
    expected = KernelPCA(2, kernel="precomputed").fit_transform(Gaussian().resolve(X, 0).gram(X))
    placed = np.empty((len(X), 2))
    placed[found.map.indices] = np.stack([found.map.x, found.map.y], axis=1)
    for axis in (0, 1):
        sign = np.sign(placed[:, axis] @ expected[:, axis])
        np.testing.assert_allclose(sign * placed[:, axis], expected[:, axis], atol=1e-4)  # the matrix is in float32
    assert len(set(found.map.indices.tolist())) == len(X)
    assert int(np.nansum(found.map.error)) == round(found.model.held_out.value * len(X))


def test_objects_beyond_the_sample_are_projected_onto_the_same_axes():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(260, 3)), rng.normal(size=(260, 3)) + 4])
    found = investigate(Gaussian(3.0), X, np.arange(520) // 260)
    x = np.empty(520)
    x[found.map.indices] = found.map.x
    assert abs(np.corrcoef(x, np.arange(520) // 260)[0, 1]) > 0.9  # the first axis separates the groups
    assert np.isnan(found.map.error).sum() == 520 - found.model.n_tested


def test_a_neighbor_embedding_is_drawn_when_asked():
    X, y = datasets.iris()
    found = investigate("gaussian", X[::5], y[::5], embedding="neighbors")
    assert found.map.method == "neighbors" and found.map.explained is None and len(found.map.x) == 30
    with pytest.raises(ValueError, match="embedding"):
        investigate("gaussian", X[::3], y[::3], embedding="umap")


def people(n=60):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    ages = rng.normal(40, 9, n)
    ages[:15] = np.nan
    return pandas.DataFrame(
        {
            "id": [f"P{i:04}" for i in range(n)],
            "row": np.arange(n),
            "age": ages,
            "job": rng.choice(["cook", "pilot"], n),
            "smokes": rng.random(n) < 0.5,
            "since": pandas.Timestamp("2020-01-01") + pandas.to_timedelta(rng.integers(0, 99, n), "D"),
            "note": ["a few words about person number " + str(i) for i in range(n)],
            "planet": "earth",
        }
    )


def test_columns_have_kinds_and_what_needs_attention_is_noted():
    table = people()
    found = {one.name: one for one in columns_of(validated("gower", table, np.arange(60) % 2, None, 0), "table", None)}
    kinds = ["identifier", "identifier", "number", "category", "yes or no", "date", "text", "category"]
    assert [one.kind for one in found.values()] == kinds
    assert found["age"].missing == 0.25 and found["job"].distinct == 2 and "constant" in found["planet"].remark
    report = investigate(Gower(), table, np.arange(60) % 2)
    assert sum("looks like an identifier" in note for note in report.about.notes) == 2
    assert any("holds free text" in note for note in report.about.notes)
    assert "without id, row, note" in report.model.scores[-1].about


def test_a_component_that_decides_all_distances_is_noted():
    X, y = (part[::3] for part in datasets.iris())
    found = investigate("gaussian", X * [1, 1, 1, 1000], y)
    assert any(note.startswith("column x3 makes up 100 % of the squared distances") for note in found.about.notes)


def test_intervals_of_numbers_cover_new_ones():
    rng, covered = np.random.default_rng(0), []
    for _ in range(300):
        errors = rng.standard_cauchy(41)
        reach = Residuals(np.arange(40), np.zeros(40), errors[:40]).reach(0.9)
        covered.append(abs(errors[40]) <= reach)
    assert 0.85 < np.mean(covered) < 0.97
    assert Residuals(np.arange(5), np.zeros(5), np.ones(5)).reach(0.9) is None


def test_images_are_guessed_and_other_vectors_are_not():
    from sklearn.datasets import load_digits

    X, rng = load_digits().data, np.random.default_rng(0)
    assert guess_image_shape(X, None) == (8, 8)
    curves = np.sin(np.linspace(0, 6, 64) * rng.uniform(0.5, 2, (100, 1)) + rng.uniform(0, 6, (100, 1)))
    common = rng.normal(size=(100, 1)) + rng.normal(size=(100, 64))
    for other in (X[:, rng.permutation(64)], curves, np.cumsum(rng.normal(size=(100, 64)), axis=1), common, X[:, :63]):
        assert guess_image_shape(other, None) is None
    assert guess_image_shape(X, [f"size of part {i}" for i in range(64)]) is None


def test_other_similarities_are_judged_in_the_same_folds():
    found = iris_findings()
    same, edgy = found.alternatives
    assert same.name == "same" and same.scores.ahead.value == same.scores.ahead.low == same.scores.ahead.high == 0
    assert same.scores.values["accuracy"] == found.model.scores[0].values["accuracy"]
    assert edgy.verdict == "VALID" and len(edgy.sample.matrix) == 120
    assert "Instead by edgy" in str(found)


def test_the_matrix_is_ordered_within_classes_and_its_colors_leave_the_diagonal_out():
    from similitude.report.render.images import GramImage

    rng = np.random.default_rng(0)
    groups = rng.permutation(np.repeat([0.0, 10.0], 15))  # two groups within a class, mixed up
    X = np.concatenate([groups, rng.normal(100, 1, 30)])[:, None] + 0.1 * rng.normal(size=(60, 1))
    found = investigate(Gaussian(1.0), X, ["a"] * 30 + ["b"] * 30).gram
    own = X[found.indices[:30], 0] > 5
    assert np.abs(np.diff(own.astype(int))).sum() == 1  # one group after the other
    far = investigate(
        lambda x, z: float(x == z) + 0.1 * float(abs(x - z) < 3), np.arange(40.0), np.arange(40) // 20
    ).gram
    look = GramImage(far)
    assert (look.low, look.high) == pytest.approx((0.0, 0.1))


def test_the_column_that_decides_is_the_most_important_and_attributed_to():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    found = investigate("gaussian", X, np.where(X[:, 2] > 0, "up", "down"), names=list("abcd"))
    weights = [one.importance.value for one in found.columns]
    assert int(np.argmax(weights)) == 2 and found.columns[2].importance.low > 0
    attributed = [one for one in found.examples if one.decision.attribution is not None]
    assert len(attributed) == len(found.examples)
    assert all(one.decision.attribution.prediction == one.predicted for one in attributed)
    right = [one.decision.attribution for one in attributed if not one.wrong]
    assert np.mean([one.places[one.order[0]] == 2 for one in right]) > 0.6


def test_a_function_of_the_user_is_called_for_the_parts_of_the_first_examples_only_and_that_is_said(monkeypatch):
    calls = 0

    def own(x, z):
        nonlocal calls
        calls += 1
        return float(np.exp(-np.sum((x - z) ** 2)))

    X = np.random.default_rng(0).normal(size=(40, 3))
    found = investigate(own, X, X[:, 0] > 0)
    assert all(one.decision.attribution is not None for one in found.examples)
    before, calls = calls, 0
    monkeypatch.setattr("similitude.report.findings.examples.MAX_ATTRIBUTED_CALLS", 2000)
    few = investigate(own, X, X[:, 0] > 0)
    known = [one.decision.attribution is not None for one in few.examples]
    assert 0 < sum(known) < len(known) and calls < before
    n = f"{sum(known)} of {len(known)} examples"
    assert any(n in note for note in few.about.notes) and not any("of the object" in note for note in found.about.notes)


def test_labels_look_wrong_if_nobody_predicts_them():
    X, y = datasets.iris()
    y = y.copy()
    y[[4, 140]] = "virginica", "setosa"
    found = investigate("gaussian", X, y)
    assert set(found.doubted) >= {4, 140} and len(found.doubted) <= 4
    assert {4, 140} <= {one.index for one in found.examples if "label looks wrong" in one.why}
    assert "labels look wrong: examples 4, " in " ".join(str(found).split())
