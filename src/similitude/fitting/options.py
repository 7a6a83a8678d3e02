"""What a fit is asked to do: the same for fits in memory, in batches, on a cluster and on a GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute import Encoding
from similitude.compute.engines import Engine
from similitude.landmarks import Landmarks, SampleFeatures
from similitude.linear import Loss
from similitude.similarity import Meter, Similarity

RIDGE = "squared", "l2"
"""Loss and penalty of ridge regression, which needs the sums of one pass over the features, not the features."""


@dataclass(frozen=True, eq=False)
class FitOptions:
    """What to fit.

    Attributes
    ----------
    similarities : tuple of Similarity
        As the user gave them, not yet resolved; without labels to learn from, if the choice is left to the fit.
    automatic : bool
        Whether the choice of a similarity is left to the fit.
    kind : str
        Of objects; ``"matrix"`` for a precomputed one.
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
    targets : str
        What the columns of the targets are, for people: ``"output"``, ``"label"`` or ``"threshold"`` between grades.
    random_state : int or None
    engine : Engine
    meter : Meter
        Counts the calls of the user's functions.
    max_calls : int or None
    names : list of str or None
        Of the columns of vectors, if they have names.
    quantile : float or None
        The share of targets below their prediction, if quantiles are predicted.
    own_loss : Loss or None
        The loss, where it has parameters that its name does not tell.
    stream : bool
        Whether further batches follow, so that every choice is made on the first one.
    """

    similarities: tuple[Similarity, ...]
    automatic: bool
    kind: str
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
    meter: Meter
    max_calls: int | None = None
    names: list[str] | None = None
    quantile: float | None = None
    own_loss: Loss | None = None
    stream: bool = False
    targets: str = "output"

    @property
    def is_ridge(self) -> bool:
        """Whether the model is ridge regression."""
        return (self.loss, self.penalty) == RIDGE

    def sample(
        self, k: Similarity, among: Encoding, places: np.ndarray, landmarks: Landmarks, which: np.ndarray | None = None
    ) -> SampleFeatures:
        """Return the features of a sample of rows, as the fit is to compute them."""
        return SampleFeatures(k, among, places, landmarks, self.engine, self.side, self.penalty == "l1", which)
