"""Tiles: the same matrix whatever the tiles, threads and budget; sizes refused in time; nothing left behind."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from similitude import FromPairs, Precomputed, use_engine
from similitude.compute.blocks import Blocks
from similitude.compute.engines import with_progress
from similitude.engines import LocalEngine
from similitude.errors import PairError
from similitude.kernels import Gaussian, Linear

rng = np.random.default_rng(1)
X, Z = rng.standard_normal((230, 4)), rng.standard_normal((111, 4))
SMALL_TILES = LocalEngine(threads=2, memory="64KiB")
ASYMMETRIC = FromPairs(lambda x, z: float(x[0] - 2 * z[1]))


def blocks(k, *encodings, engine=SMALL_TILES):
    return Blocks(k, *encodings, symmetric="SYMMETRIC" in k.claims, engine=engine)


@pytest.mark.parametrize("k", [Gaussian(1.5), Linear(), ASYMMETRIC], ids=["gaussian", "linear", "asymmetric"])
class TestEveryWayIsTheSameMatrix:
    def test_times(self, k):
        A, B = k.encode(X), k.encode(Z)
        v, w = rng.standard_normal(len(Z)), rng.standard_normal((len(X), 3))
        np.testing.assert_allclose(blocks(k, A, B).times(v), k.cross(X, Z) @ v, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(blocks(k, A).times(w), k.gram(X) @ w, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(blocks(k, A, B).transposed_times(w), k.cross(X, Z).T @ w, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(blocks(k, A).transposed_times(w), k.gram(X).T @ w, rtol=1e-10, atol=1e-10)
        with pytest.raises(ValueError, match="rows"):
            blocks(k, A, B).times(w)

    def test_rows(self, k):
        strips = list(blocks(k, k.encode(X), k.encode(Z)).rows())
        assert len(strips) > 3
        assert [strip[0].start for strip in strips] == sorted(strip[0].start for strip in strips)
        np.testing.assert_allclose(np.vstack([values for _, values in strips]), k.cross(X, Z), atol=1e-12)

    def test_tiles(self, k):
        total = sum(values.sum() for _, values in blocks(k, k.encode(X), k.encode(Z)).tiles())
        assert total == pytest.approx(k.cross(X, Z).sum())

    def test_whole_whatever_the_engine(self, k):
        expected = k.gram(X)
        for engine in (LocalEngine(threads=1), LocalEngine(threads=3, memory="1MiB"), LocalEngine(memory="700KB")):
            with use_engine(engine):
                np.testing.assert_allclose(k.gram(X), expected, rtol=1e-12, atol=1e-12)


def test_a_gram_of_a_symmetric_similarity_is_exactly_symmetric():
    with use_engine(LocalEngine(memory="600KB")):
        K = Gaussian(1.0).gram(X)
    assert (K == K.T).all()


def test_too_large_is_refused_before_the_first_call():
    called = []
    k = FromPairs(lambda x, z: called.append(1) or 1.0)
    with pytest.raises(MemoryError, match=r"20,000 x 20,000 .* 3\.0 GiB.*out="):
        k.gram(range(20_000))
    with use_engine(LocalEngine(memory="1KiB")), pytest.raises(MemoryError, match="budget"):
        k.cross(range(20), range(20))
    with use_engine(LocalEngine(memory="1KiB")), pytest.raises(MemoryError, match="one row"):
        next(k.blocks(list(range(5)), list(range(5000))).rows())
    assert not called


def test_float32_needs_half_of_the_memory():
    with use_engine(LocalEngine(memory="300KB")):
        assert Linear().gram(X.astype(np.float32)).dtype == np.float32
        with pytest.raises(MemoryError):
            Linear().gram(X)


def test_into_an_array(tmp_path):
    out = np.empty((len(X), len(X)))
    assert Gaussian(1.0).gram(X, out=out) is out
    np.testing.assert_array_equal(out, Gaussian(1.0).gram(X))
    for wrong in (np.empty((2, 2)), [[0.0]], 3.0):
        with pytest.raises(ValueError, match="shape"):
            Gaussian(1.0).gram(X, out=wrong)
    with pytest.raises(TypeError, match="cut off"):
        Gaussian(1.0).gram(X, out=np.zeros((len(X), len(X)), int))


def test_into_a_file_beyond_the_budget(tmp_path):
    path = tmp_path / "gram.npy"
    with use_engine(LocalEngine(memory="100KB")):
        mapped = Gaussian(1.0).gram(X, out=path)
    assert isinstance(mapped, np.memmap)
    np.testing.assert_allclose(np.load(path), Gaussian(1.0).gram(X))
    with pytest.raises(FileExistsError, match="exists"):
        Gaussian(1.0).gram(X, out=path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["gram.npy"]


def test_a_failed_file_leaves_nothing_behind(tmp_path):
    with pytest.raises(PairError, match="149, 3"):
        FromPairs(lambda x, z: 1 / (x != 149 or z != 3)).cross(range(200), range(150), out=str(tmp_path / "k.npy"))
    assert list(tmp_path.iterdir()) == []


def test_a_block_of_the_wrong_shape_is_named():
    class Wrong(Linear):
        def block(self, A, B):
            return np.ones((2, 2))

    with pytest.raises(ValueError, match=r"Wrong\(\) gave a block of shape \(2, 2\), expected \(3, 3\)"):
        Wrong().gram(np.eye(3))


def test_a_value_that_is_not_finite_is_named_by_its_place():
    M = np.ones((300, 300))
    k = (Precomputed(M) * 1000.0).exp()
    with np.errstate(over="ignore"), pytest.raises(PairError, match=r"pair \(0, 0\).*inf"):
        k.gram(range(300))
    M[250, 299] = 1.0e3
    with np.errstate(over="ignore"), pytest.raises(PairError, match=r"pair \(250, 299\).*inf"):
        Precomputed(M).exp().gram(range(300))


class Terminal:
    def __init__(self, is_terminal):
        self.text, self.isatty = "", lambda: is_terminal

    def write(self, text):
        self.text += text

    def flush(self):
        pass


def test_progress_is_shown_on_a_terminal_only(monkeypatch):
    terminal, pipe = Terminal(True), Terminal(False)
    monkeypatch.setattr(sys, "stderr", terminal)
    assert list(with_progress(iter(range(5)), True, 5)) == list(range(5))
    assert "100% of 5 tiles" in terminal.text
    assert terminal.text.endswith("\r\033[K")
    monkeypatch.setattr(sys, "stderr", pipe)
    assert list(with_progress(iter(range(5)), True, 5)) == list(range(5))
    assert pipe.text == ""


INTERRUPTED = """
    import threading, time, sys
    import numpy as np
    from similitude import FromPairs, use_engine
    from similitude.engines import LocalEngine
    from similitude.kernels import Gaussian

    def slow(x, z):
        time.sleep(0.01)
        return 1.0

    try:
        if sys.argv[1] == "threads":
            X = np.random.default_rng(0).standard_normal((8000, 8))
            with use_engine(LocalEngine(threads=2)):
                print("go", flush=True)
                while True:
                    Gaussian(1.0).gram(X, out=np.empty((8000, 8000)))
        with use_engine(LocalEngine(processes=2 if sys.argv[1] == "processes" else None)):
            print("go", flush=True)
            FromPairs(slow).gram(range(2000))
    except KeyboardInterrupt:
        end = time.monotonic() + 5.0  # a tile that takes long on a busy machine ends by itself
        while (left := [t.name for t in threading.enumerate() if t.name.startswith("similitude")]) and (
            time.monotonic() < end
        ):
            time.sleep(0.01)
        print("stopped", left, flush=True)
"""


INTERRUPTIONS = [
    ("threads", 0.5),
    ("processes", 1.5),
    *(pytest.param(*one, marks=pytest.mark.deep) for one in (("serial", 0.3), ("processes", 0.1))),
]


@pytest.mark.parametrize(("how", "after"), INTERRUPTIONS)
def test_ctrl_c_stops_and_leaves_nothing_behind(how, after):
    # loky's tracker of resources may miss that a semaphore is gone, and warn of it: whether one is left is seen below
    trackers = "-Wignore:resource_tracker:UserWarning"
    program = [sys.executable, trackers, "-c", textwrap.dedent(INTERRUPTED), how]
    run = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert run.stdout.readline() == "go\n"
        time.sleep(after)
        os.killpg(run.pid, signal.SIGINT)
        sent = time.monotonic()
        assert run.stdout.readline() == "stopped []\n"
        assert time.monotonic() - sent < 10.0  # the whole would take minutes
        assert run.communicate(timeout=60) == ("", "")
    finally:
        run.kill()
        run.communicate()
    assert no_process_left(run.pid)
    assert not list(Path("/dev/shm").glob(f"sem.loky-{run.pid}-*"))


@pytest.mark.parametrize("how", [signal.SIGTERM, pytest.param(signal.SIGKILL, marks=pytest.mark.deep)])
def test_workers_end_with_their_parent(how):
    program = [sys.executable, "-c", textwrap.dedent(INTERRUPTED).replace("sleep(0.01)", "sleep(60)"), "processes"]
    run = subprocess.Popen(
        program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    )
    try:
        assert run.stdout.readline() == "go\n"
        time.sleep(2.0)
        run.send_signal(how)  # to the parent alone, as a supervisor does
        run.communicate(timeout=60)
        assert no_process_left(run.pid)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)


def no_process_left(group, patience=20.0):
    end = time.monotonic() + patience
    while time.monotonic() < end:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def test_threads_of_one_program_can_share_an_engine():
    expected, found = Gaussian(1.0).gram(X), {}

    def work(number):
        found[number] = Gaussian(1.0).gram(X)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for number in range(4):
        np.testing.assert_allclose(found[number], expected, rtol=1e-12)
