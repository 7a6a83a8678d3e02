"""The landmarks of a model: similarities to them, computed once for all sections of a report, and their importance.

With the similarities themselves as features, a prediction is a sum over landmarks, and importance is the size of a
landmark's term. With projected features, landmarks are correlated and their terms large with opposite signs: there,
importance is the change of the score when the landmark is removed and the others replace it as well as they can.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular

from similitude.compute import as_objects, take
from similitude.landmarks import PROJECTION, lengths
from similitude.linear import Moments, Ridge
from similitude.report.findings.held_out import Fold
from similitude.report.findings.inputs import Inputs, Item
from similitude.report.limits import MAX_CALLS_OF_A_FUNCTION, MOST_LISTED
from similitude.support import pairs_at, unboxed

MEASURES = {
    "projection": (
        "the change of the scores, on average over {whom}, when the landmark is removed and the others replace it as "
        "well as they can (small where they can)"
    ),
    "similarities": (
        "how much the landmark's contribution to the scores differs, on average over {whom}, from its mean contribution"
    ),
}
"""What importance measures, by representation."""


@dataclass(frozen=True)
class LandmarkFinding(Item):
    """A landmark and its importance."""

    rank: int  # 1 for the most important of the model's landmarks
    number: int  # its position in the model's `landmarks_`
    importance: float  # see `Findings.importance`
    direction: str  # similarity to it is evidence for this class, or for higher or lower numbers


class LandmarkBlocks:
    """Similarities to the landmarks of a model of one similarity; each matrix is computed once, when it is needed."""

    def __init__(self, inputs: Inputs, fold: Fold) -> None:
        self.inputs = inputs
        self.model, self.train, self.test = fold
        side = self.model.representation_.side
        self.sides = ("left", "right") if side == "both" else (side,)
        self.n_landmarks = len(self.model.landmark_indices_)
        self.is_projected = self.model.representation_.name == PROJECTION

    @cached_property
    def tested(self) -> tuple[np.ndarray, ...]:
        """Similarities of the tested examples, for each side."""
        return self._of(self.test)

    @cached_property
    def refitted(self) -> np.ndarray:
        """Positions of the examples that models with fewer landmarks are fitted to."""
        most = 8000
        if not self.inputs.similarity.hints.threadsafe:
            most = min(most, max(MAX_CALLS_OF_A_FUNCTION // max(1, self.n_landmarks), 10))
        if len(self.train) <= most:
            return self.train
        return np.sort(self.inputs.rng().choice(self.train, most, replace=False))

    @cached_property
    def learned(self) -> tuple[np.ndarray, ...]:
        """Similarities of the examples to refit to, for each side."""
        return self._of(self.refitted)

    @cached_property
    def factor(self) -> np.ndarray:
        """U with K(L, L) = U'U up to rounding, of the landmarks in the order of the model."""
        return shifted_cholesky(np.asarray(self.model.similarity_.gram(self.model.landmarks_)))

    def scores_of_some(self, which: np.ndarray) -> np.ndarray:
        """Return the scores of the tested examples by a model with some of the landmarks and the same penalty."""
        F = self._features(self.learned, which)
        targets = self.inputs.targets[self.refitted]
        Y = np.eye(len(self.inputs.classes))[targets] if self.inputs.of_classes else targets[:, None]
        lam = self.model.lam_ * len(self.refitted) / len(self.train)
        return Ridge(Moments.of(F, Y, np.ones(len(Y))), lam).fit(lam).scores(self._features(self.tested, which))

    def notes(self) -> list[str]:
        """Say how many examples models with fewer landmarks were fitted to, if not to all."""
        n = len(self.refitted)
        most = len(self.train)
        return [f"models with fewer landmarks were fitted to {n:,} of {most:,} examples"] * (n < most)

    def importance(self, some: np.ndarray, sides: tuple[np.ndarray, ...]) -> np.ndarray:
        """Return the mean magnitude of each landmark's effect, over outputs and some of the tested examples.

        `sides` holds the weights of the landmarks. Of projected features, the part of landmark i that the others cannot
        replace is the residual of its projection onto their span in the kernel's feature space; its inner product
        with x is :math:`(k(x)^T K^{-1})_i / (K^{-1})_{ii}`.
        """
        values = [K[some] for K in self.tested]
        if self.is_projected:
            inverse = cho_solve((self.factor, False), np.eye(self.n_landmarks), check_finite=False)
            factors = [values[0] @ (inverse / inverse.diagonal())]
        else:
            size = lengths(np.concatenate(values, axis=1))[:, None] if self.model.representation_.normalized else 1.0
            factors = [K / size for K in values]
            factors = [factor - factor.mean(axis=0) for factor in factors]
        if len(factors) == 1:
            return np.asarray(np.abs(factors[0]).mean(axis=0) * np.abs(sides[0]).mean(axis=1))
        outputs = range(sides[0].shape[1])
        each = [np.abs(sum(F * W[:, c] for F, W in zip(factors, sides, strict=True))).mean(axis=0) for c in outputs]
        return np.asarray(np.mean(each, axis=0))

    def _features(self, sides: tuple[np.ndarray, ...], which: np.ndarray) -> np.ndarray:
        parts = [K[:, which] for K in sides]
        if self.is_projected:
            U = shifted_cholesky(self.factor[:, which].T @ self.factor[:, which])
            return np.ascontiguousarray(solve_triangular(U, parts[0].T, trans="T", check_finite=False).T)
        F = np.concatenate(parts, axis=1)
        return F / lengths(F)[:, None] if self.model.representation_.normalized else F

    def _of(self, positions: np.ndarray) -> tuple[np.ndarray, ...]:
        k = self.model.similarity_
        L = self.model.landmarks_
        at = self.train[self.model.landmark_indices_]
        X = take(self.inputs.X, positions)
        found = {}
        if "left" in self.sides:
            with pairs_at(positions, at):
                found["left"] = np.asarray(k.cross(X, L), dtype=np.float64)
        if "right" in self.sides:
            with pairs_at(at, positions):
                found["right"] = np.asarray(k.cross(L, X), dtype=np.float64).T
        return tuple(found.values())


def shifted_cholesky(K: np.ndarray) -> np.ndarray:
    """Return U with U'U = K, which is positive semi-definite up to rounding; if need be, the diagonal is raised."""
    shift = len(K) * float(np.finfo(K.dtype).eps) * float(K.diagonal().max())
    K = (K.astype(np.float64) + K.T) / 2
    while True:
        try:
            return np.asarray(cholesky(K + shift * np.eye(len(K)), check_finite=False))
        except np.linalg.LinAlgError:
            shift *= 10


def important_landmarks(
    inputs: Inputs, model: Any, blocks: LandmarkBlocks | None, most: int = MOST_LISTED
) -> tuple[tuple[LandmarkFinding, ...], str]:
    """Return landmarks, the most important first, and what importance measures: without blocks, their influence."""
    if blocks is not None and not blocks.n_landmarks:
        return (), ""
    objects = model.landmarks_
    indices = model.landmark_indices_
    if isinstance(objects, list) and isinstance(indices, list):  # several similarities, of the same landmarks
        objects = objects[0]
        indices = indices[0]
    positions = inputs.learned[indices]
    if blocks is None:
        some = np.sort(inputs.rng().permutation(inputs.tested)[:200])
        size = np.zeros(inputs.n)
        for why in model.explain(take(inputs.X, some), by="examples"):
            np.add.at(size, inputs.learned[why.positions], np.abs(why.influences))
        importance = size[positions] / len(some)
        measure = f"how much the example adds to a score or takes from it, on average over {len(some):,} examples"
        known = inputs.targets[positions]
        weights = np.eye(len(inputs.classes))[known] if inputs.of_classes else (known - inputs.y.mean())[:, None]
        weights = weights[:, 1:] - 0.5 if len(inputs.classes) == 2 else weights
    else:
        m = blocks.n_landmarks
        sides = tuple(model.landmark_weights_[start : start + m] for start in range(0, len(model.landmark_weights_), m))
        importance = blocks.importance(inputs.rng().permutation(len(blocks.test))[:1000], sides)
        whom = "held-out examples" if inputs.held_out else "all examples"
        measure = MEASURES[model.representation_.name].format(whom=whom)
        weights = sum(sides)
    order = np.argsort(-importance, kind="stable")[:most]
    objects = as_objects(take(objects, order)) if len(order) else []
    names = ["lower", "higher"]
    if inputs.of_classes:
        names = list(map(str, model.classes_))
    found = []
    for rank, (number, one) in enumerate(zip(order.tolist(), objects, strict=True), 1):
        toward = weights[number]
        direction = names[int(toward.argmax() if len(toward) > 1 else toward[0] > 0)]
        index = int(positions[number])
        label = unboxed(inputs.y[index])
        found.append(LandmarkFinding(index, one, label, rank, number, float(importance[number]), direction))
    return tuple(found), measure
