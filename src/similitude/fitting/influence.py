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
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from similitude.compute import Encoding, as_numpy, beside, in_precision, itemsize, namespace
from similitude.fitting.blend_influence import BlendInfluence, Terms
from similitude.fitting.facts import FitOptions
from similitude.fitting.model import LandmarkModel, WeightedLandmarks, class_numbers
from similitude.landmarks import LandmarkFeatures, Landmarks, rows_of
from similitude.linear import GroupMoments, LinearModel, Members, NewtonStep, Ridge, is_coupled, newton_step
from similitude.scikit import class_codes
from similitude.similarity import Precomputed

MOST_NUMBERS = 28
OF_FEW = 12
"""Numbers that are kept of each landmark to explain predictions: groups, times the outputs if each has its own; and how
many of them if there are few landmarks. In double precision, they take less than 256 bytes."""

FEWEST_GROUPS = 4
OF_MANY = 2
"""The fewest groups of rows with several targets, and of rows with more targets than `MOST_NUMBERS` allows."""


def most_numbers(n_landmarks: int) -> int:
    """Return how many numbers are kept of each landmark to explain predictions."""
    return min(MOST_NUMBERS, max(OF_FEW, n_landmarks // 2))


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
    # about how many groups of rows are kept apart, times the number of outputs, if each costs a solution
    numbers = outputs * max(1, round(most_numbers(len(landmarks)) / 14))
    return Groups.around(landmarks, outputs, classes=classes, numbers=numbers)


@dataclass(frozen=True, eq=False)
class Groups:
    """Rows are grouped by the landmark that they are most similar to, among some landmarks; classes are kept apart.

    Attributes
    ----------
    landmarks : array of int
        The landmark of each group, by its position among those of the first similarity.
    classes : array of int, or None
        The class of the rows of each group; None if targets are numbers.
    """

    landmarks: np.ndarray
    classes: np.ndarray | None = None

    @classmethod
    def around(
        cls, landmarks: Landmarks, n_outputs: int, *, classes: bool, numbers: int = 1, among: Any = None
    ) -> Groups:
        """Choose landmarks to group rows around: the first ones, of each class if their classes are known.

        Parameters
        ----------
        landmarks : Landmarks
        n_outputs : int
            Columns of the targets; 1 for two classes.
        classes : bool
            Whether targets are codes of classes.
        numbers : int
            How many numbers a group takes for each landmark.
        among : array of int, optional
            The landmarks to choose from; by default all of them.
        """
        n = len(landmarks)
        candidates = np.arange(n) if among is None else among
        most = most_numbers(n)
        if not classes:
            return cls(candidates[: max(FEWEST_GROUPS if numbers <= most else OF_MANY, most // numbers)])
        n_classes = max(2, n_outputs)
        each = max(1, most // (n_classes * numbers))
        chosen = []
        kinds = []
        for one in range(n_classes):
            own = candidates if landmarks.labels is None else candidates[landmarks.labels[candidates] == one]
            own = (own if len(own) else candidates)[:each]
            chosen.append(own)
            kinds.append(np.full(len(own), one))
        return cls(np.concatenate(chosen), np.concatenate(kinds))

    def __len__(self) -> int:
        return len(self.landmarks)

    def members(self, basis: np.ndarray, offset: np.ndarray, F: Any, Y: Any) -> Members:
        """Return to which group each row belongs.

        Parameters
        ----------
        basis, offset : array
            See :meth:`nearness`.
        F : array or tensor of shape (n, columns)
            The features of rows; those of the first similarity come first.
        Y : array or tensor
            Their targets: codes of classes, or numbers.
        """
        n = len(self.landmarks)
        own = None
        numbers = Y
        if self.classes is not None:
            own = Y.argmax(1) if Y.shape[1] > 1 else Y[:, 0] >= 0
            numbers = None
        if not isinstance(F, np.ndarray):
            near = in_precision(beside(basis, F), F.dtype) @ F[:, : basis.shape[1]].T - beside(offset, F)[:, None]
            if own is not None and self.classes is not None:
                near = namespace(F).where(beside(self.classes, F)[:, None] == own[None, :], near, -np.inf)
            return Members(near.argmax(0), n, numbers)
        F = F[:, : basis.shape[1]].astype(np.float32, copy=False)  # precise enough to choose a group
        basis = basis.astype(np.float32)
        offset = offset.astype(np.float32)
        if own is None or self.classes is None:
            return Members(np.argmax(F @ basis.T - offset, axis=1), n, numbers)
        nearest = np.zeros(len(F), dtype=np.intp)
        order = np.argsort(own, kind="stable")
        kinds, starts = np.unique(own[order], return_index=True)
        for kind, rows in zip(kinds, np.split(order, starts[1:]), strict=True):
            groups = np.flatnonzero(self.classes == kind)
            if len(groups):
                near = F[rows] @ basis[groups].T - offset[groups]
                nearest[rows] = groups[near.argmax(axis=1)]
        return Members(nearest, n, numbers)

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
        weights = np.empty((n_features, 0))
        codes = np.empty((0, len(base)), dtype=np.int8)
        return cls(nobody, nobody, nobody, base, (weights,), np.empty(0), codes)

    @classmethod
    def of_ridge(cls, ridge: Ridge, lam: float, groups: Groups) -> GroupInfluence:
        """Return the influence of groups in ridge regression; `weights` are still those of the features."""
        sums = ridge.moments.groups
        base = np.asarray(ridge.target_mean, dtype=np.float64)
        assert sums is not None
        n = len(groups.landmarks)
        k = len(base)
        filled = np.flatnonzero(sums.counts[:n] > 0)
        counts = np.rint(sums.counts[filled]).astype(np.intp)
        heads = groups.landmarks[filled]
        if groups.classes is not None:
            classes = groups.classes[filled]
            if n == k > 2:
                return ClassInfluence.of(ridge.fit(lam), base, heads, counts, classes)
            found = ridge.of_groups(lam)
            codes = class_codes(classes, max(2, k))
            return cls(heads, counts, classes, base, (found.weights[:, filled],), found.intercept[filled], codes)
        found = ridge.of_groups(lam)
        totals = sums.targets.reshape(k + 1, n)[:, filled]
        W = found.weights.reshape(-1, k + 1, n)[:, :, filled]
        b = found.intercept.reshape(k + 1, n)[:, filled]
        W = W[:, 1:] - base[:, None] * W[:, :1]
        b = b[1:] - base[:, None] * b[:1]
        columns = W.transpose(0, 2, 1).reshape(len(W), -1)
        constants = b.T.ravel()
        made = cls(heads, counts, (totals[1:] / totals[0]).T, base, (columns,), constants)
        return made.with_columns(len(columns))

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
    def kept_apart(self) -> np.ndarray:
        """Which groups are kept apart from others for each output, shape (groups, outputs)."""
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
            columns=None if self.columns is None else _in_few_bytes(self.columns),
            weights=tuple(weights),
        )


def _in_few_bytes(numbers: np.ndarray) -> np.ndarray:
    """Return integers in the smallest type that holds them."""
    return numbers.astype(np.min_scalar_type(numbers.max(initial=0)))


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


class DelayedInfluence:
    """The influence of groups of training rows, computed when a prediction is explained or the model is saved.

    Until then the function that computes it keeps the rows. A saved, pickled or copied model has the influence, and no
    rows.

    Parameters
    ----------
    base : array of shape (outputs,)
        What the influences are added to.
    compute : callable
        Returns the influence by the similarities to the landmarks.
    """

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


Solved = tuple[np.ndarray, float, Callable[[np.ndarray], np.ndarray]]
"""Mean inner products, their mean, and a function that divides by the equations of an output."""


@dataclass(frozen=True, eq=False)
class ExampleInfluence:
    """What every training row adds to the scores, where all of them are landmarks.

    Attributes
    ----------
    labels : array
        The class number of each landmark, or its targets, one column per output.
    weights : array of shape (n, outputs) or (n, 1)
        The weight of each landmark as an example, for all outputs, or the working weight for each of them.
    sums : array of shape (n, outputs), or None
        The working weights times the working responses; None for the squared loss, whose responses are the targets.
    lam : float
        The penalty.
    projected : tuple of bool
        Whether each similarity is a kernel whose features are projected.
    scales : tuple of float
        What the features of each similarity are divided by.
    coupled : bool
        Whether only differences of outputs matter, so that they are made to sum to zero.
    n_classes : int
        The number of classes, if the labels are classes.
    """

    labels: np.ndarray
    weights: np.ndarray
    sums: np.ndarray | None
    lam: float
    projected: tuple[bool, ...]
    scales: tuple[float, ...]
    coupled: bool = False
    n_classes: int = 2

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_solved"}

    @property
    def heads(self) -> np.ndarray:
        """The landmarks themselves."""
        return np.arange(len(self.labels))

    @property
    def counts(self) -> np.ndarray:
        """One row each."""
        return np.ones(len(self.labels), dtype=np.intp)

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
            total = weights[:, column].sum()
            mean, middle, divide = solved[column]
            centered = N - (N @ s / total)[:, None] - mean + middle
            root = np.sqrt(s)
            without_root = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
            found[:, :, output] = divide((centered * root).T).T * without_root * targets[:, output]
        if self.coupled:
            found -= found.mean(axis=2, keepdims=True)
        return found, blocks[0][0]

    def _prepare(self, model: LandmarkModel) -> tuple[list[np.ndarray], list[Solved]]:
        """Compare all landmarks with each other, and factor the equations of each output; keep this for next time."""
        own = [part.blocks(part.features.landmarks.encoding)[1] for part in model.parts]
        N = self._products(own, own)
        found = own, [self._solved_for(N, s) for s in self._working()[0].T]
        vars(self)["_solved"] = found
        return found

    def _products(self, blocks: list[np.ndarray], own: list[np.ndarray]) -> np.ndarray:
        """Return the inner products of the features of objects with those of the landmarks."""
        total: Any = 0.0
        for K, L, projected, scale in zip(blocks, own, self.projected, self.scales, strict=True):
            total = total + (K if projected else K @ L.T) / scale**2
        return np.asarray(total)

    def _solved_for(self, N: np.ndarray, s: np.ndarray) -> Solved:
        """Return the mean products, and a function that divides by the weighted, centered products plus the penalty."""
        mean = N @ s / s.sum()
        middle = float(mean @ s / s.sum())
        root = np.sqrt(s)
        M = root[:, None] * (N - mean[:, None] - mean + middle) * root
        M = (M + M.T) / 2
        try:
            shifted = M.copy()
            shifted[np.diag_indices(len(M))] += self.lam
            factor = cho_factor(shifted, overwrite_a=True, check_finite=False)
            return mean, middle, lambda B: cho_solve(factor, B, check_finite=False)
        except LinAlgError:  # indefinite up to rounding
            values, V = eigh(M, check_finite=False)
            inverse = 1.0 / (np.maximum(values, 0.0) + self.lam)
            return mean, middle, lambda B: V @ (inverse[:, None] * (V.T @ B))


Influence = GroupInfluence | ExampleInfluence | BlendInfluence

FitInfluence = Influence | DelayedInfluence
"""What a fit knows of the influence of rows."""


def weighted_landmarks(
    features: Sequence[LandmarkFeatures], W: np.ndarray, influence: FitInfluence | None
) -> tuple[tuple[WeightedLandmarks, ...], FitInfluence | None]:
    """Return the landmarks that have a weight or an influence, and the influence by their similarities.

    W are the weights of the features of all similarities; the influence is still that by the features.
    """
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
    """Return the influence of every row, or of groups of rows, in ridge regression on rows in memory.

    Parameters
    ----------
    ridge : Ridge
        On all rows; it gets the sums of groups.
    lam : float
    features : sequence of LandmarkFeatures
    design : tuple of arrays
        Features, targets and weights of the rows.
    places : array of int
        Their positions, as landmarks have them.
    classes : bool
        Whether targets are codes of classes.
    """
    F, Y, weights = design
    s = weights[:, None]
    labels = class_numbers(Y) if classes else Y
    single = example_influence(features, places, labels, s, None, lam)
    if single is not None:
        return replace(single, n_classes=max(2, Y.shape[1]))
    outputs = Y.shape[1]
    groups = Groups.around(features[0].landmarks, outputs, classes=classes, numbers=1 if classes else outputs)
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
    """Return a model of another loss or penalty after a last Newton step, and the influence of rows on it.

    Parameters are those of :func:`influence_in_ridge`; `places` is None if the rows are not those of the sample.
    """
    F, Y, weights = design
    loss = options.own_loss or options.loss
    penalty = options.penalty
    classes = options.classes
    outputs = Y.shape[1]
    labels = class_numbers(Y) if classes else Y
    step = functools.partial(newton_step, loss, penalty, F, Y, weights, linear, lam)
    if penalty == "l2" and places is not None:
        s = np.empty((len(Y), 1))
        if example_influence(features, places, labels, s, None, lam) is not None:
            done = step(np.ones((len(Y), 1)))
            coupled = is_coupled(loss, outputs)
            working = done.weights.astype(np.float32), done.sums.astype(np.float32)
            single = example_influence(features, places, labels, *working, 2.0 * lam)
            assert single is not None
            return done.model, replace(single, coupled=coupled)
    n = len(features[0].landmarks)
    used = np.arange(n)
    if penalty == "l1":
        used = np.flatnonzero(
            (linear.weights[: features[0].n_similarities] != 0).any(axis=1).reshape(-1, n).any(axis=0)
        )
        if not len(used):
            return linear, GroupInfluence.none(linear.intercept, len(linear.weights))
    groups = Groups.around(features[0].landmarks, outputs, classes=classes, numbers=outputs, among=used)
    group = as_numpy(groups.members(*groups.nearness(features[0]), F, beside(np.asarray(Y), F)).group)
    members = (group[:, None] == np.arange(len(groups))).astype(float)
    counts = np.rint((weights > 0) @ members).astype(np.intp)
    filled = counts > 0
    heads = groups.landmarks[filled]
    counts = counts[filled]
    if groups.classes is not None and outputs > some_columns(len(used)):
        done = step(None)
        return done.model, GroupInfluence.of_own_classes(heads, counts, groups.classes[filled], done, len(used))
    done = step(members[:, filled])
    W = done.group_weights
    b = done.group_constants
    if groups.classes is not None:
        kinds = groups.classes[filled]
    else:
        kinds = (members[:, filled] * weights[:, None]).T @ Y / (weights @ members[:, filled])[:, None]
    found = GroupInfluence(heads, counts, kinds, done.base, (W.reshape(len(W), -1),), b.ravel())
    return done.model, found.with_columns(len(used))


def example_influence(
    features: Sequence[LandmarkFeatures],
    places: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray,
    sums: np.ndarray | None,
    lam: float,
) -> ExampleInfluence | None:
    """Return the influence of every row, if all are landmarks of each similarity; None if they are not.

    It is also None where the landmarks cannot be compared with each other again: a precomputed matrix is not kept, a
    user's function may be costly, and single precision would not give the same numbers.

    Parameters
    ----------
    features : sequence of LandmarkFeatures
    places : array of int
        The positions of the rows, as landmarks have them.
    labels : array
        The class number or the targets of each row.
    weights, sums : array, or None
        Of each row; see `ExampleInfluence`.
    lam : float
    """
    positions = features[0].landmarks.positions
    n = len(labels)
    for one in features:
        k = one.similarity
        if not k.hints.threadsafe or isinstance(k, Precomputed) or itemsize(one.landmarks.encoding) != 8:
            return None
        if len(one.landmarks) != n or positions is None or one.landmarks.positions is None:
            return None
        if not np.array_equal(positions, one.landmarks.positions):
            return None
    assert positions is not None
    at = rows_of(positions, places)
    if at is None or len(np.unique(at)) < n:
        return None
    projected = tuple([one.factor is not None for one in features])
    scales = tuple([one.scale for one in features])
    return ExampleInfluence(labels[at], weights[at], None if sums is None else sums[at], lam, projected, scales)
