"""The description of a fit that all fits share: in memory, in batches, on a cluster and on a GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from similitude.compute.engines import Engine
from similitude.landmarks import Landmarks
from similitude.linear import Loss
from similitude.similarity import Similarity

RIDGE = "squared", "l2"
"""Loss and penalty of ridge regression, which needs the sums of one pass over the features, not the features."""


@dataclass(frozen=True, eq=False)
class FitOptions:
    """What to fit.

    Attributes
    ----------
    similarities : tuple of Similarity
        As the user gave them, not yet resolved.
    rule : str
        How landmarks are chosen.
    n_landmarks : int or "auto"
    given : Landmarks or None
        Landmarks that the user named, instead of a rule.
    unlabeled : sequence of objects, or None
        The pool that landmarks are drawn from instead of X.
    side, loss, penalty : str
    classes : bool
        Whether targets are codes of classes, rather than numbers.
    random_state : int or None
    engine : Engine
    own_loss : Loss or None
        The loss, where it has parameters that its name does not tell.
    """

    similarities: tuple[Similarity, ...]
    rule: str
    n_landmarks: int | str
    given: Landmarks | None
    unlabeled: Any
    side: str
    loss: str
    penalty: str
    classes: bool
    random_state: Any
    engine: Engine
    own_loss: Loss | None = None
