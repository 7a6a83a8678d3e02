"""An exported model predicts in ONNX Runtime what it predicts here."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from similitude import FromPairs, SimilarityClassifier, SimilarityRegressor, to_onnx
from similitude.estimators import without_evaluation
from similitude.kernels import (
    Cosine,
    Edit,
    Gaussian,
    HistogramIntersection,
    Jaccard,
    Laplace,
    Linear,
    Matern,
    Partitioned,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    Spectrum,
    Tabular,
)
from similitude.learners import (
    KernelKMeans,
    KernelPerceptron,
    KernelRidge,
    KernelRidgeClassifier,
    KernelSGDSVC,
    KernelSVC,
    KernelSVR,
    MarginPerceptron,
)

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

RNG = np.random.default_rng(0)
X = np.abs(RNG.normal(size=(60, 3))) + 0.1
NEW = np.abs(RNG.normal(size=(25, 3))) + 0.1
NUMBERS = np.sin(2 * X[:, 0]) + X[:, 1]
TWO = np.array(["no", "yes"])[(NUMBERS > 1.4).astype(int)]
THREE = np.digitize(NUMBERS, [1.0, 1.8]) * 10
WIDE, WIDE_NEW = RNG.normal(size=(40, 50)) + 30, RNG.normal(size=(20, 50)) + 30

WORDS = ["banana", "bandana", "ananas", "cabana", "añejo", "mañana", "panna", "sauna", "tuna", "luna", "b", "", "été"]
NEW_WORDS = ["bananas", "nanny", "año", "zzz", "", "a", "tété", "panama", "banana"]

METRIC = [2.0, 0.5, 0.0]
MATRIX = RNG.normal(size=(3, 2))
SIMILARITIES = [
    Cosine(),
    Gaussian(0.7),
    Gaussian(1.0, metric=METRIC),
    Gaussian(1.0, metric=MATRIX),
    HistogramIntersection(),
    Laplace(1.0),
    Laplace(1.0, norm=1, squared_scale=False, metric=METRIC),
    Linear(),
    *(Matern(nu, 1.5) for nu in (0.5, 1.5, 2.5, np.inf)),
    Polynomial(3, 0.5, 0.2),
    RationalQuadratic(0.7, 1.3),
    Sigmoid(0.1, -0.2),
    Polynomial(2).normalized(),
    HistogramIntersection().normalized() + 0.5 * Gaussian(1.0) * Linear(),
    (Linear() * 0.1).exp(),
    abs(Sigmoid(0.3)) + 1,
    Gaussian(1.0).minimum(Laplace(2.0)),
    Gaussian(1.0).maximum(Laplace(2.0)) ** 2,
]
STRINGS = [
    Spectrum(2),
    Spectrum(2, counts=True),
    Spectrum(3, blended=True),
    Spectrum(2, weights={"an": 3.0, "na": 0.0}, default_weight=0.5),
    Spectrum(2).normalized(),
    Spectrum(2, counts=True, blended=True).normalized(),
    Spectrum(2, weights="idf").normalized(),
    Spectrum(2, counts=True, weights={"an": 3.0}).normalized() + 1,
]


def run(model, new):
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    given = np.array(new, dtype=object) if isinstance(new, list) else np.asarray(new, dtype=np.float64)
    return dict(zip((one.name for one in session.get_outputs()), session.run(None, {"X": given}), strict=True))


def check(model, new):
    found, expected = run(model, new), model.predict(new)
    if not hasattr(model, "classes_"):
        np.testing.assert_allclose(found["predictions"], expected, rtol=1e-6, atol=1e-7)
        return
    np.testing.assert_array_equal(found["predictions"], expected)
    assert found["predictions"].shape == expected.shape
    np.testing.assert_allclose(found["scores"], model.decision_function(new), rtol=1e-6, atol=1e-7)
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(new), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("k", SIMILARITIES, ids=repr)
def test_similarities_of_vectors(k):
    with without_evaluation():
        check(SimilarityRegressor(k, n_landmarks=12, random_state=0).fit(X, NUMBERS), NEW)


@pytest.mark.parametrize("k", STRINGS, ids=repr)
def test_similarities_of_strings(k):
    with without_evaluation():
        check(SimilarityRegressor(k, random_state=0).fit(WORDS, np.arange(len(WORDS))), NEW_WORDS)


@pytest.mark.parametrize("k", [Gaussian(8.0), Laplace(2.0), Matern(1.5, 8.0)], ids=repr)
def test_long_vectors_far_from_the_origin_and_close_to_landmarks(k):
    with without_evaluation():
        model = SimilarityRegressor(k, random_state=0).fit(WIDE, WIDE[:, 0])
    check(model, np.concatenate([WIDE_NEW, WIDE]))


@pytest.mark.parametrize("labels", [TWO, THREE, THREE > 5], ids=["two", "three", "bool"])
def test_classifiers(labels):
    for model in (
        SimilarityClassifier(random_state=0),
        SimilarityClassifier(Gaussian(1.0), side="both", random_state=0),
        KernelRidgeClassifier(Gaussian(1.0)),
        KernelSVC(Gaussian(1.0)),
        KernelSGDSVC(Gaussian(1.0), random_state=0),
        KernelPerceptron(Gaussian(1.0)),
    ):
        with without_evaluation():
            check(model.fit(X, labels), NEW)


def test_regressors_of_one_and_of_several_numbers():
    for model in (SimilarityRegressor(random_state=0), KernelRidge(Gaussian(1.0)), KernelSVR(Gaussian(1.0))):
        with without_evaluation():
            check(model.fit(X, NUMBERS), NEW)
    for model in (SimilarityRegressor(Gaussian(1.0), random_state=0), KernelRidge(Gaussian(1.0))):
        with without_evaluation():
            check(model.fit(X, np.stack([NUMBERS, -2 * NUMBERS], axis=1)), NEW)
    check(MarginPerceptron(Gaussian(0.2)).fit(X[:20], TWO[:20]), NEW)


def test_columns_of_numbers_with_ranks_outliers_and_missing_cells():
    table, new = RNG.standard_t(2, size=(80, 3)), RNG.standard_t(2, size=(30, 3))
    table[::7, 1], new[::5, 1] = np.nan, np.nan
    k, (table, new) = (
        Tabular(Matern(1.5, 2.0), ranks=True),
        (pd.DataFrame(one, columns=list("abc")) for one in (table, new)),
    )
    with without_evaluation():
        model = SimilarityRegressor(k, random_state=0).fit(table, table.fillna(0).sum(axis=1))
    check(model, new)
    with without_evaluation():
        model.fit(table.assign(d=["x", "y"] * 40), table.fillna(0).sum(axis=1))
    with pytest.raises(TypeError, match="column 'd' holds no numbers"):
        to_onnx(model)


@pytest.mark.parametrize("metrics", [None, RNG.uniform(size=(4, 3)), RNG.normal(size=(4, 3, 2))])
def test_cells(metrics):
    tree = {"directions": RNG.normal(size=(3, 3)), "thresholds": [1.0, 0.5, 0.2], "metrics": metrics}
    k = Partitioned(Matern(1.5, 1.0, metric=METRIC), **tree)
    check(KernelRidge(k).fit(X, NUMBERS), NEW)


def test_models_of_sparse_rows():
    sparse = csr_array(np.where(X > 0.8, X, 0.0))
    for k in (Gaussian(1.0), Linear(), Cosine() + 1):
        model = KernelRidge(k).fit(sparse, NUMBERS)
        np.testing.assert_allclose(run(model, NEW)["predictions"], model.predict(csr_array(NEW)), rtol=1e-6, atol=1e-7)


def test_what_has_no_export_is_named():
    with without_evaluation():
        own = SimilarityClassifier(FromPairs(lambda x, z: float(x @ z)), random_state=0).fit(X, TWO)
        edit = SimilarityClassifier(Edit(), random_state=0).fit(["ab", "ac", "xy", "xz"] * 5, [0, 0, 1, 1] * 5)
    for model, named in ((own, "FromPairs"), (edit, "Edit"), (KernelKMeans(Gaussian(1.0)).fit(X), "KernelKMeans")):
        with pytest.raises(TypeError, match=named):
            to_onnx(model)
    of_sets = KernelRidge(Jaccard()).fit([{"a"}, {"b"}, {"a", "b"}], [0.0, 1.0, 2.0])
    pulled = KernelRidge(Linear().pullback(np.sin)).fit(X, NUMBERS)
    of_bytes = KernelRidge(Spectrum(2)).fit([b"ab", b"ba", b"bb"], [0.0, 1.0, 2.0])
    dates = KernelRidgeClassifier(Linear()).fit(X, np.array(["2020", "2021"], dtype="M8[Y]")[(X[:, 0] > 1).astype(int)])
    refused = ((of_sets, "Jaccard"), (pulled, "pullback"), (of_bytes, "bytes"), (dates, "classes are"))
    for model, named in refused:
        with pytest.raises(TypeError, match=named):
            to_onnx(model)
    with pytest.raises(Exception, match="not fitted"):
        to_onnx(SimilarityClassifier())
    with pytest.raises(TypeError, match="precomputed"):
        to_onnx(KernelRidge("precomputed").fit(np.eye(4), [1.0, 2.0, 3.0, 4.0]))
    with pytest.raises(TypeError, match=r"nu = 0\.5, 1\.5"):
        to_onnx(KernelRidge(Matern(0.7, 1.0)).fit(X, NUMBERS))
