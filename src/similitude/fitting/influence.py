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
from similitude.fitting.blend_influence import BlendInfluence
from similitude.fitting.delayed_influence import DelayedInfluence
from similitude.fitting.group_influence import GroupInfluence, Terms, some_columns
from similitude.fitting.model import LandmarkModel, WeightedLandmarks
from similitude.fitting.options import FitOptions
from similitude.landmarks import Groups, LandmarkFeatures, rows_of
from similitude.linear import GroupMoments, LinearModel, Ridge, is_coupled, newton_step
from similitude.scikit import class_codes
from similitude.similarity import Precomputed

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

FitInfluence = Influence | DelayedInfluence
"""What a fit knows of the influence of rows."""


def weighted_landmarks(
    features: Sequence[LandmarkFeatures], pieces: Sequence[np.ndarray], influence: FitInfluence | None
) -> tuple[tuple[WeightedLandmarks, ...], FitInfluence | None]:
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
    if isinstance(influence, GroupInfluence):
        heads[0] = influence.heads
    elif influence is not None:
        heads = [np.arange(len(one.landmarks)) for one in features]
    precision = influence.precision if isinstance(influence, GroupInfluence) else np.float64
    made = [WeightedLandmarks.of(*one, precision) for one in zip(features, pieces, by_features, heads, strict=True)]
    if isinstance(influence, GroupInfluence):
        influence = influence.stored(np.searchsorted(made[0].used, influence.heads), [one.others for one in made])
    return tuple([one.part for one in made]), influence


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
    loss, penalty, classes = options.own_loss or options.loss, options.penalty, options.classes
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
    heads, counts = groups.landmarks[filled], counts[filled]
    if groups.classes is not None and outputs > some_columns(len(used)):
        done = step(None)
        return done.model, GroupInfluence.of_own_classes(heads, counts, groups.classes[filled], done, len(used))
    done = step(members[:, filled])
    W, b = done.group_weights, done.group_constants
    if groups.classes is not None:
        kinds = groups.classes[filled]
    else:
        kinds = (members[:, filled] * weights[:, None]).T @ Y / (weights @ members[:, filled])[:, None]
    found = GroupInfluence(heads, counts, kinds, done.base, (W.reshape(len(W), -1),), b.ravel())
    return done.model, found.with_columns(len(used))


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
