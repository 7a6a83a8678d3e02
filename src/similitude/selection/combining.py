"""Several similarities combined into one: weighted sums of kernels, or landmark features side by side."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np

from similitude.compute import as_matrix, check_objects, take
from similitude.compute.engines import Engine
from similitude.evaluation import REGRESSION, TaskTargets, check_groups
from similitude.scikit import CHECKED_OBJECTS, demand_valid
from similitude.selection.candidate_features import projection
from similitude.selection.candidates import NamedSimilarity, naming, validated
from similitude.selection.choosing import checked_engine
from similitude.selection.kernel_weights import alignment_weights, easymkl_weights
from similitude.selection.landmark_similarities import LandmarkSimilarities, SampledData, families
from similitude.selection.sample_sizes import affordable, sample_landmarks, sample_rows
from similitude.selection.side_by_side import SideBySide
from similitude.similarity import Similarity, remembered_images
from similitude.support import NotAKernelError, check_choice, generator
from similitude.validity import check_gram

WAYS = ("uniform", "alignment", "easymkl", "concatenate")

COMBINED_ROWS = 10_000
"""Largest number of examples that are used."""

COMBINED_LANDMARKS = 500
"""Largest number of landmarks."""

MAX_FEATURES = 4_000
"""Largest number of features of all similarities together, down to 100 landmarks."""

COMBINED_ARRAYS = 3
"""Number of arrays of the size of all features in memory at once."""

NOT_A_KERNEL_ADVICE = "how='concatenate' takes any similarity, or use repair(...) first"


def combine(
    similarities: Any,
    X: Any,
    y: Any,
    *,
    how: str = "alignment",
    task: str | None = None,
    groups: Any = None,
    random_state: Any = None,
    engine: Engine | None = None,
) -> Similarity:
    r"""Combine several similarities into one.

    The first three ways add kernels, :math:`K = \sum_k w_k K_k` with :math:`w_k \ge 0`. The weights are scaled such
    that the mean of K(x, x) over X is 1; kernels with weight exactly zero are left out of the sum.

    ``"uniform"``
        The mean of the kernels, each divided by its mean K(x, x); y is not used.
    ``"alignment"``
        The weights of the sum with the largest centered alignment with the targets: :math:`\min_{v \ge 0} v^\top M v -
        2 v^\top a` with :math:`M_{kl} = \langle K^c_k, K^c_l\rangle` and :math:`a_k = \langle K^c_k, YY^\top\rangle`
        (Cortes, Mohri and Rostamizadeh, "Algorithms for Learning Kernels Based on Centered Alignment", 2012). Y is
        :math:`\pm 1`, in a column for each class if there are several, or the numbers to predict.
    ``"easymkl"``
        For classes. The weight of a kernel is its contribution to the distance between the hulls of the classes (Aiolli
        and Donini, "EasyMKL: a scalable multiple kernel learning algorithm", 2015), with kernels divided by their mean
        K(x, x) and :math:`\Lambda = 0.1`. For several classes, it is the mean over one-vs-rest problems.
    ``"concatenate"``
        For any similarities, PSD or not, symmetric or not: the dot product of all their similarities K(x, l) to
        landmarks, side by side, each similarity divided by the root mean square length of its features (Balcan and
        Blum, "On a Theory of Learning with Similarity Functions", Theorem 3). It is a kernel by construction, see
        `SideBySide`; the landmarks are drawn from X, stratified by class.

    Kernels are compared by their projections onto landmarks drawn from X (at most 500, and fewer for more than eight
    kernels), so that no matrix of examples by examples is computed; if all examples are landmarks, these are the
    kernels themselves.

    Parameters
    ----------
    similarities : list of similarities, or dict of them by name
        Each a Similarity, a name such as ``"gaussian"``, or a function of two objects. For weighted sums, one that is
        known not to be a kernel is refused by name; one without a proof is checked on at most 500 objects.
    X : sequence of objects
        Of more than 10,000 a random sample is used, with a warning.
    y : sequence of labels or numbers
        May be None for ``"uniform"``.
    how : {"alignment", "uniform", "easymkl", "concatenate"}
    task : {"classification", "regression"}, optional
        Whether y holds classes or numbers. Default: inferred as by `choose_kernel`.
    groups : sequence, optional
        What each example belongs to, such as a patient or a document. The alignment leaves out pairs of examples of one
        group: a kernel that recognizes the group says nothing about others. The other ways do not use them.
    random_state : int, optional
        Seed of landmarks and samples.
    engine : Engine, optional

    Returns
    -------
    Similarity
        With data-dependent parameters resolved.

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
    members = validated(similarities, "similarities")
    check_choice("how", how, WAYS)
    n = check_objects(X)
    targets = None if y is None and how == "uniform" else TaskTargets.of(y, n, task)
    if how == "easymkl" and targets is not None and targets.task == REGRESSION:
        raise ValueError("how='easymkl' needs classes, y holds numbers: use how='alignment' or task='classification'")
    known = None if groups is None else check_groups(groups, n)
    engine, rng = checked_engine(engine), generator(random_state)
    most = min(COMBINED_LANDMARKS, max(100, MAX_FEATURES // len(members)))
    sizes = affordable(n, COMBINED_ROWS, most, lambda r, m: COMBINED_ARRAYS * 8 * r * m * len(members), engine)
    rows = sample_rows(n, targets, sizes.rows, 2, rng)
    here = None if targets is None else targets.at(rows)
    codes = here.codes if here is not None and how == "concatenate" else None
    sizes.announce("combine")
    with remembered_images():
        X = as_matrix(X) if any(one.similarity.objects == "vectors" for one in members) else X
        members = [one.resolved(X, random_state) for one in members]
        data = SampledData(X, rows, sample_landmarks(len(rows), codes, sizes.landmarks, rng))
        if how == "concatenate":
            return _concatenated(members, data, engine)
        return _weighted_sum(members, data, engine, here, how, None if known is None else known[rows])


def _concatenated(members: Sequence[NamedSimilarity], data: SampledData, engine: Engine) -> Similarity:
    """Return the landmark features side by side, with the same mean squared length for every similarity."""
    units = [1.0] * len(members)
    for place, one, similarities in _compared(members, data, engine):
        with naming(one.name):
            K = similarities.left(one.similarity)
        squared = float(np.einsum("ij,ij->", K, K, dtype=np.float64)) / len(K)
        units[place] = float(np.sqrt(squared * len(members))) if squared > 0 else 1.0
    return SideBySide(tuple(one.similarity for one in members), take(data.X, data.landmarks), tuple(units))


def _weighted_sum(
    members: Sequence[NamedSimilarity],
    data: SampledData,
    engine: Engine,
    targets: TaskTargets | None,
    how: str,
    groups: np.ndarray | None,
) -> Similarity:
    """Return the weighted sum of kernels, with mean K(x, x) = 1."""
    features, sizes = [np.empty((len(data.rows), 0))] * len(members), np.zeros(len(members))
    for place, one, similarities in _compared(members, data, engine):
        with naming(one.name):
            k = one.similarity
            sizes[place] = float(similarities.diagonal(k).mean())
            if how != "uniform" or not k.proven:
                F = _projected(k, similarities)
                if sizes[place] > 0:
                    features[place] = F / np.sqrt(sizes[place])
    if not sizes.any():
        raise ValueError("every kernel is zero on X: there is nothing to add")
    if how == "uniform" or targets is None:
        weights = (sizes > 0).astype(np.float64)
    elif how == "easymkl":
        weights = easymkl_weights(features, targets.Y)
    else:
        weights = alignment_weights(features, targets.Y, groups)
    weights = np.divide(weights / weights.sum(), sizes, out=np.zeros(len(members)), where=weights > 0)
    scaled = [(float(w), one.similarity) for w, one in zip(weights, members, strict=True) if w > 0]
    return reduce(operator.add, [k if w == 1.0 else w * k for w, k in scaled])


def _compared(
    members: Sequence[NamedSimilarity], data: SampledData, engine: Engine
) -> Iterator[tuple[int, NamedSimilarity, LandmarkSimilarities]]:
    """Yield each member with its similarities to landmarks, which members with the same distances share."""
    for places in families([one.similarity for one in members]):
        with naming(members[places[0]].name):
            similarities = LandmarkSimilarities(members[places[0]].similarity, data, engine, shared=len(places) > 1)
        for place in places:
            yield place, members[place], similarities


def _projected(k: Similarity, similarities: LandmarkSimilarities) -> np.ndarray:
    """Return the features of a kernel in double precision; refuse what is known not to be a kernel."""
    K = similarities.left(k)
    M = similarities.landmark_gram(k, K)
    data = similarities.data
    some = np.arange(len(M))[:CHECKED_OBJECTS]
    if not k.proven:
        objects = take(similarities.landmarks.objects, some)
        validity = check_gram(k, M[np.ix_(some, some)], objects, data.landmarks[some], check_objects(data.X))
        demand_valid(validity, NOT_A_KERNEL_ADVICE)
    F = projection(k, similarities.landmarks, K, M)
    if F is None and M.any():
        problem = f"{k!r} is not a kernel: the Gram matrix of {len(M)} landmarks is indefinite"
        raise NotAKernelError(f"{problem}. {NOT_A_KERNEL_ADVICE[0].upper()}{NOT_A_KERNEL_ADVICE[1:]}.")
    return np.empty((len(K), 0)) if F is None else F.astype(np.float64, copy=False)
