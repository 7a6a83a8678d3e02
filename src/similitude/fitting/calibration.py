"""Calibration by rows that a model did not see: probabilities and sets of classes, intervals of numbers.

Intervals and sets come with what that proves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute import Encoding, as_numpy, beside, in_precision, is_tensor, itemsize, namespace, rows
from similitude.compute.engines import Engine
from similitude.fitting.influence import BlendInfluence
from similitude.fitting.model import LandmarkModel
from similitude.fitting.spread import MOST_NOISE_FEATURES, OpenVariance, Spread, SpreadFit, fit_spread
from similitude.support import ESTIMATE, PROVEN, Result, check_share, number_of
from similitude.theory import conformal_rank, highest_level


def probabilities(scores: Any, scale: float) -> Any:
    """Return one column per class: the logistic function of a scaled score, or the softmax of several columns.

    The most probable class is always the one that the scores decide for: the largest, or the second of two classes if
    their score is >= 0. A tensor for a tensor.

    >>> probabilities(np.array([0.0, 2.0]), 1.0).round(2)
    array([[0.5 , 0.5 ],
           [0.12, 0.88]])
    """
    xp = np if isinstance(scores, np.ndarray) else namespace(scores)
    scores, both = _columns(scores, xp)
    powers = xp.exp(scale * (both - xp.max(both, axis=1, keepdims=True)))
    return winner_first(powers / xp.sum(powers, axis=1, keepdims=True), scores)


def _columns(scores: Any, xp: Any = np) -> tuple[Any, Any]:
    """Return the scores, one score of two classes as a vector, and a column for each class."""
    if scores.ndim == 2 and scores.shape[1] > 1:
        return scores, scores
    scores = scores.reshape(-1)
    return scores, xp.stack([xp.zeros_like(scores), scores], axis=1)


def _target_of_own(classes: np.ndarray, weights: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the target probability of the class of each row: (n + 1) / (n + 2) for a class of n rows."""
    counts = np.bincount(classes, weights, minlength=n_classes)
    return np.asarray(((counts + 1) / (counts + 2))[classes])


def winner_first(chances: Any, scores: Any) -> Any:
    """Return probabilities, that of the winner moved by its last digit where a tie or rounding let another class win.

    >>> winner_first(np.array([[0.5, 0.5]]), np.array([0.0])).argmax(axis=1)  # as the second of two classes wins at 0
    array([1])
    """
    xp = np if isinstance(chances, np.ndarray) else namespace(chances)
    winner = 1 * (scores >= 0) if scores.ndim == 1 else xp.argmax(scores, axis=1)
    behind = xp.argmax(chances, axis=1) != winner
    if not behind.any():
        return chances
    most = xp.max(chances, axis=1, keepdims=True)
    classes = beside(np.arange(chances.shape[1]), chances)
    moved = behind[:, None] & (classes[None, :] == winner[:, None])
    return xp.where(moved, most * (1.0 + 2.0 * xp.finfo(chances.dtype).eps), chances)


def temperature(scores: np.ndarray, classes: np.ndarray, weights: np.ndarray) -> float:
    """Return the scale with the largest likelihood, given the class number and weight of each row (Platt, 1999)."""
    from scipy.optimize import minimize_scalar

    n_classes = _columns(scores)[1].shape[1]
    own_target = _target_of_own(classes, weights, n_classes)
    size = max(float(np.average(np.abs(scores).reshape(len(scores), -1).mean(axis=1), weights=weights)), 1e-300)

    def cross_entropy(log_scale: float) -> float:
        logs = np.log(np.maximum(probabilities(scores, float(np.exp(log_scale) / size)), 1e-300))
        own = logs[np.arange(len(logs)), classes]
        return float(-weights @ (own_target * own + (1 - own_target) / (n_classes - 1) * (logs.sum(axis=1) - own)))

    return float(np.exp(minimize_scalar(cross_entropy, bounds=(-7.0, 7.0), method="bounded").x) / size)


def scale_and_shift(scores: np.ndarray, classes: np.ndarray, weights: np.ndarray) -> tuple[float, np.ndarray]:
    """Return a scale, and what to add to the score of each output before, with the largest likelihood together.

    Scores of a model in which rare classes had larger weights are too large for these: the shift, fitted with the
    weights of the rows alone, makes probabilities agree with the frequencies of the classes. Target probabilities are
    those of `temperature`.

    >>> rng = np.random.default_rng(0)
    >>> classes = (rng.random(20_000) < 0.02).astype(int)
    >>> scale, shift = scale_and_shift(2.0 * classes - 1.0 + rng.normal(size=20_000), classes, np.ones(20_000))
    >>> round(scale), round(scale * float(shift[0])), round(float(np.log(0.02 / 0.98)))
    (2, -4, -4)
    """
    from scipy.optimize import minimize

    scores, columns = _columns(scores)
    n_outputs = 1 if scores.ndim == 1 else scores.shape[1]
    own = _target_of_own(classes, weights, columns.shape[1])
    targets = np.repeat((1 - own)[:, None] / (columns.shape[1] - 1), columns.shape[1], axis=1)
    targets[np.arange(len(targets)), classes] = own
    start = np.log(temperature(scores, classes, weights))

    def cross_entropy(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        shift = np.r_[0.0, parameters[1:]] if n_outputs == 1 else parameters[1:]
        logits = np.exp(parameters[0]) * columns + shift
        logits -= logits.max(axis=1, keepdims=True)
        logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        slopes = weights[:, None] * (np.exp(logs) - targets)
        of_shift = slopes.sum(axis=0)[-n_outputs:]
        of_scale = float((slopes * columns).sum() * np.exp(parameters[0]))
        total = weights.sum()
        return float(-(weights[:, None] * targets * logs).sum() / total), np.r_[of_scale, of_shift] / total

    found = minimize(cross_entropy, np.r_[start, np.zeros(n_outputs)], jac=True, method="L-BFGS-B").x
    scale = float(np.exp(found[0]))
    return scale, found[1:] / scale


@dataclass(frozen=True)
class Uncertainty(Result):
    """How the intervals of a regressor, or the sets of classes of a classifier, were calibrated.

    Attributes
    ----------
    method : {"split conformal", "left-out scores"}
        Split conformal: by the rows that ``certify=share`` set apart from all choices and the fit. Left-out scores: by
        predictions for rows of the fit by models of other rows.
    grade : {"PROVEN", "ESTIMATE"}
        PROVEN: if rows are independent, a new row that equals none of the sample is covered with a probability of at
        least the level, whatever the model (Vovk, Gammerman and Shafer, 2005; Lei et al., 2018). ESTIMATE: the model
        of all rows saw the rows that calibrate, or choices did.
    n_rows : int
        Number of rows that calibrate.
    reason : str
        Why it is this method, in words.
    """

    method: str
    grade: str
    n_rows: int
    reason: str

    @property
    def highest_level(self) -> float:
        """The highest level for which there are enough rows: m / (m + 1) for m rows."""
        return highest_level(self.n_rows)

    @classmethod
    def split(cls, n_rows: int) -> Uncertainty:
        """Return the record of rows that were set apart."""
        return cls("split conformal", PROVEN, n_rows, "rows were set apart by certify")

    @classmethod
    def left_out(cls, n_rows: int) -> Uncertainty:
        """Return the record of rows of the fit that were predicted by models of others."""
        return cls("left-out scores", ESTIMATE, n_rows, "no rows were set apart: certify=0.2 would prove the level")

    def check_level(self, level: float) -> None:
        """Refuse a level outside of (0, 1), and one for which the rows that calibrate are too few."""
        check_share("level", level)
        if level > self.highest_level * (1 + 1e-12):
            needed = max(1, round(level / (1 - level) + 0.5 - 1e-9))  # the smallest m with m / (m + 1) >= level
            raise ValueError(
                f"level={level} needs {needed:,} rows to calibrate, there "
                f"{'is' if self.n_rows == 1 else 'are'} {self.n_rows:,}: ask for {self.highest_level:.4g} at most, or "
                "give more rows"
            )

    def __str__(self) -> str:
        return (
            f"{self.method} on {number_of(self.n_rows, 'row')}, levels up to {self.highest_level:.4g} ({self.grade}): "
            f"{self.reason}"
        )


ALL_LARGEST = 50
OTHERS = 150
"""Of more scores than both together, this many of the largest are kept, and this many of the others."""


@dataclass(frozen=True, eq=False)
class RankedScores:
    """Scores of n rows, increasing; of many, all of the largest and some others: each stands for smaller ones."""

    kept: np.ndarray  # in single precision, rounded up
    n: int

    @classmethod
    def of(cls, scores: np.ndarray) -> RankedScores:
        """Keep some of the scores."""
        some = np.sort(scores)[kept_ranks(len(scores)) - 1]
        single = some.astype(np.float32)
        return cls(np.where(single < some, np.nextafter(single, np.float32(np.inf)), single), len(scores))

    def quantile(self, level: float) -> float:
        """Return the conformal quantile, or the next larger score that was kept.

        >>> scores = RankedScores.of(np.arange(1000.0))
        >>> scores.quantile(0.9), scores.quantile(0.99), scores.quantile(0.9999)
        (905.0, 990.0, inf)
        """
        rank = conformal_rank(self.n, level)
        if rank > self.n:
            return math.inf
        return float(self.kept[np.searchsorted(kept_ranks(self.n), rank)])


def kept_ranks(n: int) -> np.ndarray:
    """Return which of n scores in increasing order are kept, the first has rank 1.

    >>> kept_ranks(4), len(kept_ranks(5000)), int(kept_ranks(5000)[-1])
    (array([1, 2, 3, 4]), 200, 5000)
    """
    if n <= ALL_LARGEST + OTHERS:
        return np.arange(1, n + 1)
    spaced = np.ceil(np.linspace(0, n - ALL_LARGEST, OTHERS + 1)[1:]).astype(np.intp)
    return np.concatenate([spaced, np.arange(n - ALL_LARGEST + 1, n + 1)])


GRID = np.linspace(0.0, 1.0, 101)
"""Shares of rows of other folds whose needed levels are kept."""


ScoresOfFolds = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Scores of rows, the numbers of their classes, and their folds."""


@dataclass(frozen=True, eq=False)
class ClassCalibration:
    """Scores of the rows that calibrate: one minus the probability of the true class.

    A set of all classes with at least a given probability is the smallest on average among those with the same coverage
    (Sadinle, Lei and Wasserman, "Least Ambiguous Set-Valued Classifiers with Bounded Error Levels", 2019).

    Levels are those that shares of rows of other folds (`GRID`) would have needed, by models of folds calibrated as
    this one is: the shares themselves if choices do not matter. None: no choice saw the rows that calibrate.
    """

    together: RankedScores
    by_class: tuple[RankedScores, ...]  # those of the rows of each class
    levels: np.ndarray | None = None
    levels_by_class: np.ndarray | None = None

    @classmethod
    def of(cls, scores: np.ndarray, classes: np.ndarray, n_classes: int) -> ClassCalibration:
        """Keep the scores of rows, given the numbers of their classes."""
        by_class = [RankedScores.of(scores[classes == number]) for number in range(n_classes)]
        return cls(RankedScores.of(scores), tuple(by_class))

    def limits(self, level: float, by_class: bool) -> np.ndarray:
        """Return the smallest probability with which each class is in a set; minus infinity: it always is.

        With `by_class` each class has a limit of its own, by its own rows, so that the level holds for the rows of each
        class (Vovk et al., 2005, "Mondrian"); a class that has too few rows for the level is in every set.
        """
        if by_class:
            found = [_quantile(one, level, self.levels_by_class) for one in self.by_class]
        else:
            found = [_quantile(self.together, level, self.levels)] * len(self.by_class)
        # A class is in a set up to this much below the limit: scores in another batch may differ by their last digit
        return 1.0 - np.array(found) - 1e-12

    def corrected(self, inside: ScoresOfFolds, outside: ScoresOfFolds) -> ClassCalibration:
        """Return the same with levels that make up for choices, by rows inside and outside of those of each fold."""
        together = []
        by_class = []
        for fold in np.unique(outside[2]):
            known, known_classes = (one[inside[2] == fold] for one in inside[:2])
            scores, classes = (one[outside[2] == fold] for one in outside[:2])
            together.append(needed_levels(known, scores))
            for number in np.unique(classes):
                by_class.append(needed_levels(known[known_classes == number], scores[classes == number]))
        levels, levels_by_class = (
            np.quantile(np.concatenate(one), GRID, method="inverted_cdf").astype(np.float32)
            for one in (together, by_class)
        )
        return replace(self, levels=levels, levels_by_class=levels_by_class)


def needed_levels(calibrating: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return for each score the smallest level at which others that calibrate have a conformal quantile as large.

    >>> needed_levels(np.array([0.1, 0.2, 0.3]), np.array([0.05, 0.25, 0.9]))
    array([0.25, 0.75, 1.  ])
    """
    return np.asarray((np.searchsorted(np.sort(calibrating), scores) + 1) / (len(calibrating) + 1))


def _quantile(scores: RankedScores, level: float, levels: np.ndarray | None) -> float:
    """Return the conformal quantile at a level, or at a higher one that rows of other folds needed."""
    if levels is not None:
        needed = float(levels[np.searchsorted(GRID, level * (1 - 1e-9))])
        level = max(level, min(needed, highest_level(scores.n)))
    return scores.quantile(level)


@dataclass(frozen=True, eq=False)
class ErrorCalibration:
    """Errors of rows that predictions did not see; and their spread, which in an exact fit waits for its use."""

    spread: Spread | None = None
    scores: tuple[RankedScores, ...] = ()  # absolute errors of each output, in units of the spread if it is adaptive
    errors: np.ndarray | None = None  # of shape (rows, outputs)
    weights: np.ndarray | None = None
    at: np.ndarray | None = None  # which landmarks the rows are
    groups: np.ndarray | None = None  # of the rows

    @classmethod
    def of(
        cls,
        errors: np.ndarray,
        weights: np.ndarray,
        at: np.ndarray | None = None,
        sized: SpreadFit | None = None,
        groups: np.ndarray | None = None,
    ) -> ErrorCalibration:
        """Take errors of rows left out; in an exact fit, in which the rows are landmarks, the spread waits."""
        if at is not None and sized is None:
            return cls(errors=errors, weights=weights, at=at, groups=groups)
        sized = sized or fit_spread(errors, weights)
        return cls(sized.spread).calibrated(errors, sized.sizes)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_completed"}

    def completed(self, model: Any, influence: Any) -> ErrorCalibration:
        """Return the same with its spread, computed once."""
        if self.spread is not None:
            return self
        known = vars(self).setdefault("_completed", [])  # not a field, so that it is not saved
        if not known:
            known.append(self._with_spread(model, influence))
        found: ErrorCalibration = known[0]
        return found

    def _with_spread(self, model: Any, influence: Any) -> ErrorCalibration:
        assert self.errors is not None and self.weights is not None and self.at is not None
        if not isinstance(influence, BlendInfluence):
            return self.of(self.errors, self.weights)
        number = influence.main
        features = model.parts[number].features
        left_open = OpenVariance(influence.open_variance_left_out(model)[self.at])
        F = some = None
        if features.similarity.hints.cells is None:
            A = features.landmarks.encoding
            n = len(features.landmarks)
            some = np.unique(np.linspace(0, n - 1, min(n, MOST_NOISE_FEATURES)).astype(np.intp))
            F = np.asarray(features.similarity.block(rows(A, self.at), rows(A, some)), dtype=np.float64)
        found = fit_spread(self.errors, self.weights, F, left_open, influence.penalties[number], self.groups)
        if found.noise is not None:
            pieces = [np.zeros((len(one.weights), self.errors.shape[1])) for one in model.parts]
            pieces[number][some] = found.noise
            found = found.sized(tuple(pieces))
        return self.of(self.errors, self.weights, None, found)

    def enlarged(self, errors: np.ndarray, within: Sequence[np.ndarray]) -> ErrorCalibration:
        """Return the same, enlarged by the ratio of errors in other folds to those of rows that made choices."""
        honest = np.abs(errors).mean(axis=0)
        seen = np.mean([np.abs(one).mean(axis=0) for one in within], axis=0)
        # by how much left-out errors are enlarged, at least and at most: never to shrink them would enlarge on
        # average
        ratio = np.clip(np.divide(honest, seen, out=np.ones(len(honest)), where=seen > 0), *(0.8, 2.0))
        if self.spread is None:
            assert self.errors is not None
            return replace(self, errors=self.errors * ratio)
        scores = self.scores
        if not self.spread.adaptive:
            scores = tuple(replace(one, kept=one.kept * np.float32(by)) for one, by in zip(scores, ratio, strict=True))
        return replace(self, spread=replace(self.spread, scale=self.spread.scale * ratio), scores=scores)

    def calibrated(self, errors: np.ndarray, sizes: np.ndarray) -> ErrorCalibration:
        """Return the same, calibrated by these errors of rows whose standard deviations are known."""
        assert self.spread is not None
        scores = np.abs(errors) / sizes if self.spread.adaptive else np.abs(errors)
        return ErrorCalibration(self.spread, tuple(RankedScores.of(column) for column in scores.T))

    def half_widths(self, level: float, sizes: np.ndarray) -> np.ndarray:
        """Return the half-width of the interval of each object and output, given standard deviations."""
        assert self.spread is not None
        limits = np.array([one.quantile(level) for one in self.scores])
        if self.spread.adaptive:
            return sizes * limits
        return np.repeat(limits[None, :], len(sizes), axis=0)


def scores_and_sizes(
    model: Any, encodings: tuple[Encoding, ...], influence: Any, spread: Spread, engine: Engine
) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of encoded objects without the intercept, and standard deviations, in one pass."""
    outputs = len(spread.scale)
    size = itemsize(encodings[0])
    joint = model
    if spread.noise is not None:  # further outputs
        pairs = zip(model.parts, spread.noise, strict=True)
        joint = LandmarkModel(tuple(replace(part, weights=np.hstack([part.weights, more])) for part, more in pairs))
    found = joint.scores(encodings, engine, size)
    found = as_numpy(in_precision(found, namespace(found).float64) if is_tensor(found) else found).astype(np.float64)
    open_variance = None
    if isinstance(influence, BlendInfluence) and spread.ratio.any():
        open_variance = influence.open_variance(model, encodings)
    elif spread.landmarks is not None:
        open_variance = spread.landmarks(model.parts[0], encodings[0])
    logs = None if spread.noise is None else found[:, outputs:]
    return found[:, :outputs], spread.sizes(logs, open_variance, len(found))
