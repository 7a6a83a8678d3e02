"""The features of examples under one similarity, by the road that it takes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from similitude.landmarks.features import lengths
from similitude.landmarks.representation import LANDMARKS, LOOKED_AT, PROJECTION, Road, decide, projected
from similitude.landmarks.triangular import solve_rows, solver
from similitude.selection.pairs import Pairs
from similitude.similarity import Similarity


def coordinates(k: Similarity, pairs: Pairs) -> tuple[Road, np.ndarray]:
    """Return the road of a similarity, and the features: projected, or the similarities to landmarks themselves."""
    K = pairs.left(k)
    M = pairs.between(k, K)
    road = decide(k, None if k.proof().holds else M[:LOOKED_AT, :LOOKED_AT], "auto", False)
    if road.name == PROJECTION:
        F = projection(K, M)
        if F is not None:
            return road, F
        reason = f"the Gram matrix of {len(M)} landmarks is {'indefinite' if M.any() else 'zero'}"
        return Road(LANDMARKS, reason, "left"), K
    return road, np.concatenate([K, pairs.right(k)], axis=1) if road.side == "both" else K


def projection(K: np.ndarray, M: np.ndarray) -> np.ndarray | None:
    """Return F with F U = K and M = U'U, in the place of K; None where M is indefinite or zero."""
    factor = projected(M, K.dtype == np.float32)
    if factor is None:
        return None
    if len(factor.pivots) < len(M):
        K = np.ascontiguousarray(K[:, factor.pivots])
    return solve_rows(K, solver(factor.U, K.dtype))


def variants(road: Road, F: np.ndarray) -> Iterator[tuple[bool, np.ndarray]]:
    """Yield the features, and on the landmark road also each object's divided by their length."""
    yield False, F
    if road.name == LANDMARKS:
        yield True, F / lengths(F)[:, None]
