"""Several similarities made into one: weighted sums of kernels, or landmark features side by side."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np

from similitude.compute import as_matrix
from similitude.compute.encodings import check_objects, take
from similitude.compute.engines import Engine
from similitude.scikit import CHECKED_OBJECTS, demand_valid
from similitude.selection.choosing import checked_engine
from similitude.selection.coordinates import projection
from similitude.selection.pairs import Looked, Pairs, families
from similitude.selection.reading import REGRESSION, Named, Targets, read_similarities, speaking_of
from similitude.selection.sampling import affordable, announce, drawn_landmarks, drawn_rows
from similitude.selection.side_by_side import SideBySide
from similitude.selection.weights import aligned, easy
from similitude.similarity import Similarity, remembered_images
from similitude.support.errors import NotAKernelError
from similitude.support.randomness import generator
from similitude.validity import check_gram

WAYS = ("uniform", "alignment", "easymkl", "concatenate")

ROWS = 10_000
"""Examples at most that are looked at."""

LANDMARKS = 500
"""Landmarks at most."""

WIDTH = 4_000
"""Features of all similarities together at most, down to 100 landmarks."""

ARRAYS = 3
"""Arrays of the size of all features that are in memory at once."""

ADVICE = "how='concatenate' takes any similarity, or use repair(...) first"


def combine(
    similarities: Any,
    X: Any,
    y: Any,
    *,
    how: str = "alignment",
    random_state: Any = None,
    engine: Engine | None = None,
) -> Similarity:
    r"""Make one similarity of several.

    The first three ways add kernels up, :math:`K = \sum_k w_k K_k` with :math:`w_k \ge 0`. The weights are scaled so
    that the mean of K(x, x) over X is 1; kernels with weight exactly zero are left out of the sum.

    ``"uniform"``
        The mean of the kernels, each divided by its mean K(x, x); y is not looked at.
    ``"alignment"``
        The weights whose sum is best aligned with the targets, after centering: :math:`\min_{v \ge 0} v^\top M v -
        2 v^\top a` with :math:`M_{kl} = \langle K^c_k, K^c_l\rangle` and :math:`a_k = \langle K^c_k, YY^\top\rangle`
        (Cortes, Mohri and Rostamizadeh, "Algorithms for Learning Kernels Based on Centered Alignment", 2012). Y is
        :math:`\pm 1`, in a column for each class where there are several, or the numbers to be predicted.
    ``"easymkl"``
        For classes. Every kernel weighs as much as it contributes to the distance between the hulls of the classes
        (Aiolli and Donini, "EasyMKL: a scalable multiple kernel learning algorithm", 2015), kernels divided by
        their mean K(x, x) and :math:`\Lambda = 0.1`. Of several classes each is set against the others, and the weights
        are the mean.
    ``"concatenate"``
        For any similarities, PSD or not, symmetric or not: the dot product of all their similarities K(x, l) to
        landmarks, side by side, each similarity divided by the root mean square length of its features (Balcan and
        Blum, "On a Theory of Learning with Similarity Functions", Theorem 3). It is a kernel by construction, see
        `SideBySide`; the landmarks are drawn from X, from each class in proportion.

    Kernels are compared by their projections onto landmarks drawn from X (500 at most, and fewer where there are more
    than eight kernels), so no matrix of examples by examples is made; if all examples are landmarks these are the
    kernels themselves.

    Parameters
    ----------
    similarities : list of similarities, or dict of them by name
        Each a Similarity, a name such as ``"gaussian"``, or a function of two objects. For weighted sums one that is
        known not to be a kernel is refused by name; one without a proof is looked at on 500 objects at most.
    X : sequence of objects
        Of more than 10,000 a random sample is looked at, and a warning says so.
    y : sequence of labels or numbers
        Read as by `choose_kernel`; None will do for ``"uniform"``.
    how : {"alignment", "uniform", "easymkl", "concatenate"}
    random_state : int, optional
        Seed of landmarks and samples.
    engine : Engine, optional

    Returns
    -------
    Similarity
        With everything fixed that X had to fix.

    Examples
    --------
    >>> import numpy as np
    >>> from similitude.kernels import Gaussian, Linear
    >>> from similitude.selection import combine
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 2))
    >>> combine([Linear(), Gaussian(sigma=1.0), Gaussian(sigma=9.0)], X, (X**2).sum(axis=1) > 1.4)
    Gaussian(sigma=1.0)
    >>> combine([Gaussian(sigma=1.0), Gaussian(sigma=2.0)], X, None, how="uniform")
    0.5*Gaussian(sigma=1.0) + 0.5*Gaussian(sigma=2.0)
    """
    members = read_similarities(similarities, "similarities")
    if how not in WAYS:
        raise ValueError(f"how must be one of {', '.join(map(repr, WAYS))}, got {how!r}")
    n = check_objects(X)
    targets = None if y is None and how == "uniform" else Targets.of(y, n)
    if how == "easymkl" and targets is not None and targets.task == REGRESSION:
        raise ValueError("how='easymkl' needs classes, y holds numbers to be predicted: use how='alignment'")
    engine, rng = checked_engine(engine), generator(random_state)
    most = min(LANDMARKS, max(100, WIDTH // len(members)))
    sizes = affordable(n, ROWS, most, lambda r, m: ARRAYS * 8 * r * m * len(members), engine)
    rows = drawn_rows(n, targets, sizes.rows, 2, rng)
    here = None if targets is None else targets.only(rows)
    classes = here.numbers if here is not None and how == "concatenate" else None
    announce(sizes, "combine")
    with remembered_images():
        X = as_matrix(X) if any(one.similarity.objects == "vectors" for one in members) else X
        members = [one.resolved(X, random_state) for one in members]
        looked = Looked(X, rows, drawn_landmarks(len(rows), classes, sizes.landmarks, rng))
        if how == "concatenate":
            return _concatenated(members, looked, engine)
        return _added(members, looked, engine, here, how)


def _concatenated(members: Sequence[Named], looked: Looked, engine: Engine) -> Similarity:
    """Return the landmark features side by side, every similarity's of the same mean squared length."""
    units = [1.0] * len(members)
    for place, one, pairs in _seen(members, looked, engine):
        with speaking_of(one.name):
            K = pairs.left(one.similarity)
        squared = float(np.einsum("ij,ij->", K, K, dtype=np.float64)) / len(K)
        units[place] = float(np.sqrt(squared * len(members))) if squared > 0 else 1.0
    return SideBySide(tuple(one.similarity for one in members), take(looked.X, looked.landmarks), tuple(units))


def _added(members: Sequence[Named], looked: Looked, engine: Engine, targets: Targets | None, how: str) -> Similarity:
    """Return the weighted sum of kernels, with mean K(x, x) = 1."""
    features, sizes = [np.empty((len(looked.rows), 0))] * len(members), np.zeros(len(members))
    for place, one, pairs in _seen(members, looked, engine):
        with speaking_of(one.name):
            k = one.similarity
            sizes[place] = float(pairs.diagonal(k).mean())
            if how != "uniform" or not k.proof().holds:
                F = _projected(k, pairs)
                if sizes[place] > 0:
                    features[place] = F / np.sqrt(sizes[place])
    if not sizes.any():
        raise ValueError("every kernel is zero on X: there is nothing to add up")
    weights = _weights(features, sizes, targets, how)
    weights = np.divide(weights / weights.sum(), sizes, out=np.zeros(len(members)), where=weights > 0)
    kept = [_times(float(w), one.similarity) for w, one in zip(weights, members, strict=True) if w > 0]
    return reduce(operator.add, kept)


def _weights(features: list[np.ndarray], sizes: np.ndarray, targets: Targets | None, how: str) -> np.ndarray:
    """Return the weights of kernels that are divided by their sizes."""
    if how == "uniform" or targets is None:
        return (sizes > 0).astype(np.float64)
    if how == "easymkl":
        return easy(features, targets.Y)
    return aligned(features, targets.Y)


def _times(weight: float, k: Similarity) -> Similarity:
    return k if weight == 1.0 else weight * k


def _seen(members: Sequence[Named], looked: Looked, engine: Engine) -> Iterator[tuple[int, Named, Pairs]]:
    """Yield each member with the pairs that it shares with others."""
    for places in families([one.similarity for one in members]):
        with speaking_of(members[places[0]].name):
            pairs = Pairs(members[places[0]].similarity, looked, engine, shared=len(places) > 1)
        for place in places:
            yield place, members[place], pairs


def _projected(k: Similarity, pairs: Pairs) -> np.ndarray:
    """Return the features of a kernel in double precision; refuse what is known to be none, with its witness."""
    K = pairs.left(k)
    M = pairs.between(k, K)
    looked = pairs.looked
    some = np.arange(len(M))[:CHECKED_OBJECTS]
    if not k.proof().holds:
        objects = take(pairs.landmarks.objects, some)
        n = check_objects(looked.X)
        demand_valid(check_gram(k, M[np.ix_(some, some)], objects, looked.landmarks[some], n), ADVICE)
    F = projection(k, pairs.landmarks, K, M)
    if F is None and M.any():
        problem = f"{k!r} is not a kernel: the Gram matrix of {len(M)} landmarks is indefinite"
        raise NotAKernelError(f"{problem}. {ADVICE[0].upper()}{ADVICE[1:]}.")
    return np.empty((len(K), 0)) if F is None else F.astype(np.float64, copy=False)
