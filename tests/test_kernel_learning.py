"""Learned metrics: gradients by definition, planted directions that are found, noise that is not, and odd input."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest

from similitude import check_kernel, learn_kernel, load, save
from similitude.evaluation import Pilot, gain
from similitude.kernel_learning.gradients import metric_of, model_gradients
from similitude.kernel_learning.pilot import pilot_splits
from similitude.kernel_learning.rounds import isotropic
from similitude.kernels import Gaussian, Laplace, Linear, Matern, RationalQuadratic
from similitude.learners import KernelRidge

L1 = Laplace(norm=1, squared_scale=False)
KERNELS = [
    Gaussian(1.3),
    Matern(1.5, 0.9),
    Matern(2.5, 0.9),
    Matern(1.2, 0.9),
    Matern(0.5, 0.9),
    Matern(np.inf, 0.9),
    RationalQuadratic(0.7, 1.1),
    Laplace(0.8),
    Laplace(0.8, norm=1),
    Laplace(0.8, squared_scale=False),
]


def points(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def error_of(k, X, y, n):
    """Return the root mean squared error of ridge regression on the rows after the first n, relative to the sd of y."""
    model = KernelRidge(k, lam=[1e-4, 1e-3, 1e-2, 1e-1, 1.0]).fit(X[:n], y[:n])
    return np.sqrt(((model.predict(X[n:]) - y[n:]) ** 2).mean()) / y.std()


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_gradients_are_limits_of_differences(k):
    A, B, coefficients, step = points(4, 3), points(6, 3, 1), points(6, 2, 2), 1e-6
    found = model_gradients(k, A, B, coefficients)
    for column, change in enumerate(step * np.eye(3)):
        expected = (k.cross(A + change, B) - k.cross(A - change, B)) @ coefficients / (2 * step)
        np.testing.assert_allclose(found[:, :, column], expected, atol=1e-7)


def test_gradients_at_a_kink_are_finite():
    X = points(5, 3)
    for k in (Laplace(1.0), Matern(0.5, 1.0)):
        assert np.isfinite(model_gradients(k, X, X, np.ones((5, 1)))).all()


def test_a_metric_is_the_root_of_the_outer_product_with_trace_d():
    G = points(50, 4)
    Q = G.T @ G
    T = metric_of(Q)
    np.testing.assert_allclose(T @ T.T, Q * 4 / np.trace(Q), atol=1e-12)
    np.testing.assert_allclose(metric_of(np.diag(Q)) ** 2, np.diag(Q) * 4 / np.trace(Q))
    np.testing.assert_array_equal(metric_of(np.zeros(3)), np.ones(3))


@pytest.mark.parametrize("k", [Gaussian(), Matern(), L1, RationalQuadratic()], ids=repr)
def test_the_column_that_matters_is_found_and_helps(k):
    X = points(700, 8)
    y = np.sin(3 * X[:, 2]) + 0.1 * points(700, 1, 1)[:, 0]
    learned = learn_kernel(k, X[:400], y[:400], random_state=0)
    assert learned.importance.values.argmax() == 2 and learned.importance.in_short() == "mostly column 2"
    assert learned.importance.low[2] > 0.8 and abs(learned.importance.values.sum() - 1) < 1e-12
    assert type(learned.similarity) is type(k)
    assert error_of(learned.similarity, X, y, 400) < 0.6 * error_of(k, X, y, 400)
    assert "lowers the squared error" in learned.reason


def test_a_planted_direction_is_the_leading_one_of_a_full_metric():
    X, w = points(1300, 10), np.ones(10) / np.sqrt(10)
    y = np.sin(2 * X @ w)
    learned = learn_kernel(Gaussian(), X, y, how="full", random_state=0)
    u, s, _ = np.linalg.svd(learned.similarity.metric)
    assert abs(u[:, 0] @ w) > 0.95 and s[0] > 3 * s[1]
    diagonal = learn_kernel(Gaussian(), X, y, how="diagonal", random_state=0)
    losses = [min(one.loss for one in found.rounds) for found in (learned, diagonal)]
    assert losses[0] < 0.5 * losses[1]


def test_where_gradients_say_nothing_the_start_from_l1_weights_helps():
    """A product of two columns among 28 of noise: the first fit of an isotropic Matern kernel has learned nothing."""
    X = points(1100, 30)
    y = np.sign(X[:, 0]) * np.sign(X[:, 1]) * (1 + np.abs(X[:, 0]))
    learned = learn_kernel(Matern(), X, y, random_state=0)
    assert set(learned.importance.order()[:2]) == {0, 1}
    assert "L1" in learned.reason


def test_noise_leaves_the_isotropic_kernel():
    kept = 0
    for seed in range(10):
        y = np.random.default_rng(100 + seed).standard_normal(200)
        learned = learn_kernel(Gaussian(), points(200, 5, seed), y, random_state=seed)
        kept += "isotropic kernel was kept" in learned.reason
    assert kept >= 8


def test_a_few_huge_targets_do_not_hide_what_matters():
    """A metric is learned with outliers as without them, and the reason tells how many were moved."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6))
    y = np.sin(2 * X[:, 2])
    y[[3, 30]] = [1e7, -1e5]
    learned = learn_kernel("gaussian", X, y, random_state=0)
    assert learned.importance.in_short() == "mostly column 2"
    assert learned.reason.endswith("moved to the farthest other one (2 of 300)")


def test_the_rows_that_judge_do_not_teach():
    """Targets of judged rows do not change the metric of their split."""
    X, y = points(300, 4), points(300, 1, 1)
    splits = pilot_splits(X, y, np.random.default_rng(0).permutation(len(X)), Pilot.of(len(X)))
    other = tuple(one._replace(Y_held_out=-one.Y_held_out) for one in splits)
    for one, changed in zip(splits, other, strict=True):
        found = []
        for part in (one, changed):
            fit = isotropic(Gaussian(), (part,))
            again = fit.candidate.fit((0, -1))
            found.append(fit.candidate.squared_gradients(again, diagonal=True)[0][0])
        np.testing.assert_array_equal(*found)


def test_folds_judge_every_row_once_and_many_rows_are_split():
    X = np.arange(400.0)[:, None]
    judged = np.concatenate([split.X_held_out[:, 0] for split in pilot_splits(X, X, np.arange(400), Pilot.of(400))])
    np.testing.assert_array_equal(np.sort(judged), X[:, 0])
    (split,) = pilot_splits(*[np.arange(9000.0)[:, None]] * 2, np.arange(9000), Pilot.of(9000))
    assert (len(split.X), len(split.X_held_out)) == (1600, 1000)
    assert not set(split.X[:, 0]) & set(split.X_held_out[:, 0])


def test_gain_is_paired():
    X = points(200, 2)
    fit = isotropic(Gaussian(), pilot_splits(X, X[:, :1], np.arange(len(X)), Pilot.of(len(X))))
    assert gain(fit.losses, fit.losses, ddof=1) == (0.0, 0.0)


def test_classes_and_names_of_columns():
    X = pd.DataFrame(points(300, 4), columns=["age", "wage", "noise", "more noise"])
    y = np.select([X["age"] > 0.5, X["wage"] > 0.5], ["old", "rich"], "other")
    learned = learn_kernel("matern", X, y, random_state=0)
    assert learned.importance.in_short() in ("mostly age, wage", "mostly wage, age")
    assert str(learned).startswith("Matern(nu=1.5, length=") and "rounds:" in str(learned)
    two = learn_kernel("gaussian", X, y == "old", random_state=0)
    assert two.importance.in_short() == "mostly age"


def test_units_of_columns_do_not_matter():
    X = points(250, 3)
    y, units = np.cos(2 * X[:, 0]) + X[:, 1], np.array([1e-3, 1.0, 1e6])
    one, other = (learn_kernel("gaussian", Z, y, random_state=0).similarity for Z in (X, X * units + 5.0))
    np.testing.assert_allclose(one.gram(X), other.gram(X * units + 5.0), atol=1e-4)


def test_it_is_proven_reproducible_and_can_be_stored(tmp_path):
    X = points(250, 3)
    y = X[:, 0] * X[:, 1]
    one, other = (learn_kernel("matern", X, y, random_state=3) for _ in range(2))
    k = one.similarity
    assert k == other.similarity and one.rounds == other.rounds
    assert check_kernel(k).verdict == "VALID"
    assert np.linalg.eigvalsh(k.gram(X)).min() > -1e-10
    save(k, tmp_path / "k.sim")
    assert load(tmp_path / "k.sim") == k == pickle.loads(pickle.dumps(one)).similarity
    assert json.loads(json.dumps(one.to_dict()))["reason"] == one.reason


ODD = {
    "constant columns": lambda X: np.column_stack([X, np.ones(len(X)), np.full(len(X), 7.0)]),
    "equal columns": lambda X: np.column_stack([X, X, X]),
    "more columns than rows": lambda X: np.column_stack([X, points(len(X), 150, 5)]),
    "huge numbers": lambda X: X * 1e200,
    "an outlier": lambda X: np.where(np.arange(len(X))[:, None] == 3, 1e9, X),
    "float32": lambda X: X.astype(np.float32),
    "integers": lambda X: (10 * X).astype(int),
    "lists": lambda X: X.tolist(),
    "one column": lambda X: X[:, :1],
    "equal rows": lambda X: np.repeat(X[:20], 5, axis=0),
}


@pytest.mark.parametrize("change", ODD.values(), ids=ODD)
def test_odd_columns(change):
    X = points(100, 2)
    Z = change(X)
    learned = learn_kernel("gaussian", Z, X[:, 0], random_state=0)
    assert np.isfinite(learned.similarity.gram(Z[:30])).all() and np.isfinite(learned.importance.values).all()


@pytest.mark.parametrize("y", [np.r_[1e12, np.zeros(99) + 0.5], np.zeros(100) + 0.5], ids=["an outlier", "constant"])
def test_odd_targets(y):
    learned = learn_kernel("gaussian", points(100, 2), y, random_state=0)
    assert np.isfinite(learned.similarity.gram(points(5, 2))).all()


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([np.nan, *[0.5] * 49], "the label of example 0 is missing"),
        ([np.inf, *[0.5] * 49], "y holds inf at example 0"),
        (["a"] * 50, "at least two classes"),
        ([0.5] * 49, "50"),
    ],
)
def test_targets_that_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        learn_kernel("gaussian", points(50, 2), y)


def test_too_little_to_learn_from():
    X = points(12, 2)
    learned = learn_kernel("gaussian", X, X[:, 0])
    assert learned.rounds == () and "12 rows are too few" in learned.reason
    np.testing.assert_allclose(learned.similarity.gram(X), Gaussian().gram(X / X.std(axis=0)))
    constant = learn_kernel("gaussian", np.ones((30, 2)), np.arange(30.0))
    assert "all rows are equal" in constant.reason


@pytest.mark.parametrize(
    ("similarity", "options", "error", "message"),
    [
        (Linear(), {}, TypeError, "learns the metric of Gaussian, Laplace, Matern, RationalQuadratic"),
        (Gaussian() * Gaussian(), {}, TypeError, "learns the metric of Gaussian"),
        (Gaussian(metric=[1.0, 1.0]), {}, ValueError, "has a metric already"),
        (L1, {"how": "full"}, ValueError, "norm=1 takes weights"),
        (Matern(0.8), {}, ValueError, "gradients of .* are unbounded"),
        (Gaussian(), {"how": "best"}, ValueError, "how must be"),
    ],
)
def test_what_is_refused(similarity, options, error, message):
    with pytest.raises(error, match=message):
        learn_kernel(similarity, points(50, 2), points(50, 1)[:, 0], **options)
