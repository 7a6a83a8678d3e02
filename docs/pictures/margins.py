"""The separator of largest margin in the plane, and the error of new objects at each margin."""

import matplotlib.pyplot as plt
import numpy as np

from similitude import error_at_margin
from similitude.learners import KernelSVC


def sample(n, seed):
    """Return points on either side of a line, and their labels."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1, 1], n)
    return rng.normal([0.0, 0.0], [1.2, 0.5], (n, 2)) + np.outer(y, [0.6, 1.2]), y


X, y = sample(60, 5)
model = KernelSVC("linear", C=100.0).fit(X, y)
w = model.dual_coef_.ravel() @ np.asarray(model.support_objects_)
b = float(np.ravel(model.intercept_)[0])
figure, (plane, curve) = plt.subplots(1, 2)
plane.scatter(*X.T, c=np.where(y > 0, "tab:orange", "tab:blue"))
t = np.array([X[:, 0].min(), X[:, 0].max()])
for level, style in ((0, "-"), (1, ":"), (-1, ":")):
    plane.plot(t, (level - b - w[0] * t) / w[1], style, color="tab:green")
plane.set(title="separator of largest margin", aspect="equal", ylim=(-3, 3))

found = error_at_margin(model, *sample(500, 6))
curve.fill_between(found.x, found.low, found.high, color="tab:blue", alpha=0.3, step="post", linewidth=0)
curve.step(found.x, found.y, where="post", color="tab:blue")
curve.set(title="500 new objects", xlabel="margin (cosine)", ylabel="error at margin")
