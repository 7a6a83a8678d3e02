"""Learners: scikit-learn estimators on a kernel or a similarity, for objects of any kind.

Perceptrons (``KernelPerceptron``, ``MarginPerceptron``), support vector machines (``KernelSVC``, ``KreinSVC``,
``KernelSVR``, ``KernelSGDSVC``), a linear separator without errors (``SeparatorLP``), regularized risk minimization
with any convex loss (``RepresenterClassifier``, ``RepresenterRegressor``), ridge regression (``KernelRidge``,
``KernelRidgeClassifier``), orders of objects (``KernelRanker``), nearest neighbors
(``SimilarityKNeighborsClassifier``, ``SimilarityKNeighborsRegressor``), k-means (``KernelKMeans``) and votes of
labeled examples (``SimilarityVote``, ``WeakSimilarityVote``, ``AlignmentVote``). ``KreinSVC`` and the votes take
similarities that are not kernels.
"""

from similitude.learners.clusters import KernelKMeans
from similitude.learners.neighbors import SimilarityKNeighborsClassifier, SimilarityKNeighborsRegressor
from similitude.learners.perceptron import KernelPerceptron, MarginPerceptron, MistakeBound
from similitude.learners.ranking import KernelRanker
from similitude.learners.representer import RepresenterClassifier, RepresenterRegressor
from similitude.learners.ridge import KernelRidge, KernelRidgeClassifier
from similitude.learners.separator import SeparatorLP
from similitude.learners.separator import row_norms as row_norms
from similitude.learners.svm import KernelSVC, KernelSVR, KreinSVC
from similitude.learners.svm.sgd import KernelSGDSVC
from similitude.learners.votes import AlignmentVote, SimilarityVote, WeakSimilarityVote

__all__ = [
    "AlignmentVote",
    "KernelKMeans",
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
    "RepresenterClassifier",
    "RepresenterRegressor",
    "SeparatorLP",
    "SimilarityKNeighborsClassifier",
    "SimilarityKNeighborsRegressor",
    "SimilarityVote",
    "WeakSimilarityVote",
]
