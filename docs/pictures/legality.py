"""Eigenvalues of two Gram matrices of papers: whether they share an item, and how many items they share."""

import matplotlib.pyplot as plt
import numpy as np

from similitude.datasets import papers
from similitude.kernels import Intersection, SharesAny

tags = [paper.authors | paper.keywords for paper in papers().objects]
figure, axes = plt.subplots(1, 2)
titles = ("any shared item: not a kernel", "shared items: a kernel")
for ax, k, title in zip(axes, (SharesAny(), Intersection()), titles, strict=True):
    values = np.linalg.eigvalsh(k.gram(tags))[::-1]
    ax.bar(range(len(values)), values, color=np.where(values < -1e-9, "tab:red", "tab:blue"))
    ax.axhline(0, color="#808890", linewidth=0.8)
    ax.set(title=title, xlabel="index", ylabel="eigenvalue")
