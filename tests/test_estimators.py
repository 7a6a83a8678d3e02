"""The estimators: what they compute by definition, their representation, what they keep, what they promise."""

import math
import pickle
import warnings
from collections import Counter

import numpy as np
import pytest
from fits import run_fit
from grids import thin
from objectives import OBJECTIVES
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from similitude import FromBlocks, FromPairs, Precomputed, SimilarityClassifier, SimilarityRegressor, bounds
from similitude.fitting import limits
from similitude.fitting.choices import MULTIPLES
from similitude.fitting.partial_fit import Stream
from similitude.fitting.training_set import Sampling, draw_seed
from similitude.kernels import Cosine, Gaussian, Linear
from similitude.landmarks.guarantees import WIDE, Ask, class_gap, guarantee_of_reasonable
from similitude.learners import KernelRidge
from similitude.results import CONDITIONAL, NONE

rng = np.random.default_rng(0)
X = rng.standard_normal((90, 3))
Z = rng.standard_normal((25, 3))
TWO = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
THREE = np.array(["left", "middle", "right"])[np.digitize(X[:, 0] + 0.5 * X[:, 1] ** 2, [-0.2, 0.7])]
Y = np.sin(2 * X[:, 0]) + X[:, 1]
for shared in (X, Z, TWO, THREE, Y):
    shared.setflags(write=False)

L2_OBJECTIVES = ["ridge", "logistic", "squared_hinge"]  # the one that chooses among landmarks has tests of its own


def lopsided(A, B):
    """Neither symmetric nor PSD."""
    return np.tanh(A @ B.T) + 0.4 * (A[:, :1] - B[:, 1])


def indefinite(A, B):
    """Symmetric, not PSD."""
    return np.tanh(A @ B.T - 0.5)


def shared_letters(s, t):
    """A kernel without a proof: the dot product of indicators."""
    return float(len(set(s) & set(t)))


LOPSIDED = FromBlocks(lopsided, objects="vectors")
INDEFINITE = FromBlocks(indefinite, objects="vectors")


def ridge_by_hand(F, targets, weights, lam):
    """The minimizer of sum_i s_i |y_i - w'f_i - b|^2 + lam |w|^2; w, b."""
    root = np.sqrt(weights)[:, None]
    rows = np.vstack([np.hstack([root * F, root]), np.hstack([math.sqrt(lam) * np.eye(F.shape[1]), F[:1].T * 0])])
    aims = np.vstack([root * targets, np.zeros((F.shape[1], targets.shape[1]))])
    found = np.linalg.lstsq(rows, aims, rcond=None)[0]
    return found[:-1], found[-1]


def codes(y):
    classes = np.unique(y)
    signs = np.where(np.asarray(y)[:, None] == classes, 1.0, -1.0)
    return signs[:, 1:] if len(classes) == 2 else signs


def columns_of(scores):
    return scores[:, None] if scores.ndim == 1 else scores


# The projection representation.


@pytest.mark.parametrize("weighted", [False, True])
def test_with_every_object_a_landmark_it_is_kernel_ridge_regression(weighted):
    s = rng.uniform(0.5, 2.0, len(X)) if weighted else None
    both = np.stack([Y, X[:, 2] ** 2], axis=1)
    for targets in (Y, both):
        model = SimilarityRegressor(Gaussian(sigma=1.0), landmark_indices=range(len(X))).fit(X, targets, s)
        exact = KernelRidge(Gaussian(sigma=1.0), lam=model.lam_).fit(X, targets, sample_weight=s)
        np.testing.assert_allclose(model.predict(Z), exact.predict(Z), atol=1e-6)
        assert model.predict(Z).shape == targets[:25].shape
        assert model.representation_.name == "projection"
    assert "by proof" in model.representation_.reason


def test_the_classifier_is_kernel_ridge_regression_on_signs():
    for y in (TWO, THREE):
        model = SimilarityClassifier(Gaussian(sigma=1.0), n_landmarks=len(X)).fit(X, y)
        exact = KernelRidge(Gaussian(sigma=1.0), lam=model.lam_).fit(X, codes(y))
        np.testing.assert_allclose(columns_of(model.decision_function(Z)), exact.predict(Z), atol=1e-6)


def test_a_kernel_without_a_proof_is_projected_where_it_is_psd_on_the_landmarks():
    words = ["".join(rng.choice(list("abcdefgh"), 4)) for _ in range(40)]
    y = np.array([len(set(w)) + w.count("a") for w in words], dtype=float)
    model = SimilarityRegressor(shared_letters, n_landmarks=40).fit(words, y)
    assert model.representation_.name == "projection"
    assert "no proof" in model.representation_.reason and "40 landmarks" in model.representation_.reason
    assert model.n_similarity_calls_ <= 8  # eight letters span the features
    exact = KernelRidge(shared_letters, lam=model.lam_).fit(words, y)
    np.testing.assert_allclose(model.predict(words), exact.predict(words), atol=1e-6)


def test_a_kernel_rounded_by_its_user_is_still_a_kernel():
    far = 1e5 + 20 * X

    def gaussian(A, B):
        squares = (A**2).sum(1)[:, None] + (B**2).sum(1) - 2 * A @ B.T  # rounding of 1e-5
        return np.exp(-squares / 2e5)

    by_hand = SimilarityClassifier(FromBlocks(gaussian, objects="vectors"), n_landmarks=90).fit(far, TWO)
    ours = SimilarityClassifier(Gaussian(sigma=math.sqrt(1e5)), n_landmarks=90).fit(far, TWO)
    assert by_hand.representation_.name == "projection"
    assert np.linalg.eigvalsh(gaussian(far, far))[0] < -1e-12  # by rounding
    np.testing.assert_allclose(by_hand.decision_function(far), ours.decision_function(far), atol=0.01)


def features_of(model, objects, targets):
    F, told, _ = run_fit(model, objects, targets).design
    rows = np.array([int(np.flatnonzero((targets == one).all(axis=1))[0]) for one in told])
    return F, rows


@pytest.mark.parametrize("kernel", [Gaussian(sigma=0.7), Linear(), Cosine(), Gaussian(sigma=2.0) * Linear() + 1.0])
def test_projected_features_have_the_kernel_as_dot_product(kernel):
    F, rows = features_of(SimilarityRegressor(kernel, n_landmarks=90), X, Y[:, None])
    np.testing.assert_allclose(F @ F.T, kernel.cross(X[rows], X[rows]), atol=1e-6)
    few = SimilarityRegressor(kernel, landmark_indices=np.arange(10))
    F, rows = features_of(few, X, Y[:, None])
    K = kernel.cross(X, X)[np.ix_(rows, range(10))]
    L = np.flatnonzero(rows < 10)
    np.testing.assert_allclose(F @ F[L].T, K[:, rows[L]], atol=1e-6)  # exact towards the landmarks
    assert ((F**2).sum(axis=1) <= kernel.diag(X)[rows] + 1e-6).all()


# The landmark representation.


def by_hand(k, model, objects, targets, weights):
    """Scores of new objects Z by the definition: similarities to the landmarks, ridge regression with the penalty."""
    L = objects[model.landmark_indices_]

    def features(A):
        left, right = k(A, L), k(L, A).T
        K = {"left": left, "right": right, "both": np.hstack([left, right])}[model.representation_.side]
        return K / np.linalg.norm(K, axis=1, keepdims=True) if model.representation_.normalized else K

    w, b = ridge_by_hand(features(objects), targets, weights, model.lam_)
    return features(Z) @ w + b


@pytest.mark.usefixtures("without_evaluation")
@pytest.mark.parametrize("side", ["auto", "left", "right", "both"])
@pytest.mark.parametrize("k", [lopsided, indefinite], ids=["lopsided", "indefinite"])
@pytest.mark.parametrize("scale", [1.0, 50.0])
def test_any_similarity_is_a_feature_of_each_object(k, side, scale):
    stretched = rng.uniform(0.2, scale, len(X))[:, None] * X  # longer objects have larger similarities

    def scaled(A, B):
        return scale * k(A, B)

    for y in (TWO, THREE):
        weights = rng.uniform(0.5, 1.5, len(X))
        similarity = FromBlocks(scaled, objects="vectors")
        model = SimilarityClassifier(similarity, landmark_indices=np.arange(0, 90, 3), side=side)
        model.fit(stretched, y, weights)
        representation = model.representation_
        assert representation.name == "similarities"
        expected = {"auto": "both" if k is lopsided else "left"}.get(side, side)
        assert representation.side == expected
        reasons = {"auto": "not symmetric" if k is lopsided else "not a kernel: an eigenvalue on 30 landmarks is -"}
        assert reasons.get(side, f"side={side!r} was asked for" if side != "left" else "not ") in representation.reason
        found = columns_of(model.decision_function(Z))
        np.testing.assert_allclose(found, by_hand(scaled, model, stretched, codes(y), weights), rtol=1e-5, atol=1e-6)


def test_rows_are_normalized_where_that_helps_and_it_is_said():
    angle = rng.uniform(0, 2 * math.pi, 200)
    length = 10.0 ** rng.uniform(-3, 3, 200)
    objects = length[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    model = SimilarityClassifier(FromBlocks(lambda A, B: A @ -B.T, objects="vectors"), n_landmarks=30)
    model.fit(objects, np.sin(angle) > 0)
    assert model.representation_.normalized
    assert "length" in str(model.representation_)
    assert model.score(objects, np.sin(angle) > 0) > 0.9
    assert model.guarantee_.grade == NONE


@pytest.mark.deep
def test_reasons_name_what_was_seen():
    pair = SimilarityClassifier(LOPSIDED, landmark_indices=[0, 1, 2]).fit(X, TWO).representation_.reason
    K = lopsided(X[:3], X[:3])
    i, j = np.unravel_index(np.abs(K - K.T).argmax(), (3, 3))
    assert f"K(l{i}, l{j}) = {K[i, j]:.4g} and K(l{j}, l{i}) = {K[j, i]:.4g}" in pair
    eigenvalue = SimilarityClassifier(INDEFINITE, landmark_indices=range(20)).fit(X, TWO).representation_.reason
    assert f"{np.linalg.eigvalsh(indefinite(X[:20], X[:20]))[0]:.4g}" in eigenvalue
    assert "zero on" in SimilarityClassifier(lambda x, z: 0.0).fit(X, TWO).representation_.reason
    sparse = SimilarityClassifier(penalty="l1", n_landmarks=5).fit(X[:20], TWO[:20]).representation_
    assert sparse.name == "similarities" and "chooses among landmarks" in sparse.reason


# A similarity that shows itself only when more landmarks come.


def with_a_late_flaw(order, first, second):
    """A Gram matrix of points on a line, PSD but for two objects that are late in an order."""
    n = len(order)
    place = np.linspace(0, 40, n)
    K = np.exp(-((place[:, None] - place) ** 2) * 50)
    i, j = order[first], order[second]
    K[i, j] = K[j, i] = 3.0
    return K, np.where(np.sin(12 * place) > 0, "up", "down")


@pytest.mark.usefixtures("without_evaluation")
def test_a_flaw_beyond_the_first_500_landmarks_changes_the_representation():
    K, y = with_a_late_flaw(np.arange(700), 560, 600)
    assert np.linalg.eigvalsh(K[:500, :500])[0] > -1e-9 > np.linalg.eigvalsh(K)[0]
    whole = SimilarityClassifier(Precomputed(K), landmark_indices=range(620)).fit(range(700), y)
    assert whole.representation_.name == "similarities"
    lowest = np.linalg.eigvalsh(K[:620, :620])[0]
    assert f"620 landmarks is {lowest:.4g}" in whole.representation_.reason
    assert whole.score(range(700), y) > 0.9
    early = SimilarityClassifier(Precomputed(K), landmark_indices=range(550)).fit(range(700), y)
    assert early.representation_.name == "projection"


@pytest.mark.usefixtures("without_evaluation")
def test_growing_into_a_flaw_changes_the_representation():
    plain = SimilarityRegressor(Precomputed(-np.ones((800, 800))), n_landmarks=800, random_state=1)
    order = Sampling(draw_seed(1)).order(np.arange(800))
    assert set(plain.fit(range(800), np.arange(800.0)).landmark_indices_) <= set(order)
    K, y = with_a_late_flaw(order, 510, 790)
    signs = np.where(y == "up", 1.0, -1.0)
    model = SimilarityRegressor(Precomputed(K), random_state=1).fit(range(800), signs)
    assert model.landmark_curve_.x.max() == 800  # it grew until the flaw was met
    assert model.representation_.name == "similarities" and "800 landmarks" in model.representation_.reason
    assert np.mean(np.sign(model.predict(range(800))) == signs) > 0.9
    K_left = K[:, model.landmark_indices_]
    F = K_left / np.linalg.norm(K_left, axis=1, keepdims=True) if model.representation_.normalized else K_left
    w, b = ridge_by_hand(F, signs[:, None], np.ones(800), model.lam_)
    np.testing.assert_allclose(model.predict(range(800)), (F @ w + b)[:, 0], atol=1e-4)


@pytest.mark.usefixtures("without_evaluation")
def test_a_similarity_known_to_be_no_kernel_is_not_projected_on_fewer_landmarks_either():
    order = Sampling(draw_seed(1)).order(np.arange(800))
    K, y = with_a_late_flaw(order, 510, 790)
    late = order[510:]
    noise = np.random.default_rng(0).uniform(-1, 1, (290, 290))
    K[np.ix_(late, late)] += noise + noise.T
    model = SimilarityRegressor(Precomputed(K), random_state=1).fit(range(800), np.where(y == "up", 1.0, -1.0))
    assert model.landmark_curve_.x.tolist()[-2:] == [400, 800]
    assert model.landmark_curve_.y[-1] > model.landmark_curve_.y[-2]  # it did worse than the projection on half of them
    assert model.representation_.name == "similarities" and "800 landmarks" in model.representation_.reason
    K_left = K[:, model.landmark_indices_]
    F = K_left / np.linalg.norm(K_left, axis=1, keepdims=True) if model.representation_.normalized else K_left
    w, b = ridge_by_hand(F, np.where(y == "up", 1.0, -1.0)[:, None], np.ones(800), model.lam_)
    np.testing.assert_allclose(model.predict(range(800)), (F @ w + b)[:, 0], atol=1e-4)


# Explanations.


def estimators_and_data():
    """Models of every kind, each with new objects to explain, and the similarity of a new object to a training one."""
    K = Gaussian(sigma=1.0).cross(X, X)
    new = Gaussian(sigma=1.0).cross(Z, X)
    for name, k in {"plain": Gaussian(sigma=1.0), "lopsided": LOPSIDED, "indefinite": INDEFINITE}.items():
        for objective in L2_OBJECTIVES:
            yield (
                f"{name} {objective}",
                SimilarityClassifier(k, **OBJECTIVES[objective], n_landmarks=30),
                X,
                Z,
                [k.cross(Z, X)],
            )
    several = [Gaussian(sigma=1.0), LOPSIDED, "linear"]
    crosses = [Gaussian(sigma=1.0).cross(Z, X), lopsided(Z, X), Z @ X.T]
    yield "several", SimilarityClassifier(several, n_landmarks=20), X, Z, crosses
    yield "sparse", SimilarityClassifier(INDEFINITE, n_landmarks=8, penalty="l1"), X, Z, [indefinite(Z, X)]
    yield "right", SimilarityClassifier(LOPSIDED, side="right", n_landmarks=30), X, Z, [lopsided(X, Z).T]
    yield "precomputed", SimilarityClassifier("precomputed"), K, new, [new]


ESTIMATORS = {name: rest for name, *rest in estimators_and_data()}


LONG = [f"{k} {loss}" for k in ("lopsided", "indefinite") for loss in ("logistic", "squared_hinge")]


@pytest.mark.usefixtures("without_evaluation")
@pytest.mark.usefixtures("few_penalties")
@pytest.mark.parametrize(
    ("name", "labels"),
    [
        pytest.param(*cell.values, marks=pytest.mark.deep if cell.values[0] in LONG else cell.marks)
        for cell in thin(list(ESTIMATORS), ["two", "three"])
    ],
)
def test_contributions_sum_up_to_the_score(name, labels):
    model, objects, new, crosses = ESTIMATORS[name]
    y = {"two": TWO, "three": THREE}[labels]
    model = clone(model).fit(objects, y)
    scores, answers = columns_of(model.decision_function(new)), model.predict(new)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "weights of landmarks cancel")
        explained = model.explain(new, by="landmarks", against=None)
    assert len(explained) == len(new)
    K = np.hstack(crosses)
    for i, why in enumerate(explained):
        own = int(np.flatnonzero(model.classes_ == answers[i])[0])
        column, sign = (0, 2 * own - 1) if labels == "two" else (own, 1)
        assert why.prediction == answers[i]
        assert why.base == sign * model.intercept_[column]
        size = np.abs(why.influences).sum() + abs(why.base)
        assert why.score == pytest.approx(sign * scores[i, column], rel=1e-9, abs=1e-9 * size)
        assert math.fsum([*why.influences, why.base]) == pytest.approx(why.score, rel=1e-9, abs=1e-12 * size)
        assert (np.diff(np.abs(why.influences)) <= 0).all()  # those that count most come first
        assert len(why.examples) == len(why.positions) == len(why.similarities) == len(why.influences)
        if len(crosses) == 1:
            np.testing.assert_allclose(why.similarities, K[i, why.positions], atol=1e-12)
            assert len(set(why.positions.tolist())) == len(why.positions)
        if objects is X:
            for landmark, position in zip(why.examples, why.positions, strict=True):
                np.testing.assert_array_equal(landmark, X[position])
    if len(explained[0].examples):
        assert f"{explained[0].influences[0]:+.4g}" in str(explained[0])


@pytest.mark.usefixtures("without_evaluation")
def test_numbers_are_explained_for_each_output():
    both = np.stack([Y, X[:, 2]], axis=1)
    model = SimilarityRegressor(n_landmarks=20).fit(X, both)
    for output in (0, 1):
        for i, why in enumerate(model.explain(Z, output=output)):
            assert why.score == why.prediction == model.predict(Z)[i, output]
            assert why.influences.sum() + why.base == pytest.approx(why.score, rel=1e-9)
            assert why.base == pytest.approx(both[:, output].mean())
    for wrong in (2, -1):
        with pytest.raises(ValueError, match="output must be from 0 to 1"):
            model.explain(Z, output=wrong)


def test_landmarks_are_shown_as_the_objects_that_they_are():
    words = ["kernel", "kern", "kernels", "margin", "margins", "marginal"]
    model = SimilarityClassifier(FromPairs(shared_letters)).fit(words, ["k", "k", "k", "m", "m", "m"])
    why = model.explain(["kerning"])[0]
    assert set(why.examples) <= set(words)
    assert [words[i] for i in why.positions] == why.examples
    assert all(
        value == shared_letters("kerning", word) for value, word in zip(why.similarities, why.examples, strict=True)
    )
    assert repr(why.examples[0]) in str(why)
    mine = SimilarityClassifier(FromPairs(shared_letters), landmarks=["ab", "mn"]).fit(words, [0, 0, 0, 1, 1, 1])
    assert mine.explain(["kerning"])[0].positions is None
    assert mine.landmark_indices_ is None
    assert set(mine.landmarks_) <= {"ab", "mn"}


# Heads.


@pytest.mark.usefixtures("few_penalties")
@pytest.mark.parametrize(
    ("objective", "labels", "similarity"),
    thin(L2_OBJECTIVES, ["two", "three"], [Gaussian(), INDEFINITE], together=2),
)
def test_probabilities_agree_with_answers(objective, labels, similarity):
    y = {"two": TWO, "three": THREE}[labels]
    model = SimilarityClassifier(similarity, **OBJECTIVES[objective], n_landmarks=40).fit(X, y)
    assert model.loss_ == OBJECTIVES[objective]["loss"]
    shares = model.predict_proba(Z)
    assert shares.shape == (len(Z), len(np.unique(y))) and (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[shares.argmax(axis=1)], model.predict(Z))
    if similarity is not INDEFINITE:
        assert model.score(X, y) > 0.85
    assert model.held_out_error_.low <= model.held_out_error_.value <= model.held_out_error_.high


@pytest.mark.parametrize("objective", L2_OBJECTIVES)
def test_probabilities_are_probable(objective):
    """On a problem with known odds the mean surprise is near the best there is."""
    local = np.random.default_rng(1)
    x = local.uniform(-2, 2, (1500, 1))
    odds = 1 / (1 + np.exp(-2 * x[:, 0]))
    y = local.random(1500) < odds
    shares = (
        SimilarityClassifier(Gaussian(sigma=1.0), **OBJECTIVES[objective], n_landmarks=25)
        .fit(x[:700], y[:700])
        .predict_proba(x[700:])
    )
    best = -np.mean(np.log(np.where(y[700:], odds[700:], 1 - odds[700:])))
    assert -np.mean(np.log(shares[np.arange(800), y[700:].astype(int)])) < best + 0.05


# The sparse model, which chooses among landmarks.


@pytest.mark.parametrize("estimator", [SimilarityClassifier, SimilarityRegressor])
@pytest.mark.deep
def test_few_landmarks_are_used_and_no_other_is_asked(estimator):
    called = []

    def near(x, z):
        called.append(z)
        return math.exp(-10 * (x - z) ** 2)

    points = np.linspace(0, 1, 40).tolist()
    y = [1.0 * (p > 0.5) for p in points]
    model = estimator(near, penalty="l1", n_landmarks=25).fit(points, y)
    assert 0 < model.n_similarity_calls_ < 18
    assert len(model.landmarks_) == model.n_similarity_calls_ == len(model.landmark_indices_)
    called.clear()
    model.predict([0.2, 0.9, 0.4])
    assert len(called) == 3 * model.n_similarity_calls_
    assert set(called) == set(model.landmarks_)
    assert [points[i] for i in model.landmark_indices_] == list(model.landmarks_)
    assert np.mean(np.round(model.predict(points)) == y) > 0.95


@pytest.mark.parametrize("several", [False, True])
def test_a_prediction_costs_what_is_said(several):
    calls = Counter()

    def counted(k):
        def f(x, z):
            calls[k] += 1
            return float(k(x[None], z[None])[0, 0])

        return FromPairs(f)

    similarity = [counted(lopsided), counted(indefinite)] if several else counted(lopsided)
    model = SimilarityClassifier(similarity, n_landmarks=8, penalty="l1").fit(X[:40], TWO[:40])
    calls.clear()
    model.predict(Z)
    assert sum(calls.values()) == len(Z) * model.n_similarity_calls_
    assert 0 < model.n_similarity_calls_ <= 16
    representation = model.representation_[0] if several else model.representation_
    assert representation.side == "left" and not representation.normalized  # lengths would need every landmark


@pytest.mark.deep
def test_the_sparse_model_is_a_model_like_others():
    few, y = X[:40], TWO[:40]
    weights = np.where(np.arange(40) % 4 == 0, 0.0, 1.0)
    kept = weights > 0
    whole = SimilarityClassifier(INDEFINITE, landmarks=X[:6], penalty="l1").fit(few, y, weights)
    fewer = SimilarityClassifier(INDEFINITE, landmarks=X[:6], penalty="l1").fit(few[kept], y[kept])
    np.testing.assert_allclose(whole.decision_function(Z), fewer.decision_function(Z), atol=1e-8)
    shares = whole.predict_proba(Z)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_array_equal(whole.classes_[shares.argmax(axis=1)], whole.predict(Z))
    assert whole.held_out_error_.low <= whole.held_out_error_.value <= whole.held_out_error_.high
    other = "same" if (whole.predict(few) == "other").sum() > 20 else "other"  # the class that loses ties
    heavy = SimilarityClassifier(INDEFINITE, landmarks=X[:6], penalty="l1", class_weight={other: 9.0}).fit(few, y)
    assert (heavy.predict(few) == other).sum() > (whole.predict(few) == other).sum()


# What is kept.


def arrays_in(thing, seen=None):
    """Every array and list reachable from an object."""
    seen = set() if seen is None else seen
    if id(thing) in seen or isinstance(thing, (str, bytes, type)):
        return
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        yield thing
    elif isinstance(thing, dict):
        for value in thing.values():
            yield from arrays_in(value, seen)
    elif isinstance(thing, (list, tuple)):
        yield thing
        for value in thing:
            yield from arrays_in(value, seen)
    elif hasattr(thing, "__dict__"):
        yield from arrays_in(vars(thing), seen)


@pytest.mark.usefixtures("few_penalties")
@pytest.mark.parametrize(("similarity", "objective"), thin([Gaussian(), LOPSIDED, "precomputed"], L2_OBJECTIVES))
def test_the_model_keeps_landmarks_and_never_the_training_set(similarity, objective):
    n = 331
    local = np.random.default_rng(3)
    objects = local.standard_normal((n, 3))
    y = objects[:, 0] > 0
    given = Gaussian(sigma=1.0).cross(objects, objects) if similarity == "precomputed" else objects
    model = SimilarityClassifier(similarity, **OBJECTIVES[objective], n_landmarks=15).fit(given, y)
    held = {name: value for name, value in vars(model).items() if name not in model.get_params(deep=False)}
    for array in arrays_in(held):
        assert n not in np.shape(array), "something with a row for each training object"
    few = given[:60, :60]
    small = SimilarityClassifier(similarity, **OBJECTIVES[objective], n_landmarks=15).fit(few, y[:60])
    assert len(pickle.dumps(model)) < 1.3 * len(pickle.dumps(small)) + 2000


def test_words_are_not_kept_either():
    words = [f"word {i} of many" for i in range(2000)]
    model = SimilarityClassifier(FromPairs(shared_letters), n_landmarks=5).fit(words, [i % 2 for i in range(2000)])
    assert len(pickle.dumps(model)) < 10_000


# How often the similarity is asked.


@pytest.mark.parametrize(
    ("estimator", "kind", "n_landmarks"),
    thin([SimilarityClassifier, SimilarityRegressor], ["kernel", "indefinite", "lopsided"], [12, "auto"], together=2),
)
def test_each_pair_is_compared_once_and_landmarks_once_more(estimator, kind, n_landmarks):
    calls = Counter()
    points = np.linspace(0, 3, 150)

    def f(i, j):
        calls[i, j] += 1
        x, z = points[i], points[j]
        return {
            "kernel": math.exp(-((x - z) ** 2)),
            "indefinite": math.tanh(x * z - 2),
            "lopsided": math.sin(x - 2 * z),
        }[kind]

    y = np.sin(7 * points) > 0
    cheap = FromPairs(f, cost=0)  # a costly one is fitted frugally
    model = estimator(cheap, n_landmarks=n_landmarks).fit(
        list(range(150)), y if estimator is SimilarityClassifier else 1.0 * y
    )
    drawn = int(model.landmark_curve_.x.max())
    sides = 2 if model.representation_.side == "both" else 1
    looked = drawn if n_landmarks == 12 else 150
    assert sum(calls.values()) <= sides * 150 * drawn + looked**2
    assert max(calls.values()) <= sides + 1
    assert sum(calls.values()) >= sides * 150 * drawn
    if n_landmarks == 12:
        assert drawn == 12


def test_a_pulled_back_function_is_called_a_few_times_for_each_object():
    calls = Counter()

    def feature(i):
        calls[i] += 1
        return [float(np.sin(i)), float(i % 7)]

    SimilarityClassifier(Gaussian().pullback(feature)).fit(list(range(120)), [i % 2 for i in range(120)])
    assert max(calls.values()) <= 4


# The scale.


def two_clusters():
    """Stripes that are narrow beside the distance between two heaps: the median is far too wide."""
    local = np.random.default_rng(0)
    x = np.concatenate([local.uniform(0, 1, 150), local.uniform(20, 21, 150)])[:, None]
    return x, np.sin(12 * x[:, 0]) > 0


def test_a_scale_left_open_is_chosen_among_multiples_of_the_median():
    objects, y = two_clusters()
    median = Gaussian().resolve(objects).sigma
    model = SimilarityClassifier("gaussian").fit(objects, y)
    factor = model.similarity_.sigma / median
    assert np.abs(np.array(MULTIPLES) - factor).min() < 1e-9
    assert factor == pytest.approx(min(MULTIPLES))
    assert model.similarity == "gaussian"  # the parameter stays
    fixed = SimilarityClassifier(Gaussian(sigma=median)).fit(objects, y)
    assert model.score(objects, y) > fixed.score(objects, y) + 0.05


def test_a_scale_too_narrow_is_widened():
    local = np.random.default_rng(0)
    pairs = np.repeat(local.uniform(0, 100, (100, 2)), 2, axis=0) + 1e-3 * local.standard_normal((200, 2))
    heap = np.vstack([1e-3 * local.standard_normal((600, 2)), pairs])  # most distances are tiny
    y = heap[:, 0] + heap[:, 1]
    model = SimilarityRegressor("gaussian").fit(heap, y)
    assert model.similarity_.sigma == pytest.approx(max(MULTIPLES) * Gaussian().resolve(heap).sigma)


def test_a_scale_that_was_given_is_not_touched():
    for sigma in (0.01, 3.0):
        model = SimilarityClassifier(Gaussian(sigma=sigma)).fit(X, TWO)
        assert model.similarity_ == Gaussian(sigma=sigma)
    mixed = SimilarityClassifier([Gaussian(sigma=0.3), Gaussian()]).fit(X, TWO)
    assert mixed.similarity_[0] == Gaussian(sigma=0.3)
    assert isinstance(mixed.similarity_[1].sigma, float)


@pytest.mark.parametrize(
    ("similarity", "name"),
    [
        (Gaussian() + Linear(), "k1__sigma"),
        (Gaussian() * Gaussian(), "k1__sigma"),
        (Gaussian().pullback(lambda x: x[:2]), "k__sigma"),
        (2.0 * Gaussian(), None),
    ],
    ids=["sum", "product", "pullback", "multiple"],
)
def test_scales_inside_composites(similarity, name):
    model = SimilarityClassifier(similarity).fit(X, TWO)
    assert not model.similarity_.unresolved()
    assert similarity.unresolved()  # what was given stays open
    if name is not None:
        sigma = model.similarity_.get_params()[name]
        median = similarity.resolve(X).get_params()[name]
        assert np.abs(np.array(MULTIPLES) - sigma / median).min() < 1e-9
    assert model.score(X, TWO) > 0.9


# The manners of an estimator.


def test_parameters_inside_the_similarity():
    model = SimilarityClassifier().set_params(similarity__sigma=2.0)
    assert model.similarity == Gaussian(sigma=2.0)
    assert model.fit(X, TWO).similarity_.sigma == 2.0
    search = GridSearchCV(SimilarityClassifier(n_landmarks=30), {"similarity__sigma": [0.05, 0.8]}, cv=3).fit(X, TWO)
    assert search.best_params_ == {"similarity__sigma": 0.8}
    both = SimilarityClassifier(Gaussian() + Linear()).set_params(similarity__k1__sigma=3.0)
    assert both.get_params()["similarity__k1__sigma"] == 3.0


def test_clones_and_copies_agree():
    for similarity in ("gaussian", [Gaussian(), "linear"], FromBlocks(lopsided, objects="vectors")):
        model = SimilarityClassifier(similarity, n_landmarks=20, random_state=3).fit(X, TWO)
        fresh = clone(model).fit(X, TWO)
        np.testing.assert_array_equal(model.decision_function(Z), fresh.decision_function(Z))
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.decision_function(Z), model.decision_function(Z))
        assert again.explain(Z[:1])[0].score == model.explain(Z[:1])[0].score


@pytest.mark.parametrize("similarity", ["gaussian", LOPSIDED], ids=["kernel", "lopsided"])
def test_the_same_seed_gives_the_same_model(similarity):
    def fitted(seed):
        return SimilarityClassifier(similarity, n_landmarks=10, random_state=seed).fit(X, TWO)

    np.testing.assert_array_equal(fitted(1).landmark_indices_, fitted(1).landmark_indices_)
    np.testing.assert_array_equal(fitted(1).decision_function(Z), fitted(1).decision_function(Z))
    assert set(fitted(1).landmark_indices_) != set(fitted(2).landmark_indices_)
    np.testing.assert_array_equal(fitted(None).decision_function(Z), fitted(None).decision_function(Z))


@pytest.mark.usefixtures("without_evaluation")
def test_the_number_of_landmarks_grows_while_that_helps():
    local = np.random.default_rng(0)
    objects = local.uniform(0, 1, (1500, 2))
    easy = SimilarityClassifier(Gaussian(sigma=0.5)).fit(objects, objects[:, 0] > 0.5)
    assert easy.landmark_curve_.x.max() <= 400
    assert "did as well as all pilot rows" in easy.landmark_curve_.reason
    hard = SimilarityClassifier(Gaussian(sigma=0.03)).fit(objects, (np.floor(12 * objects).sum(axis=1) % 2).astype(int))
    assert hard.landmark_curve_.x.max() > 400
    assert (np.diff(hard.landmark_curve_.x) > 0).all() and hard.landmark_curve_.x[0] == 100
    assert hard.landmark_curve_.y[-1] < hard.landmark_curve_.y[0]
    assert (hard.landmark_curve_.low <= hard.landmark_curve_.y).all() and (
        hard.landmark_curve_.y <= hard.landmark_curve_.high
    ).all()


def test_more_landmarks_than_objects_are_all_objects():
    with pytest.warns(UserWarning, match=r"n_landmarks = 200 exceeds the 90 objects .*: 90 used"):
        model = SimilarityClassifier(n_landmarks=200).fit(X, TWO)
    assert model.landmark_curve_.x.tolist() == [90]


# Where landmarks come from.


def test_landmarks_by_position_and_by_object_are_the_same():
    where = np.array([3, 70, 11, 40])
    by_place = SimilarityClassifier(Gaussian(sigma=1.0), landmark_indices=where).fit(X, TWO)
    by_object = SimilarityClassifier(Gaussian(sigma=1.0), landmarks=X[where]).fit(X, TWO)
    np.testing.assert_allclose(by_place.decision_function(Z), by_object.decision_function(Z))
    assert set(by_place.landmark_indices_) == set(where.tolist())
    assert by_object.landmark_indices_ is None
    np.testing.assert_array_equal(by_place.landmarks_, X[by_place.landmark_indices_])
    back = SimilarityClassifier(Gaussian(sigma=1.0), landmark_indices=where - 90).fit(X, TWO)
    np.testing.assert_array_equal(back.decision_function(Z), by_place.decision_function(Z))


def test_landmarks_from_a_pool_without_labels():
    pool = rng.standard_normal((200, 3)) + 1.0
    model = SimilarityClassifier(unlabeled=pool, n_landmarks=30).fit(X, TWO)
    assert model.landmark_indices_ is None
    known = {tuple(row) for row in pool}
    assert {tuple(row) for row in model.landmarks_} <= known
    assert len(model.landmarks_) <= 30
    assert model.score(X, TWO) > 0.8
    for rule in ("kmeans++", "rpcholesky", "diverse", "leverage"):
        chosen = SimilarityClassifier(Gaussian(sigma=1.0), unlabeled=pool, landmarks=rule, n_landmarks=15).fit(X, TWO)
        assert {tuple(row) for row in chosen.landmarks_} <= known
    many = SimilarityRegressor(unlabeled=pool).fit(X[:10], Y[:10])  # more landmarks than examples
    assert np.isfinite(many.predict(Z)).all()


@pytest.mark.parametrize("rule", ["uniform", "stratified", "kmeans++", "rpcholesky", "leverage", "diverse"])
def test_landmarks_by_every_rule(rule):
    model = SimilarityClassifier(Gaussian(sigma=1.0), landmarks=rule, n_landmarks=25).fit(X, TWO)
    assert model.landmark_curve_.x.tolist() == [25]
    assert len(set(model.landmark_indices_.tolist())) == len(model.landmark_indices_) <= 25
    np.testing.assert_array_equal(model.landmarks_, X[model.landmark_indices_])
    assert model.score(X, TWO) > 0.8


@pytest.mark.usefixtures("without_evaluation")
def test_a_rare_class_has_landmarks_of_its_own():
    rare = np.array(["common"] * 86 + ["rare"] * 4)
    for seed in range(5):
        model = SimilarityClassifier(INDEFINITE, n_landmarks=6, random_state=seed, side="left").fit(X, rare)
        drawn = SimilarityClassifier(INDEFINITE, n_landmarks=6, random_state=seed).fit(X, rare)
        assert (rare[drawn.landmark_indices_] == "rare").any()
        assert (rare[model.landmark_indices_] == "rare").any()


def test_a_matrix_instead_of_objects():
    K = Gaussian(sigma=1.0).cross(X, X)
    matrix = SimilarityClassifier("precomputed", n_landmarks=20).fit(K, TWO)
    new = Gaussian(sigma=1.0).cross(Z, X)
    indices = SimilarityClassifier(Precomputed(np.vstack([K, new])[:, :90]), n_landmarks=20).fit(np.arange(90), TWO)
    objects = SimilarityClassifier(
        FromBlocks(lambda A, B: np.exp(-((A[:, None] - B) ** 2).sum(-1) / 2)), n_landmarks=20
    )
    objects.fit(X, TWO)
    np.testing.assert_allclose(matrix.decision_function(new), objects.decision_function(Z), atol=1e-8)
    np.testing.assert_allclose(indices.decision_function(np.arange(90, 115)), objects.decision_function(Z), atol=1e-8)
    assert matrix.similarity_ == "precomputed"
    np.testing.assert_array_equal(matrix.landmark_indices_, objects.landmark_indices_)
    with pytest.raises(ValueError, match="30 "):
        matrix.predict(new[:, :30])


def test_cross_validation_cuts_a_matrix_both_ways():
    K = Gaussian(sigma=1.0).cross(X, X)
    by_matrix = cross_val_score(SimilarityClassifier("precomputed", n_landmarks=30), K, TWO, cv=4)
    whole = SimilarityClassifier(Precomputed(K), n_landmarks=30)
    np.testing.assert_array_equal(by_matrix, cross_val_score(whole, np.arange(90), TWO, cv=4))
    assert by_matrix.mean() > 0.7


def test_several_similarities_together_know_more_than_each():
    local = np.random.default_rng(0)
    points = local.uniform(-1, 1, (300, 2))
    y = (points[:, 0] > 0) != (np.sin(9 * points[:, 1]) > 0)
    first = FromBlocks(lambda A, B: np.exp(-20 * (A[:, :1] - B[:, 0]) ** 2), objects="vectors")
    second = FromBlocks(lambda A, B: np.exp(-20 * (A[:, 1:] - B[:, 1]) ** 2), objects="vectors")
    both = FromBlocks(lambda A, B: np.exp(-20 * ((A[:, None] - B) ** 2).sum(-1)), objects="vectors")
    model = SimilarityClassifier([first, second, both], n_landmarks=100).fit(points, y)
    alone = [SimilarityClassifier(k, n_landmarks=100).fit(points, y) for k in (first, second)]
    assert model.held_out_error_.value < min(one.held_out_error_.value for one in alone) - 0.1
    assert (
        len(model.representation_)
        == len(model.similarity_)
        == len(model.landmarks_)
        == len(model.landmark_indices_)
        == 3
    )
    assert model.n_similarity_calls_ == sum(len(one) for one in model.landmarks_)


def test_one_similarity_in_a_list_is_that_similarity():
    alone = SimilarityClassifier(Gaussian(sigma=1.0), n_landmarks=20).fit(X, TWO)
    listed = SimilarityClassifier([Gaussian(sigma=1.0)], n_landmarks=20).fit(X, TWO)
    np.testing.assert_allclose(listed.decision_function(Z), alone.decision_function(Z))
    assert listed.similarity_ == [Gaussian(sigma=1.0)]


def test_the_unit_of_a_similarity_beside_others_does_not_matter():
    wide = FromBlocks(lambda A, B: 1e6 * np.tanh(A @ B.T - 0.5), objects="vectors")
    one = SimilarityClassifier([Gaussian(sigma=1.0), INDEFINITE], landmark_indices=range(20)).fit(X, TWO)
    other = SimilarityClassifier([Gaussian(sigma=1.0), wide], landmark_indices=range(20)).fit(X, TWO)
    np.testing.assert_allclose(one.decision_function(Z), other.decision_function(Z), atol=1e-7)


# Weights.

GIVEN = {"similarity": Gaussian(sigma=1.0), "landmark_indices": range(20)}


@pytest.mark.usefixtures("few_penalties", "without_evaluation")
@pytest.mark.parametrize(("objective", "similarity"), thin(L2_OBJECTIVES, [Gaussian(sigma=1.0), LOPSIDED]))
def test_a_weight_of_zero_is_no_example(objective, similarity):
    landmarks = X[:15]
    weights = np.where(np.arange(90) % 4 == 0, 0.0, 1.0 + np.arange(90) % 3)
    kept = weights > 0
    for y in (TWO, THREE):
        whole = SimilarityClassifier(similarity, landmarks=landmarks, **OBJECTIVES[objective]).fit(X, y, weights)
        fewer = SimilarityClassifier(similarity, landmarks=landmarks, **OBJECTIVES[objective]).fit(
            X[kept], y[kept], weights[kept]
        )
        np.testing.assert_allclose(whole.decision_function(Z), fewer.decision_function(Z), atol=1e-8)
        np.testing.assert_allclose(whole.predict_proba(Z), fewer.predict_proba(Z), atol=1e-8)


def test_a_weight_of_two_is_an_example_twice():
    """At the same penalty: which is best for examples left out depends on whether a twin stays."""
    weights = (1 + np.arange(90) % 3).astype(float)
    twice = np.repeat(np.arange(90), weights.astype(int))
    weighted = SimilarityRegressor(Gaussian(sigma=1.0), landmarks=X).fit(X, Y, weights)
    repeated = KernelRidge(Gaussian(sigma=1.0), lam=weighted.lam_).fit(X[twice], Y[twice])
    np.testing.assert_allclose(weighted.predict(Z), repeated.predict(Z), atol=1e-6)
    for y in (TWO, THREE):
        model = SimilarityClassifier(INDEFINITE, landmark_indices=range(0, 90, 3)).fit(X, y, weights)
        L = X[model.landmark_indices_]
        F = indefinite(X[twice], L), indefinite(Z, L)
        if model.representation_.normalized:
            F = tuple(one / np.linalg.norm(one, axis=1, keepdims=True) for one in F)
        w, b = ridge_by_hand(F[0], codes(y[twice]), np.ones(len(twice)), model.lam_)
        np.testing.assert_allclose(columns_of(model.decision_function(Z)), F[1] @ w + b, atol=1e-6)


def test_class_weights_move_the_decision():
    rare = np.where(X[:, 0] + 0.5 * rng.standard_normal(90) > 1.0, "rare", "common")
    plain = SimilarityClassifier(**GIVEN).fit(X, rare)
    balanced = SimilarityClassifier(**GIVEN, class_weight="balanced").fit(X, rare)
    assert (balanced.predict(X) == "rare").sum() > (plain.predict(X) == "rare").sum()
    counts = {name: (rare == name).sum() for name in ("rare", "common")}
    by_hand_ = {name: 90 / (2 * count) for name, count in counts.items()}
    explicit = SimilarityClassifier(**GIVEN, class_weight=by_hand_).fit(X, rare)
    np.testing.assert_allclose(explicit.decision_function(Z), balanced.decision_function(Z))
    weights = np.where(rare == "rare", by_hand_["rare"], by_hand_["common"])
    weighted = SimilarityClassifier(**GIVEN).fit(X, rare, weights)
    np.testing.assert_allclose(weighted.decision_function(Z), balanced.decision_function(Z))
    strong = SimilarityClassifier(**GIVEN, class_weight={"rare": 1e3, "common": 1.0}).fit(X, rare)
    assert (strong.predict(X) == "rare").mean() > 0.5


@pytest.mark.usefixtures("few_penalties")
@pytest.mark.parametrize("objective", L2_OBJECTIVES)
def test_class_weights_reach_every_loss(objective):
    rare = np.where(X[:, 0] + 0.5 * np.sin(9 * X[:, 1]) > 1.0, 1, 0)
    plain = SimilarityClassifier(**GIVEN, **OBJECTIVES[objective]).fit(X, rare)
    weighted = SimilarityClassifier(**GIVEN, **OBJECTIVES[objective], class_weight={0: 1.0, 1: 20.0}).fit(X, rare)
    assert weighted.predict(X).sum() > plain.predict(X).sum()


# Many examples.


@pytest.fixture
def streaming(monkeypatch):
    """A few examples are looked at while choices are made; the rest is learned in one pass."""
    monkeypatch.setattr(limits, "SAMPLE_ROWS", 40)


@pytest.mark.parametrize("side", ["auto", "right"])
@pytest.mark.parametrize("k", [lopsided, indefinite], ids=["lopsided", "indefinite"])
def test_a_stream_gives_the_model_of_all_examples(streaming, k, side):
    weights = rng.uniform(0.5, 1.5, len(X))
    for y in (TWO, THREE):
        similarity = FromBlocks(k, objects="vectors")
        model = SimilarityClassifier(similarity, landmark_indices=np.arange(0, 90, 4), side=side).fit(X, y, weights)
        found = columns_of(model.decision_function(Z))
        np.testing.assert_allclose(found, by_hand(k, model, X, codes(y), weights), rtol=1e-5, atol=1e-6)


def test_a_stream_of_projected_features_is_kernel_ridge_regression(streaming):
    model = SimilarityRegressor(Gaussian(sigma=1.0), landmark_indices=range(90)).fit(X, Y)
    exact = KernelRidge(Gaussian(sigma=1.0), lam=model.lam_).fit(X, Y)
    np.testing.assert_allclose(model.predict(Z), exact.predict(Z), atol=1e-6)
    assert model.held_out_error_.value > 0


@pytest.mark.usefixtures("few_penalties")
@pytest.mark.parametrize("objective", L2_OBJECTIVES)
@pytest.mark.parametrize("similarity", ["gaussian", [Gaussian(), LOPSIDED]], ids=["one", "two"])
def test_every_loss_learns_from_a_stream(streaming, objective, similarity):
    model = SimilarityClassifier(similarity, **OBJECTIVES[objective], n_landmarks=30).fit(X, TWO)
    assert model.score(X, TWO) > 0.85
    again = SimilarityClassifier(similarity, **OBJECTIVES[objective], n_landmarks=30).fit(X, TWO)
    np.testing.assert_array_equal(model.decision_function(Z), again.decision_function(Z))


def test_some_thousand_examples_are_judged_by_a_part_held_out():
    local = np.random.default_rng(2)
    objects = local.standard_normal((5400, 2))
    y = objects[:, 0] + 0.5 * local.standard_normal(5400) > 0
    model = SimilarityClassifier(FromBlocks(indefinite, objects="vectors"), n_landmarks=12).fit(objects, y)
    found = model.held_out_error_
    assert found.value * 1080 == pytest.approx(round(found.value * 1080))  # a fifth of them
    assert found.low < found.value < found.high
    assert found.value == pytest.approx(1 - model.score(objects, y), abs=0.03)
    L = objects[model.landmark_indices_]

    def features(A):
        K = indefinite(A, L)
        return K / np.linalg.norm(K, axis=1, keepdims=True) if model.representation_.normalized else K

    w, b = ridge_by_hand(features(objects), codes(y), np.ones(5400), model.lam_)
    np.testing.assert_allclose(model.decision_function(Z[:, :2]), (features(Z[:, :2]) @ w + b)[:, 0], atol=1e-6)


# Batch by batch.


def test_batches_give_the_model_of_all_examples():
    for similarity, k in ((LOPSIDED, lopsided), (INDEFINITE, indefinite)):
        model = SimilarityClassifier(similarity, landmarks=X[:20])
        for part in (slice(0, 50), slice(50, 60), slice(60, 90)):
            model.partial_fit(X[part], TWO[part], classes=["other", "same"])
        placed = SimilarityClassifier(similarity, landmark_indices=range(20)).fit(X, TWO)
        placed.lam_, placed.representation_ = model.lam_, model.representation_
        np.testing.assert_allclose(
            model.decision_function(Z), by_hand(k, placed, X, codes(TWO), np.ones(90))[:, 0], rtol=1e-6, atol=1e-7
        )
    numbers = SimilarityRegressor(Gaussian(sigma=1.0), landmarks=X)
    for part in (slice(0, 50), slice(50, 90)):
        numbers.partial_fit(X[part], Y[part])
    exact = KernelRidge(Gaussian(sigma=1.0), lam=numbers.lam_).fit(X, Y)
    np.testing.assert_allclose(numbers.predict(Z), exact.predict(Z), atol=1e-6)


def test_batches_of_one_class_and_of_one_example():
    model = SimilarityClassifier(n_landmarks=20).partial_fit(X[:60], THREE[:60])
    same = THREE[60:] == "left"
    model.partial_fit(X[60:][same], THREE[60:][same])
    for i in range(60, 70):
        model.partial_fit(X[i : i + 1], THREE[i : i + 1])
    assert set(model.predict(X)) == {"left", "middle", "right"}
    assert model.score(X, THREE) > 0.8
    shares = model.predict_proba(Z)
    np.testing.assert_array_equal(model.classes_[shares.argmax(axis=1)], model.predict(Z))


def test_classes_that_come_later():
    early = THREE[:60] != "right"
    model = SimilarityClassifier(n_landmarks=15).partial_fit(X[:60][early], THREE[:60][early], classes=np.unique(THREE))
    model.partial_fit(X[60:], THREE[60:])
    assert set(model.predict(X)) == {"left", "middle", "right"}


def test_weights_in_batches():
    weights = np.where(np.arange(90) % 3 == 0, 0.0, 1.0)
    model = SimilarityRegressor(Gaussian(sigma=1.0), landmarks=X)
    for part in (slice(0, 50), slice(50, 90)):
        model.partial_fit(X[part], Y[part], sample_weight=weights[part])
    kept = weights > 0
    exact = KernelRidge(Gaussian(sigma=1.0), lam=model.lam_).fit(X[kept], Y[kept])
    # all 90 are landmarks: the projection is onto a larger span, which ridge regression does not use
    np.testing.assert_allclose(model.predict(Z), exact.predict(Z), atol=1e-6)
    few = np.where(np.isin(np.arange(12), [1, 2, 7]), 1.0, 0.0)
    for seed in range(5):
        first = SimilarityClassifier(random_state=seed).partial_fit(X[:12], TWO[:12], sample_weight=few)
        assert np.isfinite(first.decision_function(Z)).all()
        first.partial_fit(X[12:24], TWO[12:24], sample_weight=few)
        assert np.isfinite(first.held_out_error_.value)


def test_a_batch_that_fails_leaves_the_model_as_it_was():
    flaw = []

    def similar(x, z):
        if flaw and x is flaw[0]:
            raise RuntimeError("no such object")
        return shared_letters(x, z)

    words = ["".join(rng.choice(list("abcdefgh"), 4)) for _ in range(40)]
    y = ["a" in word for word in words]
    model = SimilarityClassifier(similar).partial_fit(words[:30], y[:30])
    before = model.decision_function(words)
    flaw.append(words[35])
    with pytest.raises(ValueError, match="no such object"):
        model.partial_fit(words[30:], y[30:])
    flaw.clear()
    np.testing.assert_array_equal(model.decision_function(words), before)
    other = SimilarityClassifier(similar).partial_fit(words[:30], y[:30])
    model.partial_fit(words[30:], y[30:])
    other.partial_fit(words[30:], y[30:])
    np.testing.assert_array_equal(model.decision_function(words), other.decision_function(words))


def test_a_batch_that_fails_late_leaves_the_model_as_it_was(monkeypatch):
    model = SimilarityRegressor(n_landmarks=10).partial_fit(X[:40], Y[:40])
    other = SimilarityRegressor(n_landmarks=10).partial_fit(X[:40], Y[:40])

    def interrupted(self):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Stream, "solve", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X[40:70], Y[40:70])
    np.testing.assert_array_equal(model.predict(Z), other.predict(Z))
    model.partial_fit(X[70:], Y[70:])
    other.partial_fit(X[70:], Y[70:])
    np.testing.assert_array_equal(model.predict(Z), other.predict(Z))


def test_fit_forgets_what_batches_taught():
    model = SimilarityClassifier(n_landmarks=10).partial_fit(X[:40], TWO[:40]).fit(X, TWO)
    fresh = SimilarityClassifier(n_landmarks=10).fit(X, TWO)
    np.testing.assert_array_equal(model.decision_function(Z), fresh.decision_function(Z))
    assert set(vars(model)) == set(vars(fresh))


# What is promised.


@pytest.mark.usefixtures("without_evaluation")
def test_a_projection_is_promised_what_its_size_allows():
    y = np.arange(700) % 2
    many = 0.3 * np.random.default_rng(0).standard_normal((700, 2)) + 4 * y[:, None]
    few = SimilarityClassifier(Gaussian(sigma=1.0), n_landmarks=100).fit(many, y).guarantee_
    assert few.grade == NONE and few.numbers["landmarks_drawn"] == 100
    model = SimilarityClassifier(Gaussian(sigma=1.0), n_landmarks=600).fit(many, y)
    enough = model.guarantee_
    assert enough.grade == CONDITIONAL and "proven: the landmarks are independent draws" in str(enough)
    assert "assumed: some separator of the classes has margin" in str(enough)
    numbers = enough.numbers
    assert numbers["landmarks_drawn"] == 600
    assert bounds.landmarks(numbers["epsilon"], numbers["margin"], numbers["delta"]) <= 600
    assert bounds.landmarks(numbers["epsilon"], 0.99 * numbers["margin"], numbers["delta"]) > 600
    assert "Theorem 1" in enough.theorem
    by_rule = SimilarityClassifier(Gaussian(sigma=1.0), n_landmarks=600, landmarks="kmeans++").fit(many, y).guarantee_
    assert by_rule.grade == NONE and "kmeans++" in by_rule.statement
    of_each = SimilarityClassifier(Gaussian(sigma=1.0), n_landmarks=600, landmarks="stratified").fit(many, y).guarantee_
    assert of_each.grade == NONE and "stratified" in of_each.statement
    chosen = SimilarityClassifier(n_landmarks=600).fit(many, y).guarantee_
    assert chosen.grade == NONE and "sigma was computed from the rows" in chosen.statement
    noisy = SimilarityClassifier(Gaussian(sigma=1.0), n_landmarks=600).fit(many, rng.permutation(y)).guarantee_
    assert noisy.grade == NONE and "no separator has a margin above" in noisy.statement


def test_more_choices_never_give_more_confidence():
    """The probability of failure is shared: the same delta, and a larger margin or gap is asked for."""
    found = [WIDE.made(Ask(), 1000, [], choices) for choices in (1, 5, 50)]
    assert {one.statement.partition(",")[0] for one in found} == {"with probability 0.95"}
    margins = [one.numbers["margin"] for one in found]
    assert margins == sorted(margins) and margins[0] < margins[-1]
    for choices, margin in zip((1, 5, 50), margins, strict=True):  # each statement alone fails with delta / choices
        assert bounds.landmarks(0.1, margin, 0.05 / choices) <= 1000
    sizes = np.array([400, 400])
    gaps = [class_gap(sizes, choices) for choices in (1, 5, 50)]
    assert gaps == sorted(gaps) and gaps[0] < gaps[-1]
    few = [guarantee_of_reasonable(20_000, 2, choices, []).numbers["gamma"] for choices in (1, 5, 50)]
    assert few == sorted(few) and few[0] < few[-1]


def of_one_length(A, B):
    """Indefinite, and as long for every object: nothing is gained by dividing by lengths."""
    return np.where(np.abs(A[:, None] - B).max(-1) < 1.0, 1.0, -1.0)


def promise(similarity, n_landmarks, **how):
    many = np.random.default_rng(0).standard_normal((320, 2))
    y = many[:, 0] > 0
    how = {"landmarks": "stratified", **how}
    model = SimilarityClassifier(similarity, n_landmarks=n_landmarks, **how).fit(many, y)
    representations = model.representation_ if isinstance(model.representation_, tuple) else [model.representation_]
    assert all(
        representation.name == "similarities" and not representation.normalized for representation in representations
    )
    return model.guarantee_


def test_similarities_are_promised_what_their_number_allows():
    k = FromBlocks(of_one_length, objects="vectors")
    few = promise(k, 60)
    assert few.grade == NONE and "too few" in few.statement
    found = promise(k, 300)
    assert found.grade == CONDITIONAL and "Theorem 2" in found.theorem
    fewest, gamma = found.numbers["landmarks_per_class"], found.numbers["gamma"]
    assert 100 < fewest <= 150
    # Three representations could have been chosen: projection, one side, both sides.
    pair = 1 / fewest + 1 / (300 - fewest)
    assert 3 * math.exp(-(gamma**2) / (8 * pair)) == pytest.approx(0.05**2)
    assert found.numbers["margin"] == pytest.approx(gamma / 2 / math.sqrt(pair * 300))
    goodness = next(one for one in found.premises if "more similar to their own class" in one.text)
    assert goodness.state == "assumed" and "of a sample are not" in goodness.evidence


@pytest.mark.usefixtures("without_evaluation")
def test_both_sides_and_several_similarities_share_the_margin():
    k = FromBlocks(of_one_length, objects="vectors")
    other = FromBlocks(lambda A, B: 0.1 * of_one_length(2 * A, 2 * B), objects="vectors")

    def share_of_gap(found):
        return found.numbers["margin"] / found.numbers["gamma"]

    alone = share_of_gap(promise(k, 300, side="left"))
    both_sides, several = promise(k, 300, side="both"), promise([k, k, k, k], 300, side="left")
    assert share_of_gap(both_sides) == pytest.approx(alone / math.sqrt(2))
    assert share_of_gap(several) == pytest.approx(alone / math.sqrt(4))
    uneven = promise([k, other], 300, side="left")  # brought to one length: the second was divided by a tenth as much
    assert share_of_gap(uneven) == pytest.approx(alone / math.sqrt(1 + 10**2))
    for found in (both_sides, several, uneven):
        assert found.grade == CONDITIONAL and "Theorem 3" in found.theorem
        assert any("convex combination" in one.text for one in found.premises)


def test_values_beyond_the_range_promise_nothing():
    k = FromBlocks(lambda A, B: 3 * of_one_length(A, B), objects="vectors")
    found = promise(k, 300)
    assert found.grade == NONE and "a value of magnitude 3 was seen" in found.statement


@pytest.mark.usefixtures("without_evaluation")
def test_nothing_is_promised_of_landmarks_by_a_rule_or_on_two_representations():
    k = FromBlocks(of_one_length, objects="vectors")
    assert promise(k, 300, landmarks="diverse").grade == NONE
    few = promise(k, 300, landmarks="uniform")
    assert few.grade == NONE and f"{bounds.reasonable_landmarks(0.5, 1.0, 0.1, 0.05 / 3):,}" in few.statement
    mixed = SimilarityClassifier([Gaussian(sigma=1.0), k], n_landmarks=80).fit(X, TWO)
    assert mixed.guarantee_.grade == NONE and "in different representations" in mixed.guarantee_.statement


def test_nothing_is_promised_of_numbers():
    found = SimilarityRegressor("gaussian").fit(X, Y).guarantee_
    assert found.grade == NONE and "classes" in found.statement


def test_the_held_out_error_covers_the_error():
    """It is an estimate: over a few samples it is near the error on new objects."""
    seen, true = [], []
    for seed in range(6):
        local = np.random.default_rng(seed)
        objects = local.standard_normal((1200, 2))
        y = (objects[:, 0] + 0.6 * local.standard_normal(1200)) > 0
        model = SimilarityClassifier(n_landmarks=30, random_state=seed).fit(objects[:200], y[:200])
        seen.append(model.held_out_error_.value)
        true.append(1 - model.score(objects[200:], y[200:]))
    assert abs(np.mean(seen) - np.mean(true)) < 0.04
