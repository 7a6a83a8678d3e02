"""Figure 3.1 of Balcan and Blum, and the gaps of its three objects."""

import matplotlib.pyplot as plt
import numpy as np

from similitude.datasets import figure_3_1

problem = figure_3_1()
figure, (plane, bars) = plt.subplots(1, 2)
names = ["+ (150°)", "+ (30°)", "- (-30°)"]
for (x, y), label, name in zip(problem.points, problem.labels, names, strict=True):
    color = "tab:orange" if label > 0 else "tab:blue"
    plane.annotate("", (x, y), (0, 0), arrowprops={"arrowstyle": "->", "color": color, "lw": 2})
    plane.annotate(name, (1.25 * x, 1.35 * y), color=color, ha="center", va="center")
plane.set(xlim=(-1.5, 1.5), ylim=(-1, 1), aspect="equal", title="two classes, margin 1/2")
plane.axis("off")
place = np.arange(3)
bars.bar(place - 0.2, problem.gaps(), 0.4, color="tab:green", label="equal weights")
bars.bar(place + 0.2, problem.gaps(weights=[0, 1, 0.5]), 0.4, color="tab:purple", label="weights 0, 1, 1/2")
bars.axhline(0, color="#808890", linewidth=0.8)
bars.set_xticks(place, names)
bars.set(ylabel="gap", title="gap of each object", ylim=(-0.4, 1.9))
bars.legend(ncols=2, loc="upper center", fontsize=8.5)
