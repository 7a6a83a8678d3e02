"""The features of examples under one similarity, by the representation that it takes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from similitude.landmarks.features import LandmarkFeatures, lengths
from similitude.landmarks.landmarks import Landmarks
from similitude.landmarks.projection import factor_of_landmarks
from similitude.landmarks.representation import (
    EXAMINED,
    PROJECTION,
    SIMILARITIES,
    Representation,
    choose_representation,
)
from similitude.selection.pairs import Pairs
from similitude.similarity import Similarity


def coordinates(k: Similarity, pairs: Pairs) -> tuple[Representation, np.ndarray]:
    """Return the representation of a similarity, and the features: projected, or the similarities to landmarks themselves."""
    K = pairs.left(k)
    M = pairs.between(k, K)
    representation = choose_representation(k, None if k.proof().holds else M[:EXAMINED, :EXAMINED], "auto", False)
    if representation.name == PROJECTION:
        F = projection(k, pairs.landmarks, K, M)
        if F is not None:
            return representation, F
        reason = f"the Gram matrix of {len(M)} landmarks is {'indefinite' if M.any() else 'zero'}"
        return Representation(SIMILARITIES, reason, "left"), K
    return representation, np.concatenate([K, pairs.right(k)], axis=1) if representation.side == "both" else K


def projection(k: Similarity, landmarks: Landmarks, K: np.ndarray, M: np.ndarray) -> np.ndarray | None:
    """Return F with F U = K and M = U'U, in the place of K; None where M is indefinite or zero."""
    factor = factor_of_landmarks(M, K.dtype == np.float32)
    if factor is None:
        return None
    if len(factor.pivots) < len(M):
        K = np.ascontiguousarray(K[:, factor.pivots])
    features: np.ndarray = (
        LandmarkFeatures(k, landmarks.only(factor.pivots), factor=factor.U).ready(K.dtype).transform(K)
    )
    return features


def variants(representation: Representation, F: np.ndarray) -> Iterator[tuple[bool, np.ndarray]]:
    """Yield the features, and on the landmark representation also each object's divided by their length."""
    yield False, F
    if representation.name == SIMILARITIES:
        yield True, F / lengths(F)[:, None]
