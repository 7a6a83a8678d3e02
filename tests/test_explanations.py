"""Explanations: predictions as sums over the training examples that decided them."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from grids import thin
from objectives import OBJECTIVES

from similitude import FromPairs, SimilarityClassifier, SimilarityRegressor, load, save
from similitude.estimators import Explanations
from similitude.evaluation import Trial
from similitude.kernels import Gaussian, Spectrum
from similitude.landmarks import LandmarkFeatures, Landmarks
from similitude.linear import Moments, Ridge, newton_step
from similitude.sources import Source

RNG = np.random.default_rng(5)
X = RNG.standard_normal((60, 3))
Z = RNG.standard_normal((7, 3))
TWO = np.where(X[:, 0] + 0.3 * RNG.standard_normal(60) > 0, "b", "a")
THREE = np.array(["u", "v", "w"])[np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])]
KERNEL = Gaussian(sigma=1.5)
LABELS = {"two": TWO, "three": THREE}


def codes(y):
    classes = np.unique(y)
    Y = np.where(y[:, None] == classes, 1.0, -1.0)
    return Y[:, 1:] if len(classes) == 2 else Y


def smoother(lam, new=Z, weights=None):
    """Return h_i(x), by the formula of the theory, with the landmarks at all rows."""
    s = np.ones(len(X)) if weights is None else weights
    F = np.linalg.cholesky(KERNEL.gram(X))  # features of the rows, in an orthonormal basis
    phi = np.linalg.solve(F, KERNEL.cross(X, new)).T
    mean = s @ F / s.sum()
    A = (F - mean).T @ (s[:, None] * (F - mean)) + lam * np.eye(len(X))
    return (phi - mean) @ np.linalg.solve(A, (F - mean).T * s)


def by_row(why):
    """Return the influences of one explanation in the order of the training rows."""
    found = np.zeros(len(X))
    found[why.positions] = why.influences
    return found


@pytest.mark.parametrize("labels", LABELS)
def test_influences_are_those_of_the_theory(labels):
    y = LABELS[labels]
    model = SimilarityClassifier(KERNEL, n_landmarks=60, random_state=0).fit(X, y)
    Y, scores = codes(y), model.decision_function(Z)
    h, mean = smoother(model.lam_), codes(y).mean(axis=0)
    for i, why in enumerate(model.explain(Z, by="examples", against=None)):
        own = int(np.flatnonzero(model.classes_ == why.prediction)[0])
        column, sign = (0, 2 * own - 1) if labels == "two" else (own, 1)
        np.testing.assert_allclose(by_row(why), sign * h[i] * (Y[:, column] - mean[column]), atol=1e-9)
        assert why.base == pytest.approx(sign * mean[column])
        assert why.score == sign * (scores[i] if labels == "two" else scores[i, column])
        assert why.base + why.influences.sum() == pytest.approx(why.score, abs=1e-12)
        assert why.labels == y[why.positions].tolist() and (why.counts == 1).all() and why.rest == 0


def test_changing_a_label_moves_the_prediction_by_what_its_influence_says():
    y = X[:, 0] ** 2 + X[:, 1]
    model = SimilarityRegressor(KERNEL, n_landmarks=60, random_state=0).fit(X, y)
    why = model.explain(Z[:1], by="examples")[0]
    first, lam = why.positions[0], model.lam_
    changed = y.copy()
    changed[first] = y.mean()  # had its label been average
    F = np.linalg.cholesky(KERNEL.gram(X))
    phi = np.linalg.solve(F, KERNEL.cross(X, Z[:1])).T

    def above_mean(targets):
        centered = F - F.mean(axis=0)
        w = np.linalg.solve(centered.T @ centered + lam * np.eye(60), centered.T @ (targets - targets.mean()))
        return float((phi - F.mean(axis=0))[0] @ w)

    assert above_mean(y) == pytest.approx(why.score - why.base, abs=1e-9)
    assert above_mean(y) - above_mean(changed) == pytest.approx(why.influences[0], abs=1e-9)


def test_planted_labels_decide_and_far_examples_do_not():
    rng = np.random.default_rng(0)
    near, far = rng.normal(0, 0.3, (20, 2)), rng.normal([8, 0], 0.3, (20, 2))
    alone = np.array([[0.0, 50.0]])
    points, y = np.vstack([near, far, alone]), np.array(["n"] * 20 + ["f"] * 20 + ["f"])
    y[3] = "f"  # a wrong label among the near ones
    why = (
        SimilarityClassifier(Gaussian(1.0), n_landmarks=41, random_state=0)
        .fit(points, y)
        .explain(near[:3].mean(0)[None], by="examples")[0]
    )
    added = np.zeros(41)
    added[why.positions] = why.influences
    assert why.prediction == "n" and added[3] < 0 and added[3] == added[:20].min()
    assert abs(added[40]) < 1.1 / 41  # no more than its part in the mean
    assert why.positions[0] < 20 and why.labels[0] == "n" and added[:20].max() > 2 * added[20:].max()


def pairs(x, z):
    return float(np.exp(-((np.asarray(x) - np.asarray(z)) ** 2).sum() / 4.5))


@pytest.mark.parametrize("labels", [*LABELS, "numbers"])
def test_groups_are_sums_of_examples(labels):
    y = LABELS.get(labels, X[:, 0] + X[:, 1] ** 2)
    kind, Y = (SimilarityRegressor, y[:, None]) if labels == "numbers" else (SimilarityClassifier, codes(y))
    model = kind(FromPairs(pairs, claims=("SYMMETRIC", "PSD")), n_landmarks=60, random_state=0).fit(X, y)
    h, K = smoother(model.lam_), KERNEL.gram(X)
    for i, why in enumerate(model.explain(Z, by="examples", **({} if labels == "numbers" else {"against": None}))):
        assert len(why.influences) <= 28 and why.counts.sum() == 60
        own = 0 if labels == "numbers" else int(np.flatnonzero(model.classes_ == why.prediction)[0])
        column, sign = (own, 1) if Y.shape[1] > 1 or labels == "numbers" else (0, 2 * own - 1)
        single = sign * h[i] * (Y[:, column] - Y[:, column].mean())
        heads = why.positions
        allowed = np.ones((60, len(heads)), bool) if labels == "numbers" else y[:, None] == np.array(why.labels)
        nearest = np.where(allowed, K[:, heads], -np.inf).argmax(axis=1)
        np.testing.assert_allclose(why.influences, np.bincount(nearest, single, len(heads)), atol=1e-7)
        np.testing.assert_array_equal(why.counts, np.bincount(nearest, minlength=len(heads)))
        if labels == "numbers":
            np.testing.assert_allclose(why.labels, np.bincount(nearest, y) / why.counts)
        assert why.base + why.influences.sum() == pytest.approx(why.score, abs=1e-9)


@pytest.mark.usefixtures("few_penalties")
@pytest.mark.parametrize("n", [pytest.param(60, marks=pytest.mark.deep), 20])
@pytest.mark.parametrize(("objective", "labels"), thin(list(OBJECTIVES), list(LABELS)))
def test_every_loss_and_penalty_is_a_sum_over_examples(objective, n, labels):
    y, n = LABELS[labels], n if OBJECTIVES[objective].get("penalty") != "l1" else n // 10
    model = SimilarityClassifier(KERNEL, n_landmarks=n, random_state=0, **OBJECTIVES[objective]).fit(X, y)
    scores, classes = model.decision_function(Z), model.classes_.tolist()
    for i, why in enumerate(model.explain(Z, by="examples")):
        assert why.base + why.influences.sum() + why.rest == pytest.approx(why.score, abs=1e-9)
        assert why.rest == 0 or (model.penalty_ == "l1" and abs(why.rest) < 0.1 * np.abs(why.influences).sum())
        assert why.counts.sum() == 60
        if labels == "two":
            assert why.score == abs(scores[i]) and {why.prediction, why.against} == set(classes)
        else:
            order = np.argsort(-scores[i])
            assert [why.prediction, why.against] == [classes[j] for j in order[:2]]
            assert why.score == pytest.approx(scores[i, order[0]] - scores[i, order[1]])


def test_weights_count_as_rows_do():
    twice = np.concatenate([np.arange(60), np.arange(0, 60, 2)])
    weights = np.where(np.arange(60) % 2 == 0, 2.0, 1.0)
    models = [
        SimilarityClassifier(KERNEL, landmark_indices=range(30), random_state=0).fit(X, TWO, sample_weight=weights),
        SimilarityClassifier(KERNEL, landmark_indices=range(30), random_state=0).fit(X[twice], TWO[twice]),
    ]
    h = smoother(models[0].lam_, weights=weights)
    assert h.sum(axis=1) == pytest.approx(np.zeros(len(Z)), abs=1e-9)
    one, other = (model.explain(Z[:1], by="examples")[0] for model in models)
    if models[0].lam_ == pytest.approx(models[1].lam_):
        assert sorted(one.influences) == pytest.approx(sorted(other.influences), abs=1e-6)
    assert one.counts.sum() == 60 and other.counts.sum() == 90


def test_the_class_that_is_asked_about():
    model = SimilarityClassifier(KERNEL, random_state=0).fit(X, THREE)
    scores = model.decision_function(Z)
    for i, why in enumerate(model.explain(Z, against="u")):
        other = "u" if why.prediction != "u" else why.against
        assert why.against == other != why.prediction
        own, against = (int(np.flatnonzero(model.classes_ == one)[0]) for one in (why.prediction, other))
        assert why.score == pytest.approx(scores[i, own] - scores[i, against])
    with pytest.raises(ValueError, match="against must be one of the classes"):
        model.explain(Z, against="x")
    with pytest.raises(ValueError, match="by must be one of 'auto', 'examples', 'landmarks'"):
        model.explain(Z, by="weights")


def many(n):
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((n, 3))
    return rows, np.where(rows[:, 0] * rows[:, 1] > 0, "p", "q")


def same(one, other, tolerance):
    assert len(one) == len(other) > 0
    for a, b in zip(one, other, strict=True):
        assert (a.prediction, a.against) == (b.prediction, b.against)
        by_head = [dict(zip(x.positions.tolist(), x.influences, strict=True)) for x in (a, b)]
        assert by_head[0].keys() == by_head[1].keys()
        assert [by_head[0][k] for k in by_head[0]] == pytest.approx([by_head[1][k] for k in by_head[0]], abs=tolerance)
        assert sorted(a.counts) == sorted(b.counts)


def test_one_pass_over_batches_keeps_the_same_groups():
    rows, y = many(21_000)
    asked = {"n_landmarks": 40, "random_state": 0}
    here = SimilarityClassifier(KERNEL, **asked).fit(rows, y)
    there = SimilarityClassifier(KERNEL, **asked).fit(Source(rows, y))
    whys = here.explain(Z, by="examples"), there.explain(Z, by="examples")
    same(*whys, 1e-9)
    assert whys[0][0].counts.sum() == 21_000
    small = [SimilarityClassifier(KERNEL, n_landmarks=40, random_state=0).fit(rows[:500], y[:500]) for _ in range(2)]
    same(small[0].explain(Z), small[1].explain(Z), 0.0)


def test_a_stream_explains_itself():
    rows, y = many(900)
    model = SimilarityClassifier(KERNEL, n_landmarks=50, random_state=0)
    for start in range(0, 900, 300):
        model.partial_fit(rows[start : start + 300], y[start : start + 300], classes=["p", "q"])
        for why in model.explain(Z):
            assert why.counts.sum() == start + 300
            assert why.base + why.influences.sum() == pytest.approx(why.score, abs=1e-9)
            assert why.score == pytest.approx(abs(model.decision_function(Z)).max(), abs=9)
    numbers = SimilarityRegressor(KERNEL, n_landmarks=50, random_state=0)
    both = np.stack([rows[:, 0], rows[:, 1] ** 2], axis=1)
    numbers.partial_fit(rows[:450], both[:450]).partial_fit(rows[450:], both[450:])
    for output in (0, 1):
        for why, value in zip(numbers.explain(Z, output), numbers.predict(Z)[:, output], strict=True):
            assert why.base + why.influences.sum() == pytest.approx(value, abs=1e-9)
            assert why.base == pytest.approx(both[:, output].mean())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_groups_are_exact_in_both_precisions(dtype):
    rows, y = many(400)
    model = SimilarityClassifier(KERNEL, n_landmarks=80, random_state=0).fit(rows.astype(dtype), y)
    for why in model.explain(Z.astype(dtype)):
        assert why.rest == 0 and why.base + why.influences.sum() == pytest.approx(why.score, abs=1e-9)


def test_a_saved_model_explains_the_same_and_stays_small(tmp_path):
    rows, y = many(300)
    for n in (300, 100):
        model = SimilarityClassifier(KERNEL, n_landmarks=n, random_state=0).fit(rows, y)
        before = model.explain(Z)
        save(model, tmp_path / "m.sim")
        same(before, load(tmp_path / "m.sim").explain(Z), 1e-12)
        size = (tmp_path / "m.sim").stat().st_size
        model._influence = None
        save(model, tmp_path / "m.sim")
        plain = (tmp_path / "m.sim").stat().st_size
        assert size <= max(1.3 * plain, plain + 256 * n)


@pytest.mark.usefixtures("few_penalties")
@pytest.mark.parametrize(("loss", "n"), thin(["logistic", "squared_hinge"], [60, 20]))
def test_many_classes_stay_small_and_exact(loss, n, tmp_path):
    rng = np.random.default_rng(2)
    y = rng.integers(6, size=60)
    rows = rng.standard_normal((6, 3))[y] * 3 + rng.standard_normal((60, 3))
    model = SimilarityClassifier(KERNEL, loss=loss, n_landmarks=n, random_state=0).fit(rows, y)
    save(model, tmp_path / "m.sim")
    again = load(tmp_path / "m.sim")
    size = (tmp_path / "m.sim").stat().st_size
    for against in ("runner-up", None):
        for why in again.explain(Z, **({} if against else {"against": None})):
            assert why.base + why.influences.sum() == pytest.approx(why.score, abs=1e-9)
            assert why.counts.sum() == 60 and why.prediction in why.labels
            assert len(why.examples) == len(why.labels) == len(why.similarities) == len(why.positions)
            assert ("other classes" in why.labels) == (n == 20)
    model._influence = None
    save(model, tmp_path / "m.sim")
    plain = (tmp_path / "m.sim").stat().st_size
    assert size <= max(1.3 * plain, plain + 256 * n)


@pytest.mark.parametrize(
    ("loss", "sizes"), thin(["squared", "logistic", "squared_hinge"], [(26, 50), (60, 40), (100, 100), (300, 60)])
)
def test_however_many_classes_stay_small_and_exact(loss, sizes, tmp_path, monkeypatch):
    classes, n = sizes

    def quickly(loss, penalty, F, numbers, n_classes, weights, random_state, groups, last):
        """Leave all of the loss to the last Newton step."""
        Y = np.where(numbers[:, None] == np.arange(n_classes), 1.0, -1.0)
        linear = Ridge(Moments.of(F, Y, weights)).fit(1.0)
        return linear, Trial.of(1.0, linear.scores(F), Y, weights), np.arange(len(Y))

    monkeypatch.setattr("similitude.fitting.penalized.fit_classes", quickly)
    rng = np.random.default_rng(classes)
    centers = rng.standard_normal((classes, 4)) * 3
    y = np.tile(np.arange(classes), 3)
    rows = centers[y] + rng.standard_normal((len(y), 4)) / 3
    model = SimilarityClassifier(KERNEL, loss=loss, n_landmarks=n, random_state=0).fit(rows, y)
    save(model, tmp_path / "m.sim")
    again = load(tmp_path / "m.sim")
    with_influences = (tmp_path / "m.sim").stat().st_size
    scores = np.sort(again.decision_function(centers[:20]), axis=1)
    for asked, expected in (({"against": None}, scores[:, -1]), ({}, scores[:, -1] - scores[:, -2])):
        whys = again.explain(centers[:20], **asked)
        for why, score in zip(whys, expected, strict=True):
            assert why.base + why.influences.sum() == pytest.approx(score, abs=1e-9) and why.rest == 0
            assert why.counts.sum() == len(y)
        shown = np.mean([why.prediction in why.labels for why in whys])
        assert shown == 1 if loss == "squared" or classes == 26 else shown > 0.4  # there is no room for all classes
    model._influence = None
    save(model, tmp_path / "m.sim")
    plain = (tmp_path / "m.sim").stat().st_size
    assert with_influences <= max(1.3 * plain, plain + 256 * n)


def test_the_rows_of_a_class_add_what_their_examples_add_under_other_losses():
    """What is kept of many classes is part of what the same step gives with every group kept."""
    rng = np.random.default_rng(4)
    centers = rng.standard_normal((60, 3)) * 3
    y = np.tile(np.arange(60), 3)
    rows = centers[y] + rng.standard_normal((180, 3)) / 3
    F, Y = KERNEL.cross(rows, centers[:25]), np.where(y[:, None] == np.arange(60), 1.0, -1.0)
    linear = Ridge(Moments.of(F, Y, np.ones(180))).fit(1.0)
    given = "squared_hinge", "l2", F, Y, np.ones(180), linear, 1.0
    few, every = newton_step(*given, None), newton_step(*given, Y.clip(0))
    for one in (few, every):
        np.testing.assert_allclose(one.group_weights.sum(axis=1), one.model.weights, atol=1e-9)
    at = np.arange(60)
    np.testing.assert_allclose(few.group_weights[:, 0], every.group_weights[:, at, at], atol=1e-9)
    np.testing.assert_allclose(few.group_constants[0], every.group_constants[at, at], atol=1e-9)


def test_weights_that_cancel_are_rounded_so_that_scores_keep_digits():
    points = np.random.default_rng(0).standard_normal((200, 5))
    k = Gaussian(sigma=10.0)  # nearly dependent similarities
    U = np.linalg.cholesky(k.gram(points) + 1e-10 * np.eye(200)).T
    features = LandmarkFeatures(k, Landmarks(points), factor=U, scale=2.0)
    W = np.random.default_rng(1).standard_normal((200, 5))
    rounded, exact, K = features.rounded_weights(W), features.similarity_weights(W), U.T @ U
    assert np.abs(exact).max() > 1e4 and rounded.dtype == np.float32
    errors = [np.abs(K @ (one.astype(float) - exact)).max() for one in (rounded, exact.astype(np.float32))]
    assert 5 * errors[0] < errors[1] and errors[0] < 1e-2
    np.testing.assert_array_equal(replace(features, factor=None).rounded_weights(W), (W / 2.0).astype(np.float32))


@pytest.mark.parametrize("outputs", [3, 8, 60, 200])
def test_many_numbers_stay_small_and_exact(outputs, tmp_path):
    targets = np.sin(X @ RNG.standard_normal((3, outputs)))
    model = SimilarityRegressor(KERNEL, n_landmarks=40, random_state=0).fit(X, targets)
    save(model, tmp_path / "m.sim")
    again, with_influences = load(tmp_path / "m.sim"), (tmp_path / "m.sim").stat().st_size
    values = again.predict(Z)
    for output in (0, outputs - 1):
        for why, value in zip(again.explain(Z, output), values[:, output], strict=True):
            assert why.base + why.influences.sum() == pytest.approx(value, abs=1e-9)
            assert why.counts.sum() == 60 and (len(why.influences) > 1 or outputs > 40)
            assert np.dot(why.labels, why.counts) / 60 == pytest.approx(targets[:, output].mean(), abs=1e-6)
    model._influence = None
    save(model, tmp_path / "m.sim")
    plain = (tmp_path / "m.sim").stat().st_size
    assert with_influences <= max(1.3 * plain, plain + 256 * 40)


def test_several_similarities_share_the_sum():
    words = ["kernel", "kerning", "kernels", "margin", "margins", "marginal", "kerns", "margining"]
    y = [word[0] for word in words]
    model = SimilarityClassifier([Spectrum(p=2), Spectrum(p=3)], random_state=0).fit(words, y)
    why = model.explain(["kern"])[0]
    assert why.prediction == "k" and why.base + why.influences.sum() == pytest.approx(why.score, abs=1e-9)
    assert why.counts.sum() == len(words)


def test_landmark_weights_come_with_a_warning_where_they_cancel():
    line = np.linspace(0, 1, 40)[:, None]
    model = SimilarityRegressor(Gaussian(sigma=3.0), n_landmarks=40, random_state=0).fit(line, np.sin(9 * line[:, 0]))
    with pytest.warns(UserWarning, match="weights of landmarks cancel"):
        why = model.explain(line[:2] + 0.01, by="landmarks")
    assert why[0].by == "landmarks" and why[0].labels is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.explain(line[:2] + 0.01)


def test_a_model_without_influences_says_so(tmp_path):
    model = SimilarityRegressor(KERNEL, n_landmarks=10, random_state=0).fit(X, X[:, 0])
    assert str(model.explain(Z)[0]).startswith(f"{model.predict(Z)[0]:.4g}, the sum of")
    del model._influence  # as in a file of an earlier version
    save(model, tmp_path / "m.sim")
    again = load(tmp_path / "m.sim")
    with pytest.raises(ValueError, match=r"saved by a version without influences; explain\(X, by='landmarks'\)"):
        again.explain(Z)
    assert len(again.explain(Z, by="landmarks")) == len(Z)


def test_a_constant_is_explained_by_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SimilarityRegressor(KERNEL, random_state=0).fit(X, np.full(60, 2.5))
    why = model.explain(Z[:1])[0]
    assert why.base + why.influences.sum() == pytest.approx(2.5) and abs(why.influences).sum() < 1e-9
    assert "base" in str(why)


def test_explanations_are_shown_as_text_html_and_json():
    model = SimilarityClassifier(FromPairs(pairs, claims=("SYMMETRIC", "PSD")), n_landmarks=30, random_state=0)
    why = model.fit(X, np.where(TWO == "a", "<a>", "b")).explain(Z[:3], by="examples")
    assert isinstance(why, Explanations) and len(why) == 3 and len(why[1:]) == 2 and isinstance(why[1:], Explanations)
    text = str(why[0])
    assert text.startswith(f"{why[0].prediction!r} against {why[0].against!r}: score {why[0].score:.4g}")
    assert "rows such as" in text and "other rows" in text and str(why).count("score") >= 3
    page = why._repr_html_()
    assert page.count("<table") == 3 and "&lt;a&gt;" in page and "'<a>'" not in page
    assert why[0]._repr_html_().count('class="s-bar') == 10  # eight groups, the others, and the base
    assert json.loads(json.dumps(why.to_dict()))["explanations"][0]["labels"] == why[0].labels


def test_a_verdict_names_labels_that_look_wrong():
    rng = np.random.default_rng(2)
    rows = np.concatenate([rng.normal(0, 1, (40, 2)), rng.normal(6, 1, (40, 2))])
    y = np.repeat(["a", "b"], 40)
    y[[7, 50]] = "b", "a"
    model = SimilarityClassifier(random_state=0).fit(rows, y)
    assert set(model.suspects_.tolist()) == {7, 50} and model.constant_error_ == pytest.approx(0.5)
    assert model.verdict().startswith("similar objects share labels: 98 % of new rows right by comparing with")
    assert model.verdict().endswith("2 labels look wrong: rows 7, 50")
    noise = SimilarityClassifier(random_state=0).fit(rng.standard_normal((80, 2)), rng.integers(0, 2, 80))
    assert "do not clearly share labels" in noise.verdict() or "a little" in noise.verdict()
    numbers = SimilarityRegressor(random_state=0).fit(rows, rows[:, 0])
    assert "of the variance of new rows is explained" in numbers.verdict()


def noisy_labels(n=400, seed=3):
    """Return rows whose labels hardly depend on them."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, 4))
    return rows, np.where(rng.random(n) < 1 / (1 + np.exp(-rows[:, 0])), "yes", "no")


def test_rows_of_a_label_are_taken_together_where_few_do_not_tell():
    rows, y = noisy_labels()
    model = SimilarityClassifier(KERNEL, n_landmarks=300, random_state=0).fit(rows[:300], y[:300])
    single, told = model.explain(rows[300:], by="examples"), model.explain(rows[300:])
    right = [np.sign(one.influences[:6].sum()) == np.sign(one.score - one.base) for one in single]
    assert np.mean(right) < 0.85  # what is to be cured
    for one, other in zip(single, told, strict=True):
        share = one.influences[:6].sum() / (one.score - one.base)
        canceled = np.abs(one.influences).sum() > 6 * abs(one.score - one.base)
        assert (share < 0.1 or canceled) == bool(other.note) and not one.note and (one.counts == 1).all()
        assert other.base + other.influences.sum() == pytest.approx(other.score, abs=1e-9)
        assert np.sign(other.influences[:6].sum()) == np.sign(other.score - other.base)
        if other.note:
            assert sorted(other.labels) == ["no", "no", "yes", "yes"] and other.counts.sum() == 300
            check_nearest(one, other)
    noted = next(one for one in told if one.note)
    assert "10 rows such as" in str(noted) and "the 10 nearest rows of each label" in noted.note


def test_groups_are_taken_together_and_called_groups():
    rows, y = noisy_labels()
    model = SimilarityClassifier(KERNEL, n_landmarks=60, random_state=0).fit(rows[:300], y[:300])
    groups, told = model.explain(rows[300:], by="examples"), model.explain(rows[300:])
    some = [(one, other) for one, other in zip(groups, told, strict=True) if other.note]
    assert some
    for one, other in some:
        assert "most influential groups of rows" in other.note and "nearest rows" not in other.note
        assert len(other.counts) == 4 and (other.counts >= 10).all() and other.counts.sum() == one.counts.sum() == 300
        assert other.influences.sum() == pytest.approx(one.influences.sum(), abs=1e-9)


def check_nearest(single, told):
    """Check the influence of the ten nearest rows of each label, and that a member of each item is shown."""
    labels, near = np.array(single.labels), single.similarities
    for label in ("no", "yes"):
        own = np.flatnonzero(labels == label)
        nearest = own[np.argsort(-near[own], kind="stable")[:10]]
        items = [i for i in range(4) if told.labels[i] == label]
        first = next(i for i in items if told.counts[i] == 10)
        assert told.influences[first] == pytest.approx(single.influences[nearest].sum(), abs=1e-9)
        assert told.positions[first] in single.positions[nearest]
        assert not set(told.positions[[i for i in items if i != first]]) & set(single.positions[nearest])


def test_numbers_above_and_below_the_mean_are_taken_together():
    rows, _ = noisy_labels()
    y = rows[:, 0] + 3 * RNG.standard_normal(400)
    model = SimilarityRegressor(KERNEL, n_landmarks=300, random_state=0).fit(rows[:300], y[:300])
    told = [one for one in model.explain(rows[300:]) if one.note]
    assert told
    for one in told:
        assert len(one.labels) == 4 and sum(label > one.base for label in one.labels) == 2
        assert one.counts @ one.labels == pytest.approx(y[:300].sum())
        assert one.base + one.influences.sum() == pytest.approx(one.score, abs=1e-9)
