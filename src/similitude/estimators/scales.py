"""The scale of a similarity that was left open: a few multiples of the median, judged on held-out examples."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from similitude.similarity import Similarity

MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Multiples of the median that are tried."""

SCALED_ON = 5_000
"""Examples at most on which scales are compared."""

SCALED_BY = 1_000
"""Landmarks at most by which scales are compared."""


def open_scales(k: Similarity) -> list[str]:
    """Return the parameters that are to be fixed at a median of the data.

    >>> from similitude.kernels import Gaussian, Linear
    >>> open_scales(Gaussian() + Linear()), open_scales(Gaussian(sigma=1.0))
    (['k1__sigma'], [])
    """
    given = k.get_params()
    return [name for name in k.unresolved() if given[name] == "median"]


def scaled(resolved: Similarity, names: list[str], multiple: float) -> Similarity:
    """Return the similarity with these parameters multiplied."""
    known = resolved.get_params()
    changed: Similarity = resolved.__copy__().set_params(**{name: multiple * float(known[name]) for name in names})
    return changed


def best_scale(resolved: Similarity, names: list[str], loss: Callable[[Similarity], float]) -> Similarity:
    """Return the multiple with the smallest held-out loss; from the median, walking to either side while it falls."""
    tried: dict[int, float] = {}

    def at(place: int) -> float:
        if not 0 <= place < len(MULTIPLES):
            return np.inf
        if place not in tried:
            tried[place] = loss(scaled(resolved, names, MULTIPLES[place]))
        return tried[place]

    place = MULTIPLES.index(1.0)
    for step in (-1, 1):
        while at(place + step) < at(place):
            place += step
    return scaled(resolved, names, MULTIPLES[place])
