"""Reservoir sampling: a uniform sample of a stream, whatever its length."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute import check_objects, join, take


class Reservoir:
    """At most `size` objects of a stream, uniform among all subsets of that size (Vitter 1985, algorithm R).

    Parameters
    ----------
    size : int
    rng : Generator

    Examples
    --------
    >>> kept = Reservoir(2, np.random.default_rng(0))
    >>> for batch in (["a", "b", "c"], ["d"]):
    ...     kept.add(batch)
    >>> kept.seen, len(kept.objects)
    (4, 2)
    """

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self.size, self.rng, self.seen = size, rng, 0
        self.objects: Any = None
        self.positions = np.empty(0, dtype=np.intp)

    def add(self, batch: Any) -> None:
        """Add a batch of the stream."""
        n = check_objects(batch)
        held = len(self.positions)
        places = np.arange(held)
        pool = batch if held == 0 else join(self.objects, batch)
        for i in range(n):
            self.seen += 1
            if len(places) < self.size:
                places = np.append(places, held + i)
                continue
            slot = int(self.rng.integers(self.seen))
            if slot < self.size:
                places[slot] = held + i
        known = np.concatenate([self.positions, np.arange(self.seen - n, self.seen)])
        self.objects, self.positions = take(pool, places), known[places]
