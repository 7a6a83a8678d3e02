"""The rules by which landmarks are chosen, by name; and a uniform sample of a stream, whatever its length.

``uniform``, ``stratified`` and ``diverse`` require nothing of the similarity; ``kmeans++``, ``rpcholesky`` and
``leverage`` work in its feature space and so need a kernel.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import eigh

from similitude.compute import Blocks, Encoding, as_numpy, check_objects, count, join, rows, take
from similitude.compute.engines import Engine
from similitude.landmarks.features import in_floats
from similitude.landmarks.pivots import Exactness, Nearest, refuse, rpcholesky, sample
from similitude.similarity import Similarity
from similitude.support import PairError, brief, pairs_at


def leverage(pool: Pool, n: int) -> np.ndarray:
    """Draw without replacement by `ridge_leverage`; objects of score zero add nothing and are never drawn."""
    scores, _ = ridge_leverage(pool, n)
    able = np.flatnonzero(scores)
    if not len(able):
        return able
    return pool.rng.choice(able, min(n, len(able)), replace=False, p=scores[able] / scores.sum())


def ridge_leverage(pool: Pool, s: int) -> tuple[np.ndarray, float]:
    r"""Return approximate ridge leverage scores of all objects, and the ridge that they belong to.

    The score :math:`\ell_i = (K (K + \lambda I)^{-1})_{ii}` measures how much object i alone adds to what ridge
    regression can express. Exact scores need all of K. Instead: half of the objects are set aside at random, and half
    of the rest, until s are left; then, from the last half to all objects, the sample of the smaller set estimates the
    scores of the larger by :math:`\lambda^{-1} (K - K S (S' K S + \lambda I)^{-1} S' K)_{ii}`, and about s objects are
    sampled by them, each with probability :math:`p_i = \min(1, \tilde\ell_i \log s)` and weight :math:`p_i^{-1/2}` in
    :math:`S`. The ridge is the sum of all but the :math:`r` largest eigenvalues of :math:`S' K S`, divided by :math:`r
    = \lceil s / (4 \log s) \rceil`. About :math:`2 n s` values of K are computed. (Musco and Musco, Recursive sampling
    for the Nystrom method, 2017, Algorithm 3, with the constants of the authors' program.)
    """
    exact = Exactness(pool)
    order = pool.rng.permutation(pool.n)
    sizes = [pool.n]
    while sizes[-1] > s:
        sizes.append(math.ceil(sizes[-1] / 2))
    oversampling = max(1.0, math.log(s))
    rank = math.ceil(s / (4 * oversampling))
    sampled = order[: sizes[-1]]
    probabilities = np.ones(sizes[-1])
    for size in sizes[-2:0:-1]:
        candidates = order[:size]
        scores, _ = _scores(exact, candidates, sampled, probabilities, rank)
        probabilities = np.minimum(1.0, scores * oversampling)
        among = np.flatnonzero(pool.rng.random(size) < probabilities)
        if not len(among):  # by chance
            probabilities = np.full(size, s / size)
            among = pool.rng.choice(size, s, replace=False)
        sampled = candidates[among]
        probabilities = probabilities[among]
    return _scores(exact, np.arange(pool.n), sampled, probabilities, rank)


def _scores(
    exact: Exactness, candidates: np.ndarray, sampled: np.ndarray, probabilities: np.ndarray, rank: int
) -> tuple[np.ndarray, float]:
    """Return the scores of the candidates as objects sampled with these probabilities see them, and the ridge."""
    pool = exact.pool
    weights = 1 / np.sqrt(probabilities)
    values, vectors = eigh(exact.gram(sampled) * weights[:, None] * weights)
    if exact.impossible(values[:1], np.abs(values).max(keepdims=True)) is not None:
        refuse(pool, sampled)
    values = np.maximum(values, 0.0)  # negative ones are rounding
    smallest = math.sqrt(exact.eps) * float(np.abs(exact.diagonal).mean())
    ridge = max(float(values[: max(0, len(values) - rank)].sum()) / rank, smallest) or 1.0
    solved = vectors * weights[:, None] / np.sqrt(values + ridge)
    left = exact.diagonal[candidates]
    A = rows(pool.encoding, candidates)
    with pairs_at(candidates, sampled):
        for strip, K in pool.similarity.blocks(A, rows(pool.encoding, sampled), pool.engine).rows():
            left[strip] -= ((np.asarray(K) @ solved) ** 2).sum(axis=1)
    negative = exact.impossible(left, exact.diagonal[candidates])
    if negative is not None:
        refuse(pool, np.append(sampled, candidates[negative]))
    return np.clip(left / ridge, 0.0, 1.0), ridge


@dataclass(frozen=True)
class Pool:
    """The objects that landmarks are chosen from."""

    similarity: Similarity  # resolved
    encoding: Encoding  # all objects
    engine: Engine
    labels: np.ndarray | None  # one per object; only ``stratified`` looks at them
    rng: np.random.Generator
    objects: Any = None  # as the user gave them, to be shown in a counterexample; by default as encoded

    @cached_property
    def n(self) -> int:
        """The number of objects."""
        return count(self.encoding)

    def against(self, chosen: np.ndarray) -> Blocks:
        """Return K(x_i, x_j) of every object (rows) with the chosen ones (columns), as tiles."""
        return self.similarity.blocks(self.encoding, rows(self.encoding, chosen), self.engine)

    def gram(self, chosen: np.ndarray) -> np.ndarray:
        """Return K(x_i, x_j) of the chosen objects among themselves."""
        with pairs_at(chosen, chosen):
            return in_floats(self.similarity.blocks(rows(self.encoding, chosen), None, self.engine).whole())

    def diagonal(self) -> np.ndarray:
        """Return K(x_i, x_i) of every object, in double precision."""
        values = as_numpy(self.similarity.diagonal(self.encoding)).astype(np.float64)
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            i = int(bad[0])
            raise PairError(i, i, f"{self.similarity!r} is {values[i]}, not a finite number")
        return values


def refuse_function(landmarks: Any) -> None:
    """Raise TypeError if landmarks are given as a function."""
    if callable(landmarks):
        raise TypeError(
            f"landmarks cannot be a function: give a rule ({', '.join(RULES)}), the objects themselves, or their "
            f"positions among the training objects as landmark_indices"
        )


def choose(rule: str, pool: Pool, n: int) -> np.ndarray:
    """Return the positions of n landmarks in the order chosen; fewer if the rule finds that no other adds anything.

    >>> from similitude.compute.engines import LocalEngine
    >>> from similitude.kernels import Linear
    >>> X = np.array([[1., 0.], [2., 0.], [0., 0.], [0., 3.]])  # a plane: two landmarks span it
    >>> pool = Pool(Linear(), X, LocalEngine(), None, np.random.default_rng(0))
    >>> len(choose("rpcholesky", pool, 4))
    2
    """
    if rule not in RULES:
        near = difflib.get_close_matches(str(rule), RULES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(RULES)}"
        raise ValueError(f"there is no rule for landmarks called {rule!r}; {hint}")
    if not 1 <= n <= pool.n:
        raise ValueError(f"the number of landmarks must be from 1 to the {pool.n:,} objects, got {n}")
    return RULES[rule](pool, n)


def uniform(pool: Pool, n: int) -> np.ndarray:
    """Draw uniformly without replacement, as in Lemma 1 of Balcan, Blum and Vempala (2004)."""
    return pool.rng.choice(pool.n, n, replace=False)


def stratified(pool: Pool, n: int) -> np.ndarray:
    """Draw without replacement from each class in proportion to its size, and at least one if `n` allows.

    Under strong imbalance a uniform sample can miss a class, and the margin with it. (Balcan and Blum, On a Theory of
    Learning with Similarity Functions, 2006, footnote 4.)
    """
    if pool.labels is None:
        raise ValueError("landmarks='stratified' needs labels: pass y to fit, or use landmarks='uniform'")
    labels = np.asarray(pool.labels)
    if labels.ndim != 1:
        raise ValueError(f"landmarks='stratified' needs one label per object, got an array of shape {labels.shape}")
    if len(labels) != pool.n:
        raise ValueError(f"there are {pool.n:,} objects but {len(labels):,} labels")
    if labels.dtype == object:  # any hashable values
        numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
        labels = np.array([numbers[label] for label in labels])
    codes = np.unique(labels, return_inverse=True)[1]
    sizes = np.bincount(codes)
    shares = _shares(sizes, n, pool.rng)
    shuffled = pool.rng.permutation(pool.n)
    order = np.argsort(codes[shuffled], kind="stable")  # class after class, shuffled within each
    place = np.empty_like(order)
    place[order] = np.arange(pool.n) - (np.cumsum(sizes) - sizes)[codes[shuffled[order]]]
    return shuffled[place < shares[codes[shuffled]]]


def _shares(sizes: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return how many of the n landmarks each class gets by largest remainder (ties at random), at most its size."""
    quotas = n * sizes / sizes.sum()
    shares = np.floor(quotas).astype(int)
    by_lot = rng.permutation(len(sizes))
    order = by_lot[np.argsort(-(quotas - shares)[by_lot], kind="stable")]
    shares[order[: n - shares.sum()]] += 1
    if n >= len(sizes):
        for missed in np.flatnonzero(shares == 0):
            shares[np.where(shares > 1, shares - quotas, -np.inf).argmax()] -= 1
            shares[missed] = 1
    return shares


def diverse(pool: Pool, n: int) -> np.ndarray:
    r"""Start at random; then always add the first object :math:`z` with the least :math:`\sum_{x \in L} K(x, z)`.

    Nothing is required of K: if it is not symmetric, the chosen objects are the queries. (DSELECT; Kar and Jain,
    Similarity-based learning via data driven embeddings, 2011.)
    """
    chosen = np.empty(n, dtype=np.intp)
    chosen[0] = pool.rng.integers(pool.n)
    total = np.zeros(pool.n)
    for i in range(1, n):
        latest = chosen[i - 1 : i]
        row = pool.similarity.blocks(rows(pool.encoding, latest), pool.encoding, pool.engine)
        with pairs_at(latest, None):
            total += as_numpy(row.whole())[0]
        total[latest] = np.inf
        chosen[i] = total.argmin()
    return chosen


def kmeans_plus_plus(pool: Pool, n: int, block: int | None = None) -> np.ndarray:
    r"""Choose the first landmark uniformly, each further one by its squared distance from the nearest landmark.

    That is :math:`K(x, x) + K(l, l) - 2 K(x, l)`. (Arthur and Vassilvitskii, k-means++: the advantages of careful
    seeding, 2007; drawn in blocks, see `landmarks.pivots`.)
    """
    first = pool.rng.integers(pool.n, size=1)
    weights = Nearest(pool)
    weights.add(first)
    return np.concatenate([first, sample(weights, n - 1, pool.rng, block)])


RULES: dict[str, Callable[[Pool, int], np.ndarray]] = {
    "uniform": uniform,
    "stratified": stratified,
    "kmeans++": kmeans_plus_plus,
    "rpcholesky": lambda pool, n: rpcholesky(pool, n)[0],
    "leverage": leverage,
    "diverse": diverse,
}
"""Every rule by name: a function of the pool and of the number of landmarks that returns their positions."""


def check_positions(indices: Any, n: int, name: str = "landmark_indices", otherwise: str = "") -> np.ndarray:
    """Validate positions in X, negative ones counted from the end; `otherwise` is what the caller accepts instead."""
    positions = np.asarray(indices)
    if positions.ndim != 1 or not len(positions) or positions.dtype.kind not in "iu":
        raise ValueError(f"{name} must be {otherwise}a list of positions in X, got {brief(indices)}")
    outside = positions[(positions < -n) | (positions >= n)]
    if len(outside):
        raise IndexError(f"{name} holds {outside[0]}, X has {n:,} objects")
    return positions % n


class Reservoir:
    """At most `size` objects of a stream, uniform among all subsets of that size (Vitter 1985, algorithm R).

    >>> kept = Reservoir(2, np.random.default_rng(0))
    >>> for batch in (["a", "b", "c"], ["d"]):
    ...     kept.add(batch)
    >>> kept.seen, len(kept.objects)
    (4, 2)
    """

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self.size = size
        self.rng = rng
        self.seen = 0
        self.objects: Any = None
        self.positions = np.empty(0, dtype=np.intp)

    def add(self, batch: Any) -> None:
        """Add a batch of the stream."""
        n = check_objects(batch)
        held = len(self.positions)
        places = np.arange(held)
        pool = batch if held == 0 else join(self.objects, batch)
        for i in range(n):
            self.seen += 1
            if len(places) < self.size:
                places = np.append(places, held + i)
                continue
            slot = int(self.rng.integers(self.seen))
            if slot < self.size:
                places[slot] = held + i
        known = np.concatenate([self.positions, np.arange(self.seen - n, self.seen)])
        self.objects = take(pool, places)
        self.positions = known[places]
