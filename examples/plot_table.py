"""
A mixed table: numbers, categories and missing values
=====================================================

Real tables hold numbers (age), categories (occupation) and missing values. Usually they are converted to numbers first,
by one-hot encoding and imputation. A similarity of *rows* needs neither: `Gower` is the mean similarity over the
columns in which both rows have a value.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from similitude import SimilarityClassifier, alignment, check_kernel
from similitude.datasets import adult
from similitude.kernels import Gower

table, income = adult()
print(table[["age", "occupation", "education", "hours_per_week"]].head(3).to_string())
print(f"{table.isna().sum().sum()} cells of {table.shape[0]} rows are missing; who earned more than 50,000 dollars?")

# %%
# Two people
# ----------
# The similarity of two rows is one number. The ranges of numeric columns are taken from the table.

gower = Gower().resolve(table)
print(f"rows 0 and 1: {gower.cross(table[:1], table[1:2])[0, 0]:.3f}")
print("a kernel?", check_kernel(gower, table[:200], random_state=0).verdict)

# %%
# With missing values the coefficient need not be a kernel. The model uses it as it is.
#
# Which columns are related to the income?
# ----------------------------------------
# We train on 700 people and test on 300. On the training set, *alignment* compares the similarity in one column with
# the labels: 0 means unrelated, 1 means identical.

train, test, y_train, y_test = train_test_split(table, income, test_size=0.3, stratify=income, random_state=0)
aligned = {name: alignment(Gower().gram(train[[name]]), y_train) for name in table.columns}
ranked = sorted(aligned, key=aligned.get)
figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
axes.barh(ranked, [aligned[name] for name in ranked], color="tab:blue")
axes.set(xlabel="alignment with the income", title="Alignment of single columns")

# %%
# Learning
# --------
# 77 % of the people earn less: a model that is right for 77 % has learned nothing.

best = ranked[-6:]
tables = {"all columns": table.columns, "the six best": best}
models = {name: SimilarityClassifier(Gower(), random_state=0).fit(train[c], y_train) for name, c in tables.items()}
accuracies = {name: model.score(test[tables[name]], y_test) for name, model in models.items()}
for name, accuracy in accuracies.items():
    print(f"{name}: {accuracy:.0%} correct")

# %%
# Are its probabilities calibrated? Of the people with a predicted probability of about 30 %, about 30 % should earn
# more.

probability = models["all columns"].predict_proba(test)[:, 1]
groups = np.array_split(np.argsort(probability), 6)
said = np.array([probability[group].mean() for group in groups])
seen = np.array([np.mean(y_test[group] == ">50K") for group in groups])
figure, axes = plt.subplots(figsize=(4.6, 4.4), layout="constrained")
axes.plot([0, 1], [0, 1], color="gray", linestyle="--", label="perfect calibration")
axes.errorbar(said, seen, yerr=2 * np.sqrt(seen * (1 - seen) / 50), fmt="o", capsize=3, label="groups of 50 new people")
axes.set(xlabel="predicted probability", ylabel="fraction who earned more than 50,000", aspect="equal")
axes.legend(loc="upper left")

# %%
# What if more is missing?
# ------------------------
# We hide more and more cells at random. Two rows are compared by the columns that both have, and nothing is imputed. A
# model that was fitted to rows with as much hidden loses less than one that was fitted to nearly complete rows, which
# ends up no better than a constant answer.

rng = np.random.default_rng(0)
shares = [0.0, 0.3, 0.6]
first, again = [accuracies["all columns"]], [accuracies["all columns"]]
for share in shares[1:]:
    known, new = (rows.mask(rng.random(rows.shape) < share) for rows in (train, test))
    first.append(models["all columns"].score(new, y_test))
    again.append(SimilarityClassifier(Gower(), random_state=0).fit(known, y_train).score(new, y_test))
    print(f"{share:.0%} hidden: {first[-1]:.0%} correct, {again[-1]:.0%} if fitted to rows with as much hidden")
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.plot([100 * share for share in shares], again, "o-", color="tab:blue", label="fitted to rows with as much hidden")
axes.plot([100 * share for share in shares], first, "o--", color="tab:green", label="fitted to the rows as they are")
axes.axhline(np.mean(y_test == "<=50K"), color="tab:orange", linestyle=":", label="always the most frequent class")
axes.set(xlabel="hidden cells, in percent", ylabel="accuracy on new rows", title="Predicting from what is left")
axes.legend(loc="lower left")

plt.show()
