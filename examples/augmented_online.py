"""Online learning on examples beside their similarities to a few landmarks.

A kernel perceptron remembers ever more examples. Here the landmarks are fixed beforehand, from objects without labels:
each example is then a short vector, itself beside its similarities, F(x) = (x, K(x, l_1), ..., K(x, l_d)), and any
linear online learner takes it, at the same small cost for each example. The similarity need not be a kernel. (The
closing idea of Balcan and Blum, On a Theory of Learning with Similarity Functions, 2006.)
"""

import numpy as np
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from similitude.kernels import Gaussian
from similitude.maps import LandmarkMap


def rings(n, rng):
    """Return points of the plane, labelled by the ring on which they lie."""
    radius, angle = rng.integers(1, 4, n), rng.uniform(0, 2 * np.pi, n)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return points + 0.1 * rng.standard_normal((n, 2)), radius


def errors_on_the_way(learner, features, stream, labels, batch=20):
    """Predict each batch before learning from it; return the share of errors in the first and in the second half."""
    wrong = []
    for start in range(0, len(labels), batch):
        F, y = features.transform(stream[start : start + batch]), labels[start : start + batch]
        if start:
            wrong.append(np.mean(learner.predict(F) != y))
        learner.partial_fit(F, y, classes=[1, 2, 3])
    half = len(wrong) // 2
    return np.mean(wrong[:half]), np.mean(wrong[half:])


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    unlabelled, _ = rings(200, rng)
    stream, labels = rings(4000, rng)

    alone = make_pipeline(StandardScaler()).fit(unlabelled)
    similarities = LandmarkMap(Gaussian(sigma=0.5), n_components=60, landmarks="kmeans++", random_state=0)
    beside = make_pipeline(make_union(FunctionTransformer(), similarities), StandardScaler()).fit(unlabelled)

    print("errors in the first and second half of the stream")
    for learner in (Perceptron, SGDClassifier):
        for name, features in (("x alone", alone), ("x beside similarities", beside)):
            first, second = errors_on_the_way(learner(random_state=0), features, stream, labels)
            print(f"{learner.__name__:14} {name:22} {first:6.1%} {second:6.1%}")
