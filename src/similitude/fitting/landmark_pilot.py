"""Scale, penalty and number of landmarks for many rows, chosen by fits of fewer landmarks to pilot rows.

Landmarks that are few beside the rows ask for a wider scale and a smaller penalty than an exact fit does, so that they
are compared by fits with landmarks. The features of the first landmarks are the first features, and the sums over the
first rows are a part of those over all: a fit of half the landmarks to half the rows comes with that of all, and tells
how the loss falls when both double (`pilot_choice`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError

from similitude.fitting.pilot_choice import (
    FIRST_PLACE,
    FIRST_SCALES,
    MOST_PREDICTED,
    PILOT_MULTIPLES,
    PilotChoice,
    PilotTargets,
    ScaleTrials,
    Trials,
    few_outputs,
)
from similitude.landmarks import Factor, factor_of_landmarks, solve_rows, solver
from similitude.linear import ByCholesky, Moments, between_penalties
from similitude.similarity import Similarity, remembered_images

FIRST_FIT, SECOND_FIT = (200, 1_600), (800, 3_200)
"""Landmarks and rows of the fits that compare scales, and then those near the best one."""

SINGLE_PIVOT = 1e-4
"""The smallest squared length that a landmark may add to the span of others if single precision is to be used."""

FEW_REPEATED = 0.1
"""The part of the landmarks that may be left out because they add less than this."""

ROWS_IN_BOTH, SINGLE_ROUNDING = 100, 1e-6
"""Rows whose similarities are computed in both precisions, and by how much these may differ."""

LITTLE = 0.005
"""The part of the loss that landmarks may lose against all that are tried: twice as many are used."""

STEEPEST_FALL = 0.25
"""The least share of the loss that may remain when landmarks and rows double."""


def choose_for_landmarks(
    k: Similarity, scales: list[str], objects: Any, Y: np.ndarray, weights: np.ndarray, n: int
) -> PilotChoice:
    """Choose by the mean squared error of pilot rows; parameters are those of `choose_on_pilot`."""
    rows = PilotTargets(few_outputs(Y), weights, n)

    def few(k: Similarity) -> LandmarkTrials:
        return LandmarkTrials.of(k, objects, rows, *FIRST_FIT)

    def more(k: Similarity) -> LandmarkTrials:
        return LandmarkTrials.of(k, objects, rows, *SECOND_FIT)

    with remembered_images():
        if scales:
            first = ScaleTrials(k, scales, few, 2)
            best = first.best(FIRST_SCALES)
            second = ScaleTrials(k, scales, more, 2, first.penalties)
            trials, place = second.found[second.between(second.best((best,)))]
        else:
            trials = more(k)
            place = trials.best(trials.best(FIRST_PLACE, 2), 1)
    assert isinstance(trials, LandmarkTrials)
    sizes, losses, deviations, enough = trials.numbers(place)
    n_scales = len(PILOT_MULTIPLES) if scales else 1
    penalty = between_penalties(trials.loss, place)
    return PilotChoice(trials.k, penalty, n_scales, sizes, losses, deviations, enough)


def factor_of_distinct(M: np.ndarray) -> Factor:
    """Return the factor of the Gram matrix of landmarks, without the few that nearly repeat others."""
    factor = factor_of_landmarks(M, False)
    assert factor is not None
    distinct = factor.U.diagonal() ** 2 >= SINGLE_PIVOT
    if distinct.all() or np.count_nonzero(~distinct) > FEW_REPEATED * len(M):
        return factor
    kept = np.sort(factor.pivots[distinct])
    again = factor_of_landmarks(M[np.ix_(kept, kept)], False)
    assert again is not None
    return Factor(again.U, kept[again.pivots], again.residual)


def working_precision(k: Similarity, A: np.ndarray, U: np.ndarray) -> type:
    """Return single precision if it leaves enough digits: of the rows, and of what each landmark adds to the span."""
    some, single = A[:ROWS_IN_BOTH], A[:ROWS_IN_BOTH].astype(np.float32)
    lost = np.abs(k.block(some, some) - k.block(single, single)).max()
    return np.float32 if lost <= SINGLE_ROUNDING and float(U.diagonal().min()) ** 2 >= SINGLE_PIVOT else np.float64


@dataclass(frozen=True, eq=False)
class LandmarkTrials(Trials):
    """Trials of ridge regression on the features of landmarks, judged by rows that are not fitted."""

    k: Similarity
    judged: np.ndarray  # features of the rows that judge
    half: Moments
    whole: Moments
    rows: PilotTargets  # of the rows that judge
    n_fitted: int
    tried: dict[int, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    steepest, most_doublings, little = STEEPEST_FALL, 1.0, LITTLE

    @classmethod
    def of(cls, k: Similarity, objects: Any, rows: PilotTargets, m: int, n: int) -> LandmarkTrials:
        """Compute the features, and the sums over half of the fitted rows and over all of them."""
        A = np.asarray(k.encode(objects), dtype=np.float64)[: n + MOST_PREDICTED]
        factor = factor_of_distinct(np.asarray(k.block(A[:m], A[:m])))
        A = A.astype(working_precision(k, A, factor.U), copy=False)
        F = solve_rows(np.asarray(k.block(A, A[factor.pivots])), solver(factor.U, A.dtype))
        Y, weights = rows.Y - rows.mean, rows.weights
        first, rest = slice(n // 2), slice(n // 2, n)
        half = Moments.of(F[first], Y[first], weights[first])
        whole = half + Moments.of(F[rest], Y[rest], weights[rest])
        judging = PilotTargets(Y[n : len(A)], weights[n : len(A)], rows.n)
        return cls(k, F[n:], half, whole, judging, n)

    @property
    def most_landmarks(self) -> int:  # type: ignore[override]
        """The number of features."""
        return self.judged.shape[1]

    def _residuals(self, penalty: float) -> tuple[np.ndarray, np.ndarray]:
        most = self.judged.shape[1]
        return self._without(self.whole, most, penalty), self._without(self.half, most // 2, penalty)

    def _without(self, moments: Moments, m: int, penalty: float) -> np.ndarray:
        """Return the residuals of the rows that judge, by a fit of the first m features to the rows of the moments."""
        some = moments.first(m)
        mean, constant = some.means()
        lam = penalty * moments.weight / self.n_fitted * (2 if moments is self.half else 1)
        try:
            W = ByCholesky(*some.centered()).solve(lam)
        except LinAlgError:  # the penalty is below rounding
            return np.full_like(self.rows.Y, np.inf)
        constant = constant - mean @ W
        return np.asarray(self.rows.Y - constant - self.judged[:, :m] @ W.astype(self.judged.dtype))

    def _with_landmarks(self, m: int, penalty: float) -> np.ndarray:
        return self._without(self.whole, m, penalty)
