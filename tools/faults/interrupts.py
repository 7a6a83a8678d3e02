"""Ctrl-C at random moments on each engine, and SIGTERM: nothing is half done, and nothing is left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, suppress
from typing import Any

import numpy as np
import psutil
from tools.faults import work

from similitude import SimilarityClassifier, SimilarityRegressor
from similitude.engines import LocalEngine
from similitude.errors import ClusterError
from similitude.kernels import Gaussian

ANSWER = 10.0
"""Most seconds until Ctrl-C is answered, on a busy machine."""

FEWEST = 0.25
"""Least share of the moments at which a fit must have been under way: with none, nothing would be shown."""

ENGINES = ("one thread", "two threads", "two processes", "dask", "torch")


def engine_of(name: str, stack: ExitStack) -> Any:
    """Return an engine by its name; None if it cannot be had here."""
    if name == "dask":
        import distributed

        from similitude.engines import DaskEngine

        cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=60)
        return DaskEngine(stack.enter_context(distributed.Client(stack.enter_context(cluster))))
    if name == "torch":
        try:
            import torch  # noqa: F401
        except ImportError:
            return None
        from similitude.engines import TorchEngine

        return TorchEngine(device="cpu")
    if name == "two processes":
        return LocalEngine(processes=2)
    return LocalEngine(threads=1 if name == "one thread" else 2)


def fit(engine: Any, name: str) -> Any:
    """Return an estimator, and the arguments of a fit that takes about half a second on this engine."""
    if name == "two processes":
        return SimilarityClassifier(work.agreement, n_landmarks=30, engine=engine), (work.WORDS, work.LABELS)
    model = SimilarityRegressor(Gaussian(sigma=2.0), n_landmarks=150, engine=engine)
    return model, (work.X[:12_000], work.Y[:12_000])


def digest_of(model: Any) -> str:
    """Return a digest of what the model learned."""
    return work.digest_of(model.landmark_weights_)


def on_engine(name: str, moments: int, seed: int) -> dict[str, Any]:
    """Interrupt fits at random moments, in this process, and tell how they ended."""
    rng = np.random.default_rng(seed)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts a background job with Ctrl-C ignored
    with ExitStack() as stack:
        engine = engine_of(name, stack)
        if engine is None:
            return {"skipped": "not installed"}
        fit(engine, name)[0].fit(*fit(engine, name)[1])  # the first one imports, and starts workers
        began = time.monotonic()
        model, given = fit(engine, name)
        expected = digest_of(model.fit(*given))
        seconds = time.monotonic() - began
        latencies, lost = answers(engine, name, rng.uniform(0, seconds, moments))
        model, given = fit(engine, name)
        assert digest_of(model.fit(*given)) == expected, "another model after fits were interrupted"
        time.sleep(1.0)
        threads = [one.name for one in threading.enumerate() if one.name.startswith("similitude")]
        assert not threads, f"threads left behind: {threads}"
    assert len(latencies) >= FEWEST * moments, f"only {len(latencies)} of {moments} fits were interrupted"
    slowest = max(latencies)
    assert slowest < ANSWER, f"Ctrl-C was answered after {slowest:.1f} s"
    counts = {"moments": moments, "interrupted": len(latencies), "cluster errors": lost}
    return {**counts, "slowest answer, s": round(slowest, 2)}


def answers(engine: Any, name: str, delays: np.ndarray) -> tuple[list[float], int]:
    """Interrupt a fit after each delay; return the seconds until each answer, and the number of cluster errors."""
    found, lost = [], 0
    for delay in delays:
        try:
            answer = interrupted(engine, name, delay)
        except ClusterError:  # Dask's client does not survive every interruption
            lost += 1
        else:
            found += [answer] if answer else []
    return found, lost


def interrupted(engine: Any, name: str, delay: float) -> float | None:
    """Interrupt one fit, and return the seconds until it was answered; None if the fit ended before."""
    model, given = fit(engine, name)
    before, sent = set(vars(model)), []

    def interrupt() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(float(delay), interrupt)
    answered = None
    try:
        timer.start()
        model.fit(*given)
        timer.cancel()
        timer.join()
        time.sleep(0.01)  # a signal that was sent after the fit arrives here
    except KeyboardInterrupt:
        answered = time.monotonic()
        if "landmarks_" not in vars(model):
            assert set(vars(model)) == before, f"half fitted: {sorted(set(vars(model)) - before)}"
            return answered - sent[0]
    finally:
        timer.cancel()
    return None


TERMINATED = """
from contextlib import ExitStack
from tools.faults.interrupts import engine_of, fit
if __name__ == "__main__":
    with ExitStack() as stack:
        engine = engine_of({name!r}, stack)
        print("go", flush=True)
        while True:
            model, given = fit(engine, {name!r})
            model.fit(*given)
"""


def terminated(name: str, rng: np.random.Generator) -> float:
    """Terminate a program that fits on an engine, and return the seconds until all of its processes are gone."""
    program = [sys.executable, "-c", TERMINATED.format(name=name)]
    run = subprocess.Popen(
        program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    )
    assert run.stdout is not None and run.stdout.readline() == "go\n"
    time.sleep(float(rng.uniform(0.0, 3.0)))
    family = [psutil.Process(run.pid), *psutil.Process(run.pid).children(recursive=True)]
    began = time.monotonic()
    run.send_signal(signal.SIGTERM)
    run.wait(60)
    _, alive = psutil.wait_procs(family, timeout=60)
    seconds = time.monotonic() - began
    with suppress(ProcessLookupError):
        os.killpg(run.pid, signal.SIGKILL)
    assert not alive, f"still there a minute after SIGTERM: {alive}"
    return seconds


def of_terminations(rng: np.random.Generator, moments: int) -> dict[str, Any]:
    """Terminate programs with worker processes at random moments."""
    found = {}
    for name in ("two processes", "dask"):
        slowest = max(terminated(name, rng) for _ in range(moments))
        assert slowest < ANSWER, f"{name}: processes stayed for {slowest:.1f} s after SIGTERM"
        found[name] = f"{moments} ended, the slowest after {slowest:.1f} s"
    return found


if __name__ == "__main__":
    print(json.dumps(on_engine(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
