"""Influence of groups of training rows: weights of the similarities for each group, summed in the pass of a fit.

The numbers that are kept are limited (256 bytes per landmark, or 0.3 times the model). Where each class is one group,
the squared loss needs none: they follow from the scores (`ClassInfluence`). Other losses have weights of their own for
each group and output; with many classes only some of them are kept apart, and what the others add follows from the
score. Weights that are kept in few digits are rounded one after the other, so that each makes up for the rounding of
those before (:meth:`similitude.landmarks.LandmarkFeatures.rounded_weights`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute import Encoding
from similitude.fitting.model import LandmarkModel
from similitude.landmarks import Groups, LandmarkFeatures, Landmarks, most_numbers
from similitude.linear import LinearModel, NewtonStep, Ridge
from similitude.scikit import class_codes

Terms = tuple[np.ndarray, np.ndarray]
"""What each example adds to each output, (rows, examples, outputs), and the similarity to each, (rows, examples)."""

BYTES_PER_LANDMARK, SHARE_OF_MODEL = 256, 0.3
"""By how much influences may enlarge a saved model: bytes for each landmark, or a share of it."""

BYTES_PER_OUTPUT, BYTES_IN_ALL = 28, 1536
"""What is kept besides the columns: base, constants and a group for each output; names and shapes of the arrays."""

MOST_SOLVED = 14
"""About how many groups of rows are kept apart, times the number of outputs, if each costs a solution."""

MODEL_PER_OUTPUT, MODEL_IN_ALL = 16, 5000
"""Bytes of a saved model besides its weights, at least: an intercept and a class for each output, and all else."""


def some_columns(n_landmarks: int) -> int:
    """Return how many columns are kept of a few classes that have more."""
    return 3 * most_numbers(n_landmarks) // 2


def most_columns(n_landmarks: int, outputs: int) -> int:
    """Return how many columns are kept if each output has at most one."""
    model = (8 * n_landmarks + MODEL_PER_OUTPUT) * outputs + MODEL_IN_ALL
    allowed = max(BYTES_PER_LANDMARK * n_landmarks, SHARE_OF_MODEL * model)
    left = allowed - BYTES_IN_ALL - BYTES_PER_OUTPUT * outputs
    return max(1, min(outputs, int(left / (4 * n_landmarks + 8))))


def solved_groups(landmarks: Landmarks, outputs: int, classes: bool) -> Groups:
    """Return a few groups around landmarks, each of which costs a solution in steps."""
    numbers = outputs * max(1, round(most_numbers(len(landmarks)) / MOST_SOLVED))
    return Groups.around(landmarks, outputs, classes=classes, numbers=numbers)


@dataclass(frozen=True, eq=False)
class GroupInfluence:
    """What groups of training rows add to the scores: weights of the similarities for each group.

    Attributes
    ----------
    heads : array of int
        The landmark of each group, by its position among those of the first similarity.
    counts : array of int
        How many training rows are in each group.
    labels : array
        The class number of the rows of each group, or the means of their targets, one column per output.
    base : array of shape (outputs,)
        What the influences are added to: the weighted mean of the targets, or of the working responses.
    weights : tuple of arrays of shape (similarities, columns)
        One for each similarity; a column is a group, or a group and an output. Some columns of many are in single
        precision.
    constants : array of shape (columns,)
        Added to the weighted sums of the similarities.
    codes : array of shape (groups, outputs), or None
        The codes of its class, less the base: what the column of a group is multiplied by for each output; None if
        each output has columns of its own.
    columns : array of shape (columns,), or None
        With many classes: the group and the output of each column, as ``group * outputs + output``; what groups that
        have none for an output add together is what the others leave of the score. None if all are kept, one group
        after the other.
    other_constants : array of shape (outputs,), or None
        Constants of what is not kept apart.
    """

    heads: np.ndarray
    counts: np.ndarray
    labels: np.ndarray
    base: np.ndarray
    weights: tuple[np.ndarray, ...]
    constants: np.ndarray
    codes: np.ndarray | None = None
    columns: np.ndarray | None = None
    other_constants: np.ndarray | None = None

    @classmethod
    def none(cls, base: np.ndarray, n_features: int) -> GroupInfluence:
        """Return the influence in a constant model, which no group has."""
        nobody = np.empty(0, dtype=np.intp)
        weights, codes = np.empty((n_features, 0)), np.empty((0, len(base)), dtype=np.int8)
        return cls(nobody, nobody, nobody, base, (weights,), np.empty(0), codes)

    @classmethod
    def of_ridge(cls, ridge: Ridge, lam: float, groups: Groups) -> GroupInfluence:
        """Return the influence of groups in ridge regression; `weights` are still those of the features."""
        sums, base = ridge.moments.groups, np.asarray(ridge.target_mean, dtype=np.float64)
        assert sums is not None
        n, k = len(groups), len(base)
        filled = np.flatnonzero(sums.counts[:n] > 0)
        counts, heads = np.rint(sums.counts[filled]).astype(np.intp), groups.landmarks[filled]
        if groups.classes is not None:
            classes = groups.classes[filled]
            if n == k > 2:
                return ClassInfluence.of(ridge.fit(lam), base, heads, counts, classes)
            found, codes = ridge.of_groups(lam), class_codes(classes, max(2, k))
            return cls(heads, counts, classes, base, (found.weights[:, filled],), found.intercept[filled], codes)
        found, totals = ridge.of_groups(lam), sums.targets.reshape(k + 1, n)[:, filled]
        W, b = found.weights.reshape(-1, k + 1, n)[:, :, filled], found.intercept.reshape(k + 1, n)[:, filled]
        W, b = W[:, 1:] - base[:, None] * W[:, :1], b[1:] - base[:, None] * b[:1]
        columns, constants = W.transpose(0, 2, 1).reshape(len(W), -1), b.T.ravel()
        made = cls(heads, counts, (totals[1:] / totals[0]).T, base, (columns,), constants)
        return made.with_columns(len(columns))

    def with_columns(self, n_landmarks: int) -> GroupInfluence:
        """Keep some columns if there are many: of each output first its own class, then those that add most to it."""
        W, b = self.weights[0], self.constants.reshape(-1, len(self.base))
        if b.size <= most_numbers(n_landmarks):
            return self
        sizes = np.sqrt((W**2).sum(axis=0)).reshape(b.shape)
        own = self.labels[:, None] == np.arange(len(self.base)) if self.labels.ndim == 1 else np.zeros(b.shape, bool)
        ranks = np.where(own, -np.inf, -sizes).argsort(axis=0, kind="stable").argsort(axis=0)
        most = max(some_columns(n_landmarks), most_columns(n_landmarks, len(self.base)))
        kept = np.sort(np.lexsort((-sizes.ravel(), ranks.ravel()))[:most])
        return self._with_only(kept, W[:, kept], b.ravel()[kept], b.sum(axis=0))

    def _with_only(self, columns: np.ndarray, W: np.ndarray, b: np.ndarray, constants: np.ndarray) -> GroupInfluence:
        """Keep some columns; `constants` are those of all groups together."""
        kept = b.astype(np.float32)
        others = constants - np.bincount(columns % len(self.base), kept, len(self.base))
        return replace(self, weights=(W,), constants=kept, columns=columns, other_constants=others)

    @classmethod
    def of_own_classes(
        cls, heads: np.ndarray, counts: np.ndarray, classes: np.ndarray, step: NewtonStep, n_landmarks: int
    ) -> GroupInfluence:
        """Keep what the rows of each class add to its own score, of the largest classes if these are too many."""
        W, b, base = step.group_weights, step.group_constants, step.base
        most = most_columns(n_landmarks, len(base))
        largest = np.sort(np.argsort(-counts, kind="stable")[:most])
        own = classes[largest]
        made = cls(heads, counts, classes, base, (), np.empty(0))
        return made._with_only(largest * len(base) + own, W[:, 0, own], b[0, own], b.sum(axis=0))

    @property
    def precision(self) -> type:
        """The type of the numbers in which weights of similarities are kept."""
        return np.float64 if self.columns is None else np.float32

    @property
    def kept_apart(self) -> np.ndarray:
        """Which groups are kept apart from others for each output, shape (groups, outputs)."""
        found = np.full((len(self.heads), len(self.base)), self.columns is None)
        if self.columns is not None:
            found.ravel()[self.columns] = True
        return found

    def terms(self, model: LandmarkModel, encodings: tuple[Encoding, ...]) -> Terms:
        """Return what each group adds to each output, and the similarity to its landmark; last what others add."""
        blocks = [part.blocks(A) for part, A in zip(model.parts, encodings, strict=True)]
        n, near = len(blocks[0][0]), blocks[0][0][:, self.heads]
        added = np.asarray(sum([K @ W for (_, K), W in zip(blocks, self.weights, strict=True)], self.constants))
        if self.codes is not None:
            return added[:, :, None] * (self.codes - self.base), near
        if self.columns is None:
            return added.reshape(n, -1, len(self.base)), near
        terms = np.zeros((n, len(self.heads) + 1, len(self.base)))
        groups, outputs = np.divmod(self.columns, len(self.base))
        terms[:, groups, outputs] = added
        scores = sum([K @ part.weights for (_, K), part in zip(blocks, model.parts, strict=True)])
        kept = np.bincount(outputs, self.constants, len(self.base))
        terms[:, -1] = scores - (terms.sum(axis=1) - kept) + self.other_constants
        return terms, near

    def by_similarities(self, features: LandmarkFeatures) -> GroupInfluence:
        """Return the same by the similarities to all landmarks, in as few bytes as will do."""
        W = self.weights[0]
        double = self.precision == np.float64
        return self.stored(self.heads, [features.similarity_weights(W) if double else features.rounded_weights(W)])

    def stored(self, heads: np.ndarray, weights: Sequence[np.ndarray]) -> GroupInfluence:
        """Return the same by weights of the similarities to the landmarks of a model, in as few bytes as will do."""
        arrays = {"heads": heads, "counts": self.counts, "labels": self.labels, "columns": self.columns}
        short: dict[str, Any] = {name: one if one is None else self._short(one) for name, one in arrays.items()}
        return replace(self, weights=tuple(weights), **short)

    def _short(self, array: np.ndarray) -> np.ndarray:
        """Return integers in as few bytes as will do, and means of targets in single precision if columns are few."""
        if array.dtype.kind == "f":
            return array if self.columns is None else array.astype(np.float32)
        return array.astype(np.min_scalar_type(array.max(initial=0)))


@dataclass(frozen=True, eq=False)
class ClassInfluence(GroupInfluence):
    r"""What the rows of each class add to the scores in ridge regression on codes of several classes.

    With codes 1 and -1, and since :math:`\sum_i h_i(x) = 0`, the score of a class less its base is twice the sum of
    :math:`h_i(x)` over the rows of the class: no weights are kept. `constants` are the intercepts less the base.
    """

    @classmethod
    def of(
        cls, model: LinearModel, base: np.ndarray, heads: np.ndarray, counts: np.ndarray, classes: np.ndarray
    ) -> ClassInfluence:
        """Return the influence of the classes that have rows, by a landmark for each."""
        return cls(heads, counts, classes, base, (np.empty((len(model.weights), 0)),), model.intercept - base)

    def terms(self, model: LandmarkModel, encodings: tuple[Encoding, ...]) -> Terms:
        """Return what each class adds to each output, and the similarity to its landmark."""
        blocks = [part.blocks(A) for part, A in zip(model.parts, encodings, strict=True)]
        above = sum([K @ part.weights for (_, K), part in zip(blocks, model.parts, strict=True)], self.constants)
        codes = class_codes(self.labels, len(self.base))
        return above[:, self.labels, None] / 2.0 * (codes - self.base), blocks[0][0][:, self.heads]
