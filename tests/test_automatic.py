"""similarity="auto": learned kernels and an exact fit, for vectors and tables; what it costs, says and does not do."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from similitude import SimilarityClassifier, SimilarityRegressor, load, save
from similitude.kernels import Gaussian, Matern, Tabular
from similitude.linear import exact_ridge


def points(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def relevant(n, seed=0, d=12):
    """Return vectors of which one column matters, and targets with a little noise."""
    X = points(n, d, seed)
    return X, np.sin(3 * X[:, 0]) + 0.1 * points(n, 1, seed + 1)[:, 0]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"age": rng.normal(40, 10, 400), "wage": np.exp(rng.normal(0, 2, 400)), "noise": rng.normal(size=400)}
    )
    X["job"] = rng.choice(["cook", "pilot", "judge"], 400)
    y = np.where((X["job"] == "cook") & (X["age"] > 40), "yes", "no")
    X.loc[rng.choice(400, 40, replace=False), "wage"] = None
    return X, y


@pytest.mark.usefixtures("without_evaluation")
def test_it_beats_a_gaussian_kernel_where_few_columns_matter():
    X, y = relevant(900)
    auto, plain = (SimilarityRegressor(k, random_state=0).fit(X[:400], y[:400]) for k in ("auto", "gaussian"))
    assert auto.score(X[400:], y[400:]) > 0.9 > 0.6 > plain.score(X[400:], y[400:])
    note = auto.plan_.similarity.what
    assert "metric" in note and "all 400 rows are kept" in note and "isotropic Gaussian" in note
    assert "mostly column 0" in note
    kernels = auto.similarity_ if isinstance(auto.similarity_, list) else [auto.similarity_]
    assert all(k.proven for k in kernels)


@pytest.mark.usefixtures("without_evaluation")
def test_columns_of_a_frame_of_numbers_are_called_by_their_names():
    X, y = relevant(150, d=4)
    frame = pd.DataFrame(X, columns=["hour", "wind", "noise", "day"])
    model = SimilarityRegressor(random_state=0).fit(frame, y)
    assert "mostly hour" in model.plan_.similarity.what
    assert model.learned_.importance.names == ["hour", "wind", "noise", "day"]


@pytest.mark.parametrize("n", [150, pytest.param(3100, marks=pytest.mark.deep)])
def test_the_held_out_error_is_that_on_new_rows(n):
    """By nested folds, and by rows outside of the pilot that are left out one by one."""
    X, y = relevant(n + 3000, d=6)
    model = SimilarityRegressor("auto", random_state=0).fit(X[:n], y[:n])
    error = ((model.predict(X[n:]) - y[n:]) ** 2).mean()
    assert model.held_out_error_.low < error < model.held_out_error_.high


def test_noise_is_not_made_to_look_predictable():
    """Metrics of 40 columns are learned from 120 rows inside the folds, so the error by folds is that of the mean."""
    shares = []
    for seed in range(2):
        X, y = points(120, 40, seed), np.random.default_rng(99 + seed).standard_normal(120)
        model = SimilarityRegressor("auto", random_state=seed).fit(X, y)
        shares.append(model.held_out_error_.value / model.constant_error_)
    assert np.mean(shares) > 0.95


@pytest.mark.usefixtures("without_evaluation")
def test_a_table_with_categories_and_missing_values(table, tmp_path):
    X, y = table
    model = SimilarityClassifier("auto", random_state=0).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.9
    assert model.guarantee_.grade == "NONE" and "learned from the same rows" in str(model.guarantee_)
    chances = model.predict_proba(X[300:])
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    save(model, tmp_path / "model.sim")
    for other in (load(tmp_path / "model.sim"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict_proba(X[300:]), chances)
    for why in model.explain(X[300:304]):
        assert abs(why.base + why.influences.sum() + why.rest - why.score) < 1e-9 and why.rest == 0
    changed = X[300:].assign(job="never seen", wage=None)
    assert set(model.predict(changed)) <= {"yes", "no"}


@pytest.mark.usefixtures("without_evaluation")
def test_several_classes_and_several_outputs():
    X = points(120, 3)
    labels = np.select([X[:, 0] > 0.5, X[:, 1] > 0], ["a", "b"], "c")
    assert SimilarityClassifier("auto", random_state=0).fit(X, labels).score(X, labels) > 0.9
    Y = np.column_stack([X[:, 0], X[:, 1] * X[:, 2]])
    model = SimilarityRegressor("auto", random_state=0).fit(X, Y)
    assert model.predict(X[:5]).shape == (5, 2) and model.score(X, Y) > 0.9


@pytest.mark.usefixtures("without_evaluation")
def test_weights_of_zero_are_as_if_the_rows_were_not_there():
    X, y = relevant(100, d=4)
    weights = np.r_[np.ones(75), np.zeros(25)]
    one = SimilarityRegressor("auto", random_state=0).fit(X, y, weights).predict(X)
    y[75:] = 1e6
    np.testing.assert_allclose(one, SimilarityRegressor("auto", random_state=0).fit(X, y, weights).predict(X))


def test_few_rows_are_fitted_as_with_a_gaussian_kernel():
    X, y = relevant(50, d=3)
    auto, plain = (SimilarityRegressor(k, random_state=0).fit(X, y) for k in ("auto", "gaussian"))
    np.testing.assert_array_equal(auto.predict(X), plain.predict(X))
    assert auto.held_out_error_ == plain.held_out_error_


@pytest.mark.usefixtures("without_evaluation")
@pytest.mark.parametrize("options", [{"n_landmarks": 20}, {"penalty": "l1"}, {"landmark_indices": range(30)}], ids=str)
def test_where_landmarks_are_asked_for_nothing_is_learned(options):
    X, y = relevant(120, d=3)
    auto, plain = (SimilarityRegressor(k, random_state=0, **options).fit(X, y) for k in ("auto", "gaussian"))
    np.testing.assert_array_equal(auto.predict(X), plain.predict(X))


def test_sparse_vectors_and_strings_have_their_usual_similarity():
    X, y = relevant(100, d=3)
    model = SimilarityRegressor("auto", random_state=0).fit(sp.csr_array(X), y)
    assert isinstance(model.similarity_, Gaussian)
    words = ["kernel", "kerning", "kernels", "margin", "margins", "marginal"] * 2
    named = SimilarityClassifier("auto", random_state=0).fit(words, ["k", "k", "k", "m", "m", "m"] * 2)
    assert named.predict(["kern", "margin."]).tolist() == ["k", "m"] and "Spectrum" in repr(named.similarity_)


def test_a_small_table_is_fitted_without_learning(table):
    X, y = table
    model = SimilarityClassifier("auto", random_state=0).fit(X[:50], y[:50])
    assert isinstance(model.similarity_, Tabular) and isinstance(model.similarity_.k, Gaussian)


@pytest.mark.deep
def test_many_rows_have_landmarks_in_the_learned_metric():
    X, y = relevant(6000, d=8)
    model = SimilarityRegressor("auto", random_state=0, landmarks="uniform").fit(X[:5500], y[:5500])
    assert len(model.landmarks_) < 5500 and model.score(X[5500:], y[5500:]) > 0.95
    assert "landmarks use the kernel that is best alone; landmarks were asked for" in str(model.plan_)
    assert model.guarantee_.grade == "NONE"


def test_a_stream_uses_the_usual_kernel():
    X, y = relevant(300, d=3)
    model = SimilarityRegressor("auto", random_state=0)
    for start in range(0, 300, 100):
        model.partial_fit(X[start : start + 100], y[start : start + 100])
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("penalty", [1e-6, 1e-2])
def test_rows_left_out_are_predicted_by_a_model_without_them(penalty):
    X, Y, k = points(40, 3), points(40, 2, 1), Matern(length=2.0)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 40)
    judged = np.array([7, 0, 33])
    _, left_out = exact_ridge(k, X, Y, weights, penalty, judged)
    for i, found in zip(judged, left_out, strict=True):
        rest = np.delete(np.arange(40), i)
        lam = penalty * weights.mean() / weights[rest].mean()
        other, _ = exact_ridge(k, X[rest], Y[rest], weights[rest], lam, judged[:0])
        np.testing.assert_allclose(found, k.cross(X[[i]], X[rest])[0] @ other.weights, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("y", [np.ones(100), np.r_[1e9, np.zeros(99)]], ids=["constant", "an outlier"])
def test_odd_targets(y):
    model = SimilarityRegressor("auto", random_state=0).fit(points(100, 3), y)
    assert np.isfinite(model.predict(points(5, 3))).all()


@pytest.mark.parametrize("X", [np.ones((100, 3)), np.arange(100)[:, None] % 2], ids=["constant", "two values"])
def test_few_different_rows(X):
    y = X[:, 0] + 0.1 * points(100, 1)[:, 0]
    model = SimilarityRegressor("auto", random_state=0).fit(X, y)
    assert abs(model.predict(X[:1])[0] - y[X[:, 0] == X[0, 0]].mean()) < 0.05


@pytest.mark.usefixtures("without_evaluation")
def test_a_few_huge_cells_do_not_ruin_a_column():
    X, y = relevant(700, d=4)
    spoiled = X.copy()
    spoiled[[3, 50, 120], 0] = 1e9
    model = SimilarityRegressor("auto", random_state=0).fit(spoiled[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.9
    assert model.learned_.importance.in_short() == "mostly column 0"


def test_outliers_of_targets_have_little_influence_with_hubers_loss():
    X, y = relevant(500, d=3)
    y[[5, 17, 60, 99]] = [1e6, -1e6, 1e9, 1e3]
    model = SimilarityRegressor("gaussian", loss="huber", random_state=0).fit(X[:120], y[:120])
    assert model.score(X[120:], y[120:]) > 0.5 and model.loss_ == "huber"
    assert "limited" in model.notes_[-1] and "from their median" in model.notes_[-1]
    few = SimilarityRegressor("gaussian", loss="huber").fit(X[:4], y[:4])
    assert few.loss_ == "squared" and "the squared loss was used" in few.notes_[-1]
    assert model.held_out_error_.value < 2 * model.constant_error_ < 10


@pytest.mark.usefixtures("without_evaluation")
def test_outlying_targets_are_named_where_squared_errors_count():
    X, y = relevant(200, d=3)
    assert not any("far beyond" in note for note in SimilarityRegressor("gaussian").fit(X, y).notes_)
    y[[5, 17, 60, 99]] = [1e6, -1e6, 1e9, 1e6]
    (note,) = (one for one in SimilarityRegressor("gaussian").fit(X, y).notes_ if "far beyond" in one)
    assert note.startswith("4 targets far beyond all others (row 5, 17, 60, ...)") and "loss='huber'" in note
    apart = SimilarityRegressor("gaussian", certify=0.3, random_state=1).fit(X, y)  # fitted to some of the rows only
    (note,) = (one for one in apart.notes_ if "far beyond" in one)
    named = note.split("(row ")[1].split(")")[0].removesuffix(", ...").split(", ")
    assert {int(row) for row in named} <= {5, 17, 60, 99}


@pytest.mark.usefixtures("without_evaluation")
def test_odd_columns():
    n = 100
    X = pd.DataFrame(
        {"name": [f"row {i}" for i in range(n)], "empty": [None] * n, "x": points(n, 1)[:, 0], "constant": 1}
    )
    model = SimilarityRegressor("auto", random_state=0).fit(X, X["x"] ** 2)
    assert model.score(X, X["x"] ** 2) > 0.9
    wide = SimilarityRegressor("auto", random_state=0).fit(points(80, 600), points(80, 1)[:, 0])
    assert np.isfinite(wide.predict(points(2, 600))).all()


def test_rows_that_look_like_series_are_noted(without_evaluation):
    rng = np.random.default_rng(0)
    y = np.arange(50) % 2
    noise = rng.normal(size=(50, 30))
    for X, is_noted in ((noise.cumsum(axis=1), True), (noise, False), (noise + 1e3 * np.arange(30.0), False)):
        for model in (SimilarityClassifier(random_state=0), SimilarityRegressor(random_state=0)):
            notes = " ".join(model.fit(X, y).notes_)
            assert ("Auto(kind='series')" in notes) == is_noted
