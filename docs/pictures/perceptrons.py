"""Mistakes of a kernel perceptron on two rings, and the bound of the theorem."""

import matplotlib.pyplot as plt
import numpy as np

from similitude.datasets import rings
from similitude.kernels import Polynomial
from similitude.learners import KernelPerceptron

X, y = rings(300, random_state=0)
figure, ax = plt.subplots()
for seed in range(8):
    order = np.random.default_rng(seed).permutation(300)
    stream = KernelPerceptron(Polynomial(2))
    counts = []
    for _ in range(5):
        for start in range(0, 300, 10):
            batch = order[start : start + 10]
            stream.partial_fit(X[batch], y[batch], classes=[-1, 1])
            counts.append(stream.mistakes_)
    ax.plot(10 * np.arange(1, len(counts) + 1), counts, color="tab:blue", linewidth=1)
bound = KernelPerceptron(Polynomial(2), epochs=200).fit(X, y).mistake_bound_.value
ax.axhline(bound, color="tab:orange", linestyle="--")
ax.annotate(
    f"bound of the theorem: {bound}", (20, bound), xytext=(0, -13), textcoords="offset points", color="tab:orange"
)
ax.set(title="two rings, polynomial kernel, eight orders of the examples", xlabel="examples seen", ylabel="mistakes")
ax.set_ylim(0)
