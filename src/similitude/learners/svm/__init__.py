"""Support vector machines by their duals, and the hard margin.

``sgd`` holds :class:`similitude.learners.KernelSGDSVC`, which is imported from ``similitude.learners`` only.
"""

from similitude.learners.svm.estimators import KernelOneClassSVM, KernelSVC, KernelSVR, KreinSVC
from similitude.learners.svm.hard_margin import LargestMargin, nearest_point, separates

__all__ = ["KernelOneClassSVM", "KernelSVC", "KernelSVR", "KreinSVC", "LargestMargin", "nearest_point", "separates"]
