"""A Gaussian kernel and its approximation by random features."""

import matplotlib.pyplot as plt
import numpy as np

from similitude.kernels import Gaussian
from similitude.maps import FourierMap

x = np.linspace(0, 5, 200)[:, None]
k = Gaussian(sigma=1.0)
figure, axes = plt.subplots(1, 2, sharey=True)
for ax, size in zip(axes, (100, 2000), strict=True):
    for seed in range(5):
        m = FourierMap(k, n_components=size, kind="plain", random_state=seed).fit(x)
        ax.plot(x, m.transform(x) @ m.transform([[0.0]]).T, color="tab:orange", linewidth=0.8)
    ax.plot(x, k.cross(x, [[0.0]]), color="tab:blue")
    ax.set(title=f"{size:,} features, five draws", xlabel="|x - z|")
axes[0].set_ylabel("K(x, z) and F(x) · F(z)")
