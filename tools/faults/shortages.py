"""Full disks, clocks that jump, and too little memory: a clear error with nothing lost, or the same result."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tools.faults import work
from tools.faults.soak import small_fits

from similitude.engines import LocalEngine
from similitude.errors import CacheError, CheckpointError, FileError, SavedModelError
from similitude.kernels import Gaussian

SAME, CLEAR_ERROR = 0, 3
"""How a child ends: with the same result, or with an error that says what is wrong."""

CLEAR = (FileError, SavedModelError, CheckpointError, CacheError, MemoryError)

FILE_SIZES = (0, 1, 100, 4_000, 20_000, 100_000)
"""Bytes that a file may have at most."""

MEMORY_SIZES = (1, 4, 8, 16, 32, 64, 96, 128, 256, 512, 1024)
"""MiB that a process may have more than it has."""


def said(job: Callable[[], Any], expected: Any) -> int:
    """Run a job: the same result, or an error of the library or the system that says why."""
    try:
        return SAME if job() == expected else 1
    except CLEAR:
        return CLEAR_ERROR
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EFBIG, errno.ENOMEM):
            raise
        return CLEAR_ERROR


def disk_jobs(folder: Path) -> dict[str, tuple[Callable[[], Any], Any]]:
    """Return jobs that write files, with what they return."""
    fitted = work.models()[0]
    gram = work.digest_of(Gaussian(sigma=2.0).gram(work.NEW))
    pairs = work.digest_of(work.cached_gram(folder / "all pairs"))

    def saved() -> str:
        work.save(fitted, folder / "model.sim")
        return work.loaded_digest(folder / "model.sim")

    def matrix() -> str:
        (folder / "gram.npy").unlink(missing_ok=True)
        return work.digest_of(Gaussian(sigma=2.0).gram(work.NEW, out=folder / "gram.npy"))

    def table() -> str:
        work.write_table(folder / "table.csv")
        return work.digest_of(np.frombuffer((folder / "table.csv").read_bytes(), np.uint8))

    def cache() -> str:
        return work.digest_of(work.cached_gram(folder / "pairs"))

    return {
        "save": (saved, saved()),
        "matrix": (matrix, gram),
        "table": (table, table()),
        "cache": (cache, pairs),
    }


def limited_files(job: Callable[[], Any], expected: Any, size: int) -> int:
    """Run a job that may write no file longer than `size`."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return said(job, expected)


def of_disks(rng: np.random.Generator, share: float) -> dict[str, Any]:
    """Let files end at every size, and a small disk fill up; what was there before is still there."""
    endings: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for what, (job, expected) in disk_jobs(folder).items():
            before = work.loaded_digest(folder / "model.sim")
            for size in (*FILE_SIZES, *(int(one) for one in rng.integers(1, 200_000, max(1, int(6 * share))))):
                ending = work.completed(limited_files, job, expected, size)
                assert ending in (SAME, CLEAR_ERROR), f"{what} with files of {size} bytes ended with {ending}"
                endings["the same" if ending == SAME else "a clear error"] += 1
                assert work.loaded_digest(folder / "model.sim") == before, "the model that was there is lost"
            assert job() == expected, f"{what}: not the same once there is room again"
    return {**endings, "a disk of 2 MiB": on_small_disk()}


def on_small_disk() -> str:
    """Fill a disk of 2 MiB by saving and by a checkpoint; needs the right to mount one."""
    with tempfile.TemporaryDirectory() as name:
        try:
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", name], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            return "not tried: it may not be mounted here"
        try:
            folder, fitted = Path(name), work.models()
            work.save(fitted[0], folder / "model.sim")
            before = work.loaded_digest(folder / "model.sim")
            (folder / "filler").write_bytes(bytes(2**21 - 3 * (folder / "model.sim").stat().st_size // 2))
            ending = work.completed(lambda: said(lambda: work.save(fitted[1], folder / "model.sim"), None))
            assert ending == CLEAR_ERROR, f"saving to a full disk ended with {ending}"
            assert work.loaded_digest(folder / "model.sim") == before, "the model that was there is lost"
            return "a clear error, and the model that was there before"
        finally:
            subprocess.run(["umount", name], check=True)


def of_clocks(rng: np.random.Generator, share: float) -> dict[str, Any]:
    """Let the clock jump by days, forward and back, while a fit with a checkpoint and a cache are at work."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        assert work.completed(work.checkpointed_fit, folder) == 0
        expected, whole = (folder / "digest").read_text(), work.cached_gram(folder / "whole")
        times = max(1, int(5 * share))
        for turn in range(times):
            (folder / "digest").unlink()
            assert work.completed(with_odd_clock, int(rng.integers(2**31)), work.checkpointed_fit, folder) == 0
            assert (folder / "digest").read_text() == expected, "another model with another clock"
            pairs = folder / f"pairs {turn}"
            assert work.completed(with_odd_clock, int(rng.integers(2**31)), work.cached_gram_only, pairs) == 0
            assert np.array_equal(work.cached_gram(pairs), whole)
        return {"fits and caches": times, "the same bits": times}


def with_odd_clock(seed: int, job: Callable[..., Any], *arguments: Any) -> None:
    """Run a job with a clock that jumps by days, and a timer that leaps forward now and then, as after a suspension."""
    rng, real, timer, ahead = np.random.default_rng(seed), time.time, time.monotonic, [0.0]

    def leaping() -> float:
        ahead[0] += 3600.0 if rng.random() < 0.02 else 0.0
        return timer() + ahead[0]

    time.time = lambda: real() + 86_400.0 * rng.integers(-1000, 1000)
    time.monotonic = leaping
    job(*arguments)


def result_of(job: Callable[[], str]) -> str:
    """Return the text that a job returns in a child."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "result"
        assert work.completed(lambda: path.write_text(job()) * 0) == 0
        return path.read_text()


def limited_memory(job: Callable[[], Any], expected: Any, mebibytes: int) -> int:
    """Run a job in a process that may have so much more memory than it has."""
    size = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (size + (mebibytes << 20),) * 2)
    return said(job, expected)


def of_memory(rng: np.random.Generator, share: float) -> dict[str, Any]:
    """Fit with every size of memory: the same model, or a MemoryError.

    This process fits only a little itself, so that its children have no memory that was used before, but for that of
    modules, and for the buffers of OpenBLAS, which ends the process if it cannot have them.
    """
    for fit in small_fits():
        fit()
    endings: Counter[str] = Counter()
    jobs = work.fits(LocalEngine(threads=1))
    for what, job in jobs.items():
        expected = result_of(job)
        sizes = [*MEMORY_SIZES, *(int(one) for one in rng.integers(1, 300, int(9 * share)))]
        for size in sizes if share >= 1 else rng.choice(sizes, max(3, int(len(sizes) * share)), replace=False).tolist():
            ending = work.completed(limited_memory, job, expected, size)
            assert ending in (SAME, CLEAR_ERROR), f"{what} with {size} MiB ended with {ending}"
            endings["the same" if ending == SAME else "a clear error"] += 1
    return dict(endings)


if __name__ == "__main__":
    print(of_memory(np.random.default_rng(int(sys.argv[1])), float(sys.argv[2])))
