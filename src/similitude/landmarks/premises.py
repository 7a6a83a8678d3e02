"""Premises of the theorems on landmarks and votes: proven, assumed, or contradicted by the sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from similitude.landmarks.features import GIVEN, UNLABELED
from similitude.similarity import BOUNDED, Precomputed, Similarity
from similitude.support import Premise, rounded_up
from similitude.validity import stored_witness

RANGE_ROUNDING = 1e-6
"""By how much rounding may take a value outside of [-1, 1]."""

MARGIN_STEPS = 200
"""Steps of the search for the smallest upper bound on a margin."""


def fixed_beforehand(similarities: Sequence[Similarity]) -> Premise:
    """Return whether the similarities, as the user gave them, are independent of the rows.

    >>> from similitude.kernels import Gaussian
    >>> print(fixed_beforehand([Gaussian()]))
    contradicted: the similarity was fixed before the rows were drawn (sigma was computed from the rows: give a number)
    """
    text = "the similarity was fixed before the rows were drawn"
    computed = [name for k in similarities for name in k.unresolved()]
    if computed:
        return Premise(text, "contradicted", f"{', '.join(computed)} was computed from the rows: give a number")
    if any(isinstance(k, Precomputed) for k in similarities):
        return Premise(text, "assumed", "a precomputed matrix does not say where it comes from")
    return Premise(text, "proven", "fit computed none of its parameters from the rows")


def independent_landmarks(rule: str, of_each_class: bool = False) -> Premise:
    """Return whether landmarks chosen by a rule are independent draws from the objects, or from those of each class.

    >>> print(independent_landmarks("stratified"))
    contradicted: the landmarks are independent draws (they were chosen by the rule 'stratified')
    """
    text = (
        "the landmarks of each class are independent draws" if of_each_class else "the landmarks are independent draws"
    )
    if rule == ("stratified" if of_each_class else "uniform"):
        of = "the rows of each class" if of_each_class else "all rows"
        return Premise(text, "proven", f"they were drawn uniformly from {of}")
    if rule in (GIVEN, UNLABELED):
        where = "they were given" if rule == GIVEN else "they were drawn from the unlabeled pool"
        return Premise(text, "assumed", where)
    return Premise(text, "contradicted", f"they were chosen by the rule {rule!r}")


def within_range(similarities: Sequence[Similarity], largest: float | None) -> Premise:
    """Return whether all similarities are within [-1, 1], given the largest magnitude that was seen, if any was."""
    text = "the similarity has values in [-1, 1]"
    if largest is not None and largest > 1 + RANGE_ROUNDING:
        return Premise(text, "contradicted", f"a value of magnitude {largest:.4g} was seen: normalize or rescale it")
    if all(BOUNDED in k.claims and k.proven for k in similarities):
        return Premise(text, "proven", "by its formula")
    if largest is None:
        return Premise(text, "assumed", "no value was computed")
    return Premise(text, "assumed", f"the largest magnitude that was seen is {largest:.4g}")


def is_kernel(k: Similarity, M: np.ndarray | None, rounding: float = 0.0) -> Premise:
    """Return whether a similarity is a kernel, given the Gram matrix of some landmarks, if it was computed."""
    text = "the similarity is a kernel"
    if k.proven:
        return Premise(text, "proven", "by the algebra of kernels")
    if M is None:
        return Premise(text, "assumed", "no Gram matrix was examined")
    if np.abs(M - M.T).max(initial=0.0) > rounding:
        return Premise(text, "contradicted", f"it is not symmetric on {len(M)} landmarks")
    lowest = float(np.linalg.eigvalsh((M + M.T) / 2)[0])
    if lowest < -rounding:
        return Premise(text, "contradicted", f"an eigenvalue on {len(M)} landmarks is {lowest:.4g}")
    known = stored_witness(k)
    if known is not None:
        return Premise(text, "contradicted", f"a counterexample of {len(known.objects)} objects is known")
    return Premise(text, "assumed", f"it is positive semi-definite on {len(M)} landmarks")


def separable(
    margin: float, n_classes: int = 2, M: np.ndarray | None = None, labels: np.ndarray | None = None
) -> Premise:
    """Return whether some separator, or one for each class, has a margin on all objects.

    The Gram matrix of landmarks and their class numbers contradict this if no separator has that margin on the
    landmarks alone.
    """
    several = n_classes > 2
    whose = "for each class, some separator from the others has" if several else "some separator of the classes has"
    text = f"{whose} margin {rounded_up(margin)} on all objects, relative to their lengths in the feature space"
    if M is None or labels is None:
        return Premise(text, "assumed", "no labels of landmarks are known")
    targets = range(n_classes) if several else (1,)
    largest = min(margin_bound(M, np.where(labels == one, 1.0, -1.0)) for one in targets)
    found = f"no separator has a margin above {rounded_up(largest)} on the {len(M)} landmarks"
    return Premise(text, "contradicted" if largest < margin else "assumed", found)


def margin_bound(M: np.ndarray, signs: np.ndarray) -> float:
    r"""Return an upper bound on the margin of every separator through the origin of labeled objects.

    For nonnegative weights :math:`a` that sum to one, the smallest :math:`y_i \langle w, \phi_i \rangle` of a unit
    vector :math:`w` is at most :math:`|\sum_i a_i y_i \phi_i|`, where the :math:`\phi_i` have length one. The weights
    that make it small are found by the algorithm of Frank and Wolfe. Objects of length zero have no margin.

    >>> round(margin_bound(np.eye(2), np.array([1.0, -1.0])), 4)
    0.7071
    """
    lengths = np.sqrt(np.maximum(M.diagonal(), 0.0))
    if not lengths.all():
        return 0.0
    Q = M * np.outer(signs / lengths, signs / lengths)
    a = np.full(len(Q), 1 / len(Q))
    along = Q @ a
    for _ in range(MARGIN_STEPS):
        best = int(along.argmin())
        squared = float(a @ along)
        gain, curve = squared - along[best], squared - 2 * along[best] + Q[best, best]
        if gain <= 1e-12 * max(squared, 1e-12) or curve <= 0:
            break
        step = min(1.0, gain / curve)
        a *= 1 - step
        a[best] += step
        along = (1 - step) * along + step * Q[best]
    return float(np.sqrt(max(float(a @ along), 0.0)))


def good(gamma: float, n_classes: int, n_similarities: int, share: float | None) -> Premise:
    """Return that a similarity is good with a gap, which is never proven; `share` of a sample did not have it."""
    by = "by some convex combination of the similarities and " if n_similarities > 1 else ""
    other = "the other class" if n_classes == 2 else "any other class"
    text = (
        f"all objects but a share epsilon are on average, {by}with some weights in [0, 1] on those they are compared "
        f"with, more similar to their own class than to {other}, by {rounded_up(gamma)}"
    )
    return Premise(text, "assumed", "" if share is None else f"with equal weights, {share:.1%} of a sample are not")


def share_without_gap(
    K: np.ndarray, labels: np.ndarray, landmark_labels: np.ndarray | None, gamma: float
) -> float | None:
    """Return the share of rows that are not more similar to the landmarks of their class than to all others by a gap.

    Without labels of landmarks the rows are compared with each other. Rows with nothing of their class, or of another,
    to be compared with do not count; None if none counts.

    >>> K = np.array([[1.0, 0.2], [0.1, 0.3]])
    >>> share_without_gap(K, np.array([0, 0]), np.array([0, 1]), 0.5)
    0.5
    """
    classes = np.arange(max(labels.max(), 0 if landmark_labels is None else landmark_labels.max()) + 1)
    own = labels[:, None] == classes
    member = own if landmark_labels is None else landmark_labels[:, None] == classes
    sums: Any = K @ member
    sizes = np.broadcast_to(member.sum(axis=0), sums.shape)
    if landmark_labels is None:
        sums, sizes = sums - own * K.diagonal()[:, None], sizes - own
    means = np.divide(sums, sizes, out=np.full(sums.shape, -np.inf), where=sizes > 0)
    ours, others = means[own], np.where(own, -np.inf, means).max(axis=1)
    known = np.isfinite(ours) & np.isfinite(others)
    return float((ours[known] - others[known] < gamma).mean()) if known.any() else None
