"""Which landmarks matter.

On the landmark representation a prediction is a sum over landmarks, and what a landmark adds tells what it does. On the
projection representation landmarks stand in for each other, terms are large and cancel: there, what a landmark does is by how
much a score changes when it is taken away and the others take over what they can.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute.encodings import as_objects, take
from similitude.landmarks.features import lengths
from similitude.landmarks.representation import PROJECTION
from similitude.report.about import CLASSIFICATION, Subject
from similitude.report.trials import Parts
from similitude.support.results import Result

MOST = 1000
"""Examples at most over which the importance of a landmark is averaged."""

MEASURES = {
    "projection": (
        "by how much scores change, on average over {whom}, when the landmark is taken away and the others take over "
        "what they can (a small number says that they can)"
    ),
    "similarities": (
        "how far what the landmark adds to scores is, on average over {whom}, from what it adds to an average one"
    ),
}
"""What importance is, by representation."""


@dataclass(frozen=True)
class LandmarkFinding(Result):
    """A landmark and what it does.

    Attributes
    ----------
    rank : int
        1 for the most important of all landmarks of the model.
    number : int
        Which of the model's ``landmarks_`` it is.
    index : int
        Its position in X.
    object : object
    label : label or float
    importance : float
        See `Findings.importance`.
    direction : str
        What being like it speaks for, beyond what other landmarks say: a class, or higher or lower numbers.
    """

    rank: int
    number: int
    index: int
    object: Any
    label: Any
    importance: float
    direction: str


@dataclass(frozen=True, eq=False)
class Roles:
    """What the landmarks of a model do.

    Attributes
    ----------
    model : SimilarityClassifier or SimilarityRegressor
    objects : sequence
        The landmarks.
    positions : array of int
        Where they stand in X.
    sides : tuple of arrays of shape (landmarks, outputs)
        Weights of K(x, l), of K(l, x), or of both.
    takeover : array or None
        On the projection representation the inverse of K(L, L), each column divided by its diagonal entry.
    average : tuple of arrays
        On the landmark representation the mean over examples of what each weight is multiplied by.
    importance : array
        Of each landmark.
    measure : str
        What importance is.
    """

    model: Any
    objects: Any
    positions: np.ndarray
    sides: tuple[np.ndarray, ...]
    takeover: np.ndarray | None
    average: tuple[np.ndarray, ...]
    importance: np.ndarray
    measure: str

    def similarities(self, X: Any) -> np.ndarray:
        """Return K(x, l), or K(l, x) where only that is used."""
        side = self.model.representation_.side
        return _faced(self.model.similarity_, X, self.objects, "left" if side == "both" else side)

    def factors(self, X: Any) -> tuple[np.ndarray, ...]:
        """Return what each weight is multiplied by, for every object, on every side."""
        raw = _factors(self.model, X, self.objects, self.takeover)
        return raw if self.takeover is not None else tuple(f - a for f, a in zip(raw, self.average, strict=True))

    def contributions(self, X: Any, outputs: np.ndarray) -> np.ndarray:
        """Return what each landmark does to one output of each object."""
        first, *others = zip(self.factors(X), self.sides, strict=True)
        added: np.ndarray = sum((factor * W[:, outputs].T for factor, W in others), first[0] * first[1][:, outputs].T)
        return added


def _faced(k: Any, X: Any, landmarks: Any, side: str) -> np.ndarray:
    """Return K(x, l), or K(l, x), a row for each x."""
    K = k.cross(X, landmarks) if side == "left" else k.cross(landmarks, X).T
    return np.asarray(K, dtype=np.float64)


def _factors(model: Any, X: Any, landmarks: Any, takeover: np.ndarray | None) -> tuple[np.ndarray, ...]:
    representation = model.representation_
    sides = ("left", "right") if representation.side == "both" else (representation.side,)
    values = [_faced(model.similarity_, X, landmarks, side) for side in sides]
    if takeover is not None:
        return (values[0] @ takeover,)
    if representation.normalized:
        size = lengths(np.concatenate(values, axis=1))[:, None]
        values = [K / size for K in values]
    return tuple(values)


def roles(subject: Subject, parts: Parts, model: Any) -> Roles:
    """Return what the landmarks of a model do, judged by examples that were held out."""
    weights, m = model.landmark_weights_, len(model.landmark_indices_)
    sides = tuple(weights[start : start + m] for start in range(0, len(weights), m)) if m else ()
    objects, positions = model.landmarks_, parts.learned[model.landmark_indices_]
    takeover = _takeover(model.similarity_, objects) if m and model.representation_.name == PROJECTION else None
    few = parts.tested[subject.rng().permutation(len(parts.tested))[:MOST]]
    raw = _factors(model, take(subject.X, few), objects, takeover) if m else ()
    average = tuple(factor.mean(axis=0) for factor in raw)
    if takeover is None:
        raw = tuple(factor - mean for factor, mean in zip(raw, average, strict=True))
    measure = MEASURES[model.representation_.name].format(
        whom="held-out examples" if parts.held_out else "all examples"
    )
    return Roles(model, objects, positions, sides, takeover, average, _importance(raw, sides), measure)


def _takeover(k: Any, landmarks: Any) -> np.ndarray:
    r"""Return :math:`K^{-1}` with each column divided by its diagonal entry.

    The part of landmark i that the others cannot take over is, in the kernel's feature space, the residual of its
    projection onto their span; its product with x is :math:`(k(x)^\top K^{-1})_i / (K^{-1})_{ii}`.
    """
    from scipy.linalg import cho_factor, cho_solve

    K = np.asarray(k.gram(landmarks))
    rounding = len(K) * float(np.finfo(K.dtype).eps) * float(K.diagonal().max())
    K = (K.astype(np.float64) + K.T) / 2
    shift = rounding
    while True:  # the matrix is positive semi-definite up to rounding
        try:
            inverse = cho_solve(cho_factor(K + shift * np.eye(len(K))), np.eye(len(K)))
            return inverse / inverse.diagonal()
        except np.linalg.LinAlgError:
            shift *= 10


def _importance(factors: tuple[np.ndarray, ...], sides: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return the mean over examples and outputs of what each landmark does, as a magnitude."""
    if not factors:
        return np.empty(0)
    if len(factors) == 1:
        return np.abs(factors[0]).mean(axis=0) * np.abs(sides[0]).mean(axis=1)
    outputs = range(sides[0].shape[1])
    each = [np.abs(sum(f * W[:, c] for f, W in zip(factors, sides, strict=True))).mean(axis=0) for c in outputs]
    return np.mean(each, axis=0)


def ranked(subject: Subject, found: Roles, which: np.ndarray) -> tuple[LandmarkFinding, ...]:
    """Return some landmarks, given by their number in the model, the most important first."""
    order = np.argsort(-found.importance, kind="stable")
    rank = np.empty(len(order), int)
    rank[order] = np.arange(1, len(order) + 1)
    which = which[np.argsort(rank[which])]
    objects = as_objects(take(found.objects, which)) if len(which) else []
    return tuple(
        LandmarkFinding(
            int(rank[number]),
            int(number),
            int(found.positions[number]),
            one,
            subject.item(found.positions[number]).label,
            float(found.importance[number]),
            _direction(subject, found, int(number)),
        )
        for number, one in zip(which, objects, strict=True)
    )


def _direction(subject: Subject, found: Roles, number: int) -> str:
    weights = sum(W[number] for W in found.sides)
    if subject.task != CLASSIFICATION:
        return "higher" if weights[0] > 0 else "lower"
    known = found.model.classes_
    return str(known[int(weights[0] > 0)] if len(known) == 2 else known[int(np.argmax(weights))])
