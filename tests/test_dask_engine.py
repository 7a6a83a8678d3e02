"""Fits on a Dask cluster: equal to a fit in memory, with the same bits whatever happens to workers."""

import functools
import json
import os
import pickle
import signal
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
import pytest
from market import SIMILARITIES, TELLING, agree_on
from sklearn.base import clone

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
pd = pytest.importorskip("pandas")

import dask.array as da  # noqa: E402
import dask.bag as db  # noqa: E402
import dask.dataframe as dd  # noqa: E402
from distributed.utils import get_mp_context  # noqa: E402

from similitude import SimilarityClassifier, SimilarityRegressor, choose_kernel, use_engine  # noqa: E402
from similitude.checks import check_engine  # noqa: E402
from similitude.engines import DaskEngine, LocalEngine  # noqa: E402
from similitude.errors import CheckpointError, ClusterError, NotAKernelError, PairError, SourceError  # noqa: E402
from similitude.fitting.training_set import Sampling, draw_seed  # noqa: E402
from similitude.kernels import Gaussian, Linear, Spectrum  # noqa: E402
from similitude.learners import KernelRidge  # noqa: E402
from similitude.maps import CompactMap, FourierMap, LandmarkMap, ProjectionMap  # noqa: E402

ONE = LocalEngine(threads=1)
PARTS, ROWS = 5, 6_400  # most of the time of a fit is messages, which each part adds to


@pytest.fixture(scope="module")
def client():
    with local_cluster(2) as cluster, distributed.Client(cluster) as one:
        yield one


@pytest.fixture(scope="module")
def lonely():
    """The address of a cluster of one worker."""
    with local_cluster(1) as cluster:
        yield cluster.scheduler_address


@pytest.fixture(scope="module", autouse=True)
def quick_starts():
    """Fork the workers from a process that has imported what they need: otherwise each takes seconds to import it.

    They are not profiled: in some versions of Python, `sys._current_frames` blocks forever if garbage is collected
    meanwhile.
    """
    with (
        dask.config.set(
            {
                "distributed.worker.multiprocessing-method": "forkserver",
                "distributed.worker.profile.enabled": False,
                "distributed.admin.tick.interval": "2s",  # workers that wait are not to take the time of others
                "distributed.admin.system-monitor.interval": "10s",
                "distributed.comm.timeouts.connect": "5s",  # how long a dead worker is asked for results, by others too
            }
        ),
        pytest.MonkeyPatch.context() as patched,
    ):
        patched.setenv("PYTHONPATH", os.path.dirname(__file__), prepend=os.pathsep)
        get_mp_context().set_forkserver_preload(["distributed", __name__])
        yield


def local_cluster(n_workers, **settings):
    return distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", silence_logs=60, **settings
    )


def rows_of(part, log=None, n=ROWS, width=4):
    """One partition of vectors; where there is a log, note that it was made."""
    if log is not None:
        with open(log, "a") as file:
            file.write(f"{part}\n")
    return np.random.default_rng(part).normal(size=(n, width))


def as_it_is(X, log, count, deed, path):
    """Return X; run an action when the log holds a given number of partitions."""
    with open(log) as file:
        made = len(file.readlines())
    if made >= count:
        deed(path)
    return X


def kill_this_worker_once(path):
    with suppress(FileExistsError), open(path, "x") as file:
        file.write(str(os.getpid()))
        file.flush()
        os.kill(os.getpid(), signal.SIGKILL)


def kill_the_scheduler_when_there_is(path):
    while not os.path.exists(path):
        time.sleep(0.01)
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(10)


def is_far(X):
    return ((X**2).sum(axis=1) > 3.5).astype(np.int64)


def collection(log=None, *what):
    parts = [da.from_delayed(dask.delayed(rows_of)(i, log), (ROWS, 4), float) for i in range(PARTS)]
    X = da.concatenate(parts)
    if what:
        X = X.map_blocks(as_it_is, log, *what, dtype=float)
    return X, X.map_blocks(is_far, dtype=np.int64, drop_axis=1)


def in_memory():
    X = np.concatenate([rows_of(i) for i in range(PARTS)])
    return X, is_far(X)


def classifier(engine=None, **settings):
    return SimilarityClassifier(Gaussian(sigma=1.5), n_landmarks=60, random_state=3, engine=engine, **settings)


def bits(model):
    return [model.landmark_weights_.tobytes(), model.intercept_.tobytes()]


def same_models(one, other, X, tolerance=1e-6):
    np.testing.assert_array_equal(one.landmark_indices_, other.landmark_indices_)
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), rtol=tolerance, atol=tolerance)


@pytest.fixture(scope="module")
def plain():
    return classifier(ONE).fit(*in_memory())


@pytest.fixture(scope="module")
def spread(client):
    return classifier(DaskEngine(client)).fit(*collection())


def test_contract(client):
    check_engine(DaskEngine(client))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in TELLING else [pytest.mark.deep]) for name in SIMILARITIES]
)
def test_every_similarity_is_that_of_one_thread(client, name):
    agree_on(DaskEngine(client), name)


def test_an_engine_is_configuration(client):
    engine = DaskEngine(client, memory="1GiB")
    address = client.scheduler.address
    assert pickle.loads(pickle.dumps(engine)) == engine == DaskEngine(address, memory="1GiB")
    assert hash(engine) == hash(DaskEngine(address, memory="1GiB")) and engine != DaskEngine(client)
    with (
        pytest.raises(ClusterError, match="no scheduler at"),
        dask.config.set({"distributed.comm.timeouts.connect": 1}),
    ):
        classifier(DaskEngine("tcp://127.0.0.1:9")).fit(*collection())


class Unanswered:
    """A future whose client stopped waiting, or whose function failed in the same way."""

    def __init__(self, status):
        self.status = status

    def result(self):
        raise UnboundLocalError("cannot access local variable 'result'")


def test_a_task_that_the_client_lost_is_no_error_of_the_function(client, tmp_path):
    with pytest.raises(ClusterError, match=r"lost a task.*Ctrl-C: fit again; .*sums keeps the sums"):
        DaskEngine(client, checkpoint=tmp_path / "sums")._result(Unanswered("pending"))
    with pytest.raises(UnboundLocalError):
        DaskEngine(client)._result(Unanswered("error"))


def test_arrays_give_the_model_of_a_fit_in_memory(plain, spread):
    X, y = in_memory()
    same_models(spread, plain, X)
    assert spread.lam_ == pytest.approx(plain.lam_) and spread.score(X, y) > 0.9
    assert spread.n_features_in_ == 4 and spread.classes_.tolist() == [0, 1]
    assert spread.held_out_error_.value == plain.held_out_error_.value


def test_the_same_bits_again(client, spread):
    assert bits(classifier(DaskEngine(client)).fit(*collection())) == bits(spread)


def test_the_same_bits_when_a_worker_is_killed(client, spread, tmp_path):
    log, killed = tmp_path / "made", tmp_path / "killed"
    workers = set(client.run(os.getpid).values())
    in_the_pass = 2 * PARTS + 2  # all are looked at, then drawn from, then added up
    X, y = collection(str(log), in_the_pass, kill_this_worker_once, str(killed))
    model = classifier(DaskEngine(client)).fit(X, y)
    assert bits(model) == bits(spread)
    client.wait_for_workers(2)
    killed = int(killed.read_text())
    assert killed in workers and killed not in client.run(os.getpid).values()


def test_predictions_are_lazy_and_cut_as_the_data(client, spread):
    X, _ = in_memory()
    dX, _ = collection()
    for method, shape in (("predict", (len(X),)), ("decision_function", (len(X),)), ("predict_proba", (len(X), 2))):
        found, expected = getattr(spread, method)(dX), getattr(spread, method)(X)
        assert found.shape == shape and found.dtype == expected.dtype and found.chunks[0] == dX.chunks[0]
        np.testing.assert_allclose(found.compute(), expected)


def test_frames_and_a_column_of_labels(client, plain):
    X, y = in_memory()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=np.array(["near", "far"])[1 - y], heavy=1.0 + y)
    table = dd.from_pandas(frame, npartitions=5)
    found = classifier(DaskEngine(client)).fit(table[[*"abcd", "kind"]], "kind")
    expected = classifier(ONE).fit(frame[list("abcd")], frame["kind"])
    same_models(found, expected, frame[list("abcd")])
    assert found.feature_names_in_.tolist() == list("abcd") and found.classes_.tolist() == ["far", "near"]
    assert (found.predict(table[list("abcd")]).compute() == expected.predict(frame[list("abcd")])).all()
    weighted = classifier(DaskEngine(client)).fit(table[[*"abcd", "kind", "heavy"]], "kind", "heavy")
    same_models(weighted, classifier(ONE).fit(frame[list("abcd")], frame["kind"], frame["heavy"]), frame[list("abcd")])


def words(n, seed=0):
    letters = np.random.default_rng(seed).integers(0, 4, size=(n, 8))
    return ["".join("acgt"[i] for i in row) for row in letters]


@pytest.mark.deep
def test_bags_of_strings(client):
    texts = words(26_000)
    labels = [int("ac" in text) for text in texts]
    settings = {"n_landmarks": 40, "random_state": 0}
    found = SimilarityClassifier(Spectrum(2), engine=DaskEngine(client), **settings)
    found.fit(db.from_sequence(texts, npartitions=6), db.from_sequence(labels, npartitions=6))
    same_models(found, SimilarityClassifier(Spectrum(2), engine=ONE, **settings).fit(texts, labels), texts[:2_000])
    asked = found.predict(db.from_sequence(texts[:50], npartitions=3))
    assert asked.compute().tolist() == found.predict(texts[:50]).tolist()


@pytest.mark.usefixtures("few_penalties")
def test_few_rows_several_outputs_and_other_losses(client):
    X, y = in_memory()
    few, engine = slice(0, 2 * ROWS), DaskEngine(client)
    dX, dy = collection()
    Y = np.stack([X[:, 0], X[:, 1] ** 2], axis=1)[few]
    settings = {"n_landmarks": 50, "random_state": 0}
    found = SimilarityRegressor(Gaussian(sigma=2.0), engine=engine, **settings).fit(
        dX[few], da.from_array(Y, chunks=3_000)
    )
    expected = SimilarityRegressor(Gaussian(sigma=2.0), engine=ONE, **settings).fit(X[few], Y)
    np.testing.assert_allclose(found.predict(X[:500]), expected.predict(X[:500]), atol=1e-6)
    assert found.predict(dX[few]).shape == (2 * ROWS, 2)
    logistic = classifier(engine, loss="logistic").fit(dX, dy)
    np.testing.assert_allclose(
        logistic.decision_function(X[:500]),
        classifier(ONE, loss="logistic").fit(X, y).decision_function(X[:500]),
        atol=1e-4,
    )


def test_rows_without_a_weight_are_no_examples(client, spread):
    dX, dy = collection()
    weights = da.ones(PARTS * ROWS, chunks=ROWS)
    doubled = da.concatenate([rows_without := da.zeros(1_000, chunks=1_000), weights])
    more = da.concatenate([da.ones((1_000, 4), chunks=(1_000, 4)), dX])
    found = classifier(DaskEngine(client)).fit(more, da.concatenate([rows_without.astype(int), dy]), doubled)
    np.testing.assert_array_equal(found.landmark_indices_ - 1_000, spread.landmark_indices_)


def test_a_collection_finds_its_engine(client, spread):
    assert bits(classifier().fit(*collection())) == bits(spread)
    with use_engine(DaskEngine(client)):
        assert bits(classifier().fit(*collection())) == bits(spread)


def test_another_number_of_workers_gives_the_same_bits_and_its_connection_is_closed(client, spread, lonely):
    model = classifier(DaskEngine(lonely)).fit(*collection())
    assert bits(model) == bits(spread) and distributed.get_client() is client


def test_an_empty_partition_is_fine(client, spread):
    dX, dy = collection()
    holed = da.concatenate([dX[:ROWS], dX[:0], dX[ROWS:]])
    labels = da.concatenate([dy[:ROWS], dy[:0], dy[ROWS:]])
    found = classifier(DaskEngine(client)).fit(holed, labels)
    np.testing.assert_array_equal(found.landmark_indices_, spread.landmark_indices_)
    bag = db.from_delayed([dask.delayed(list)(words(30)), dask.delayed(list)([])])
    model = SimilarityRegressor(Spectrum(2), engine=DaskEngine(client), n_landmarks=5)
    model.fit(bag, db.from_delayed([dask.delayed(list)(range(30)), dask.delayed(list)([])]))
    assert len(model.predict(bag).compute()) == 30


def odd(part, kind):
    """A partition, the fourth of which is not like the others."""
    X = rows_of(part, n=50)
    if part != 3:
        return X
    made = {"width": X[:, :3], "dtype": X.astype(np.float32), "value": np.where(X[7, 1] == X, np.nan, X)}
    return made.get(kind, X)


def odd_labels(part, kind):
    y = is_far(rows_of(part, n=50))
    if part != 3:
        return y
    made = {"length": y[:40], "text": y.astype(str), "missing": np.where(np.arange(50) == 7, np.nan, y)}
    return made.get(kind, y)


REFUSED = {
    "width": "partition 3 has width 3, partition 0 has 4",
    "dtype": "partition 3 has dtype float32, partition 0 has float64",
    "value": "partition 3: .*contains NaN",
    "length": "partition 3: there are 50 objects and 40 labels",
    "text": "partition 3 has label type text, partition 0 has integer",
    "missing": "partition 3: .*y contains NaN",
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_partition_that_does_not_fit_is_named(client, kind):
    X = da.concatenate([da.from_delayed(dask.delayed(odd)(i, kind), (50, 4), float) for i in range(5)])
    y = da.concatenate([da.from_delayed(dask.delayed(odd_labels)(i, kind), (50,), int) for i in range(5)])
    model = classifier(DaskEngine(client))
    with pytest.raises(ValueError, match=REFUSED[kind]):
        model.fit(X, y)
    assert not hasattr(model, "classes_")


def test_what_does_not_fit_is_refused_before_anything_is_computed(client):
    dX, dy = collection()
    model = classifier(DaskEngine(client))
    with pytest.raises(ValueError, match=r"X holds 32,000 objects and there are 31,990 labels: .* partition 4 on"):
        model.fit(dX, dy[:-10])
    with pytest.raises(TypeError, match="collection with the same partitions or the name of a column, got ndarray"):
        model.fit(dX, in_memory()[1])
    with pytest.raises(ValueError, match="there is no column 'kind', X is a Array without columns"):
        model.fit(dX, "kind")
    with pytest.raises(ValueError, match="X has 2 partitions and labels 3"):
        model.fit(db.from_sequence(words(6), npartitions=2), db.from_sequence(range(6), npartitions=3))
    with pytest.raises(ValueError, match="landmark_indices are positions in memory"):
        classifier(DaskEngine(client), landmark_indices=[1]).fit(dX, dy)
    with pytest.raises(ValueError, match=r"y is required|needs labels|requires y"):
        model.fit(dX)


@pytest.mark.parametrize(
    "rule", [pytest.param("kmeans++", marks=pytest.mark.deep), "rpcholesky"]
)  # maps take the other
def test_rules_choose_among_all_rows(client, lonely, rule):
    X, y = in_memory()
    dX, dy = collection()
    weights = np.where(np.arange(len(X)) % 6 == 0, 0.0, 1.0)
    settings = {"landmarks": rule}
    found = classifier(DaskEngine(client), **settings).fit(dX, dy, da.from_array(weights, chunks=ROWS))
    places = found.landmark_indices_
    assert len(np.unique(places)) == 60 and (weights[places] == 1).all()
    np.testing.assert_array_equal(found.landmarks_, X[places])
    assert not set(places) & set(Sampling(draw_seed(3)).order(np.flatnonzero(weights))[-5_000:])  # held out to judge by
    assert found.notes_ == [f"landmarks='{rule}' chose among all {int(weights.sum()):,} rows"]
    known = classifier(ONE, **settings).fit(X, y, weights)
    assert found.score(X, y) == pytest.approx(known.score(X, y), abs=0.02)
    np.testing.assert_allclose(found.predict(dX[:ROWS]).compute(), found.predict(X[:ROWS]))
    again = classifier(DaskEngine(lonely), **settings).fit(dX, dy, da.from_array(weights, chunks=ROWS))
    assert bits(again) == bits(found) and (again.landmark_indices_ == places).all()


def test_other_rules_say_that_they_looked_at_a_sample(client, spread):
    assert spread.notes_ == ["landmarks='uniform' chose among a uniform sample of 20,000 of 32,000 rows"]


@pytest.mark.deep
def test_rpcholesky_among_all_strings_of_a_bag(client):
    texts = words(26_000)
    labels = [int("ac" in text) for text in texts]
    model = SimilarityClassifier(Spectrum(2), n_landmarks=15, landmarks="rpcholesky", engine=DaskEngine(client))
    model.fit(db.from_sequence(texts, npartitions=5), db.from_sequence(labels, npartitions=5))
    assert model.landmarks_ == [texts[i] for i in model.landmark_indices_] and len(model.landmarks_) == 15
    assert "chose among all 26,000 rows" in str(model.notes_) and model.score(texts[:2_000], labels[:2_000]) > 0.9
    with pytest.raises(NotAKernelError, match="is not a kernel"):
        SimilarityClassifier(Spectrum(2) - 2 * Spectrum(1), landmarks="rpcholesky", n_landmarks=15).fit(
            db.from_sequence(texts, npartitions=5), db.from_sequence(labels, npartitions=5)
        )


def short(s, t):
    """Compare texts of three letters, no others."""
    if len(s) != 3:
        raise ValueError(f"{s!r} has {len(s)} letters")
    return float(s[0] == t[0])


def test_errors_in_lazy_answers_name_the_partition(client):
    model = classifier(DaskEngine(client)).fit(*(one[:500] for one in in_memory()))
    made = ProjectionMap(Gaussian(sigma=1.0), n_components=5, engine=DaskEngine(client)).fit(in_memory()[0][:500])
    X = da.concatenate([da.from_delayed(dask.delayed(odd)(i, "value"), (50, 4), float) for i in range(5)])
    for lazy in (model.predict(X), model.predict_proba(X), made.transform(X)):
        with pytest.raises(ValueError, match=r"partition 3: Input X contains NaN"):
            lazy.compute()
    texts = LandmarkMap(short, landmarks=["abc"], engine=DaskEngine(client)).fit(["abc", "xyz"])
    with pytest.raises(PairError, match=r"pair \(1, 0\): .*'wxyz' has 4 letters.* \(row 1 of partition 1\)"):
        texts.transform(db.from_sequence(["abc", "bcd", "cde", "wxyz"], npartitions=2)).compute()


def test_maps_transform_collections_lazily(client):
    X, _ = in_memory()
    dX, _ = collection()
    made = ProjectionMap(Gaussian(sigma=1.0), n_components=10, engine=DaskEngine(client), random_state=0).fit(X[:500])
    found = made.transform(dX)
    assert found.shape == (PARTS * ROWS, 10) and found.chunks[0] == dX.chunks[0]
    np.testing.assert_allclose(found[: 2 * ROWS].compute(), made.transform(X[: 2 * ROWS]))


def batches():
    return (rows_of(i) for i in range(PARTS))


@pytest.mark.deep
def test_maps_fit_to_the_sample_that_a_source_of_the_same_rows_would_give(client):
    dX, _ = collection()
    for made in (
        LandmarkMap(n_components=20, random_state=1),
        ProjectionMap(n_components=20, landmarks="diverse", random_state=2),
        CompactMap(n_landmarks=30, n_components=5),
    ):
        found, expected = clone(made).set_params(engine=DaskEngine(client)).fit(dX), clone(made).fit(batches)
        np.testing.assert_array_equal(found.landmark_indices_, expected.landmark_indices_)
        assert found.notes_ == [f"landmarks='{made.landmarks}' chose among a uniform sample of 20,000 of 32,000 rows"]
        np.testing.assert_allclose(found.transform(dX)[:50].compute(), expected.transform(rows_of(0)[:50]))
    waves = FourierMap(n_components=8, engine=DaskEngine(client)).fit(dX)
    assert waves.kernel_ == FourierMap(n_components=8).fit(batches).kernel_


@pytest.mark.parametrize("rule", ["kmeans++", pytest.param("rpcholesky", marks=pytest.mark.deep)])
def test_maps_choose_among_all_rows_by_the_rules_that_can(client, rule):
    X, dX = in_memory()[0], collection()[0]
    settings = {"landmarks": rule, "random_state": 0}
    k = Gaussian(sigma=1.5)
    found = ProjectionMap(k, n_components=40, engine=DaskEngine(client), **settings).fit(dX)
    np.testing.assert_array_equal(found.landmarks_, X[found.landmark_indices_])
    assert found.rank_ == 40 and found.notes_ == [f"landmarks='{rule}' chose among all 32,000 rows"]
    known = ProjectionMap(k, n_components=40, engine=ONE, **settings).fit(X)
    left, expected = (1 - (one.transform(X) ** 2).sum(axis=1).mean() for one in (found, known))
    assert left == pytest.approx(expected, rel=0.15)
    few, again = (LandmarkMap(k, n_components=9, **settings).fit(one) for one in (dX[:ROWS], X[:ROWS]))
    np.testing.assert_array_equal(few.landmark_indices_, again.landmark_indices_)


def test_maps_fit_to_frames_and_bags(client):
    X, y = in_memory()
    frame = pd.DataFrame(X[:2_000], columns=list("abcd")).assign(kind=np.array(["near", "far"])[1 - y[:2_000]])
    settings = {"n_components": 8, "landmarks": "stratified", "random_state": 0}
    found = LandmarkMap(engine=DaskEngine(client), **settings).fit(dd.from_pandas(frame, npartitions=3), "kind")
    expected = LandmarkMap(**settings).fit(frame[list("abcd")], frame["kind"])
    np.testing.assert_array_equal(found.landmark_indices_, expected.landmark_indices_)
    assert found.feature_names_in_.tolist() == list("abcd")
    texts = words(300)
    bag = db.from_sequence(texts, npartitions=4)
    strings = LandmarkMap(Spectrum(2), n_components=6, landmarks="rpcholesky", engine=DaskEngine(client)).fit(bag)
    assert strings.landmarks_ == [texts[i] for i in strings.landmark_indices_]
    np.testing.assert_allclose(strings.transform(bag).compute(), strings.transform(texts))


def test_maps_refuse_what_does_not_fit(client):
    X = da.concatenate([da.from_delayed(dask.delayed(odd)(i, "width"), (50, 4), float) for i in range(5)])
    made = LandmarkMap(engine=DaskEngine(client))
    with pytest.raises(ValueError, match="partition 3 has width 3, partition 0 has 4"):
        made.fit(X)
    assert not hasattr(made, "landmarks_") and not hasattr(made, "n_features_in_")
    with pytest.raises(ValueError, match="positions in memory: for a collection give the landmarks themselves"):
        LandmarkMap(landmark_indices=[0]).fit(X)
    with pytest.raises(TypeError, match="LandmarkMap fits to objects in memory"):
        LandmarkMap("precomputed").fit(X)
    with pytest.raises(TypeError, match="KernelRidge fits to objects in memory"):
        KernelRidge().fit(X, X[:, 0])


def test_choose_kernel_spreads_its_fits(client):
    X, y = in_memory()
    candidates = [Linear(), Gaussian(sigma=1.0), Gaussian(sigma=3.0), Gaussian(sigma=0.01)]
    chosen = choose_kernel(candidates, X[:200], y[:200], random_state=0, engine=DaskEngine(client))
    alone = choose_kernel(candidates, X[:200], y[:200], random_state=0, engine=ONE)
    assert chosen.best == alone.best
    np.testing.assert_allclose([row.loss for row in chosen.table], [row.loss for row in alone.table], rtol=1e-6)


SENT = []


class Thing:
    """An object that notes each time it is sent away."""

    def __init__(self, value):
        self.value = value

    def __reduce__(self):
        SENT.append(self.value)
        return Thing, (self.value,)


def alike_by(power, x, z):
    return (1 + x.value * z.value) ** power


def test_choose_kernel_sends_the_objects_it_looks_at_once_however_many_candidates(client, monkeypatch):
    monkeypatch.setattr("similitude.selection.limits.COMPARED_ROWS", 50)
    values = np.random.default_rng(0).normal(size=80)
    X, times = [Thing(value) for value in values.tolist()], []
    for n in (1, 4):
        SENT.clear()
        candidates = {f"number {i}": functools.partial(alike_by, i + 1) for i in range(n)}
        with pytest.warns(UserWarning, match="50"):
            choose_kernel(candidates, X, values > 0, engine=DaskEngine(client))
        assert len(set(SENT)) == 50
        times.append(len(SENT))
    assert times[0] == times[1] <= 100  # dask may try to pickle a call twice


def test_choose_kernel_names_a_bad_row_by_its_place(client):
    X, y = (one[:400].copy() for one in in_memory())
    X[317, 2] = np.nan
    with pytest.raises(ValueError, match="317"):
        choose_kernel([Linear(), Gaussian(sigma=1.0)], X, y, engine=DaskEngine(client))


@pytest.mark.deep
def test_a_worker_short_of_memory_spills_and_finishes(tmp_path):
    shares = {f"distributed.worker.memory.{name}": share for name, share in [("target", 0.05), ("spill", 0.5)]}
    with (
        dask.config.set({"temporary-directory": str(tmp_path), **shares}),
        local_cluster(1, memory_limit="1GB") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        parts = [da.from_delayed(dask.delayed(rows_of)(i, None, 12_500, 200), (12_500, 200), float) for i in range(6)]
        X = da.concatenate(parts)
        X, y = client.persist([X, X[:, 0] + X[:, 1]])  # 120 MB, where values may take 50
        model = SimilarityRegressor(Linear(), n_landmarks=20, random_state=0, engine=DaskEngine(client)).fit(X, y)
        spilled = client.run(lambda dask_worker: len(dask_worker.data.slow))
        assert max(spilled.values()) > 0 and model.n_similarity_calls_ == 20


SCHEDULER = """
import distributed, sys, time
if __name__ == "__main__":
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@pytest.mark.deep
def test_a_scheduler_that_is_gone_raises_and_the_fit_resumes_on_another(tmp_path, client, monkeypatch):
    script, log, kept = tmp_path / "cluster.py", tmp_path / "made", tmp_path / "sums"
    script.write_text(SCHEDULER)
    monkeypatch.setattr("similitude.compute.engines.checkpoints.WRITE_INTERVAL", 0.0)
    monkeypatch.setattr("similitude.fitting.batches.GROUP", 2)
    other = subprocess.Popen(
        [sys.executable, script],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        address = other.stdout.readline().strip()
        with dask.config.set({"distributed.comm.timeouts.connect": "5s"}):
            lost = distributed.Client(address, set_as_default=False)

            X, y = collection(str(log), 3 * PARTS - 2, kill_the_scheduler_when_there_is, str(kept))
            with pytest.raises(ClusterError, match=r"the scheduler is gone .*sums keeps the sums computed so far"):
                classifier(DaskEngine(lost, checkpoint=kept)).fit(X, y)
            lost.close()
    finally:
        other.kill()
        other.communicate()
    rows = json.loads(kept.read_bytes().split(b"\n", 1)[0])["rows"]
    again = tmp_path / "made again"
    model = classifier(DaskEngine(client, checkpoint=kept)).fit(*collection(str(again)))
    assert len(again.read_text().split()) == 3 * PARTS - rows // ROWS and not kept.exists()
    assert bits(model) == bits(classifier(DaskEngine(client)).fit(*collection()))


def test_a_checkpoint_knows_every_row_of_a_collection(client, tmp_path, monkeypatch):
    X = np.random.default_rng(0).standard_normal((24_000, 3))
    y = (np.abs(X).sum(axis=1) > 2).astype(int)
    model = classifier(DaskEngine(client, checkpoint=tmp_path / "sums"), landmarks=X[:20]).set_params(
        n_landmarks="auto"
    )
    with monkeypatch.context() as patched:
        patched.setattr("similitude.fitting.fit.remove_checkpoint", lambda path: None)
        model.fit(da.from_array(X, chunks=(6_000, 3)), da.from_array(y, chunks=6_000))
    for row in (25, 13_000, 23_999):
        other = X.copy()
        other[row] *= 1.001
        with pytest.raises(CheckpointError, match="for other data"):
            model.fit(da.from_array(other, chunks=(6_000, 3)), da.from_array(y, chunks=6_000))


@pytest.mark.deep
def test_a_metric_is_learned_from_a_collection(client):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((26_000, 3))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(len(X))
    spread = da.from_array(X, chunks=(6_500, 3)), da.from_array(y, chunks=6_500)
    model = SimilarityRegressor(n_landmarks=100, random_state=0, engine=DaskEngine(client)).fit(*spread)
    weights = np.abs(model.similarity_.metric) if np.ndim(model.similarity_.metric) == 1 else None
    assert model.learned_.gain > 0.05 and (weights is None or weights[0] > 10 * weights[1:].max())
    assert model.score(X[:500], y[:500]) > 0.95
    assert "exact fits in cells need all rows in memory" in str(model.plan_)


def test_partitions_that_change_between_passes_are_refused(client, tmp_path):
    X = da.concatenate([da.from_delayed(dask.delayed(drawn)(i, str(tmp_path)), (ROWS, 4), float) for i in range(PARTS)])
    labels = da.from_array(np.tile([0, 1], PARTS * ROWS // 2), chunks=ROWS)
    with pytest.raises(SourceError, match=r"partition 3.*are not those of the first pass"):
        classifier(DaskEngine(client)).fit(X, labels)


def drawn(part, folder):
    """One partition; that with number 3 is another one whenever it is read again."""
    readings = len(os.listdir(folder))
    if part == 3:
        open(os.path.join(folder, str(readings)), "x").close()
    return rows_of(part) + (1e-6 * readings if part == 3 else 0.0)
