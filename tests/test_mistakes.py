"""Mistakes that newcomers make: errors name the object and what to do, before long work."""

import shutil
import warnings

import numpy as np
import pandas as pd
import pytest

from similitude import FromBlocks, SimilarityClassifier, SimilarityRegressor, as_similarity
from similitude.errors import ExpressionError, PairError
from similitude.kernels import Edit, Gaussian, Spectrum
from similitude.learners import KernelSVC, KernelSVR
from similitude.learners.svm import estimators
from similitude.maps import LandmarkMap

rng = np.random.default_rng(0)
X = rng.standard_normal((40, 3))
Y = np.where(X[:, 0] > 0, "a", "b")
K = X @ X.T


def distances(A, B):
    """A function of matrices, as scikit-learn has them: it takes no single vector."""
    if A.ndim != 2:
        raise ValueError("Expected 2D array, got 1D array instead")
    return np.exp(-((A[:, None] - B[None]) ** 2).sum(-1))


def test_a_parameter_of_a_part_is_found():
    with pytest.raises(ValueError, match=r"Scaled has no parameter 'p'.*did you mean 'k__p'"):
        (2 * Spectrum(p=2)).set_params(p=3)
    with pytest.raises(ValueError, match=r"\(kernel__k1__p\)"):
        KernelSVC(Spectrum(p=2) + Edit()).set_params(kernel__p=3)
    model = KernelSVC(Spectrum(p=2) + Edit()).set_params(kernel__k1__p=3)
    assert model.get_params()["kernel__k1__p"] == 3
    with pytest.raises(ValueError, match=r"it has: p, [^(]*$"):
        KernelSVC(Spectrum(p=2)).set_params(kernel__q=3)


def test_a_function_of_matrices_is_told_of_from_blocks():
    with pytest.raises(PairError, match=r"wrap it: FromBlocks\(f\)"):
        as_similarity(distances).gram(X)
    with pytest.raises(PairError, match=r"wrap it: FromBlocks\(f\)"):
        as_similarity(lambda A, B: np.outer(A, B)).gram(X)
    with pytest.raises(PairError, match=r"raised ZeroDivisionError: [^;]*$"):
        as_similarity(lambda x, z: 1 / 0).gram(X)
    np.testing.assert_allclose(FromBlocks(distances).gram(X), Gaussian(sigma=0.5**0.5).gram(X))


def test_a_function_of_pairs_is_told_that_it_needs_no_from_blocks():
    with pytest.raises(ValueError, match=r"f\(x, z\), give it as it is"):
        FromBlocks(lambda x, z: float(len(x))).gram(X)


@pytest.mark.parametrize(
    ("model", "used"),
    [
        (KernelSVC("precomputed"), "support_"),
        (KernelSVR("precomputed"), "support_"),
        (SimilarityClassifier("precomputed", n_landmarks=10, random_state=0), "landmark_indices_"),
        (LandmarkMap("precomputed", n_components=10, random_state=0), "landmark_indices_"),
    ],
    ids=lambda one: one if isinstance(one, str) else type(one).__name__,
)
def test_a_precomputed_matrix_may_have_the_columns_that_the_model_reads(model, used):
    model.fit(K, X[:, 1] if isinstance(model, KernelSVR) else Y)
    ask = model.transform if isinstance(model, LandmarkMap) else model.predict
    columns = getattr(model, used)
    assert len(columns) not in (7, len(K))
    np.testing.assert_array_equal(ask(K[:9][:, columns]), ask(K[:9]))
    with pytest.raises(ValueError, match=rf"with 40 columns, or the {len(columns)} columns of it at {used}"):
        ask(K[:9, :7])


def test_where_a_matrix_cannot_be_written_nothing_is_computed(tmp_path, monkeypatch):
    def asked(x, z):
        raise AssertionError("called")

    with pytest.raises(ValueError, match=r"there is no folder .*nowhere"):
        as_similarity(asked).gram(X, out=tmp_path / "nowhere" / "K.npy")
    monkeypatch.setattr(shutil, "disk_usage", lambda place: shutil._ntuple_diskusage(2, 1, 1000))
    with pytest.raises(ValueError, match=r"shape \(40, 40\) takes .*1000 bytes are free|KiB, and 1000"):
        as_similarity(asked).gram(X, out=tmp_path / "K.npy")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "here"), [("rbf", "gaussian"), ("poly", "polynomial"), ("Levenshtein", "edit")])
def test_names_of_other_libraries(name, here):
    with pytest.raises(ExpressionError, match=f"it is called {here}"):
        KernelSVC(name).fit(X, Y)


def test_values_are_named_without_the_types_of_numpy():
    for y in (Y, Y.tolist(), pd.Series(Y)):
        with pytest.raises(ValueError, match=r"y holds texts such as '[ab]', not numbers: for classes"):
            SimilarityRegressor().fit(X, y)
    with pytest.raises(ValueError, match="one class only: 'a'"):
        SimilarityClassifier().fit(X, np.full(40, "a"))


def test_landmarks_are_no_function():
    for make in (SimilarityClassifier, LandmarkMap):
        with pytest.raises(TypeError, match="landmarks cannot be a function"):
            make(Gaussian(1.0), landmarks=lambda X: X[:2]).fit(X, Y)


def test_a_long_fit_is_announced(monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = KernelSVC(Gaussian(1.0)).fit(X, Y)
    monkeypatch.setattr(estimators, "MANY_ROWS", 40)
    with pytest.warns(UserWarning, match="KernelSVC on 40 rows takes long.*SGDSVC"):
        found = KernelSVC(Gaussian(1.0)).fit(X, Y)
    np.testing.assert_array_equal(found.decision_function(X), expected.decision_function(X))
