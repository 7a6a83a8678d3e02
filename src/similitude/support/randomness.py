"""Random generators from seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


def generator(random_state: Any = None) -> np.random.Generator:
    """Return a random generator; None means the seed 0, so that the same call gives the same result.

    >>> bool(generator(3).random() == generator(3).random())
    True
    """
    import numpy as np

    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    return np.random.default_rng(0 if random_state is None else random_state)
