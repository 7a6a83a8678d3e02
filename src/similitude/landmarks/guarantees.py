"""Guarantees: how many landmarks the theorems ask for, and what they promise for those that were drawn."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from similitude.landmarks.features import GIVEN, UNLABELED, Landmarks
from similitude.landmarks.projection import PROJECTION, Representation
from similitude.support import NONE, PROVEN, Guarantee
from similitude.theory import DELTA, bounds

DEFAULT = 100
"""Number of landmarks if none is given."""

MAPPINGS = 'Balcan, Blum and Vempala, "On Kernels, Margins, and Low-dimensional Mappings"'
SIMILARITY = 'Balcan and Blum, "On a Theory of Learning with Similarity Functions"'
IMPROVED = 'Balcan, Blum and Srebro, "Improved guarantees for learning via similarity functions", size worked out'

INDEPENDENT = ("uniform", UNLABELED, GIVEN)
"""Rules whose landmarks may be independent draws."""

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
            raise ValueError(f"epsilon and margin go together, got epsilon={epsilon!r} and margin={margin!r}")
        ask = cls(0.1 if epsilon is None else epsilon, margin, DELTA if delta is None else delta)
        if margin is not None or delta is not None:
            bounds.landmarks(ask.epsilon, 1.0 if margin is None else margin, ask.delta)
        return ask


def at_most(name: str, wanted: int, available: int, of: str) -> int:
    """Return the number wanted, or the number available with a warning if that is smaller."""
    if wanted > available:
        warnings.warn(f"{name} = {wanted:,} exceeds {of}: {available:,} used", UserWarning, stacklevel=4)
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

    def made(self, ask: Ask, drawn: int, why_not: str | None) -> Guarantee:
        """Return the guarantee for a number of draws; `why_not` says if anything else prevents one.

        If no margin was given, it is the smallest one for which the draws suffice.
        """
        epsilon, margin, delta = ask.epsilon, ask.margin, ask.delta
        if margin is None:
            margin = smallest_margin(drawn, self.share * epsilon, self.share * delta)
        numbers = {"landmarks_drawn": float(drawn), "epsilon": epsilon, "delta": delta}
        if margin is None:
            return no_guarantee(f"{drawn} landmarks are too few for any margin", self.theorem, numbers)
        needed = self.landmarks(ask, margin)
        numbers |= {
            "margin": margin,
            "landmarks_theorem": float(needed),
            "landmarks_practical": float(bounds.practical_landmarks(epsilon, margin)),
        }
        if drawn < needed or why_not is not None:
            few = f"{drawn:,} landmarks were drawn, the theorem asks for {needed:,}"
            return no_guarantee(why_not or few, self.theorem, numbers)
        holds = self.outcome.format(epsilon=epsilon, half=margin / 2, quarter=margin / 4)
        assumption = (
            f"some separator has margin {margin:.4g} on the whole distribution, "
            f"from which the landmarks were drawn independently"
        )
        return Guarantee(f"with probability {1 - delta:g}, {holds}", self.theorem, assumption, numbers, PROVEN)


SEPARABLE = Promise(
    f"Lemma 1 of {MAPPINGS}",
    "some linear separator of the features has error at most {epsilon:g} (its margin may be small)",
)
WIDE = Promise(
    f"Theorem 1 of {MAPPINGS}",
    "some linear separator of the features has error at most {epsilon:g} at margin {half:.4g}",
)
COMPACT = Promise(
    f"Theorem 3 of {MAPPINGS}",
    "some linear separator of the features has error at most {epsilon:g} at margin {quarter:.4g}",
    share=0.5,
)


def no_guarantee(reason: str, theorem: str = "", numbers: dict[str, float] | None = None) -> Guarantee:
    """Return the guarantee that promises nothing, with the reason."""
    return Guarantee(f"nothing is promised: {reason}", theorem, "", numbers or {}, NONE)


def guarantee_for_classes(
    representations: Sequence[Representation],
    landmarks: Landmarks,
    n_classes: int | None,
    choices: int,
    scales: Sequence[float],
) -> Guarantee:
    """Return what holds for some linear separator of the features; not that the one found is such a separator.

    Parameters
    ----------
    representations : sequence of Representation
    landmarks : Landmarks
        Those that were drawn.
    n_classes : int or None
        The number of classes; None for regression.
    choices : int
        How many scales and numbers of landmarks were compared: each gets its share of delta.
    scales : sequence of float
        What the features of each similarity were divided by.
    """
    if n_classes is None:
        return no_guarantee("the theorems are about classes")
    names = {representation.name for representation in representations}
    if len(names) > 1:
        return no_guarantee("no theorem is about similarities in different representations")
    if names == {PROJECTION}:
        chosen = f"the theorem is about independent draws, these were chosen by {landmarks.rule!r}"
        why_not = None if landmarks.rule in INDEPENDENT else chosen
        return WIDE.made(Ask(delta=DELTA / choices), len(landmarks), why_not)
    return _similarities(representations, landmarks, n_classes, choices, min(scales) / max(scales))


def _similarities(
    representations: Sequence[Representation], landmarks: Landmarks, n_classes: int, choices: int, evenness: float
) -> Guarantee:
    """Return what Theorem 2 of Balcan and Blum promises, or Theorem 3 for several similarities.

    K(x, l) and K(l, x) count as two. Dividing similarities by scales of ratio r costs at most a factor r of the margin.
    """
    parts = sum(2 if representation.side == "both" else 1 for representation in representations)
    theorem = f"Theorem {2 if parts == 1 else 3} of {SIMILARITY}"
    delta = DELTA / choices / max(1, n_classes - 1)
    if any(representation.normalized for representation in representations):
        reason = "similarities were divided by their length, the theorem is about similarities as they are"
        return no_guarantee(reason, theorem)
    if landmarks.rule in INDEPENDENT and len(representations) == 1:
        return _reasonable(len(landmarks), DELTA / choices / (1 if n_classes == 2 else n_classes), n_classes)
    if landmarks.rule != "stratified" or landmarks.labels is None:
        return no_guarantee("the theorem is about landmarks drawn from each class", theorem)
    fewest = int(np.bincount(landmarks.labels, minlength=n_classes).min())
    numbers = {"landmarks_per_class": float(fewest), "delta": DELTA, "choices": float(choices)}
    gamma = math.sqrt(32 * math.log(1 / delta) / fewest) * (1 + 1e-12) if fewest else math.inf
    if gamma > 1:
        needed = bounds.similarity_landmarks(1.0, delta)
        reason = f"{fewest} landmarks of a class are too few for any gap, {needed} would do for a gap of 1"
        return no_guarantee(reason, theorem, numbers)
    margin = evenness * bounds.combined_margin(gamma, parts)
    statement = (
        f"with probability {1 - DELTA:g}, some linear separator of the features has error at most epsilon + {DELTA:g} "
        f"at margin {margin:.4g}"
    )
    good = f"(epsilon, {gamma:.4g})-good in the sense of Definition 3"
    combined = f"the similarities are within [-1, 1] and some convex combination of them is {good}"
    assumption = f"the similarity is within [-1, 1] and {good}" if parts == 1 else combined
    return Guarantee(statement, theorem, assumption, {**numbers, "gamma": gamma}, PROVEN)


def _reasonable(drawn: int, delta: float, n_classes: int) -> Guarantee:
    """Return the guarantee for landmarks drawn without looking at labels, if half of all objects are reasonable."""
    numbers = {"landmarks": float(drawn), "tau": TAU, "epsilon": HINGE_EPSILON, "delta": delta}
    needed = bounds.reasonable_landmarks(TAU, 1.0, HINGE_EPSILON, delta)
    if drawn < needed:
        reason = f"{drawn} landmarks are too few for any margin, {needed:,} would do for a margin of 1"
        return no_guarantee(reason, IMPROVED, numbers)
    low, high = 1e-3, 1.0
    for _ in range(40):
        middle = math.sqrt(low * high)
        enough = bounds.reasonable_landmarks(TAU, middle, HINGE_EPSILON, delta) <= drawn
        low, high = (low, middle) if enough else (middle, high)
    whose = "" if n_classes == 2 else ", for each class against the others,"
    statement = (
        f"with probability {1 - delta:g}{whose} some linear function of the features with weights of absolute sum "
        f"{1 / high:.4g} has a hinge loss of at most L + {HINGE_EPSILON:g}"
    )
    assumption = (
        f"the similarity is within [-1, 1] and, compared with the reasonable half of all objects, has a hinge loss "
        f"of L at margin {high:.4g}; the landmarks were drawn independently"
    )
    return Guarantee(statement, IMPROVED, assumption, {**numbers, "gamma": high}, PROVEN)
