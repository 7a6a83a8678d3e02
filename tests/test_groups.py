"""groups= of the estimators: no split of a fit separates rows that belong together."""

import numpy as np
import pytest
import sklearn
from cli_runs import run, write_csv
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from similitude import (
    SimilarityClassifier,
    SimilarityMultilabelClassifier,
    SimilarityOrdinalClassifier,
    SimilarityRegressor,
)
from similitude.cli.baselines import judged
from similitude.evaluation import Trial, groups_for_fit, groups_with_copies, hold_out_groups, one_of_each, set_apart
from similitude.fitting import automatic, fit, members
from similitude.kernel_learning import pilot
from similitude.kernels import Gaussian
from similitude.linear import Gram, GramFactor, Moments, Ridge, penalty_choice
from similitude.persistence import load
from similitude.report import investigate
from similitude.sources import Source


def clusters(n, size, seed=0):
    """Rows whose features tell the group, and a random label for each group."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n // size), size)
    X = rng.uniform(-8, 8, (n // size, 3))[groups] + 0.1 * rng.standard_normal((n, 3))
    order = rng.permutation(n)
    return X[order], rng.permutation(np.arange(n // size) % 2)[groups][order], groups[order]


def texts(n, size, seed=0):
    """Strings of a group, which differ in a letter."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n // size), size)
    bases = ["".join(rng.choice(list("abcdefgh"), 12)) for _ in range(n // size)]
    at, letters = rng.integers(0, 12, n), rng.choice(list("abcdefgh"), n)
    X = [bases[g][:i] + letter + bases[g][i + 1 :] for g, i, letter in zip(groups, at, letters, strict=True)]
    return X, rng.permutation(np.arange(n // size) % 2)[groups], groups


def shared(s, t):
    return float(len({s[i : i + 2] for i in range(11)} & {t[i : i + 2] for i in range(11)}))


def is_chance(error):
    return error.low <= 0.5 <= error.high and error.value > 0.25


# ---------------------------------------------------------------------------------------------------------------------
# Errors


@pytest.mark.parametrize(
    ("n", "size", "params", "case"),
    [
        (150, 5, {}, "exact"),
        (900, 20, {}, "exact"),
        (1500, 25, {}, "exact"),
        (6000, 50, {}, "cells"),
        (150, 5, {"similarity": "gaussian"}, "sample"),
        (1500, 25, {"similarity": "gaussian"}, "sample"),
        (6000, 50, {"similarity": "gaussian"}, "sample"),
        (400, 8, {"similarity": "gaussian", "loss": "logistic"}, "sample"),
        (6000, 50, {"similarity": "gaussian", "loss": "squared_hinge", "n_landmarks": 100}, "sample"),
        (400, 8, {"similarity": "gaussian", "penalty": "l1"}, "sample"),
    ],
)
def test_error_is_that_of_new_groups(n, size, params, case):
    X, y, groups = clusters(n, size)
    model = SimilarityClassifier(random_state=0, **params).fit(X, y, groups=groups)
    assert model.plan_.case == case
    assert is_chance(model.held_out_error_), model.held_out_error_


@pytest.mark.parametrize("params", [{}, {"similarity": "gaussian"}])
def test_error_of_rows_is_small_without_groups(params):
    X, y, _ = clusters(900, 20)
    assert SimilarityClassifier(random_state=0, **params).fit(X, y).held_out_error_.value < 0.02


@pytest.mark.parametrize(("similarity", "case"), [("auto", "sample"), ("spectrum(p=2)", "sample"), (shared, "frugal")])
def test_strings_and_functions(similarity, case):
    X, y, groups = texts(400, 8)
    model = SimilarityClassifier(similarity, random_state=0, max_calls=30_000 if case == "frugal" else None)
    alone = model.fit(X, y).held_out_error_.value
    model.fit(X, y, groups=groups)
    assert model.plan_.case == case
    assert alone < 0.2
    assert is_chance(model.held_out_error_), model.held_out_error_


def test_matrix_of_similarities():
    X, y, groups = clusters(300, 10)
    model = SimilarityClassifier("precomputed", random_state=0).fit(Gaussian(2.0).gram(X), y, groups=groups)
    assert is_chance(model.held_out_error_)


@pytest.mark.parametrize("params", [{}, {"loss": "huber"}, {"loss": "absolute"}, {"similarity": "gaussian"}])
def test_regressor(params):
    X, y, groups = clusters(300, 6)
    model = SimilarityRegressor(random_state=0, **params)
    alone = model.fit(X, y + 0.0).held_out_error_.value
    found = model.fit(X, y + 0.0, groups=groups)
    assert alone < 0.1 * found.constant_error_
    assert found.held_out_error_.value > 0.8 * found.constant_error_
    assert np.isfinite(model.predict_interval(X[:3])).all()


def test_multilabel_and_ordinal():
    X, y, groups = clusters(300, 6)
    rng = np.random.default_rng(1)
    Y = np.stack([y, rng.integers(0, 2, 50)[groups]], axis=1)
    labels = SimilarityMultilabelClassifier(random_state=0).fit(X, Y, groups=groups)
    grades = SimilarityOrdinalClassifier(random_state=0).fit(X, rng.integers(0, 3, 50)[groups], groups=groups)
    assert 0.3 < labels.held_out_error_.value < 0.7
    assert grades.held_out_error_.value > 0.4


def test_certificate_sets_whole_groups_apart():
    X, y, groups = clusters(600, 6)
    model = SimilarityClassifier(certify=0.3, random_state=0).fit(X, y, groups=groups)
    assert model.certificate_.high > 0.4
    assert model.uncertainty_.n_rows == 30  # one row of each group
    assert "no fold separates a group" in str(SimilarityClassifier(certify=0.3).plan(X, y, groups=groups))


@pytest.mark.parametrize("n_groups", [2, 3, 4])
def test_few_groups(n_groups):
    X, _, groups = clusters(60 * n_groups, 60)
    y = (X[:, 0] > np.median(X[:, 0])) * 1
    model = SimilarityClassifier(random_state=0).fit(X, y, groups=groups)
    assert ("each left out alone" in str(model.plan_.evaluation)) == (n_groups < 4)
    SimilarityRegressor("gaussian", random_state=0).fit(X, X[:, 1], groups=groups)


# ---------------------------------------------------------------------------------------------------------------------
# Splits


@pytest.fixture
def split_targets(monkeypatch):
    """Watch the splits of fits to numbers that tell the group: pairs of targets to fit to, and to evaluate on."""
    found = []

    def watch(place, name, pairs):
        plain = getattr(place, name)
        plain = getattr(plain, "__func__", plain)

        def watched(*given, **named):
            result = plain(*given, **named)
            found.extend(pairs(result, *given, **named))
            return result

        is_of_class = isinstance(vars(place).get(name), classmethod)
        monkeypatch.setattr(place, name, classmethod(watched) if is_of_class else watched)

    def left_out(result, self, F, Y, weights, groups=None):
        assert groups is not None
        return []

    def losses(result, K, Y, weights, groups=None):
        assert groups is not None
        return []

    def exact(result, k, A, Y, weights, penalty, judged, *given, groups=None, **named):
        assert groups is not None or not len(judged)
        return []

    def row_by_row(*given):
        raise AssertionError("rows are left out one by one")

    def pilots(result, cls, X, Y, fitted, judged):
        return [(Y[fitted], Y[judged])]

    def validations(result, self, F, near):
        return (
            []
            if self.n_train == len(self.Y)
            else [(self.Y[: self.n_train], self.Y[self.n_train : len(self.Y) - self.n_evaluating])]
        )

    watch(pilot.PilotSplit, "of", pilots)
    watch(Ridge, "left_out", left_out)
    watch(members, "left_out_loss", losses)
    watch(automatic, "exact_ridge", exact)
    watch(fit.Validation, "ridge", validations)
    monkeypatch.setattr(Gram, "_left_out", row_by_row)
    fold_pairs = penalty_choice.fold_pairs

    def folds(numbers):
        found.append(numbers)
        return fold_pairs(numbers)

    monkeypatch.setattr(penalty_choice, "fold_pairs", folds)
    return found


@pytest.mark.parametrize("n", [150, 900, 6000])
@pytest.mark.parametrize("params", [{}, {"similarity": "gaussian"}, {"similarity": Gaussian().learned()}])
def test_no_split_separates_a_group(n, params, split_targets):
    X, _, groups = clusters(n, 30)
    y = np.random.default_rng(0).standard_normal(groups.max() + 1)[groups]
    SimilarityRegressor(random_state=0, **params).fit(X, y, groups=groups)
    assert split_targets or "similarity" in params
    for fitted, evaluated in split_targets:
        assert not np.isclose(np.unique(fitted)[:, None], np.unique(evaluated)).any()


@pytest.mark.parametrize("similarity", ["auto", shared])
def test_no_split_separates_a_group_of_strings(similarity, split_targets):
    X, _, groups = texts(300, 6)
    y = np.random.default_rng(0).standard_normal(50)[groups]
    SimilarityRegressor(similarity, random_state=0).fit(X, y, groups=groups)


@pytest.mark.parametrize("params", [{"loss": "absolute"}, {"penalty": "l1"}])
def test_no_fold_of_a_penalty_separates_a_group(params, split_targets):
    X, _, groups = clusters(180, 6)
    y = np.random.default_rng(0).standard_normal(30)[groups]
    SimilarityRegressor("gaussian", random_state=0, **params).fit(X, y, groups=groups)
    assert any(len(folds) == len(groups) for folds in split_targets)
    for folds in split_targets:
        if len(folds) == len(groups):  # rows in random order: groups by their sizes in the folds
            assert (np.bincount(folds) % 6 == 0).all()


def test_groups_with_copies():
    groups = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    copied = np.array([0, 1, 1, 3, 4, 5, 6, 7])
    assert groups_with_copies(groups, copied, 2).tolist() == [0, 0, 0, 0, 1, 1, 2, 2]
    assert groups_with_copies(np.arange(8), copied, 2) is None
    assert groups_with_copies(groups, np.zeros(8, int), 2) is groups  # copies would leave one group


@pytest.mark.parametrize(
    "sizes", [[50] * 200, [4000, 3000, 2000, 1000], [1, 1, 1, 9997], [1] * 10_000, [300] * 20 + [4000]]
)
def test_held_out_rows_are_whole_groups(sizes):
    groups = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))
    order, last = hold_out_groups(np.random.default_rng(1).permutation(len(groups)), groups)
    assert sorted(order) == list(range(len(groups)))
    assert 0 < last.evaluating < last.held_out < len(order)
    cuts = np.split(groups[order], [len(order) - last.held_out, len(order) - last.evaluating])
    parts = [set(part.tolist()) for part in cuts]
    assert list(map(len, parts)) >= [2, 1, 1]
    assert all(parts)
    assert sum(map(len, parts)) == len(sizes)


def test_groups_set_apart():
    groups = np.repeat(np.arange(20), 5)
    apart = set_apart(100, 0.3, 0, groups)
    assert apart.sum() == 30
    assert not np.isin(groups[apart], groups[~apart]).any()
    assert sorted(groups[one_of_each(groups, 0)]) == list(range(20))


# ---------------------------------------------------------------------------------------------------------------------
# Leaving groups out


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 9, 60)
    groups[:20] = 9  # more rows than features
    F, Y, weights = rng.standard_normal((60, 7)), rng.standard_normal((60, 2)), rng.uniform(0.5, 2.0, 60)
    return F, Y, weights, groups


@pytest.mark.parametrize("only", [None, 0.7])
def test_ridge_without_a_group_is_fitted_to_the_others(problem, only):
    F, Y, weights, groups = problem
    trial = Ridge(Moments.of(F, Y, weights), only).left_out(F, Y, weights, groups)([0.7])[0]
    assert isinstance(trial, Trial)
    for group in np.unique(groups):
        others, own = groups != group, groups == group
        model = Ridge(Moments.of(F[others], Y[others], weights[others])).fit(0.7)
        np.testing.assert_allclose(trial.scores[own], model.scores(F[own]), atol=1e-10)


def test_a_group_of_all_rows_cannot_be_left_out(problem):
    F, Y, weights, _ = problem
    (alone,) = Ridge(Moments.of(F, Y, weights)).left_out(F, Y, weights, np.zeros(60, int))([0.7])
    assert np.isnan(alone.loss)


@pytest.mark.parametrize("constant", [True, False])
def test_gram_without_a_group_is_fitted_to_the_others(problem, constant):
    F, Y, weights, groups = problem
    K, lams = Gaussian(2.0).gram(F), np.array([0.3, 2.0])
    left = Gram(K.copy(), Y, weights, constant=constant).left_out(lams, groups)
    for group in np.unique(groups):
        others, own = groups != group, groups == group
        for i, lam in enumerate(lams):
            model = Gram(K[np.ix_(others, others)], Y[others], weights[others], constant=constant).fit(lam)
            scores = model.scores(K[np.ix_(own, others)])
            np.testing.assert_allclose(left[own, i], Y[own] - scores, atol=1e-10)


def test_factor_without_a_group_is_fitted_to_the_others(problem):
    F, Y, weights, groups = problem
    K, Y = Gaussian(2.0).gram(F), Y - np.average(Y, axis=0, weights=weights)
    coefficients, left = GramFactor.of(K.copy(), 0.3 / weights).fit_groups(Y, weights, groups)
    np.testing.assert_allclose(K @ coefficients + 0.3 / weights[:, None] * coefficients, Y, atol=1e-10)
    for group in np.unique(groups):
        others, own = groups != group, groups == group
        mean = np.average(Y[others], axis=0, weights=weights[others])
        model = np.linalg.solve(K[np.ix_(others, others)] + np.diag(0.3 / weights[others]), Y[others] - mean)
        np.testing.assert_allclose(left[own], Y[own] - mean - K[np.ix_(own, others)] @ model, atol=1e-10)


# ---------------------------------------------------------------------------------------------------------------------
# Users


@pytest.mark.parametrize("similarity", ["auto", "gaussian"])
def test_groups_of_one_row_change_nothing(similarity):
    X, y, _ = clusters(150, 5)
    alone = SimilarityClassifier(similarity, random_state=0).fit(X, y)
    grouped = SimilarityClassifier(similarity, random_state=0).fit(X, y, groups=[f"row {i}" for i in range(150)])
    np.testing.assert_array_equal(grouped.decision_function(X), alone.decision_function(X))
    assert grouped.held_out_error_ == alone.held_out_error_


def test_groups_may_be_texts_in_any_order():
    X, y, groups = clusters(150, 5)
    named = [f"patient {7 * one}" for one in groups]
    one = SimilarityClassifier(random_state=0).fit(X, y, groups=groups)
    other = SimilarityClassifier(random_state=0).fit(X, y, groups=named)
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


def test_plan_says_that_groups_stay_together():
    X, y, groups = clusters(150, 5)
    planned = SimilarityClassifier().plan(X, y, groups=groups)
    assert str(planned.evaluation) == "3 folds, in each of which every choice is made again; no fold separates a group"
    X, y, groups = clusters(6000, 50)
    assert str(SimilarityClassifier().plan(X, y, groups=groups).evaluation).endswith("they are whole groups")


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([0, 1], "groups holds 2 values and X 60 rows"),
        ([0] * 60, "at least two groups are needed"),
        ([None] + [1] * 59, "groups holds no value for row 0"),
        (np.zeros((60, 2)), "one value for each row"),
    ],
)
@pytest.mark.parametrize("method", ["fit", "plan"])
def test_wrong_groups_are_refused(groups, message, method):
    X, y, _ = clusters(60, 5)
    with pytest.raises(ValueError, match=message):
        getattr(SimilarityClassifier(), method)(X, y, groups=groups)


def test_too_few_groups_are_refused():
    X, y, groups = clusters(5200, 2600)
    with pytest.raises(ValueError, match="5,200 rows with a weight are in 2 groups: need at least 4"):
        SimilarityClassifier().fit(X, y, groups=groups)
    X, y, groups = clusters(60, 20)
    with pytest.raises(ValueError, match="20 rows with a weight are in 1 group: need at least 2"):
        SimilarityRegressor().fit(X, y + 0.0, (groups == 0) * 1.0, groups=groups)


@pytest.mark.parametrize("method", ["fit", "plan"])
def test_groups_need_rows_in_memory(method):
    X, y, groups = clusters(60, 5)
    source = Source(lambda: iter([X]), labels=y)
    with pytest.raises(ValueError, match="groups need rows in memory"):
        getattr(SimilarityClassifier(), method)(source, groups=groups)


def test_metadata_routing():
    X, y, groups = clusters(300, 6)
    with sklearn.config_context(enable_metadata_routing=True):
        model = SimilarityClassifier(random_state=0).set_fit_request(groups=True)
        for estimator in (model, make_pipeline(StandardScaler(), model)):
            found = cross_validate(estimator, X, y, cv=GroupKFold(3), params={"groups": groups}, return_estimator=True)
            assert abs(found["test_score"].mean() - 0.5) < 0.3
            for fitted in found["estimator"]:
                last = fitted[-1] if hasattr(fitted, "steps") else fitted
                assert "no fold separates a group" in str(last.plan_.evaluation)


def test_weights_and_groups():
    X, y, groups = clusters(300, 6, seed=1)
    weights = np.where(groups < 10, 0.0, 1.0)
    model = SimilarityClassifier(random_state=0).fit(X, y, weights, groups)
    assert is_chance(model.held_out_error_), model.held_out_error_


# ---------------------------------------------------------------------------------------------------------------------
# The command line and reports


@pytest.fixture
def visits(tmp_path):
    X, y, groups = clusters(300, 6)
    columns = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "patient": [f"p{one}" for one in groups], "ill": y}
    return write_csv(tmp_path / "visits.csv", columns)


def test_fit_of_a_file_with_a_column_of_groups(visits, tmp_path):
    found = {}
    for name, options in {"grouped": ["--groups", "patient"], "alone": ["--ignore", "patient"]}.items():
        model = tmp_path / f"{name}.sim"
        assert run("fit", visits, "--label", "ill", "-o", model, *options).code == 0
        found[name] = load(model).held_out_error_
    assert is_chance(found["grouped"])
    assert found["alone"].value < 0.05
    assert run("predict", tmp_path / "grouped.sim", visits).code == 0


def test_plan_of_a_file_with_a_column_of_groups(visits):
    ran = run("fit", visits, "--label", "ill", "--groups", "patient", "--plan")
    assert "no fold separates a group" in " ".join(ran.out.split())


def test_models_of_reports_and_comparisons_know_the_groups(monkeypatch):
    X, y, groups = clusters(300, 6)
    known = []
    fit = SimilarityClassifier.fit

    def watched(self, X, y, sample_weight=None, groups=None):
        known.append(0 if groups is None else len(np.unique(groups)))
        return fit(self, X, y, sample_weight, groups)

    monkeypatch.setattr(SimilarityClassifier, "fit", watched)
    models = {"model": SimilarityClassifier(random_state=0), "constant": DummyClassifier()}
    judged(models, X, y, True, 0, lambda _: None, groups)
    assert known == [40] * 5
    known.clear()
    investigate("gaussian", X, y, groups=groups)
    assert known == [40] * 5 + [50]


def test_too_few_groups_to_split_are_not_given_to_a_fit():
    groups = np.array([0, 0, 1, 1, 2, 2])
    assert groups_for_fit(groups, np.arange(6)).tolist() == groups.tolist()
    assert groups_for_fit(groups, np.arange(4)) is None
    assert groups_for_fit(None, np.arange(4)) is None
