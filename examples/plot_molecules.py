"""
Molecules: what dissolves in water?
===================================

A molecule is a graph: atoms joined by bonds. Alcohol dissolves in water, petrol does not; a chemist sees it from the
drawing. Can a model see it from the graph? No table of properties is prepared: graphs go in as they are.
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
# Three ways to compare two graphs
# --------------------------------
# - *Weisfeiler-Lehman*: how many atoms have like neighborhoods, neighbors of neighbors and so on?
# - *shortest paths*: how many pairs of atoms are of the same kinds and equally far apart?
# - *graphlets*: which shapes do groups of four atoms form, whatever the atoms are?

candidates = {
    "neighborhoods": WeisfeilerLehman(3).normalized(),
    "shortest paths": ShortestPath().normalized(),
    "shapes only": Graphlet(4, mode="frequency"),
}
selection = choose_kernel(candidates, graphs, labels, random_state=0)
accuracies = {row.candidate: 1 - row.error.value for row in selection.table}
for name, accuracy in accuracies.items():
    print(f"{name:15} {accuracy:.0%} of new molecules right")

# %%
# Shape alone is not enough: it is oxygen and nitrogen that hold on to water. The others look at atoms and do much
# better.
#
# What did it learn?
# ------------------
# We keep few landmarks (``penalty="l1"``), so that the model is short enough to look at.

known, new = train_test_split(np.arange(len(graphs)), stratify=labels, random_state=0)
model = SimilarityClassifier(candidates["shortest paths"], penalty="l1", n_landmarks=60, random_state=0)
model.fit([graphs[i] for i in known], labels[known])
accuracy = model.score([graphs[i] for i in new], labels[new])
print(f"{accuracy:.0%} of {len(new)} new molecules right, each by its similarity to {model.n_similarity_calls_} others")

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
# Take one new molecule, the largest. The landmarks that decided about it: a positive contribution says "soluble", a
# negative one "insoluble".

asked = max(new, key=lambda i: len(graphs[i][1]))
why = model.explain([graphs[asked]])[0]
print(f"{names[asked]} is {labels[asked]}; predicted: {why.prediction}, with a score of {why.score:+.2f}")

figure, axes = plt.subplots(2, 3, figsize=(8.5, 5.8), layout="constrained")
draw(axes.flat[0], graphs[asked], f"new: {names[asked]}\n→ {why.prediction}")
for place, i, alike, added in zip(
    axes.flat[1:], known[why.positions], why.similarities, why.contributions, strict=False
):
    draw(place, graphs[i], f"{names[i]}\nsimilarity {alike:.2f} → {added:+.2f}")

plt.show()
