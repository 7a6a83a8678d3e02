"""Learning from a stream of batches: the first decides scale and landmarks, all of them add to the sums."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute import itemsize
from similitude.compute.engines import Engine
from similitude.estimators.fit import fit_with_held_out
from similitude.estimators.influence import GroupInfluence
from similitude.estimators.passes import features_of
from similitude.estimators.rows import MOST_HELD_OUT
from similitude.landmarks import FeatureUnion, Groups, LandmarkFeatures
from similitude.linear import HELD_OUT_SHARE, LinearModel, Moments, Trial
from similitude.support import generator


@dataclass(frozen=True, eq=False)
class Stream:
    """What was learned from the batches so far.

    Attributes
    ----------
    features : tuple of LandmarkFeatures
        Of the first batch.
    groups : Groups
        Of rows whose sums are kept apart, to explain predictions.
    sums : Moments or None
        Over all rows that are not held out.
    held_out : tuple of (features, targets, weights)
        One for each batch that held out rows.
    """

    features: tuple[LandmarkFeatures, ...]
    groups: Groups
    sums: Moments | None = None
    held_out: tuple[tuple[np.ndarray, np.ndarray, np.ndarray], ...] = ()

    @classmethod
    def begin(cls, features: tuple[LandmarkFeatures, ...], outputs: int, classes: bool) -> Stream:
        """Return a stream that has not learned from any batch, with the features that the first batch decided."""
        numbers = 1 if classes else outputs
        return cls(features, Groups.around(features[0].landmarks, outputs, classes=classes, numbers=numbers))

    def learn(self, X: Any, Y: np.ndarray, weights: np.ndarray, random_state: Any, engine: Engine) -> Stream:
        """Return the stream after a further batch; a fifth of each batch is held out, up to 5,000 rows in all."""
        encodings = tuple(one.similarity.encode_checked(X, "X") for one in self.features)
        size = max(map(itemsize, encodings))
        F = features_of(FeatureUnion.of(self.features, size), encodings, engine, size)
        held = self._chosen(weights, random_state)
        sums = self._moments(F[~held], Y[~held], weights[~held])
        kept = ((F[held], Y[held], weights[held]),) if held.any() else ()
        return replace(self, sums=sums if self.sums is None else self.sums + sums, held_out=self.held_out + kept)

    def solve(self) -> tuple[LinearModel, GroupInfluence, Trial, np.ndarray]:
        """Return the model of all rows, the influence of groups, the trial of rows held out, and their targets."""
        assert self.sums is not None
        F, Y, weights = (np.concatenate(parts) for parts in zip(*self.held_out, strict=True))
        ridge, trial = fit_with_held_out(self.sums, self._moments(F, Y, weights), F, Y, weights)
        return ridge.fit(trial.lam), GroupInfluence.of_ridge(ridge, trial.lam, self.groups), trial, Y

    def _moments(self, F: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> Moments:
        """Return the sums over some rows."""
        return FeatureUnion(self.features, self.groups).moments(F, Y, weights)

    def _chosen(self, weights: np.ndarray, random_state: Any) -> np.ndarray:
        """Return which rows of a batch are held out."""
        held = np.zeros(len(weights), dtype=bool)
        counted = np.flatnonzero(weights > 0)
        known = sum(len(one) for _, _, one in self.held_out)
        if known < MOST_HELD_OUT:
            number = max(1 if known == 0 else 0, round(HELD_OUT_SHARE * len(counted)))
            held[generator(random_state).permutation(counted)[:number]] = len(counted) > 1
        return held
