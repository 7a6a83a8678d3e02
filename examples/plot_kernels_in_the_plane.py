"""
Kernels drawn in the plane
==========================

A kernel compares two objects as if they had first been mapped to a space of more dimensions. In that space a straight
line may separate classes that no straight line separates in the original space. Two classic examples show how.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np

from similitude import margin
from similitude.datasets import beyond_two, rings
from similitude.kernels import Gaussian, Linear, Polynomial, explicit_map
from similitude.learners import KernelSVC

COLORS = {-1: "tab:orange", 1: "tab:blue"}

# %%
# Numbers beyond two
# ------------------
# Which numbers x have an absolute value of at least 2? On the real line the blue numbers lie on both sides of the
# orange ones, and no threshold separates them. With the square of x as a second coordinate, the straight line x² = 4
# does.

x, label = beyond_two(60, random_state=0)

figure, (line, plane) = plt.subplots(1, 2, figsize=(8.5, 3.6), layout="constrained")
for sign, color in COLORS.items():
    of = x[label == sign, 0]
    line.scatter(of, np.zeros(len(of)), color=color, s=25, alpha=0.8)
    plane.scatter(of, of**2, color=color, s=25, alpha=0.8, label="abs(x) ≥ 2" if sign == 1 else "abs(x) < 2")
line.set(xlabel="x", yticks=[], ylim=(-1, 1), title="On the line: no threshold separates them")
plane.axhline(4, color="black", linestyle="--", linewidth=1.2, label="x² = 4")
plane.set(xlabel="x", ylabel="x²", title="With the square: a straight line does")
plane.legend(loc="upper center")

# %%
# The squares need not be computed explicitly: the polynomial kernel K(x, z) = (1 + xz)² is the dot product of such
# features, and :func:`~similitude.margin` finds the best separator in their space. The distance of the nearest number
# from the separator is the *margin*. On the real line there is no separator, and the error names conflicting examples.

found = margin(Polynomial(degree=2), x, label, bias=True)
print(found)
try:
    margin(Linear(), x, label, bias=True)
except ValueError as error:
    print(str(error).split(":")[0])

print("features of x = 3 under (1 + xz)²:", explicit_map(Polynomial(degree=2), [[3.0]]).round(3).tolist()[0])

# %%
# Rings
# -----
# No straight line in the plane separates the inner from the outer ring. A polynomial of degree two does (a circle is
# one), and so does a Gaussian, which depends on distances only. The solid line is the decision boundary, the dashed
# lines are the margin, and the circled points are the *support vectors*: without the other points the model would be
# the same.

X, y = rings(80, random_state=0)
axis = np.linspace(-2.6, 2.6, 120)
grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)


def draw(axes, kernel, title):
    """Draw the decision boundary, the margin and the support vectors of a support vector machine."""
    model = KernelSVC(kernel, C=10.0).fit(X, y)
    scores = model.decision_function(grid).reshape(len(axis), -1)
    axes.contourf(axis, axis, scores, levels=[-np.inf, 0, np.inf], colors=["tab:orange", "tab:blue"], alpha=0.18)
    axes.contour(axis, axis, scores, levels=[-1, 0, 1], colors="black", linestyles=["--", "-", "--"], linewidths=1)
    axes.scatter(X[:, 0], X[:, 1], c=[COLORS[sign] for sign in y], s=18)
    held = X[model.support_]
    axes.scatter(held[:, 0], held[:, 1], s=70, facecolors="none", edgecolors="black", linewidths=0.8)
    accuracy = model.score(X, y)
    axes.set(title=f"{title}\n{accuracy:.0%} correct, {len(held)} support vectors", aspect="equal", xlabel="x₁")
    return accuracy


figure, axes = plt.subplots(1, 3, figsize=(10.5, 4.2), sharey=True, layout="constrained")
accuracies = [
    draw(axes[0], Linear(), "linear"),
    draw(axes[1], Polynomial(degree=2), "polynomial of degree 2"),
    draw(axes[2], Gaussian(sigma=0.7), "Gaussian of width 0.7"),
]
axes[0].set_ylabel("x₂")

# %%
# The width of a Gaussian
# -----------------------
# The width of a Gaussian sets the distance at which points stop being similar. If it is too small, every point is
# similar only to itself; if it is too large, all points are equally similar. `Gaussian()` without a width uses the
# median distance of the data, which is a good default.

middle = Gaussian().resolve(X, random_state=0).sigma
figure, axes = plt.subplots(1, 3, figsize=(10.5, 4.2), sharey=True, layout="constrained")
for place, (sigma, name) in zip(axes, ((0.15, "too narrow"), (middle, "median"), (30.0, "too wide")), strict=True):
    draw(place, Gaussian(sigma=sigma), f"{name}: width {sigma:.2f}")
axes[0].set_ylabel("x₂")

plt.show()
