r"""When predictions of a cascade stop: the margins from which on further landmarks are expected to change too little.

A score is an estimate of what a row's class is worth, so that deciding against the last stage loses what its score is
ahead there. Rows left out of the fit show by how much the lead of a class changes from a stage to the last one; their
labels are not used. Stopping at a margin a loses :math:`\max(0, -a - d)` on average over the changes d of the rows with
the most similar margins. Every stage stops where this is the same small amount: one number is chosen for all stages,
because a margin for each would follow the accidents of few rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from similitude.fitting.cascade import decided, margins

LOST = 0.003
"""What stops may lose, relative to the gain over the most frequent class."""

AMOUNTS = np.geomspace(1.0, 1e-7, 113)
"""Expected losses of a single stop that are tried: the largest one is used with which all stops lose little enough."""

SIMILAR = 1 / 3
"""The share of rows whose changes stand for those of a row with a similar margin."""


def stopping_margins(scores: Sequence[np.ndarray], latest: Sequence[float], gain: float) -> list[float]:
    """Return the margin of each stage from which on predictions stop.

    Parameters
    ----------
    scores : sequence of arrays
        The scores of rows left out of the fit after each stage.
    latest : sequence of float
        Margins from which on rows were not compared further: no stage stops later.
    gain : float
        The share of rows that are right beyond those of the most frequent class.
    """
    ahead = [margins(one) for one in scores]
    losses = [expected_losses(one, scores[-1]) for one in scores]
    for amount in AMOUNTS:
        found = [min(_stop(one, lost, amount), most) for one, lost, most in zip(ahead, losses, latest, strict=True)]
        if _lost(ahead, losses, found) <= LOST * gain:
            break
    return found


def expected_losses(scores: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Return what stopping at a stage is expected to lose for each row; for a larger margin it is never more."""
    ahead, n = margins(scores), len(scores)
    order = np.argsort(ahead, kind="stable")
    margin, change = ahead[order], (_lead(decided(scores), last) - ahead)[order]
    similar = math.ceil(SIMILAR * n)
    first = np.clip(np.arange(n) - similar // 2, 0, n - similar)
    lost = [np.maximum(0.0, -margin[i] - change[first[i] : first[i] + similar]).mean() for i in range(n)]
    found = np.empty(n)
    found[order] = np.maximum.accumulate(lost[::-1])[::-1]
    return found


def _lead(classes: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return how far given classes are ahead of all others; negative if one of the others is."""
    if scores.shape[1] == 1:
        return np.where(classes == 1, scores[:, 0], -scores[:, 0])
    rows, others = np.arange(len(scores)), scores.copy()
    others[rows, classes] = -np.inf
    found: np.ndarray = scores[rows, classes] - others.max(axis=1)
    return found


def _stop(ahead: np.ndarray, losses: np.ndarray, amount: float) -> float:
    """Return the smallest margin of a row from which on no more than an amount is lost."""
    return float(ahead[losses <= amount].min(initial=np.inf))


def _lost(ahead: Sequence[np.ndarray], losses: Sequence[np.ndarray], stops: Sequence[float]) -> float:
    """Return what all stops lose on average."""
    total, going = 0.0, np.ones(len(ahead[0]), dtype=bool)
    for margin, lost, stop in zip(ahead, losses, stops, strict=True):
        here = going & (margin >= stop)
        total += float(lost[here].sum())
        going &= ~here
    return total / len(ahead[0])
