"""What workers compute on one partition, called here: together they give what all rows in memory give."""

from functools import partial

import numpy as np
import pytest

from similitude import FromPairs, SimilarityRegressor
from similitude.data.sources import FirstPass
from similitude.engines import LocalEngine
from similitude.errors import PairError, SourceError
from similitude.fitting.distributed import Prediction, partition_features, partition_prediction, partition_sums
from similitude.fitting.passes import FeatureUnion
from similitude.fitting.targets import ClassTargets, NumberTargets
from similitude.kernels import Gaussian
from similitude.landmarks import LandmarkFeatures, Landmarks, RowReader
from similitude.landmarks.distributed import (
    Turn,
    distance_from_nearest,
    distance_from_span,
    joined,
    key_below,
    look_at_partition,
    propose,
    sample_partition,
)
from similitude.landmarks.pivots import Exactness
from similitude.landmarks.rules import Pool
from similitude.linear import Moments
from similitude.maps import LandmarkMap
from similitude.scikit import InputCheck
from similitude.sources import Source
from similitude.support import random_keys

N, CUTS = 100, [0, 30, 30, 75, 100]
STARTS = CUTS[:-1]
BATCH = 16
MEMORY = BATCH * 16 * 4 * 8  # a sixteenth of it holds as many rows of four numbers as a batch has
KERNEL = Gaussian(sigma=1.5)
rng = np.random.default_rng(4)
X = rng.standard_normal((N, 4))
Y = np.array(["a", "b", "c"])[rng.integers(0, 3, N)]
WEIGHTS = rng.integers(0, 3, N).astype(float)
WEIGHTED = np.flatnonzero(WEIGHTS)
WORDS = ["".join("acgt"[i] for i in row) for row in rng.integers(0, 4, size=(N, 5))]


def split(*columns):
    """The partitions of columns: a list of tuples."""
    return [tuple(None if one is None else one[a:b] for one in columns) for a, b in zip(STARTS, CUTS[1:], strict=True)]


def check(estimator=None, X=X):
    made = InputCheck(estimator or LandmarkMap(KERNEL), MEMORY)
    made(X, reset=True)
    return made


def class_targets(excluded=()):
    return ClassTargets("SimilarityClassifier", lambda classes, _: 1.0 + np.arange(len(classes)), list(excluded))


def seen(targets, y=Y):
    """The targets after a look at all rows."""
    targets.see(X, y, WEIGHTS)
    targets.close()
    return targets


# A first look.


@pytest.mark.parametrize("objects", [X, WORDS], ids=["vectors", "words"])
def test_a_look_counts_rows_and_describes_them(objects):
    fresh = InputCheck(LandmarkMap(KERNEL), MEMORY) if objects is X else InputCheck(LandmarkMap("spectrum"), MEMORY)
    looks = [look_at_partition(RowReader(fresh), i, part, y) for i, (part, y) in enumerate(split(objects, Y))]
    assert [one.n for one in looks] == [30, 0, 45, 25] and [one.number for one in looks] == list(range(4))
    assert not looks[1].described and not looks[1].inputs
    assert looks[0].described == looks[2].described == looks[3].described
    assert looks[0].described["label type"] == "text"
    assert all(one.inputs == ({"n_features_in_": 4} if objects is X else {}) for one in looks if one.n)
    assert not fresh.attributes  # each partition has a copy


def test_a_look_at_labels_is_that_at_all_rows():
    classes, whole = class_targets(["b"]), class_targets(["b"])
    _, counted = whole.see(X, Y, WEIGHTS)
    looks = [look_at_partition(RowReader(check(), classes), i, *part) for i, part in enumerate(split(X, Y, WEIGHTS))]
    assert [one.n for one in looks] == [30, 0, 45, 25] and looks[1].targets is None
    expected = [int(part.sum()) for (part,) in split(counted)]
    assert [one.counted for one in looks] == expected and 0 < sum(expected) < len(WEIGHTED)
    assert classes.classes is None
    for one in looks:
        if one.n:
            classes.absorb(one.targets)
    for targets in (classes, whole):
        targets.close()
    for found, known in zip(classes.read(Y, WEIGHTS), whole.read(Y, WEIGHTS), strict=True):
        np.testing.assert_array_equal(found, known)
    assert looks[0].inputs == {"n_features_in_": 4} and looks[0].described["weights"] == "one per object"


def test_a_look_forgets_the_width_of_an_earlier_fit():
    earlier = check(X=X[:, :3])
    assert look_at_partition(RowReader(earlier), 0, X[:30]).inputs == {"n_features_in_": 4}
    assert look_at_partition(RowReader(earlier, class_targets()), 0, X[:30], Y[:30]).inputs == {"n_features_in_": 4}
    assert earlier.attributes == {"n_features_in_": 3}


def test_rows_that_are_no_objects_are_named_by_their_partition():
    holed = X.copy()
    holed[50, 1] = np.nan  # in the second batch of the partition
    with pytest.raises(ValueError, match=r"partition 2: .*contains NaN"):
        look_at_partition(RowReader(check()), 2, holed[30:75])
    with pytest.raises(ValueError, match=r"partition 2: .*contains NaN"):
        look_at_partition(RowReader(check(), class_targets()), 2, holed[30:75], Y[30:75])
    with pytest.raises(SourceError, match="partition 1: it holds labels but no objects"):
        look_at_partition(RowReader(check()), 1, X[:0], Y[:3])


# Samples.


@pytest.mark.parametrize("labeled", [False, True])
@pytest.mark.parametrize("objects", [X, WORDS], ids=["vectors", "words"])
def test_samples_of_partitions_are_the_rows_with_small_keys(objects, labeled):
    keys = random_keys(np.arange(N), 7)
    below = np.sort(keys)[24]  # itself a key
    expected = np.flatnonzero(keys <= below)
    assert len(expected) == 25
    parts = [
        sample_partition(RowReader(check()), (7, int(below), 2**64 - 1), i, STARTS[i], STARTS[i], *part)
        for i, part in enumerate(split(objects, Y if labeled else None))
    ]
    assert parts[1] is None
    parts = [part for part in parts if part is not None]
    assert [x for part in parts for x in map(tuple, part[0])] == [tuple(objects[i]) for i in expected]
    np.testing.assert_array_equal(np.concatenate([part[3] for part in parts]), expected)
    if labeled:
        np.testing.assert_array_equal(np.concatenate([part[1] for part in parts]), Y[expected])
    else:
        assert all(part[1] is None for part in parts)
    assert sample_partition(RowReader(check()), (7, 0, 2**64 - 1), 0, 0, 0, X) is None
    every = sample_partition(RowReader(check()), (7, 2**64 - 1, 2**64 - 1), 0, 40, 40, X[40:45])
    np.testing.assert_array_equal(every[3], np.arange(40, 45))


def test_a_key_leaves_enough_rows_below_and_not_many_more():
    n, wanted = 20_000, 200
    keys = np.sort(random_keys(np.arange(n), 3))
    found = int(np.searchsorted(keys, np.uint64(key_below(wanted, n)), side="right"))
    assert wanted <= found <= wanted + 15 * wanted**0.5
    assert key_below(n, n) == key_below(wanted, wanted + 100) == 2**64 - 1  # all rows
    assert key_below(wanted, n) < key_below(wanted + 1, n) < key_below(wanted + 1, n - 1)


@pytest.mark.parametrize(("seed", "classes"), [(1, True), (2, False)])
def test_samples_of_weighted_rows_are_the_first_and_last_in_random_order(seed, classes):
    y = Y if classes else X[:, 0]
    targets = seen(class_targets() if classes else NumberTargets("SimilarityRegressor"), y)
    keys = random_keys(np.arange(len(WEIGHTED)), seed)  # a row's rank is its number among those with a weight
    low, high = np.sort(keys)[[9, -6]]
    ranks = np.flatnonzero((keys <= low) | (keys >= high))
    assert len(ranks) == 16
    reader, limits = RowReader(check(), targets), (seed, int(low), int(high))
    before = [np.count_nonzero(WEIGHTS[:start]) for start in STARTS]
    columns = enumerate(split(X, y, WEIGHTS))
    parts = [sample_partition(reader, limits, i, STARTS[i], before[i], *part) for i, part in columns]
    assert parts[1] is None
    found = [np.concatenate(one) for one in zip(*(part for part in parts if part is not None), strict=True)]
    places = WEIGHTED[ranks]
    for one, expected in zip(found, (X[places], y[places], WEIGHTS[places], places, ranks), strict=True):
        np.testing.assert_array_equal(one, expected)
    assert sample_partition(reader, (seed, 0, 2**64 - 1), 0, 0, 0, X, y) is None


def test_rows_with_a_weight_may_become_landmarks():
    [batch] = Source(X[:BATCH], Y[:BATCH], WEIGHTS[:BATCH]).batches(BATCH)
    np.testing.assert_array_equal(RowReader(check(), seen(class_targets())).counted(batch), WEIGHTS[:BATCH] > 0)
    assert RowReader(check()).counted(batch).tolist() == [True] * BATCH


# Sums, features and predictions.


def passed(k=KERNEL, landmarks=X[:7], targets=None):
    union = FeatureUnion.of([LandmarkFeatures(k, Landmarks(landmarks, np.arange(len(landmarks))).encoded(k))], 8)
    return RowReader(check(), targets or seen(class_targets())), union


def looked(columns=(X, Y, WEIGHTS)):
    """The digests of a first pass over each partition."""
    return [
        look_at_partition(RowReader(check(), class_targets()), i, *part).first_pass
        for i, part in enumerate(split(*columns))
    ]


def test_sums_of_partitions_add_up_to_those_of_all_rows_but_the_held_out():
    share, firsts, held_out = passed(), looked(), np.array([0, 29, 30, 46, 74, 75, 99])
    parts = []
    for i, part in enumerate(split(X, Y, WEIGHTS)):
        inside = held_out[(held_out >= CUTS[i]) & (held_out < CUTS[i + 1])]
        parts.append(partition_sums(*share, i, STARTS[i], len(part[0]), firsts[i], inside, *part))
    assert parts[1] is None
    found = parts[0] + parts[2] + parts[3]
    codes, weights = share[0].targets.read(Y, WEIGHTS)
    weights[held_out] = 0.0
    expected = Moments.of(KERNEL.cross(X, X[:7]), codes, weights)
    for name in ("weight", "features", "targets", "gram", "cross"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12, atol=1e-12)
    assert WEIGHTS[held_out].any()


def test_features_of_partitions_are_those_of_the_rows_with_a_weight():
    share, firsts = passed(), looked()
    parts = [
        partition_features(*share, i, STARTS[i], len(part[0]), firsts[i], *part)
        for i, part in enumerate(split(X, Y, WEIGHTS))
    ]
    assert parts[1] == [] and len(parts[2]) == 3  # batches
    F, codes, weights = (np.concatenate(one) for one in zip(*(one for part in parts for one in part), strict=True))
    known, multiplied = share[0].targets.read(Y, WEIGHTS)
    np.testing.assert_allclose(F, KERNEL.cross(X[WEIGHTED], X[:7]), rtol=1e-12)
    np.testing.assert_array_equal(codes, known[WEIGHTED])
    np.testing.assert_array_equal(weights, multiplied[WEIGHTED])


def test_a_pair_that_fails_is_named_by_its_row_in_the_collection():
    def picky(x, z):
        if (x == X[80]).all() and (z != X[80]).any():
            raise ValueError("not this one")
        return float(x @ z)

    k, nothing = FromPairs(picky, claims=("SYMMETRIC", "PSD")), np.empty(0, dtype=int)
    share, columns = passed(k), (X[75:], Y[75:], np.ones(25))
    asked = Turn(
        RowReader(check()), k, partial(distance_from_nearest, k.encode(X[:2])), np.array([10, 20]), 1.0, (0, 0)
    )
    with pytest.raises(PairError, match=r"pair \(80, 0\): .*not this one"):
        partition_sums(*share, 3, 75, 25, FirstPass(), nothing, *columns)
    with pytest.raises(PairError, match=r"pair \(80, 0\): .*not this one"):
        partition_features(*share, 3, 75, 25, FirstPass(), *columns)
    with pytest.raises(PairError, match=r"pair \(80, 10\): .*not this one"):
        propose(asked, 3, 75, nothing, *columns)


def test_rows_that_change_after_the_first_pass_are_refused():
    share, firsts = passed(), looked()
    for columns in ((X[30:75] + 1.0, Y[30:75]), (X[30:75], Y[31:76])):
        with pytest.raises(SourceError, match=r"partition 2: .*rows 0 to 15 are not those of the first pass"):
            partition_features(*share, 2, 30, 45, firsts[2], *columns, WEIGHTS[30:75])
    with pytest.raises(SourceError, match="partition 2: the first pass gave 46 rows and the next 45"):
        partition_features(*share, 2, 30, 46, FirstPass(), X[30:75], Y[30:75], WEIGHTS[30:75])


@pytest.mark.usefixtures("few_penalties", "without_evaluation")
def test_predictions_of_partitions_are_those_of_the_model():
    model = SimilarityRegressor(KERNEL, n_landmarks=10, random_state=0).fit(X, X[:, 0])
    asked = Prediction(model, "predict", np.zeros(1))
    parts = [partition_prediction(asked, i, part) for i, (part,) in enumerate(split(X))]
    assert [len(part) for part in parts] == [30, 0, 45, 25]
    np.testing.assert_allclose(np.concatenate(parts), model.predict(X), rtol=1e-12)
    with pytest.raises(ValueError, match="partition 3: "):
        partition_prediction(asked, 3, X[75:, :3])


# Proposals of landmarks.


def pool_of(some, k=KERNEL):
    return Pool(k, k.encode(some), LocalEngine(threads=1, memory=MEMORY), None, np.random.default_rng(0), some)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_weighted_by_their_squared_distance_from_the_landmarks(dtype):
    k, some = FromPairs(lambda x, z: float((1.0 + x @ z) ** 2), claims=("SYMMETRIC", "PSD")), X[:20].astype(dtype)
    exact, chosen = Exactness(pool_of(some, k)), [3, 11, 5]
    K = k.gram(some.astype(float))
    own, L = np.diag(K), k.encode(some[chosen])
    left, scale, share = distance_from_nearest(L, exact)
    squares = own[:, None] + own[chosen] - 2 * K[:, chosen]
    nearest = squares.argmin(axis=1)
    np.testing.assert_allclose(left, squares.min(axis=1), rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(scale, own + own[chosen][nearest], rtol=1e-5)
    assert (left[chosen] <= share * scale[chosen]).all() and (np.delete(left > share * scale, chosen)).all()
    ones, none, zero = distance_from_nearest(None, exact)
    assert (ones == 1).all() and (none == 0).all() and zero == 0.0
    among = K[np.ix_(chosen, chosen)]
    left, scale, share = distance_from_span(L, np.linalg.cholesky(among), exact)
    expected = own - np.einsum("ij,ji->i", K[:, chosen], np.linalg.solve(among, K[chosen]))
    np.testing.assert_allclose(left, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(scale, own, rtol=1e-6)
    assert (left[chosen] <= share * own[chosen]).all() and (np.delete(left > share * own, chosen)).all()
    np.testing.assert_array_equal(distance_from_span(None, np.empty((0, 0)), exact)[0], exact.diagonal)


def test_the_share_that_is_rounding_grows_with_the_landmarks():
    exact = Exactness(pool_of(X[:20]))
    L = KERNEL.encode(X[:4])
    assert distance_from_nearest(L, exact)[2] == 32 * 2.0**-52
    assert distance_from_span(None, np.empty((0, 0)), exact)[2] == 64 * 2.0**-52
    assert distance_from_span(L, np.linalg.cholesky(KERNEL.gram(X[:4])), exact)[2] == 64 * (1 + 2) * 2.0**-52


def turn(landmarks, rate, number=0, seed=0, targets=None):
    weigh = partial(distance_from_nearest, landmarks)
    return Turn(RowReader(check(), targets), KERNEL, weigh, np.empty(0, dtype=int), rate, (seed, number))


def test_rows_are_proposed_in_proportion_to_their_weights():
    barred, rate = np.array([31, 74]), 300.0
    standing = KERNEL.encode(X[[1, 31]])
    weights = (KERNEL.distance(X[30:75], X[[1, 31]]) ** 2).min(axis=1)
    weights[barred - 30] = 0.0
    total, (objects, places, found) = propose(turn(standing, rate), 2, 30, barred, X[30:75])
    assert total == pytest.approx(weights.sum())
    np.testing.assert_array_equal(objects, X[places])
    assert (np.diff(places) > 0).all() and not np.isin(places, barred).any()
    mean, times = rate * weights, np.zeros(45)
    times[places - 30] = found
    counted = mean > 0
    assert ((times - mean)[counted] ** 2 / mean[counted]).sum() < 100  # 43 squares with mean one: above 100 never
    assert (np.abs(times - mean) < 6 * np.sqrt(mean) + 1).all()
    same, other = (propose(turn(standing, rate, number), 2, 30, barred, X[30:75])[1][2] for number in (0, 1))
    np.testing.assert_array_equal(same, found)
    assert len(other) != len(found) or (other != found).any()


def test_only_eligible_rows_are_proposed_and_no_partition_need_have_rows():
    targets = seen(class_targets())
    total, found = propose(turn(None, 50.0, targets=targets), 0, 0, np.empty(0, dtype=int), X, Y, WEIGHTS)
    np.testing.assert_array_equal(found[1], WEIGHTED)
    assert total == len(WEIGHTED)
    assert propose(turn(None, 50.0), 1, 30, np.empty(0, dtype=int), X[:0]) == (0.0, None)
    assert propose(turn(None, 0.0), 0, 0, np.empty(0, dtype=int), X) == (N, None)


def test_rows_of_parts_are_put_one_after_the_other():
    one, other = (["a"], None, np.array([2])), (["b", "c"], None, np.array([1, 0]))
    objects, labels, times = joined([None, one, other])
    assert objects == ["a", "b", "c"] and labels is None and times.tolist() == [2, 1, 0]
    assert joined([None]) is None
