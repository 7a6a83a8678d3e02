"""Definition 5: mean similarities within and between classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from similitude.goodness.resampling import by_jackknife, effective_size, jackknife_variance, without_effects
from similitude.support import ESTIMATE, Estimate, Result
from similitude.theory import LEVEL


@dataclass(frozen=True, eq=False)
class WeakGoodness(Result):
    r"""How good the similarity is on average.

    K is weakly :math:`\gamma`-good if :math:`E[K(x, x') \mid same] \ge E[K(x, x') \mid different] + \gamma` (Balcan and
    Blum, "On a Theory of Learning with Similarity Functions", Definition 5). If one class is rare, that does not make a
    learner better than chance; the class-balanced version does: the mean of E over equal classes minus the mean over
    different ones, with every class and every pair of classes weighted equally. Intervals are Student's, by the
    jackknife over examples, slightly widened for small classes.
    """

    gamma: Estimate  # as in the definition
    balanced: Estimate
    means: np.ndarray  # of K(x, x') over different examples, x of the class of the row, x' of that of the column
    low: np.ndarray
    high: np.ndarray  # within a class of two, which has only one pair, from -1 to 1
    classes_: np.ndarray
    level: float
    grade: str

    def __str__(self) -> str:
        lines = [f"same minus different class: {self.gamma}", f"classes weighted equally: {self.balanced}"]
        names = [str(name) for name in self.classes_.tolist()]
        if len(names) <= 6:
            for a, row in enumerate(names):
                cells = [f"{b} {self.means[a, i]:.4g}" for i, b in enumerate(names)]
                lines.append(f"  mean similarity of {row} to " + ", to ".join(cells))
        return "\n".join(lines)


def plain_gamma(means: np.ndarray, shares: np.ndarray, sizes: np.ndarray | None = None) -> float:
    """Return E[K | same] - E[K | different], given class means and shares, or the class sizes of a sample."""
    pairs = np.outer(shares, shares) if sizes is None else np.outer(sizes, sizes) - np.diag(sizes)
    same = np.eye(len(means), dtype=bool)
    return float(np.average(means[same], weights=pairs[same]) - np.average(means[~same], weights=pairs[~same]))


def balanced_gamma(means: np.ndarray) -> float:
    """Return the mean within classes minus the mean between them."""
    same = np.eye(len(means), dtype=bool)
    return float(means[same].mean() - means[~same].mean())


def weak_goodness(K: np.ndarray, codes: np.ndarray, classes: np.ndarray) -> WeakGoodness:
    """Return the class means of a sample of similarities in [-1, 1], with their intervals."""
    sums = _PairSums(K, codes)
    means = sums.means
    size = effective_size(codes)
    spread = sums.variances()
    low = np.full(means.shape, -1.0)
    high = np.full(means.shape, 1.0)
    for cell in zip(*np.nonzero(np.isfinite(spread)), strict=True):
        found = by_jackknife(float(means[cell]), float(spread[cell]), min(sums.sizes[list(cell)]), 1.0)
        low[cell] = found.low
        high[cell] = found.high
    plain = plain_gamma(means, sums.sizes, sums.sizes)
    second = sums.second_order()
    pairs = sums.pairs
    same = sums.same
    shares = pairs / np.where(same, pairs[same].sum(), pairs[~same].sum())
    gamma = by_jackknife(plain, sums.plain_variance() + _doubled(shares, second), size, 2.0)
    return WeakGoodness(gamma, sums.balanced(second, size), means, low, high, classes, LEVEL, ESTIMATE)


def _doubled(shares: np.ndarray, second: np.ndarray) -> float:
    """Return the variance of a sum over cells; E(a, b) and E(b, a) may be the same variable."""
    same = np.eye(len(shares), dtype=bool)
    return float((shares**2 * second * np.where(same, 1, 2)).sum())


class _PairSums:
    """Sums of similarities over pairs of different examples, by class."""

    def __init__(self, K: np.ndarray, codes: np.ndarray) -> None:
        member = np.eye(codes.max() + 1)[codes]
        own = np.diag(K)[:, None] * member
        self.codes = codes
        self.sizes = np.bincount(codes)
        self.same = np.eye(len(self.sizes), dtype=bool)
        self.pairs = np.outer(self.sizes, self.sizes) - np.diag(self.sizes)  # of different examples
        self.out = K @ member - own  # of each example to the others of each class
        self.into = K.T @ member - own  # of those to it
        self.total = member.T @ self.out  # of two classes
        self.means = self.total / self.pairs
        self.mine = (self.out + self.into)[np.arange(len(codes)), codes]  # with examples of the own class
        self.squares = member.T @ without_effects(K, codes) ** 2 @ member  # without row and column effects

    def second_order(self) -> np.ndarray:
        """Return the part of each mean's variance that is due to single pairs; infinite within a class of two.

        It is all if every example has the same mean similarity, which the jackknife may not detect.
        """
        freedom = np.outer(self.sizes - 1, self.sizes - 1) - np.diag(self.sizes - 1)
        spread = np.divide(self.squares, freedom, out=np.full(freedom.shape, np.inf), where=freedom > 0)
        return spread * np.where(self.same, 2, 1) / self.pairs

    def variances(self) -> np.ndarray:
        """Return the variance of each mean, due to rows, to columns and to single pairs."""
        found = self.second_order()
        for a, size in enumerate(self.sizes):
            rows = self.codes == a
            if size > 2:
                found[a, a] += jackknife_variance(self.mine[rows] / ((size - 1) * (size - 2)))
            others = ~self.same[a]
            found[a, others] += (self.out[rows].var(axis=0, ddof=1) / self.sizes**2 / size)[others]
            found[others, a] += (self.into[rows].var(axis=0, ddof=1) / self.sizes**2 / size)[others]
        return found

    def plain_variance(self) -> float:
        """Return the jackknife variance of E[K | same] - E[K | different]."""
        same = self.same
        size = self.sizes[self.codes]
        same_pairs = self.pairs[same].sum() - 2 * (size - 1)
        other_pairs = self.pairs[~same].sum() - 2 * (len(size) - size)
        if (same_pairs <= 0).any() or (other_pairs <= 0).any():
            return np.inf
        inside = (self.total[same].sum() - self.mine) / same_pairs
        others = (self.out + self.into).sum(axis=1) - self.mine
        return jackknife_variance(inside - (self.total[~same].sum() - others) / other_pairs)

    def balanced(self, second: np.ndarray, size: float) -> Estimate:
        """Return the balanced gamma; the interval allows anything in [-1, 1] for the one pair of a class of two."""
        k = len(self.sizes)
        a = self.codes
        n_a = self.sizes[a]
        pairs_left = np.where(n_a > 2, (n_a - 1) * (n_a - 2), np.inf)
        inside = np.where(n_a > 2, (self.total[a, a] - self.mine) / pairs_left, 0.0)
        across = (self.total + self.total.T)[a] - self.out - self.into
        across = across / ((n_a - 1)[:, None] * self.sizes)
        across[self.same[a]] = 0.0
        left_out = inside / k - across.sum(axis=1) / (k * (k - 1))
        shares = np.where(self.same, 1 / k, 1 / (k * (k - 1)))
        variance = jackknife_variance(left_out, a) + _doubled(shares, np.where(np.isfinite(second), second, 0.0))
        found = by_jackknife(balanced_gamma(self.means), variance, size, 2.0)
        lone = self.means.diagonal()[self.sizes == 2]
        low = found.low - float((lone + 1).sum()) / k
        high = found.high + float((1 - lone).sum()) / k
        return Estimate(found.value, max(low, -2.0), min(high, 2.0), LEVEL, ESTIMATE)
