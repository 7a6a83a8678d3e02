"""A target that depends on one direction of ten columns: the metric finds it, round by round, and the error falls."""

import matplotlib.pyplot as plt
import numpy as np

from similitude import learn_kernel

rng = np.random.default_rng(0)
direction = np.zeros(10)
direction[:2] = 0.8, 0.6
X = rng.standard_normal((600, 10))
y = np.sin(3 * X @ direction) + 0.1 * rng.standard_normal(600)
learned = learn_kernel("gaussian", X, y, how="full", random_state=0)
figure, axes = plt.subplots(1, 2, figsize=(8, 3))
losses = [one.loss for one in learned.rounds if one.path == "full"]
axes[0].plot(losses, marker="o")
axes[0].set(xlabel="round (0: isotropic)", ylabel="error / variance", ylim=(0, None), title="held-out rows")
axes[0].set_xticks(range(len(losses)))
T = np.asarray(learned.similarity.metric)
M = T @ T.T
axes[1].imshow(M / np.abs(M).max(), cmap="coolwarm", vmin=-1, vmax=1)
axes[1].set(xlabel="column", ylabel="column", title="the metric $M$, largest entry 1")
figure.tight_layout()
