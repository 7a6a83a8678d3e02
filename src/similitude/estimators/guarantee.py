"""The guarantee of a fit: the theorem for its representation, and what the sample says about each premise."""

from __future__ import annotations

import numpy as np

from similitude.estimators.fit import Fitted
from similitude.estimators.landmark_count import SampleFeatures
from similitude.estimators.options import FitOptions
from similitude.landmarks import (
    EXAMINED,
    PROJECTION,
    WIDE,
    Ask,
    Landmarks,
    fixed_beforehand,
    guarantee_of_gaps,
    guarantee_of_reasonable,
    independent_landmarks,
    is_kernel,
    rounding_of,
    share_without_gap,
    within_range,
)
from similitude.support import Guarantee


def guarantee_of_fit(
    fitted: Fitted, options: FitOptions, labels: np.ndarray | None, n_classes: int, choices: int
) -> Guarantee:
    """Return what holds for some linear separator of the features; not that the one found is such a separator.

    Parameters
    ----------
    fitted : Fitted
    options : FitOptions
    labels : array of int, or None
        The class number of each row; None for regression.
    n_classes : int
    choices : int
        How many scales and numbers of landmarks were compared: each gets its share of the probability of failure.
    """
    if labels is None:
        return Guarantee.none("the theorems are about classes")
    if len({one.name for one in fitted.representations}) > 1:
        return Guarantee.none("no theorem is about similarities in different representations")
    landmarks, samples = fitted.landmarks, fitted.samples
    premises = [fixed_beforehand(options.similarities), independent_landmarks(landmarks.rule)]
    if fitted.representations[0].name == PROJECTION:
        if len(samples) > 1:
            return Guarantee.none("no theorem is about several kernels with weights that were computed from the rows")
        n = min(EXAMINED, len(landmarks))
        M, known = samples[0].gram(n), None if landmarks.labels is None else landmarks.labels[:n]
        premises.append(is_kernel(samples[0].k, M, rounding_of(M, samples[0].single)))
        cases = choices * (1 if n_classes == 2 else n_classes)
        return WIDE.made(Ask(), len(landmarks), premises, cases, M, known)
    if any(one.normalized for one in fitted.representations):
        divided = "similarities were divided by their length, the theorems are about similarities as they are"
        return Guarantee.none(divided)
    premises.append(within_range(options.similarities, max(sample.largest for sample in samples)))
    sides = [one.side for one in fitted.representations]
    if landmarks.rule != "stratified" and sides in (["left"], ["right"]):
        return guarantee_of_reasonable(len(landmarks), n_classes, choices, premises)
    if landmarks.labels is None or landmarks.rule != "stratified":
        return Guarantee.none("the theorem is about landmarks drawn from each class")
    scales = [one.scale for one, side in zip(fitted.features, sides, strict=True) for _ in range(1 + (side == "both"))]
    sizes = np.bincount(landmarks.labels, minlength=n_classes)
    alone = samples[0] if sides == ["left"] else None
    return guarantee_of_gaps(sizes, scales, choices, premises, lambda gamma: _share(alone, labels, landmarks, gamma))


def _share(sample: SampleFeatures | None, labels: np.ndarray, landmarks: Landmarks, gamma: float) -> float | None:
    """Return the share of the sample, without the landmarks themselves, that does not have a gap; None if unknown."""
    if sample is None or landmarks.labels is None or landmarks.positions is None:
        return None
    others = np.flatnonzero(~np.isin(sample.places, landmarks.positions))
    if not len(others):
        return None
    K = sample.similarities(len(landmarks), "left")[others]
    return share_without_gap(K, labels[sample.places[others]], landmarks.labels, gamma)
