"""The errors of three similarities on the same folds, with simultaneous intervals."""

import matplotlib.pyplot as plt
import numpy as np

from similitude import FromPairs, choose_kernel
from similitude.datasets import promoters
from similitude.kernels import Edit, Spectrum


def agree(s, t):
    """Return the fraction of positions with the same letter."""
    return sum(a == b for a, b in zip(s, t, strict=True)) / len(s)


genes, labels = promoters()
candidates = {
    "agree: your function": FromPairs(agree, cost=0),
    "words: substrings of 4": Spectrum(4).normalized(),
    "Edit: letters to change": Edit(),
}
table = choose_kernel(candidates, genes, labels, random_state=0).table
figure, ax = plt.subplots(figsize=(7, 2.2))
for height, row in enumerate(reversed(table)):
    error = 100 * row.error.value
    low, high = 100 * row.error.low, 100 * row.error.high
    ax.errorbar(error, height, xerr=[[error - low], [high - error]], fmt="o", capsize=4, color="tab:blue")
    ax.annotate(f"{error:.1f} %", (error, height), xytext=(0, 7), textcoords="offset points", ha="center")
ax.axvline(50, color="tab:orange", linestyle="--")
ax.annotate(
    "always the same class", (50, 1), xytext=(-6, 0), textcoords="offset points", ha="right", color="tab:orange"
)
ax.set_yticks(np.arange(len(table)), [row.candidate for row in reversed(table)])
ax.set(xlim=(0, 55), ylim=(-0.5, 2.6), xlabel="error on left-out sequences, percent, and its 95 % interval")
