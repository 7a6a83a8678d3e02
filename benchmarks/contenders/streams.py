"""Who fits to a file that is read in batches, and who reads it whole."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.nouns import OURS, Contender
from similitude.kernels import Gaussian

BATCH = 65_536


class Ours(Contender):
    name = OURS

    def stream(self, X, y, m, sigma):
        return _fitted(np.load(X, mmap_mode="r"), y, m, sigma)

    def flights(self, path):
        from similitude import SimilarityRegressor

        return SimilarityRegressor("gower", random_state=0).fit(Path(path), "delay").predict(Path(path))


class OursInMemory(Contender):
    name = "ours in memory"
    packages = ("similitude.estimators",)

    def stream(self, X, y, m, sigma):
        return _fitted(np.load(X), y, m, sigma)


class OursWithCheckpoints(Contender):
    name = "ours with checkpoints"
    packages = ("similitude.estimators",)

    def stream(self, X, y, m, sigma):
        from dataclasses import replace

        from similitude.engines import current_engine

        with tempfile.TemporaryDirectory() as folder:
            engine = replace(current_engine(), checkpoint=Path(folder) / "sums")
            return _fitted(np.load(X, mmap_mode="r"), y, m, sigma, engine)


def _fitted(X, y, m, sigma, engine=None):
    from similitude import SimilarityClassifier

    return SimilarityClassifier(Gaussian(sigma), n_landmarks=m, engine=engine).fit(X, np.load(y)).predict(X)


class ScikitLearn(Contender):
    name = "scikit-learn"

    def stream(self, X, y, m, sigma):
        from sklearn.kernel_approximation import Nystroem
        from sklearn.linear_model import SGDClassifier

        X, y = np.load(X, mmap_mode="r"), np.load(y)
        some = np.random.default_rng(0).choice(len(X), m, replace=False)
        features = Nystroem(gamma=0.5 / sigma**2, n_components=m, random_state=0).fit(np.array(X[np.sort(some)]))
        model, classes = SGDClassifier(alpha=1e-6, random_state=0), np.unique(y)
        starts = range(0, len(X), BATCH)
        for a in starts:
            model.partial_fit(features.transform(np.array(X[a : a + BATCH])), y[a : a + BATCH], classes)
        return np.concatenate([model.predict(features.transform(np.array(X[a : a + BATCH]))) for a in starts])
