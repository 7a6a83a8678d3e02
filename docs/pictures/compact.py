"""Squared lengths after a random projection, relative to the original ones."""

import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(0)
U = rng.standard_normal((800, 2000))
figure, ax = plt.subplots()
bins = np.linspace(0, 2.2, 80)
for k, color in ((10, "tab:orange"), (100, "tab:green"), (1000, "tab:blue")):
    kept = ((U @ rng.standard_normal((2000, k))) ** 2).sum(axis=1) / k / (U**2).sum(axis=1)
    ax.hist(kept, bins, color=color, alpha=0.7, density=True, label=f"{k:,} dimensions")
ax.set(title="random projections of 800 vectors of 2,000 dimensions", xlabel="squared length / original", yticks=[])
ax.legend()
