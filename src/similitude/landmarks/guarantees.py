"""Guarantees: how many landmarks the theorems ask for, and what they promise for those that were drawn."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from similitude.landmarks.premises import good, separable
from similitude.support import INDEPENDENT_ROWS, Guarantee, Premise, brief, rounded_down, rounded_up, user_stacklevel
from similitude.theory import DELTA, bounds

DEFAULT = 100
"""Number of landmarks if none is given."""

MAPPINGS = 'Balcan, Blum and Vempala, "On Kernels, Margins, and Low-dimensional Mappings"'
SIMILARITY = 'Balcan and Blum, "On a Theory of Learning with Similarity Functions"'
IMPROVED = 'Balcan, Blum and Srebro, "Improved guarantees for learning via similarity functions", size worked out'

TAU, HINGE_EPSILON = 0.5, 0.1
"""The share of objects assumed reasonable to compare with, and the additional hinge loss."""


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
    return min(1.0, 1 / math.sqrt(room) + 1e-12) if room >= 1 else None


@dataclass(frozen=True)
class Promise:
    """What a theorem promises for landmarks drawn independently from the distribution of objects.

    Attributes
    ----------
    theorem, outcome : str
        Its name, and what then holds, with ``{half}`` and ``{quarter}`` for fractions of the margin.
    share : float
        The share of epsilon and of delta that the landmarks may use.
    """

    theorem: str
    outcome: str
    share: float = 1.0

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

        If no margin was given, it is the smallest one for which the draws suffice. The `choices` among which the model
        was chosen, and more than two classes, each get their share of delta. The Gram matrix `M` of landmarks and their
        class numbers may contradict the margin.
        """
        epsilon, margin = ask.epsilon, ask.margin
        each = replace(ask, delta=ask.delta / choices / (1 if n_classes == 2 else n_classes))
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
        whose = "for each class against the others, " if n_classes > 2 else ""
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
    """Return the guarantee of Theorems 2 and 3 of Balcan and Blum.

    Parameters
    ----------
    sizes : array of int
        Landmarks of each class.
    scales : sequence of float
        What the features of each similarity were divided by; K(x, l) and K(l, x) count as two similarities.
    choices : int
        The number of models that were compared.
    premises : sequence of Premise
        All but the gap and independent rows.
    share : callable
        Returns the share of a sample that does not have a gap; None if that is unknown.
    """
    theorem = f"Theorem {2 if len(scales) == 1 else 3} of {SIMILARITY}"
    gamma = class_gap(sizes, choices)
    numbers = {"landmarks_per_class": float(sizes.min()), "delta": DELTA, "choices": float(choices)}
    if gamma > 1:
        needed = bounds.similarity_landmarks(1.0, DELTA / math.sqrt(choices * (len(sizes) - 1)))
        few = f"{sizes.min()} landmarks of a class are too few for any gap, {needed} would do for a gap of 1"
        return Guarantee.none(few, theorem, numbers)
    margin = class_margin(gamma, sizes, scales)
    shown = rounded_down(margin)
    if len(sizes) > 2:
        holds = f"some linear scores, one for each class, put the right one first, at margin {shown} to any other"
    else:
        holds = f"some linear separator of the features is right at margin {shown}"
    statement = f"with probability {1 - DELTA:g}, {holds}, for all objects but a share epsilon + {DELTA:g}"
    premises = [*premises, good(gamma, len(sizes), len(scales), share(gamma)), INDEPENDENT_ROWS]
    return Guarantee.under(premises, statement, theorem, {**numbers, "gamma": gamma, "margin": margin})


def guarantee_of_reasonable(drawn: int, n_classes: int, choices: int, premises: Sequence[Premise]) -> Guarantee:
    """Return the guarantee for landmarks drawn without looking at labels, if half of all objects are reasonable."""
    delta = DELTA / choices / (1 if n_classes == 2 else n_classes)
    numbers = {"landmarks": float(drawn), "tau": TAU, "epsilon": HINGE_EPSILON, "delta": DELTA}
    needed = bounds.reasonable_landmarks(TAU, 1.0, HINGE_EPSILON, delta)
    if drawn < needed:
        reason = f"{drawn} landmarks are too few for any margin, {needed:,} would do for a margin of 1"
        return Guarantee.none(reason, IMPROVED, numbers)
    low, high = 1e-3, 1.0
    for _ in range(40):
        middle = math.sqrt(low * high)
        enough = bounds.reasonable_landmarks(TAU, middle, HINGE_EPSILON, delta) <= drawn
        low, high = (low, middle) if enough else (middle, high)
    whose = "" if n_classes == 2 else ", for each class against the others,"
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
