"""Similarities sorted by class, the matrix of labels, and alignment as a function of the width of a Gaussian."""

import matplotlib.pyplot as plt
import numpy as np

from similitude import alignment
from similitude.datasets import rings
from similitude.kernels import Gaussian

X, y = rings(150, random_state=0)
X, y = X[np.argsort(y)], np.sort(y)
figure, axes = plt.subplots(1, 3, figsize=(8, 2.8), width_ratios=[1, 1, 1.4])
for ax, matrix, title in ((axes[0], Gaussian(sigma=1.0).gram(X), "Gaussian"), (axes[1], np.outer(y, y), "labels")):
    ax.imshow(matrix, cmap="viridis")
    ax.set(title=title, xticks=[], yticks=[])
sigmas = np.geomspace(0.05, 10, 40)
for centered, color in ((True, "tab:blue"), (False, "tab:orange")):
    values = [alignment(Gaussian(sigma=s).gram(X), y, centered=centered) for s in sigmas]
    axes[2].semilogx(sigmas, values, color=color, label="centered" if centered else "plain")
axes[2].set(title="alignment", xlabel="width")
axes[2].legend()
