"""One prediction on wines: weights of landmarks, which cancel, beside influences of examples, which do not."""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from similitude import SimilarityClassifier

X, y = load_wine(return_X_y=True)
model = SimilarityClassifier("gaussian", random_state=0).fit(X[::2], y[::2])
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    weights = model.explain(X[1:2], by="landmarks")[0]
why = model.explain(X[1:2])[0]
figure, axes = plt.subplots(1, 2, figsize=(8, 3))
for ax, found, title in ((axes[0], weights, "weights of landmarks"), (axes[1], why, "influences of examples")):
    shown = found.influences[:12][::-1]
    ax.barh(np.arange(len(shown)), shown, color=np.where(shown > 0, "tab:blue", "tab:orange"))
    ax.axvline(0, color="gray", linewidth=0.8)
    ax.set(title=f"{title}: the twelve largest", yticks=[], xlabel=f"adds to a score of {found.score:.2f}")
axes[1].set_yticks(np.arange(12), [f"class {label}" for label in why.labels[:12][::-1]])
figure.tight_layout()
