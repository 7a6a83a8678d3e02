"""KernelPCA and SpectralEmbedding: scikit-learn's values, the eigensolver, and similarities that are refused."""

import numpy as np
import pytest
import sklearn.decomposition
import sklearn.manifold
from market import LONGER_WORDS as WORDS
from sklearn.pipeline import make_pipeline

from similitude import FromBlocks, FromPairs, Precomputed, load, save
from similitude.engines import LocalEngine
from similitude.errors import NotAKernelError
from similitude.kernels import Gaussian, Linear, Polynomial, Spectrum
from similitude.learners import KernelSVC
from similitude.maps import KernelPCA, SpectralEmbedding, eigenpairs
from similitude.maps.eigenpairs import CenteredGram, StoredMatrix, leading_eigenpairs

rng = np.random.default_rng(0)
X, NEW = rng.standard_normal((150, 4)), rng.standard_normal((20, 4))
G = Gaussian.from_gamma(0.3)


@pytest.fixture
def iterated(monkeypatch):
    """Let the Krylov method decompose small matrices, from a start that is far from the eigenvectors."""
    monkeypatch.setattr(eigenpairs, "DENSE", 50)
    monkeypatch.setattr(eigenpairs, "STARTING_ROWS", 30)


KERNELS = [
    (G, {"kernel": "rbf", "gamma": 0.3}),
    (Linear(), {"kernel": "linear"}),
    (Polynomial(2, 1.0), {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0}),
]


@pytest.mark.parametrize(("kernel", "theirs"), KERNELS, ids=["gaussian", "linear", "polynomial"])
def test_components_are_those_of_scikit_learn(kernel, theirs):
    other = sklearn.decomposition.KernelPCA(4, eigen_solver="dense", fit_inverse_transform=True, alpha=0.5, **theirs)
    ours = KernelPCA(kernel, n_components=4, fit_inverse_transform=True, alpha=0.5)
    expected = other.fit_transform(X)
    np.testing.assert_allclose(ours.fit_transform(X), expected, atol=1e-8)
    np.testing.assert_allclose(ours.transform(NEW), other.transform(NEW), atol=1e-8)
    np.testing.assert_allclose(ours.eigenvalues_, other.eigenvalues_, rtol=1e-10)
    back = other.inverse_transform(other.transform(NEW))
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(NEW)), back, atol=1e-7)


@pytest.mark.parametrize("tol", [1e-5, 1e-12])
def test_the_krylov_method_finds_the_same(iterated, tol):
    other = sklearn.decomposition.KernelPCA(6, kernel="rbf", gamma=0.3, eigen_solver="dense").fit(X)
    ours = KernelPCA(G, n_components=6, tol=tol, engine=LocalEngine(threads=1, memory="100kB")).fit(X)
    assert 0 < ours.residual_ <= tol
    np.testing.assert_allclose(ours.eigenvalues_, other.eigenvalues_, rtol=tol)
    np.testing.assert_allclose(ours.transform(NEW), other.transform(NEW), atol=1e3 * tol)
    by_matrix = KernelPCA("precomputed", n_components=6, tol=tol).fit(G.gram(X))
    np.testing.assert_allclose(by_matrix.transform(G.cross(NEW, X)), other.transform(NEW), atol=1e3 * tol)


def test_eigenpairs_of_a_matrix_with_negative_and_repeated_eigenvalues():
    Q = np.linalg.qr(rng.standard_normal((300, 300)))[0]
    values = np.concatenate([[9.0, 5.0, 5.0, 5.0, 4.0], np.linspace(3.9, -8.0, 295)])
    M = StoredMatrix((Q * values) @ Q.T)
    found = leading_eigenpairs(M, 5, 1e-10, np.random.default_rng(0))
    np.testing.assert_allclose(found.values, values[:5], atol=1e-9)
    assert found.residual <= 1e-10 and found.smallest >= -8.0 - 1e-9
    np.testing.assert_allclose(M.M @ found.vectors, found.vectors * found.values, atol=1e-8)


def test_rough_products_are_refined_beyond_their_precision():
    gram = CenteredGram(G, X, X.astype(np.float32), LocalEngine(threads=1))
    found = leading_eigenpairs(gram, 4, 1e-12, np.random.default_rng(0))
    K = G.gram(X)
    H = np.eye(len(X)) - 1 / len(X)
    np.testing.assert_allclose(found.values, np.linalg.eigvalsh(H @ K @ H)[:-5:-1], rtol=1e-11)
    np.testing.assert_allclose(gram.row_means, K.mean(axis=0), rtol=1e-12)


def test_components_have_no_mean_and_their_variances_are_the_eigenvalues():
    F = KernelPCA(n_components=150).fit_transform(X)
    model = KernelPCA(n_components=150).fit(X)
    np.testing.assert_allclose(F.mean(axis=0), 0.0, atol=1e-10)
    np.testing.assert_allclose(F.T @ F, np.diag(model.eigenvalues_), atol=1e-10)
    assert abs(model.explained_variance_ratio_.sum() - 1) < 1e-10
    K, H = model.kernel_.gram(X), np.eye(150) - 1 / 150
    np.testing.assert_allclose(F @ F.T, H @ K @ H, atol=1e-10)  # distances in the feature space are kept


def test_similarities_that_are_no_kernels_are_refused(iterated):
    K = G.gram(X)
    values, vectors = np.linalg.eigh(K)
    values[0] = -3.0  # found among the first 500 objects
    with pytest.raises(NotAKernelError, match="is not a kernel"):
        KernelPCA("precomputed").fit((vectors * values) @ vectors.T)


def test_an_eigenvalue_that_no_sample_shows_is_refused(iterated, monkeypatch):
    monkeypatch.setattr("similitude.maps.kernel_pca.CHECKED_OBJECTS", 2)
    M = G.gram(X) - 0.6 * np.outer(np.ones(150), np.ones(150)) + 0.6 * np.eye(150)
    M[:75, 75:] += 0.35  # between halves: no pair shows it
    M = (M + M.T) / 2
    for n_components in (2, 40):  # by the Krylov method and by LAPACK
        with pytest.raises(NotAKernelError, match="has an eigenvalue of -"):
            KernelPCA("precomputed", n_components=n_components).fit(M)


def test_constant_kernels_and_zero_eigenvalues():
    model = KernelPCA("precomputed", n_components=3).fit(np.ones((5, 5)))
    assert not model.transform(np.ones((2, 5))).any() and not model.eigenvalues_.any()
    assert "every component is 0" in model.notes_[-1]
    line = KernelPCA("linear", n_components=3).fit(X[:, :1])
    assert (line.eigenvalues_[1:] == 0).all() and not line.transform(NEW[:, :1])[:, 1:].any()


def test_words_in_a_pipeline_and_saved(tmp_path):
    labels = np.arange(len(WORDS)) % 2
    model = make_pipeline(KernelPCA(Spectrum(2), n_components=3), KernelSVC()).fit(WORDS, labels)
    save(model[0], tmp_path / "pca.sim")
    assert np.array_equal(load(tmp_path / "pca.sim").transform(WORDS), model[0].transform(WORDS))


def test_a_function_is_called_once_for_each_pair():
    calls = []

    def shared(s, t):
        calls.append((s, t))
        return float(len(set(s) & set(t)))

    KernelPCA(FromPairs(shared)).fit(WORDS)
    assert len(calls) <= len(WORDS) ** 2 + len(WORDS)  # all pairs, and the diagonal


def test_inverse_transform_must_be_asked_for():
    with pytest.raises(ValueError, match="fit_inverse_transform=True"):
        KernelPCA().fit(X).inverse_transform([[0.0, 0.0]])
    with pytest.raises(ValueError, match="expected 2 components"):
        KernelPCA(fit_inverse_transform=True).fit(X).inverse_transform([[0.0]])


# Laplacian eigenmaps.


def same_up_to_signs(a, b, atol):
    np.testing.assert_allclose(
        a * np.sign(a[np.abs(a).argmax(0), [0, 1, 2]]), b * np.sign(b[np.abs(b).argmax(0), [0, 1, 2]]), atol=atol
    )


@pytest.mark.parametrize("dense", [True, False])
def test_embeddings_are_those_of_scikit_learn(dense, monkeypatch):
    if not dense:
        monkeypatch.setattr(eigenpairs, "DENSE", 50)
        monkeypatch.setattr(eigenpairs, "STARTING_ROWS", 30)
    K = G.gram(X)
    theirs = sklearn.manifold.SpectralEmbedding(3, affinity="precomputed", random_state=0).fit_transform(K)
    ours = SpectralEmbedding("precomputed", n_components=3, tol=1e-10).fit(K)
    same_up_to_signs(ours.embedding_, theirs, 1e-6)
    same_up_to_signs(SpectralEmbedding(G, n_components=3, tol=1e-10).fit_transform(X), theirs, 1e-6)
    W = K - np.diag(K.diagonal())
    laplacian = np.eye(150) - W / np.sqrt(np.outer(W.sum(0), W.sum(0)))
    np.testing.assert_allclose(ours.eigenvalues_, np.linalg.eigvalsh(laplacian)[1:4], atol=1e-9)


def test_training_objects_keep_their_places_and_new_ones_are_near_their_neighbors():
    model = SpectralEmbedding(G).fit(X)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-10)
    np.testing.assert_allclose(model.transform(X + 1e-6), model.embedding_, atol=1e-5)
    K = G.gram(X)
    by_matrix = SpectralEmbedding("precomputed").fit(K)
    np.testing.assert_allclose(by_matrix.transform(G.cross(NEW, X)), model.transform(NEW), atol=1e-10)


def test_without_loops_the_extension_is_that_of_bengio():
    """A matrix with a diagonal of zeros: each training object is the mean of its neighbors, divided by mu."""
    W = G.gram(X) - np.eye(150)
    model = SpectralEmbedding("precomputed").fit(W)
    means = (W @ model.embedding_) / W.sum(axis=1)[:, None]
    np.testing.assert_allclose(model.transform(W), means / (1 - model.eigenvalues_), atol=1e-10)
    np.testing.assert_allclose(model.transform(W), model.embedding_, atol=1e-10)


def test_parts_that_are_not_connected_are_noticed():
    apart = np.concatenate([X[:20], X[20:40] + 100.0])
    with pytest.warns(UserWarning, match="2 connected components"):
        model = SpectralEmbedding(Gaussian(1.0), n_components=1, n_neighbors=5).fit(apart)
    places = model.embedding_[:, 0]
    assert model.n_connected_components_ == 2 and abs(places[:20].mean() - places[20:].mean()) > 10 * places[:20].std()


def test_weights_must_not_be_negative_and_asymmetric_ones_are_averaged():
    with pytest.raises(ValueError, match=r"must not be negative, but .* for pair \("):
        SpectralEmbedding("linear").fit(X)
    with pytest.raises(ValueError, match="object 3 has similarity 0 to all others"):
        SpectralEmbedding("precomputed", n_components=1).fit(
            np.ones((4, 4))
            - np.outer(np.arange(4) == 3, np.ones(4))
            - np.outer(np.ones(4), np.arange(4) == 3) * (np.arange(4) != 3)[:, None]
        )
    lopsided = FromBlocks(lambda A, B: np.exp(A[:, :1] - B[:, 0]), objects="vectors")
    model = SpectralEmbedding(lopsided).fit(X)
    assert "not symmetric" in model.notes_[0]
    np.testing.assert_allclose(model.embedding_, SpectralEmbedding(lopsided.symmetrized()).fit(X).embedding_, atol=1e-6)
    with pytest.raises(ValueError, match="object 1 has similarity 0 to all training objects"):
        SpectralEmbedding(Precomputed(G.gram(X)), n_components=1).fit(np.arange(9)) and SpectralEmbedding(
            "precomputed"
        ).fit(G.gram(X)).transform(np.stack([np.ones(150), np.zeros(150)]))
