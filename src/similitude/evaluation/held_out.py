"""Held-out evaluation: which rows are held out while choices are made, and how they fared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

LEAVE_ONE_OUT = 5_000
"""Rows up to which each is evaluated by a model of all others; with more rows, a part is held out."""

HELD_OUT_SHARE = 0.2
"""The part of many rows that is held out."""

MOST_HELD_OUT = 5_000
"""Most rows that a pass over all rows holds out."""


def n_fitted(n: int) -> int:
    """Return the number of training rows while choices are made; n under leave-one-out."""
    return n if n <= LEAVE_ONE_OUT else n - round(HELD_OUT_SHARE * n)


def n_held_out(n: int) -> int:
    """Return how many of n rows a pass over all rows holds out, the last ones in random order."""
    return min(MOST_HELD_OUT, max(min(2, n - 1), round(HELD_OUT_SHARE * n)))


def n_judged(held_out: int) -> int:
    """Return how many of some held-out rows, the last ones, judge the model; choices are made on the others."""
    return held_out // 2


class LastRows(NamedTuple):
    """How many rows, the last ones in random order, are held out, and how many of these, the very last, evaluate."""

    held_out: int
    judged: int

    @classmethod
    def of(cls, n: int) -> LastRows:
        """Return the numbers for n rows without groups."""
        held = n_held_out(n)
        return cls(held, n_judged(held))


@dataclass(frozen=True)
class Trial:
    """Held-out rows under a model that was not fitted to them."""

    lam: float  # the penalty
    scores: np.ndarray  # of shape (n, outputs)
    losses: np.ndarray  # of each row, summed over outputs
    loss: float  # their weighted mean
    deviation: float  # its standard error

    @classmethod
    def of(cls, lam: float, scores: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> Trial:
        """Evaluate scores by their squared errors."""
        return cls.of_losses(lam, scores, ((scores - Y) ** 2).sum(axis=1), weights)

    @classmethod
    def of_losses(cls, lam: float, scores: np.ndarray, losses: np.ndarray, weights: np.ndarray) -> Trial:
        """Evaluate scores by the losses of their rows."""
        loss = float(weights @ losses / weights.sum())
        deviation = float(np.sqrt(weights**2 @ (losses - loss) ** 2) / weights.sum())
        return cls(lam, scores, losses, loss, deviation)
