"""Every map keeps the contract on every kind of object, and the kit notices the ones that do not."""

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.estimator_checks import parametrize_with_checks

from similitude import FromPairs, Precomputed
from similitude.checks import check_map
from similitude.kernels import Gaussian, Laplace, Linear, Polynomial
from similitude.maps import CompactMap, FourierMap, LandmarkMap, PolynomialSketchMap, ProjectionMap
from similitude.results import PROVEN, Guarantee

rng = np.random.default_rng(0)
VECTORS = rng.standard_normal((30, 3))
WORDS = ["kernel", "colonel", "kern", "lek", "margin", "map", "maps", "gram", "grammar", "", "kernel"]
LABELS = ["a", "b"] * 15
GRAPHS = [nx.path_graph(n) for n in range(2, 8)] + [nx.cycle_graph(n) for n in range(3, 8)]
LANDMARKED = (LandmarkMap, ProjectionMap, CompactMap)


def shared_letters(s, t):
    return float(len(set(s) & set(t)))


def degrees(graph):
    return np.bincount([d for _, d in graph.degree()], minlength=4)[:4].astype(float)


def by_first(a, b):
    return float(a[0] * b[0])


OBJECTS = {
    "vectors": (Gaussian(), VECTORS),
    "float32": (Laplace(), VECTORS.astype(np.float32)),
    "sparse": (Gaussian(), sp.random(20, 8, 0.4, format="csr", random_state=0)),
    "pandas": (Gaussian(), pd.DataFrame(VECTORS, columns=["a", "b", "c"])),
    "polars": (Gaussian(), pl.DataFrame(VECTORS, schema=["a", "b", "c"])),
    "strings": (FromPairs(shared_letters), WORDS),
    "graphs": (Gaussian().pullback(degrees), GRAPHS),
    "ragged": (FromPairs(by_first), [rng.standard_normal(n) for n in range(1, 12)]),
    "rows": (FromPairs(lambda r, s: r["a"] * s["a"]), pd.DataFrame(VECTORS, columns=["a", "b", "c"])),
    "indices": (Precomputed(VECTORS @ VECTORS.T), np.arange(30)),
    "matrix": ("precomputed", VECTORS @ VECTORS.T),
}


@pytest.mark.parametrize("kind", OBJECTS)
@pytest.mark.parametrize("make", LANDMARKED)
def test_maps_keep_the_contract_on(make, kind):
    kernel, X = OBJECTS[kind]
    m = make(kernel, landmark_indices=[0, 3, 5, 7])
    if kind == "matrix":  # each row is a whole object, its columns are the training set
        assert m.fit(X).transform(X[:5]).shape[0] == 5
        return
    check_map(m, X)


@pytest.mark.parametrize("rule", ["uniform", "stratified", "kmeans++", "rpcholesky", "leverage", "diverse"])
@pytest.mark.parametrize("make", LANDMARKED)
def test_every_rule_serves_every_map(make, rule):
    given = {"n_landmarks": 8, "n_components": 5} if make is CompactMap else {"n_components": 8}
    check_map(make(Gaussian(), landmarks=rule, **given), VECTORS, LABELS)


@pytest.mark.parametrize(
    "m",
    [
        LandmarkMap(side="both"),
        LandmarkMap(FromPairs(lambda x, z: float(x[0] * z[1])), side="right"),
        CompactMap(n_components=3, projection="hadamard"),
        FourierMap(n_components=20),
        FourierMap(Laplace(), n_components=21, kind="plain"),
        PolynomialSketchMap(Polynomial(2), n_components=16),
    ],
)
def test_other_maps_keep_the_contract(m):
    check_map(m, VECTORS)


@parametrize_with_checks([LandmarkMap(), ProjectionMap(), CompactMap(n_components=2)])
def test_scikit_learn_is_content(estimator, check):
    check(estimator)


class Shrinking(TransformerMixin, BaseEstimator):
    """Breaks one rule: features depend on what else is transformed."""

    def __init__(self, how="rows"):
        self.how = how

    def fit(self, X, y=None):
        self.fitted_ = True
        promise = Guarantee("all is well", "none", "", {}, PROVEN if self.how == "assumption" else "ESTIMATE")
        if self.how != "guarantee":
            self.guarantee_ = promise
        if self.how == "parameter":
            self.how = "changed"
        return self if self.how != "self" else None

    def transform(self, X):
        from sklearn.utils.validation import check_is_fitted

        if self.how != "unfitted":
            check_is_fitted(self)
        X = np.asarray(X)
        if self.how == "objects":
            X += 1
        return X - X.mean(axis=0) if self.how == "rows" else X

    def get_feature_names_out(self):
        return ["one"] if self.how == "names" else ["one", "two", "three"]


@pytest.mark.parametrize(
    "how", ["rows", "self", "parameter", "objects", "names", "guarantee", "assumption", "unfitted"]
)
def test_the_kit_notices(how):
    with pytest.raises(AssertionError):
        check_map(Shrinking(how), VECTORS.copy())
    check_map(Shrinking("nothing"), VECTORS.copy())


def test_linear_of_vectors_and_of_their_explicit_features_agree():
    phi = Linear().pullback(lambda x: np.asarray(x) ** 2)
    rows = [list(x) for x in VECTORS]
    F = ProjectionMap(phi, landmark_indices=[0, 1, 2]).fit_transform(rows)
    assert np.allclose(F @ F.T, (VECTORS**2) @ (VECTORS**2).T)
