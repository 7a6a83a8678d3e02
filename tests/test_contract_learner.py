"""Every learner keeps the contract on every kind of object, and the kit notices the ones that do not."""

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from similitude import FromPairs, Precomputed
from similitude.checks import check_learner
from similitude.kernels import Gaussian
from similitude.learners import (
    AlignmentVote,
    KernelKMeans,
    KernelPerceptron,
    KernelRidge,
    KernelRidgeClassifier,
    KernelSGDSVC,
    KernelSVC,
    KernelSVR,
    KreinSVC,
    MarginPerceptron,
    RepresenterClassifier,
    RepresenterRegressor,
    SeparatorLP,
    SimilarityKNeighborsClassifier,
    SimilarityKNeighborsRegressor,
    SimilarityVote,
)

rng = np.random.default_rng(0)
VECTORS = rng.standard_normal((14, 3))
WORDS = [
    "kernel",
    "colonel",
    "kern",
    "lek",
    "margin",
    "map",
    "maps",
    "gram",
    "grammar",
    "ram",
    "mark",
    "key",
    "one",
    "on",
]
GRAPHS = [nx.path_graph(n) for n in range(2, 9)] + [nx.cycle_graph(n) for n in range(3, 10)]
TWO, THREE = np.array(["a", "b"] * 7), np.array((["a", "b", "c"] * 5)[:14])
CLASSIFIERS = [
    KernelPerceptron(epochs=2),
    KernelSVC(),
    KreinSVC(),
    KernelSGDSVC(n_iter=100),
    RepresenterClassifier(),
    KernelRidgeClassifier(),
    SimilarityKNeighborsClassifier(n_neighbors=3),
    SimilarityVote(),
    AlignmentVote(),
]
REGRESSORS = [KernelSVR(), RepresenterRegressor(), KernelRidge(), SimilarityKNeighborsRegressor(n_neighbors=3)]


def alike(s, t):
    return float(len(set(s) & set(t))) + (s == t)


def edges(graph):
    return [float(graph.number_of_edges()), float(graph.number_of_nodes())]


OBJECTS = {
    "vectors": (Gaussian(), VECTORS),
    "float32": (Gaussian(), VECTORS.astype(np.float32)),
    "sparse": (Gaussian(), sp.csr_array(VECTORS)),
    "pandas": (Gaussian(), pd.DataFrame(VECTORS, columns=["a", "b", "c"])),
    "polars": (Gaussian(), pl.DataFrame(VECTORS, schema=["a", "b", "c"])),
    "strings": (FromPairs(alike), WORDS),
    "graphs": (Gaussian().pullback(edges), GRAPHS),
    "ragged": (Gaussian().pullback(lambda x: [x.sum(), len(x)]), [rng.standard_normal(n) for n in range(1, 15)]),
    "dicts": (Gaussian().pullback(lambda r: r["a"]), [{"a": float(v)} for v in VECTORS[:, 0]]),
    "indices": (Precomputed(VECTORS @ VECTORS.T), np.arange(14)),
}


def named(learner):
    return type(learner).__name__


def with_similarity(learner, similarity):
    role = "kernel" if hasattr(learner, "kernel") else "similarity"
    return type(learner)(**{**learner.get_params(deep=False), role: similarity})


@pytest.mark.parametrize("kind", OBJECTS)
@pytest.mark.parametrize("learner", CLASSIFIERS, ids=named)
def test_classifiers_take(learner, kind):
    kernel, X = OBJECTS[kind]
    check_learner(with_similarity(learner, kernel), X, TWO)


@pytest.mark.parametrize("learner", CLASSIFIERS, ids=named)
def test_classifiers_know_several_classes(learner):
    check_learner(learner, VECTORS, THREE)


@pytest.mark.parametrize("kind", OBJECTS)
@pytest.mark.parametrize("learner", REGRESSORS, ids=named)
def test_regressors_take(learner, kind):
    kernel, X = OBJECTS[kind]
    check_learner(with_similarity(learner, kernel), X, VECTORS[:, 0])


@pytest.mark.parametrize("kind", OBJECTS)
def test_clusters_and_margins_take(kind):
    kernel, X = OBJECTS[kind]
    check_learner(KernelKMeans(kernel, n_clusters=3), X)
    check_learner(MarginPerceptron(kernel), X, TWO)


def test_a_separator_takes_features():
    check_learner(SeparatorLP(), np.vstack([VECTORS, VECTORS + 20]), np.repeat(["a", "b"], 14))


class Careless(ClassifierMixin, BaseEstimator):
    """Breaks one rule of the contract."""

    def __init__(self, how="nothing"):
        self.how = how

    def fit(self, X, y=None):
        self.fitted_ = True
        if y is not None and len(X) != len(y):
            if self.how != "failure":
                del self.fitted_
            raise ValueError("lengths")
        self.classes_ = np.unique(y)
        if self.how == "parameter":
            self.how = "changed"
        return self if self.how != "self" else None

    def decision_function(self, X):
        if self.how != "unfitted":
            check_is_fitted(self)
        X = np.asarray(X)
        if self.how == "objects":
            X += 1
        return X[:, 0] - (10 if self.how == "rows" and len(X) > 10 else 0)

    def predict(self, X):
        scores = self.decision_function(X)
        if self.how == "labels":
            return np.where(scores >= 0, "x", "z")
        return self.classes_[(scores >= 0).astype(int) if self.how != "scores" else (scores < 0).astype(int)]

    def predict_proba(self, X):
        share = 1 / (1 + np.exp(-self.decision_function(X)))
        share = 1 - share if self.how == "probabilities" else share
        return np.stack([1 - share, share], axis=1)


FAULTS = ["rows", "self", "parameter", "objects", "labels", "scores", "probabilities", "failure", "unfitted"]


@pytest.mark.parametrize("how", FAULTS)
def test_the_kit_notices(how):
    with pytest.raises((AssertionError, AttributeError)):
        check_learner(Careless(how), VECTORS.copy(), TWO)
    check_learner(Careless(), VECTORS.copy(), TWO)
