"""Held-out error by the number of landmarks, for a similarity of text messages that is not a kernel."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from similitude.datasets import messages
from similitude.kernels import Edit

texts, kinds = messages()
rng = np.random.default_rng(0)
order = rng.permutation(len(texts))
train, test = [texts[i] for i in order[:500]], [texts[i] for i in order[500:]]
y, truth = kinds[order[:500]], kinds[order[500:]]
landmarks = train[:256]
F, G = Edit().cross(train, landmarks), Edit().cross(test, landmarks)
sizes = [2**i for i in range(2, 9)]
errors = []
for n in sizes:
    draws = [rng.choice(256, n, replace=False) for _ in range(5)]
    fitted = [LogisticRegression(C=100.0, max_iter=2000).fit(F[:, d], y).score(G[:, d], truth) for d in draws]
    errors.append(1 - np.array(fitted))
figure, ax = plt.subplots()
ax.fill_between(sizes, np.min(errors, axis=1), np.max(errors, axis=1), color="tab:blue", alpha=0.3, linewidth=0)
ax.plot(sizes, np.mean(errors, axis=1), "o-", color="tab:blue")
ax.set_xscale("log", base=2)
ax.set(title="spam detection by edit similarity", xlabel="landmarks", ylabel="error on new messages")
ax.set_xticks(sizes, [str(n) for n in sizes])
ax.set_ylim(0)
