"""What theory promises of the landmarks that were drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from similitude.landmarks.chosen_landmarks import Landmarks
from similitude.landmarks.representation import PROJECTION, Representation
from similitude.landmarks.sizes import WIDE, Ask
from similitude.support.results import NONE, PROVEN, Guarantee
from similitude.theory import bounds

PAPER = 'Balcan and Blum, "On a Theory of Learning with Similarity Functions"'

DELTA = 0.05
"""The probability with which a promise may fail."""

TAU, EPSILON = 0.5, 0.1
"""The share of objects assumed reasonable to compare with, and the further hinge loss."""


def promised(
    representations: Sequence[Representation],
    landmarks: Landmarks,
    n_classes: int | None,
    choices: int,
    units: Sequence[float],
) -> Guarantee:
    """Return what holds for some linear separator of the features; it is not said that it was found.

    Parameters
    ----------
    representations : sequence of Representation
    landmarks : Landmarks
        Those drawn.
    n_classes : int or None
        How many classes there are; None for regression.
    choices : int
        How many scales and numbers of landmarks were compared: each may fail, so each gets its share of delta.
    units : sequence of float
        What the features of each similarity were divided by.
    """
    if n_classes is None:
        return Guarantee("nothing is promised: the theorems are about classes", "", "", {}, NONE)
    names = {representation.name for representation in representations}
    if len(names) > 1:
        return Guarantee(
            "nothing is promised: no theorem is about similarities in different representations", "", "", {}, NONE
        )
    if names == {PROJECTION}:
        return _projection(landmarks, choices)
    return _landmarks(representations, landmarks, n_classes, choices, min(units) / max(units))


def _projection(landmarks: Landmarks, choices: int) -> Guarantee:
    """Return the promise of Theorem 1 of Balcan, Blum and Vempala."""
    independent = landmarks.drawn in ("uniform", "unlabeled", "own")
    why = None if independent else f"the theorem is about independent draws, these were chosen by {landmarks.drawn!r}"
    return WIDE.made(Ask(None, None, DELTA / choices), len(landmarks), why)


def _reasonable(drawn: int, delta: float, n_classes: int) -> Guarantee:
    """Return what is promised of landmarks drawn without a look at labels, if half of all objects are reasonable."""
    theorem = 'Balcan, Blum and Srebro, "Improved guarantees for learning via similarity functions", size worked out'
    numbers = {"landmarks": float(drawn), "tau": TAU, "epsilon": EPSILON, "delta": delta}
    needed = bounds.reasonable_landmarks(TAU, 1.0, EPSILON, delta)
    if drawn < needed:
        reason = f"{drawn} landmarks are too few for any margin, {needed:,} would do for a margin of 1"
        return Guarantee(f"nothing is promised: {reason}", theorem, "", numbers, NONE)
    low, high = 1e-3, 1.0
    for _ in range(40):
        middle = math.sqrt(low * high)
        enough = bounds.reasonable_landmarks(TAU, middle, EPSILON, delta) <= drawn
        low, high = (low, middle) if enough else (middle, high)
    whose = "" if n_classes == 2 else ", for each class against the others,"
    statement = (
        f"with probability {1 - delta:g}{whose} some linear function of the features with weights of absolute sum "
        f"{1 / high:.4g} has a hinge loss of at most L + {EPSILON:g}"
    )
    assumption = (
        f"the similarity is within [-1, 1] and, compared with the reasonable half of all objects, has a hinge loss "
        f"of L at margin {high:.4g}; the landmarks were drawn independently"
    )
    return Guarantee(statement, theorem, assumption, {**numbers, "gamma": high}, PROVEN)


def _landmarks(
    representations: Sequence[Representation], landmarks: Landmarks, n_classes: int, choices: int, evenness: float
) -> Guarantee:
    """Return the promise of Theorem 2 of Balcan and Blum, or of Theorem 3 for several similarities.

    K(x, l) and K(l, x) are two. Dividing them by units of a ratio r costs no more than a factor r of the margin.
    """
    parts = sum(2 if representation.side == "both" else 1 for representation in representations)
    theorem = f"Theorem {2 if parts == 1 else 3} of {PAPER}"
    delta = DELTA / choices / max(1, n_classes - 1)
    if any(representation.normalized for representation in representations):
        reason = "similarities were divided by their length, the theorem is about similarities as they are"
        return Guarantee(f"nothing is promised: {reason}", theorem, "", {}, NONE)
    if landmarks.drawn in ("uniform", "unlabeled", "own") and len(representations) == 1:
        return _reasonable(len(landmarks), DELTA / choices / (1 if n_classes == 2 else n_classes), n_classes)
    if landmarks.drawn != "stratified" or landmarks.labels is None:
        reason = "the theorem is about landmarks drawn from each class"
        return Guarantee(f"nothing is promised: {reason}", theorem, "", {}, NONE)
    fewest = int(np.bincount(landmarks.labels, minlength=n_classes).min())
    numbers = {"landmarks_per_class": float(fewest), "delta": DELTA, "choices": float(choices)}
    gamma = math.sqrt(32 * math.log(1 / delta) / fewest) * (1 + 1e-12) if fewest else math.inf
    if gamma > 1:
        needed = bounds.similarity_landmarks(1.0, delta)
        reason = f"{fewest} landmarks of a class are too few for any gap, {needed} would do for a gap of 1"
        return Guarantee(f"nothing is promised: {reason}", theorem, "", numbers, NONE)
    margin = evenness * bounds.combined_margin(gamma, parts)
    statement = (
        f"with probability {1 - DELTA:g}, some linear separator of the features has error at most epsilon + {DELTA:g} "
        f"at margin {margin:.4g}"
    )
    good = f"(epsilon, {gamma:.4g})-good in the sense of Definition 3"
    combined = f"the similarities are within [-1, 1] and some convex combination of them is {good}"
    assumption = f"the similarity is within [-1, 1] and {good}" if parts == 1 else combined
    return Guarantee(statement, theorem, assumption, {**numbers, "gamma": gamma}, PROVEN)
