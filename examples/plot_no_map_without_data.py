"""
Why a map that serves every kernel must look at data
====================================================

Balcan, Blum and Vempala ("On Kernels, Margins, and Low-dimensional Mappings", section 5) hide two classes in a random
subset of all objects. The margin is sqrt(3)/2, and yet landmarks chosen without data know nothing of the classes.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from similitude import FromBlocks, margin
from similitude.datasets import lower_bound
from similitude.maps import LandmarkMap

# %%
# Two classes, hidden
# -------------------
# Objects are numbers below 2²⁰, of which few ever occur. Where they occur, the kernel separates the classes widely.

problem = lower_bound(n_bits=20, random_state=0)
kernel = FromBlocks(problem.kernel, claims=("SYMMETRIC", "PSD"), objects="indices")
objects, labels = problem.inside, problem.labels
train, test = slice(0, 512), slice(512, 1024)

found = margin(kernel, objects[:100], labels[:100])
print(f"{len(objects):,} of {2**problem.n_bits:,} objects occur; the margin of their classes is {found.value:.3f}")

# %%
# Landmarks from anywhere, landmarks from the data
# ------------------------------------------------
# A model sees an object only through its similarities to landmarks. Ten times we draw landmarks from all objects, and
# ten times from those that occur; how right is the model on new objects?

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
    print(f"20 landmarks taken {where}: {accuracies[where][sizes.index(20)]:.0%} right")

# %%
# A landmark that never occurs is equally alike to all that do, and says nothing. Only by luck, once in 1,024 draws, a
# landmark from anywhere hits one that occurs.

figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
for (where, right), style in zip(accuracies.items(), ("o--", "s-"), strict=True):
    axes.plot(sizes, [100 * one for one in right], style, label=f"landmarks {where}")
axes.set(xscale="log", xticks=sizes, xticklabels=sizes, ylim=(40, 105))
axes.set(xlabel="landmarks", ylabel="new objects right, in % (mean of 10)", title="Hidden classes")
axes.minorticks_off()
axes.legend(loc="center left")

plt.show()
