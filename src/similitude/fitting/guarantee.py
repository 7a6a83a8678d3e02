"""The guarantee of a fit: the theorem for its representation, and what the sample says about each premise."""

from __future__ import annotations

import math

import numpy as np

from similitude.fitting.options import FitOptions
from similitude.fitting.result import FittedModel
from similitude.landmarks import (
    EXAMINED,
    PROJECTION,
    WIDE,
    Ask,
    Landmarks,
    SampleFeatures,
    fixed_beforehand,
    guarantee_of_gaps,
    guarantee_of_reasonable,
    independent_landmarks,
    is_kernel,
    rounding_of,
    share_without_gap,
    within_range,
)
from similitude.support import NONE, Guarantee, Premise


def guarantee_of_fit(
    fitted: FittedModel, options: FitOptions, labels: np.ndarray | None, n_classes: int, choices: int
) -> Guarantee:
    """Return what holds for some linear separator of the features; not that the one found is such a separator.

    Parameters
    ----------
    fitted : FittedModel
    options : FitOptions
    labels : array of int, or None
        The class number of each row; None for regression.
    n_classes : int
    choices : int
        How many scales and numbers of landmarks were compared: each gets its share of the probability of failure, as
        does each representation that values of the similarity may lead to.
    """
    if labels is None:
        return Guarantee.none("the theorems are about classes")
    if len({one.name for one in fitted.representations}) > 1:
        return Guarantee.none("no theorem is about similarities in different representations")
    landmarks, samples = fitted.landmarks, fitted.samples
    assert landmarks is not None
    choices *= math.prod(_representations(one.proven, options) for one in samples)
    fixed, sides = fixed_beforehand(options.similarities), [one.side for one in fitted.representations]
    if fitted.representations[0].name == PROJECTION:
        if len(samples) > 1:
            return Guarantee.none("no theorem is about several kernels with weights that were computed from the rows")
        return _of_projection(samples[0], landmarks, [fixed, independent_landmarks(landmarks.rule)], choices, n_classes)
    if any(one.normalized for one in fitted.representations):
        divided = "similarities were divided by their length, the theorems are about similarities as they are"
        return Guarantee.none(divided)
    bounded = within_range(options.similarities, max(sample.largest for sample in samples))
    if landmarks.rule != "stratified" and sides in (["left"], ["right"]):
        premises = [fixed, independent_landmarks(landmarks.rule), bounded]
        return guarantee_of_reasonable(len(landmarks), n_classes, choices, premises)
    if landmarks.labels is None or landmarks.rule != "stratified":
        return Guarantee.none("the theorem is about landmarks drawn from each class")
    scales = [one.scale for one, side in zip(fitted.features, sides, strict=True) for _ in range(1 + (side == "both"))]
    sizes = np.bincount(landmarks.labels, minlength=n_classes)
    alone = samples[0] if sides == ["left"] else None
    premises = [fixed, independent_landmarks(landmarks.rule, of_each_class=True), bounded]
    return guarantee_of_gaps(sizes, scales, choices, premises, lambda gamma: _share(alone, labels, landmarks, gamma))


def guarantee_of_learned(labels: np.ndarray | None) -> Guarantee:
    """Return that nothing is promised of a kernel that was learned from the rows."""
    if labels is None:
        return Guarantee.none("the theorems are about classes")
    return Guarantee.none("the kernel was learned from the same rows, the theorems are about one fixed beforehand")


def _representations(proven: bool, options: FitOptions) -> int:
    """Return how many representations the values of a similarity decide between."""
    if proven or options.penalty == "l1" or options.side in ("right", "both"):
        return 1
    return 3 if options.side == "auto" else 2


def _of_projection(
    sample: SampleFeatures, landmarks: Landmarks, premises: list[Premise], choices: int, n_classes: int
) -> Guarantee:
    """Return the guarantee of Theorem 1 on mappings; landmarks are compared only if nothing else speaks against it."""
    made = WIDE.made(Ask(), len(landmarks), premises, choices, n_classes)
    if made.grade == NONE:
        return made
    n = min(EXAMINED, len(landmarks))
    M, known = sample.gram(n), None if landmarks.labels is None else landmarks.labels[:n]
    premises = [*premises, is_kernel(sample.k, M, rounding_of(M, sample.single))]
    return WIDE.made(Ask(), len(landmarks), premises, choices, n_classes, M, known)


def _share(sample: SampleFeatures | None, labels: np.ndarray, landmarks: Landmarks, gamma: float) -> float | None:
    """Return the share of some rows, none of them a landmark, that does not have a gap; None if unknown."""
    if sample is None or landmarks.labels is None or landmarks.positions is None:
        return None
    others = np.flatnonzero(~np.isin(sample.places, landmarks.positions))[:EXAMINED]
    if not len(others):
        return None
    K = sample.similarities(len(landmarks), "left")[others]
    return share_without_gap(K, labels[sample.places[others]], landmarks.labels, gamma)
