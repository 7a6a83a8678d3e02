"""Exact fits in the cells of a partition, for many rows: the kernel, the tree, the rounds, and what is promised."""

import pickle

import numpy as np
import pandas as pd
import pytest

from similitude import SimilarityClassifier, SimilarityRegressor, check_kernel, load, save
from similitude.engines import LocalEngine
from similitude.evaluation import Pilot
from similitude.fitting import Sampling, TrainingSet
from similitude.fitting.cells import fit_in_cells
from similitude.kernel_learning import CellFit, CellTree, choose_automatically, learn_cells
from similitude.kernel_learning.cells import balanced_threshold, widest_direction
from similitude.kernels import Gaussian, Laplace, Matern, Partitioned, Spectrum, Tabular
from similitude.linear import exact_ridge
from similitude.similarity import Meter


def regions(n, seed=0, d=3):
    """Return vectors, and a function that depends on another column in each half of the space."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    y = np.where(X[:, 0] > 0, np.sin(6 * X[:, 1]), np.sin(6 * X[:, 2])) + 2 * (X[:, 0] > 0)
    return X, y + 0.05 * rng.standard_normal(n)


@pytest.fixture
def small_cells(monkeypatch):
    monkeypatch.setattr("similitude.kernel_learning.cells.CELL_ROWS", 100)
    monkeypatch.setattr("similitude.fitting.cells.RIVAL_LANDMARKS", 40)


def fitted_in_cells(X, y, memory=2**30):
    order = np.random.default_rng(0).permutation(len(y))
    choice = choose_automatically(X, y[:, None], order[:300], Pilot.of(300))
    data = TrainingSet(X, y[:, None], np.ones(len(y)), None, None, Sampling(0))
    model = SimilarityRegressor(engine=LocalEngine(memory=memory))
    options = model._options(X, None, Meter(None))
    return fit_in_cells(data, options, choice, order)


# The kernel.


def test_values_are_those_of_a_double_loop():
    X, rng = regions(30)[0], np.random.default_rng(0)
    metrics, k = rng.normal(size=(4, 3, 2)), Matern(length=0.7, metric=[1.0, 2.0, 0.5])
    whole = Partitioned(k, rng.normal(size=(3, 3)), [0.1, -0.1, 0.2], metrics)

    def cell(u):
        node = 0
        while node < 3:
            node = 2 * node + 1 + int(u @ whole.directions[node] > whole.thresholds[node])
        return node - 3

    U = X * k.metric
    plain = Matern(length=0.7)
    expected = [
        [plain(u @ metrics[cell(u)], v @ metrics[cell(v)]) if cell(u) == cell(v) else 0.0 for v in U] for u in U
    ]
    np.testing.assert_allclose(whole.gram(X), expected, atol=1e-6)
    assert len({cell(u) for u in U}) > 2


def test_it_is_a_kernel_if_the_kernel_within_cells_is_one(tmp_path):
    X = regions(40)[0]
    k = Partitioned(Gaussian(0.5), [[1.0, 0.0, 0.0]], [0.0], metrics=np.array([[1.0, 2.0, 0.0], [0.5, 1.0, 1.0]]))
    assert check_kernel(k).verdict == "VALID" and np.linalg.eigvalsh(k.gram(X)).min() > -1e-9
    assert not Partitioned(Gaussian(0.5) - 1.0, [[1.0, 0.0, 0.0]], [0.0]).proven
    save(k, tmp_path / "k.sim")
    for other in (load(tmp_path / "k.sim"), pickle.loads(pickle.dumps(k))):
        np.testing.assert_array_equal(other.gram(X), k.gram(X))


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"k": Spectrum()}, TypeError, "takes a kernel of vectors"),
        ({"thresholds": [0.0, 1.0]}, ValueError, r"directions of shape \(nodes, coordinates\)"),
        ({"directions": np.eye(2), "thresholds": [0.0, 1.0]}, ValueError, r"1, 3, 7, \.\.\. nodes, got 2"),
        ({"metrics": np.ones((3, 2))}, ValueError, r"metrics must have shape \(2, 2\)"),
    ],
)
def test_bad_parameters(parameters, error, message):
    k = Partitioned(**{"k": Gaussian(1.0), "directions": [[1.0, 0.0]], "thresholds": [0.0]} | parameters)
    with pytest.raises(error, match=message):
        k.gram(np.eye(2))


def test_vectors_of_another_width():
    with pytest.raises(ValueError, match="directions have 2 coordinates, but the vectors have 3"):
        Partitioned(Gaussian(1.0), [[1.0, 0.0]], [0.0]).gram(np.eye(3))


# The tree.


def test_rows_are_split_evenly_along_the_widest_direction(small_cells):
    A = np.random.default_rng(0).standard_normal((830, 3)) * [1.0, 5.0, 1.0]
    tree = CellTree.grow(A)
    assert tree.n_cells == 8 and abs(tree.directions[0][1]) > 0.99
    sizes = np.bincount(Partitioned(Gaussian(1.0), tree.directions, tree.thresholds).cells(A))
    assert sizes.min() >= 103 and sizes.max() <= 104


def test_equal_rows_stay_together():
    assert balanced_threshold(np.array([0.0, 1.0, 1.0, 1.0])) == 0.0
    assert balanced_threshold(np.array([1.0, 1.0, 1.0, 2.0])) == 1.0
    assert not widest_direction(np.ones((5, 2))).any() and not widest_direction(np.empty((0, 2))).any()


# The fits.


@pytest.mark.parametrize("k", [Matern(length=1.0), Laplace(0.7, norm=1)])
def test_fits_in_cells_are_one_exact_fit_of_the_partitioned_kernel(k, small_cells):
    X, y = regions(300)
    rows, weights = np.arange(300), np.random.default_rng(0).uniform(0.5, 2.0, 300)
    tree = CellTree.grow(X)
    cells = Partitioned(k, tree.directions, tree.thresholds).cells(X)
    fit = CellFit.fit(k, X, cells, None, 1e-2, (y[:, None], weights), rows, tree.n_cells)
    fit = fit.next_round((y[:, None], weights), rows).next_round((y[:, None], weights), rows)
    whole = Partitioned(k, tree.directions, tree.thresholds, fit.metrics)
    one, _ = exact_ridge(whole, whole.encode(X), y[:, None], weights, 1e-2, rows[:0])
    np.testing.assert_allclose(fit.coefficients, one.weights, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(fit.predicted(rows), whole.gram(X) @ one.weights, atol=1e-6)


def test_cells_learn_metrics_only_where_that_helps(small_cells):
    X, y = regions(900)
    k, fitted, judged = Gaussian(1.0), np.arange(700), np.arange(700, 900)
    tree = CellTree(np.array([[1.0, 0.0, 0.0]]), np.zeros(1))
    cells = Partitioned(k, tree.directions, tree.thresholds).cells(X)
    targets = (y - y.mean())[:, None], np.ones(900)
    start = CellFit.fit(k, X, cells, None, 1e-2, targets, fitted, 2)
    fit, rounds = learn_cells(start, targets, fitted, judged)
    assert rounds > 0
    M = np.einsum("cij,ckj->cik", fit.metrics, fit.metrics)
    assert M[0, 2, 2] > 3 * M[0, 1, 1] and M[1, 1, 1] > 3 * M[1, 2, 2]  # each half has found its own column
    noise = np.random.default_rng(0).standard_normal((900, 1)), np.ones(900)
    assert learn_cells(CellFit.fit(k, X, cells, None, 10.0, noise, fitted, 2), noise, fitted, judged)[1] == 0


def test_the_rows_that_judge_change_nothing_that_is_chosen(small_cells):
    X, y = regions(900)
    one = fitted_in_cells(X, y)
    last = np.random.default_rng(0).permutation(900)[-90:]
    changed = y.copy()
    changed[last] = -changed[last]
    other = fitted_in_cells(X, changed)
    for a, b in zip(one.features, other.features, strict=True):
        assert a.similarity == b.similarity
    assert one.influence.shares == other.influence.shares and one.trial.loss == other.trial.loss
    assert one.evaluate().trial.loss < 0.5 * other.evaluate().trial.loss


def test_landmarks_are_kept_where_cells_gain_nothing(small_cells, monkeypatch):
    X = np.random.default_rng(0).standard_normal((900, 2))
    why = fitted_in_cells(X, X[:, 0] + np.random.default_rng(1).standard_normal(900))
    assert isinstance(why, str) and "not clearly better: mean squared error on 90 held-out rows" in why
    assert "memory budget" in fitted_in_cells(*regions(900), memory=1000)
    monkeypatch.setattr("similitude.fitting.cells.LARGEST_CELL", 50)
    assert "so alike" in fitted_in_cells(*regions(900))


# The estimators.


@pytest.fixture(scope="module")
def model():
    X, y = regions(6200)
    return SimilarityRegressor(random_state=0).fit(X[:5200], y[:5200]), X, y


def test_many_rows_are_fitted_in_cells(model):
    model, X, y = model
    assert 1 - model.score(X[5200:], y[5200:]) < 0.02
    note = str(model.plan_)
    assert "the fit is exact in each of 2" in note and "all 5,200 rows are kept" in note and "1,000 landmarks" in note
    assert model.held_out_error_.low < np.mean((model.predict(X[5200:]) - y[5200:]) ** 2) < model.held_out_error_.high
    assert model.n_similarity_calls_ <= 2 * 3000 and model.guarantee_.grade == "NONE"


def test_a_prediction_is_the_sum_of_the_influences_of_its_cell(model):
    model, X, _ = model
    explained = model.explain(X[5200:5203], by="examples")
    np.testing.assert_allclose([one.score for one in explained], model.predict(X[5200:5203]), rtol=1e-5)
    for one in explained:
        assert one.base + one.influences.sum() == pytest.approx(one.score, abs=1e-6)
        assert 0 < len(one.influences) <= model.n_similarity_calls_ and one.influences.all()
        assert len(one.examples) == len(one.labels) == len(one.counts) == len(one.similarities) == len(one.influences)
        assert len(one.positions) == len(set(one.positions)) < 5200  # rows of the other cell are not listed


def test_a_model_in_cells_is_stored(model, tmp_path):
    model, X, _ = model
    save(model, tmp_path / "m.sim")
    for other in (load(tmp_path / "m.sim"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_allclose(other.predict(X[:50]), model.predict(X[:50]), rtol=1e-10)


@pytest.mark.deep
def test_tables_and_classes_in_cells():
    X, y = regions(5800)
    table = pd.DataFrame(X, columns=list("abc")).assign(d=np.where(y > 1, "u", "v"))
    model = SimilarityClassifier(random_state=0).fit(table[:5300], np.where(y[:5300] > 0.3, "high", "low"))
    assert model.score(table[5300:], np.where(y[5300:] > 0.3, "high", "low")) > 0.95
    kernels = model.similarity_ if isinstance(model.similarity_, list) else [model.similarity_]
    assert all(isinstance(k, Tabular) for k in kernels)
    np.testing.assert_allclose(model.predict_proba(table[5300:]).sum(axis=1), 1.0)
