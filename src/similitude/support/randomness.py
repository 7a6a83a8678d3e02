"""Random generators from seeds, and random keys of numbered rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

_GAMMA, _MIX = 0x9E3779B97F4A7C15, (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


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


def random_keys(ranks: np.ndarray, seed: int | np.ndarray) -> np.ndarray:
    """Return a random 64-bit number for each rank, by one seed or one for each (Steele et al. 2014, SplitMix64).

    >>> import numpy as np
    >>> bool((random_keys(np.arange(5), 1)[2:4] == random_keys(np.arange(2, 4), 1)).all())
    True
    """
    import numpy as np

    with np.errstate(over="ignore"):
        z = np.uint64(seed) + (np.asarray(ranks).astype(np.uint64) + np.uint64(1)) * np.uint64(_GAMMA)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(_MIX[0])
        z = (z ^ (z >> np.uint64(27))) * np.uint64(_MIX[1])
    mixed: np.ndarray = z ^ (z >> np.uint64(31))
    return mixed


def key_order(keys: np.ndarray) -> np.ndarray:
    """Return the stable order of 64-bit keys, in linear time: by their upper halves, and by all bits within ties.

    >>> import numpy as np
    >>> key_order(np.array([2**40 + 1, 3, 2**40], dtype=np.uint64))
    array([1, 2, 0])
    """
    import numpy as np

    low, high = (keys >> np.uint64(32)).astype(np.uint16), (keys >> np.uint64(48)).astype(np.uint16)
    order = np.argsort(low, kind="stable")  # a radix sort for 16 bits
    order = order[np.argsort(high[order], kind="stable")]
    upper = (keys >> np.uint64(32))[order]
    same = upper[1:] == upper[:-1]
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    order[tied] = order[tied][np.argsort(keys[order[tied]], kind="stable")]
    return order
