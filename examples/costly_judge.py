"""
A judge that is paid for each answer
====================================

A stand-in for a language model or a cross-encoder: it takes a moment for each pair, and every answer costs 0.2 cents.
A budget bounds what a fit may spend, and a cache remembers each answer, so that the second fit is free.
"""

import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from similitude import FromPairs, SimilarityClassifier, cost_curve

rng = np.random.default_rng(0)
GOOD = ["lovely", "great", "warm", "kind", "bright"]
BAD = ["dull", "slow", "cold", "rude", "broken"]
COMMON = ["the", "a", "room", "was", "and", "we", "food", "bed", "view", "stay", "door", "night", "with", "not", "day"]


def review(good):
    """Return a few words about a stay."""
    return " ".join(rng.choice([*(GOOD if good else BAD), *COMMON], 12))


labels = rng.random(220) < 0.5
texts = [review(good) for good in labels]


def judge(s, t):
    """Say how alike two reviews are, after a moment of thought."""
    time.sleep(1e-5)
    s, t = set(s.split()), set(t.split())
    return len(s & t) / len(s | t)


# %%
# What is accuracy worth? One budgeted run tells.
paid = FromPairs(judge, cost=0.002, workers=1)
curve = cost_curve(paid, texts, labels, max_calls=6_000, random_state=0)
print(curve)

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.errorbar(curve.x, curve.y, yerr=[curve.y - curve.low, curve.high - curve.y], fmt="o-", capsize=3, color="tab:blue")
axes.axhline(curve.majority, color="tab:orange", linestyle="--", label="always the most frequent class")
axes.set(xlabel="calls of the judge (500 cost a dollar)", ylabel="accuracy on left-out reviews")
axes.set_title(f"All {len(texts) ** 2:,} pairs would cost {len(texts) ** 2 * 0.002:.0f} dollars")
axes.legend(loc="lower right")

# %%
# A fit within a budget, with a cache in a file. Tomorrow's run pays only for new pairs.
folder = tempfile.TemporaryDirectory()
remembered = paid.cached(Path(folder.name) / "pairs.sqlite", name="judge-v1")
model = SimilarityClassifier(remembered, max_calls=6_000, random_state=0).fit(texts, labels)
print(model.calls_)
print(model.verdict())

again = SimilarityClassifier(remembered, max_calls=6_000, random_state=0).fit(texts, labels)
print("the second fit:", again.calls_)
remembered.store.close()
folder.cleanup()

plt.show()
