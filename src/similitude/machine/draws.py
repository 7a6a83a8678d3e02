"""The random order of examples: the same whether they are in memory or go by in batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.randomness import generator
from similitude.sources import keys


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
    rest : Rest or None
        The larger whole, where there is more of it.
    """

    seed: int
    places: np.ndarray | None = None
    rest: Any = None

    def order(self, counted: np.ndarray) -> np.ndarray:
        """Return these positions in a random order, which depends on the seed and on their places alone."""
        places = counted if self.places is None else self.places[counted]
        return counted[np.argsort(keys(places, self.seed), kind="stable")]
