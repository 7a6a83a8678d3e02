"""Papers compared by whether they share anything, and by how much they share: the eigenvalues of two Gram matrices."""

import matplotlib.pyplot as plt
import numpy as np

from similitude.datasets import papers
from similitude.kernels import Intersection, SharesAny

tags = [paper.authors | paper.keywords for paper in papers().objects]
figure, axes = plt.subplots(1, 2)
for ax, k, title in zip(
    axes, (SharesAny(), Intersection()), ("share anything? no kernel", "how much? a kernel"), strict=True
):
    values = np.linalg.eigvalsh(k.gram(tags))[::-1]
    ax.bar(range(len(values)), values, color=np.where(values < -1e-9, "tab:red", "tab:blue"))
    ax.axhline(0, color="#808890", linewidth=0.8)
    ax.set(title=title, xlabel="number", ylabel="eigenvalue")
