"""Landmarks drawn by approximate ridge leverage scores."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import eigh

from similitude.compute import Encoding, rows
from similitude.landmarks.pivots import Exactness, refuse
from similitude.support import pairs_at

if TYPE_CHECKING:
    from similitude.landmarks.rules import Pool


def leverage(pool: Pool, n: int) -> np.ndarray:
    """Draw without replacement, with probabilities proportional to approximate ridge leverage scores.

    See `ridge_leverage`. Objects of score zero add nothing and are never drawn, so fewer than `n` may be
    returned.
    """
    scores, _ = ridge_leverage(pool, n)
    able = np.flatnonzero(scores)
    if not len(able):
        return able
    return pool.rng.choice(able, min(n, len(able)), replace=False, p=scores[able] / scores.sum())


def ridge_leverage(pool: Pool, s: int) -> tuple[np.ndarray, float]:
    r"""Return approximate ridge leverage scores of all objects, and the ridge that they belong to.

    The score of object i, :math:`\ell_i = (K (K + \lambda I)^{-1})_{ii} \in [0, 1]`, measures how much it alone adds to
    what ridge regression can express; drawing by it gives Nystrom approximations with
    :math:`K \succeq \tilde K \succeq K - \lambda I`. Exact scores need all of K. Instead: half of the objects are set
    aside at random, and half of the rest, until s are left; then, from the last half to all objects, the sample of the
    smaller set estimates the scores of the larger,

    .. math:: \tilde\ell_i = \frac1\lambda
              \left(K - K S (S' K S + \lambda I)^{-1} S' K\right)_{ii},

    and about s objects are sampled by them, each with probability :math:`p_i = \min(1, \tilde\ell_i \log s)` and
    weight :math:`p_i^{-1/2}` in :math:`S`. The ridge :math:`\lambda` is the sum of all but the :math:`r` largest
    eigenvalues of :math:`S' K S`, divided by :math:`r = \lceil s / (4 \log s) \rceil`. About :math:`2 n s` values of K
    are computed. (Musco and Musco, Recursive sampling for the Nystrom method, 2017, Algorithm 3, with the constants of
    the authors' program.)

    Parameters
    ----------
    pool : Pool
        Its similarity must be a kernel.
    s : int
        Objects in each sample.

    Returns
    -------
    scores : array of shape (n,)
    ridge : float
    """
    exact = Exactness(pool)
    order = pool.rng.permutation(pool.n)
    sizes = [pool.n]
    while sizes[-1] > s:
        sizes.append(math.ceil(sizes[-1] / 2))
    sample = _Sample(order[: sizes[-1]], np.ones(sizes[-1]))
    for size in sizes[-2:0:-1]:
        candidates = order[:size]
        scores, _ = sample.scores(exact, candidates, rows(pool.encoding, candidates), s)
        sample = _Sample.drawn(candidates, scores, s, pool.rng)
    return sample.scores(exact, np.arange(pool.n), pool.encoding, s)


@dataclass(frozen=True)
class _Sample:
    """Objects that stand for a larger set, and the probability that each had to be among them."""

    positions: np.ndarray
    probabilities: np.ndarray

    @classmethod
    def drawn(cls, candidates: np.ndarray, scores: np.ndarray, s: int, rng: np.random.Generator) -> _Sample:
        """Draw about s candidates independently by their scores; if by chance none is drawn, uniformly."""
        probabilities = np.minimum(1.0, scores * _oversampling(s))
        among = np.flatnonzero(rng.random(len(candidates)) < probabilities)
        if not len(among):
            probabilities = np.full(len(candidates), s / len(candidates))
            among = rng.choice(len(candidates), s, replace=False)
        return cls(candidates[among], probabilities[among])

    def scores(self, exact: Exactness, candidates: np.ndarray, A: Encoding, s: int) -> tuple[np.ndarray, float]:
        """Return the scores of the candidates, whose encoding is `A`, as this sample sees them, and the ridge."""
        pool, left = exact.pool, exact.diagonal[candidates]
        values, vectors = self._eigen(exact)
        ridge = _ridge(values, math.ceil(s / (4 * _oversampling(s))), exact)
        solved = vectors / np.sqrt(self.probabilities)[:, None] / np.sqrt(values + ridge)
        with pairs_at(candidates, self.positions):
            for strip, K in pool.similarity.blocks(A, rows(pool.encoding, self.positions), pool.engine).rows():
                left[strip] -= ((np.asarray(K) @ solved) ** 2).sum(axis=1)
        negative = exact.impossible(left, exact.diagonal[candidates])
        if negative is not None:
            refuse(pool, np.append(self.positions, candidates[negative]))
        return np.clip(left / ridge, 0.0, 1.0), ridge

    def _eigen(self, exact: Exactness) -> tuple[np.ndarray, np.ndarray]:
        """Return the eigenvalues of S'KS from the smallest, negative rounding as zero, and its eigenvectors."""
        weights = 1 / np.sqrt(self.probabilities)
        values, vectors = eigh(exact.gram(self.positions) * weights[:, None] * weights)
        if exact.impossible(values[:1], np.abs(values).max(keepdims=True)) is not None:
            refuse(exact.pool, self.positions)
        return np.maximum(values, 0.0), vectors


def _ridge(eigenvalues: np.ndarray, rank: int, exact: Exactness) -> float:
    """Return the sum of all but the `rank` largest eigenvalues, divided by `rank` and kept away from zero."""
    smallest = math.sqrt(exact.eps) * float(np.abs(exact.diagonal).mean())
    return max(float(eigenvalues[: max(0, len(eigenvalues) - rank)].sum()) / rank, smallest) or 1.0


def _oversampling(s: int) -> float:
    return max(1.0, math.log(s))
