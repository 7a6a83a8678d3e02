"""Learning from a stream of batches: the first decides scale and landmarks, all of them add to the sums."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute import itemsize
from similitude.compute.engines import Engine
from similitude.evaluation import Trial, n_evaluating
from similitude.fitting import limits
from similitude.fitting.fit import fit_with_held_out
from similitude.fitting.influence import GroupInfluence, Groups
from similitude.fitting.passes import FeatureUnion, features_of
from similitude.landmarks import LandmarkFeatures
from similitude.linear import GroupMoments, LinearModel, Moments
from similitude.support import generator

MOST_OF_STREAM = 3_000
"""Landmarks of a stream are fewer: it holds sums over all pairs of their features."""


@dataclass(frozen=True, eq=False)
class Stream:
    """What was learned from the batches so far."""

    features: tuple[LandmarkFeatures, ...]  # of the first batch
    groups: Groups  # of rows whose sums explain predictions
    sums: Moments | None = None  # over all rows that are not held out; those of groups over all rows
    # features, targets and weights: the penalty is chosen on the first half of all, the others evaluate
    held_out: tuple[tuple[np.ndarray, np.ndarray, np.ndarray], ...] = ()

    @classmethod
    def begin(cls, features: tuple[LandmarkFeatures, ...], outputs: int, classes: bool) -> Stream:
        """Return a stream that has not learned from any batch, with the features that the first batch decided."""
        return cls(features, Groups.around(features[0].landmarks, outputs, classes=classes))

    def learn(self, X: Any, Y: np.ndarray, weights: np.ndarray, held: np.ndarray, engine: Engine) -> Stream:
        """Return the stream after a further batch, of which some rows are held out."""
        encodings = tuple(one.similarity.encode_checked(X, "X") for one in self.features)
        union = FeatureUnion.of(self.features, max(map(itemsize, encodings)), self.groups)
        F = features_of(union, encodings, engine)
        sums = Moments.of(F[~held], Y[~held], weights[~held])
        members = union.members(F, Y)
        assert members is not None
        sums.groups = GroupMoments.precisely(F, members, weights)
        kept = ((F[held], Y[held], weights[held]),) if held.any() else ()
        return replace(self, sums=sums if self.sums is None else self.sums + sums, held_out=self.held_out + kept)

    @property
    def n_held_out(self) -> int:
        """The number of rows held out so far."""
        return sum(len(one) for _, _, one in self.held_out)

    def solve(self) -> tuple[LinearModel, GroupInfluence, Trial, np.ndarray]:
        """Return the model of all rows, the influence of groups, and the trial of other rows with their targets."""
        assert self.sums is not None
        F, Y, weights = (np.concatenate(parts) for parts in zip(*self.held_out, strict=True))
        ridge, trial = fit_with_held_out(self.sums, Moments.of(F, Y, weights), F, Y, weights, n_evaluating(len(Y)))
        influence = GroupInfluence.of_ridge(ridge, trial.lam, self.groups)
        return ridge.fit(trial.lam), influence, trial, Y[len(Y) - len(trial.losses) :]


def held_out_of_batch(weights: np.ndarray, known: int, random_state: Any) -> np.ndarray:
    """Return which rows of a batch are held out, given how many are already."""
    held = np.zeros(len(weights), dtype=bool)
    counted = np.flatnonzero(weights > 0)
    number = limits.rows_held_out(len(counted), known)
    if number and len(counted) > 1:
        held[generator(random_state).permutation(counted)[:number]] = True
    return held
