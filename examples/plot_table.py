"""
A mixed table: numbers, categories and gaps
===========================================

Real tables hold numbers (age), categories (occupation) and empty cells. Usually they are first made into numbers: ones
and zeros for categories, means for what is missing. A similarity of *rows* needs none of that: `Gower` is the mean
likeness over the columns in which both rows have a value.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from similitude import SimilarityClassifier, alignment, check_kernel
from similitude.datasets import adult
from similitude.kernels import Gower

table, income = adult()
print(table[["age", "occupation", "education", "hours_per_week"]].head(3).to_string())
print(f"{table.isna().sum().sum()} cells of {table.shape[0]} rows are empty; who earned more than 50,000 dollars?")

# %%
# Two people
# ----------
# One number says how alike two rows are. Ranges of numbers are taken from the table.

likeness = Gower().resolve(table)
print(f"rows 0 and 1: {likeness.cross(table[:1], table[1:2])[0, 0]:.3f}")
print("a kernel?", check_kernel(likeness, table[:200], random_state=0).verdict)

# %%
# Where cells are empty the coefficient need not be a kernel. The model takes it as it is.
#
# Which columns have to do with the income?
# -----------------------------------------
# 700 people are for learning, 300 for the test. On the 700, *alignment* compares the similarity by one column with the
# labels: 0 for nothing in common, 1 for the same.

train, test, y_train, y_test = train_test_split(table, income, test_size=0.3, stratify=income, random_state=0)
aligned = {name: alignment(Gower().gram(train[[name]]), y_train) for name in table.columns}
ranked = sorted(aligned, key=aligned.get)
figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
axes.barh(ranked, [aligned[name] for name in ranked], color="tab:blue")
axes.set(xlabel="alignment with the income", title="What one column tells")

# %%
# Learning
# --------
# Three quarters of all earn less, so that anything below 77 % right would be worth nothing.

best = ranked[-6:]
tables = {"all columns": table.columns, "the six best": best}
models = {name: SimilarityClassifier(Gower(), random_state=0).fit(train[c], y_train) for name, c in tables.items()}
accuracies = {name: model.score(test[tables[name]], y_test) for name, model in models.items()}
for name, accuracy in accuracies.items():
    print(f"{name}: {accuracy:.0%} right")

# %%
# Can its probabilities be believed? Of the people to whom it gives about 30 %, about 30 % should earn more.

probability = models["all columns"].predict_proba(test)[:, 1]
groups = np.array_split(np.argsort(probability), 6)
said = np.array([probability[group].mean() for group in groups])
seen = np.array([np.mean(y_test[group] == ">50K") for group in groups])
figure, axes = plt.subplots(figsize=(4.6, 4.4), layout="constrained")
axes.plot([0, 1], [0, 1], color="gray", linestyle="--", label="what it should be")
axes.errorbar(said, seen, yerr=2 * np.sqrt(seen * (1 - seen) / 50), fmt="o", capsize=3, label="50 new people each")
axes.set(xlabel="said: probability of more than 50,000", ylabel="seen: share who earned more", aspect="equal")
axes.legend(loc="upper left")

plt.show()
