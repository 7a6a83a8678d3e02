"""The fitted model: a weighted sum of similarities to landmarks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from similitude.compute import BlockTask, Encoding, as_numpy, count, in_precision, rows, run_on_strips
from similitude.compute.engines import Engine
from similitude.evaluation import Trial
from similitude.fitting.passes import FeaturesTask
from similitude.landmarks import LandmarkFeatures, Landmarks, Representation, SampleFeatures, in_floats, lengths
from similitude.linear import LinearModel
from similitude.similarity import Similarity
from similitude.support import ESTIMATE, Curve, Guarantee

if TYPE_CHECKING:
    from similitude.fitting.cascade import Cascade, CascadeInfluence
    from similitude.fitting.influence import FitInfluence
    from similitude.fitting.plan import Plan
    from similitude.fitting.spread import OpenVariance
    from similitude.fitting.training_set import Design
    from similitude.kernel_learning import LearnedSummary


def class_numbers(scores: np.ndarray) -> np.ndarray:
    """Return the class that scores, or codes, decide for: the sign of one column, the largest of several."""
    if scores.shape[1] > 1:
        return scores.argmax(axis=1)
    return 1 * (scores[:, 0] >= 0)


@dataclass(frozen=True, eq=False)
class WeightedLandmarks:
    """The landmarks of one similarity that have a weight, and the weights."""

    features: LandmarkFeatures  # the similarities themselves: the projection and the scale are part of the weights
    weights: np.ndarray

    @classmethod
    def of(
        cls, features: LandmarkFeatures, W: np.ndarray, V: np.ndarray, heads: np.ndarray, double: bool = True
    ) -> tuple[WeightedLandmarks, np.ndarray, np.ndarray]:
        """Keep the landmarks that have a weight; all of them if similarities are divided by their length.

        V holds the weights of features in the influence of groups of rows around the landmarks `heads`; what these
        need is kept too. Return the landmarks, the weights of the similarities in the influence, and which were kept.
        """
        weights = features.similarity_weights(W)
        others = features.similarity_weights(V) if double else features.rounded_weights(V)
        n = len(features.landmarks)
        if features.normalized:
            return cls(replace(features, factor=None, scale=1.0), weights), others, np.arange(n)
        per_side = ((weights != 0).any(axis=1) | (others != 0).any(axis=1)).reshape(-1, n)
        per_side[:, heads] = True
        used = np.flatnonzero(per_side.any(axis=0))
        columns = (np.arange(len(per_side))[:, None] * n + used).ravel()
        plain = replace(features, factor=None, scale=1.0, landmarks=features.landmarks.only(used))
        return cls(plain, weights[columns]), others[columns], used

    @property
    def n_used(self) -> int:
        """The number of landmarks with a weight; of many cells, at most as many as the largest has."""
        n = max(1, len(self.features.landmarks))
        used = int((self.weights != 0).any(axis=1).reshape(-1, n).any(axis=0).sum())
        return min(used, self.n_compared)

    @cached_property
    def n_compared(self) -> int:
        """The most similarities of one object that are computed: to all landmarks, or to those of the largest cell."""
        cells = None
        if self.features.similarity is not None:
            cells = self.features.similarity.hints.cells
        if cells is None or not len(self.weights):
            return len(self.weights)
        return int(np.bincount(cells(self.features.landmarks.encoding)).max())

    def moved(self, move: Callable[[Any], Any]) -> WeightedLandmarks:
        """Return the same with its arrays on another device."""
        return replace(self, features=self.features.moved(move), weights=move(self.weights))

    def blocks(self, A: Encoding) -> tuple[np.ndarray, np.ndarray]:
        """Return the similarity of objects to each landmark, and all similarities as they are weighted, in float64."""
        n = len(self.features.landmarks)
        if not n:
            return np.empty((count(A), 0)), np.empty((count(A), 0))
        K = as_numpy(self.features.similarities(A)).astype(np.float64)
        return K[:, :n], K / lengths(K)[:, None] if self.features.normalized else K

    def contributions(self, A: Encoding) -> tuple[np.ndarray, np.ndarray]:
        """Return what landmarks add to the outputs, (objects, landmarks, outputs), and the similarities to them."""
        n = len(self.features.landmarks)
        outputs = self.weights.shape[1]
        similarities, K = self.blocks(A)
        added = K[:, :, None] * self.weights
        return added.reshape(len(K), -1, n, outputs).sum(axis=1) if n else added, similarities


@dataclass(frozen=True, eq=False)
class LandmarkModel:
    """Weighted landmarks of one or several similarities, as the second encoding of a task that is never cut."""

    parts: tuple[WeightedLandmarks, ...]

    def __len__(self) -> int:
        return max(1, sum([part.n_compared for part in self.parts]))

    def __getitem__(self, which: Any) -> LandmarkModel:
        return self

    __iter__ = None  # every part is the whole: there would be no end

    def movable(self) -> bool:
        """Tell whether a device can hold it: an empty part has nothing to hold."""
        return all(len(part.weights) for part in self.parts)

    def moved(self, move: Callable[[Any], Any]) -> LandmarkModel:
        """Return the same with its arrays on another device."""
        return LandmarkModel(tuple(part.moved(move) for part in self.parts))

    def with_similarity(self, k: Any) -> LandmarkModel:
        """Return the same for another precomputed matrix; None waits for the next one."""
        return LandmarkModel(tuple(replace(part, features=part.features.with_similarity(k)) for part in self.parts))

    def split(self, outputs: int) -> tuple[LandmarkModel, tuple[np.ndarray, ...]]:
        """Return the model of the first outputs, and the weights of the others in each part."""
        first = LandmarkModel(tuple(replace(part, weights=part.weights[:, :outputs]) for part in self.parts))
        return first, tuple(part.weights[:, outputs:] for part in self.parts)

    def scores(self, encodings: tuple[Encoding, ...], engine: Engine, itemsize: int) -> Any:
        """Return the scores of encoded objects without the intercept: tensors for tensors."""
        on_tensors = True
        threadsafe = True
        for part in self.parts:
            on_tensors &= part.features.on_tensors
            threadsafe &= part.features.similarity.hints.threadsafe
        known = None
        if on_tensors:
            known = self._by_products(encodings, engine)
        if known is not None:
            return known
        return run_on_strips(ScoresTask(threadsafe, on_tensors), encodings, self, engine, itemsize)

    def _by_products(self, encodings: Sequence[Encoding], engine: Engine) -> Any:
        """Return the scores by products that do not store the similarities; None if the engine has none."""
        sums: list[Any] = []
        for part, A in zip(self.parts, encodings, strict=True):
            features = part.features
            if features.normalized or not len(part.weights):
                return None
            operator = engine.operator(features.similarity, A, features.landmarks.encoding)
            if operator is None:
                return None
            sums.append(operator.product(part.weights))
        return sum(sums[1:], start=sums[0])


class ScoresTask(FeaturesTask):
    """Compute the scores of a strip of rows."""

    def __call__(self, a: Sequence[Encoding], b: LandmarkModel, out: Any = None) -> Any:
        """Return the sum of the weighted similarities without the intercept, in float64."""
        sums: list[Any] = []
        for part, A in zip(b.parts, a, strict=True):
            if part.n_compared < len(part.weights):
                scores = _sums_within_cells(part, A)
            elif len(part.weights):
                scores = _weighted_sums(part.features.similarities(A), part.weights, part.features.normalized)
            else:
                scores = np.zeros((count(A), part.weights.shape[1]))
            sums.append(scores)
        return sum(sums[1:], start=sums[0])


def _sums_within_cells(part: WeightedLandmarks, A: Encoding) -> np.ndarray:
    """Return the weighted sums over the landmarks of each object's own cell: all other similarities are zero."""
    features = part.features
    sums = np.zeros((count(A), part.weights.shape[1]))
    cells = features.similarity.hints.cells
    block = BlockTask(features.similarity)
    ours = cells(A)
    theirs = cells(features.landmarks.encoding)
    for cell in np.intersect1d(ours, theirs):
        i = np.flatnonzero(ours == cell)
        j = np.flatnonzero(theirs == cell)
        K = block(rows(A, i), rows(features.landmarks.encoding, j))
        sums[i] = _weighted_sums(in_floats(K), part.weights[j], normalized=False)
    return sums


def _weighted_sums(K: Any, weights: Any, normalized: bool) -> Any:
    """Return the weighted sum over the similarities of each object, divided by their length if `normalized`."""
    if not isinstance(K, np.ndarray):
        wide = in_precision(K, weights.dtype) @ weights
        if normalized:
            return wide / lengths(K)[:, None]
        return wide
    if K.dtype == np.float64:
        sums: np.ndarray = np.matmul(K, weights, dtype=np.float64)
    else:
        sums = np.empty((len(K), weights.shape[1]))
        for start in range(0, len(K), 256):  # a few rows at a time in float64
            sums[start : start + 256] = K[start : start + 256].astype(np.float64) @ weights
    if normalized:
        return sums / lengths(K).astype(np.float64)[:, None]
    return sums


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows that were scored by models of other rows.

    `groups` numbers equal rows, or the rows of a group, which were in the same fold; without groups it is None if the
    rows were held out from one model.
    `positions` are those of the rows in X, if all rows were scored.
    `left_out` are the same rows left out one by one, by models that see nearly all rows; but these had their choices
    made on the same rows. `folds` numbers the models that scored the rows; None if it was one.
    `within` are the scores by each of these models for the rows that made its choices, each left out alone, and the
    targets of these: how much better they are than those of other folds is what choices make scores look better.
    """

    trial: Trial
    Y: np.ndarray
    weights: np.ndarray
    groups: np.ndarray | None = None
    positions: np.ndarray | None = None
    left_out: Trial | None = None
    folds: np.ndarray | None = None
    within: tuple[tuple[np.ndarray, np.ndarray], ...] | None = None


Evaluation = ScoredRows | Callable[[], ScoredRows]
"""How the error on new rows is estimated: by rows that were scored in the fit, or by fits in folds."""


@dataclass(frozen=True)
class LandmarkCurve(Curve):
    """The held-out loss by the number of landmarks, and why there are not more.

    Attributes
    ----------
    x : array
        Numbers of landmarks.
    y, low, high : array
        The mean squared error on rows that the model was not fitted to, with normal intervals.
    level, grade
    reason : str
        Why the last number is the last.
    """

    reason: str

    @classmethod
    def of(cls, tried: Sequence[tuple[int, Trial]], limit: str, largest: int | None = None) -> LandmarkCurve:
        """Return the curve of some numbers; `limit` says what prevents more than the `largest`."""
        x, y, spread = np.array([(float(n), trial.loss, 1.96 * trial.deviation) for n, trial in tried]).T
        n = tried[-1][0]
        reason = limit
        if largest is not None and n < largest:
            reason = "the last doubling gained less than one standard error"
        if len(tried) > 1 and y[-1] > y[-2]:
            reason = f"with {n:,} the held-out loss was no better"
        return cls(x, y, y - spread, y + spread, 0.95, ESTIMATE, reason)

    def __str__(self) -> str:
        return f"{super().__str__()}\n  not more, because {self.reason}"


UNPROMISED = Guarantee.none("the theorems were not applied to this fit")
"""The guarantee of a fit before it is looked for."""


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A fitted model, and what is known about it."""

    features: tuple[LandmarkFeatures, ...]  # one for each similarity
    representations: tuple[Representation, ...]
    linear: LinearModel  # of the features
    trial: Trial  # the scores of rows that were left out of the fit; choices may have been made on them
    held_out: tuple[np.ndarray, np.ndarray]  # the targets and weights of these rows
    curve: LandmarkCurve
    # what training rows add to the scores, by the features; None if it is not known
    influence: FitInfluence | CascadeInfluence | None = None
    # how the error on new rows is estimated; None if it is by the rows of the trial
    evaluation: Evaluation | None = None
    guarantee: Guarantee = UNPROMISED
    chosen: str = ""  # which similarity was chosen, and by what, in a sentence; empty if it was given
    notes: Sequence[str] = ()  # what the plan does not tell
    learned: LearnedSummary | None = None
    tried: np.ndarray | None = None  # the features of the rows of the trial, if they are in memory
    at: np.ndarray | None = None  # which landmarks the rows of the trial are, in an exact fit
    # what rows leave open of a Gaussian process, if a kernel is projected and numbers are predicted
    open_variance: OpenVariance | None = None
    cascade: Cascade | None = None  # the model of a frugal fit, whose predictions stop early
    mean_calls: float = 0.0  # mean comparisons of a prediction by the cascade
    groups: np.ndarray | None = None  # the groups of the rows of the trial
    # candidates that were compared, with their squared errors on rows that they were not fitted to, relative to the
    # variance of the targets
    scores: tuple[tuple[str, float], ...] = ()
    landmarks: Landmarks | None = None  # those that were drawn; the features may use fewer
    # what was computed to choose among models on landmarks, one for each similarity
    samples: Sequence[SampleFeatures] = ()
    design: Design | None = None  # features, targets and weights of all rows, if they are in memory
    plan: Plan | None = None  # the plan that was run, with what was chosen

    @property
    def similarities(self) -> tuple[Similarity, ...]:
        """Resolved or learned."""
        return tuple(map(attrgetter("similarity"), self.features))

    def evaluate(self) -> ScoredRows:
        """Return the scores of rows by models that did not see them in training."""
        scored = self.evaluation or self.left_out
        if isinstance(scored, ScoredRows):
            return scored
        return scored()

    @property
    def left_out(self) -> ScoredRows:
        """The rows of the trial."""
        return ScoredRows(self.trial, *self.held_out, self.groups)
