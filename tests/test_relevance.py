"""What in an object mattered: importance of columns, and attribution to parts of an object."""

import numpy as np
import pytest

from similitude import SimilarityClassifier, SimilarityRegressor, attribution, importance
from similitude.datasets import molecules, promoters
from similitude.kernels import (
    DTW,
    Columns,
    Equal,
    Gaussian,
    Gower,
    Intersection,
    Jaccard,
    Laplace,
    Linear,
    Matern,
    OrMissing,
    Spectrum,
    WeisfeilerLehman,
)
from similitude.learners import KernelSVC

RNG = np.random.default_rng(3)
X = RNG.standard_normal((80, 4))
Y = np.sin(2 * X[:, 1]) + 0.5 * X[:, 2]
TWO = np.where(Y > 0, "up", "down")
GENES, KINDS = promoters()
GENES, KINDS = list(GENES), np.asarray(KINDS)
GRAPHS, SOLUBLE = molecules()
SETS = [frozenset(RNG.choice(list("abcdefgh"), 4, replace=False)) for _ in range(30)]
HAS_A = np.array(["a" in one for one in SETS])
AGES, JOBS, TOWNS = RNG.integers(20, 60, 50), RNG.choice(["cook", "pilot"], 50), RNG.choice(["x", "y", "z"], 50)
TABLE = [{"age": float(a), "job": j, "town": t} for a, j, t in zip(AGES, JOBS, TOWNS, strict=True)]
COOK = np.array([row["job"] == "cook" for row in TABLE])
PEOPLE = Columns({"age": Gaussian(10.0), "job": Equal(), "town": Equal()})


# Importance.


@pytest.mark.parametrize("by", ["permutation", "derivative"])
def test_columns_that_matter_are_found(by):
    model = SimilarityRegressor(Gaussian(sigma=2.0), random_state=0).fit(X[:60], Y[:60])
    found = importance(model, X[60:], Y[60:], by=by, random_state=0)
    assert set(found.order[:2].tolist()) == {1, 2} and found.order[0] == 1
    assert (found.low <= found.values).all() and (found.values <= found.high).all()
    assert found.low[1] > found.high[0] and found.low[1] > found.high[3]
    assert str(found).splitlines()[1].split()[:2] == ["column", "1"] and "<table" in found._repr_html_()


def test_an_interval_covers_the_rise_on_many_rows():
    rng = np.random.default_rng(0)
    model = SimilarityRegressor(Gaussian(sigma=2.0), random_state=0).fit(X, Y)

    def rise(n, seed):
        rows = np.random.default_rng(seed).standard_normal((n, 4))
        y = np.sin(2 * rows[:, 1]) + 0.5 * rows[:, 2] + 0.3 * rng.standard_normal(n)
        return importance(model, rows, y / np.sqrt(1.0), n_repeats=3, random_state=seed)

    truth = rise(3000, 99).values
    hits = np.mean([(one.low <= truth) & (truth <= one.high) for one in (rise(150, seed) for seed in range(30))])
    assert hits > 0.8  # of 95 %, with variances that are estimated as well


@pytest.mark.parametrize("kernel", [Gaussian(1.5), Laplace(2.0), Matern(1.5, 2.0), Linear()])
def test_derivatives_are_slopes_of_the_score(kernel):
    model = SimilarityRegressor(kernel, random_state=0).fit(X, Y)
    rows, step, slopes = X[:9] + 0.01, 1e-5, []
    for q in range(4):
        moved = np.eye(4)[q] * step
        slopes.append((model.predict(rows + moved) - model.predict(rows - moved)) / (2 * step))
    found = importance(model, rows, None, by="derivative")
    expected = np.sqrt(np.mean(np.square(slopes), axis=1)) * rows.std(axis=0)
    np.testing.assert_allclose(found.values, expected, rtol=1e-4)


def test_tables_are_permuted_by_name():
    pandas = pytest.importorskip("pandas")
    for table in (TABLE, pandas.DataFrame(TABLE)):
        model = SimilarityClassifier(PEOPLE, random_state=0).fit(table, COOK)
        found = importance(model, table, COOK, n_repeats=3, random_state=0)
        assert found.names == ["age", "job", "town"] and found.order[0] == 1 and found.values[1] > 0.3
    with pytest.raises(ValueError, match=r"the derivative of .* is not known"):
        importance(model, TABLE, None, by="derivative")
    with pytest.raises(TypeError, match="importance is that of columns"):
        importance(model, ["a", "b"], [0, 1])


# Attribution.

ADDITIVE = {
    "presence": (Spectrum(3), GENES, KINDS),
    "counts": (Spectrum(2, counts=True), GENES, KINDS),
    "blended": (Spectrum(4, blended=True).normalized(), GENES, KINDS),
    "sum": (2.0 * Spectrum(3) + Spectrum(2).normalized() + 1.0, GENES, KINDS),
    "sets": (Intersection(), SETS, HAS_A),
    "linear": (Linear(), X, TWO),
    "shifted": (Linear() + 1.0, X, TWO),
    "columns": (PEOPLE, TABLE, COOK),
    "weighted": (Columns(PEOPLE.columns, how="sum", weights={"job": 3.0}), TABLE, COOK),
    "gower": (Gower(), TABLE, COOK),
    "graphs": (WeisfeilerLehman(2), GRAPHS, np.asarray(SOLUBLE)),
    "normalized": (WeisfeilerLehman(3).normalized(), GRAPHS, np.asarray(SOLUBLE)),
}


@pytest.mark.parametrize("name", ADDITIVE)
def test_values_add_up_to_the_score(name):
    kernel, objects, y = ADDITIVE[name]
    model = SimilarityClassifier(kernel, random_state=0).fit(objects[5:], y[5:])
    scores = np.abs(model.decision_function(objects[:3]))
    for x, score in zip(objects[:3], scores, strict=True):
        found = attribution(model, x)
        assert found.how == "features" and len(found.values) == len(found.parts) == len(found.places)
        assert found.score == pytest.approx(score) and found.base + found.values.sum() == pytest.approx(found.score)
        assert str(found) and found._repr_html_() and found.to_dict()["parts"] == found.parts


def test_letters_get_the_weights_of_their_substrings():
    words = ["abab", "abba", "baab", "bbaa", "aabb", "cabc"]
    y = np.array([1.0, 0.0, 2.0, 1.0, -1.0, 3.0])
    model = SimilarityRegressor(Spectrum(2, counts=True), random_state=0).fit(words, y)
    coefficients, landmarks = model.landmark_weights_[:, 0], model.landmarks_

    def weight(pair):
        counts = [sum(one[i : i + 2] == pair for i in range(3)) for one in landmarks]
        return float(coefficients @ counts)

    found = attribution(model, "abc")
    ab, bc = weight("ab"), weight("bc")
    np.testing.assert_allclose(found.values, [ab / 2, (ab + bc) / 2, bc / 2], atol=1e-9)
    assert found.base == pytest.approx(model.intercept_[0])


def test_cells_are_compared_with_the_average():
    model = SimilarityRegressor(Linear(), random_state=0).fit(X, 2 * X[:, 0] - X[:, 3])
    found = attribution(model, X[0])
    slopes = np.asarray(model.landmarks_).T @ model.landmark_weights_[:, 0]
    np.testing.assert_allclose(found.values, slopes * (X[0] - np.asarray(model.landmarks_).mean(axis=0)), atol=1e-6)


def test_missing_cells_add_nothing_under_gower():
    cells = [(1.0, "x"), (2.0, None), (5.0, "y"), (4.0, "y"), (0.0, "x")]
    rows = [{"a": a, "b": b} for a, b in cells]
    model = SimilarityRegressor(Gower(), random_state=0, side="left").fit(rows, [0.0, 1.0, 3.0, 3.0, 0.0])
    if not model.representation_.normalized:
        found = attribution(model, {"a": 3.0, "b": None})
        assert found.base + found.values.sum() == pytest.approx(model.predict([{"a": 3.0, "b": None}])[0])


OCCLUDED = {
    "strings": (Spectrum(3) ** 2, GENES, KINDS, 57),
    "vectors": (Gaussian(2.0), X, TWO, 4),
    "sets": (Jaccard(), SETS, HAS_A, 4),
    "table": (Columns(PEOPLE.columns, how="product"), TABLE, COOK, 3),
    "graphs": (WeisfeilerLehman(2) ** 2, GRAPHS, np.asarray(SOLUBLE), None),
    "series": (DTW(), [np.sin(np.arange(20) / (2 + i % 2)) for i in range(20)], np.arange(20) % 2, 12),
}


@pytest.mark.parametrize("kind", OCCLUDED)
def test_occlusion_is_the_score_less_that_without_the_part(kind):
    kernel, objects, y, n = OCCLUDED[kind]
    model = SimilarityClassifier(kernel, random_state=0).fit(objects[3:], y[3:])
    found = attribution(model, objects[0])
    assert (found.how, found.base, found.kind) == ("occlusion", None, kind)
    assert n is None or len(found.values) == n
    assert str(found) and found._repr_html_()
    if kind == "sets":
        item = found.places[0]
        sign = np.sign(model.decision_function([objects[0]])[0])
        less = sign * model.decision_function([objects[0] - {item}])[0]
        assert found.values[0] == pytest.approx(found.score - less)
    if kind == "vectors":
        assert found.order[0] == 1


def test_the_deciding_item_letter_and_cell_are_found():
    model = SimilarityClassifier(Jaccard(), random_state=0).fit(SETS, HAS_A)
    x = next(one for one in SETS if "a" in one)
    found = attribution(model, x)
    assert found.places[found.order[0]] == "a" and found.values[found.order[0]] > 0
    model = SimilarityClassifier(PEOPLE, random_state=0).fit(TABLE, COOK)
    assert attribution(model, TABLE[0]).places[attribution(model, TABLE[0]).order[0]] == "job"


def test_any_learner_is_attributed_by_occlusion():
    found = attribution(KernelSVC(Jaccard()).fit(SETS, HAS_A), SETS[0])
    assert found.how == "occlusion" and len(found.values) == 4


def test_several_classes_and_numbers():
    three = np.digitize(Y, [-0.5, 0.5])
    model = SimilarityClassifier(Linear(), random_state=0).fit(X, three)
    found, scores = attribution(model, X[0]), np.sort(model.decision_function(X[:1])[0])
    assert found.score == pytest.approx(scores[-1] - scores[-2]) and found.against != found.prediction
    both = SimilarityRegressor(Linear(), random_state=0).fit(X, np.stack([Y, X[:, 0]], axis=1))
    for output in (0, 1):
        found = attribution(both, X[0], output=output)
        assert found.score == found.prediction == pytest.approx(both.predict(X[:1])[0, output])
        assert found.base + found.values.sum() == pytest.approx(found.score)


def test_missing_values_and_precomputed_matrices():
    cells = [(30.0, None), (40.0, "cook"), (50.0, "pilot"), (20.0, "cook")]
    people = [{"age": age, "job": job} for age, job in cells]
    kernel = Columns({"age": Gaussian(10.0), "job": OrMissing(Equal())})
    model = SimilarityRegressor(kernel, random_state=0).fit(people, [1.0, 2.0, 3.0, 4.0])
    assert attribution(model, people[0]).parts == ["age = 30.0", "job = None"]
    matrix = Gaussian(1.0).gram(X)
    with pytest.raises(TypeError, match="precomputed matrix knows only their positions"):
        attribution(SimilarityClassifier("precomputed").fit(matrix, TWO), matrix[0])


def test_cells_of_sparse_vectors_are_those_that_are_not_zero():
    sparse = pytest.importorskip("scipy.sparse")
    rows = sparse.random(40, 6, 0.4, format="csr", random_state=0)
    y = np.asarray(rows[:, 2].todense()).ravel() > 0
    found = attribution(SimilarityClassifier(Gaussian(1.0), random_state=0).fit(rows, y), rows[int(y.argmax())])
    assert found.places == rows[int(y.argmax())].indices.tolist() and found.places[found.order[0]] == 2
