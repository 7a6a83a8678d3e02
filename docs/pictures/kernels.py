"""No threshold on x separates |x| >= 2; in the plane of (x, x²) a straight line does."""

import matplotlib.pyplot as plt

from similitude.datasets import beyond_two

X, y = beyond_two(60, random_state=0)
x = X[:, 0]
colors = ["tab:orange" if label > 0 else "tab:blue" for label in y]
figure, (line, plane) = plt.subplots(1, 2, sharex=True)
line.scatter(x, 0 * x, c=colors)
line.set(title="x", yticks=[], xlabel="x")
line.spines["left"].set_visible(False)
plane.scatter(x, x**2, c=colors)
plane.axhline(4, color="tab:green")
plane.set(title="(x, x²), and x² = 4", xlabel="x", ylabel="x²")
