"""Your own learner: predict the label of the most similar training object."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from similitude import as_similarity
from similitude.checks import check_learner


class MostSimilar(ClassifierMixin, BaseEstimator):
    """Predict the label of the training object that is most similar."""

    def __init__(self, similarity="gaussian"):
        self.similarity = similarity

    def fit(self, X, y):
        """Store the training objects and their labels."""
        check_consistent_length(X, y)
        self.similarity_ = as_similarity(self.similarity).resolve(X)
        self.objects_, self.labels_ = X, np.array(y)
        self.classes_ = np.unique(self.labels_)
        return self

    def predict(self, X):
        """Return a label for each object; ties go to the first training object."""
        check_is_fitted(self)
        return self.labels_[self.similarity_.cross(X, self.objects_).argmax(axis=1)]


if __name__ == "__main__":
    words, kinds = ["kernel", "kernels", "kern", "margin", "margins", "mar"], ["k", "k", "k", "m", "m", "m"]
    check_learner(MostSimilar("edit"), words, kinds)
    print(MostSimilar("edit").fit(words, kinds).predict(["kernelize", "margarine"]))
