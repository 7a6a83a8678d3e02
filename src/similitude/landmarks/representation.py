"""The representation of a similarity: projected onto the landmarks as a kernel, or its similarities as they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from similitude.landmarks.projection import rounding_of
from similitude.similarity import Similarity
from similitude.support import Result

PROJECTION, SIMILARITIES = "projection", "similarities"

EXAMINED = 500
"""Most landmarks whose Gram matrix is examined if there is no proof that the similarity is a kernel."""


@dataclass(frozen=True)
class Representation(Result):
    """Which features a model uses, and why.

    Attributes
    ----------
    name : str
        ``projection``: the kernel's feature space projected onto the span of the landmarks; needs a kernel.
        ``similarities``: the similarities to the landmarks themselves; needs nothing.
    reason : str
    side : str
        Which similarities are used: ``left`` K(x, l), ``right`` K(l, x), or ``both``.
    normalized : bool
        Whether each object's similarities are divided by their Euclidean length, because this lowered the held-out
        loss.
    """

    name: str
    reason: str
    side: str = "left"
    normalized: bool = False

    def __str__(self) -> str:
        sides = {"left": "K(x, l)", "right": "K(l, x)", "both": "K(x, l) and K(l, x)"}[self.side]
        length = ", divided by their length for each object (lower held-out loss)" if self.normalized else ""
        what = "features projected onto the landmarks" if self.name == PROJECTION else f"similarities {sides}{length}"
        return f"{self.name}: {what}, because {self.reason}"


def choose_representation(
    k: Similarity, M: np.ndarray | None, side: str, sparse: bool, single: bool = False
) -> Representation:
    """Choose the representation of a similarity.

    - ``side="right"`` or ``"both"``: similarities, as asked for;
    - a penalty that selects landmarks: similarities, so that a weight of zero saves a similarity call;
    - a kernel by proof, or PSD on the examined landmarks: projection;
    - anything else: similarities, of both sides if they differ and ``side="auto"``.

    Parameters
    ----------
    k : Similarity
    M : array or None
        The Gram matrix of some landmarks with every pair computed; not needed if there is a proof. None: there is no
        such matrix, because objects and landmarks are of different kinds.
    side : str
        As the user gave it.
    sparse : bool
        Whether the penalty selects landmarks.
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
    if apart.max() > rounding_of(M, single):
        i, j = (int(place) for place in np.unravel_index(apart.argmax(), apart.shape))
        differ = f"it is not symmetric: K(l{i}, l{j}) = {M[i, j]:.4g} and K(l{j}, l{i}) = {M[j, i]:.4g}"
        return Representation(SIMILARITIES, differ, "both" if side == "auto" else "left")
    lowest = float(np.linalg.eigvalsh(M)[0])
    if lowest < -rounding_of(M, single):
        return Representation(SIMILARITIES, f"it is not a kernel: an eigenvalue on {len(M)} landmarks is {lowest:.4g}")
    return Representation(PROJECTION, f"there is no proof, but it is positive semi-definite on {len(M)} landmarks")


def not_projected(M: np.ndarray) -> Representation:
    """Return the representation after the Gram matrix of more landmarks proved to be indefinite or zero."""
    if not M.any():
        return Representation(SIMILARITIES, f"it is zero on {len(M)} landmarks")
    lowest = float(np.linalg.eigvalsh(M)[0])
    return Representation(SIMILARITIES, f"it is not a kernel: an eigenvalue on {len(M)} landmarks is {lowest:.4g}")
