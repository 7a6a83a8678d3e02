"""What the best of several similarities will do on new rows: the choice is evaluated on rows it did not see."""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, LeaveOneOut, RepeatedKFold, ShuffleSplit, TimeSeriesSplit

from similitude import choose_kernel
from similitude.engines import LocalEngine
from similitude.evaluation import TaskTargets, nested_folds
from similitude.kernels import Edit, Equal, Gaussian, Linear
from similitude.selection.cross_validation import cross_validate
from similitude.theory import clopper_pearson

ONE = LocalEngine(threads=1)


def column(j):
    return lambda X: np.ascontiguousarray(X[:, [j]])


def of_one_column_each(n_candidates):
    return {f"column {j}": Gaussian(0.7).pullback(column(j), batched=True) for j in range(n_candidates)}


def covered(n, n_candidates, balanced, problems):
    """Count intervals that contain the error on new rows, 1/2; and naive ones, of the smallest error of all."""
    honest, naive = 0, 0
    for seed in range(problems):
        rng = np.random.default_rng([seed, n, n_candidates])
        X, y = rng.normal(size=(n, n_candidates)), np.arange(n) % 2 if balanced else rng.integers(2, size=n)
        chosen = choose_kernel(of_one_column_each(n_candidates), X, y, random_state=seed, engine=ONE)
        honest += chosen.held_out_error.low <= 0.5 <= chosen.held_out_error.high
        low, high = clopper_pearson(chosen.table[0].error.value * n, n)
        naive += low <= 0.5 <= high
    return honest, naive


@pytest.mark.parametrize(("problems", "most"), [(5, 3), pytest.param(10, 6, marks=pytest.mark.deep)])
def test_labels_without_meaning_are_not_predicted_however_many_candidates(problems, most):
    honest, naive = covered(40, 16, True, problems)
    assert honest >= binom.ppf(1e-3, problems, 0.93) and naive <= most


@pytest.mark.deep
def test_intervals_of_the_best_cover_its_error_and_naive_ones_do_not():
    cells = [(n, m, balanced) for n, balanced in ((40, True), (100, False), (200, True)) for m in (5, 20)]
    counts = np.array([covered(*cell, 200) for cell in cells])
    assert counts[:, 0].min() >= 0.9 * 200 and counts[:, 0].mean() >= 0.93 * 200, counts
    assert counts[:, 1].max() < 0.85 * 200 and counts[:, 1].mean() < 0.6 * 200, counts


@pytest.mark.parametrize("problems", [10, pytest.param(200, marks=pytest.mark.deep)])
@pytest.mark.parametrize("heavy", [pytest.param(False, marks=pytest.mark.deep), True])
def test_squared_errors_of_the_best_are_covered(heavy, problems):
    def drawn(n):
        X = rng.normal(size=(n, 4))
        return X, X[:, 0] + (rng.standard_t(3, size=n) if heavy else rng.normal(size=n))

    inside = 0
    for seed in range(problems):
        rng = np.random.default_rng(seed)
        (X, y), (Z, _) = drawn(60), drawn(2000)
        chosen = choose_kernel(of_one_column_each(4), X, y, random_state=seed, engine=ONE)
        F, new = features(chosen.best, X, chosen.landmark_indices, X, Z)
        predicted = Ridge(alpha=chosen.table[0].penalty).fit(F, y).predict(new)
        truth = ((predicted - Z[:, 0]) ** 2).mean() + (3.0 if heavy else 1.0)
        inside += chosen.held_out_error.low <= truth <= chosen.held_out_error.high
    assert inside >= binom.ppf(1e-4, problems, 0.92)


def features(k, X, landmarks, *objects):
    """Projections onto landmarks."""
    w, U = np.linalg.eigh(k.gram(X[landmarks]))
    basis = U[:, w > 1e-11 * w[-1]] / np.sqrt(w[w > 1e-11 * w[-1]])
    return [k.cross(one, X[landmarks]) @ basis for one in objects]


def test_nested_folds_equal_explicit_loops():
    rng = np.random.default_rng(3)
    X, signs = rng.normal(size=(50, 3)), np.where(rng.random(50) < 0.5, 1.0, -1.0)
    assigned = rng.permutation(50) % 5
    folds = [(np.flatnonzero(assigned != f), np.flatnonzero(assigned == f)) for f in range(5)]
    chosen = choose_kernel(of_one_column_each(2), X, signs > 0, cv=folds, random_state=0)
    all_features = [features(k, X, chosen.landmark_indices, X)[0] for k in of_one_column_each(2).values()]
    wrong = np.zeros(50, dtype=bool)
    for train, test in folds:
        ranks = []
        for place, F in enumerate(all_features):
            penalties = 10.0 ** np.arange(-9.0, 1.01, 0.5) * ((F - F.mean(axis=0)) ** 2).sum()
            inner = [(np.intersect1d(train, other), held) for other, held in folds if held is not test]
            scores = [
                np.stack([Ridge(alpha=a).fit(F[rows], signs[rows]).predict(F[held]) for a in penalties])
                for rows, held in inner
            ]
            losses = [((one - signs[held]) ** 2).sum(axis=1) for one, (_, held) in zip(scores, inner, strict=True)]
            errors = [
                ((one[np.argmin(sum(losses) - own)] >= 0) != (signs[held] > 0)).mean()
                for one, own, (_, held) in zip(scores, losses, inner, strict=True)
            ]
            ranks.append((np.mean(errors), place, penalties[np.argmin(sum(losses))]))
        _, place, penalty = min(ranks)
        predicted = (
            Ridge(alpha=penalty).fit(all_features[place][train], signs[train]).predict(all_features[place][test])
        )
        wrong[test] = (predicted >= 0) != (signs[test] > 0)
    assert chosen.held_out_error.value == pytest.approx(wrong.mean())


@pytest.mark.parametrize("cv", [5, 3, 8])
def test_labels_of_the_rows_outside_change_nothing_inside(cv):
    rng = np.random.default_rng(0)
    F, labels = rng.normal(size=(60, 6)), rng.integers(2, size=60)
    targets, rows = TaskTargets.of(labels, 60), np.arange(60)
    folds, outer, _ = nested_folds(cv, targets, rows, rows, 0)
    assert np.array_equal(np.sort(np.concatenate([test for _, test in outer.pairs])), rows)
    _, before = cross_validate(F, targets, folds, outer)
    for fold, (_, test) in enumerate(outer.pairs):
        flipped = labels.copy()
        flipped[test] = 1 - labels[test]
        (inside, outside), (same, wrong) = (
            before[fold],
            cross_validate(F, TaskTargets.of(flipped, 60), folds, outer)[1][fold],
        )
        assert same.penalty == inside.penalty
        np.testing.assert_allclose(same.losses, inside.losses, rtol=1e-9)
        assert np.array_equal(wrong, 1 - outside)


@pytest.mark.parametrize(
    ("cv", "tested"),
    [
        (2, 30),
        (7, 30),
        (LeaveOneOut(), 30),
        (RepeatedKFold(n_splits=3, n_repeats=4, random_state=0), 30),
        (list(GroupKFold(6).split(np.zeros(30), groups=np.arange(30) // 5)), 30),
        (ShuffleSplit(2, random_state=0), None),
        (TimeSeriesSplit(4), None),
        ([(np.arange(20), np.arange(20, 30))], None),
    ],
    ids=repr,
)
def test_any_folds_that_can_be_nested_are(cv, tested):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=30)
    chosen = choose_kernel([Linear(), Gaussian(1.0)], X, y, cv=cv, random_state=0)
    if tested is None:
        assert chosen.held_out_error is None and "cannot correct that" in str(chosen)
    else:
        assert chosen.held_out_error.low < 0.1 and "The best, on new rows: squared error" in str(chosen)


def test_copies_do_not_vouch_for_each_other():
    values = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y = np.repeat(rng.normal(size=(20, 3)), 3, axis=0), np.repeat(np.arange(20) % 2, 3)
        chosen = choose_kernel([Gaussian(0.1), Gaussian(1.0)], X, y, random_state=seed)
        assert "copies together" in chosen.folds
        assert chosen.held_out_error.low <= 0.5 <= chosen.held_out_error.high
        values.append(chosen.table[0].error.value)
    assert np.mean(values) > 0.25


def test_coincidences_are_split_at_random():
    words = np.random.default_rng(0).choice(list("abcdef"), 60).tolist()
    chosen = choose_kernel([Equal(), Edit()], words, [word < "d" for word in words], random_state=0)
    assert "copies" not in chosen.folds and chosen.held_out_error.value == 0.0


def test_classes_with_one_distinct_row_are_compared_as_before():
    X = np.concatenate([np.zeros((6, 2)), np.random.default_rng(0).normal(size=(30, 2))])
    chosen = choose_kernel([Gaussian(0.1), Linear()], X, np.arange(36) >= 6)
    assert chosen.folds == "5 folds, stratified" and chosen.held_out_error.value > 0.1


def test_copies_with_several_labels_may_hide_a_class():
    """Every row of class 2 is a copy of a row with another label: folds with copies together could lack it."""
    X = np.repeat(np.random.default_rng(0).normal(size=(15, 2)), 2, axis=0)
    y = np.where(np.arange(30) % 2, 2, np.arange(30) // 2 % 2)
    y[21::2] = y[20::2]
    assert choose_kernel([Gaussian(1.0)], X, y).folds == "5 folds, stratified"


def test_a_users_function_is_called_no_more_often():
    calls = []

    def f(x, z):
        calls.append((x, z))
        return -abs(x - z)

    X = list(np.linspace(0, 3, 40))
    chosen = choose_kernel([f], X, [x > 1.2 for x in X], random_state=0)
    assert len(calls) == len(set(calls)) == chosen.n_similarity_calls and chosen.held_out_error.high < 0.4
