"""
Text messages: which are spam?
==============================

Short messages are full of odd spellings, so that lists of words go only so far. We compare messages by the *pieces of
text* that they share, whatever words they are part of, and let a model tell us which earlier messages it thought of.
"""

# sphinx_gallery_thumbnail_number = 2
import textwrap

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from similitude import SimilarityClassifier
from similitude.datasets import messages
from similitude.kernels import Jaccard, Spectrum

texts, labels = messages()
train, test, y_train, y_test = train_test_split(texts, labels, stratify=labels, random_state=0)
print(f"{len(texts)} messages, {np.mean(labels == 'spam'):.0%} of them spam, such as:")
print(textwrap.shorten(texts[int(np.argmax(labels == "spam"))], 100))

# %%
# Two ideas
# ---------
# *Shared words* needs a line: turn a message into its set of words, and compare sets. *Shared pieces* is a kernel of
# strings: pieces of one to six letters, spaces and signs included.


def words(text):
    """Return the words, in small letters."""
    return set(text.lower().split())


similarities = {
    "shared words": Jaccard().pullback(words),
    "shared pieces": Spectrum(6, blended=True).normalized(),
}

# %%
# Spam is rare, so the share of right answers says little: calling everything wanted would be right most of the time. We
# count both kinds of errors, and let both classes weigh the same.

found = {}
for name, similarity in similarities.items():
    model = SimilarityClassifier(similarity, loss="logistic", class_weight="balanced", random_state=0)
    model.fit(train, y_train)
    said_spam = model.predict(test) == "spam"
    found[name] = np.mean(said_spam[y_test == "spam"])
    lost = np.mean(said_spam[y_test == "ham"])
    print(f"{name:14} {found[name]:.0%} of the spam found, {lost:.1%} of the wanted messages lost")

# %%
# How sure is it?
# ---------------
# The model gives probabilities. Most messages are clear; those in the middle are worth a second look.

probability = model.predict_proba(test)[:, 1]
rng = np.random.default_rng(0)
figure, axes = plt.subplots(figsize=(7, 2.8), layout="constrained")
for height, (name, color) in enumerate((("ham", "tab:blue"), ("spam", "tab:orange"))):
    of = probability[y_test == name]
    axes.scatter(of, height + rng.uniform(-0.3, 0.3, len(of)), s=18, alpha=0.6, color=color)
axes.axvline(0.5, color="black", linestyle="--", linewidth=1)
axes.set(yticks=[0, 1], yticklabels=["wanted", "spam"], title=f"{len(test)} new messages")
axes.set(xlabel="probability of spam, according to the model")

# %%
# Which messages did it think of?
# -------------------------------
# Each landmark adds its share to the score: to the right for spam, to the left for a wanted message. Here is the wanted
# message that looks most like spam, and the landmarks that spoke loudest for and against.

asked = int(np.argmax(np.where(y_test == "ham", probability, 0)))
why = model.explain([test[asked]])[0]
print(textwrap.fill(f"{why.prediction}? {test[asked]}", 100))

order = np.argsort(-why.contributions)
shown = np.concatenate([order[:5], order[-5:]])
of_spam = y_train[why.positions[shown]] == "spam"
figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
names = [textwrap.shorten(why.landmarks[i].replace("$", r"\$"), 55, placeholder=" …") for i in shown]
axes.barh(range(10), why.contributions[shown], color=np.where(of_spam, "tab:orange", "tab:blue"))
axes.set_yticks(range(10), names, fontsize=8)
axes.invert_yaxis()
axes.axvline(0, color="black", linewidth=1)
axes.set(xlabel="contribution to the score of spam", title="What it thought of (orange: spam, blue: wanted)")

plt.show()
