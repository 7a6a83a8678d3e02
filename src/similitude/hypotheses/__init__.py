"""Tests of hypotheses: whether two samples differ, pairs are independent, or new objects have drifted.

``samples`` validates and pools the objects and fixes the kernels, ``permuted_samples`` compares two samples under all
permutations (by matrices of all pairs, or by sums of similarities to landmarks), ``independence`` does so for pairs of
observations, ``p_values`` combines several kernels into one p-value, and ``findings`` holds the results.
"""

from similitude.hypotheses.findings import DriftResult, KernelFinding, TellingObject, TestResult
from similitude.hypotheses.independence import independence_test
from similitude.hypotheses.two_sample import drift_test, two_sample_test

__all__ = [
    "DriftResult",
    "KernelFinding",
    "TellingObject",
    "TestResult",
    "drift_test",
    "independence_test",
    "two_sample_test",
]
