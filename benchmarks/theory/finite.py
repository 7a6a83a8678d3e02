"""Distributions on a few objects, on which every expectation is a sum and every best separator a small program."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.optimize import nnls

from similitude import FromBlocks

ROUNDING = 1e-9
"""Margins and masses are compared up to this."""


@dataclass(frozen=True, eq=False)
class Finite:
    """A distribution on the objects 0, 1, 2, … with class numbers and similarities, which may be of any kind.

    Attributes
    ----------
    masses : array of shape (k,)
    labels : array of shape (k,)
        Class numbers from 0; every class has an object.
    K : array of shape (k, k)
        The similarity of the object of the row to that of the column.
    """

    masses: np.ndarray
    labels: np.ndarray
    K: np.ndarray

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.labels.max()) + 1

    @property
    def given(self) -> np.ndarray:
        """The masses of all objects given a class, of shape (k, classes)."""
        of_class = self.masses[:, None] * (self.labels[:, None] == np.arange(self.n_classes))
        return of_class / of_class.sum(axis=0)

    def similarity(self) -> FromBlocks:
        """Return the similarity for objects given by their numbers."""
        return FromBlocks(lambda X, Z: self.K[np.ix_(np.asarray(X).ravel(), np.asarray(Z).ravel())])

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return n independent draws."""
        return rng.choice(len(self.masses), size=n, p=self.masses)

    def gaps(self, to_class: np.ndarray) -> np.ndarray:
        """Return how much more similar each object is to its own class than to any other, given means by class."""
        means, objects = to_class.copy(), np.arange(len(self.labels))
        own = means[objects, self.labels]
        means[objects, self.labels] = -np.inf
        return own - means.max(axis=1)

    def without_gap(self, gamma: float, weights: np.ndarray, K: np.ndarray | None = None) -> float:
        """Return the mass of the objects that are not more similar to their own class by gamma, with weights."""
        K = self.K if K is None else K
        return float(self.masses[self.gaps(K @ (weights[:, None] * self.given)) < gamma - ROUNDING].sum())


def largest_margin(Z: np.ndarray) -> float:
    """Return the largest cosine that some w has with every row: the distance of 0 from their convex hull.

    It is a least distance problem, solved as nonnegative least squares (Lawson and Hanson, chapter 23).

    >>> round(largest_margin(np.eye(4)), 6), round(largest_margin(np.array([[1.0, 0.0], [-1.0, 0.0]])), 6)
    (0.5, 0.0)
    """
    a, _ = nnls(np.vstack([Z.T, np.ones(len(Z))]), np.append(np.zeros(Z.shape[1]), 1.0))
    return float(np.linalg.norm(a @ Z) / a.sum())


def best_margin(G: np.ndarray, problem: Finite, error: float, enough: float = np.inf) -> float:
    """Return the largest margin of a separator that gives up objects of a mass of at most `error`.

    With several classes it is an upper bound on the margin of scores: for each two classes, the objects of both are
    separated by a w of their own. The search ends once a margin is `enough`.

    Parameters
    ----------
    G : array
        The Gram matrix of the features of all objects.
    problem : Finite
    error, enough : float
    """
    values, U = np.linalg.eigh(G)
    F = U * np.sqrt(np.maximum(values, 0.0))
    lengths = np.linalg.norm(F, axis=1)
    seen = lengths > ROUNDING * max(lengths.max(), ROUNDING)
    F, best = F / np.where(seen, lengths, 1.0)[:, None], 0.0
    pairs = [(a, b) for a in range(problem.n_classes) for b in range(a)]
    for kept in _kept(problem.masses, error):
        if not seen[kept].all():
            continue
        smallest = 1.0
        for a, b in pairs:
            signs = 1.0 * (problem.labels == a) - (problem.labels == b)
            some = kept & (signs != 0)
            if smallest > best and some.any():
                smallest = min(smallest, largest_margin(F[some] * signs[some, None]))
        best = max(best, smallest)
        if best >= enough:
            break
    return best


def _kept(masses: np.ndarray, error: float) -> list[np.ndarray]:
    """Return which objects are kept, for every largest set of objects that may be given up."""
    given_up = _subsets(len(masses))
    lost = given_up @ masses
    could_lose = np.where(given_up, np.inf, lost[:, None] + masses).min(axis=1)
    which = (lost <= error + ROUNDING) & (could_lose > error + ROUNDING)
    return list(~given_up[which])


@lru_cache(maxsize=16)
def _subsets(k: int) -> np.ndarray:
    return (np.arange(2**k)[:, None] >> np.arange(k)) % 2 == 1


# Random distributions.


def labels_of(k: int, n_classes: int, rng: np.random.Generator) -> np.ndarray:
    """Return class numbers of k objects, each class having one at least."""
    return rng.permutation(np.r_[np.arange(n_classes), rng.integers(n_classes, size=k - n_classes)])


def skewed(k: int, rng: np.random.Generator) -> np.ndarray:
    """Return masses: nearly equal, or unbalanced by orders of magnitude."""
    masses = np.exp(rng.choice([0.1, 1.0, 2.0]) * rng.standard_normal(k))
    return masses / masses.sum()


def random_signs(rng: np.random.Generator, most_classes: int = 4) -> Finite:
    """Return a problem whose similarities between classes are low, and within classes anything; some rows are noise."""
    k = int(rng.integers(2, 11))
    labels = labels_of(k, int(rng.integers(2, min(k, most_classes) + 1)), rng)
    same = labels[:, None] == labels
    within = rng.choice([rng.choice([-1.0, 1.0], (k, k)), rng.uniform(-1, 1, (k, k)), np.ones((k, k))])
    between = np.maximum(-1.0, -1 + rng.choice([0.0, 0.3, 1.0]) * rng.random((k, k)))
    K = np.where(same, within, between)
    noise = rng.random(k) < rng.choice([0.0, 0.2])
    K[noise] = rng.uniform(-1, 1, (int(noise.sum()), k))
    if rng.random() < 0.4:
        K = (K + K.T) / 2
    if rng.random() < 0.3:  # a copy, with the same label or another
        i, j = rng.integers(k, size=2)
        K[i], K[:, i] = K[j], K[:, j]
    if rng.random() < 0.1:
        K = 3 * K
    return Finite(skewed(k, rng), labels, K)


def random_kernel(rng: np.random.Generator) -> Finite:
    """Return a problem with a kernel of unit length: random, or orthogonal objects, of which rare ones are lost."""
    k = int(rng.integers(2, 8))
    X = np.eye(k) if rng.random() < 0.5 else rng.standard_normal((k, int(rng.integers(2, 8))))
    w = rng.standard_normal(X.shape[1])
    labels = (X @ w > 0).astype(int)
    if labels.min() == labels.max():
        labels[0] = 1 - labels[0]
    X = X + 0.5 * (2 * labels[:, None] - 1) * w / np.linalg.norm(w)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return Finite(skewed(k, rng), labels, X @ X.T)


def evenly(problem: Finite, rng: np.random.Generator) -> Finite:
    """Return the problem with classes of similar mass and, as a rule, similarities of one magnitude.

    Other problems are seldom promised anything: a class has too few landmarks, or similarities are divided by lengths.
    """
    masses = problem.given @ rng.dirichlet(np.full(problem.n_classes, 50.0))
    signs = np.where(problem.K >= 0, 1.0, -1.0) * float(np.clip(np.abs(problem.K).max(), 0.1, None))
    return replace(problem, masses=masses, K=problem.K if rng.random() < 0.2 else signs)


def sample(problem: Finite, n: int, rng: np.random.Generator) -> np.ndarray | None:
    """Return draws with at least two of every class; None if some class is too rare."""
    drawn = problem.draw(n, rng)
    return drawn if np.bincount(problem.labels[drawn], minlength=problem.n_classes).min() > 1 else None
