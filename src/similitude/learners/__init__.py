"""Learners: scikit-learn estimators on a kernel or a similarity, for objects of any kind.

Perceptrons (``KernelPerceptron``, ``MarginPerceptron``), streams with a bounded number of kept objects
(``OnlineKernelClassifier``, ``OnlineKernelRegressor``), support vector machines (``KernelSVC``, ``KreinSVC``,
``KernelSVR``, ``KernelSGDSVC``), a linear separator without errors (``SeparatorLP``), regularized risk minimization
with any convex loss (``RepresenterClassifier``, ``RepresenterRegressor``), ridge regression (``KernelRidge``,
``KernelRidgeClassifier``), orders of objects (``KernelRanker``), nearest neighbors
(``SimilarityKNeighborsClassifier``, ``SimilarityKNeighborsRegressor``), searches for similar objects and duplicates
(``SimilarityIndex``), clusters (``KernelKMeans``, ``SimilarityKMedoids``, ``SpectralClusters``,
``SimilarityLinkage``, ``SimilarityDensityClusters``; ``choose_clusters`` says how many), novelty
(``KernelOneClassSVM``, ``SimilarityNovelty``) and votes of labeled examples (``SimilarityVote``,
``WeakSimilarityVote``, ``AlignmentVote``). ``KreinSVC``, neighbors, the index, ``SimilarityNovelty``, the votes, and
all that finds clusters but ``KernelKMeans`` take similarities that are not kernels.
"""

from similitude.learners.clusters import (
    ClusterNumber,
    KernelKMeans,
    SimilarityDensityClusters,
    SimilarityKMedoids,
    SimilarityLinkage,
    SpectralClusters,
    choose_clusters,
)
from similitude.learners.neighbors import SimilarityIndex, SimilarityKNeighborsClassifier, SimilarityKNeighborsRegressor
from similitude.learners.novelty import SimilarityNovelty
from similitude.learners.online import OnlineKernelClassifier, OnlineKernelRegressor
from similitude.learners.perceptron import KernelPerceptron, MarginPerceptron, MistakeBound
from similitude.learners.ranking import KernelRanker
from similitude.learners.representer import RepresenterClassifier, RepresenterRegressor
from similitude.learners.ridge import KernelRidge, KernelRidgeClassifier
from similitude.learners.separator import SeparatorLP
from similitude.learners.separator import row_norms as row_norms
from similitude.learners.svm import KernelOneClassSVM, KernelSVC, KernelSVR, KreinSVC
from similitude.learners.svm.sgd import KernelSGDSVC
from similitude.learners.votes import AlignmentVote, SimilarityVote, WeakSimilarityVote

__all__ = [
    "AlignmentVote",
    "ClusterNumber",
    "KernelKMeans",
    "KernelOneClassSVM",
    "KernelPerceptron",
    "KernelRanker",
    "KernelRidge",
    "KernelRidgeClassifier",
    "KernelSGDSVC",
    "KernelSVC",
    "KernelSVR",
    "KreinSVC",
    "MarginPerceptron",
    "MistakeBound",
    "OnlineKernelClassifier",
    "OnlineKernelRegressor",
    "RepresenterClassifier",
    "RepresenterRegressor",
    "SeparatorLP",
    "SimilarityDensityClusters",
    "SimilarityIndex",
    "SimilarityKMedoids",
    "SimilarityKNeighborsClassifier",
    "SimilarityKNeighborsRegressor",
    "SimilarityLinkage",
    "SimilarityNovelty",
    "SimilarityVote",
    "SpectralClusters",
    "WeakSimilarityVote",
    "choose_clusters",
]
