"""Probability that landmarks fail on a hard problem, by their number."""

import matplotlib.pyplot as plt
import numpy as np

from similitude import bounds
from similitude.datasets import atoms

EPSILON, GAMMA, DELTA = 0.1, 0.2, 0.05
rng = np.random.default_rng(0)
problem = atoms(EPSILON, GAMMA, random_state=0)
sizes = np.unique(np.geomspace(10, 3000, 40).astype(int))
failures = []
for n in sizes:
    # Atoms that were not drawn have no features: their total mass is the error.
    drawn = rng.multinomial(n, problem.masses, size=300) > 0
    failures.append(np.mean((~drawn) @ problem.masses > EPSILON))

figure, ax = plt.subplots()
ax.semilogx(sizes, failures, color="tab:blue")
ax.axhline(DELTA, color="#808890", linestyle=":")
for n, name in (
    (bounds.practical_landmarks(EPSILON, GAMMA), "practice"),
    (bounds.landmarks(EPSILON, GAMMA, DELTA), "theorem"),
):
    ax.axvline(n, color="tab:orange", linestyle="--")
    ax.annotate(f"{name}: {n:,}", (n, 0.8), xytext=(6, 0), textcoords="offset points", color="tab:orange")
ax.set(
    title=f"how often the error exceeds {EPSILON:g} (margin {GAMMA:g})", xlabel="landmarks", ylabel="rate in 300 draws"
)
ax.set_xlim(10, 9000)
