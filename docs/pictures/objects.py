"""Two recordings aligned by dynamic time warping, and the Gram matrix of all under the global alignment kernel."""

import matplotlib.pyplot as plt
import numpy as np

from similitude.datasets import vowels
from similitude.kernels import GlobalAlignment


def best_alignment(a, b):
    """Return the pairs of times that dynamic time warping matches."""
    cost = np.full((len(a) + 1, len(b) + 1), np.inf)
    cost[0, 0] = 0
    for i in range(len(a)):
        for j in range(len(b)):
            cost[i + 1, j + 1] = np.sum((a[i] - b[j]) ** 2) + min(cost[i, j], cost[i, j + 1], cost[i + 1, j])
    i, j = len(a), len(b)
    pairs = []
    while i:
        pairs.append((i - 1, j - 1))
        i, j = min(((i - 1, j - 1), (i - 1, j), (i, j - 1)), key=lambda place: cost[place])
    return pairs


voices, speakers = vowels()
first, second = voices[0], voices[1]
figure, (series, matrix) = plt.subplots(1, 2)
series.plot(first[:, 0] + 1.5, color="tab:blue")
series.plot(second[:, 0], color="tab:orange")
for i, j in best_alignment(first, second):
    series.plot([i, j], [first[i, 0] + 1.5, second[j, 0]], color="#808890", linewidth=0.5)
series.set(title="two series, best alignment", xlabel="time", yticks=[])
order = np.argsort(speakers, kind="stable")
gram = GlobalAlignment().gram([voices[i] for i in order])
matrix.imshow(gram, cmap="viridis")
matrix.set(title="144 recordings by speaker", xticks=[], yticks=[])
