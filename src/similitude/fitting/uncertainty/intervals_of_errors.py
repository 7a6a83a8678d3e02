"""Intervals around predicted numbers, calibrated by the errors of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute import Encoding, as_numpy, in_precision, is_tensor, itemsize, namespace, rows
from similitude.compute.engines import Engine
from similitude.fitting.blend_influence import BlendInfluence
from similitude.fitting.model import LandmarkModel
from similitude.fitting.uncertainty.ranked_scores import RankedScores
from similitude.fitting.uncertainty.spread import MOST_NOISE_FEATURES, SizedRows, Spread, fit_spread

ENLARGED = 0.8, 2.0
"""By how much left-out errors are enlarged, at least and at most: never to shrink them would enlarge on average."""


@dataclass(frozen=True, eq=False)
class ErrorCalibration:
    """Errors of the rows that calibrate, and what is known about the size of errors.

    Attributes
    ----------
    spread : Spread or None
        None until it is asked for: in an exact fit it takes the factor of the Gram matrix.
    scores : tuple of RankedScores
        Absolute errors of each output, in units of the spread if intervals adapt to objects; empty without a spread.
    errors : array of shape (m, outputs), or None
        Of rows that their predictions did not see, until there is a spread.
    weights : array of shape (m,), or None
    at : array of int, or None
        Which landmarks the rows are.
    groups : array of shape (m,), or None
        The group of each row.
    """

    spread: Spread | None = None
    scores: tuple[RankedScores, ...] = ()
    errors: np.ndarray | None = None
    weights: np.ndarray | None = None
    at: np.ndarray | None = None
    groups: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        errors: np.ndarray,
        weights: np.ndarray,
        at: np.ndarray | None = None,
        sized: SizedRows | None = None,
        groups: np.ndarray | None = None,
    ) -> ErrorCalibration:
        """Take errors of rows left out; in an exact fit, in which the rows are landmarks, the spread waits."""
        if at is not None and sized is None:
            return cls(errors=errors, weights=weights, at=at, groups=groups)
        spread, sizes = fit_spread(errors, weights).sized(None) if sized is None else sized
        return cls(spread).calibrated(errors, sizes)

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
        number, part = influence.main, model.parts[influence.main]
        open_variance = influence.open_variance_left_out(model)[self.at]
        F, some = None, np.empty(0, dtype=np.intp)
        if part.features.similarity.hints.cells is None:
            A, n = part.features.landmarks.encoding, len(part.features.landmarks)
            some = np.unique(np.linspace(0, n - 1, min(n, MOST_NOISE_FEATURES)).astype(np.intp))
            F = np.asarray(part.features.similarity.block(rows(A, self.at), rows(A, some)), dtype=np.float64)
        penalty = influence.penalties[number]
        found = fit_spread(self.errors, self.weights, F, open_variance, penalty, groups=self.groups)
        noise = None
        if found.noise is not None:
            outputs = self.errors.shape[1]
            pieces = [np.zeros((len(one.weights), outputs)) for one in model.parts]
            pieces[number][some] = found.noise.weights
            noise = tuple(pieces)
        return self.of(self.errors, self.weights, None, found.sized(noise))

    def enlarged(self, errors: np.ndarray, within: Sequence[np.ndarray]) -> ErrorCalibration:
        """Return the same with errors enlarged by what choices made them smaller.

        `errors` are those of models of folds for rows of other folds, `within` those for the rows on which each of
        these models made its choices, each row left out alone. Both are errors of models of as many rows.
        """
        honest = np.abs(errors).mean(axis=0)
        seen = np.mean([np.abs(one).mean(axis=0) for one in within], axis=0)
        ratio = np.clip(np.divide(honest, seen, out=np.ones(len(honest)), where=seen > 0), *ENLARGED)
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
        return sizes * limits if self.spread.adaptive else np.repeat(limits[None, :], len(sizes), axis=0)


def scores_and_sizes(
    model: Any, encodings: tuple[Encoding, ...], influence: Any, spread: Spread, engine: Engine
) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of encoded objects without the intercept, and standard deviations, in one pass."""
    outputs, size = len(spread.scale), itemsize(encodings[0])
    joint = model if spread.noise is None else with_columns(model, spread.noise)
    found = joint.scores(encodings, engine, size)
    found = as_numpy(in_precision(found, namespace(found).float64) if is_tensor(found) else found).astype(np.float64)
    open_variance = None
    if isinstance(influence, BlendInfluence) and spread.ratio.any():
        open_variance = influence.open_variance(model, encodings)
    elif spread.landmarks is not None:
        open_variance = spread.landmarks(model.parts[0], encodings[0])
    logs = None if spread.noise is None else found[:, outputs:]
    return found[:, :outputs], spread.sizes(logs, open_variance, len(found))


def with_columns(model: LandmarkModel, columns: tuple[np.ndarray, ...]) -> LandmarkModel:
    """Return a model with further outputs."""
    pairs = zip(model.parts, columns, strict=True)
    return LandmarkModel(tuple(replace(part, weights=np.hstack([part.weights, more])) for part, more in pairs))
