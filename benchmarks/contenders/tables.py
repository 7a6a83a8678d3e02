"""Who compares sets and the rows of tables."""

from __future__ import annotations

import numpy as np

from benchmarks.nouns import OURS, Contender


class Ours(Contender):
    name = OURS

    def jaccard(self, X):
        from similitude.kernels import Jaccard

        return Jaccard().gram(X)

    def jaccard_sets(self, X):
        from similitude.kernels import Jaccard

        return Jaccard().gram(X)

    def gower(self, X):
        from similitude.kernels import Gower

        return Gower().gram(X)

    def table_accuracy(self, X, y, new, truth, landmarks):
        from sklearn.linear_model import RidgeClassifierCV
        from sklearn.pipeline import make_pipeline

        from similitude.maps import LandmarkMap

        features = LandmarkMap("gower", n_components=landmarks, random_state=0)
        return make_pipeline(features, RidgeClassifierCV(np.logspace(-4, 3, 8))).fit(X, y).predict(new)


class Blas(Contender):
    """The matrix product of the bits as floats, and the arithmetic of the index in place."""

    name = "BLAS"

    def jaccard(self, X):
        F = X.astype(np.float32)
        shared = F @ F.T
        sizes = shared.diagonal().copy()
        union = sizes[:, None] + sizes
        union -= shared
        shared /= union
        return shared


class SparseProduct(Contender):
    """The product of sparse rows, a column per item."""

    name = "scipy.sparse"
    packages = ("scipy.sparse", "sklearn.preprocessing")

    def jaccard_sets(self, X):
        F = self.library.MultiLabelBinarizer(sparse_output=True).fit_transform(X).astype(np.float64)
        shared = (F @ F.T).toarray()
        sizes = shared.diagonal().copy()
        union = sizes[:, None] + sizes
        union -= shared
        shared /= union
        return shared


class GowerPackage(Contender):
    """The package gower, which wants columns of strings as Python objects, and to be told which they are."""

    name = "gower"
    packages = ("gower",)
    uses_threads = False

    def gower(self, X):
        categories = [values.dtype.kind not in "iuf" for _, values in X.items()]
        return 1 - self.library.gower_matrix(X.to_numpy(dtype=object), cat_features=categories)
