"""The contract of engines, their memory bound under a slow reader, and the default engine."""

import threading
import time
from contextlib import nullcontext
from pathlib import Path

import cloudpickle
import market
import numpy as np
import pytest
from market import SIMILARITIES, TELLING, agree_on

from similitude import SimilarityRegressor, use_engine
from similitude.checks import check_engine
from similitude.compute.engines import factorizing, one_blas_thread, one_scipy_thread
from similitude.compute.engines.engine import format_bytes, parse_bytes
from similitude.engines import LocalEngine, current_engine
from similitude.kernels import Gaussian

ENGINES = [LocalEngine(), LocalEngine(threads=1), LocalEngine(threads=3), LocalEngine(threads=2, memory="1MiB")]


@pytest.mark.quick
@pytest.mark.parametrize("engine", ENGINES, ids=repr)
def test_contract(engine):
    check_engine(engine)


@pytest.mark.parametrize("name", SIMILARITIES)
def test_every_similarity_is_that_of_one_thread(name):
    agree_on(LocalEngine(threads=3), name)


@pytest.fixture
def little_to_import():
    """Functions of the list are sent as code, so that workers need not import it, which takes two seconds each."""
    cloudpickle.register_pickle_by_value(market)
    yield
    cloudpickle.unregister_pickle_by_value(market)


@pytest.mark.usefixtures("little_to_import")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in TELLING else pytest.mark.deep) for name in SIMILARITIES]
)
def test_every_similarity_is_that_of_worker_processes(name):
    """In `make test` one of each kind; that every one of them can be sent to another process is in its contract."""
    agree_on(LocalEngine(processes=2), name)


class Counting:
    """Counts how many tiles were started and not yet read."""

    threadsafe = True

    def __init__(self):
        self.started = 0
        self.lock = threading.Lock()

    def __call__(self, a, b):
        with self.lock:
            self.started += 1
        return self.started


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_slow_reader_holds_the_engine_back(threads):
    task, read = Counting(), 0
    tiles = [(slice(i, i + 1), slice(0, 1)) for i in range(40)]
    for _ in LocalEngine(threads=threads).run(task, list(range(40)), list(range(40)), tiles):
        time.sleep(0.003)
        assert task.started - read <= 2 * threads
        read += 1
    assert read == 40


def test_no_thread_is_left_when_a_reader_stops_early():
    tiles = [(slice(i, i + 1), slice(0, 1)) for i in range(40)]
    results = LocalEngine(threads=2).run(Counting(), list(range(40)), list(range(40)), tiles)
    next(results)
    results.close()
    time.sleep(0.05)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("similitude")]


def test_blas_is_held_to_one_thread_and_given_back():
    threadpoolctl = pytest.importorskip("threadpoolctl")

    class Blas:
        threadsafe = True

        def __call__(self, a, b):
            return [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]

    tiles = [(slice(i, i + 1), slice(0, 1)) for i in range(4)]
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = Blas()(None, None)
        inside = list(LocalEngine(threads=2).run(Blas(), list(range(4)), [0], tiles))
        assert all(set(found) <= {1} for found in inside)
        assert Blas()(None, None) == before and 2 in before


def test_use_engine_nests_and_restores():
    before = current_engine()
    with use_engine(LocalEngine(threads=1)) as outer:
        with use_engine(LocalEngine(threads=2)):
            assert current_engine().threads == 2
        assert current_engine() is outer
    assert current_engine() is before
    with pytest.raises(TypeError, match="engine"):
        use_engine("cuda")


def test_use_engine_without_with_lasts():
    before = current_engine()
    use_engine(LocalEngine(threads=np.int64(2), memory=1e10))
    assert current_engine().threads == 2
    use_engine(before)
    assert current_engine() is before


def test_use_engine_in_one_thread_does_not_reach_another():
    inside, leave, seen = threading.Event(), threading.Event(), []

    def other():
        with use_engine(LocalEngine(threads=3)):
            inside.set()
            leave.wait(5)

    before = current_engine()
    worker = threading.Thread(target=other)
    worker.start()
    inside.wait(5)
    with use_engine(LocalEngine(threads=1)):
        leave.set()
        worker.join()
        seen.append(current_engine().threads)
    assert seen == [1]
    assert current_engine() is before


def test_sizes():
    assert parse_bytes("2GiB") == 2 * 2**30
    assert parse_bytes("3 kB") == 3000
    assert format_bytes(2**40 * 5000) == "5000.0 TiB"


def blas_threads():
    """Return the threads of SciPy's BLAS and of NumPy's."""
    threadpoolctl = pytest.importorskip("threadpoolctl")
    found = {Path(one["filepath"]).parent.name: one["num_threads"] for one in threadpoolctl.threadpool_info()}
    return found.get("scipy.libs"), found.get("numpy.libs")


def test_scipy_has_one_thread_in_fits_but_for_large_factorizations():
    """Threads of two libraries that take turns are in each other's way; the last holder restores what was before."""
    from threadpoolctl import threadpool_limits

    if None in blas_threads():
        pytest.skip("NumPy and SciPy do not have a BLAS each")
    with threadpool_limits(2):
        with one_scipy_thread:
            assert blas_threads() == (1, 2)
            with factorizing(10):
                assert blas_threads() == (1, 2)
            with factorizing(10_000):
                assert blas_threads() == (2, 2)
                with one_blas_thread:
                    assert blas_threads() == (1, 1)
            assert blas_threads() == (1, 2)
        assert blas_threads() == (2, 2)
        one_scipy_thread.__enter__()  # as threads do that begin and end at different times
        one_blas_thread.__enter__()
        one_scipy_thread.__exit__()
        assert blas_threads() == (1, 1)
        one_blas_thread.__exit__()
        assert blas_threads() == (2, 2)


@pytest.mark.parametrize("fails", [False, True])
def test_a_fit_restores_the_threads_of_blas(fails):
    from threadpoolctl import threadpool_limits

    with threadpool_limits(2):
        before = blas_threads()
        with pytest.raises(ValueError, match=r"NaN|nan|missing|finite") if fails else nullcontext():
            SimilarityRegressor(Gaussian(1.0)).fit(np.eye(6), np.r_[1.0, 2, 3, 4, 5, np.nan if fails else 6])
        assert blas_threads() == before
