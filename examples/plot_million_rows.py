"""
A million rows within bounded memory
====================================

A kernel method that compares every row with every other needs a matrix of 10¹² numbers for a million rows. With a few
hundred landmarks the matrix has a few hundred columns; it is computed in strips of rows, and each strip is added to the
normal equations and discarded. Memory hardly grows with the number of rows, and the rows themselves may stay in a file.
"""

import os
import tempfile
import time
import tracemalloc
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from similitude import SimilarityClassifier

SHORT = bool(os.environ.get("SIMILITUDE_SHORT"))
n, n_landmarks = 50_000 if SHORT else 1_000_000, 200

# %%
# A file of rows
# --------------
# We generate rows in a file on disk, chunk by chunk: 28 noisy measurements of a hidden point in space. The label says
# whether the point lies within a spherical shell. No linear model of the measurements can tell.

folder = tempfile.TemporaryDirectory()
rng = np.random.default_rng(0)
measured = rng.standard_normal((3, 28), dtype=np.float32)
n_new = 10_000
rows = np.lib.format.open_memmap(Path(folder.name) / "rows.npy", "w+", np.float32, (n + n_new, 28))
y = np.empty(len(rows), dtype=bool)
for start in range(0, len(rows), 50_000):
    hidden = rng.standard_normal((min(50_000, len(rows) - start), 3), dtype=np.float32)
    here = slice(start, start + len(hidden))
    rows[here] = hidden @ measured + rng.standard_normal((len(hidden), 28), dtype=np.float32) / 2
    y[here] = np.abs(np.linalg.norm(hidden, axis=1) - 1.5) < 0.5
rows.flush()

X = np.load(Path(folder.name) / "rows.npy", mmap_mode="r")
print(f"{n:,} rows of 28 numbers, {X.nbytes / 1e6:.0f} MB on disk")

# %%
# Learning
# --------
# The memory-mapped file is passed to ``fit`` directly. We measure the time and the peak memory; the Gram matrix of all
# rows would need `8 n²` bytes.


def learned(n):
    """Fit a model to the first n rows; return the model, the seconds and the peak megabytes."""
    tracemalloc.start()
    start = time.perf_counter()
    model = SimilarityClassifier(n_landmarks=n_landmarks, random_state=0).fit(X[:n], y[:n])
    seconds, peak = time.perf_counter() - start, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return model, seconds, peak / 1e6


sizes = [n // 100, n // 10, n]
models, seconds, megabytes = zip(*(learned(size) for size in sizes), strict=True)
accuracy = models[-1].score(X[n:], y[n:])
print(f"{seconds[-1]:.1f} s and {megabytes[-1]:.0f} MB for {n:,} rows; the Gram matrix: {8 * n**2 / 1e9:,.0f} GB")
print(f"{accuracy:.1%} of {n_new:,} new rows correct, {models[-1].n_similarity_calls_} similarities each")

# %%
# Time grows in proportion to the number of rows. Memory hardly grows: labels and weights need a few bytes per row.

figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
for place, values, title in ((axes[0], seconds, "seconds to fit"), (axes[1], megabytes, "peak megabytes")):
    place.plot(np.array(sizes) / 1000, values, "o-", color="tab:blue")
    place.set(xlabel="thousands of rows", title=title, ylim=(0, 1.15 * max(values)))

# %%
# For rows that arrive in batches there is ``partial_fit``: it keeps the same sums, and only the current batch in
# memory.

stream, batch = SimilarityClassifier(n_landmarks=n_landmarks, random_state=0), n // 50
for start in range(0, n, batch):
    stream.partial_fit(X[start : start + batch], y[start : start + batch])
print(f"fitted batch by batch: {stream.score(X[n:], y[n:]):.1%} correct")

folder.cleanup()

plt.show()
