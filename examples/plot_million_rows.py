"""
A million rows within bounded memory
====================================

A kernel machine that compares every row with every other needs a matrix of 10¹² numbers for a million rows. With
landmarks it is a million rows by a few hundred, computed in strips and added up at once: no strip is kept. So memory
hardly grows with the rows, and the rows themselves may stay in a file.
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
# We make up rows in a file on disk, chunk by chunk: 28 noisy measurements of a hidden point in space. Is the point
# within a shell, neither too near nor too far? No linear model can see that.

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
# The file is handed over as it is. We watch the time and the arrays that are in memory at the worst moment; the Gram
# matrix of all rows would be `8 n²` bytes.


def learned(n):
    """Fit a model to the first n rows; return it, the seconds and the megabytes it took."""
    tracemalloc.start()
    start = time.perf_counter()
    model = SimilarityClassifier(n_landmarks=n_landmarks, random_state=0).fit(X[:n], y[:n])
    seconds, peak = time.perf_counter() - start, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return model, seconds, peak / 1e6


sizes = [n // 100, n // 10, n]
models, seconds, megabytes = zip(*(learned(size) for size in sizes), strict=True)
accuracy = models[-1].score(X[n:], y[n:])
print(f"{seconds[-1]:.1f} s and {megabytes[-1]:.0f} MB for {n:,} rows; the whole matrix: {8 * n**2 / 1e9:,.0f} GB")
print(f"{accuracy:.1%} of {n_new:,} new rows right, each by {models[-1].n_similarity_calls_} similarities")

# %%
# Time grows with the rows, as it must: each is looked at. Memory hardly does: labels and weights need a few bytes for
# each row.

figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
for place, values, title in ((axes[0], seconds, "seconds to learn"), (axes[1], megabytes, "megabytes at the peak")):
    place.plot(np.array(sizes) / 1000, values, "o-", color="tab:blue")
    place.set(xlabel="rows, in thousands", title=title, ylim=(0, 1.15 * max(values)))

# %%
# Rows that arrive in batches go to ``partial_fit``: it keeps the same sums, and of the rows only the batch at hand.

stream, batch = SimilarityClassifier(n_landmarks=n_landmarks, random_state=0), n // 50
for start in range(0, n, batch):
    stream.partial_fit(X[start : start + batch], y[start : start + batch])
print(f"learned batch by batch: {stream.score(X[n:], y[n:]):.1%} right")

folder.cleanup()

plt.show()
