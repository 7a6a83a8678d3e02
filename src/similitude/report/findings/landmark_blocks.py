"""Similarities of examples to the landmarks of a model, computed once for all sections of a report."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from similitude.compute import take
from similitude.landmarks import PROJECTION, lengths
from similitude.linear import Moments, Ridge
from similitude.report.findings.held_out import FoldModel
from similitude.report.findings.inputs import Inputs
from similitude.report.limits import MAX_CALLS_OF_A_FUNCTION, MAX_REFITTED
from similitude.support import pairs_at


class LandmarkBlocks:
    """Similarities to the landmarks of one model, each matrix computed when it is asked for, and once.

    Parameters
    ----------
    inputs : Inputs
    fold : FoldModel
        A model of one similarity; its tested examples are the rows of `tested`.
    """

    def __init__(self, inputs: Inputs, fold: FoldModel) -> None:
        self.inputs, self.fold, self.model = inputs, fold, fold.model
        side = self.model.representation_.side
        self.sides = ("left", "right") if side == "both" else (side,)

    @property
    def n_landmarks(self) -> int:
        """The number of landmarks."""
        return len(self.model.landmark_indices_)

    @property
    def is_projected(self) -> bool:
        """Whether features are projections onto the landmarks."""
        return bool(self.model.representation_.name == PROJECTION)

    @cached_property
    def tested(self) -> tuple[np.ndarray, ...]:
        """Similarities of the tested examples, for each side."""
        return self._of(self.fold.test)

    @cached_property
    def refitted(self) -> np.ndarray:
        """Positions of the examples that models with fewer landmarks are fitted to."""
        threadsafe = self.inputs.similarity.hints.threadsafe
        calls = MAX_REFITTED if threadsafe else MAX_CALLS_OF_A_FUNCTION // max(1, self.n_landmarks)
        train, most = self.fold.train, min(MAX_REFITTED, max(calls, 10))
        return train if len(train) <= most else np.sort(self.inputs.rng().choice(train, most, replace=False))

    @cached_property
    def learned(self) -> tuple[np.ndarray, ...]:
        """Similarities of the examples to refit to, for each side."""
        return self._of(self.refitted)

    @cached_property
    def factor(self) -> np.ndarray:
        """U with K(L, L) = U'U up to rounding, of the landmarks in the order of the model."""
        K = np.asarray(self.model.similarity_.gram(self.model.landmarks_))
        return shifted_cholesky(K)

    def scores_of_some(self, which: np.ndarray) -> np.ndarray:
        """Return the scores of the tested examples by a model with some of the landmarks and the same penalty.

        Of classes there is one column for each, otherwise one in all.
        """
        F, G = self._features(self.learned, which), self._features(self.tested, which)
        targets = self.inputs.targets[self.refitted]
        Y = np.eye(len(self.inputs.classes))[targets] if self.inputs.of_classes else targets[:, None]
        lam = self.model.lam_ * len(self.refitted) / len(self.fold.train)
        return Ridge(Moments.of(F, Y, np.ones(len(Y))), lam).fit(lam).scores(G)

    def notes(self) -> tuple[str, ...]:
        """Say how many examples models with fewer landmarks were fitted to, if not to all."""
        n, most = len(self.refitted), len(self.fold.train)
        return (f"models with fewer landmarks were fitted to {n:,} of {most:,} examples",) if n < most else ()

    def _features(self, sides: tuple[np.ndarray, ...], which: np.ndarray) -> np.ndarray:
        parts = [K[:, which] for K in sides]
        if self.is_projected:
            U = shifted_cholesky(self.factor[:, which].T @ self.factor[:, which])
            return np.ascontiguousarray(solve_triangular(U, parts[0].T, trans="T", check_finite=False).T)
        F = np.concatenate(parts, axis=1)
        return F / lengths(F)[:, None] if self.model.representation_.normalized else F

    def _of(self, positions: np.ndarray) -> tuple[np.ndarray, ...]:
        k, objects, at = self.model.similarity_, self.model.landmarks_, self.fold.train[self.model.landmark_indices_]
        return tuple(self._one_side(k, positions, objects, at, side) for side in self.sides)

    def _one_side(self, k: Any, positions: np.ndarray, landmarks: Any, at: np.ndarray, side: str) -> np.ndarray:
        X = take(self.inputs.X, positions)
        if side == "left":
            with pairs_at(positions, at):
                return np.asarray(k.cross(X, landmarks), dtype=np.float64)
        with pairs_at(at, positions):
            return np.asarray(k.cross(landmarks, X), dtype=np.float64).T


def shifted_cholesky(K: np.ndarray) -> np.ndarray:
    """Return U with U'U = K, which is positive semi-definite up to rounding; if need be, the diagonal is raised."""
    shift = len(K) * float(np.finfo(K.dtype).eps) * float(K.diagonal().max())
    K = (K.astype(np.float64) + K.T) / 2
    while True:
        try:
            return np.asarray(cholesky(K + shift * np.eye(len(K)), check_finite=False))
        except np.linalg.LinAlgError:
            shift *= 10
