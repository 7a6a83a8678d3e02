"""
DNA: which sequences are promoters?
===================================

A promoter is a short DNA sequence where the reading of a gene starts. The objects are strings of 57 letters, not
vectors, and all we need is a function that says how similar two strings are. Is the function useful? How accurate is a
model based on it, and how does the model decide?
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
# A first similarity
# ------------------
# Two sequences are similar if they have the same letter in many positions. Any Python function of two objects can be
# used.


def agree(s, t):
    """Return the fraction of positions with the same letter."""
    return sum(a == b for a, b in zip(s, t, strict=True)) / len(s)


# %%
# Before anything is trained, :func:`~similitude.assess` tests whether the function is related to the labels. The *gap*
# of an example is how much more similar it is, on average, to its own class than to the other one.

goodness = assess(agree, genes, labels, random_state=0)
print(f"related to the labels? p = {goodness.p_value.value:.3f}")
print(f"examples with a positive gap: {np.mean(goodness.strong.gaps > 0):.0%}")

gaps = goodness.strong.gaps
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
edges = np.linspace(gaps.min(), gaps.max(), 25)
for name, color in (("promoter", "tab:blue"), ("other DNA", "tab:orange")):
    axes.hist(gaps[labels[goodness.used] == name], edges, alpha=0.75, color=color, label=name)
axes.axvline(0, color="black", linewidth=1)
axes.set(xlabel="gap (positive: more similar to the own class)", ylabel="sequences", title="Fraction of equal letters")
axes.legend()

# %%
# The other sequences are diverse: many of them are no more similar to each other than to promoters. Promoters have
# something in common, and a model can learn it.
#
# Better similarities
# -------------------
# Promoters share short substrings, which may be shifted or have a letter changed, and there are kernels for this. All
# candidates are compared on the same five folds. `Edit` is not a kernel and takes part as well.

candidates = {
    "equal letters": agree,
    "substrings of up to 6": Spectrum(6, blended=True).normalized(),
    "substrings of 6 with gaps": Gapped(6, 2).normalized(),
    "substrings of 5, one mismatch": Mismatch(5, 1).normalized(),
    "edit distance": Edit(),
}
selection = choose_kernel(candidates, genes, labels, random_state=0)
accuracies = {row.candidate: 1 - row.error.value for row in selection.table}
for name, accuracy in accuracies.items():
    print(f"{name:30} {accuracy:.1%} of new sequences correct, {check_kernel(candidates[name], genes).verdict}")

# %%
# With about a hundred sequences, the differences between the better candidates are not significant: see
# ``row.as_good``, and the interval of each error.

rows = selection.table
names = [row.candidate for row in rows]
errors = np.array([(row.error.value, row.error.low, row.error.high) for row in rows])
figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
axes.errorbar(
    100 * errors[:, 0], names, xerr=100 * np.abs(errors[:, 1:] - errors[:, :1]).T, fmt="o", color="tab:blue", capsize=3
)
axes.invert_yaxis()
axes.set(xlabel="error on new sequences, % (with 95 % interval)", xlim=(0, None), title="Five similarities")

# %%
# Why?
# ----
# The score of a prediction is an exact sum over training examples, or groups of similar ones, each with its label.
# Positive influences speak for the predicted class. (``attribution(model, genes[1])`` tells which letters mattered.)

train, test = np.arange(0, 106, 2), np.arange(1, 106, 2)
model = SimilarityClassifier(selection.best, random_state=0).fit([genes[i] for i in train], labels[train])
accuracy = model.score([genes[i] for i in test], labels[test])
print(f"trained on half of the sequences, tested on the other half: {accuracy:.0%} correct")

plt.show()

# %%
# A promoter that was not in the training set:

model.explain([genes[1]])[0]
