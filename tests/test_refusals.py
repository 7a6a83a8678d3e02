"""A table of refusals: what is not supported, and the error that it gets before any similarity is called."""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from cli_runs import run
from market import LONGER_WORDS as WORDS
from market import SAMPLE
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from similitude import (
    FromBlocks,
    FromPairs,
    Precomputed,
    SimilarityClassifier,
    SimilarityRegressor,
    alignment,
    as_similarity,
    assess,
    check_kernel,
    choose_kernel,
    combine,
    datasets,
    drift_test,
    error_at_margin,
    independence_test,
    margin,
    repair,
    two_sample_test,
    use_engine,
)
from similitude.engines import DaskEngine, LocalEngine, TorchEngine
from similitude.errors import PairError, SourceError, UnresolvedError
from similitude.kernels import (
    Columns,
    Cosine,
    Gaussian,
    Laplace,
    Linear,
    Matern,
    Mismatch,
    Polynomial,
    RationalQuadratic,
    explicit_dimension,
    explicit_map,
)
from similitude.kernels.series.elastic import ElasticDistance
from similitude.learners import (
    AlignmentVote,
    KernelKMeans,
    KernelOneClassSVM,
    KernelPerceptron,
    KernelSGDSVC,
    KernelSVC,
    SimilarityDensityClusters,
    SimilarityKMedoids,
    SimilarityKNeighborsClassifier,
    SimilarityKNeighborsRegressor,
    SimilarityLinkage,
    SimilarityNovelty,
    SimilarityVote,
    SpectralClusters,
    WeakSimilarityVote,
    choose_clusters,
)
from similitude.maps import (
    CompactMap,
    FourierMap,
    KernelPCA,
    LandmarkMap,
    PolynomialSketchMap,
    ProjectionMap,
    SpectralEmbedding,
)
from similitude.maps.sketches import Sketch
from similitude.selection import SideBySide
from similitude.similarity.algebra import Absolute, Exponential, Scaled, Sum
from similitude.similarity.wrappers import Normalized, Pullback, Symmetrized
from similitude.sources import Source

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 3))
TWO = np.where(X[:, 0] > 0.2 * X[:, 1], "a", "b")
Y = X[:, 0] + np.sin(X[:, 1])
LETTERS = list("abcdefghijkl")
K3 = np.array([[1.0, 0.9, 0.1], [0.9, 1.0, 0.2], [0.1, 0.2, 1.0]])
Y3 = [1, 1, -1]
ENGINE = (TypeError, "engine must be an Engine")
WHOLE = (ValueError, "must be an integer >= 1")


class SquaredGaussian(Gaussian):
    """A Gaussian kernel in name, with other values."""

    def block(self, A, B):
        return super().block(A, B) ** 2


class CubedLinear(Linear):
    """A linear kernel in name, with other values."""

    def block(self, A, B):
        return super().block(A, B) ** 3


class Refusal(NamedTuple):
    """Something that is not supported: how it is asked for with a similarity that must not be called, and the error."""

    name: str
    call: Callable[[Callable], Any]
    error: type[Exception]
    message: str


def fit(make, parameters, *given, **options):
    """Fit with a similarity that must not be called, unless another is given; whatever happens, nothing is fitted."""
    role = "kernel" if "kernel" in inspect.signature(make).parameters else "similarity"

    def call(asked):
        model = make(**{role: asked, **parameters})
        try:
            model.fit(*given, **options)
        finally:
            assert not [name for name in vars(model) if name.endswith("_")], "a refused fit left something behind"

    return call


def fits(make, *given, rows):
    """Return the refusals of parameters of an estimator, fitted to these examples."""
    return [
        Refusal(f"{make.__name__} {' '.join(parameters)}", fit(make, parameters, *given), error, message)
        for parameters, error, message in rows
    ]


def examples(make, rows, **parameters):
    """Return the refusals of what an estimator is fitted to: objects, labels and weights."""
    return [
        Refusal(f"{make.__name__} examples", fit(make, parameters, *given), error, message)
        for given, error, message in rows
    ]


def calls(name, function, rows):
    """Return the refusals of a function of changes to its arguments."""
    return [
        Refusal(name, lambda asked, change=change: function(asked, change), error, message)
        for change, error, message in rows
    ]


def asked_after_fit(asked, make, y):
    """Return a model that was fitted with another similarity, and has one that must not be called since."""
    model = make(Linear(), n_landmarks=2, random_state=0).fit(X, y)
    part = model._model.parts[0]
    object.__setattr__(part.features, "similarity", as_similarity(asked))
    return model


# Estimators.

LANDMARK_PARAMETERS = [
    ({"similarity": []}, ValueError, "empty list"),
    ({"similarity": [Gaussian(), Precomputed(np.eye(60))]}, ValueError, "different kinds: indices, vectors"),
    ({"similarity": [Gaussian(), "precomputed"]}, ValueError, r"stands alone: in a list use Precomputed\(M\)"),
    ({"similarity": "gaussianx"}, ValueError, "did you mean 'gaussian'"),
    ({"similarity": 3}, TypeError, "a similarity is a Similarity"),
    ({"similarity": [Gaussian(), 3]}, TypeError, "a similarity is a Similarity"),
    ({"similarity": Gaussian(sigma=-1.0)}, ValueError, "sigma"),
    ({"similarity": Gaussian(), "random_state": -1}, ValueError, "random_state must be an integer >= 0"),
    ({"similarity": Gaussian(), "random_state": "x"}, TypeError, "random_state must be an integer >= 0"),
    ({"similarity": Gaussian(sigma=10**400)}, ValueError, "sigma must be a positive number"),
    ({"similarity": Polynomial(degree=10**400)}, ValueError, "degree must be a whole number >= 1"),
    ({"similarity": lambda x: 1.0}, TypeError, "two arguments"),
    ({"loss": "svm"}, ValueError, "loss must be 'auto', 'squared'.* got 'svm'"),
    ({"side": "up"}, ValueError, "side must be one of 'auto', 'left', 'right', 'both', got 'up'"),
    ({"landmarks": "uniformly"}, ValueError, r"landmarks must be 'auto', a rule \(uniform.* got 'uniformly'"),
    ({"landmarks": None}, TypeError, "landmarks must be a sequence"),
    ({"landmarks": []}, ValueError, "landmarks holds no objects"),
    ({"landmarks": lambda X: X[:2]}, TypeError, "landmarks cannot be a function.* landmark_indices"),
    ({"similarity": "gaussian", "landmarks": ["x", "y"]}, ValueError, "landmarks: could not convert string"),
    ({"similarity": "gaussian", "landmarks": np.zeros((4, 2))}, ValueError, "landmarks: X has 2 features"),
    ({"similarity": "gaussian", "landmarks": [[np.nan, 0.0, 0.0]]}, ValueError, "landmarks: Input X contains NaN"),
    ({"landmarks": X[:4], "n_landmarks": 5}, ValueError, "n_landmarks = 5 but 4 landmarks were given"),
    ({"landmarks": X[:4], "landmark_indices": [1]}, ValueError, "not several"),
    ({"landmark_indices": [1], "unlabeled": X}, ValueError, "not several"),
    ({"landmark_indices": [60]}, IndexError, "holds 60, X has 60 objects"),
    ({"landmark_indices": [-61]}, IndexError, "holds -61"),
    ({"landmark_indices": [0.5]}, ValueError, "list of positions"),
    ({"landmark_indices": []}, ValueError, "list of positions"),
    ({"landmark_indices": 3}, ValueError, "list of positions"),
    ({"n_landmarks": 0}, ValueError, "n_landmarks must be an integer >= 1 or 'auto', got 0"),
    ({"n_landmarks": 2.5}, ValueError, "n_landmarks must be"),
    ({"n_landmarks": True}, ValueError, "n_landmarks must be"),
    ({"n_landmarks": "many"}, ValueError, "n_landmarks must be"),
    ({"n_landmarks": None}, ValueError, "n_landmarks must be"),
    ({"unlabeled": []}, ValueError, "unlabeled holds no objects"),
    ({"unlabeled": np.empty((0, 3))}, ValueError, "unlabeled holds no objects"),
    ({"similarity": "gaussian", "unlabeled": np.zeros((5, 2))}, ValueError, "unlabeled: X has 2 features"),
    ({"similarity": "gaussian", "unlabeled": ["one", "two"]}, ValueError, "unlabeled: could not convert"),
    ({"unlabeled": "words"}, TypeError, "unlabeled is one string"),
    ({"unlabeled": 5}, TypeError, "unlabeled must be a sequence"),
    ({"unlabeled": X, "landmarks": "stratified"}, ValueError, "unlabeled pool has none"),
    ({"engine": 2}, *ENGINE),
]
LABELS = [
    ((X, ["a"] * 60), ValueError, "needs at least two classes, y holds one class only"),
    ((X, TWO[:-1]), ValueError, r"inconsistent numbers of samples: \[60, 59\]"),
    ((X, None), ValueError, "requires y to be passed"),
    ((X, X[:, 0]), ValueError, "Unknown label type"),
    ((X, np.where(X[:, 0] > 0, 1.0, np.nan)), ValueError, "NaN"),
    ((X, np.array(["a", None] * 30, dtype=object)), ValueError, "missing labels, the first for example 1"),
    ((X, pd.Series(["a", "b", pd.NA] * 20, dtype="string")), ValueError, "missing labels, the first for example 2"),
    ((X, pd.Series(["a", pd.NA] * 30, dtype=object)), ValueError, "missing labels, the first for example 1"),
    ((X, pd.Series(pd.to_datetime(["2020", None] * 30))), ValueError, "missing labels, the first for example 1"),
    ((X, np.zeros((60, 2))), ValueError, "1d"),
    ((X, TWO, -np.ones(60)), ValueError, "must not be negative"),
    ((X, TWO, np.zeros(60)), ValueError, "every weight"),
    ((X, TWO, np.ones(59)), ValueError, "shape"),
    ((X, TWO, (TWO == "a").astype(float)), ValueError, "class 'b' has examples of weight zero only"),
    ((X, TWO, np.r_[np.nan, np.ones(59)]), ValueError, "NaN"),
    (("kernel", TWO), TypeError, "one string"),
    (([], []), ValueError, "no objects"),
    ((WORDS[:1], ["a"]), ValueError, "one class"),
]
TARGETS = [
    ((X, pd.Series(pd.to_datetime(["2020", None] * 30))), TypeError, "y holds dates or times .* give numbers"),
    ((X, Y[:-1]), ValueError, "inconsistent"),
    ((X, np.where(Y > 0, np.inf, Y)), ValueError, "inf"),
    ((X, np.zeros((60, 2, 2))), ValueError, "dim 3"),
    ((X, TWO), ValueError, "y holds texts such as .a., not numbers: for classes use a classifier"),
    (("kernel", Y), TypeError, "one string"),
    (([], []), ValueError, "no objects"),
    ((WORDS[:1], [1.0]), ValueError, "got 1"),
]
GRAM = X @ X.T


def partial_fit(asked, change):
    parameters, *given = change
    SimilarityClassifier(**{"similarity": asked, **parameters}).partial_fit(*given)


ESTIMATORS = [
    *fits(SimilarityClassifier, X, TWO, rows=LANDMARK_PARAMETERS),
    *fits(SimilarityRegressor, X, Y, rows=LANDMARK_PARAMETERS),
    *fits(
        SimilarityRegressor,
        X,
        Y,
        rows=[
            (
                {"loss": "logistic"},
                ValueError,
                "loss must be 'auto', 'squared', 'huber', 'absolute', 'quantile', got 'logistic'",
            ),
            ({"loss": "quantile", "quantile": 1.0}, ValueError, "quantile must be"),
            ({"loss": "quantile", "penalty": "l1"}, ValueError, "loss='quantile' needs penalty='l2'"),
            ({"loss": "absolute", "certify": 0.2}, ValueError, "predicts quantiles"),
            ({"landmarks": "stratified"}, ValueError, "'stratified' needs classes"),
        ],
    ),
    *fits(
        SimilarityClassifier,
        X,
        TWO,
        rows=[
            ({"class_weight": {"a": -1.0, "b": 1.0}}, ValueError, "must not be negative"),
            ({"class_weight": {"a": 0.0, "b": 1.0}}, ValueError, "weight zero only"),
            ({"class_weight": "even"}, ValueError, "class_weight"),
            ({"similarity": "precomputed"}, ValueError, r"square matrix .* got shape \(60, 3\)"),
        ],
    ),
    *fits(
        SimilarityClassifier,
        GRAM,
        TWO,
        rows=[
            ({"similarity": "precomputed", "side": "both"}, ValueError, "side must be 'left'"),
            ({"similarity": "precomputed", "side": "right"}, ValueError, "side must be 'left'"),
            ({"similarity": "precomputed", "landmarks": X[:3]}, ValueError, "landmark_indices"),
            ({"similarity": "precomputed", "unlabeled": X}, ValueError, "landmark_indices"),
        ],
    ),
    *examples(SimilarityClassifier, LABELS),
    *examples(SimilarityRegressor, TARGETS),
    *examples(
        SimilarityClassifier,
        [
            ((np.where(X > 1, np.nan, X), TWO), ValueError, "NaN"),
            ((X[:1], ["a"]), ValueError, "one class"),
        ],
        similarity="gaussian",
    ),
    *examples(
        SimilarityRegressor,
        [((np.where(X > 1, np.nan, X), Y), ValueError, "NaN"), ((X[:1], Y[:1]), ValueError, "got 1")],
        similarity="gaussian",
    ),
    *examples(
        SimilarityClassifier,
        [((np.where(GRAM > 3, np.nan, GRAM), TWO), ValueError, "NaN")],
        similarity="precomputed",
    ),
    *calls(
        "partial_fit",
        partial_fit,
        [
            (({"loss": "logistic"}, X, TWO), ValueError, "partial_fit needs loss='squared' and penalty='l2'"),
            (({"penalty": "l1"}, X, TWO), ValueError, "partial_fit needs loss='squared' and penalty='l2'"),
            (({"class_weight": "balanced"}, X, TWO), ValueError, "give a dict of weights to partial_fit"),
            (({"similarity": "precomputed"}, GRAM, TWO), ValueError, "a stream has no matrix of all pairs"),
            (({}, X[:5], ["a"] * 5), ValueError, "one class only: give all of them by classes="),
            (({}, X[:1], ["a"], ["a", "b"]), ValueError, "two examples at least"),
            (({}, X, TWO, ["a", "c"]), ValueError, "not one of the classes"),
        ],
    ),
    *calls(
        "before fit",
        lambda asked, method: getattr(SimilarityClassifier(asked), method)(X),
        [(method, NotFittedError, "not fitted") for method in ("predict", "predict_proba", "predict_set", "explain")],
    ),
    *calls(
        "predict_interval",
        lambda asked, change: asked_after_fit(asked, SimilarityRegressor, Y).predict_interval(change[0], *change[1:]),
        [
            ((X, 0.0), ValueError, r"level must be a number in \(0, 1\), got 0.0"),
            ((X, 1), ValueError, r"level must be a number in \(0, 1\), got 1"),
            ((X, 0.99), ValueError, "level=0.99 needs 99 rows to calibrate, there are 60: ask for 0.9836 at most"),
            ((lambda: iter([X]), 0.9), TypeError, "predict_interval takes objects in memory, got function"),
        ],
    ),
    *calls(
        "predict_set",
        lambda asked, change: asked_after_fit(asked, SimilarityClassifier, TWO).predict_set(change[0], *change[1:]),
        [
            ((X, 1.5), ValueError, r"level must be a number in \(0, 1\), got 1.5"),
            ((X, 0.99), ValueError, "level=0.99 needs 99 rows"),
            ((lambda: iter([X]), 0.9), TypeError, "predict_set takes objects in memory, got function"),
        ],
    ),
]

# Sources.

N = 300
STREAM, HALVES = rng.standard_normal((N, 4)), np.arange(N) % 2


def batches(*pairs):
    return lambda: iter(pairs)


SOURCES = [
    *examples(
        SimilarityClassifier,
        [
            ((iter([(STREAM, HALVES)]),), TypeError, "read only once, and 2 passes"),
            ((batches(STREAM),), ValueError, r"batch 0.*requires y"),
            ((batches((STREAM, HALVES), (STREAM[:9, :2], HALVES[:9])),), SourceError, "batch 1 has width 2"),
            ((batches((STREAM, HALVES), (np.full((9, 4), np.nan), HALVES[:9])),), ValueError, "batch .*NaN"),
            ((batches((STREAM, HALVES * 1.0), (STREAM[:9], HALVES[:9] + np.nan)),), ValueError, "batch .*NaN"),
            ((batches((STREAM, HALVES), (list("abcdefghi"), HALVES[:9])),), SourceError, "batch 1 has object kind"),
            ((Source(STREAM, np.zeros(N, int)),), ValueError, "one class only"),
            ((Source(STREAM, HALVES, np.zeros(N)),), ValueError, "weight"),
            ((Source(STREAM, HALVES), HALVES), TypeError, "brings its labels"),
        ],
        similarity="linear",
    ),
    *fits(
        SimilarityClassifier,
        Source(STREAM, HALVES),
        rows=[
            ({"landmark_indices": [1, 2]}, ValueError, "landmark_indices"),
            ({"engine": LocalEngine(memory="1KiB")}, MemoryError, "the sample of"),
        ],
    ),
    *fits(LandmarkMap, Source(STREAM), rows=[({"landmark_indices": [1]}, ValueError, "landmark_indices")]),
    *calls(
        "Source",
        lambda asked, make: make(),
        [
            (lambda: Source(Source(STREAM)), TypeError, "Source already"),
            (lambda: Source(5), TypeError, "a source is"),
            (lambda: list(Source(STREAM, HALVES[:-1]).batches()), SourceError, "300 objects and 299 labels"),
            (lambda: list(Source(lambda: iter([])).batches()), SourceError, "holds no rows"),
        ],
    ),
]

# Maps.

LANDMARK_MAP = [
    ({"landmarks": WORDS, "landmark_indices": [0]}, ValueError, "not both"),
    ({"landmark_indices": [99]}, IndexError, "landmark_indices holds 99, X has 14 objects"),
    ({"landmark_indices": []}, ValueError, "list of positions in X"),
    ({"landmark_indices": [0.5]}, ValueError, "list of positions in X"),
    ({"landmarks": "unifrom_"}, ValueError, "did you mean 'uniform'"),
    ({"landmark_indices": [0], "n_components": 2}, ValueError, "n_components asks for 2 landmarks but 1 were given"),
    ({"engine": 2}, *ENGINE),
    *[({"n_components": bad}, ValueError, "n_components must be an integer >= 1") for bad in (0, 2.5, True, "many")],
]
SIZES = [
    ({"epsilon": 0.0, "margin": 0.5, "delta": 0.1}, ValueError, "epsilon must be a number in"),
    ({"epsilon": 1.0, "margin": 0.5, "delta": 0.1}, ValueError, "epsilon must be a number in"),
    ({"epsilon": 0.1, "margin": 1.5, "delta": 0.1}, ValueError, "(gamma|margin) must be a number in"),
    ({"epsilon": 0.1, "margin": 0.5, "delta": 1.0}, ValueError, "delta must be a number in"),
    ({"epsilon": 0.1}, ValueError, "epsilon and margin go together"),
]
MAPS = [
    *fits(
        LandmarkMap, WORDS, rows=[*LANDMARK_MAP, *SIZES, ({"side": "top"}, ValueError, "side must be 'left', 'right'")]
    ),
    *fits(ProjectionMap, WORDS, rows=LANDMARK_MAP),
    *fits(CompactMap, WORDS, rows=[*LANDMARK_MAP[:5], *LANDMARK_MAP[6:]]),
    *fits(
        LandmarkMap,
        X,
        rows=[
            ({"landmarks": "stratified"}, ValueError, "needs labels: pass y"),
            ({"similarity": "gaussian", "landmarks": np.ones((2, 2))}, ValueError, r"landmarks: .*2 features"),
            ({"similarity": "precomputed"}, ValueError, "square"),
        ],
    ),
    *fits(
        LandmarkMap,
        np.eye(3),
        rows=[
            ({"similarity": "precomputed", "landmarks": np.ones((2, 2))}, ValueError, "landmark_indices"),
            ({"similarity": "precomputed", "side": "both"}, ValueError, "side must be 'left'"),
        ],
    ),
    *examples(LandmarkMap, [((X, TWO[:10]), ValueError, "inconsistent"), (([],), ValueError, "no objects")]),
    *fits(
        KernelPCA,
        WORDS,
        rows=[
            ({"n_components": 15}, ValueError, "n_components = 15 is more than there are objects"),
            ({"n_components": 0}, ValueError, "n_components must be an integer >= 1"),
            ({"tol": 0.0}, ValueError, "tol must be a positive number"),
            ({"fit_inverse_transform": True}, ValueError, "only dense vectors"),
            ({"engine": "local"}, *ENGINE),
            ({"engine": LocalEngine(memory="1kB")}, MemoryError, "takes"),
        ],
    ),
    *fits(KernelPCA, X, rows=[({"kernel": "precomputed"}, ValueError, "square matrix")]),
    *examples(KernelPCA, [((WORDS[:1],), ValueError, "n_samples = 1"), (([],), ValueError, "no objects")]),
    *fits(
        SpectralEmbedding,
        WORDS,
        rows=[
            ({"n_components": 14}, ValueError, "n_components = 14 must be less"),
            ({"n_components": 2.5}, ValueError, "n_components must be an integer >= 1"),
            ({"n_neighbors": 14}, ValueError, "n_neighbors = 14 must be less"),
            ({"n_neighbors": 0}, ValueError, "n_neighbors must be an integer >= 1"),
            ({"tol": -1.0}, ValueError, "tol must be a positive number"),
            ({"engine": LocalEngine(memory="1kB")}, MemoryError, "takes"),
        ],
    ),
    *examples(SpectralEmbedding, [((WORDS[:1],), ValueError, "n_samples = 1"), (([],), ValueError, "no objects")]),
    *fits(
        FourierMap,
        X,
        rows=[
            *[
                ({"kernel": kernel}, TypeError, "Gaussian, Laplace, Matern and RationalQuadratic")
                for kernel in (Linear(), Cosine(), -1.0 * Gaussian(), lambda x, z: 1.0, "precomputed")
            ],
            *[
                ({"kernel": kernel}, TypeError, r"not of their subclasses, got .*SquaredGaussian\(sigma=1.0\)")
                for kernel in (SquaredGaussian(1.0), 2.0 * SquaredGaussian(1.0))
            ],
            *[
                ({"kernel": Laplace(norm=1), "kind": kind}, ValueError, "use kind='plain'")
                for kind in ("orthogonal", "structured")
            ],
            *[({"kernel": "gaussian", "n_components": bad}, *WHOLE) for bad in (0, 2.5, None, True)],
            (
                {"kernel": "gaussian", "kind": "sorf"},
                ValueError,
                "kind must be one of 'plain', 'orthogonal'",
            ),
        ],
    ),
    *fits(
        PolynomialSketchMap,
        X,
        rows=[
            *[
                ({"kernel": kernel}, TypeError, "takes Polynomial, Linear and Cosine kernels")
                for kernel in (
                    Gaussian(),
                    Polynomial() + Linear(),
                    Polynomial() + 1.0,
                    Cosine() ** 0.5,
                    Linear() ** 0,
                    max,
                    "precomputed",
                )
            ],
            *[
                ({"kernel": kernel}, TypeError, r"not subclasses of them, got .*CubedLinear\(\)")
                for kernel in (CubedLinear(), 2.0 * CubedLinear(), CubedLinear() ** 2, CubedLinear() + 1.0)
            ],
            *[
                ({"kernel": kernel}, ValueError, "negative coefficient")
                for kernel in (Polynomial(coef0=-1.0), Polynomial(scale=-1.0), -1.0 * Linear(), Linear() - 1.0)
            ],
            *[({"kernel": "polynomial", "n_components": bad}, *WHOLE) for bad in (0, -3, 1.5, None, True)],
        ],
    ),
    *calls(
        "map",
        lambda asked, one: one.fit(X),
        [
            (FourierMap(Gaussian(sigma=-1.0)), ValueError, "sigma must be a positive number"),
            (FourierMap(n_components=10**6, engine=LocalEngine(memory="1MiB")), MemoryError, "memory budget"),
            (PolynomialSketchMap(Polynomial(degree=0)), ValueError, "degree must be a whole number"),
        ],
    ),
    *calls(
        "transform",
        lambda asked, change: change[0].transform(change[1]),
        [
            ((ProjectionMap(), X), NotFittedError, "not fitted"),
            ((FourierMap(), X), NotFittedError, "not fitted"),
            ((PolynomialSketchMap(), X), NotFittedError, "not fitted"),
            ((ProjectionMap().fit(X), np.ones((2, 5))), ValueError, "5 features"),
            ((ProjectionMap().fit(X), WORDS), ValueError, "could not convert string"),
            ((FourierMap().fit(X), X[:, :2]), ValueError, "2 features, but FourierMap is expecting 3"),
            (
                (PolynomialSketchMap().fit(X), X[:, :2]),
                ValueError,
                "2 features, but PolynomialSketchMap is expecting 3",
            ),
            (
                (PolynomialSketchMap(n_components=8).fit(X), X * 1e150),
                ValueError,
                "a feature of PolynomialSketchMap is",
            ),
        ],
    ),
    *calls(
        "Sketch",
        lambda asked, arguments: Sketch(*arguments),
        [
            (("haar", 3, 2, 0), ValueError, "kind must be one of 'gaussian', 'sign', 'sparse', 'hadamard', got 'haar'"),
            (("sign", 0, 2, 0), ValueError, "n_in must be an integer >= 1"),
            (("sign", 3, 1.5, 0), ValueError, "n_out must be an integer >= 1"),
        ],
    ),
]

# Learners.

NEIGHBORS = [
    ({"n_neighbors": 15}, ValueError, "n_neighbors = 15 is more"),
    ({"n_neighbors": 0}, ValueError, "integer >= 1"),
    ({"n_neighbors": 2.0}, ValueError, "integer >= 1"),
    ({"n_neighbors": True}, ValueError, "integer >= 1"),
    ({"weights": "closeness"}, ValueError, "weights must be"),
    ({"weights": None}, ValueError, "weights must be"),
]
VOTE_LABELS = [
    ((list("bcde"), ["a"] * 4), ValueError, "one class only"),
    ((list("bcde"), ["a", "b", "a"]), ValueError, "inconsistent numbers"),
    ((list("bcde"), ["a", None, "b", "a"]), ValueError, "missing labels"),
    ((list("bcde"), None), ValueError, "requires y"),
]
LEARNERS = [
    *fits(SimilarityKNeighborsClassifier, WORDS, np.arange(14) % 2, rows=NEIGHBORS),
    *fits(SimilarityKNeighborsRegressor, WORDS, np.arange(14) % 2, rows=NEIGHBORS),
    *examples(SimilarityKNeighborsClassifier, [((WORDS, ["a"] * 14), ValueError, "one class")]),
    *examples(
        SimilarityKNeighborsRegressor,
        [((WORDS, [np.nan] * 14), ValueError, "NaN"), ((WORDS, np.arange(10)), ValueError, "inconsistent")],
    ),
    *fits(
        KernelKMeans,
        WORDS,
        rows=[
            ({"n_clusters": 15}, ValueError, "n_clusters = 15 is more"),
            ({"n_clusters": 2, "n_landmarks": 15}, ValueError, "n_landmarks = 15 is more"),
            ({"n_clusters": 0}, ValueError, "n_clusters must be an integer >= 1"),
            ({"n_init": 0}, ValueError, "n_init must be an integer >= 1"),
            ({"max_iter": 1.5}, ValueError, "max_iter must be an integer >= 1"),
            ({"n_landmarks": True}, ValueError, "n_landmarks must be an integer >= 1"),
            ({"tol": -1.0}, ValueError, "tol must be"),
            ({"tol": np.nan}, ValueError, "tol must be"),
            ({"tol": "small"}, ValueError, "tol must be"),
        ],
    ),
    *examples(
        KernelKMeans,
        [
            ((WORDS, None, [1.0] + [0.0] * 13), ValueError, "positive weight"),
            ((WORDS, None, -np.ones(14)), ValueError, "negative"),
        ],
        n_clusters=2,
    ),
    *fits(
        SimilarityKMedoids,
        WORDS,
        rows=[
            ({"n_clusters": 15}, ValueError, "n_clusters = 15 is more than there are objects"),
            ({"n_clusters": "many"}, ValueError, "n_clusters must be an integer >= 1 or 'auto'"),
            ({"n_clusters": 3, "n_landmarks": 15}, ValueError, "n_landmarks = 15 is more"),
            ({"n_clusters": 3, "n_landmarks": 2}, ValueError, "n_clusters = 3 is more than n_landmarks = 2"),
            ({"distance": "cosine"}, ValueError, "distance must be one of"),
            ({"init": "build"}, ValueError, "init must be one of 'random' or an array of indices"),
            ({"n_clusters": 2, "init": [1, 1]}, ValueError, "2 different indices below 14"),
            ({"n_clusters": 2, "init": [1, 14]}, ValueError, "2 different indices below 14"),
            ({"n_clusters": 2, "init": [1]}, ValueError, "2 different indices below 14"),
            ({"n_init": 0}, ValueError, "n_init must be an integer >= 1"),
            ({"max_iter": 1.5}, ValueError, "max_iter must be an integer >= 1"),
            ({"n_clusters": 2, "engine": LocalEngine(memory=512)}, MemoryError, "memory budget"),
        ],
    ),
    *fits(
        SpectralClusters,
        WORDS,
        rows=[
            ({"n_clusters": 15}, ValueError, "n_clusters = 15 is more than there are objects"),
            ({"n_clusters": 3, "n_landmarks": 2}, ValueError, "n_clusters = 3 is more than n_landmarks = 2"),
            ({"n_init": 0}, ValueError, "n_init must be an integer >= 1"),
        ],
    ),
    *fits(
        SimilarityLinkage,
        WORDS,
        rows=[
            ({"n_clusters": 15}, ValueError, "n_clusters = 15 is more than there are objects"),
            ({"n_clusters": None}, ValueError, "give either n_clusters or distance_threshold"),
            ({"distance_threshold": 1.0}, ValueError, "give either n_clusters or distance_threshold"),
            ({"n_clusters": None, "distance_threshold": -1.0}, ValueError, "distance_threshold must be"),
            ({"method": "mean"}, ValueError, "method must be one of"),
            ({"engine": LocalEngine(memory=512)}, MemoryError, "memory budget"),
        ],
    ),
    *examples(SimilarityLinkage, [((["a"],), ValueError, "at least two objects")], n_clusters=1),
    *fits(
        SimilarityDensityClusters,
        WORDS,
        rows=[
            ({"eps": 0.0}, ValueError, "eps must be a positive number or None"),
            ({"min_samples": 0}, ValueError, "min_samples must be an integer >= 1"),
            ({"min_samples": 15}, ValueError, "min_samples = 15 is more than there are objects"),
            ({"n_landmarks": 15}, ValueError, "n_landmarks = 15 is more"),
            ({"distance": None}, ValueError, "distance must be one of"),
        ],
    ),
    *calls(
        "choose_clusters",
        lambda asked, change: choose_clusters(asked, WORDS, **change),
        [
            ({"n_clusters": [1, 2]}, ValueError, "n_clusters must be an integer >= 2"),
            ({"n_clusters": [8]}, ValueError, "halves of at least 8 objects"),
            ({"n_clusters": []}, ValueError, "halves of at least 2 objects"),
            ({"n_clusters": [2], "distance": "far"}, ValueError, "distance must be one of"),
        ],
    ),
    *fits(
        KernelSGDSVC,
        X,
        TWO,
        rows=[
            *[({"lam": bad}, ValueError, "lam must be a positive number") for bad in (0.0, np.inf, True, "small")],
            *[({"n_iter": bad}, ValueError, "n_iter must be an integer from 1 to") for bad in (0, 2.5)],
        ],
    ),
    *calls(
        "KernelSGDSVC order",
        lambda asked, change: fit(KernelSGDSVC, change[0], X, TWO, order=change[1])(asked),
        [
            (({}, [60]), ValueError, "names example 60"),
            (({}, [-1]), ValueError, "names example -1"),
            (({}, [0.5]), ValueError, "positions in X"),
            (({}, [[0]]), ValueError, "positions in X"),
            (({"n_iter": 3}, [0, 1]), ValueError, "leave n_iter out"),
        ],
    ),
    *examples(
        KernelSGDSVC,
        [
            ((X, ["yes"] * 60), ValueError, "one class only"),
            ((X, [1.0, np.nan] * 30), ValueError, "NaN"),
            ((X, ["a", "b"]), ValueError, "inconsistent numbers"),
        ],
    ),
    *fits(
        KernelOneClassSVM,
        WORDS,
        rows=[
            *[
                ({"nu": bad}, ValueError, r"nu must be a number in \(0, 1\]")
                for bad in (0.0, 1.5, np.nan, "half", True)
            ],
            ({"tol": 0.0}, ValueError, "tol must be a positive number"),
        ],
    ),
    *examples(
        KernelOneClassSVM, [((WORDS, None, -np.ones(14)), ValueError, "negative"), (([],), ValueError, "no objects")]
    ),
    *fits(
        SimilarityNovelty,
        WORDS,
        rows=[
            *[({"level": bad}, ValueError, r"level must be a number in \(0, 1\)") for bad in (0.0, 1.0, "low")],
            ({"n_neighbors": 0}, ValueError, "n_neighbors must be an integer >= 1"),
            ({"n_landmarks": 12}, ValueError, "n_landmarks must be between 2 and 11"),
            ({"n_landmarks": 1}, ValueError, "n_landmarks must be between 2 and 11"),
        ],
    ),
    *examples(SimilarityNovelty, [((WORDS[:2],), ValueError, "n_samples = 2"), (([],), ValueError, "no objects")]),
    *examples(SimilarityVote, VOTE_LABELS),
    *examples(AlignmentVote, VOTE_LABELS),
    *examples(
        WeakSimilarityVote, [*VOTE_LABELS, ((list("bcde"), list("aaba")), ValueError, "class 'b' has one example")]
    ),
    *fits(
        SimilarityVote,
        list("bcde"),
        [0, 0, 1, 1],
        rows=[
            ({"weights": [0.5, 1.5, 0, 0]}, ValueError, "that of example 1 is 1.5"),
            ({"weights": [0.5, 0.5, -0.1, 0]}, ValueError, "that of example 2 is -0.1"),
            ({"weights": [0.5, np.nan, 0, 0]}, ValueError, "that of example 1 is nan"),
            ({"weights": [0.5, 0.5]}, ValueError, "4 numbers, one for each example"),
            ({"weights": ["a", "b", "c", "d"]}, ValueError, "4 numbers"),
            ({"weights": 0.5}, ValueError, "4 numbers"),
            ({"weights": [0, 0, 0, 0]}, ValueError, "no example has a vote"),
            ({"weights": lambda x: "much"}, ValueError, r"weights\('b'\) of example 0 is not a number"),
            ({"weights": lambda x: 1 / (x != "c")}, ValueError, r"weights\('c'\) of example 1 is not a number"),
            ({"engine": "local"}, *ENGINE),
        ],
    ),
    *fits(
        SimilarityVote,
        GRAM,
        TWO,
        rows=[
            (
                {"similarity": "precomputed", "weights": lambda x: 1.0},
                ValueError,
                "no objects for a function of weights",
            )
        ],
    ),
    *fits(SimilarityVote, X, TWO, rows=[({"similarity": "precomputed"}, ValueError, "square matrix")]),
    *fits(WeakSimilarityVote, X, TWO, rows=[({"balanced": "yes"}, ValueError, "balanced must be True or False")]),
    *fits(AlignmentVote, X, TWO, rows=[({"similarity": "linera"}, ValueError, "did you mean 'linear'")]),
    *examples(AlignmentVote, [((X, TWO, -np.ones(60)), ValueError, "not be negative")]),
]

# Functions.


def with_changes(function, names, usual):
    """Return a function of a similarity and of changes to the usual arguments; `names` come by position."""

    def call(asked, change):
        given = {**usual(asked), **change}
        by_position = [given.pop(name) for name in names]
        return function(*by_position, **given)

    return call


def labeled(y, **options):
    return {"y": y, **options}


COMPARED = with_changes(
    choose_kernel, ("candidates", "X", "y"), lambda asked: {"candidates": [asked], "X": X[:40], "y": [0, 1] * 20}
)
COMBINED = with_changes(
    combine, ("similarities", "X", "y"), lambda asked: {"similarities": [asked], "X": X[:24], "y": [0, 1] * 12}
)
ASSESSED = with_changes(
    assess, ("similarity", "X", "y"), lambda asked: {"similarity": asked, "X": LETTERS, "y": [0, 1] * 6}
)
SEPARATED = with_changes(
    margin, ("kernel", "X", "y"), lambda asked: {"kernel": asked, "X": ["x", "y", "z"], "y": [0, 1, 1]}
)


class Fixed:
    """A classifier of the plane by its first coordinate."""

    classes_ = np.array([-1, 1])

    def decision_function(self, X):
        return np.asarray(X)[:, 0]

    def normalized_margin(self, X):
        return np.asarray(X)[:, 0] / np.linalg.norm(X, axis=1)


UNIT, PLANE = [[0.0, 1.0], [1.0, 0.0]], [[1.0, 2.0], [2.0, 1.0]]
FUNCTIONS = [
    *calls(
        "assess",
        ASSESSED,
        [
            (labeled([1] * 12), ValueError, "y holds one class: 1"),
            (labeled([1] * 11 + [2]), ValueError, r"two classes with two examples each.*\[2\]"),
            (labeled(list(range(12))), ValueError, "two classes with two examples each"),
            (labeled([0, 1] * 5), ValueError, "12 examples and y 10 labels"),
            (labeled([0, 1] * 5 + [0, None]), ValueError, "example 11 is missing"),
            (labeled(None), ValueError, "y is None"),
            (labeled(np.array([1, "a"] * 6, object)), TypeError, "cannot be sorted"),
            ({"landmarks": 1}, ValueError, "a number from 2, one of each class, to 11, got 1"),
            ({"landmarks": 12}, ValueError, "a number from 2"),
            ({"landmarks": [0, 12]}, IndexError, "holds 12, X has 12 objects"),
            ({"landmarks": [0, 1, 0]}, ValueError, "names example 0 twice"),
            ({"landmarks": [0, 2]}, ValueError, "no example of class 1"),
            (labeled([0, 1] * 5 + [0, 7], landmarks=[0, 1, 11]), ValueError, "example 11, which is alone"),
            ({"landmarks": "few"}, ValueError, "a number or a list of positions"),
            ({"landmarks": True}, ValueError, "a number or a list of positions"),
            ({"engine": "local"}, *ENGINE),
            ({"engine": LocalEngine(memory="1kB")}, MemoryError, "memory budget"),
            ({"similarity": "precomputed", "X": X[:12]}, ValueError, "square matrix of all pairs, got shape"),
            ({"similarity": "gauss", "X": X[:12]}, ValueError, "did you mean 'gaussian'"),
            ({"similarity": "gaussian", "X": np.full((12, 2), np.nan)}, ValueError, "NaN"),
            ({"X": [], "y": []}, ValueError, "holds no objects"),
        ],
    ),
    *calls(
        "choose_kernel",
        COMPARED,
        [
            ({"candidates": {"a": "gauss"}}, ValueError, "similarity a: .*did you mean 'gaussian'"),
            ({"candidates": ["linear", "precomputed"]}, ValueError, "number 1: 'precomputed' cannot be one of several"),
            ({"candidates": ["linear", Gaussian(sigma=-1.0)]}, ValueError, "number 1: sigma"),
            (
                {"candidates": {"v": Linear(), "i": Precomputed(np.eye(40))}},
                ValueError,
                "v takes vectors and i takes indices",
            ),
            ({"X": "one string"}, TypeError, "one string"),
            ({"X": []}, ValueError, "no objects"),
            (labeled([1, 2, 3]), ValueError, "40 examples and y 3"),
            (labeled(None), ValueError, "y is None"),
            (labeled(["a"] * 40), ValueError, "at least two classes are needed, y holds one: 'a'"),
            (labeled([0.5] * 39 + [np.nan]), ValueError, "example 39 is missing"),
            (labeled([0.5] * 39 + [np.inf]), ValueError, "y holds inf at example 39"),
            (labeled(["a"] * 39 + [None]), ValueError, "example 39 is missing"),
            (labeled(np.full((40, 2), np.nan)), ValueError, "y holds nan at example 0, column 0"),
            (labeled(np.eye(40, dtype=int)), ValueError, "multilabel"),
            (labeled(np.full((30, 2), 0.5)), ValueError, "40 examples and y 30"),
            (labeled(["a", "b"] * 19 + ["c", "c"]), ValueError, "cv = 5 folds, but class 'c' has only 2"),
            ({"cv": 1}, ValueError, "cv must be an integer >= 2"),
            ({"cv": True}, ValueError, "cv must be an integer >= 2"),
            (labeled(np.arange(40) + 0.5, cv=41), ValueError, "41 folds of 40"),
            ({"cv": "five"}, TypeError, "cv must be"),
            ({"cv": None}, TypeError, "cv must be"),
            ({"cv": []}, ValueError, "no folds"),
            ({"cv": [3]}, ValueError, "fold 0 of cv must be a pair"),
            ({"cv": [([0, 1], [2, 40])]}, IndexError, "tests on example 40 of 40"),
            ({"cv": [([0, 1], [])]}, ValueError, "fold 0 of cv tests on"),
            ({"cv": [([0, 1], [1, 2])]}, ValueError, "tests on example 1, which it also trains on"),
            ({"cv": [([0, 0], [1])]}, ValueError, "twice"),
            ({"cv": [([0, 2], [1])]}, ValueError, "trains on no example of class 1"),
            ({"cv": GroupKFold(2)}, ValueError, "groups"),
            ({"engine": 3}, *ENGINE),
            (
                {"candidates": [Gaussian(sigma=1.0)], "X": np.where(X[:40] == X[5, 1], np.nan, X[:40])},
                ValueError,
                r"similarity Gaussian.*row 5, column 1 is nan",
            ),
            (
                {"candidates": {"mine": "linear"}, "X": WORDS[:10] * 4},
                TypeError,
                "similarity mine.*vector kernels need",
            ),
            (
                {"candidates": {"small": Precomputed(np.eye(3))}, "X": range(40)},
                IndexError,
                "similarity small.*outside the matrix",
            ),
        ],
    ),
    *calls(
        "combine",
        COMBINED,
        [
            ({"similarities": []}, ValueError, "similarities is empty"),
            ({"similarities": "gaussian"}, TypeError, "must be a list"),
            ({"similarities": ["linear", "precomputed"]}, ValueError, "cannot be one of several"),
            ({"similarities": [Linear(), Precomputed(np.eye(24))]}, ValueError, "takes vectors and .* takes indices"),
            ({"how": "best"}, ValueError, "how must be one of 'uniform', 'alignment'"),
            (labeled([1, 2, 3]), ValueError, "24 examples and y 3"),
            (labeled(None), ValueError, "y is None"),
            (labeled(["a"] * 24), ValueError, "y holds one: 'a'"),
            (labeled([0.5] * 23 + [np.nan]), ValueError, "missing"),
            (labeled(X[:24, 0], how="easymkl"), ValueError, "needs classes"),
            ({"X": []}, ValueError, "no objects"),
            ({"engine": "local"}, *ENGINE),
        ],
    ),
    *calls(
        "margin",
        SEPARATED,
        [
            (labeled([1, 1, 1]), ValueError, "two classes are needed, y holds one class"),
            (labeled([1, 2, 3]), ValueError, "y holds 3 classes"),
            (labeled([1, 2]), ValueError, "X holds 3 examples and y 2 labels"),
            (labeled([1.0, np.nan, 2.0]), ValueError, "example 1 is missing"),
            (labeled(["a", None, "b"]), ValueError, "example 1 is missing"),
            (labeled(None), ValueError, "y is None"),
            (labeled([[1, 2], [2, 1], [1, 1]]), ValueError, "one for each example"),
            (labeled(np.array([1, "a", 1], object)), TypeError, "cannot be sorted"),
            (
                {"X": list(range(100)), "y": np.arange(100) % 2, "engine": LocalEngine(memory="10kB")},
                MemoryError,
                "memory budget",
            ),
            ({"kernel": "precomputed", "X": np.ones((2, 3)), "y": [0, 1]}, ValueError, "square matrix"),
            ({"kernel": "linera", "X": [[1.0], [2.0]], "y": [0, 1]}, ValueError, "did you mean 'linear'"),
            ({"engine": "local"}, *ENGINE),
            ({"kernel": "linear", "X": [[1.0], [np.nan]], "y": [0, 1]}, ValueError, "NaN"),
        ],
    ),
    *calls(
        "error_at_margin",
        lambda asked, arguments: error_at_margin(*arguments),
        [
            ((LogisticRegression(), PLANE, [0, 1]), NotFittedError, "not fitted"),
            ((make_pipeline(StandardScaler(), LogisticRegression()), PLANE, [0, 1]), NotFittedError, "not fitted"),
            ((LinearRegression().fit(UNIT, [0, 1]), PLANE, [0, 1]), TypeError, "classes_"),
            ((KNeighborsClassifier(1).fit(UNIT, [0, 1]), PLANE, [0, 1]), TypeError, "normalized_margin"),
            ((SVC().fit(UNIT, [0, 1]), PLANE, [0, 1]), TypeError, "normalized_margin"),
            ((LogisticRegression().fit(np.eye(3), [0, 1, 2]), PLANE, [0, 1]), ValueError, "two classes"),
            ((LogisticRegression().fit(np.eye(3), [0, 1, 1]), PLANE, [0, 1]), ValueError, "2 features"),
            (("model", PLANE, [0, 1]), TypeError, "classes_"),
            *[
                ((Fixed(), [[1.0, 0.0]], [1], margins), ValueError, "from -1 to 1")
                for margins in ([1.5], [-1.1, 0], [np.nan], [], [[0.1]], np.inf)
            ],
            ((Fixed(), np.empty((0, 2)), []), ValueError, "holds no objects"),
            ((Fixed(), [[1.0, 0.0]], [1, 1]), ValueError, "1 examples and y 2 labels"),
            ((Fixed(), [[1.0, 0.0]], ["1"]), ValueError, "example 0 is '1'"),
        ],
    ),
    *calls(
        "alignment",
        lambda asked, arguments: alignment(*arguments),
        [
            ((K3[:2], Y3), ValueError, "K must be a square matrix"),
            ((K3[0], Y3), ValueError, "K must be a square matrix"),
            ((np.empty((0, 0)), []), ValueError, "K must be a square matrix"),
            ((K3, Y3[:2]), ValueError, "3 examples and y 2 labels"),
            ((K3, K3[:2, :2]), ValueError, "of one shape"),
            ((K3, K3[:2]), ValueError, "target must be a square matrix"),
            ((K3, None), ValueError, "y is None"),
            ((K3, [1, None, 2]), ValueError, "example 1 is missing"),
            ((K3, np.array([1, "a", 1], object)), TypeError, "cannot be sorted"),
            ((1j * K3, Y3), TypeError, "real numbers"),
            ((np.where(np.eye(3) > 0, np.nan, K3), Y3), PairError, r"pair \(0, 0\): K is nan"),
            ((K3, np.where(K3 == 0.2, np.inf, K3)), PairError, r"pair \(1, 2\): target is inf"),
        ],
    ),
    *calls(
        "validity",
        lambda asked, use: use(asked),
        [
            (
                lambda asked: check_kernel(asked, WORDS, effort="huge"),
                ValueError,
                "effort must be one of 'normal'",
            ),
            (
                lambda asked: repair(asked, WORDS, how="hope"),
                ValueError,
                "how must be one of 'clip', 'flip'",
            ),
            (lambda asked: repair(Precomputed(np.triu(np.ones((2, 2)))), range(2)), ValueError, "symmetrized"),
        ],
    ),
    *calls(
        "explicit features",
        lambda asked, use: use(),
        [
            *[
                (lambda k=k, make=make: make(k, SAMPLE if make is explicit_map else 3), ValueError, message)
                for k, message in [
                    (-1.0 * Linear(), "factor must be >= 0, not -1.0"),
                    (Polynomial(degree=2) - Linear(), r"-Linear\(\) has no explicit features: its factor"),
                    (Linear() + (-2.0), "constant must be >= 0"),
                    (Polynomial(degree=2, coef0=-1.0), "coef0 must be >= 0"),
                    (Polynomial(degree=2, scale=-1.0), "scale must be >= 0"),
                    (Linear() ** 0.5, "exponent must be a whole number >= 0, not 0.5"),
                    (Linear() ** -1, "exponent must be a whole number >= 0, not -1"),
                    (Gaussian(sigma=1.0), "Gaussian has infinitely many features: give degree="),
                    (Linear() + Gaussian(sigma=2.0), r"truncated series of Gaussian\(sigma=2.0\)"),
                    (Linear().exp(), "Exponential has infinitely many features: give degree="),
                ]
                for make in (explicit_map, explicit_dimension)
            ],
            *[
                (lambda k=k: explicit_map(k, SAMPLE), TypeError, "expected a Similarity")
                for k in ("polynomial", Polynomial, None, np.eye(2))
            ],
            *[
                (
                    lambda d=d: explicit_map(Gaussian(sigma=1.0), SAMPLE, d),
                    ValueError,
                    "degree must be an integer >= 0",
                )
                for d in (-1, 2.5, "3", True)
            ],
            (lambda: explicit_dimension(Linear(), 2.5), ValueError, "n_features must be an integer >= 0"),
            (lambda: explicit_map(Polynomial(degree=0), SAMPLE), ValueError, "degree must be a whole number >= 1"),
            (lambda: explicit_dimension(Gaussian(sigma=-1.0), 3, degree=2), ValueError, "sigma must be"),
            (lambda: explicit_map(Linear() + Gaussian(), SAMPLE, degree=2), UnresolvedError, "k2__sigma.*resolve"),
            (lambda: explicit_map(Linear(), []), ValueError, "no objects"),
            (lambda: explicit_map(Linear(), [[np.nan]]), ValueError, "finite numbers"),
        ],
    ),
    *calls(
        "datasets",
        lambda asked, draw: draw(),
        [
            *[
                (lambda draw=draw, n=n: draw(n), ValueError, "n must be an integer >= 1")
                for draw in (datasets.rings, datasets.beyond_two, datasets.two_groups)
                for n in (0, -1, 2.5, "ten")
            ],
            (lambda: datasets.rings(n_features=1), ValueError, "n_features must be an integer >= 2"),
            (lambda: datasets.figure_3_1(positive=1.0), ValueError, "positive must be a number in"),
            (lambda: datasets.two_points(right=-0.1), ValueError, "right must be a number in"),
            (lambda: datasets.two_groups(4, least=0.3), ValueError, "least and most"),
        ],
    ),
]

# Similarities.

SIMILARITIES = calls(
    "similarity",
    lambda asked, use: use(asked),
    [
        (lambda f: FromPairs(f).gram([]), ValueError, "no objects"),
        (lambda f: FromBlocks(f).gram([]), ValueError, "no objects"),
        (lambda f: Linear().pullback(f).gram([]), ValueError, "no objects"),
        (lambda f: FromPairs(f).cross([1.0], "ab"), TypeError, "Z is one string"),
        (lambda f: FromBlocks(f).cross([1.0], "ab"), TypeError, "Z is one string"),
        (lambda f: Linear().pullback(f).cross([1.0], "ab"), TypeError, "Z is one string"),
        (lambda f: FromPairs(f, claims=["NICE"]).gram([1.0]), ValueError, "unknown claim 'NICE'"),
        (lambda f: (FromPairs(f) + Gaussian(-1.0)).gram([1.0, 2.0]), ValueError, "sigma must be a positive number"),
        (lambda f: Gaussian(0.0).pullback(f).gram([1.0]), ValueError, "sigma must be a positive number"),
        (lambda f: (FromPairs(f) + Gaussian()).cross([1.0], [2.0]), UnresolvedError, "k2__sigma .*resolve"),
        (lambda f: (FromPairs(f) + Gaussian())(1.0, 2.0), UnresolvedError, "k2__sigma .*resolve"),
        (lambda f: Gaussian().pullback(f).cross([1.0], [2.0]), UnresolvedError, "k__sigma .*resolve"),
        (lambda f: (FromPairs(f) * Gaussian(1.0)).gram([[1.0], [np.nan]]), ValueError, "row 1, column 0 is nan"),
        (lambda f: (Linear().pullback(f) + Matern()).gram([[1.0], [np.nan]]), ValueError, "row 1, column 0 is nan"),
        (
            lambda f: (FromPairs(f) + Precomputed(np.eye(2)) + RationalQuadratic()).gram([0, 1]),
            TypeError,
            "these take indices and vectors",
        ),
        (lambda f: (FromPairs(f) + Precomputed(np.eye(2))).gram([0, 5]), IndexError, "index 5, outside the matrix"),
        (lambda f: as_similarity("gauss"), ValueError, "did you mean 'gaussian'"),
        (lambda f: as_similarity(None), TypeError, "a similarity is a Similarity"),
        (lambda f: as_similarity(3.0), TypeError, "a similarity is a Similarity"),
    ],
)

# Engines.

ENGINES = [
    *calls(
        "LocalEngine",
        lambda asked, given: LocalEngine(**given),
        [
            ({"threads": 0}, ValueError, "threads must be an integer >= 1 or None, got 0"),
            ({"threads": True}, ValueError, "threads must be an integer >= 1"),
            ({"processes": -1}, ValueError, "processes must be an integer >= 1"),
            ({"memory": "much"}, ValueError, "memory size .*got 'much'"),
            ({"memory": 0}, ValueError, "memory size .*got 0"),
            ({"checkpoint": 3}, ValueError, "checkpoint must be the path"),
        ],
    ),
    *calls(
        "two_sample_test",
        lambda asked, change: two_sample_test(
            **{"kernel": asked, "X": LETTERS[:6], "Z": LETTERS[6:], **change},
        ),
        [
            ({"X": ["a"]}, ValueError, "X holds one object: a sample of at least two is needed"),
            ({"Z": []}, ValueError, "Z holds no objects"),
            (
                {"X": ["a", "b"], "Z": ["c", "d", "e"]},
                ValueError,
                "too small for the level 0.05: there are only 10 ways",
            ),
            ({"Z": X}, TypeError, "X holds strings and Z holds vectors"),
            ({"kernel": "gaussian", "X": X, "Z": X[:, :2]}, ValueError, "X has 3 columns and Z has 2"),
            ({"X": pd.DataFrame(X), "Z": X}, TypeError, "X is a data frame and the other is not"),
            ({"kernel": "gaussian", "X": X, "Z": np.full((9, 3), np.nan)}, ValueError, "Z: Input X contains NaN"),
            ({"kernel": "precomputed"}, ValueError, r"use Precomputed\(M\) as the kernel"),
            ({"kernel": []}, ValueError, "kernel is an empty list"),
            ({"n_permutations": 18}, ValueError, "n_permutations=18 cannot reject .* at least 19 permutations"),
            ({"n_permutations": 0}, ValueError, "n_permutations must be an integer >= 1"),
            ({"level": 1.0}, ValueError, "level must be"),
            ({"n_landmarks": 13}, ValueError, "n_landmarks must be an integer from 1 to 12 or 'auto' or None, got 13"),
            ({"n_landmarks": "many"}, ValueError, "n_landmarks must be"),
            ({"engine": "local"}, *ENGINE),
        ],
    ),
    *calls(
        "independence_test",
        lambda asked, change: independence_test(
            **{"kernel": asked, "X": LETTERS, "other": asked, "Z": LETTERS, **change}
        ),
        [
            ({"Z": LETTERS[:5]}, ValueError, "X holds 12 objects and Z holds 5: pairs are needed"),
            ({"X": LETTERS[:3], "Z": LETTERS[:3]}, ValueError, "3 pairs are too few"),
            ({"other": "precomputed"}, ValueError, r"use Precomputed\(M\)"),
            ({"n_permutations": 9, "level": 0.05}, ValueError, "at least 19 permutations"),
        ],
    ),
    *calls(
        "drift_test",
        lambda asked, change: drift_test(**{"kernel": asked, "reference": LETTERS, "new": LETTERS, **change}),
        [
            ({"batches": 1}, ValueError, "batches must be an integer from 2 to 12, got 1"),
            ({"batches": "week"}, TypeError, "batches must be a number or a sequence of labels"),
            ({"batches": ["a"]}, ValueError, "batches holds 1 labels for 12 new objects"),
            ({"batches": ["a"] * 11 + ["b"]}, ValueError, "batch 'b' holds one object"),
            ({"batches": 3, "n_permutations": 78}, ValueError, "in one of 4 batches: at least 79 permutations"),
            ({"new": X}, TypeError, "reference holds strings and new holds vectors"),
        ],
    ),
    *calls(
        "use_engine",
        lambda asked, engine: use_engine(engine),
        [("cuda", TypeError, "engine"), (None, TypeError, "engine")],
    ),
]
WITH_TORCH = calls(
    "TorchEngine",
    lambda asked, given: TorchEngine(**given),
    [
        ({"device": "quantum"}, ValueError, "device must be"),
        ({"device": "meta"}, ValueError, "device must be"),
        ({"device": "cpu", "precision": "bfloat16"}, ValueError, "precision must be"),
        ({"device": "cpu", "memory": "much"}, ValueError, "memory size"),
    ],
)
WITH_DASK = calls(
    "DaskEngine",
    lambda asked, given: DaskEngine(**given),
    [
        ({"client": 3}, TypeError, "client must be a distributed.Client, an address or None, got 3"),
        ({"checkpoint": 3}, ValueError, "checkpoint must be the path"),
        ({"memory": "much"}, ValueError, "memory size"),
    ],
)

NO_SIMILARITIES = [
    *(
        Refusal(
            f"{made.__name__} of no similarity",
            lambda asked, made=made: made(5).gram([[1.0]]),
            TypeError,
            "k.* similarity",
        )
        for made in (Normalized, Symmetrized, Absolute, Exponential, ElasticDistance)
    ),
    Refusal(
        "Sum of no similarity",
        lambda asked: Sum(Linear(), 5).gram([[1.0]]),
        TypeError,
        "k2 of Sum must be a similarity",
    ),
    Refusal("pullback of no similarity", lambda asked: Pullback(5, len).gram(["a"]), TypeError, "k of Pullback"),
    Refusal(
        "side by side of one", lambda asked: SideBySide(5, ["a"], [1.0]).gram(["a"]), TypeError, "similarities must be"
    ),
    Refusal(
        "a huge factor", lambda asked: Scaled(Linear(), 10**400).gram([[1.0]]), ValueError, "factor must be a finite"
    ),
    Refusal("claims of no kind", lambda asked: FromPairs(asked, claims=5), TypeError, "claims must be a sequence"),
    Refusal(
        "a billion repeats", lambda asked: FromPairs(asked, repeats=10**9).gram(["a"]), ValueError, "repeats must be"
    ),
    Refusal(
        "a schema of no kind", lambda asked: Columns({"a": asked}, schema=5).gram([{"a": 1}]), TypeError, "schema must"
    ),
    Refusal(
        "an alphabet of no kind", lambda asked: Mismatch(3, 1, alphabet=5).gram(["a"]), TypeError, "alphabet must be"
    ),
    Refusal(
        "an intercept of no kind",
        lambda asked: KernelSVC(asked, fit_intercept="x").fit(["a", "b"], [0, 1]),
        ValueError,
        "True",
    ),
    Refusal(
        "endless epochs",
        lambda asked: KernelPerceptron(asked, epochs=10**400).fit(["a", "b"], [0, 1]),
        ValueError,
        "epochs",
    ),
]

TABLE = [*NO_SIMILARITIES, *ESTIMATORS, *SOURCES, *MAPS, *LEARNERS, *FUNCTIONS, *SIMILARITIES, *ENGINES]


def by_name(rows):
    return [pytest.param(row, id=row.name) for row in rows]


def check(row):
    seen = []

    def asked(x, z):
        seen.append((x, z))
        return 1.0

    with pytest.raises(row.error, match=row.message):
        row.call(asked)
    assert not seen, "the similarity was called before the refusal"


@pytest.mark.parametrize("row", by_name(TABLE))
def test_what_is_refused(row):
    check(row)


@pytest.mark.parametrize("row", by_name(WITH_TORCH))
def test_what_is_refused_where_there_is_torch(row):
    pytest.importorskip("torch")
    check(row)


@pytest.mark.parametrize("row", by_name(WITH_DASK))
def test_what_is_refused_where_there_is_dask(row):
    pytest.importorskip("distributed")
    check(row)


# The command line: exit code 2, and one line that names the problem.

COMMANDS = [
    (["fitt"], "fitt"),
    (["kernels", "--nothing"], "--nothing"),
    (["check", "x.csv", "--kind", "poems"], "poems"),
    (["check"], "check needs a FILE"),
    (["check", "-s", "gaussian", "--engine", "threads=many"], "threads must be an integer"),
    (["check", "-s", "gaussian", "--engine", "threads=0"], "threads must be an integer >= 1"),
    (["check", "-s", "gaussian", "--engine", "gpus=2"], "'gpus=2' is none of"),
    (["check", "-s", "gaussian", "--engine", "memory=lots"], "memory size"),
    (["kernels", "gausssian"], "did you mean 'gaussian'?"),
    (["kernels", "x"], "'similitude kernels' lists all"),
    (["compare", "x.csv", "--label", "y", "-s", "edit", "-s", "edit"], "needs different similarities"),
    (["compare", "x.csv", "--label", "y", "--learn"], "--learn needs the --similarity"),
    (["compare", "x.csv", "--label", "y", "--max-calls", "9"], "--max-calls: a comparison with baselines"),
    (["fit", "x.csv", "-o", "m.sim", "--seed", "one"], "'--seed': it must be a whole number"),
    (["fit", "x.csv", "-o", "m.sim", "--landmarks", "0"], "'--landmarks': it must be at least 1"),
    (["compare", "x.csv", "--label", "y", "-s", "edit", "-s", "gaussian"], "different kinds of objects"),
    (["check", "x.csv", "--label", "a", "--object", "a"], "both the label and the object"),
    (["drift", "x.csv", "y.csv", "--level", "2"], "--level must be strictly between 0 and 1"),
]


@pytest.mark.parametrize(("arguments", "problem"), COMMANDS)
def test_commands_that_are_refused(arguments, problem):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "") and problem in err
    assert err.startswith("similitude: ") and len(err.splitlines()) <= 2
