"""
Text messages: which are spam?
==============================

Short messages are full of unusual spellings, which limits methods based on words. We compare messages by the
*substrings* that they share, and let the model show which training messages decided a prediction.
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
# Two similarities
# ----------------
# *Shared words*: turn each message into its set of words and compare the sets, in one line of code. *Shared
# substrings*: a string kernel that counts shared substrings of one to six characters, including spaces and punctuation.


def words(text):
    """Return the set of words in lower case."""
    return set(text.lower().split())


similarities = {
    "shared words": Jaccard().pullback(words),
    "shared substrings": Spectrum(6, blended=True).normalized(),
}

# %%
# Spam is rare, so accuracy says little: classifying everything as wanted would be right most of the time. We count both
# kinds of errors, and give both classes the same total weight.

found = {}
for name, similarity in similarities.items():
    model = SimilarityClassifier(similarity, loss="logistic", class_weight="balanced", random_state=0)
    model.fit(train, y_train)
    said_spam = model.predict(test) == "spam"
    found[name] = np.mean(said_spam[y_test == "spam"])
    lost = np.mean(said_spam[y_test == "ham"])
    print(f"{name:17} {found[name]:.0%} of the spam found, {lost:.1%} of the wanted messages lost")

# %%
# Probabilities
# -------------
# The model predicts probabilities. Most messages are clear cases; those in the middle are worth a second look.

probability = model.predict_proba(test)[:, 1]
rng = np.random.default_rng(0)
figure, axes = plt.subplots(figsize=(7, 2.8), layout="constrained")
for height, (name, color) in enumerate((("ham", "tab:blue"), ("spam", "tab:orange"))):
    of = probability[y_test == name]
    axes.scatter(of, height + rng.uniform(-0.3, 0.3, len(of)), s=18, alpha=0.6, color=color)
axes.axvline(0.5, color="black", linestyle="--", linewidth=1)
axes.set(yticks=[0, 1], yticklabels=["wanted", "spam"], title=f"{len(test)} new messages")
axes.set(xlabel="predicted probability of spam")

# %%
# Which training messages decided?
# --------------------------------
# The score is a sum over groups of training messages with the same label. Here is the wanted message with the highest
# probability of spam, and the groups that speak most for the predicted class, and against it.

asked = int(np.argmax(np.where(y_test == "ham", probability, 0)))
why = model.explain([test[asked]])[0]
print(textwrap.fill(f"{why.prediction}? {test[asked]}", 100))

order = np.argsort(-why.influences)
shown = np.concatenate([order[:5], order[-5:]])
of_spam = np.array(why.labels)[shown] == "spam"
figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
names = [
    f"{why.counts[i]} like: " + textwrap.shorten(why.examples[i].replace("$", r"\$"), 50, placeholder=" …")
    for i in shown
]
axes.barh(range(10), why.influences[shown], color=np.where(of_spam, "tab:orange", "tab:blue"))
axes.set_yticks(range(10), names, fontsize=8)
axes.invert_yaxis()
axes.axvline(0, color="black", linewidth=1)
axes.set(xlabel=f"adds to the score of {why.prediction}", title="Training messages (orange: spam, blue: wanted)")

plt.show()
