"""Who tests hypotheses."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from benchmarks.nouns import OURS, Contender
from benchmarks.tasks.hypotheses import PERMUTATIONS


class Ours(Contender):
    name = OURS

    def two_samples(self, X, Z):
        from similitude import two_sample_test

        return two_sample_test("gaussian", X, Z, n_permutations=PERMUTATIONS).p_value


class OursSixWidths(Contender):
    """Kernels of six widths instead of one."""

    name = "ours, 'auto'"
    packages = ("similitude.hypotheses",)

    def two_samples(self, X, Z):
        from similitude import two_sample_test

        return two_sample_test("auto", X, Z, n_permutations=PERMUTATIONS).p_value


class Hyppo(Contender):
    name = "hyppo"
    packages = ("hyppo.ksample",)

    @functools.cached_property
    def library(self) -> Any:
        """The package, compiled by a small test: the large one takes too long to run it twice."""
        found = super().library
        found.MMD(compute_kernel="gaussian").test(np.eye(9), np.eye(9), reps=9, workers=1, auto=False)
        return found

    def two_samples(self, X, Z):
        test = self.library.MMD(compute_kernel="gaussian")
        return float(test.test(X, Z, reps=PERMUTATIONS, workers=1, auto=False, random_state=0)[1])
