"""Remembered pairs: each is paid for once, whoever asks; nothing that was computed is lost."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from tests.cli_runs import run

from similitude import FromPairs, SimilarityClassifier, load, save
from similitude.errors import CacheError, PairError
from similitude.kernels import Gaussian, Spectrum
from similitude.learners import KernelSVC
from similitude.similarity import PairStore, pair_store
from similitude.similarity.cached import _code, cache_information, prune_cache
from similitude.similarity.pair_store import errors_of_cache

WORDS = ["kernel", "colonel", "similar", "landmark", "margin", "kern", "mark"]


class Counted:
    """A function that counts its calls by pair."""

    def __init__(self, f=lambda s, t: len(set(s) & set(t)) / (1 + len(t))):
        self.f, self.calls = f, []

    def __call__(self, s, t):
        self.calls.append((s, t))
        return self.f(s, t)

    def take(self):
        n = len(self.calls)
        self.calls.clear()
        return n


@pytest.fixture(params=["memory", "file"])
def path(request, tmp_path):
    return None if request.param == "memory" else tmp_path / "pairs.sqlite"


def test_each_pair_is_computed_once_and_values_are_the_same(path):
    f = Counted()
    k, truth = FromPairs(f).cached(path), FromPairs(f.f).gram(WORDS)
    for X, new in ((WORDS[:4], 16), (WORDS, 33), (WORDS[::-1], 0)):
        np.testing.assert_array_equal(k.gram(X), FromPairs(f.f).gram(X))
        assert f.take() == new
    np.testing.assert_array_equal(k.cross(WORDS[:3] * 2, WORDS), np.tile(truth[:3], (2, 1)))
    np.testing.assert_array_equal(k.diag(WORDS), np.diag(truth))
    assert f.take() == 0
    np.testing.assert_array_equal(k.cross(["new", "new"], ["kernel", "kernel"]), np.full((2, 2), f.f("new", "kernel")))
    assert f.take() == 1


def test_symmetry_is_used_where_it_is_claimed_and_not_elsewhere(tmp_path):
    f = Counted(lambda s, t: float(len(s) * len(t)))
    k = FromPairs(f, claims=["SYMMETRIC"]).cached(tmp_path / "pairs.sqlite")
    k.cross(WORDS[:2], WORDS)
    assert f.take() == 13
    k.gram(WORDS)
    assert f.take() == 15
    careful = FromPairs(f).cached(tmp_path / "pairs.sqlite")
    careful.gram(WORDS)
    assert f.take() == 49 - 13 - 15


def test_objects_are_known_by_their_contents(path):
    f = Counted(lambda x, z: float(x @ z))
    k = FromPairs(f).cached(path)
    X = np.arange(6.0).reshape(3, 2)
    k.gram(X)
    k.gram(list(X.copy()))
    assert f.take() == 9


def test_a_grid_search_and_its_clones_pay_for_each_pair_once(path):
    X = [f"{'ab'[i % 2] * (i % 5 + 1)}{i}" for i in range(30)]
    f = Counted(lambda s, t: float(s[0] == t[0]))
    k = FromPairs(f, claims=["SYMMETRIC", "PSD"]).cached(path)
    search = GridSearchCV(KernelSVC(k), {"C": [0.1, 1.0, 10.0]}, cv=3)
    search.fit(X, [s[0] for s in X])
    assert f.take() <= 30 * 31 // 2
    clone(SimilarityClassifier(k)).fit(X, [s[0] for s in X])
    assert f.take() == 0


def test_a_fit_repeated_in_another_process_makes_no_calls(tmp_path):
    X = [f"{'ab'[i % 2]}{i}" for i in range(30)]
    f = Counted(lambda s, t: float(s[0] == t[0]) + len(s) / 10)
    y = [s[0] for s in X]
    model = SimilarityClassifier(FromPairs(f).cached(tmp_path / "a.sqlite", name="starts-1")).fit(X, y)
    assert f.take() > 0
    again = SimilarityClassifier(FromPairs(f).cached(tmp_path / "a.sqlite", name="starts-1")).fit(X, y)
    assert (again.predict(X) == model.predict(X)).all()
    assert f.take() == 0


def test_algebra_of_a_cached_similarity_uses_the_cache(path):
    f = Counted()
    k = FromPairs(f).cached(path)
    (2.0 * k + 1.0).normalized().gram(WORDS)
    assert f.take() == 49
    k.symmetrized().exp().gram(WORDS)
    assert f.take() == 0


def test_parameters_that_differ_have_values_of_their_own(path):
    X = np.random.default_rng(0).normal(size=(5, 2))
    k = Gaussian(sigma=1.0).cached(path, name=None if path is None else "gaussian")
    for sigma in (1.0, 2.0, 1.0):
        np.testing.assert_array_equal(clone(k).set_params(k__sigma=sigma).gram(X), Gaussian(sigma=sigma).gram(X))
    np.testing.assert_allclose(Gaussian().cached(path, name="gaussian").gram(X), Gaussian().gram(X))


def test_claims_and_proof_are_those_of_the_part():
    k = Spectrum(p=2).cached()
    assert k.proven and k.claims == Spectrum(p=2).claims and k.objects == "strings"
    assert (
        repr(FromPairs(len).cached("a.sqlite", name="v1"))
        == "FromPairs(f=len, claims=()).cached('a.sqlite', name='v1')"
    )


@pytest.mark.parametrize("options", [{}, {"workers": 3}, {"timeout": 10.0}])
def test_a_failure_keeps_what_was_paid_for(path, options):
    f, broken = Counted(), True

    def fails(s, t):
        if broken and (s, t) == ("similar", "mark"):
            raise RuntimeError("down")
        return f(s, t)

    k = FromPairs(fails, **options).cached(path, name=None if path is None else "v1")
    with pytest.raises(PairError, match=r"pair \(2, 6\)"):
        k.gram(WORDS)
    first, broken = f.take(), False
    assert first >= 20
    k.gram(WORDS)
    assert f.take() == 49 - first


@pytest.mark.parametrize("options", [{}, {"workers": 2}])
def test_interruption_keeps_what_was_paid_for(path, options):
    f = Counted()

    def interrupted(s, t):
        if len(f.calls) == 20 and not done.is_set():
            done.set()
            signal.raise_signal(signal.SIGINT) if not options else os.kill(os.getpid(), signal.SIGINT)
            seen.wait(10)
        return f(s, t)

    def interrupt(*_):
        seen.set()
        raise KeyboardInterrupt

    done, seen = threading.Event(), threading.Event()
    before = signal.signal(signal.SIGINT, interrupt)
    k = FromPairs(interrupted, **options).cached(path, name=None if path is None else "v1")
    try:
        with pytest.raises(KeyboardInterrupt):
            k.gram(WORDS)
    finally:
        signal.signal(signal.SIGINT, before)
    time.sleep(0.06)
    paid = len(set(f.calls))
    k.gram(WORDS)
    repeated = len(f.calls) - len(set(f.calls))
    assert paid >= 20 and repeated == 0


def test_a_model_with_a_cache_is_saved_with_its_path(tmp_path):
    f = Counted(lambda s, t: float(s[0] == t[0]))
    X = [f"{'ab'[i % 2]}{i}" for i in range(20)]

    def first(s, t):
        return f(s, t)

    model = SimilarityClassifier(FromPairs(first).cached(tmp_path / "a.sqlite", name="v1")).fit(X, [s[0] for s in X])
    save(model, tmp_path / "model.sim")
    loaded = load(tmp_path / "model.sim", functions={"first": first})
    f.take()
    assert (loaded.predict(X) == model.predict(X)).all()
    assert f.take() == 0


def test_a_cache_of_another_function_is_refused(tmp_path):
    place = tmp_path / "a.sqlite"
    FromPairs(len_sum).cached(place, name="judge-v1").gram(["a", "b"])
    with pytest.raises(CacheError, match="holds 4 pairs of 'judge-v1', not of 'judge-v2'"):
        FromPairs(len_sum).cached(place, name="judge-v2").gram(["a", "b"])
    FromPairs(len_sum).cached(tmp_path / "b.sqlite").gram(["a", "b"])
    with pytest.raises(CacheError, match="another function or version"):
        FromPairs(lambda s, t: 1.0).cached(tmp_path / "b.sqlite").gram(["a", "b"])


def len_sum(s, t):
    return float(len(s) + len(t))


@pytest.mark.parametrize("text", ["database is locked", "database table is busy"])
def test_a_cache_that_another_process_holds_is_named(text):
    held = pytest.raises(CacheError, match=r"pairs\.sqlite: another process has held the cache locked")
    with held, errors_of_cache("pairs.sqlite"):
        raise sqlite3.OperationalError(text)


def test_files_that_are_no_caches_are_refused(tmp_path):
    (tmp_path / "text.sqlite").write_text("kernel " * 1000)
    with sqlite3.connect(tmp_path / "other.sqlite") as other:
        other.execute("CREATE TABLE people (name TEXT)")
    other.close()
    before = (tmp_path / "other.sqlite").read_bytes()
    for name, message in (
        ("text.sqlite", "not a cache of pairs"),
        ("other.sqlite", "not a cache of pairs"),
        ("none/a.sqlite", "there is no folder"),
        (".", "is a folder"),
    ):
        with pytest.raises(CacheError, match=message):
            FromPairs(len_sum).cached(tmp_path / name).gram(["a", "b"])
    assert (tmp_path / "other.sqlite").read_bytes() == before and not list(tmp_path.glob("other.sqlite-*"))
    with pytest.raises(TypeError, match="must be a text such as"):
        FromPairs(len_sum).cached(name=3)


def test_a_locked_cache_is_an_error_before_anything_is_paid(tmp_path, monkeypatch):
    monkeypatch.setattr(pair_store, "LOCK_SECONDS", 0.05)
    f = Counted()
    FromPairs(f).cached(tmp_path / "a.sqlite", name="v1").gram(WORDS[:2])
    f.take()
    other = sqlite3.connect(tmp_path / "a.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(CacheError, match="locked"):
        FromPairs(f).cached(tmp_path / "a.sqlite", name="v1").gram(WORDS)
    other.close()
    assert f.take() == 0


@pytest.mark.skipif(os.name != "posix", reason="permissions")
def test_a_read_only_cache_answers_what_it_knows_and_nothing_else_is_paid(tmp_path, monkeypatch):
    f = Counted()
    k = FromPairs(f).cached(tmp_path / "a.sqlite", name="v1")
    K = k.gram(WORDS[:3])
    k.store.close()
    f.take()
    access = os.access
    monkeypatch.setattr(os, "access", lambda p, mode: mode != os.W_OK and access(p, mode))  # also for the superuser
    read = FromPairs(f).cached(tmp_path / "a.sqlite", name="v1")
    np.testing.assert_array_equal(read.gram(WORDS[:3]), K)
    with pytest.raises(CacheError, match=r"is read-only, and 12 of the pairs that are needed are not in it"):
        read.cross(WORDS[:3], WORDS[3:])
    assert f.take() == 0


def test_a_full_disk_loses_nothing(tmp_path):
    f = Counted()
    k = FromPairs(f).cached(tmp_path / "a.sqlite", name="v1")
    X = [f"object number {i}" for i in range(40)]
    k.gram(X[:2])
    with k.store._opened() as connection:
        connection.execute("PRAGMA max_page_count = 9")
    with pytest.raises(CacheError, match=r"disk is full: free some space"):
        k.gram(X)
    paid = f.take()
    with k.store._opened() as connection:
        connection.execute("PRAGMA max_page_count = 100000")
    k.gram(X)
    assert paid + f.take() == 1600


def test_threads_and_processes_share_a_file(tmp_path):
    code = """
import sys
from similitude import FromPairs
k = FromPairs(lambda s, t: float(len(s) * 100 + len(t))).cached(sys.argv[1], name="v1")
k.gram(["a" * i for i in range(int(sys.argv[2]), int(sys.argv[2]) + 12)])
"""
    place = str(tmp_path / "a.sqlite")
    runs = [subprocess.Popen([sys.executable, "-c", code, place, str(start)]) for start in (0, 4)]
    assert [one.wait() for one in runs] == [0, 0]
    values = FromPairs(lambda s, t: pytest.fail("called")).cached(place, name="v1").gram(["a" * i for i in range(12)])
    np.testing.assert_array_equal(values, [[100.0 * i + j for j in range(12)] for i in range(12)])


KILLED = """
import sys, time
from similitude import FromPairs
def f(s, t):
    time.sleep(0.0005)
    return float(s * 1000 + t)
k = FromPairs(f).cached(sys.argv[1], name="v1")
seed = int(sys.argv[2])
A, B = k.encode(list(range(seed * 10, seed * 10 + 10))), k.encode(list(range(100)))
print("begun", flush=True)
for i in range(10):
    k.block((A[0][i:i + 1], A[1][i:i + 1]), B)
    print(seed * 10 + i, flush=True)
"""


def killed_run(place, seed, delay):
    """Kill a process that fills a cache, and return the rows that it had finished."""
    child = subprocess.Popen([sys.executable, "-c", KILLED, str(place), str(seed)], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begun\n"
    time.sleep(delay)
    child.kill()
    rows = [int(one) for one in child.stdout.read().split()]
    child.wait()
    child.stdout.close()
    return rows


@pytest.mark.parametrize("kills", [2, pytest.param(200, marks=pytest.mark.deep)])
def test_kills_lose_no_pair_that_was_committed(tmp_path, kills):
    place, rng = tmp_path / "a.sqlite", np.random.default_rng(kills)
    finished = [row for seed in range(kills) for row in killed_run(place, seed, rng.uniform(0.0, 0.6))]
    with sqlite3.connect(place) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert finished
    called = FromPairs(lambda s, t: pytest.fail("called")).cached(place, name="v1")
    values = called.cross(finished, list(range(100)))
    np.testing.assert_array_equal(values, np.add.outer(1000.0 * np.array(finished), np.arange(100)))


@pytest.mark.parametrize("n", [300, pytest.param(1000, marks=pytest.mark.deep)])
def test_reading_many_pairs_costs_little_more_than_the_select(tmp_path, n):
    k = FromPairs(lambda x, z: pytest.fail("called")).cached(tmp_path / "a.sqlite", name="v1")
    A = k.encode(list(range(n)))
    a, b = np.meshgrid(*[k.store.numbers(A[1].tolist())] * 2, indexing="ij")
    k.store.add(k._function(), a.ravel().tolist(), b.ravel().tolist(), np.arange(float(n * n)).tolist())
    k.store.flush()
    other = sqlite3.connect(tmp_path / "a.sqlite")

    def seconds(task):
        start = time.process_time()
        task()
        return time.process_time() - start

    ours = min(seconds(partial(k.block, A, A)) for _ in range(5))
    alone = min(seconds(lambda: other.execute("SELECT a, b, value FROM pairs").fetchall()) for _ in range(5))
    other.close()
    assert ours < 3 * alone + 0.01


def test_closing_gives_a_file_back_and_keeps_what_is_in_memory(path):
    k = FromPairs(len_sum).cached(path)
    k.gram(WORDS)
    k.store.close()
    assert (k.store._connection is None) == (path is not None)
    assert len(k.store) == 49


def test_the_command_line_shows_merges_exports_and_prunes_caches(tmp_path):
    places = [str(tmp_path / f"{name}.sqlite") for name in ("a", "b", "all")]
    for place, words in zip(places, (WORDS[:4], WORDS[2:]), strict=False):
        FromPairs(len_sum).cached(place, name="lengths").gram(words)
    shown = run("cache", "info", places[0])
    assert shown.code == 0 and "16 pairs" in shown.out and "lengths" in shown.out
    merged = run("cache", "merge", places[2], *places[:2], "--json")
    assert json.loads(merged.out)["pairs"] == json.loads(merged.out)["added"] == 16 + 25 - 4
    FromPairs(lambda s, t: pytest.fail("called")).cached(places[2], name="lengths").gram(WORDS[2:])
    exported = run("cache", "export", places[2])
    assert exported.out.startswith("similarity,object_1,object_2,value,time") and len(exported.out.split()) > 37
    assert run("cache", "export", places[2], "-o", tmp_path / "pairs.csv").code == 0
    assert len((tmp_path / "pairs.csv").read_text().splitlines()) == 38
    pruned = run("cache", "prune", places[2], "--keep", 5, "--json")
    assert (
        json.loads(pruned.out)["removed"] == 32
        and json.loads(run("cache", "info", places[2], "--json").out)["pairs"] == 5
    )
    assert run("cache", "prune", places[2]).code == 2
    assert run("cache", "info", tmp_path / "none.sqlite").code == 1
    FromPairs(len_sum).cached(tmp_path / "c.sqlite", name="others").gram(WORDS)
    other = run("cache", "merge", places[0], tmp_path / "c.sqlite")
    assert other.code == 1 and "not of 'others'" in other.err


def test_what_is_said_of_a_cache_and_pairs_older_than_some_days_are_removed(tmp_path):
    place = str(tmp_path / "a.sqlite")
    k = FromPairs(len_sum).cached(place, name="lengths")
    with pytest.raises(CacheError, match="there is no such file"):
        cache_information(place)
    k.gram(WORDS[:4])
    assert str(cache_information(place)) == f"{place}: 16 pairs of 4 objects, of lengths"
    with sqlite3.connect(place) as connection:
        connection.execute("UPDATE pairs SET time = time - 10 * 86400 WHERE a = b")
    connection.close()
    assert prune_cache(place, older_than_days=11) == 0
    assert prune_cache(place, older_than_days=9) == 4
    assert cache_information(place).pairs == 12
    unnamed = str(tmp_path / "b.sqlite")
    FromPairs(len_sum).cached(unnamed).gram(WORDS[:2])
    (function,) = cache_information(unnamed).functions
    assert str(cache_information(unnamed)) == f"{unnamed}: 4 pairs of 2 objects, of {function}"


# The store itself.


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("database or disk is full", "the disk is full: free some space and run this again"),
        ("attempt to write a readonly database", "the cache is read-only"),
        (
            "file is not a database",
            r"not a cache of pairs, or a damaged one \(file is not a database\): choose another",
        ),
        ("database disk image is malformed", "not a cache of pairs, or a damaged one"),
        ("no such table", "the cache cannot be used: no such table"),
    ],
)
def test_errors_of_the_database_say_what_to_do(text, said):
    with pytest.raises(CacheError, match=f"^here: {said}"), errors_of_cache("here"):
        raise sqlite3.OperationalError(text)


def test_a_function_in_a_file_is_known_by_its_code_and_what_it_encloses():
    def made(constant, inner, kind, counter):
        def f(s, t, power=2):
            return inner(s) * constant, kind, counter

        return f

    def recursive(s, t):
        return recursive(t, s)

    base = _code(made(1.0, len, int, [0]))
    assert base == _code(made(1.0, len, float, [5])), "classes and counters are not part of it"
    assert base != _code(made(2.0, len, int, [0])) and base != _code(made(None, len, int, [0]))
    assert base != _code(made(1.0, abs, int, [0]))
    assert _code(recursive)[-1] == []
    assert _code(len) == ("builtins", "len")
    assert _code(partial(len, 1, a=2)) == (("builtins", "len"), (1,), {"a": 2})
    assert _code(Counted())[0] is Counted.__call__.__code__ and _code(Counted().take)[0] is Counted.take.__code__


def test_the_store_is_pickled_without_its_values(tmp_path):
    import pickle

    store = PairStore(tmp_path / "a.sqlite", "v1")
    k = FromPairs(len_sum).cached()
    k.store.__setstate__(store.__getstate__())
    k.gram(WORDS)
    again = pickle.loads(pickle.dumps(k))
    assert len(again.store) == 49


def test_stores_are_equal_by_path_and_name(tmp_path):
    assert PairStore() == PairStore() and PairStore(tmp_path / "a") == PairStore(tmp_path / "a")
    assert PairStore(tmp_path / "a") != PairStore(tmp_path / "b") and PairStore() != PairStore(name="judge")
    assert PairStore() != 3 and repr(PairStore("a", "judge")) == "PairStore('a', 'judge')"
