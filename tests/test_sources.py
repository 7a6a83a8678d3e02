"""Sources: every kind of data gives the same batches, and errors name the batch that does not fit."""

import itertools
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from similitude.data.sources import FirstPass, StableSample, looks_like_source, read_ahead
from similitude.errors import SourceError
from similitude.sources import Source
from similitude.support import key_order, random_keys

RNG = np.random.default_rng(0)
X = RNG.standard_normal((500, 3)).astype(np.float32)
Y = RNG.integers(3, size=500)
W = RNG.uniform(0.5, 2.0, 500)


def in_shards(folder, sizes=(100, 250, 150), labels=True):
    start = 0
    for i, size in enumerate(sizes):
        np.save(folder / f"X_{i}.npy", X[start : start + size])
        if labels:
            np.save(folder / f"y_{i}.npy", Y[start : start + size])
        start += size
    return folder


def in_parquet(path, X=X, Y=Y, **more):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {f"c{j}": X[:, j] for j in range(X.shape[1])}
    pq.write_table(pa.table(columns | ({} if Y is None else {"y": Y}) | more), path, row_group_size=90)
    return path


def in_batches(size, *arrays):
    return lambda: (tuple(one[a : a + size] for one in arrays) for a in range(0, len(arrays[-1]), size))


def gathered(source, rows=64, start=0):
    batches = list(source.batches(rows, start))
    assert [len(one) for one in batches[:-1]] == [rows] * (len(batches) - 1)
    assert [one.start for one in batches] == list(range(start, start + rows * len(batches), rows))
    parts = [one.objects.toarray() if hasattr(one.objects, "toarray") else np.asarray(one.objects) for one in batches]
    return np.concatenate(parts), np.concatenate([one.labels for one in batches])


@pytest.fixture
def brought(tmp_path):
    """Return the same rows in every form."""
    import polars as pl

    pads = pytest.importorskip("pyarrow.dataset")
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "labels.npy", Y)
    table, folder, shards, elsewhere = (tmp_path / name for name in ("t.parquet", "many", "shards", "elsewhere"))
    for one in (folder, shards, elsewhere):
        one.mkdir()
    in_parquet(table)
    in_parquet(folder / "a.parquet", X[:200], Y[:200])
    in_parquet(folder / "b.parquet", X[200:], Y[200:])
    in_shards(shards)
    for one in shards.glob("y_*"):
        np.save(elsewhere / one.name, np.load(one))
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": Y})
    return {
        "array": Source(X, Y),
        "map": Source(np.load(tmp_path / "X.npy", mmap_mode="r"), tmp_path / "labels.npy"),
        "part of a map": Source(np.load(tmp_path / "X.npy", mmap_mode="r")[:], Y),
        "npy": Source(tmp_path / "X.npy", Y.tolist()),
        "sparse": Source(csr_matrix(X), Y),
        "parquet": Source(table, "y"),
        "folder": Source(str(folder), "y"),
        "dataset": Source(pads.dataset(folder, format="parquet"), "y"),
        "shards": Source(shards),
        "two folders": Source(shards, elsewhere),
        "lazy": Source(frame.lazy(), "y"),
        "polars": Source(frame, "y"),
        "pandas": Source(frame.to_pandas(), "y"),
        "function": Source(in_batches(37, X, Y)),
        "frames": Source(lambda: iter([frame[:123], frame[123:]]), "y"),
    }


def test_the_same_rows_in_batches_of_the_same_size(brought):
    for name, source in brought.items():
        assert source.n == (None if name in ("function", "frames") else 500), name
        for _ in range(2):
            found, labels = gathered(source)
            assert np.array_equal(found, X) and np.array_equal(labels, Y), name
        found, labels = gathered(source, 64, 128)
        assert np.array_equal(found, X[128:]) and np.array_equal(labels, Y[128:]), name


def test_record_batches_strings_tables_and_weights(tmp_path):
    pa = pytest.importorskip("pyarrow")
    words = [f"word{i}" for i in range(50)]
    table = pa.table({"w": words, "y": list(range(50)), "s": [1.0] * 50})
    (objects, labels, weights), *_ = Source(lambda: table.to_batches(20), "y", "s")
    assert objects == words and labels.tolist() == list(range(50)) and weights.tolist() == [1.0] * 50
    mixed = pa.table({"w": words, "x": list(range(50)), "y": words})
    objects, *_ = next(iter(Source(lambda: mixed.to_batches(20), "y")))
    assert list(objects.columns) == ["w", "x"]
    fixed = pa.table({"v": pa.FixedSizeListArray.from_arrays(pa.array(np.arange(6.0)), 2), "y": [1, 2, 3]})
    objects, *_ = next(iter(Source(lambda: fixed.to_batches(), "y")))
    assert objects.tolist() == [[0, 1], [2, 3], [4, 5]]


def test_categories_that_are_listed_twice():
    pa = pytest.importorskip("pyarrow")
    kinds = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None]), pa.array(["oak", "oak", "elm"]))
    table = pa.table({"kind": kinds, "height": [1.0, 2.0, 3.0, 4.0]})
    (objects, *_), *_ = Source(table.to_batches)
    assert objects["kind"].tolist()[:3] == ["oak", "oak", "elm"] and objects["kind"].isna().tolist()[3]


def test_shards_are_in_the_order_of_their_numbers(tmp_path):
    for i in range(11):
        np.save(tmp_path / f"X_{i}.npy", np.full((2, 1), float(i)))
    assert next(Source(tmp_path).batches()).objects[:, 0].tolist() == [i // 2 for i in range(22)]


@given(sizes=st.lists(st.integers(1, 90), min_size=1, max_size=12), rows=st.integers(1, 100))
def test_cutting_keeps_every_row(sizes, rows):
    edges = np.cumsum([0, *sizes])
    Z = np.arange(edges[-1] * 2.0).reshape(-1, 2)
    parts = [Z[a:b] for a, b in itertools.pairwise(edges)]
    found = list(Source(lambda: iter(parts)).batches(rows))
    assert np.array_equal(np.concatenate([one.objects for one in found]), Z)
    assert all(len(one) == rows for one in found[:-1])


def test_slices_of_maps_are_what_the_map_holds(tmp_path):
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "F.npy", np.asfortranarray(X))
    for name in ("X.npy", "F.npy"):
        private = np.load(tmp_path / name, mmap_mode="c")
        private[7] = 5.0  # in memory only
        part = np.load(tmp_path / name, mmap_mode="r")[3:]
        expected = X.copy()
        expected[7] = 5.0
        for _ in range(2):
            assert np.array_equal(gathered(Source(private, Y))[0], expected)
            assert np.array_equal(gathered(Source(part, Y[3:]))[0], X[3:])


def test_record_batches_are_cut(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pads, table = pytest.importorskip("pyarrow.dataset"), pa.table({"a": np.arange(500.0), "b": np.arange(500.0) ** 2})
    path = tmp_path / "t.arrow"
    for compression in (None, "lz4"):
        with pa.OSFile(str(path), "wb") as sink:
            options = pa.ipc.IpcWriteOptions(compression=compression)
            with pa.ipc.new_file(sink, table.schema, options=options) as writer:
                writer.write_table(table)
        source = Source(pads.dataset(path, format="ipc"), "b")
        assert source.n == 500
        found, labels = gathered(source)
        assert np.array_equal(found[:, 0], np.arange(500.0)) and np.array_equal(labels, np.arange(500.0) ** 2)
    from similitude import files

    read = list(files.batches(path, rows=64, label="b"))
    assert [len(one) for one in read] == [64] * 7 + [52]
    assert np.array_equal(np.concatenate([one.labels for one in read]), np.arange(500.0) ** 2)


def test_a_column_that_the_first_shard_lacks_and_another_order_of_columns(tmp_path):
    in_parquet(tmp_path / "a.parquet", X[:10, :2], Y[:10])
    in_parquet(tmp_path / "b.parquet", X[10:20][:, :2], Y[10:20], more=np.zeros(10))
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(pq.read_table(tmp_path / "b.parquet").select(["y", "more", "c1", "c0"]), tmp_path / "b.parquet")
    found, labels = gathered(Source(tmp_path, "y"))
    assert np.array_equal(found, X[:20, :2]) and np.array_equal(labels, Y[:20])


def test_long_objects_make_small_batches():
    short, long = Source(lambda: iter([["ab"] * 300])), Source(lambda: iter([["ab" * 50_000] * 300]))
    nested = Source(lambda: iter([[(np.zeros((5000, 2)), list(range(3000)))] * 300]))
    assert short.batch_rows(2**28) == 16_384
    assert (long.batch_rows(2**28), nested.batch_rows(2**28)) == (32, 16)


# Every pass gives the same rows.


def test_digests_do_not_depend_on_pieces_and_see_every_change():
    import pandas as pd

    def first_pass(objects, labels=Y):
        seen = FirstPass()
        list(seen.recorded(Source(in_batches(100, objects, labels)).batches(128)))
        return seen

    words = np.array([f"w{i:03d}" for i in range(500)])
    graphs = [(np.array([[0, i]]), ["a", "b"], {"x": {i, 2}, "y": float("nan")}) for i in range(500)]
    frame = pd.DataFrame({"a": [1.0, None, *range(498)], "b": words, "c": pd.Categorical(Y)})
    for objects in (X, csr_matrix(X), words, words.tolist(), graphs, frame):
        seen = first_pass(objects)
        again = in_batches(37, objects, Y)
        assert len(list(seen.compared(Source(again).batches(128)))) == 4
        assert len(list(seen.compared(Source(again).batches(128, 256)))) == 2
        swapped = np.r_[0:300, 301, 300, 302:500]
        changed = (
            objects.iloc[swapped]
            if hasattr(objects, "iloc")
            else ([objects[i] for i in swapped] if isinstance(objects, list) else objects[swapped])
        )
        for other in (in_batches(37, changed, Y), in_batches(37, objects, Y[::-1])):
            with pytest.raises(SourceError, match="are not those of the first pass"):
                list(seen.compared(Source(other).batches(128)))


# The sample.


@given(sizes=st.lists(st.integers(1, 60), min_size=1, max_size=10), seed=st.integers(0, 2**63 - 1))
def test_the_ends_are_those_of_the_whole_order(sizes, seed):
    n, ends, start = sum(sizes), StableSample(7, 5, seed), 0
    for size in sizes:
        where = np.arange(start, start + size)
        ends.add(where[:, None] * 1.0, where, np.ones(size), where)
        start += size
    order = np.argsort(random_keys(np.arange(n), seed))
    assert ends.n_seen == n and ends.is_complete == (n <= 12)
    expected = np.arange(n) if n <= 12 else np.sort(np.r_[order[:7], order[-5:]])
    assert np.array_equal(ends.positions, expected)
    assert np.array_equal(ends.objects[:, 0], expected) and np.array_equal(ends.labels, expected)


def test_the_sample_is_uniform():
    counts = np.zeros(40)
    for seed in range(3000):
        counts[np.argsort(random_keys(np.arange(40), 7919 * seed))[:10]] += 1
    assert np.abs(counts / 3000 - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / 3000)


def test_no_last_ones():
    ends = StableSample(3, 0, 1)
    for start in (0, 10):
        where = np.arange(start, start + 10)
        ends.add(where, where, np.ones(10), where)
    assert len(ends.positions) == 3


# Reading ahead.


def test_reading_ahead_passes_errors_on_and_stops():
    def broken():
        yield 1
        raise OSError("disk")

    items = read_ahead(broken())
    assert next(items) == 1
    with pytest.raises(OSError, match="disk"):
        next(items)
    endless = read_ahead(iter(range(10**9)))
    next(endless)
    endless.close()
    assert not [one for one in threading.enumerate() if one.name.startswith("similitude-reader")]


# What does not fit.


def refused(source, match, kind=SourceError):
    with pytest.raises(kind, match=match):
        list(source().batches(64))


def test_batches_that_are_not_alike():
    first = X[:10], Y[:10]
    for other, match in (
        ((X[:10, :2], Y[:10]), "batch 1 has width 2, batch 0 has 3"),
        ((X[:10].astype(float), Y[:10]), "batch 1 has dtype float64, batch 0 has float32"),
        ((X[:10], None), "batch 1 has label type none, batch 0 has integer"),
        ((X[:10], Y[:10].astype(str)), "batch 1 has label type text"),
        ((list("abcdefghij"), Y[:10]), "batch 1 has object kind list of text, batch 0 has array"),
        ((csr_matrix(X[:10]), Y[:10]), "batch 1 has object kind sparse"),
        ((X[:10], Y[:9]), r"batch 1 holds 10 objects and labels of shape \(9,\)"),
        ((X[:0], Y[:0]), "batch 1 is empty"),
        ((1, 2, 3, 4), "batch 1: a batch is X"),
        (5, "batch 1: a batch is X"),
    ):
        refused(lambda other=other: Source(lambda: iter([first, other])), match)
    refused(lambda: Source(lambda: iter([["ab"], [3]])), "batch 1 has object kind list of numbers")


def test_shards_that_do_not_fit(tmp_path):
    def fresh(name):
        (tmp_path / name).mkdir()
        return in_shards(tmp_path / name)

    narrow = fresh("narrow")
    np.save(narrow / "X_1.npy", X[:250, :2])
    refused(lambda: Source(narrow), "shard X_1.npy has width 2, shard X_0.npy has 3")
    double = fresh("double")
    np.save(double / "X_2.npy", X[:150].astype(float))
    refused(lambda: Source(double), "shard X_2.npy has dtype float64")
    unlabeled = fresh("unlabeled")
    (unlabeled / "y_1.npy").unlink()
    refused(lambda: Source(unlabeled), r"X_1.npy has no labels: there is no .*y_1.npy")
    short = fresh("short")
    np.save(short / "y_1.npy", Y[:9])
    refused(lambda: Source(short), "shard X_1.npy holds 250 objects, y_1.npy 9 labels")
    empty = fresh("empty")
    np.save(empty / "X_1.npy", X[:0])
    refused(lambda: Source(empty), "shard X_1.npy is empty")
    cut_off = fresh("cut_off")
    (cut_off / "X_1.npy").write_bytes((cut_off / "X_1.npy").read_bytes()[:500])
    refused(lambda: Source(cut_off), "X_1.npy cannot be read: it is truncated")
    (tmp_path / "nothing").mkdir()
    refused(lambda: Source(tmp_path / "nothing"), "no shards X_")
    refused(lambda: Source(tmp_path / "absent.parquet"), "no such file")


def test_parquet_shards_that_do_not_fit(tmp_path):
    def fresh(name, **second):
        (tmp_path / name).mkdir()
        in_parquet(tmp_path / name / "a.parquet", X[:200], Y[:200])
        in_parquet(tmp_path / name / "b.parquet", **({"X": X[200:], "Y": Y[200:]} | second))
        return tmp_path / name

    refused(lambda: Source(fresh("types", X=X[200:].astype(float)), "y"), "shard b.parquet: column 'c0' is double")
    refused(
        lambda: Source(fresh("narrow", X=X[200:, :2]), "y"), "shard b.parquet does not fit: there is no column 'c2'"
    )
    refused(lambda: Source(fresh("unlabeled", Y=None), "y"), "shard b.parquet has no labels: there is no column 'y'")
    refused(lambda: Source(fresh("empty", X=X[:0], Y=Y[:0]), "y"), "shard b.parquet is empty")
    missing = np.where(Y[200:] == 0, None, Y[200:])
    refused(lambda: Source(fresh("nulls", Y=list(missing)), "y"), "shard b.parquet: .* rows have no label")
    refused(lambda: Source(fresh("named"), "z"), "no column 'z'")
    cut_off = fresh("cut_off") / "b.parquet"
    whole = cut_off.read_bytes()
    cut_off.write_bytes(whole[: len(whole) // 2])
    refused(lambda: Source(cut_off.parent, "y"), "b.parquet cannot be read: it is truncated")
    damaged = fresh("damaged") / "b.parquet"
    damaged.write_bytes(whole[:4] + b"\0" * 2000 + whole[2004:])
    refused(lambda: Source(damaged.parent, "y"), "b.parquet cannot be read: it is truncated, damaged")


def test_what_can_be_read_only_once():
    once = Source(iter([X]))
    with pytest.raises(TypeError, match=r"read only once, and 2 passes are needed \(to count\)"):
        once.require_passes(2, "to count")
    used = iter([X])
    source = Source(lambda: used)
    list(source.batches())
    refused(lambda: source, "same iterator twice")
    lengths = iter([3, 2])
    source = Source(lambda: iter([X[: next(lengths)]]))
    list(source.batches())
    refused(lambda: source, "one pass gave 3 rows and the next 2")


def test_labels_of_another_number():
    refused(lambda: Source(X, Y[:-1]), "500 objects and 499 labels")
    refused(lambda: Source(in_batches(50, X), Y[:-1]), r"objects and labels of shape|500 objects and 499 labels")
    refused(lambda: Source(lambda: iter([])), "holds no rows")
    with pytest.raises(TypeError, match="Source already"):
        Source(Source(X))
    with pytest.raises(TypeError, match="a source is"):
        Source(5)


def test_what_looks_like_a_source(tmp_path):
    np.save(tmp_path / "X.npy", X)
    streams = [tmp_path, np.load(tmp_path / "X.npy", mmap_mode="r"), lambda: iter([]), iter([]), Source(X)]
    assert all(map(looks_like_source, streams))
    assert not any(map(looks_like_source, [X, X.tolist(), "text", ["a"], csr_matrix(X), np.float64(3.0)]))


@pytest.mark.parametrize("n", [0, 1, 2, 1000])
def test_the_order_of_keys_is_that_of_a_stable_sort(n):
    rng = np.random.default_rng(n)
    for bits in (64, 34, 3):  # all apart, ties of the upper halves, ties of all
        numbers = rng.integers(0, 2**bits, n, dtype=np.uint64)
        np.testing.assert_array_equal(key_order(numbers), np.argsort(numbers, kind="stable"))
