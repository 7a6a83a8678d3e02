"""Fits of every kind and size: each case makes its data, fits a model, and returns what is recorded of it."""

import functools
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp

from record.describing import of_model
from record.plain import plain, size
from similitude import (
    FromBlocks,
    FromPairs,
    SimilarityClassifier,
    SimilarityMultilabelClassifier,
    SimilarityOrdinalClassifier,
    SimilarityRegressor,
    assess,
    choose_kernel,
    combine,
    cost_curve,
    datasets,
    learn_kernel,
)
from similitude.kernels import (
    DTW,
    Cosine,
    Edit,
    Gaussian,
    GlobalAlignment,
    Gower,
    Jaccard,
    Laplace,
    Linear,
    Matern,
    Polynomial,
    Sigmoid,
    Spectrum,
    WeisfeilerLehman,
    Words,
)
from similitude.learners import KernelRidge, KernelRidgeClassifier
from similitude.sources import Source

CASES = {}
"""Every case by its name."""

QUICK = set()
"""The names of cases that the default run of the tests checks."""


def case(make):
    """Enter a case."""
    CASES[make.__name__] = make
    return make


def quick(make):
    """Enter a case that takes a fraction of a second, and goes a way of its own."""
    QUICK.add(make.__name__)
    return case(make)


# Data.


def clouds(n, d=3, noise=0.6, seed=0):
    """Return vectors of two classes whose border is curved."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 + noise * rng.standard_normal(n) > 0.4, "yes", "no")


def waves(n, d=6, noise=0.1, seed=0):
    """Return vectors whose numbers take many landmarks."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, d))
    return X, np.sin(3 * X[:, :3]).sum(axis=1) + noise * rng.standard_normal(n)


def hills(n, d=3, noise=0.3, seed=0):
    """Return vectors whose numbers take few landmarks."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.sin(X[:, 0]) + 0.5 * X[:, 1] + noise * rng.standard_normal(n)


def regions(n, seed=0):
    """Return vectors whose numbers depend on another column in each half of the space."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3))
    y = np.where(X[:, 0] > 0, np.sin(6 * X[:, 1]), np.sin(6 * X[:, 2])) + 2 * (X[:, 0] > 0)
    return X, y + 0.05 * rng.standard_normal(n)


def directions(n, classes, seed=0):
    """Return vectors in the plane of as many classes as there are sectors."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    turned = np.arctan2(X[:, 1], X[:, 0]) + 0.05 * rng.standard_normal(n)
    return X, (np.floor((turned / np.pi + 1) / 2 * classes)).astype(int) % classes


def rare(n):
    """Return vectors of two classes, one of which has four rows in a hundred."""
    X, _ = clouds(n, seed=4)
    rng = np.random.default_rng(5)
    score = X[:, 0] + X[:, 1] + 0.5 * rng.standard_normal(n)
    return X, np.where(score > np.quantile(score, 0.96), "rare", "frequent")


def split(dataset, seed=0, new=10):
    """Return objects and labels of a data set in random order, and apart from them some new objects."""
    objects, labels = dataset
    order = np.random.default_rng(seed).permutation(len(labels))
    known, asked = order[new:], order[:new]
    labels = np.asarray(labels)
    if isinstance(objects, (np.ndarray, list)):
        return [objects[i] for i in known], labels[known], [objects[i] for i in asked]
    return objects.iloc[known], labels[known], objects.iloc[asked]


def fitted(model, X, y, new, **asked):
    """Return what is recorded of a model that is fitted to objects."""
    return of_model(model.fit(X, y), new, **asked)


def classified(*given, n, data=clouds, **parameters):
    """Return what is recorded of a classifier of vectors, with ten new ones."""
    X, y = data(n + 10)
    return fitted(SimilarityClassifier(*given, random_state=0, **parameters), X[:n], y[:n], X[n:])


def predicted(*given, n, data=hills, **parameters):
    """Return what is recorded of a regressor of vectors, with ten new ones."""
    X, y = data(n + 10)
    return fitted(SimilarityRegressor(*given, random_state=0, **parameters), X[:n], y[:n], X[n:])


# Vectors, from few to many.


@quick
def eight_rows():
    return classified(n=8)


@quick
def eight_numbers():
    return predicted(n=8)


@quick
def forty_rows():
    return classified(n=40)


@case
def flowers():
    X, y, new = split(datasets.iris())
    return fitted(SimilarityClassifier(random_state=0), np.array(X), y, np.array(new))


@quick
def flowers_by_a_gaussian():
    X, y, new = split(datasets.iris())
    return fitted(SimilarityClassifier("gaussian", random_state=0), np.array(X), y, np.array(new))


@case
def four_hundred_waves():
    return predicted(n=400, data=waves)


@case
def four_hundred_rows_of_two_classes():
    return classified(n=400)


@case
def many_columns_without_a_learned_metric():
    return predicted(n=150, data=functools.partial(hills, d=40))


@case
def pilot_of_1200_rows_learns():
    return predicted(n=1200, data=waves)


@case
def pilot_of_1200_rows():
    return predicted("gaussian", n=1200, data=waves)


@case
def pilot_of_1200_rows_of_two_classes():
    return classified(Matern(), n=1200)


@case
def pilot_of_3000_rows_every_row():
    return predicted("gaussian", n=3000, data=waves)


@case
def pilot_of_3000_rows_landmarks_at_once():
    return predicted(Laplace(), n=3000, data=functools.partial(hills, noise=1.0))


@case
def pilot_of_3000_rows_of_two_classes():
    return classified("gaussian", n=3000)


@case
def three_thousand_rows_learn():
    return classified(n=3000)


@case
def pilot_of_6000_rows_by_steps():
    return predicted("gaussian", n=6000, data=waves)


@case
def pilot_of_6000_rows_of_two_classes():
    return classified("gaussian", n=6000)


@case
def pilot_of_6000_rows_of_40_outputs():
    X, y = hills(6010)
    turns = np.random.default_rng(1).standard_normal((3, 40))
    Y = np.sin(X @ turns) + y[:, None]
    return fitted(SimilarityRegressor("gaussian", random_state=0), X[:6000], Y[:6000], X[6000:])


@case
def cells_of_5300_rows():
    return predicted(n=5300, data=regions)


@case
def cells_of_a_table_of_5300_rows():
    X, y = regions(5310)
    table = pd.DataFrame(X, columns=list("abc")).assign(d=np.where(y > 1, "u", "v"))
    labels = np.where(y > 0.3, "high", "low")
    return fitted(SimilarityClassifier(random_state=0), table[:5300], labels[:5300], table[5300:])


@case
def cells_gain_nothing():
    return predicted(n=5300, data=functools.partial(hills, d=2, noise=1.0))


@case
def learned_landmarks_of_5300_rows():
    return predicted(n=5300, data=regions, n_landmarks=150)


@case
def a_sample_of_6000_rows_by_a_polynomial():
    return predicted(Polynomial(2), n=6000)


@case
def several_similarities_of_6000_rows():
    return classified(["gaussian", Linear(), Sigmoid(0.3)], n=6000, n_landmarks=60)


@case
def logistic_loss_of_6000_rows():
    return classified("gaussian", n=6000, n_landmarks=60, loss="logistic")


@case
def one_pass_over_21000_rows():
    return classified("gaussian", n=21_000, n_landmarks=60)


@case
def one_pass_over_21000_rows_by_numbers_of_landmarks():
    return predicted(Gaussian(2.0), n=21_000)


@case
def one_pass_over_21000_rows_by_the_logistic_loss():
    return classified(Gaussian(2.0), n=21_000, n_landmarks=30, loss="logistic")


@case
def one_pass_over_21000_rows_by_two_similarities():
    return predicted([Gaussian(2.0), Sigmoid(0.2)], n=21_000, n_landmarks=30)


# Scales, representations and sides.


@quick
def scale_left_at_the_median():
    return predicted("gaussian", n=200, data=waves)


@quick
def scales_of_a_sum():
    return predicted(Gaussian() + Laplace() * 0.5, n=120)


@case
def scale_left_open_by_several():
    return classified([Gaussian(), Laplace(), Linear()], n=200)


@case
def a_costly_similarity_keeps_its_median():
    X, y, new = split(datasets.vowels())
    return fitted(SimilarityClassifier(GlobalAlignment(), random_state=0), X[:60], y[:60], new)


@case
def a_similarity_that_is_no_kernel():
    return classified(Sigmoid(2.0, -1.0), n=200)


def lopsided(A, B):
    return np.tanh(A @ B.T) + 0.4 * (A[:, :1] - B[:, 1])


@case
def an_asymmetric_similarity():
    return classified(FromBlocks(lopsided, objects="vectors"), n=200)


@case
def the_right_side_of_an_asymmetric_similarity():
    return predicted(FromBlocks(lopsided, objects="vectors"), n=150, side="right")


@quick
def a_precomputed_kernel():
    X, y = clouds(130)
    K = Gaussian(1.5).cross(X, X[:120])
    return fitted(SimilarityClassifier("precomputed", random_state=0), K[:120], y[:120], K[120:])


@quick
def a_precomputed_matrix_that_is_no_kernel():
    X, y = hills(130)
    K = lopsided(X, X[:120])
    return fitted(SimilarityRegressor("precomputed", random_state=0), K[:120], y[:120], K[120:])


# Landmarks.


@quick
def landmarks_that_are_given():
    return classified("gaussian", n=150, landmarks=np.random.default_rng(9).standard_normal((12, 3)))


@quick
def landmarks_by_their_positions():
    return predicted(Gaussian(), n=150, landmark_indices=[3, 14, 15, 92, 65])


@case
def landmarks_by_rules():
    rules = ("uniform", "stratified", "kmeans++", "rpcholesky", "leverage", "diverse")
    found = {rule: classified("gaussian", n=300, landmarks=rule, n_landmarks=15) for rule in rules}
    told = ("landmark_indices_", "decision_function", "held_out_error_", "log10 of lam_", "guarantee_")
    return {rule: {name: one[name] for name in told} for rule, one in found.items()}


@quick
def landmarks_of_an_unlabeled_pool():
    return predicted("gaussian", n=150, unlabeled=np.random.default_rng(9).standard_normal((80, 3)), n_landmarks=25)


@case
def numbers_of_landmarks():
    return predicted(Sigmoid(0.5), n=900, data=waves)


@quick
def weights_of_landmarks():
    X, y = clouds(130)
    model = SimilarityClassifier("gaussian", n_landmarks=8, random_state=0).fit(X[:120], y[:120])
    return {"weights": plain(model.landmark_weights_), **of_model(model, X[120:], by="landmarks")}


# Losses, penalties and weights.


@quick
def logistic_loss():
    return classified("gaussian", n=120, n_landmarks=20, loss="logistic")


@case
def logistic_loss_of_three_classes():
    X, y, new = split(datasets.iris())
    model = SimilarityClassifier("gaussian", n_landmarks=20, loss="logistic", random_state=0)
    return fitted(model, np.array(X), y, np.array(new))


@case
def squared_hinge_loss():
    return classified("gaussian", n=300, n_landmarks=40, loss="squared_hinge")


@case
def l1_penalty():
    return classified("gaussian", n=300, n_landmarks=40, penalty="l1")


@case
def l1_penalty_of_squares():
    return predicted("gaussian", n=200, n_landmarks=30, penalty="l1")


@case
def huber_loss():
    X, y = hills(210)
    y[::25] += 40.0
    return fitted(SimilarityRegressor("gaussian", loss="huber", random_state=0), X[:200], y[:200], X[200:])


@case
def huber_loss_of_a_learned_kernel():
    X, y = hills(210)
    y[::25] += 40.0
    return fitted(SimilarityRegressor(loss="huber", random_state=0), X[:200], y[:200], X[200:])


@case
def targets_far_beyond_all_others():
    X, y = hills(210)
    y[7] = 1e3
    return fitted(SimilarityRegressor("gaussian", random_state=0), X[:200], y[:200], X[200:])


@case
def absolute_loss():
    return predicted("gaussian", n=200, n_landmarks=30, loss="absolute")


@case
def quantile_loss():
    return predicted("gaussian", n=200, n_landmarks=30, loss="quantile", quantile=0.8)


@case
def a_rare_class():
    return classified("gaussian", n=600, data=rare)


@case
def a_rare_class_of_3000_rows():
    return classified(n=3000, data=rare)


@quick
def balanced_classes():
    return classified("gaussian", n=150, data=rare, class_weight="balanced")


@quick
def weights_of_classes():
    return classified("gaussian", n=150, class_weight={"yes": 2.0, "no": 0.5})


@case
def weights_of_rows_some_of_them_zero():
    X, y = clouds(210)
    weights = np.random.default_rng(3).uniform(0.2, 2.0, 200)
    weights[::7] = 0.0
    model = SimilarityClassifier("gaussian", random_state=0).fit(X[:200], y[:200], weights)
    return of_model(model, X[200:])


@case
def weights_of_rows_of_a_learned_kernel():
    X, y = waves(210)
    weights = np.random.default_rng(3).uniform(0.2, 2.0, 200)
    weights[::7] = 0.0
    return of_model(SimilarityRegressor(random_state=0).fit(X[:200], y[:200], weights), X[200:])


@case
def a_certified_classifier():
    return classified("gaussian", n=400, certify=0.25)


@case
def a_certified_regressor():
    return predicted(n=400, certify=0.25)


@case
def thirty_classes():
    return classified("gaussian", n=900, data=functools.partial(directions, classes=30))


@case
def thirty_classes_of_1500_rows():
    return classified("gaussian", n=1500, data=functools.partial(directions, classes=30))


@case
def three_outputs():
    X, y = waves(310)
    Y = np.column_stack([y, -y, X[:, 0] ** 2])
    return fitted(SimilarityRegressor("gaussian", random_state=0), X[:300], Y[:300], X[300:])


@case
def three_outputs_of_a_learned_kernel():
    X, y = waves(310)
    Y = np.column_stack([y, -y, X[:, 0] ** 2])
    return fitted(SimilarityRegressor(random_state=0), X[:300], Y[:300], X[300:])


@case
def repeated_rows():
    X, y = clouds(110)
    model = SimilarityClassifier("gaussian", random_state=0)
    return fitted(model, np.tile(X[:100], (3, 1)), np.tile(y[:100], 3), X[100:])


@case
def repeated_rows_of_a_pilot():
    X, y = waves(1010)
    some = np.random.default_rng(2).integers(0, 1000, 800)
    X, y, new = np.r_[X[:1000], X[some]], np.r_[y[:1000], y[some]], X[1000:]
    return fitted(SimilarityRegressor("gaussian", random_state=0), X, y, new)


# Single precision, other containers, and rows elsewhere.


@case
def single_precision():
    X, y = clouds(210)
    X = X.astype(np.float32)
    return fitted(SimilarityClassifier("gaussian", random_state=0), X[:200], y[:200], X[200:])


@quick
def sparse_vectors():
    X, y = clouds(160, d=6)
    X = sp.csr_array(np.where(np.abs(X) > 0.7, X, 0.0))
    return fitted(SimilarityClassifier(random_state=0), X[:150], y[:150], X[150:])


@case
def a_function_of_batches():
    X, y = clouds(3010)
    source = Source(lambda: ((X[a : a + 500], y[a : a + 500]) for a in range(0, 3000, 500)))
    return of_model(SimilarityClassifier("gaussian", n_landmarks=50, random_state=0).fit(source), X[3000:])


def batches(X, y, size=4000):
    """Return rows as a source that is read in batches."""
    return Source(lambda: ((X[a : a + size], y[a : a + size]) for a in range(0, len(X), size)))


@case
def batches_of_more_rows_than_a_sample_has():
    X, y = hills(26_010)
    model = SimilarityRegressor(random_state=0, n_landmarks=40).fit(batches(X[:26_000], y[:26_000]))
    return of_model(model, X[26_000:])


@case
def batches_by_the_logistic_loss():
    X, y = clouds(26_010)
    model = SimilarityClassifier("gaussian", random_state=0, n_landmarks=20, loss="logistic")
    return of_model(model.fit(batches(X[:26_000], y[:26_000])), X[26_000:])


@case
def batches_with_several_labels():
    X, _ = clouds(1010)
    Y = (X > 0).astype(int)
    model = SimilarityMultilabelClassifier("gaussian", random_state=0, n_landmarks=20)
    return of_model(model.fit(batches(X[:1000], Y[:1000])), X[1000:])


@case
def batches_with_grades():
    X, y = hills(1010)
    model = SimilarityOrdinalClassifier("gaussian", random_state=0, n_landmarks=20)
    return of_model(model.fit(batches(X[:1000], np.digitize(y[:1000], [-0.5, 0.5]))), X[1000:], above=1)


@case
def predictions_in_batches():
    X, y = clouds(400)
    model = SimilarityClassifier("gaussian", random_state=0, n_landmarks=20).fit(X[:150], y[:150])
    asked = Source(lambda: (X[a : a + 100] for a in range(0, 400, 100)))
    scores = np.asarray(model.decision_function(asked))
    return {"rows": len(scores), "of each batch": plain(scores[::50])}


@case
def a_memory_map():
    X, y = hills(2010)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "X.npy"
        np.save(path, X[:2000])
        rows = np.load(path, mmap_mode="r")
        model = SimilarityRegressor("gaussian", n_landmarks=40, random_state=0).fit(rows, y[:2000])
        return of_model(model, X[2000:])


@case
def a_stream_of_classes():
    X, y = clouds(610)
    model = SimilarityClassifier("gaussian", n_landmarks=40, random_state=0)
    for a in range(0, 600, 150):
        model.partial_fit(X[a : a + 150], y[a : a + 150], classes=["no", "yes"])
    return of_model(model, X[600:])


@case
def a_stream_of_numbers():
    X, y = hills(610)
    model = SimilarityRegressor(random_state=0)
    for a in range(0, 600, 200):
        model.partial_fit(X[a : a + 200], y[a : a + 200])
    return of_model(model, X[600:])


# Tables and records.


@case
def people():
    X, y, new = split(datasets.adult())
    return fitted(SimilarityClassifier(random_state=0), X[:400], y[:400], new)


@case
def people_by_gower():
    X, y, new = split(datasets.adult())
    return fitted(SimilarityClassifier(Gower(), random_state=0), X[:250], y[:250], new)


@case
def hours_of_few_people():
    X, _, new = split(datasets.adult())
    columns = ["age", "workclass", "education", "sex"]
    return fitted(SimilarityRegressor(random_state=0), X[:50][columns], X.hours_per_week[:50], new[columns])


@case
def records_with_texts():
    X, y, new = split(datasets.messages())
    table = pd.DataFrame({"text": X[:120], "letters": [len(one) for one in X[:120]]})
    asked = pd.DataFrame({"text": new, "letters": [len(one) for one in new]})
    return fitted(SimilarityClassifier(random_state=0), table, y[:120], asked)


@case
def records_with_sets():
    X, y = datasets.papers()
    records = [{"keywords": set(one.keywords), "authors": set(one.authors), "year": float(one.year)} for one in X]
    labels = np.asarray(y) == "theory"
    return fitted(SimilarityClassifier(random_state=0), records[:28], labels[:28], records[28:])


@case
def records_with_texts_beside_columns_that_are_learned():
    X, y, new = split(datasets.messages())
    return fitted(SimilarityClassifier(random_state=0), described(X[:400]), y[:400], described(new))


def described(messages):
    """Return a table of texts, with numbers and categories that tell much."""
    digits = [sum(letter.isdigit() for letter in one) for one in messages]
    ends = [one[-1] if one[-1:] in ".!?" else "none" for one in messages]
    return pd.DataFrame({"text": messages, "letters": list(map(len, messages)), "digits": digits, "end": ends})


# Strings, series, graphs and sets.


@case
def genes():
    return fitted(SimilarityClassifier(random_state=0), *split(datasets.promoters()))


@quick
def genes_by_substrings():
    return fitted(SimilarityClassifier(Spectrum(4), random_state=0), *split(datasets.promoters()))


@case
def genes_by_their_letters_that_differ():
    return fitted(SimilarityClassifier(Edit(), random_state=0), *split(datasets.promoters()))


@case
def texts():
    X, y, new = split(datasets.messages())
    return fitted(SimilarityClassifier(random_state=0), X[:250], y[:250], new)


@case
def texts_by_words():
    return fitted(SimilarityClassifier(Words(), random_state=0), *split(datasets.messages()))


@case
def lengths_of_texts():
    X, _, new = split(datasets.messages())
    numbers = [float(len(one)) for one in X[:150]]
    return fitted(SimilarityRegressor(random_state=0), X[:150], numbers, new)


@case
def voices():
    return fitted(SimilarityClassifier(random_state=0), *split(datasets.vowels()))


@case
def voices_by_warping():
    return fitted(SimilarityClassifier(DTW(), random_state=0), *split(datasets.vowels()))


@case
def molecules():
    X, y, new = split(datasets.molecules())
    return fitted(SimilarityClassifier(random_state=0), X, y, new)


@case
def molecules_by_subtrees():
    return fitted(SimilarityClassifier(WeisfeilerLehman(), random_state=0), *split(datasets.molecules()))


def keywords():
    X, y = datasets.papers()
    return [set(one.keywords) for one in X], np.where(np.asarray(y) == "theory", "theory", "other")


@case
def sets():
    return fitted(SimilarityClassifier(random_state=0), *split(keywords(), new=6))


@quick
def sets_by_jaccard():
    return fitted(SimilarityClassifier(Jaccard(), random_state=0), *split(keywords(), new=6))


# Functions of two objects.


def near(x, z):
    return 1.0 / (1.0 + abs(x[0] - z[0]) + abs(x[1] - z[1]))


def before(x, z):
    return 1.0 / (1.0 + abs(x[0] - z[0])) + 0.1 * float(x[1] < z[1])


def points(n, seed=0):
    """Return pairs of numbers, with two classes and a number for each."""
    X = np.random.default_rng(seed).uniform(-2, 2, (n, 2))
    return list(map(tuple, X.tolist())), np.where(X[:, 0] * X[:, 1] > 0, "same", "other"), X[:, 0] ** 2 + X[:, 1]


@case
def a_cheap_function():
    X, y, _ = points(130)
    return fitted(SimilarityClassifier(FromPairs(near, cost=0), random_state=0), X[:120], y[:120], X[120:])


@case
def a_function_that_may_be_costly():
    X, y, _ = points(410)
    return fitted(SimilarityClassifier(FromPairs(near), random_state=0), X[:400], y[:400], X[400:])


@case
def a_function_with_a_price():
    X, _, numbers = points(410)
    similarity = FromPairs(near, cost=0.01, claims=["SYMMETRIC"])
    return fitted(SimilarityRegressor(similarity, random_state=0), X[:400], numbers[:400], X[400:])


@case
def few_calls_of_a_function():
    X, y, _ = points(210)
    return fitted(SimilarityClassifier(near, max_calls=4000, random_state=0), X[:200], y[:200], X[200:])


@case
def a_cascade_of_several_stages():
    X = np.random.default_rng(0).uniform(-2, 2, (510, 2))
    y = np.where(X[:, 0] + 0.5 * np.sin(5 * X[:, 1]) > 0, "right", "left")
    objects = list(map(tuple, X.tolist()))
    model = SimilarityClassifier(near, max_calls=14_000, random_state=0).fit(objects[:500], y[:500])
    return {"early stops": plain(model.early_stops(objects[500:])), **of_model(model, objects[500:])}


@case
def few_calls_of_an_asymmetric_function():
    X, _, numbers = points(210)
    return fitted(SimilarityRegressor(before, max_calls=5000, random_state=0), X[:200], numbers[:200], X[200:])


@case
def few_calls_of_a_function_with_a_certificate():
    X, y, _ = points(310)
    model = SimilarityClassifier(near, max_calls=9000, certify=0.3, random_state=0)
    return fitted(model, X[:300], y[:300], X[300:])


# Kernels that are learned, several labels, grades.


@case
def learned_substrings():
    return fitted(SimilarityClassifier(Spectrum(3).learned(), random_state=0), *split(datasets.promoters()))


@case
def a_learned_metric():
    return predicted(Gaussian().learned(), n=300, data=waves)


@case
def several_labels():
    X, _ = clouds(310)
    Y = (np.column_stack([X[:, 0], X[:, 1], X[:, 0] * X[:, 2]]) > 0).astype(int)
    return fitted(SimilarityMultilabelClassifier("gaussian", random_state=0), X[:300], Y[:300], X[300:])


@case
def several_labels_of_a_learned_kernel():
    X, _ = clouds(310)
    Y = (np.column_stack([X[:, 0], X[:, 1], X[:, 0] * X[:, 2]]) > 0).astype(int)
    return fitted(SimilarityMultilabelClassifier(random_state=0), X[:300], Y[:300], X[300:])


@case
def grades():
    X, y = hills(310)
    sizes = np.array(["small", "medium", "large"])[np.digitize(y, [-0.5, 0.5])]
    model = SimilarityOrdinalClassifier("gaussian", order=["small", "medium", "large"], random_state=0)
    return fitted(model, X[:300], sizes[:300], X[300:], above="small")


@case
def grades_of_1500_rows():
    X, y = hills(1510)
    model = SimilarityOrdinalClassifier("gaussian", random_state=0)
    return fitted(model, X[:1500], np.digitize(y[:1500], [-1.0, -0.3, 0.3, 1.0]), X[1500:], above=2)


# Ridge regression on a kernel, and functions that choose.


@quick
def kernel_ridge():
    X, y = waves(160)
    return fitted(KernelRidge(Gaussian(1.0)), X[:150], y[:150], X[150:])


@quick
def kernel_ridge_classifier():
    X, y, new = split(datasets.iris())
    return fitted(KernelRidgeClassifier(Matern()), np.array(X), y, np.array(new))


@case
def a_choice_among_kernels():
    X, y = clouds(200)
    found = choose_kernel([Gaussian(), Laplace(), Linear(), Sigmoid(0.5)], X, y, random_state=0)
    rows = [[one.candidate, plain(one.error), size(one.penalty), str(one.representation)] for one in found.table]
    return {"held_out_error": plain(found.held_out_error), "table": plain(rows), "best": plain(repr(found.best))}


@case
def a_choice_among_similarities_of_strings():
    X, y, _ = split(datasets.promoters())
    found = choose_kernel([Spectrum(2), Spectrum(4), Edit()], X, y, learn=True, random_state=0)
    rows = [[one.candidate, plain(one.error), size(one.penalty)] for one in found.table]
    return {"held_out_error": plain(found.held_out_error), "table": plain(rows), "notes": plain(found.notes)}


@case
def combined_kernels():
    X, y = clouds(150)
    kernels = [Gaussian(), Linear(), Cosine()]
    hows = ("alignment", "uniform", "easymkl", "concatenate")
    return {how: plain(combine(kernels, X, y, how=how, random_state=0).gram(X[:4])) for how in hows}


@case
def a_kernel_that_is_learned():
    X, y = waves(300)
    found = learn_kernel(Gaussian(), X, y, random_state=0)
    return {"reason": plain(found.reason), "gram": plain(found.similarity.gram(X[:4])), "said": plain(str(found))}


@case
def an_assessment():
    X, y = clouds(200)
    found = assess(Gaussian(1.5), X, y, random_state=0)
    return {
        "said": plain(str(found)),
        "alignment": plain(found.alignment),
        "centered": plain(found.centered_alignment),
        "hardest": plain(found.hardest[:10]),
        "suspects": plain(found.suspects),
        "witnesses": plain(found.witnesses[:10]),
        "notes": plain(found.notes),
    }


@case
def errors_by_calls():
    X, y, _ = points(200)
    return {"said": plain(str(cost_curve(near, X, y, random_state=0)))}
