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

from similitude.compute import Encoding, as_numpy, beside, itemsize
from similitude.estimators.blend_influence import BlendInfluence
from similitude.estimators.landmark_count import rows_of
from similitude.estimators.model import LandmarkModel, WeightedLandmarks
from similitude.estimators.options import FitOptions
from similitude.landmarks import Groups, LandmarkFeatures, most_numbers
from similitude.linear import GroupMoments, LinearModel, Ridge, is_coupled, newton_step
from similitude.scikit import class_codes
from similitude.similarity import Precomputed

Solved = tuple[np.ndarray, float, Callable[[np.ndarray], np.ndarray]]
"""Mean inner products, their mean, and a function that divides by the equations of an output."""

Terms = tuple[np.ndarray, np.ndarray]
"""What each example adds to each output, (rows, examples, outputs), and the similarity to each, (rows, examples)."""


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
        One for each similarity; a column is a group, or a group and an output.
    constants : array of shape (columns,)
        Added to the weighted sums of the similarities.
    codes : array of shape (groups, outputs), or None
        The codes of its class, less the base: what the column of a group is multiplied by for each output; None if
        each output has columns of its own.
    columns : array of shape (groups, outputs), or None
        With many classes: the column of a group for each output, or -1 where it is not kept apart from others; what
        these add together is what the others leave of the score. None if all are kept, one group after the other.
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
        found, sums, base = ridge.of_groups(lam), ridge.moments.groups, np.asarray(ridge.target_mean, dtype=np.float64)
        assert sums is not None
        n, k = len(groups), len(base)
        filled = np.flatnonzero(sums.counts[:n] > 0)
        counts, heads = np.rint(sums.counts[filled]).astype(np.intp), groups.landmarks[filled]
        W, b = found.weights, found.intercept
        if groups.classes is not None:
            classes = groups.classes[filled]
            codes = class_codes(classes, max(2, k))
            return cls(heads, counts, classes, base, (W[:, filled],), b[filled], codes)
        totals = sums.targets.reshape(k + 1, n)[:, filled]
        W, b = W.reshape(-1, k + 1, n)[:, :, filled], b.reshape(k + 1, n)[:, filled]
        W, b = W[:, 1:] - base[:, None] * W[:, :1], b[1:] - base[:, None] * b[:1]
        columns, constants = W.transpose(0, 2, 1).reshape(len(W), -1), b.T.ravel()
        return cls(heads, counts, (totals[1:] / totals[0]).T, base, (columns,), constants)

    def with_columns(self, most: int) -> GroupInfluence:
        """Keep some groups apart from others: of each output first its own class, then those that add most to it."""
        W, b = self.weights[0], self.constants.reshape(-1, len(self.base))
        sizes = np.sqrt((W**2).sum(axis=0)).reshape(b.shape)
        own = self.labels[:, None] == np.arange(len(self.base))
        ranks = np.where(own, -np.inf, -sizes).argsort(axis=0, kind="stable").argsort(axis=0)
        kept = np.sort(np.lexsort((-sizes.ravel(), ranks.ravel()))[:most])
        columns = np.full(b.shape, -1, dtype=np.int16)
        columns.ravel()[kept] = np.arange(len(kept))
        others = np.where(columns < 0, b, 0.0).sum(axis=0)
        return replace(self, weights=(W[:, kept],), constants=b.ravel()[kept], columns=columns, other_constants=others)

    def terms(self, model: LandmarkModel, encodings: tuple[Encoding, ...]) -> Terms:
        """Return what each group adds to each output, and the similarity to its landmark; last what others add."""
        blocks = [part.blocks(A) for part, A in zip(model.parts, encodings, strict=True)]
        n, near = len(blocks[0][0]), blocks[0][0][:, self.heads]
        added = sum([K @ W for (_, K), W in zip(blocks, self.weights, strict=True)], self.constants)
        if self.codes is not None:
            return added[:, :, None] * (self.codes - self.base), near
        if self.columns is None:
            return added.reshape(n, -1, len(self.base)), near
        terms = np.where(self.columns >= 0, added[:, self.columns], 0.0)
        scores = sum([K @ part.weights for (_, K), part in zip(blocks, model.parts, strict=True)])
        kept = np.where(self.columns >= 0, self.constants[self.columns], 0.0).sum(axis=0)
        others = scores - (terms.sum(axis=1) - kept) + self.other_constants
        return np.concatenate([terms, others[:, None]], axis=1), near


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
        return base - base.mean() if self.coupled else base

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
            s, total = weights[:, column], weights[:, column].sum()
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


def weighted_landmarks(
    features: Sequence[LandmarkFeatures], pieces: Sequence[np.ndarray], influence: Influence | None
) -> tuple[tuple[WeightedLandmarks, ...], Influence | None]:
    """Return the landmarks that have a weight or an influence, and the influence by their similarities.

    `pieces` are the weights of the features of each similarity; the influence is still that by the features.
    """
    n = len(features)
    if influence is not None and not any([piece.any() for piece in pieces]):
        influence = GroupInfluence.none(influence.base, sum(map(len, pieces)))
    by_features = [np.empty((len(piece), 0)) for piece in pieces]
    if isinstance(influence, GroupInfluence):
        by_features = np.split(influence.weights[0], np.cumsum(list(map(len, pieces)))[:-1])
    heads = [np.empty(0, dtype=np.intp)] * n
    if influence is not None:
        heads = [influence.heads] * (1 if isinstance(influence, GroupInfluence) else n) + heads[1:]
    made = list(map(WeightedLandmarks.of, features, pieces, by_features, heads))
    if isinstance(influence, GroupInfluence):
        kept = np.searchsorted(made[0][2], influence.heads)
        influence = replace(influence, heads=kept, weights=tuple([weights for _, weights, _ in made]))
    return tuple([part for part, _, _ in made]), influence


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
    s, labels = weights[:, None], class_numbers(Y) if classes else Y
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
    loss, penalty, classes = options.loss, options.penalty, options.classes
    outputs, labels = Y.shape[1], class_numbers(Y) if classes else Y
    step = functools.partial(newton_step, loss, penalty, F, Y, weights, linear, lam)
    if penalty == "l2" and places is not None:
        s = np.empty((len(Y), 1))
        if example_influence(features, places, labels, s, None, lam) is not None:
            done, coupled = step(np.ones((len(Y), 1))), is_coupled(loss, outputs)
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
    done = step(members[:, filled])
    W, b = done.group_weights, done.group_constants
    if groups.classes is not None:
        kinds = groups.classes[filled]
    else:
        kinds = (members[:, filled] * weights[:, None]).T @ Y / (weights @ members[:, filled])[:, None]
    found = GroupInfluence(
        groups.landmarks[filled], counts[filled], kinds, done.base, (W.reshape(len(W), -1),), b.ravel()
    )
    most = max(outputs, most_numbers(n))
    return done.model, found.with_columns(most) if classes and b.size > most else found


def class_numbers(scores: np.ndarray) -> np.ndarray:
    """Return the class that scores, or codes, decide for: the sign of one column, the largest of several."""
    return scores.argmax(axis=1) if scores.shape[1] > 1 else 1 * (scores[:, 0] >= 0)


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
    positions, n = features[0].landmarks.positions, len(labels)
    if not all([_comparable(one) and len(one.landmarks) == n for one in features]) or positions is None:
        return None
    others = [one.landmarks.positions for one in features[1:]]
    if not all([other is not None and np.array_equal(positions, other) for other in others]):
        return None
    at = rows_of(positions, places)
    if at is None or len(np.unique(at)) < n:
        return None
    projected = tuple([one.factor is not None for one in features])
    scales = tuple([one.scale for one in features])
    return ExampleInfluence(labels[at], weights[at], None if sums is None else sums[at], lam, projected, scales)


def _comparable(features: LandmarkFeatures) -> bool:
    """Tell whether landmarks can be compared with each other again, at little cost and with the same results."""
    k = features.similarity
    return k.hints.threadsafe and not isinstance(k, Precomputed) and itemsize(features.landmarks.encoding) == 8
