"""
A function of your own: papers that share something
===================================================

Two papers have something in common if they *share an author or a keyword*: yes or no. A natural similarity, written in
one line of Python. It is not a kernel, and that is where most methods stop. Not here.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from similitude import FromPairs, SimilarityClassifier, check_kernel, repair
from similitude.datasets import papers

library, topics = papers()
print(library[0], "|", ", ".join(sorted(library[0].keywords)))


def share(p, q):
    """Tell whether two papers share an author or a keyword."""
    return float(bool(p.authors & q.authors or p.keywords & q.keywords))


# %%
# Is it a kernel?
# ---------------
# The answer is a few papers that no kernel can treat like this: the first is related to the second and the second to
# the third, but the first has nothing to do with the third.

validity = check_kernel(FromPairs(share), library, random_state=0)
print(validity.verdict)
for paper in validity.witness.objects:
    print("  ", paper)

# %%
# Here is the whole library: a line for every two papers that share something, the three witnesses circled, and the two
# lines between them drawn thick.

K = FromPairs(share).gram(library)
network = nx.from_numpy_array(np.triu(K, k=1))
where = nx.spring_layout(network, seed=3, k=0.5)
figure, axes = plt.subplots(figsize=(7.5, 5.2), layout="constrained")
nx.draw_networkx_edges(network, where, edge_color="lightgray", ax=axes)
points = np.array([where[i] for i in range(len(library))])
colors = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00")
for topic, color, marker in zip(np.unique(topics), colors, "os^Dv", strict=True):
    of = points[topics == topic]
    axes.scatter(of[:, 0], of[:, 1], s=70, color=color, marker=marker, label=topic, zorder=2)
first, second, third = validity.witness.indices
nx.draw_networkx_edges(network, where, [(first, second), (second, third)], width=2.5, ax=axes)
three = points[[first, second, third]]
axes.scatter(three[:, 0], three[:, 1], s=260, facecolors="none", edgecolors="black", linewidths=1.5, zorder=3)
paper = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1}
for i in validity.witness.indices:
    axes.annotate(min(library[i].authors), points[i], (10, -16), textcoords="offset points", fontsize=9, bbox=paper)
axes.legend(title="topic", loc="upper left", bbox_to_anchor=(1, 1))
axes.set_axis_off()

# %%
# Learning all the same
# ---------------------
# The topic of each paper is predicted by a model of all the others. Similarities go in as they are: no theorem about
# learning with landmarks asks for a kernel. For comparison, the same similarity *repaired* (its indefinite part
# clipped), and another function: how *many* authors and keywords are shared, which is a kernel.


def how_many(p, q):
    """Count the authors and keywords that two papers share."""
    return float(len(p.authors & q.authors) + len(p.keywords & q.keywords))


as_objects = np.empty(len(library), dtype=object)
as_objects[:] = library
ways = {"share, as it is": share, "share, repaired": repair(FromPairs(share), library), "how many": how_many}
accuracies = {}
for name, similarity in ways.items():
    predicted = cross_val_predict(
        SimilarityClassifier(similarity, random_state=0), as_objects, topics, cv=LeaveOneOut()
    )
    accuracies[name] = np.mean(predicted == topics)
    print(f"{name:16} {accuracies[name]:.0%} of {len(library)} papers right")
print(f"always the largest topic: {np.mean(topics == 'algorithms'):.0%}")

plt.show()
