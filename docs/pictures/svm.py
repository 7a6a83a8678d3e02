"""Two support vector machines on noisy moons: decision boundary, margins, support vectors."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from similitude.kernels import Gaussian
from similitude.learners import KernelSVC

X, y = make_moons(120, noise=0.25, random_state=0)
a, b = np.meshgrid(np.linspace(-1.8, 2.8, 120), np.linspace(-1.4, 1.9, 90))
grid = np.stack([a.ravel(), b.ravel()], axis=1)
figure, axes = plt.subplots(1, 2, sharey=True)
for ax, C in zip(axes, (0.3, 100.0), strict=True):
    model = KernelSVC(Gaussian(sigma=0.7), C=C).fit(X, y)
    scores = model.decision_function(grid).reshape(a.shape)
    ax.contour(a, b, scores, [-1, 0, 1], colors="tab:green", linestyles=[":", "-", ":"])
    support = X[model.support_]
    ax.scatter(*X.T, c=np.where(y > 0, "tab:orange", "tab:blue"), s=14)
    ax.scatter(*support.T, facecolors="none", edgecolors="#808890", s=50, linewidths=0.8)
    ax.set(title=f"C = {C:g}: {len(support)} support vectors", xticks=[], yticks=[])
