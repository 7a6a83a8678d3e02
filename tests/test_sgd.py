"""Stochastic gradient steps for the soft support vector machine: the trace, the erratum, the bound, the rules."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVC

from similitude import FromBlocks, FromPairs, Similarity
from similitude.engines import LocalEngine
from similitude.errors import NotAKernelError, PairError
from similitude.kernels import Gaussian, Linear
from similitude.learners.svm.sgd import KernelSGDSVC
from similitude.results import CONDITIONAL, NONE, PROVEN

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 3))
SIGN = np.where(X[:, 0] + 0.5 * rng.standard_normal(60) > 0, 1.0, -1.0)
LABELS = np.where(SIGN > 0, "yes", "no")
K = Gaussian(1.0).gram(X)


def naive(G, y, pace, order):
    """The algorithm as it is printed, in plain Python floats; returns beta and every a."""
    m = len(y)
    beta, several = [0.0] * m, []
    for t, i in enumerate(order, 1):
        a = [b / (pace * t) for b in beta]
        several.append(a)
        if y[i] * sum(a[j] * G[j][i] for j in range(m)) < 1:
            beta[i] += y[i]
    return np.array(beta), np.array(several)


def optimum(G, y, lam):
    """min lam |w|^2 + mean hinge by libsvm, without an intercept: the labels go into the features."""
    m = len(y)
    H = G * np.outer(y, y)  # one class of points y_i phi(x_i), mirrored, has its separator through the origin
    doubled = np.block([[H, -H], [-H, H]])
    svc = SVC(kernel="precomputed", C=1 / (4 * lam * m), tol=1e-9).fit(doubled, np.repeat([1, -1], m))
    dual = np.zeros(2 * m)
    dual[svc.support_] = svc.dual_coef_[0]
    a = (dual[:m] - dual[m:]) * y
    return lam * a @ G @ a + np.maximum(0, 1 - y * (G @ a)).mean()


# The algorithm, step by step.


def test_the_trace_by_hand():
    model = KernelSGDSVC("precomputed", lam=0.5, as_printed=True)
    model.fit(np.array([[1, 0.5], [0.5, 1]]), [1, -1], order=[0, 1, 0, 1])
    assert model.beta_.tolist() == [2, -2]
    assert np.allclose(model.dual_coef_, [2 / 3, -7 / 24])
    assert model.n_iter_ == 4 and model.n_updates_ == 4


def test_the_erratum_runs_with_twice_lambda():
    G = np.array([[1, 0.5], [0.5, 1]])
    ours = KernelSGDSVC("precomputed", lam=0.25).fit(G, [1, -1], order=[0, 1, 0, 1])
    assert np.allclose(ours.dual_coef_, [2 / 3, -7 / 24])


@given(st.integers(2, 25), st.integers(1, 600), st.floats(0.001, 3), st.integers(0, 2**32 - 1), st.booleans())
def test_every_step_is_the_naive_one(m, T, lam, seed, as_printed):
    local = np.random.default_rng(seed)
    Z = local.standard_normal((m, 3))
    y = np.where(np.arange(m) % 2, 1, -1)
    order = local.integers(m, size=T)
    model = KernelSGDSVC(Gaussian(1.0), lam=lam, as_printed=as_printed).fit(Z, y, order=order)
    beta, several = naive(Gaussian(1.0).gram(Z).tolist(), y.tolist(), lam * (1 if as_printed else 2), order.tolist())
    assert np.array_equal(model.beta_, beta)
    mean = np.zeros(m)
    mean[model.support_] = model.dual_coef_
    assert np.allclose(mean, several.mean(axis=0), rtol=1e-9, atol=1e-12)
    last = KernelSGDSVC(Gaussian(1.0), lam=lam, as_printed=as_printed, average=False).fit(Z, y, order=order)
    final = np.zeros(m)
    final[last.support_] = last.dual_coef_
    assert np.allclose(final, several[-1], rtol=1e-9, atol=1e-12)


def test_averaging_a_is_not_averaging_beta():
    order = [0, 1, 0, 1]
    _, several = naive([[1, 0.5], [0.5, 1]], [1, -1], 0.5, order)
    betas = several * (0.5 * np.arange(1, 5))[:, None]
    assert not np.allclose(several.mean(axis=0), betas.mean(axis=0) / (0.5 * 4))


def test_several_classes_are_one_against_the_rest_on_one_order():
    labels = np.array(["a", "b", "c"])[rng.integers(3, size=60)]
    model = KernelSGDSVC(lam=0.05, n_iter=500, random_state=3).fit(X, labels)
    for column, label in enumerate("abc"):
        single = KernelSGDSVC(lam=0.05, n_iter=500, random_state=3).fit(X, np.where(labels == label, 1, 0))
        assert np.array_equal(model.beta_[:, column], single.beta_)
        assert np.allclose(model.decision_function(X)[:, column], single.decision_function(X))
        assert model.objective_[column] == pytest.approx(single.objective_)
    assert np.array_equal(model.predict(X), model.classes_[model.decision_function(X).argmax(axis=1)])


class Counted(Similarity):
    """A kernel that counts its values."""

    claims = ("SYMMETRIC", "PSD", "UNIT_DIAGONAL")
    reason = "it is a Gaussian"
    objects = "vectors"
    values = 0

    def encode(self, objects):
        return np.asarray(objects)

    def block(self, A, B):
        Counted.values += len(A) * len(B)
        return Gaussian(3.0).block(A, B)

    def diagonal(self, A):
        return np.ones(len(A))


def test_only_what_changes_beta_is_compared(monkeypatch):
    Z = rng.standard_normal((2000, 3))
    y = Z[:, 0] > 0
    monkeypatch.setattr("similitude.learners.svm.sgd.MAX_OBJECTIVE_VALUES", 0)
    for n_iter, columns in ((300, 300), (40_000, 2000)):
        Counted.values = 0
        model = KernelSGDSVC(Counted(), n_iter=n_iter, lam=0.001).fit(Z, y)
        support = np.count_nonzero(model.beta_)
        assert support < 0.6 * columns
        assert Counted.values <= (1.2 * support + 100) * columns  # some were about to


class Broken(Counted):
    """A kernel without a value for two of its objects."""

    claims = Counted.claims
    reason = Counted.reason

    def block(self, A, B):
        values = Gaussian(3.0).block(A, B)
        values[(A[:, 0] + B[:, 0].reshape(-1, 1) == 5).T] = np.nan
        return values


def test_an_error_names_the_position_in_x_if_few_examples_are_drawn():
    with pytest.raises(PairError, match=r"pair \((2, 3|3, 2)\)"):
        KernelSGDSVC(Broken()).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1], order=[2, 3, 2, 3])


# What it minimizes, and how close it comes.


def test_as_printed_it_is_stuck_at_the_other_optimum():
    lam, T = 0.05, 30_000
    full, half = optimum(K, SIGN, lam), optimum(K, SIGN, lam / 2)

    def objective(model, weight):
        a = np.zeros(60)
        a[model.support_] = model.dual_coef_
        return weight * a @ K @ a + np.maximum(0, 1 - SIGN * (K @ a)).mean()

    ours = KernelSGDSVC(Gaussian(1.0), lam=lam, n_iter=T).fit(X, SIGN)
    printed = KernelSGDSVC(Gaussian(1.0), lam=lam, n_iter=T, as_printed=True).fit(X, SIGN)
    assert objective(ours, lam) - full < 5e-4
    assert objective(printed, lam / 2) - half < 5e-4
    assert objective(printed, lam) - full > 0.02
    assert ours.objective_ == pytest.approx(objective(ours, lam)) and ours.suboptimality_ < 5e-4
    assert printed.objective_ == pytest.approx(objective(printed, lam / 2))
    assert ours.suboptimality_bound_ == pytest.approx(printed.suboptimality_bound_ / 2)
    assert ours.suboptimality_ == pytest.approx(ours.objective_ - full, abs=1e-6)


def test_the_gap_is_below_its_bound_on_average():
    lam = 0.05
    least = optimum(K, SIGN, lam)
    for T in (30, 1000):
        models = [KernelSGDSVC(Gaussian(1.0), lam=lam, n_iter=T, random_state=s).fit(X, SIGN) for s in range(15)]
        bound = models[0].suboptimality_bound_
        assert bound == pytest.approx(2 * (1 + np.log(T)) / (2 * lam * T))
        gaps = [m.objective_ - least for m in models]
        assert 0 < np.mean(gaps) < bound
        assert all(m.suboptimality_ == pytest.approx(gap, abs=1e-6) for m, gap in zip(models, gaps, strict=True))


def test_the_bound_says_what_it_rests_on():
    drawn = KernelSGDSVC(n_iter=50).fit(X, LABELS)
    assert drawn.guarantee_.grade == PROVEN
    assert "proven: the examples are drawn uniformly" in str(drawn.guarantee_)
    for model in (KernelSGDSVC().fit(X, LABELS, order=[1, 2]), KernelSGDSVC(average=False).fit(X, LABELS)):
        assert model.suboptimality_bound_ is None and model.guarantee_.grade == NONE
    assert "order was given" in str(KernelSGDSVC().fit(X, LABELS, order=[0]).guarantee_)


def test_a_gram_matrix_examined_in_part_is_not_proven_convex():
    """The objective has a minimum if the Gram matrix is PSD: all of it is examined up to 500 examples only."""
    many = np.random.default_rng(0).standard_normal((501, 2))
    k = FromBlocks(lambda A, B: A @ B.T, objects="vectors")
    for n, grade in [(500, PROVEN), (501, CONDITIONAL)]:
        assert KernelSGDSVC(k, n_iter=20).fit(many[:n], many[:n, 0] > 0).guarantee_.grade == grade


def test_the_figures_are_left_out_where_they_cost_too_much(monkeypatch):
    monkeypatch.setattr("similitude.learners.svm.sgd.MAX_OBJECTIVE_VALUES", 100)
    model = KernelSGDSVC().fit(X, LABELS, order=[5, 7, 9])
    assert model.objective_ is None and model.suboptimality_ is None and len(model.support_) == 2
    monkeypatch.undo()
    again = KernelSGDSVC().fit(X, LABELS, order=[5, 7, 9])
    assert np.array_equal(again.dual_coef_, model.dual_coef_)
    assert again.objective_ > again.objective_ - again.suboptimality_ > 0


def test_steps_where_nothing_is_said():
    assert KernelSGDSVC().fit(X, LABELS).n_iter_ == 10_000
    many = rng.standard_normal((1100, 2))
    assert KernelSGDSVC().fit(many, many[:, 0] > 0).n_iter_ == 11_000


def test_it_learns():
    Z = rng.standard_normal((400, 2))
    y = (np.hypot(*Z.T) > 1.2).astype(int)
    model = KernelSGDSVC(Gaussian(0.7), lam=1e-4).fit(Z[:200], y[:200])
    assert model.score(Z[200:], y[200:]) > 0.9


# The rules of learners.

VECTORS = rng.standard_normal((8, 3))


def test_grid_search_and_precomputed_cross_validation():
    search = GridSearchCV(KernelSGDSVC(n_iter=300), {"kernel__sigma": [0.5, 2.0], "lam": [0.01, 0.1]}, cv=3)
    assert search.fit(X, LABELS).best_score_ > 0.5
    scores = cross_val_score(KernelSGDSVC("precomputed", n_iter=300), K, LABELS, cv=3)
    assert np.array_equal(scores, cross_val_score(KernelSGDSVC(Gaussian(1.0), n_iter=300), X, LABELS, cv=3))


def test_seeds():
    one = KernelSGDSVC(n_iter=50).fit(X, LABELS)
    assert np.array_equal(one.beta_, KernelSGDSVC(n_iter=50, random_state=0).fit(X, LABELS).beta_)
    assert not np.array_equal(one.beta_, KernelSGDSVC(n_iter=50, random_state=1).fit(X, LABELS).beta_)


def test_little_memory_changes_nothing():
    Z = rng.standard_normal((100, 3))
    y = Z[:, 0] > 0
    small = KernelSGDSVC(n_iter=400, engine=LocalEngine(memory="20kB")).fit(Z, y)
    plain = KernelSGDSVC(n_iter=400).fit(Z, y)
    assert np.array_equal(small.beta_, plain.beta_) and small.objective_ == pytest.approx(plain.objective_)
    assert small.suboptimality_ is None


@pytest.mark.parametrize("factor", [1e-300, 1e300])
def test_tiny_and_huge_kernel_values(factor):
    plain = KernelSGDSVC(n_iter=300, lam=0.1).fit(X, LABELS)
    scaled = KernelSGDSVC(plain.kernel_ * factor, n_iter=300, lam=0.1 * factor).fit(X, LABELS)
    assert np.array_equal(plain.beta_, scaled.beta_) and np.array_equal(plain.predict(X), scaled.predict(X))
    extreme = KernelSGDSVC(plain.kernel_ * factor, n_iter=300, lam=0.1).fit(X, LABELS)
    assert np.isfinite(extreme.decision_function(X)).all()


def test_a_kernel_of_zeros_says_nothing():
    model = KernelSGDSVC(0.0 * Linear(), n_iter=20).fit(X, LABELS)
    assert (model.decision_function(X) == 0).all() and set(model.predict(X)) == {"yes"}


def test_indefinite_kernels_are_refused_with_their_witness():
    with pytest.raises(NotAKernelError) as caught:
        KernelSGDSVC(-1.0 * Linear()).fit(X, LABELS)
    assert caught.value.witness is not None


def test_a_fit_that_fails_leaves_it_as_it_was():
    def interrupted(x, z):
        raise KeyboardInterrupt

    model = KernelSGDSVC(FromPairs(interrupted, claims=("SYMMETRIC", "PSD")))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, LABELS)
    with pytest.raises(NotFittedError):
        model.predict(X)
