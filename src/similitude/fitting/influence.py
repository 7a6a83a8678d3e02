r"""Influence: a prediction as an exact sum over training rows, or over groups of them, each with its label.

Ridge regression is linear in the targets. With features :math:`f` of an object, weights :math:`s_i`, the means
:math:`m` of the features and :math:`\bar y` of the targets, and
:math:`A = \sum_i s_i (f_i - m)(f_i - m)^\top + \lambda`,

.. math:: f(x) - \bar y = \sum_i h_i(x)\,(y_i - \bar y), \qquad
          h_i(x) = s_i\, (f - m)^\top A^{-1} (f_i - m).

The term of row i is its influence. :math:`\sum_i h_i(x) = 0`, so that :math:`f(x) - \bar y` is linear in the targets
themselves: had that of row i been the mean, the prediction would exceed the mean by exactly this much less.
Other losses end with a Newton step, which is ridge regression on working responses (`similitude.linear`), so that the
same holds with those. The weights of landmarks, in contrast, are coefficients of functions that are nearly
dependent; they may be a million times larger than the score, and cancel.

Where every row is a landmark, :math:`h` follows from the similarities of the landmarks to each other
(`ExampleInfluence`). Otherwise sums over groups of rows are kept (`GroupInfluence`): one number per landmark and group.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute import Encoding, as_numpy, beside, count, in_precision, itemsize, rows
from similitude.fitting.facts import FitOptions
from similitude.fitting.model import LandmarkModel, WeightedLandmarks, class_numbers
from similitude.landmarks import LandmarkFeatures, Landmarks, rows_of
from similitude.linear import (
    GramFactor,
    GroupMoments,
    LinearModel,
    Members,
    NewtonStep,
    Ridge,
    is_coupled,
    newton_step,
)
from similitude.scikit import class_codes
from similitude.similarity import Precomputed, Similarity

Terms = tuple[np.ndarray, np.ndarray]
"""What each example adds to each output, (rows, examples, outputs), and the similarity to each, (rows, examples)."""

VARIANCE_ROWS = 2048
"""Objects whose variances are computed at once."""


class OfEveryRow:
    """The influence of every training row, where all are landmarks; what is computed once is not saved."""

    labels: np.ndarray

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    @property
    def heads(self) -> np.ndarray:
        """The landmarks themselves."""
        return np.arange(len(self.labels))

    @property
    def counts(self) -> np.ndarray:
        """One row each."""
        return np.ones(len(self.labels), dtype=np.intp)


@dataclass(frozen=True, eq=False)
class BlendInfluence(OfEveryRow):
    """What every training row adds to the scores."""

    labels: np.ndarray  # the class number of each row, or its targets, one column per output
    weights: np.ndarray  # of the rows
    base: np.ndarray  # of scores without any row: the weighted mean of the targets, or an unpenalized constant
    penalties: tuple[float, ...]  # of each model
    shares: tuple[float, ...]  # of each model in the blend

    def terms(self, model: LandmarkModel, encodings: tuple[Encoding, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Return what each row adds to each output, (objects, rows, outputs), and the similarity to it."""
        blocks = [part.blocks(A)[0] for part, A in zip(model.parts, encodings, strict=True)]
        smoother = np.zeros(blocks[0].shape)
        for number, (share, A, K) in enumerate(zip(self.shares, encodings, blocks, strict=True)):
            cells = cells_of(model.parts[number].features.similarity, A)
            for cell in np.unique(cells):
                mine, factor = self._factor(model, number, int(cell))
                at = np.ix_(cells == cell, mine)
                smoother[at] += share * factor.solve(K[at].T).T
        Y = self.labels if self.labels.ndim == 2 else class_codes(self.labels, max(2, len(self.base)))
        return smoother[:, :, None] * (Y - self.base), blocks[0]

    @property
    def main(self) -> int:
        """The number of the model that has the largest weight in the blend."""
        return int(np.argmax(self.shares))

    def open_variance(self, model: LandmarkModel, encodings: tuple[Encoding, ...]) -> np.ndarray:
        r"""Return what the rows leave open of a Gaussian process: :math:`k(x, x) - k(x)^\top G^{-1} k(x)`."""
        part = model.parts[self.main]
        A = encodings[self.main]
        k = part.features.similarity
        known = part.features.landmarks.encoding
        found = np.asarray(k.diagonal(A), dtype=np.float64).copy()
        cells = cells_of(k, A)
        for cell in np.unique(cells):
            mine, factor = self._factor(model, self.main, int(cell))
            here = np.flatnonzero(cells == cell)
            for start in range(0, len(here), VARIANCE_ROWS):
                some = here[start : start + VARIANCE_ROWS]
                K = np.asarray(k.block(rows(A, some), rows(known, mine)), dtype=np.float64)
                half = factor.halves(K.T)
                found[some] -= np.einsum("ij,ij->j", half, half)
        return np.maximum(found, 0.0)

    def open_variance_left_out(self, model: LandmarkModel) -> np.ndarray:
        r"""Return the same for each row, given all others: :math:`1 / (G^{-1})_{ii}` less its own noise."""
        features = model.parts[self.main].features
        found = np.empty(len(self.weights))
        for cell in np.unique(cells_of(features.similarity, features.landmarks.encoding)):
            mine, factor = self._factor(model, self.main, int(cell))
            noise = self.penalties[self.main] * self.weights.mean() / self.weights[mine]
            found[mine] = 1.0 / factor.inverse_diagonal() - noise
        return np.maximum(found, 0.0)

    def _factor(self, model: LandmarkModel, number: int, cell: int) -> tuple[np.ndarray, GramFactor]:
        """Return the rows of a cell, and the Cholesky factor of one kernel's G among them."""
        known = vars(self).setdefault("_factors", {})  # computed once; not a field, so that it is not saved
        if (number, cell) not in known:
            features = model.parts[number].features
            k = features.similarity
            encoding = features.landmarks.encoding
            mine = np.flatnonzero(cells_of(k, encoding) == cell)
            own = rows(encoding, mine)
            diagonal = self.penalties[number] * self.weights.mean() / self.weights[mine]
            known[number, cell] = mine, GramFactor.of(np.array(k.block(own, own), dtype=np.float64), diagonal)
        return known[number, cell]


def cells_of(k: Similarity, A: Encoding) -> np.ndarray:
    """Return the number of each encoded object's cell: rows of other cells have no influence on it."""
    if k.hints.cells is None:
        return np.zeros(count(A), dtype=np.intp)
    return np.asarray(k.hints.cells(A))


def most_numbers(n_landmarks: int) -> int:
    """Return how many numbers are kept of each landmark to explain predictions: groups, times outputs of their own."""
    return min(28, max(12, n_landmarks // 2))  # in double precision, they take less than 256 bytes


def some_columns(n_landmarks: int) -> int:
    """Return how many columns are kept of a few classes that have more."""
    return 3 * most_numbers(n_landmarks) // 2


def most_columns(n_landmarks: int, outputs: int) -> int:
    """Return how many columns are kept if each output has at most one."""
    # bytes of a saved model besides its weights, at least: an intercept and a class for each output, and all else
    model = (8 * n_landmarks + 16) * outputs + 5000
    # by how much influences may enlarge a saved model: bytes for each landmark, or a share of it
    allowed = max(256 * n_landmarks, 0.3 * model)
    # what is kept besides the columns: base, constants and a group for each output; names and shapes of the arrays
    left = allowed - 1536 - 28 * outputs
    return max(1, min(outputs, int(left / (4 * n_landmarks + 8))))


def solved_groups(landmarks: Landmarks, outputs: int, classes: bool) -> Groups:
    """Return a few groups around landmarks, each of which costs a solution in steps."""
    numbers = outputs * max(1, round(most_numbers(len(landmarks)) / 14))
    return Groups.around(landmarks, outputs, classes=classes, numbers=numbers)


@dataclass(frozen=True, eq=False)
class Groups:
    """Rows are grouped by the landmark that they are most similar to, among some landmarks of their class."""

    landmarks: np.ndarray  # of each group, by its position among those of the first similarity
    classes: np.ndarray | None = None  # of the rows of each group; None if targets are numbers

    @classmethod
    def around(
        cls, landmarks: Landmarks, n_outputs: int, *, classes: bool, numbers: int = 0, among: Any = None
    ) -> Groups:
        """Choose landmarks to group rows around, the first `among` some; a group takes `numbers` of each."""
        n = len(landmarks)
        numbers = numbers or (1 if classes else n_outputs)
        candidates = np.arange(n)
        if among is not None:
            candidates = among
        most = most_numbers(n)
        if not classes:
            # the fewest groups of rows with several targets, and with more targets than may be kept
            return cls(candidates[: max(4 if numbers <= most else 2, most // numbers)])
        n_classes = max(2, n_outputs)
        each = max(1, most // (n_classes * numbers))
        chosen = []
        kinds = []
        for one in range(n_classes):
            own = candidates
            if landmarks.labels is not None and one in landmarks.labels[candidates]:
                own = candidates[landmarks.labels[candidates] == one]
            own = own[:each]
            chosen.append(own)
            kinds += [one] * len(own)
        return cls(np.concatenate(chosen), np.array(kinds))

    def __len__(self) -> int:
        return len(self.landmarks)

    def are_classes(self, outputs: int) -> bool:
        """Whether each of several classes is one group."""
        return self.classes is not None and len(self) == outputs > 2

    def members(self, basis: np.ndarray, offset: np.ndarray, F: Any, Y: Any) -> Members:
        """Return to which group each row belongs, given its features and targets; see :meth:`nearness`."""
        own = None
        if self.classes is not None:
            own = class_numbers(Y)
            if self.are_classes(Y.shape[1]):
                return Members(own, len(self))
        F = F[:, : basis.shape[1]]
        if isinstance(F, np.ndarray):
            F = F.astype(np.float32, copy=False)  # precise enough to choose a group
        near = in_precision(beside(basis, F), F.dtype) @ F.T
        near -= in_precision(beside(offset, F), F.dtype)[:, None]
        if own is None or self.classes is None:
            return Members(near.argmax(0), len(self), Y)
        near[beside(self.classes, F)[:, None] != own[None, :]] = -np.inf
        return Members(near.argmax(0), len(self))

    def filled(
        self, group: np.ndarray, Y: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Return which groups have rows, with their landmarks, numbers of rows, and classes or mean targets."""
        counts = np.bincount(group, weights > 0, len(self)).astype(np.intp)
        filled = np.flatnonzero(counts)
        if self.classes is not None:
            return filled, (self.landmarks[filled], counts[filled], self.classes[filled])
        sums = [np.bincount(group, weights * one, len(self))[filled] for one in (*Y.T, np.ones(len(Y)))]
        return filled, (self.landmarks[filled], counts[filled], np.stack(sums[:-1], axis=1) / sums[-1][:, None])

    def nearness(self, features: LandmarkFeatures) -> tuple[np.ndarray, np.ndarray]:
        """Return B and b such that B f - b is the nearness of a row to each group, given its features f.

        The features are those of the first similarity, complete or made for sums; only the first ones are used.
        Nearness is the similarity to the landmark of the group; in a projection, minus half the squared distance from
        it, but for a constant.
        """
        if features.factor is None:
            basis = (np.arange(self.landmarks.max(initial=0) + 1) == self.landmarks[:, None]).astype(float)
            return basis, np.zeros(len(basis))
        U = features.factor[:, self.landmarks]
        complete = len(U) if features.leading is None else features.leading
        last = self.landmarks >= complete  # their columns hold what the complete features leave of the similarity
        basis = np.where(np.arange(len(U))[:, None] < complete, U, 0.0)
        basis[self.landmarks[last], np.flatnonzero(last)] = 1.0
        used = int(np.flatnonzero(basis.any(axis=1)).max(initial=0)) + 1
        return basis[:used].T, (U**2).sum(axis=0) / (2 * features.scale)


@dataclass(frozen=True, eq=False)
class GroupInfluence:
    """What groups of training rows add to the scores: weights of the similarities for each group.

    A column of weights is a group, or a group and an output. With many outputs some columns are kept, in single
    precision; what groups that have none for an output add together is what the others leave of the score.
    """

    heads: np.ndarray  # the landmark of each group, by its position among those of the first similarity
    counts: np.ndarray  # of the rows of each group
    labels: np.ndarray  # the class number of the rows of each group, or the means of their targets
    base: np.ndarray  # what influences are added to: the weighted mean of the targets, or of the working responses
    weights: tuple[np.ndarray, ...]  # for each similarity, of shape (similarities, columns)
    constants: np.ndarray  # for each column: added to the weighted sums
    codes: np.ndarray | None = None  # of the class of each group, by which its only column is multiplied; or None
    columns: np.ndarray | None = None  # ``group * outputs + output`` of each; None if all are kept, in this order
    other_constants: np.ndarray | None = None  # of the groups that are not kept for an output

    @classmethod
    def none(cls, base: np.ndarray, n_features: int) -> GroupInfluence:
        """Return the influence in a constant model, which no group has."""
        nobody = np.empty(0, dtype=np.intp)
        codes = np.empty((0, len(base)), dtype=np.int8)
        return cls(nobody, nobody, nobody, base, (np.empty((n_features, 0)),), np.empty(0), codes)

    @classmethod
    def of_ridge(cls, ridge: Ridge, lam: float, groups: Groups) -> GroupInfluence:
        """Return the influence of groups in ridge regression; `weights` are still those of the features."""
        sums = ridge.moments.groups
        base = np.asarray(ridge.target_mean, dtype=np.float64)
        assert sums is not None
        n = len(groups)
        k = len(base)
        filled = np.flatnonzero(sums.counts[:n] > 0)
        counts = np.rint(sums.counts[filled]).astype(np.intp)
        heads = groups.landmarks[filled]
        if groups.classes is not None:
            classes = groups.classes[filled]
            if groups.are_classes(k):
                return ClassInfluence.of(ridge.fit(lam), base, heads, counts, classes)
            found = ridge.of_groups(lam)
            codes = class_codes(classes, max(2, k))
            return cls(heads, counts, classes, base, (found.weights[:, filled],), found.intercept[filled], codes)
        found = ridge.of_groups(lam)
        totals = sums.targets.reshape(k + 1, n)[:, filled]
        W = found.weights.reshape(-1, k + 1, n)[:, :, filled]
        b = found.intercept.reshape(k + 1, n)[:, filled]
        W = (W[:, 1:] - base[:, None] * W[:, :1]).transpose(0, 2, 1)
        b = b[1:] - base[:, None] * b[:1]
        made = cls(heads, counts, (totals[1:] / totals[0]).T, base, (W.reshape(len(W), -1),), b.T.ravel())
        return made.with_columns(len(W))

    @classmethod
    def of_solution(
        cls,
        groups: Groups,
        linear: LinearModel,
        group: np.ndarray,
        Y: np.ndarray,
        weights: np.ndarray,
        of_groups: Callable[[], LinearModel],
    ) -> GroupInfluence:
        """Return the influence of the groups of rows on a model, given a function that solves for what they add."""
        base = weights @ Y / weights.sum()
        filled, about = groups.filled(group, Y, weights)
        if groups.are_classes(Y.shape[1]):
            return ClassInfluence.of(linear, base, *about)
        added = of_groups()
        m = len(added.weights)
        W = added.weights.reshape(m, len(groups), -1)[:, filled].reshape(m, -1)
        return cls(*about, base, (W,), added.intercept.reshape(len(groups), -1)[filled].ravel()).with_columns(m)

    def with_columns(self, n_landmarks: int) -> GroupInfluence:
        """Keep some columns if there are many: of each output first its own class, then those that add most to it."""
        W = self.weights[0]
        b = self.constants.reshape(-1, len(self.base))
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
        W = step.group_weights
        b = step.group_constants
        base = step.base
        most = most_columns(n_landmarks, len(base))
        largest = np.sort(np.argsort(-counts, kind="stable")[:most])
        own = classes[largest]
        made = cls(heads, counts, classes, base, (), np.empty(0))
        return made._with_only(largest * len(base) + own, W[:, 0, own], b[0, own], b.sum(axis=0))

    @property
    def kept(self) -> np.ndarray:
        """Which groups are kept for each output, shape (groups, outputs)."""
        found = np.full((len(self.heads), len(self.base)), self.columns is None)
        if self.columns is not None:
            found.ravel()[self.columns] = True
        return found

    def terms(self, model: LandmarkModel, encodings: tuple[Encoding, ...]) -> Terms:
        """Return what each group adds to each output, and the similarity to its landmark; last what others add."""
        blocks = [part.blocks(A) for part, A in zip(model.parts, encodings, strict=True)]
        n = len(blocks[0][0])
        near = blocks[0][0][:, self.heads]
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
        weights = features.similarity_weights(W) if self.columns is None else features.rounded_weights(W)
        return self.stored(self.heads, [weights])

    def stored(self, heads: np.ndarray, weights: Sequence[np.ndarray]) -> GroupInfluence:
        """Return the same by weights of the similarities to the landmarks of a model, in as few bytes as will do."""
        labels = self.labels
        if labels.dtype.kind != "f":
            labels = _in_few_bytes(labels)
        elif self.columns is not None:
            labels = labels.astype(np.float32)
        return replace(
            self,
            heads=_in_few_bytes(heads),
            counts=_in_few_bytes(self.counts),
            labels=labels,
            columns=_in_few_bytes(self.columns),
            weights=tuple(weights),
        )


def _in_few_bytes(numbers: Any) -> Any:
    """Return integers, if there are any, in the smallest type that holds them."""
    if numbers is None:
        return None
    return numbers.astype(np.min_scalar_type(numbers.max(initial=0)))


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


class DelayedInfluence:
    """The influence of groups of training rows, computed when a prediction is explained or the model is saved."""

    def __init__(self, base: np.ndarray, compute: Callable[[], GroupInfluence]) -> None:
        self.base = base
        self._compute: Callable[[], GroupInfluence] | None = compute
        self._found: GroupInfluence | None = None

    @property
    def found(self) -> GroupInfluence:
        """The influence."""
        compute = self._compute
        if compute is not None:
            self._found = compute()
            self._compute = None
        assert self._found is not None
        return self._found


@dataclass(frozen=True, eq=False)
class ExampleInfluence(OfEveryRow):
    """What every training row adds to the scores, where all of them are landmarks."""

    labels: np.ndarray  # the class number of each landmark, or its targets, one column per output
    weights: np.ndarray  # of each landmark, of shape (n, 1) for all outputs; or working weights for each output
    sums: np.ndarray | None  # working weights times working responses; None for the squared loss: these are targets
    lam: float  # the penalty
    projected: tuple[bool, ...]  # whether each similarity is a kernel whose features are projected
    scales: tuple[float, ...]  # what the features of each similarity are divided by
    coupled: bool = False  # whether only differences of outputs matter, so that they are made to sum to zero
    n_classes: int = 2  # if the labels are classes

    @property
    def base(self) -> np.ndarray:
        """The weighted mean of the targets, or of the working responses."""
        weights, sums = self._working()
        base: np.ndarray = sums.sum(axis=0) / weights.sum(axis=0)
        if self.coupled:
            return base - base.mean()
        return base

    def _working(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights, and weights times responses, in double precision."""
        weights = self.weights.astype(np.float64)
        if self.sums is not None:
            return weights, self.sums.astype(np.float64)
        Y = self.labels if self.labels.ndim == 2 else class_codes(self.labels, self.n_classes)
        return weights, weights * Y

    def terms(self, model: LandmarkModel, encodings: tuple[Encoding, ...]) -> Terms:
        """Return what each example adds to each output, and the similarity to it."""
        own, solved = vars(self).get("_solved") or self._prepare(model)
        blocks = [part.blocks(A) for part, A in zip(model.parts, encodings, strict=True)]
        N = self._products([K for _, K in blocks], own)
        weights, sums = self._working()
        targets = sums - weights * (sums.sum(axis=0) / weights.sum(axis=0))
        found = np.empty((*N.shape, sums.shape[1]))
        for output in range(sums.shape[1]):
            column = min(output, weights.shape[1] - 1)
            s = weights[:, column]
            mean, middle, factor = solved[column]
            root = np.sqrt(s)
            centered = (N - (N @ s / s.sum())[:, None] - mean + middle) * root
            without_root = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
            found[:, :, output] = factor.solve(centered.T).T * without_root * targets[:, output]
        if self.coupled:
            found -= found.mean(axis=2, keepdims=True)
        return found, blocks[0][0]

    def _prepare(self, model: LandmarkModel) -> tuple[list[np.ndarray], list[tuple[np.ndarray, float, GramFactor]]]:
        """Factor the equations of each output, and keep this: mean inner products, their mean, and the factor."""
        own = [part.blocks(part.features.landmarks.encoding)[1] for part in model.parts]
        N = self._products(own, own)
        solved = []
        for s in self._working()[0].T:
            mean = N @ s / s.sum()
            middle = float(mean @ s / s.sum())
            root = np.sqrt(s)
            M = root[:, None] * (N - mean[:, None] - mean + middle) * root
            solved.append((mean, middle, GramFactor.of((M + M.T) / 2, self.lam)))
        vars(self)["_solved"] = own, solved
        return own, solved

    def _products(self, blocks: list[np.ndarray], own: list[np.ndarray]) -> np.ndarray:
        """Return the inner products of the features of objects with those of the landmarks."""
        total: Any = 0.0
        for K, L, projected, scale in zip(blocks, own, self.projected, self.scales, strict=True):
            total = total + (K if projected else K @ L.T) / scale**2
        return np.asarray(total)


Influence = GroupInfluence | ExampleInfluence | BlendInfluence

FitInfluence = Influence | DelayedInfluence
"""What a fit knows of the influence of rows."""


def weighted_landmarks(
    features: Sequence[LandmarkFeatures], W: np.ndarray, influence: FitInfluence | None
) -> tuple[tuple[WeightedLandmarks, ...], FitInfluence | None]:
    """Return the landmarks with a weight or an influence, and the influence by similarities instead of features."""
    if influence is not None and not W.any():
        influence = GroupInfluence.none(influence.base, len(W))
    grouped = None
    if isinstance(influence, GroupInfluence):
        grouped = influence
    V = np.empty((len(W), 0)) if grouped is None else grouped.weights[0]
    double = grouped is None or grouped.columns is None  # which are in single precision
    parts: list[WeightedLandmarks] = []
    others = []
    places = np.empty(0, dtype=np.intp)
    start = 0
    for one in features:
        cut = slice(start, start + (len(one) if one.factor is None else len(one.factor)))
        heads = np.empty(0, dtype=np.intp)
        if grouped is not None and not parts:
            heads = grouped.heads
        elif grouped is None and influence is not None:
            heads = np.arange(len(one.landmarks))
        part, in_influence, used = WeightedLandmarks.of(one, W[cut], V[cut], heads, double)
        if not parts:
            places = np.searchsorted(used, heads)
        parts.append(part)
        others.append(in_influence)
        start = cut.stop
    return tuple(parts), influence if grouped is None else grouped.stored(places, others)


def influence_in_ridge(
    ridge: Ridge,
    lam: float,
    features: Sequence[LandmarkFeatures],
    design: tuple[np.ndarray, np.ndarray, np.ndarray],
    places: np.ndarray,
    classes: bool,
) -> Influence:
    """Return the influence of rows, or of groups, whose sums the ridge regression gets, of rows in memory."""
    F, Y, weights = design
    outputs = Y.shape[1]
    at = rows_as_landmarks(features, places)
    if at is not None:
        labels = class_numbers(Y) if classes else Y
        return _of_examples(features, lam, labels[at], weights[at, None], n_classes=max(2, outputs))
    groups = Groups.around(features[0].landmarks, outputs, classes=classes)
    ridge.moments.groups = GroupMoments.precisely(F, groups.members(*groups.nearness(features[0]), F, Y), weights)
    return GroupInfluence.of_ridge(ridge, lam, groups)


def influence_in_refit(
    options: FitOptions,
    linear: LinearModel,
    lam: float,
    features: Sequence[LandmarkFeatures],
    design: tuple[Any, np.ndarray, np.ndarray],
    places: np.ndarray | None,
) -> tuple[LinearModel, Influence]:
    """Return a model of another loss or penalty after a last Newton step, and the influence of rows on it."""
    F, Y, weights = design
    loss = options.own_loss or options.loss
    outputs = Y.shape[1]
    step = functools.partial(newton_step, loss, options.penalty, F, Y, weights, linear, lam)
    at = None
    if options.penalty == "l2" and places is not None:
        at = rows_as_landmarks(features, places)
    if at is not None:
        done = step(np.ones((len(Y), 1)))
        labels = class_numbers(Y) if options.classes else Y
        working = done.weights.astype(np.float32)[at], done.sums.astype(np.float32)[at]
        return done.model, _of_examples(features, 2.0 * lam, labels[at], *working, coupled=is_coupled(loss, outputs))
    used = np.arange(len(features[0].landmarks))
    if options.penalty == "l1":
        weighted = (linear.weights[: features[0].n_similarities] != 0).any(axis=1)
        used = np.flatnonzero(weighted.reshape(-1, len(used)).any(axis=0))
        if not len(used):
            return linear, GroupInfluence.none(linear.intercept, len(linear.weights))
    groups = Groups.around(features[0].landmarks, outputs, classes=options.classes, numbers=outputs, among=used)
    group = as_numpy(groups.members(*groups.nearness(features[0]), F, beside(np.asarray(Y), F)).group)
    filled, about = groups.filled(group, Y, weights)
    if options.classes and outputs > some_columns(len(used)):
        done = step(None)
        return done.model, GroupInfluence.of_own_classes(*about, done, len(used))
    done = step((group[:, None] == filled).astype(float))
    W = done.group_weights
    found = GroupInfluence(*about, done.base, (W.reshape(len(W), -1),), done.group_constants.ravel())
    return done.model, found.with_columns(len(used))


def _of_examples(
    features: Sequence[LandmarkFeatures],
    lam: float,
    labels: np.ndarray,
    weights: np.ndarray,
    sums: np.ndarray | None = None,
    **options: Any,
) -> ExampleInfluence:
    """Return the influence of every row; labels, weights and sums are in the order of the landmarks."""
    projected = tuple([one.factor is not None for one in features])
    return ExampleInfluence(labels, weights, sums, lam, projected, tuple([one.scale for one in features]), **options)


def rows_as_landmarks(features: Sequence[LandmarkFeatures], places: np.ndarray) -> np.ndarray | None:
    """Return which row each landmark is; None unless all rows are landmarks and can be compared again exactly."""
    positions = features[0].landmarks.positions
    for one in features:
        k = one.similarity
        if not k.hints.threadsafe or isinstance(k, Precomputed) or itemsize(one.landmarks.encoding) != 8:
            return None
        own = one.landmarks.positions
        if own is None or positions is None or not np.array_equal(positions, own):
            return None
    assert positions is not None
    if len(positions) != len(places):
        return None
    at = rows_of(positions, places)
    if at is None or len(np.unique(at)) < len(at):
        return None
    return at
