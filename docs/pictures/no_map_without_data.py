"""Three directions, and the accuracy with landmarks chosen without data and with landmarks from the data."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from similitude.datasets import lower_bound

figure, (plane, bars) = plt.subplots(1, 2)
for angle, name, color in ((0, "absent", "#808890"), (120, "class +", "tab:orange"), (240, "class -", "tab:blue")):
    x, y = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    plane.annotate("", (x, y), (0, 0), arrowprops={"arrowstyle": "->", "color": color, "lw": 2})
    plane.annotate(name, (1.15 * x, 1.12 * y), color=color, ha="left" if x > 0 else "center", va="center")
plane.set(xlim=(-1.3, 1.7), ylim=(-1.3, 1.3), aspect="equal", title="three directions")
plane.axis("off")

problem = lower_bound(random_state=0)
objects, labels = problem.inside, problem.labels
accuracies = []
for landmarks in (problem.anywhere(20, random_state=1), objects[:20]):
    F = problem.kernel(objects, landmarks)
    accuracies.append(LogisticRegression().fit(F[:512], labels[:512]).score(F[512:], labels[512:]))
drawn = bars.bar(["without data", "from the data"], accuracies, color=["tab:orange", "tab:blue"], width=0.6)
bars.bar_label(drawn, fmt="{:.2f}", color="#808890")
bars.axhline(0.5, color="#808890", linestyle=":")
bars.set(title="20 landmarks chosen …", ylabel="accuracy on new objects", ylim=(0, 1.1))
