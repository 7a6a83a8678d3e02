"""Which representation a similarity takes: projected as a kernel, or as it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from similitude.landmarks.triangular import Factor, factorize
from similitude.similarity import Similarity
from similitude.support.results import Result

PROJECTION, SIMILARITIES = "projection", "similarities"

ROUNDING = 1e-10
"""The relative error that values may have, in double precision, where there is no proof of how they came about."""

LOOKED_AT = 500
"""Landmarks at most whose Gram matrix is looked at, where there is no proof."""


@dataclass(frozen=True)
class Representation(Result):
    """What the features are, and why.

    Attributes
    ----------
    name : str
        ``projection``: the kernel's feature space projected onto the span of the landmarks (a kernel is needed).
        ``landmarks``: the similarities to the landmarks themselves (nothing is needed).
    reason : str
    side : str
        Which similarities are used: ``left`` K(x, l), ``right`` K(l, x), ``both``.
    normalized : bool
        Whether each object's similarities are divided by their length, because held-out examples were predicted
        better so.
    """

    name: str
    reason: str
    side: str = "left"
    normalized: bool = False

    def __str__(self) -> str:
        sides = {"left": "K(x, l)", "right": "K(l, x)", "both": "K(x, l) and K(l, x)"}[self.side]
        length = ", each object's divided by their length (held-out examples did better so)" if self.normalized else ""
        what = "features projected onto the landmarks" if self.name == PROJECTION else f"similarities {sides}{length}"
        return f"{self.name}: {what}, because {self.reason}"


def decide(k: Similarity, M: np.ndarray | None, side: str, sparse: bool, single: bool = False) -> Representation:
    """Return the representation of a similarity.

    Parameters
    ----------
    k : Similarity
    M : array or None
        The Gram matrix of some landmarks, every pair computed; not looked at where there is a proof. None: there is
        none, for objects and landmarks are of different kinds.
    side : str
        What the user asked for; ``auto``: both sides where they differ.
    sparse : bool
        Whether the penalty chooses among landmarks.
    single : bool
        Whether the values of M came in single precision.
    """
    if side in ("right", "both"):
        return Representation(SIMILARITIES, f"side={side!r} was asked for", side)
    if sparse:
        return Representation(SIMILARITIES, "penalty='l1' chooses among landmarks", "left")
    proof = k.proof()
    if proof.holds:
        return Representation(PROJECTION, f"{proof.similarity} is a kernel by proof")
    if M is None:
        return Representation(SIMILARITIES, "there is no Gram matrix of the landmarks", "left")
    apart = np.abs(M - M.T)
    if apart.max() > tolerance(M, single):
        i, j = (int(place) for place in np.unravel_index(apart.argmax(), apart.shape))
        differ = f"it is not symmetric: K(l{i}, l{j}) = {M[i, j]:.4g} and K(l{j}, l{i}) = {M[j, i]:.4g}"
        return Representation(SIMILARITIES, differ, "both" if side == "auto" else "left")
    lowest = float(np.linalg.eigvalsh(M)[0])
    if lowest < -tolerance(M, single):
        return Representation(SIMILARITIES, f"it is not a kernel: an eigenvalue on {len(M)} landmarks is {lowest:.4g}")
    return Representation(PROJECTION, f"there is no proof, but it is positive semi-definite on {len(M)} landmarks")


def why_not_projected(M: np.ndarray) -> str:
    """Return what is seen of a Gram matrix that there is nothing to project with."""
    if not M.any():
        return f"it is zero on {len(M)} landmarks"
    return f"it is not a kernel: an eigenvalue on {len(M)} landmarks is {float(np.linalg.eigvalsh(M)[0]):.4g}"


def tolerance(M: np.ndarray, single: bool) -> float:
    """Return how far from a kernel rounding alone may take a matrix."""
    return float((float(np.finfo(np.float32).eps) if single else ROUNDING) * len(M) * np.abs(M).max(initial=0.0))


def projected(M: np.ndarray, single: bool, proven: bool = True) -> Factor | None:
    """Return the factor of the landmarks' Gram matrix; None where the matrix shows itself indefinite or zero.

    Parameters
    ----------
    M : array
        In float64.
    single : bool
        Whether K(x, l) will come in single precision: squared lengths below that are then rounding.
    proven : bool
        Whether it is known to be a kernel, so that what looks indefinite is rounding. Otherwise the values may have
        been rounded by more than our own arithmetic would.
    """
    M = (M + M.T) / 2
    precision = max(len(M) * float(np.finfo(np.float64).eps), float(np.finfo(np.float32).eps) if single else 0.0)
    precision = precision if proven else max(precision, ROUNDING)
    factor = factorize(M, precision * max(float(M.diagonal().max()), 0.0))
    indefinite = not proven and factor.residual > max(tolerance(M, single), 16 * precision * float(np.abs(M).max()))
    return None if indefinite or not len(factor.pivots) else factor
