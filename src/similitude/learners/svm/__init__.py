"""Support vector machines by their duals, and the hard margin.

``sgd`` holds :class:`similitude.learners.KernelSGDSVC`, which is imported from ``similitude.learners`` only.
"""

from similitude.learners.svm.hard_margin import LargestMargin, nearest_point, separates
from similitude.learners.svm.one_class import KernelOneClassSVM
from similitude.learners.svm.svc import KernelSVC, KreinSVC
from similitude.learners.svm.svr import KernelSVR

__all__ = ["KernelOneClassSVM", "KernelSVC", "KernelSVR", "KreinSVC", "LargestMargin", "nearest_point", "separates"]
