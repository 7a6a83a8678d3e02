"""How many landmarks the theorems require for a kernel, used as a kernel and as a similarity."""

import matplotlib.pyplot as plt
import numpy as np

from similitude import bounds

EPSILON, DELTA = 0.1, 0.05
gammas = np.geomspace(0.01, 0.9, 40)
as_kernel = [bounds.landmarks(EPSILON, g, DELTA) for g in gammas]
as_similarity = []
for g in gammas:
    _, gap = bounds.kernel_as_similarity(0, g, accuracy=EPSILON * g / 16)
    as_similarity.append(2 * bounds.similarity_landmarks(gap, DELTA))
figure, ax = plt.subplots()
ax.loglog(gammas, as_kernel, color="tab:blue", label="as a kernel (Lemma 1)")
ax.loglog(gammas, as_similarity, color="tab:orange", label="as a similarity (Theorems 4, 7 and 2)")
ax.set(title="landmarks required for an error of 0.1", xlabel="margin of the kernel", ylabel="landmarks")
ax.legend()
