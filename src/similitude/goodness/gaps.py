"""Definition 2: how much more similar an object is, on average, to its own class than to any other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from similitude.support import Curve


def class_similarities(
    K: np.ndarray,
    columns: np.ndarray,
    masses: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    itself: np.ndarray | None = None,
) -> np.ndarray:
    r"""Return :math:`E[w(x') K(x, x') \mid x' \in c]` of each row x and each class c, NaN for a class without columns.

    `masses` are the probabilities of the columns up to a factor; `itself` is the column that is the row's own object
    and is left out, or -1.
    """
    masses = np.ones(len(columns)) if masses is None else np.asarray(masses, dtype=float)
    parts = masses if weights is None else masses * weights
    member = np.eye(int(columns.max()) + 1)[columns]
    sums = K @ (member * parts[:, None])
    totals = np.broadcast_to(masses @ member, sums.shape).copy()
    if itself is not None:
        rows = np.flatnonzero(itself >= 0)
        own = itself[rows]
        sums[rows, columns[own]] -= K[rows, own] * parts[own]
        totals[rows, columns[own]] -= masses[own]
    empty = totals <= 1e-12 * masses.sum()
    return np.divide(sums, totals, out=np.full(sums.shape, np.nan), where=~empty)


def gaps(means: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Return the lead of the own class over the best other one, from means by class; NaN if either is missing."""
    rows = np.arange(len(own))
    others = np.where(np.isnan(means), -np.inf, means)
    others[rows, own] = -np.inf
    best = others.max(axis=1)
    return means[rows, own] - np.where(best == -np.inf, np.nan, best)


def largest_gap(values: np.ndarray, epsilon: np.ndarray, masses: np.ndarray | None = None) -> np.ndarray:
    """Return the largest gap that all but a share epsilon reach, by column: sup{g: Pr[gap < g] <= epsilon}."""
    columns = values.reshape(len(values), -1)
    if masses is None:
        masses = np.ones(values.shape)
    order = np.argsort(columns, axis=0, kind="stable")
    ordered = np.take_along_axis(columns, order, axis=0)
    below = np.cumsum(np.take_along_axis(masses.reshape(columns.shape), order, axis=0), axis=0)
    below = np.divide(below, below[-1], out=np.zeros_like(below), where=below[-1] > 0)
    found = np.stack([ordered[(below > e + 1e-12).argmax(axis=0), np.arange(columns.shape[1])] for e in epsilon])
    return found.reshape(-1, *values.shape[1:])


def ranks(n: int, epsilon: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the ranks, from 1, of the ordered values that enclose the quantile at epsilon; 0 and n + 1 are none."""
    from scipy.stats import binom

    tail = (1 - level) / 2
    return binom.ppf(tail, n, epsilon).astype(int), binom.ppf(1 - tail, n, epsilon).astype(int) + 1


def enclosed(values: np.ndarray, epsilon: np.ndarray, level: float, bound: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the exact interval of each quantile of independent values within ±`bound`."""
    ordered = np.concatenate([[-bound], np.sort(values), [bound]])
    low, high = ranks(len(values), epsilon, level)
    return ordered[low], ordered[high]


@dataclass(frozen=True, eq=False)
class StrongGoodness(Curve):
    r"""How good the similarity is without weights.

    K is strongly :math:`(\epsilon, \gamma)`-good if for all but a share epsilon of the objects x the mean similarity to
    the own class exceeds that to the other, :math:`E[K(x, x') \mid same] \ge E[K(x, x') \mid different] + \gamma`
    (Balcan and Blum, "On a Theory of Learning with Similarity Functions", Definition 2). With several classes the own
    class must exceed each other one. For shares epsilon x, y is the largest gamma that all but this share of the sample
    reach; means are over other objects. Intervals are by the bootstrap over objects, without pairs of an object with
    itself, corrected for the noise of the means; see `similitude.goodness.resampling`.
    """

    gaps: np.ndarray  # of each example that was used

    def __str__(self) -> str:
        return "\n".join([f"gaps of {len(self.gaps)} examples ({100 * self.level:g} %, {self.grade})", *points(self)])


def points(curve: Curve) -> list[str]:
    """Return a line for each share of a curve of gaps."""
    values = zip(curve.x, curve.y, curve.low, curve.high, strict=True)
    return [f"  all but {100 * x:3.0f} %: gap {y:8.4g}  [{low:.4g}, {high:.4g}]" for x, y, low, high in values]
