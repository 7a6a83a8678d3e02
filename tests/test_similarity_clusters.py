"""Clusters by any similarity: k-medoids, normalized cuts, hierarchies, dense regions, and how many there are."""

import itertools
import warnings

import numpy as np
import pytest
from market import shared_letters
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.linalg import eigh
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import DBSCAN, SpectralClustering
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from similitude import FromBlocks, FromPairs, Precomputed
from similitude.engines import LocalEngine
from similitude.errors import NotAKernelError, PairError
from similitude.kernels import DTW, Edit, Gaussian, Linear, WeisfeilerLehman
from similitude.learners import (
    KernelKMeans,
    SimilarityDensityClusters,
    SimilarityKMedoids,
    SimilarityLinkage,
    SpectralClusters,
    choose_clusters,
)
from similitude.maps import local_eigenpairs

rng = np.random.default_rng(0)
CENTERS = np.array([[0, 0], [9, 0], [0, 9]])
TRUTH = np.repeat(np.arange(3), 20)
BLOBS = rng.standard_normal((60, 2)) + CENTERS[TRUTH]
ONE_BLOB = rng.standard_normal((60, 2))
ROOTS = ("banana", "kernel", "xylophone")
WORDS = [root[: i % 3] + "-" * (i % 2) + root[i % 3 :] for root in ROOTS for i in range(8)]
OF_WORDS = np.repeat(np.arange(3), 8)


def waves(n):
    """Series of three kinds, of different lengths."""
    local = np.random.default_rng(1)
    times = [np.linspace(0, 1, 20 + int(local.integers(5))) for _ in range(3 * n)]
    shapes = [lambda t: np.sin(9 * t), lambda t: 4 * t, lambda t: -3 * np.cos(20 * t)]
    return [shapes[i // n](t) + 0.1 * local.standard_normal(len(t)) for i, t in enumerate(times)]


def is_swap_optimal(D, medoids):
    """Whether no swap lowers the sum of distances; entry (i, j) is the distance of object i from medoid j."""
    loss = D[:, medoids].min(axis=1).sum()
    others = set(range(len(D))) - set(medoids.tolist())
    swaps = ([*(m for m in medoids if m != out), new] for out in medoids for new in others)
    return all(D[:, swap].min(axis=1).sum() >= loss - 1e-9 for swap in swaps)


# k-medoids.


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("symmetric", [True, False])
def test_no_swap_lowers_the_sum_and_everything_follows_from_the_medoids(symmetric, dtype):
    D = rng.random((30, 30)).astype(dtype)
    D = D + D.T if symmetric else D
    model = SimilarityKMedoids("precomputed", n_clusters=4, distance="values").fit(D)
    assert is_swap_optimal(D.astype(float), model.medoid_indices_)
    far = D[:, model.medoid_indices_]
    assert model.inertia_ == pytest.approx(far.min(axis=1).sum(dtype=float)) and model.distance_ == "values"
    assert (model.labels_ == far.argmin(axis=1)).all() and (model.predict(D) == model.labels_).all()
    new = rng.random((5, 30)).astype(dtype)
    assert (model.predict(new) == new[:, model.medoid_indices_].argmin(axis=1)).all()


def test_few_objects_get_the_best_of_all_medoids():
    for seed in range(5):
        X = np.random.default_rng(seed).standard_normal((9, 2))
        D = squareform(pdist(X))
        best = min(D[:, list(some)].min(axis=1).sum() for some in itertools.combinations(range(9), 3))
        model = SimilarityKMedoids(Linear(), n_clusters=3, n_init=20).fit(X)
        assert model.distance_ == "kernel" and model.inertia_ == pytest.approx(best)


def test_the_same_first_medoids_end_no_worse_than_those_of_the_peer():
    kmedoids = pytest.importorskip("kmedoids")
    for seed in range(5):
        local = np.random.default_rng(seed)
        D = squareform(pdist(local.standard_normal((150, 3))))
        start = local.choice(150, 8, replace=False)
        model = SimilarityKMedoids("precomputed", n_clusters=8, distance="values", init=start).fit(D)
        assert model.inertia_ <= kmedoids.fasterpam(D, start.astype(np.uint64)).loss * (1 + 1e-9)


@pytest.mark.parametrize(
    ("similarity", "objects", "truth", "options"),
    [
        (Gaussian(3.0), BLOBS, TRUTH, {}),
        (Edit(), WORDS, OF_WORDS, {}),
        (DTW(), waves(6), np.repeat(np.arange(3), 6), {}),
        (FromBlocks(DTW().distances, objects="series"), waves(6), np.repeat(np.arange(3), 6), {"distance": "values"}),
        (FromPairs(shared_letters), WORDS, OF_WORDS, {"distance": "similarity"}),
    ],
    ids=["kernel", "strings", "series", "distances", "function"],
)
def test_planted_clusters_are_found_by_every_kind_of_similarity(similarity, objects, truth, options):
    model = SimilarityKMedoids(similarity, n_clusters=3, **options).fit(objects)
    assert adjusted_rand_score(model.labels_, truth) == 1.0
    assert (model.predict(objects) == model.labels_).all()
    assert sorted(truth[model.medoid_indices_]) == [0, 1, 2] and len(model.medoids_) == 3


def test_a_similarity_is_maximized_and_a_kernel_gives_distances():
    K = Gaussian(2.0).gram(BLOBS)
    model = SimilarityKMedoids("precomputed", n_clusters=3).fit(K)
    assert model.distance_ == "similarity"
    assert model.inertia_ == pytest.approx((1 - K[:, model.medoid_indices_].max(axis=1)).sum())
    of_kernel = SimilarityKMedoids("precomputed", n_clusters=3, distance="kernel").fit(K)
    direct = SimilarityKMedoids(Gaussian(2.0), n_clusters=3).fit(BLOBS)
    assert of_kernel.inertia_ == pytest.approx(direct.inertia_)
    assert (of_kernel.predict(K) == of_kernel.labels_).all()


def test_samples_serve_if_the_matrix_does_not_fit():
    X = rng.standard_normal((2200, 2)) + CENTERS[rng.integers(0, 3, 2200)]
    exact = SimilarityKMedoids(Linear(), n_clusters=3, distance="kernel").fit(X[:600])
    model = SimilarityKMedoids(Linear(), n_clusters=3, n_init=2, engine=LocalEngine(memory="34MiB")).fit(X)
    assert model.solver_.startswith("landmarks: the matrix of 2,200 objects takes")
    far = np.linalg.norm(X[:, None] - model.medoids_, axis=2)
    assert model.inertia_ == pytest.approx(far.min(axis=1).sum()) and (model.labels_ == far.argmin(axis=1)).all()
    assert model.inertia_ / 2200 <= 1.1 * exact.inertia_ / 600
    small = SimilarityKMedoids(Linear(), n_clusters=3, n_landmarks=100).fit(X)
    assert small.inertia_ <= 1.2 * model.inertia_


def test_one_medoid_is_the_center_and_equal_objects_share_a_cluster():
    model = SimilarityKMedoids(Linear(), n_clusters=1).fit([[0.0], [1.0], [5.0]])
    assert model.medoid_indices_.tolist() == [1] and model.inertia_ == pytest.approx(5.0)
    assert SimilarityKMedoids(n_clusters=1).fit([[1.0]]).inertia_ == 0.0
    with pytest.warns(ConvergenceWarning, match="only 2 of 3 clusters"):
        SimilarityKMedoids(Edit(), n_clusters=3).fit(["a", "a", "a", "b"])
    with pytest.warns(ConvergenceWarning, match="increase max_iter"):
        SimilarityKMedoids(n_clusters=5, n_init=1, max_iter=1).fit(rng.standard_normal((300, 2)))


def test_refusals_that_need_values():
    flat = FromPairs(lambda s, t: 1.0)
    for model in (SimilarityKMedoids, SpectralClusters, SimilarityLinkage):
        with pytest.raises(ValueError, match="same similarity"):
            model(flat, n_clusters=2).fit(list("abcd"))
    with pytest.raises(PairError, match="< 0: use distance='similarity'"):
        SimilarityKMedoids("precomputed", n_clusters=2, distance="values").fit(-np.eye(4) * np.arange(4))
    with pytest.raises(NotAKernelError, match="SimilarityKMedoids"):
        KernelKMeans(DTW(), n_clusters=2).fit(waves(2))
    with pytest.raises(NotAKernelError, match="is not a kernel"):
        SimilarityKMedoids(DTW(), n_clusters=2, distance="kernel").fit(waves(2))
    with pytest.raises(PairError, match="weights >= 0"):
        SpectralClusters(Linear(), n_clusters=2).fit(BLOBS)
    with pytest.raises(ValueError, match="ask for fewer clusters"):
        SpectralClusters("precomputed", n_clusters=3).fit(np.kron(np.eye(2), np.ones((3, 3))))
    with pytest.raises(ValueError, match="all similarities are zero"):
        SpectralClusters("precomputed", n_clusters=1).fit(np.zeros((3, 3)))
    with pytest.raises(ValueError, match="needs distances of a kernel"):
        SimilarityLinkage(Edit(), method="ward").fit(WORDS)


# Normalized cuts.


def test_coordinates_solve_the_eigenproblem_of_the_normalized_cut():
    W = Gaussian(2.0).gram(BLOBS)
    model = SpectralClusters("precomputed", n_clusters=4).fit(W)
    values, vectors = eigh(W, np.diag(W.sum(axis=1)))
    assert model.eigenvalues_ == pytest.approx(values[::-1][:4])
    residuals = W @ model.embedding_ - W.sum(axis=1)[:, None] * model.embedding_ * model.eigenvalues_
    assert abs(residuals).max() < 1e-8
    assert abs(vectors[:, -4:].T @ np.diag(W.sum(axis=1)) @ model.embedding_).min(axis=0) == pytest.approx(0, abs=1e-6)
    assert (model.predict(W) == model.labels_).all()


@pytest.mark.parametrize("n_landmarks", [None, 30])
@pytest.mark.parametrize(
    ("similarity", "objects", "truth"),
    [(Gaussian(1.5), BLOBS, TRUTH), (Edit() ** 4, WORDS, OF_WORDS), (DTW(), waves(12), np.repeat(np.arange(3), 12))],
    ids=["vectors", "strings", "series"],
)
def test_cuts_are_those_of_scikit_learn(similarity, objects, truth, n_landmarks):
    n_landmarks = n_landmarks and min(n_landmarks, len(objects) // 2)
    model = SpectralClusters(similarity, n_clusters=3, n_landmarks=n_landmarks).fit(objects)
    affinity = model.similarity_.gram(objects)
    peer = SpectralClustering(3, affinity="precomputed", random_state=0).fit_predict(affinity)
    assert adjusted_rand_score(model.labels_, peer) == adjusted_rand_score(peer, truth) == 1.0
    assert (model.predict(objects) == model.labels_).all()
    assert len(model.support_) == (n_landmarks or len(objects))


def test_graphs_and_rings_are_cut():
    networkx = pytest.importorskip("networkx")
    graphs = [networkx.cycle_graph(n) for n in range(4, 10)] + [networkx.star_graph(n) for n in range(4, 10)]
    model = SpectralClusters(WeisfeilerLehman(2).normalized(), n_clusters=2).fit(graphs)
    assert adjusted_rand_score(model.labels_, np.repeat([0, 1], 6)) == 1.0
    angles = rng.uniform(0, 2 * np.pi, 400)
    rings = np.column_stack([np.cos(angles), np.sin(angles)]) * np.repeat([1.0, 4.0], 200)[:, None]
    for n_landmarks in (None, 120):
        found = SpectralClusters(Gaussian(0.6), n_clusters=2, n_landmarks=n_landmarks).fit(rings)
        assert adjusted_rand_score(found.labels_, np.repeat([0, 1], 200)) == 1.0
        assert (found.predict(rings * 1.02) == found.labels_).all()


def test_landmarks_approximate_the_coordinates():
    exact = SpectralClusters(Gaussian(3.0), n_clusters=3).fit(BLOBS)
    close = SpectralClusters(Gaussian(3.0), n_clusters=3, n_landmarks=45).fit(BLOBS)
    assert close.eigenvalues_ == pytest.approx(exact.eigenvalues_, abs=1e-4)
    inner = np.linalg.lstsq(close.embedding_, exact.embedding_, rcond=None)[0]
    assert close.embedding_ @ inner == pytest.approx(exact.embedding_, abs=1e-3)


def test_repeated_eigenvalues_are_found():
    S = np.kron(np.eye(6), np.full((110, 110), 1 / 110))  # six unconnected parts
    found = local_eigenpairs(S, 6, np.random.default_rng(0))
    values, vectors = found.values, found.vectors
    assert values == pytest.approx(1.0) and vectors.T @ vectors == pytest.approx(np.eye(6), abs=1e-7)
    assert S @ vectors == pytest.approx(vectors, abs=1e-6)


def test_objects_without_similarities_are_noted():
    W = np.kron(np.eye(2), np.ones((4, 4)))
    W[-1] = W[:, -1] = 0.0
    model = SpectralClusters("precomputed", n_clusters=2).fit(W)
    assert "1 objects, the first at 7, have no similarity" in model.notes_[-1]
    assert len(set(model.labels_[:4])) == 1 and model.labels_[0] != model.labels_[4]


# Hierarchies.


@pytest.mark.parametrize("method", ["single", "complete", "average", "weighted", "ward", "centroid", "median"])
def test_the_hierarchy_is_that_of_scipy(method):
    model = SimilarityLinkage(Linear(), method=method, n_clusters=3).fit(BLOBS)
    expected = linkage(pdist(BLOBS), method)
    assert model.linkage_ == pytest.approx(expected, abs=1e-6)
    assert adjusted_rand_score(model.labels_, fcluster(expected, 3, "maxclust")) == 1.0
    assert (model.predict(BLOBS) == model.labels_).all() and model.n_clusters_ == 3
    height = expected[-2, 2]
    cut = SimilarityLinkage(Linear(), method=method, n_clusters=None, distance_threshold=height).fit(BLOBS)
    assert adjusted_rand_score(cut.labels_, fcluster(model.linkage_, height, "distance")) == 1.0


def test_hierarchies_of_strings_take_both_directions():
    words = SimilarityLinkage(Edit(), n_clusters=3).fit(WORDS)
    assert adjusted_rand_score(words.labels_, OF_WORDS) == 1.0 and words.predict(["banan"])[0] == words.labels_[0]
    D = rng.random((12, 12))
    model = SimilarityLinkage("precomputed", distance="values").fit(D)
    mean = (D + D.T) / 2
    np.fill_diagonal(mean, 0.0)
    assert model.linkage_ == pytest.approx(linkage(squareform(mean), "average"))


# Dense regions.


def test_core_objects_and_noise_are_those_of_scikit_learn():
    local = np.random.default_rng(4)
    X = np.concatenate([BLOBS, local.uniform(-5, 14, (60, 2))])
    for eps in (0.4, 0.8, 1.5):
        model = SimilarityDensityClusters(Linear(), eps=eps, distance="kernel").fit(X)
        peer = DBSCAN(eps=eps).fit(X)
        assert (model.core_sample_indices_ == peer.core_sample_indices_).all()
        assert ((model.labels_ == -1) == (peer.labels_ == -1)).all()
        core = model.core_sample_indices_
        assert adjusted_rand_score(model.labels_[core], peer.labels_[core]) == 1.0
        far = np.linalg.norm(X[:, None] - X[core], axis=2)
        inside = model.labels_ >= 0
        assert (model.labels_[inside] == model.labels_[core][far.argmin(axis=1)][inside]).all()
        assert (model.predict(X) == model.labels_).all()


def test_the_default_radius_makes_nine_of_ten_core_objects():
    model = SimilarityDensityClusters(Gaussian(3.0)).fit(BLOBS)
    assert len(model.core_sample_indices_) == 55 and model.n_clusters_ == 3
    assert adjusted_rand_score(model.labels_[model.labels_ >= 0], TRUTH[model.labels_ >= 0]) == 1.0
    words = SimilarityDensityClusters(Edit(), eps=0.4, min_samples=3).fit([*WORDS, "quiz"])
    assert words.labels_[-1] == -1 and adjusted_rand_score(words.labels_[:-1], OF_WORDS) == 1.0
    assert words.predict(["banan", "zzz"]).tolist() == [words.labels_[0], -1]
    nothing = SimilarityDensityClusters(Edit(), eps=0.01, min_samples=3).fit(["a", "b", "c"])
    assert (nothing.labels_ == -1).all() and (nothing.predict(["a"]) == -1).all()


def test_landmarks_find_the_same_regions():
    X = np.repeat(BLOBS, 5, axis=0) + 0.3 * rng.standard_normal((300, 2))
    model = SimilarityDensityClusters(Linear(), eps=2.5, n_landmarks=100).fit(X)
    assert model.solver_ == "landmarks: n_landmarks is 100" and len(model.core_sample_indices_) <= 100
    assert adjusted_rand_score(model.labels_[model.labels_ >= 0], np.repeat(TRUTH, 5)[model.labels_ >= 0]) == 1.0
    assert (model.labels_ >= 0).mean() > 0.95 and (model.predict(X) == model.labels_).all()


# How many.


def test_three_clusters_are_stable_and_one_is_none():
    three = choose_clusters("auto", BLOBS, n_clusters=range(2, 5))
    assert three.n_clusters == 3 and three.stability[3] > 0.95 > 0.9 > three.stability[4]
    assert three.stability[3] > three.reference[3]
    assert "3 clusters: the largest number on which halves agree" in str(three)
    one = choose_clusters("auto", ONE_BLOB, n_clusters=[2, 3])
    assert one.n_clusters == 1 and one.reason == "no number of clusters is stable" and max(one.stability.values()) < 0.9


def test_a_long_cluster_that_is_cut_stably_is_still_one(monkeypatch):
    monkeypatch.setattr("similitude.learners.clusters.medoids.STABLE", 0.7)
    line = np.random.default_rng(0).standard_normal((120, 1))
    found = choose_clusters(Linear(), line, n_clusters=[2])
    assert 0.7 < found.stability[2] < found.reference[2]
    assert found.n_clusters == 1 and "no more than in a single cluster of like extent" in found.reason


@pytest.fixture
def few_splits(monkeypatch):
    """Judge stability by fewer splits, where the choice is clear."""
    monkeypatch.setattr("similitude.learners.clusters.medoids.SPLITS", 6)
    monkeypatch.setattr("similitude.learners.clusters.medoids.REFERENCES", 5)
    monkeypatch.setattr("similitude.learners.clusters.medoids.REFERENCE_SPLITS", 2)


@pytest.mark.usefixtures("few_splits")
def test_strings_series_and_matrices_are_numbered():
    assert choose_clusters(Edit(), WORDS, n_clusters=[2, 3, 4]).n_clusters == 3
    assert choose_clusters(DTW(), waves(8), n_clusters=[3, 4]).n_clusters == 3
    assert choose_clusters("precomputed", Gaussian(3.0).gram(BLOBS), n_clusters=[3]).n_clusters == 3
    letters = np.random.default_rng(0).choice(list("abcd"), (60, 12))
    assert choose_clusters(Edit(), ["".join(row) for row in letters], n_clusters=[2, 3]).n_clusters == 1


@pytest.mark.usefixtures("few_splits")
def test_medoids_number_themselves():
    model = SimilarityKMedoids(n_clusters="auto").fit(BLOBS)
    assert model.n_clusters_ == 3 and model.notes_[-1].startswith("3 clusters: ")
    assert adjusted_rand_score(model.labels_, TRUTH) == 1.0
    one = SimilarityKMedoids(n_clusters="auto").fit(ONE_BLOB[:40])
    assert one.n_clusters_ == 1 and (one.labels_ == 0).all() and "no number of clusters is stable" in one.notes_[-1]
    with pytest.raises(ValueError, match="halves of at least 2 objects"):
        SimilarityKMedoids(n_clusters="auto").fit([[0.0], [1.0], [2.0]])


def test_what_precomputed_matrices_cannot_tell_is_refused():
    M = BLOBS @ BLOBS.T
    model = SimilarityDensityClusters("precomputed", eps=1.0, distance="kernel").fit(M)
    with pytest.raises(ValueError, match="use distance='similarity'"):
        model.predict(M)
    indices = SimilarityDensityClusters(Precomputed(M), eps=1.0, distance="kernel").fit(np.arange(60))
    assert (indices.predict(np.arange(60)) == model.labels_).all()


def test_nothing_warns_on_ordinary_objects():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for learner in (SimilarityKMedoids, SpectralClusters, SimilarityLinkage):
            learner(n_clusters=3).fit(BLOBS)


def test_objects_that_no_landmark_is_like_are_noted():
    X = np.concatenate([np.linspace(0, 1, 60), [9.0, 9.1]])[:, None]
    few = SpectralClusters(Gaussian(0.3), n_clusters=2, n_landmarks=8, random_state=0).fit(X)
    assert any(note.startswith("2 objects, the first at 60, are unlike all landmarks") for note in few.notes_)
    assert not SpectralClusters(Gaussian(20.0), n_clusters=2, n_landmarks=8, random_state=0).fit(X).notes_


def test_medoids_predict_from_their_columns_alone():
    K = Gaussian(1.0).gram(np.random.default_rng(0).normal(size=(20, 2)))
    model = SimilarityKMedoids("precomputed", n_clusters=3, random_state=0).fit(K)
    np.testing.assert_array_equal(model.predict(K[:, model.medoid_indices_]), model.labels_)
    with pytest.raises(ValueError, match="or the 3 columns of it at medoid_indices_"):
        model.predict(K[:, :2])
