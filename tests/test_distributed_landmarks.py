"""Landmarks chosen among all partitions: the laws of the rules in memory, on an engine that needs no cluster."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chisquare

from similitude import FromPairs
from similitude.engines import DistributedEngine, LocalEngine
from similitude.errors import NotAKernelError, PairError, SourceError
from similitude.kernels import Gaussian, Linear, Spectrum
from similitude.landmarks.distributed import (
    Collection,
    Look,
    RowReader,
    check_alike,
    choose_among_all,
    describe_choice,
)
from similitude.landmarks.rules import Pool, choose
from similitude.maps import LandmarkMap
from similitude.scikit import InputCheck

ONE = LocalEngine(threads=1)


class Here(DistributedEngine):
    """Workers are function calls; a collection is a list of partitions."""

    memory, progress = "1GiB", False
    passes = 0

    def run(self, *args):
        return ONE.run(*args)

    def workers(self, task):
        return 1

    def session(self):
        return nullcontext()

    def partitions(self, X, *beside):
        return [X, *([one] * len(X) for one in beside)]

    def broadcast(self, value):
        return value

    def map(self, function, *columns):
        self.passes += 1
        return [function(*one) for one in zip(*columns, strict=True)]

    def collect(self, handles):
        return iter(handles)

    def lazy_array(self, function, model, X, like):
        return np.concatenate([function(model, i, one) for i, one in enumerate(X)])


def whole(parts, seed=0, similarity="gaussian"):
    fitted = LandmarkMap(similarity, n_components=1, engine=ONE).fit(parts[0])
    found = Collection.of(Here(), [parts], RowReader(InputCheck(fitted, "2GiB")), seed)
    found.engine.passes = 0
    return found


def clusters(n=150, k=12):
    rng = np.random.default_rng(0)
    return np.concatenate([0.3 * rng.normal(size=(n, 3)) + 3 * rng.normal(size=3) for _ in range(k)])


def unexplained(k, X, chosen):
    """The trace of what the landmarks leave of the Gram matrix, by its definition."""
    K = k.cross(X, X[chosen])
    return k.diag(X).sum() - np.sum(K @ np.linalg.pinv(k.gram(X[chosen])) * K)


def apart(k, X, chosen):
    """The sum of squared distances to the nearest landmark."""
    return (k.distance(X, X[chosen]) ** 2).min(axis=1).sum()


@pytest.mark.parametrize(("rule", "cost", "passes"), [("rpcholesky", unexplained, 3), ("kmeans++", apart, 5)])
def test_as_good_as_in_memory_in_a_few_passes(rule, cost, passes):
    X, k, seeds = clusters(), Gaussian(sigma=1.0), range(10)
    found, known = [], []
    for seed in seeds:
        collection = whole(np.array_split(X, 7), seed)
        objects, places = choose_among_all(rule, k, collection, 40)
        assert len(np.unique(places)) == 40 and (objects == X[places]).all() and collection.engine.passes <= passes
        found.append(cost(k, X, places))
        known.append(cost(k, X, choose(rule, Pool(k, k.encode(X), ONE, None, np.random.default_rng(seed)), 40)))
    assert np.mean(found) == pytest.approx(np.mean(known), rel=0.03)


@pytest.mark.parametrize("n", [120, pytest.param(250, marks=pytest.mark.deep)])
@pytest.mark.parametrize("rule", ["rpcholesky", "kmeans++"])
def test_the_law_is_that_of_draws_one_by_one(rule, n):
    X = np.array([[0.0], [0.4], [1.0], [1.3], [3.0]])
    k = Gaussian(sigma=1.0)
    K = k.gram(X)
    law = np.zeros((5, 5))
    for i in range(5):
        left = 1 - K[i] ** 2 if rule == "rpcholesky" else 2 - 2 * K[i]
        law[i] = left / left.sum() / 5
    counts, collection = np.zeros((5, 5)), whole([X[:2], X[2:2], X[2:]])
    for seed in range(n):
        i, j = choose_among_all(rule, k, replace(collection, seed=seed), 2)[1]
        counts[i, j] += 1
    off = ~np.eye(5, dtype=bool)
    assert (counts[~off] == 0).all() and chisquare(counts[off], n * law[off]).pvalue > 1e-3


@pytest.mark.parametrize("rule", ["rpcholesky", "kmeans++"])
def test_the_seed_decides(rule):
    X, k = clusters(), Gaussian(sigma=1.0)
    one, same = (choose_among_all(rule, k, whole(np.array_split(X, 5), 3), 20)[1] for _ in range(2))
    other = choose_among_all(rule, k, whole(np.array_split(X, 5), 4), 20)[1]
    assert (one == same).all() and (one != other).any()


def test_rank_is_found_and_barred_rows_are_passed_over():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)).astype(np.float32)
    assert len(choose_among_all("rpcholesky", Linear(), whole(np.array_split(X, 4), similarity="linear"), 50)[1]) == 3
    doubled = np.repeat(X[:4], 50, axis=0)
    collection = whole(np.array_split(doubled, 3))
    places = choose_among_all("kmeans++", Gaussian(sigma=1.0), collection, 50, np.arange(50))[1]
    assert sorted(places // 50) == [1, 2, 3]
    with pytest.raises(ValueError, match="has nothing to draw by"):
        choose_among_all("rpcholesky", Linear(), whole([np.zeros((5, 2))], similarity="linear"), 2)


def test_strings():
    texts = ["".join("acgt"[i] for i in row) for row in np.random.default_rng(0).integers(0, 4, size=(400, 6))]
    k = Spectrum(2)
    objects, places = choose_among_all("rpcholesky", k, whole([texts[:150], [], texts[150:]], similarity=k), 10)
    assert objects == [texts[i] for i in places] and len(set(places)) == 10


def test_what_is_no_kernel_is_refused_with_its_places():
    X = np.random.default_rng(0).normal(size=(90, 2))
    k = FromPairs(lambda x, z: float(np.abs(x - z).max() ** 0.5 + 1.0), claims=("SYMMETRIC",))
    for rule in ("rpcholesky", "kmeans++"):
        with pytest.raises(NotAKernelError, match="use landmarks='uniform'") as caught:
            choose_among_all(rule, k, whole(np.array_split(X, 3), similarity=k), 20)
        witness = caught.value.witness
        assert all((X[i] == x).all() for i, x in zip(witness.indices, witness.objects, strict=True))
        c = witness.coefficients
        assert c @ np.array([[k(X[i], X[j]) for j in witness.indices] for i in witness.indices]) @ c < 0


def test_a_pair_that_fails_is_named_by_its_places():
    def picky(x, z):
        if max(x[0], z[0]) == 59.0 and x[0] != z[0]:
            raise ValueError("not this one")
        return float(np.exp(-((x[0] - z[0]) ** 2)))

    X, k = np.arange(60.0)[:, None], FromPairs(picky, claims=("SYMMETRIC", "PSD"))
    with pytest.raises(PairError, match=r"pair \(59, \d+\): .*not this one"):
        choose_among_all("kmeans++", k, whole(np.array_split(X, 3), similarity=k), 10, [59])


def test_partitions_must_be_alike():
    looks = [Look(0), Look(1, 3, {"width": "4"}), Look(2, 5, {"width": "4"}), Look(3)]
    assert check_alike(looks) is looks[1]
    with pytest.raises(SourceError, match="partition 4 has width 5, partition 1 has 4"):
        check_alike([*looks, Look(4, 1, {"width": "5"})])
    with pytest.raises(SourceError, match="holds no rows"):
        check_alike([Look(0), Look(1)])


def test_what_was_chosen_among_is_said():
    assert describe_choice("diverse", 20, 20) == "landmarks='diverse' chose among all 20 rows"
    assert describe_choice("uniform", 1_999, 2_000).endswith("a uniform sample of 1,999 of 2,000 rows")
    assert describe_choice("rpcholesky", 19, 20).endswith("among all 20 rows")
