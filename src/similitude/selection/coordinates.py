"""The features of examples under one similarity, by the representation that it takes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from similitude.landmarks.features import lengths
from similitude.landmarks.representation import LOOKED_AT, PROJECTION, SIMILARITIES, Representation, decide, projected
from similitude.landmarks.triangular import solve_rows, solver
from similitude.selection.pairs import Pairs
from similitude.similarity import Similarity


def coordinates(k: Similarity, pairs: Pairs) -> tuple[Representation, np.ndarray]:
    """Return the representation of a similarity, and the features: projected, or the similarities to landmarks themselves."""
    K = pairs.left(k)
    M = pairs.between(k, K)
    representation = decide(k, None if k.proof().holds else M[:LOOKED_AT, :LOOKED_AT], "auto", False)
    if representation.name == PROJECTION:
        F = projection(K, M)
        if F is not None:
            return representation, F
        reason = f"the Gram matrix of {len(M)} landmarks is {'indefinite' if M.any() else 'zero'}"
        return Representation(SIMILARITIES, reason, "left"), K
    return representation, np.concatenate([K, pairs.right(k)], axis=1) if representation.side == "both" else K


def projection(K: np.ndarray, M: np.ndarray) -> np.ndarray | None:
    """Return F with F U = K and M = U'U, in the place of K; None where M is indefinite or zero."""
    factor = projected(M, K.dtype == np.float32)
    if factor is None:
        return None
    if len(factor.pivots) < len(M):
        K = np.ascontiguousarray(K[:, factor.pivots])
    return solve_rows(K, solver(factor.U, K.dtype))


def variants(representation: Representation, F: np.ndarray) -> Iterator[tuple[bool, np.ndarray]]:
    """Yield the features, and on the landmark representation also each object's divided by their length."""
    yield False, F
    if representation.name == SIMILARITIES:
        yield True, F / lengths(F)[:, None]
