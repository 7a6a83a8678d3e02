"""Suboptimality of stochastic gradient descent by the number of steps, corrected and as printed in the source."""

import matplotlib.pyplot as plt
import numpy as np

from similitude.datasets import rings
from similitude.kernels import Gaussian
from similitude.learners import KernelSGDSVC, RepresenterClassifier

LAM = 0.05
X, y = rings(60, random_state=0)
k = Gaussian(sigma=1.0)
G = k.gram(X)
least = RepresenterClassifier(k, loss="hinge", lam=LAM, tol=1e-8).fit(X, y).objective_


def objective(model):
    """Return the objective of equation 10 for a model."""
    a = np.zeros(len(X))
    a[model.support_] = model.dual_coef_
    return LAM * a @ G @ a + np.maximum(0, 1 - y * (G @ a)).mean()


steps = [100, 300, 1000, 3000, 10_000, 30_000]
figure, ax = plt.subplots()
for printed, color, name in ((False, "tab:blue", "with 2λ"), (True, "tab:orange", "as printed")):
    runs = [KernelSGDSVC(k, lam=LAM, n_iter=T, as_printed=printed, random_state=0).fit(X, y) for T in steps]
    ax.loglog(steps, [objective(model) - least for model in runs], "o-", color=color, label=name)
    if not printed:
        bounds = [model.suboptimality_bound_ for model in runs]
        ax.loglog(steps, bounds, color=color, linestyle=":", label="bound")
ax.set(title="objective of equation 10", xlabel="steps", ylabel="above the minimum")
ax.legend()
