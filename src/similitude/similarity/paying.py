"""What a similarity calls and costs: the users' functions inside of it."""

from __future__ import annotations

from similitude.similarity.adapters import FromBlocks, FromPairs
from similitude.similarity.contract import Similarity


def functions_of_pairs(k: Similarity) -> list[FromPairs]:
    """Return the users' functions of pairs that a similarity is made of."""
    if isinstance(k, FromPairs):
        return [k]
    return [one for part in k.parts() for one in functions_of_pairs(part)]


def may_be_costly(k: Similarity) -> bool:
    """Tell whether a similarity calls a function of pairs that is not stated to be cheap by ``cost=0``."""
    return any(one.cost != 0 for one in functions_of_pairs(k))


def calls_per_pair(k: Similarity) -> int:
    """Return how many calls of users' functions one pair takes, at least."""
    return max(1, sum(one.repeats for one in functions_of_pairs(k)))


def cost_per_call(k: Similarity) -> float | None:
    """Return the mean cost of a call; None if no function states one."""
    functions = functions_of_pairs(k)
    stated = [one.cost for one in functions if one.cost]
    return None if not stated else sum(stated) / len(functions)


def is_counted(k: Similarity) -> bool:
    """Tell whether a similarity calls a user's function, of pairs or of blocks, so that its calls are counted."""
    return isinstance(k, (FromPairs, FromBlocks)) or any(is_counted(part) for part in k.parts())
