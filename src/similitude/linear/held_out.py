"""Which rows a choice is validated on: leave-one-out for few, a held-out part of many."""

from __future__ import annotations

LEAVE_ONE_OUT = 5_000
"""Examples up to which each is judged by a model of all the others; above, a fifth is held out."""


HELD_OUT = 0.2
"""The part of more examples that is held out."""


def n_fitted(n: int) -> int:
    """Return how many of n examples are fitted to while choices are made."""
    return n if n <= LEAVE_ONE_OUT else n - round(HELD_OUT * n)
