"""The estimators on every kind of object and label, on data on disk, with pairs that fail and wrong batches."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from grids import thin
from market import KINDS, LONGER_WORDS, SAMPLE, alike
from objectives import OBJECTIVES

from similitude import FromBlocks, FromPairs, Precomputed, SimilarityClassifier, SimilarityRegressor
from similitude.checks import check_learner
from similitude.engines import LocalEngine
from similitude.errors import NotAKernelError, PairError
from similitude.fitting import limits
from similitude.fitting.training_set import Sampling, draw_seed
from similitude.kernels import Gaussian, Linear

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 3))
TWO = np.where(X[:, 0] > 0.2 * X[:, 1], "a", "b")
Y = X[:, 0] + np.sin(X[:, 1])
ESTIMATORS = [SimilarityClassifier, SimilarityRegressor]

# Kinds of objects.

WORDS, LABELS = LONGER_WORDS, np.array(["a", "b"] * 7)
OBJECTS = {
    **KINDS,
    "several": ([Gaussian(), Linear()], SAMPLE),
    "words twice": ([FromPairs(alike), FromPairs(lambda s, t: float(len(s) == len(t)))], WORDS),
    "matrix": ("precomputed", SAMPLE @ SAMPLE.T),
}


@pytest.mark.parametrize("kind", ["several", "words twice"])
def test_several_similarities_are_taken(kind):
    similarity, objects = OBJECTS[kind]
    check_learner(SimilarityClassifier(similarity), objects, LABELS)
    check_learner(SimilarityRegressor(similarity), objects, SAMPLE[:, 0])


@pytest.mark.usefixtures("few_penalties", "without_evaluation")
@pytest.mark.parametrize(("kind", "objective"), thin(["sparse", "strings"], ["logistic", "squared_hinge"]))
def test_every_loss_takes(kind, objective):
    similarity, objects = OBJECTS[kind]
    check_learner(SimilarityClassifier(similarity, **OBJECTIVES[objective], n_landmarks=5), objects, LABELS)


@pytest.mark.parametrize("kind", ["sparse", "strings"])
@pytest.mark.deep
def test_a_penalty_that_selects_features_takes(kind):
    similarity, objects = OBJECTS[kind]
    check_learner(SimilarityRegressor(similarity, penalty="l1", n_landmarks=5), objects, SAMPLE[:, 0])


@pytest.mark.parametrize("kind", OBJECTS)
def test_objects_are_explained_as_what_they_are(kind):
    similarity, objects = OBJECTS[kind]
    model = SimilarityClassifier(similarity).fit(objects, LABELS)
    one = objects[:1] if hasattr(objects, "shape") or isinstance(objects, list) else objects.objective(1)
    why = model.explain(one)[0]
    assert str(why)
    assert why.to_dict()["prediction"] in ("a", "b")
    score = abs(model.decision_function(one)[0])
    assert why.influences.sum() + why.base == pytest.approx(score, rel=1e-5, abs=1e-5)
    assert why.rest == 0 and why.counts.sum() == len(LABELS)
    assert len(why.examples) == len(why.influences) == len(why.labels)


LABEL_KINDS = {
    "strings": np.where(X[:, 0] > 0, "yes", "no"),
    "objects": np.where(X[:, 0] > 0, "yes", "no").astype(object),
    "booleans": X[:, 0] > 0,
    "integers": np.where(X[:, 0] > 0, 7, -3),
    "floats": np.where(X[:, 0] > 0, 2.0, 1.0),
    "list": np.where(X[:, 0] > 0, "yes", "no").tolist(),
    "pandas": pd.Series(np.where(X[:, 0] > 0, "yes", "no")),
    "categories": pd.Series(pd.Categorical(np.where(X[:, 0] > 0, "yes", "no"))),
    "polars": pl.Series(np.where(X[:, 0] > 0, "yes", "no")),
    "small integers": (X[:, 0] > 0).astype(np.uint8),
}


@pytest.fixture(scope="module")
def plain():
    return SimilarityClassifier("gaussian").fit(X, X[:, 0] > 0)


@pytest.mark.parametrize("kind", LABEL_KINDS)
def test_labels_of_any_kind(plain, kind):
    y = LABEL_KINDS[kind]
    model = SimilarityClassifier("gaussian").fit(X, y)
    np.testing.assert_allclose(np.abs(model.decision_function(X)), np.abs(plain.decision_function(X)))
    answers = model.predict(X)
    assert set(answers.tolist()) <= set(np.asarray(y).tolist())
    assert model.score(X, y) > 0.9
    assert answers.dtype.kind == np.asarray(y).dtype.kind
    streamed = SimilarityClassifier("gaussian").partial_fit(X, y)
    assert streamed.classes_.tolist() == model.classes_.tolist()
    assert streamed.score(X, y) > 0.9


def test_tables_remember_their_columns():
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    model, plain = (SimilarityClassifier("gaussian").fit(one, TWO) for one in (table, X))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(model.decision_function(table), plain.decision_function(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[["c", "a", "b"]])


@pytest.mark.usefixtures("few_penalties")
@pytest.mark.parametrize(
    ("similarity", "objective"), thin([Gaussian(), Linear(), Gaussian(sigma=8.0)], ["ridge", "logistic"]), ids=repr
)
def test_single_precision_is_close_to_double(similarity, objective):
    double = SimilarityClassifier(similarity, **OBJECTIVES[objective], landmark_indices=range(30)).fit(X, TWO)
    single = SimilarityClassifier(similarity, **OBJECTIVES[objective], landmark_indices=range(30)).fit(
        X.astype(np.float32), TWO
    )
    assert single.landmarks_.dtype == np.float32
    assert single.score(X.astype(np.float32), TWO) == pytest.approx(double.score(X, TWO), abs=0.04)
    assert single.held_out_error_.value == pytest.approx(double.held_out_error_.value, abs=0.05)
    scores = double.decision_function(X)
    np.testing.assert_allclose(single.decision_function(X.astype(np.float32)), scores, atol=0.1 * np.abs(scores).max())


def test_single_precision_far_from_zero_is_close_to_double():
    """Similarities that are large and hardly differ: products in single precision would hold rounding only."""

    def high(A, B):
        return 1000.0 + np.tanh(A @ B.T - 0.5)

    K = high(X, X)
    assert np.linalg.eigvalsh(K)[0] < -1
    double = SimilarityRegressor("precomputed", n_landmarks=30).fit(K, Y)
    single = SimilarityRegressor("precomputed", n_landmarks=30).fit(K.astype(np.float32), Y)
    assert single.representation_.name == double.representation_.name == "similarities"
    assert single.held_out_error_.value < 1.2 * double.held_out_error_.value
    assert single.held_out_error_.value < 0.5 * np.var(Y)


def test_a_matrix_in_single_precision_is_a_kernel_all_the_same():
    K = Gaussian(sigma=6.0).cross(X, X).astype(np.float32)
    assert np.linalg.eigvalsh(K.astype(np.float64))[0] < 0  # by rounding
    for model, objects in (
        (SimilarityClassifier("precomputed"), K),
        (SimilarityClassifier(Precomputed(K)), np.arange(60)),
    ):
        model.fit(objects, TWO)
        assert model.representation_.name == "projection"
        assert model.score(objects, TWO) > 0.9


# Data that do not fit.


@pytest.fixture
def on_disk(tmp_path):
    """More examples than are looked at while choices are made, in a file."""
    local = np.random.default_rng(5)
    n = 21_000
    path = tmp_path / "X.npy"
    array = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, 4))
    array[:] = local.standard_normal((n, 4))
    array.flush()
    y = (array[:, 0] * array[:, 1] + 0.3 * local.standard_normal(n)) > 0
    return np.load(path, mmap_mode="r"), np.asarray(y)


def test_a_file_gives_the_model_of_the_array(on_disk, monkeypatch):
    mapped, y = on_disk
    how = {"n_landmarks": 30, "random_state": 0}
    from_file = SimilarityClassifier(Gaussian(sigma=1.0), **how).fit(mapped, y)
    from_array = SimilarityClassifier(Gaussian(sigma=1.0), **how).fit(np.array(mapped), y)
    np.testing.assert_array_equal(from_file.decision_function(mapped[:100]), from_array.decision_function(mapped[:100]))
    monkeypatch.setattr(limits, "SAMPLE_ROWS", 10**9)
    at_once = SimilarityClassifier(Gaussian(sigma=1.0), **how).fit(mapped, y)
    assert at_once.lam_ == pytest.approx(from_file.lam_, rel=0.02)
    scores = at_once.decision_function(mapped[:200])
    np.testing.assert_allclose(from_file.decision_function(mapped[:200]), scores, atol=2e-3)
    assert not isinstance(from_file.landmarks_, np.memmap)
    assert from_file.score(mapped, y) > 0.75


def test_little_memory_is_enough_or_it_is_said_what_to_do():
    many = np.random.default_rng(0).standard_normal((6000, 3))
    y = many[:, 0] > 0
    small = LocalEngine(memory="1MB")
    model = SimilarityClassifier(engine=small).fit(many, y)
    assert model.score(many, y) > 0.95
    assert "memory" in model.landmark_curve_.reason
    with pytest.raises(MemoryError, match=r"1,000 landmarks do not fit into the memory budget: use fewer"):
        SimilarityClassifier(n_landmarks=1000, engine=small).fit(many, y)
    with pytest.raises(MemoryError, match=r"loss='logistic' .* loss='squared' with penalty='l2' needs one pass"):
        SimilarityClassifier(loss="logistic", engine=small).fit(many, y)
    plain = SimilarityClassifier(n_landmarks=60).fit(X, TWO)
    for memory in ("1MB", 300_000):
        tight = SimilarityClassifier(n_landmarks=60, engine=LocalEngine(memory=memory)).fit(X, TWO)
        assert tight.score(X, TWO) >= plain.score(X, TWO) - 0.1
    with pytest.raises(MemoryError, match="fewer"):
        SimilarityClassifier(engine=LocalEngine(memory=1000)).fit(X, TWO)


def test_memory_is_checked_before_the_first_call():
    def never(x, z):
        raise AssertionError("asked")

    with pytest.raises(MemoryError):
        SimilarityClassifier(never, engine=LocalEngine(memory=5000)).fit(WORDS * 20, LABELS.tolist() * 20)


@pytest.mark.parametrize(
    "similarity", ["gaussian", FromPairs(lambda x, z: math.tanh(float(x @ z)))], ids=["fast", "slow"]
)
def test_engines_make_no_difference(similarity):
    plain = SimilarityClassifier(similarity, n_landmarks=20, engine=LocalEngine(threads=1)).fit(X, TWO)
    for engine in (LocalEngine(threads=3), LocalEngine(memory="3MB")):
        other = SimilarityClassifier(similarity, n_landmarks=20, engine=engine).fit(X, TWO)
        np.testing.assert_allclose(other.decision_function(X), plain.decision_function(X), atol=1e-9)
    with pytest.raises(TypeError, match="engine must be an Engine"):
        SimilarityClassifier(engine=2).fit(X, TWO)


# Similarities as they come.


@pytest.mark.usefixtures("few_penalties")
@pytest.mark.parametrize(
    ("constant", "objective"), thin([0.0, 1.0, -1.0, 3e7, 1e-9], ["ridge", "logistic", "squared_hinge", "l1"])
)
def test_a_constant_similarity_predicts_the_majority(constant, objective):
    y = np.array(["rare"] * 20 + ["common"] * 40)
    model = SimilarityClassifier(lambda x, z: constant, **OBJECTIVES[objective], n_landmarks=10).fit(X, y)
    assert set(model.predict(X)) == {"common"}
    shares = model.predict_proba(X[:1])[0]
    assert shares[0] == pytest.approx(2 / 3, abs=0.1)  # classes_ are in order: common, rare
    assert len(model.explain(X[:1])) == 1


@pytest.mark.parametrize("constant", [0.0, 1.0, -1.0, 1 / 3, 3e7])
@pytest.mark.parametrize("objective", ["ridge", "l1"])
def test_a_constant_similarity_predicts_the_mean(constant, objective):
    model = SimilarityRegressor(lambda x, z: constant, **OBJECTIVES[objective], n_landmarks=10).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), Y.mean(), atol=1e-6)


@pytest.mark.parametrize("scale", [1e-9, 5.0, 1e9])
def test_a_similarity_outside_its_range_is_taken_as_it_is(scale):
    """Only the unit changes, so nothing else does; and nothing is promised that would need [-1, 1]."""
    for k in (lambda A, B: np.tanh(A @ B.T - 0.5), lambda A, B: np.exp(-((A[:, None] - B) ** 2).sum(-1))):
        plain = SimilarityClassifier(FromBlocks(k, objects="vectors"), n_landmarks=20).fit(X, TWO)
        large = FromBlocks(lambda A, B, k=k: scale * k(A, B), objects="vectors")
        model = SimilarityClassifier(large, n_landmarks=20).fit(X, TWO)
        assert model.representation_.name == plain.representation_.name
        np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), rtol=1e-3, atol=1e-4)
        assert model.guarantee_.grade == "NONE"


@pytest.mark.usefixtures("few_penalties", "without_evaluation")
def test_classes_with_one_example():
    y = np.array(["a"] * 58 + ["b", "c"])
    for objective in ("ridge", "logistic", "squared_hinge"):
        model = SimilarityClassifier("gaussian", **OBJECTIVES[objective]).fit(X, y)
        assert model.classes_.tolist() == ["a", "b", "c"]
        assert model.predict_proba(X).shape == (60, 3)
        alone = SimilarityClassifier(**OBJECTIVES[objective]).fit(X[:3], ["a", "b", "c"])
        assert alone.predict(X[:3]).tolist() == ["a", "b", "c"]
        assert np.isfinite(
            SimilarityClassifier(**OBJECTIVES[objective]).fit(X[:2], ["a", "b"]).decision_function(X)
        ).all()
    assert np.isfinite(SimilarityClassifier(penalty="l1").fit(X[:2], ["a", "b"]).decision_function(X)).all()
    assert np.isfinite(SimilarityClassifier(penalty="l1").fit(X, ["a"] + ["b"] * 59).decision_function(X)).all()
    two = SimilarityRegressor().fit(X[:2], [1.0, 2.0])
    assert np.isfinite(two.predict(X)).all()


# What is refused.


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=["classifier", "regressor"])
def test_objects_that_make_no_sense(estimator):
    y = TWO if estimator is SimilarityClassifier else Y
    model = estimator("gaussian").fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match="features"):
        model.explain(X[:, :2])
    with pytest.raises(ValueError, match="NaN"):
        model.predict(np.full((1, 3), np.nan))


# A pair that goes wrong.


class Touchy:
    """A similarity of words that fails on one pair, until it is told not to."""

    def __init__(self, how):
        self.how = how

    def __call__(self, s, t):
        if self.how == "symmetric":
            return math.nan if {s, t} == {"word 7", "word 12"} else float(s == t)
        if (s, t) == ("word 7", "word 12"):
            if self.how == "raises":
                raise KeyError("no such word")
            if self.how == "interrupted":
                raise KeyboardInterrupt
            if self.how == "nan":
                return math.nan
            if self.how == "text":
                return "much"
        return float(int(s[5:]) % 7 == int(t[5:]) % 7) + 0.1 * (s < t)


MANY = [f"word {i}" for i in range(60)]


@pytest.mark.parametrize("how", ["raises", "nan", "text"])
@pytest.mark.parametrize("side", ["left", "right", "both"])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=["classifier", "regressor"])
def test_a_pair_that_fails_is_named_and_leaves_nothing_behind(estimator, side, how):
    y = TWO if estimator is SimilarityClassifier else Y
    f = Touchy(how)
    landmarks = [7, 12, 3] if side == "left" else [12, 7, 3]
    model = estimator(f, landmark_indices=landmarks, side=side)
    with pytest.raises(PairError, match="'word 7', 'word 12'") as caught:
        model.fit(MANY, y)
    assert {caught.value.i, caught.value.j} == {7, 12}
    assert not [name for name in vars(model) if name.endswith("_") or name.startswith("_")]
    f.how = "well"
    assert np.isfinite(np.asarray(model.fit(MANY, y).explain(MANY[:1])[0].score))
    before = vars(model).copy()
    f.how = how
    with pytest.raises(PairError):
        model.fit(MANY, y)
    assert vars(model) == before  # the earlier model is still there


@pytest.mark.parametrize("how", ["raises", "nan"])
def test_a_pair_that_fails_in_a_stream_is_named_too(how, monkeypatch):
    monkeypatch.setattr(limits, "SAMPLE_ROWS", 10)
    outside = 0
    for seed in range(8):
        model = SimilarityRegressor(Touchy(how), landmark_indices=[3, 12], side="left", random_state=seed)
        with pytest.raises(PairError) as caught:
            model.fit(MANY, Y)
        assert (caught.value.i, caught.value.j) == (7, 12)
        looked = Sampling(draw_seed(seed)).order(np.arange(60))
        outside += 7 in looked[10:]
    assert outside > 3  # most of these met the pair in the last pass


def test_a_pair_that_fails_in_prediction_is_named_by_its_row():
    f = Touchy("well")
    model = SimilarityClassifier(f, landmark_indices=[3, 12], side="left").fit(MANY, TWO)
    f.how = "nan"
    where = int(np.flatnonzero(model.landmark_indices_ == 12)[0])
    for ask in (model.predict, model.explain, model.predict_proba):
        with pytest.raises(PairError, match="'word 7', 'word 12'") as caught:
            ask(MANY[5:20])
        assert (caught.value.i, caught.value.j) == (2, where)
    assert model.predict(MANY[:5]).shape == (5,)


def test_an_interrupt_leaves_the_estimator_as_it_was():
    f = Touchy("interrupted")
    model = SimilarityClassifier(f, landmark_indices=[3, 12])
    with pytest.raises(KeyboardInterrupt):
        model.fit(MANY, TWO)
    assert set(vars(model)) == set(model.get_params(deep=False))
    f.how = "well"
    before = model.fit(MANY, TWO).decision_function(MANY)
    f.how = "interrupted"
    with pytest.raises(KeyboardInterrupt):
        model.fit(MANY[:50], TWO[:50])
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(MANY, TWO)
    f.how = "well"
    np.testing.assert_array_equal(model.decision_function(MANY), before)


def test_a_matrix_with_a_gap_names_the_pair():
    M = X @ X.T
    M[7, 12] = np.nan
    with pytest.raises(PairError) as caught:
        SimilarityClassifier(Precomputed(M), landmark_indices=[12, 3]).fit(np.arange(60), TWO)
    assert (caught.value.i, caught.value.j) == (7, 12)


def test_rules_that_need_a_kernel_say_so():
    def negative(x, z):
        return -1.0 if x == z == "word 33" else float(x == z)

    for rule in ("kmeans++", "rpcholesky", "leverage"):
        with pytest.raises(NotAKernelError, match="not a kernel") as caught:
            SimilarityClassifier(negative, landmarks=rule, n_landmarks=10).fit(MANY, TWO)
        assert caught.value.witness.indices == (33,)
        assert caught.value.witness.objects == ("word 33",)
    weights = np.where(np.arange(60) < 5, 0.0, 1.0)  # positions in X are not those among the candidates
    with pytest.raises(PairError, match="'word 7'") as caught:
        SimilarityClassifier(Touchy("symmetric"), landmarks="kmeans++", n_landmarks=50).fit(MANY, TWO, weights)
    assert {caught.value.i, caught.value.j} == {7, 12}
    with pytest.raises(PairError, match="'word 7'"):
        SimilarityClassifier(Touchy("symmetric"), unlabeled=MANY, landmarks="diverse", n_landmarks=58).fit(MANY, TWO)


def test_landmarks_of_another_kind_than_the_objects():
    with pytest.raises(PairError, match="raised TypeError"):
        SimilarityClassifier(alike, landmarks=[1, 2]).fit(WORDS, LABELS)
    with pytest.raises(PairError, match="raised TypeError"):
        SimilarityClassifier(alike, unlabeled=[1, 2, 3]).fit(WORDS, LABELS)


# A stream that goes wrong.


def test_batches_that_make_no_sense():
    model = SimilarityClassifier(n_landmarks=10).partial_fit(X[:40], TWO[:40])
    before = model.decision_function(X)
    for batch, y, kind, message in (
        (X[40:], ["c"] * 20, ValueError, "label 'c' is not one of the classes"),
        (X[40:, :2], TWO[40:], ValueError, "2 features"),
        (X[40:], TWO[41:], ValueError, "inconsistent"),
        (np.full((2, 3), np.nan), TWO[:2], ValueError, "NaN"),
    ):
        with pytest.raises(kind, match=message):
            model.partial_fit(batch, y)
    with pytest.raises(ValueError, match="classes were"):
        model.partial_fit(X[40:], TWO[40:], classes=["a", "b", "c"])
    np.testing.assert_array_equal(model.decision_function(X), before)
    model.partial_fit(X[40:], TWO[40:], classes=["b", "a"])
    assert (model.decision_function(X) != before).any()
