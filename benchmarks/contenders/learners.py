"""Who learns: support vector machines, perceptrons, ridge regression, clusters."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.nouns import OURS, Contender, SelfTimed
from similitude.kernels import Gaussian


class Machine:
    """A fitted binary machine as numbers: a coefficient for every training object, and the intercept."""

    def __init__(self, n: int, support: Any, coefficients: Any, intercept: Any) -> None:
        self.coefficients = np.zeros(n)
        self.coefficients[np.asarray(support).ravel()] = np.asarray(coefficients, float).ravel()
        self.intercept = float(np.ravel(intercept)[0])


def timed_predict(model: Any, new: Any) -> SelfTimed:
    """Return how long prediction takes, and what is predicted."""
    start = time.perf_counter()
    predicted = model.predict(new)
    return SelfTimed(time.perf_counter() - start, predicted)


class Ours(Contender):
    name = OURS

    def _svc(self, X, y, sigma, C):
        from similitude.learners import KernelSVC

        return KernelSVC(Gaussian(sigma), C=C).fit(X, y)

    def svc(self, X, y, sigma, C):
        model = self._svc(X, y, sigma, C)
        return Machine(len(X), model.support_, model.dual_coef_, model.intercept_)

    def svc_classes(self, X, y, new, truth, sigma, C):
        return self._svc(X, y, sigma, C).predict(new)

    def svc_predict(self, X, y, new, truth, sigma, C):
        return timed_predict(self._svc(X, y, sigma, C), new)

    def perceptron(self, X, y, sigma):
        from similitude.learners import KernelPerceptron

        return len(KernelPerceptron(Gaussian(sigma)).fit(X, y).support_)

    def ridge(self, X, y, sigma, lams):
        from similitude.learners import KernelRidge

        return KernelRidge(Gaussian(sigma), lam=lams).fit(X, y).lam_

    def kmeans(self, X, sigma, clusters):
        from similitude.learners import KernelKMeans

        return KernelKMeans(Gaussian(sigma), n_clusters=clusters, n_init=1).fit(X).labels_

    def kmedoids(self, distances, start):
        from similitude.learners import SimilarityKMedoids

        model = SimilarityKMedoids("precomputed", n_clusters=len(start), distance="values", init=start)
        return model.fit(distances).medoid_indices_

    def spectral(self, affinity, clusters, truth):
        from similitude.learners import SpectralClusters

        return SpectralClusters("precomputed", n_clusters=clusters).fit(affinity).labels_


class ScikitLearn(Contender):
    name = "scikit-learn"

    def _machine(self, sigma, C):
        from sklearn.svm import SVC

        return SVC(gamma=0.5 / sigma**2, C=C)

    def svc(self, X, y, sigma, C):
        model = self._machine(sigma, C).fit(X, y)
        coefficients = model.dual_coef_.toarray() if hasattr(model.dual_coef_, "toarray") else model.dual_coef_
        return Machine(X.shape[0], model.support_, coefficients, model.intercept_)

    def svc_classes(self, X, y, new, truth, sigma, C):
        return self._machine(sigma, C).fit(X, y).predict(new)

    def svc_predict(self, X, y, new, truth, sigma, C):
        return timed_predict(self._machine(sigma, C).fit(X, y), new)

    def spectral(self, affinity, clusters, truth):
        from sklearn.cluster import SpectralClustering

        return SpectralClustering(clusters, affinity="precomputed", random_state=0).fit_predict(affinity)


class ScikitLearnIntelex(ScikitLearn):
    name = "scikit-learn-intelex"

    def _machine(self, sigma, C):
        from sklearnex.svm import SVC

        return SVC(gamma=0.5 / sigma**2, C=C)


class TsLearn(Contender):
    name = "tslearn"
    packages = ("tslearn.clustering",)

    def kmeans(self, X, sigma, clusters):
        model = self.library.KernelKMeans(
            n_clusters=clusters, kernel="rbf", kernel_params={"gamma": 0.5 / sigma**2}, n_init=1, random_state=0
        )
        return model.fit(X[:, :, None]).labels_


class KMedoids(Contender):
    name = "kmedoids"
    packages = ("kmedoids",)

    def kmedoids(self, distances, start):
        return self.library.fasterpam(distances, start.astype(np.uint64), n_cpu=1).medoids.astype(np.int64)


class Eigen(Contender):
    """One eigendecomposition of a matrix of the same size."""

    name = "NumPy eigh"
    is_limit = True

    def ridge(self, X, y, sigma, lams):
        return np.linalg.eigh(X @ X.T)[0]
