"""Intervals that follow the noise, and how often they hold new targets."""

import matplotlib.pyplot as plt
import numpy as np

from similitude import SimilarityRegressor


def points(n, seed):
    """Return points with much more noise on the right."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 1))
    return X, np.sin(3 * X[:, 0]) + (0.1 + 0.4 * (X[:, 0] > 0)) * rng.normal(size=n)


X, y = points(600, 0)
model = SimilarityRegressor("gaussian", certify=0.25, random_state=0).fit(X, y)
at = np.linspace(-1, 1, 300)[:, None]
low, high = model.predict_interval(at, 0.9).T
new, truth = points(5000, 1)
levels = np.linspace(0.1, 0.95, 18)
ends = [model.predict_interval(new, level) for level in levels]
held = [((one[:, 0] <= truth) & (truth <= one[:, 1])).mean() for one in ends]
figure, axes = plt.subplots(1, 2, figsize=(8, 3))
axes[0].plot(X, y, ".", color="tab:blue", markersize=2)
axes[0].plot(at, model.predict(at), color="tab:orange")
axes[0].fill_between(at[:, 0], low, high, color="tab:orange", alpha=0.25)
axes[0].set(title="intervals of level 0.9", xlabel="x", ylabel="y")
axes[1].plot([0, 1], [0, 1], color="gray", linewidth=0.8)
axes[1].plot(levels, held, "o", color="tab:blue", markersize=3)
axes[1].set(title="share of new targets inside", xlabel="level", ylabel="share")
figure.tight_layout()
