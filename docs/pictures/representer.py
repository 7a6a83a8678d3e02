"""The same theorem with different losses: the mean and two quantiles."""

import matplotlib.pyplot as plt
import numpy as np

from similitude.learners import KernelRidge, RepresenterRegressor
from similitude.learners.losses import Quantile

rng = np.random.default_rng(0)
X = np.linspace(0, 6, 200)[:, None]
y = np.sin(X[:, 0]) + rng.normal(0, 0.1 + 0.1 * X[:, 0], 200)
figure, ax = plt.subplots()
ax.scatter(X[:, 0], y, s=8, color="#808890")
for tau, color in ((0.1, "tab:orange"), (0.9, "tab:orange")):
    model = RepresenterRegressor(loss=Quantile(tau), lam=3e-3).fit(X, y)
    ax.plot(X[:, 0], model.predict(X), color=color, label=f"quantile {tau:g}")
ax.plot(X[:, 0], KernelRidge(lam="auto").fit(X, y).predict(X), color="tab:blue", label="mean, by ridge regression")
ax.set(title="one data set, three losses")
ax.legend(ncols=3, fontsize=8.5)
