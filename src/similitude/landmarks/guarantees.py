"""Guarantees: the landmarks that theorems ask for, their premises, and what they promise for those that were drawn."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.evaluation import at_rows
from similitude.landmarks.features import GIVEN, UNLABELED, LandmarkFeatures, Landmarks, SampleFeatures
from similitude.landmarks.projection import EXAMINED, PROJECTION, Representation, rounding_of
from similitude.similarity import BOUNDED, Precomputed, Similarity
from similitude.support import (
    INDEPENDENT_ROWS,
    NONE,
    Guarantee,
    Premise,
    brief,
    rounded_down,
    rounded_up,
    user_stacklevel,
)
from similitude.theory import DELTA, bounds
from similitude.validity import stored_witness

DEFAULT = 100
"""Number of landmarks if none is given."""

MAPPINGS = 'Balcan, Blum and Vempala, "On Kernels, Margins, and Low-dimensional Mappings"'
SIMILARITY = 'Balcan and Blum, "On a Theory of Learning with Similarity Functions"'
IMPROVED = 'Balcan, Blum and Srebro, "Improved guarantees for learning via similarity functions", size worked out'

TAU = 0.5
HINGE_EPSILON = 0.1
"""The share of objects assumed reasonable to compare with, and the additional hinge loss."""

RANGE_ROUNDING = 1e-6
"""By how much rounding may take a value outside of [-1, 1]."""


@dataclass(frozen=True)
class Ask:
    """What is asked of a map: error `epsilon` at `margin` (None: the best possible) with probability 1 - `delta`."""

    epsilon: float = 0.1
    margin: float | None = None
    delta: float = DELTA

    @classmethod
    def of(cls, epsilon: float | None, margin: float | None, delta: float | None) -> Ask:
        """Validate the parameters of a map; epsilon and margin go together."""
        if (epsilon is None) != (margin is None):
            raise ValueError(f"epsilon and margin go together, got epsilon={brief(epsilon)} and margin={brief(margin)}")
        ask = cls(0.1 if epsilon is None else epsilon, margin, DELTA if delta is None else delta)
        if margin is not None or delta is not None:
            bounds.landmarks(ask.epsilon, 1.0 if margin is None else margin, ask.delta)
        return ask


def at_most(name: str, wanted: int, available: int, of: str) -> int:
    """Return the number wanted, or the number available with a warning if that is smaller."""
    if wanted > available:
        message = f"{name} = {wanted:,} exceeds {of}: {available:,} used"
        warnings.warn(message, UserWarning, stacklevel=user_stacklevel())
    return min(wanted, available)


def smallest_margin(n: int, epsilon: float, delta: float) -> float | None:
    """Return the smallest margin for which n landmarks meet the theorem's size; None if no margin does."""
    room = n * epsilon / 8 - math.log(1 / delta)
    if room < 1:
        return None
    return min(1.0, 1 / math.sqrt(room) + 1e-12)


def failure_of_each(delta: float, choices: int, n_classes: int) -> float:
    """Return the share of delta of each choice, and of each class against the others if there are more than two."""
    if n_classes == 2:
        return delta / choices
    return delta / choices / n_classes


@dataclass(frozen=True)
class Promise:
    """What a theorem promises for landmarks drawn independently from the distribution of objects."""

    theorem: str
    outcome: str  # what then holds, with ``{half}`` and ``{quarter}`` for fractions of the margin
    share: float = 1.0  # of epsilon and of delta that the landmarks may use

    def landmarks(self, ask: Ask, margin: float) -> int:
        """Return how many landmarks the theorem asks for at a margin."""
        return bounds.landmarks(self.share * ask.epsilon, margin, self.share * ask.delta)

    def made(
        self,
        ask: Ask,
        drawn: int,
        premises: Sequence[Premise],
        choices: int = 1,
        n_classes: int = 2,
        M: np.ndarray | None = None,
        labels: np.ndarray | None = None,
    ) -> Guarantee:
        """Return the guarantee for a number of draws, under premises beside a separator with a margin.

        If no margin was given, it is the smallest one for which the draws suffice. The Gram matrix `M` of landmarks and
        their class numbers may contradict the margin.
        """
        epsilon = ask.epsilon
        margin = ask.margin
        each = replace(ask, delta=failure_of_each(ask.delta, choices, n_classes))
        if margin is None:
            margin = smallest_margin(drawn, self.share * epsilon, self.share * each.delta)
        numbers = {"landmarks_drawn": float(drawn), "epsilon": epsilon, "delta": ask.delta}
        if margin is None:
            return Guarantee.none(f"{drawn} landmarks are too few for any margin", self.theorem, numbers)
        needed = self.landmarks(each, margin)
        numbers |= {
            "margin": margin,
            "landmarks_theorem": float(needed),
            "landmarks_practical": float(bounds.practical_landmarks(epsilon, margin)),
        }
        if drawn < needed:
            few = f"{drawn:,} landmarks were drawn, the theorem asks for {needed:,}"
            return Guarantee.none(few, self.theorem, numbers)
        holds = self.outcome.format(epsilon=epsilon, half=rounded_down(margin / 2), quarter=rounded_down(margin / 4))
        whose = "for each class against the others, " * (n_classes > 2)
        statement = f"with probability {1 - ask.delta:g}, {whose}{holds}"
        premises = [*premises, separable(margin, n_classes, M, labels), INDEPENDENT_ROWS]
        return Guarantee.under(premises, statement, self.theorem, numbers)


SEPARABLE = Promise(
    f"Lemma 1 of {MAPPINGS}",
    "some linear separator of the features has error at most {epsilon:g} (its margin may be small)",
)
WIDE = Promise(
    f"Theorem 1 of {MAPPINGS}",
    "some linear separator of the features has error at most {epsilon:g} at margin {half}",
)
COMPACT = Promise(
    f"Theorem 3 of {MAPPINGS}",
    "some linear separator of the features has error at most {epsilon:g} at margin {quarter}",
    share=0.5,
)


def class_gap(sizes: np.ndarray, choices: int, delta: float = DELTA) -> float:
    r"""Return the smallest gap for which landmarks of each class suffice in Theorem 2 of Balcan and Blum.

    By Hoeffding's inequality, the mean similarities of an object to :math:`d_a` landmarks of its class and to
    :math:`d_b` of another one differ by less than half of an expected gap :math:`\gamma` with probability at most
    :math:`p = \exp(-\gamma^2 / 8(1/d_a + 1/d_b))`. By Markov's inequality, more than a share delta of all objects has
    such a difference with probability at most :math:`(C - 1) p / \delta`; each of the choices may use its share of
    delta. With two classes of d landmarks: :math:`d = \frac{32}{\gamma^2} \ln\frac1\delta`.

    >>> round(class_gap(np.array([9587, 9587]), 1), 4)
    0.1
    """
    if sizes.min() == 0:
        return math.inf
    widest = _largest_pair(sizes)
    return math.sqrt(8 * widest * math.log(choices * (len(sizes) - 1) / delta**2)) * (1 + 1e-12)


def class_margin(gamma: float, sizes: np.ndarray, scales: Sequence[float]) -> float:
    r"""Return the margin of the separators that Theorems 2 and 3 of Balcan and Blum promise.

    For classes a and b it is the vector :math:`w` with the weights :math:`\alpha_i s_i / d_a` on the landmarks of a
    and :math:`-\alpha_i s_i / d_b` on those of b, where :math:`\alpha` are the weights of a convex combination of the
    similarities, and :math:`s_i` is what the features of each were divided by. Then :math:`\langle w, F(x) \rangle
    \ge \gamma / 2`, :math:`|w| \le \max_i s_i \sqrt{1/d_a + 1/d_b}`, and :math:`|F(x)| \le \sqrt{\sum_c d_c \sum_i
    s_i^{-2}}`. With two classes of d landmarks and one similarity this is :math:`\gamma / 4`.

    >>> class_margin(0.4, np.array([50, 50]), [1.0])
    0.1
    """
    units = max(scales) * math.sqrt(sum(1 / scale**2 for scale in scales))
    return gamma / 2 / (math.sqrt(_largest_pair(sizes) * int(sizes.sum())) * units)


def _largest_pair(sizes: np.ndarray) -> float:
    """Return the largest 1/d_a + 1/d_b over pairs of classes: that of the two smallest."""
    return float((1 / np.sort(sizes)[:2]).sum())


def guarantee_of_gaps(
    sizes: np.ndarray,
    scales: Sequence[float],
    choices: int,
    premises: Sequence[Premise],
    share: Callable[[float], float | None],
) -> Guarantee:
    """Return the guarantee of Theorems 2 and 3 of Balcan and Blum, given the numbers of landmarks of each class.

    The scales are what the features of each similarity were divided by, where K(x, l) and K(l, x) count as two. The
    premises are all but the gap and independent rows; `share` returns the share of a sample without a gap.
    """
    theorem = f"Theorem {2 + (len(scales) > 1)} of {SIMILARITY}"
    gamma = class_gap(sizes, choices)
    numbers = {"landmarks_per_class": float(sizes.min()), "delta": DELTA, "choices": float(choices)}
    if gamma > 1:
        needed = bounds.similarity_landmarks(1.0, DELTA / math.sqrt(choices * (len(sizes) - 1)))
        few = f"{sizes.min()} landmarks of a class are too few for any gap, {needed} would do for a gap of 1"
        return Guarantee.none(few, theorem, numbers)
    margin = class_margin(gamma, sizes, scales)
    shown = rounded_down(margin)
    holds = f"some linear separator of the features is right at margin {shown}"
    if len(sizes) > 2:
        holds = f"some linear scores, one for each class, put the right one first, at margin {shown} to any other"
    statement = f"with probability {1 - DELTA:g}, {holds}, for all objects but a share epsilon + {DELTA:g}"
    premises = [*premises, good(gamma, len(sizes), len(scales), share(gamma)), INDEPENDENT_ROWS]
    return Guarantee.under(premises, statement, theorem, {**numbers, "gamma": gamma, "margin": margin})


def guarantee_of_reasonable(drawn: int, n_classes: int, choices: int, premises: Sequence[Premise]) -> Guarantee:
    """Return the guarantee for landmarks drawn without looking at labels, if half of all objects are reasonable."""
    delta = failure_of_each(DELTA, choices, n_classes)
    numbers = {"landmarks": float(drawn), "tau": TAU, "epsilon": HINGE_EPSILON, "delta": DELTA}
    needed = bounds.reasonable_landmarks(TAU, 1.0, HINGE_EPSILON, delta)
    if drawn < needed:
        reason = f"{drawn} landmarks are too few for any margin, {needed:,} would do for a margin of 1"
        return Guarantee.none(reason, IMPROVED, numbers)
    low = 1e-3
    high = 1.0
    for _ in range(40):
        middle = math.sqrt(low * high)
        if bounds.reasonable_landmarks(TAU, middle, HINGE_EPSILON, delta) <= drawn:
            high = middle
        else:
            low = middle
    whose = ", for each class against the others," * (n_classes > 2)
    statement = (
        f"with probability {1 - DELTA:g}{whose} some linear function of the features with weights of absolute sum "
        f"{rounded_up(1 / high)} has a hinge loss of at most L + {HINGE_EPSILON:g}"
    )
    hinge = Premise(
        f"compared with the reasonable half of all objects, the similarity has a hinge loss of L at margin "
        f"{rounded_up(high)}",
        "assumed",
    )
    premises = [*premises, hinge, INDEPENDENT_ROWS]
    return Guarantee.under(premises, statement, IMPROVED, {**numbers, "gamma": high})


# The premises of the theorems: proven, assumed, or contradicted by the sample.


def fixed_beforehand(similarities: Sequence[Similarity]) -> Premise:
    """Return whether the similarities, as the user gave them, are independent of the rows.

    >>> from similitude.kernels import Gaussian
    >>> print(fixed_beforehand([Gaussian()]))
    contradicted: the similarity was fixed before the rows were drawn (sigma was computed from the rows: give a number)
    """
    text = "the similarity was fixed before the rows were drawn"
    computed = ", ".join(name for k in similarities for name in k.unresolved())
    if computed:
        return Premise(text, "contradicted", f"{computed} was computed from the rows: give a number")
    if any(isinstance(k, Precomputed) for k in similarities):
        return Premise(text, "assumed", "a precomputed matrix does not say where it comes from")
    return Premise(text, "proven", "fit computed none of its parameters from the rows")


def independent_landmarks(rule: str, of_each_class: bool = False) -> Premise:
    """Return whether landmarks chosen by a rule are independent draws from the objects, or from those of each class.

    >>> print(independent_landmarks("stratified"))
    contradicted: the landmarks are independent draws (they were chosen by the rule 'stratified')
    """
    text = f"the landmarks{' of each class' * of_each_class} are independent draws"
    known = {
        GIVEN: ("assumed", "they were given"),
        UNLABELED: ("assumed", "they were drawn from the unlabeled pool"),
        ("uniform", "stratified")[of_each_class]: (
            "proven",
            f"they were drawn uniformly from {('all rows', 'the rows of each class')[of_each_class]}",
        ),
    }
    return Premise(text, *known.get(rule, ("contradicted", f"they were chosen by the rule {rule!r}")))


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


def is_kernel(k: Similarity, M: np.ndarray, single: bool = False) -> Premise:
    """Return whether a similarity is a kernel, given the Gram matrix of some landmarks if there is no proof."""
    text = "the similarity is a kernel"
    if k.proven:
        return Premise(text, "proven", "by the algebra of kernels")
    rounding = rounding_of(M, single)
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
    """Return whether some separator, or one for each class, has a margin on all objects, as far as landmarks tell."""
    whose = "some separator of the classes has"
    targets = range(1, 2)
    if n_classes > 2:
        whose = "for each class, some separator from the others has"
        targets = range(n_classes)
    text = f"{whose} margin {rounded_up(margin)} on all objects, relative to their lengths in the feature space"
    if M is None or labels is None:
        return Premise(text, "assumed", "no labels of landmarks are known")
    largest = min(margin_bound(M, np.where(labels == one, 1.0, -1.0)) for one in targets)
    found = f"no separator has a margin above {rounded_up(largest)} on the {len(M)} landmarks"
    return Premise(text, ("assumed", "contradicted")[largest < margin], found)


def margin_bound(M: np.ndarray, signs: np.ndarray) -> float:
    r"""Return an upper bound on the margin of every separator through the origin of labeled objects.

    For nonnegative weights :math:`a` that sum to one, the smallest :math:`y_i \langle w, \phi_i \rangle` of a unit
    vector :math:`w` is at most :math:`|\sum_i a_i y_i \phi_i|`, where the :math:`\phi_i` have length one. The weights
    that make it small are found by the algorithm of Frank and Wolfe.

    >>> round(margin_bound(np.eye(2), np.array([1.0, -1.0])), 4)
    0.7071
    """
    lengths = np.sqrt(np.maximum(M.diagonal(), 0.0))
    if not lengths.all():
        return 0.0
    Q = M * np.outer(signs / lengths, signs / lengths)
    a = np.full(len(Q), 1 / len(Q))
    along = Q @ a
    # steps of the search for the smallest upper bound on a margin
    for _ in range(200):
        best = int(along.argmin())
        squared = float(a @ along)
        gain = squared - along[best]
        curve = squared - 2 * along[best] + Q[best, best]
        if gain <= 1e-12 * max(squared, 1e-12) or curve <= 0:
            break
        step = min(1.0, gain / curve)
        a *= 1 - step
        a[best] += step
        along = (1 - step) * along + step * Q[best]
    return float(np.sqrt(max(float(a @ along), 0.0)))


def good(gamma: float, n_classes: int, n_similarities: int, share: float | None) -> Premise:
    """Return that a similarity is good with a gap, which is never proven; `share` of a sample did not have it."""
    by = "by some convex combination of the similarities and " * (n_similarities > 1)
    other = {2: "the other class"}.get(n_classes, "any other class")
    text = (
        f"all objects but a share epsilon are on average, {by}with some weights in [0, 1] on those they are compared "
        f"with, more similar to their own class than to {other}, by {rounded_up(gamma)}"
    )
    if share is None:
        return Premise(text, "assumed")
    return Premise(text, "assumed", f"with equal weights, {share:.1%} of a sample are not")


def share_without_gap(
    K: np.ndarray, labels: np.ndarray, landmark_labels: np.ndarray | None, gamma: float
) -> float | None:
    """Return the share of rows that are not more similar to the landmarks of their class than to all others by a gap.

    Without labels of landmarks the rows are compared with each other. Rows without anything of their class, or of
    another, do not count; None if none counts.

    >>> share_without_gap(np.array([[1.0, 0.2], [0.1, 0.3]]), np.array([0, 0]), np.array([0, 1]), 0.5)
    0.5
    """
    compared = labels if landmark_labels is None else landmark_labels
    classes = np.arange(max(labels.max(), compared.max()) + 1)
    own = labels[:, None] == classes
    member = compared[:, None] == classes
    sums: Any = K @ member
    sizes = np.broadcast_to(member.sum(axis=0), sums.shape)
    if landmark_labels is None:
        sums = sums - own * K.diagonal()[:, None]
        sizes = sizes - own
    means = np.divide(sums, sizes, out=np.full(sums.shape, -np.inf), where=sizes > 0)
    ours = means[own]
    others = np.where(own, -np.inf, means).max(axis=1)
    known = np.isfinite(ours) & np.isfinite(others)
    if not known.any():
        return None
    return float((ours[known] - others[known] < gamma).mean())


def guarantee_of_fit(
    given: Sequence[Similarity],
    landmarks: Landmarks,
    samples: Sequence[SampleFeatures],
    representations: Sequence[Representation],
    features: Sequence[LandmarkFeatures],
    labels: np.ndarray | None,
    n_classes: int,
    choices: int,
) -> Guarantee:
    """Return what holds for some linear separator of the features; not that the one found is such a separator.

    The similarities are as the user gave them; the landmarks are those that were drawn, of which the features may use
    fewer; the choices are the scales and numbers of landmarks that were compared.
    """
    if labels is None:
        return Guarantee.none("the theorems are about classes")
    choices *= math.prod(sample.n_representations for sample in samples)
    if len({one.name for one in representations}) > 1:
        return Guarantee.none("no theorem is about similarities in different representations")
    fixed = fixed_beforehand(given)
    if representations[0].name == PROJECTION:
        if len(samples) > 1:
            return Guarantee.none("no theorem is about several kernels with weights that were computed from the rows")
        premises = [fixed, independent_landmarks(landmarks.rule)]
        return _of_projection(samples[0], landmarks, premises, choices, n_classes)
    if any([one.normalized for one in representations]):
        divided = "similarities were divided by their length, the theorems are about similarities as they are"
        return Guarantee.none(divided)
    sides = [one.side for one in representations]
    bounded = within_range(given, max([sample.largest for sample in samples]))
    stratified = landmarks.rule == "stratified"
    premises = [fixed, independent_landmarks(landmarks.rule, of_each_class=stratified), bounded]
    if not stratified and sides in (["left"], ["right"]):
        return guarantee_of_reasonable(len(landmarks), n_classes, choices, premises)
    if landmarks.labels is None or not stratified:
        return Guarantee.none("the theorem is about landmarks drawn from each class")
    scales = np.repeat([one.scale for one in features], [1 + (side == "both") for side in sides]).tolist()
    sizes = np.bincount(landmarks.labels, minlength=n_classes)
    alone = samples[0] if sides == ["left"] else None
    return guarantee_of_gaps(sizes, scales, choices, premises, lambda gamma: _share(alone, labels, landmarks, gamma))


def _of_projection(
    sample: SampleFeatures, landmarks: Landmarks, premises: list[Premise], choices: int, n_classes: int
) -> Guarantee:
    """Return the guarantee of a projection; landmarks are compared only if nothing else speaks against it."""
    made = WIDE.made(Ask(), len(landmarks), premises, choices, n_classes)
    if made.grade == NONE:
        return made
    n = min(EXAMINED, len(landmarks))
    M = sample.gram(n)
    premises = [*premises, is_kernel(sample.k, M, sample.single)]
    return WIDE.made(Ask(), len(landmarks), premises, choices, n_classes, M, at_rows(landmarks.labels, slice(n)))


def _share(sample: SampleFeatures | None, labels: np.ndarray, landmarks: Landmarks, gamma: float) -> float | None:
    """Return the share of some rows, none of them a landmark, that does not have a gap; None if unknown."""
    if sample is None or landmarks.labels is None or landmarks.positions is None:
        return None
    others = np.flatnonzero(~np.isin(sample.places, landmarks.positions))[:EXAMINED]
    if not len(others):
        return None
    K = sample.similarities(len(landmarks), "left")[others]
    return share_without_gap(K, labels[sample.places[others]], landmarks.labels, gamma)
