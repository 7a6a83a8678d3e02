"""
Molecules: which dissolve in water?
===================================

A molecule is a graph: atoms connected by bonds. Alcohol dissolves in water and gasoline does not, which a chemist can
tell from the structural formula. Can a model tell from the graph? The graphs are used directly, without computing
properties.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from similitude import SimilarityClassifier, choose_kernel
from similitude.datasets import molecules, path
from similitude.kernels import Graphlet, ShortestPath, WeisfeilerLehman

graphs, labels = molecules()
names = pd.read_csv(path("molecules").with_suffix(".csv"))["name"].to_numpy()
edges, atoms, bonds = graphs[1]
print(f"{len(graphs)} molecules; ethanol has the atoms {atoms} and the bonds {edges}")

# %%
# Three graph kernels
# -------------------
# - *Weisfeiler-Lehman*: how many atoms have the same neighborhoods, up to neighbors of neighbors of neighbors?
# - *shortest paths*: how many pairs of atoms have the same elements and the same distance?
# - *graphlets*: which shapes do groups of four atoms form, regardless of their elements?

candidates = {
    "neighborhoods": WeisfeilerLehman(3).normalized(),
    "shortest paths": ShortestPath().normalized(),
    "shapes only": Graphlet(4, mode="frequency"),
}
selection = choose_kernel(candidates, graphs, labels, random_state=0)
accuracies = {row.candidate: 1 - row.error.value for row in selection.table}
for name, accuracy in accuracies.items():
    print(f"{name:15} {accuracy:.0%} of new molecules correct")

# %%
# Shape alone is not enough, because oxygen and nitrogen make a molecule soluble. The other two kernels use the elements
# and are much more accurate.
#
# What did the model learn?
# -------------------------
# ``penalty="l1"`` keeps few landmarks, so that the model is small enough to inspect.

known, new = train_test_split(np.arange(len(graphs)), stratify=labels, random_state=0)
model = SimilarityClassifier(candidates["shortest paths"], penalty="l1", n_landmarks=60, random_state=0)
model.fit([graphs[i] for i in known], labels[known])
accuracy = model.score([graphs[i] for i in new], labels[new])
print(f"{accuracy:.0%} of {len(new)} new molecules correct, with {model.n_similarity_calls_} similarities for each")

COLORS = {"C": "#bbbbbb", "O": "#d55e00", "N": "#0072b2", "S": "#f0e442", "Cl": "#009e73"}


def draw(axes, graph, title):
    """Draw atoms and bonds."""
    edges, atoms, bonds = graph
    drawn = nx.Graph(edges)
    drawn.add_nodes_from(range(len(atoms)))
    where = nx.kamada_kawai_layout(drawn)
    widths = {"-": 1.5, ":": 2.5, "=": 4.0, "#": 6.0}
    nx.draw_networkx_edges(drawn, where, edgelist=edges, width=[widths[bond] for bond in bonds], ax=axes)
    colors = [COLORS.get(atom, "#cc79a7") for atom in atoms]
    nx.draw_networkx_nodes(drawn, where, range(len(atoms)), node_color=colors, node_size=150, ax=axes)
    nx.draw_networkx_labels(drawn, where, dict(enumerate(atoms)), font_size=8, ax=axes)
    axes.set_title(title, fontsize=10)
    axes.set_axis_off()
    axes.margins(0.15)


# %%
# The largest of the new molecules, and the training molecules, or groups of similar ones, that decided its prediction:
# positive influences speak for the predicted class.

asked = max(new, key=lambda i: len(graphs[i][1]))
why = model.explain([graphs[asked]])[0]
print(f"{names[asked]} is {labels[asked]}; predicted: {why.prediction}, with a score of {why.score:+.2f}")

figure, axes = plt.subplots(2, 3, figsize=(8.5, 5.8), layout="constrained")
draw(axes.flat[0], graphs[asked], f"new: {names[asked]}\n→ {why.prediction}")
for place, i, label, added in zip(axes.flat[1:], known[why.positions], why.labels, why.influences, strict=False):
    draw(place, graphs[i], f"{names[i]}, {label}\n{added:+.2f}")

plt.show()
