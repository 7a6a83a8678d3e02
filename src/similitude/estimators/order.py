"""The random order of examples: the same whether they are in memory or go by in batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.data.sources import key_order, random_keys
from similitude.support.randomness import generator


def seed_of(random_state: Any) -> int:
    """Return the number from which the order of examples is made."""
    return int(generator(random_state).integers(2**63))


@dataclass(frozen=True, eq=False)
class Drawn:
    """How examples were drawn.

    Attributes
    ----------
    seed : int
    places : array of int, or None
        Where they stand in a larger whole; None: they are the whole.
    ranks : array of int, or None
        How many with a weight come before each in the larger whole; None: they are the whole.
    rest : Rest or None
        The larger whole, where there is more of it.
    """

    seed: int
    places: np.ndarray | None = None
    ranks: np.ndarray | None = None
    rest: Any = None

    def order(self, counted: np.ndarray) -> np.ndarray:
        """Return the positions of those with a weight in a random order, which depends on seed and ranks alone."""
        ranks = np.arange(len(counted)) if self.ranks is None else self.ranks[counted]
        return counted[key_order(random_keys(ranks, self.seed))]
