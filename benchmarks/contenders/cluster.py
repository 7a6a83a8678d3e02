"""Who fits to rows on the workers of a cluster, each of one thread; the cluster and its rows are there before."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.nouns import OURS, Contender, SelfTimed
from similitude.kernels import Gaussian

PARTS = 16


class Ours(Contender):
    name = OURS

    def cluster(self, X, y, new, truth, m, sigma):
        return on_workers(2, X, y, new, m, sigma)


class OneWorker(Contender):
    name = "ours on one worker"
    packages = ("similitude.estimators", "dask.array", "distributed")
    uses_threads = False

    def cluster(self, X, y, new, truth, m, sigma):
        return on_workers(1, X, y, new, m, sigma)


def on_workers(n: int, X: np.ndarray, y: np.ndarray, new: np.ndarray, m: int, sigma: float) -> SelfTimed:
    """Return the predictions of a fit to rows that n workers hold, and the time of the fit."""
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    from similitude.engines import DaskEngine

    chunk = -(-len(X) // PARTS)
    with (
        LocalCluster(n_workers=n, threads_per_worker=1, dashboard_address=":0", silence_logs=60) as cluster,
        Client(cluster) as client,
    ):
        parts = client.scatter([X[a : a + chunk] for a in range(0, len(X), chunk)], hash=False)
        sizes = [len(X[a : a + chunk]) for a in range(0, len(X), chunk)]
        there = [da.from_delayed(one, (k, X.shape[1]), X.dtype) for one, k in zip(parts, sizes, strict=True)]
        rows, labels = da.concatenate(there), da.from_array(y, chunks=chunk)
        labels = client.persist(labels)
        wait(labels)
        fitted: list[Any] = []
        for _ in range(2):  # the first one imports everything
            start = time.perf_counter()
            fitted.append(model(m, sigma, DaskEngine(client)).fit(rows, labels))
            seconds = time.perf_counter() - start
    return SelfTimed(seconds, model_predictions(fitted[-1], new))


class InMemory(Contender):
    name = "ours in this process"
    packages = ("similitude.estimators",)
    uses_threads = False

    def cluster(self, X, y, new, truth, m, sigma):
        from similitude.engines import LocalEngine

        start = time.perf_counter()
        fitted = model(m, sigma, LocalEngine(threads=1)).fit(X, y)
        return SelfTimed(time.perf_counter() - start, model_predictions(fitted, new))


def model(m: int, sigma: float, engine: Any) -> Any:
    """Return the classifier that all fit."""
    from similitude import SimilarityClassifier

    return SimilarityClassifier(Gaussian(sigma), n_landmarks=m, random_state=0, engine=engine)


def model_predictions(fitted: Any, new: np.ndarray) -> np.ndarray:
    """Return predictions made in this process."""
    from similitude.engines import LocalEngine

    predicted: np.ndarray = fitted.set_params(engine=LocalEngine(threads=1)).predict(new)
    return predicted
