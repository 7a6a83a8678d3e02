"""Kernel k-means: against the definition of its objective, on few points against every partition."""

import itertools
import math
import pickle
import warnings

import numpy as np
import pytest
from grids import thin
from hypothesis import given
from hypothesis import strategies as st
from market import KINDS, SAMPLE, shared_letters
from naive import gaussian, linear, matrix
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from similitude import FromPairs, Precomputed
from similitude.engines import LocalEngine
from similitude.errors import NotAKernelError
from similitude.kernels import Gaussian, Laplace, Linear
from similitude.learners.clusters import KernelKMeans
from similitude.learners.clusters.kernel_kmeans import Clustering, FeatureInnerProducts, GramInnerProducts, seeded

rng = np.random.default_rng(0)
BLOBS = np.concatenate([rng.standard_normal((20, 2)) + center for center in ([0, 0], [8, 0], [0, 8], [8, 8])])
TRUTH = np.repeat(np.arange(4), 20)
X = rng.standard_normal((40, 3))
WORDS = ["kernel", "colonel", "kern", "lek", "margin", "map", "maps", "gram", "grammar", "", "kernel"]


def inertia_of(K, labels, s):
    """The objective by its definition: squared distances from the weighted means."""
    total = 0.0
    for c in set(labels):
        inside = [i for i in range(len(K)) if labels[i] == c and s[i] > 0]
        weight = math.fsum(s[i] for i in inside)
        norm = math.fsum(s[i] * s[j] * K[i][j] for i in inside for j in inside) / weight**2
        for i in inside:
            towards = math.fsum(s[j] * K[i][j] for j in inside) / weight
            total += s[i] * (K[i][i] - 2 * towards + norm)
    return total


def test_the_oracle_of_the_theory():
    model = KernelKMeans("linear", n_clusters=2).fit([[0.0], [1.0], [10.0], [11.0]])
    assert model.labels_[0] == model.labels_[1] != model.labels_[2] == model.labels_[3]
    assert model.inertia_ == pytest.approx(1.0)


@pytest.mark.parametrize("k", [1, 3, 8, 40])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(("kernel", "plain"), [(Gaussian(1.5), gaussian(1.5)), (Linear(), linear())])
def test_inertia_labels_and_distances_follow_the_definition(kernel, plain, weighted, k):
    s = rng.uniform(0.1, 3.0, 40) if weighted else np.ones(40)
    K = matrix(plain, X)
    model = KernelKMeans(kernel, n_clusters=k, tol=0.0).fit(X, sample_weight=s if weighted else None)
    assert model.inertia_ == pytest.approx(inertia_of(K.tolist(), model.labels_.tolist(), s), abs=1e-9)
    assert (model.predict(X) == model.labels_).all() and len(set(model.labels_)) == k
    shares = np.zeros((40, k))
    shares[np.arange(40), model.labels_] = s
    shares /= shares.sum(axis=0)
    Z = X + 0.3
    between = matrix(plain, Z, X)
    own = np.array([plain(z, z) for z in Z])
    squares = own[:, None] - 2 * between @ shares + np.einsum("ic,ij,jc->c", shares, K, shares)
    assert model.transform(Z) == pytest.approx(np.sqrt(np.maximum(squares, 0)), abs=1e-6)
    assert (model.predict(Z) == squares.argmin(axis=1)).all()
    assert model.transform(Z).shape == (40, k) == (40, len(model.get_feature_names_out()))


@given(st.integers(0, 10**6))
def test_on_few_points_it_comes_close_to_the_best_of_all_partitions(seed):
    near = np.random.default_rng(seed).standard_normal((6, 2)) + np.repeat([[0, 0], [3, 0], [0, 3]], 2, axis=0)
    K = rbf_kernel(near, gamma=0.5).tolist()
    partitions = [labels for labels in itertools.product(range(3), repeat=6) if len(set(labels)) == 3]
    best = min(inertia_of(K, labels, [1.0] * 6) for labels in partitions)
    model = KernelKMeans(Gaussian(1.0), n_clusters=3, n_init=20, random_state=seed).fit(near)
    assert best - 1e-9 <= model.inertia_ <= 1.2 * best


@pytest.mark.parametrize(("seed", "weighted"), thin(range(5), [True, False]))
def test_the_objective_never_grows(seed, weighted):
    points = np.random.default_rng(seed).standard_normal((300, 4))
    weights = np.random.default_rng(seed).uniform(0, 3, 300) if weighted else np.ones(300)
    space = GramInnerProducts(rbf_kernel(points, gamma=0.2))
    trace = [Clustering(space, weights, 12, np.random.default_rng(1), steps, 0.0).inertia for steps in range(1, 30)]
    assert (np.diff(trace) <= 1e-9 * trace[0]).all() and trace[-1] < trace[0]


def test_a_cluster_left_empty_gets_the_farthest_object(monkeypatch):
    points = np.array([[0.0], [1.0], [2.0], [30.0], [50.0]])
    monkeypatch.setattr(
        "similitude.learners.clusters.kernel_kmeans.seeded", lambda *_: np.array([0, 0, 0, 1, 1])
    )  # none is in 2
    for space in (FeatureInnerProducts(points), GramInnerProducts(points @ points.T)):
        first = Clustering(space, np.ones(5), 3, np.random.default_rng(0), 1, 0.0)
        assert first.inertia == pytest.approx(202.0) and first.norms[2] == np.inf
        found = Clustering(space, np.ones(5), 3, np.random.default_rng(0), 100, 0.0)
        assert found.inertia == pytest.approx(2.0)
        assert found.labels[:3].tolist() == [0, 0, 0] and set(found.labels[3:]) == {1, 2}
        unweighted = Clustering(space, np.array([1.0, 1, 1, 0, 0]), 3, np.random.default_rng(0), 100, 0.0)
        assert unweighted.inertia == pytest.approx(0.0)


def test_seeds_are_drawn_far_apart():
    labels = seeded(FeatureInnerProducts(BLOBS), np.ones(80), 4, np.random.default_rng(3))
    assert adjusted_rand_score(labels, TRUTH) > 0.9
    only = np.array([1.0] * 20 + [0.0] * 60)
    assert (seeded(FeatureInnerProducts(BLOBS), only, 1, np.random.default_rng(3)) == 0).all()


def test_on_the_linear_kernel_it_is_k_means():
    model = KernelKMeans("linear", n_clusters=5, n_init=20).fit(BLOBS)
    peer = KMeans(n_clusters=5, n_init=20, random_state=0).fit(BLOBS)
    assert model.inertia_ <= peer.inertia_ * (1 + 1e-6)
    assert adjusted_rand_score(KernelKMeans(Laplace(), n_clusters=4).fit_predict(BLOBS), TRUTH) == 1.0


def test_weights_are_repetitions():
    counts = rng.integers(0, 4, 80)
    start = {"kernel": Gaussian(4.0), "n_clusters": 4, "n_init": 10}
    weighted = KernelKMeans(**start).fit(BLOBS, sample_weight=counts)
    repeated = KernelKMeans(**start).fit(np.repeat(BLOBS, counts, axis=0))
    assert weighted.inertia_ == pytest.approx(repeated.inertia_)
    assert adjusted_rand_score(weighted.labels_, repeated.predict(BLOBS)) == 1.0
    assert (weighted.predict(BLOBS) == weighted.labels_).all()
    assert not np.isin(weighted.support_, np.flatnonzero(counts == 0)).any()


@pytest.mark.parametrize("n_landmarks", [None, 20, 80])
def test_landmarks_stand_for_a_gram_that_does_not_fit(n_landmarks):
    small = LocalEngine(threads=1, memory=40_000)
    small = None if n_landmarks == 80 else small
    model = KernelKMeans(Gaussian(4.0), n_clusters=4, n_landmarks=n_landmarks, engine=small).fit(BLOBS)
    exact = KernelKMeans(Gaussian(4.0), n_clusters=4).fit(BLOBS)
    assert adjusted_rand_score(model.labels_, exact.labels_) == 1.0
    assert (model.predict(BLOBS) == model.labels_).all()
    assert exact.inertia_ * (1 - 1e-6) <= model.inertia_ <= exact.inertia_ * 1.05
    order = [np.flatnonzero(exact.labels_ == c)[0] for c in range(4)]
    distances = model.transform(BLOBS)[:, model.labels_[order]]
    assert distances == pytest.approx(exact.transform(BLOBS), abs=0.05)
    assert np.sum(model.transform(BLOBS).min(axis=1) ** 2) == pytest.approx(model.inertia_)
    reason = "the Gram matrix of 80 objects takes 50.0 KiB, the budget is 39.1 KiB"
    assert model.solver_ == f"landmarks: {reason if n_landmarks is None else f'n_landmarks is {n_landmarks}'}"
    assert exact.solver_ == "all objects: the Gram matrix of 80 objects takes 50.0 KiB, the budget is 2.0 GiB"
    weighted = KernelKMeans(Gaussian(4.0), n_clusters=4, n_landmarks=20).fit(BLOBS, sample_weight=np.full(80, 2.5))
    assert weighted.inertia_ == pytest.approx(2.5 * exact.inertia_, rel=0.05)


@pytest.mark.parametrize("n_landmarks", [None, 5])
def test_fewer_different_objects_than_clusters(n_landmarks):
    thrice = np.repeat(X[:3], 3, axis=0)
    model = KernelKMeans(Gaussian(1.0), n_clusters=5, n_landmarks=n_landmarks)
    with pytest.warns(ConvergenceWarning, match="only 3 of 5 clusters"):
        model.fit(thrice)
    assert model.inertia_ == pytest.approx(0.0, abs=1e-6)
    assert (model.predict(thrice) == model.labels_).all()
    assert (model.labels_.reshape(3, 3) == model.labels_[::3, None]).all()
    assert model.transform(X).shape == (40, 5) and not np.isnan(model.transform(X)).any()


def test_one_object_and_constant_kernels():
    origin = KernelKMeans("linear", n_clusters=1, n_landmarks=2).fit([[-1.0], [1.0]])
    assert origin.transform([[3.0]]) == pytest.approx(3.0) and origin.inertia_ == pytest.approx(2.0)
    assert KernelKMeans(n_clusters=1).fit([[1.0, 2.0]]).inertia_ == 0.0
    for kernel in (Linear() * 0.0 + 3.0, Linear() * 0.0):
        with pytest.warns(ConvergenceWarning, match="only 1 of 2"):
            assert KernelKMeans(kernel, n_clusters=2).fit(X).inertia_ == pytest.approx(0.0)


@pytest.mark.parametrize("n_landmarks", [None, 30])
@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_huge_and_tiny_values(scale, n_landmarks):
    plain = KernelKMeans(Gaussian(4.0), n_clusters=4, n_landmarks=n_landmarks).fit(BLOBS)
    scaled = KernelKMeans(scale * Gaussian(4.0), n_clusters=4, n_landmarks=n_landmarks).fit(BLOBS)
    assert adjusted_rand_score(scaled.labels_, plain.labels_) == 1.0
    assert scaled.inertia_ == pytest.approx(plain.inertia_ * scale, rel=1e-6)
    assert (scaled.predict(BLOBS) == scaled.labels_).all()


def test_results_are_seeded():
    first, second = (KernelKMeans(n_clusters=6, n_init=1, random_state=3).fit(X) for _ in range(2))
    assert (first.labels_ == second.labels_).all() and first.inertia_ == second.inertia_
    runs = {KernelKMeans(n_clusters=6, n_init=1, random_state=seed).fit(X).inertia_ for seed in range(8)}
    assert len(runs) > 1
    assert KernelKMeans(n_clusters=6, n_init=8, random_state=0).fit(X).inertia_ <= max(runs)
    short = KernelKMeans(n_clusters=6, max_iter=1).fit(X)
    assert short.n_iter_ == 1 and (short.predict(X) == short.labels_).all()


OBJECTS = {**KINDS, "matrix": ("precomputed", rbf_kernel(SAMPLE))}


@pytest.mark.parametrize("n_landmarks", [None, 4])
@pytest.mark.parametrize("kind", OBJECTS)
def test_objects_of_every_kind(kind, n_landmarks):
    kernel, objects = OBJECTS[kind]
    model = KernelKMeans(kernel, n_clusters=2, n_landmarks=n_landmarks, n_init=2).fit(objects)
    assert (model.predict(objects) == model.labels_).all()
    s = np.ones(len(model.labels_))
    K = objects if kind == "matrix" else np.asarray(model.kernel_.gram(objects), dtype=float)
    least = inertia_of(K.tolist(), model.labels_.tolist(), s)
    assert model.inertia_ >= least - 1e-4
    assert model.inertia_ == pytest.approx(least, abs=1e-4) or n_landmarks is not None
    again = pickle.loads(pickle.dumps(model))
    assert (again.transform(objects) == model.transform(objects)).all()
    assert (clone(model).fit_predict(objects) == model.labels_).all()


def test_a_precomputed_matrix_is_the_kernel_it_came_from():
    K = rbf_kernel(BLOBS, gamma=1 / 32)
    by_matrix = KernelKMeans("precomputed", n_clusters=4).fit(K)
    by_kernel = KernelKMeans(Gaussian(4.0), n_clusters=4).fit(BLOBS)
    assert adjusted_rand_score(by_matrix.labels_, by_kernel.labels_) == 1.0
    assert by_matrix.inertia_ == pytest.approx(by_kernel.inertia_)
    lengths = KernelKMeans("precomputed", n_clusters=4).fit(BLOBS @ BLOBS.T)
    assert (lengths.predict(BLOBS @ BLOBS.T) == lengths.labels_).all()
    with pytest.raises(ValueError, match="use predict"):
        lengths.transform(BLOBS @ BLOBS.T)


def test_it_stands_in_pipelines():
    steps = make_pipeline(StandardScaler(), KernelKMeans(n_clusters=4)).set_output(transform="pandas")
    assert list(steps.fit_transform(BLOBS).columns) == [f"kernelkmeans{c}" for c in range(4)]
    model = KernelKMeans().set_params(kernel__sigma=4.0, n_clusters=4).fit(BLOBS)
    assert model.kernel_.sigma == 4.0


def test_an_indefinite_similarity_is_refused_with_its_witness(monkeypatch):
    overlap = lambda x, z: float(bool(set(x) & set(z)))  # noqa: E731
    with pytest.raises(NotAKernelError) as caught:
        KernelKMeans(overlap, n_clusters=1).fit(["ab", "bc", "cd"])
    assert caught.value.witness.indices == (0, 1, 2)
    monkeypatch.setattr("similitude.learners.kernel_learner.CHECKED_OBJECTS", 3)
    K = np.eye(9)
    unseen = np.setdiff1d(np.arange(9), np.random.default_rng(0).permutation(9)[:3])
    K[np.ix_(unseen[:3], unseen[:3])] = [[1, 1, 0], [1, 1, 1], [0, 1, 1]]  # each pair alone would do
    with pytest.raises(NotAKernelError) as caught:
        KernelKMeans("precomputed", n_clusters=7).fit(K)
    assert caught.value.witness.indices == tuple(unseen[:3])
    K[unseen[0], unseen[1]] = K[unseen[1], unseen[0]] = 1.5
    with pytest.raises(NotAKernelError) as caught:
        KernelKMeans("precomputed", n_clusters=1).fit(K)
    assert caught.value.witness.indices == tuple(unseen[:2])
    late = KernelKMeans(Precomputed(np.array([[1.0, 0, 3], [0, 1, 0], [3, 0, 1]])), n_clusters=2).fit([0, 1])
    with pytest.raises(NotAKernelError, match="object 0 to center"):
        late.transform([2])


def test_a_failed_fit_leaves_the_estimator_as_it_was():
    model = KernelKMeans(FromPairs(lambda s, t: 1 / 0), n_clusters=2)
    with pytest.raises(ValueError, match="ZeroDivision"):
        model.fit(WORDS)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_a_user_function_is_called_once_per_pair():
    calls = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelKMeans(lambda s, t: calls.append(0) or shared_letters(s, t), n_clusters=2).fit(WORDS)
    assert len(calls) == 121
