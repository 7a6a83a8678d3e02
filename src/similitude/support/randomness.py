"""Random generators from seeds, and random keys of numbered rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from similitude.support.errors import brief

if TYPE_CHECKING:
    import numpy as np


def generator(random_state: Any = None) -> np.random.Generator:
    """Return a random generator; None means the seed 0, so that the same call gives the same result."""
    import numpy as np

    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    try:
        return np.random.default_rng(0 if random_state is None else random_state)
    except (TypeError, ValueError) as error:
        got = f"got {brief(random_state)}"
        raise type(error)(f"random_state must be an integer >= 0, a random generator or None, {got}") from None


def random_keys(ranks: np.ndarray, seed: int | np.ndarray) -> np.ndarray:
    """Return a random 64-bit number for each rank, by one seed or one for each (Steele et al. 2014, SplitMix64)."""
    import numpy as np

    z: np.ndarray = np.asarray(ranks).astype(np.uint64)  # in place from here on: there may be many
    with np.errstate(over="ignore"):
        z += np.uint64(1)
        z *= np.uint64(0x9E3779B97F4A7C15)
        z += np.uint64(seed)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            z ^= z >> np.uint64(shift)
            z *= np.uint64(factor)
    z ^= z >> np.uint64(31)
    return z


def key_order(keys: np.ndarray) -> np.ndarray:
    """Return the stable order of at most 2^32 keys of 64 bits that are mostly different."""
    import numpy as np

    low = np.uint64(2**32 - 1)
    packed = keys & ~low  # numbers are sorted several times faster than positions: those are the lower half here
    packed |= np.arange(len(keys), dtype=np.uint64)
    packed.sort()
    order = (packed & low).astype(np.intp)
    packed >>= np.uint64(32)
    same = packed[1:] == packed[:-1]
    if same.any():
        tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
        order[tied] = order[tied][np.lexsort((order[tied], keys[order[tied]]))]
    return order
