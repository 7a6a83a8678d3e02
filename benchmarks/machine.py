"""The machine: what it is, and what it can do at best."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_info

from benchmarks.measure import threads
from similitude.compute.loops import IN_USE

STAT = Path("/proc/stat")
PACKAGES = (
    *("similitude", "numpy", "scipy", "scikit-learn", "scikit-learn-intelex", "torch", "threadpoolctl"),
    *("tslearn", "aeon", "grakel", "igraph", "rapidfuzz", "gower"),
)


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor() -> str:
    """Return the name of the processor."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def version(package: str) -> str:
    """Return the version of a package, or that it is missing."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def description() -> dict[str, Any]:
    """Return what the figures depend on."""
    blas = sorted({f"{one['internal_api']} {one.get('version')} ({one.get('architecture')})" for one in _blas()})
    return {
        "processor": processor(),
        "cores": cores(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "platform": platform.platform(),
        "python": platform.python_version(),
        "blas": blas,
        "loops": IN_USE,
        "versions": {package: version(package) for package in PACKAGES},
    }


def _blas() -> list[dict[str, Any]]:
    return [one for one in threadpool_info() if one["user_api"] == "blas"]


class Disturbance:
    """How many cores everybody else kept busy since this was made; None where the system does not tell."""

    def __init__(self) -> None:
        self._start = self._now()

    @staticmethod
    def _now() -> tuple[float, float] | None:
        if not STAT.exists():
            return None
        fields = [int(field) for field in STAT.read_text().split("\n", 1)[0].split()[1:]]
        busy = (sum(fields[:8]) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")  # without idle and waiting
        return time.monotonic(), busy - sum(os.times()[:4])

    def cores(self) -> float | None:
        """Return the number of cores, 0 on a machine of our own."""
        end = self._now()
        if self._start is None or end is None:
            return None
        return max(0.0, (end[1] - self._start[1]) / max(end[0] - self._start[0], 1e-9))


class Limit(NamedTuple):
    """One limit: work done per second."""

    name: str
    threads: int
    value: float
    unit: str


def limits(thread_counts: Sequence[int], quick: bool) -> Iterator[Limit | str]:
    """Yield what the machine can do at best, and what cannot be measured by name."""
    for number in thread_counts:
        for dtype in (np.float32, np.float64):
            yield Limit(f"GEMM {np.dtype(dtype)}", number, gemm(1000 if quick else 2000, dtype, number), "GFLOP/s")
    megabytes = 64 if quick else 256
    for number in thread_counts:
        yield Limit("memory copy (read + written)", number, copy(megabytes, number), "GB/s")
    if not hasattr(np, "bitwise_count"):
        yield f"popcount: numpy.bitwise_count needs NumPy 2, this is {np.__version__}"
        return
    for number in thread_counts:
        yield Limit("popcount", number, popcount(number), "G words/s")


def shortest(work: Callable[[], Any], repetitions: int = 5) -> float:
    """Return the shortest of several times: a limit is what is possible."""
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def gemm(n: int, dtype: Any, number: int) -> float:
    """Return GFLOP/s of a matrix product."""
    rng = np.random.default_rng(0)
    A, B = (rng.standard_normal((n, n)).astype(dtype) for _ in range(2))
    C = np.empty_like(A)
    with threads(number):
        return 2 * n**3 / shortest(lambda: np.matmul(A, B, out=C)) / 1e9


def over_threads(work: Callable[[np.ndarray, np.ndarray], Any], to: np.ndarray, of: np.ndarray, number: int) -> float:
    """Return the shortest time of work on arrays cut into a piece for each thread."""
    pieces = list(zip(np.array_split(to, number), np.array_split(of, number), strict=True))
    with ThreadPoolExecutor(number) as pool:
        return shortest(lambda: list(pool.map(lambda piece: work(*piece), pieces)))


def copy(megabytes: int, number: int) -> float:
    """Return GB/s read and written while a large array is copied."""
    of = np.ones(megabytes * 10**6 // 8)
    to = np.zeros_like(of)
    return 2 * of.nbytes / over_threads(np.copyto, to, of, number) / 1e9


def popcount(number: int, words: int = 4096, rounds: int = 4000) -> float:
    """Return billions of 64-bit words counted per second, in the cache."""
    of = np.arange(words * number, dtype=np.uint64)
    to = np.empty(len(of), dtype=np.uint8)

    def work(out: np.ndarray, piece: np.ndarray) -> None:
        for _ in range(rounds):
            np.bitwise_count(piece, out=out)

    return len(of) * rounds / over_threads(work, to, of, number) / 1e9
