"""
DNA: which pieces start a gene?
===============================

A promoter is a short piece of DNA where the reading of a gene starts. The objects here are strings of 57 letters, not
vectors; all that we bring is a function that says how alike two strings are. Is it any good? What does a model make
of it, and why does it decide as it does?
"""

import matplotlib.pyplot as plt
import numpy as np

from similitude import SimilarityClassifier, assess, check_kernel, choose_kernel
from similitude.datasets import promoters
from similitude.kernels import Edit, Gapped, Mismatch, Spectrum

genes, signs = promoters()
labels = np.where(signs == "+", "promoter", "other DNA")
print(f"{len(genes)} sequences; a promoter: {genes[0]}")

# %%
# A first idea
# ------------
# Two sequences are alike if they have the same letter in many places. Any Python function of two objects will do.


def agree(s, t):
    """Return the share of places with the same letter."""
    return sum(a == b for a, b in zip(s, t, strict=True)) / len(s)


# %%
# Before anything is trained, :func:`~similitude.assess` tells whether the function has to do with the labels at all.
# The *gap* of an example is how much more alike it is, on average, to its own class than to the other one.

goodness = assess(agree, genes, labels, random_state=0)
print(f"nothing to do with the labels? p = {goodness.p_value.value:.3f}")
print(f"examples nearer to their own class: {np.mean(goodness.strong.gaps > 0):.0%}")

gaps = goodness.strong.gaps
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
edges = np.linspace(gaps.min(), gaps.max(), 25)
for name, color in (("promoter", "tab:blue"), ("other DNA", "tab:orange")):
    axes.hist(gaps[labels[goodness.used] == name], edges, alpha=0.75, color=color, label=name)
axes.axvline(0, color="black", linewidth=1)
axes.set(xlabel="gap: more alike to the own class  →", ylabel="sequences", title="Same letter in the same place")
axes.legend()

# %%
# Other DNA is a motley crowd: many of its sequences are no more alike to each other than to promoters. The promoters
# have something in common. A model can learn from that.
#
# Better ideas
# ------------
# Promoters share short *words* of letters, and the words may be shifted or have a letter changed. Kernels for that are
# there already. All are compared on the same five folds; `Edit` is not a kernel, and takes part all the same.

candidates = {
    "same places": agree,
    "words of up to 6": Spectrum(6, blended=True).normalized(),
    "words of 6 with gaps": Gapped(6, 2).normalized(),
    "words of 5, one letter wrong": Mismatch(5, 1).normalized(),
    "edit distance": Edit(),
}
selection = choose_kernel(candidates, genes, labels, random_state=0)
accuracies = {row.candidate: 1 - row.error.value for row in selection.table}
for name, accuracy in accuracies.items():
    print(f"{name:30} {accuracy:.1%} of new sequences right, {check_kernel(candidates[name], genes).verdict}")

# %%
# With about a hundred sequences, the differences between the better ones are within chance: the table knows that, too
# (``row.as_good``), and each error comes with its interval.

rows = selection.table
names = [row.candidate for row in rows]
errors = np.array([(row.error.value, row.error.low, row.error.high) for row in rows])
figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
axes.errorbar(
    100 * errors[:, 0], names, xerr=100 * np.abs(errors[:, 1:] - errors[:, :1]).T, fmt="o", color="tab:blue", capsize=3
)
axes.invert_yaxis()
axes.set(xlabel="wrong on new sequences, in % (with 95 % interval)", xlim=(0, None), title="Five ideas of likeness")

# %%
# Why?
# ----
# A model is a weighted sum of similarities to a few examples, its *landmarks*. So every decision can be taken apart:
# what did each landmark add? Above zero is for a promoter, below zero against it.

train, test = np.arange(0, 106, 2), np.arange(1, 106, 2)
model = SimilarityClassifier(selection.best, random_state=0).fit([genes[i] for i in train], labels[train])
accuracy = model.score([genes[i] for i in test], labels[test])
print(f"half of the sequences teach, the other half test: {accuracy:.0%} right\n")
print(model.explain([genes[1]])[0])  # this one is a promoter, and was not among the teachers

plt.show()
