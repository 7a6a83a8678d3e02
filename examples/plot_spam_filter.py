"""
A spam filter by your own function
==================================

You know something about spam that no general method knows: prices and telephone numbers differ, but "a number" is a
number. Put that into a function of two messages and go all the way: is it a kernel, is it any good, how many wanted
messages are lost, which messages should a person look at, and how does the model get to where it is used?
"""

import re
import tempfile
from functools import cache
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from similitude import FromPairs, SimilarityClassifier, assess, check_kernel, load, save
from similitude.datasets import messages

texts, labels = messages()
train, test, y_train, y_test = train_test_split(texts, labels, stratify=labels, random_state=0)

# %%
# The function
# ------------
# Which share of the words of one message occurs in the other? Numbers become ``#``, so that all of them are the same
# word. The share depends on the order of the two messages; nothing has to be done about that.


@cache
def words(text):
    """Return the set of words in lower case, with # for digits."""
    return frozenset(re.findall(r"[a-z']+|#+|[£$!]", re.sub(r"\d+", "#", text.lower())))


def covered(s, t):
    """Return the share of the words of s that occur in t."""
    return len(words(s) & words(t)) / max(len(words(s)), 1)


similarity = FromPairs(covered, cost=0)  # it is cheap: call it as often as you like
print("a kernel?", check_kernel(similarity, train[:100], random_state=0).verdict)
goodness = assess(similarity, train[:200], y_train[:200], random_state=0)
print(f"related to the labels? p = {goodness.p_value.value:.3f}")

# %%
# The model
# ---------
# The function is not a kernel, and the model does not need one. A quarter of the training messages is set apart
# (``certify``): these calibrate how certain the model may be.

model = SimilarityClassifier(similarity, loss="logistic", certify=0.25, random_state=0).fit(train, y_train)
probability = model.predict_proba(test)[:, 1]
spam = y_test == "spam"
caught, lost = np.mean(probability[spam] > 0.5), np.mean(probability[~spam] > 0.5)
print(f"{len(model.landmarks_)} landmarks; {caught:.0%} of the spam found, {lost:.1%} of the wanted messages lost")

# %%
# Which messages should a person see?
# -----------------------------------
# ``predict_set`` returns the classes that a message may have, such that the true one is among them with a probability
# of 98 %. Where not exactly one remains, let a person decide.

sets = model.predict_set(test, level=0.98)
undecided = sets.sum(axis=1) != 1
wrong = ~sets[np.arange(len(test)), np.searchsorted(model.classes_, y_test)]
print(f"{undecided.mean():.0%} of the messages are for a person; the true class is missing in {wrong.mean():.1%}")

# %%
# The figure shows what each threshold of the probability would find and lose.

thresholds = np.unique(probability)[::-1]
found_at = [np.mean(probability[spam] >= t) for t in thresholds]
lost_at = [np.mean(probability[~spam] >= t) for t in thresholds]
figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
axes.step(lost_at, found_at, where="post", color="tab:blue")
axes.plot(lost, caught, "o", color="tab:orange", label="probability above 1/2")
axes.set(
    xlabel="share of the wanted messages that is lost", ylabel="share of the spam that is found", xlim=(-0.002, 0.1)
)
axes.set_title(f"{len(test)} new messages, {spam.sum()} of them spam")
axes.legend(loc="lower right")

# %%
# To where it is used
# -------------------
# The file holds no code. It names your function, and ``load`` takes it only from you.

with tempfile.TemporaryDirectory() as folder:
    save(model, Path(folder) / "spam.sim")
    loaded = load(Path(folder) / "spam.sim", functions={"covered": covered})
same = bool((loaded.predict(test) == model.predict(test)).all())
print("the loaded model predicts the same:", same)

plt.show()
