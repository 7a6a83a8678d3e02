"""The importance of landmarks: how much each changes predictions.

With the similarities themselves as features, a prediction is a sum over landmarks, and importance is the size of a
landmark's term. With projected features, landmarks are correlated and their terms large with opposite signs: there,
importance is the change of the score when the landmark is removed and the others replace it as well as they can.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute import as_objects, take
from similitude.landmarks import lengths
from similitude.report.findings.held_out import Split
from similitude.report.findings.inputs import Inputs
from similitude.report.findings.landmark_blocks import LandmarkBlocks
from similitude.report.limits import N_IMPORTANT
from similitude.support import Result

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


BY_INFLUENCE = "how much the example adds to a score or takes from it, on average over {n:,} examples"


@dataclass(frozen=True)
class LandmarkFinding(Result):
    """A landmark and its importance.

    Attributes
    ----------
    rank : int
        1 for the most important of the model's landmarks.
    number : int
        Its position in the model's ``landmarks_``.
    index : int
        Its position in X.
    object : object
    label : label or float
    importance : float
        See `Findings.importance`.
    direction : str
        What similarity to it is evidence for, given the other landmarks: a class, or higher or lower numbers.
    """

    rank: int
    number: int
    index: int
    object: Any
    label: Any
    importance: float
    direction: str


@dataclass(frozen=True, eq=False)
class LandmarkRoles:
    """The landmarks of a model, at these positions in X, their weights and their importance.

    ``sides`` holds the weights, of shape (landmarks, outputs), of K(x, l), of K(l, x), or of both;
    ``measure`` says what importance measures.
    """

    model: Any
    objects: Any
    positions: np.ndarray
    sides: tuple[np.ndarray, ...]
    importance: np.ndarray
    measure: str


def landmark_roles(inputs: Inputs, parts: Split, model: Any, blocks: LandmarkBlocks | None) -> LandmarkRoles:
    """Measure the importance of a model's landmarks on the tested examples.

    `blocks` holds the similarities of these; None where every row is a landmark: there, importance is influence.
    """
    if blocks is None:
        return _by_influence(inputs, parts, model)
    if not blocks.n_landmarks:
        empty = np.empty(0, dtype=np.intp)
        return LandmarkRoles(model, take(inputs.X, empty), empty, (), np.empty(0), "")
    weights, m = model.landmark_weights_, blocks.n_landmarks
    sides = tuple(weights[start : start + m] for start in range(0, len(weights), m))
    objects, positions = model.landmarks_, parts.learned[model.landmark_indices_]
    some = inputs.rng().permutation(len(blocks.fold.test))[:1000]
    factors = _factors(blocks, some)
    whom = "held-out examples" if parts.held_out else "all examples"
    measure = MEASURES[model.representation_.name].format(whom=whom)
    return LandmarkRoles(model, objects, positions, sides, _importance(factors, sides), measure)


def _by_influence(inputs: Inputs, parts: Split, model: Any) -> LandmarkRoles:
    """Measure the importance of training examples by what they add to scores."""
    some = np.sort(inputs.rng().permutation(parts.tested)[:200])
    sizes, n = np.zeros(inputs.n), 0
    for why in model.explain(take(inputs.X, some), by="examples"):
        np.add.at(sizes, parts.learned[why.positions], np.abs(why.influences))
        n += 1
    several = isinstance(model.landmarks_, list) and isinstance(model.landmark_indices_, list)
    objects = model.landmarks_[0] if several else model.landmarks_
    positions = parts.learned[model.landmark_indices_[0] if several else model.landmark_indices_]
    known = inputs.targets[positions]
    sides = np.eye(len(inputs.classes))[known] if inputs.of_classes else (known - inputs.y.mean())[:, None]
    sides = sides[:, 1:] - 0.5 if len(inputs.classes) == 2 else sides
    return LandmarkRoles(model, objects, positions, (sides,), sizes[positions] / n, BY_INFLUENCE.format(n=n))


def _factors(blocks: LandmarkBlocks, some: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the factors of the weights, for some of the tested examples and every side."""
    values = [K[some] for K in blocks.tested]
    if blocks.is_projected:
        return (values[0] @ _takeover(blocks.factor),)
    if blocks.model.representation_.normalized:
        size = lengths(np.concatenate(values, axis=1))[:, None]
        values = [K / size for K in values]
    return tuple(factor - factor.mean(axis=0) for factor in values)


def _takeover(U: np.ndarray) -> np.ndarray:
    r"""Return :math:`K^{-1}`, with :math:`K = U^\top U`, with each column divided by its diagonal entry.

    The part of landmark i that the others cannot replace is, in the kernel's feature space, the residual of its
    projection onto their span; its inner product with x is :math:`(k(x)^\top K^{-1})_i / (K^{-1})_{ii}`.
    """
    from scipy.linalg import cho_solve

    inverse = cho_solve((U, False), np.eye(len(U)), check_finite=False)
    return np.asarray(inverse / inverse.diagonal())


def _importance(factors: tuple[np.ndarray, ...], sides: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return the mean magnitude, over examples and outputs, of each landmark's effect."""
    if not factors:
        return np.empty(0)
    if len(factors) == 1:
        return np.abs(factors[0]).mean(axis=0) * np.abs(sides[0]).mean(axis=1)
    outputs = range(sides[0].shape[1])
    each = [np.abs(sum(F * W[:, c] for F, W in zip(factors, sides, strict=True))).mean(axis=0) for c in outputs]
    return np.mean(each, axis=0)


def most_important(inputs: Inputs, roles: LandmarkRoles) -> tuple[LandmarkFinding, ...]:
    """Return the most important landmarks, the most important first."""
    numbers = np.argsort(-roles.importance, kind="stable")[:N_IMPORTANT]
    objects = as_objects(take(roles.objects, numbers)) if len(numbers) else []
    return tuple(
        LandmarkFinding(
            rank=rank,
            number=int(number),
            index=int(roles.positions[number]),
            object=one,
            label=inputs.item(roles.positions[number]).label,
            importance=float(roles.importance[number]),
            direction=_direction(inputs, roles, int(number)),
        )
        for rank, (number, one) in enumerate(zip(numbers, objects, strict=True), 1)
    )


def _direction(inputs: Inputs, roles: LandmarkRoles, number: int) -> str:
    weights = sum(W[number] for W in roles.sides)
    if not inputs.of_classes:
        return "higher" if weights[0] > 0 else "lower"
    known = roles.model.classes_
    return str(known[int(weights[0] > 0)] if len(known) == 2 else known[int(np.argmax(weights))])
