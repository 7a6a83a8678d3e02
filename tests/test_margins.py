"""Margins: the sources' figures, independent solvers, invariances, optimality, errors; how often a margin is missed."""

import json
import math

import numpy as np
import pytest
from grids import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.feature_selection import SelectKBest
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from similitude import FromPairs, Precomputed, error_at_margin, margin
from similitude.engines import LocalEngine
from similitude.errors import InseparableError, NotAKernelError
from similitude.kernels import Gaussian, Linear, Polynomial
from similitude.learners import SeparatorLP
from similitude.learners.svm import nearest_point
from similitude.support.randomness import generator

BOTH = [(False, True), (False, False), (True, True), (True, False)]


def on_circle(*degrees):
    return np.array([[math.cos(math.radians(a)), math.sin(math.radians(a))] for a in degrees])


def apart(rng, n, d, by=0.5, spread=1.0):
    """Points on both sides of a random hyperplane, at least `by` from it."""
    w = rng.standard_normal(d)
    w /= np.linalg.norm(w)
    X = spread * rng.standard_normal((n, d))
    y = rng.random(n) < 0.5
    y[:2] = True, False
    return X + np.outer(np.where(y, by, -by) + np.where(y, 1, -1) * abs(X @ w) - X @ w, w), y


# The largest margin: figures that are known.


def test_three_points_on_a_line():
    found = margin("linear", [[1.0], [3.0], [-2.0]], [1, 1, -1], bias=True, normalized=False)
    assert found.value == pytest.approx(1.5)
    assert found.intercept == pytest.approx(0.5)  # w = 2/3, b = 1/3 before |w| = 1
    w = found.coefficients @ [1.0, 3.0, -2.0]
    assert w == pytest.approx(1.0)
    assert found.support.tolist() == [0, 2]


def test_three_directions():
    X = on_circle(150, 30, -30)
    assert margin(Linear(), X, ["y", "y", "n"]).value == pytest.approx(0.5)
    assert margin(Linear(), X * [[1.0], [10.0], [0.1]], [1, 1, 0]).value == pytest.approx(0.5)


def test_the_kernel_without_samples():
    gram = np.array([[1.0, -0.5, -0.5], [-0.5, 1.0, -0.5], [-0.5, -0.5, 1.0]])
    assert margin(Precomputed(gram), [1, 2], [1, -1]).value == pytest.approx(math.sqrt(3) / 2)
    assert margin("precomputed", gram[1:, 1:], [1, -1]).value == pytest.approx(math.sqrt(3) / 2)


@pytest.mark.parametrize("k", [2, 3, 10, 100])
def test_orthonormal_atoms(k):
    found = margin("linear", np.eye(k), np.arange(k) % 2)
    assert found.value == pytest.approx(1 / math.sqrt(k))
    assert found.gap < 1e-12
    np.testing.assert_allclose(abs(found.coefficients), 1 / math.sqrt(k))


# The largest margin: other ways to the same value.


def scanned(X, y, bias, normalized, steps=20001):
    """The best of many directions in the plane."""
    signs = np.where(y, 1.0, -1.0)
    Z = X / np.linalg.norm(X, axis=1)[:, None] if normalized else X
    best = -math.inf
    for angle in np.linspace(0, 2 * math.pi, steps):
        scores = Z @ [math.cos(angle), math.sin(angle)]
        worst = (scores[signs > 0].min() - scores[signs < 0].max()) / 2 if bias else (signs * scores).min()
        best = max(best, worst)
    return best


SEEDS = [1, *(pytest.param(seed, marks=pytest.mark.deep) for seed in (2, 3))]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("bias", "normalized"), BOTH)
def test_scan_of_the_plane(bias, normalized, seed):
    X, y = apart(np.random.default_rng(seed), 25, 2)
    found = margin("linear", X, y, bias=bias, normalized=normalized)
    expected = scanned(X, y, bias, normalized)
    assert expected - 1e-12 <= found.value <= expected + 1e-3 * np.linalg.norm(X, axis=1).max()


PROBLEMS = {
    "linear": lambda rng: (Linear(), *apart(rng, 80, 5)),
    "more dimensions than points": lambda rng: (Linear(), rng.standard_normal((60, 90)), rng.random(60) < 0.5),
    "gaussian": lambda rng: (Gaussian(1.0), rng.standard_normal((80, 3)), rng.random(80) < 0.5),
    "polynomial": lambda rng: (Polynomial(3), *apart(rng, 80, 2)),
    "rings": lambda rng: (
        Polynomial(2),
        on_circle(*range(0, 360, 6)) * np.tile([[1.0], [2.0]], (30, 1)),
        np.tile([True, False], 30),
    ),
}


@pytest.mark.parametrize(("bias", "normalized"), BOTH)
@pytest.mark.parametrize("name", PROBLEMS)
def test_optimality(name, bias, normalized):
    k, X, y = PROBLEMS[name](np.random.default_rng(3))
    found = margin(k, X, y, bias=bias, normalized=normalized)
    K, a, signs = k.gram(X), found.coefficients, np.where(y, 1.0, -1.0)
    assert found.gap <= 1e-10
    assert a @ K @ a == pytest.approx(1.0, rel=1e-8)
    assert (signs * a >= 0).all()
    assert np.flatnonzero(a).tolist() == found.support.tolist()
    lengths = np.sqrt(K.diagonal()) if normalized else np.ones(len(K))
    margins = signs * (K @ a / lengths + found.intercept)
    assert margins.min() == pytest.approx(found.value, rel=1e-8)
    np.testing.assert_allclose(margins[found.support], found.value, rtol=1e-7)  # complementary slackness
    if bias:
        assert (a * lengths).sum() == pytest.approx(0.0, abs=1e-8 * abs(a * lengths).sum())
    else:
        assert found.intercept == 0.0


@pytest.mark.parametrize("name", PROBLEMS)
def test_agreement_with_a_support_vector_machine(name):
    k, X, y = PROBLEMS[name](np.random.default_rng(4))
    X, y = X[:40], y[:40]
    for normalized in (True, False):
        K = (k.normalized() if normalized else k).gram(X)
        svm = SVC(kernel="precomputed", C=1e10, tol=1e-5).fit(K, y)
        a = np.zeros(len(K))
        a[svm.support_] = svm.dual_coef_[0]
        expected = 1 / math.sqrt(a @ K @ a)
        assert margin(k, X, y, bias=True, normalized=normalized).value == pytest.approx(expected, rel=1e-4)


def test_a_bias_is_two_hulls_and_the_homogeneous_one_is_one():
    """Each class mirrored at the origin makes the best hyperplane pass through it."""
    X, y = apart(np.random.default_rng(5), 40, 3)
    mirrored, labels = np.concatenate([X, -X]), np.concatenate([y, ~y])
    for normalized in (True, False):
        through = margin("linear", X, y, normalized=normalized)
        found = margin("linear", mirrored, labels, bias=True, normalized=normalized)
        assert found.value == pytest.approx(through.value)
        assert found.intercept == pytest.approx(0.0, abs=1e-9)


@examples(5)
@given(st.integers(0, 10**6))
def test_invariances(seed):
    rng = np.random.default_rng(seed)
    X, y = apart(rng, 12, 3)
    rotation = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    lengths = 10.0 ** rng.uniform(-3, 3, (12, 1))
    order = rng.permutation(24)
    twice, labels = np.concatenate([X, X])[order], np.concatenate([y, y])[order]
    for bias, normalized in BOTH:
        value = margin("linear", X, y, bias=bias, normalized=normalized).value
        same = {
            "rotated": margin("linear", X @ rotation, y, bias=bias, normalized=normalized).value,
            "with duplicates": margin("linear", twice, labels, bias=bias, normalized=normalized).value,
            "labels swapped": margin("linear", X, ~y, bias=bias, normalized=normalized).value,
        }
        if normalized:
            same["scaled"] = margin("linear", X * lengths, y, bias=bias).value
        else:
            same["scaled"] = margin("linear", 1e4 * X, y, bias=bias, normalized=False).value / 1e4
        if bias and not normalized:
            same["moved"] = margin("linear", X + np.arange(3.0), y, bias=True, normalized=False).value
        for name, other in same.items():
            assert other == pytest.approx(value, rel=1e-7), name


@given(st.integers(0, 10**6), st.integers(1, 25), st.integers(1, 8), st.booleans())
def test_nearest_point_is_optimal(seed, n, d, two):
    """The conditions that only the nearest point fulfills, on corners with duplicates and equal products."""
    rng = np.random.default_rng(seed)
    corners = rng.integers(-2, 3, (n + 2, d)) + np.eye(1, d, 0)[0] * rng.integers(0, 4)
    groups = np.arange(n + 2) % 2 if two else np.zeros(n + 2)
    place = nearest_point((corners @ corners.T).astype(float), groups)
    assert (place.weights > 0).all()
    for group in np.unique(groups):
        assert place.weights[groups[place.corners] == group].sum() == pytest.approx(1.0)
    point = place.weights @ corners[place.corners]
    assert point @ point == pytest.approx(place.square, abs=1e-12)
    assert sum((corners[groups == group] @ point).min() for group in np.unique(groups)) >= place.square - 1e-9


def test_many_objects():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1200, 10))
    few = margin("gaussian", X, X[:, 0] > 0, engine=LocalEngine(threads=1))
    assert few.gap <= 1e-10
    assert len(few.support) < 300
    many = margin(Gaussian(0.1), X, rng.random(1200) < 0.5)
    assert many.gap <= 1e-10
    assert len(many.support) > 1000


# The largest margin: what may be given.


def common(s, t):
    """The number of common letters."""
    return float(len(set(s) & set(t)))


@pytest.mark.parametrize("kernel", [FromPairs(common, claims=["SYMMETRIC", "PSD"]), FromPairs(common), common])
def test_strings(kernel):
    words, labels = ["ab", "abc", "bc", "xy", "xyz"], ["first", "first", "first", "last", "last"]
    found = margin(kernel, words, labels)
    letters = np.array([[float(letter in word) for letter in "abcxyz"] for word in words])
    assert found.value == pytest.approx(margin("linear", letters, labels).value)
    assert found.classes_.tolist() == ["first", "last"]
    assert found.validity.verdict == "UNKNOWN"
    np.testing.assert_array_equal(np.sign(found.normalized_margin(["a", "z", "q"])), [-1, 1, 0])


@pytest.mark.parametrize(
    "labels",
    [
        [False, True, True],
        [0, 1, 1],
        [-1.0, 1.0, 1.0],
        ["a", "b", "b"],
        np.array(["a", "b", "b"], object),
        [[0], [1], [1]],
    ],
    ids=str,
)
def test_labels(labels):
    found = margin("linear", [[-1.0], [2.0], [1.0]], labels)
    assert found.coefficients @ [-1.0, 2.0, 1.0] == pytest.approx(1.0)
    assert found.classes_[1] == np.ravel(np.array(labels, object))[1]
    assert found.value == pytest.approx(1.0)


def test_result():
    found = margin("linear", [[-1.0, 0.0], [2.0, 0.0]], ["a", "b"], bias=True)
    stored = json.loads(json.dumps(found.to_dict()))
    assert stored["value"] == found.value
    assert stored["support"] == [0, 1]
    assert not any(name.startswith("_") for name in stored)
    assert str(found).startswith("normalized margin 1 with intercept 0 (relative gap ")
    assert "'b' against 'a', 2 support objects of 2" in str(found)
    assert "Margin(value=" in repr(found)
    assert "normalized margin 1" in found._repr_html_()
    with pytest.raises(AttributeError):
        found.value = 2.0


def test_single_precision():
    X, y = apart(np.random.default_rng(0), 50, 3)
    found = margin("linear", X.astype(np.float32), y)
    assert found.value == pytest.approx(margin("linear", X, y).value, rel=1e-4)
    assert margin("linear", sparse.csr_matrix(X), y).value == pytest.approx(margin("linear", X, y).value)


def test_what_is_no_kernel_is_refused_with_its_witness():
    with pytest.raises(NotAKernelError, match="is not a kernel") as caught:
        margin(lambda x, z: float(abs(x - z) <= 1), [0, 1, 2, 5], [0, 1, 0, 1])
    assert caught.value.witness.indices == (0, 1, 2)
    with pytest.raises(NotAKernelError, match="not symmetric"):
        margin("precomputed", np.array([[1.0, 0.5], [0.0, 1.0]]), [0, 1])


def unseen(n):
    """The objects that the check of a large sample leaves out."""
    return np.setdiff1d(np.arange(n), generator(None).permutation(n)[:500])


def test_an_indefinite_matrix_is_refused_where_it_shows_later():
    y = np.arange(600) % 2
    i, j = unseen(600)[y[unseen(600)] == 0][0], unseen(600)[y[unseen(600)] == 1][0]
    M = np.eye(600)
    M[i, j] = M[j, i] = 1.5
    with pytest.raises(NotAKernelError) as caught:
        margin("precomputed", M, y)
    assert set(caught.value.witness.indices) == {i, j}
    M = np.eye(600)
    M[i, i] = -1.0
    with pytest.raises(NotAKernelError, match="One object shows it"):
        margin(Precomputed(M), np.arange(600), y)


# The largest margin: where there is none.


@pytest.mark.parametrize(("bias", "normalized"), BOTH)
@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("seed", SEEDS)
def test_conflicts_are_few_and_every_one_is_needed(d, bias, normalized, seed):
    rng = np.random.default_rng([d, seed])
    X, y = rng.standard_normal((60, d)), rng.random(60) < 0.5
    with pytest.raises(InseparableError, match="Examples in conflict") as caught:
        margin("linear", X, y, bias=bias, normalized=normalized)
    conflicts = np.array(caught.value.conflicts)
    assert 2 <= len(conflicts) <= d + 2
    with pytest.raises(InseparableError):
        SeparatorLP(fit_intercept=bias).fit(*features(X, y, conflicts, bias, normalized))
    for i in range(len(conflicts)):
        rest = np.delete(conflicts, i)
        if len(set(y[rest])) == 2:
            assert margin("linear", X[rest], y[rest], bias=bias, normalized=normalized).value > 0


def features(X, y, conflicts, bias, normalized):
    """What a linear program sees of the conflict; without both classes the origin is added between them."""
    Z = X[conflicts] / (np.linalg.norm(X[conflicts], axis=1)[:, None] if normalized else 1.0)
    labels = y[conflicts]
    if len(set(labels)) == 1:  # through the origin: a vector and its mirror image of the other class are the same
        Z, labels = np.concatenate([Z, -Z[:1]]), np.append(labels, ~labels[0])
    return Z, labels


def test_a_contradiction_is_named_first():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = rng.random(40) < 0.5
    X[31], y[31] = X[7], ~y[7]
    for kernel in ("linear", "gaussian"):
        for bias, normalized in BOTH:
            with pytest.raises(InseparableError) as caught:
                margin(kernel, X, y, bias=bias, normalized=normalized)
            assert caught.value.conflicts == (7, 31)


def test_opposite_vectors_of_one_class_conflict_at_the_origin():
    with pytest.raises(InseparableError, match="through the origin") as caught:
        margin("linear", [[1.0], [-1.0], [2.0]], [1, 1, 0])
    assert len(caught.value.conflicts) == 2


def test_objects_of_no_length():
    X, y = [[1.0, 0.0], [0.0, 0.0], [-1.0, 1.0]], ["b", "b", "a"]
    for bias, normalized in [(False, True), (False, False), (True, True)]:
        with pytest.raises(InseparableError, match=r"K\(x, x\) = 0.*: 1 \('b'\)") as caught:
            margin("linear", X, y, bias=bias, normalized=normalized)
        assert caught.value.conflicts == (1,)
    assert margin("linear", X, y, bias=True, normalized=False).value == pytest.approx(math.sqrt(2) / 2)


def test_a_margin_below_rounding_is_none():
    X = np.linspace(0, 1, 300)[:, None]
    with pytest.raises(InseparableError, match="above rounding"):
        margin("gaussian", X, np.arange(300) % 2)
    assert margin(Gaussian(1e-3), X, np.arange(300) % 2).value > 0


# Error at margin.


class Fixed:
    """The separator w = (1, 0), without an intercept."""

    def __init__(self, classes=(-1, 1)):
        self.classes_, self.coef_, self.intercept_, self.fit_intercept = classes, [[1.0, 0.0]], [0.0], False


def circle(rng, n, noise=0.1):
    """Directions uniform on the circle, labeled by their first coordinate, some labels wrong."""
    X = on_circle(*rng.uniform(0, 360, n)) * rng.uniform(0.1, 10, (n, 1))
    y = np.where(X[:, 0] > 0, 1, -1)
    return X, np.where(rng.random(n) < noise, -y, y)


def truth(gamma, noise=0.1):
    """Pr[y cos < gamma] for such directions."""
    within = 2 / math.pi * math.asin(abs(gamma))
    return noise + (1 - noise) * within if gamma > 0 else noise * (1 - within)


def test_intervals_and_bands_cover_the_truth():
    everywhere = np.linspace(-0.99, 0.99, 67)
    expected = np.array([truth(gamma) for gamma in everywhere])
    at, within, everywhere_within = np.searchsorted(everywhere, 0.3), 0, 0
    for seed in range(300):
        curve = error_at_margin(Fixed(), *circle(np.random.default_rng(seed), 60), gammas=everywhere)
        within += curve.low[at] <= expected[at] <= curve.high[at]
        everywhere_within += ((curve.band_low <= expected) & (expected <= curve.band_high)).all()
    assert within >= 0.93 * 300
    assert everywhere_within >= 0.93 * 300


def test_curve():
    X, y = circle(np.random.default_rng(0), 200)
    curve = error_at_margin(Fixed(), X, y, [0.5, -0.2, 0.0])
    cosines = [label * x[0] / math.hypot(*x) for x, label in zip(X, y, strict=True)]
    expected = [sum(cosine < gamma for cosine in cosines) / 200 for gamma in (0.5, -0.2, 0.0)]
    np.testing.assert_allclose(curve.y, expected)
    assert (curve.low < curve.y).all() and (curve.y < curve.high).all()
    assert curve.level == 0.95 and curve.grade == "HELD-OUT" and curve.n == 200
    np.testing.assert_allclose(curve.band_high - curve.y, math.sqrt(math.log(40) / 400))
    assert str(curve).startswith("error at margin on 200 examples (95 %, HELD-OUT)\n  below      0.5: ")
    assert json.dumps(curve.to_dict())
    grid = error_at_margin(Fixed(), X, y)
    assert grid.x[0] == 0 and len(grid.x) == 50 and grid.x[-1] == max(cosines)
    assert (np.diff(grid.y) >= 0).all()
    assert error_at_margin(Fixed(), [[-1.0, 0.0]], [1]).x.tolist() == [0.0]


def test_below_is_strict_and_a_margin_of_its_own_sample_is_reached():
    assert error_at_margin(Fixed(), [[3.0, 4.0]], [1], [0.6, 0.6001]).y.tolist() == [0.0, 1.0]
    for k, X, y in (make(np.random.default_rng(8)) for make in PROBLEMS.values()):
        found = margin(k, X, y)
        curve = error_at_margin(found, X, y, [0.0, found.value, found.value * 1.001])
        assert curve.y[:2].tolist() == [0.0, 0.0] and curve.y[2] > 0


@pytest.mark.parametrize("gamma", [1e-12, 0.1, 1.0])
def test_objects_of_no_length_count_as_errors(gamma):
    X, y = [[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]], [1, -1, 1]
    linear = margin("linear", [[1.0, 0.0], [-1.0, 0.0]], [1, -1])
    for model in (Fixed(), linear, margin(Linear(), [[1.0, 0.0], [-1.0, 0.0]], [1, -1], bias=True)):
        assert error_at_margin(model, X, y, [0.0]).y == [0.0]
    assert error_at_margin(Fixed(), X, y, [gamma]).y == pytest.approx([2 / 3])
    assert error_at_margin(linear, X, y, [gamma]).y == pytest.approx([2 / 3])


@pytest.mark.parametrize("normalized", [True, False])
def test_a_bias_is_the_weight_of_a_constant_feature(normalized):
    X, y = apart(np.random.default_rng(2), 30, 3)
    found = margin("linear", X + 1, y, bias=True, normalized=normalized)
    features = X + 1
    features /= np.linalg.norm(features, axis=1)[:, None] if normalized else 1.0
    w = np.append(found.coefficients @ (X + 1), found.intercept)
    Z = np.column_stack([features, np.ones(30)])
    np.testing.assert_allclose(
        found.normalized_margin(X + 1), Z @ w / np.linalg.norm(w) / np.linalg.norm(Z, axis=1), rtol=1e-9
    )


def cosines(F, w, b, constant):
    Z = np.column_stack([F, np.full(len(F), float(constant))])
    return Z @ np.append(w, b) / np.linalg.norm(Z, axis=1) / math.hypot(np.linalg.norm(w), b)


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        LogisticRegression(fit_intercept=False),
        LinearSVC(random_state=0),
        SVC(kernel="linear"),
        SeparatorLP(),
        SeparatorLP(fit_intercept=False),
    ],
    ids=repr,
)
def test_linear_classifiers(model):
    X, y = apart(np.random.default_rng(6), 60, 4)
    model.fit(X, y)
    constant = getattr(model, "fit_intercept", True)
    margins = np.where(y, 1, -1) * cosines(X, model.coef_[0], model.intercept_[0], constant)
    gammas = np.linspace(-0.9, 0.9, 7)
    expected = [(margins < gamma).mean() for gamma in gammas]
    np.testing.assert_allclose(error_at_margin(model, X, y, gammas).y, expected)
    np.testing.assert_allclose(error_at_margin(model, sparse.csr_array(X), y, gammas).y, expected)
    if isinstance(model, SeparatorLP):
        assert error_at_margin(model, X, y, [model.margin_, 1.001 * model.margin_]).y.tolist()[0] == 0.0


def test_pipelines():
    X, y = apart(np.random.default_rng(7), 60, 4)
    y = np.where(y, "yes", "no")
    signs = np.where(y == "yes", 1, -1)
    for steps in ([StandardScaler()], [StandardScaler(), SelectKBest(k=2)], [Nystroem(n_components=9)], []):
        model = make_pipeline(*steps, LogisticRegression()).fit(X, y)
        features = model[:-1].transform(X) if steps else X
        margins = signs * cosines(features, model[-1].coef_[0], model[-1].intercept_[0], 1)
        assert error_at_margin(model, X, y, [0.2]).y == [(margins < 0.2).mean()]


def test_any_model_that_tells_its_margins():
    class Own:
        classes_ = ("cat", "dog")

        def normalized_margin(self, X):
            return np.array([len(word) / 10 for word in X]) - 0.35

    assert error_at_margin(Own(), ["a", "abcde"], ["cat", "dog"], [0.1, 0.2]).y.tolist() == [0.0, 0.5]
    with pytest.raises(ValueError, match="example 1 is 'cow'"):
        error_at_margin(Own(), ["a", "abcde"], ["cat", "cow"])

    class Wrong(Own):
        def normalized_margin(self, X):
            return np.full(len(X), np.nan)

    with pytest.raises(ValueError, match="no finite margin"):
        error_at_margin(Wrong(), ["a"], ["cat"])


def test_a_precomputed_matrix_does_not_tell_lengths():
    gram = np.eye(3)
    with pytest.raises(ValueError, match=r"Precomputed\(M\)"):
        error_at_margin(margin("precomputed", gram, [0, 1, 1]), gram, [0, 1, 1])
    model = margin(Precomputed(np.eye(4)), [0, 1, 2], [0, 1, 1])
    assert error_at_margin(model, [1, 3], [1, 1], [0.5, 0.6]).y.tolist() == [0.5, 1.0]


def test_labels_that_are_truth_values_may_come_as_numbers():
    assert error_at_margin(Fixed((False, True)), [[1.0, 0.0]], np.array([1.0]), 0.5).y == [0.0]
