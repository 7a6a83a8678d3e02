"""Support vector machines: the exact solution, its figures, its precision, and what it refuses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVC, SVR

from similitude import FromBlocks, FromPairs, error_at_margin
from similitude.engines import LocalEngine
from similitude.errors import InseparableError, NotAKernelError, PairError
from similitude.kernels import Gaussian, Linear, Polynomial
from similitude.learners import KernelSVC, KernelSVR, KreinSVC
from similitude.learners.svm import dual, estimators
from similitude.learners.svm.dual import BoxProblem, GramRows, solve, solve_svc
from similitude.scikit import in_single_precision

rng = np.random.default_rng(0)
X, y = make_classification(240, 5, n_informative=4, n_redundant=0, flip_y=0.1, random_state=3)
LABELS = np.array(["no", "yes"])[y]
WORDS = ["aab", "aba", "baa", "abba", "xyz", "xzy", "zyx", "zxx"]
THEIRS = ["a"] * 4 + ["x"] * 4
K3 = Gaussian.from_gamma(0.3)


def shared_letters(s, t):
    return float(len(set(s) & set(t)))


# The exact solution.


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 12), st.integers(0, 2**32 - 1), st.booleans(), st.floats(0.1, 10))
def test_the_dual_solver_finds_the_minimum_of_a_naive_one(n, seed, keep_sum, C):
    local = np.random.default_rng(seed)
    Z = local.standard_normal((n, 3))
    K, sign = Z @ Z.T + 0.01 * np.eye(n), np.where(np.arange(n) % 2, 1.0, -1.0)
    problem = BoxProblem(sign, np.where(sign > 0, 0, -C), np.where(sign > 0, C, 0), np.arange(n), keep_sum)
    beta, residual, *_ = solve(problem, GramRows(K), 1e-9)

    def objective(beta):
        return 0.5 * beta @ K @ beta - sign @ beta

    constraint = [{"type": "eq", "fun": np.sum}] if keep_sum else []
    bounds = list(zip(problem.low, problem.high, strict=True))
    naive = minimize(objective, np.zeros(n), bounds=bounds, constraints=constraint, options={"maxiter": 500})
    assert objective(beta) <= naive.fun + 1e-6 * (1 + abs(naive.fun))
    assert (beta >= problem.low).all() and (beta <= problem.high).all()
    assert np.allclose(residual, sign - K @ beta)
    assert not keep_sum or abs(beta.sum()) < 1e-9 * (1 + C * n)


@pytest.mark.parametrize("size", [2, 16, 64, 1024])
def test_working_sets_of_every_size_agree(monkeypatch, size):
    monkeypatch.setattr(dual, "WORKING_SET", size)
    model = KernelSVC(K3, C=3.0, tol=1e-5).fit(X, y)
    peer = SVC(C=3.0, gamma=0.3, tol=1e-6).fit(X, y)
    assert np.allclose(model.decision_function(X), peer.decision_function(X), atol=1e-3)


@pytest.mark.parametrize(("learner", "peer"), [(KernelSVC, SVC), (KernelSVR, SVR)])
def test_a_start_from_every_fourth_example_and_computed_rows_change_nothing(monkeypatch, learner, peer):
    monkeypatch.setattr(dual, "SAMPLED_FROM", 40)
    monkeypatch.setattr(dual, "WORKING_SET", 16)
    monkeypatch.setattr(estimators, "MOST_AT_ONCE", 16)
    monkeypatch.setattr(dual, "CACHED_ROWS", 30)
    monkeypatch.setattr(dual, "CACHE_BYTES", 0)
    model = learner(K3, C=3.0, tol=1e-5).fit(X, y)
    other = peer(C=3.0, gamma=0.3, tol=1e-6).fit(X, y)
    scores = "decision_function" if learner is KernelSVC else "predict"
    assert np.allclose(getattr(model, scores)(X), getattr(other, scores)(X), atol=1e-3)


def test_computed_rows_without_bounded_variables(monkeypatch):
    monkeypatch.setattr(estimators, "MOST_AT_ONCE", 0)
    Z = np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [3.0, 1.0]])
    model = KernelSVC(K3, C=1e6).fit(Z, [0, 0, 1, 1])
    assert (np.abs(model.dual_coef_) < 1e6).all() and model.score(Z, [0, 0, 1, 1]) == 1


@pytest.mark.parametrize("C", [0.05, 1.0, 50.0])
@pytest.mark.parametrize("weights", [None, "balanced", {0: 3.0, 1: 0.5}])
def test_it_is_the_solution_of_libsvm(C, weights):
    costs = rng.random(len(y)) + 0.2
    ours = KernelSVC(K3, C=C, tol=1e-5, class_weight=weights).fit(X, y, costs)
    peer = SVC(C=C, gamma=0.3, tol=1e-6, class_weight=weights).fit(X, y, costs)
    assert np.allclose(ours.decision_function(X), peer.decision_function(X), atol=2e-3)
    assert ours.n_support_.tolist() == peer.n_support_.tolist()
    w2 = (peer.dual_coef_ @ K3.gram(peer.support_vectors_) @ peer.dual_coef_.T).item()
    assert ours.objective_ - ours.dual_gap_ == pytest.approx(np.abs(peer.dual_coef_).sum() - 0.5 * w2, rel=1e-5)
    assert ours.margin_ == pytest.approx(1 / np.sqrt(w2), rel=1e-3)


def test_several_classes_vote():
    Z, labels = make_classification(300, 6, n_informative=5, n_redundant=0, n_classes=4, random_state=2)
    ours = KernelSVC(Gaussian.from_gamma(0.2), tol=1e-4).fit(Z, labels)
    peer = SVC(gamma=0.2, tol=1e-5).fit(Z, labels)
    assert np.allclose(ours.decision_function(Z), peer.decision_function(Z), atol=1e-3)
    computed = KernelSVC(Gaussian.from_gamma(0.2), tol=1e-4, engine=LocalEngine(memory="300KiB")).fit(Z, labels)
    assert np.allclose(ours.decision_function(Z), computed.decision_function(Z), atol=1e-3)
    assert ours.objective_.shape == (6,) == ours.intercept_.shape


def test_without_intercept_the_two_points_of_the_notes():
    for lam, w in ((1.0, 0.5), (0.2, 1.0)):
        model = KernelSVC(Linear(), lam=lam, fit_intercept=False, tol=1e-8).fit([[1.0], [-1.0]], [1, -1])
        assert model.decision_function([[1.0]]) == pytest.approx([w])
        assert 2 * lam * model.objective_ == pytest.approx(lam * w**2 + max(0, 1 - w))  # lam |w|^2 + mean hinge


def test_hard_margin_on_a_line():
    model = KernelSVC(Linear(), hard=True, tol=1e-9).fit([[1.0], [3.0], [-2.0]], [1, 1, 0])
    assert model.decision_function([[0.0], [1.0]]) == pytest.approx([1 / 3, 1.0])
    assert model.margin_ == pytest.approx(1.5)


def test_hard_margin_on_inseparable_data_names_the_conflict():
    with pytest.raises(InseparableError) as error:
        KernelSVC(Linear(), hard=True).fit([[0.0], [1.0], [2.0], [9.0]], ["b", "a", "b", "b"])
    assert set(error.value.conflicts) in ({0, 1, 2}, {0, 1, 3})
    with pytest.raises(InseparableError) as error:
        KernelSVC(K3, hard=True).fit([[0.0], [5.0], [0.0], [7.0]], [0, 0, 1, 1])
    assert sorted(error.value.conflicts) == [0, 2]
    with pytest.raises(InseparableError):
        KernelSVC(Linear(), hard=True).fit(X, y)


def test_weights_equal_repetition_and_zero_leaves_out():
    times = rng.integers(0, 3, len(y))
    repeated = KernelSVC(K3, tol=1e-5).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    weighted = KernelSVC(K3, tol=1e-5).fit(X, y, times)
    assert np.allclose(repeated.decision_function(X), weighted.decision_function(X), atol=1e-3)
    lam = KernelSVC(K3, lam=0.01, tol=1e-5)
    more = clone(lam).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert np.allclose(more.decision_function(X), lam.fit(X, y, times).decision_function(X), atol=1e-3)


def test_regression_is_that_of_libsvm():
    Z = rng.standard_normal((150, 2))
    target = np.sin(2 * Z[:, 0]) + 0.1 * rng.standard_normal(150)
    ours = KernelSVR(K3, C=5.0, epsilon=0.05, tol=1e-5).fit(Z, target)
    peer = SVR(C=5.0, gamma=0.3, epsilon=0.05, tol=1e-6).fit(Z, target)
    assert np.allclose(ours.predict(Z), peer.predict(Z), atol=2e-3)
    assert 0 <= ours.dual_gap_ < 1e-2 * ours.objective_


# Figures.


def test_the_gap_bounds_the_distance_to_the_minimum():
    loose, tight = (KernelSVC(K3, tol=tol).fit(X, y) for tol in (0.3, 1e-7))
    assert tight.objective_ <= loose.objective_ <= tight.objective_ + loose.dual_gap_ + 1e-9
    assert tight.dual_gap_ < 1e-4 < loose.dual_gap_


def test_normalized_margins_join_the_curve_of_errors():
    for intercept in (False, True):
        model = KernelSVC(Linear(), fit_intercept=intercept, tol=1e-6).fit(X, y)
        w, b = model.dual_coef_ @ model.support_objects_, model.intercept_ if intercept else 0.0
        Z = np.hstack([X, np.full((len(X), 1), float(intercept))])
        v = np.append(w, b)
        expected = Z @ v / np.linalg.norm(v) / np.linalg.norm(Z, axis=1)
        assert np.allclose(model.normalized_margin(X), expected, atol=1e-6)
        curve = error_at_margin(model, X, y, gammas=[0.0, 0.1])
        signs = np.where(y == 1, 1, -1)
        assert np.allclose(curve.y, [np.mean(signs * expected < gamma) for gamma in (0.0, 0.1)])


def test_leave_one_out_scores_are_close_to_refitting():
    few = slice(0, 60)
    K = GramRows(K3.gram(X[few]))
    sign = np.where(y[few] == 1, 1.0, -1.0)
    found = solve_svc(K, sign, np.full(60, 1.0), True, 1e-6).leave_one_out
    truth = np.empty(60)
    for i in range(60):
        others = np.delete(np.arange(60), i)
        truth[i] = KernelSVC(K3, tol=1e-6).fit(X[others], y[others]).decision_function(X[i : i + 1])[0]
    assert np.corrcoef(found, truth)[0, 1] > 0.97
    assert np.mean(np.sign(found) == np.sign(truth)) > 0.9


def test_probabilities_agree_with_predictions_and_are_calibrated():
    Z, labels = make_classification(1500, 5, n_informative=4, n_redundant=0, flip_y=0.3, random_state=5)
    model = KernelSVC().fit(Z[:500], labels[:500])
    p = model.predict_proba(Z[500:])
    assert np.allclose(p.sum(axis=1), 1)
    assert (model.classes_[p.argmax(axis=1)] == model.predict(Z[500:])).all()
    confidence, right = p.max(axis=1), model.predict(Z[500:]) == labels[500:]
    assert abs(confidence.mean() - right.mean()) < 0.06


def test_single_precision_only_where_it_suffices():
    far = X + 1e5
    assert in_single_precision(Gaussian(1.0), X, 1e-5).dtype == np.float32
    assert in_single_precision(Gaussian(1.0), far, 1e-5) is far
    assert KernelSVC(Gaussian(1.0)).fit(far, y).precision_ == "float64"
    assert KernelSVC(Gaussian(1.0)).fit(X, y).precision_ == "float32"
    assert KernelSVC(Gaussian(1.0), tol=1e-8).fit(X, y).precision_ == "float64"


@pytest.mark.parametrize("classes", [2, 3])
def test_whole_numbers_as_kernel_values(classes):
    counts = rng.integers(-3, 4, size=(60, 3))
    labels = np.digitize(counts[:, 0], [0] if classes == 2 else [-1, 1])
    whole = KernelSVC(FromBlocks(lambda A, B: np.asarray(A) @ np.asarray(B).T)).fit(list(counts), labels)
    plain = KernelSVC("linear").fit(counts.astype(float), labels)
    assert whole.precision_ == "float64"
    assert np.allclose(whole.decision_function(list(counts)), plain.decision_function(counts), atol=1e-2)


def test_few_rows_in_memory_give_the_same_model():
    small = KernelSVC(K3, engine=LocalEngine(memory="40KiB", threads=2)).fit(X, y)
    assert np.allclose(small.decision_function(X), KernelSVC(K3).fit(X, y).decision_function(X), atol=5e-3)
    with pytest.raises(MemoryError, match="two rows"):
        KernelSVC(K3, engine=LocalEngine(memory=1000)).fit(X, y)


def test_only_support_objects_are_kept_and_asked():
    seen = []

    def k(s, t):
        seen.append(t)
        return shared_letters(s, t)

    model = KernelSVC(FromPairs(k), C=100.0).fit(WORDS, THEIRS)
    seen.clear()
    model.predict(["ab", "xx"])
    assert len(seen) == 2 * len(model.support_) and len(model.support_objects_) == len(model.support_)


def test_precomputed_with_cross_validation():
    K = K3.gram(X)
    direct = cross_val_score(KernelSVC(K3), X, y, cv=4)
    assert np.allclose(cross_val_score(KernelSVC("precomputed"), K, y, cv=4), direct, atol=0.02)


def test_grid_search_reaches_into_the_kernel():
    search = GridSearchCV(KernelSVC(Polynomial()), {"kernel__degree": [1, 2], "C": [0.1, 1.0]}, cv=3).fit(X, LABELS)
    assert set(search.best_params_) == {"kernel__degree", "C"}


# Indefinite similarities.


def test_indefinite_similarities_are_refused_by_kernel_svc_and_taken_by_krein_svc():
    M = rng.standard_normal((40, 40))
    M = (M + M.T) / 8 + np.eye(40)
    labels = np.arange(40) % 2
    with pytest.raises(NotAKernelError, match="squared length"):
        KernelSVC("precomputed").fit(M, labels)
    model = KreinSVC("precomputed", C=10.0, tol=1e-6).fit(M, labels)
    values, U = np.linalg.eigh(M)
    flipped = KernelSVC("precomputed", C=10.0, tol=1e-6).fit((U * np.abs(values)) @ U.T, labels)
    absolute = (U * np.abs(values)) @ U.T
    assert np.allclose(model.decision_function(M), flipped.decision_function(absolute), atol=1e-3)
    with pytest.raises(NotAKernelError, match="not symmetric"):
        KreinSVC("precomputed").fit(rng.standard_normal((6, 6)), labels[:6])


def test_krein_svc_with_a_kernel_is_kernel_svc():
    for labels in (y, np.digitize(X[:, 0], [-0.5, 0.5])):
        krein, kernel = (learner(K3, C=3.0, tol=1e-7).fit(X, labels) for learner in (KreinSVC, KernelSVC))
        assert np.allclose(krein.decision_function(X), kernel.decision_function(X), atol=1e-4)
        assert np.allclose(krein.predict_proba(X), kernel.predict_proba(X), atol=1e-3)
    assert not hasattr(krein, "validity_") and not hasattr(krein, "normalized_margin")


def test_krein_svc_takes_a_function_that_is_not_a_kernel():
    def negative_distance(s, t):
        return -float(sum(a != b for a, b in zip(s, t, strict=False)) + abs(len(s) - len(t)))

    model = KreinSVC(negative_distance, C=10.0).fit(WORDS, THEIRS)
    assert model.score(WORDS, THEIRS) == 1.0
    with pytest.raises(NotAKernelError):
        KernelSVC(negative_distance).fit(WORDS, THEIRS)


# Bad input.


@pytest.mark.parametrize("bad", [{"C": 0}, {"C": -1.0}, {"C": np.inf}, {"lam": 0.0}, {"tol": 0.0}, {"C": "1"}])
def test_costs_are_positive_numbers(bad):
    with pytest.raises(ValueError, match="positive number"):
        KernelSVC(**bad).fit(X, y)
    with pytest.raises(ValueError, match="epsilon"):
        KernelSVR(epsilon=-0.1).fit(X, y)


def test_labels_are_looked_at_before_the_first_kernel_call():
    def never(s, t):
        raise AssertionError("called")

    for labels in (["a"] * 8, ["a", "b"], [*THEIRS[:7], None], None, np.r_[np.zeros(7), np.nan]):
        with pytest.raises(ValueError, match=r"y|class|label|inconsistent"):
            KernelSVC(never).fit(WORDS, labels)
    with pytest.raises(ValueError, match="weight zero only"):
        KernelSVC(never).fit(WORDS, THEIRS, [0.0] * 4 + [1.0] * 4)


def test_huge_kernel_values_do_not_overflow():
    model = KernelSVC(Linear(), C=1e-200, tol=1e-4).fit(X * 1e100, y)
    peer = KernelSVC(Linear(), C=1.0, tol=1e-4).fit(X, y)
    assert np.allclose(model.decision_function(X * 1e100), peer.decision_function(X), atol=1e-3)


def test_a_hopeless_problem_ends_with_a_warning(monkeypatch):
    monkeypatch.setattr(dual, "MAX_STEPS", 20_000)
    with pytest.warns(ConvergenceWarning, match="scale the vectors"):
        KernelSVC(Linear(), C=1e-3).fit(X * 1e6, y)


def test_an_interrupted_fit_leaves_the_estimator_as_it_was():
    calls = []

    def k(s, t):
        calls.append(s)
        if len(calls) > 300:
            raise KeyboardInterrupt
        return shared_letters(s, t)

    model = KernelSVC(k)
    with pytest.raises(KeyboardInterrupt):
        model.fit(WORDS * 5, THEIRS * 5)
    assert vars(model).keys() == model.get_params(deep=False).keys()


def test_a_pair_that_fails_is_named_by_its_place_in_x():
    def k(s, t):
        return float("nan") if (s, t) == ("bad", "zyx") else float(s == t)

    many = [f"word {i}" for i in range(600)] + ["bad"] + WORDS
    labels = np.arange(len(many)) % 2
    with pytest.raises(PairError, match=rf"pair \(600, {600 + 1 + WORDS.index('zyx')}\)"):
        KernelSVC(FromPairs(k, claims=["SYMMETRIC", "PSD"])).fit(many, labels)
