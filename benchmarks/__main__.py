"""Print the foundation's figures as ratios measured in one run: ``make bench``."""

import subprocess
import sys
import time

import numpy as np
from threadpoolctl import threadpool_limits

from similitude import FromPairs, check_kernel, use_engine
from similitude.engines import LocalEngine
from similitude.kernels import Gaussian


def best(work, repetitions=5):
    """Return the shortest of several times, in seconds."""
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def gaussian_gram(n=4000, d=784):
    """Yield the time of a Gaussian Gram and cross matrix as multiples of the bare matrix product."""
    rng = np.random.default_rng(0)
    for dtype in (np.float64, np.float32):
        X, Z = rng.standard_normal((n, d)).astype(dtype), rng.standard_normal((n, d)).astype(dtype)
        for threads in (1, 2):
            with threadpool_limits(threads, user_api="blas"):
                product = best(lambda X=X, Z=Z: X @ Z.T)
            with use_engine(LocalEngine(threads=threads)):
                gram = best(lambda X=X: Gaussian(20.0).gram(X))
                cross = best(lambda X=X, Z=Z: Gaussian(20.0).cross(X, Z))
            where = f"{n} x {n}, d = {d}, {np.dtype(dtype)}, {threads} thread(s)"
            yield f"Gaussian Gram / matrix product, {where}", gram / product, 2.5
            yield f"Gaussian cross / matrix product, {where}", cross / product, 2.5


def pair_overhead(n=2000):
    """Yield the microseconds that FromPairs adds to each call of a function."""

    def f(x, z):
        return 1.0

    X = list(range(n))
    bare = best(lambda: [[f(x, z) for z in X] for x in X], 3)
    ours = best(lambda: FromPairs(f).gram(X), 3)
    yield f"FromPairs, microseconds a pair on top of the function, n = {n}", (ours - bare) / n**2 * 1e6, 1.0


def verdict(n=1000):
    """Yield the time of a PSD verdict as a multiple of one eigendecomposition."""
    M = np.random.default_rng(0).standard_normal((n, n))
    M = M @ M.T
    check_kernel(M)  # loads every library whose threads are to be held
    with threadpool_limits(1, user_api="blas"):
        eigh = best(lambda: np.linalg.eigh(M), 3)
        ours = best(lambda: check_kernel(M), 3)
    yield f"PSD verdict / eigh, n = {n}, 1 thread", ours / eigh, 1.5


def import_time():
    """Yield the seconds that ``import similitude`` takes in a new process, and those of NumPy alone."""
    for module in ("similitude", "numpy"):
        program = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
        times = [float(subprocess.check_output([sys.executable, "-c", program])) for _ in range(5)]
        yield f"import {module}, seconds", min(times), 0.3


def main():
    """Print a Markdown table."""
    print("| measure | found | at most |\n|---|---|---|")
    for figures in (gaussian_gram, pair_overhead, verdict, import_time):
        for name, found, most in figures():
            print(f"| {name} | {found:.3f} | {most} |", flush=True)


if __name__ == "__main__":
    main()
