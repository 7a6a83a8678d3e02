"""
A directed network: who writes to whom?
=======================================

In a company with four departments, sales writes to planning, planning to production, production to shipping, and
shipping to sales. We observe only how many letters each person writes to each other person. Can we predict the
department of a new person? "How many letters does x write to z" is a similarity that is not *symmetric*. Many tools
silently replace it by the mean of both directions. This example shows what is lost by doing so.
"""

import matplotlib.pyplot as plt
import numpy as np

from similitude import Precomputed, SimilarityClassifier, check_kernel

# %%
# The company
# -----------
# We simulate 240 people. Everybody writes a few letters to everybody, and more to people in the next department.

rng = np.random.default_rng(0)
names = np.array(["sales", "planning", "production", "shipping"])
place = rng.permutation(np.arange(240) % 4)
department = names[place]
is_next = place[None, :] == (place[:, None] + 1) % 4
letters = rng.poisson(np.where(is_next, 0.55, 0.25)).astype(float)
np.fill_diagonal(letters, 0.0)

order = np.argsort(place, kind="stable")
middles = np.arange(4) * 60 + 30
figure, axes = plt.subplots(figsize=(5, 4.6), layout="constrained")
axes.imshow(letters[np.ix_(order, order)], cmap="gray_r", vmax=2)
axes.set(xticks=middles, yticks=middles, xticklabels=names, yticklabels=names)
axes.set(xlabel="to", ylabel="from", title="letters (darker: more)")

# %%
# A given matrix becomes a similarity of row indices. It is not a kernel, and two people prove it.

writes_to = Precomputed(letters)
people = np.arange(240)
check_kernel(writes_to, people)

# %%
# Directions matter
# -----------------
# We train on 120 people and test on the others. The model compares each person with some training people, its
# *landmarks*: by the letters written to them (``side="left"``), by the letters received from them (``"right"``), or by
# ``"both"``. The default, ``"auto"``, detects that the directions differ and uses both.

known, new = people[:120], people[120:]
one_way = {side: SimilarityClassifier(writes_to, side=side, random_state=0) for side in ("left", "right", "both")}
models = {**one_way, "mean of both": SimilarityClassifier(writes_to.symmetrized(), random_state=0)}
accuracies = {}
for name, model in models.items():
    accuracies[name] = model.fit(known, department[known]).score(new, department[new])
    print(f"{name:13} {accuracies[name]:.0%} of the new people correct")

# %%
# The mean of both directions cannot distinguish sales from production: both exchange letters with planning and
# shipping, and the direction is lost. One direction alone already separates them, and both together are most accurate.

figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), sharey=True, layout="constrained")
for panel, name in zip(axes, ("both", "mean of both"), strict=True):
    predicted = models[name].predict(new)
    counts = np.array([[np.sum((department[new] == a) & (predicted == b)) for b in names] for a in names])
    panel.imshow(counts, cmap="Blues", vmin=0, vmax=30)
    for (row, column), count in np.ndenumerate(counts):
        panel.text(column, row, count, ha="center", va="center", color="white" if count > 18 else "black")
    panel.set(xticks=range(4), yticks=range(4), xticklabels=names, yticklabels=names)
    panel.set(xlabel="predicted", title=f"{name}: {accuracies[name]:.0%} correct")
axes[0].set_ylabel("true")

plt.show()
