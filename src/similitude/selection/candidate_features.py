"""The features of examples under one similarity: projected onto landmarks, or the similarities themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from similitude.landmarks import (
    EXAMINED,
    PROJECTION,
    SIMILARITIES,
    LandmarkFeatures,
    Landmarks,
    Representation,
    choose_representation,
    factor_of_landmarks,
    lengths,
)
from similitude.selection.landmark_similarities import LandmarkSimilarities
from similitude.similarity import Similarity


def features_of(
    k: Similarity, similarities: LandmarkSimilarities, side: str = "auto"
) -> tuple[Representation, np.ndarray]:
    """Return the representation of a similarity, and the features of the examples."""
    K = similarities.left(k)
    M = similarities.landmark_gram(k, K)
    representation = choose_representation(k, None if k.proven else M[:EXAMINED, :EXAMINED], side, False)
    if representation.name == PROJECTION:
        F = projection(k, similarities.landmarks, K, M)
        if F is not None:
            return representation, F
        reason = f"the Gram matrix of {len(M)} landmarks is {'indefinite' if M.any() else 'zero'}"
        return Representation(SIMILARITIES, reason, "left"), K
    return representation, np.concatenate([K, similarities.right(k)], axis=1) if representation.side == "both" else K


def projection(k: Similarity, landmarks: Landmarks, K: np.ndarray, M: np.ndarray) -> np.ndarray | None:
    """Return F with F U = K and M = U'U, possibly overwriting K; None if M is indefinite or zero."""
    factor = factor_of_landmarks(M, K.dtype == np.float32)
    if factor is None:
        return None
    if len(factor.pivots) < len(M):
        K = np.ascontiguousarray(K[:, factor.pivots])
    features: np.ndarray = (
        LandmarkFeatures(k, landmarks.only(factor.pivots), factor=factor.U).ready(K.dtype).transform(K)
    )
    return features


def with_and_without_normalization(
    representation: Representation, F: np.ndarray
) -> Iterator[tuple[Representation, np.ndarray]]:
    """Yield the features and, if they are similarities, also those with rows of unit length."""
    yield representation, F
    if representation.name == SIMILARITIES:
        yield replace(representation, normalized=True), F / lengths(F)[:, None]
