"""Who fits at defaults: kernels, and boosted trees."""

from __future__ import annotations

import time
from typing import Any

from benchmarks import fits
from benchmarks.nouns import OURS, Contender, SelfTimed
from benchmarks.tasks.fits import TREES


def timed_fit(name: str, X: Any, y: Any, new: Any, classes: bool) -> SelfTimed:
    """Return how long a fit takes, and what it predicts for new rows."""
    model = fits.rivals(fits.Problem(X, y, classes))[name]
    start = time.perf_counter()
    model.fit(X, y)
    return SelfTimed(time.perf_counter() - start, model.predict(new))


class Ours(Contender):
    name = OURS

    def default_fit(self, X, y, new, truth, classes):
        return timed_fit("ours", X, y, new, classes)


class BoostedTrees(Contender):
    name = TREES
    packages = ("sklearn.ensemble",)

    def default_fit(self, X, y, new, truth, classes):
        return timed_fit("trees", X, y, new, classes)
