"""When predictions of a cascade stop: the margins from which on further landmarks are expected to change too little.

A score is an estimate of what a row's class is worth, so that deciding against the last stage loses what its score is
ahead there. Rows left out of the fit show how much that is at every stage; their labels are not used.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from similitude.estimators.cascade import decided, margins

LOST = 0.0005
"""What stops may lose, relative to the gain over the most frequent class."""

PRICES = np.concatenate([[0.0], np.geomspace(1e-6, 0.1, 60)])
"""Prices of a call in shares of right predictions that are tried: the largest one that loses little enough is used."""


def stopping_margins(
    sizes: Sequence[int], scores: Sequence[np.ndarray], latest: Sequence[float], gain: float
) -> list[float]:
    """Return the margin of each stage from which on predictions stop, with the fewest calls that lose little enough.

    Parameters
    ----------
    sizes : sequence of int
        Calls of a prediction up to each stage.
    scores : sequence of arrays
        The scores of rows left out of the fit after each stage.
    latest : sequence of float
        Margins from which on rows were not compared further: no stage stops later.
    gain : float
        The share of rows that are right beyond those of the most frequent class.
    """
    ahead = [margins(one) for one in scores]
    losses = [_lost(one, scores[-1]) for one in scores]
    best = [*latest[:-1], 0.0]
    for price in PRICES:
        found, lost = _at_price(price, sizes, ahead, losses, latest)
        if lost > LOST * gain:
            break
        best = found
    return best


def _lost(scores: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Return what is lost, for each row, by deciding by scores instead of the last ones."""
    if last.shape[1] == 1:
        return np.where(decided(scores) == decided(last), 0.0, np.abs(last[:, 0]))
    found: np.ndarray = (last.max(axis=1) - last[np.arange(len(last)), decided(scores)]) / 2  # codes are -1 and 1
    return found


def _at_price(
    price: float,
    sizes: Sequence[int],
    ahead: Sequence[np.ndarray],
    losses: Sequence[np.ndarray],
    latest: Sequence[float],
) -> tuple[list[float], float]:
    """Return the best margins if a call has a price, and the mean loss; decided from the last stage backwards."""
    paid, lost, found = losses[-1], losses[-1], [0.0]
    for k in range(len(sizes) - 2, -1, -1):
        on = paid + price * (sizes[k + 1] - sizes[k])
        order = np.argsort(ahead[k], kind="stable")
        saved = np.concatenate([[0.0], np.cumsum((losses[k] - on)[order])])
        n_on = len(saved) - 1 - int(saved[::-1].argmax()) if price == 0.0 else int(saved.argmax())
        margin = np.inf if n_on == len(order) else float(ahead[k][order[n_on]])
        margin = min(margin, latest[k])
        goes = ahead[k] < margin
        paid, lost = np.where(goes, on, losses[k]), np.where(goes, lost, losses[k])
        found.append(margin)
    return found[::-1], float(lost.mean())
