"""
Voices: who is speaking?
========================

Nine men say the same two vowels. Each utterance is a *time series* of twelve numbers every few milliseconds. Some men
speak faster than others, so the series have different lengths, and comparing them time step by time step makes no
sense. We use similarities that stretch time instead.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from similitude import SimilarityClassifier, check_kernel
from similitude.datasets import vowels
from similitude.kernels import DTW, GlobalAlignment

series, speakers = vowels()
print(f"{len(series)} utterances, {min(map(len, series))} to {max(map(len, series))} time steps of 12 numbers")

# %%
# Two utterances of one speaker and one of another: one of the twelve numbers over time.

chosen = [np.flatnonzero(speakers == "speaker1")[i] for i in (0, 1)] + [np.flatnonzero(speakers == "speaker4")[0]]
figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
for place, style, color in zip(chosen, ("-", "--", "-"), ("tab:blue", "tab:blue", "tab:orange"), strict=True):
    axes.plot(series[place][:, 1], style, color=color, marker=".", label=speakers[place])
axes.set(xlabel="time step (6.4 ms)", ylabel="second coefficient", title="The same vowels, three times")
axes.legend()

# %%
# Stretching time
# ---------------
# *Dynamic time warping* finds the best alignment of two series. `DTW` is the similarity based on it, which is not a
# kernel; `GlobalAlignment` sums over all alignments and is a kernel. Learning with landmarks works with both.

similarities = {"DTW": DTW(), "GlobalAlignment": GlobalAlignment()}
train, test, y_train, y_test = train_test_split(series, speakers, stratify=speakers, random_state=0)
models, accuracies = {}, {}
for name, similarity in similarities.items():
    models[name] = SimilarityClassifier(similarity, random_state=0).fit(train, y_train)
    accuracies[name] = models[name].score(test, y_test)
    verdict = check_kernel(similarity, series[:60], random_state=0).verdict
    print(f"{name:15} a kernel: {verdict:7}  {accuracies[name]:.0%} of {len(test)} new utterances correct")

# %%
# The similarities
# ----------------
# All similarities, sorted by speaker. Bright squares on the diagonal mean that utterances of one speaker are similar; a
# bright square off the diagonal means that two speakers sound similar.

order = np.argsort(speakers, kind="stable")
K = similarities["DTW"].gram([series[i] for i in order])
figure, (heat, table) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
image = heat.imshow(K, cmap="viridis")
middles = np.arange(9) * 16 + 7.5
numbers = [name.removeprefix("speaker") for name in np.unique(speakers)]
heat.set(xticks=middles, xticklabels=numbers, yticks=middles, yticklabels=numbers, xlabel="speaker", ylabel="speaker")
heat.set_title("similarities of all utterances")
figure.colorbar(image, ax=heat, shrink=0.8)

classes = models["DTW"].classes_
counts = np.zeros((9, 9), dtype=int)
np.add.at(counts, (np.searchsorted(classes, y_test), np.searchsorted(classes, models["DTW"].predict(test))), 1)
table.imshow(counts, cmap="Blues")
for (row, column), count in np.ndenumerate(counts):
    if count:
        table.text(column, row, count, ha="center", va="center", color="white" if count > 2 else "black")
table.set(xticks=range(9), xticklabels=numbers, yticks=range(9), yticklabels=numbers)
table.set(xlabel="predicted speaker", ylabel="true speaker", title="new utterances")

plt.show()
