"""The way of the library in three panels: two objects and their similarity, similarities to landmarks, a decision."""

import matplotlib.pyplot as plt
import numpy as np

from similitude import FromPairs, SimilarityClassifier
from similitude.datasets import promoters

GRAY = "#808890"
COLORS = {"+": "tab:blue", "-": "tab:orange"}


def agree(s, t):
    """Return the fraction of positions with the same letter."""
    return sum(a == b for a, b in zip(s, t, strict=True)) / len(s)


genes, labels = promoters()
landmarks = np.concatenate([np.flatnonzero(labels == sign)[:20] for sign in "+-"])
new = np.concatenate([np.flatnonzero(labels == sign)[20:40] for sign in "+-"])
rest = np.setdiff1d(np.arange(len(genes)), new)
places = np.searchsorted(rest, landmarks)
model = SimilarityClassifier(FromPairs(agree, cost=0), landmark_indices=places, random_state=0)
model.fit([genes[i] for i in rest], labels[rest])

figure, axes = plt.subplots(1, 3, figsize=(9, 3.1), width_ratios=[1.15, 1, 1])
K = np.array([[agree(genes[i], genes[j]) for j in landmarks] for i in new])
first, second = genes[new[0]], genes[landmarks[np.argmax(K[0])]]
for place, (a, b) in enumerate(zip(first, second, strict=True)):
    style = {"color": "tab:green", "weight": "bold"} if a == b else {}
    for height, letter in ((0.86, a), (0.78, b)):
        axes[0].text(place % 19 / 19, height - place // 19 * 0.24, letter, family="monospace", fontsize=9, **style)
axes[0].text(0, 0.14, f"{round(K[0].max() * 57)} of 57 letters agree:")
axes[0].text(0, 0.01, f"similarity {K[0].max():.2f}", fontsize=11, color="tab:green")
axes[0].set(title="1. a function of two objects", xlim=(0, 1), ylim=(0, 1))
axes[0].axis("off")

axes[1].imshow(K, cmap="viridis", vmin=0.1, vmax=0.55, aspect="auto")
axes[1].axhline(19.5, color="white")
axes[1].axvline(19.5, color="white")
axes[1].set(xticks=[9.5, 29.5], xticklabels=["promoters", "others"], yticks=[9.5, 29.5], xlabel="40 landmarks")
axes[1].set_yticklabels(["promoters", "others"], rotation=90, va="center")
axes[1].set_title("2. similarities to landmarks")

scores = -model.decision_function([genes[i] for i in new])  # positive: a promoter
heights = np.random.default_rng(0).uniform(-0.3, 0.3, len(new))
for sign, place in (("+", 1), ("-", 0)):
    of = labels[new] == sign
    axes[2].scatter(scores[of], place + heights[of], s=16, color=COLORS[sign])
axes[2].axvline(0, color=GRAY, linestyle="--", linewidth=1)
axes[2].set(yticks=[0, 1], yticklabels=["others", "promoters"], xlabel="score of 40 new sequences")
axes[2].set_title(f"3. a model: {np.mean((scores > 0) == (labels[new] == '+')):.0%} right")
