"""Two rings, clustered by k-means in the plane and with squares as features."""

import matplotlib.pyplot as plt
import numpy as np

from similitude.datasets import rings
from similitude.kernels import Linear
from similitude.learners import KernelKMeans

X, _ = rings(200, random_state=0)
squares = Linear().pullback(lambda points: np.asarray(points) ** 2 @ np.ones((2, 1)), batched=True)
figure, axes = plt.subplots(1, 2)
for ax, k, title in ((axes[0], "linear", "in the plane"), (axes[1], squares, "by x₁² + x₂²")):
    labels = KernelKMeans(k, n_clusters=2, random_state=0).fit(X).labels_
    ax.scatter(*X.T, c=np.where(labels == labels[0], "tab:orange", "tab:blue"), s=14)
    ax.set(title=title, aspect="equal", xticks=[], yticks=[])
