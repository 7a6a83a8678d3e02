"""Factorizations that Ctrl-C can interrupt: the numbers of SciPy, and threads that go on meanwhile."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import Future

import numpy as np
import pytest
from scipy.linalg import LinAlgError, cholesky, eigh

import similitude
from similitude.cli import main
from similitude.fitting.profile_ridge import fit_profiles
from similitude.learners import KernelRanker, KreinSVC
from similitude.learners.svm import estimators
from similitude.linear import lapack
from similitude.maps import KernelPCA
from similitude.support import interruptibly, threads
from similitude.validity import spectral_repair

G = np.random.default_rng(0).standard_normal((300, 320))
M = G @ G.T


@pytest.fixture
def all_long(monkeypatch):
    monkeypatch.setattr(lapack, "LONG_FACTORIZATION", 1)
    assert lapack._routine("dsyevd") is not None and lapack._routine("dpotrf") is not None


def test_the_numbers_of_scipy(all_long):
    values, V = lapack.symmetric_eigen(np.array(M, order="F"))
    expected = eigh(M, driver="evd")
    assert np.array_equal(values, expected[0]) and np.array_equal(V, expected[1])
    for first, last in ((0, 299), (0, 0), (250, 299)):
        values, V = lapack.some_eigen(np.array(M, order="F"), first, last)
        expected = eigh(M, subset_by_index=(first, last))
        assert np.array_equal(values, expected[0]) and np.array_equal(V, expected[1])
    assert np.array_equal(lapack.upper_cholesky(np.array(M, order="F")), cholesky(M))
    for one in (M[:1, :1], M.astype(np.float32), M):  # small, of single precision, and not in the order of columns
        np.testing.assert_allclose(lapack.upper_cholesky(one.copy()), cholesky(one), rtol=1e-4)
    with pytest.raises(LinAlgError, match="not positive definite"):
        lapack.upper_cholesky(np.asfortranarray(M - 1e4 * np.eye(len(M))))


def test_an_unknown_routine_is_left_to_scipy():
    assert lapack._routine("no such routine") is None
    assert lapack._routine("zheevd") is None  # takes other numbers


@pytest.mark.parametrize("factorize", [lapack.symmetric_eigen, lapack.upper_cholesky])
def test_other_threads_go_on_meanwhile(factorize, all_long):
    X = np.random.default_rng(0).standard_normal((1200, 1200))
    gram, seconds, ticks, done = np.asfortranarray(X @ X.T), [], [], threading.Event()

    def tick():
        while not done.wait(0.001):
            ticks.append(time.monotonic())

    threading.Thread(target=tick, daemon=True).start()
    began = time.monotonic()
    factorize(gram)
    seconds, _ = time.monotonic() - began, done.set()
    gaps = np.diff([began, *(one for one in ticks if one > began)])
    assert len(gaps) and gaps.max() < 0.75 * seconds  # with the GIL held it is one gap


def test_ctrl_c_is_answered_while_a_call_goes_on():
    def interrupt():
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interruptibly(time.sleep, 30)
    assert time.monotonic() - began < 10
    with pytest.raises(ZeroDivisionError):
        interruptibly(lambda: 1 / 0)


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="threads cannot block signals here")
def test_the_command_line_does_not_wait_for_a_call_that_was_abandoned(monkeypatch):
    monkeypatch.setattr(threads, "_GOING_ON", [Future()])
    monkeypatch.setattr("similitude.cli._exit", lambda code: sys.exit(f"at once: {code}"))
    with pytest.raises(SystemExit, match="at once: 0"):
        main(["--version"])
    threads._GOING_ON.clear()
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["--version"])


def test_ctrl_c_is_answered_although_another_thread_received_it():
    """The thread that waits is not woken by the signal, as when it comes just before the wait."""
    ended, release = [], threading.Event()

    def call():
        time.sleep(0.2)  # until the wait has begun
        os.kill(os.getpid(), signal.SIGINT)
        release.wait(5)
        ended.append(True)

    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        with pytest.raises(KeyboardInterrupt):
            interruptibly(unblocked, call)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    assert not ended
    release.set()


def unblocked(call):
    """Call a function in a thread that receives Ctrl-C."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    call()


X = np.random.default_rng(0).standard_normal((12, 3))
DECOMPOSING = {
    "KreinSVC": lambda: KreinSVC("sigmoid").fit(X, np.arange(12) % 2),
    "repair": lambda: similitude.repair("sigmoid", X),
    "KernelPCA": lambda: KernelPCA("gaussian", n_components=2).fit(X),
    "profiles": lambda: fit_profiles(X, X[:, :1], np.ones(12)),
    "KernelRanker": lambda: KernelRanker("gaussian", lam=0.1).fit(X, X[:, 0]),
}


@pytest.mark.parametrize("name", DECOMPOSING)
def test_gram_matrices_are_decomposed_where_ctrl_c_is_answered(name, all_long, monkeypatch):
    called = []

    def waiting(f, *arguments):
        called.append(f.__name__)
        return interruptibly(f, *arguments)

    for module in (lapack, estimators, spectral_repair):
        monkeypatch.setattr(module, "interruptibly", waiting)
    DECOMPOSING[name]()
    assert called


RIDGE = """
    import numpy as np
    from similitude.learners import KernelRidge
    from similitude.linear import gram

    eigen = gram.symmetric_eigen

    def announced(M):
        print("go", flush=True)
        return eigen(M)

    gram.symmetric_eigen = announced
    X = np.random.default_rng(0).standard_normal((6000, 3))
    KernelRidge(lam="auto").fit(X, X[:, 0])
"""


@pytest.mark.deep
def test_ridge_regression_answers_ctrl_c():
    program = [sys.executable, "-c", textwrap.dedent(RIDGE)]
    run = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert run.stdout.readline() == "go\n"
    time.sleep(1.0)
    run.send_signal(signal.SIGINT)
    began = time.monotonic()
    assert "KeyboardInterrupt" in run.communicate(timeout=60)[1]
    assert time.monotonic() - began < 10  # the eigenvectors take minutes
