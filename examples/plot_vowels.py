"""
Voices: who is speaking?
========================

Nine men say the same two vowels. Each utterance is a *time series*: twelve numbers every few milliseconds, and some
speak faster than others, so that no two have the same length. Comparing the first moment with the first, the second
with the second and so on makes no sense. We let time stretch instead.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from similitude import SimilarityClassifier, check_kernel
from similitude.datasets import vowels
from similitude.kernels import DTW, GlobalAlignment

series, speakers = vowels()
print(f"{len(series)} utterances, {min(map(len, series))} to {max(map(len, series))} moments of 12 numbers")

# %%
# Two utterances of one speaker and one of another, one of the twelve numbers of each over time.

chosen = [np.flatnonzero(speakers == "speaker1")[i] for i in (0, 1)] + [np.flatnonzero(speakers == "speaker4")[0]]
figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
for place, style, color in zip(chosen, ("-", "--", "-"), ("tab:blue", "tab:blue", "tab:orange"), strict=True):
    axes.plot(series[place][:, 1], style, color=color, marker=".", label=speakers[place])
axes.set(xlabel="moment (6.4 ms each)", ylabel="second coefficient", title="The same vowels, three times")
axes.legend()

# %%
# Time that stretches
# -------------------
# *Dynamic time warping* looks for the best way to lay one series along the other. `DTW` makes a similarity of it, and
# it is not a kernel; where a kernel is needed, `GlobalAlignment` sums over all ways instead. For learning with
# landmarks we need not care: both will do.

similarities = {"DTW": DTW(), "GlobalAlignment": GlobalAlignment()}
train, test, y_train, y_test = train_test_split(series, speakers, stratify=speakers, random_state=0)
models, accuracies = {}, {}
for name, similarity in similarities.items():
    models[name] = SimilarityClassifier(similarity, random_state=0).fit(train, y_train)
    accuracies[name] = models[name].score(test, y_test)
    verdict = check_kernel(similarity, series[:60], random_state=0).verdict
    print(f"{name:15} a kernel: {verdict:7}  {accuracies[name]:.0%} of {len(test)} new utterances right")

# %%
# What the model sees
# -------------------
# All similarities at once, sorted by speaker. Bright squares on the diagonal are what we hope for: each voice is like
# itself. Where a square off the diagonal is bright, two men sound alike.

order = np.argsort(speakers, kind="stable")
K = similarities["DTW"].gram([series[i] for i in order])
figure, (heat, table) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
image = heat.imshow(K, cmap="viridis")
middles = np.arange(9) * 16 + 7.5
numbers = [name.removeprefix("speaker") for name in np.unique(speakers)]
heat.set(xticks=middles, xticklabels=numbers, yticks=middles, yticklabels=numbers, xlabel="speaker", ylabel="speaker")
heat.set_title("similarity of every two utterances")
figure.colorbar(image, ax=heat, shrink=0.8)

classes = models["DTW"].classes_
counts = np.zeros((9, 9), dtype=int)
np.add.at(counts, (np.searchsorted(classes, y_test), np.searchsorted(classes, models["DTW"].predict(test))), 1)
table.imshow(counts, cmap="Blues")
for (row, column), count in np.ndenumerate(counts):
    if count:
        table.text(column, row, count, ha="center", va="center", color="white" if count > 2 else "black")
table.set(xticks=range(9), xticklabels=numbers, yticks=range(9), yticklabels=numbers)
table.set(xlabel="speaker according to the model", ylabel="speaker", title="new utterances")

plt.show()
