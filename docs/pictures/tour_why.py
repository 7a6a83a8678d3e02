"""One prediction: which training sequences decided, and which letters of the sequence."""

import matplotlib.pyplot as plt
import numpy as np

from similitude import SimilarityClassifier, attribution
from similitude.datasets import promoters
from similitude.kernels import Spectrum

GRAY = "#808890"
NAMES = {"+": "promoter", "-": "other"}
COLORS = {"+": "tab:blue", "-": "tab:orange"}
genes, labels = promoters()
model = SimilarityClassifier(Spectrum(4).normalized(), random_state=0).fit(genes[::2], labels[::2])
why = model.explain(genes[61:62])[0]

figure, axes = plt.subplots(2, 1, figsize=(8, 4.2), height_ratios=[1, 1])
largest = np.argsort(-np.abs(why.influences))[:6][::-1]
axes[0].barh(np.arange(6), why.influences[largest], color=[COLORS[why.labels[i]] for i in largest])
names = [f"{NAMES[why.labels[i]]}: {why.examples[i][:12]}…" for i in largest]
axes[0].set_yticks(np.arange(6), names)
axes[0].axvline(0, color=GRAY, linewidth=0.8)
axes[0].set(
    title="which training sequences decided: the six largest of 53",
    xlabel=f"adds to the score of {why.prediction!r}: {why.score:.2f}",
)

letters = attribution(model, genes[61])
axes[1].bar(np.arange(len(genes[61])), letters.values, color=np.where(letters.values > 0, "tab:green", "tab:red"))
axes[1].axhline(0, color=GRAY, linewidth=0.8)
axes[1].set_xticks(np.arange(len(genes[61])), list(genes[61]), family="monospace", fontsize=7)
axes[1].tick_params(axis="x", length=0)
axes[1].set(title="which letters of the sequence mattered", ylabel="adds", xlim=(-1, 57))
