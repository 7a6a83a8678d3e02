"""Your own map: one feature per class, the mean similarity to its training objects."""

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from similitude import as_similarity
from similitude.checks import check_map
from similitude.results import Guarantee


class ClassMeans(TransformerMixin, BaseEstimator):
    """One feature per class: the mean of K(x, x') over the training objects x' of the class."""

    def __init__(self, similarity="gaussian"):
        self.similarity = similarity

    def fit(self, X, y):
        """Store the training objects of each class."""
        check_consistent_length(X, y)
        self.similarity_ = as_similarity(self.similarity).resolve(X)
        self.classes_ = np.unique(y)
        self.members_ = [[X[i] for i in np.flatnonzero(np.equal(y, label))] for label in self.classes_]
        self.guarantee_ = Guarantee.none("no theorem is about means of new objects")
        return self

    def transform(self, X):
        """Return the mean similarity of each object to each class."""
        check_is_fitted(self)
        return np.column_stack([self.similarity_.cross(X, members).mean(axis=1) for members in self.members_])

    def get_feature_names_out(self, input_features=None):
        """Return one name per class."""
        return np.array([f"mean_similarity_{label}" for label in self.classes_], dtype=object)


if __name__ == "__main__":
    words, kinds = ["kernel", "kernels", "kern", "margin", "margins", "mar"], ["k", "k", "k", "m", "m", "m"]
    check_map(ClassMeans("edit"), words, kinds)
    print(ClassMeans("edit").fit(words, kinds).transform(["kernelize", "margarine"]).round(2))
