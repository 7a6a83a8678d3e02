"""
Learning from a stream
======================

A kernel perceptron stores more and more examples. Here the landmarks are fixed in advance, from unlabeled objects: each
example becomes a short vector of its coordinates and its similarities, F(x) = (x, K(x, l₁), ..., K(x, l_d)), to which
any online linear learner can be applied, at a small constant cost per example. The similarity need not be a kernel.
(The idea is from the conclusion of Balcan and Blum, "On a Theory of Learning with Similarity Functions", 2006.)
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from similitude.kernels import Gaussian
from similitude.maps import LandmarkMap

# %%
# Points on three noisy rings arrive in batches; the label is the ring. Before the stream starts we have 200 unlabeled
# points.


def three_rings(n, rng):
    """Return points of the plane and the ring on which each lies."""
    radius, angle = rng.integers(1, 4, n), rng.uniform(0, 2 * np.pi, n)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return points + 0.1 * rng.standard_normal((n, 2)), radius


rng = np.random.default_rng(0)
unlabeled, _ = three_rings(200, rng)
stream, labels = three_rings(2000, rng)

alone = make_pipeline(StandardScaler()).fit(unlabeled)
similarities = LandmarkMap(Gaussian(sigma=0.5), n_components=60, landmarks="kmeans++", random_state=0)
beside = make_pipeline(make_union(FunctionTransformer(), similarities), StandardScaler()).fit(unlabeled)

# %%
# Each batch is predicted before the learner is updated with it, so that every error is counted.


def online_errors(learner, features, batch=20):
    """Return the error rate of each batch."""
    wrong = []
    for start in range(0, len(labels), batch):
        F, y = features.transform(stream[start : start + batch]), labels[start : start + batch]
        if start:
            wrong.append(np.mean(learner.predict(F) != y))
        learner.partial_fit(F, y, classes=[1, 2, 3])
    return np.array(wrong)


figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
late_errors = {}
for kind, color in ((Perceptron, "tab:orange"), (SGDClassifier, "tab:blue")):
    for name, features, style in (("x alone", alone, "--"), ("x and similarities", beside, "-")):
        wrong = online_errors(kind(random_state=0), features)
        late_errors[kind.__name__, name] = wrong[len(wrong) // 2 :].mean()
        print(f"{kind.__name__:14} {name:22} {wrong[len(wrong) // 2 :].mean():6.1%} wrong in the second half")
        seen = 20 * np.arange(2, 2 + len(wrong))
        axes.plot(seen, 20 * wrong.cumsum(), style, color=color, label=f"{kind.__name__}, {name}")
axes.set(xlabel="examples seen", ylabel="cumulative errors", xscale="log", yscale="log", title="Online errors")
axes.legend(fontsize=9)

plt.show()
