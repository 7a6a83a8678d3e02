"""Every map keeps the contract on every kind of object, and the kit notices the ones that do not."""

import numpy as np
import pytest
from learners import EMBEDDINGS, MAPS, MAPS_OF_VECTORS, with_similarity
from market import KINDS
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from similitude import FromPairs, maps
from similitude.checks import check_map
from similitude.kernels import Gaussian, Laplace, Linear, Polynomial
from similitude.maps import CompactMap, FourierMap, LandmarkMap, PolynomialSketchMap, ProjectionMap
from similitude.results import PROVEN, Guarantee, Premise

VECTORS = np.random.default_rng(0).standard_normal((30, 3))
LABELS = ["a", "b"] * 15
LANDMARKED = [type(one) for one in MAPS]


def test_every_map_is_in_the_list():
    listed = {type(one) for one in [*MAPS, *EMBEDDINGS, *MAPS_OF_VECTORS]}
    assert listed == {getattr(maps, name) for name in maps.__all__}


@pytest.mark.parametrize(
    "kind", [pytest.param(one, marks=pytest.mark.quick if one == "vectors" else ()) for one in KINDS]
)
@pytest.mark.parametrize("make", LANDMARKED)
def test_maps_keep_the_contract_on(make, kind):
    similarity, X = KINDS[kind]
    check_map(make(similarity, landmark_indices=[0, 3, 5, 7]), X)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("one", EMBEDDINGS, ids=lambda one: type(one).__name__)
def test_embeddings_keep_the_contract_on(one, kind):
    similarity, X = KINDS[kind]
    if isinstance(one, maps.SpectralEmbedding) and kind in ("indices", "rows"):
        with pytest.raises(ValueError, match="must not be negative"):
            with_similarity(one, similarity).fit(X)
    else:
        check_map(with_similarity(one, similarity), X)


@pytest.mark.parametrize("make", LANDMARKED)
def test_maps_take_a_matrix(make):
    """Each row is an object, its columns are the training set."""
    K = VECTORS @ VECTORS.T
    by_matrix = make("precomputed", landmark_indices=[0, 3, 5, 7]).fit(K).transform(K[:5])
    by_kernel = make(Linear(), landmark_indices=[0, 3, 5, 7]).fit(VECTORS).transform(VECTORS[:5])
    np.testing.assert_allclose(by_matrix, by_kernel, atol=1e-12)


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


class Shrinking(TransformerMixin, BaseEstimator):
    """Breaks one rule: features depend on what else is transformed."""

    def __init__(self, how="rows"):
        self.how = how

    def fit(self, X, y=None):
        self.fitted_ = True
        premises = () if self.how == "premises" else (Premise("it is known", "proven"),)
        promise = Guarantee("all is well", "none", premises, {}, PROVEN)
        if self.how != "guarantee":
            self.guarantee_ = promise
        if self.how == "parameter":
            self.how = "changed"
        return self if self.how != "self" else None

    def transform(self, X):
        if self.how != "unfitted":
            check_is_fitted(self)
        X = np.asarray(X)
        if self.how == "objects":
            X += 1
        return X - X.mean(axis=0) if self.how == "rows" else X

    def get_feature_names_out(self):
        return ["one"] if self.how == "names" else ["one", "two", "three"]


FAULTS = {
    "rows": "transform of some objects and of all differ",
    "self": "fit must return the estimator itself",
    "parameter": "fit changed a parameter",
    "objects": "changed the objects",
    "names": "features of shape",
    "guarantee": "guarantee_ must be a Guarantee",
    "premises": "a guarantee must state the premises of its theorem",
    "unfitted": "transform before fit must raise NotFittedError",
}


@pytest.mark.parametrize("how", FAULTS)
def test_the_kit_notices(how):
    with pytest.raises(AssertionError, match=FAULTS[how]):
        check_map(Shrinking(how), VECTORS.copy())


def test_the_kit_is_content_with_the_rest():
    check_map(Shrinking("nothing"), VECTORS.copy())


def test_linear_of_vectors_and_of_their_explicit_features_agree():
    phi = Linear().pullback(lambda x: np.asarray(x) ** 2)
    rows = [list(x) for x in VECTORS]
    F = ProjectionMap(phi, landmark_indices=[0, 1, 2]).fit_transform(rows)
    assert np.allclose(F @ F.T, (VECTORS**2) @ (VECTORS**2).T)
