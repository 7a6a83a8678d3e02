"""
Your own function: papers that share an author or a keyword
===========================================================

Do two papers *share an author or a keyword*, yes or no? This is a natural similarity and one line of Python. It is not
a kernel, so most methods cannot use it. The methods of this library can.
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
    """Return 1 if two papers share an author or a keyword, and 0 otherwise."""
    return float(bool(p.authors & q.authors or p.keywords & q.keywords))


# %%
# Is it a kernel?
# ---------------
# The answer is a counterexample of three papers: the first is similar to the second and the second to the third, but
# the first is not similar to the third. No kernel has these values.

validity = check_kernel(FromPairs(share), library, random_state=0)
validity

# %%
# The figure shows all papers, with a line between any two that share something. The three papers of the counterexample
# are circled, and the two lines between them are thick.

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
# Learning without a kernel
# -------------------------
# We predict the topic of each paper by leave-one-out. The similarity is used as it is: the theorems about learning with
# landmarks do not require a kernel. For comparison we use the same similarity *repaired* (with its negative eigenvalues
# clipped), and the *number* of shared authors and keywords, which is a kernel.


def how_many(p, q):
    """Return the number of authors and keywords that two papers share."""
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
    print(f"{name:16} {accuracies[name]:.0%} of {len(library)} papers correct")
print(f"always the largest topic: {np.mean(topics == 'algorithms'):.0%}")

plt.show()
