"""Learners: scikit-learn estimators on a kernel, for objects of any kind, whose solvers work on plain arrays.

``KernelPerceptron`` and ``MarginPerceptron`` learn one mistake after another; ``KernelSVC``, ``KernelSVR`` and
``KernelSGDSVC`` are support vector machines, ``SeparatorLP`` a separator without errors; ``RepresenterClassifier`` and
``RepresenterRegressor`` take any convex loss, ``KernelRidge`` and ``KernelRidgeClassifier`` the squared one;
``SimilarityKNeighborsClassifier`` and ``SimilarityKNeighborsRegressor`` ask the neighbors, ``KernelKMeans`` finds clusters.
``SimilarityVote``, ``WeakSimilarityVote`` and ``AlignmentVote`` ask nothing of the similarity.
"""

from similitude.learners.clusters import KernelKMeans
from similitude.learners.margin_perceptron import MarginPerceptron
from similitude.learners.mistake_bounds import MistakeBound
from similitude.learners.neighbors import SimilarityKNeighborsClassifier, SimilarityKNeighborsRegressor
from similitude.learners.perceptron import KernelPerceptron
from similitude.learners.representer import RepresenterClassifier, RepresenterRegressor
from similitude.learners.ridge import KernelRidge, KernelRidgeClassifier
from similitude.learners.separator import SeparatorLP
from similitude.learners.sgd import KernelSGDSVC
from similitude.learners.svm import KernelSVC, KernelSVR
from similitude.learners.votes import AlignmentVote, SimilarityVote, WeakSimilarityVote

__all__ = [
    "AlignmentVote",
    "KernelKMeans",
    "KernelPerceptron",
    "KernelRidge",
    "KernelRidgeClassifier",
    "KernelSGDSVC",
    "KernelSVC",
    "KernelSVR",
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
