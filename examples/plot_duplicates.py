"""
Duplicates: which records are the same person?
==============================================

A list of customers was typed by hand, and some of them are in it twice: with a letter too many, one missing, or two of
them exchanged. No list of true names is at hand, and there are no labels to learn from. All we have is a similarity of
two texts, and a question: which pairs are so similar that they must be the same person?
"""

import matplotlib.pyplot as plt
import numpy as np

from similitude.kernels import Edit, Jaccard
from similitude.learners import SimilarityIndex

# %%
# The records
# -----------
# 1,000 people with made-up names, of whom 200 are entered once more with one to three typing errors. We know which, so
# that we can count what is found; the search does not.

rng = np.random.default_rng(0)
SYLLABLES = [a + b + c for a in "bdfgklmnprstvz" for b in "aeiou" for c in ("", "", "n", "r", "l", "s")]
TOWNS = ["Hamburg", "Lisbon", "Vienna", "Prague", "Milan", "Oslo", "Geneva", "Porto", "Krakow", "Bremen"]


def person():
    """Return a first name, a last name and a town."""
    first, last = ("".join(rng.choice(SYLLABLES, n)).capitalize() for n in (2, rng.integers(2, 4)))
    return f"{first} {last}, {rng.choice(TOWNS)}"


def typed(text):
    """Return the text with one to three typing errors."""
    letters = list(text)
    for _ in range(rng.integers(1, 4)):
        place, what = rng.integers(1, len(letters)), rng.integers(3)
        if what == 0:
            del letters[place]
        elif what == 1:
            letters.insert(place, rng.choice(list("aeinrst")))
        else:
            letters[place - 1 : place + 1] = letters[place], letters[place - 1]
    return "".join(letters)


people = [person() for _ in range(1000)]
copied = rng.choice(1000, 200, replace=False)
records = people + [typed(people[i]) for i in copied]
true_pairs = {(int(i), 1000 + copy) for copy, i in enumerate(copied)}
print(f"{records[copied[0]]!r} is also there as {records[1000]!r}")

# %%
# Close pairs
# -----------
# `SimilarityIndex` returns all pairs above a threshold. For the edit similarity it knows a cheap upper bound, so that
# most of the 719,400 pairs need not be compared; the result is exact all the same. We compare it with Jaccard's
# similarity of sets of letter pairs.


def letter_pairs(text):
    """Return the set of all pairs of neighboring letters."""
    return {text[i : i + 2] for i in range(len(text) - 1)}


candidates = {"edit": (Edit(), 0.6), "shared pairs of letters": (Jaccard().pullback(letter_pairs), 0.35)}
shares = {}
for name, (similarity, lowest) in candidates.items():
    index = SimilarityIndex(similarity).fit(records)
    first, second, values = index.pairs(lowest)
    right = np.array([pair in true_pairs for pair in zip(first.tolist(), second.tolist(), strict=True)])
    order = np.argsort(-values, kind="stable")
    hits = np.cumsum(right[order])
    shares[name] = values[order], hits / len(true_pairs), hits / np.arange(1, len(order) + 1)
    print(f"{name:24} {index.n_evaluated_:,} pairs compared")

# %%
# Which threshold?
# ----------------
# A low threshold finds all duplicates and many other pairs; a high one misses most. Each point of a curve is a
# threshold. A typing error changes one letter, but up to three pairs of letters: the edit similarity fits the errors
# better.

threshold = 0.78
figure, axes = plt.subplots(figsize=(5.6, 3.8), layout="constrained")
for (name, (_, recall, precision)), color in zip(shares.items(), ("tab:blue", "tab:orange"), strict=True):
    axes.plot(recall, precision, color=color, label=name)
values, recall, precision = shares["edit"]
last = np.flatnonzero(values >= threshold)[-1]
axes.plot(recall[last], precision[last], "o", color="tab:blue", label=f"threshold {threshold}")
axes.set(xlabel="share of the duplicates that is found", ylabel="share of the pairs that is right", xlim=(0.8, 1.01))
axes.set_title("200 duplicates among 1,200 records")
axes.legend(loc="lower left")

# %%
# Groups
# ------
# ``duplicates`` joins pairs to groups, which is what one wants to merge. Without known duplicates, look at the closest
# pairs just below and just above a threshold: a person sees at once whether it is too low or too high.

index = SimilarityIndex(Edit()).fit(records)
groups = index.duplicates(threshold)
together = sum(len(group) == 2 and tuple(group.tolist()) in true_pairs for group in groups)
print(f"threshold {threshold}: {len(groups)} groups, {together} of them exactly one person and one copy")
first, second, values = index.pairs(0.7)
for place in np.argsort(-np.where(values < threshold, values, 0))[:3]:
    print(f"  not joined, {values[place]:.2f}: {records[first[place]]} | {records[second[place]]}")

plt.show()
