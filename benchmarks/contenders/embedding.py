"""Who learns without labels: kernel principal components, one-class machines and novelty."""

from __future__ import annotations

import numpy as np

from benchmarks.nouns import OURS, Contender
from similitude.kernels import Gaussian


class Ours(Contender):
    name = OURS

    def kernel_pca(self, X, sigma, k):
        from similitude.maps import KernelPCA

        model = KernelPCA(Gaussian(sigma), n_components=k, random_state=0).fit(X)
        return model.eigenvalues_, model.eigenvectors_

    def spectral_embedding(self, affinity, k):
        from similitude.maps import SpectralEmbedding

        return SpectralEmbedding("precomputed", n_components=k, random_state=0).fit(affinity).embedding_

    def one_class(self, X, sigma, nu):
        from similitude.learners import KernelOneClassSVM

        model = KernelOneClassSVM(Gaussian(sigma), nu=nu).fit(X)
        return model.support_, model.dual_coef_

    def novelty(self, X, new, truth):
        from similitude.learners import SimilarityNovelty

        return SimilarityNovelty(random_state=0).fit(X).score_samples(new)


class ScikitLearn(Contender):
    name = "scikit-learn"

    def kernel_pca(self, X, sigma, k):
        from sklearn.decomposition import KernelPCA

        model = KernelPCA(k, kernel="rbf", gamma=0.5 / sigma**2, eigen_solver="randomized", random_state=0).fit(X)
        return model.eigenvalues_, model.eigenvectors_

    def spectral_embedding(self, affinity, k):
        from sklearn.manifold import SpectralEmbedding

        return SpectralEmbedding(k, affinity="precomputed", random_state=0).fit_transform(affinity)

    def one_class(self, X, sigma, nu):
        from sklearn.svm import OneClassSVM

        model = OneClassSVM(nu=nu, gamma=0.5 / sigma**2, cache_size=1000).fit(X)
        return model.support_, model.dual_coef_[0]

    def novelty(self, X, new, truth):
        from sklearn.svm import OneClassSVM

        return OneClassSVM(nu=0.1, gamma="scale").fit(X).score_samples(new)


class IsolationForest(Contender):
    """scikit-learn's isolation forest."""

    name = "IsolationForest"
    packages = ("sklearn.ensemble",)

    def novelty(self, X, new, truth):
        return self.library.IsolationForest(random_state=0).fit(X).score_samples(new)


class LocalOutlierFactor(Contender):
    """scikit-learn's local outlier factor."""

    name = "LocalOutlierFactor"
    packages = ("sklearn.neighbors",)

    def novelty(self, X, new, truth):
        return np.asarray(self.library.LocalOutlierFactor(novelty=True).fit(X).score_samples(new))
