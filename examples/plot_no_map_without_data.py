"""
Why a map for every kernel must use data
========================================

Balcan, Blum and Vempala ("On Kernels, Margins, and Low-dimensional Mappings", section 5) hide two classes in a random
subset of all objects. Their margin is sqrt(3)/2, and yet landmarks chosen without data carry no information on the
classes.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from similitude import FromBlocks, margin
from similitude.datasets import lower_bound
from similitude.maps import LandmarkMap

# %%
# Two hidden classes
# ------------------
# Objects are the integers below 2²⁰, of which only a few have positive probability. On these the kernel separates the
# classes with a large margin.

problem = lower_bound(n_bits=20, random_state=0)
kernel = FromBlocks(problem.kernel, claims=("SYMMETRIC", "PSD"), objects="indices")
objects, labels = problem.inside, problem.labels
train, test = slice(0, 512), slice(512, 1024)

found = margin(kernel, objects[:100], labels[:100])
print(f"{len(objects):,} of {2**problem.n_bits:,} objects occur; the margin of their classes is {found.value:.3f}")

# %%
# Landmarks from anywhere and landmarks from the data
# ---------------------------------------------------
# A model sees an object only through its similarities to landmarks. We draw landmarks ten times from all objects and
# ten times from those that occur, and compare the accuracies on new objects.

sizes = [2, 5, 10, 20, 50, 100]
rng = np.random.default_rng(0)
ways = {
    "anywhere": lambda size: problem.anywhere(size, random_state=rng),
    "from the data": lambda size: rng.choice(objects[train], size, replace=False),
}
accuracies = {where: [] for where in ways}
for where, drawn in ways.items():
    for size in sizes:
        models = [make_pipeline(LandmarkMap(kernel, landmarks=drawn(size)), LogisticRegression()) for _ in range(10)]
        right = [model.fit(objects[train], labels[train]).score(objects[test], labels[test]) for model in models]
        accuracies[where].append(np.mean(right))
    print(f"20 landmarks {where}: {accuracies[where][sizes.index(20)]:.0%} correct")

# %%
# A landmark that never occurs is equally similar to all objects that do, and therefore useless. A landmark from
# anywhere occurs only with probability 1/1,024.

figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
for (where, right), style in zip(accuracies.items(), ("o--", "s-"), strict=True):
    axes.plot(sizes, [100 * one for one in right], style, label=f"landmarks {where}")
axes.set(xscale="log", xticks=sizes, xticklabels=sizes, ylim=(40, 105))
axes.set(xlabel="landmarks", ylabel="accuracy on new objects, % (mean of 10)", title="Hidden classes")
axes.minorticks_off()
axes.legend(loc="center left")

plt.show()
