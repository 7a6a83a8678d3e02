"""Fits to sources: equal to a fit in memory, whatever the kind of data; interrupted fits resume."""

import hashlib
import io
import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from objectives import OBJECTIVES
from scipy.sparse import csr_matrix

from similitude import SimilarityClassifier, SimilarityRegressor, use_engine
from similitude.compute.engines import checkpoints, with_progress
from similitude.compute.engines.checkpoints import Checkpoint
from similitude.engines import LocalEngine
from similitude.errors import CheckpointError, CheckpointWarning, PairError, SourceError
from similitude.kernels import Gaussian, Linear, Spectrum
from similitude.linear import Moments
from similitude.maps import CompactMap, FourierMap, LandmarkMap, PolynomialSketchMap, ProjectionMap
from similitude.sources import Source

N = 30_000
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, 4)).astype(np.float32)
THREE = np.array(["low", "middle", "high"])[(X[:, 0] + X[:, 1] ** 2 > 1).astype(int) + (X[:, 2] > 0.5)]
TWO = (X[:, 0] > 0.3 * X[:, 1] ** 2).astype(int)
Y = np.sin(X[:, 0]) + X[:, 1]
NEW = RNG.standard_normal((200, 4)).astype(np.float32)
GIVEN = {"similarity": Gaussian(sigma=2.0), "n_landmarks": 40}


def in_batches(size, *arrays):
    return lambda: (tuple(one[a : a + size] for one in arrays) for a in range(0, len(arrays[0]), size))


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr("similitude.data.sources.source.batch_rows", lambda *given: 4096)


@pytest.fixture
def mapped(tmp_path):
    np.save(tmp_path / "X.npy", X)
    return np.load(tmp_path / "X.npy", mmap_mode="r")


def same(one, other, atol=1e-5):
    assert np.array_equal(one.landmark_indices_, other.landmark_indices_)
    assert 0.09 < one.lam_ / other.lam_ < 11  # rounding may decide between penalties that make no difference
    of = "decision_function" if hasattr(one, "decision_function") else "predict"
    np.testing.assert_allclose(getattr(one, of)(NEW), getattr(other, of)(NEW), atol=atol)
    assert one.held_out_error_.value == pytest.approx(other.held_out_error_.value, abs=1e-3)


# The same model.


@pytest.mark.parametrize("labels", [TWO, THREE], ids=["two", "three"])
def test_the_model_of_the_rows_in_memory(tmp_path, mapped, labels):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {f"c{j}": X[:, j] for j in range(4)} | {"y": labels}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet", row_group_size=7_000)
    whole = SimilarityClassifier(**GIVEN).fit(X, labels)
    for source, y in (
        (mapped, labels),
        (tmp_path / "t.parquet", "y"),
        (in_batches(1_111, X, labels), None),
        (Source(X, labels), None),
    ):
        streamed = SimilarityClassifier(**GIVEN).fit(source, y)
        same(whole, streamed, atol=0)
        assert np.array_equal(whole.classes_, streamed.classes_)


def test_batches_of_other_bounds_differ_by_rounding_only(small_batches):
    whole = SimilarityRegressor(**GIVEN).fit(X, Y)
    same(whole, SimilarityRegressor(**GIVEN).fit(Source(X, Y)), atol=5e-5)
    exact = SimilarityRegressor(**GIVEN).fit(X.astype(float), Y)
    same(exact, SimilarityRegressor(**GIVEN).fit(Source(X.astype(float), Y)), atol=1e-9)


def test_choices_are_those_of_the_rows_in_memory():
    open_ones = SimilarityClassifier(Gaussian() + Linear(), engine=LocalEngine(memory="12MiB"))
    whole = open_ones.fit(X, TWO)
    streamed = SimilarityClassifier(Gaussian() + Linear(), engine=LocalEngine(memory="12MiB")).fit(Source(X, TWO))
    assert repr(whole.similarity_) == repr(streamed.similarity_)
    assert whole.landmark_curve_.x.tolist() == streamed.landmark_curve_.x.tolist()
    assert str(whole.representation_) == str(streamed.representation_)
    assert whole.guarantee_ == streamed.guarantee_
    same(whole, streamed)


def test_few_rows_are_fitted_in_memory(mapped):
    whole = SimilarityClassifier("gaussian").fit(X[:300], TWO[:300])
    same(whole, SimilarityClassifier("gaussian").fit(in_batches(70, X[:300], TWO[:300])), atol=0)


@pytest.mark.parametrize("rule", ["stratified", "kmeans++"])
def test_rules(rule):
    ask = {**GIVEN, "landmarks": rule, "random_state": 3}
    same(SimilarityClassifier(**ask).fit(X, THREE), SimilarityClassifier(**ask).fit(Source(X, THREE)), atol=0)


def test_weights_of_examples_and_classes(small_batches):
    weights = np.where(np.arange(N) % 5 == 0, 0.0, 1.0 + np.arange(N) % 3)
    weights[4096:8192] = 0.0  # a batch without weight
    for class_weight in ("balanced", {"low": 3.0, "middle": 1.0, "high": 0.5}):
        ask = {**GIVEN, "class_weight": class_weight}
        whole = SimilarityClassifier(**ask).fit(X, THREE, weights)
        same(whole, SimilarityClassifier(**ask).fit(in_batches(999, X, THREE, weights)), atol=1e-4)
    kept = weights > 0
    fewer = SimilarityRegressor(**GIVEN).fit(Source(X[kept], Y[kept]))
    whole = SimilarityRegressor(**GIVEN).fit(Source(X, Y, kept.astype(float)))
    np.testing.assert_allclose(whole.predict(NEW), fewer.predict(NEW), atol=1e-5)


@pytest.mark.usefixtures("few_penalties")
@pytest.mark.parametrize("objective", ["logistic", "l1"])
def test_losses_that_need_all_features(objective, small_batches):
    ask = {**GIVEN, **OBJECTIVES[objective], "n_landmarks": 6}
    whole = SimilarityClassifier(**ask).fit(X, TWO)
    streamed = SimilarityClassifier(**ask).fit(Source(X, TWO))
    np.testing.assert_allclose(whole.decision_function(NEW), streamed.decision_function(NEW), atol=1e-4)
    small = SimilarityClassifier(**{**ask, "engine": LocalEngine(memory="1MiB")})
    with pytest.raises(MemoryError, match="goes over all features several times; loss='squared' with penalty='l2'"):
        small.fit(Source(X, TWO))


def test_sparse_rows_strings_and_similarities_of_a_users_own(small_batches):
    sparse = csr_matrix(np.where(np.abs(X) > 1, X, 0))
    same(SimilarityRegressor(**GIVEN).fit(sparse, Y), SimilarityRegressor(**GIVEN).fit(Source(sparse, Y)))
    words = [np.binary_repr(i, 15).replace("0", "a").replace("1", "b") for i in range(N)]
    y = [word.count("ab") for word in words]
    ask = {"similarity": Spectrum(p=2), "n_landmarks": 10}
    whole = SimilarityRegressor(**ask).fit(words, y)
    streamed = SimilarityRegressor(**ask).fit(in_batches(1_000, words, np.array(y)))
    np.testing.assert_allclose(whole.predict(words[:50]), streamed.predict(words[:50]), atol=1e-6)
    assert streamed.landmarks_ == [words[i] for i in streamed.landmark_indices_]


def test_several_outputs(small_batches):
    both = np.stack([Y, X[:, 3]], axis=1)
    same(SimilarityRegressor(**GIVEN).fit(X, both), SimilarityRegressor(**GIVEN).fit(Source(X, both)))


def test_predictions(mapped, small_batches):
    model = SimilarityClassifier(**GIVEN).fit(X, THREE)
    for source in (mapped, in_batches(777, X), Source(X)):
        assert np.array_equal(model.predict(source), model.predict(X))
        np.testing.assert_allclose(model.decision_function(source), model.decision_function(X), atol=1e-6)
        np.testing.assert_allclose(model.predict_proba(source), model.predict_proba(X), atol=1e-6)
    parts = list(model.predict_batches(iter([X[:10], X[10:30]])))
    assert np.array_equal(np.concatenate(parts), model.predict(X[:30]))
    with pytest.raises(TypeError, match="explain takes objects in memory"):
        model.explain(Source(X[:20]))
    with pytest.raises(TypeError, match="use predict"):
        next(model.predict_batches(X))
    numbers = SimilarityRegressor(**GIVEN).fit(X, Y)
    assert np.array_equal(numbers.predict(Source(X)), numbers.predict(X))


def test_what_was_brought_stays_as_it_was():
    brought = X.copy(), Y.copy(), np.ones(N)
    first = SimilarityRegressor(**GIVEN).fit(Source(*brought))
    for one, other in zip(brought, (X, Y, np.ones(N)), strict=True):
        assert np.array_equal(one, other)
    same(first, SimilarityRegressor(**GIVEN).fit(in_batches(4_000, *brought)), atol=0)
    assert (brought[2] == 1.0).all()


# Maps.


MAPS = [LandmarkMap("gaussian"), ProjectionMap("gaussian", landmarks="kmeans++", n_components=20), FourierMap(),
        CompactMap("gaussian", n_components=10, n_landmarks=30), PolynomialSketchMap("polynomial", n_components=16),
        LandmarkMap("linear", landmarks="stratified", n_components=6)]  # fmt: skip


@pytest.mark.parametrize("one", MAPS, ids=lambda one: type(one).__name__)
def test_maps(one, mapped):
    one.fit(mapped, TWO)
    expected = one.transform(X[:5_000])
    np.testing.assert_allclose(one.transform(in_batches(777, X[:5_000])), expected, atol=1e-6)
    if hasattr(one, "landmark_indices_"):
        assert np.array_equal(X[one.landmark_indices_], one.landmarks_)
        assert f"chose among a uniform sample of 20,000 of {N:,} rows; in memory" in " ".join(one.notes_)
    few = one.fit(Source(X[:400], TWO[:400])).transform(NEW)
    assert not getattr(one, "notes_", [])
    np.testing.assert_allclose(few, one.fit(X[:400], TWO[:400]).transform(NEW), atol=1e-6)


def test_features_that_do_not_fit(mapped):
    with use_engine(LocalEngine(memory="1MiB")):
        one = LandmarkMap("linear", n_components=10).fit(mapped)
        with pytest.raises(MemoryError, match="30,000 x 10"):
            one.transform(mapped)
        assert sum(len(part) for part in one.transform_batches(mapped)) == N
        with pytest.raises(MemoryError, match="matrix of"):
            one.transform(in_batches(5_000, X))


# What does not fit.


def test_landmarks_of_a_memory_map_may_be_given_by_position(mapped):
    assert len(SimilarityClassifier("linear", landmark_indices=[1, 2]).fit(mapped[:100], TWO[:100]).landmarks_) == 2


def test_a_sample_that_does_not_fit_into_memory_is_refused():
    with pytest.raises(MemoryError, match="the sample of"):
        SimilarityClassifier("linear", engine=LocalEngine(memory="256KiB")).fit(Source(X, TWO))


def test_other_labels_or_rows_in_the_second_pass(small_batches):
    passes = iter([TWO, TWO, TWO + 5])
    with pytest.raises(SourceError, match="rows 0 to 4,095 are not those of the first pass"):
        SimilarityClassifier(**GIVEN).fit(lambda: iter([(X, next(passes))]))
    lengths = iter([N, N, N - 7])
    with pytest.raises(SourceError, match="29,993"):
        SimilarityRegressor(**GIVEN).fit(lambda: iter([(X[: (n := next(lengths))], Y[:n])]))


@pytest.mark.parametrize("changed", ["a value", "the order", "a label"])
def test_other_values_in_the_second_pass(changed, small_batches):
    other, labels = X.copy(), Y.copy()
    if changed == "a value":
        other[20_123, 2] += 1e-3
    elif changed == "the order":
        other = other[::-1].copy()
    else:
        labels[20_123] = 0.5
    passes = iter([(X, Y), (X, Y), (other, labels)])
    model = SimilarityRegressor(**GIVEN)
    with pytest.raises(SourceError, match="are not those of the first pass: every pass must give the same"):
        model.fit(lambda: in_batches(1000, *next(passes))())
    assert not hasattr(model, "landmarks_")


def test_a_pair_that_fails_is_named_by_its_row(small_batches):
    def product(x, z):
        if x[0] == 20_123.0:
            raise ZeroDivisionError("on purpose")
        return float(x @ z)

    Z = np.arange(N, dtype=float)[:, None]
    with pytest.raises(PairError) as caught:
        SimilarityRegressor(product, landmarks=np.array([[1.0], [2.0]]), side="left").fit(Source(Z, Y))
    assert caught.value.i == 20_123


# Progress.


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_tells_rows_a_second_and_time_left(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    assert list(with_progress(iter([5, 5]), True, 20, int, 10, "rows")) == [5, 5]
    assert "100% of 20 rows" in screen.getvalue() and "a second, 0 s left" in screen.getvalue()
    list(with_progress(iter([5]), True, None, int, 0, "rows"))


def test_progress_of_a_fit(monkeypatch, small_batches):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    SimilarityRegressor(**GIVEN, engine=LocalEngine(progress=True)).fit(Source(X, Y))
    assert "100% of 30,000 rows" in screen.getvalue()


# Checkpoints.


CHILD = """
    import os, signal, sys
    import numpy as np
    from similitude import SimilarityRegressor
    from similitude.compute.engines import LocalEngine, checkpoints
    from similitude.kernels import Gaussian
    from similitude.data.sources import source

    checkpoints.WRITE_INTERVAL, checkpoints.WRITE_SHARE = 0.0, 1e9
    source.batch_rows = lambda *given: 4096
    X, Y = np.load(sys.argv[1]), np.load(sys.argv[2])
    passes = iter(range(9))

    def batches():
        last = next(passes) == 2
        for a in range(0, len(X), 1000):
            if last and a > 25_000:
                os.kill(os.getpid(), signal.SIGKILL)
            yield X[a : a + 1000], Y[a : a + 1000]

    engine = LocalEngine(threads=1, checkpoint=sys.argv[3])
    SimilarityRegressor(Gaussian(sigma=2.0), n_landmarks=40, engine=engine).fit(batches)
"""


def test_a_killed_fit_goes_on_where_it_was(tmp_path, small_batches):
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "Y.npy", Y)
    path = tmp_path / "sums"
    names = [str(tmp_path / "X.npy"), str(tmp_path / "Y.npy"), str(path)]
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(CHILD), *names], capture_output=True, timeout=300)
    assert done.returncode == -9, done.stderr.decode()
    assert path.exists()
    asked = []

    class Watched(Source):
        def batches(self, rows=4096, start=0):
            asked.append(start)
            return super().batches(rows, start)

    engine = LocalEngine(threads=1, checkpoint=path)
    resumed = SimilarityRegressor(**GIVEN, engine=engine).fit(Watched(in_batches(1000, X, Y)))
    assert asked[-1] >= 4096 and asked[-1] % 4096 == 0
    assert not path.exists() and list(tmp_path.glob(".sums*")) == []
    whole = SimilarityRegressor(**GIVEN, engine=LocalEngine(threads=1)).fit(Source(X, Y))
    same(whole, resumed, atol=0)


class Stop(BaseException):
    pass


def interrupted(path, X=X, Y=Y, **ask):
    """Fit until the second batch of the second pass, as Ctrl-C would."""
    passes = iter(range(9))

    def batches():
        last = next(passes) == 2
        for a in range(0, len(X), 4096):
            if last and a > 20_000:
                raise Stop
            yield X[a : a + 4096], Y[a : a + 4096]

    model = SimilarityRegressor(**{**GIVEN, **ask}, engine=LocalEngine(threads=1, checkpoint=path))
    with pytest.raises(Stop):
        model.fit(batches)
    assert not hasattr(model, "landmarks_")


@pytest.fixture
def at_once(monkeypatch, small_batches):
    monkeypatch.setattr(checkpoints, "WRITE_INTERVAL", 0.0)
    monkeypatch.setattr(checkpoints, "WRITE_SHARE", 1e9)


def test_a_checkpoint_of_something_else_is_refused(tmp_path, at_once, monkeypatch):
    path = tmp_path / "sums"
    interrupted(path)
    engine = LocalEngine(threads=1, checkpoint=path)
    before = path.read_bytes()
    other = X.copy()
    other[::2] += 0.5
    for refused, ask, data in (
        ("another model", {"similarity": Gaussian(sigma=2.5)}, (X, Y)),
        ("another model", {"n_landmarks": 41}, (X, Y)),
        ("another model", {"random_state": 5}, (X, Y)),
        ("another model|other data", {}, (other, Y)),
        ("other data", {"landmarks": X[:40], "n_landmarks": "auto"}, (X, Y)),
        ("other data", {}, (X, Y + 1.0)),
        ("other data|another model", {}, (X[:-1], Y[:-1])),
    ):
        if "landmarks" in ask:
            path.unlink()
            interrupted(path, **ask)
            data = (X[:-1], Y[:-1])
        model = SimilarityRegressor(**{**GIVEN, **ask}, engine=engine)
        with pytest.raises(CheckpointError, match=refused):
            model.fit(Source(*data))
        if "landmarks" in ask:
            path.write_bytes(before)
    with monkeypatch.context() as patch:
        patch.setattr("similitude.fitting.fit.version", lambda name: "0.0")
        with pytest.raises(CheckpointError, match="by another version"):
            SimilarityRegressor(**GIVEN, engine=engine).fit(Source(X, Y))
    assert path.read_bytes() == before  # nothing is lost
    same(SimilarityRegressor(**GIVEN).fit(Source(X, Y)), SimilarityRegressor(**GIVEN, engine=engine).fit(Source(X, Y)))


def resealed(content, header=None, body=None):
    """Return a checkpoint with another header or body, and the digest that belongs to it."""
    line, _, rest = content[:-64].partition(b"\n")
    changed = json.dumps({**json.loads(line), **(header or {})}).encode() + b"\n" + (rest if body is None else body)
    return changed + hashlib.sha256(changed).hexdigest().encode()


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def test_content_that_was_sealed_by_hand_is_as_bad_as_damage(tmp_path):
    path = tmp_path / "sums"
    checkpoint = Checkpoint(path, {"version": "1"})
    checkpoint.write(50, {"weight": np.float64(50.0)})
    good = path.read_bytes()
    headers = [{"rows": rows} for rows in (0, -5, 1e300, "x", None, [], True)] + [{"fingerprints": []}]
    bodies = [b"", b"PK\5\6" + bytes(18), b"PK\3\4" + bytes(30), npz(weight=np.array([object()]))]
    for changed in [*({"header": one} for one in headers), *({"body": one} for one in bodies)]:
        path.write_bytes(resealed(good, **changed))
        with pytest.raises(CheckpointError, match="damaged or was changed: remove it"):
            checkpoint.read()


def test_sums_that_do_not_belong_to_their_rows_are_refused(tmp_path, at_once):
    path = tmp_path / "sums"
    interrupted(path)
    good = path.read_bytes()
    rows = json.loads(good.partition(b"\n")[0])["rows"]
    with np.load(io.BytesIO(good[:-64].partition(b"\n")[2])) as stored:
        sums = dict(stored)
    forged = [{"header": {"rows": other}} for other in (rows - 4096, rows - 1, rows + 4096, 10**9)]
    forged += [{"body": npz(**{**sums, "features": sums["features"][:-1]})}, {"body": npz(weight=sums["weight"])}]
    for changed in forged:
        path.write_bytes(resealed(good, **changed))
        model = SimilarityRegressor(**GIVEN, engine=LocalEngine(threads=1, checkpoint=path))
        with pytest.raises(CheckpointError, match="damaged or was changed: remove it"):
            model.fit(Source(X, Y))
    path.write_bytes(resealed(good))
    SimilarityRegressor(**GIVEN, engine=LocalEngine(threads=1, checkpoint=path)).fit(Source(X, Y))


def test_damaged_and_strange_files(tmp_path, at_once):
    path = tmp_path / "sums"
    interrupted(path)
    model = SimilarityRegressor(**GIVEN, engine=LocalEngine(threads=1, checkpoint=path))
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(CheckpointError, match="damaged or was changed: remove it"):
        model.fit(Source(X, Y))
    for text in (b"hello", b"", b"[1]\n", b'{"is": "else"}\n'):
        path.write_bytes(text)
        with pytest.raises(CheckpointError, match="not a checkpoint of similitude"):
            model.fit(Source(X, Y))
        assert path.read_bytes() == text


@pytest.mark.parametrize("row", [7, 12_345, 20_001, 29_990])
@pytest.mark.parametrize("part", ["object", "label"])
def test_a_checkpoint_knows_every_row(row, part, tmp_path, at_once):
    path, other, labels = tmp_path / "sums", X.copy(), Y.copy()
    if part == "object":
        other[row] += 1e-3
    else:
        labels[row] += 1e-3
    interrupted(path, landmarks=X[:40], n_landmarks="auto")
    ask = {**GIVEN, "landmarks": X[:40], "n_landmarks": "auto"}
    with pytest.raises(CheckpointError, match="for other data"):
        SimilarityRegressor(**ask, engine=LocalEngine(threads=1, checkpoint=path)).fit(Source(other, labels))


def test_a_checkpoint_knows_every_row_in_memory(tmp_path, monkeypatch):
    path, model = tmp_path / "sums", SimilarityRegressor(**{**GIVEN, "landmarks": X[:40], "n_landmarks": "auto"})
    with monkeypatch.context() as patched:
        patched.setattr("similitude.fitting.fit.remove_checkpoint", lambda path: None)
        model.set_params(engine=LocalEngine(threads=1, checkpoint=path)).fit(X, Y)
    for row in (7, 12_345, 29_990):
        other = X.copy()
        other[row] += 1e-3
        with pytest.raises(CheckpointError, match="for other data"):
            model.fit(other, Y)
    same(model.fit(X, Y), model.set_params(engine=None).fit(X, Y))


def test_a_header_that_was_changed_is_refused(tmp_path, at_once):
    path = tmp_path / "sums"
    interrupted(path)
    content = path.read_bytes()
    rows = json.loads(content.split(b"\n")[0])["rows"]
    path.write_bytes(content.replace(b'"rows": %d' % rows, b'"rows": %d' % (rows - 4096), 1))
    model = SimilarityRegressor(**GIVEN, engine=LocalEngine(threads=1, checkpoint=path))
    with pytest.raises(CheckpointError, match="damaged or was changed"):
        model.fit(Source(X, Y))


def test_a_place_that_cannot_be_written_is_known_at_once(tmp_path):
    for place, match in ((tmp_path / "no" / "sums", "No such file"), (tmp_path, "cannot be read|directory")):
        model = SimilarityRegressor(**GIVEN, engine=LocalEngine(checkpoint=place))
        with pytest.raises(CheckpointError, match=match):
            model.fit(Source(X, Y))
    with pytest.raises(ValueError, match="checkpoint"):
        LocalEngine(checkpoint=3)


def test_a_full_disk_is_a_warning_and_the_fit_goes_on(tmp_path, at_once, monkeypatch):
    path, writes, replace = tmp_path / "sums", [], os.replace

    def full(part, name):
        writes.append(name)
        if len(writes) in (3, 4):
            raise OSError(28, "No space left on device")
        replace(part, name)

    monkeypatch.setattr(os, "replace", full)
    model = SimilarityRegressor(**GIVEN, engine=LocalEngine(threads=1, checkpoint=path))
    with pytest.warns(CheckpointWarning, match="No space left on device. The fit goes on"):
        model.fit(Source(X, Y))
    same(SimilarityRegressor(**GIVEN).fit(Source(X, Y)), model)
    assert len(writes) > 5 and list(tmp_path.iterdir()) == []


def test_rows_in_memory_have_checkpoints_too(tmp_path):
    engine = LocalEngine(threads=2, checkpoint=tmp_path / "sums")
    same(SimilarityRegressor(**GIVEN).fit(X, Y), SimilarityRegressor(**GIVEN, engine=engine).fit(X, Y), atol=0)
    assert list(tmp_path.iterdir()) == []


def test_moments_survive_a_file(tmp_path):
    moments = Moments.of(X[:50], Y[:50, None], np.ones(50))
    checkpoint = Checkpoint(tmp_path / "sums", {"version": "1"})
    assert checkpoint.read() is None
    checkpoint.write(50, moments.to_arrays())
    rows, arrays = checkpoint.read()
    again = Moments.from_arrays(arrays)
    assert rows == 50 and again.weight == moments.weight and np.array_equal(again.gram, moments.gram)


MEMORY = """
    import resource
    import numpy as np
    from similitude import SimilarityRegressor
    from similitude.engines import LocalEngine
    from similitude.kernels import Gaussian

    def batches(n):
        for i in range(n):
            Z = np.random.default_rng(i).standard_normal((10_000, 32), dtype=np.float32)
            yield Z, Z[:, 0]

    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    model = SimilarityRegressor(Gaussian(sigma=6.0), n_landmarks=20, engine=LocalEngine(threads=1, memory="64MiB"))
    model.fit(lambda: batches(5))
    before = peak()
    model.fit(lambda: batches(100))
    model.predict(lambda: batches(100))
    print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has another unit elsewhere")
@pytest.mark.deep
def test_memory_does_not_grow_with_the_rows():
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(MEMORY)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 64  # the rows take 122 MiB


@pytest.mark.deep
def test_a_metric_is_learned_from_batches_as_in_memory(small_batches):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((26_000, 3))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(len(X))
    one, other = (
        SimilarityRegressor(n_landmarks=30, random_state=0).fit(*rows) for rows in ((X, y), (Source(X, y), None))
    )
    assert one.similarity_ == other.similarity_ and one.learned_.gain > 0.05
    np.testing.assert_allclose(one.predict(X[:100]), other.predict(X[:100]), atol=1e-6)
    assert "landmarks were asked for" in str(one.plan_)
    assert "exact fits in cells need all rows in memory" in str(other.plan_)


@pytest.fixture
def batch_sizes(monkeypatch):
    """The numbers of rows that batches of sources are asked for."""
    found, batches = [], Source.batches

    def recorded(self, rows=65_536, start=0):
        found.append(rows)
        return batches(self, rows, start)

    monkeypatch.setattr(Source, "batches", recorded)
    return found


def test_batches_are_smaller_where_later_rows_are_longer(batch_sizes):
    texts = ["ab", "ba"] * 4096 + ["abba" * 1250, "baab" * 1250] * 100
    y = np.arange(len(texts)) % 2.0
    engine = LocalEngine(threads=1, memory="128MiB")
    model = SimilarityRegressor(Spectrum(2), n_landmarks=2, random_state=0, engine=engine).fit(
        lambda: iter([(texts, y)])
    )
    assert batch_sizes == [256, 8192, 256]
    inside = SimilarityRegressor(Spectrum(2), n_landmarks=2, random_state=0, engine=engine).fit(texts, y)
    assert np.allclose(model.predict(texts[-10:]), inside.predict(texts[-10:]))


def test_a_parquet_file_tells_how_long_its_later_rows_are(tmp_path, batch_sizes):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    texts = ["ab", "ba"] * 4096 + ["abba" * 1250 + str(i) for i in range(2000)]
    table = pa.table({"s": texts, "y": np.arange(len(texts)) % 2.0})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=len(texts))
    engine = LocalEngine(threads=1, memory="128MiB")
    SimilarityRegressor(Spectrum(2), n_landmarks=2, random_state=0, engine=engine).fit(tmp_path / "t.parquet", "y")
    assert batch_sizes == [256, 1024, 256]  # the first rows alone would give 8192
