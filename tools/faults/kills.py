"""Kill -9 at random moments of a fit with a checkpoint, of saving, of a cache, and of workers of a cluster."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from tools.faults import work


def kill_at_random(rng: np.random.Generator, most: float, job: Any, *arguments: Any) -> bool:
    """Start a job in a child, kill it after at most so many seconds, and tell whether it was still running."""
    pid = work.forked(job, *arguments)
    time.sleep(float(rng.uniform(0.0, most)))
    os.kill(pid, signal.SIGKILL)
    ending = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert ending in (0, -signal.SIGKILL), f"a job ended with {ending} after others were killed"
    return ending == -signal.SIGKILL


def of_checkpointed_fits(rng: np.random.Generator, kills: int) -> dict[str, Any]:
    """Kill fits that go on from each other's checkpoints, and compare the model that comes out in the end."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        began = time.monotonic()
        assert work.completed(work.checkpointed_fit, folder) == 0
        seconds, expected = time.monotonic() - began, (folder / "digest").read_text()
        killed = completed = turn = 0
        while killed < kills:
            turn += 1
            killed += kill_at_random(rng, seconds, work.checkpointed_fit, folder)
            if turn % 5 == 0 or killed == kills:
                (folder / "digest").unlink(missing_ok=True)
                assert work.completed(work.checkpointed_fit, folder) == 0, "a fit could not go on"
                assert (folder / "digest").read_text() == expected, "another model after a fit was killed"
                left = [one.name for one in folder.iterdir() if one.name != "digest"]
                assert not left, f"left behind: {left}"
                completed += 1
        return {"killed": killed, "completed, the same bits": completed}


def of_saving(rng: np.random.Generator, kills: int) -> dict[str, Any]:
    """Kill a process that saves two models in turn: the file is always one of them."""
    fitted = work.models()
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "model.sim"
        expected = []
        for one in fitted:
            work.save(one, path)
            expected.append(work.loaded_digest(path))
        found = [0, 0]
        for _ in range(kills):
            assert kill_at_random(rng, 0.2, work.save_forever, fitted, path), "saving ended by itself"
            found[expected.index(work.loaded_digest(path))] += 1
        left = len(list(Path(name).glob(".*.part")))
        work.save(fitted[0], path)
        after = len(list(Path(name).glob(".*.part")))
        return {"killed": kills, "first, second model": found, "part files, and after a save": (left, after)}


def of_caches(rng: np.random.Generator, kills: int) -> dict[str, Any]:
    """Kill processes that fill one cache: what it holds is right, and the rest is computed."""
    with tempfile.TemporaryDirectory() as name:
        whole, path = work.cached_gram(Path(name) / "whole"), Path(name) / "pairs 0"
        killed = turn = 0
        while killed < kills:
            turn += 1
            killed += kill_at_random(rng, 0.2, work.cached_gram_only, path)
            if turn % 3 == 0 or killed == kills:
                assert np.array_equal(work.cached_gram(path), whole), "a cache gave other values after a kill"
                path = Path(name) / f"pairs {turn}"
        return {"killed": killed, "ended before": turn - killed}


def of_workers(rng: np.random.Generator, kills: int) -> dict[str, Any]:
    """Kill workers of a Dask cluster while a model is fitted: the same bits, or an error that names the cluster."""
    import dask.array as da
    import distributed

    from similitude import SimilarityRegressor
    from similitude.engines import DaskEngine
    from similitude.errors import ClusterError
    from similitude.kernels import Gaussian

    settings = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 60}
    rows = da.from_array(work.X, chunks=(2000, 6)), da.from_array(work.Y, chunks=2000)

    def fitted(client: Any) -> str:
        model = SimilarityRegressor(Gaussian(sigma=2.0), n_landmarks=60, engine=DaskEngine(client)).fit(*rows)
        return work.digest_of(model.predict(work.NEW))

    same, refused, clusters = 0, 0, 0
    while same + refused < kills:  # a nanny may give a worker up that is killed while it starts: then a new cluster
        clusters += 1
        with distributed.LocalCluster(n_workers=2, **settings) as cluster, distributed.Client(cluster) as client:
            began = time.monotonic()
            expected = fitted(client)
            seconds = time.monotonic() - began
            while same + refused < kills and _has_workers(client, 2):
                killer = threading.Timer(float(rng.uniform(0, seconds)), kill_a_worker, (cluster, rng))
                killer.start()
                try:
                    assert fitted(client) == expected, "another model after a worker was killed"
                    same += 1
                except ClusterError:
                    refused += 1
                killer.join()
    return {"killed": kills, "the same bits": same, "cluster errors": refused, "clusters": clusters}


def _has_workers(client: Any, number: int) -> bool:
    """Tell whether so many workers are there within half a minute."""
    try:
        client.wait_for_workers(number, timeout=30)
    except TimeoutError:
        return False
    return True


def kill_a_worker(cluster: Any, rng: np.random.Generator) -> None:
    """Kill one of the workers, which its nanny starts again."""
    pids = [one.pid for one in cluster.workers.values() if one.pid]
    if pids:
        os.kill(int(rng.choice(pids)), signal.SIGKILL)


if __name__ == "__main__":  # a cluster cannot be started in a process that is forked later on
    print(of_workers(np.random.default_rng(int(sys.argv[1])), int(sys.argv[2])))
