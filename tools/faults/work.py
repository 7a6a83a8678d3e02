"""What is killed, interrupted and starved: fits, saved models, caches and files, each with a digest of its result."""

from __future__ import annotations

import hashlib
import os
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from similitude import FromPairs, SimilarityClassifier, SimilarityRegressor, files, load, save
from similitude.compute.engines import checkpoints
from similitude.data.sources import source as sources
from similitude.engines import LocalEngine
from similitude.kernels import Gaussian, Spectrum
from similitude.learners import KernelRidge, KernelSVC

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40_000, 6))
Y = np.sin(X[:, 0]) + X[:, 1]
NEW = RNG.standard_normal((100, 6))
WORDS = ["".join(RNG.choice(list("acgt"), 30)) for _ in range(300)]
LABELS = [int("aca" in word) for word in WORDS]


def digest_of(values: Any) -> str:
    """Return a digest of an array."""
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()


def forked(work: Callable[..., Any], *arguments: Any) -> int:
    """Run a function in a child of this process, and return its number; an error ends the child with 1."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        code = int(work(*arguments) or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def completed(work: Callable[..., Any], *arguments: Any) -> int:
    """Run a function in a child to its end, and return how it ended: negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(forked(work, *arguments), 0)[1])


def checkpointed_fit(folder: Path) -> None:
    """Fit to a stream with a checkpoint after every batch, and write the digest of the model."""
    checkpoints.WRITE_INTERVAL, checkpoints.WRITE_SHARE = 0.0, 1e9
    sources.batch_rows = lambda X, budget, least=0.0: 2048  # type: ignore[assignment]

    def batches() -> Any:
        return ((X[a : a + 1000], Y[a : a + 1000]) for a in range(0, len(X), 1000))

    engine = LocalEngine(threads=1, checkpoint=folder / "sums")
    model = SimilarityRegressor(Gaussian(sigma=2.0), n_landmarks=100, engine=engine).fit(batches)
    (folder / "digest").write_text(digest_of(model.predict(NEW)))


def models() -> list[Any]:
    """Return two different models of the same kind."""
    return [SimilarityRegressor(Gaussian(sigma=s), n_landmarks=100).fit(X[:2000], Y[:2000]) for s in (1.0, 2.0)]


def save_forever(fitted: list[Any], path: Path) -> None:
    """Save one model after the other to the same file."""
    for turn in range(10**9):
        save(fitted[turn % 2], path)


def loaded_digest(path: Path) -> str:
    """Return the digest of the predictions of a saved model."""
    return digest_of(load(path).predict(NEW))


def slow_agreement(s: str, t: str) -> float:
    """Return the share of equal letters, after a while."""
    time.sleep(0.0005)
    return sum(a == b for a, b in zip(s, t, strict=True)) / len(s)


def agreement(s: str, t: str) -> float:
    """Return the share of equal letters."""
    return sum(a == b for a, b in zip(s, t, strict=True)) / len(s)


def cached_gram(path: Path) -> np.ndarray:
    """Return a matrix of similarities whose pairs are kept in a file."""
    return np.asarray(FromPairs(slow_agreement).cached(path, name="agreement").gram(WORDS[:30]))


def fits(engine: Any) -> dict[str, Callable[[], str]]:
    """Return fits of several kinds by name, each of which returns the digest of its predictions."""

    def words() -> str:
        model = SimilarityClassifier(Spectrum(3), n_landmarks=40, engine=engine).fit(WORDS, LABELS)
        return digest_of(model.decision_function(WORDS))

    def vectors() -> str:
        return digest_of(
            SimilarityRegressor(Gaussian(sigma=2.0), n_landmarks=400, engine=engine).fit(X, Y).predict(NEW)
        )

    def learned() -> str:
        return digest_of(SimilarityRegressor("auto", engine=engine).fit(X[:300], Y[:300]).predict(NEW))

    def machine() -> str:
        return digest_of(KernelSVC(engine=engine).fit(X[:3000], Y[:3000] > 0).decision_function(NEW))

    def ridge() -> str:
        return digest_of(KernelRidge(lam="auto", engine=engine).fit(X[:1600], Y[:1600]).predict(NEW))

    def own() -> str:
        model = SimilarityClassifier(agreement, n_landmarks=30, engine=engine).fit(WORDS, LABELS)
        return digest_of(model.decision_function(WORDS[:50]))

    return {"words": words, "vectors": vectors, "learned": learned, "machine": machine, "ridge": ridge, "own": own}


def write_table(path: Path) -> None:
    """Write a CSV file of some length."""
    files.write(path, {f"c{j}": X[:2000, j].tolist() for j in range(6)})


def cached_gram_only(path: Path) -> None:
    """Fill a cache, and return nothing."""
    cached_gram(path)
